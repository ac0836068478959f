//! All fields and experimenter values that a switch knows: the specification's and its extensions'.

use alloc::vec::Vec;
#[cfg(feature = "text")]
use alloc::{format, string::String};
use core::slice;

use crate::action::TAG_VLAN;
use crate::added_header::AddedHeader;
#[cfg(feature = "text")]
use crate::error::{ErrorCode, ErrorRow};
use crate::ext::{ExtKind, ExtRow};
use crate::field::{FIELDS, Field};
use crate::field_set::FieldSet;
use crate::registers::{FIRST_REGISTER, REGISTERS};
#[cfg(feature = "text")]
use crate::types::PortNo;

#[cfg(feature = "extensions")]
pub(crate) mod adding;
#[cfg(feature = "spare")]
mod mapping;

#[cfg(feature = "extensions")]
pub use adding::CatalogueError;
#[cfg(feature = "spare")]
pub use mapping::{MapError, Mapping};

/// The owner of the rows that every catalogue has, as errors name it.
const STANDARD: &str = "OpenFlow";

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
}

/// The rows that a switch knows. It is made once, when the switch is built.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// In the order of their ids; the last are the packet registers, which have the last ids.
    fields: Vec<&'static Field>,
    /// The extension that brought each field.
    #[cfg(feature = "extensions")]
    owners: Vec<&'static str>,
    /// The rows of experimenter values of each extension, with its name.
    values: Vec<(&'static str, &'static [ExtRow])>,
    #[cfg(feature = "extensions")]
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
            #[cfg(feature = "extensions")]
            owners: FIELDS.iter().chain(&REGISTERS).map(|_| STANDARD).collect(),
            values: [(STANDARD, slice::from_ref(&TAG_VLAN))].into(),
            #[cfg(feature = "extensions")]
            key_end: crate::field::KEY_STANDARD_BYTES,
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
    /// Returns true if table features list an experimenter's instructions, actions and fields.
    pub fn announces(&self, experimenter: u32) -> bool {
        self.announced.contains(&experimenter)
    }

    /// All fields, in the order of their ids.
    pub fn fields(&self) -> &[&'static Field] {
        &self.fields
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
