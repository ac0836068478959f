//! What tables can do, told and changed. Spec: OpenFlow 1.3.5 section 7.3.5.5.

use alloc::{vec, vec::Vec};

use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::TableFeaturesFailed;
use bofuss_oflib::message::FlowRemovedReason;
use bofuss_oflib::message::multipart::TableFeatures;
use bofuss_oflib::message::multipart::table_features::{PropertyList, TableFeatureSet};
use bofuss_oflib::message::table_mod::TableMiss;
use bofuss_oflib::types::TableId;

use crate::control::bulk_change::{BulkChange, EntryChange};
use crate::tables::features::Abilities;
use crate::{Datapath, Sink, Time};

impl Datapath {
    /// Whether the pipeline has a table.
    pub fn has_table(&self, table: TableId) -> bool {
        self.pipeline.has_table(table)
    }

    /// What each table of the pipeline can do.
    pub fn table_features(&self) -> Vec<TableFeatures> {
        self.pipeline
            .table_abilities
            .iter()
            .flatten()
            .map(Abilities::to_features)
            .collect()
    }

    /// Number, name and size of each table of the pipeline.
    pub fn table_heads(&self) -> impl Iterator<Item = &TableFeatureSet> {
        self.pipeline
            .table_abilities
            .iter()
            .flatten()
            .map(|abilities| &abilities.head)
    }

    /// The most entries of a table.
    pub(crate) fn max_entries(&self, table: TableId) -> usize {
        let abilities = self.pipeline.table_abilities[usize::from(table.0)].as_ref();
        abilities.map_or(0, |abilities| abilities.head.max_entries as usize)
    }

    /// The pipeline that `wanted` asks for.
    ///
    /// Errors: TABLE_FEATURES_FAILED with BAD_TABLE, BAD_METADATA, BAD_TYPE or BAD_ARGUMENT.
    fn shaped(&self, wanted: &[TableFeatures]) -> Result<Vec<Option<Abilities>>, ErrorCode> {
        let bad_table = TableFeaturesFailed::BAD_TABLE;
        let mut table_abilities = vec![None; self.pipeline.table_abilities.len()];
        for TableFeatures(wanted) in wanted {
            let number = usize::from(wanted.table_id.0);
            let bound = self
                .pipeline
                .max_abilities
                .get(number)
                .and_then(Option::as_ref);
            let bound = bound.ok_or(bad_table)?;
            let present = self.pipeline.table_abilities[number]
                .as_ref()
                .unwrap_or(bound);
            let abilities = present.changed(wanted, bound)?;
            if table_abilities[number].replace(abilities).is_some() {
                return Err(bad_table);
            }
        }
        if table_abilities[0].is_none() {
            return Err(bad_table);
        }
        let lists = table_abilities
            .iter()
            .flatten()
            .flat_map(|abilities| &abilities.next);
        for list in lists {
            if let PropertyList::Tables(next) = list
                && next
                    .iter()
                    .any(|table| table_abilities[usize::from(table.0)].is_none())
            {
                return Err(bad_table);
            }
        }
        Ok(table_abilities)
    }

    /// Sets the pipeline of a new datapath. No controller may ask for more.
    ///
    /// Errors: TABLE_FEATURES_FAILED with BAD_TABLE, BAD_METADATA, BAD_TYPE or BAD_ARGUMENT.
    pub fn set_profile(&mut self, tables: &[TableFeatures]) -> Result<(), ErrorCode> {
        self.pipeline.table_abilities = self.shaped(tables)?;
        self.pipeline.max_abilities = self.pipeline.table_abilities.clone();
        Ok(())
    }

    /// Makes the pipeline that of `wanted`, or changes nothing: what is not named there is no
    /// longer a table, and what can no longer do the same loses its entries without FLOW_REMOVED.
    ///
    /// Errors: TABLE_FEATURES_FAILED with BAD_TABLE, BAD_METADATA, BAD_TYPE or BAD_ARGUMENT.
    pub fn set_table_features<S: Sink>(
        &mut self,
        now: Time,
        wanted: &[TableFeatures],
        sink: &mut S,
    ) -> Result<(), ErrorCode> {
        let table_abilities = self.shaped(wanted)?;
        let before = core::mem::replace(&mut self.pipeline.table_abilities, table_abilities);
        for (number, old) in before.iter().enumerate() {
            let same = match (old, &self.pipeline.table_abilities[number]) {
                (Some(old), Some(new)) => new.is_as_able_as(old),
                _ => false,
            };
            if !same {
                let gone = EntryChange::Delete(FlowRemovedReason::DELETE, false);
                self.bulk_changes
                    .push_back(BulkChange::new(TableId(number as u8), |_| true, gone));
            }
        }
        self.work(now, sink).unwrap_or(Ok(()))
    }

    /// Keeps the configuration of a table, or of all, and what becomes there of packets without an
    /// entry.
    pub fn configure_table(&mut self, table: TableId, config: u32, miss: TableMiss) {
        for abilities in self.pipeline.table_abilities.iter_mut().flatten() {
            let number = abilities.head.table_id;
            if table == TableId::ALL || table == number {
                abilities.head.config = config;
                self.pipeline.tables[usize::from(number.0)].miss = miss;
            }
        }
        // Known flows of packets without an entry may be wrong now.
        let Self { pipeline, lane, .. } = self;
        let catalogue = &pipeline.catalogue;
        lane.cache.forget_all(catalogue, &mut pipeline.tables);
    }
}
