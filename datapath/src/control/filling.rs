//! What tables do as they fill: eviction and vacancy events. Spec: OpenFlow 1.4.1 sections 5.5,
//! 7.3.4.1 and 7.4.5.
//!
//! Without the feature `filling`, `no_filling.rs` takes the place of this file.

use alloc::vec::Vec;

use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::{BadProperty, FlowModFailed};
use bofuss_oflib::message::FlowRemovedReason;
use bofuss_oflib::message::TableMod;
use bofuss_oflib::message::multipart::table_desc::{TableDesc, TableStatus};
use bofuss_oflib::message::table_mod::{EvictionFlags, TableConfig, Vacancy};
use bofuss_oflib::types::TableId;

use crate::Sink;
use crate::control::Control;
use crate::control::bulk_change::{BulkChange, EntryChange};
use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Pipeline;
use crate::tables::eviction::Victim;
use crate::tables::vacancy::{VacancyEvents, vacancy};

/// The bits of a table's configuration that this file gives a meaning.
pub const FILLING_BITS: u32 = TableConfig::ALL.0;

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

    /// The next vacancy event, which is returned once. There is none while a bundle is in progress.
    ///
    /// While a bundle is in progress, the entries that it adds or removes may still be undone.
    pub fn next_table_status(&mut self) -> Option<TableStatus> {
        if self.changes.have_bundle() {
            return None;
        }
        let watched = self.cx.pipeline.vacancies.iter();
        let watched = watched.filter(|(_, events)| events.are_on());
        let numbers = watched.map(|(number, _)| *number);
        let numbers = numbers.filter(|number| self.cx.pipeline.shape.has_table(*number));
        for number in numbers.collect::<Vec<_>>() {
            let free = vacancy_of(self.cx.pipeline, number);
            let events = self.cx.pipeline.vacancies.get_mut(&number)?;
            if let Some(reason) = events.cross(free) {
                let table = self.table_descs().find(|desc| desc.table_id == number)?;
                return Some(TableStatus { reason, table });
            }
        }
        None
    }
}

impl<E: FrameEngine> Pipeline<E> {
    /// Adds to the description of a table what it does as it fills.
    pub(crate) fn describe_filling(&self, desc: &mut TableDesc) {
        let number = desc.table_id;
        let eviction = &self.tables[usize::from(number.0)].eviction;
        if eviction.is_on {
            desc.config = desc.config | TableConfig::EVICTION;
            desc.eviction = Some(eviction.flags);
        }
        let events = self.vacancies.get(&number);
        if let Some(events) = events.filter(|events| events.are_on()) {
            desc.config = desc.config | TableConfig::VACANCY_EVENTS;
            desc.vacancy = Some(events.with(vacancy_of(self, number)));
        }
    }

    /// Forgets the vacancy events of the tables from this number on.
    #[cfg(feature = "reconfigure")]
    pub(crate) fn forget_vacancies_from(&mut self, n_tables: usize) {
        self.vacancies
            .retain(|number, _| usize::from(number.0) < n_tables);
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
    let on = config.has(TableConfig::VACANCY_EVENTS);
    let had_on = pipeline
        .vacancies
        .get(&number)
        .is_some_and(VacancyEvents::are_on);
    if on == had_on && wanted.is_none() {
        return;
    }
    let events = pipeline.vacancies.entry(number).or_default();
    if let Some(wanted) = wanted {
        events.down = wanted.vacancy_down;
        events.up = wanted.vacancy_up;
    }
    events.turn(on, free);
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
