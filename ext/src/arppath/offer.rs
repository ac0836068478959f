//! Offers: frames to a host that no edge knows are sent to all ports, as on a bridge, for a while.
//!
//! A host that has moved without a word is known nowhere, and speaks only when it is spoken to. So
//! after a repair has failed, the source's edge tells all switches that no edge has answered. They
//! pass each frame of this path on to all ports, once; its answer then shows where the host is.

use alloc::vec;

use bofuss_datapath::Time;
use bofuss_oflib::{Action, PortNo};

use super::duplicates::digest;
use super::frame::HostPair;
use super::machine::{HostFrame, PathMachine};

/// The duration of an offer, as a multiple of the time until it is renewed while frames come.
const OFFER_REPAIRS: u64 = 2;

impl PathMachine {
    /// Returns true if the path of a frame is offered.
    pub(super) fn is_offered(&self, now: Time, frame: &HostFrame) -> bool {
        !frame.is_group() && self.offered.has(now, &frame.pair)
    }

    /// Returns true if an offered frame may arrive from another switch than its source's path leads
    /// to: as it may begin where it waited, and is passed on once.
    pub(super) fn may_be_offered(&self, now: Time, frame: &HostFrame, port: PortNo) -> bool {
        self.is_offered(now, frame) && self.kind(now, port).is_switch()
    }

    /// Begins or renews the offer of a path, and sends the frames that wait for it to all ports:
    /// also back to the switch that they came from, as they may have waited between the edges.
    pub(super) fn offer(&mut self, now: Time, pair: HostPair) {
        let lifetime = OFFER_REPAIRS * self.options.repair;
        self.offered.insert(now, pair, lifetime);
        for packet in self.waiting.take(&pair) {
            let ingress = packet.in_port();
            let rate = self.options.floods;
            if !self.neighbours.may_flood(now, ingress, rate, false) {
                self.counts.expired_frames += 1;
                continue;
            }
            let hash = digest(packet.wire_bytes());
            self.copies.insert(now, hash, self.options.lock);
            let mut actions = vec![Action::output(PortNo::FLOOD)];
            if self.kind(now, ingress).is_switch() {
                actions.push(Action::output(PortNo::IN_PORT));
            }
            self.released.push((packet, actions));
            self.counts.offered += 1;
        }
    }
}
