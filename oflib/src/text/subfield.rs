//! The text of some bits of a field, and of their value.

use alloc::format;
use core::fmt;

use super::copy_field::{parse_part, write_part};
use super::matching::field_named_first;
use super::{no_field, number, parse_value, write_value};
use crate::catalogue::Catalogue;
use crate::matching::FieldMatch;
use crate::nicira::registers;
use crate::nicira::subfield::{Subfield, otherwise_named, width};
use crate::parse_error::ParseError;

impl fmt::Display for Subfield {
    /// `FIELD[FIRST..LAST]`, or `FIELD[]` for all of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_whole() {
            return write!(f, "{}[]", self.field.shown());
        }
        write_part(f, self.field, self.offset, self.n_bits)
    }
}

impl Subfield {
    /// Reads `FIELD[FIRST..LAST]`, `FIELD[BIT]`, `FIELD[]` or `FIELD`. If a name's field depends on
    /// the protocol, `fields` name that.
    ///
    /// Errors: what is wrong, in words.
    pub fn parse(
        text: &str,
        fields: &[FieldMatch],
        catalogue: &Catalogue,
    ) -> Result<Self, ParseError> {
        let named = |name: &str| {
            otherwise_named(name)
                .or_else(|| registers::named(name))
                .or_else(|| field_named_first(name, fields, catalogue))
        };
        let (row, offset, n_bits) = if text.contains('[') {
            parse_part(text, named)?
        } else {
            let row = named(text);
            let row = row.ok_or_else(|| no_field(text, format!("there is no field '{text}'")))?;
            (row, 0, row.bits)
        };
        Self::of(row, offset, n_bits)
            .ok_or_else(|| format!("'{text}' has bits of more than one field").into())
    }

    /// Reads a value of these bits: in the field's style if they are all of it, else a number.
    ///
    /// Errors: what is wrong, in words.
    pub fn parse_value(&self, text: &str, catalogue: &Catalogue) -> Result<u128, ParseError> {
        if self.is_whole() {
            let value = parse_value(self.field, text, catalogue);
            return match value {
                Ok(value) => Ok(value & self.ones()),
                Err(error) => Err(format!("'{text}' is {}", error.message).into()),
            };
        }
        let value = number(text).map(u128::from);
        value
            .filter(|value| value & !self.ones() == 0)
            .ok_or_else(|| format!("'{text}' is no number of {} bits", self.n_bits).into())
    }

    /// Writes a value of these bits.
    pub fn write_value(&self, value: u128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_whole() && width(self.field) == self.field.bits {
            return write_value(f, self.field, &FieldMatch::exact(self.field, value).value);
        }
        if self.is_whole() {
            return write!(f, "{value}");
        }
        write!(f, "{value:#x}")
    }
}
