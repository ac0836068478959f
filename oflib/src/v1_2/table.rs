//! Tables in OpenFlow 1.2: what becomes of a miss, and what table statistics tell of abilities.
//! Spec: OpenFlow 1.2 sections A.3.3, A.3.5.3.

use alloc::vec::Vec;

use super::V1_2;
use crate::error::{DecodeError, TableModFailed};
use crate::forms::Form;
use crate::message::TableMod;
use crate::message::multipart::TableStats;
use crate::message::multipart::table_features::{
    FieldId, PropertyList, TableFeatureSet, TableProperty, TypeId,
};
use crate::message::table_mod::TableMiss;
use crate::version::Version;
use crate::wire::{Reader, Writer};

impl Form<V1_2> for TableMod {
    /// Errors: TABLE_MOD_FAILED/BAD_CONFIG for a miss in a fourth way.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let table_id = r.at("table_id").get()?;
        r.take(3)?;
        let at_config = r.at("config").clone();
        let config: u32 = r.get()?;
        let miss = TableMiss(TableMiss::CONTROLLER.0 + (config & TableMiss::MASK));
        if miss.name().is_none() {
            return Err(at_config.err(TableModFailed::BAD_CONFIG));
        }
        Ok(Self {
            table_id,
            config: config & !TableMiss::MASK,
            miss,
            ..Self::default()
        })
    }
    /// Without a `miss`, the bits of the configuration say it, but for those of a fourth way.
    fn write(&self, w: &mut Writer<'_>) {
        if self.eviction.is_some() || self.vacancy.is_some() || !self.experimenters.is_empty() {
            w.unsupported("properties of a table");
        }
        w.put(&self.table_id).pad(3);
        let config = if self.miss == TableMiss::ENTRY {
            if self.config & TableMiss::MASK == TableMiss::MASK {
                w.unsupported("both bits of a miss");
            }
            self.config
        } else {
            self.config & !TableMiss::MASK | self.miss.bits()
        };
        w.put(&config);
    }
}

/// The kind of things that a bitmap of abilities lists.
#[derive(Clone, Copy)]
enum Bits {
    /// Fields by their number, in 64 bits.
    Fields,
    /// Actions or instructions by their type, in 32 bits.
    Types,
}

/// The property of the model of each bitmap, and what it lists, in wire order; the last comes after
/// the two masks of the metadata.
const BITMAPS: [(u16, Bits); 7] = [
    (8, Bits::Fields),
    (10, Bits::Fields),
    (4, Bits::Types),
    (6, Bits::Types),
    (12, Bits::Fields),
    (14, Bits::Fields),
    (0, Bits::Types),
];

/// Reads a bitmap as the property that it is.
fn read_bitmap((ty, bits): (u16, Bits), r: &mut Reader<'_>) -> Result<TableProperty, DecodeError> {
    let list = match bits {
        Bits::Fields => {
            let bitmap: u64 = r.get()?;
            let mut fields = Vec::new();
            for number in (0..64).filter(|bit| bitmap >> bit & 1 == 1) {
                let field = r.codec.catalogue.field(0, number);
                if let Some(field) = field.filter(|field| field.versions.has(r.version())) {
                    fields.push(FieldId::Known(field, false));
                }
            }
            PropertyList::Fields(fields)
        }
        Bits::Types => PropertyList::Types(TypeId::of_bitmap(ty, r.get()?, r.version())),
    };
    Ok(TableProperty { ty, list })
}

/// Appends the bitmap of a property; what has no bit is left out.
fn write_bitmap((ty, bits): (u16, Bits), features: &TableFeatureSet, w: &mut Writer<'_>) {
    let property = features.properties.iter().find(|one| one.ty == ty);
    let mut bitmap = 0u64;
    match property.map(|one| &one.list) {
        Some(PropertyList::Fields(list)) => {
            for id in list {
                if let FieldId::Known(field, _) = id {
                    if field.experimenter == 0 && field.versions.has(w.version()) {
                        bitmap |= 1 << field.number;
                    }
                }
            }
        }
        Some(PropertyList::Types(list)) => {
            for id in list.iter().filter(|id| id.ty < 32) {
                bitmap |= u64::from(id.is_known_to(ty, w.version())) << id.ty;
            }
        }
        Some(
            PropertyList::Tables(_) | PropertyList::Values(_) | PropertyList::Experimenter(..),
        )
        | None => {}
    }
    match bits {
        Bits::Fields => w.put(&bitmap),
        Bits::Types => w.put(&(bitmap as u32)),
    };
}

impl Form<V1_2> for TableStats {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut features = TableFeatureSet {
            table_id: r.at("table_id").get()?,
            ..TableFeatureSet::default()
        };
        r.take(7)?;
        features.name = r.at("name").get()?;
        let mut properties = Vec::new();
        for bitmap in &BITMAPS[..6] {
            properties.push(read_bitmap(*bitmap, r.at("bitmap"))?);
        }
        features.metadata_match = r.at("metadata_match").get()?;
        features.metadata_write = r.at("metadata_write").get()?;
        properties.push(read_bitmap(BITMAPS[6], r.at("instructions"))?);
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
        for bitmap in &BITMAPS[..6] {
            write_bitmap(*bitmap, features, w);
        }
        w.put(&features.metadata_match);
        w.put(&features.metadata_write);
        write_bitmap(BITMAPS[6], features, w);
        w.put(&features.config).put(&features.max_entries);
        w.put(&self.active_count);
        w.put(&self.lookup_count).put(&self.matched_count);
    }
}

impl TypeId {
    /// Those whose bits are set, as far as the version has them in a property.
    pub(crate) fn of_bitmap(property: u16, bits: u32, version: Version) -> Vec<Self> {
        let all = (0..32).filter(|ty| bits >> ty & 1 == 1);
        let ids = all.map(|ty| Self {
            ty,
            experimenter: 0,
        });
        ids.filter(|id| id.is_known_to(property, version)).collect()
    }
}
