//! Named values of a port: names, numbers and words, on the wire and as text.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};
use core::{fmt, str};

use bofuss_oflib::wire::{Reader, TextForm, Wire, Writer};
use bofuss_oflib::{DecodeError, ErrorCode, ParseError};

use super::error::BAD_VALUE;

/// The most values that a port, a change or an event has.
pub const MAX_VALUES: usize = 32;
/// The most characters of a name and of a word.
pub const MAX_NAME_CHARS: usize = 31;
/// See [`MAX_NAME_CHARS`].
pub const MAX_WORD_CHARS: usize = 63;
/// The largest number, and the least but for the sign: those that JSON's readers agree on.
pub const MAX_NUMBER: i64 = (1 << 53) - 1;

/// Names that texts of messages use for something else.
const RESERVED: [&str; 4] = ["port", "event", "driver", "settable"];
/// Types of values on the wire.
const NUMBER: u8 = 0;
const WORD: u8 = 1;

/// A name: 1 to 31 letters, digits, `_`, `-` and `.`, and none of those reserved.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// The name of these characters, if it is one.
    pub fn new(text: &str) -> Option<Self> {
        let is_right = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let fits = (1..=MAX_NAME_CHARS).contains(&text.len()) && !RESERVED.contains(&text);
        (fits && text.bytes().all(is_right)).then(|| Self(text.into()))
    }

    /// The characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A number of at most 53 bits and a sign.
    Number(i64),
    /// 1 to 63 letters, digits and `_-.:/+@#`, which are not the text of a number.
    Word(String),
}

impl Value {
    /// The number, if it is one of a value.
    pub fn number(number: i64) -> Option<Self> {
        let fits = (-MAX_NUMBER..=MAX_NUMBER).contains(&number);
        fits.then_some(Self::Number(number))
    }

    /// The word of these characters, if it is one.
    pub fn word(text: &str) -> Option<Self> {
        let is_right = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:/+@#".contains(&byte);
        let fits = (1..=MAX_WORD_CHARS).contains(&text.len()) && text.parse::<i64>().is_err();
        (fits && text.bytes().all(is_right)).then(|| Self::Word(text.into()))
    }

    /// The value of a text: a number or a word.
    pub fn parse(text: &str) -> Option<Self> {
        match text.parse() {
            Ok(number) => Self::number(number),
            Err(_) => Self::word(text),
        }
    }

    /// Returns true if both are numbers, or both are words.
    pub fn is_like(&self, other: &Self) -> bool {
        matches!(self, Self::Number(_)) == matches!(other, Self::Number(_))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) => f.write_str(word),
        }
    }
}

/// Values by name, at most [`MAX_VALUES`]. On the wire, each is a type (0 a number, 1 a word), a
/// zero, the lengths of name and value, a byte each, the name, and the value: a number has 8 bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Values(BTreeMap<Name, Value>);

impl Values {
    /// The values in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Value)> {
        self.0.iter()
    }

    /// The value of a name.
    pub fn get(&self, name: &Name) -> Option<&Value> {
        self.0.get(name)
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets or removes a value. Returns false, with nothing done, if there is no room for it.
    #[must_use]
    pub fn set(&mut self, name: Name, value: Option<Value>) -> bool {
        let Some(value) = value else {
            self.0.remove(&name);
            return true;
        };
        let has_room = self.0.len() < MAX_VALUES || self.0.contains_key(&name);
        if has_room {
            self.0.insert(name, value);
        }
        has_room
    }

    /// The bytes that a property of a port has.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, value) in &self.0 {
            let number;
            let (ty, content) = match value {
                Value::Number(one) => {
                    number = one.to_be_bytes();
                    (NUMBER, &number[..])
                }
                Value::Word(word) => (WORD, word.as_bytes()),
            };
            // Names and words are shorter than 64 bytes.
            bytes.extend([ty, 0, name.0.len() as u8, content.len() as u8]);
            bytes.extend(name.0.as_bytes());
            bytes.extend(content);
        }
        bytes
    }

    /// Reads such bytes. Errors: BAD_VALUE.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, ErrorCode> {
        let mut values = Self::default();
        while let Some((head, rest)) = bytes.split_first_chunk::<4>() {
            let (name, rest) = split(rest, head[2])?;
            let (content, rest) = split(rest, head[3])?;
            let number = || Value::number(i64::from_be_bytes(content.try_into().ok()?));
            let word = || Value::word(str::from_utf8(content).ok()?);
            let value = match head[0] {
                NUMBER => number(),
                WORD => word(),
                _ => None,
            };
            let name = str::from_utf8(name).ok().and_then(Name::new);
            let (Some(name), Some(value)) = (name, value) else {
                return Err(BAD_VALUE);
            };
            let is_new = values.get(&name).is_none();
            if head[1] != 0 || !is_new || !values.set(name, Some(value)) {
                return Err(BAD_VALUE);
            }
            bytes = rest;
        }
        bytes.is_empty().then_some(values).ok_or(BAD_VALUE)
    }

    /// Reads `name=value` with commas between. Errors: a sentence for the user.
    pub fn parse<'a>(parts: impl Iterator<Item = &'a str>) -> Result<Self, ParseError> {
        let mut values = Self::default();
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let name = Name::new(name).ok_or_else(|| format!("'{name}' is no name"))?;
            let value = Value::parse(value).ok_or_else(|| format!("'{value}' is no value"))?;
            if !values.set(name, Some(value)) {
                return Err(format!("there are more than {MAX_VALUES} values").into());
            }
        }
        Ok(values)
    }
}

/// Splits off so many bytes. Errors: BAD_VALUE if there are fewer.
fn split(bytes: &[u8], count: u8) -> Result<(&[u8], &[u8]), ErrorCode> {
    bytes.split_at_checked(count.into()).ok_or(BAD_VALUE)
}

impl Wire for Values {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = r.clone();
        Self::from_bytes(r.rest()).map_err(|error| at.err(error))
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.raw(&self.to_bytes());
    }
}

impl TextForm for Values {
    /// Each as `,name=value`.
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = self.0.iter();
        rows.try_for_each(|(name, value)| write!(f, ",{name}={value}"))
    }
}
