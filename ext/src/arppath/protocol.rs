//! The frames that switches send each other: HELLO, and the repair of paths.

use bofuss_datapath::Time;
use bofuss_oflib::{Mac, PortNo};

use super::frame::{FrameError, FrameType, HostPair, PathFrame};
use super::machine::PathMachine;
use super::neighbours::NeighbourKind;
use super::sessions::Freshness;
use super::table::{PathEntry, PathState, VlanHost};
use super::waiting::{DueRepair, RepairStart};

/// The time for which a request is remembered, so that a late copy is recognised.
const REQUEST_MEMORY: u64 = 10 * Time::SEC;
/// The number of entries of each port that one tick checks for expiry.
const EXPIRIES_PER_TICK: usize = 256;

impl PathMachine {
    /// Handles a port that came up, went down or changed.
    pub(super) fn link_changed(&mut self, now: Time, port: PortNo, up: bool) {
        let floods = self.options.floods;
        let came_up = self.neighbours.set_link(now, port, up, floods);
        if !up {
            self.flush(port);
        }
        if came_up {
            self.hellos.hasten(now, self.options.hello);
        }
    }

    /// The time when [`PathMachine::tick`] has something to do.
    pub(super) fn next_tick(&self) -> Option<Time> {
        let hello = self.hellos.next()?;
        let times = [self.waiting.next(), self.next_loss];
        times.into_iter().flatten().chain([hello]).min()
    }

    /// Handles all timers that are due.
    pub(super) fn tick(&mut self, now: Time) {
        let (due, mut lost) = self.waiting.due(now, self.options.repair);
        for DueRepair {
            pair,
            ingress,
            offer,
        } in due
        {
            if self.neighbours.may_repair(now, ingress) {
                self.ask(now, pair, offer);
            } else if offer {
                lost += self.waiting.take(&pair).len();
            }
        }
        self.counts.expired_frames += lost as u64;
        if self.next_loss.is_some_and(|at| at <= now) {
            self.drop_lost_neighbours(now);
        }
        if self.hellos.next().is_some_and(|at| at <= now) {
            self.say_hello(now);
            self.requests.expire(now);
            self.copies.expire(now);
            self.offered.expire(now);
            let is_more = self.paths.expire(now, EXPIRIES_PER_TICK);
            self.hellos.sent(now, self.options.hello, is_more);
        }
    }

    fn drop_lost_neighbours(&mut self, now: Time) {
        for port in self.neighbours.lost(now, &self.options) {
            self.counts.lost_neighbours += 1;
            self.flush(port);
        }
        self.next_loss = self.neighbours.next_loss(self.options.hold);
    }

    fn say_hello(&mut self, now: Time) {
        let ports: alloc::vec::Vec<PortNo> = self.neighbours.up().collect();
        for port in ports {
            let hello = PathFrame {
                to: self.neighbours.heard(now, port, self.options.hold),
                ..self.sender.frame(FrameType::Hello, HostPair::default())
            };
            for near in [true, false] {
                self.sender.send(&self.options, port, &hello, near);
            }
        }
    }

    /// Requests a path: the source's edge switch asks all switches; any other switch informs that
    /// edge. With `offer`, because no edge has answered.
    pub(super) fn ask(&mut self, now: Time, pair: HostPair, offer: bool) {
        let Some(source) = self.paths.get(now, &(pair.vlan, pair.source)).copied() else {
            return;
        };
        let for_all = self.waiting.is_for_all(&pair);
        if self.kind(now, source.port).is_switch() {
            let fail = self.sender.frame(FrameType::PathFail, pair);
            let fail = PathFrame {
                for_all,
                offer,
                ..fail
            };
            self.send_to(&source, fail);
            return;
        }
        // The request locks the source in all switches, including this one.
        if let Some(source) = self.paths.get_mut(now, &(pair.vlan, pair.source)) {
            source.seen = now;
        }
        let request = self.sender.frame(FrameType::PathRequest, pair);
        let request = PathFrame {
            for_all,
            offer,
            ..request
        };
        self.flood(now, source.port, &request);
        if offer {
            self.offer(now, pair);
        }
    }

