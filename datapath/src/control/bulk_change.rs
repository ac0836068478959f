//! Changes of many entries, in slices so that packets need not wait.

use alloc::{boxed::Box, sync::Arc, vec::Vec};
use core::ops::RangeInclusive;

use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::FlowModFailed;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::{FlowMod, FlowRemovedReason};
use bofuss_oflib::types::TableId;

use crate::control::bundle::StagedBundle;
use crate::control::entries::EntryEdit;
use crate::tables::shared::places;
use crate::{Datapath, Engine, Entry, EntryKey, Label, Sink, Table, Time};

/// Entries that one slice looks at, if it only tells of them. One whose lists are long counts as
/// more, here and below, and one that counts for more than a slice has a slice for itself.
pub(crate) const ENTRIES_REPORTED: usize = 64;
/// Entries that one slice of a change looks at. A delete takes some 3 us for one with a list and a
/// mask of its own, and up to 45 us for one that empties a page of 512 KiB, which goes back to the
/// system: as a rule one in a slice at most, so that packets wait for less than 100 us.
pub(crate) const ENTRIES_CHANGED: usize = 8;

/// A place in a walk over the entries of tables. An entry that exists throughout is seen exactly
/// once, because keys do not change while the cursor stands in their table.
pub struct Cursor {
    tables: RangeInclusive<u8>,
    from: EntryKey,
    label: Option<Label>,
    /// That of the table in which it stands.
    walk: Option<Arc<()>>,
}

impl Cursor {
    /// Before the entries of one table, or of all.
    pub fn new(wanted: TableId) -> Self {
        Self {
            tables: if wanted == TableId::ALL {
                0..=TableId::MAX.0
            } else {
                wanted.0..=wanted.0
            },
            from: EntryKey::FIRST,
            label: None,
            walk: None,
        }
    }

    /// After all entries of all tables.
    fn after_all() -> Self {
        Self {
            tables: RangeInclusive::new(1, 0),
            ..Self::new(TableId::ALL)
        }
    }

    /// The same, but it may pass over entries that lack a label.
    pub fn of(self, label: Option<Label>) -> Self {
        Self { label, ..self }
    }

    /// Whether it has passed the place of an entry, in the order in which `engine` walks.
    pub fn has_passed(&self, table: TableId, key: EntryKey, engine: Engine) -> bool {
        let here = *self.tables.start();
        if self.tables.is_empty() || table.0 < here {
            return true;
        }
        if table.0 > here {
            return false;
        }
        match engine {
            Engine::Reference => key < self.from,
            Engine::Tables | Engine::Cache => key.slot < self.from.slot,
        }
    }

    /// Looks at one slice of at most `limit` entries; whether that was the last.
    pub(crate) fn slice<'a>(
        &mut self,
        limit: usize,
        tables: &'a [Table],
        mut see: impl FnMut(TableId, &'a Entry),
    ) -> bool {
        let mut left = limit;
        while let Some(number) = self.tables.clone().next() {
            let Some(table) = tables.get(usize::from(number)) else {
                break;
            };
            let view = table.changed_view();
            for (key, entry) in table.entries_of(self.label, self.from) {
                if left == 0 {
                    self.from = key;
                    self.walk = Some(Arc::clone(&table.walks));
                    return false;
                }
                left = left.saturating_sub(1 + places(&entry.instructions));
                if view.has(entry) {
                    see(TableId(number), entry);
                }
            }
            self.from = EntryKey::FIRST;
            self.walk = None;
            self.tables.next();
        }
        self.walk = None;
        true
    }
}

/// What a bulk change does with the entries that it finds.
pub(crate) enum EntryChange {
    /// They go; whether anybody is told.
    Delete(FlowRemovedReason, bool),
    /// They get these instructions; whether their counters begin anew; and what is added if there
    /// are none.
    Modify {
        instructions: Instructions,
        reset: bool,
        or_add: Option<Box<FlowMod>>,
    },
    /// They forbid that the flow-mod adds its own.
    Add(Box<FlowMod>),
    /// They are put in the order of eviction, as the table now has it.
    Rank,
}

/// A change that is under way.
pub(crate) struct BulkChange {
    cursor: Cursor,
    finds: Box<dyn Fn(&Entry) -> bool>,
    change: EntryChange,
    found: bool,
}

impl BulkChange {
    pub(crate) fn new(
        table: TableId,
        finds: impl Fn(&Entry) -> bool + 'static,
        change: EntryChange,
    ) -> Self {
        Self {
            cursor: Cursor::new(table),
            finds: Box::new(finds),
            change,
            found: false,
        }
    }

