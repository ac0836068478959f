//! `learn`: an entry that is made of each packet, for those after it.

mod entry;
mod known;
#[cfg(test)]
mod tests;
mod text;

pub(super) use known::KnownEntries;

use alloc::{boxed::Box, vec::Vec};

use bofuss_oflib::error::BadAction;
use bofuss_oflib::message::FlowModFlags;
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::{Reader, Wire, Writer, be_number};
use bofuss_oflib::{DecodeError, Subfield};

/// The flag of an entry whose removal is reported. Others are not here.
const SEND_FLOW_REM: u16 = 1;
/// The bits of a part's head: how many bits of a field it is about, whether it has a value in place
/// of a field to read, and what is made of it.
const N_BITS: u16 = 0x3ff;
const IS_VALUE: u16 = 1 << 13;
const KIND: u16 = 3 << 11;
const MATCH: u16 = 0;
const LOAD: u16 = 1 << 11;
const OUTPUT: u16 = 2 << 11;

/// The entry that a packet makes.
///
/// Invariant: with values of any packet it is an entry that OpenFlow allows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Learn {
    /// The table that gets it.
    pub table: TableId,
    /// Its idle timeout in seconds; 0 is never.
    pub idle_timeout: u16,
    /// Its hard timeout in seconds, which begins anew with each packet that makes the same entry; 0
    /// is never.
    pub hard_timeout: u16,
    /// Its priority.
    pub priority: u16,
    /// Its cookie.
    pub cookie: u64,
    /// True if the controllers hear of its removal.
    pub send_flow_rem: bool,
    /// Its match and actions.
    pub parts: Box<[Part]>,
}

/// Where the bits of a part come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Bits of the packet.
    Packet(Subfield),
    /// This number, as many bits of it as the part has.
    Value(u128),
}

/// A part of the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Its match has these bits.
    Match(Subfield, Source),
    /// It sets these bits of packets.
    Load(Subfield, Source),
    /// It sends packets to the port that these bits of the packet name, if they name one.
    Output(Subfield),
}

impl Part {
    /// The bits that are read of the packet.
    fn read(&self) -> Option<Subfield> {
        match self {
            Self::Match(_, Source::Packet(bits)) | Self::Load(_, Source::Packet(bits)) => {
                Some(*bits)
            }
            Self::Match(_, Source::Value(_)) | Self::Load(_, Source::Value(_)) => None,
            Self::Output(bits) => Some(*bits),
        }
    }

    fn decode(head: u16, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = r.at("flow_mod_spec").clone();
        let n_bits = head & N_BITS;
        let source = if head & IS_VALUE == 0 {
            Source::Packet(Subfield::read(r.at("src"), n_bits)?)
        } else {
            let bytes = r.at("value").take(value_bytes(n_bits))?;
            if bytes.len() > size_of::<u128>() {
                return Err(start.err(BadAction::BAD_SET_LEN));
            }
            let value = be_number(bytes);
            if value.checked_shr(n_bits.into()).unwrap_or(0) != 0 {
                return Err(start.err(BadAction::BAD_ARGUMENT));
            }
            Source::Value(value)
        };
        match (head & KIND, source) {
            (MATCH, source) => Ok(Self::Match(Subfield::read(r.at("dst"), n_bits)?, source)),
            (LOAD, source) => Ok(Self::Load(Subfield::read(r.at("dst"), n_bits)?, source)),
            (OUTPUT, Source::Packet(bits)) => Ok(Self::Output(bits)),
            _ => Err(start.err(BadAction::BAD_ARGUMENT)),
        }
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let (kind, dst, source) = match self {
            Self::Match(dst, source) => (MATCH, Some(dst), *source),
            Self::Load(dst, source) => (LOAD, Some(dst), *source),
            Self::Output(bits) => (OUTPUT, None, Source::Packet(*bits)),
        };
        match source {
            Source::Packet(bits) => {
                w.put(&(kind | bits.n_bits));
                bits.write(w);
            }
            Source::Value(value) => {
                let n_bits = dst.map_or(0, |dst| dst.n_bits);
                w.put(&(kind | IS_VALUE | n_bits));
                let bytes = value.to_be_bytes();
                w.raw(&bytes[bytes.len() - value_bytes(n_bits)..]);
            }
        }
        if let Some(dst) = dst {
            dst.write(w);
        }
    }
}

/// The bytes of a value of so many bits, which is filled up to whole 16 bits.
fn value_bytes(n_bits: u16) -> usize {
    2 * usize::from(n_bits.div_ceil(16))
}

impl Wire for Learn {
    /// Errors: BAD_ACTION with BAD_LEN, BAD_SET_TYPE, BAD_SET_LEN or BAD_SET_ARGUMENT of a part;
    /// BAD_ARGUMENT for what is not here; and what OpenFlow says of the entry.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = r.at("learn").clone();
        let mut this = Self {
            idle_timeout: r.get()?,
            hard_timeout: r.at("hard_timeout").get()?,
            priority: r.at("priority").get()?,
            cookie: r.at("cookie").get()?,
            table: TableId(0),
            send_flow_rem: false,
            parts: Box::default(),
        };
        let mut at_flags = r.at("flags").clone();
        let flags: u16 = r.get()?;
        this.send_flow_rem = flags & SEND_FLOW_REM != 0;
        this.table = TableId(r.at("table_id").get()?);
        let pad: u8 = r.at("pad").get()?;
        let fin_timeouts: u32 = r.at("fin_timeouts").get()?;
        if flags & !SEND_FLOW_REM != 0 || this.table == TableId::ALL || pad != 0 {
            return Err(at_flags.err(BadAction::BAD_ARGUMENT));
        }
        if fin_timeouts != 0 {
            return Err(at_flags.at("fin_timeouts").err(BadAction::BAD_ARGUMENT));
        }
        let mut parts = Vec::new();
        while r.remaining() >= size_of::<u16>() {
            let head: u16 = r.at("flow_mod_spec").get()?;
            if head == 0 {
                break;
            }
            if head & !(N_BITS | IS_VALUE | KIND) != 0 {
                return Err(r.err(BadAction::BAD_ARGUMENT));
            }
            parts.push(Part::decode(head, r)?);
        }
        if r.clone().rest().iter().any(|byte| *byte != 0) {
            return Err(r.err(BadAction::BAD_ARGUMENT));
        }
        this.parts = parts.into();
        this.check().map_err(|error| start.err(error))?;
        Ok(this)
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let flags = if self.send_flow_rem { SEND_FLOW_REM } else { 0 };
        w.put(&self.idle_timeout).put(&self.hard_timeout);
        w.put(&self.priority).put(&self.cookie);
        w.put(&flags).put(&self.table.0).pad(1).pad(4);
        self.parts.iter().for_each(|part| part.encode(w));
    }
}

/// The flags of its entry.
impl From<&Learn> for FlowModFlags {
    fn from(learn: &Learn) -> Self {
        if learn.send_flow_rem {
            Self::SEND_FLOW_REM
        } else {
            Self::default()
        }
    }
}
