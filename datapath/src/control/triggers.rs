//! Statistics triggers: reports entries whose statistics reach a threshold. Spec: OpenFlow 1.5.1
//! section 7.2.5.
//!
//! Triggers add nothing to the cost of a packet: where counters are increased anyway, an entry with
//! a trigger is noted, and checked soon after. Thresholds of time have deadlines of their own.
//!
//! Without the feature `triggers`, `no_triggers.rs` takes the place of this file.

use bofuss_oflib::ErrorCode;
use bofuss_oflib::message::multipart::flow::{FlowCounters, FlowStatsReason};
use bofuss_oflib::stat_trigger::StatTrigger;
use bofuss_oflib::types::TableId;

use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Pipeline;
use crate::tables::triggers::EntryWatch;
use crate::{Entry, EntryKey, Sink, Table, Time};

/// Nanoseconds between two checks of the entries that have had packets. A reached threshold of
/// packets or bytes is noticed within this time, or some turns later if more entries are due than
/// one turn checks. An entry is reported at most once in this time.
const CHECK_INTERVAL: u64 = 10_000_000;
/// The number of entries that one turn checks, so that packets need not wait.
///
/// It bounds a turn of each kind of check.
const ENTRIES_PER_TURN: usize = 64;

impl<E: FrameEngine> Pipeline<E> {
    /// Begins to watch an entry if its instructions have a trigger, for thresholds that it has not
    /// reached yet. An entry that a bundle adds is watched from the commit on.
    pub(crate) fn watch(&mut self, number: TableId, slot: u32, now: Time) {
        #[cfg(feature = "replicas")]
        if self.follows {
            return;
        }
        self.set_trigger_due(number, slot, Time::NEVER);
        let table = &mut self.tables[usize::from(number.0)];
        table.triggers.begin(&mut table.entries[slot], now);
        if !table.triggers.is_empty() {
            self.triggers.tables.insert(number);
        }
        self.set_trigger_deadline(number, slot);
    }

    /// Replaces the time when the entry in a slot is checked because of time by the next one, if it
    /// is watched and packets see it.
    fn set_trigger_deadline(&mut self, number: TableId, slot: u32) {
        let table = &self.tables[usize::from(number.0)];
        let mut due = Time::NEVER;
        if let Some(entry) = table.at(slot).filter(|entry| is_seen(table, entry)) {
            due = table.triggers.due(entry);
        }
        self.set_trigger_due(number, slot, due);
    }

    /// Replaces the time when the entry in a slot is checked; [`Time::NEVER`] if it is not.
    ///
    /// Restores that an entry has at most one time in the list, and that it is the one in its
    /// watch.
    fn set_trigger_due(&mut self, number: TableId, slot: u32, due: Time) {
        let triggers = &mut self.tables[usize::from(number.0)].triggers;
        let before = triggers.replace_due(slot, due);
        self.triggers.deadlines.remove(&(before, number, slot));
        if due != Time::NEVER {
            self.triggers.deadlines.insert((due, number, slot));
        }
    }

    /// Stops watching the entry in a slot, which is about to go or to move. Returns its state.
    pub(crate) fn unwatch(&mut self, number: TableId, slot: u32) -> Option<EntryWatch> {
        // Lists of times name slots, so they must not name one that another entry may get.
        self.set_trigger_due(number, slot, Time::NEVER);
        self.tables[usize::from(number.0)].triggers.end(slot)
    }

    /// Continues to watch an entry that has moved to this slot, if it was watched.
    ///
    /// The watch moves as it is: a new watch would not know which threshold was reached first.
    pub(crate) fn watch_moved(&mut self, number: TableId, slot: u32, watch: Option<EntryWatch>) {
        if let Some(watch) = watch {
            // The insertion has begun another watch, whose time must not stay in the list.
            self.set_trigger_due(number, slot, Time::NEVER);
            let triggers = &mut self.tables[usize::from(number.0)].triggers;
            triggers.resume(slot, watch);
            self.set_trigger_deadline(number, slot);
        }
    }

    /// Begins to watch an entry that a bundle has added or changed, from the packets and bytes that
    /// it had at the commit.
    ///
    /// The watch is begun with the earlier counters, so that a threshold which packets have reached
    /// since the commit is noticed and reported, and not skipped as reached before.
    #[cfg(feature = "bundles")]
    pub(crate) fn watch_from(
        &mut self,
        number: TableId,
        key: EntryKey,
        at: Time,
        before: (u64, u64),
    ) {
        let table = &mut self.tables[usize::from(number.0)];
        let entry = &mut table.entries[key.slot];
        if entry.instructions.stat_trigger().is_none() {
            return;
        }
        let after = (entry.packets, entry.bytes);
        (entry.packets, entry.bytes) = before;
        self.watch(number, key.slot, at);
        let table = &mut self.tables[usize::from(number.0)];
        let entry = &mut table.entries[key.slot];
        (entry.packets, entry.bytes) = after;
        table.triggers.note(key.slot);
    }

    /// The next entry that has had packets, after the position of the last one; so each is checked
    /// once, however many packets arrive meanwhile.
    fn next_noted(&self) -> Option<(TableId, EntryKey)> {
        let (first, mut slot) = self.triggers.check_from;
        for number in self.triggers.tables.range(first..) {
            let table = &self.tables[usize::from(number.0)];
            if *number != first {
                slot = 0;
            }
            if let Some(noted) = table.triggers.noted_from(slot) {
                return Some((*number, table.entries[noted].key));
            }
        }
        None
    }

