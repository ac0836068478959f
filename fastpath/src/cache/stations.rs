//! Flows that pass NORMAL and are forwarded below the switch: NORMAL has to hear of their stations,
//! and they come up when a station may be elsewhere.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use bofuss_datapath::{Bridge, Config, Station, Time};
use bofuss_oflib::PortNo;

use super::Cache;
use super::below::Forwarded;

/// NORMAL hears of stations at least so often; it forgets them after 300 s.
const HEARING_NS: u64 = 10 * Time::SEC;
/// The time that such flows stay up after a station has moved or was forgotten, so that somebody
/// who lets stations move all the time costs others no more than this.
const SETTLING_NS: u64 = Time::SEC;

/// What is known of flows that pass NORMAL, and of their stations.
#[derive(Debug, Default)]
pub(crate) struct Stations {
    /// The flows.
    pub(super) flows: BTreeSet<u32>,
    /// The time when sources were seen last of which NORMAL has not heard yet.
    seen: BTreeMap<(Station, PortNo), Time>,
    /// The destinations to which frames were sent meanwhile.
    addressed: BTreeSet<(Station, PortNo)>,
    next_hearing: Option<Time>,
    /// [`Bridge::changes`] when it was looked at last.
    changes: u64,
    /// Flows go below from then on.
    settled: Time,
}

impl Stations {
    pub(super) fn next_hearing(&self) -> Option<Time> {
        self.next_hearing
    }

    /// Returns true if the counts of all flows have to be taken, so that NORMAL hears of their
    /// stations; if so, the caller does that.
    pub(super) fn are_due(&mut self, now: Time) -> bool {
        let is_due = self.next_hearing.is_some_and(|at| at <= now);
        if is_due {
            let is_needed = !self.flows.is_empty();
            self.next_hearing = is_needed.then(|| now.after(HEARING_NS));
        }
        is_due
    }

    /// Returns true if no station has moved lately.
    pub(super) fn are_settled(&self, now: Time) -> bool {
        now >= self.settled
    }

    /// Adds a flow.
    pub(super) fn add(&mut self, now: Time, flow: u32) {
        self.flows.insert(flow);
        self.next_hearing.get_or_insert(now.after(HEARING_NS));
    }

    /// Notes the stations of what was forwarded, of which NORMAL does not see what a meter drops.
    pub(super) fn note(&mut self, forwarded: &Forwarded) {
        let passed = forwarded.packets > forwarded.dropped.0;
        let Some(known) = forwarded.way.stations.filter(|_| passed) else {
            return;
        };
        if let Some(from) = forwarded.from {
            let seen = self.seen.entry((known.source, from)).or_default();
            *seen = forwarded.used.max(*seen);
        }
        self.addressed.insert((known.destination, known.port));
    }
}

impl Cache {
    /// Lets NORMAL hear of stations, and takes all flows back that pass it if any station may be
    /// elsewhere.
    pub(crate) fn review_stations(&mut self, now: Time, bridge: &mut Bridge, config: &Config) {
        let stations = &mut self.below.stations;
        for ((station, port), seen) in core::mem::take(&mut stations.seen) {
            bridge.touch(seen, &station, port);
        }
        let changes = core::mem::replace(&mut stations.changes, bridge.changes());
        let mut are_elsewhere = changes != bridge.changes();
        for (station, port) in core::mem::take(&mut stations.addressed) {
            are_elsewhere |= bridge.find(now, &station, config) != Some(port);
        }
        if are_elsewhere && !stations.flows.is_empty() {
            stations.settled = now.after(SETTLING_NS);
            let flows: Vec<u32> = core::mem::take(&mut stations.flows).into_iter().collect();
            self.take_back(&flows);
        }
    }
}
