//! The rows that extensions add to a catalogue, and the checks that they go together.

use alloc::{boxed::Box, format, string::String, vec::Vec};
use core::fmt;

use super::{Additions, Catalogue};
use crate::added_header::{AddedHeader, AnyHeader};
use crate::ext::ExtRow;
use crate::field::{At, FIELDS, Field, Header, KEY_BYTES, Need};
use crate::field_set::FieldSet;
use crate::registers::{FIRST_REGISTER, KEY_TAIL_VALUES, N_REGISTERS};

/// The highest number of an OXM field. Spec: OpenFlow 1.3.5 section 7.2.3.2.
pub(crate) const MAX_NUMBER: u8 = 127;
/// The places of TTLs: header, first bit, and the bit after the last.
const TTLS: [(Header, u16, u16); 3] = [
    (Header::Mpls, 24, 32),
    (Header::Ipv4, 64, 72),
    (Header::Ipv6, 56, 64),
];

/// The reason for which an extension's rows were not added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueError {
    /// The extension.
    by: &'static str,
    what: String,
}

impl fmt::Display for CatalogueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "extension {}: {}", self.by, self.what)
    }
}

impl CatalogueError {
    /// The fault, without the name of the extension.
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl core::error::Error for CatalogueError {}

impl Additions {
    /// Adds a field, if packets have it without a hook that sets it.
    fn add(&mut self, field: &'static Field) {
        if !field.at.is_empty() && !field.is_unmapped() {
            self.placed.push(field);
        }
        for header in added_headers(field) {
            if !self.headers.contains(&header) {
                self.headers.push(header);
            }
        }
        if field.initial.is_some() {
            self.registers.push(field);
        }
        if field.volatile {
            self.volatile.insert(FieldSet::of(field));
        }
    }
}

impl Catalogue {
    /// Adds the rows of an extension, which errors call `by`: gives each field its id and its place
    /// in the key.
    ///
    /// The rows, and what is derived from them, live as long as the process. Errors: a number, a
    /// name, bits of a header or what names a header that other rows have, a row that contradicts
    /// itself, or more fields than a catalogue holds; then nothing is added.
    pub fn add(
        &mut self,
        by: &'static str,
        fields: &[Field],
        values: &'static [ExtRow],
    ) -> Result<(), CatalogueError> {
        let mut all = self.clone();
        for row in fields {
            all.add_field(by, row)?;
        }
        for end in 0..values.len() {
            all.check_last_value(by, &values[..=end])?;
        }
        all.values.push((by, values));
        let mut additions = self.additions().clone();
        for field in &all.fields[self.first_register()..all.first_register()] {
            additions.add(field);
        }
        if additions != *self.additions() {
            all.additions.push(Box::leak(Box::new(additions)));
        }
        *self = all;
        Ok(())
    }

    fn add_field(&mut self, by: &'static str, row: &Field) -> Result<(), CatalogueError> {
        let refused = |what: String| Err(CatalogueError { by, what });
        if let Err(what) = check_row(row) {
            return refused(format!("field {}: {what}", row.name));
        }
        for (other, owner) in self.fields.iter().zip(&self.owners) {
            if *other == row {
                return refused(format!(
                    "field {} has the number of {} of {owner}: {} of experimenter {:#x}",
                    row.name, other.name, row.number, row.experimenter
                ));
            }
            let names = row.aliases.iter().chain([&row.name]);
            if let Some(name) = { names }.find(|name| other.is_called(name)) {
                return refused(format!("{name} is the name of a field of {owner}"));
            }
            if (row.settable || other.settable) && shares_bits(row.at, row.need, other) {
                return refused(format!(
                    "field {} has bits of {} of {owner}, and one of them may be set",
                    row.name, other.name
                ));
            }
            for header in added_headers(row) {
                let mut others = added_headers(other);
                if let Some(known) =
                    others.find(|known| known.is_named_as(header) && *known != header)
                {
                    return refused(format!(
                        "header {} is named by what names {} of {owner}: {} {:#x}",
                        header.name,
                        known.name,
                        header.after.field().name,
                        header.number[0]
                    ));
                }
            }
        }
        let id = self.first_register();
        if id >= usize::from(FIRST_REGISTER) {
            let most = FieldSet::MAX_FIELDS;
            return refused(format!("field {}: at most {most} fields fit", row.name));
        }
        let mut offset = self.key_end;
        if offset <= KEY_BYTES && offset + row.bytes() > KEY_BYTES {
            offset = KEY_TAIL_VALUES;
        }
        self.key_end = offset + row.bytes();
        let field = Field {
            id: id as u8,
            offset: offset as u16,
            ..*row
        };
        self.fields.insert(id, Box::leak(Box::new(field)));
        self.owners.insert(id, by);
        Ok(())
    }

