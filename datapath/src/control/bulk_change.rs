//! Changes of many entries, done in slices so that packets are handled in between.

use alloc::{boxed::Box, sync::Arc, vec::Vec};
use core::ops::RangeInclusive;

use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::{FlowMod, FlowRemovedReason};
use bofuss_oflib::types::TableId;

use crate::tables::entry::View;
use crate::tables::shared::places;
use crate::{Engine, Entry, EntryKey, Label, Table};

/// The number of entries that one slice visits if it only reports them. Here and below, an entry
/// with long lists counts as several, and one that counts for more than a slice gets a slice of its
/// own.
pub(crate) const ENTRIES_REPORTED: usize = 64;
/// The number of entries that one slice changes. Deleting one with a list and a mask of its own
/// takes some 3 us, and up to 45 us if that empties a page of 512 KiB, which is returned to the
/// system. Few slices have more than one such entry, so packets wait for less than 100 us.
pub(crate) const ENTRIES_CHANGED: usize = 8;
/// An entry that is changed costs a slice as much as so many that are only visited.
pub(crate) const CHANGED_COUNTS: usize = ENTRIES_REPORTED / ENTRIES_CHANGED;

/// A position in a walk over the entries of tables. An entry that exists throughout the walk is
/// visited exactly once, because keys do not change while a cursor is in their table.
#[derive(Clone)]
pub struct Cursor {
    tables: RangeInclusive<u8>,
    from: EntryKey,
    label: Option<Label>,
    /// Held while the cursor is in a table; the table keeps its keys as long as it exists.
    walk: Option<Arc<()>>,
}

impl Cursor {
    /// A cursor at the beginning of one table, or of all tables.
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

    /// A cursor after the last entry of all tables.
    fn after_all() -> Self {
        Self {
            tables: RangeInclusive::new(1, 0),
            ..Self::new(TableId::ALL)
        }
    }

    /// Lets the walk skip entries that lack a label.
    pub fn of(self, label: Option<Label>) -> Self {
        Self { label, ..self }
    }

    /// Returns true if it is past the place of an entry, in the order in which `engine` walks.
    ///
    /// A change of an entry that a walk has passed is not seen by the walk, even if it goes on
    /// later.
    pub fn has_passed(&self, table: TableId, key: EntryKey, engine: Engine) -> bool {
        let here = *self.tables.start();
        if self.tables.is_empty() || table.0 < here {
            return true;
        }
        if table.0 > here {
            return false;
        }
        // The plain scan walks in the order of lookups, all others by slot.
        if engine == Engine::Reference {
            key < self.from
        } else {
            key.slot < self.from.slot
        }
    }

    /// Visits one slice of at most `limit` entries, of which it shows those in the view that
    /// `view_of` chooses; `see` returns as how many more the entry counts. Returns true if that was
    /// the last slice.
    pub(crate) fn slice<'a>(
        &mut self,
        limit: usize,
        tables: &'a [Table],
        view_of: impl Fn(&Table) -> View,
        mut see: impl FnMut(TableId, &'a Entry) -> usize,
    ) -> bool {
        let mut left = limit;
        while let Some(number) = self.tables.clone().next() {
            let Some(table) = tables.get(usize::from(number)) else {
                break;
            };
            let view = view_of(table);
            for (key, entry) in table.entries_of(self.label, self.from) {
                if left == 0 {
                    self.from = key;
                    // Until the next slice, the table is not compacted.
                    self.walk = Some(Arc::clone(&table.walks));
                    return false;
                }
                // Also entries outside of the view cost time, so they count, too.
                left = left.saturating_sub(1 + places(&entry.instructions));
                if view.has(entry) {
                    left = left.saturating_sub(see(TableId(number), entry));
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

/// The change of each entry that a bulk change selects.
pub(crate) enum EntryChange {
    /// Removes it; the flag says whether FLOW_REMOVED may be sent.
    Delete(FlowRemovedReason, bool),
    /// Gives it these instructions, with or without resetting its counters; and the flow-mod to add
    /// if no entry is selected.
    Modify {
        instructions: Instructions,
        reset: bool,
        or_add: Option<Box<FlowMod>>,
    },
    /// Adds the flow-mod's entry if none is selected, since these would overlap with it.
    Add(Box<FlowMod>),
    /// Places it in the table's order of eviction.
    #[cfg_attr(not(feature = "filling"), allow(dead_code))]
    Rank,
}

/// A change in progress.
pub(crate) struct BulkChange {
    cursor: Cursor,
    finds: Box<dyn Fn(&Entry) -> bool>,
    pub(crate) change: EntryChange,
    /// True if it has selected any.
    pub(crate) found: bool,
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

    /// A change that has visited all entries and has only to end.
    pub(crate) fn ending(change: EntryChange) -> Self {
        Self {
            cursor: Cursor::after_all(),
            finds: Box::new(|_| false),
            change,
            found: false,
        }
    }

    /// Returns true if one slice is enough. It stays at its beginning.
    ///
    /// Nothing is changed: the entries that it finds are found again when the work begins.
    pub(crate) fn is_short(&mut self, tables: &[Table]) -> bool {
        let start = self.cursor.clone();
        let (is_short, _) = self.slice(tables);
        self.cursor = start;
        is_short
    }

    /// Visits the next slice of entries. Returns whether it was the last, and the entries selected.
    pub(crate) fn slice(&mut self, tables: &[Table]) -> (bool, Vec<(TableId, EntryKey)>) {
        let mut found = Vec::new();
        let finds = &self.finds;
        let see = |table, entry: &Entry| {
            if !finds(entry) {
                return 0;
            }
            found.push((table, entry.key));
            CHANGED_COUNTS - 1
        };
        let cursor = &mut self.cursor;
        let last = cursor.slice(ENTRIES_REPORTED, tables, Table::changed_view, see);
        (last, found)
    }

    /// Lets the change skip entries that lack a label.
    pub(crate) fn of(self, label: Option<Label>) -> Self {
        Self {
            cursor: self.cursor.of(label),
            ..self
        }
    }
}
