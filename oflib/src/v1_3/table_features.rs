//! TABLE_FEATURES: a structure with a list of properties. Spec: OpenFlow 1.3.5 section 7.3.5.5.

use alloc::vec::Vec;

use super::matching::{decode_header, decode_values, encode_header, encode_oxm};
use super::{V1_3, layout, onf};
use crate::error::{BadProperty, BadRequest, DecodeError, ErrorCode, TableFeaturesFailed};
use crate::forms::Form;
use crate::message::multipart::table_features::{
    FieldId, PROPERTIES, PropertyList, TableFeatureSet, TableFeatures, TableFeaturesCommand,
    TableProperty, TypeId,
};
use crate::version::Version;
use crate::wire::{Reader, Wire, Writer};

/// The type number of experimenters.
const EXPERIMENTER: u16 = 0xffff;
/// Bytes of a table's features in front of its properties.
///
/// The name takes 32 of them.
const FIXED_BYTES: usize = 64;

layout! {
    V1_3;
    TableFeatureSet {
        // The properties come last and fill the structure, whose length stands before the table's
        // id.
        table_id => 5, name, metadata_match, metadata_write, config, max_entries, properties;
        ..default
    }
}

/// The errors of properties in a version: an unknown type, a wrong length.
fn property_errors(version: Version) -> (ErrorCode, ErrorCode) {
    if version.has_bundles() {
        (BadProperty::BAD_TYPE, BadProperty::BAD_LEN)
    } else {
        (TableFeaturesFailed::BAD_TYPE, TableFeaturesFailed::BAD_LEN)
    }
}

/// The length of 16 bits comes first, and counts the properties.
impl Form<V1_3> for TableFeatures {
    /// Errors: TABLE_FEATURES_FAILED/BAD_LEN, since 1.4 BAD_REQUEST/BAD_LEN, or a property's.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bad = if r.version().has_bundles() {
            BadRequest::BAD_LEN
        } else {
            TableFeaturesFailed::BAD_LEN
        };
        let mut body = r.at("table features").sized(0, FIXED_BYTES, 8, bad)?;
        body.take(2)?;
        #[cfg(feature = "v1_4")]
        if r.version().has_bundles() {
            // The length of 16 bits has been read already.
            crate::v1_4::table::check_doubled(body.clone(), FIXED_BYTES - 2)?;
        }
        body.get().map(Self)
    }
    fn write(&self, w: &mut Writer<'_>) {
        // Before 1.5 a request always replaces the features of all tables, and has no place for a
        // command.
        if self.0.command != TableFeaturesCommand::REPLACE && w.version() < Version::V1_5 {
            w.unsupported("commands for tables");
        }
        let start = w.bytes.len();
        w.put(&0u16).put(&self.0).patch_length(start, start);
    }
}

/// Types of actions with those of 1.5 in place of the ONF's, without others that came later.
///
/// A number that only other versions have is dropped: the peer cannot mean their action. So is the
/// later number of an action that the version has from the ONF.
fn newer_actions(mut list: Vec<TypeId>, version: Version) -> Vec<TypeId> {
    list.retain(|id| id.is_action_of(version) && onf::action_type(id.ty, version).is_none());
    for id in &mut list {
        let newer = onf::listed_action(version).filter(|_| *id == onf::LISTED);
        if let Some(ty) = newer {
            let experimenter = 0;
            *id = TypeId { ty, experimenter };
        }
    }
    list
}

/// Types of instructions that a version has, and those that are of none.
///
/// Both readers and writers apply this, so that what was decoded is encoded again as the same list.
fn said_instructions(mut list: Vec<TypeId>, version: Version) -> Vec<TypeId> {
    list.retain(|id| id.is_instruction_of(version));
    list
}

/// Types of actions as a version lists them: the ONF's in place of those that it has from there,
/// and without others that came later.
fn said_actions(list: &[TypeId], version: Version) -> Vec<TypeId> {
    let mut said = Vec::with_capacity(list.len());
    for id in list {
        if onf::action_type(id.ty, version).is_some() {
            said.push(onf::LISTED);
        } else if id.is_action_of(version) {
            said.push(*id);
        }
    }
    said
}

