//! Changes of a flow by engines, on the wire and as text.

use alloc::{
    format,
    string::{String, ToString},
};
use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, ParseError};

use super::error::BAD_VALUE;
use super::message::{get_registers, write_registers};
use super::records::{ForwardRecord, QosRecord, take};
use super::tuple::{FlowTuple, TupleMatch};
use crate::common::args::Args;

/// A change of one flow by an engine: 96 bytes, then the records that are present, QoS first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlowWrite {
    /// The flow.
    pub tuple: FlowTuple,
    /// True if rules replace what an engine chose before.
    pub gives_back: bool,
    /// Its new path.
    pub forward: Option<ForwardRecord>,
    /// The gap in microseconds without a packet after which it takes the new path; 0 means at once.
    pub gap_us: u32,
    /// Its new quality of service.
    pub qos: Option<QosRecord>,
    /// Of how many bytes from here on engines get copies; 0 leaves this unchanged.
    pub copy_bytes: u32,
    /// The new registers of the engine.
    pub registers: Option<[u64; 4]>,
}

impl FlowWrite {
    /// A change that leaves everything of a flow unchanged.
    pub fn of(tuple: FlowTuple) -> Self {
        Self {
            tuple,
            gives_back: false,
            forward: None,
            gap_us: 0,
            qos: None,
            copy_bytes: 0,
            registers: None,
        }
    }
}

/// The flags that say which parts a message contains.
pub(super) const HAS_FORWARD: u8 = 1;
pub(super) const HAS_QOS: u8 = 2;
const HAS_REGISTERS: u8 = 4;
const GIVES_BACK: u8 = 8;

/// The flags that are set.
pub(super) fn flags<const N: usize>(all: [(bool, u8); N]) -> u8 {
    let mut flags = 0;
    for (is_set, flag) in all {
        if is_set {
            flags |= flag;
        }
    }
    flags
}

impl Wire for FlowWrite {
    /// Errors: BAD_VALUE.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let tuple = r.get()?;
        let at_parts = r.at("parts").clone();
        let parts = r.get::<u8>()?;
        if parts & !(HAS_FORWARD | HAS_QOS | HAS_REGISTERS | GIVES_BACK) != 0 {
            return Err(at_parts.err(BAD_VALUE));
        }
        r.take(3)?;
        let gap_us = r.at("gap_us").get()?;
        let copy_bytes = r.at("copy_bytes").get()?;
        r.take(4)?;
        let mut this = Self {
            gives_back: parts & GIVES_BACK != 0,
            gap_us,
            copy_bytes,
            ..Self::of(tuple)
        };
        let registers = get_registers(r)?;
        this.registers = (parts & HAS_REGISTERS != 0).then_some(registers);
        if parts & HAS_QOS != 0 {
            this.qos = Some(r.get()?);
        }
        if parts & HAS_FORWARD != 0 {
            this.forward = Some(r.get()?);
        }
        Ok(this)
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let parts = flags([
            (self.forward.is_some(), HAS_FORWARD),
            (self.qos.is_some(), HAS_QOS),
            (self.registers.is_some(), HAS_REGISTERS),
            (self.gives_back, GIVES_BACK),
        ]);
        w.put(&self.tuple).put(&parts).pad(3);
        w.put(&self.gap_us).put(&self.copy_bytes).pad(4);
        let registers = self.registers.unwrap_or_default();
        registers.iter().for_each(|register| _ = w.put(register));
        if let Some(qos) = &self.qos {
            w.put(qos);
        }
        if let Some(forward) = &self.forward {
            w.put(forward);
        }
    }
}

impl TextForm for FlowWrite {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tuple.text(f)?;
        if self.gives_back {
            f.write_str(",give-back")?;
        }
        if self.gap_us != 0 {
            write!(f, ",gap_us={}", self.gap_us)?;
        }
        if self.copy_bytes != 0 {
            write!(f, ",copy_bytes={}", self.copy_bytes)?;
        }
        if let Some(registers) = &self.registers {
            write_registers(f, registers)?;
        }
        if let Some(qos) = &self.qos {
            f.write_str(",")?;
            qos.text(f)?;
        }
        if let Some(forward) = &self.forward {
            f.write_str(",")?;
            forward.text(f)?;
        }
        Ok(())
    }
}

impl TypedBody for FlowWrite {
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let tuples = TupleMatch::take(&mut args)?;
        let mut this = Self::of(tuples.value);
        this.gives_back = args.take("give-back").is_some();
        take(&mut args, "gap_us", &mut this.gap_us)?;
        take(&mut args, "copy_bytes", &mut this.copy_bytes)?;
        this.registers = args.take("registers").map(parse_registers).transpose()?;
        this.qos = QosRecord::take(&mut args)?;
        this.forward = ForwardRecord::take(&mut args, catalogue)?;
        args.finish()?;
        Ok(this)
    }
}

fn parse_registers(text: &str) -> Result<[u64; 4], String> {
    let mut registers = [0; 4];
    let mut words = text.split('+');
    for register in &mut registers {
        let word = words.next().unwrap_or("0");
        let number = bofuss_oflib::text::number(word);
        *register = number.ok_or_else(|| format!("'{word}' is not a number"))?;
    }
    match words.next() {
        Some(_) => Err("there are four registers".to_string()),
        None => Ok(registers),
    }
}