    /// Announces to all switches that a host is at a port; no answer is wanted.
    pub(super) fn announce(&mut self, now: Time, (vlan, source): VlanHost, port: PortNo) {
        let pair = HostPair {
            vlan,
            source,
            destination: Mac([0; 6]),
        };
        if self.neighbours.may_repair(now, port) {
            let request = self.sender.frame(FrameType::PathRequest, pair);
            self.flood(now, port, &request);
        }
    }

    /// Sends a frame to all switches except those reached through `ingress`.
    fn flood(&mut self, now: Time, ingress: PortNo, frame: &PathFrame) {
        let ports: alloc::vec::Vec<PortNo> = self.neighbours.up().collect();
        for port in ports {
            if port != ingress && self.kind(now, port).is_switch() {
                self.sender.send(&self.options, port, frame, false);
            }
        }
    }

    /// Sends a frame towards a host.
    fn send_to(&mut self, host: &PathEntry, frame: PathFrame) {
        let frame = PathFrame {
            sender: self.sender.id(),
            to: host.via,
            ..frame
        };
        self.sender.send(&self.options, host.port, &frame, false);
    }

    /// Handles a frame of the protocol; `near` if it was addressed to the nearest bridge. `body`
    /// follows the Ethernet header.
    pub(super) fn receive(&mut self, now: Time, port: PortNo, near: bool, body: &[u8]) {
        let frame = match PathFrame::decode(body, self.options.key) {
            Ok(frame) => frame,
            Err(FrameError::Malformed | FrameError::BadTag) => {
                self.counts.forged += 1;
                return;
            }
        };
        let is_hello = frame.ty == FrameType::Hello;
        let may_be = if is_hello {
            !self.options.host_ports.contains(&port) && self.neighbours.is_up(port)
        } else {
            !near && self.kind(now, port).is_switch()
        };
        if !may_be {
            self.counts.forged += 1;
            return;
        }
        if frame.sender == self.sender.id() {
            if is_hello {
                self.neighbours.hear_itself(now, port);
            }
            return;
        }
        if self.options.key.is_some() && !self.is_fresh(now, port, near, &frame) {
            return;
        }
        if is_hello {
            return self.hear(now, port, near, &frame);
        }
        let is_for_us = frame.to == 0 || frame.to == self.sender.id();
        if frame.origin == self.sender.id() || !is_for_us {
            return;
        }
        match frame.ty {
            FrameType::Hello => {}
            FrameType::PathFail => self.path_failed(now, port, frame),
            FrameType::PathRequest => self.path_requested(now, port, frame),
            FrameType::PathReply => self.path_replied(now, port, frame),
        }
    }

    /// Returns true if a signed frame was not sent before, and by a switch that is there now. If
    /// that is not known yet, the switch is challenged; and its challenge is answered.
    fn is_fresh(&mut self, now: Time, port: PortNo, near: bool, frame: &PathFrame) -> bool {
        let (nonces, options) = (self.sender.nonces(), &self.options);
        let freshness = self.neighbours.freshness(now, port, nonces, frame, options);
        let challenge = match freshness {
            None => return false,
            Some(Freshness::Replayed) => {
                self.counts.replayed += 1;
                return false;
            }
            Some(Freshness::Fresh) => 0,
            Some(Freshness::Unproven(challenge)) => challenge,
        };
        let is_hello = frame.ty == FrameType::Hello;
        let answer = if frame.to == self.sender.id() {
            frame.challenge
        } else {
            0
        };
        if is_hello && (challenge, answer) != (0, 0) && self.neighbours.may_challenge(now, port) {
            let hello = PathFrame {
                to: frame.sender,
                challenge,
                answer,
                ..self.sender.frame(FrameType::Hello, HostPair::default())
            };
            self.sender.send(&self.options, port, &hello, near);
        }
        if !is_hello && challenge != 0 {
            self.counts.forged += 1;
        }
        challenge == 0
    }

    fn hear(&mut self, now: Time, port: PortNo, near: bool, frame: &PathFrame) {
        let hold = self.options.hold;
        let hears_us = frame.to == self.sender.id();
        let heard = (frame.sender, hears_us);
        if self.neighbours.hear(now, port, heard, near, hold) {
            let loss = now.after(hold);
            self.next_loss = Some(self.next_loss.map_or(loss, |next| next.min(loss)));
            self.hellos.hasten(now, self.options.hello);
        }
    }

