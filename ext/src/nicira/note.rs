//! `note`: bytes that do nothing, for whoever reads the entry.

use alloc::string::String;
use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::text::parse_bytes;
use bofuss_oflib::wire::{Bytes, Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, ParseError};

/// Bytes of the action before the note's: type, length, experimenter and its type.
const HEAD_BYTES: usize = 10;

/// A note.
///
/// Invariant: with the head it is a multiple of 8 bytes long, by zeros at its end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Note(Bytes);

impl Note {
    /// A note of these bytes, and zeros after them.
    pub fn new(bytes: &[u8]) -> Self {
        let padded = (HEAD_BYTES + bytes.len()).next_multiple_of(8).max(16);
        let mut bytes = bytes.to_vec();
        bytes.resize(padded - HEAD_BYTES, 0);
        Self(Bytes(bytes))
    }
}

impl Wire for Note {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if r.is_empty() {
            return Err(r.at("note").short());
        }
        r.get().map(Self)
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.0);
    }
}

impl TextForm for Note {
    /// `note:01.02.00.00.00.00`.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("note")?;
        let mut separator = ':';
        for byte in &self.0.0 {
            write!(f, "{separator}{byte:02x}")?;
            separator = '.';
        }
        Ok(())
    }
}

impl TypedBody for Note {
    fn parse(text: &str, _: &Catalogue) -> Result<Self, ParseError> {
        let digits: String = text.chars().filter(|c| *c != '.').collect();
        if digits.is_empty() {
            return Ok(Self::new(&[]));
        }
        parse_bytes(&digits)
            .map(|bytes| Self::new(&bytes))
            .map_err(|_| "a note is pairs of hexadecimal digits: 01.02".into())
    }
}
