//! Groups, whose buckets have numbers and properties. Spec: OpenFlow 1.5.1 sections 7.3.4.3,
//! 7.3.5.11.

use alloc::vec::Vec;

use super::V1_5;
use crate::action::Action;
use crate::error::{BadRequest, DecodeError, GroupModFailed};
use crate::forms::Form;
use crate::message::group_mod::{Bucket, GroupMod, GroupType};
use crate::message::multipart::GroupDesc;
use crate::message::property::ExperimenterProperty;
use crate::types::{GroupId, PortNo};
use crate::v1_3::{Properties, properties, read_properties};
use crate::wire::{Reader, Wire, Writer};

/// Bytes of a bucket in front of its actions.
const BUCKET_HEAD_BYTES: usize = 8;

/// The properties of a bucket.
#[derive(Default)]
struct BucketProperties {
    weight: Option<Weight>,
    watch_port: Option<PortNo>,
    watch_group: Option<GroupId>,
    experimenters: Vec<ExperimenterProperty>,
}

/// The properties of a group.
struct GroupProperties {
    experimenters: Vec<ExperimenterProperty>,
}

properties! {
    BucketProperties {
        0 pad 0 option weight;
        1 pad 0 option watch_port;
        2 pad 0 option watch_group;
    }
    GroupProperties {}
}

/// The weight of a bucket, with its padding.
struct Weight(u16);

impl Wire for Weight {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let weight = r.get()?;
        r.take(2)?;
        Ok(Self(weight))
    }
    fn encode(&self, w: &mut Writer<'_>) {
        w.put(&self.0).pad(2);
    }
}

/// The weight of a bucket that does not say it.
fn weight_by_default(ty: GroupType) -> u16 {
    u16::from(ty == GroupType::SELECT)
}

/// Reads a bucket of a group of type `ty`.
///
/// Errors: GROUP_MOD_FAILED/BAD_BUCKET for a length, an action's, BAD_PROPERTY's.
fn read_bucket(ty: GroupType, r: &mut Reader<'_>) -> Result<Bucket, DecodeError> {
    let bad = GroupModFailed::BAD_BUCKET;
    let mut body = r.at("bucket").sized(0, BUCKET_HEAD_BYTES, 8, bad)?;
    body.take(2)?;
    let actions_length: u16 = body.at("action_array_len").get()?;
    let bucket_id = body.at("bucket_id").get()?;
    let actions = Action::decode_list(&mut body, actions_length.into())?;
    let mut properties = BucketProperties::default();
    read_properties(&mut properties, &mut body)?;
    let weight = properties.weight.map(|weight| weight.0);
    Ok(Bucket {
        weight: weight.unwrap_or(weight_by_default(ty)),
        watch_port: properties.watch_port.unwrap_or(PortNo::ANY),
        watch_group: properties.watch_group.unwrap_or(GroupId::ANY),
        actions,
        bucket_id,
        experimenters: properties.experimenters,
    })
}

/// Appends what [`read_bucket`] reads.
fn write_bucket(ty: GroupType, bucket: &Bucket, w: &mut Writer<'_>) {
    let start = w.bytes.len();
    w.put(&0u16).put(&0u16).put(&bucket.bucket_id);
    let actions = w.bytes.len();
    w.put(&bucket.actions).patch_length(actions, start + 2);
    let is_said = bucket.weight != weight_by_default(ty) || ty == GroupType::SELECT;
    let properties = BucketProperties {
        weight: is_said.then_some(Weight(bucket.weight)),
        watch_port: Some(bucket.watch_port).filter(|port| *port != PortNo::ANY),
        watch_group: Some(bucket.watch_group).filter(|group| *group != GroupId::ANY),
        experimenters: bucket.experimenters.clone(),
    };
    properties.write_properties(w);
    w.patch_length(start, start);
}

/// A group's buckets, and properties of experimenters.
type Contents = (Vec<Bucket>, Vec<ExperimenterProperty>);

/// Reads the buckets of a group of type `ty`, `length` bytes of them, and its properties.
///
/// Errors: GROUP_MOD_FAILED/BAD_BUCKET, an action's, BAD_PROPERTY's.
fn read_contents(ty: GroupType, length: u16, r: &mut Reader<'_>) -> Result<Contents, DecodeError> {
    let bad = GroupModFailed::BAD_BUCKET;
    let mut list = r.at("buckets").sub(length.into(), bad)?;
    let mut buckets = Vec::new();
    while !list.is_empty() {
        buckets.push(read_bucket(ty, &mut list)?);
    }
    let mut properties = GroupProperties {
        experimenters: Vec::new(),
    };
    read_properties(&mut properties, r)?;
    Ok((buckets, properties.experimenters))
}

/// Appends what [`read_contents`] reads, and the length of the buckets at `length_at`.
fn write_contents(
    ty: GroupType,
    buckets: &[Bucket],
    experimenters: &[ExperimenterProperty],
    length_at: usize,
    w: &mut Writer<'_>,
) {
    let start = w.bytes.len();
    w.undivided(|w| {
        for bucket in buckets {
            write_bucket(ty, bucket, w);
        }
    });
    w.patch_length(start, length_at);
    let properties = GroupProperties {
        experimenters: experimenters.to_vec(),
    };
    properties.write_properties(w);
}

impl Form<V1_5> for GroupMod {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let command = r.at("command").get()?;
        let ty = r.at("ty").get()?;
        r.take(1)?;
        let group_id = r.at("group_id").get()?;
        let length = r.at("bucket_array_len").get()?;
        r.take(2)?;
        let command_bucket_id = r.at("command_bucket_id").get()?;
        let (buckets, experimenters) = read_contents(ty, length, r)?;
        Ok(Self {
            command,
            ty,
            group_id,
            buckets,
            command_bucket_id,
            experimenters,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.put(&self.command)
            .put(&self.ty)
            .pad(1)
            .put(&self.group_id);
        let length_at = w.bytes.len();
        w.pad(4).put(&self.command_bucket_id);
        write_contents(self.ty, &self.buckets, &self.experimenters, length_at, w);
    }
}

impl Form<V1_5> for GroupDesc {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bad = BadRequest::BAD_LEN;
        let mut body = r.at("group desc").sized(0, 16, 8, bad)?;
        body.take(2)?;
        let ty = body.at("type").get()?;
        body.take(1)?;
        let group_id = body.at("group_id").get()?;
        let length = body.at("bucket_array_len").get()?;
        body.take(6)?;
        let (buckets, experimenters) = read_contents(ty, length, &mut body)?;
        Ok(Self {
            ty,
            group_id,
            buckets,
            experimenters,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&0u16).put(&self.ty).pad(1).put(&self.group_id);
        let length_at = w.bytes.len();
        w.pad(8);
        write_contents(self.ty, &self.buckets, &self.experimenters, length_at, w);
        w.patch_length(start, start);
    }
}
