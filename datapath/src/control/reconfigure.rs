//! Reconfiguration of a running datapath, which keeps its entries, groups, meters and ports.
//!
//! The new configuration comes as another datapath that was made with it. All entries are checked
//! against its pipeline before the running datapath is touched, so a configuration is taken over
//! whole or refused.

use bofuss_oflib::error::FlowModFailed;
use bofuss_oflib::message::FlowMod;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{ErrorCode, FieldSet};

use crate::control::Control;
use crate::control::ports::PortControl;
use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Pipeline;
use crate::slab::NONE;
use crate::tables::labels::LabelIndex;
use crate::tables::shape::PipelineShape;
use crate::{Config, Engine, EntryKey, Sink, Table};

/// The reason why a configuration is refused: a table, or all, and the error with which the switch
/// would refuse an entry that exists now.
pub type Obstacle = (TableId, ErrorCode);

/// Checks that the entries of `own` fit into `other`: see [`crate::Datapath::check_reconfigure`].
///
/// Errors: the first obstacle.
pub(crate) fn check<E: FrameEngine>(
    own: &Pipeline<E>,
    other: &mut Pipeline<E>,
) -> Result<(), Obstacle> {
    // The size of entries and lists does not depend on the configuration, only their limit does.
    if own.entry_places + own.instructions.places > other.config.max_total_entries as usize {
        return Err((TableId::ALL, FlowModFailed::TABLE_FULL));
    }
    if other.shape.has_same_limits(&own.shape) {
        return Ok(());
    }
    let shape = &mut other.shape;
    // A controller may have made tables egress tables, which the new configuration does not say;
    // the entries have to fit into these stages.
    let first_egress = own.shape.first_egress;
    let first_egress = first_egress.filter(|first| shape.has_table(*first));
    shape.first_egress = shape.first_egress.or(first_egress);
    check_entries(own, shape)
}

/// Errors: a table with an entry that a pipeline of this shape does not accept.
///
/// Each entry is checked as if a controller added it now. That takes long for full tables, which a
/// reconfiguration may, and it is left out if the limits are the same.
fn check_entries(own: &Pipeline<impl FrameEngine>, shape: &PipelineShape) -> Result<(), Obstacle> {
    for (number, table) in (0..).map(TableId).zip(&own.tables) {
        if table.is_empty() {
            continue;
        }
        if !shape.has_table(number) {
            return Err((number, FlowModFailed::BAD_TABLE_ID));
        }
        if table.len() > shape.max_entries(number) {
            return Err((number, FlowModFailed::TABLE_FULL));
        }
        for (_, entry) in table.entries(EntryKey::FIRST) {
            let mut add = FlowMod::add(entry.rule.to_match(&own.catalogue));
            add.table_id = number;
            add.priority = entry.key.priority.0;
            add.instructions = entry.instructions.clone();
            let checked = shape.check(&add);
            checked.map_err(|error| (number, error))?;
        }
    }
    Ok(())
}

