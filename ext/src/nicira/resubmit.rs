//! `resubmit`: a lookup in a table of any number, after which the packet continues.

use alloc::format;
use core::fmt;

use bofuss_datapath::HookContext;
use bofuss_oflib::error::BadAction;
use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::text::{number, parse_port_named};
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, ParseError, PortNo};

/// The reserved ports from here on have 32 bits since OpenFlow 1.1, of which the high half is ones.
const FIRST_RESERVED: u16 = 0xff00;
const RESERVED: u32 = 0xffff_0000;
/// The number that stands for the packet's own table.
const OWN_TABLE: u8 = 0xff;

/// A lookup in a table.
///
/// Invariant: the port has 16 bits on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Resubmit {
    /// The ingress port in the lookup; IN_PORT for that of the packet.
    pub in_port: PortNo,
    /// The table; `None` for that of the entry.
    pub table: Option<TableId>,
}

impl Resubmit {
    /// Asks for the lookup.
    pub(super) fn act(self, cx: &mut HookContext<'_>) {
        let in_port = (self.in_port != PortNo::IN_PORT).then_some(self.in_port);
        let table = self.table.unwrap_or(cx.table);
        cx.resubmit(bofuss_datapath::Resubmit { table, in_port });
    }
}

fn read_port(r: &mut Reader<'_>) -> Result<PortNo, DecodeError> {
    let number: u16 = r.at("in_port").get()?;
    let high = if number < FIRST_RESERVED { 0 } else { RESERVED };
    Ok(PortNo(u32::from(number) | high))
}

/// Reads padding. Errors: BAD_ACTION/BAD_ARGUMENT if it is not zero.
fn read_zeros(r: &mut Reader<'_>, n_bytes: usize) -> Result<(), DecodeError> {
    let start = r.at("pad").clone();
    let is_zero = r.take(n_bytes)?.iter().all(|byte| *byte == 0);
    is_zero
        .then_some(())
        .ok_or_else(|| start.err(BadAction::BAD_ARGUMENT))
}

impl Wire for Resubmit {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let in_port = read_port(r)?;
        let table: u8 = r.at("table").get()?;
        read_zeros(r, 3)?;
        let table = (table != OWN_TABLE).then_some(TableId(table));
        Ok(Self { in_port, table })
    }
    fn encode(&self, w: &mut Writer<'_>) {
        let table = self.table.map_or(OWN_TABLE, |table| table.0);
        w.put(&(self.in_port.0 as u16)).put(&table).pad(3);
    }
}

impl TextForm for Resubmit {
    /// `resubmit:2`, `resubmit(2,1)` or `resubmit(,1)`.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own_port = self.in_port == PortNo::IN_PORT;
        if self.table.is_none() && !own_port {
            return write!(f, "resubmit:{}", self.in_port);
        }
        f.write_str("resubmit(")?;
        if !own_port {
            write!(f, "{}", self.in_port)?;
        }
        f.write_str(",")?;
        if let Some(table) = self.table {
            write!(f, "{}", table.0)?;
        }
        f.write_str(")")
    }
}

impl TypedBody for Resubmit {
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let (port, table) = text.split_once(',').unwrap_or((text, ""));
        let (port, table) = (port.trim(), table.trim());
        if port.is_empty() && table.is_empty() {
            return Err("it takes a port, a table or both: resubmit(2,1)".into());
        }
        let in_port = match port {
            "" => PortNo::IN_PORT,
            port => parse_port_named(port, catalogue)?,
        };
        if in_port.0 >= FIRST_RESERVED.into() && in_port.0 | RESERVED != in_port.0 {
            return Err(format!("'{port}' is no number of a port of 16 bits").into());
        }
        let table = match table {
            "" => None,
            table => {
                let number = number(table).and_then(|number| number.try_into().ok());
                let number = number.ok_or_else(|| format!("'{table}' is no number of a table"))?;
                (number != OWN_TABLE).then_some(TableId(number))
            }
        };
        Ok(Self { in_port, table })
    }
}

/// The first form of the action, in which there is no table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ToPort(pub(super) Resubmit);

impl Wire for ToPort {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let in_port = read_port(r)?;
        r.take(4)?;
        let table = None;
        Ok(Self(Resubmit { in_port, table }))
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&(self.0.in_port.0 as u16)).pad(4);
    }
}

impl TextForm for ToPort {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.text(f)
    }
}

impl TypedBody for ToPort {
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        match Resubmit::parse(text, catalogue)? {
            one @ Resubmit { table: None, .. } => Ok(Self(one)),
            Resubmit { table: Some(_), .. } => Err("it takes no table".into()),
        }
    }
}
