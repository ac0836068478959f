//! The exchange of HELLOs as bytes: agrees on a version, or reports why that failed. Spec: OpenFlow
//! 1.3.5 section 6.3.1.

use alloc::{format, string::String, string::ToString, sync::Arc, vec::Vec};
use core::fmt;

use crate::assemble::Refused;
use crate::catalogue::Catalogue;
use crate::codec::Codec;
use crate::error::{BadRequest, DecodeError, HelloFailed};
use crate::framing::{Framer, xid_of};
use crate::message::{ErrorMsg, Hello, Message};
use crate::version::{Name, Version};
use crate::wire::Bytes;

/// The reason for which two sides do not begin to talk.
///
/// All of them end the connection. The texts are for logs and, where an ERROR goes out, for the
/// peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandshakeError {
    /// Something else came first: its name.
    NotHello(String),
    /// The two bitmaps, or highest versions, do not meet.
    NoCommonVersion {
        /// Our versions.
        ours: String,
        /// The peer's.
        theirs: String,
    },
    /// The peer answered HELLO with an ERROR: its name and text.
    Refused(String),
    /// A HELLO or ERROR that cannot be read.
    Malformed(DecodeError),
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHello(name) => write!(f, "the first message is not HELLO but {name}"),
            Self::NoCommonVersion { ours, theirs } => write!(
                f,
                "no common OpenFlow version: this side speaks {ours}, the other side {theirs}"
            ),
            Self::Refused(text) => write!(f, "the peer refuses the connection: {text}"),
            Self::Malformed(cause) => write!(f, "malformed message: {cause}"),
        }
    }
}

impl core::error::Error for HandshakeError {}

/// One side of a connection on which no version is agreed yet.
#[derive(Clone, Debug)]
pub struct Handshake {
    /// Of our highest version.
    ///
    /// The version in the header of our HELLO is the highest that we speak, as section 6.3.1 asks.
    codec: Codec,
    /// Those that we offer, in any order.
    versions: Vec<Version>,
}

impl Handshake {
    /// A side that speaks `versions`.
    ///
    /// Panics: if `versions` is empty.
    pub fn new(versions: &[Version], catalogue: Arc<Catalogue>) -> Self {
        let highest = *versions.iter().max().expect("a caller speaks some version");
        Self {
            codec: Codec::new(highest, catalogue),
            versions: versions.into(),
        }
    }

    /// The bytes of our HELLO.
    ///
    /// Its transaction id is 0, as it expects no answer with the same.
    pub fn hello(&self) -> Vec<u8> {
        let hello = Hello::offering(&self.versions);
        encoded(&self.codec, 0, &Message::Hello(hello))
    }

    /// Returns the codec of the version for both, by the peer's first message, as
    /// [`first_message`] takes it. Errors: why there is none.
    ///
    /// It changes nothing, so that a caller may judge and then ask for the bytes of the ERROR.
    pub fn judge(&self, first: &[u8]) -> Result<Codec, HandshakeError> {
        let header = first[0];
        let ty = first[1];
        match self.codec.decode(first) {
            Ok((_, Message::Hello(hello))) => match hello.negotiate(header, &self.versions) {
                Some(version) => Ok(Codec::new(version, self.codec.catalogue.clone())),
                None => Err(HandshakeError::NoCommonVersion {
                    ours: list(self.versions.iter().map(|one| one.number())),
                    theirs: offered(&hello, header),
                }),
            },
            Ok((_, Message::Error(error))) => {
                let data = String::from_utf8_lossy(&error.data.0);
                let text = data.trim_end_matches('\0').escape_debug();
                Err(HandshakeError::Refused(format!("{} {text}", error.error)))
            }
            // What claims to be HELLO or ERROR is malformed; of any other message the name says
            // enough.
            Err(cause) if Message::is_version_free(ty) => Err(HandshakeError::Malformed(cause)),
            Ok(_) | Err(_) => {
                // The name is that of the version in the header, as types have other numbers in
                // 1.0.
                let version = Version::of_number(header).unwrap_or(Version::NEWEST);
                Err(HandshakeError::NotHello(match version.message_name(ty) {
                    Some(name) => name.to_string(),
                    None => format!("of type {ty}"),
                }))
            }
        }
    }

