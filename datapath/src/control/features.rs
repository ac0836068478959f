//! Table features: reported and changed. Spec: OpenFlow 1.3.5 section 7.3.5.5.

use alloc::{vec, vec::Vec};

use bofuss_oflib::error::{BadAction, BadInstruction, TableFeaturesFailed};
use bofuss_oflib::message::FlowRemovedReason;
use bofuss_oflib::message::multipart::TableFeatures;
use bofuss_oflib::message::multipart::table_features::{
    PropertyList, TableFeatureFlags, TableFeatureSet, TableFeaturesCommand,
};
use bofuss_oflib::message::table_mod::TableMiss;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, ErrorCode, Instruction};

use crate::control::bulk_change::{BulkChange, EntryChange};
use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Pipeline;
use crate::tables::features::{Abilities, NEXT_TABLES, WRITE_ACTIONS};
use crate::{Datapath, Sink, Time};

/// The types of the actions that choose a packet's output: output and group.
const OUTPUTS: [u16; 2] = [0, 22];

/// A requested pipeline.
struct PipelineShape {
    tables: Vec<Option<Abilities>>,
    first_egress: Option<TableId>,
}

impl PipelineShape {
    /// Finds the first egress table in a request; `seen` are the tables that it names.
    ///
    /// Errors: TABLE_FEATURES_FAILED/BAD_FEATURES if there are several.
    fn choose_first_egress(
        &mut self,
        wanted: &[TableFeatures],
        seen: &[bool],
    ) -> Result<(), ErrorCode> {
        if self
            .first_egress
            .is_some_and(|first| seen[usize::from(first.0)])
        {
            self.first_egress = None;
        }
        let mut first = wanted
            .iter()
            .filter(|one| one.0.features.has(TableFeatureFlags::FIRST_EGRESS));
        if let Some(one) = first.next() {
            self.first_egress = Some(one.0.table_id);
        }
        match first.next() {
            None => Ok(()),
            Some(_) => Err(TableFeaturesFailed::BAD_FEATURES),
        }
    }

    /// Checks that there is a table 0, and that each table is valid in its stage.
    ///
    /// Errors: TABLE_FEATURES_FAILED with BAD_TABLE or BAD_FEATURES.
    fn check(&mut self, command: TableFeaturesCommand) -> Result<(), ErrorCode> {
        if self.tables[0].is_none() {
            return Err(TableFeaturesFailed::BAD_TABLE);
        }
        let first = self.first_egress;
        if first.is_some_and(|first| self.tables[usize::from(first.0)].is_none()) {
            self.first_egress = None;
        }
        for abilities in self.tables.iter().flatten() {
            let number = abilities.head.table_id;
            let stage = match self.first_egress {
                Some(first) if number >= first => TableFeatureFlags::EGRESS_TABLE,
                Some(_) | None => TableFeatureFlags::INGRESS_TABLE,
            };
            if !abilities.head.features.has(stage) {
                return Err(TableFeaturesFailed::BAD_FEATURES);
            }
            if command != TableFeaturesCommand::REPLACE {
                continue;
            }
            for list in &abilities.next {
                if let PropertyList::Tables(next) = list
                    && { next.iter() }.any(|table| self.tables[usize::from(table.0)].is_none())
                {
                    return Err(TableFeaturesFailed::BAD_TABLE);
                }
            }
        }
        Ok(())
    }
}

impl<E: FrameEngine> Pipeline<E> {
    /// The features of a table as they are reported: only with next tables that exist, and in its
    /// stage.
    fn reported(&self, abilities: &Abilities) -> TableFeatures {
        let mut reported = abilities.to_features();
        let number = abilities.head.table_id;
        if self.first_egress == Some(number) {
            reported.0.features.0 |= TableFeatureFlags::FIRST_EGRESS.0;
        }
        for property in &mut reported.0.properties {
            let kind = property.ty & !1;
            if let PropertyList::Tables(next) = &mut property.list
                && kind == NEXT_TABLES
            {
                next.retain(|next| self.joins(number, *next));
            }
            if let PropertyList::Types(types) = &mut property.list
                && kind == WRITE_ACTIONS
                && self.is_egress(number)
            {
                types.retain(|id| !OUTPUTS.contains(&id.ty));
            }
        }
        reported
    }

    /// Checks an instruction of an entry against the stage of its table.
    ///
    /// Errors: BAD_INSTRUCTION/BAD_TABLE_ID for a table of the other stage, BAD_ACTION/BAD_TYPE for
    /// an output or a group in the action set of an egress table, whose output is already chosen.
    pub(crate) fn check_stage(
        &self,
        table: TableId,
        instruction: &Instruction,
    ) -> Result<(), ErrorCode> {
        if self.first_egress.is_none() {
            return Ok(());
        }
        if let Instruction::GotoTable(next) = instruction
            && !self.joins(table, *next)
        {
            return Err(BadInstruction::BAD_TABLE_ID);
        }
        if let Instruction::WriteActions(actions) = instruction
            && self.is_egress(table)
        {
            for action in actions {
                if matches!(action, Action::Output(_) | Action::Group(_)) {
                    return Err(BadAction::BAD_TYPE);
                }
            }
        }
        Ok(())
    }
}

impl<E: FrameEngine> Datapath<E> {
    /// Whether the pipeline has a table.
    pub fn has_table(&self, table: TableId) -> bool {
        self.pipeline.has_table(table)
    }

