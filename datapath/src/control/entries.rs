//! Adding, changing and removing one entry, and notifying what depends on it.
//!
//! The methods of `Pipeline` below keep what depends on the entries of a table in step: the shared
//! instructions and masks, the references to groups and meters, the fields in use, the deadlines
//! and triggers, and how many entries count towards the limit. They inform neither the engine nor
//! flow monitors, so only the editor and the bundle add, change and remove entries by them.

use alloc::boxed::Box;

use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::matching::Sent;
use bofuss_oflib::message::FlowRemovedReason;
use bofuss_oflib::types::TableId;

use crate::control::news::{EntryFate, News, RemovedEntry};
use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Pipeline;
use crate::{Entry, EntryKey, Time};

/// A change of one entry.
pub(crate) enum EntryEdit<'a> {
    /// It is added, with its match as it was sent. It may replace another, whose counters it takes
    /// over if the flag is set.
    Add(Entry, Option<&'a Sent>, Option<(EntryKey, bool)>),
    /// It gets other instructions at this time; the flag resets its counters.
    Instruct(Time, EntryKey, &'a Instructions, bool),
    /// It is removed for this reason.
    Remove(EntryKey, FlowRemovedReason),
    /// It moves to another slot and new memory, and is otherwise unchanged.
    Move(EntryKey),
}

/// The state that a change of an entry touches.
pub(crate) struct EntryEditor<'a, E: FrameEngine> {
    pub(crate) pipeline: &'a mut Pipeline<E>,
    /// The state of the engine, which depends on entries.
    pub(crate) engine: &'a mut E::State,
    /// The record for flow monitors.
    pub(crate) news: &'a mut News,
}

impl<E: FrameEngine> EntryEditor<'_, E> {
    /// Changes one entry of a table. All changes except a bundle's are made here, so that the cache
    /// and flow monitors are notified of each. Returns the entry that was removed, if one was.
    pub(crate) fn edit(&mut self, table: TableId, edit: EntryEdit<'_>) -> Option<Entry> {
        let Self {
            pipeline,
            engine,
            news,
        } = self;
        match edit {
            EntryEdit::Add(mut entry, sent, old) => {
                let mut replaced = None;
                if let Some((old, keeps_counts)) = old {
                    // The engine settles what it has counted for the old entry while that is still
                    // there.
                    E::entry_gone(engine, &mut pipeline.tables, table, old);
                    replaced = pipeline.take_entry(table, old);
                    if let Some(before) = replaced.as_ref().filter(|_| keeps_counts) {
                        entry.packets = before.packets;
                        entry.bytes = before.bytes;
                    }
                }
                // The old entry has gone before, because no two entries of a view have the same
                // match and priority. So the new entry may get its slot, but never its key.
                let key = pipeline.insert_entry(table, entry, sent);
                let catalogue = &pipeline.catalogue;
                E::entry_added(engine, catalogue, &mut pipeline.tables, table, key);
                let fate = replaced.as_ref().map_or(EntryFate::Added, |old| {
                    EntryFate::Replaced(old.key, old.instructions.clone())
                });
                news.note(table, key, fate);
                replaced
            }
            EntryEdit::Instruct(now, key, instructions, reset) => {
                E::entry_gone(engine, &mut pipeline.tables, table, key);
                let before = pipeline.instruct_entry(now, table, key, instructions, reset);
                if let Some(before) = before {
                    news.note(table, key, EntryFate::Modified(before));
                }
                None
            }
            EntryEdit::Remove(key, reason) => {
                E::entry_gone(engine, &mut pipeline.tables, table, key);
                // Only a flow monitor needs a copy of the entry and its match, so without one none
                // is made.
                if news.is_followed() {
                    return self.take_followed(table, key, reason);
                }
                pipeline.take_entry(table, key)
            }
            EntryEdit::Move(before) => {
                E::entry_gone(engine, &mut pipeline.tables, table, before);
                let key = pipeline.move_entry(table, before)?;
                let catalogue = &pipeline.catalogue;
                E::entry_added(engine, catalogue, &mut pipeline.tables, table, key);
                news.note(table, key, EntryFate::Moved(before));
                None
            }
        }
    }

    /// Notifies the engine that an entry is about to be removed or changed.
    ///
    /// A bundle calls this at its end, since it changes entries without [`Self::edit`].
    #[cfg(feature = "bundles")]
    pub(crate) fn goes(&mut self, table: TableId, key: EntryKey) {
        E::entry_gone(self.engine, &mut self.pipeline.tables, table, key);
    }

    /// Removes an entry, and records it for flow monitors.
    ///
    /// The match is taken first, because the table forgets how it was sent when the entry goes.
    fn take_followed(
        &mut self,
        table: TableId,
        key: EntryKey,
        reason: FlowRemovedReason,
    ) -> Option<Entry> {
        let table_of = &self.pipeline.tables[usize::from(table.0)];
        let fields = table_of.fields_of(table_of.get(key)?, &self.pipeline.catalogue);
        let entry = self.pipeline.take_entry(table, key)?;
        let gone = RemovedEntry {
            entry: entry.clone(),
            fields,
            reason,
        };
        self.news
            .note(table, key, EntryFate::Removed(Box::new(gone)));
        Some(entry)
    }

    /// Adds what the engine has counted to the counters of entries and tables.
    #[cfg(any(feature = "bundles", feature = "filling"))]
    pub(crate) fn settle(&mut self) {
        E::settle(self.engine, &mut self.pipeline.tables);
    }
}

