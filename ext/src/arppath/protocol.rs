//! The frames that switches send each other: HELLO, and the repair of paths.

use bofuss_datapath::Time;
use bofuss_oflib::{Mac, PortNo};

use super::frame::{FrameError, FrameType, HostPair, MAX_HOPS, PathFrame};
use super::machine::PathMachine;
use super::neighbours::NeighbourKind;
use super::sessions::Freshness;
use super::table::{PathEntry, PathState, VlanHost};
use super::waiting::{DueRepair, RepairStart};

/// A new neighbour gets a HELLO at once, but between two regular HELLOs at most this many are sent.
const EXTRA_HELLOS: u64 = 10;
/// The first byte of a switch's own, locally administered address. It differs from those usually
/// given to hosts, because ordinary bridges would learn a wrong place for such an address.
const OWN_PREFIX: u8 = 0x62;
/// How long a request is remembered, so that a late copy is recognised.
const REQUEST_MEMORY: u64 = 10 * Time::SEC;
/// How many entries of each port one tick checks for expiry.
const EXPIRIES_PER_TICK: usize = 256;

impl PathMachine {
    /// Begins to send HELLOs, unless it has begun already.
    pub(super) fn activate(&mut self, now: Time) {
        self.next_hello.get_or_insert(now);
    }

    /// Handles a port that came up, went down or changed.
    pub(super) fn link_changed(&mut self, now: Time, port: PortNo, up: bool) {
        let floods = self.options.floods;
        let came_up = self.neighbours.set_link(now, port, up, floods);
        if !up {
            self.flush(port);
        }
        if came_up && self.next_hello.is_some() {
            self.greet(now);
        }
    }

    /// Makes the next HELLO due soon.
    fn greet(&mut self, now: Time) {
        let pause = self.options.hello / EXTRA_HELLOS;
        let soon = self
            .last_hello
            .map_or(now, |last| last.after(pause).max(now));
        self.next_hello = self.next_hello.map(|next| next.min(soon));
    }

