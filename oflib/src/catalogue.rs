//! All fields and experimenter values that a switch knows: the specification's and its extensions'.

use alloc::{boxed::Box, format, string::String, vec::Vec};
use core::{fmt, slice};

use crate::action::TAG_VLAN;
use crate::added_header::{AddedHeader, AnyHeader};
#[cfg(feature = "text")]
use crate::error::{ErrorCode, ErrorRow};
use crate::ext::{ExtKind, ExtRow};
use crate::field::{At, FIELDS, Field, Header, KEY_BYTES, KEY_STANDARD_BYTES, Need};
use crate::field_set::FieldSet;
use crate::registers::{FIRST_REGISTER, KEY_TAIL_VALUES, N_REGISTERS, REGISTERS};
#[cfg(feature = "text")]
use crate::types::PortNo;

#[cfg(feature = "spare")]
mod mapping;

#[cfg(feature = "spare")]
pub use mapping::{MapError, Mapping};

/// The highest number of an OXM field. Spec: OpenFlow 1.3.5 section 7.2.3.2.
pub(crate) const MAX_NUMBER: u8 = 127;
/// The places of TTLs: header, first bit, and the bit after the last.
const TTLS: [(Header, u16, u16); 3] = [
    (Header::Mpls, 24, 32),
    (Header::Ipv4, 64, 72),
    (Header::Ipv6, 56, 64),
];

/// The owner of the rows that every catalogue has, as errors name it.
const STANDARD: &str = "OpenFlow";

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

/// The fields and headers that a parse looks for at run time: those of a catalogue that are not the
/// specification's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Additions {
    /// The fields that have a place in a header.
    pub placed: Vec<&'static Field>,
    /// The headers of these that the parser does not know by itself.
    pub headers: Vec<&'static AddedHeader>,
    /// The fields with an initial value.
    pub registers: Vec<&'static Field>,
    /// The fields by which no path of packets is remembered.
    pub volatile: FieldSet,
}

impl Additions {
    /// Nothing: the packets of OpenFlow alone.
    pub const NONE: &'static Self = &Self {
        placed: Vec::new(),
        headers: Vec::new(),
        registers: Vec::new(),
        volatile: FieldSet::EMPTY,
    };

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

/// The rows that a switch knows. It is made once, when the switch is built.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// In the order of their ids; the last are the packet registers, which have the last ids.
    fields: Vec<&'static Field>,
    /// The extension that brought each field.
    owners: Vec<&'static str>,
    /// The rows of experimenter values of each extension, with its name.
    values: Vec<(&'static str, &'static [ExtRow])>,
    key_end: usize,
    /// The layouts of packets by the rows that were added or mapped: now the last, and those that
    /// were before.
    additions: Vec<&'static Additions>,
    /// The rows that mappings have made, which live as long as the process.
    #[cfg(feature = "spare")]
    mapped: Vec<(Option<Mapping>, &'static Field)>,
    /// The experimenter ids that table features list.
    announced: Vec<u32>,
    /// The names of a switch's ports, which text forms may use in place of numbers.
    #[cfg(feature = "text")]
    ports: Vec<(String, PortNo)>,
}

impl Default for Catalogue {
    /// The specification's fields, and the one action of our own.
    fn default() -> Self {
        Self {
            fields: FIELDS.iter().chain(&REGISTERS).collect(),
            owners: FIELDS.iter().chain(&REGISTERS).map(|_| STANDARD).collect(),
            values: [(STANDARD, slice::from_ref(&TAG_VLAN))].into(),
            key_end: KEY_STANDARD_BYTES,
            additions: Vec::new(),
            #[cfg(feature = "spare")]
            mapped: Vec::new(),
            announced: Vec::new(),
            #[cfg(feature = "text")]
            ports: Vec::new(),
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

    /// Returns true if table features list an experimenter's instructions, actions and fields.
    pub fn announces(&self, experimenter: u32) -> bool {
        self.announced.contains(&experimenter)
    }

    /// All fields, in the order of their ids.
    pub fn fields(&self) -> &[&'static Field] {
        &self.fields
    }

    /// The place of the first packet register among the fields.
    fn first_register(&self) -> usize {
        self.fields.len() - N_REGISTERS
    }

    /// The field of an id. Panics: if there is none.
    pub fn by_id(&self, id: usize) -> &'static Field {
        match id.checked_sub(usize::from(FIRST_REGISTER)) {
            None => self.fields[id],
            Some(register) => &REGISTERS[register],
        }
    }

    /// Returns the fields and headers of packets by the rows that were added.
    pub fn additions(&self) -> &'static Additions {
        self.additions.last().copied().unwrap_or(Additions::NONE)
    }