    /// Checks the last of `rows`. Errors: another row, here or before it in `rows`, has its name or
    /// number.
    fn check_last_value(
        &self,
        by: &'static str,
        rows: &'static [ExtRow],
    ) -> Result<(), CatalogueError> {
        let Some((row, before)) = rows.split_last() else {
            return Ok(());
        };
        for (owner, rows) in self.values.iter().copied().chain([(by, before)]) {
            let same = rows.iter().find(|other| {
                let same_number = (other.experimenter, other.ty) == (row.experimenter, row.ty);
                other.kind == row.kind && (other.name == row.name || same_number)
            });
            if let Some(other) = same {
                let what = format!(
                    "{} {} ({} of experimenter {:#x}) has the name or number of {} of {owner}",
                    row.kind.word(),
                    row.name,
                    row.ty,
                    row.experimenter,
                    other.name
                );
                return Err(CatalogueError { by, what });
            }
        }
        Ok(())
    }

    /// Lets table features list the experimenter ids of an extension. Without this they list none,
    /// because there are controllers that close a connection at the first id that they do not know.
    pub fn announce(&mut self, extension: &str) {
        let fields = self.fields.iter().zip(&self.owners);
        let of_fields = fields.filter(|(_, owner)| **owner == extension);
        let ids: Vec<u32> = of_fields.map(|(field, _)| field.experimenter).collect();
        let of_values = self.values_of(extension).iter();
        self.announced.extend(of_values.map(|row| row.experimenter));
        self.announced.extend(ids);
    }

    /// The place of the first packet register among the fields.
    pub(super) fn first_register(&self) -> usize {
        self.fields.len() - N_REGISTERS
    }
}

/// The headers of a field that the parser does not know.
fn added_headers(field: &Field) -> impl Iterator<Item = &'static AddedHeader> {
    field.at.iter().filter_map(|at| match at.header {
        AnyHeader::Added(header) => Some(header),
        AnyHeader::Known(_) | AnyHeader::Spare => None,
    })
}

/// Returns true if a row of an extension is one that a packet can have. Errors: what is wrong with
/// it.
fn check_row(row: &Field) -> Result<(), String> {
    if row.bits == 0 || u32::from(row.bits) > u128::BITS {
        return Err(format!("{} bits are not 1 to 128", row.bits));
    }
    if row.number > MAX_NUMBER {
        return Err(format!("number {} is not 0 to {MAX_NUMBER}", row.number));
    }
    if let Some(initial) = row.initial {
        if !row.at.is_empty() {
            return Err("a register that stands in a header".into());
        }
        if u128::from(initial) > row.ones_number() {
            return Err(format!("a register that cannot hold {initial}"));
        }
    }
    if let Some(need) = row.need {
        let field = FIELDS.get(usize::from(need.id));
        if field.is_none_or(|field| field.at.is_empty() && !row.at.is_empty()) {
            return Err("its prerequisite is no field of OpenFlow in a header".into());
        }
    }
    row.at.iter().try_for_each(|at| check_place(row, at))
}

/// The same of one place.
pub(super) fn check_place(row: &Field, at: &At) -> Result<(), String> {
    let end = at.bit.saturating_add(at.bits);
    let is_of_row = (1..=row.bits).contains(&at.bits);
    // Counted from the header before, of 64 bits at most, the end has 16 bits as well.
    if !is_of_row || end > u16::MAX - 64 || u32::from(at.bit % 8 + at.bits) > u128::BITS {
        return Err(format!(
            "{} bits from bit {} on do not fit",
            at.bits, at.bit
        ));
    }
    match at.header {
        AnyHeader::Known(header) => {
            let ttl = TTLS.iter().find(|ttl| ttl.0 == header);
            if ttl.is_some_and(|(_, first, after)| at.bit < *after && *first < end) {
                return Err("the TTL, which actions change without a row, has no field".into());
            }
        }
        AnyHeader::Spare => {}
        AnyHeader::Added(header) => {
            if u32::from(end) > 8 * u32::from(header.bytes) {
                return Err(format!(
                    "it is outside of the {} bytes of {}",
                    header.bytes, header.name
                ));
            }
            if header.is_taken() {
                return Err(format!(
                    "{} {:#x} names another header than {}",
                    header.after.field().name,
                    header.number[0],
                    header.name
                ));
            }
        }
    }
    Ok(())
}

/// Returns true if a field with these places and this prerequisite and another one have a bit of a
/// header in common in some packet.
pub(super) fn shares_bits(at: &[At], need: Option<Need<'_>>, other: &Field) -> bool {
    if let (Some(one), Some(other)) = (&need, &other.need) {
        let agree = one.any_of.iter().any(|value| other.any_of.contains(value));
        if (one.id, one.mask) == (other.id, other.mask) && !agree {
            return false;
        }
    }
    at.iter().any(|a| {
        let (header, bit) = a.header.counted_from_known(a.bit);
        other.at.iter().any(|b| {
            let (other_header, other_bit) = b.header.counted_from_known(b.bit);
            header == other_header
                && header != AnyHeader::Spare
                && bit < other_bit + b.bits
                && other_bit < bit + a.bits
        })
    })
}

#[cfg(test)]
mod tests;
