//! Groups and meters of a bundle: a copy of all of them, which the bundle changes and which
//! replaces the live ones at the commit.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{vec, vec::Vec};

use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::multipart::group::BucketCounter;
use bofuss_oflib::message::{GroupMod, MeterMod};
use bofuss_oflib::types::{GroupId, MeterId};
use bofuss_oflib::{ErrorCode, PortNo};

use crate::control::bucket_change::is_about_buckets;
use crate::control::bundle::StagedBundle;
use crate::frame_engine::{FrameEngine, GroupOf};
use crate::groups::{Group, actions_of};
use crate::meters::Meter;
use crate::pipeline::context::Pipeline;
use crate::references::count;
use crate::{Datapath, Sink, Time};

/// How many groups and meters one slice copies or ends; a group with many buckets counts as
/// several.
const GROUPS_PER_SLICE: usize = 32;
/// A group counts as one more for each of so many buckets.
const BUCKETS_PER_GROUP: usize = 4;

/// The second set of groups and meters. During the preparation it is the bundle's, and the live
/// ones while a slice works on the bundle's; after the commit it is the one from before the bundle.
pub(crate) struct StagedGroups<E: FrameEngine> {
    groups: BTreeMap<GroupId, GroupOf<E>>,
    n_buckets: usize,
    meters: BTreeMap<MeterId, Meter>,
    /// The next id to copy; above all ids if the copy is complete.
    next_group: GroupId,
    next_meter: MeterId,
    /// Whether a port was added, removed or changed since it began.
    ports_changed: bool,
    /// The groups that the bundle adds, modifies and deletes. One that is deleted and added again
    /// begins with new counters.
    changed_groups: BTreeSet<GroupId>,
    /// Those of them that have other buckets.
    renewed_groups: BTreeSet<GroupId>,
    deleted_groups: BTreeSet<GroupId>,
    /// Whether it deletes all groups that there were.
    deletes_groups: bool,
    changed_meters: BTreeSet<MeterId>,
    deleted_meters: BTreeSet<MeterId>,
    /// Whether it deletes all ordinary meters that there were.
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
            ports_changed: false,
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
    fn copy_some(&mut self, pipeline: &mut Pipeline<E>) -> bool {
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
            field_uses.actions(actions_of(&group.plans), true);
            let copy = Group {
                counter: BucketCounter::default(),
                bucket_counters: vec![BucketCounter::default(); group.plans.len()],
                ..group.clone()
            };
            self.groups.insert(*id, copy);
        }
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
    pub(crate) fn swap(&mut self, pipeline: &mut Pipeline<E>) {
        core::mem::swap(&mut self.groups, &mut pipeline.groups);
        core::mem::swap(&mut self.n_buckets, &mut pipeline.n_buckets);
        core::mem::swap(&mut self.meters, &mut pipeline.meters);
    }

    /// Makes the bundle's groups and meters the live ones. [`Self::end_some`] adds what was counted
    /// since the copy.
    pub(crate) fn commit(&mut self, pipeline: &mut Pipeline<E>) {
        self.swap(pipeline);
        let mut open = Vec::new();
        if self.ports_changed {
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
        add(&mut after.counter, &before.counter);
        if self.renewed_groups.contains(&id) {
            return;
        }
        let counters = &mut after.bucket_counters;
        if !self.changed_groups.contains(&id) {
            for (counter, before) in counters.iter_mut().zip(&before.bucket_counters) {
                add(counter, before);
            }
            return;
        }
        let places = before.places_among(after.plans.iter().map(|plan| &plan.bucket));
        for (place, before) in places.iter().zip(&before.bucket_counters) {
            if let Some(place) = place {
                add(&mut counters[usize::from(*place)], before);
            }
        }
    }
}

/// Adds a counter to another.
fn add(counter: &mut BucketCounter, other: &BucketCounter) {
    count(counter, (other.packet_count, other.byte_count));
}

impl<E: FrameEngine> Datapath<E> {
    /// Does one slice of the copy of groups and meters for a bundle. Returns true if there was
    /// something to copy; the bundle's changes then have to wait.
    pub fn copy_groups(&mut self) -> bool {
        let Self {
            bundle, pipeline, ..
        } = self;
        let staged = bundle.as_mut().and_then(StagedBundle::groups);
        staged.is_some_and(|staged| staged.copy_some(pipeline))
    }

    /// The groups that reads show: while a bundle is in progress, those before it.
    pub(crate) fn read_groups(&self) -> &BTreeMap<GroupId, GroupOf<E>> {
        let unseen = self.groups_before_commit();
        unseen.map_or(&self.pipeline.groups, |staged| &staged.groups)
    }

    /// The meters that reads show: while a bundle is in progress, those before it.
    pub(crate) fn read_meters(&self) -> &BTreeMap<MeterId, Meter> {
        let unseen = self.groups_before_commit();
        unseen.map_or(&self.pipeline.meters, |staged| &staged.meters)
    }

    /// The groups and meters before the commit of a bundle that is being settled.
    fn groups_before_commit(&self) -> Option<&StagedGroups<E>> {
        let bundle = self.bundle.as_ref()?;
        bundle.is_settling().then_some(bundle.groups.as_deref())?
    }

    /// Determines anew which groups are live, after a port was added, removed or changed.
    pub(crate) fn port_liveness_changed(&mut self, port: PortNo) {
        self.pipeline.port_liveness_changed(port);
        if let Some(staged) = self.staged_groups() {
            staged.ports_changed = true;
        }
    }

    /// [`Datapath::group_mod`] in a bundle.
    ///
    /// Errors: as there.
    pub fn stage_group_mod<S: Sink>(
        &mut self,
        now: Time,
        group_mod: &GroupMod,
        sink: &mut S,
    ) -> Result<(), ErrorCode> {
        let id = group_mod.group_id;
        if let Some(staged) = self.staged_groups() {
            if group_mod.command != GroupModCommand::DELETE {
                staged.changed_groups.insert(id);
                if !is_about_buckets(group_mod.command) {
                    staged.renewed_groups.insert(id);
                }
            } else if id == GroupId::ALL {
                staged.deletes_groups = true;
            } else {
                staged.deleted_groups.insert(id);
            }
        }
        self.group_mod(now, group_mod, sink)
    }

    /// [`Datapath::meter_mod`] in a bundle.
    ///
    /// Errors: as there.
    pub fn stage_meter_mod<S: Sink>(
        &mut self,
        now: Time,
        meter_mod: &MeterMod,
        sink: &mut S,
    ) -> Result<(), ErrorCode> {
        let id = meter_mod.meter_id;
        if let Some(staged) = self.staged_groups() {
            if meter_mod.command != MeterModCommand::DELETE {
                staged.changed_meters.insert(id);
            } else if id == MeterId::ALL {
                staged.deletes_meters = true;
            } else {
                staged.deleted_meters.insert(id);
            }
        }
        self.meter_mod(now, meter_mod, sink)
    }
}