    /// One that has looked at all entries, and only ends.
    pub(crate) fn ending(change: EntryChange) -> Self {
        Self {
            cursor: Cursor::after_all(),
            finds: Box::new(|_| false),
            change,
            found: false,
        }
    }

    /// The same, but it may pass over entries that lack a label.
    pub(crate) fn of(self, label: Option<Label>) -> Self {
        Self {
            cursor: self.cursor.of(label),
            ..self
        }
    }
}

impl Datapath {
    /// Whether a change is under way, for [`Datapath::work`] to go on with. What else changes the
    /// switch has to wait; packets need not.
    pub fn has_work(&self) -> bool {
        let bundle = self.bundle.as_ref();
        !self.bulk_changes.is_empty() || bundle.is_some_and(StagedBundle::has_work)
    }

    /// Goes on with a change by one slice. `None`: there is more to do.
    ///
    /// Errors: FLOW_MOD_FAILED with OVERLAP or TABLE_FULL, for the flow-mod that began it.
    pub fn work<S: Sink>(&mut self, now: Time, sink: &mut S) -> Option<Result<(), ErrorCode>> {
        let Some(mut bulk) = self.bulk_changes.pop_front() else {
            return self.work_on_bundle(now, sink).then_some(Ok(()));
        };
        let mut found = Vec::new();
        let last = bulk
            .cursor
            .slice(ENTRIES_CHANGED, &self.pipeline.tables, |table, entry| {
                if (bulk.finds)(entry) {
                    found.push((table, entry.key));
                }
            });
        bulk.found |= !found.is_empty();
        for (table, key) in found {
            if let Err(error) = self.change_entry(now, table, key, &bulk.change, sink) {
                return Some(Err(error));
            }
        }
        if !last {
            self.bulk_changes.push_front(bulk);
            return None;
        }
        let result = self.end_change(now, bulk.change, bulk.found, sink);
        self.bulk_changes.is_empty().then_some(result)
    }

    /// Applies a change to an entry. Errors: FLOW_MOD_FAILED/OVERLAP.
    pub(crate) fn change_entry<S: Sink>(
        &mut self,
        now: Time,
        table: TableId,
        key: EntryKey,
        change: &EntryChange,
        sink: &mut S,
    ) -> Result<(), ErrorCode> {
        let (instructions, reset) = match change {
            EntryChange::Delete(reason, true) => {
                self.remove_entry(now, table, key, *reason, sink);
                return Ok(());
            }
            EntryChange::Delete(reason, false) => {
                self.edit_entry(table, EntryEdit::Remove(key, *reason));
                return Ok(());
            }
            EntryChange::Add(_) => return Err(FlowModFailed::OVERLAP),
            EntryChange::Rank => {
                let in_table = &mut self.pipeline.tables[usize::from(table.0)];
                in_table.eviction.insert(&in_table.entries[key.slot]);
                return Ok(());
            }
            EntryChange::Modify {
                instructions,
                reset,
                ..
            } => (instructions, *reset),
        };
        if self.is_staging() {
            self.stage_modify(table, key, instructions, reset);
        } else {
            self.edit_entry(table, EntryEdit::Instruct(now, key, instructions, reset));
        }
        Ok(())
    }

    /// Ends a change that found entries, or none. Errors: FLOW_MOD_FAILED/TABLE_FULL.
    pub(crate) fn end_change<S: Sink>(
        &mut self,
        now: Time,
        change: EntryChange,
        found: bool,
        sink: &mut S,
    ) -> Result<(), ErrorCode> {
        match change {
            EntryChange::Add(flow_mod) => self.add_entry(now, &flow_mod, sink),
            EntryChange::Modify {
                or_add: Some(flow_mod),
                ..
            } if !found => self.add_entry(now, &flow_mod, sink),
            EntryChange::Delete(..) | EntryChange::Modify { .. } | EntryChange::Rank => Ok(()),
        }
    }

    /// Begins a change, and does its first slice at once.
    ///
    /// Errors: as for [`Datapath::work`].
    pub(crate) fn begin_bulk_change<S: Sink>(
        &mut self,
        now: Time,
        bulk: BulkChange,
        sink: &mut S,
    ) -> Result<(), ErrorCode> {
        self.bulk_changes.push_back(bulk);
        self.work(now, sink).unwrap_or(Ok(()))
    }
}
