//! TABLE_FEATURES: what each table can do. Spec: OpenFlow 1.3.5 section 7.3.5.5.

use alloc::vec::Vec;

use crate::action::ACTIONS;
use crate::catalogue::Catalogue;
use crate::error::TableFeaturesFailed;
use crate::field::{Field, ONF};
use crate::instruction::INSTRUCTIONS;
use crate::matching::FieldMatch;
use crate::model::{flags, model, named};
use crate::registers::PACKET_REGISTERS;
use crate::types::TableId;
use crate::version::{Span, Version, span};
use crate::wire::{Bytes, FixedStr};

/// The action that is the ONF's in versions before its own.
const COPY_FIELD: u16 = 28;

/// An instruction or action by its type, with its experimenter if that has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId {
    /// The type number.
    pub ty: u16,
    /// The experimenter of type `0xffff`, else 0.
    pub experimenter: u32,
}

/// A field of the catalogue or of another switch, and whether a mask is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldId {
    /// The field, and whether with a mask.
    Known(&'static Field, bool),
    /// Another's OXM header (class, field, mask bit, length) as it stands on the wire, and the
    /// experimenter of class `0xffff`, else 0.
    Unknown(u32, u32),
}

/// The list in a property.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PropertyList {
    /// Instruction or action types.
    Types(Vec<TypeId>),
    /// Tables.
    Tables(Vec<TableId>),
    /// Fields.
    Fields(Vec<FieldId>),
    /// Values of fields.
    Values(Vec<FieldMatch>),
    /// An experimenter's number, type and data.
    Experimenter(u32, u32, Bytes),
}

impl PropertyList {
    /// The same, no field with a mask.
    pub fn unmasked(&self) -> Self {
        let mut unmasked = self.clone();
        if let Self::Fields(list) = &mut unmasked {
            for id in list {
                if let FieldId::Known(_, has_mask) = id {
                    *has_mask = false;
                }
            }
        }
        unmasked
    }
}

/// One property of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableProperty {
    /// The property type (`OFPTFPT_*`).
    pub ty: u16,
    /// The list.
    pub list: PropertyList,
}

/// Number, name, and what is listed (i: instructions, a: actions, t: tables, f: fields, v: values
/// of fields, e: experimenter) of each property type, and its versions; the odd number behind is
/// the same for the table-miss entry.
pub const PROPERTIES: &[(u16, &str, char, Span)] = &[
    (0, "instructions", 'i', span!(since V1_2)),
    (1, "instructions_miss", 'i', span!(since V1_2)),
    (2, "next_tables", 't', span!(since V1_2)),
    (3, "next_tables_miss", 't', span!(since V1_2)),
    (4, "write_actions", 'a', span!(since V1_2)),
    (5, "write_actions_miss", 'a', span!(since V1_2)),
    (6, "apply_actions", 'a', span!(since V1_2)),
    (7, "apply_actions_miss", 'a', span!(since V1_2)),
    (8, "match", 'f', span!(since V1_2)),
    (10, "wildcards", 'f', span!(since V1_2)),
    (12, "write_setfield", 'f', span!(since V1_2)),
    (13, "write_setfield_miss", 'f', span!(since V1_2)),
    (14, "apply_setfield", 'f', span!(since V1_2)),
    (15, "apply_setfield_miss", 'f', span!(since V1_2)),
    (16, "table_sync_from", 't', span!(since V1_4)),
    (18, "write_copyfield", 'f', span!(since V1_5)),
    (19, "write_copyfield_miss", 'f', span!(since V1_5)),
    (20, "apply_copyfield", 'f', span!(since V1_5)),
    (21, "apply_copyfield_miss", 'f', span!(since V1_5)),
    (22, "packet_types", 'v', span!(since V1_5)),
    (0xfffe, "experimenter", 'e', span!(since V1_2)),
    (0xffff, "experimenter_miss", 'e', span!(since V1_2)),
];

impl TableFeatureSet {
    /// Removes what a controller of this version cannot be expected to know: experimenters' types
    /// and fields, except those that the catalogue [announces](Catalogue::announces). Of several
    /// with the same experimenter id, one stays.
    pub fn hide_unannounced(&mut self, version: Version, catalogue: &Catalogue) {
        for property in &mut self.properties {
            match &mut property.list {
                PropertyList::Types(list) => {
                    list.retain(|id| id.is_announced(version, catalogue));
                    let mut seen = Vec::new();
                    list.retain(|id| {
                        let is_new = !seen.contains(id);
                        seen.push(*id);
                        is_new
                    });
                }
                PropertyList::Fields(list) => {
                    list.retain(|id| id.is_announced(version, catalogue));
                }
                PropertyList::Tables(_)
                | PropertyList::Values(_)
                | PropertyList::Experimenter(..) => {}
            }
        }
    }

