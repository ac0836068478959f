//! The features of tables, as they are reported. Spec: OpenFlow 1.3.5 section 7.3.5.5.
//!
//! With the feature `reshape`, controllers change them, and `shape/admission.rs` checks flow-mods
//! against them; without it, every table can do everything.

use alloc::{format, rc::Rc, vec::Vec};

use bofuss_oflib::action::ACTIONS;
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::field::PACKET_TYPE;
use bofuss_oflib::instruction::{self, InstructionRow};
use bofuss_oflib::message::multipart::table_features::{
    FieldId, PROPERTIES, PropertyList, TableFeatureFlags, TableFeatureSet, TableFeaturesCommand,
    TypeId,
};
use bofuss_oflib::message::multipart::{TableFeatures, TableProperty};
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::FixedStr;
use bofuss_oflib::{Catalogue, FieldMatch};
use bofuss_packet::packet_type;

use crate::Config;
use crate::tables::triggers::HAS_TRIGGERS;

#[cfg(feature = "reshape")]
mod change;

/// Property types. For each property of ordinary entries, that of the table-miss entry has the next
/// number.
///
/// Spec: OpenFlow 1.3.5 section 7.3.5.5, OFPTFPT_*; later versions continue the numbers.
pub(super) const INSTRUCTIONS: u16 = 0;
pub(crate) const NEXT_TABLES: u16 = 2;
pub(crate) const WRITE_ACTIONS: u16 = 4;
pub(super) const APPLY_ACTIONS: u16 = 6;
pub(super) const MATCH: u16 = 8;
pub(super) const WILDCARDS: u16 = 10;
pub(super) const WRITE_SETFIELD: u16 = 12;
pub(super) const APPLY_SETFIELD: u16 = 14;
/// The fields to which copy-field may copy (since OpenFlow 1.5).
pub(super) const WRITE_COPYFIELD: u16 = 18;
pub(super) const APPLY_COPYFIELD: u16 = 20;
/// The packet types of a table (since OpenFlow 1.5).
pub(super) const PACKET_TYPES: u16 = 22;
/// The type of experimenters' instructions and actions.
pub(super) const EXPERIMENTERS: u16 = 0xffff;

/// The bits of a table's configuration: earlier versions' miss behaviour, without effect.
///
/// Choice: they are stored and reported, because controllers of earlier versions send them.
pub const TABLE_CONFIG_BITS: u32 = 3;

/// The name and features of a table of the pipeline.
///
/// A pipeline has up to 254 of these, and their lists of fields and actions are long; so tables
/// that were never restricted share their lists.
#[derive(Clone, Debug)]
pub(crate) struct Abilities {
    /// Everything except the properties.
    pub(crate) head: TableFeatureSet,
    /// The tables to which goto-table may lead, for entries and for the table-miss entry.
    pub(crate) next: [PropertyList; 2],
    /// All other properties; tables with the same ones share them.
    others: Rc<[TableProperty]>,
    /// True if these list everything, so that they need not be searched.
    #[cfg(feature = "reshape")]
    pub(super) open: bool,
}

/// Gives every table of a switch all features, and goto-table to every later one.
pub(crate) fn everything(config: &Config, catalogue: &Catalogue) -> Vec<Option<Abilities>> {
    let mut properties = Vec::new();
    for (ty, ..) in PROPERTIES {
        if let Some(list) = everything_of(*ty, catalogue) {
            properties.push(TableProperty { ty: *ty, list });
        }
    }
    let others: Rc<[TableProperty]> = properties.into();
    let mut tables = Vec::new();
    for number in 0..config.n_tables {
        // A goto-table only leads to a table with a higher number.
        let later = PropertyList::Tables((number + 1..config.n_tables).map(TableId).collect());
        tables.push(Some(Abilities {
            head: TableFeatureSet {
                table_id: TableId(number),
                name: FixedStr(format!("table{number}")),
                metadata_match: u64::MAX,
                metadata_write: u64::MAX,
                config: 0,
                max_entries: config.max_entries.min(config.max_total_entries),
                properties: Vec::new(),
                command: TableFeaturesCommand::REPLACE,
                features: stages(number),
            },
            next: [later.clone(), later],
            others: Rc::clone(&others),
            #[cfg(feature = "reshape")]
            open: true,
        }));
    }
    tables
}

