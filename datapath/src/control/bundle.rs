//! Bundles: changes that packets see all at once or not at all. Spec: OpenFlow 1.4.1 section 6.8.
//!
//! While a bundle is prepared, the tables contain both the entries that it adds and those that it
//! removes. Each entry has an [`EntryStage`], and each lookup uses one of two [`View`]s: packets
//! see the state before the bundle, and the bundle's own changes the state after it. The commit
//! switches packets to the later view in one step.

use alloc::{boxed::Box, collections::BTreeMap};

use bofuss_oflib::message::FlowRemovedReason;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{instruction::Instructions, matching::Sent};

use crate::control::bulk_change::{CHANGED_COUNTS, ENTRIES_REPORTED};
use crate::control::bundle_groups::StagedGroups;
use crate::control::chunked_queue::ChunkedQueue;
use crate::control::news::EntryFate;
use crate::frame_engine::FrameEngine;
use crate::slab::NONE;
use crate::tables::stage::{AddedAs, EntryStage, View};
use crate::{Datapath, Entry, EntryKey, Sink, Table, Time};

/// The changes of the bundle in progress.
pub(crate) struct StagedBundle<E: FrameEngine> {
    phase: BundlePhase,
    /// The slots of entries that it adds or removes. A slot may have become free again, or hold
    /// another entry that the bundle adds.
    touched: ChunkedQueue<(TableId, u32)>,
    /// Pairs of slots, each mapped to the other: an entry that replaces another, and the one that
    /// it replaces.
    twins: BTreeMap<(TableId, u32), u32>,
    /// How many entries it removes.
    pub(crate) n_doomed: usize,
    /// Its groups and meters, if it changes any.
    pub(crate) groups: Option<Box<StagedGroups<E>>>,
}

/// The phase of a bundle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BundlePhase {
    /// Its changes are being prepared; packets do not see them.
    Preparing,
    /// Packets see its changes since this time; the entries that they no longer see are being
    /// removed.
    Settling(Time),
    /// Its changes are being removed again.
    Undoing,
}

impl<E: FrameEngine> StagedBundle<E> {
    /// Whether there is work besides the bundle's own changes.
    pub(crate) fn has_work(&self) -> bool {
        self.phase != BundlePhase::Preparing
    }

    /// Whether packets see its changes.
    pub(crate) fn is_settling(&self) -> bool {
        matches!(self.phase, BundlePhase::Settling(_))
    }

    /// The groups and meters that it changes, if it may change any.
    pub(crate) fn groups(&mut self) -> Option<&mut StagedGroups<E>> {
        self.groups.as_deref_mut()
    }
}

impl<E: FrameEngine> Datapath<E> {
    /// Begins a bundle: until [`Datapath::commit_bundle`] or [`Datapath::undo_bundle`], changes of
    /// entries are only prepared, and packets do not see them. Entries still expire, except those
    /// that the bundle removes. With `groups`, the bundle may also change groups and meters, once
    /// [`Datapath::copy_groups`] has copied them.
    ///
    /// Panics: if another bundle or a bulk change is in progress.
    pub fn begin_bundle(&mut self, groups: bool) {
        assert!(self.bundle.is_none() && !self.has_work(), "one at a time");
        let pipeline = &self.pipeline;
        self.bundle = Some(StagedBundle {
            phase: BundlePhase::Preparing,
            touched: ChunkedQueue::default(),
            twins: BTreeMap::new(),
            n_doomed: 0,
            groups: groups.then(|| Box::new(StagedGroups::new(pipeline))),
        });
        self.set_view(View::Before);
    }

    /// Makes all prepared changes visible to packets, in constant time. [`Datapath::work`] does
    /// what remains.
    ///
    /// Panics: if no bundle is prepared.
    pub fn commit_bundle(&mut self, now: Time) {
        assert!(self.is_staging(), "a bundle is prepared");
        self.end_preparation(BundlePhase::Settling(now));
        self.set_view(View::After);
        let Self {
            bundle, pipeline, ..
        } = self;
        if let Some(staged) = bundle.as_mut().and_then(StagedBundle::groups) {
            staged.commit(pipeline);
        }
        E::all_changed(&mut self.lane.engine);
    }

    /// Exchanges the groups and meters that packets see and those of the bundle. Called before and
    /// after each slice of its preparation.
    pub fn swap_groups(&mut self) {
        let Self {
            bundle, pipeline, ..
        } = self;
        let unseen = bundle
            .as_mut()
            .filter(|bundle| !matches!(bundle.phase, BundlePhase::Settling(_)));
        if let Some(staged) = unseen.and_then(StagedBundle::groups) {
            staged.swap(pipeline);
        }
    }

