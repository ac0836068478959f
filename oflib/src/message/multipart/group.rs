//! Multiparts about groups. Spec: OpenFlow 1.3.5 sections 7.3.5.9 to 7.3.5.11.

use alloc::vec::Vec;

use crate::message::group_mod::{Bucket, GroupType};
use crate::message::property::ExperimenterProperty;
use crate::model::{flags, model};
use crate::types::GroupId;

model! {
    /// The group that is asked for; ALL is all.
    pub struct GroupRequest {
        /// The group.
        pub group_id: GroupId,
    }
}

model! {
    /// The counters of a bucket.
    #[derive(Copy)]
    pub struct BucketCounter {
        /// Packets.
        pub packet_count: u64,
        /// Bytes.
        pub byte_count: u64,
    }
}

model! {
    /// The statistics of a group, without its length.
    pub struct GroupCounters {
        /// The group.
        pub group_id: GroupId,
        /// Flows and groups that refer to it.
        pub ref_count: u32,
        /// Packets.
        pub packet_count: u64,
        /// Bytes.
        pub byte_count: u64,
        /// The whole seconds for which it has existed.
        pub duration_sec: u32,
        /// The nanoseconds beyond these seconds.
        pub duration_nsec: u32,
        /// Its buckets.
        pub bucket_stats: Vec<BucketCounter>,
    }
}

/// The groups that are asked for: all, before OpenFlow 1.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupDescRequest {
    /// The group.
    pub group_id: GroupId,
}

impl GroupDescRequest {
    /// All of them.
    pub const ALL: Self = Self {
        group_id: GroupId::ALL,
    };
}

/// The statistics of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct GroupStats(pub GroupCounters);

/// A group as it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct GroupDesc {
    /// Its type.
    pub ty: GroupType,
    /// Its number.
    pub group_id: GroupId,
    /// Its buckets.
    pub buckets: Vec<Bucket>,
    /// Properties of experimenters (since OpenFlow 1.5).
    pub experimenters: Vec<ExperimenterProperty>,
}

flags! {
    /// The capabilities of groups (`OFPGFC_*`).
    pub struct GroupCapabilities(u32) {
        /// Select groups with weights.
        SELECT_WEIGHT = 0x1 "select_weight",
        /// Select groups with liveness.
        SELECT_LIVENESS = 0x2 "select_liveness",
        /// Groups may forward to groups.
        CHAINING = 0x4 "chaining",
        /// Loops are refused.
        CHAINING_CHECKS = 0x8 "chaining_checks",
    }
}

/// The features of groups, with one entry for each group type: all, select, indirect, fast
/// failover.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct GroupFeatures {
    /// A bit for each type.
    pub types: u32,
    /// The capabilities.
    pub capabilities: GroupCapabilities,
    /// The most groups of each type.
    pub max_groups: [u32; 4],
    /// For each type, a bit for each action type.
    pub actions: [u32; 4],
}