    /// When [`PathMachine::tick`] has something to do.
    pub(super) fn next_tick(&self) -> Option<Time> {
        let hello = self.next_hello?;
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
        if self.next_hello.is_some_and(|at| at <= now) {
            self.say_hello(now);
            self.requests.expire(now);
            self.copies.expire(now);
            self.offered.expire(now);
            self.next_hello = Some(now.after(self.options.hello));
            if self.paths.expire(now, EXPIRIES_PER_TICK) {
                self.next_hello = Some(now.after(self.options.hello / EXTRA_HELLOS));
            }
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
        self.last_hello = Some(now);
        let ports: alloc::vec::Vec<PortNo> = self.neighbours.up().collect();
        for port in ports {
            let hello = PathFrame {
                to: self.neighbours.heard(now, port, self.options.hold),
                ..self.frame(FrameType::Hello, HostPair::default())
            };
            for near in [true, false] {
                self.send(port, &hello, near);
            }
        }
    }

    /// Makes a frame that originates here.
    fn frame(&mut self, ty: FrameType, pair: HostPair) -> PathFrame {
        self.last_sequence += 1;
        PathFrame {
            ty,
            hops: MAX_HOPS,
            for_all: false,
            offer: false,
            sender: self.id,
            to: 0,
            epoch: 0,
            number: 0,
            origin: self.id,
            sequence: self.last_sequence,
            challenge: 0,
            answer: 0,
            pair,
        }
    }

    /// Sends a frame out of a port, as the next of the epoch there. A frame that announces a host
    /// has the host's address as its source, so that ordinary bridges learn it as well.
    fn send(&mut self, port: PortNo, frame: &PathFrame, near: bool) {
        let [.., b, c, d, e, f] = self.id.to_be_bytes();
        let own = Mac([OWN_PREFIX, b, c, d, e, f]);
        let source = match frame.ty {
            FrameType::Hello | FrameType::PathFail => own,
            FrameType::PathRequest => frame.pair.source,
            FrameType::PathReply => frame.pair.destination,
        };
        let ethertype = self.options.ethertype;
        let key = self.options.key;
        self.last_number += 1;
        let numbered = PathFrame {
            epoch: self.nonces.epoch(port),
            number: self.last_number,
            ..*frame
        };
        let bytes = numbered.encode(ethertype, source, key, near);
        self.outbox.frames.push((port, bytes));
    }

    /// Requests a path: the source's edge switch asks all switches; any other switch informs that
    /// edge. With `offer`, because no edge has answered.
    pub(super) fn ask(&mut self, now: Time, pair: HostPair, offer: bool) {
        let Some(source) = self.paths.get(now, &(pair.vlan, pair.source)).copied() else {
            return;
        };
        let for_all = self.waiting.is_for_all(&pair);
        if self.kind(now, source.port).is_switch() {
            let fail = self.frame(FrameType::PathFail, pair);
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
        let request = self.frame(FrameType::PathRequest, pair);
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
            let request = self.frame(FrameType::PathRequest, pair);
            self.flood(now, port, &request);
        }
    }

    /// Sends a frame to all switches except those reached through `ingress`.
    fn flood(&mut self, now: Time, ingress: PortNo, frame: &PathFrame) {
        let ports: alloc::vec::Vec<PortNo> = self.neighbours.up().collect();
        for port in ports {
            if port != ingress && self.kind(now, port).is_switch() {
                self.send(port, frame, false);
            }
        }
    }

    /// Sends a frame towards a host.
    fn send_to(&mut self, host: &PathEntry, frame: PathFrame) {
        let frame = PathFrame {
            sender: self.id,
            to: host.via,
            ..frame
        };
        self.send(host.port, &frame, false);
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
        if frame.sender == self.id {
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
        let is_for_us = frame.to == 0 || frame.to == self.id;
        if frame.origin == self.id || !is_for_us {
            return;
        }
        match frame.ty {
            FrameType::Hello => {}
            FrameType::PathFail => self.path_failed(now, port, frame),
            FrameType::PathRequest => self.path_requested(now, port, frame),
            FrameType::PathReply => self.path_replied(now, port, frame),
        }
    }

    /// Whether a signed frame was not sent before, and by a switch that is there now. If that is
    /// not known yet, the switch is challenged; and its challenge is answered.
    fn is_fresh(&mut self, now: Time, port: PortNo, near: bool, frame: &PathFrame) -> bool {
        let (nonces, options) = (&self.nonces, &self.options);
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
        let answer = if frame.to == self.id {
            frame.challenge
        } else {
            0
        };
        if is_hello && (challenge, answer) != (0, 0) && self.neighbours.may_challenge(now, port) {
            let hello = PathFrame {
                to: frame.sender,
                challenge,
                answer,
                ..self.frame(FrameType::Hello, HostPair::default())
            };
            self.send(port, &hello, near);
        }
        if !is_hello && challenge != 0 {
            self.counts.forged += 1;
        }
        challenge == 0
    }

    fn hear(&mut self, now: Time, port: PortNo, near: bool, frame: &PathFrame) {
        let hold = self.options.hold;
        let hears_us = frame.to == self.id;
        let heard = (frame.sender, hears_us);
        if self.neighbours.hear(now, port, heard, near, hold) {
            let loss = now.after(hold);
            self.next_loss = Some(self.next_loss.map_or(loss, |next| next.min(loss)));
            self.greet(now);
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
                sender: self.id,
                ..frame
            };
            self.flood(now, port, &onward);
        }
        let destination = self.paths.get(now, &(pair.vlan, pair.destination));
        let destination = destination.copied();
        let edge = destination.filter(|entry| self.is_edge(now, entry, port));
        if let Some(destination) = edge {
            self.confirm(now, &source);
            let reply = self.frame(FrameType::PathReply, pair);
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

    /// Whether this switch answers for a host that a switch beyond `port` requests.
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
