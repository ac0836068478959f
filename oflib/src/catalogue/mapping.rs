//! Mappings of spare rows: the places in headers that fields get while a switch runs.

use alloc::{boxed::Box, format, string::String, vec::Vec};
use core::{ptr, slice};

use super::adding::{check_place, shares_bits};
use super::{Additions, Catalogue};
use crate::field::{At, Differs, Field, Need, STANDARD_FIELDS};

/// The most sets of mappings that a catalogue has in its life. What packets are parsed by is never
/// freed, and takes some 600 bytes for each set; one that was there before takes no further memory.
const MAX_SETS: usize = 4_096;

/// The place of a field in packets, and what entries may do with it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The place, in a header that the parser knows.
    pub at: At,
    /// The prerequisite: the id of a field of OpenFlow in a header, those of its bits that matter,
    /// and their value.
    pub need: Option<(u8, u64, u64)>,
    /// True if a mask is allowed.
    pub maskable: bool,
    /// True if set-field may write it.
    pub settable: bool,
    /// True if all segments of a super-frame have the same value.
    pub shared: bool,
}

impl Mapping {
    /// A field with this place in addition to those that it has. What it refers to lives as long as
    /// the process.
    pub(crate) fn of(&self, field: &Field) -> Field {
        let need = self.need.map(|(id, mask, value)| Need {
            id,
            mask,
            any_of: Box::leak(Box::new([value])),
        });
        Field {
            at: Box::leak([field.at, &[self.at]].concat().into()),
            need,
            maskable: self.maskable,
            settable: self.settable,
            differs: if self.shared {
                Differs::Nowhere
            } else {
                Differs::Every
            },
            ..*field
        }
    }
}

/// Why a spare row is not mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapError {
    /// A field may not stand there, for this reason.
    Place(String),
    /// The catalogue has had the most sets of mappings.
    Full,
}

impl Catalogue {
    /// Maps a spare row of this catalogue in place of the mapping that it has, or leaves it
    /// unmapped. Messages have its number and its 128 bits as before. No entry may use the row.
    ///
    /// Errors: the place has too many bits, or is a TTL's, or has bits of another field and one of
    /// the two may be set; or it would be one set of mappings too many. Then nothing is changed.
    pub fn map(&mut self, spare: &Field, mapping: Option<Mapping>) -> Result<(), MapError> {
        if let Some(mapping) = &mapping {
            self.check_mapping(spare, mapping)
                .map_err(MapError::Place)?;
        }
        let is_full = self.additions.len() >= MAX_SETS;
        let before = self.without_mapping(self.fields[usize::from(spare.id)]);
        let mut mapped = self.mapped.iter();
        let known = mapped.find(|(of, row)| row.id == spare.id && *of == mapping);
        let row = match (known, mapping) {
            (Some((_, row)), _) => *row,
            (None, None) => return Ok(()),
            (None, Some(_)) if is_full => return Err(MapError::Full),
            (None, Some(to)) => {
                let row: &'static Field = Box::leak(Box::new(to.of(before)));
                if self.mapped.iter().all(|(_, row)| row.id != spare.id) {
                    self.mapped.push((None, before));
                }
                self.mapped.push((mapping, row));
                row
            }
        };
        let fields = self.fields[STANDARD_FIELDS..self.first_register()].iter();
        let rows = fields.map(|field| if field.id == spare.id { row } else { *field });
        let has_place = |row: &&Field| !row.at.is_empty() && !row.is_unmapped();
        let placed: Vec<&'static Field> = rows.filter(has_place).collect();
        let now = self.additions();
        let known = self.additions.iter().rposition(|set| {
            let same = |(one, other): (&&Field, &&Field)| ptr::eq(*one, *other);
            set.placed.len() == placed.len()
                && set.placed.iter().zip(&placed).all(same)
                && (&set.headers, &set.registers) == (&now.headers, &now.registers)
                && set.volatile == now.volatile
        });
        let set = match known {
            Some(at) => self.additions.remove(at),
            None if is_full => return Err(MapError::Full),
            None => Box::leak(Box::new(Additions {
                placed,
                ..now.clone()
            })),
        };
        self.additions.push(set);
        self.fields[usize::from(spare.id)] = row;
        if !self.announces(spare.experimenter) {
            self.announced.push(spare.experimenter);
        }
        Ok(())
    }

    /// The row that a spare field had before it was first mapped.
    pub(super) fn without_mapping(&self, field: &'static Field) -> &'static Field {
        let mut rows = self.mapped.iter();
        let first = rows.find(|(_, row)| row.id == field.id);
        first.map_or(field, |(_, row)| *row)
    }

    /// Errors: why a spare row may not have a mapping.
    fn check_mapping(&self, spare: &Field, mapping: &Mapping) -> Result<(), String> {
        let Mapping {
            at, need, settable, ..
        } = mapping;
        check_place(spare, at)?;
        let value = need.map_or([0], |need| [need.2]);
        let need = need.map(|(id, mask, _)| Need {
            id,
            mask,
            any_of: &value,
        });
        let mut others = self.fields.iter().zip(&self.owners);
        let taken = others.find(|(other, _)| {
            other.id != spare.id
                && (*settable || other.settable)
                && shares_bits(slice::from_ref(at), need, other)
        });
        taken.map_or(Ok(()), |(other, owner)| {
            let name = other.name;
            Err(format!(
                "it has bits of {name} of {owner}, and one of them may be set"
            ))
        })
    }
}

#[cfg(test)]
mod tests;
