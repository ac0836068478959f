//! The features that a controller asks for: a part of those that a table can have.

use alloc::{rc::Rc, vec::Vec};

use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::TableFeaturesFailed;
use bofuss_oflib::message::multipart::TableProperty;
use bofuss_oflib::message::multipart::table_features::{
    FieldId, PropertyList, TableFeatureFlags, TableFeatureSet, TableFeaturesCommand,
};

use super::{Abilities, NEXT_TABLES, TABLE_CONFIG_BITS, WILDCARDS};

/// The property of the tables that a table is synchronised from (since OpenFlow 1.4).
const TABLE_SYNC_FROM: u16 = 16;
/// Properties of this type and above are an experimenter's.
const EXPERIMENTER: u16 = 0xfffe;

impl Abilities {
    /// Returns true if both tables have the same features, apart from name and configuration.
    pub(crate) fn is_as_able_as(&self, other: &Self) -> bool {
        self.head.metadata_match == other.head.metadata_match
            && self.head.metadata_write == other.head.metadata_write
            && self.head.max_entries == other.head.max_entries
            && self.head.features == other.head.features
            && self.next == other.next
            && self.others == other.others
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
        // FIRST_EGRESS belongs to the pipeline and not to the table: see `shape/request.rs`.
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
