//! A bundle: changes that packets see all at once or not at all. Spec: OpenFlow 1.4.1 section 6.8.
//!
//! While a bundle is prepared, the tables contain both the entries that it adds and those that it
//! removes. Each entry has an [`EntryStage`], and each lookup uses one of two [`View`]s: packets
//! see the state before the bundle, and the bundle's own changes the state after it. The commit
//! switches packets to the later view in one step.
//!
//! An entry that replaces or modifies another is the *twin* of that one, until the bundle's end
//! makes one entry of both.

use alloc::{boxed::Box, collections::BTreeMap};

use bofuss_oflib::message::FlowRemovedReason;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{instruction::Instructions, matching::Sent};

use crate::control::bundle::bundle_groups::StagedGroups;
use crate::control::bundle::chunked_queue::ChunkedQueue;
use crate::control::entries::EntryEditor;
use crate::control::news::EntryFate;
use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Pipeline;
use crate::slab::NONE;
use crate::tables::entry::View;
use crate::tables::stage::{AddedAs, EntryStage};
use crate::{Entry, EntryKey, Table, Time};

/// The changes of the bundle in progress.
pub(crate) struct StagedBundle<E: FrameEngine> {
    phase: BundlePhase,
    /// The slots of entries that it adds or removes. A slot may have become free again, or hold
    /// another entry that the bundle adds.
    touched: ChunkedQueue<(TableId, u32)>,
    /// Pairs of slots, each mapped to the other: an entry that replaces another, and the one that
    /// it replaces.
    twins: BTreeMap<(TableId, u32), u32>,
    /// The number of entries that it removes.
    pub(crate) n_doomed: usize,
    /// Its groups and meters, if it changes any.
    groups: Option<Box<StagedGroups<E>>>,
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

/// The fate of an entry at the end of a bundle.
pub(crate) enum Ended {
    /// Packets see it, or it is unchanged.
    Revealed,
    /// It was removed.
    Removed,
    /// It is to be removed, and hooks and controllers informed; then
    /// [`StagedBundle::reveal_successor`] is called.
    Goes(Removal),
}

/// An entry that is to be removed.
pub(crate) struct Removal {
    pub(crate) table: TableId,
    pub(crate) key: EntryKey,
    pub(crate) reason: FlowRemovedReason,
    /// The entry of the bundle that takes its place.
    successor: Option<EntryKey>,
}

impl<E: FrameEngine> StagedBundle<E> {
    /// Begins a bundle, with a copy of groups and meters if it may change them.
    pub(crate) fn begin(pipeline: &mut Pipeline<E>, groups: bool) -> Self {
        set_view(pipeline, View::Before);
        Self {
            phase: BundlePhase::Preparing,
            touched: ChunkedQueue::default(),
            twins: BTreeMap::new(),
            n_doomed: 0,
            groups: groups.then(|| Box::new(StagedGroups::new(pipeline))),
        }
    }

    /// Makes its changes visible to packets, in constant time.
    pub(crate) fn commit(&mut self, editor: &mut EntryEditor<'_, E>, now: Time) {
        self.phase = BundlePhase::Settling(now);
        set_view(editor.pipeline, View::After);
        // The engine's counts belong to the old buckets, so they are taken before the exchange.
        if let Some(staged) = self.groups() {
            E::groups_change(editor.engine, &mut editor.pipeline.groups);
            staged.commit(editor.pipeline);
        }
        E::all_changed(editor.engine);
    }

    /// Gives up its changes.
    pub(crate) fn undo(&mut self) {
        self.phase = BundlePhase::Undoing;
    }

    /// Returns true if there is work besides the bundle's own changes.
    pub(crate) fn has_work(&self) -> bool {
        self.phase != BundlePhase::Preparing
    }

    /// Returns true if its changes are being prepared.
    pub(crate) fn is_prepared(&self) -> bool {
        self.phase == BundlePhase::Preparing
    }

    /// Returns true if packets see its changes.
    pub(crate) fn is_settling(&self) -> bool {
        matches!(self.phase, BundlePhase::Settling(_))
    }

    /// Returns true if it has a copy of groups and meters.
    pub(crate) fn has_groups(&self) -> bool {
        self.groups.is_some()
    }

