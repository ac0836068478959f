//! Bytes to message and back, in one version, with one set of extensions.

use alloc::{sync::Arc, vec::Vec};
use core::fmt;

use crate::catalogue::Catalogue;
use crate::error::{BadRequest, DecodeError};
use crate::message::{FROM_SWITCH, MESSAGES, Message};
use crate::v1_0;
use crate::wire::{Reader, Writer};

/// Bytes of the header that begins every message: version, type, length, transaction id.
pub const HEADER_BYTES: usize = 8;
/// The types of multipart messages since 1.1.
const MULTIPART: [u8; 2] = [18, 19];
/// The longest message: its length has 16 bits.
pub const MAX_MESSAGE_BYTES: usize = u16::MAX as usize;
const MAX_BODY_BYTES: usize = MAX_MESSAGE_BYTES - HEADER_BYTES;

/// An OpenFlow version, by its number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u8);

impl Version {
    /// OpenFlow 1.0.
    pub const V1_0: Self = Self(1);
    /// OpenFlow 1.3.
    pub const V1_3: Self = Self(4);
    /// Every version that this library speaks, the lowest first.
    pub const SPOKEN: &'static [Self] = &[Self::V1_0, Self::V1_3];

    /// The bit of this version in a hello's bitmap.
    pub const fn bit(self) -> u32 {
        1 << self.0
    }

    /// Whether a packet that no entry matches goes to the controller, and is not only dropped.
    pub fn miss_goes_to_controller(self) -> bool {
        self == Self::V1_0
    }

    /// Whether the switch holds every packet that no entry matches, also one that the controller
    /// gets whole. Choice: as the switch did that 1.0 came with, on which controllers rely.
    pub fn holds_every_miss(self) -> bool {
        self == Self::V1_0
    }

    /// Whether the entry that matches all packets at priority 0 is the table-miss entry, and not
    /// one like any other.
    pub fn has_table_miss_entries(self) -> bool {
        self >= Self::V1_3
    }

    /// Whether a controller proves by a generation id that its role is the newest.
    pub fn roles_have_generations(self) -> bool {
        self != Self::V1_0
    }

    /// Whether a controller may have auxiliary connections beside its main one.
    pub fn has_auxiliary_connections(self) -> bool {
        self >= Self::V1_3
    }

    /// Whether messages of this type come in parts.
    pub fn is_multipart(self, ty: u8) -> bool {
        match self {
            Self::V1_0 => v1_0::STATS.contains(&ty),
            _ => MULTIPART.contains(&ty),
        }
    }

    /// The OpenFlow 1.3 name of a message of this type, without `OFPT_`.
    pub fn message_name(self, ty: u8) -> Option<&'static str> {
        let ty = self.model_type(ty)?;
        let row = MESSAGES.iter().find(|row| row.0 == ty);
        row.map(|row| row.1)
    }

    /// Whether only switches send messages of this type: replies, and what nobody asked for.
    pub fn is_from_switch(self, ty: u8) -> bool {
        self.model_type(ty)
            .is_some_and(|ty| FROM_SWITCH.contains(&ty))
    }

    /// The type in 1.3 of what has this type in this version.
    fn model_type(self, ty: u8) -> Option<u8> {
        match self {
            Self::V1_0 => v1_0::model_type(ty),
            _ => Some(ty),
        }
    }

    /// Bytes of a multipart body in front of its list: type, flags and, since 1.1, padding.
    fn multipart_head_bytes(self) -> usize {
        if self == Self::V1_0 { 4 } else { 8 }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n @ 1..=6 => write!(f, "1.{}", n - 1),
            n => write!(f, "{n:#04x}"),
        }
    }
}

/// Which variant of an ambiguous wire form a peer speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// The specification's.
    #[default]
    Standard,
}

/// What decides how bytes and text are read and written.
#[derive(Clone, Debug)]
pub struct Codec {
    /// The version on the wire.
    pub version: Version,
    /// Fields and experimenter values that are known.
    pub catalogue: Arc<Catalogue>,
    /// The peer's variant.
    pub dialect: Dialect,
}

impl Codec {
    /// A codec of the specification's form of `version`.
    pub fn new(version: Version, catalogue: Arc<Catalogue>) -> Self {
        Self {
            version,
            catalogue,
            dialect: Dialect::Standard,
        }
    }

