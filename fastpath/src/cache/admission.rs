//! Which flows a full cache takes, and which it gives up for them.

use alloc::vec::Vec;

use bofuss_datapath::engine::Slab;

use super::Flow;

/// The number of flows compared for eviction; the flow that was idle for longest is evicted.
const CANDIDATES: usize = 4;

/// The number of hashes of recently refused flows kept for the admission.
const REFUSED: usize = 4096;

/// The limit of flows, and what is known of those that were refused for it.
#[derive(Debug)]
pub(crate) struct Admission {
    max_flows: usize,
    clock_hand: u32,
    /// Some bits of the hashes of flows that were recently refused for lack of room; empty until
    /// the first one, as programs may have a thousand switches whose caches are never full.
    refused: Vec<u16>,
}

impl Admission {
    /// Makes one for at most this many flows.
    pub(super) fn new(max_flows: u32) -> Self {
        Self {
            max_flows: max_flows as usize,
            clock_hand: 0,
            refused: Vec::new(),
        }
    }

    /// Returns true if a flow with this hash may be cached. In a full cache it may only from its
    /// second packet on, so that single packets (a scan of addresses) do not evict active flows.
    pub(crate) fn admits(&mut self, flows: &Slab<Flow>, hash: u64) -> bool {
        if flows.len() < self.max_flows {
            return true;
        }
        if self.max_flows == 0 {
            return false;
        }
        self.refused.resize(REFUSED, 0);
        let place = &mut self.refused[(hash >> 32) as usize % REFUSED];
        core::mem::replace(place, hash as u16 | 1) == hash as u16 | 1
    }

    /// The flow to evict if the cache is full: the flow that was idle for longest among the next
    /// [`CANDIDATES`] from a rotating position.
    pub(crate) fn victim(&mut self, flows: &Slab<Flow>) -> Option<u32> {
        if flows.len() < self.max_flows {
            return None;
        }
        let end = flows.end();
        let around = (0..end).map(|i| (self.clock_hand + i) % end);
        let used = around.filter_map(|slot| Some((flows.get(slot)?.used, slot)));
        let victim = used.take(CANDIDATES).min();
        self.clock_hand = (self.clock_hand + CANDIDATES as u32) % end;
        victim.map(|(_, slot)| slot)
    }
}

#[cfg(test)]
mod tests {
    use alloc::rc::Rc;

    use bofuss_oflib::types::TableId;
    use bofuss_packet::Words;

    use super::*;
    use crate::cache::flow_key::FEW;
    use crate::cache::{Hit, Program};

    #[test]
    fn only_a_full_cache_has_memory_for_flows_that_it_refuses() {
        let hit = Hit {
            slot: 0,
            table: TableId(0),
        };
        let key = Words::Few([0; FEW]);
        let flow = Flow::new(Rc::new(Program::default()), &[hit], 0, key);
        let mut flows = Slab::default();
        let mut admission = Admission::new(1);
        assert!(admission.admits(&flows, 7));
        assert_eq!(admission.refused.capacity(), 0);
        flows.insert(|_| flow);
        assert!(!admission.admits(&flows, 7), "its first packet");
        assert!(admission.admits(&flows, 7), "its second one");
    }
}
