//! Spare rows: fields that packets have only where a controller maps them.

use crate::added_header::AnyHeader;
use crate::catalogue::Additions;
use crate::field::{At, Differs, Field, Style};

/// The first place of a spare row, at which no packet has anything.
pub(crate) const SPARE: At = At {
    header: AnyHeader::Spare,
    bit: 0,
    bits: 128,
};

impl Field {
    /// A spare row of an extension: a number of 128 bits whose place is said while a switch runs.
    pub const fn spare(experimenter: u32, number: u8, name: &'static str) -> Self {
        Self {
            settable: true,
            at: &[SPARE],
            differs: Differs::Every,
            style: Style::Hex,
            ..Self::extension(experimenter, number, name, SPARE.bits, true)
        }
    }

    /// Returns true if its place can be [mapped](crate::catalogue::Mapping) while a switch runs.
    #[inline]
    pub fn is_spare(&self) -> bool {
        matches!(self.at, [first, ..] if first.header == AnyHeader::Spare)
    }

    /// Returns true if it is a spare row by which no packet has a field.
    pub fn is_unmapped(&self) -> bool {
        self.is_spare() && self.at.len() == 1
    }
}

impl Additions {
    /// The row by which packets have a field: that of its mapping if it is a spare row, `None` if
    /// it is an unmapped one.
    #[inline]
    pub fn row_of<'a>(&self, field: &'a Field) -> Option<&'a Field> {
        if !field.is_spare() {
            return Some(field);
        }
        self.placed.iter().find(|row| row.id == field.id).copied()
    }
}
