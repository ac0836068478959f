//! Groups: group-mods, liveness of buckets, and statistics. Spec: OpenFlow 1.3.5 sections 5.6, 6.5
//! and 7.3.4.2.

use alloc::{collections::BTreeMap, collections::BTreeSet, rc::Rc, vec, vec::Vec};
use core::ops::RangeInclusive;

use bofuss_oflib::action::ACTIONS;
use bofuss_oflib::error::{BadAction, BadProperty, GroupModFailed};
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::group_mod::{Bucket, GroupModCommand, GroupType};
use bofuss_oflib::message::multipart::group::{BucketCounter, GroupCapabilities, GroupCounters};
use bofuss_oflib::message::multipart::{GroupDesc, GroupFeatures, GroupStats};
use bofuss_oflib::message::port::PortState;
use bofuss_oflib::message::{FlowRemovedReason, GroupMod};
use bofuss_oflib::types::{GroupId, MeterId, TableId};
use bofuss_oflib::{Action, ErrorCode, PortNo};

use crate::control::Control;
use crate::control::bucket_change::{check_numbers, is_about_buckets};
use crate::control::bulk_change::{BulkChange, EntryChange};
use crate::control::changes::Changes;
use crate::control::check::Checker;
use crate::engine_notes::GroupOf;
use crate::frame_engine::FrameEngine;
use crate::groups::select::Selector;
use crate::groups::{Group, Plan, actions_of, places, watches};
use crate::pipeline::context::Pipeline;
use crate::references::{count_use, groups, meters};
use crate::{Entry, Label, Sink, Time};

/// The groups as reads show them: while a bundle is in progress, those before it.
pub struct GroupsView<'a, E: FrameEngine> {
    groups: &'a BTreeMap<GroupId, GroupOf<E>>,
    max_groups: u32,
}

impl<'a, E: FrameEngine> GroupsView<'a, E> {
    pub(crate) fn new(pipeline: &'a Pipeline<E>, changes: &'a Changes<E>) -> Self {
        let before = changes.groups_before();
        Self {
            groups: before.map_or(&pipeline.groups, |before| &before.groups),
            max_groups: pipeline.config.max_groups,
        }
    }

    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.groups.len()
    }

    /// The statistics of the groups with these numbers.
    pub fn stats(
        &self,
        now: Time,
        ids: RangeInclusive<GroupId>,
    ) -> impl Iterator<Item = GroupStats> + use<'a, E> {
        let groups = self.groups.range(ids);
        groups.map(move |(id, group)| {
            let (duration_sec, duration_nsec) = now.duration(group.created);
            GroupStats(GroupCounters {
                group_id: *id,
                // Groups that only watch the group do not forward to it, so the text does not count
                // them.
                ref_count: group.flows + group.forwarders.len() as u32,
                packet_count: group.counter.packet_count,
                byte_count: group.counter.byte_count,
                duration_sec,
                duration_nsec,
                bucket_stats: group.bucket_counters.clone(),
            })
        })
    }

    /// The descriptions of the groups with these numbers.
    pub fn descs(
        &self,
        ids: RangeInclusive<GroupId>,
    ) -> impl Iterator<Item = GroupDesc> + use<'a, E> {
        let groups = self.groups.range(ids);
        groups.map(|(id, group)| GroupDesc {
            ty: group.ty,
            group_id: *id,
            buckets: group.plans.iter().map(|p| p.bucket.clone()).collect(),
            experimenters: Vec::new(),
        })
    }

    /// The features of groups: all four types, with every action.
    ///
    /// A type of an experimenter's action has no bit in the bitmap, so it is left out. The limits
    /// are of the switch as a whole, and each type may use all of them.
    pub fn features(&self) -> GroupFeatures {
        let mut actions = 0;
        for row in ACTIONS {
            // Buckets cannot have the action METER.
            if row.name != "meter" {
                actions |= 1_u32.checked_shl(row.number.into()).unwrap_or(0);
            }
        }
        GroupFeatures {
            types: GroupType::NAMES.iter().map(|(ty, _)| 1 << ty.0).sum(),
            capabilities: GroupCapabilities::ALL,
            max_groups: [self.max_groups; 4],
            actions: [actions; 4],
        }
    }
}