/// Type and length of 16 bits each, the list, and padding to 8 bytes, which the length does not
/// count. The letter in a type's row says what the list consists of.
impl Wire for TableProperty {
    /// Errors: TABLE_FEATURES_FAILED, since 1.4 BAD_PROPERTY, with BAD_TYPE or BAD_LEN.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let version = r.version();
        let (bad_type, bad_length) = property_errors(version);
        let (at_type, ty, mut body) = r.at("property").property(bad_length)?;
        let row = PROPERTIES
            .iter()
            .find(|row| row.0 == ty && row.3.has(version))
            .ok_or_else(|| at_type.err(bad_type))?;
        // Errors in the list carry the property's name, not that of its items.
        body.at(row.1);
        let list = match row.2 {
            'i' => PropertyList::Types(said_instructions(body.get()?, version)),
            'a' => PropertyList::Types(newer_actions(body.get()?, version)),
            't' => PropertyList::Tables(body.get()?),
            'f' => PropertyList::Fields(body.get()?),
            'v' => PropertyList::Values(decode_values(&mut body)?),
            // Experimenter, its type, and data up to the end of the property.
            _ => PropertyList::Experimenter(body.get()?, body.get()?, body.get()?),
        };
        Ok(Self { ty, list })
    }
    fn encode(&self, w: &mut Writer<'_>) {
        let row = PROPERTIES.iter().find(|row| row.0 == self.ty);
        if let Some(row) = row.filter(|row| !row.3.has(w.version())) {
            // A table that can do more is a table all the same.
            if w.leaves_out {
                return;
            }
            w.unsupported(row.1);
        }
        w.property(self.ty, |w| {
            match &self.list {
                PropertyList::Types(list) if row.is_some_and(|row| row.2 == 'a') => {
                    let said = said_actions(list, w.version());
                    w.put(&said)
                }
                PropertyList::Types(list) => w.put(&said_instructions(list.clone(), w.version())),
                PropertyList::Tables(list) => w.put(list),
                PropertyList::Fields(list) => {
                    let version = w.version();
                    // A field that only other versions have is no capability in this version.
                    for id in list.iter().filter(|id| id.is_known_to(version)) {
                        w.put(id);
                    }
                    w
                }
                PropertyList::Values(list) => {
                    list.iter().for_each(|one| encode_oxm(one, w));
                    w
                }
                PropertyList::Experimenter(id, ty, data) => w.put(id).put(ty).put(data),
            };
        });
    }
}

/// Type and length of 16 bits each; an experimenter's has its id, too. Unlike an action or an
/// instruction it has no padding.
impl Wire for TypeId {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (_, bad) = property_errors(r.version());
        let mut body = r.at("type id").sized(2, 4, 4, bad)?;
        let ty = body.get()?;
        body.take(2)?;
        let experimenter = if ty == EXPERIMENTER {
            body.at("experimenter").get()?
        } else {
            0
        };
        body.finish()?;
        Ok(Self { ty, experimenter })
    }
    fn encode(&self, w: &mut Writer<'_>) {
        if self.ty == EXPERIMENTER {
            w.put(&self.ty).put(&8u16).put(&self.experimenter);
        } else {
            w.put(&self.ty).put(&4u16);
        }
    }
}

/// Returns true if an experimenter stands behind this OXM header.
///
/// The low byte is the length of what follows the header, and the experimenter takes 4 bytes of it.
fn is_experimenter(header: u32) -> bool {
    header >> 16 == u32::from(EXPERIMENTER) && header & 0xff >= 4
}

/// An OXM header without a value. A field that no row has is kept as its header, so that a list of
/// a peer's fields is complete.
impl Wire for FieldId {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut raw = r.at("oxm header").clone();
        let (field, masked, _) = decode_header(r)?;
        if let Some(field) = field {
            return Ok(Self::Known(field, masked));
        }
        let header = raw.get()?;
        let experimenter = if is_experimenter(header) {
            raw.get()?
        } else {
            0
        };
        Ok(Self::Unknown(header, experimenter))
    }
    fn encode(&self, w: &mut Writer<'_>) {
        match *self {
            Self::Known(field, masked) => encode_header(field, masked, w),
            Self::Unknown(header, experimenter) => {
                w.put(&header);
                if is_experimenter(header) {
                    w.put(&experimenter);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::{sync::Arc, vec};

    use super::*;
    use crate::Codec;

    #[test]
    fn a_list_of_1_3_has_copy_field_by_the_onf_and_not_by_its_later_number() {
        let codec = Codec::new(Version::V1_3, Arc::default());
        let copy_field = TypeId {
            ty: 28,
            experimenter: 0,
        };
        let cases: &[(&[u8], Vec<TypeId>)] = &[
            (&[0, 6, 0, 8, 0, 28, 0, 4], vec![]),
            (
                &[0, 6, 0, 12, 0xff, 0xff, 0, 8, 0x4f, 0x4e, 0x46, 0],
                vec![copy_field],
            ),
        ];
        for (bytes, types) in cases {
            let property = Reader::new(&codec, bytes).get::<TableProperty>();
            let list = property.expect("is well-formed").list;
            assert_eq!(list, PropertyList::Types(types.clone()));
        }
    }
}
