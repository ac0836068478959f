//! What tables do as they fill: eviction and vacancy events. Spec: OpenFlow 1.4.1 sections 5.5,
//! 7.3.4.1 and 7.4.5.

use alloc::vec::Vec;

use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::{BadProperty, FlowModFailed};
use bofuss_oflib::message::FlowRemovedReason;
use bofuss_oflib::message::TableMod;
use bofuss_oflib::message::multipart::table_desc::{TableDesc, TableStatus};
use bofuss_oflib::message::multipart::table_features::TableFeatureSet;
use bofuss_oflib::message::table_mod::{EvictionFlags, TableConfig, Vacancy};
use bofuss_oflib::types::TableId;

use crate::Sink;
use crate::control::Control;
use crate::control::bulk_change::{BulkChange, EntryChange};
use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Pipeline;
use crate::tables::eviction::Victim;
use crate::tables::vacancy::vacancy;

/// The criteria by which a table may choose an entry to evict.
///
/// OTHER is not among them, as the switch has no criterion of its own. Spec: OpenFlow 1.4.1 section
/// 7.3.4.1.
const EVICTION_FLAGS: [EvictionFlags; 3] = [
    EvictionFlags::IMPORTANCE,
    EvictionFlags::LIFETIME,
    EvictionFlags(EvictionFlags::IMPORTANCE.0 | EvictionFlags::LIFETIME.0),
];

impl<S: Sink, E: FrameEngine> Control<'_, S, E> {
    /// Configures eviction and vacancy events of a table, or of all; a property that is left out
    /// stays unchanged. [`Self::work`] puts the entries in the order of eviction.
    ///
    /// The caller has checked that the table exists.
    ///
    /// Errors: BAD_PROPERTY/BAD_VALUE.
    pub fn configure_filling(&mut self, table_mod: &TableMod) -> Result<(), ErrorCode> {
        check_properties(table_mod)?;
        let config = TableConfig(table_mod.config);
        let mut numbers = Vec::new();
        for head in self.cx.pipeline.shape.heads() {
            if [TableId::ALL, head.table_id].contains(&table_mod.table_id) {
                // Collected first, because configuring a table needs the pipeline.
                numbers.push(head.table_id);
            }
        }
        for number in numbers {
            configure_vacancy(self.cx.pipeline, number, config, table_mod.vacancy);
            // An order by other criteria is another order, so each entry gets its place anew.
            if configure_eviction(self.cx.pipeline, number, config, table_mod.eviction) {
                let rank = BulkChange::new(number, |_| true, EntryChange::Rank);
                self.changes.bulk.push_back(rank);
            }
        }
        self.work().unwrap_or(Ok(()))
    }

    /// Evicts an entry of a full table for a new one. Returns false if it has to be called again in
    /// a later slice.
    ///
    /// FLOW_REMOVED has the reason EVICTION. In a bundle, the entry is only marked and goes at the
    /// commit.
    ///
    /// Errors: FLOW_MOD_FAILED/TABLE_FULL.
    pub(crate) fn evict(&mut self, number: TableId, importance: u16) -> Result<bool, ErrorCode> {
        // The order is by expiry, which depends on the last packet of each entry.
        self.editor().settle();
        let table = &mut self.cx.pipeline.tables[usize::from(number.0)];
        match table.eviction.victim(&table.entries, importance) {
            Victim::Nothing => Err(FlowModFailed::TABLE_FULL),
            Victim::Unfinished => Ok(false),
            Victim::Entry(key) => {
                self.remove_entry(number, key, FlowRemovedReason::EVICTION);
                Ok(true)
            }
        }
    }

    /// Returns true if a table has room for one more entry without an eviction.
    pub fn has_place(&self, table: TableId) -> bool {
        let Pipeline { shape, tables, .. } = &self.cx.pipeline;
        shape.has_table(table)
            && tables[usize::from(table.0)].len_after() < shape.max_entries(table)
    }

    /// The configuration of each table.
    pub fn table_descs(&self) -> impl Iterator<Item = TableDesc> {
        let heads = self.cx.pipeline.shape.heads();
        heads.map(|head| table_desc(self.cx.pipeline, head))
    }

    /// The next vacancy event, which is returned once. There is none while a bundle is in progress.
    ///
    /// While a bundle is in progress, the entries that it adds or removes may still be undone.
    pub fn next_table_status(&mut self) -> Option<TableStatus> {
        if self.changes.have_bundle() {
            return None;
        }
        let watched = self.cx.pipeline.watched_tables.iter().copied();
        let numbers = watched.filter(|number| self.cx.pipeline.shape.has_table(*number));
        for number in numbers.collect::<Vec<_>>() {
            let free = vacancy_of(self.cx.pipeline, number);
            let events = &mut self.cx.pipeline.tables[usize::from(number.0)].vacancy;
            if let Some(reason) = events.cross(free) {
                let mut heads = self.cx.pipeline.shape.heads();
                let head = heads.find(|head| head.table_id == number)?;
                let table = table_desc(self.cx.pipeline, head);
                return Some(TableStatus { reason, table });
            }
        }
        None
    }
}