impl<S: Sink, E: FrameEngine> Control<'_, S, E> {
    /// Executes a group-mod, or changes nothing.
    ///
    /// In a bundle that is prepared, the groups of the pipeline are the bundle's own at this
    /// moment: see [`BundleControl::swap_groups`](crate::BundleControl::swap_groups).
    ///
    /// Errors: GROUP_MOD_FAILED with any code but CHAINING_UNSUPPORTED, WEIGHT_UNSUPPORTED,
    /// BAD_TYPE and EPERM; or an error of an action in a bucket.
    pub fn group_mod(&mut self, group_mod: &GroupMod) -> Result<(), ErrorCode> {
        let id = group_mod.group_id;
        // Packets may have been counted by the engine for buckets that go now, so it is told first.
        match self.changes.prepared_groups() {
            Some(groups) => groups.note_group_mod(group_mod),
            None => E::groups_change(&mut self.cx.lane.engine, &mut self.cx.pipeline.groups),
        }
        let exists = self.cx.pipeline.groups.contains_key(&id);
        match group_mod.command {
            GroupModCommand::ADD if exists => return Err(GroupModFailed::GROUP_EXISTS),
            GroupModCommand::MODIFY if !exists => return Err(GroupModFailed::UNKNOWN_GROUP),
            GroupModCommand::ADD | GroupModCommand::MODIFY | GroupModCommand::ADD_OR_MOD => {
                check_group(&self.checker(), group_mod)?;
                self.cx.pipeline.put_group(self.cx.now, group_mod);
            }
            // A group that does not exist is no error for a delete: section 6.5.
            GroupModCommand::DELETE => return self.delete_group(id),
            command if is_about_buckets(command) => {
                let group = self.cx.pipeline.groups.get(&id);
                let group = group.ok_or(GroupModFailed::UNKNOWN_GROUP)?;
                let changed = group.with_buckets(group_mod)?;
                check_group(&self.checker(), &changed)?;
                self.cx.pipeline.put_group(self.cx.now, &changed);
            }
            _ => return Err(GroupModFailed::BAD_COMMAND),
        }
        Ok(())
    }

    /// Deletes a group, or all, and the entries that forward to it. Until a slice removes these,
    /// their packets are dropped with NoGroup.
    ///
    /// Choice: a group that another group forwards to or watches stays, with
    /// GROUP_MOD_FAILED/CHAINED_GROUP. With ALL, there is no other group left that could.
    fn delete_group(&mut self, id: GroupId) -> Result<(), ErrorCode> {
        // The number of entries that use the groups; for all groups, a sum would take too long.
        let flows = if id == GroupId::ALL {
            self.changes.deleted.begin_groups(self.cx.pipeline);
            u32::MAX
        } else {
            match self.cx.pipeline.groups.get(&id) {
                None => return Ok(()),
                Some(group) if !group.forwarders.is_empty() || !group.watchers.is_empty() => {
                    return Err(GroupModFailed::CHAINED_GROUP);
                }
                Some(_) => {
                    let gone = self.cx.pipeline.unlink_group(id);
                    gone.map_or(0, |group| group.flows)
                }
            }
        };
        if flows > 0 {
            let gone = EntryChange::Delete(FlowRemovedReason::GROUP_DELETE, true);
            // The index finds the entries of one group, so that a large table need not be searched
            // for them.
            let label = (id != GroupId::ALL).then_some(Label::Group(id));
            let bulk = BulkChange::new(TableId::ALL, move |e| forwards_to(e, id), gone).of(label);
            return self.begin_bulk_change(bulk);
        }
        Ok(())
    }
}