    /// Ends a round of checks; the next one begins at the first table after [`CHECK_INTERVAL`].
    ///
    /// Tables whose last trigger has gone are forgotten here, so that a removal need not look for
    /// it.
    fn end_round(&mut self, now: Time) {
        let tables = &self.tables;
        let times = &mut self.triggers;
        times
            .tables
            .retain(|number| !tables[usize::from(number.0)].triggers.is_empty());
        times.check_from = (TableId(0), 0);
        times.next_check = now.after(CHECK_INTERVAL);
    }

    /// Forgets the tables from this number on, which have no entries.
    ///
    /// Such a table may have had an entry with a trigger since the last check.
    #[cfg(feature = "reconfigure")]
    pub(crate) fn forget_triggers_from(&mut self, n_tables: usize) {
        let tables = &mut self.triggers.tables;
        tables.retain(|number| usize::from(number.0) < n_tables);
    }

    /// The time when a leader has to ask what followers have counted; `None` if no entry has a
    /// trigger.
    #[cfg(feature = "replicas")]
    pub(crate) fn next_common_check(&self, now: Time) -> Option<Time> {
        let has_some = !self.triggers.tables.is_empty();
        has_some.then(|| now.after(CHECK_INTERVAL))
    }
}

/// Checks the thresholds of a new entry. Errors: BAD_INSTRUCTION/UNSUP_INST.
pub(crate) fn check_thresholds(trigger: &StatTrigger) -> Result<(), ErrorCode> {
    trigger.check()
}

/// The time when entries have to be checked; `None` if there are none.
pub(crate) fn next_time<E: FrameEngine>(pipeline: &Pipeline<E>, engine: &E::State) -> Option<Time> {
    let deadline = pipeline.triggers.deadlines.first().map(|(at, ..)| *at);
    deadline
        .into_iter()
        .chain(next_check(pipeline, engine))
        .min()
}

/// The time when entries that have had packets have to be checked; `None` if there are none.
fn next_check<E: FrameEngine>(pipeline: &Pipeline<E>, engine: &E::State) -> Option<Time> {
    let numbers = &pipeline.triggers.tables;
    if numbers.is_empty() {
        return None;
    }
    let tables = &pipeline.tables;
    let mut triggers = numbers.iter().map(|n| &tables[usize::from(n.0)].triggers);
    // Counts that the engine has not settled may have reached a threshold, too.
    let has_noted = triggers.any(|triggers| triggers.noted_from(0).is_some());
    let waits = has_noted || E::is_unsettled(engine);
    waits.then_some(pipeline.triggers.next_check)
}

/// Checks the entries for which it is time. All counters must be settled.
pub(crate) fn check<S: Sink>(pipeline: &mut Pipeline<impl FrameEngine>, now: Time, sink: &mut S) {
    check_noted(pipeline, now, sink);
    check_due(pipeline, now, sink);
}

/// Checks entries that have had packets, if it is time.
fn check_noted<S: Sink>(pipeline: &mut Pipeline<impl FrameEngine>, now: Time, sink: &mut S) {
    let times = &pipeline.triggers;
    if times.tables.is_empty() || now < times.next_check {
        return;
    }
    for _ in 0..ENTRIES_PER_TURN {
        let Some((table, key)) = pipeline.next_noted() else {
            pipeline.end_round(now);
            return;
        };
        pipeline.triggers.check_from = (table, key.slot + 1);
        check_one(pipeline, now, table, key, sink);
        pipeline.set_trigger_deadline(table, key.slot);
    }
}

/// Checks entries that are due because of time.
fn check_due<S: Sink>(pipeline: &mut Pipeline<impl FrameEngine>, now: Time, sink: &mut S) {
    for _ in 0..ENTRIES_PER_TURN {
        let first = pipeline.triggers.deadlines.first();
        let Some(&(_, table, slot)) = first.filter(|(at, ..)| *at <= now) else {
            return;
        };
        let found = pipeline.tables[usize::from(table.0)].at(slot);
        let key = found.expect("an entry takes its deadlines with it").key;
        check_one(pipeline, now, table, key, sink);
        pipeline.set_trigger_deadline(table, slot);
    }
}

/// Returns true if packets see an entry, also if a bundle is in progress.
fn is_seen(table: &Table, entry: &Entry) -> bool {
    table.view.has(entry) && !entry.is_staged()
}

/// Reports an entry if it has reached a threshold. An entry that packets do not see, because a
/// bundle is in progress, is skipped.
pub(crate) fn check_one<S: Sink>(
    pipeline: &mut Pipeline<impl FrameEngine>,
    now: Time,
    number: TableId,
    key: EntryKey,
    sink: &mut S,
) {
    let table = &mut pipeline.tables[usize::from(number.0)];
    if table.triggers.is_empty() {
        return;
    }
    if !is_seen(table, &table.entries[key.slot])
        || !table.triggers.check(&mut table.entries[key.slot], now)
    {
        return;
    }
    let entry = &table.entries[key.slot];
    sink.flow_stats(FlowCounters {
        table_id: number,
        reason: FlowStatsReason::STAT_TRIGGER,
        priority: key.priority.0,
        fields: table.fields_of(entry, &pipeline.catalogue),
        stats: entry.stats(now),
    });
}