    /// The groups and meters before its commit, while it is being settled.
    pub(crate) fn groups_before(&self) -> Option<&StagedGroups<E>> {
        self.is_settling().then_some(self.groups.as_deref())?
    }

    /// The groups and meters that it changes, if it may change any.
    pub(crate) fn groups(&mut self) -> Option<&mut StagedGroups<E>> {
        self.groups.as_deref_mut()
    }

    /// Exchanges the groups and meters that packets see and its own, unless packets see its own.
    pub(crate) fn swap_groups(&mut self, pipeline: &mut Pipeline<E>) {
        let is_settling = self.is_settling();
        if let Some(groups) = self.groups().filter(|_| !is_settling) {
            groups.swap(pipeline);
        }
    }

    /// Ends groups and meters once all entries are done. Returns true if its end is complete.
    pub(crate) fn has_ended(&mut self, pipeline: &mut Pipeline<E>) -> bool {
        let is_seen = self.is_settling();
        let groups = self.groups.as_mut();
        let has_ended = self.touched.is_empty()
            && groups.is_none_or(|groups| groups.end_some(pipeline, is_seen));
        if has_ended {
            set_view(pipeline, View::Both);
        }
        has_ended
    }

    /// Prepares the addition of an entry. It replaces `old`, if there is one, and may take over its
    /// counters.
    pub(crate) fn add(
        &mut self,
        editor: &mut EntryEditor<'_, E>,
        table: TableId,
        entry: Entry,
        sent: Option<&Sent>,
        (old, keeps_counts): (Option<EntryKey>, bool),
    ) {
        let mut origin = AddedAs::New;
        let mut twin = None;
        if let Some(old) = old.and_then(|key| table_of(editor, table).get(key)) {
            let key = old.key;
            // The bundle has added this one itself; what it replaced is replaced by the new one.
            if let EntryStage::Added(before) = old.stage {
                twin = self.part_from_twin(table, key.slot);
                if twin.is_some() {
                    let keeps_counts = before.keeps_counts() && keeps_counts;
                    origin = AddedAs::Replaces { keeps_counts };
                }
                editor.pipeline.take_entry(table, key);
            } else {
                twin = Some(key.slot);
                origin = AddedAs::Replaces { keeps_counts };
                self.doom(editor, table, key, FlowRemovedReason::DELETE);
            }
        }
        let entry = Entry {
            stage: EntryStage::Added(origin),
            ..entry
        };
        self.insert(editor, table, entry, sent, twin);
    }

    /// Prepares other instructions for an entry, with or without resetting its counters.
    pub(crate) fn modify(
        &mut self,
        editor: &mut EntryEditor<'_, E>,
        table: TableId,
        key: EntryKey,
        instructions: &Instructions,
        reset: bool,
    ) {
        let Some(entry) = table_of(editor, table).get(key) else {
            return;
        };
        match entry.stage {
            EntryStage::Doomed(_) => {}
            EntryStage::Added(origin) => {
                let created = entry.created;
                editor
                    .pipeline
                    .instruct_entry(created, table, key, instructions, false);
                entry_mut(editor, table, key.slot).stage =
                    EntryStage::Added(origin.and_reset(reset));
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
                changed.instructions = editor.pipeline.instructions.share(instructions);
                let sent = table_of(editor, table).sent.get(&key.slot).cloned();
                self.doom(editor, table, key, FlowRemovedReason::DELETE);
                self.insert(editor, table, changed, sent.as_ref(), Some(key.slot));
            }
        }
    }

    /// Prepares the removal of an entry.
    pub(crate) fn remove(
        &mut self,
        editor: &mut EntryEditor<'_, E>,
        table: TableId,
        key: EntryKey,
        reason: FlowRemovedReason,
    ) {
        let Some(entry) = table_of(editor, table).get(key) else {
            return;
        };
        match entry.stage {
            EntryStage::Doomed(_) => {}
            EntryStage::Settled => self.doom(editor, table, key, reason),
            // Packets have never seen it, so it goes at once; what it had replaced goes in its
            // place.
            EntryStage::Added(_) => {
                editor.pipeline.take_entry(table, key);
                if let Some(before) = self.part_from_twin(table, key.slot) {
                    entry_mut(editor, table, before).stage = EntryStage::Doomed(reason);
                }
            }
        }
    }

