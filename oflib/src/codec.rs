//! Bytes to message and back, in one version, with one set of extensions.

use alloc::{sync::Arc, vec::Vec};
use core::fmt;

use crate::catalogue::Catalogue;
use crate::error::{BadRequest, DecodeError};
use crate::forms;
use crate::message::Message;
use crate::version::Version;
use crate::wire::{Reader, Writer};

/// Bytes of the header that begins every message: version, type, length, transaction id.
pub const HEADER_BYTES: usize = 8;
/// The longest message: its length has 16 bits.
pub const MAX_MESSAGE_BYTES: usize = u16::MAX as usize;
const MAX_BODY_BYTES: usize = MAX_MESSAGE_BYTES - HEADER_BYTES;

/// The variant of an ambiguous wire form that a peer speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// The specification's.
    #[default]
    Standard,
}

/// Reads and writes bytes and text in one version, dialect and catalogue.
///
/// ```
/// use std::sync::Arc;
/// use bofuss_oflib::message::Empty;
/// use bofuss_oflib::{Codec, Message, Version};
///
/// let codec = Codec::new(Version::V1_3, Arc::default());
/// let mut bytes = Vec::new();
/// codec.encode(7, &Message::BarrierRequest(Empty), &mut bytes).expect("1.3 has barriers");
/// assert_eq!(bytes, [4, 20, 0, 8, 0, 0, 0, 7]);
/// assert_eq!(codec.decode(&bytes), Ok((7, Message::BarrierRequest(Empty))));
/// assert!(codec.decode(&bytes[..7]).is_err());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
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
        let mut header = Reader::new(self, bytes);
        let mut r = header.clone();
        let number = header.at("version").get::<u8>()?;
        let ty = header.at("type").get::<u8>()?;
        if number != self.version.number() && !Message::is_version_free(ty) {
            return Err(r.at("version").err(BadRequest::BAD_VERSION));
        }
        let at_length = header.at("length").clone();
        if usize::from(header.get::<u16>()?) != bytes.len() {
            return Err(at_length.short());
        }
        let xid = header.at("xid").get()?;
        let other;
        if number != self.version.number() {
            other = self.in_version(number);
            r.codec = &other;
        }
        r.take(HEADER_BYTES)?;
        let message = forms::read_body(ty, &mut r)?;
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
        let ty = forms::write_body(message, &mut w);
        let unsupported = w.first_unsupported();
        let mut starts = w.item_starts;
        *out = w.bytes;
        if let Some(what) = unsupported {
            out.truncate(start);
            return Err(EncodeError::Unsupported(what));
        }
        let length = out.len() - start;
        if length <= MAX_MESSAGE_BYTES {
            out[start..start + HEADER_BYTES].copy_from_slice(&self.header(ty, xid, length));
            return Ok(());
        }
        let whole = out.split_off(start);
        let body = &whole[HEADER_BYTES..];
        starts.iter_mut().for_each(|at| *at -= start + HEADER_BYTES);
        if !matches!(
            message,
            Message::MultipartRequest(_) | Message::MultipartReply(_)
        ) {
            starts.clear();
        }
        starts.push(body.len());
        let head = &body[..starts[0]];
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

    /// The same in the version of this number; in the newest if that is not spoken.
    fn in_version(&self, number: u8) -> Self {
        Self {
            version: Version::of_number(number).unwrap_or(Version::NEWEST),
            ..self.clone()
        }
    }

    fn header(&self, ty: u8, xid: u32, length: usize) -> [u8; HEADER_BYTES] {
        let [high, low] = (length as u16).to_be_bytes();
        let [a, b, c, d] = xid.to_be_bytes();
        [self.version.number(), ty, high, low, a, b, c, d]
    }
}

/// The reasons for which a message is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// It is longer than its 16-bit length can say.
    TooLong,
    /// The version has no words for this.
    Unsupported(&'static str),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "the message is longer than {MAX_MESSAGE_BYTES} bytes"),
            Self::Unsupported(what) => write!(f, "this OpenFlow version cannot say {what}"),
        }
    }
}

impl core::error::Error for EncodeError {}