/// The stages for which a table may be used; table 0 is for ingress only.
///
/// Packets begin in table 0, so it can never be an egress table. Spec: OpenFlow 1.5.1 section
/// 7.3.5.18.
fn stages(number: u8) -> TableFeatureFlags {
    let mut flags = TableFeatureFlags::INGRESS_TABLE.0;
    if number > 0 && cfg!(feature = "reshape") {
        flags |= TableFeatureFlags::EGRESS_TABLE.0;
    }
    TableFeatureFlags(flags)
}

/// Everything that a property of this type can list; none for next tables and experimenters'.
fn everything_of(ty: u16, catalogue: &Catalogue) -> Option<PropertyList> {
    let fields = catalogue.fields().iter();
    let matched = fields
        .clone()
        .map(|field| FieldId::Known(field, field.maskable));
    // The table-miss entry can do the same as others.
    match ty & !1 {
        INSTRUCTIONS => {
            let has = |row: &&InstructionRow| HAS_TRIGGERS || row.name != "stat_trigger";
            let rows = instruction::INSTRUCTIONS.iter().filter(has);
            let numbers = rows.map(|row| row.number);
            Some(types(numbers, catalogue, ExtKind::Instruction))
        }
        WRITE_ACTIONS | APPLY_ACTIONS => {
            let numbers = ACTIONS.iter().map(|row| row.number);
            Some(types(numbers, catalogue, ExtKind::Action))
        }
        MATCH => Some(PropertyList::Fields(matched.collect())),
        // Any field may be omitted, and for that there is no mask.
        WILDCARDS => Some(PropertyList::Fields(matched.collect()).unmasked()),
        WRITE_SETFIELD | APPLY_SETFIELD | WRITE_COPYFIELD | APPLY_COPYFIELD => {
            let set = fields
                .filter(|field| field.settable)
                .map(|field| FieldId::Known(field, false));
            Some(PropertyList::Fields(set.collect()))
        }
        PACKET_TYPES => {
            let types = packet_type::supported();
            let values = types.map(|number| FieldMatch::exact(PACKET_TYPE, number.into()));
            Some(PropertyList::Values(values.collect()))
        }
        _ => None,
    }
}

/// Types by these numbers but for that of experimenters, and those of extensions.
fn types(numbers: impl Iterator<Item = u16>, catalogue: &Catalogue, kind: ExtKind) -> PropertyList {
    let mut types = Vec::new();
    for ty in numbers.filter(|ty| *ty != EXPERIMENTERS) {
        types.push(TypeId {
            ty,
            experimenter: 0,
        });
    }
    for row in catalogue.values(kind) {
        types.push(TypeId {
            ty: EXPERIMENTERS,
            experimenter: row.experimenter,
        });
    }
    PropertyList::Types(types)
}

impl Abilities {
    /// The features as a reply has them.
    pub(crate) fn to_features(&self) -> TableFeatures {
        let mut properties = self.others.to_vec();
        let next = (NEXT_TABLES..)
            .zip(&self.next)
            .map(|(ty, list)| TableProperty {
                ty,
                list: list.clone(),
            });
        // In the order of types, these come after the two properties of instructions.
        properties.splice(2..2, next);
        TableFeatures(TableFeatureSet {
            properties,
            ..self.head.clone()
        })
    }

    /// The list of a property other than the next tables.
    ///
    /// Panics: never, since each table has each such property that it can have.
    pub(super) fn list(&self, ty: u16) -> &PropertyList {
        let one = self.others.iter().find(|one| one.ty == ty);
        &one.expect("every property is there").list
    }

    /// Returns true if the table may have entries for a packet type.
    pub(super) fn has_packet_type(&self, wanted: &FieldMatch) -> bool {
        let types = self.list(PACKET_TYPES);
        matches!(types, PropertyList::Values(types) if types.contains(wanted))
    }

    /// Returns true if goto-table may lead to a table, for an entry, or with `miss` 1 for the
    /// table-miss entry.
    pub(super) fn has_next(&self, table: TableId, miss: u16) -> bool {
        let next = &self.next[usize::from(miss)];
        matches!(next, PropertyList::Tables(next) if next.contains(&table))
    }
}