    /// The field of an OXM class (experimenter, or 0 for basic) and number; a spare row as messages
    /// have it, without its mapping.
    pub fn field(&self, experimenter: u32, number: u8) -> Option<&'static Field> {
        if experimenter == 0 && usize::from(number) < self.fields.len() {
            let field = self.fields[usize::from(number)];
            if field.number == number && field.experimenter == 0 {
                return Some(field);
            }
        }
        let mut fields = self.fields.iter();
        let found = fields.find(|f| f.experimenter == experimenter && f.number == number);
        found.map(|field| self.unmapped(field))
    }

    /// The row of a field without the mapping that it may have.
    fn unmapped(&self, field: &'static Field) -> &'static Field {
        #[cfg(feature = "spare")]
        if field.is_spare() {
            return self.without_mapping(field);
        }
        field
    }

    /// The experimenter values of one kind.
    pub fn values(&self, kind: ExtKind) -> impl Iterator<Item = &'static ExtRow> + '_ {
        let rows = self.values.iter().flat_map(|(_, rows)| *rows);
        rows.filter(move |row| row.kind == kind)
    }

    /// The experimenter values that the extension of this name brought; none if there is none.
    pub fn values_of(&self, extension: &str) -> &'static [ExtRow] {
        let found = self.values.iter().find(|(name, _)| *name == extension);
        found.map_or(&[], |(_, rows)| rows)
    }
}

#[cfg(feature = "text")]
impl Catalogue {
    /// The same with the names of a switch's ports, which text forms may use in place of numbers.
    #[must_use]
    pub fn with_ports(mut self, ports: Vec<(String, PortNo)>) -> Self {
        self.ports = ports;
        self
    }

    /// The names of ports that are known.
    pub fn ports(&self) -> &[(String, PortNo)] {
        &self.ports
    }

    /// The port of a name, unless several have it.
    pub fn port_named(&self, name: &str) -> Option<PortNo> {
        let mut found = self.ports.iter().filter(|row| row.0 == name);
        match (found.next(), found.next()) {
            (Some((_, port)), None) => Some(*port),
            (_, _) => None,
        }
    }

    /// The field of this name or other name; a spare row without its mapping.
    pub fn field_named(&self, name: &str) -> Option<&'static Field> {
        let found = self.fields.iter().find(|f| f.is_called(name));
        found.map(|field| self.unmapped(field))
    }

    /// The row of an error, of OpenFlow or of an experimenter.
    pub fn error(&self, error: ErrorCode) -> Option<&'static ErrorRow> {
        let mut names = self.error_names();
        error.row().or_else(|| names.find(|row| row.error == error))
    }

    /// The errors of experimenters that have names, extension by extension.
    pub fn error_names(&self) -> impl Iterator<Item = &'static ErrorRow> + '_ {
        let values = self.values.iter().flat_map(|(_, rows)| *rows);
        values.flat_map(|row| row.error_names)
    }

    /// An error with its name and meaning, or its numbers if it has none.
    pub fn error_text(&self, error: ErrorCode) -> String {
        match self.error(error) {
            Some(row) => format!("{row}"),
            None => format!("{error}"),
        }
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
fn check_place(row: &Field, at: &At) -> Result<(), String> {
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
fn shares_bits(at: &[At], need: Option<Need<'_>>, other: &Field) -> bool {
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
