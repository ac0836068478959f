//! What an engine knows of a switch and notes of packets, groups and buckets: the part of the wall
//! between the pipeline and the engine that the pipeline calls.

use alloc::{boxed::Box, collections::BTreeMap};
use core::fmt::Debug;
use core::hash::Hash;

use bofuss_oflib::message::group_mod::GroupType;
#[cfg(feature = "replicas")]
use bofuss_oflib::types::MeterId;
use bofuss_oflib::types::{GroupId, TableId};
use bofuss_oflib::{Action, Catalogue, FieldSet, PortNo};

use crate::groups::Group;
#[cfg(feature = "replicas")]
use crate::meters::Meter;
use crate::pipeline::hook_call::{BegunCall, HookCall};
use crate::tables::classifier::Classifier;
use crate::{Config, DropReason, Engine, EntryKey, HookEffect, Port, Table, Time};

/// The state of an engine and its notes. All calls but the first two and those for groups may do
/// nothing, which is their default.
pub trait EngineNotes: Copy + Debug + Eq + Hash + 'static {
    /// Its state for one switch.
    type State: Debug;
    /// Its notes of a packet on its path.
    type PathNotes: Clone + Debug + Default;
    /// Its notes of a bucket.
    type BucketNotes: Clone + Debug;
    /// Its notes of a group.
    type GroupNotes: Clone + Debug;

    /// Makes the state of a switch without entries.
    fn new(config: &Config) -> Self::State;

    /// Makes the classifier of a table; `secret` is that of all hashes.
    fn classifier(engine: Engine, secret: u64) -> Box<dyn Classifier>;

    /// Returns true if a packet has at most one copy, as far as is noted.
    fn copies_once(_: &Self::State, _: &Self::PathNotes) -> bool {
        false
    }

    /// Returns true if hooks have prepared the packet for the lookup in its table.
    fn take_prepared(_: &mut Self::PathNotes) -> bool {
        false
    }

    /// Returns true if hooks have had the packet looked up again in its table.
    fn take_looked_up_again(_: &mut Self::PathNotes) -> bool {
        false
    }

    /// Returns what is already done of the next call of a hook on the packet's path.
    fn begun_call(_: &mut Self::PathNotes) -> BegunCall {
        BegunCall::Nothing
    }

    /// Notes the call of a hook for an action with this effect.
    fn note_action(_: &mut Self::PathNotes, _: &HookCall, _: impl FnOnce() -> HookEffect) {}

    /// Notes that the result of an action depends on fields of the packet.
    fn note_read(_: &mut Self::PathNotes, _: FieldSet) {}

    /// Notes that a meter may have changed the packet.
    fn note_remark(_: &mut Self::PathNotes) {}

    /// Returns what it notes of a bucket with these actions, which are in the order of execution.
    fn bucket_notes(actions: &[Action]) -> Self::BucketNotes;

    /// Returns what it notes of a group whose buckets have these notes.
    fn group_notes<'a>(
        ty: GroupType,
        buckets: impl ExactSizeIterator<Item = &'a Self::BucketNotes>,
    ) -> Self::GroupNotes
    where
        Self::BucketNotes: 'a;

    /// Called after an entry was added.
    fn entry_added(_: &mut Self::State, _: &Catalogue, _: &mut [Table], _: TableId, _: EntryKey) {}

    /// Called after an entry was added that packets do not see yet.
    fn entry_staged(_: &mut Self::State, _: &Catalogue, _: &mut [Table], _: TableId, _: EntryKey) {}

    /// Called before an entry is removed or gets other instructions.
    fn entry_gone(_: &mut Self::State, _: &mut [Table], _: TableId, _: EntryKey) {}

    /// Called after any entries may have changed.
    fn all_changed(_: &mut Self::State) {}

    /// Called after the tables may lead packets elsewhere although no entry has changed.
    fn forget_all(_: &mut Self::State, _: &Catalogue, _: &mut [Table]) {}

    /// Called after other tables, whose entries read these fields, have taken the place of the
    /// former ones.
    fn replace_tables(_: &mut Self::State, _: &Catalogue, _: &mut [Table], _: FieldSet) {}

    /// Adds what it has counted to the counters of entries and tables.
    fn settle(_: &mut Self::State, _: &mut [Table]) {}

    /// Returns true if [`Self::settle`] has anything to add.
    fn is_unsettled(_: &Self::State) -> bool {
        false
    }

    /// Adds what was counted outside the switch to the counters of ports, and of drops by reason.
    fn settle_ports(
        _: &mut Self::State,
        _: &mut BTreeMap<PortNo, Port>,
        _: &mut [u64; DropReason::ALL.len()],
    ) {
    }

    /// Adds what was counted outside the switch to the counters of groups.
    fn settle_groups(_: &mut Self::State, _: &mut BTreeMap<GroupId, GroupOf<Self>>) {}

    /// Adds what was counted outside the switch to the counters of meters.
    #[cfg(feature = "replicas")]
    fn settle_meters(_: &mut Self::State, _: &mut BTreeMap<MeterId, Meter>) {}

    /// Called before groups change.
    fn groups_change(_: &mut Self::State, _: &mut BTreeMap<GroupId, GroupOf<Self>>) {}

    /// The time when [`Self::clean`] has to be called next.
    fn next_clean(_: &Self::State) -> Option<Time> {
        None
    }

    /// Frees a part of what is not needed any more.
    fn clean(_: &mut Self::State, _: &Catalogue, _: &mut [Table], _: Time) {}
}

/// A group with what the engine notes of it.
pub type GroupOf<E> = Group<<E as EngineNotes>::BucketNotes, <E as EngineNotes>::GroupNotes>;
