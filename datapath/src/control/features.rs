//! Changes of the tables' features. Spec: OpenFlow 1.3.5 section 7.3.5.5.

use alloc::vec::Vec;

use bofuss_oflib::message::FlowRemovedReason;
use bofuss_oflib::message::multipart::TableFeatures;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{ErrorCode, Instruction};

use crate::Sink;
use crate::control::Control;
use crate::control::bulk_change::{BulkChange, EntryChange};
use crate::frame_engine::FrameEngine;

impl<S: Sink, E: FrameEngine> Control<'_, S, E> {
    /// Changes the pipeline to `wanted`, or changes nothing. A table whose features or stage change
    /// loses its entries without FLOW_REMOVED, and so do entries with a goto-table that is no
    /// longer allowed. Tables that are not named are removed from the pipeline or stay unchanged,
    /// depending on the command. Spec: OpenFlow 1.5.1 section 7.3.5.18.
    ///
    /// Errors: TABLE_FEATURES_FAILED with BAD_TABLE, BAD_METADATA, BAD_TYPE, BAD_ARGUMENT, BAD_CAP,
    /// BAD_FEATURES, BAD_COMMAND or TOO_MANY.
    pub fn set_table_features(&mut self, wanted: &[TableFeatures]) -> Result<(), ErrorCode> {
        let shape = self.cx.pipeline.shape.changed(wanted)?;
        // The new shape holds at once: nothing can be added that would not fit, while entries that
        // do not fit are removed in slices.
        let before = core::mem::replace(&mut self.cx.pipeline.shape, shape);
        let after = &self.cx.pipeline.shape;
        let gone = || EntryChange::Delete(FlowRemovedReason::DELETE, false);
        for table in (0..after.n_tables() as u8).map(TableId) {
            if !after.keeps(table, &before) {
                let all = BulkChange::new(table, |_| true, gone());
                self.changes.bulk.push_back(all);
                continue;
            }
            let all = (0..after.n_tables() as u8).map(TableId);
            let next: Vec<TableId> = all.filter(|to| after.joins(table, *to)).collect();
            // Packets of these entries would continue in a table that is not there, or of the other
            // stage.
            let goes_nowhere = BulkChange::new(
                table,
                move |entry| {
                    let last = entry.instructions.list().last();
                    matches!(last, Some(Instruction::GotoTable(table)) if !next.contains(table))
                },
                gone(),
            );
            self.changes.bulk.push_back(goes_nowhere);
        }
        // Cached paths end with an output, which leads through egress tables only if there are
        // some.
        if before.first_egress != after.first_egress {
            self.forget_flows();
        }
        self.work().unwrap_or(Ok(()))
    }
}
