//! The features of tables, as they are reported and as controllers change them; `admission.rs`
//! checks flow-mods against them. Spec: OpenFlow 1.3.5 section 7.3.5.5.

use alloc::{format, rc::Rc, vec::Vec};

use bofuss_oflib::action::ACTIONS;
use bofuss_oflib::error::TableFeaturesFailed;
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::field::PACKET_TYPE;
use bofuss_oflib::instruction;
use bofuss_oflib::message::multipart::table_features::{
    FieldId, PROPERTIES, PropertyList, TableFeatureFlags, TableFeatureSet, TableFeaturesCommand,
    TypeId,
};
use bofuss_oflib::message::multipart::{TableFeatures, TableProperty};
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::FixedStr;
use bofuss_oflib::{Catalogue, ErrorCode, FieldMatch};
use bofuss_packet::packet_type;

use crate::Config;

mod admission;

/// Property types. For each property of ordinary entries, that of the table-miss entry has the next
/// number.
///
/// Spec: OpenFlow 1.3.5 section 7.3.5.5, OFPTFPT_*; later versions continue the numbers.
const INSTRUCTIONS: u16 = 0;
pub(crate) const NEXT_TABLES: u16 = 2;
pub(crate) const WRITE_ACTIONS: u16 = 4;
const APPLY_ACTIONS: u16 = 6;
const MATCH: u16 = 8;
const WILDCARDS: u16 = 10;
const WRITE_SETFIELD: u16 = 12;
const APPLY_SETFIELD: u16 = 14;
/// The tables that a table is synchronised from (since OpenFlow 1.4).
const TABLE_SYNC_FROM: u16 = 16;
/// The fields to which copy-field may copy (since OpenFlow 1.5).
const WRITE_COPYFIELD: u16 = 18;
const APPLY_COPYFIELD: u16 = 20;
/// The packet types of a table (since OpenFlow 1.5).
const PACKET_TYPES: u16 = 22;
/// The type of experimenters' instructions and actions.
const EXPERIMENTERS: u16 = 0xffff;
/// Properties of this type and above are an experimenter's.
const EXPERIMENTER: u16 = 0xfffe;

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
    open: bool,
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
    if number > 0 {
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
            let numbers = instruction::INSTRUCTIONS.iter().map(|row| row.number);
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

    /// The features of a table with these abilities after the request `wanted`, within `bound`. If
    /// the request omits the stages, those of the bound apply.
    ///
    /// A request without properties changes nothing about them. If a request has properties, it has
    /// to name each property of 1.3, except those of the table-miss entry.
    ///
    /// Errors: TABLE_FEATURES_FAILED with BAD_METADATA, BAD_CAP, BAD_ARGUMENT, BAD_TYPE or
    /// BAD_FEATURES.
    pub(crate) fn changed(
        &self,
        wanted: &TableFeatureSet,
        bound: &Self,
    ) -> Result<Self, ErrorCode> {
        if wanted.metadata_match & !bound.head.metadata_match != 0
            || wanted.metadata_write & !bound.head.metadata_write != 0
        {
            return Err(TableFeaturesFailed::BAD_METADATA);
        }
        if wanted.config & !TABLE_CONFIG_BITS != 0 {
            return Err(TableFeaturesFailed::BAD_CAP);
        }
        // FIRST_EGRESS belongs to the pipeline and not to the table: see `shape.rs`.
        let mut features = bound.head.features;
        if wanted.features != TableFeatureFlags(0) {
            features.0 = wanted.features.0 & !TableFeatureFlags::FIRST_EGRESS.0;
        }
        if features.0 & !bound.head.features.0 != 0 {
            return Err(TableFeaturesFailed::BAD_FEATURES);
        }
        let mut abilities = self.clone();
        let most = bound.head.max_entries;
        abilities.head = TableFeatureSet {
            features,
            command: TableFeaturesCommand::REPLACE,
            // Choice: more entries than the table can have are no error; the reply says how many it
            // has.
            max_entries: if wanted.max_entries == 0 {
                most
            } else {
                wanted.max_entries.min(most)
            },
            properties: Vec::new(),
            ..wanted.clone()
        };
        if wanted.properties.is_empty() {
            return Ok(abilities);
        }
        if wanted.properties.iter().any(cannot_be) {
            return Err(TableFeaturesFailed::BAD_ARGUMENT);
        }
        let properties = &wanted.properties;
        for (ty, (next, bound)) in (NEXT_TABLES..).zip(abilities.next.iter_mut().zip(&bound.next)) {
            *next = list_within(bound, properties, ty)?;
        }
        let others = bound.others.iter().map(|one| {
            let list = list_within(&one.list, properties, one.ty)?;
            Ok(TableProperty { ty: one.ty, list })
        });
        let others: Rc<[_]> = others.collect::<Result<_, ErrorCode>>()?;
        // A controller that sends a reply back as its request asks for everything, so the table
        // stays open.
        abilities.open = bound.open && others == bound.others;
        abilities.others = if abilities.open {
            Rc::clone(&bound.others)
        } else {
            others
        };
        Ok(abilities)
    }

    /// Returns true if both tables have the same features, apart from name and configuration.
    pub(crate) fn is_as_able_as(&self, other: &Self) -> bool {
        self.head.metadata_match == other.head.metadata_match
            && self.head.metadata_write == other.head.metadata_write
            && self.head.max_entries == other.head.max_entries
            && self.head.features == other.head.features
            && self.next == other.next
            && self.others == other.others
    }

    /// The list of a property other than the next tables.
    ///
    /// Panics: never, since each table has each such property that it can have.
    fn list(&self, ty: u16) -> &PropertyList {
        let one = self.others.iter().find(|one| one.ty == ty);
        &one.expect("every property is there").list
    }

    /// Returns true if a property lists a type; `experimenter` is 0 for those of the text.
    fn has_type(&self, ty: u16, number: u16, experimenter: u32) -> bool {
        let id = TypeId {
            ty: number,
            experimenter,
        };
        self.open || matches!(self.list(ty), PropertyList::Types(list) if list.contains(&id))
    }
}

