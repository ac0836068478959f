//! Which tables the pipeline has, with which features, and where the egress tables begin.
//!
//! A controller changes the shape by table features; `most` is the bound within which it may, which
//! is what the switch was started with. The shape knows no entries: `control/features.rs` removes
//! those that no longer fit.

use alloc::{vec, vec::Vec};

use bofuss_oflib::error::{BadAction, BadInstruction, TableFeaturesFailed};
use bofuss_oflib::field::PACKET_TYPE;
use bofuss_oflib::message::multipart::TableFeatures;
use bofuss_oflib::message::multipart::table_features::{
    PropertyList, TableFeatureFlags, TableFeatureSet, TableFeaturesCommand,
};
use bofuss_oflib::message::{FlowMod, FlowModCommand};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, Catalogue, ErrorCode, Instruction, Match};

use crate::Config;
use crate::tables::features::{Abilities, NEXT_TABLES, WRITE_ACTIONS, everything};

/// The types of the actions that choose a packet's output: output and group.
const OUTPUTS: [u16; 2] = [0, 22];

/// The shape of the pipeline.
#[derive(Clone)]
pub struct PipelineShape {
    /// The features of each table; `None` if it is not in the pipeline.
    tables: Vec<Option<Abilities>>,
    /// The most features that each table can be given.
    most: Vec<Option<Abilities>>,
    /// The first egress table, if there are egress tables.
    pub first_egress: Option<TableId>,
}

impl PipelineShape {
    /// All tables, with all features.
    pub(crate) fn new(config: &Config, catalogue: &Catalogue) -> Self {
        let tables = everything(config, catalogue);
        Self {
            most: tables.clone(),
            tables,
            first_egress: None,
        }
    }

    /// Returns true if the pipeline has a table.
    pub fn has_table(&self, table: TableId) -> bool {
        matches!(self.tables.get(usize::from(table.0)), Some(Some(_)))
    }

    /// Returns true if a table is an egress table.
    pub(crate) fn is_egress(&self, table: TableId) -> bool {
        self.first_egress.is_some_and(|first| table >= first)
    }

    /// Returns true if a goto-table from one table to another is allowed: the other exists and is
    /// in the same stage.
    ///
    /// That the number increases is not checked here: the next tables in a table's features see to
    /// it.
    pub(crate) fn joins(&self, from: TableId, to: TableId) -> bool {
        self.has_table(to) && self.is_egress(from) == self.is_egress(to)
    }

    /// Returns how many tables it may have.
    pub(crate) fn n_tables(&self) -> usize {
        self.tables.len()
    }

    /// The features of each table of the pipeline.
    pub fn features(&self) -> Vec<TableFeatures> {
        let tables = self.tables.iter().flatten();
        tables.map(|abilities| self.reported(abilities)).collect()
    }

    /// The number, name and size of each table of the pipeline.
    pub fn heads(&self) -> impl Iterator<Item = &TableFeatureSet> {
        let tables = self.tables.iter().flatten();
        tables.map(|abilities| &abilities.head)
    }

    /// Sets the configuration bits of a table, or of all. Returns the tables that there are.
    pub(crate) fn configure(&mut self, table: TableId, config: u32) -> Vec<TableId> {
        let mut configured = Vec::new();
        for abilities in self.tables.iter_mut().flatten() {
            let number = abilities.head.table_id;
            if table == TableId::ALL || table == number {
                abilities.head.config = config;
                configured.push(number);
            }
        }
        configured
    }

    /// The most entries that a table may have.
    ///
    /// 0 for a table that is not in the pipeline.
    ///
    /// Panics: if the switch has no table with this number at all.
    pub(crate) fn max_entries(&self, table: TableId) -> usize {
        let abilities = self.tables[usize::from(table.0)].as_ref();
        abilities.map_or(0, |abilities| abilities.head.max_entries as usize)
    }

    /// Returns true if a table has the same features as in another shape, apart from name and
    /// configuration, and is in the same stage; so its entries are still valid.
    pub(crate) fn keeps(&self, table: TableId, other: &Self) -> bool {
        let place = usize::from(table.0);
        let same = match (&other.tables[place], &self.tables[place]) {
            (Some(old), Some(new)) => new.is_as_able_as(old),
            _ => false,
        };
        same && other.is_egress(table) == self.is_egress(table)
    }

    /// Returns true if controllers may request the same of both, names included.
    pub(crate) fn has_same_limits(&self, other: &Self) -> bool {
        self.most.len() == other.most.len()
            && self.most.iter().zip(&other.most).all(|pair| match pair {
                (Some(one), Some(other)) => one.is_as_able_as(other) && one.head == other.head,
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            })
    }

    /// Makes this the most that controllers may request.
    ///
    /// For a profile: what the operator has described is all that controllers can ask for.
    pub(crate) fn limited(self) -> Self {
        Self {
            most: self.tables.clone(),
            ..self
        }
    }

    /// The features of a table as they are reported: only with next tables that exist, and in its
    /// stage.
    ///
    /// A next table that is missing now is left out but not forgotten, since it may be enabled
    /// again.
    fn reported(&self, abilities: &Abilities) -> TableFeatures {
        let mut reported = abilities.to_features();
        let number = abilities.head.table_id;
        if self.first_egress == Some(number) {
            reported.0.features.0 |= TableFeatureFlags::FIRST_EGRESS.0;
        }
        for property in &mut reported.0.properties {
            let kind = property.ty & !1;
            if let PropertyList::Tables(next) = &mut property.list {
                next.retain(|next| kind != NEXT_TABLES || self.joins(number, *next));
            }
            let is_chosen = kind == WRITE_ACTIONS && self.is_egress(number);
            if let PropertyList::Types(types) = &mut property.list {
                types.retain(|id| !is_chosen || !OUTPUTS.contains(&id.ty));
            }
        }
        reported
    }