/// Errors: why a group cannot be as requested.
///
/// The order of checks decides which error a request with several faults gets. Limits come near the
/// end, so that a request that could never be carried out is not blamed on them; the search for
/// loops is last, because it may visit all groups.
fn check_group(
    checker: &Checker<'_, impl FrameEngine>,
    group_mod: &GroupMod,
) -> Result<(), ErrorCode> {
    let pipeline = checker.pipeline;
    let id = group_mod.group_id;
    let ty = group_mod.ty;
    let buckets = &group_mod.buckets;
    if id > GroupId::MAX || (ty == GroupType::INDIRECT && buckets.len() != 1) {
        return Err(GroupModFailed::INVALID_GROUP);
    }
    if has_experimenters(group_mod) {
        return Err(BadProperty::BAD_EXPERIMENTER);
    }
    check_numbers(buckets)?;
    for bucket in buckets {
        // Section 6.5: a field that the group's type does not define makes the group invalid.
        if bucket.weight > 0 && ty != GroupType::SELECT {
            return Err(GroupModFailed::INVALID_GROUP);
        }
        if ty == GroupType::FF && !watches(bucket) {
            return Err(GroupModFailed::INVALID_GROUP);
        }
        if (ty == GroupType::ALL || ty == GroupType::INDIRECT) && watches(bucket) {
            return Err(GroupModFailed::WATCH_UNSUPPORTED);
        }
        // A loop of one group; longer ones are found below, once the targets are known to exist.
        if bucket.watch_group == id || groups(bucket.actions.iter()).any(|target| target == id) {
            return Err(GroupModFailed::LOOP);
        }
        let port = bucket.watch_port;
        if port != PortNo::ANY && !pipeline.ports.contains_key(&port) {
            return Err(GroupModFailed::BAD_WATCH);
        }
        let group = bucket.watch_group;
        if group != GroupId::ANY && !pipeline.groups.contains_key(&group) {
            return Err(GroupModFailed::BAD_WATCH);
        }
        for action in &bucket.actions {
            // Only a packet-out may send to TABLE; its rule must not reach a group that it uses.
            if matches!(action, Action::Output(output) if output.port == PortNo::TABLE) {
                return Err(BadAction::BAD_OUT_PORT);
            }
        }
        // Choice: buckets cannot have the action METER.
        if bucket.actions.iter().any(|a| matches!(a, Action::Meter(_))) {
            return Err(BadAction::BAD_METER);
        }
        // Nothing is known of the packets of a group, since entries of any match may use it.
        checker.actions(TableId(0), None, &bucket.actions)?;
    }
    let old = pipeline.groups.get(&id).map(Group::places);
    if old.is_none() && pipeline.groups.len() >= pipeline.config.max_groups as usize {
        return Err(GroupModFailed::OUT_OF_GROUPS);
    }
    // A group that is replaced gives its own buckets back.
    let others = pipeline.n_buckets - old.unwrap_or(0);
    if others + places(buckets.iter()) > pipeline.config.max_buckets as usize {
        return Err(GroupModFailed::OUT_OF_BUCKETS);
    }
    let ends = !pipeline.reaches(buckets, id);
    ends.then_some(()).ok_or(GroupModFailed::LOOP)
}

/// Returns true if a group-mod has experimenter properties, of the group or of a bucket.
fn has_experimenters(group_mod: &GroupMod) -> bool {
    let mut of_buckets = group_mod.buckets.iter().map(|one| &one.experimenters);
    !group_mod.experimenters.is_empty() || of_buckets.any(|list| !list.is_empty())
}

impl<E: FrameEngine> Pipeline<E> {
    /// Returns true if a chain of group actions or watched groups leads from these buckets to the
    /// group `goal`.
    ///
    /// Only a group that exists can be reached: others refer to existing groups alone. The list of
    /// open groups is on the heap and not on the stack, since chains may be long.
    fn reaches(&self, buckets: &[Bucket], goal: GroupId) -> bool {
        if !self.groups.contains_key(&goal) {
            return false;
        }
        let mut open = Vec::new();
        for bucket in buckets {
            open.extend(groups(bucket.actions.iter()));
            open.push(bucket.watch_group);
        }
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop() {
            if id == goal {
                return true;
            }
            if let (true, Some(group)) = (seen.insert(id), self.groups.get(&id)) {
                open.extend(group.targets().chain(group.watched()));
            }
        }
        false
    }