    /// Reads one whole message, header included; gives its transaction id and body.
    ///
    /// Errors: BAD_REQUEST/BAD_VERSION, BAD_TYPE or BAD_LEN for the frame of it, else what the
    /// body's description says. Never panics.
    pub fn decode(&self, bytes: &[u8]) -> Result<(u32, Message), DecodeError> {
        let mut r = Reader::new(self, bytes);
        let mut header = r.clone();
        let version = header.at("version").get::<u8>()?;
        let ty = header.at("type").get::<u8>()?;
        if version != self.version.0 && !Message::is_version_free(ty) {
            return Err(r.at("version").err(BadRequest::BAD_VERSION));
        }
        let at_length = header.at("length").clone();
        if usize::from(header.get::<u16>()?) != bytes.len() {
            return Err(at_length.short());
        }
        let xid = header.at("xid").get()?;
        r.take(HEADER_BYTES)?;
        let message = match Version(version) {
            Version::V1_0 => v1_0::decode_body(ty, &mut r)?,
            _ => Message::decode_body(ty, &mut r)?,
        };
        r.at("end of message").finish()?;
        Ok((xid, message))
    }

    /// Appends one message to `out`, header included. A multipart message whose list does not fit
    /// is written as several, all but the last with the MORE flag.
    ///
    /// Errors: nothing is appended for what does not fit and cannot be split, or cannot be said.
    pub fn encode(
        &self,
        xid: u32,
        message: &Message,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let start = out.len();
        let mut w = Writer::new(self);
        w.bytes = core::mem::take(out);
        w.pad(HEADER_BYTES);
        let ty = match self.version {
            Version::V1_0 => v1_0::encode_body(message, &mut w),
            _ => {
                message.encode_body(&mut w);
                Ok(message.type_number())
            }
        };
        let mut starts = w.item_starts;
        *out = w.bytes;
        let length = out.len() - start;
        if let Ok(ty) = ty
            && length <= MAX_MESSAGE_BYTES
        {
            out[start..start + HEADER_BYTES].copy_from_slice(&self.header(ty, xid, length));
            return Ok(());
        }
        let whole = out.split_off(start);
        let (ty, body) = (ty.map_err(EncodeError::Unsaid)?, &whole[HEADER_BYTES..]);
        starts.iter_mut().for_each(|at| *at -= start + HEADER_BYTES);
        if !matches!(
            message,
            Message::MultipartRequest(_) | Message::MultipartReply(_)
        ) {
            starts.clear();
        }
        starts.push(body.len());
        let head_bytes = self.version.multipart_head_bytes();
        let head = &body[..starts[0].min(head_bytes)];
        let mut parts = Vec::new();
        let mut from = starts[0];
        for pair in starts.windows(2) {
            if pair[1] - from > MAX_BODY_BYTES - head.len() {
                parts.push(from..pair[0]);
                from = pair[0];
            }
        }
        parts.push(from..body.len());
        if starts.len() == 1 || parts.iter().any(|p| p.len() > MAX_BODY_BYTES - head.len()) {
            return Err(EncodeError::TooLong);
        }
        let last = parts.len() - 1;
        for (i, part) in parts.into_iter().enumerate() {
            let more = u8::from(i < last);
            let length = HEADER_BYTES + head.len() + part.len();
            out.extend(self.header(ty, xid, length));
            out.extend([&head[..3], &[head[3] | more], &head[4..], &body[part]].concat());
        }
        Ok(())
    }

    fn header(&self, ty: u8, xid: u32, length: usize) -> [u8; HEADER_BYTES] {
        let ([high, low], [a, b, c, d]) = ((length as u16).to_be_bytes(), xid.to_be_bytes());
        [self.version.0, ty, high, low, a, b, c, d]
    }
}

/// Why a message is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// It is longer than its 16-bit length can say.
    TooLong,
    /// The version has no words for this.
    Unsaid(&'static str),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "the message is longer than {MAX_MESSAGE_BYTES} bytes"),
            Self::Unsaid(what) => write!(f, "this OpenFlow version cannot say {what}"),
        }
    }
}

impl core::error::Error for EncodeError {}
