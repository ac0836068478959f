//! `ParseError`: the reason for which a text was not understood.

use alloc::string::{String, ToString};
use core::fmt;

/// The reason for which a text was not understood, and which word of it.
///
/// It is made where the fault is found, with the message alone. The parser that has split the text
/// into words adds which of them it was.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseError {
    /// The fault, in words.
    pub message: String,
    /// The word at fault; empty if something is missing at the end, or the fault is the whole text.
    pub word: String,
    /// Bytes from the beginning of the text to the word.
    pub offset: usize,
    /// The number of the word's first character in the text, from 1 on.
    pub character: usize,
    /// True if the word may be the name of a port, and the catalogue has no ports to look it up in.
    pub needs_port_names: bool,
}

impl From<String> for ParseError {
    fn from(message: String) -> Self {
        Self {
            message,
            word: String::new(),
            offset: 0,
            character: 1,
            needs_port_names: false,
        }
    }
}

impl From<&str> for ParseError {
    fn from(message: &str) -> Self {
        String::from(message).into()
    }
}

/// For callers whose errors are words.
impl From<ParseError> for String {
    fn from(error: ParseError) -> Self {
        error.to_string()
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (message, place) = (&self.message, self.character);
        match self.word.as_str() {
            "" => f.write_str(message),
            word => write!(f, "'{word}' (at character {place}): {message}"),
        }
    }
}

impl core::error::Error for ParseError {}