    /// Inserts an entry that packets do not see, as the replacement of another if there is one.
    fn insert(
        &mut self,
        editor: &mut EntryEditor<'_, E>,
        table: TableId,
        entry: Entry,
        sent: Option<&Sent>,
        twin: Option<u32>,
    ) {
        let key = editor.pipeline.insert_entry(table, entry, sent);
        if let Some(twin) = twin {
            self.twins.insert((table, key.slot), twin);
            self.twins.insert((table, twin), key.slot);
        }
        let EntryEditor {
            pipeline, engine, ..
        } = editor;
        E::entry_staged(
            engine,
            &pipeline.catalogue,
            &mut pipeline.tables,
            table,
            key,
        );
        self.touched.push((table, key.slot));
    }

    /// Hides an entry from the later view, and removes its references to groups and meters.
    fn doom(
        &mut self,
        editor: &mut EntryEditor<'_, E>,
        table: TableId,
        key: EntryKey,
        reason: FlowRemovedReason,
    ) {
        let entry = entry_mut(editor, table, key.slot);
        entry.stage = EntryStage::Doomed(reason);
        let instructions = entry.instructions.clone();
        editor.pipeline.count_references(&instructions, false);
        let in_table = &mut editor.pipeline.tables[usize::from(table.0)];
        in_table.n_doomed += 1;
        in_table.eviction.remove(key.slot);
        self.n_doomed += 1;
        self.touched.push((table, key.slot));
    }

    /// Undoes [`Self::doom`].
    fn spare(&mut self, editor: &mut EntryEditor<'_, E>, table: TableId, key: EntryKey) {
        let entry = entry_mut(editor, table, key.slot);
        entry.stage = EntryStage::Settled;
        let instructions = entry.instructions.clone();
        editor.pipeline.count_references(&instructions, true);
        let in_table = &mut editor.pipeline.tables[usize::from(table.0)];
        in_table.n_doomed -= 1;
        in_table.eviction.insert(&in_table.entries[key.slot]);
        self.n_doomed -= 1;
        editor.pipeline.set_deadline(table, key);
    }

    /// Removes the pair that a slot belongs to. Returns the other slot.
    fn part_from_twin(&mut self, table: TableId, slot: u32) -> Option<u32> {
        let twin = self.twins.remove(&(table, slot))?;
        self.twins.remove(&(table, twin));
        Some(twin)
    }

    /// Makes the change of the next entry final, or undoes it; `None` if there are no more.
    pub(crate) fn end_next(&mut self, editor: &mut EntryEditor<'_, E>) -> Option<Ended> {
        let (table, slot) = self.touched.pop()?;
        Some(self.end_one(editor, table, slot))
    }

    /// Reveals the entry that takes the place of a removed entry.
    pub(crate) fn reveal_successor(&self, editor: &mut EntryEditor<'_, E>, of: &Removal) {
        if let (Some(key), BundlePhase::Settling(at)) = (of.successor, self.phase) {
            reveal_added(editor, at, of.table, key);
        }
    }

    fn end_one(&mut self, editor: &mut EntryEditor<'_, E>, table: TableId, slot: u32) -> Ended {
        // A later message of the bundle has removed the entry that was added here.
        let Some(entry) = table_of(editor, table).at(slot) else {
            return Ended::Revealed;
        };
        let key = entry.key;
        let stage = entry.stage;
        // After a commit, the first of two twins ends both; the other is then settled, or gone.
        let twin_slot = self.part_from_twin(table, slot);
        let twin = twin_slot.and_then(|slot| Some(table_of(editor, table).at(slot)?.key));
        match (self.phase, stage) {
            (_, EntryStage::Settled) | (BundlePhase::Preparing, _) => return Ended::Revealed,
            (BundlePhase::Undoing, EntryStage::Added(_)) => {
                _ = editor.pipeline.take_entry(table, key);
            }
            (BundlePhase::Undoing, EntryStage::Doomed(_)) => self.spare(editor, table, key),
            (BundlePhase::Settling(at), EntryStage::Added(_)) => match twin {
                Some(old) => return self.settle_twins(editor, at, table, (old, key)),
                None => {
                    reveal_added(editor, at, table, key);
                    return Ended::Revealed;
                }
            },
            (BundlePhase::Settling(at), EntryStage::Doomed(reason)) => match twin {
                Some(new) => return self.settle_twins(editor, at, table, (key, new)),
                None => {
                    editor.settle();
                    self.spare(editor, table, key);
                    // If its timeout ended before the commit, it counts as expired, because
                    // entries that a bundle removes do not expire during its preparation.
                    let expired = expired(editor, at, table, key);
                    return Ended::Goes(Removal {
                        table,
                        key,
                        reason: expired.unwrap_or(reason),
                        successor: None,
                    });
                }
            },
        }
        Ended::Removed
    }