impl<E: FrameEngine> Pipeline<E> {
    /// Adds an entry to its table, and all that depends on it. The caller has checked the limits,
    /// and has shared the entry's instructions.
    pub(super) fn insert_entry(
        &mut self,
        number: TableId,
        entry: Entry,
        sent: Option<&Sent>,
    ) -> EntryKey {
        // A new entry has taken the number already; the next one gets another.
        self.next_serial += 1;
        self.refer(&entry.instructions, true);
        let table = &mut self.tables[usize::from(number.0)];
        // Counted before the insertion, which makes a new mask a known one.
        self.entry_places += table.places(&entry.rule, sent.is_some());
        let created = entry.created;
        let key = table.insert(entry, sent);
        let rule = &table.entries[key.slot].rule;
        // The fields of a mask are counted once for each table, not for each entry.
        if table.masks.users(rule) == 1 {
            self.field_uses.mask_of(rule, &self.catalogue, true);
        }
        self.watch(number, key.slot, created);
        self.set_deadline(number, key);
        key
    }

    /// Replaces the instructions of an entry. Returns the old ones.
    ///
    /// Its counters begin anew if `reset`; its age and its timeouts continue. Spec: OpenFlow 1.3.5
    /// section 6.4, MODIFY.
    pub(super) fn instruct_entry(
        &mut self,
        now: Time,
        number: TableId,
        key: EntryKey,
        instructions: &Instructions,
        reset: bool,
    ) -> Option<Instructions> {
        // Shared before the old ones are released: equal ones are not freed and made again.
        let shared = self.instructions.share(instructions);
        let table = &mut self.tables[usize::from(number.0)];
        let before = table.set_instructions(key, shared)?;
        if let (true, Some(entry)) = (reset, table.get_mut(key)) {
            (entry.packets, entry.bytes) = (0, 0);
        }
        self.instructions.release(&before);
        self.refer(&before, false);
        self.refer(instructions, true);
        if before.stat_trigger().is_some() || instructions.stat_trigger().is_some() {
            self.watch(number, key.slot, now);
        }
        Some(before)
    }

    /// Removes an entry from its table, together with its deadline.
    ///
    /// A key without an entry is no error, since another entry may have taken its slot.
    pub(super) fn take_entry(&mut self, table: TableId, key: EntryKey) -> Option<Entry> {
        let table_of = &mut self.tables[usize::from(table.0)];
        let sent = table_of.sent.contains_key(&key.slot);
        table_of.get(key)?;
        self.unwatch(table, key.slot);
        let table_of = &mut self.tables[usize::from(table.0)];
        let entry = table_of.remove(key)?;
        // After the removal, so that it is the same number as before the insertion.
        self.entry_places -= table_of.places(&entry.rule, sent);
        self.instructions.release(&entry.instructions);
        self.refer(&entry.instructions, false);
        if self.tables[usize::from(table.0)].masks.users(&entry.rule) == 0 {
            self.field_uses.mask_of(&entry.rule, &self.catalogue, false);
        }
        if entry.due != Time::NEVER {
            self.deadlines.remove(&(entry.due, table, key.slot));
        }
        // Compaction is done by later ticks: a removal must not take long.
        if self.tables[usize::from(table.0)].entries.is_sparse() {
            self.sparse_tables.insert(table);
        }
        Some(entry)
    }

    /// Moves an entry into the first free slot, and copies the memory that it does not share.
    ///
    /// The entry gets no new number, so its key changes only in the slot.
    fn move_entry(&mut self, table: TableId, key: EntryKey) -> Option<EntryKey> {
        let in_table = &self.tables[usize::from(table.0)];
        let sent = in_table.sent.get(&key.slot).cloned();
        let watch = self.unwatch(table, key.slot);
        let mut entry = self.take_entry(table, key)?;
        entry.rule = entry.rule.unshared();
        entry.instructions = self.instructions.share(&entry.instructions);
        entry.due = Time::NEVER;
        let moved = self.insert_entry(table, entry, sent.as_ref());
        self.watch_moved(table, moved.slot, watch);
        Some(moved)
    }

    /// Replaces an entry's deadline by its next one, if there is one.
    ///
    /// Restores that `due` of the entry is its place in the list of deadlines, or NEVER. Packets do
    /// not move deadlines: when an old deadline comes, the entry gets its next deadline here.
    pub(crate) fn set_deadline(&mut self, table: TableId, key: EntryKey) {
        let Some(entry) = self.tables[usize::from(table.0)].get_mut(key) else {
            return;
        };
        // The timeouts of an entry that a bundle adds begin with the commit.
        if entry.is_staged() {
            return;
        }
        let next = entry.deadline().map_or(Time::NEVER, |(at, _)| at);
        let before = core::mem::replace(&mut entry.due, next);
        self.deadlines.remove(&(before, table, key.slot));
        if next != Time::NEVER {
            self.deadlines.insert((next, table, key.slot));
        }
    }
}
