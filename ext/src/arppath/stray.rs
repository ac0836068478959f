//! Frames to one host that arrive on another port than their source's.

use bofuss_datapath::Time;
use bofuss_oflib::PortNo;

use super::machine::{HostFrame, PathMachine};
use super::neighbours::NeighbourKind;
use super::table::VlanHost;
use super::waiting::RepairStart;

/// For the lock time divided by this after a host's entry has changed, its frames from other ports
/// count as late ones and start no repair.
const SETTLE_SHARE: u64 = 10;

impl PathMachine {
    /// Returns true if a unicast frame is forwarded although its source was recently seen on
    /// another port: a broadcast may have given the source another path, through other switches,
    /// than the frame has taken. It is forwarded only once, so that inconsistent paths cause no
    /// loop.
    pub(super) fn may_stray(&self, now: Time, frame: &HostFrame, port: PortNo) -> bool {
        let is_new = frame
            .digest
            .is_some_and(|hash| !self.copies.has(now, &hash));
        let source = self.paths.get(now, &frame.source());
        let is_between_switches = self.kind(now, port).is_switch()
            && source.is_some_and(|entry| self.kind(now, entry.port).is_switch());
        // A path was found recently, and the frame returns from the switch where it waited for
        // that.
        let comes_back = self.kind(now, port) == NeighbourKind::Switch
            && self.was_bound(now, &frame.destination(), self.options.lock);
        is_new && (is_between_switches || comes_back) && !frame.is_group()
    }

    /// Forwards such a frame, and has the path between its hosts explored again.
    pub(super) fn let_stray(&mut self, now: Time, frame: &HostFrame, port: PortNo) {
        if let Some(digest) = frame.digest {
            self.copies.insert(now, digest, self.options.lock);
        }
        self.came_wrong(now, frame, port);
    }

    /// Handles a unicast frame that arrived on another port than its source's. Unless it is late,
    /// because a path has just changed, the paths of the two hosts are inconsistent, and a repair
    /// begins.
    pub(super) fn came_wrong(&mut self, now: Time, frame: &HostFrame, port: PortNo) {
        let settle = self.options.lock / SETTLE_SHARE;
        let is_late = self.was_bound(now, &frame.source(), settle)
            || self.was_bound(now, &frame.destination(), settle);
        let is_free = self.waiting.admission(&frame.pair, port, false) == RepairStart::First;
        if !is_late && is_free && self.kind(now, port).is_switch() {
            self.repair(now, frame.pair, port, false);
        }
    }

    /// Returns true if the port towards a host changed less than `ns` nanoseconds ago.
    fn was_bound(&self, now: Time, station: &VlanHost, ns: u64) -> bool {
        let entry = self.paths.get(now, station);
        entry.is_some_and(|entry| now.since(entry.bound) < ns)
    }
}
