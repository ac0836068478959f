//! Groups and meters of a bundle: a copy of all of them, which the bundle changes and packets get
//! with its commit.

use alloc::collections::{BTreeMap, BTreeSet};

use bofuss_oflib::ErrorCode;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::{GroupMod, MeterMod};
use bofuss_oflib::types::{GroupId, MeterId};

use crate::groups::{Group, actions_of};
use crate::meters::Meter;
use crate::pipeline::context::Pipeline;
use crate::{Datapath, Sink, Time};

/// Groups and meters: while the bundle is prepared those after it, and the live ones while it is
/// worked on.
pub(crate) struct StagedGroups {
    groups: BTreeMap<GroupId, Group>,
    n_buckets: usize,
    meters: BTreeMap<MeterId, Meter>,
    /// What the bundle adds, modifies and deletes. What was deleted does not come back with its
    /// counters.
    changed_groups: BTreeSet<GroupId>,
    deleted_groups: BTreeSet<GroupId>,
    changed_meters: BTreeSet<MeterId>,
    deleted_meters: BTreeSet<MeterId>,
}

impl StagedGroups {
    /// A copy of what there is.
    pub(crate) fn new(pipeline: &mut Pipeline) -> Self {
        pipeline.use_fields_of_groups(true);
        Self {
            groups: pipeline.groups.clone(),
            n_buckets: pipeline.n_buckets,
            meters: pipeline.meters.clone(),
            changed_groups: BTreeSet::new(),
            deleted_groups: BTreeSet::new(),
            changed_meters: BTreeSet::new(),
            deleted_meters: BTreeSet::new(),
        }
    }

    /// Exchanges what packets see and what the bundle makes.
    pub(crate) fn swap(&mut self, pipeline: &mut Pipeline) {
        core::mem::swap(&mut self.groups, &mut pipeline.groups);
        core::mem::swap(&mut self.n_buckets, &mut pipeline.n_buckets);
        core::mem::swap(&mut self.meters, &mut pipeline.meters);
    }

    /// Gives packets what the bundle made, with what happened meanwhile: counters, tokens, ports.
    pub(crate) fn commit(mut self, pipeline: &mut Pipeline) {
        pipeline.use_fields_of_groups(false);
        self.swap(pipeline);
        let mut open = alloc::vec::Vec::new();
        for (id, group) in &mut pipeline.groups {
            let is_changed = self.changed_groups.contains(id);
            if is_changed {
                open.push(*id);
                open.extend_from_slice(&group.watchers);
            }
            let before = self.groups.remove(id);
            let Some(before) = before.filter(|_| !self.deleted_groups.contains(id)) else {
                continue;
            };
            if is_changed {
                group.counter = before.counter;
            } else {
                *group = Group {
                    flows: group.flows,
                    forwarders: core::mem::take(&mut group.forwarders),
                    watchers: core::mem::take(&mut group.watchers),
                    ..before
                };
            }
        }
        for (id, meter) in &mut pipeline.meters {
            let before = self.meters.remove(id);
            let Some(before) = before.filter(|_| !self.deleted_meters.contains(id)) else {
                continue;
            };
            if self.changed_meters.contains(id) {
                meter.stats.input = before.stats.input;
            } else {
                let flow_count = meter.stats.flow_count;
                *meter = before;
                meter.stats.flow_count = flow_count;
            }
        }
        pipeline.refresh_groups(open);
    }

    /// Forgets what the bundle made.
    pub(crate) fn undo(mut self, pipeline: &mut Pipeline) {
        self.swap(pipeline);
        pipeline.use_fields_of_groups(false);
        self.swap(pipeline);
    }
}

impl Pipeline {
    /// Counts the fields that the buckets of all groups use once more, or once less.
    fn use_fields_of_groups(&mut self, used: bool) {
        for group in self.groups.values() {
            self.field_uses.actions(actions_of(&group.plans), used);
        }
    }
}

impl Datapath {
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