/// Returns true if no table can have this property: an experimenter's, or synchronisation with
/// another table.
fn cannot_be(one: &TableProperty) -> bool {
    let nothing = PropertyList::Tables(Vec::new());
    one.ty >= EXPERIMENTER || one.ty == TABLE_SYNC_FROM && one.list != nothing
}

/// The property of a type. Errors: TABLE_FEATURES_FAILED/BAD_TYPE if there are several.
fn only_one(list: &[TableProperty], ty: u16) -> Result<Option<&TableProperty>, ErrorCode> {
    let mut same = list.iter().filter(|one| one.ty == ty);
    let one = same.next();
    if same.next().is_some() {
        return Err(TableFeaturesFailed::BAD_TYPE);
    }
    Ok(one)
}

/// The list of a property, within `bound`. If the property of the table-miss entry is omitted, that
/// of ordinary entries applies.
///
/// Errors: TABLE_FEATURES_FAILED with BAD_TYPE or BAD_ARGUMENT.
fn list_within(
    bound: &PropertyList,
    wanted: &[TableProperty],
    ty: u16,
) -> Result<PropertyList, ErrorCode> {
    let one = match only_one(wanted, ty)? {
        None => only_one(wanted, ty & !1)?,
        one => one,
    };
    // Versions before 1.5 do not have these properties, and controllers of 1.5 may omit them.
    if one.is_none() && ty > TABLE_SYNC_FROM {
        return Ok(bound.clone());
    }
    let wanted = &one.ok_or(TableFeaturesFailed::BAD_TYPE)?.list;
    // For wildcards, masks do not matter.
    let part = match ty {
        WILDCARDS => part(bound, &wanted.unmasked()),
        _ => part(bound, wanted),
    };
    part.ok_or(TableFeaturesFailed::BAD_ARGUMENT)
}

/// The items of `bound` that `wanted` lists; `None` if it lists others, or items of another kind.
///
/// The result has the order of `bound`, and masks as in `wanted`.
fn part(bound: &PropertyList, wanted: &PropertyList) -> Option<PropertyList> {
    fn those<T: Copy + PartialEq>(
        bound: &[T],
        wanted: &[T],
        chosen: impl Fn(&T, &T) -> Option<T>,
    ) -> Option<Vec<T>> {
        let within = wanted
            .iter()
            .all(|w| bound.iter().any(|b| chosen(b, w).is_some()));
        let kept = bound
            .iter()
            .filter_map(|b| wanted.iter().find_map(|w| chosen(b, w)));
        within.then(|| kept.collect())
    }
    Some(match (bound, wanted) {
        (PropertyList::Types(bound), PropertyList::Types(wanted)) => {
            PropertyList::Types(those(bound, wanted, |b, w| (b == w).then_some(*w))?)
        }
        (PropertyList::Tables(bound), PropertyList::Tables(wanted)) => {
            PropertyList::Tables(those(bound, wanted, |b, w| (b == w).then_some(*w))?)
        }
        (PropertyList::Values(bound), PropertyList::Values(wanted)) => {
            PropertyList::Values(those(bound, wanted, |b, w| (b == w).then_some(*w))?)
        }
        (PropertyList::Fields(bound), PropertyList::Fields(wanted)) => {
            PropertyList::Fields(those(bound, wanted, |b, w| match (b, w) {
                (FieldId::Known(a, masks), FieldId::Known(b, masked)) => {
                    (a == b && (*masks || !masked)).then_some(*w)
                }
                _ => None,
            })?)
        }
        _ => return None,
    })
}
