//! The inspecting engine (deep packet inspection): flows whose payload has a signature get another
//! path and class.

use alloc::{collections::BTreeMap, format};
use core::fmt;

use bofuss_datapath::HookContext;
use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::field::Header;
use bofuss_oflib::text::parse_bytes;
use bofuss_oflib::wire::{Bytes, Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, ErrorCode, ParseError};

use super::error::{BAD_COMMAND, BAD_VALUE, NO_SIGNATURE, TOO_MANY};
use super::records::{ForwardRecord, QosRecord, take};
use super::table::FlowTable;
use super::tuple::FlowTuple;
use super::write::{FlowWrite, HAS_FORWARD, HAS_QOS, flags};
use crate::common::args::Args;
use crate::common::list::Listed;

/// The most signatures.
const MAX_SIGNATURES: usize = 64;
/// The most bytes of a pattern.
const PATTERN_BYTES: usize = 32;
/// Bytes of UDP's header.
const UDP_BYTES: usize = 8;

/// A pattern in a payload that puts its flow into a class, and what flows of that class get.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// Inspection begins when the flow has sent this many bytes, with those of the packet.
    pub after_bytes: u64,
    /// For how many bytes more packets are inspected.
    pub inspect_bytes: u32,
    /// The offset of the pattern in the payload of TCP or UDP.
    pub offset: u16,
    /// The pattern: 1 to 32 bytes.
    pub pattern: Bytes,
    /// The new path of such flows; `None` leaves it unchanged.
    pub forward: Option<ForwardRecord>,
    /// Their new quality of service; `None` leaves it unchanged.
    pub qos: Option<QosRecord>,
}

impl Signature {
    /// Returns true if it matches the payload of a packet, after which the flow has sent `bytes`
    /// bytes.
    fn matches(&self, bytes: u64, payload: &[u8]) -> bool {
        let end = self.after_bytes.saturating_add(self.inspect_bytes.into());
        let start = usize::from(self.offset);
        let rest = payload.get(start..).unwrap_or(&[]);
        (self.after_bytes..=end).contains(&bytes) && rest.starts_with(&self.pattern.0)
    }
}

/// A change of signatures: 56 bytes, then the QoS record and the forward record, if present.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SignatureMod {
    /// Sets the signature with this number.
    Add(u8, Signature),
    /// Deletes the signature with this number.
    Delete(u8),
}

impl Wire for SignatureMod {
    /// Errors: BAD_COMMAND, BAD_VALUE.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_command = r.at("command").clone();
        let command = r.get::<u8>()?;
        let id = r.at("id").get()?;
        let at_parts = r.at("parts").clone();
        let parts = r.get::<u8>()?;
        let at_length = r.at("pattern_len").clone();
        let length = usize::from(r.get::<u8>()?);
        let offset = r.at("offset").get()?;
        r.take(2)?;
        let after_bytes = r.at("after_bytes").get()?;
        let inspect_bytes = r.at("inspect_bytes").get()?;
        r.take(4)?;
        let pattern = r.at("pattern").take(PATTERN_BYTES)?;
        if command == 1 {
            return Ok(Self::Delete(id));
        }
        if command != 0 {
            return Err(at_command.err(BAD_COMMAND));
        }
        if parts & !(HAS_FORWARD | HAS_QOS) != 0 {
            return Err(at_parts.err(BAD_VALUE));
        }
        if !(1..=PATTERN_BYTES).contains(&length) {
            return Err(at_length.err(BAD_VALUE));
        }
        let mut this = Signature {
            after_bytes,
            inspect_bytes,
            offset,
            pattern: Bytes(pattern[..length].into()),
            forward: None,
            qos: None,
        };
        if parts & HAS_QOS != 0 {
            this.qos = Some(r.get()?);
        }
        if parts & HAS_FORWARD != 0 {
            this.forward = Some(r.get()?);
        }
        Ok(Self::Add(id, this))
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let (id, one) = match self {
            Self::Add(id, one) => (id, one),
            Self::Delete(id) => {
                w.put(&1u8).put(id).pad(22 + PATTERN_BYTES);
                return;
            }
        };
        let parts = flags([
            (one.forward.is_some(), HAS_FORWARD),
            (one.qos.is_some(), HAS_QOS),
        ]);
        let pattern = &one.pattern.0;
        w.put(&0u8).put(id).put(&parts).put(&(pattern.len() as u8));
        w.put(&one.offset).pad(2).put(&one.after_bytes);
        w.put(&one.inspect_bytes).pad(4);
        w.raw(pattern).pad(PATTERN_BYTES - pattern.len());
        if let Some(qos) = &one.qos {
            w.put(qos);
        }
        if let Some(forward) = &one.forward {
            w.put(forward);
        }
    }
}