    /// Adds a group, or replaces that with its number.
    ///
    /// Restores that each group that is forwarded to or watched lists its users, that `n_buckets`
    /// and `field_uses` count the group's buckets, and that the liveness of the group and of those
    /// that watch it is right.
    ///
    /// Spec: OpenFlow 1.3.5 section 6.5. The group's own counters and its age continue, and bucket
    /// counters begin anew. Commands about single buckets are different: buckets that stay keep
    /// their counters and slots.
    fn put_group(&mut self, now: Time, group_mod: &GroupMod) {
        let id = group_mod.group_id;
        // The old buckets' references go first, so that what both have is not counted twice.
        let before = self.unlink_group(id);
        let buckets = &group_mod.buckets;
        let weights: Vec<u16> = buckets.iter().map(|bucket| bucket.weight).collect();
        let stay = is_about_buckets(group_mod.command);
        let mut moved = Vec::new();
        if let Some(group) = &before {
            moved = group.places_among(buckets.iter());
        }
        let selector = match (group_mod.ty, &before) {
            (GroupType::SELECT, Some(group)) if stay => group.selector.changed(&weights, &moved),
            (GroupType::SELECT, _) => {
                let old = before.as_ref().map(|group| (&group.selector, &*moved));
                Selector::new(self.config.algorithm(id), self.config.seed, &weights, old)
            }
            (_, _) => Selector::default(),
        };
        let mut bucket_counters = vec![BucketCounter::default(); buckets.len()];
        for (old, place) in moved.iter().enumerate().filter(|_| stay) {
            if let (Some(place), Some(group)) = (place, &before) {
                bucket_counters[usize::from(*place)] = group.bucket_counters[old];
            }
        }
        let plans: Rc<[Plan<E::BucketNotes>]> = buckets
            .iter()
            .map(|bucket| Plan::new(bucket, E::bucket_notes))
            .collect();
        let group = Group {
            ty: group_mod.ty,
            notes: E::group_notes(group_mod.ty, plans.iter().map(|plan| &plan.notes)),
            plans,
            selector,
            live: vec![true; buckets.len()],
            counter: before.as_ref().map(|g| g.counter).unwrap_or_default(),
            bucket_counters,
            created: before.as_ref().map_or(now, |group| group.created),
            flows: before.as_ref().map_or(0, |group| group.flows),
            forwarders: before.as_ref().map_or(Vec::new(), |g| g.forwarders.clone()),
            watchers: before.map_or(Vec::new(), |group| group.watchers),
        };
        for target in group.targets() {
            push_once(&mut self.group(target).forwarders, id);
        }
        for watched in group.watched() {
            push_once(&mut self.group(watched).watchers, id);
        }
        self.n_buckets += places(buckets.iter());
        self.field_uses.actions(actions_of(&group.plans), true);
        // The last group is looked at first: the watchers' liveness depends on that of this group.
        let mut changed = group.watchers.clone();
        changed.push(id);
        self.groups.insert(id, group);
        self.refresh_groups(changed);
    }

    /// Notes that an entry with these instructions was added or removed.
    ///
    /// Called for each entry that is in a table, also for those that a bundle adds: super-frames
    /// must fit what packets will see at the commit.
    pub(crate) fn refer(&mut self, instructions: &Instructions, refers: bool) {
        self.count_references(instructions, refers);
        self.field_uses.actions(instructions.actions(), refers);
        #[cfg(feature = "replicas")]
        for instruction in instructions.list() {
            self.field_uses.alone.instruction(instruction, refers);
        }
    }

