//! GROUP_MOD: a change of groups. Spec: OpenFlow 1.3.5 section 7.3.4.2.

use alloc::vec::Vec;

use super::property::ExperimenterProperty;
use crate::action::Action;
use crate::error::GroupModFailed;
use crate::model::{model, named};
use crate::types::{BucketId, GroupId, PortNo};

named! {
    /// The commands of a group-mod (`OFPGC_*`).
    pub struct GroupModCommand(u16) else GroupModFailed::BAD_COMMAND {
        /// Adds a group.
        ADD = 0 "add",
        /// Replaces a group's type and buckets.
        MODIFY = 1 "modify",
        /// Removes a group.
        DELETE = 2 "delete",
        /// Adds buckets to a group (since OpenFlow 1.5).
        INSERT_BUCKET = 3 "insert_bucket",
        /// Removes buckets from a group (since OpenFlow 1.5).
        REMOVE_BUCKET = 5 "remove_bucket",
        /// Adds a group, or replaces it: Open vSwitch's command for its users' `--may-create`.
        ADD_OR_MOD = 0x8000 "add_or_mod",
    }
}

named! {
    /// The way in which a group uses its buckets (`OFPGT_*`).
    pub struct GroupType(u8) else GroupModFailed::BAD_TYPE {
        /// All of them.
        ALL = 0 "all",
        /// One, chosen by the switch.
        SELECT = 1 "select",
        /// The only one.
        INDIRECT = 2 "indirect",
        /// The first that is live.
        FF = 3 "ff",
    }
}

/// One bucket of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bucket {
    /// Its share, in select groups.
    pub weight: u16,
    /// The port whose state makes it live.
    pub watch_port: PortNo,
    /// The group whose state makes it live.
    pub watch_group: GroupId,
    /// Its action set.
    pub actions: Vec<Action>,
    /// Its number in the group: its place, in the versions that have none (before OpenFlow 1.5).
    pub bucket_id: BucketId,
    /// Properties of experimenters (since OpenFlow 1.5).
    pub experimenters: Vec<ExperimenterProperty>,
}

impl Bucket {
    /// The bucket of these actions at a place in its group, with that number, which watches
    /// nothing.
    pub fn at(place: usize, actions: Vec<Action>) -> Self {
        Self {
            weight: 0,
            watch_port: PortNo::ANY,
            watch_group: GroupId::ANY,
            actions,
            bucket_id: BucketId(place as u32),
            experimenters: Vec::new(),
        }
    }
}

/// Gives each bucket the number of its place.
pub(crate) fn number(buckets: &mut [Bucket]) {
    for (id, bucket) in (0..).zip(buckets) {
        bucket.bucket_id = BucketId(id);
    }
}

model! {
    /// A change of groups.
    pub struct GroupMod text write_group_mod {
        /// The command.
        pub command: GroupModCommand,
        /// The group's type.
        pub ty: GroupType,
        /// The group.
        pub group_id: GroupId,
        /// Its buckets.
        pub buckets: Vec<Bucket>,
        /// Before or after which bucket others are inserted, or which is removed (since OpenFlow
        /// 1.5).
        pub command_bucket_id: BucketId,
        /// Properties of experimenters (since OpenFlow 1.5).
        pub experimenters: Vec<ExperimenterProperty>,
    }
}
