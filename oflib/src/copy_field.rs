//! The action that copies bits of one field to another: its wire form and checks.

use crate::error::{BadAction, DecodeError, ErrorCode};
use crate::field::{ETH_DST, Field};
use crate::field_set::FieldSet;
use crate::matching::FieldMatch;
use crate::message::multipart::table_features::FieldId;
#[cfg(feature = "nicira")]
use crate::nicira::registers;
use crate::wire::{Reader, Wire, Writer};

/// Bits of a field that another field gets. Spec: OpenFlow 1.5.1 section 7.2.6.9.
///
/// Shape: their number and the lowest of them in both fields, 16 bits each, 2 bytes of padding, and
/// the OXM headers of both fields.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CopyField {
    /// The number of bits.
    pub n_bits: u16,
    /// The lowest bit in `src`, 0 for its last bit.
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

    /// Returns the new value of `dst`: the bits of `source` in their place, and the others of
    /// `before`.
    pub fn copied(&self, source: u128, before: u128) -> FieldMatch {
        let ones = !u128::MAX.checked_shl(self.n_bits.into()).unwrap_or(0);
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
    let id = r.get()?;
    #[cfg(feature = "nicira")]
    if let (FieldId::Unknown(..), Some(field)) = (&id, registers::of_bare_header(&at)) {
        return Ok(field);
    }
    match id {
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
        #[cfg(feature = "nicira")]
        let copy = registers::copy_in_one(copy).ok_or_else(|| start.err(BadAction::BAD_SET_LEN))?;
        Ok(copy)
    }

    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.n_bits).put(&self.src_offset);
        w.put(&self.dst_offset).pad(2);
        w.put(&FieldId::Known(self.src, false));
        w.put(&FieldId::Known(self.dst, false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::METADATA;

    #[test]
    fn as_many_bits_as_it_says_are_copied_from_none_to_all() {
        for (n_bits, value) in [(0, 0x1234), (4, 0x123f), (64, u64::MAX.into())] {
            let copy = CopyField {
                n_bits,
                src_offset: 0,
                dst_offset: 0,
                src: METADATA,
                dst: METADATA,
            };
            let copied = copy.copied(u64::MAX.into(), 0x1234);
            assert_eq!(copied, FieldMatch::exact(METADATA, value));
        }
    }
}