    /// Merges two entries with the same match into one: removes the replaced entry, or gives the
    /// old entry the new instructions and removes the new one.
    fn settle_twins(
        &mut self,
        editor: &mut EntryEditor<'_, E>,
        at: Time,
        table: TableId,
        (old, new): (EntryKey, EntryKey),
    ) -> Ended {
        let EntryStage::Added(origin) = table_of(editor, table).entries[new.slot].stage else {
            return Ended::Removed;
        };
        let modifies = matches!(origin, AddedAs::Modifies { .. });
        editor.settle();
        // Without the bundle, it would have expired as well, and FLOW_REMOVED says so, unless a
        // packet that is settled only now has put that off.
        if let (false, Some(reason)) = (modifies, expired(editor, at, table, old)) {
            self.spare(editor, table, old);
            return Ended::Goes(Removal {
                table,
                key: old,
                reason,
                successor: Some(new),
            });
        }
        // The engine settles both, so the sums below have all packets since the commit, too.
        editor.goes(table, old);
        editor.goes(table, new);
        self.spare(editor, table, old);
        let entries = &table_of(editor, table).entries;
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
            editor
                .pipeline
                .instruct_entry(at, table, old, &instructions, false);
            editor.pipeline.take_entry(table, new);
            old
        } else {
            editor.pipeline.take_entry(table, old);
            reveal(editor, at, table, new);
            new
        };
        let entry = entry_mut(editor, table, stays.slot);
        entry.packets = packets;
        entry.bytes = bytes;
        entry.used = entry.used.max(used);
        editor.pipeline.watch_from(table, stays, at, kept);
        let fate = if modifies {
            EntryFate::Modified(before)
        } else {
            EntryFate::Replaced(old, before)
        };
        editor.news.note(table, stays, fate);
        Ended::Removed
    }
}

/// Has the packets of all tables see this view.
fn set_view<E: FrameEngine>(pipeline: &mut Pipeline<E>, view: View) {
    for table in &mut pipeline.tables {
        table.view = view;
    }
}

fn table_of<'a, E: FrameEngine>(editor: &'a EntryEditor<'_, E>, number: TableId) -> &'a Table {
    &editor.pipeline.tables[usize::from(number.0)]
}

fn entry_mut<'a, E: FrameEngine>(
    editor: &'a mut EntryEditor<'_, E>,
    table: TableId,
    slot: u32,
) -> &'a mut Entry {
    &mut editor.pipeline.tables[usize::from(table.0)].entries[slot]
}

/// Makes an added entry an ordinary one; its age counts from the commit.
fn reveal<E: FrameEngine>(
    editor: &mut EntryEditor<'_, E>,
    at: Time,
    table: TableId,
    key: EntryKey,
) {
    editor.pipeline.tables[usize::from(table.0)].n_added -= 1;
    let entry = entry_mut(editor, table, key.slot);
    entry.stage = EntryStage::Settled;
    entry.created = at;
    entry.used = entry.used.max(at);
    editor.pipeline.watch_from(table, key, at, (0, 0));
    editor.pipeline.set_deadline(table, key);
}

/// Makes an added entry that replaces no other an ordinary one, and records it.
fn reveal_added<E: FrameEngine>(
    editor: &mut EntryEditor<'_, E>,
    at: Time,
    table: TableId,
    key: EntryKey,
) {
    reveal(editor, at, table, key);
    editor.news.note(table, key, EntryFate::Added);
}

/// The timeout of an entry that ended before the commit, if one did.
fn expired<E: FrameEngine>(
    editor: &EntryEditor<'_, E>,
    at: Time,
    table: TableId,
    key: EntryKey,
) -> Option<FlowRemovedReason> {
    let (due, reason) = table_of(editor, table).get(key)?.deadline()?;
    (due <= at).then_some(reason)
}
