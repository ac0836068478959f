//! The aggregates that have flows, with their counters, and the keys that define them.

use bofuss_datapath::StepMap;
use bofuss_oflib::PortNo;

use super::aggregate::{AggregateCounts, AggregateId, AggregateKeys};
use super::flow::NO_AGGREGATE;
use super::tuple::FlowTuple;

/// The aggregates that have flows. A flow has the number of its aggregate.
#[derive(Debug, Default)]
pub struct AggregateTable {
    counts: StepMap<AggregateId, AggregateCounts>,
    pub(super) keys: AggregateKeys,
}

impl AggregateTable {
    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first aggregate from a number on, with its number. Its counters lack what arrived since
    /// the last expiry round.
    pub fn next(&self, from: u32) -> Option<(u32, &AggregateId, &AggregateCounts)> {
        let number = self.counts.used(from)?;
        let (id, counts) = self.counts.at(number)?;
        Some((number, id, counts))
    }

    /// An aggregate by its number.
    pub fn get(&self, number: u32) -> Option<(&AggregateId, &AggregateCounts)> {
        self.counts.at(number)
    }

    /// The counters of an aggregate.
    pub(super) fn counts_mut(&mut self, number: u32) -> Option<&mut AggregateCounts> {
        let (_, counts) = self.counts.at_mut(number)?;
        Some(counts)
    }

    /// Adds a flow of this tuple and key at a port to its aggregate. Returns the number of that, or
    /// `None` if the flow has that already.
    pub(super) fn join(
        &mut self,
        tuple: &FlowTuple,
        (port, key): (PortNo, u8),
        before: u32,
    ) -> Option<u32> {
        let id = self.keys.aggregate(tuple, port, key);
        if self.get(before).is_some_and(|(known, _)| *known == id) {
            return None;
        }
        let hash = self.counts.hash(&id);
        let found = self.counts.find(hash, NO_AGGREGATE, &id);
        let number = found.unwrap_or_else(|| self.counts.insert(id, AggregateCounts::default()));
        let counts = self.counts_mut(number);
        counts.expect("it was found or made just now").flows += 1;
        Some(number)
    }

    /// Removes a flow from an aggregate, which goes with its last flow.
    pub(super) fn leave(&mut self, number: u32) {
        let Some((id, counts)) = self.counts.at_mut(number) else {
            return;
        };
        counts.flows -= 1;
        if counts.flows == 0 {
            let id = *id;
            self.counts.remove(&id);
        }
    }
}
