//! Changes in progress: begun, and continued in slices.
//!
//! Each slice is short, so that packets are handled in between: see the constants of
//! `bulk_change.rs`. The agent calls [`Control::work`] until nothing is left. `Changes` has
//! everything that is in progress: deleted groups and meters are freed first, then come changes of
//! many entries, then the end of a bundle.

use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::FlowModFailed;
use bofuss_oflib::types::TableId;

use crate::control::Control;
use crate::control::bulk_change::{BulkChange, EntryChange};
use crate::control::entries::EntryEdit;
use crate::frame_engine::FrameEngine;
use crate::{EntryKey, Sink};

impl<S: Sink, E: FrameEngine> Control<'_, S, E> {
    /// Does one slice of the change in progress. Returns `None` if more remains to be done.
    ///
    /// `Some` means that the change is complete, also if there was none. An error comes before any
    /// entry has changed: only an addition can fail, and it follows a search.
    ///
    /// Errors: FLOW_MOD_FAILED with OVERLAP or TABLE_FULL, for the flow-mod that began it.
    pub fn work(&mut self) -> Option<Result<(), ErrorCode>> {
        let done = self.slice();
        #[cfg(feature = "wanted")]
        if let Some(done) = done {
            self.conclude_wanted(done);
        }
        done
    }

    /// Does one slice, as [`Self::work`] says.
    fn slice(&mut self) -> Option<Result<(), ErrorCode>> {
        if !self.changes.deleted.is_empty() {
            self.changes.deleted.go_on(self.cx.pipeline);
            return None;
        }
        let Some(mut bulk) = self.changes.bulk.pop_front() else {
            return self.work_on_bundle().then_some(Ok(()));
        };
        // The walk borrows the tables, so the entries of a slice are found before the first is
        // changed.
        let (last, found) = bulk.slice(&self.cx.pipeline.tables);
        bulk.found |= !found.is_empty();
        for (table, key) in found {
            if let Err(error) = self.change_entry(table, key, &bulk.change) {
                return Some(Err(error));
            }
        }
        if !last {
            self.changes.bulk.push_front(bulk);
            return None;
        }
        let result = self.end_change(bulk.change, bulk.found);
        self.changes.bulk.is_empty().then_some(result)
    }

    /// Applies a change to an entry. Errors: FLOW_MOD_FAILED/OVERLAP.
    pub(crate) fn change_entry(
        &mut self,
        table: TableId,
        key: EntryKey,
        change: &EntryChange,
    ) -> Result<(), ErrorCode> {
        let (instructions, reset) = match change {
            EntryChange::Delete(reason, true) => {
                self.remove_entry(table, key, *reason);
                return Ok(());
            }
            EntryChange::Delete(reason, false) => {
                self.editor().edit(table, EntryEdit::Remove(key, *reason));
                return Ok(());
            }
            // The change selects the entries with which the new entry would overlap.
            EntryChange::Add(_) => return Err(FlowModFailed::OVERLAP),
            EntryChange::Rank => {
                let in_table = &mut self.cx.pipeline.tables[usize::from(table.0)];
                in_table.eviction.insert(&in_table.entries[key.slot]);
                return Ok(());
            }
            EntryChange::Modify {
                instructions,
                reset,
                ..
            } => (instructions, *reset),
        };
        // A prepared bundle makes a second entry with the other instructions, for the view after
        // it.
        if let Some((bundle, mut editor)) = self.staging() {
            bundle.modify(&mut editor, table, key, instructions, reset);
        } else {
            let edit = EntryEdit::Instruct(self.cx.now, key, instructions, reset);
            self.editor().edit(table, edit);
        }
        Ok(())
    }

    /// Ends a change; `Modify` and `Add` may now add an entry. Errors: FLOW_MOD_FAILED/TABLE_FULL.
    ///
    /// Only now is it known that nothing overlaps, or that nothing was there to be modified.
    pub(crate) fn end_change(&mut self, change: EntryChange, found: bool) -> Result<(), ErrorCode> {
        match change {
            EntryChange::Add(flow_mod) => self.add_entry(&flow_mod),
            EntryChange::Modify {
                or_add: Some(flow_mod),
                ..
            } if !found => self.add_entry(&flow_mod),
            EntryChange::Delete(..) | EntryChange::Modify { .. } | EntryChange::Rank => Ok(()),
        }
    }

    /// Begins a change, and completes it if one slice is enough. Otherwise
    /// nothing has changed when this returns, so that reads in progress may end first.
    ///
    /// Most changes concern few entries, and are done when the call returns.
    ///
    /// Errors: as for [`Self::work`].
    pub(crate) fn begin_bulk_change(&mut self, mut bulk: BulkChange) -> Result<(), ErrorCode> {
        let is_short = bulk.is_short(&self.cx.pipeline.tables);
        self.changes.bulk.push_back(bulk);
        // Deleted groups are freed first: the change might concern entries that use them.
        if is_short && self.changes.deleted.is_empty() {
            self.work().unwrap_or(Ok(()))
        } else {
            Ok(())
        }
    }
}