    /// The groups and meters that it changes, if it is prepared.
    pub(crate) fn staged_groups(&mut self) -> Option<&mut StagedGroups<E>> {
        self.bundle.as_mut()?.groups()
    }

    /// Gives up all prepared changes. [`Datapath::work`] removes them.
    ///
    /// Panics: if no bundle is prepared.
    pub fn undo_bundle(&mut self) {
        assert!(self.is_staging(), "a bundle is prepared");
        self.bulk_changes.clear();
        self.deleted.stop();
        self.end_preparation(BundlePhase::Undoing);
    }

    /// Whether a read shows one state if it ends before the next slice of the change in progress:
    /// the state before a bundle that is being prepared or undone. With `with_uses`, the read also
    /// shows how many entries use a group or a meter; a bundle that has no copy of them changes
    /// that as it is prepared.
    pub fn shows_one_state(&self, with_uses: bool) -> bool {
        match &self.bundle {
            None => !self.has_work(),
            Some(bundle) => !bundle.is_settling() && (!with_uses || bundle.groups.is_some()),
        }
    }

    fn end_preparation(&mut self, phase: BundlePhase) {
        if let Some(bundle) = &mut self.bundle {
            bundle.phase = phase;
        }
    }

    fn set_view(&mut self, view: View) {
        for table in &mut self.pipeline.tables {
            table.view = view;
        }
    }

    /// Whether a bundle is being prepared, so that changes of entries are staged.
    pub(crate) fn is_staging(&self) -> bool {
        let bundle = self.bundle.as_ref();
        bundle.is_some_and(|bundle| bundle.phase == BundlePhase::Preparing)
    }

    /// Does one slice of a bundle's end. Returns true if it is complete.
    pub(crate) fn work_on_bundle<S: Sink>(&mut self, now: Time, sink: &mut S) -> bool {
        let Some(bundle) = self.bundle.as_ref().filter(|bundle| bundle.has_work()) else {
            return true;
        };
        let phase = bundle.phase;
        // Entries that are undone change reference counts in the bundle's groups, which are
        // discarded as well.
        self.swap_groups();
        let mut left = ENTRIES_REPORTED;
        while left > 0
            && let Some(bundle) = &mut self.bundle
            && let Some(touched) = bundle.touched.pop()
        {
            let is_revealed = self.end_one(now, phase, touched, sink);
            left = left.saturating_sub(if is_revealed { 1 } else { CHANGED_COUNTS });
        }
        self.swap_groups();
        if !self.has_ended(phase) {
            return false;
        }
        self.bundle = None;
        self.set_view(View::Both);
        true
    }

    /// Ends groups and meters once all entries are done. Returns true if the bundle's end is
    /// complete.
    fn has_ended(&mut self, phase: BundlePhase) -> bool {
        let Self {
            bundle, pipeline, ..
        } = self;
        let Some(bundle) = bundle else {
            return true;
        };
        let is_seen = matches!(phase, BundlePhase::Settling(_));
        let groups = bundle.groups.as_mut();
        bundle.touched.is_empty() && groups.is_none_or(|groups| groups.end_some(pipeline, is_seen))
    }

    /// Makes the change of one entry final, or undoes it. Returns true if no entry had to be
    /// removed for that.
    fn end_one<S: Sink>(
        &mut self,
        now: Time,
        phase: BundlePhase,
        (table, slot): (TableId, u32),
        sink: &mut S,
    ) -> bool {
        let Some(entry) = self.table(table).at(slot) else {
            return true;
        };
        let key = entry.key;
        let stage = entry.stage;
        let twin_slot = self.part_from_twin(table, slot);
        let twin = twin_slot.and_then(|slot| Some(self.table(table).at(slot)?.key));
        match (phase, stage) {
            (_, EntryStage::Settled) | (BundlePhase::Preparing, _) => return true,
            (BundlePhase::Undoing, EntryStage::Added(_)) => {
                _ = self.pipeline.take_entry(table, key)
            }
            (BundlePhase::Undoing, EntryStage::Doomed(_)) => self.spare(table, key),
            (BundlePhase::Settling(at), EntryStage::Added(_)) => match twin {
                Some(old) => self.settle_twins(now, at, table, (old, key), sink),
                None => {
                    self.reveal(at, table, key);
                    self.note(table, key, EntryFate::Added);
                    return true;
                }
            },
            (BundlePhase::Settling(at), EntryStage::Doomed(reason)) => match twin {
                Some(new) => self.settle_twins(now, at, table, (key, new), sink),
                None => self.settle_removed(now, at, (table, key), reason, sink),
            },
        }
        false
    }

