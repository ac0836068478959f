//! What each table can do, as it is told and as controllers change it; `fits.rs` holds flow-mods
//! against it. Spec: OpenFlow 1.3.5 section 7.3.5.5.

use alloc::{format, rc::Rc, vec::Vec};

use bofuss_oflib::action::ACTIONS;
use bofuss_oflib::error::TableFeaturesFailed;
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::message::multipart::table_features::{
    FieldId, PROPERTIES, PropertyList, TableFeatureSet, TypeId,
};
use bofuss_oflib::message::multipart::{TableFeatures, TableProperty};
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::FixedStr;
use bofuss_oflib::{Catalogue, ErrorCode};

use crate::Config;

/// Property types; each of entries has that of the table-miss entry behind it.
pub(crate) const INSTRUCTIONS: u16 = 0;
const NEXT_TABLES: u16 = 2;
pub(crate) const WRITE_ACTIONS: u16 = 4;
pub(crate) const APPLY_ACTIONS: u16 = 6;
pub(crate) const MATCH: u16 = 8;
pub(crate) const WILDCARDS: u16 = 10;
pub(crate) const WRITE_SETFIELD: u16 = 12;
pub(crate) const APPLY_SETFIELD: u16 = 14;
/// Properties of this type and above are an experimenter's.
const EXPERIMENTER: u16 = 0xfffe;

/// Instructions in force: goto-table, write-metadata, write-, apply- and clear-actions.
const INSTRUCTION_TYPES: [u16; 5] = [1, 2, 3, 4, 5];
/// The bits of a table's configuration: earlier versions' miss behaviour, without effect.
pub const TABLE_CONFIG_BITS: u32 = 3;

/// A table of the pipeline: what it is called and what it can do.
#[derive(Clone, Debug)]
pub(crate) struct Abilities {
    /// All but the properties.
    pub(crate) head: TableFeatureSet,
    /// Tables that entries, and the table-miss entry, may go on in.
    pub(crate) next: [PropertyList; 2],
    /// Every other property once; tables that can do the same share it.
    others: Rc<[TableProperty]>,
    /// Whether these list everything, and need not be searched.
    pub(crate) open: bool,
}

/// Makes every table of a switch able to do everything, and to go on in any later one.
pub(crate) fn everything(config: &Config, catalogue: &Catalogue) -> Vec<Option<Abilities>> {
    let basic = |ty| TypeId {
        ty,
        experimenter: 0,
    };
    let types = |numbers: &[u16], kind| {
        let of_extensions = catalogue.values(kind).map(|row| TypeId {
            ty: 0xffff,
            experimenter: row.experimenter,
        });
        let numbers = numbers.iter().copied().map(basic);
        PropertyList::Types(numbers.chain(of_extensions).collect())
    };
    let numbers = ACTIONS.iter().map(|row| row.number);
    let actions = types(&numbers.collect::<Vec<u16>>(), ExtKind::Action);
    let instructions = types(&INSTRUCTION_TYPES, ExtKind::Instruction);
    let fields = catalogue.fields().iter();
    let matched = fields
        .clone()
        .map(|field| FieldId::Known(field, field.maskable));
    let set = fields.filter(|field| field.settable);
    let set: Vec<_> = set.map(|field| FieldId::Known(field, false)).collect();
    let matched = PropertyList::Fields(matched.collect());
    let list = |ty| match ty & !1 {
        INSTRUCTIONS => Some(instructions.clone()),
        WRITE_ACTIONS | APPLY_ACTIONS => Some(actions.clone()),
        MATCH => Some(matched.clone()),
        WILDCARDS => Some(matched.unmasked()),
        WRITE_SETFIELD | APPLY_SETFIELD => Some(PropertyList::Fields(set.clone())),
        _ => None,
    };
    let properties = PROPERTIES.iter().map(|row| row.0);
    let others: Rc<[_]> = properties
        .filter_map(|ty| list(ty).map(|list| TableProperty { ty, list }))
        .collect();
    let table = |number: u8| {
        let later = PropertyList::Tables((number + 1..config.n_tables).map(TableId).collect());
        Some(Abilities {
            head: TableFeatureSet {
                table_id: TableId(number),
                name: FixedStr(format!("table{number}")),
                metadata_match: u64::MAX,
                metadata_write: u64::MAX,
                config: 0,
                max_entries: config.max_entries.min(config.max_total_entries),
                properties: Vec::new(),
            },
            next: [later.clone(), later],
            others: Rc::clone(&others),
            open: true,
        })
    };
    (0..config.n_tables).map(table).collect()
}

