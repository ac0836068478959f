//! Groups and meters of a bundle: a copy of all of them, which the bundle changes and packets get
//! with its commit.

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
use crate::groups::{Group, actions_of};
use crate::meters::Meter;
use crate::pipeline::context::Pipeline;
use crate::references::count;
use crate::{Datapath, Sink, Time};

/// Groups and meters that one slice copies, or ends; a group with many buckets counts as more.
const GROUPS_PER_SLICE: usize = 32;
/// Buckets of a group that count as one more.
const BUCKETS_PER_GROUP: usize = 4;

/// Groups and meters: while the bundle is prepared those after it, and the live ones while it is
/// worked on; when packets see it, those before it.
pub(crate) struct StagedGroups {
    groups: BTreeMap<GroupId, Group>,
    n_buckets: usize,
    meters: BTreeMap<MeterId, Meter>,
    /// Where the copy goes on; past all numbers if it is complete.
    next_group: GroupId,
    next_meter: MeterId,
    /// Whether a port came, went or changed since it began.
    ports_changed: bool,
    /// What the bundle adds, modifies and deletes. What was deleted does not come back with its
    /// counters.
    changed_groups: BTreeSet<GroupId>,
    /// Those of them whose buckets are other ones.
    renewed_groups: BTreeSet<GroupId>,
    deleted_groups: BTreeSet<GroupId>,
    changed_meters: BTreeSet<MeterId>,
    deleted_meters: BTreeSet<MeterId>,
}

impl StagedGroups {
    /// An empty copy of what there is.
    pub(crate) fn new(pipeline: &Pipeline) -> Self {
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
            changed_meters: BTreeSet::new(),
            deleted_meters: BTreeSet::new(),
        }
    }

    /// Copies the next groups and meters; their counters begin at 0. Returns true if there were
    /// any.
    fn copy_some(&mut self, pipeline: &mut Pipeline) -> bool {
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

    /// Exchanges what packets see and what the bundle makes.
    pub(crate) fn swap(&mut self, pipeline: &mut Pipeline) {
        core::mem::swap(&mut self.groups, &mut pipeline.groups);
        core::mem::swap(&mut self.n_buckets, &mut pipeline.n_buckets);
        core::mem::swap(&mut self.meters, &mut pipeline.meters);
    }

    /// Gives packets what the bundle made. What happened meanwhile follows with
    /// [`Self::end_some`].
    pub(crate) fn commit(&mut self, pipeline: &mut Pipeline) {
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

    /// Ends the next groups and meters: if packets see the bundle, what those before it counted
    /// goes over to those after it, else those of the bundle are forgotten. Returns true if that
    /// were all.
    pub(crate) fn end_some(&mut self, pipeline: &mut Pipeline, is_seen: bool) -> bool {
        for _ in 0..GROUPS_PER_SLICE {
            if let Some((id, group)) = self.groups.pop_first() {
                pipeline.field_uses.actions(actions_of(&group.plans), false);
                if is_seen && !self.deleted_groups.contains(&id) {
                    self.add_counts(&group, pipeline.groups.get_mut(&id), id);
                }
            } else if let Some((id, meter)) = self.meters.pop_first() {
                let after = pipeline.meters.get_mut(&id);
                if let Some(after) = after.filter(|_| is_seen && !self.deleted_meters.contains(&id))
                {
                    let is_changed = self.changed_meters.contains(&id);
                    after.take_over(meter, is_changed);
                }
            } else {
                return true;
            }
        }
        false
    }

    /// Adds what a group counted to the one after it, if there is one.
    fn add_counts(&self, before: &Group, after: Option<&mut Group>, id: GroupId) {
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

impl Datapath {
    /// Goes on with the copy of groups and meters that a bundle is to change, by one slice. Returns
    /// true if there was something to copy: the bundle's changes have to wait.
    pub fn copy_groups(&mut self) -> bool {
        let Self {
            bundle, pipeline, ..
        } = self;
        let staged = bundle.as_mut().and_then(StagedBundle::groups);
        staged.is_some_and(|staged| staged.copy_some(pipeline))
    }

    /// Looks again which groups are live: a port came, went or changed.
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
                let live = staged.groups.keys().copied();
                staged.deleted_groups.extend(live);
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
                let live = staged.meters.keys().copied();
                staged.deleted_meters.extend(live);
            } else {
                staged.deleted_meters.insert(id);
            }
        }
        self.meter_mod(now, meter_mod, sink)
    }
}