impl TextForm for SignatureMod {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, one) = match self {
            Self::Add(id, one) => (id, one),
            Self::Delete(id) => return write!(f, "delete,id={id}"),
        };
        write!(f, "add,id={id},after_bytes={}", one.after_bytes)?;
        write!(
            f,
            ",inspect_bytes={},offset={},pattern=",
            one.inspect_bytes, one.offset
        )?;
        one.pattern.text(f)?;
        if let Some(qos) = &one.qos {
            f.write_str(",")?;
            qos.text(f)?;
        }
        if let Some(forward) = &one.forward {
            f.write_str(",")?;
            forward.text(f)?;
        }
        Ok(())
    }
}

impl TypedBody for SignatureMod {
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        let mut args = Args::new(text);
        let adds = args.take("add").is_some();
        let deletes = args.take("delete").is_some();
        let mut id = 0;
        take(&mut args, "id", &mut id)?;
        let mut one = Signature {
            after_bytes: 0,
            inspect_bytes: u32::MAX,
            offset: 0,
            pattern: Bytes::default(),
            forward: None,
            qos: None,
        };
        take(&mut args, "after_bytes", &mut one.after_bytes)?;
        take(&mut args, "inspect_bytes", &mut one.inspect_bytes)?;
        take(&mut args, "offset", &mut one.offset)?;
        if let Some(pattern) = args.take("pattern") {
            one.pattern = Bytes(parse_bytes(pattern)?);
        }
        one.qos = QosRecord::take(&mut args)?;
        one.forward = ForwardRecord::take(&mut args, catalogue)?;
        args.finish()?;
        match (adds, deletes) {
            (true, false) if (1..=PATTERN_BYTES).contains(&one.pattern.0.len()) => {
                Ok(Self::Add(id, one))
            }
            (true, false) => Err(format!("a pattern has 1 to {PATTERN_BYTES} bytes").into()),
            (false, true) => Ok(Self::Delete(id)),
            (..) => Err("it is add,id=N,pattern=HEX... or delete,id=N".into()),
        }
    }
}

impl Listed for SignatureMod {}

/// The signatures by number. If several are found in a payload, the lowest number counts.
#[derive(Debug, Default)]
pub(super) struct Signatures(BTreeMap<u8, Signature>);

impl Signatures {
    /// Returns true if there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Applies a change. Errors: NO_SIGNATURE, TOO_MANY.
    pub(super) fn change(&mut self, change: &SignatureMod) -> Result<(), ErrorCode> {
        match change {
            SignatureMod::Add(id, one) => {
                if !self.0.contains_key(id) && self.0.len() >= MAX_SIGNATURES {
                    return Err(TOO_MANY);
                }
                self.0.insert(*id, one.clone());
            }
            SignatureMod::Delete(id) => _ = self.0.remove(id).ok_or(NO_SIGNATURE)?,
        }
        Ok(())
    }

    /// The change of a flow because of a packet's payload, after which the flow has sent `bytes`
    /// bytes; `None` if no signature matches.
    fn class_of(&self, tuple: &FlowTuple, bytes: u64, payload: &[u8]) -> Option<FlowWrite> {
        let mut all = self.0.values();
        let one = all.find(|one| one.matches(bytes, payload))?;
        Some(FlowWrite {
            forward: one.forward.clone(),
            qos: one.qos,
            ..FlowWrite::of(*tuple)
        })
    }

    /// The changes that would recreate them.
    pub(super) fn list(&self) -> impl Iterator<Item = SignatureMod> {
        let all = self.0.iter();
        all.map(|(id, one)| SignatureMod::Add(*id, one.clone()))
    }

    /// Gives a flow the class that a packet's payload shows.
    pub(super) fn inspect(
        &self,
        table: &mut FlowTable,
        cx: &HookContext<'_>,
        slot: u32,
        tuple: &FlowTuple,
    ) {
        let flow = table.flow(slot);
        let Some(bytes) = flow.and_then(|flow| flow.inspected_bytes()) else {
            return;
        };
        let Some(write) = self.class_of(tuple, bytes, payload(cx)) else {
            return;
        };
        // If there is no room for its records, the flow keeps its class and is inspected again.
        let has_backlog = table.has_backlog(slot, |port, id| cx.waits(port, id));
        if table.write(&write, has_backlog).is_ok() {
            table.set_classified(slot);
        }
    }
}

/// The payload of TCP or UDP; empty if there is none.
fn payload<'a>(cx: &'a HookContext<'_>) -> &'a [u8] {
    let bytes = cx.frame().bytes();
    let start = if let Some(udp) = cx.layout().offset(Header::Udp) {
        udp + UDP_BYTES
    } else if let Some(tcp) = cx.layout().offset(Header::Tcp) {
        let words = bytes.get(tcp + 12).map_or(0, |byte| byte >> 4);
        tcp + 4 * usize::from(words)
    } else {
        bytes.len()
    };
    bytes.get(start..).unwrap_or(&[])
}
