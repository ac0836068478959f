//! The abilities of a table in the statistics of OpenFlow 1.1. Spec: OpenFlow 1.1.0 section
//! A.3.5.4.

use alloc::vec::Vec;

use super::V1_1;
use super::action::{FieldSetter, SETTERS, TRANSPORT};
use super::matching::{fields_of, numbers_of};
use crate::action::ACTIONS;
use crate::error::DecodeError;
use crate::field::Field;
use crate::forms::Form;
use crate::message::multipart::TableStats;
use crate::message::multipart::table_features::{
    FieldId, PropertyList, TableFeatureSet, TableProperty, TypeId,
};
use crate::version::Version;
use crate::wire::{Reader, Writer};

/// Property types of the model.
const INSTRUCTIONS: u16 = 0;
const MATCH: u16 = 8;
const WILDCARDS: u16 = 10;
/// Actions, and the fields that set-field may write, for each kind of list.
const WRITE: [u16; 2] = [4, 12];
const APPLY: [u16; 2] = [6, 14];

/// The fields of a property.
fn fields(features: &TableFeatureSet, ty: u16) -> &[FieldId] {
    let property = features.properties.iter().find(|one| one.ty == ty);
    match property.map(|one| &one.list) {
        Some(PropertyList::Fields(list)) => list,
        _ => &[],
    }
}

/// The types of a property that 1.1 has, as bits.
fn types(features: &TableFeatureSet, ty: u16) -> u32 {
    let property = features.properties.iter().find(|one| one.ty == ty);
    let mut bits = 0;
    if let Some(PropertyList::Types(list)) = property.map(|one| &one.list) {
        for id in list.iter().filter(|id| id.ty < 32) {
            bits |= u32::from(id.is_known_to(ty, Version::V1_1)) << id.ty;
        }
    }
    bits
}

/// The property of these types, those that 1.1 has.
fn of_types(ty: u16, bits: u32) -> TableProperty {
    let list = PropertyList::Types(TypeId::of_bitmap(ty, bits, Version::V1_1));
    TableProperty { ty, list }
}

/// The fields that an action sets.
fn set_by(setter: &FieldSetter) -> Vec<&'static Field> {
    let all = TRANSPORT.iter().find(|all| all[0] == setter.field);
    all.map_or_else(|| [setter.field].into(), |all| all.to_vec())
}

/// The types of the actions that 1.1 shares with later versions, as bits; there are 32 of them.
fn shared_types() -> u32 {
    let mut bits = 0;
    for row in ACTIONS {
        if row.versions.has(Version::V1_1) && row.number < 32 {
            bits |= 1 << row.number;
        }
    }
    bits
}

/// Reads the actions of a kind of list: those of the model, and what set-field may write.
fn read_actions(
    [actions, set_fields]: [u16; 2],
    r: &mut Reader<'_>,
) -> Result<[TableProperty; 2], DecodeError> {
    let bits: u32 = r.get()?;
    let mut list = Vec::new();
    for setter in SETTERS.iter().filter(|one| bits >> one.ty & 1 == 1) {
        let fields = set_by(setter).into_iter();
        list.extend(fields.map(|field| FieldId::Known(field, false)));
    }
    let set_fields = TableProperty {
        ty: set_fields,
        list: PropertyList::Fields(list),
    };
    Ok([of_types(actions, bits & shared_types()), set_fields])
}

/// Appends the actions of a kind of list. A setter is there if all that it sets may be written.
fn write_actions([actions, set_fields]: [u16; 2], features: &TableFeatureSet, w: &mut Writer<'_>) {
    let list = fields(features, set_fields);
    let mut bits = types(features, actions) & shared_types();
    for setter in SETTERS {
        let mut wanted = set_by(setter).into_iter();
        if wanted.all(|field| list.contains(&FieldId::Known(field, false))) {
            bits |= 1 << setter.ty;
        }
    }
    w.put(&bits);
}

impl Form<V1_1> for TableStats {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut features = TableFeatureSet {
            table_id: r.at("table_id").get()?,
            ..TableFeatureSet::default()
        };
        r.take(7)?;
        features.name = r.at("name").get()?;
        let mut properties = Vec::new();
        for ty in [WILDCARDS, MATCH] {
            let list = PropertyList::Fields(fields_of(r.at("bitmap").get()?));
            properties.push(TableProperty { ty, list });
        }
        properties.push(of_types(INSTRUCTIONS, r.at("instructions").get()?));
        properties.extend(read_actions(WRITE, r.at("write_actions"))?);
        properties.extend(read_actions(APPLY, r.at("apply_actions"))?);
        features.properties = properties;
        features.config = r.at("config").get()?;
        features.max_entries = r.at("max_entries").get()?;
        Ok(Self {
            table_id: features.table_id,
            active_count: r.at("active_count").get()?,
            lookup_count: r.at("lookup_count").get()?,
            matched_count: r.at("matched_count").get()?,
            features,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        let features = &self.features;
        w.put(&self.table_id).pad(7).put(&features.name);
        for ty in [WILDCARDS, MATCH] {
            w.put(&numbers_of(fields(features, ty)));
        }
        w.put(&(types(features, INSTRUCTIONS)));
        write_actions(WRITE, features, w);
        write_actions(APPLY, features, w);
        w.put(&features.config).put(&features.max_entries);
        w.put(&self.active_count);
        w.put(&self.lookup_count).put(&self.matched_count);
    }
}
