//! Changes of the tables' features. Spec: OpenFlow 1.3.5 section 7.3.5.5.

use alloc::vec::Vec;

use bofuss_oflib::message::FlowRemovedReason;
use bofuss_oflib::message::multipart::TableFeatures;
use bofuss_oflib::message::table_mod::TableMiss;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{ErrorCode, Instruction};

use crate::control::bulk_change::{BulkChange, EntryChange};
use crate::frame_engine::FrameEngine;
use crate::tables::shape::PipelineShape;
use crate::{Datapath, Sink, Time};

impl<E: FrameEngine> Datapath<E> {
    /// Which tables the pipeline has, and with which features.
    pub fn shape(&self) -> &PipelineShape {
        &self.pipeline.shape
    }

    /// Sets the pipeline of a new datapath, which is also the most that controllers may request.
    ///
    /// Errors: TABLE_FEATURES_FAILED with BAD_TABLE, BAD_METADATA, BAD_TYPE, BAD_ARGUMENT, BAD_CAP,
    /// BAD_FEATURES, BAD_COMMAND or TOO_MANY.
    pub fn set_profile(&mut self, tables: &[TableFeatures]) -> Result<(), ErrorCode> {
        self.pipeline.shape = self.pipeline.shape.changed(tables)?.limited();
        Ok(())
    }

    /// Changes the pipeline to `wanted`, or changes nothing. A table whose features shrink or whose
    /// stage changes loses its entries without FLOW_REMOVED, and so do entries with a goto-table
    /// that is no longer allowed. Tables that are not named are removed from the pipeline or stay
    /// unchanged, depending on the command. Spec: OpenFlow 1.5.1 section 7.3.5.18.
    ///
    /// Errors: TABLE_FEATURES_FAILED with BAD_TABLE, BAD_METADATA, BAD_TYPE, BAD_ARGUMENT, BAD_CAP,
    /// BAD_FEATURES, BAD_COMMAND or TOO_MANY.
    pub fn set_table_features<S: Sink>(
        &mut self,
        now: Time,
        wanted: &[TableFeatures],
        sink: &mut S,
    ) -> Result<(), ErrorCode> {
        let shape = self.pipeline.shape.changed(wanted)?;
        let before = core::mem::replace(&mut self.pipeline.shape, shape);
        let after = &self.pipeline.shape;
        let gone = || EntryChange::Delete(FlowRemovedReason::DELETE, false);
        for table in (0..after.n_tables() as u8).map(TableId) {
            if !after.keeps(table, &before) {
                let all = BulkChange::new(table, |_| true, gone());
                self.bulk_changes.push_back(all);
                continue;
            }
            let all = (0..after.n_tables() as u8).map(TableId);
            let next: Vec<TableId> = all.filter(|to| after.joins(table, *to)).collect();
            let goes_nowhere = BulkChange::new(
                table,
                move |entry| {
                    let last = entry.instructions.list().last();
                    matches!(last, Some(Instruction::GotoTable(table)) if !next.contains(table))
                },
                gone(),
            );
            self.bulk_changes.push_back(goes_nowhere);
        }
        if before.first_egress != after.first_egress {
            self.forget_flows();
        }
        self.work(now, sink).unwrap_or(Ok(()))
    }

    /// Forgets all flows of the cache, because they may be wrong now.
    pub(crate) fn forget_flows(&mut self) {
        let Self { pipeline, lane, .. } = self;
        let catalogue = &pipeline.catalogue;
        E::forget_all(&mut lane.engine, catalogue, &mut pipeline.tables);
    }

    /// Sets the configuration and the miss behaviour of a table, or of all.
    pub fn configure_table(&mut self, table: TableId, config: u32, miss: TableMiss) {
        for number in self.pipeline.shape.configure(table, config) {
            self.pipeline.tables[usize::from(number.0)].miss = miss;
        }
        // Cached flows whose packets missed in this table may be wrong now.
        self.forget_flows();
    }
}
