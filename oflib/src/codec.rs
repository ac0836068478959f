//! Bytes to message and back, in one version, with one set of extensions.

use alloc::{sync::Arc, vec::Vec};
use core::fmt;

use crate::catalogue::Catalogue;
use crate::error::{BadRequest, DecodeError};
use crate::message::Message;
use crate::wire::{Reader, Writer};

/// Bytes of the header that begins every message: version, type, length, transaction id.
pub const HEADER_BYTES: usize = 8;
/// The longest message: its length has 16 bits.
pub const MAX_MESSAGE_BYTES: usize = u16::MAX as usize;
const MAX_BODY_BYTES: usize = MAX_MESSAGE_BYTES - HEADER_BYTES;
/// Bytes of a multipart body in front of its list: type, flags, padding.
const MULTIPART_HEAD_BYTES: usize = 8;

/// An OpenFlow version, by its number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u8);

impl Version {
    /// OpenFlow 1.3.
    pub const V1_3: Self = Self(4);
    /// Every version that this library speaks, the lowest first.
    pub const SPOKEN: &'static [Self] = &[Self::V1_3];

    /// The bit of this version in a hello's bitmap.
    pub const fn bit(self) -> u32 {
        1 << self.0
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
        let message = Message::decode_body(ty, &mut r)?;
        r.at("end of message").finish()?;
        Ok((xid, message))
    }

    /// Appends one message to `out`, header included. A multipart message whose list does not fit
    /// is written as several, all but the last with the MORE flag.
    ///
    /// Errors: [`TooLong`], and nothing appended, for what does not fit and cannot be split.
    pub fn encode(&self, xid: u32, message: &Message, out: &mut Vec<u8>) -> Result<(), TooLong> {
        let mut w = Writer::new(self);
        message.encode_body(&mut w);
        let ty = message.type_number();
        if w.bytes.len() <= MAX_BODY_BYTES {
            self.frame(ty, xid, &[&w.bytes], out);
            return Ok(());
        }
        let mut starts = w.item_starts;
        if !matches!(
            message,
            Message::MultipartRequest(_) | Message::MultipartReply(_)
        ) {
            starts.clear();
        }
        starts.push(w.bytes.len());
        let head = &w.bytes[..starts[0].min(MULTIPART_HEAD_BYTES)];
        let mut parts = Vec::new();
        let mut from = starts[0];
        for pair in starts.windows(2) {
            if pair[1] - from > MAX_BODY_BYTES - head.len() {
                parts.push(from..pair[0]);
                from = pair[0];
            }
        }
        parts.push(from..w.bytes.len());
        if starts.len() == 1 || parts.iter().any(|p| p.len() > MAX_BODY_BYTES - head.len()) {
            return Err(TooLong);
        }
        let last = parts.len() - 1;
        for (i, part) in parts.into_iter().enumerate() {
            let more = u8::from(i < last);
            self.frame(
                ty,
                xid,
                &[&head[..3], &[head[3] | more], &head[4..], &w.bytes[part]],
                out,
            );
        }
        Ok(())
    }

    /// Appends a message of these body pieces.
    fn frame(&self, ty: u8, xid: u32, body: &[&[u8]], out: &mut Vec<u8>) {
        let length = HEADER_BYTES + body.iter().map(|piece| piece.len()).sum::<usize>();
        out.extend([self.version.0, ty]);
        out.extend((length as u16).to_be_bytes());
        out.extend(xid.to_be_bytes());
        body.iter().for_each(|piece| out.extend_from_slice(piece));
    }
}

/// A message is longer than its 16-bit length can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the message is longer than {MAX_MESSAGE_BYTES} bytes")
    }
}

impl core::error::Error for TooLong {}
