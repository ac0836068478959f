//! Groups and meters of a bundle: a copy of all of them, which the bundle changes and which
//! replaces the live ones at the commit.
//!
//! Groups refer to each other, so a bundle cannot stage single ones as it does entries. Copying all
//! costs time in proportion to their number, which is done in slices before the bundle's first
//! message; a bundle without messages for groups and meters has no copy.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{vec, vec::Vec};

use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::multipart::group::BucketCounter;
use bofuss_oflib::message::{GroupMod, MeterMod};
use bofuss_oflib::types::{GroupId, MeterId};

use crate::control::bucket_change::is_about_buckets;
use crate::engine_notes::GroupOf;
use crate::frame_engine::FrameEngine;
use crate::groups::{Group, actions_of};
use crate::meters::Meter;
use crate::pipeline::context::Pipeline;
use crate::references::add;

/// The number of groups and meters that one slice copies or ends; a group with many buckets counts
/// as several.
const GROUPS_PER_SLICE: usize = 32;
/// A group counts as one more for each of so many buckets.
const BUCKETS_PER_GROUP: usize = 4;

/// The second set of groups and meters. During the preparation it is the bundle's, and the live
/// ones while a slice works on the bundle's; after the commit it is the one from before the bundle.
pub(crate) struct StagedGroups<E: FrameEngine> {
    pub(crate) groups: BTreeMap<GroupId, GroupOf<E>>,
    n_buckets: usize,
    pub(crate) meters: BTreeMap<MeterId, Meter>,
    /// The next id to copy; above all ids if the copy is complete.
    next_group: GroupId,
    next_meter: MeterId,
    /// [`Pipeline::port_changes`] when it began.
    port_changes: u64,
    /// The groups that the bundle adds, modifies and deletes. One that is deleted and added again
    /// begins with new counters.
    changed_groups: BTreeSet<GroupId>,
    /// Those of them that have other buckets.
    renewed_groups: BTreeSet<GroupId>,
    deleted_groups: BTreeSet<GroupId>,
    /// True if it deletes all groups that there were.
    deletes_groups: bool,
    changed_meters: BTreeSet<MeterId>,
    deleted_meters: BTreeSet<MeterId>,
    /// True if it deletes all ordinary meters that there were.
    deletes_meters: bool,
}

impl<E: FrameEngine> StagedGroups<E> {
    /// A copy that has nothing copied yet.
    pub(crate) fn new(pipeline: &Pipeline<E>) -> Self {
        Self {
            groups: BTreeMap::new(),
            n_buckets: pipeline.n_buckets,
            meters: BTreeMap::new(),
            next_group: GroupId(0),
            next_meter: MeterId(0),
            port_changes: pipeline.port_changes,
            changed_groups: BTreeSet::new(),
            renewed_groups: BTreeSet::new(),
            deleted_groups: BTreeSet::new(),
            deletes_groups: false,
            changed_meters: BTreeSet::new(),
            deleted_meters: BTreeSet::new(),
            deletes_meters: false,
        }
    }

    /// Copies the next groups and meters, with counters at 0. Returns true if there were any.
    ///
    /// Meanwhile, only packets, ports and expiring entries change the live ones. The copy's
    /// counters begin at 0, [`Self::commit`] looks at ports that have changed, and an entry that
    /// expires is taken from both.
    pub(crate) fn copy_some(&mut self, pipeline: &mut Pipeline<E>) -> bool {
        let Pipeline {
            groups,
            meters,
            field_uses,
            ..
        } = pipeline;
        let mut left = GROUPS_PER_SLICE;
        for (id, group) in groups.range(self.next_group..) {
            self.next_group = *id;
            if left == 0 {
                return true;
            }
            left = left.saturating_sub(1 + group.plans.len() / BUCKETS_PER_GROUP);
            // Both sets count as in use until one of them is freed.
            field_uses.actions(actions_of(&group.plans), true);
            // The buckets' lists are shared with the live group until one of them changes.
            let copy = Group {
                counter: BucketCounter::default(),
                bucket_counters: vec![BucketCounter::default(); group.plans.len()],
                ..group.clone()
            };
            self.groups.insert(*id, copy);
        }
        // Above all ids of groups, so that the next slice goes on with the meters.
        self.next_group = GroupId::ANY;
        for (id, meter) in meters.range(self.next_meter..) {
            self.next_meter = *id;
            if left == 0 {
                return true;
            }
            left -= 1;
            self.meters.insert(*id, meter.uncounted());
        }
        self.next_meter = MeterId::ALL;
        left < GROUPS_PER_SLICE
    }

