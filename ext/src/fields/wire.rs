//! A change of the mappings, on the wire and as text.

use alloc::string::String;
use core::fmt;

use bofuss_oflib::ext::TypedBody;
use bofuss_oflib::text::{parse_mapping, parse_spare};
use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{Catalogue, DecodeError, ParseError};

use super::error::{BAD_COMMAND, BAD_MAPPING};
use crate::common::list::Listed;

/// The most bytes of a text; a mapping with all its words is shorter.
const MAX_TEXT_BYTES: usize = 255;
const ADD: u8 = 0;
const DELETE: u8 = 1;

/// A change of the mappings. Its text has 1 to 255 printable characters of ASCII.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FieldMap {
    /// Maps a spare row: `NAME=HEADER:BIT:BITS` and the words after it.
    Add(String),
    /// Unmaps the spare row of this name.
    Delete(String),
}

impl Wire for FieldMap {
    /// Errors: BAD_COMMAND, or BAD_MAPPING for a text that is none.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at_command = r.at("command").clone();
        let command: u8 = r.get()?;
        let at_text = r.at("text").clone();
        let bytes = r.rest();
        let is_text = (1..=MAX_TEXT_BYTES).contains(&bytes.len())
            && bytes.iter().all(|byte| (b' '..=b'~').contains(byte));
        if !is_text {
            return Err(at_text.err(BAD_MAPPING));
        }
        let text = String::from_utf8_lossy(bytes).into_owned();
        match command {
            ADD => Ok(Self::Add(text)),
            DELETE => Ok(Self::Delete(text)),
            _ => Err(at_command.err(BAD_COMMAND)),
        }
    }

    fn encode(&self, w: &mut Writer<'_>) {
        let (command, text) = match self {
            Self::Add(text) => (ADD, text),
            Self::Delete(name) => (DELETE, name),
        };
        w.put(&command).raw(text.as_bytes());
    }
}

impl TextForm for FieldMap {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add(text) => write!(f, "add,{text}"),
            Self::Delete(name) => write!(f, "delete,{name}"),
        }
    }
}

impl TypedBody for FieldMap {
    /// Reads `add,MAPPING` or `delete,NAME`, with the checks that need no switch.
    fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        match text.split_once(',') {
            Some(("add", mapping)) => {
                parse_mapping(mapping, catalogue)?;
                Ok(Self::Add(mapping.into()))
            }
            Some(("delete", name)) => {
                parse_spare(name, catalogue)?;
                Ok(Self::Delete(name.into()))
            }
            _ => Err("it is add,NAME=HEADER:BIT:BITS or delete,NAME".into()),
        }
    }
}

impl Listed for FieldMap {}
