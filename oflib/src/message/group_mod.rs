//! GROUP_MOD: a change of groups. Spec: OpenFlow 1.3.5 section 7.3.4.2.

use alloc::vec::Vec;
use core::fmt;

use crate::action::Action;
use crate::error::{DecodeError, GroupModFailed};
use crate::text::write_group_mod;
use crate::types::{GroupId, PortNo};
use crate::wire::{Reader, Wire, Writer, named, wire};

named! {
    /// What a group-mod does (`OFPGC_*`).
    pub struct GroupModCommand(u16) else GroupModFailed::BAD_COMMAND {
        /// Adds a group.
        ADD = 0 "add",
        /// Replaces a group's type and buckets.
        MODIFY = 1 "modify",
        /// Removes a group.
        DELETE = 2 "delete",
        /// Adds a group, or replaces it: Open vSwitch's command for its users' `--may-create`.
        ADD_OR_MOD = 0x8000 "add_or_mod",
    }
}

named! {
    /// How a group uses its buckets (`OFPGT_*`).
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

/// Bytes of a bucket in front of its actions.
const BUCKET_HEAD_BYTES: usize = 16;

/// One bucket of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Its share, in select groups.
    pub weight: u16,
    /// The port whose state makes it live.
    pub watch_port: PortNo,
    /// The group whose state makes it live.
    pub watch_group: GroupId,
    /// Its action set.
    pub actions: Vec<Action>,
}

impl Wire for Bucket {
    /// Errors: GROUP_MOD_FAILED/BAD_BUCKET for its length, or an action's.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bad = GroupModFailed::BAD_BUCKET;
        let mut body = r.at("bucket").sized(0, BUCKET_HEAD_BYTES, 8, bad)?;
        body.take(2)?;
        let weight = body.at("weight").get()?;
        let watch_port = body.at("watch_port").get()?;
        let watch_group = body.at("watch_group").get()?;
        body.take(4)?;
        let bytes = body.remaining();
        let actions = Action::decode_list(&mut body, bytes)?;
        Ok(Self {
            weight,
            watch_port,
            watch_group,
            actions,
        })
    }
    fn encode(&self, w: &mut Writer<'_>) {
        let start = w.bytes.len();
        w.put(&0u16)
            .put(&self.weight)
            .put(&self.watch_port)
            .put(&self.watch_group)
            .pad(4);
        w.put(&self.actions).patch_length(start, start);
    }
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::text::write_bucket(self, f)
    }
}

wire! {
    /// A change of groups.
    pub struct GroupMod text write_group_mod {
        /// What to do.
        pub command: GroupModCommand,
        /// The group's type.
        pub ty: GroupType => 1,
        /// The group.
        pub group_id: GroupId,
        /// Its buckets.
        pub buckets: Vec<Bucket>,
    }
}