    /// The features of each table of the pipeline.
    pub fn table_features(&self) -> Vec<TableFeatures> {
        self.pipeline
            .table_abilities
            .iter()
            .flatten()
            .map(|abilities| self.pipeline.reported(abilities))
            .collect()
    }

    /// The number, name and size of each table of the pipeline.
    pub fn table_heads(&self) -> impl Iterator<Item = &TableFeatureSet> {
        self.pipeline
            .table_abilities
            .iter()
            .flatten()
            .map(|abilities| &abilities.head)
    }

    /// The most entries that a table may have.
    pub(crate) fn max_entries(&self, table: TableId) -> usize {
        let abilities = self.pipeline.table_abilities[usize::from(table.0)].as_ref();
        abilities.map_or(0, |abilities| abilities.head.max_entries as usize)
    }

    /// Computes the requested pipeline and its first egress table.
    ///
    /// Errors: TABLE_FEATURES_FAILED with BAD_TABLE, BAD_METADATA, BAD_TYPE, BAD_ARGUMENT, BAD_CAP,
    /// BAD_FEATURES, BAD_COMMAND or TOO_MANY.
    fn shaped(&self, wanted: &[TableFeatures]) -> Result<PipelineShape, ErrorCode> {
        let present = &self.pipeline.table_abilities;
        let command = wanted.first().map(|one| one.0.command).unwrap_or_default();
        if wanted.iter().any(|one| one.0.command != command) {
            return Err(TableFeaturesFailed::BAD_COMMAND);
        }
        if wanted.len() > present.len() && command != TableFeaturesCommand::REPLACE {
            return Err(TableFeaturesFailed::TOO_MANY);
        }
        let mut shape = PipelineShape {
            tables: present.clone(),
            first_egress: self.pipeline.first_egress,
        };
        if command == TableFeaturesCommand::REPLACE {
            shape.tables.fill(None);
            shape.first_egress = None;
        }
        let mut seen = vec![false; present.len()];
        for TableFeatures(wanted) in wanted {
            let number = usize::from(wanted.table_id.0);
            let bound = self
                .pipeline
                .max_abilities
                .get(number)
                .and_then(Option::as_ref)
                .ok_or(TableFeaturesFailed::BAD_TABLE)?;
            if core::mem::replace(&mut seen[number], true) {
                return Err(TableFeaturesFailed::BAD_TABLE);
            }
            let known = present[number].as_ref();
            shape.tables[number] = match command {
                TableFeaturesCommand::DISABLE => None,
                TableFeaturesCommand::ENABLE => Some(known.unwrap_or(bound).clone()),
                TableFeaturesCommand::MODIFY => {
                    let known = known.ok_or(TableFeaturesFailed::BAD_TABLE)?;
                    Some(known.changed(wanted, bound)?)
                }
                TableFeaturesCommand::REPLACE => {
                    Some(known.unwrap_or(bound).changed(wanted, bound)?)
                }
                _ => return Err(TableFeaturesFailed::BAD_COMMAND),
            };
        }
        if matches!(
            command,
            TableFeaturesCommand::REPLACE | TableFeaturesCommand::MODIFY
        ) {
            shape.choose_first_egress(wanted, &seen)?;
        }
        shape.check(command)?;
        Ok(shape)
    }

    /// Sets the pipeline of a new datapath, which is also the most that controllers may request.
    ///
    /// Errors: TABLE_FEATURES_FAILED with BAD_TABLE, BAD_METADATA, BAD_TYPE, BAD_ARGUMENT, BAD_CAP,
    /// BAD_FEATURES, BAD_COMMAND or TOO_MANY.
    pub fn set_profile(&mut self, tables: &[TableFeatures]) -> Result<(), ErrorCode> {
        let shape = self.shaped(tables)?;
        self.pipeline.table_abilities = shape.tables;
        self.pipeline.first_egress = shape.first_egress;
        self.pipeline.max_abilities = self.pipeline.table_abilities.clone();
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
        let shape = self.shaped(wanted)?;
        let before = core::mem::replace(&mut self.pipeline.table_abilities, shape.tables);
        let first = core::mem::replace(&mut self.pipeline.first_egress, shape.first_egress);
        let gone = || EntryChange::Delete(FlowRemovedReason::DELETE, false);
        for (number, old) in before.iter().enumerate() {
            let table = TableId(number as u8);
            let same = match (old, &self.pipeline.table_abilities[number]) {
                (Some(old), Some(new)) => new.is_as_able_as(old),
                _ => false,
            };
            let was_egress = first.is_some_and(|first| table >= first);
            if !same || was_egress != self.pipeline.is_egress(table) {
                self.bulk_changes
                    .push_back(BulkChange::new(table, |_| true, gone()));
                continue;
            }
            let all = (0..before.len() as u8).map(TableId);
            let next: Vec<TableId> = all.filter(|to| self.pipeline.joins(table, *to)).collect();
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
        if first != self.pipeline.first_egress {
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
        for abilities in self.pipeline.table_abilities.iter_mut().flatten() {
            let number = abilities.head.table_id;
            if table == TableId::ALL || table == number {
                abilities.head.config = config;
                self.pipeline.tables[usize::from(number.0)].miss = miss;
            }
        }
        // Cached flows whose packets missed in this table may be wrong now.
        self.forget_flows();
    }
}