    fn table(&self, number: TableId) -> &Table {
        &self.pipeline.tables[usize::from(number.0)]
    }

    fn entry_mut(&mut self, table: TableId, slot: u32) -> &mut Entry {
        &mut self.pipeline.tables[usize::from(table.0)].entries[slot]
    }

    /// Removes the pair that a slot belongs to. Returns the other slot.
    fn part_from_twin(&mut self, table: TableId, slot: u32) -> Option<u32> {
        let twins = &mut self.bundle.as_mut()?.twins;
        let twin = twins.remove(&(table, slot))?;
        twins.remove(&(table, twin));
        Some(twin)
    }

    fn note_touched(&mut self, table: TableId, slot: u32) {
        if let Some(bundle) = &mut self.bundle {
            bundle.touched.push((table, slot));
        }
    }

    /// Prepares the addition of an entry. It replaces `old`, if there is one, and may take over its
    /// counters.
    pub(crate) fn stage_add(
        &mut self,
        table: TableId,
        entry: Entry,
        sent: Option<&Sent>,
        (old, keeps_counts): (Option<EntryKey>, bool),
    ) {
        let mut origin = AddedAs::New;
        let mut twin = None;
        if let Some(old) = old.and_then(|key| self.table(table).get(key)) {
            let key = old.key;
            if let EntryStage::Added(before) = old.stage {
                twin = self.part_from_twin(table, key.slot);
                if twin.is_some() {
                    let keeps_counts = before.keeps_counts() && keeps_counts;
                    origin = AddedAs::Replaces { keeps_counts };
                }
                self.pipeline.take_entry(table, key);
            } else {
                twin = Some(key.slot);
                origin = AddedAs::Replaces { keeps_counts };
                self.doom(table, key, FlowRemovedReason::DELETE);
            }
        }
        let entry = Entry {
            stage: EntryStage::Added(origin),
            ..entry
        };
        self.insert_staged(table, entry, sent, twin);
    }

    /// Prepares other instructions for an entry, with or without resetting its counters.
    pub(crate) fn stage_modify(
        &mut self,
        table: TableId,
        key: EntryKey,
        instructions: &Instructions,
        reset: bool,
    ) {
        let Some(entry) = self.table(table).get(key) else {
            return;
        };
        match entry.stage {
            EntryStage::Doomed(_) => {}
            EntryStage::Added(origin) => {
                let created = entry.created;
                self.pipeline
                    .instruct_entry(created, table, key, instructions, false);
                self.entry_mut(table, key.slot).stage = EntryStage::Added(origin.and_reset(reset));
            }
            EntryStage::Settled => {
                let origin = AddedAs::Modifies {
                    keeps_counts: !reset,
                };
                let mut changed = Entry {
                    stage: EntryStage::Added(origin),
                    due: Time::NEVER,
                    next: NONE,
                    packets: 0,
                    bytes: 0,
                    ..entry.clone()
                };
                changed.instructions = self.pipeline.instructions.share(instructions);
                let sent = self.table(table).sent.get(&key.slot).cloned();
                self.doom(table, key, FlowRemovedReason::DELETE);
                self.insert_staged(table, changed, sent.as_ref(), Some(key.slot));
            }
        }
    }

    /// Prepares the removal of an entry.
    pub(crate) fn stage_remove(
        &mut self,
        table: TableId,
        key: EntryKey,
        reason: FlowRemovedReason,
    ) {
        let Some(entry) = self.table(table).get(key) else {
            return;
        };
        match entry.stage {
            EntryStage::Doomed(_) => {}
            EntryStage::Settled => self.doom(table, key, reason),
            EntryStage::Added(_) => {
                self.pipeline.take_entry(table, key);
                if let Some(before) = self.part_from_twin(table, key.slot) {
                    self.entry_mut(table, before).stage = EntryStage::Doomed(reason);
                }
            }
        }
    }

    /// Inserts an entry that packets do not see, as the replacement of another if there is one.
    fn insert_staged(
        &mut self,
        table: TableId,
        entry: Entry,
        sent: Option<&Sent>,
        twin: Option<u32>,
    ) {
        let key = self.pipeline.insert_entry(table, entry, sent);
        if let (Some(bundle), Some(twin)) = (&mut self.bundle, twin) {
            bundle.twins.insert((table, key.slot), twin);
            bundle.twins.insert((table, twin), key.slot);
        }
        let pipeline = &mut self.pipeline;
        let engine = &mut self.lane.engine;
        E::entry_staged(
            engine,
            &pipeline.catalogue,
            &mut pipeline.tables,
            table,
            key,
        );
        self.note_touched(table, key.slot);
    }