impl<S: Sink, E: FrameEngine> Control<'_, S, E> {
    /// Takes over a configuration and its pipeline, as [`crate::Datapath::reconfigure`] says.
    pub(crate) fn reconfigure(&mut self, config: Config, shape: PipelineShape) {
        // With the same limits, what controllers have requested within them stays.
        if !shape.has_same_limits(&self.cx.pipeline.shape) {
            self.cx.pipeline.shape = shape;
            self.forget_flows();
        }
        self.change_engine(config.engine);
        let pipeline = &mut *self.cx.pipeline;
        // Hashes of existing tables depend on the secret, so the running switch keeps its own.
        let secret = pipeline.config.secret;
        let old_vlans = core::mem::take(&mut pipeline.config.port_vlans);
        pipeline.config = Config { secret, ..config };
        pipeline.bridge.reconfigure(&pipeline.config);
        let new_vlans = &pipeline.config.port_vlans;
        for port in old_vlans.keys().chain(new_vlans.keys()) {
            if old_vlans.get(port) != new_vlans.get(port) {
                // Stations were learned in VLANs that may not be the port's any more.
                pipeline.bridge.forget_stations(*port);
            }
        }
        let engine = pipeline.config.engine;
        let n_tables = pipeline.shape.n_tables();
        let new_table = || Table::new(E::classifier(engine, secret), engine);
        pipeline.tables.resize_with(n_tables, new_table);
        #[cfg(feature = "triggers")]
        pipeline.forget_triggers_from(n_tables);
        #[cfg(feature = "filling")]
        pipeline.forget_vacancies_from(n_tables);
        // Frames may be forwarded outside the switch as the groups choose now.
        E::groups_change(&mut self.cx.lane.engine, &mut pipeline.groups);
        for (id, group) in &mut pipeline.groups {
            let algorithm = pipeline.config.algorithm(*id);
            let seed = pipeline.config.seed;
            let selector = &mut group.selector;
            if (selector.algorithm, selector.seed) != (algorithm, seed) {
                // Slots do not depend on the algorithm, so buckets keep their shares.
                (selector.algorithm, selector.seed) = (algorithm, seed);
                selector.state = seed;
            }
        }
        PortControl::new(self.cx.reborrow()).change_disciplines();
    }

    /// Makes all tables use the classifier of `engine`, if that is another engine than before. The
    /// entries stay in their slots.
    pub(crate) fn change_engine(&mut self, engine: Engine) {
        let pipeline = &mut *self.cx.pipeline;
        if engine == core::mem::replace(&mut pipeline.config.engine, engine) {
            return;
        }
        let secret = pipeline.config.secret;
        for table in &mut pipeline.tables {
            move_to(table, Table::new(E::classifier(engine, secret), engine));
        }
        // A new table reads only the fields of its entries; the old one also read those of former
        // entries.
        let mut fields = FieldSet::EMPTY;
        for table in &pipeline.tables {
            for (_, entry) in table.entries(EntryKey::FIRST) {
                fields.insert(entry.rule.fields());
            }
        }
        let engine = &mut self.cx.lane.engine;
        E::replace_tables(engine, &pipeline.catalogue, &mut pipeline.tables, fields);
    }
}

/// Replaces the classifier of a table by that of `empty`, and adds all entries to it.
fn move_to(table: &mut Table, empty: Table) {
    (table.classifier, table.index) = (empty.classifier, empty.index);
    let mut next = table.entries.used(0);
    while let Some(slot) = next {
        let entry = &mut table.entries[slot];
        entry.next = NONE;
        let key = entry.key;
        table.classifier.insert(&mut table.entries, key);
        table.relabel(slot, LabelIndex::insert);
        next = table.entries.used(slot + 1);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use bofuss_frame::{Frame, Pool};
    use bofuss_oflib::Catalogue;
    use bofuss_oflib::message::FlowModCommand;
    use bofuss_oflib::text::parse_flow;

    use super::*;
    use crate::{Datapath, Time};

    fn switch(n_tables: u8) -> Datapath {
        let config = Config {
            n_tables,
            ..Config::default()
        };
        Datapath::new(config, Catalogue::default().into(), Pool::new(1 << 20))
    }

    #[test]
    fn a_table_that_had_a_trigger_may_go() {
        let mut datapath = switch(2);
        let sink = &mut Vec::<Frame>::new();
        let text = "table=1,priority=1,actions=stat_trigger(packet_count=1)";
        for command in [FlowModCommand::ADD, FlowModCommand::DELETE_STRICT] {
            let flow = parse_flow(text, command, datapath.catalogue()).expect(text);
            let done = datapath.control(Time(0), sink).flow_mod(&flow);
            assert_eq!(done, Ok(()));
        }
        let mut other = switch(1);
        assert_eq!(datapath.check_reconfigure(&mut other), Ok(()));
        datapath.reconfigure(Time(0), other, sink);
        assert_eq!(datapath.next_tick(), None);
    }
}
