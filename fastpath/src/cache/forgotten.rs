//! Freeing the memory of flows that are no longer needed, in slices.

use bofuss_datapath::engine::{NONE, Slab, TagTable};
use bofuss_datapath::{Table, Time};
use bofuss_oflib::Catalogue;

use super::below::Counted;
use super::{Cache, Flow, Programs};

/// The time after a change in which the cache searches for flows whose entries were removed.
const REST: u64 = 3 * Time::SEC;
/// The number of flows that one turn checks, which takes some tens of microseconds.
const FLOWS_PER_TURN: usize = 128;

/// All flows that were cached under a former key.
#[derive(Debug)]
pub(crate) struct Forgotten {
    pub(crate) flows: Slab<Flow>,
    pub(crate) index: TagTable,
    pub(crate) programs: Programs,
}

/// A walk over all flows that removes those whose entries are gone.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// The number of the last change when it began.
    changes: u64,
    /// The time at which it continues, and at which slot; `None` if it has finished.
    next: Option<(Time, u32)>,
}

impl Cache {
    /// Returns when [`Cache::clean`] has to be called next; `None` if there is nothing to do.
    pub(crate) fn next_clean(&self) -> Option<Time> {
        if !self.forgotten.is_empty() {
            return Some(Time(0));
        }
        let next = self.round.next.map(|(at, _)| at);
        next.into_iter()
            .chain(self.below.stations.next_hearing())
            .min()
    }

    /// Frees one slice of memory: of flows that were forgotten together with all others, or of
    /// flows whose entries are gone. If the remaining flows are scattered over much memory, they
    /// are forgotten as well; their next packets cache them again.
    pub(crate) fn clean(&mut self, catalogue: &Catalogue, tables: &mut [Table], now: Time) {
        if self.below.stations.are_due(now) {
            self.absorb(Counted::All);
        }
        if let Some(last) = self.forgotten.last_mut() {
            let more = last.flows.drop_some() || last.index.drop_some();
            if !more && !last.programs.0.drop_some() {
                self.forgotten.pop();
            }
            return;
        }
        let changes = self.changes;
        let round = &mut self.round;
        match round.next {
            None if round.changes != changes && !self.flows.is_empty() => {
                *round = Round {
                    changes,
                    next: Some((now.after(REST), 0)),
                };
            }
            Some((at, slot)) if at <= now => {
                let next = self.clean_from(tables, slot);
                self.round.next = next.map(|slot| (at, slot));
                if next.is_none() && self.flows.is_sparse() {
                    self.forget_all(catalogue, tables);
                }
            }
            _ => {}
        }
    }

    /// Forgets flows whose entries are gone. Returns the slot to continue with, if there are more
    /// flows.
    fn clean_from(&mut self, tables: &mut [Table], mut slot: u32) -> Option<u32> {
        for _ in 0..FLOWS_PER_TURN {
            slot = self.flows.used(slot)?;
            if has_lost_its_entries(&self.flows[slot], tables) {
                self.forget(tables, slot);
            }
            slot += 1;
        }
        Some(slot)
    }
}

/// Returns true if an entry that a flow hit is gone.
fn has_lost_its_entries(flow: &Flow, tables: &[Table]) -> bool {
    flow.hits().any(|hit| {
        let table = &tables[usize::from(hit.table.0)];
        hit.slot != NONE && table.at(hit.slot).is_none()
    })
}
