//! The text of the action that copies bits of one field to another.

use alloc::format;
use core::fmt;

use super::{ActionArg, no_field};
use crate::catalogue::Catalogue;
use crate::copy_field::CopyField;
use crate::field::Field;
use crate::parse_error::ParseError;

/// Writes `FIELD[FIRST..LAST]`, or `FIELD[]` for all of it.
pub(super) fn write_part(
    f: &mut fmt::Formatter<'_>,
    field: &Field,
    first: u16,
    bits: u16,
) -> fmt::Result {
    let name = field.shown();
    if (first, bits) == (0, field.bits) {
        return write!(f, "{name}[]");
    }
    let last = (u32::from(first) + u32::from(bits)).saturating_sub(1);
    write!(f, "{name}[{first}..{last}]")
}

/// Reads `FIELD[FIRST..LAST]`, `FIELD[BIT]`, or `FIELD[]` for all of it. Returns the field, the
/// first bit and how many there are. Errors: what is wrong, in words.
pub(super) fn parse_part(
    text: &str,
    named: impl Fn(&str) -> Option<&'static Field>,
) -> Result<(&'static Field, u16, u16), ParseError> {
    let wrong = || format!("'{text}' is not FIELD[FIRST..LAST] or FIELD[]");
    let inner = text.strip_suffix(']').ok_or_else(wrong)?;
    let (name, bits) = inner.split_once('[').ok_or_else(wrong)?;
    let field =
        named(name.trim()).ok_or_else(|| no_field(name, format!("there is no field '{name}'")))?;
    if bits.is_empty() {
        return Ok((field, 0, field.bits));
    }
    let (first, last) = bits.split_once("..").unwrap_or((bits, bits));
    let first: u16 = first.parse().map_err(|_| wrong())?;
    let last: u16 = last.parse().map_err(|_| wrong())?;
    if first > last || last >= field.bits {
        let most = field.bits - 1;
        return Err(format!("'{text}': {name} has bits 0 to {most}").into());
    }
    Ok((field, first, last - first + 1))
}

impl ActionArg for CopyField {
    fn write(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{name}:")?;
        write_part(f, self.src, self.src_offset, self.n_bits)?;
        f.write_str("->")?;
        write_part(f, self.dst, self.dst_offset, self.n_bits)
    }

    /// `FROM->TO`, each a `FIELD[FIRST..LAST]`, a `FIELD[BIT]` or a `FIELD[]`.
    fn parse(s: &str, catalogue: &Catalogue) -> Result<Self, ParseError> {
        Self::parse_among(s, |name| catalogue.field_named(name))
    }
}

impl CopyField {
    /// The same, where `named` finds the field of a name.
    pub(super) fn parse_among(
        s: &str,
        named: impl Fn(&str) -> Option<&'static Field>,
    ) -> Result<Self, ParseError> {
        let (from, to) = s
            .split_once("->")
            .ok_or_else(|| format!("'{s}' is not FROM->TO"))?;
        let (src, src_offset, n_bits) = parse_part(from.trim(), &named)?;
        let (dst, dst_offset, room) = parse_part(to.trim(), &named)?;
        if n_bits != room {
            return Err(format!("{n_bits} bits are copied to {room}").into());
        }
        if !dst.is_copied_to() {
            return Err(format!("'{}' is no field that can be set", dst.shown()).into());
        }
        Ok(Self {
            n_bits,
            src_offset,
            dst_offset,
            src,
            dst,
        })
    }
}
