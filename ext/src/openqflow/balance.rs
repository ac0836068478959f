//! The balancing engine: moves the largest flows between links with the same destination.

use alloc::{collections::BTreeMap, vec::Vec};

use bofuss_oflib::PortNo;

/// The number of largest flows that a round remembers.
const MAX_ELEPHANTS: usize = 64;
/// The most links in a set.
pub(super) const MAX_LINKS: usize = 64;

/// A large flow of this round.
#[derive(Clone, Copy, Debug)]
struct Elephant {
    kbps: u32,
    slot: u32,
    port: PortNo,
}

/// Links with the same destination, and what a round has measured of them.
#[derive(Debug, Default)]
pub(super) struct Balancer {
    /// The flowlet gap in microseconds: after such a pause, a flow's next packet cannot overtake
    /// the previous one on another link.
    pub(super) gap_us: u32,
    /// Each link with its load in kb/s.
    loads: BTreeMap<PortNo, u64>,
    elephants: Vec<Elephant>,
}

impl Balancer {
    /// Sets the links; an empty list turns balancing off.
    pub(super) fn choose(&mut self, links: &[PortNo], gap_us: u32) {
        self.gap_us = gap_us;
        self.loads = links.iter().map(|port| (*port, 0)).collect();
        self.elephants.clear();
    }

    /// The links.
    pub(super) fn links(&self) -> impl Iterator<Item = PortNo> {
        self.loads.keys().copied()
    }

    /// Returns true if there are links to balance.
    pub(super) fn is_on(&self) -> bool {
        self.loads.len() > 1
    }

    /// Notes the rate of a flow. Only the [`MAX_ELEPHANTS`] largest are kept.
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

    /// The next flow to move, and its new link: from the most to the least loaded usable link, the
    /// largest flow whose move makes their loads differ less. Counts it as moved.
    pub(super) fn next(&mut self, is_usable: impl Fn(PortNo) -> bool) -> Option<(u32, PortNo)> {
        let usable = self.loads.iter().filter(|(port, _)| is_usable(**port));
        let (&from, most) = usable.clone().max_by_key(|(_, load)| **load)?;
        let (&to, least) = usable.min_by_key(|(_, load)| **load)?;
        let excess = most - least;
        let at = self.elephants.iter().position(|one| {
            one.port == from && one.kbps > 0 && 2 * u64::from(one.kbps) <= excess
        })?;
        let moved = self.elephants.remove(at);
        let kbps = u64::from(moved.kbps);
        *self.loads.get_mut(&from)? -= kbps;
        *self.loads.get_mut(&to)? += kbps;
        Some((moved.slot, to))
    }

    /// Begins a new round.
    pub(super) fn clear(&mut self) {
        self.loads.values_mut().for_each(|load| *load = 0);
        self.elephants.clear();
    }
}