    /// Hides an entry from the later view, and removes its references to groups and meters.
    fn doom(&mut self, table: TableId, key: EntryKey, reason: FlowRemovedReason) {
        let entry = self.entry_mut(table, key.slot);
        entry.stage = EntryStage::Doomed(reason);
        let instructions = entry.instructions.clone();
        self.pipeline.count_references(&instructions, false);
        let in_table = &mut self.pipeline.tables[usize::from(table.0)];
        in_table.n_doomed += 1;
        in_table.eviction.remove(key.slot);
        if let Some(bundle) = &mut self.bundle {
            bundle.n_doomed += 1;
        }
        self.note_touched(table, key.slot);
    }

    /// Undoes [`Self::doom`].
    fn spare(&mut self, table: TableId, key: EntryKey) {
        let entry = self.entry_mut(table, key.slot);
        entry.stage = EntryStage::Settled;
        let instructions = entry.instructions.clone();
        self.pipeline.count_references(&instructions, true);
        let in_table = &mut self.pipeline.tables[usize::from(table.0)];
        in_table.n_doomed -= 1;
        in_table.eviction.insert(&in_table.entries[key.slot]);
        if let Some(bundle) = &mut self.bundle {
            bundle.n_doomed -= 1;
        }
        self.pipeline.set_deadline(table, key);
    }

    /// Makes an added entry an ordinary one; its age counts from the commit.
    fn reveal(&mut self, at: Time, table: TableId, key: EntryKey) {
        self.pipeline.tables[usize::from(table.0)].n_added -= 1;
        let entry = self.entry_mut(table, key.slot);
        entry.stage = EntryStage::Settled;
        entry.created = at;
        entry.used = entry.used.max(at);
        self.pipeline.watch_from(table, key, at, (0, 0));
        self.pipeline.set_deadline(table, key);
    }

    /// Removes an entry that packets no longer see. If its timeout ended before the commit, it
    /// counts as expired, because entries that a bundle removes do not expire during its
    /// preparation.
    fn settle_removed<S: Sink>(
        &mut self,
        now: Time,
        at: Time,
        (table, key): (TableId, EntryKey),
        reason: FlowRemovedReason,
        sink: &mut S,
    ) {
        self.settle();
        self.spare(table, key);
        let expired = self.expired(at, table, key);
        self.remove_entry(now, table, key, expired.unwrap_or(reason), sink);
    }

    /// The timeout of an entry that ended before the commit, if one did.
    fn expired(&self, at: Time, table: TableId, key: EntryKey) -> Option<FlowRemovedReason> {
        let (due, reason) = self.table(table).get(key)?.deadline()?;
        (due <= at).then_some(reason)
    }

    /// Merges two entries with the same match into one: removes the replaced entry, or gives the
    /// old entry the new instructions and removes the new one.
    fn settle_twins<S: Sink>(
        &mut self,
        now: Time,
        at: Time,
        table: TableId,
        (old, new): (EntryKey, EntryKey),
        sink: &mut S,
    ) {
        let EntryStage::Added(origin) = self.table(table).entries[new.slot].stage else {
            return;
        };
        let modifies = matches!(origin, AddedAs::Modifies { .. });
        if let (false, Some(reason)) = (modifies, self.expired(at, table, old)) {
            self.settle_removed(now, at, (table, old), reason, sink);
            self.reveal(at, table, new);
            return self.note(table, new, EntryFate::Added);
        }
        self.entry_goes(table, old);
        self.entry_goes(table, new);
        self.spare(table, old);
        let entries = &self.table(table).entries;
        let after = &entries[new.slot];
        let mut kept = (0, 0);
        if origin.keeps_counts() {
            kept = (entries[old.slot].packets, entries[old.slot].bytes);
        }
        let packets = kept.0 + after.packets;
        let bytes = kept.1 + after.bytes;
        let used = after.used;
        let instructions = after.instructions.clone();
        let before = entries[old.slot].instructions.clone();
        let stays = if modifies {
            self.pipeline
                .instruct_entry(at, table, old, &instructions, false);
            self.pipeline.take_entry(table, new);
            old
        } else {
            self.pipeline.take_entry(table, old);
            self.reveal(at, table, new);
            new
        };
        let entry = self.entry_mut(table, stays.slot);
        entry.packets = packets;
        entry.bytes = bytes;
        entry.used = entry.used.max(used);
        self.pipeline.watch_from(table, stays, at, kept);
        let fate = if modifies {
            EntryFate::Modified(before)
        } else {
            EntryFate::Replaced(old, before)
        };
        self.note(table, stays, fate);
    }
}