impl Abilities {
    /// The features as a reply has them.
    pub(crate) fn to_features(&self) -> TableFeatures {
        let mut properties = self.others.to_vec();
        let next = (NEXT_TABLES..).zip(&self.next);
        let next = next.map(|(ty, list)| TableProperty {
            ty,
            list: list.clone(),
        });
        properties.splice(2..2, next);
        TableFeatures(TableFeatureSet {
            properties,
            ..self.head.clone()
        })
    }

    /// What a table becomes that has this abilities and is to have `wanted`, within `bound`.
    ///
    /// Errors: TABLE_FEATURES_FAILED with BAD_METADATA, BAD_ARGUMENT or BAD_TYPE.
    pub(crate) fn changed(
        &self,
        wanted: &TableFeatureSet,
        bound: &Self,
    ) -> Result<Self, ErrorCode> {
        let beyond = |wanted: u64, bound: u64| wanted & !bound != 0;
        if beyond(wanted.metadata_match, bound.head.metadata_match)
            || beyond(wanted.metadata_write, bound.head.metadata_write)
        {
            return Err(TableFeaturesFailed::BAD_METADATA);
        }
        if wanted.config & !TABLE_CONFIG_BITS != 0 {
            return Err(TableFeaturesFailed::BAD_ARGUMENT);
        }
        let mut abilities = self.clone();
        let most = bound.head.max_entries;
        abilities.head = TableFeatureSet {
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
        if wanted.properties.iter().any(|one| one.ty >= EXPERIMENTER) {
            return Err(TableFeaturesFailed::BAD_ARGUMENT);
        }
        // Each property once; that of the table-miss entry is that of the others if left out.
        let find = |ty| {
            let mut same = wanted.properties.iter().filter(move |one| one.ty == ty);
            let one = same.next();
            if same.next().is_some() {
                Err(TableFeaturesFailed::BAD_TYPE)
            } else {
                Ok(one)
            }
        };
        let list = |ty: u16, bound: &PropertyList| {
            let missing = TableFeaturesFailed::BAD_TYPE;
            let one = find(ty)?.map_or_else(|| find(ty & !1), |one| Ok(Some(one)))?;
            let wanted = &one.ok_or(missing)?.list;
            // To be left out, a field needs no mask: with one it is the same.
            let part = match ty {
                WILDCARDS => part(bound, &wanted.unmasked()),
                _ => part(bound, wanted),
            };
            part.ok_or(TableFeaturesFailed::BAD_ARGUMENT)
        };
        for (ty, (next, bound)) in (NEXT_TABLES..).zip(abilities.next.iter_mut().zip(&bound.next)) {
            *next = list(ty, bound)?;
        }
        let others = bound.others.iter().map(|one| {
            let list = list(one.ty, &one.list)?;
            Ok(TableProperty { ty: one.ty, list })
        });
        let others: Rc<[_]> = others.collect::<Result<_, ErrorCode>>()?;
        abilities.open = bound.open && others == bound.others;
        abilities.others = if abilities.open {
            Rc::clone(&bound.others)
        } else {
            others
        };
        Ok(abilities)
    }

    /// Whether the tables can do the same; name and configuration aside.
    pub(crate) fn is_as_able_as(&self, other: &Self) -> bool {
        let head = |abilities: &Self| {
            let head = &abilities.head;
            (head.metadata_match, head.metadata_write, head.max_entries)
        };
        head(self) == head(other) && self.next == other.next && self.others == other.others
    }

    pub(crate) fn list(&self, ty: u16) -> &PropertyList {
        let one = self.others.iter().find(|one| one.ty == ty);
        &one.expect("every property is there").list
    }

    pub(crate) fn has_type(&self, ty: u16, number: u16, experimenter: u32) -> bool {
        let id = TypeId {
            ty: number,
            experimenter,
        };
        self.open || matches!(self.list(ty), PropertyList::Types(list) if list.contains(&id))
    }
}

/// Those of `bound` that `wanted` lists; `None` if it lists others, or things of another kind.
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
        (PropertyList::Fields(bound), PropertyList::Fields(wanted)) => {
            let chosen = |b: &FieldId, w: &FieldId| match (b, w) {
                (FieldId::Known(a, masks), FieldId::Known(b, masked)) => {
                    (a == b && (*masks || !masked)).then_some(*w)
                }
                _ => None,
            };
            PropertyList::Fields(those(bound, wanted, chosen)?)
        }
        _ => return None,
    })
}
