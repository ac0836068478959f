//! Names of programs and of their maps.

use alloc::{format, string::String};
use core::fmt;

use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{DecodeError, ParseError};

use super::error::BAD_NAME;

/// Bytes of a name on the wire, with zeros at its end.
const NAME_BYTES: usize = 32;

/// A name: 1 to 31 letters, digits, `_`, `-` and `.`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name([u8; NAME_BYTES]);

impl Name {
    /// The name of these characters, if it is one.
    pub fn new(text: &str) -> Option<Self> {
        let is_right = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let fits = (1..NAME_BYTES).contains(&text.len());
        if !fits || !text.bytes().all(is_right) {
            return None;
        }
        let mut bytes = [0; NAME_BYTES];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Some(Self(bytes))
    }

    /// Reads a text. Errors: what a name is.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Self::new(text).ok_or_else(|| {
            format!("'{text}' is no name of 1 to 31 letters, digits, '_', '-' and '.'").into()
        })
    }

    /// The characters.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|byte| *byte == 0);
        let name = &self.0[..end.unwrap_or(NAME_BYTES)];
        core::str::from_utf8(name).expect("a name is of ASCII")
    }
}

impl Wire for Name {
    /// Errors: BAD_NAME.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = r.clone();
        let bytes: [u8; NAME_BYTES] = r.array()?;
        let text = String::from_utf8_lossy(&bytes);
        Self::new(text.trim_end_matches('\0')).ok_or_else(|| at.err(BAD_NAME))
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.raw(&self.0);
    }
}

impl TextForm for Name {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
