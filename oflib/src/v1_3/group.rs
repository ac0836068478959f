//! Groups, and their statistics. Spec: OpenFlow 1.3.5 sections 7.3.4.2, 7.3.5.9 to 7.3.5.11.

use alloc::vec::Vec;

use super::action::newer_types;
use super::{V1_3, layout};
use crate::action::Action;
#[cfg(feature = "connections")]
use crate::error::BadRequest;
use crate::error::{DecodeError, GroupModFailed};
use crate::forms::{Form, Plain};
use crate::message::group_mod::{Bucket, GroupMod, GroupModCommand, number};
use crate::message::multipart::group::{
    BucketCounter, GroupCounters, GroupDesc, GroupDescRequest, GroupFeatures, GroupRequest,
    GroupStats,
};
use crate::wire::{Reader, Writer};

layout! {
    V1_3;
    GroupRequest { group_id => 4 }
    BucketCounter { packet_count, byte_count }
    // `ref_count` is the number of flow entries and groups that forward to this group.
    GroupCounters {
        group_id, ref_count => 4, packet_count, byte_count, duration_sec, duration_nsec,
        bucket_stats
    }
}

/// Bytes of a bucket in front of its actions.
const BUCKET_HEAD_BYTES: usize = 16;

/// The 16-bit length comes first and counts the actions, too. A bucket has no number on the wire
/// before 1.5: [`number`] assigns its place in the group once all of them are read.
impl Form<V1_3> for Bucket {
    /// Errors: GROUP_MOD_FAILED/BAD_BUCKET for its length, or an action's.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bad = GroupModFailed::BAD_BUCKET;
        let mut body = r.at("bucket").sized(0, BUCKET_HEAD_BYTES, 8, bad)?;
        body.take(2)?;
        let weight = body.at("weight").get()?;
        let watch_port = body.at("watch_port").get()?;
        let watch_group = body.at("watch_group").get()?;
        body.take(4)?;
        let bytes = body.remaining();
        // Everything after the head is actions, whose lengths must add up to the bucket's.
        let actions = Action::decode_list(&mut body, bytes)?;
        Ok(Self {
            weight,
            watch_port,
            watch_group,
            ..Self::at(0, actions)
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        if !self.experimenters.is_empty() {
            // Buckets have had properties only since 1.5.
            w.unsupported("a bucket's experimenters");
        }
        // The length is patched once the actions are written.
        let start = w.bytes.len();
        w.put(&0u16).put(&self.weight);
        w.put(&self.watch_port).put(&self.watch_group).pad(4);
        w.put(&self.actions).patch_length(start, start);
    }
}

/// The commands that came with 1.5.
const NEWER_COMMANDS: [GroupModCommand; 2] = [
    GroupModCommand::INSERT_BUCKET,
    GroupModCommand::REMOVE_BUCKET,
];

/// The plain number, of which 1.3 has the commands up to DELETE, and Open vSwitch's ADD_OR_MOD.
impl Form<V1_3> for GroupModCommand {
    /// Errors: GROUP_MOD_FAILED/BAD_COMMAND.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        // The error points at the command, not after it.
        let at_command = r.clone();
        let command = <Self as Form<Plain>>::read(r)?;
        if NEWER_COMMANDS.contains(&command) {
            return Err(at_command.err(GroupModFailed::BAD_COMMAND));
        }
        Ok(command)
    }
    fn write(&self, w: &mut Writer<'_>) {
        if NEWER_COMMANDS.contains(self) {
            w.unsupported("commands for buckets");
        }
        w.put(&self.0);
    }
}

/// Spec: OpenFlow 1.3.5 section 7.3.4.2. The buckets fill the rest of the message, and there is no
/// length for all of them.
impl Form<V1_3> for GroupMod {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let command = r.at("command").get()?;
        let ty = r.at("ty").get()?;
        r.take(1)?;
        let group_id = r.at("group_id").get()?;
        let mut buckets: Vec<Bucket> = r.get()?;
        number(&mut buckets);
        Ok(Self {
            command,
            ty,
            group_id,
            buckets,
            // `command_bucket_id` has a meaning only with the commands of 1.5.
            ..Self::default()
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        if !self.experimenters.is_empty() {
            w.unsupported("a group's experimenters");
        }
        w.put(&self.command).put(&self.ty).pad(1);
        w.put(&self.group_id).put(&self.buckets);
    }
}

/// The length of 16 bits and two bytes of padding, then the counters. The buckets' counters go up
/// to this length.
impl Form<V1_3> for GroupStats {
    #[cfg(feature = "connections")]
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        // 32 bytes suffice for 1.1 and 1.2, which use this form and have no duration. In 1.3 the
        // counters themselves need 40, and report the same error.
        let mut body = r.at("group stats").sized(0, 32, 8, BadRequest::BAD_LEN)?;
        body.take(4)?;
        body.get().map(Self)
    }
    fn write(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&0u16).pad(2).put(&self.0).patch_length(start, start);
    }
}

/// The length of 16 bits comes first and counts the buckets, too.
impl Form<V1_3> for GroupDesc {
    #[cfg(feature = "connections")]
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut body = r.at("group desc").sized(0, 8, 8, BadRequest::BAD_LEN)?;
        body.take(2)?;
        let ty = body.at("type").get()?;
        body.take(1)?;
        let group_id = body.at("group_id").get()?;
        let mut buckets: Vec<Bucket> = body.get()?;
        number(&mut buckets);
        Ok(Self {
            ty,
            group_id,
            buckets,
            experimenters: Vec::new(),
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        if !self.experimenters.is_empty() {
            w.unsupported("a group's experimenters");
        }
        let start = w.bytes.len();
        w.put(&0u16).put(&self.ty).pad(1);
        w.put(&self.group_id).put(&self.buckets);
        w.patch_length(start, start);
    }
}

/// The request has no body before 1.5, so that it always asks for all groups.
impl Form<V1_3> for GroupDescRequest {
    fn read(_: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self::ALL)
    }
    fn write(&self, w: &mut Writer<'_>) {
        if *self != Self::ALL {
            w.unsupported("group_id");
        }
    }
}

/// Four words of `max_groups` and four of `actions`, one for each group type in the order ALL,
/// SELECT, INDIRECT, FF; bit N of an actions word is the action of type N.
impl Form<V1_3> for GroupFeatures {
    #[cfg(feature = "connections")]
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut this = Self {
            types: r.get()?,
            capabilities: r.get()?,
            ..Self::default()
        };
        for word in this.max_groups.iter_mut().chain(&mut this.actions) {
            *word = r.get()?;
        }
        // A peer that sets the bits of later actions cannot mean them, so they are dropped on both
        // ways, and decoding what we have encoded gives the same value.
        for types in &mut this.actions {
            *types &= !newer_types(r.version());
        }
        Ok(this)
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.put(&self.types).put(&self.capabilities);
        for most in &self.max_groups {
            w.put(most);
        }
        let newer = newer_types(w.version());
        for types in self.actions {
            w.put(&(types & !newer));
        }
    }
}
