//! The arguments in texts of messages and actions: `name=value`, with commas between them.

use alloc::{format, vec::Vec};

use bofuss_oflib::ParseError;
use bofuss_oflib::text::{items, number};

/// The arguments of a text that have not been taken yet, by name and value.
pub(crate) struct Args<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Args<'a> {
    /// Splits a text. A word without `=` has an empty value.
    pub(crate) fn new(text: &'a str) -> Self {
        Self(
            items(text)
                .map(|part| part.split_once('=').unwrap_or((part, "")))
                .collect(),
        )
    }

    /// Takes the value of a name, if it is there.
    pub(crate) fn take(&mut self, name: &str) -> Option<&'a str> {
        let index = self.0.iter().position(|(other, _)| *other == name)?;
        Some(self.0.remove(index).1)
    }

    /// Takes a number; 0 if it is not there. Errors: the value is not a number, or too large.
    pub(crate) fn number<T: TryFrom<u64>>(&mut self, name: &str) -> Result<T, ParseError> {
        let text = self.take(name).unwrap_or("0");
        parse_number(text)
    }

    /// Takes a number and the mask that may follow a slash; without one, the mask is all ones.
    pub(crate) fn masked(&mut self, name: &str) -> Result<(u32, u32), ParseError> {
        let text = self.take(name).unwrap_or("0");
        match text.split_once('/') {
            Some((value, mask)) => Ok((parse_number(value)?, parse_number(mask)?)),
            None => Ok((parse_number(text)?, u32::MAX)),
        }
    }

    /// Checks that everything was taken. Errors: a name that was not.
    pub(crate) fn finish(self) -> Result<(), ParseError> {
        match self.0.first() {
            Some((name, _)) => Err(format!("'{name}' does not belong here").into()),
            None => Ok(()),
        }
    }
}

/// Reads a number. Errors: it is none, or too large.
pub(crate) fn parse_number<T: TryFrom<u64>>(text: &str) -> Result<T, ParseError> {
    let value = number(text).and_then(|value| value.try_into().ok());
    value.ok_or_else(|| format!("'{text}' is not a number in range").into())
}

/// Writes a number, and its mask unless that is all ones.
pub(crate) fn write_masked(
    f: &mut core::fmt::Formatter<'_>,
    name: &str,
    value: u32,
    mask: u32,
) -> core::fmt::Result {
    match mask {
        u32::MAX => write!(f, "{name}={value}"),
        mask => write!(f, "{name}={value}/{mask:#x}"),
    }
}
