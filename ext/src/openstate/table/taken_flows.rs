//! Takes all flows from a table, and gives it those of another switch.

use alloc::vec::Vec;

use super::{StateEntry, StateTable};
use crate::openstate::extractor::FlowKey;

impl StateTable {
    /// Takes all entries, also those whose timers have run out.
    pub(in crate::openstate) fn take_all(&mut self) -> Vec<(FlowKey, StateEntry)> {
        self.edits += 1;
        let mut all = Vec::with_capacity(self.len());
        let mut from = 0;
        while let Some(slot) = self.flows.used(from) {
            let (key, flow) = self.flows.at(slot).expect("the slot is used");
            let (key, flow) = (*key, *flow);
            all.push((key, flow));
            self.forget(&key);
            from = slot + 1;
        }
        all
    }

    /// Adds the entry of a flow that has none, with the share in which it counts.
    pub(in crate::openstate) fn put(&mut self, key: FlowKey, flow: StateEntry) {
        self.edits += 1;
        self.forget(&key);
        self.shares.take(flow.port, 1);
        self.flows.insert(key, flow);
    }
}
