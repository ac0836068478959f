//! The balancing engine: moves the largest flows between links that lead to the same place.

use alloc::{collections::BTreeMap, vec::Vec};

use bofuss_oflib::PortNo;

use super::table::FlowTable;

/// The largest flows that are kept in mind of a round.
const MAX_ELEPHANTS: usize = 64;
/// Links of a set at most.
pub(super) const MAX_LINKS: usize = 64;

/// A large flow of this round.
#[derive(Clone, Copy, Debug)]
struct Elephant {
    kbps: u32,
    slot: u32,
    port: PortNo,
}

/// Links that lead to the same place, and what a round has measured of them.
#[derive(Debug, Default)]
pub(super) struct Balancer {
    /// Without a packet of a flow for so long, its next one does not overtake it on another link.
    pub(super) gap_us: u32,
    /// Each link with its load in kb/s.
    loads: BTreeMap<PortNo, u64>,
    elephants: Vec<Elephant>,
}

impl Balancer {
    /// Chooses the links; none to balance nothing.
    pub(super) fn choose(&mut self, links: &[PortNo], gap_us: u32) {
        self.gap_us = gap_us;
        self.loads = links.iter().map(|port| (*port, 0)).collect();
        self.elephants.clear();
    }

    /// The links.
    pub(super) fn links(&self) -> impl Iterator<Item = PortNo> {
        self.loads.keys().copied()
    }

    /// Whether there is something to balance.
    pub(super) fn is_on(&self) -> bool {
        self.loads.len() > 1
    }

    /// Notes the rate of a flow. Of more than [`MAX_ELEPHANTS`] the largest are kept.
    pub(super) fn note(&mut self, slot: u32, kbps: u32, port: PortNo) {
        let Some(load) = self.loads.get_mut(&port) else {
            return;
        };
        *load += u64::from(kbps);
        let at = self.elephants.partition_point(|one| one.kbps >= kbps);
        if at < MAX_ELEPHANTS {
            self.elephants.insert(at, Elephant { kbps, slot, port });
            self.elephants.truncate(MAX_ELEPHANTS);
        }
    }

    /// The next flow to move, and where: from the link with most load to the one with least, the
    /// largest that leaves less than before between them. It is counted as moved.
    fn next(&mut self) -> Option<(u32, PortNo)> {
        let (from, most) = self.loads.iter().max_by_key(|(_, load)| **load)?;
        let (to, least) = self.loads.iter().min_by_key(|(_, load)| **load)?;
        let (from, to, excess) = (*from, *to, most - least);
        let is_meant = |one: &Elephant| one.port == from && 2 * u64::from(one.kbps) <= excess;
        let at = self
            .elephants
            .iter()
            .position(|one| one.kbps > 0 && is_meant(one))?;
        let moved = self.elephants.remove(at);
        let kbps = u64::from(moved.kbps);
        *self.loads.get_mut(&from)? -= kbps;
        *self.loads.get_mut(&to)? += kbps;
        Some((moved.slot, to))
    }

    /// Begins a new round.
    fn clear(&mut self) {
        self.loads.values_mut().for_each(|load| *load = 0);
        self.elephants.clear();
    }
}

impl FlowTable {
    /// Has flows change links at their next gap, as long as one of those kept in mind evens out
    /// what the round has measured.
    pub(super) fn balance(&mut self) {
        let mut balancer = core::mem::take(&mut self.balancer);
        while let Some((slot, port)) = balancer.next() {
            if self.reroute(slot, port, balancer.gap_us).is_ok() {
                self.counts.moved += 1;
            }
        }
        balancer.clear();
        self.balancer = balancer;
    }
}