    /// Exchanges what packets see and what the bundle changes.
    ///
    /// `field_uses` stays: it counts both sets.
    pub(crate) fn swap(&mut self, pipeline: &mut Pipeline<E>) {
        core::mem::swap(&mut self.groups, &mut pipeline.groups);
        core::mem::swap(&mut self.n_buckets, &mut pipeline.n_buckets);
        core::mem::swap(&mut self.meters, &mut pipeline.meters);
    }

    /// Notes a change of groups that the bundle is about to make.
    ///
    /// This decides at the commit which counters go on. A message that fails undoes the whole
    /// bundle, so it does not matter that it was noted.
    pub(crate) fn note_group_mod(&mut self, group_mod: &GroupMod) {
        let id = group_mod.group_id;
        if group_mod.command != GroupModCommand::DELETE {
            self.changed_groups.insert(id);
            if !is_about_buckets(group_mod.command) {
                self.renewed_groups.insert(id);
            }
        } else if id == GroupId::ALL {
            self.deletes_groups = true;
        } else {
            self.deleted_groups.insert(id);
        }
    }

    /// Notes a change of meters that the bundle is about to make.
    pub(crate) fn note_meter_mod(&mut self, meter_mod: &MeterMod) {
        let id = meter_mod.meter_id;
        if meter_mod.command != MeterModCommand::DELETE {
            self.changed_meters.insert(id);
        } else if id == MeterId::ALL {
            self.deletes_meters = true;
        } else {
            self.deleted_meters.insert(id);
        }
    }

    /// Makes the bundle's groups and meters the live ones. [`Self::end_some`] adds what was counted
    /// since the copy.
    pub(crate) fn commit(&mut self, pipeline: &mut Pipeline<E>) {
        self.swap(pipeline);
        let mut open = Vec::new();
        // A port may have gone up or down during the preparation, which the copy does not know.
        if self.port_changes != pipeline.port_changes {
            open.extend(pipeline.groups.keys());
        }
        for id in &self.changed_groups {
            if let Some(group) = pipeline.groups.get(id) {
                open.push(*id);
                open.extend_from_slice(&group.watchers);
            }
        }
        pipeline.refresh_groups(open);
    }

    /// Ends the next groups and meters: after a commit, adds the counts of the old ones to the new
    /// ones; after an undo, frees those of the bundle. Returns true if that were all.
    pub(crate) fn end_some(&mut self, pipeline: &mut Pipeline<E>, is_seen: bool) -> bool {
        for _ in 0..GROUPS_PER_SLICE {
            if let Some((id, group)) = self.groups.pop_first() {
                pipeline.field_uses.actions(actions_of(&group.plans), false);
                // A group that was deleted and added again is another group under the same number.
                let is_deleted = self.deletes_groups || self.deleted_groups.contains(&id);
                if is_seen && !is_deleted {
                    self.add_counts(&group, pipeline.groups.get_mut(&id), id);
                }
            } else if let Some((id, meter)) = self.meters.pop_first() {
                let after = pipeline.meters.get_mut(&id);
                let is_deleted =
                    self.deletes_meters && id <= MeterId::MAX || self.deleted_meters.contains(&id);
                if let Some(after) = after.filter(|_| is_seen && !is_deleted) {
                    let is_changed = self.changed_meters.contains(&id);
                    after.take_over(meter, is_changed);
                }
            } else {
                return true;
            }
        }
        false
    }

    /// Adds the counts of an old group to the new one with the same id, if there is one.
    fn add_counts(&self, before: &GroupOf<E>, after: Option<&mut GroupOf<E>>, id: GroupId) {
        let Some(after) = after else {
            return;
        };
        add(&mut after.counter, before.counter);
        // Section 6.5 of 1.3.5: a modify begins bucket counters anew.
        if self.renewed_groups.contains(&id) {
            return;
        }
        let counters = &mut after.bucket_counters;
        if !self.changed_groups.contains(&id) {
            for (counter, before) in counters.iter_mut().zip(&before.bucket_counters) {
                add(counter, *before);
            }
            return;
        }
        // Buckets that stay are found by their ids, as their places may have changed.
        let places = before.places_among(after.plans.iter().map(|plan| &plan.bucket));
        for (place, before) in places.iter().zip(&before.bucket_counters) {
            if let Some(place) = place {
                add(&mut counters[usize::from(*place)], *before);
            }
        }
    }
}