/// Sets thresholds that are given, and turns events on or off. Repeating a request without
/// thresholds changes nothing, so an event is not sent twice.
fn configure_vacancy(
    pipeline: &mut Pipeline<impl FrameEngine>,
    number: TableId,
    config: TableConfig,
    wanted: Option<Vacancy>,
) {
    let free = vacancy_of(pipeline, number);
    let events = &mut pipeline.tables[usize::from(number.0)].vacancy;
    let on = config.has(TableConfig::VACANCY_EVENTS);
    if let Some(wanted) = wanted {
        events.down = wanted.vacancy_down;
        events.up = wanted.vacancy_up;
    }
    if on != events.are_on() || wanted.is_some() {
        events.turn(on, free);
    }
    if on {
        pipeline.watched_tables.insert(number);
    } else {
        pipeline.watched_tables.remove(&number);
    }
}

/// Returns true if the order of eviction changes.
fn configure_eviction(
    pipeline: &mut Pipeline<impl FrameEngine>,
    number: TableId,
    config: TableConfig,
    wanted: Option<EvictionFlags>,
) -> bool {
    let eviction = &mut pipeline.tables[usize::from(number.0)].eviction;
    let is_on = config.has(TableConfig::EVICTION);
    let flags = wanted.unwrap_or(eviction.flags);
    let changes = (is_on, flags) != (eviction.is_on, eviction.flags);
    eviction.is_on = is_on;
    eviction.flags = flags;
    changes
}

fn table_desc(pipeline: &Pipeline<impl FrameEngine>, head: &TableFeatureSet) -> TableDesc {
    let table = &pipeline.tables[usize::from(head.table_id.0)];
    let mut desc = TableDesc {
        table_id: head.table_id,
        config: TableConfig(head.config),
        ..TableDesc::default()
    };
    if table.eviction.is_on {
        desc.config = desc.config | TableConfig::EVICTION;
        desc.eviction = Some(table.eviction.flags);
    }
    if table.vacancy.are_on() {
        desc.config = desc.config | TableConfig::VACANCY_EVENTS;
        desc.vacancy = Some(table.vacancy.with(vacancy_of(pipeline, head.table_id)));
    }
    desc
}

/// Returns how much of a table is free, in whole per cent.
///
/// While a bundle is in progress, this is about the entries before it.
fn vacancy_of(pipeline: &Pipeline<impl FrameEngine>, number: TableId) -> u8 {
    let used = pipeline.tables[usize::from(number.0)].len_read();
    vacancy(used, pipeline.shape.max_entries(number))
}

/// Errors: BAD_PROPERTY/BAD_VALUE for an unknown criterion of eviction, for thresholds in the wrong
/// order or above 100 per cent, and for a vacancy, which only the switch reports.
fn check_properties(table_mod: &TableMod) -> Result<(), ErrorCode> {
    let eviction = table_mod.eviction;
    if eviction.is_some_and(|flags| !EVICTION_FLAGS.contains(&flags)) {
        return Err(BadProperty::BAD_VALUE);
    }
    match table_mod.vacancy {
        Some(wanted)
            if wanted.vacancy_down > wanted.vacancy_up
                || wanted.vacancy_up > 100
                || wanted.vacancy != 0 =>
        {
            Err(BadProperty::BAD_VALUE)
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use bofuss_frame::{Frame, Pool};
    use bofuss_oflib::Catalogue;

    use super::*;
    use crate::{Config, Datapath, Time};

    #[test]
    fn a_table_that_is_not_there_has_no_place() {
        let config = Config {
            n_tables: 2,
            ..Config::default()
        };
        let pool = Pool::new(1 << 20);
        let mut datapath: Datapath = Datapath::new(config, Catalogue::default().into(), pool);
        let sink = &mut Vec::<Frame>::new();
        let control = datapath.control(Time(0), sink);
        let places = [0, 1, 2, 255].map(|number| control.has_place(TableId(number)));
        assert_eq!(places, [true, true, false, false]);
    }
}
