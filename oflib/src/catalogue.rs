//! All fields and experimenter values that a switch knows: the specification's and its extensions'.

use alloc::{boxed::Box, string::String, vec::Vec};

use crate::action::TAG_VLAN;
use crate::ext::{ExtKind, ExtRow};
use crate::field::{FIELDS, Field, KEY_BYTES, KEY_STANDARD_BYTES};
use crate::field_set::FieldSet;
use crate::types::PortNo;

/// The rows in force. Made once, when the switch is built.
#[derive(Clone, Debug)]
pub struct Catalogue {
    fields: Vec<&'static Field>,
    values: Vec<&'static ExtRow>,
    key_end: usize,
    /// The names of a switch's ports, for texts about it.
    ports: Vec<(String, PortNo)>,
}

impl Default for Catalogue {
    /// The specification's fields, and the one action of our own.
    fn default() -> Self {
        Self {
            fields: FIELDS.iter().collect(),
            values: [&TAG_VLAN].into(),
            key_end: KEY_STANDARD_BYTES,
            ports: Vec::new(),
        }
    }
}

impl Catalogue {
    /// Adds an extension's rows: gives each field its id and its place in the key's tail.
    ///
    /// The field rows live as long as the process. Panics: if the key's tail or a [`FieldSet`] does
    /// not suffice, which the set of compiled-in extensions alone decides.
    pub fn add(&mut self, fields: &[Field], values: &'static [ExtRow]) {
        for row in fields {
            let (id, offset) = (self.fields.len(), self.key_end);
            self.key_end += row.bytes();
            assert!(
                id < FieldSet::MAX_FIELDS,
                "the catalogue's fields fit a set"
            );
            assert!(
                self.key_end <= KEY_BYTES,
                "the extensions' fields fit the key's tail"
            );
            let placed = Field {
                id: id as u8,
                offset: offset as u16,
                ..*row
            };
            self.fields.push(Box::leak(Box::new(placed)));
        }
        self.values.extend(values);
    }

    /// The same with the names of a switch's ports, which texts may say for their numbers.
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

    /// All fields, in the order of their ids.
    pub fn fields(&self) -> &[&'static Field] {
        &self.fields
    }

    /// The field of an OXM class (experimenter, or 0 for basic) and number.
    pub fn field(&self, experimenter: u32, number: u8) -> Option<&'static Field> {
        if experimenter == 0 && usize::from(number) < self.fields.len() {
            let field = self.fields[usize::from(number)];
            if field.number == number && field.experimenter == 0 {
                return Some(field);
            }
        }
        let same = |f: &&&Field| f.experimenter == experimenter && f.number == number;
        self.fields.iter().find(same).copied()
    }

    /// The field of this name or other name.
    pub fn field_named(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|f| f.is_called(name)).copied()
    }

    /// The experimenter values of one kind.
    pub fn values(&self, kind: ExtKind) -> impl Iterator<Item = &'static ExtRow> + '_ {
        self.values
            .iter()
            .copied()
            .filter(move |row| row.kind == kind)
    }
}
