//! The action that copies bits of one field to another: its wire form, text form and checks.

use alloc::{format, string::String};
use core::fmt;

use crate::catalogue::Catalogue;
use crate::error::{BadAction, DecodeError, ErrorCode};
use crate::field::{ETH_DST, Field};
use crate::field_set::FieldSet;
use crate::matching::FieldMatch;
use crate::message::multipart::table_features::FieldId;
use crate::text::{ActionArg, no_field};
use crate::wire::{Reader, Wire, Writer};

/// Bits of a field that another field gets. Spec: OpenFlow 1.5.1 section 7.2.6.9.
///
/// Shape: their number and the lowest of them in both fields, 16 bits each, 2 bytes of padding, and
/// the OXM headers of both fields.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CopyField {
    /// How many bits.
    pub n_bits: u16,
    /// The lowest bit in `src`, 0 for its last one.
    pub src_offset: u16,
    /// The lowest bit in `dst`.
    pub dst_offset: u16,
    /// The field that they are copied from.
    pub src: &'static Field,
    /// The field that gets them.
    pub dst: &'static Field,
}

impl CopyField {
    /// Both fields: what a packet becomes depends on them.
    pub fn fields(&self) -> FieldSet {
        FieldSet::from_iter([self.src, self.dst])
    }

    /// What `dst` becomes: the bits of `source` in their place, and the others of `before`.
    pub fn copied(&self, source: u128, before: u128) -> FieldMatch {
        let ones = u128::MAX >> (128 - u32::from(self.n_bits));
        let bits = (source >> self.src_offset & ones) << self.dst_offset;
        let others = before & !(ones << self.dst_offset);
        FieldMatch::exact(self.dst, others | bits)
    }

    /// Checks what the fields' rows say of it.
    ///
    /// Errors: BAD_ACTION/BAD_SET_LEN for no bits, or bits that a field does not have;
    /// BAD_ACTION/BAD_SET_ARGUMENT for a field that may not be written.
    pub fn check(&self) -> Result<(), ErrorCode> {
        let src_end = u32::from(self.src_offset) + u32::from(self.n_bits);
        let dst_end = u32::from(self.dst_offset) + u32::from(self.n_bits);
        let is_outside = src_end > u32::from(self.src.bits) || dst_end > u32::from(self.dst.bits);
        if self.n_bits == 0 || is_outside {
            return Err(BadAction::BAD_SET_LEN);
        }
        if !self.dst.is_copied_to() {
            return Err(BadAction::BAD_SET_ARGUMENT);
        }
        Ok(())
    }
}

/// Reads a field's header. Errors: BAD_ACTION/BAD_SET_TYPE for a field that is not known.
pub(crate) fn read_field(r: &mut Reader<'_>) -> Result<&'static Field, DecodeError> {
    let at = r.clone();
    match r.get()? {
        FieldId::Known(field, false) => Ok(field),
        FieldId::Known(_, true) | FieldId::Unknown(..) => Err(at.err(BadAction::BAD_SET_TYPE)),
    }
}

impl Wire for CopyField {
    /// Errors: BAD_ACTION with BAD_LEN, BAD_SET_TYPE, BAD_SET_LEN or BAD_SET_ARGUMENT.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let start = r.at("n_bits").clone();
        let mut copy = Self {
            n_bits: r.get()?,
            src_offset: r.at("src_offset").get()?,
            dst_offset: r.at("dst_offset").get()?,
            src: ETH_DST,
            dst: ETH_DST,
        };
        r.take(2)?;
        copy.src = read_field(r.at("src"))?;
        copy.dst = read_field(r.at("dst"))?;
        copy.check().map_err(|error| start.err(error))?;
        Ok(copy)
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.n_bits).put(&self.src_offset);
        w.put(&self.dst_offset).pad(2);
        w.put(&FieldId::Known(self.src, false));
        w.put(&FieldId::Known(self.dst, false));
    }
}

/// Writes `FIELD[FIRST..LAST]`, or `FIELD[]` for all of it.
fn write_part(f: &mut fmt::Formatter<'_>, field: &Field, first: u16, bits: u16) -> fmt::Result {
    let name = field.shown();
    if (first, bits) == (0, field.bits) {
        return write!(f, "{name}[]");
    }
    let last = (u32::from(first) + u32::from(bits)).saturating_sub(1);
    write!(f, "{name}[{first}..{last}]")
}

/// Reads `FIELD[FIRST..LAST]`, `FIELD[BIT]`, or `FIELD[]` for all of it. Returns the field, the
/// first bit and how many there are. Errors: what is wrong, in words.
fn parse_part(
    text: &str,
    named: impl Fn(&str) -> Option<&'static Field>,
) -> Result<(&'static Field, u16, u16), String> {
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
        return Err(format!("'{text}': {name} has bits 0 to {most}"));
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
    fn parse(s: &str, catalogue: &Catalogue) -> Result<Self, String> {
        Self::parse_among(s, |name| catalogue.field_named(name))
    }
}

impl CopyField {
    /// The same, where `named` finds the field of a name.
    pub(crate) fn parse_among(
        s: &str,
        named: impl Fn(&str) -> Option<&'static Field>,
    ) -> Result<Self, String> {
        let (from, to) = s
            .split_once("->")
            .ok_or_else(|| format!("'{s}' is not FROM->TO"))?;
        let (src, src_offset, n_bits) = parse_part(from.trim(), &named)?;
        let (dst, dst_offset, room) = parse_part(to.trim(), &named)?;
        if n_bits != room {
            return Err(format!("{n_bits} bits are copied to {room}"));
        }
        if !dst.is_copied_to() {
            return Err(format!("'{}' is no field that can be set", dst.shown()));
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