    /// Adds what `present` lists and a version cannot name or the catalogue does not announce: a
    /// controller cannot know it, and does not intend to remove it.
    pub fn keep_unsupported(&mut self, present: &Self, version: Version, catalogue: &Catalogue) {
        for property in &mut self.properties {
            let same = present.properties.iter().find(|one| one.ty == property.ty);
            match (&mut property.list, same.map(|one| &one.list)) {
                (PropertyList::Types(list), Some(PropertyList::Types(all))) => {
                    let unsupported = all.iter().filter(|id| {
                        let is_said = id.is_known_to(property.ty, version)
                            && id.is_announced(version, catalogue);
                        !is_said && !list.contains(id)
                    });
                    let unsupported: Vec<TypeId> = unsupported.copied().collect();
                    list.extend(unsupported);
                }
                (PropertyList::Fields(list), Some(PropertyList::Fields(all))) => {
                    let unsupported = all.iter().filter(|id| {
                        let is_said =
                            id.is_known_to(version) && id.is_announced(version, catalogue);
                        !is_said && !list.contains(id)
                    });
                    let unsupported: Vec<FieldId> = unsupported.copied().collect();
                    list.extend(unsupported);
                }
                (_, _) => {}
            }
        }
    }
}

impl FieldId {
    /// Returns true if it is a field of the specification's, or one of an announced experimenter.
    /// The fields of the ONF are the specification's since 1.5.
    fn is_announced(&self, version: Version, catalogue: &Catalogue) -> bool {
        match self {
            Self::Known(field, _) => match field.experimenter {
                0 | PACKET_REGISTERS => true,
                ONF if version.has_onf_fields() => true,
                other => {
                    catalogue.announces(other) && !catalogue.by_id(field.id.into()).is_unmapped()
                }
            },
            Self::Unknown(..) => true,
        }
    }

    /// Returns true if a version has the field: what came later is left out.
    pub(crate) fn is_known_to(&self, version: Version) -> bool {
        match self {
            Self::Known(field, _) => field.versions.has(version),
            Self::Unknown(..) => true,
        }
    }
}

impl TypeId {
    /// Returns true if it is a type of the specification's, or one of an announced experimenter.
    fn is_announced(&self, version: Version, catalogue: &Catalogue) -> bool {
        let is_onf = self.ty == COPY_FIELD && !version.has_onf_fields();
        let experimenter = if is_onf { ONF } else { self.experimenter };
        experimenter == 0 || catalogue.announces(experimenter)
    }

    /// Returns true if a version has an action of this type, as far as is known.
    pub(crate) fn is_action_of(self, version: Version) -> bool {
        let row = ACTIONS.iter().find(|row| row.number == self.ty);
        row.is_none_or(|row| row.versions.has(version))
    }

    /// The same of an instruction.
    pub(crate) fn is_instruction_of(self, version: Version) -> bool {
        let row = INSTRUCTIONS.iter().find(|row| row.number == self.ty);
        row.is_none_or(|row| row.versions.has(version))
    }

    /// Returns true if a version has what a property of the type `property` lists so.
    pub(crate) fn is_known_to(self, property: u16, version: Version) -> bool {
        let row = PROPERTIES.iter().find(|row| row.0 == property);
        match row.map(|row| row.2) {
            Some('i') => self.is_instruction_of(version),
            _ => self.is_action_of(version),
        }
    }
}

named! {
    /// The effect of a request on the tables that it has (`OFPTFC_*`).
    pub struct TableFeaturesCommand(u8) else TableFeaturesFailed::BAD_COMMAND {
        /// Replaces all tables.
        REPLACE = 0 "replace",
        /// Changes what tables can do.
        MODIFY = 1 "modify",
        /// Puts tables into the pipeline.
        ENABLE = 2 "enable",
        /// Takes tables out of the pipeline.
        DISABLE = 3 "disable",
    }
}

flags! {
    /// The possible uses of a table (`OFPTFF_*`).
    pub struct TableFeatureFlags(u32) {
        /// Packets that came.
        INGRESS_TABLE = 0x1 "ingress_table",
        /// Packets that are to leave.
        EGRESS_TABLE = 0x2 "egress_table",
        /// It is the first of those for packets that are to leave.
        FIRST_EGRESS = 0x10 "first_egress",
    }
}

model! {
    /// A table's features, without their length.
    pub struct TableFeatureSet {
        /// The table.
        pub table_id: TableId,
        /// Its name.
        pub name: FixedStr<32>,
        /// Metadata bits that can be matched.
        pub metadata_match: u64 as hex,
        /// Metadata bits that can be written.
        pub metadata_write: u64 as hex,
        /// Configuration; zero in OpenFlow 1.3.
        pub config: u32,
        /// The most entries.
        pub max_entries: u32,
        /// The capabilities.
        pub properties: Vec<TableProperty>,
    } in_some_versions {
        /// The command, in each of its tables the same (since OpenFlow 1.5).
        pub command: TableFeaturesCommand,
        /// The uses of the table (since OpenFlow 1.5).
        pub features: TableFeatureFlags,
    }
}

/// The features of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TableFeatures(pub TableFeatureSet);
