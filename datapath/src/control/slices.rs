//! Changes in progress: begun, and continued in slices.

use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::FlowModFailed;
use bofuss_oflib::types::TableId;

use crate::control::bulk_change::{BulkChange, EntryChange};
use crate::control::entries::EntryEdit;
use crate::control::staged_bundle::StagedBundle;
use crate::frame_engine::FrameEngine;
use crate::{Datapath, EntryKey, Sink, Time};

impl<E: FrameEngine> Datapath<E> {
    /// Whether a change is in progress that [`Datapath::work`] continues. Other changes of the
    /// switch have to wait for it; packets do not.
    pub fn has_work(&self) -> bool {
        let bundle = self.bundle.as_ref();
        !self.bulk_changes.is_empty()
            || !self.deleted.is_empty()
            || bundle.is_some_and(StagedBundle::has_work)
    }

    /// Does one slice of the change in progress. Returns `None` if more remains to be done.
    ///
    /// Errors: FLOW_MOD_FAILED with OVERLAP or TABLE_FULL, for the flow-mod that began it.
    pub fn work<S: Sink>(&mut self, now: Time, sink: &mut S) -> Option<Result<(), ErrorCode>> {
        if !self.deleted.is_empty() {
            self.deleted.go_on(&mut self.pipeline);
            return None;
        }
        let Some(mut bulk) = self.bulk_changes.pop_front() else {
            return self.work_on_bundle(now, sink).then_some(Ok(()));
        };
        let (last, found) = bulk.slice(&self.pipeline.tables);
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
                self.editor().edit(table, EntryEdit::Remove(key, *reason));
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
        if let Some((bundle, mut editor)) = self.staging() {
            bundle.modify(&mut editor, table, key, instructions, reset);
        } else {
            let edit = EntryEdit::Instruct(now, key, instructions, reset);
            self.editor().edit(table, edit);
        }
        Ok(())
    }

    /// Ends a change; `Modify` and `Add` may now add an entry. Errors: FLOW_MOD_FAILED/TABLE_FULL.
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

    /// Begins a change, and completes it if one slice is enough. Otherwise
    /// nothing has changed when this returns, so that reads in progress may end first.
    ///
    /// Errors: as for [`Datapath::work`].
    pub(crate) fn begin_bulk_change<S: Sink>(
        &mut self,
        now: Time,
        mut bulk: BulkChange,
        sink: &mut S,
    ) -> Result<(), ErrorCode> {
        let is_short = bulk.is_short(&self.pipeline.tables);
        self.bulk_changes.push_back(bulk);
        if is_short && self.deleted.is_empty() {
            self.work(now, sink).unwrap_or(Ok(()))
        } else {
            Ok(())
        }
    }
}