    /// Checks a flow-mod against the features of its table. A table that is not in the pipeline is
    /// not checked, as with ALL; the caller looks for it.
    ///
    /// Errors: a BAD_MATCH, BAD_INSTRUCTION or BAD_ACTION.
    pub(crate) fn check(&self, flow_mod: &FlowMod) -> Result<(), ErrorCode> {
        let Some(Some(abilities)) = self.tables.get(usize::from(flow_mod.table_id.0)) else {
            return Ok(());
        };
        abilities.check_match(&flow_mod.fields)?;
        if flow_mod.deletes() {
            return Ok(());
        }
        let any = is_of_all(&flow_mod.fields);
        let loose = flow_mod.command == FlowModCommand::MODIFY;
        // The table-miss entry has features of its own, which may allow less.
        let miss = any && (flow_mod.priority == 0 || loose);
        if flow_mod.command == FlowModCommand::ADD && !miss {
            abilities.check_omitted(&flow_mod.fields)?;
        }
        for instruction in flow_mod.instructions.list() {
            self.check_stage(flow_mod.table_id, instruction)?;
            // A modify that covers all entries must be valid for each.
            if !miss || loose {
                abilities.check_instruction(instruction, 0)?;
            }
            if miss {
                abilities.check_instruction(instruction, 1)?;
            }
        }
        Ok(())
    }

    /// Checks an instruction of an entry against the stage of its table.
    ///
    /// Errors: BAD_INSTRUCTION/BAD_TABLE_ID for a table of the other stage, BAD_ACTION/BAD_TYPE for
    /// an output or a group in the action set of an egress table, whose output is already chosen.
    fn check_stage(&self, table: TableId, instruction: &Instruction) -> Result<(), ErrorCode> {
        if self.first_egress.is_none() {
            return Ok(());
        }
        if matches!(instruction, Instruction::GotoTable(next) if !self.joins(table, *next)) {
            return Err(BadInstruction::BAD_TABLE_ID);
        }
        let is_output = |action: &Action| matches!(action, Action::Output(_) | Action::Group(_));
        if let Instruction::WriteActions(actions) = instruction {
            if self.is_egress(table) && actions.iter().any(is_output) {
                return Err(BadAction::BAD_TYPE);
            }
        }
        Ok(())
    }

    /// Computes the requested pipeline.
    ///
    /// All descriptions of a request are for one command. REPLACE describes the whole pipeline, and
    /// a table that it does not name is not part of it; other commands are about the named tables
    /// alone. Spec: OpenFlow 1.5.1 section 7.3.5.18.
    ///
    /// Errors: TABLE_FEATURES_FAILED with BAD_TABLE, BAD_METADATA, BAD_TYPE, BAD_ARGUMENT, BAD_CAP,
    /// BAD_FEATURES, BAD_COMMAND or TOO_MANY.
    pub(crate) fn changed(&self, wanted: &[TableFeatures]) -> Result<Self, ErrorCode> {
        let present = &self.tables;
        let command = wanted.first().map(|one| one.0.command).unwrap_or_default();
        if wanted.iter().any(|one| one.0.command != command) {
            return Err(TableFeaturesFailed::BAD_COMMAND);
        }
        if wanted.len() > present.len() && command != TableFeaturesCommand::REPLACE {
            return Err(TableFeaturesFailed::TOO_MANY);
        }
        let mut shape = self.clone();
        if command == TableFeaturesCommand::REPLACE {
            shape.tables.fill(None);
            shape.first_egress = None;
        }
        let mut seen = vec![false; present.len()];
        for TableFeatures(wanted) in wanted {
            let number = usize::from(wanted.table_id.0);
            let bound = self.most.get(number).and_then(Option::as_ref);
            let bound = bound.ok_or(TableFeaturesFailed::BAD_TABLE)?;
            // Choice: a table that is described twice is refused, as either description could be
            // meant.
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
        shape.validate(command)?;
        Ok(shape)
    }

    /// Finds the first egress table in a request; `seen` are the tables that it names.
    ///
    /// A request that describes the first egress table without the flag takes the flag from it.
    ///
    /// Errors: TABLE_FEATURES_FAILED/BAD_FEATURES if there are several.
    fn choose_first_egress(
        &mut self,
        wanted: &[TableFeatures],
        seen: &[bool],
    ) -> Result<(), ErrorCode> {
        let is_seen = |first: TableId| seen[usize::from(first.0)];
        if self.first_egress.is_some_and(is_seen) {
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
    /// It looks at the whole pipeline, because a table is valid or not together with the others: it
    /// may have become an egress table without being named.
    ///
    /// Errors: TABLE_FEATURES_FAILED with BAD_TABLE or BAD_FEATURES.
    fn validate(&mut self, command: TableFeaturesCommand) -> Result<(), ErrorCode> {
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
            let is_missing = |table: &TableId| self.tables[usize::from(table.0)].is_none();
            for list in &abilities.next {
                if matches!(list, PropertyList::Tables(next) if next.iter().any(is_missing)) {
                    return Err(TableFeaturesFailed::BAD_TABLE);
                }
            }
        }
        Ok(())
    }
}

/// Returns true if a match covers all packets of a packet type.
fn is_of_all(fields: &Match) -> bool {
    fields.fields().iter().all(|one| one.field == PACKET_TYPE)
}
