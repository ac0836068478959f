//! Timers of the whole switch: queued frames, fragments, entries, compaction, hooks.

use crate::control::Control;
use crate::control::changes::Changes;
use crate::control::compaction::{compact, table_to_compact};
use crate::control::triggers;
use crate::egress::Egress;
use crate::frame_engine::FrameEngine;
use crate::hooks::Hooks;
use crate::pipeline::context::{Lane, Pipeline, PortQueues};
use crate::pipeline::fragments;
use crate::{Sink, Time};

/// The most entries that one tick expires, so that packets need not wait.
const EXPIRIES_PER_TICK: usize = 64;

/// The time when [`Control::tick`] has to be called next; `None` if there is no timer.
///
/// A time in the past is right: more may be due than one tick does, and the caller then calls again
/// after it has handled packets. The time may also be too early, never too late: for example, an
/// entry that had packets keeps its old deadline until that comes.
pub(crate) fn next_tick<E: FrameEngine>(
    pipeline: &Pipeline<E>,
    lane: &Lane<E>,
    queues: &PortQueues,
    hooks: &Hooks,
    changes: &Changes<E>,
) -> Option<Time> {
    // A bundle knows entries by their slots, so none may move while there is one.
    let may_compact = !changes.have_bundle();
    let expiry = pipeline.deadlines.first().map(|(at, ..)| *at);
    // Compaction has no time of its own: as long as a table is sparse, each tick does a little of
    // it.
    let compaction = table_to_compact(pipeline).map(|_| Time(0));
    expiry
        .into_iter()
        .chain(compaction.filter(|_| may_compact))
        .chain(triggers::next_time(pipeline, &lane.engine))
        .chain(E::next_clean(&lane.engine))
        .chain(hooks.all.next_tick())
        .chain(fragments::next_deadline(lane))
        .chain(queues.ports.values().filter_map(Egress::next_wakeup))
        .min()
}

/// Adds what flows have counted to the counters of entries, tables, ports and groups.
///
/// It has to come before anything that reads a counter or the time of an entry's last packet.
pub(crate) fn settle<E: FrameEngine>(pipeline: &mut Pipeline<E>, lane: &mut Lane<E>) {
    E::settle(&mut lane.engine, &mut pipeline.tables);
    E::settle_ports(&mut lane.engine, &mut pipeline.ports, &mut lane.drops);
    E::settle_groups(&mut lane.engine, &mut pipeline.groups);
    #[cfg(feature = "replicas")]
    E::settle_meters(&mut lane.engine, &mut pipeline.meters);
}

impl<S: Sink, E: FrameEngine> Control<'_, S, E> {
    /// Handles all timers that are due: sends queued frames, expires entries, calls hooks. Some may
    /// be left for the next tick.
    pub(crate) fn tick(&mut self) {
        let now = self.cx.now;
        self.cx.sender().release_due();
        fragments::expire(&mut self.cx);
        // Idle timeouts and thresholds are compared below with what packets did until now.
        settle(self.cx.pipeline, self.cx.lane);
        let pipeline = &mut *self.cx.pipeline;
        let engine = &mut self.cx.lane.engine;
        E::clean(engine, &pipeline.catalogue, &mut pipeline.tables, now);
        if !self.changes.have_bundle() {
            compact(&mut self.editor());
        }
        triggers::check(self.cx.pipeline, now, self.cx.sink);
        self.expire();
        self.hook_calls().tick();
    }

    /// Removes entries whose deadline has come. An entry that had packets in the meantime gets its
    /// next deadline instead, so that packets need not touch the ordered set.
    fn expire(&mut self) {
        let now = self.cx.now;
        for _ in 0..EXPIRIES_PER_TICK {
            let pipeline = &mut *self.cx.pipeline;
            let first = pipeline.deadlines.first();
            let Some(&due) = first.filter(|(at, ..)| *at <= now) else {
                break;
            };
            pipeline.deadlines.pop_first();
            let (_, table, slot) = due;
            let found = pipeline.tables[usize::from(table.0)].at(slot);
            let entry = found.expect("an entry takes its deadline with it");
            let key = entry.key;
            let expired = entry.deadline().filter(|(at, _)| *at <= now);
            match expired {
                Some((_, reason)) => {
                    // A threshold that the entry has reached since its last check would otherwise
                    // never be reported.
                    triggers::check_one(pipeline, now, table, key, self.cx.sink);
                    self.expire_entry(table, key, reason);
                }
                None => pipeline.set_deadline(table, key),
            }
        }
    }
}