    /// Handles a path-fail: beyond `port` there is no path to the destination. The source's edge
    /// switch requests one.
    fn path_failed(&mut self, now: Time, port: PortNo, frame: PathFrame) {
        let pair = frame.pair;
        let destination = (pair.vlan, pair.destination);
        let entry = self.paths.get(now, &destination);
        if entry.is_some_and(|entry| entry.port == port) {
            self.forget(now, &destination);
        }
        let Some(source) = self.paths.get(now, &(pair.vlan, pair.source)).copied() else {
            return;
        };
        if self.kind(now, source.port).is_switch() {
            if source.port != port && frame.hops > 0 {
                let hops = frame.hops - 1;
                self.send_to(&source, PathFrame { hops, ..frame });
            }
            return;
        }
        if frame.offer {
            // Several switches may have frames of one path.
            if !self.offered.has(now, &pair) && self.neighbours.may_repair(now, port) {
                self.ask(now, pair, true);
            }
        } else if self.waiting.admission(&pair, port, frame.for_all) == RepairStart::First {
            self.repair(now, pair, port, frame.for_all);
        } else {
            self.waiting.want(&pair);
        }
    }

    /// Handles a path-request: the source is where the first copy came from. The destination's edge
    /// switch answers.
    fn path_requested(&mut self, now: Time, port: PortNo, frame: PathFrame) {
        let known_as = (frame.origin, frame.sequence);
        if self.requests.has(now, &known_as) {
            return;
        }
        self.requests.insert(now, known_as, REQUEST_MEMORY);
        let pair = frame.pair;
        let source = (pair.vlan, pair.source);
        self.bind(now, source, port, (PathState::Locked, frame.sender));
        if frame.hops > 0 {
            let onward = PathFrame {
                hops: frame.hops - 1,
                sender: self.sender.id(),
                ..frame
            };
            self.flood(now, port, &onward);
        }
        let destination = self.paths.get(now, &(pair.vlan, pair.destination));
        let destination = destination.copied();
        let edge = destination.filter(|entry| self.is_edge(now, entry, port));
        if let Some(destination) = edge {
            self.confirm(now, &source);
            let reply = self.sender.frame(FrameType::PathReply, pair);
            if let Some(source) = self.paths.get(now, &source).copied() {
                self.send_to(&source, reply);
            }
            if frame.for_all && !self.kind(now, destination.port).is_switch() {
                self.announce(now, (pair.vlan, pair.destination), destination.port);
            }
        } else if frame.offer {
            // The edge that the entry leads to has not answered.
            self.forget(now, &(pair.vlan, pair.destination));
        }
        if frame.offer {
            self.offer(now, pair);
        }
    }

    /// Returns true if this switch answers for a host that a switch beyond `port` requests.
    fn is_edge(&self, now: Time, host: &PathEntry, port: PortNo) -> bool {
        match self.kind(now, host.port) {
            NeighbourKind::Hosts | NeighbourKind::New | NeighbourKind::Loop => true,
            NeighbourKind::Switch | NeighbourKind::Shared | NeighbourKind::Unidirectional => {
                host.is_pinned() && host.port != port
            }
        }
    }

    /// Handles a path-reply: the destination is where the reply came from.
    fn path_replied(&mut self, now: Time, port: PortNo, frame: PathFrame) {
        let pair = frame.pair;
        let source = (pair.vlan, pair.source);
        let Some(entry) = self.paths.get(now, &source).copied() else {
            return;
        };
        if entry.port == port {
            return;
        }
        let is_edge = !self.kind(now, entry.port).is_switch();
        let destination = (pair.vlan, pair.destination);
        self.bind(now, destination, port, (PathState::Learnt, frame.sender));
        self.confirm(now, &source);
        if is_edge {
            self.counts.replies += 1;
        } else if frame.hops > 0 {
            let hops = frame.hops - 1;
            self.send_to(&entry, PathFrame { hops, ..frame });
        }
    }
}