    /// The bytes of the ERROR that reports to the peer why the connection ends; an ERROR is never
    /// answered. `datagrams`: whether the peer's HELLO may be lost.
    pub fn error_bytes(
        &self,
        error: &HandshakeError,
        first: &[u8],
        datagrams: bool,
    ) -> Option<Vec<u8>> {
        // Two peers that answer an ERROR by an ERROR would go on without end.
        let answer = match error {
            HandshakeError::Refused(_) => return None,
            // The peer's HELLO may be lost: section 6.3.6 has it begin anew.
            HandshakeError::NotHello(_) if datagrams => {
                ErrorMsg::quoting(BadRequest::BAD_VERSION, first)
            }
            HandshakeError::Malformed(cause) => Refused::fatal(*cause).answer(first)?,
            HandshakeError::NotHello(_) | HandshakeError::NoCommonVersion { .. } => ErrorMsg {
                error: HelloFailed::INCOMPATIBLE,
                data: Bytes(error.to_string().into()),
            },
        };
        let mut bytes = encoded(&self.codec, xid_of(first), &Message::Error(answer));
        // The lower of the two headers' versions: the peer can read it.
        bytes[0] = first[0].clamp(Version::V1_0.number(), self.codec.version.number());
        Some(bytes)
    }
}

/// Takes the peer's first message, if enough of it is here; of a stranger only the header, whose
/// "length" may never arrive.
///
/// What is no HELLO or ERROR needs no body to be refused, and waiting for one would let a peer of
/// another protocol hold the connection open.
pub fn first_message(framer: &mut Framer) -> Option<Vec<u8>> {
    let header = framer.header()?;
    if !Message::is_version_free(header[1]) {
        return Some(header.into());
    }
    match framer.next_message() {
        Ok(message) => message.map(Vec::from),
        Err(_) => Some(header.into()),
    }
}

/// `1.0, 1.3`
fn list(numbers: impl Iterator<Item = u8>) -> String {
    let names: Vec<_> = numbers.map(|number| Name(number).to_string()).collect();
    if names.is_empty() {
        return "none".into();
    }
    names.join(", ")
}

/// The versions of a peer's HELLO.
fn offered(hello: &Hello, header: u8) -> String {
    match hello.bitmap.first() {
        Some(map) => {
            // Versions past 31 would be in further words, and do not exist.
            let spoken = (0..32).filter(|bit| map >> bit & 1 == 1);
            list(spoken)
        }
        None => format!("{} or less", Name(header)),
    }
}

/// One message of ours as bytes.
fn encoded(codec: &Codec, xid: u32, message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoded = codec.encode(xid, message, &mut bytes);
    encoded.expect("HELLO and ERROR are short");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_hello_is_answered_and_no_error_is() {
        let ours = Handshake::new(&[Version::V1_3], Arc::default());
        let cases: &[(&[u8], bool)] = &[
            // A HELLO that is longer than it says.
            (&[4, 0, 0, 8, 0, 0, 0, 7, 0], true),
            // An ERROR without type and code, one of an experimenter without its number, and one
            // whose length is less than a header.
            (&[4, 1, 0, 8, 0, 0, 0, 7], false),
            (&[4, 1, 0, 12, 0, 0, 0, 7, 0xff, 0xff, 0, 1], false),
            (&[4, 1, 0, 7, 0, 0, 0, 7], false),
        ];
        for (first, is_answered) in cases {
            let error = ours.judge(first).expect_err("it cannot be read");
            assert!(matches!(error, HandshakeError::Malformed(_)), "{error}");
            let answer = ours.error_bytes(&error, first, false);
            assert_eq!(answer.is_some(), *is_answered, "{first:?}");
        }
    }
}