    /// Adds or removes an entry's references to its groups and meters.
    ///
    /// An entry counts once for each group and meter, however often it names it.
    pub(crate) fn count_references(&mut self, instructions: &Instructions, refers: bool) {
        // A group or meter that is being deleted is removed before the entries that use it.
        let groups: BTreeSet<GroupId> = groups(instructions.actions()).collect();
        for id in groups {
            if let Some(group) = self.groups.get_mut(&id) {
                count_use(&mut group.flows, refers);
            }
        }
        let meters: BTreeSet<MeterId> = meters(instructions).collect();
        for id in meters {
            if let Some(meter) = self.meters.get_mut(&id) {
                count_use(&mut meter.stats.flow_count, refers);
            }
        }
    }

    /// A group that another one refers to, so it exists.
    fn group(&mut self, id: GroupId) -> &mut GroupOf<E> {
        let found = self.groups.get_mut(&id);
        found.expect("a group that is referred to is not deleted")
    }

    /// Removes a group and its references to others.
    ///
    /// Groups that refer to it keep its number, and entries keep their action. The caller puts the
    /// group back, or makes sure that nothing refers to it any more.
    fn unlink_group(&mut self, id: GroupId) -> Option<GroupOf<E>> {
        let group = self.groups.remove(&id)?;
        self.n_buckets -= group.places();
        self.field_uses.actions(actions_of(&group.plans), false);
        for target in group.targets() {
            if let Some(target) = self.groups.get_mut(&target) {
                target.forwarders.retain(|from| *from != id);
            }
        }
        for watched in group.watched() {
            if let Some(watched) = self.groups.get_mut(&watched) {
                watched.watchers.retain(|from| *from != id);
            }
        }
        Some(group)
    }

    /// Determines anew which buckets of these groups are live, and then of the groups that watch
    /// them.
    ///
    /// This ends, because watching groups have no loops: [`check_group`] refuses them. A group with
    /// unchanged liveness does not spread the change any further.
    pub(crate) fn refresh_groups(&mut self, mut open: Vec<GroupId>) {
        while let Some(id) = open.pop() {
            let Some(group) = self.groups.get(&id) else {
                continue;
            };
            let buckets = group.plans.iter().map(|plan| &plan.bucket);
            let live: Vec<bool> = buckets.map(|bucket| self.is_bucket_live(bucket)).collect();
            let group = self.group(id);
            let before = group.is_live();
            if group.ty == GroupType::SELECT && group.live != live {
                // Only a change moves slots, so that flows of live buckets stay where they are.
                group.selector.follow(&live);
            }
            group.live = live;
            if group.is_live() != before {
                open.extend_from_slice(&group.watchers);
            }
        }
    }

    /// Returns true if a bucket is live: it watches nothing, or what it watches is live.
    ///
    /// A bucket that watches a port and a group needs only one of them. Spec: OpenFlow 1.3.5
    /// section 6.5.
    fn is_bucket_live(&self, bucket: &Bucket) -> bool {
        let port = self.ports.get(&bucket.watch_port);
        let group = self.groups.get(&bucket.watch_group);
        !watches(bucket)
            || port.is_some_and(|port| port.desc.state.has(PortState::LIVE))
            || group.is_some_and(Group::is_live)
    }

    /// Determines anew which groups are live, after a port was added, removed or changed.
    ///
    /// It visits each bucket of the switch, which is acceptable since ports change rarely. A bundle
    /// sees by the number of changes that the groups which it has copied may be out of date.
    pub(crate) fn port_liveness_changed(&mut self, port: PortNo) {
        self.port_changes += 1;
        let mut watchers = Vec::new();
        for (id, group) in &self.groups {
            let mut plans = group.plans.iter();
            if plans.any(|plan| plan.bucket.watch_port == port) {
                watchers.push(*id);
            }
        }
        self.refresh_groups(watchers);
    }
}

/// Returns true if an entry forwards to a group, or to any for ALL.
fn forwards_to(entry: &Entry, id: GroupId) -> bool {
    let mut groups = entry.groups();
    match id {
        GroupId::ALL => groups.next().is_some(),
        _ => groups.any(|group| group == id),
    }
}

/// Adds a group to the end of a list, unless it was added just before.
fn push_once(list: &mut Vec<GroupId>, id: GroupId) {
    if list.last() != Some(&id) {
        list.push(id);
    }
}
