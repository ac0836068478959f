//! What a switch does with frames of hosts: it learns where they come from, and which port leads to
//! where they go.
//!
//! Nothing here knows tables or hooks. What is to be sent collects in [`PathMachine::outbox`].

use alloc::vec::Vec;

use bofuss_datapath::Time;
use bofuss_oflib::PortNo;
use bofuss_packet::Packet;

use super::duplicates::Duplicates;
use super::frame::HostPair;
use super::neighbours::{NeighbourKind, PathNeighbours};
use super::options::PathOptions;
use super::table::{PathEntry, PathState, PathTable, VlanHost};
use super::waiting::{RepairStart, Waiting};

/// The share of the lock time for which a host's frames that come another way after its entry has
/// changed are taken for late ones, and start no repair.
const SETTLE_SHARE: u64 = 10;

/// A frame of a host, as far as forwarding depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostFrame {
    /// Between whom, and in which VLAN.
    pub(super) pair: HostPair,
    /// The port that it came in through; none if that is no port that is up.
    pub(super) ingress: Option<PortNo>,
    /// A hash of the frame, if there may be copies of it on one port.
    pub(super) digest: Option<u64>,
}

impl HostFrame {
    pub(super) fn source(&self) -> VlanHost {
        (self.pair.vlan, self.pair.source)
    }

    pub(super) fn destination(&self) -> VlanHost {
        (self.pair.vlan, self.pair.destination)
    }

    fn is_group(&self) -> bool {
        self.pair.destination.is_multicast()
    }
}

/// What the entry of a frame's source says of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownSource {
    /// The host is not known.
    New,
    /// It is where it was.
    Same,
    /// It was silent for long enough to have moved, or its path has.
    Moved,
    /// It was heard elsewhere a moment ago.
    Elsewhere,
    /// The operator says that it is elsewhere.
    Pinned,
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forwarding {
    /// It goes to all ports but its own.
    Flood,
    /// It goes to one.
    Port(PortNo),
    /// It waits for a path.
    Wait,
    /// It does not go on, for this reason.
    Drop(&'static str),
}

/// What happened how often.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathCounts {
    pub(super) moves: u64,
    pub(super) flushed: u64,
    pub(super) repairs: u64,
    pub(super) replies: u64,
    pub(super) expired_frames: u64,
    pub(super) forged: u64,
    pub(super) lost_neighbours: u64,
}

/// What is to be sent.
#[derive(Default)]
pub(super) struct PathOutbox {
    /// Frames of the protocol, and the port that each leaves by.
    pub(super) frames: Vec<(PortNo, Vec<u8>)>,
    /// Frames of hosts that waited.
    pub(super) packets: Vec<(PortNo, Packet)>,
}

/// A switch with ARP-Path.
pub(super) struct PathMachine {
    pub(super) options: PathOptions,
    /// Its number in frames.
    pub(super) id: u64,
    /// Nanoseconds from 1970 to the origin of time, so that numbers of frames grow when the switch
    /// starts anew.
    pub(super) epoch_ns: u64,
    pub(super) last_sequence: u64,
    pub(super) paths: PathTable,
    pub(super) neighbours: PathNeighbours,
    pub(super) waiting: Waiting,
    /// Requests that came in already: by whom they were begun, and their numbers.
    pub(super) requests: Duplicates<(u64, u64)>,
    /// Frames that came in through shared ports: hashes.
    pub(super) copies: Duplicates<u64>,
    /// When the next HELLO is due; none while ARP-Path is not in use.
    pub(super) next_hello: Option<Time>,
    pub(super) last_hello: Option<Time>,
    /// When a neighbour may be lost.
    pub(super) next_loss: Option<Time>,
    pub(super) outbox: PathOutbox,
    pub(super) counts: PathCounts,
}

impl PathMachine {
    pub(super) fn new(options: PathOptions, id: u64, epoch_ns: u64) -> Self {
        Self {
            paths: PathTable::new(options.entries),
            options,
            id,
            epoch_ns,
            last_sequence: 0,
            neighbours: PathNeighbours::default(),
            waiting: Waiting::default(),
            requests: Duplicates::default(),
            copies: Duplicates::default(),
            next_hello: None,
            last_hello: None,
            next_loss: None,
            outbox: PathOutbox::default(),
            counts: PathCounts::default(),
        }
    }

    /// What is at the other end of a port.
    pub(super) fn kind(&self, now: Time, port: PortNo) -> NeighbourKind {
        self.neighbours.kind(now, port, &self.options)
    }

    /// What the entry of a frame's source says of it.
    pub(super) fn source(&self, now: Time, station: &VlanHost, port: PortNo) -> KnownSource {
        match self.paths.get(now, station) {
            None => KnownSource::New,
            Some(entry) if entry.port == port => KnownSource::Same,
            Some(entry) if entry.is_pinned() => KnownSource::Pinned,
            Some(entry) if now.since(entry.seen) < self.options.lock => KnownSource::Elsewhere,
            Some(_) => KnownSource::Moved,
        }
    }

    /// What becomes of a frame, as things stand.
    pub(super) fn decide(&self, now: Time, frame: &HostFrame) -> Forwarding {
        if let Some(port) = frame.ingress {
            if self.kind(now, port) == NeighbourKind::Unidirectional {
                return Forwarding::Drop("unidirectional");
            }
            match self.source(now, &frame.source(), port) {
                KnownSource::New | KnownSource::Same | KnownSource::Moved => {}
                KnownSource::Elsewhere if self.may_stray(now, frame, port) => {}
                KnownSource::Elsewhere | KnownSource::Pinned => {
                    let reason = if frame.is_group() {
                        "late_copy"
                    } else {
                        "wrong_port"
                    };
                    return Forwarding::Drop(reason);
                }
            }
        }
        if frame.is_group() {
            let is_copy = frame.digest.is_some_and(|hash| self.copies.has(now, &hash));
            if is_copy {
                return Forwarding::Drop("late_copy");
            }
            return Forwarding::Flood;
        }
        match self.paths.get(now, &frame.destination()) {
            None => Forwarding::Wait,
            Some(entry) if Some(entry.port) != frame.ingress => Forwarding::Port(entry.port),
            // Each of two switches takes the other for the nearer one.
            Some(entry) if self.kind(now, entry.port) == NeighbourKind::Switch => Forwarding::Wait,
            Some(_) => Forwarding::Drop("same_port"),
        }
    }

    /// The port of a frame between two hosts whose path is in use, once that is refreshed: what
    /// [`PathMachine::forward`] comes to for most frames.
    #[inline]
    pub(super) fn known_port(&mut self, now: Time, frame: &HostFrame) -> Option<PortNo> {
        let ingress = frame.ingress?;
        if !self.neighbours.is_plain(ingress) {
            return None;
        }
        let destination = self.paths.get(now, &frame.destination())?;
        if destination.state != PathState::Learnt || destination.port == ingress {
            return None;
        }
        let port = destination.port;
        let until = now.after(self.options.learnt);
        let source = self.paths.get_mut(now, &frame.source())?;
        if source.port != ingress || source.state != PathState::Learnt || source.is_pinned() {
            return None;
        }
        source.seen = now;
        source.until = until;
        Some(port)
    }

    /// The same, and learns from the frame. [`PathMachine::wait`] keeps one that is to wait.
    pub(super) fn forward(&mut self, now: Time, frame: &HostFrame) -> Forwarding {
        let forwarding = self.decide(now, frame);
        let Some(port) = frame.ingress else {
            return forwarding;
        };
        match forwarding {
            Forwarding::Drop("late_copy" | "unidirectional") => return forwarding,
            Forwarding::Drop("wrong_port") => {
                self.came_wrong(now, frame, port);
                return forwarding;
            }
            Forwarding::Flood | Forwarding::Port(_) | Forwarding::Wait | Forwarding::Drop(_) => {}
        }
        if self.source(now, &frame.source(), port) == KnownSource::Elsewhere {
            self.let_stray(now, frame, port);
        } else if self.learn(now, frame, port) {
            self.announce(now, frame.source(), port);
        }
        if let (Forwarding::Flood, Some(digest)) = (forwarding, frame.digest) {
            self.copies.insert(now, digest, self.options.lock);
        }
        if let Forwarding::Port(_) = forwarding {
            self.confirm(now, &frame.destination());
        }
        forwarding
    }

    /// Whether a frame to one host goes on although its source was heard elsewhere a moment ago: a
    /// broadcast may have given the source another path than the one on which the frame is, both
    /// by way of switches. It goes on once, so that paths that do not fit each other make no loop.
    fn may_stray(&self, now: Time, frame: &HostFrame, port: PortNo) -> bool {
        let is_new = frame
            .digest
            .is_some_and(|hash| !self.copies.has(now, &hash));
        let source = self.paths.get(now, &frame.source());
        let is_between_switches = self.kind(now, port).is_switch()
            && source.is_some_and(|entry| self.kind(now, entry.port).is_switch());
        // A path was found a moment ago: the frame comes back from where it waited for that.
        let comes_back = self.kind(now, port) == NeighbourKind::Switch
            && self.was_bound(now, &frame.destination(), self.options.lock);
        is_new && (is_between_switches || comes_back) && !frame.is_group()
    }

    /// Lets such a frame go on, and has the path between its hosts explored anew.
    fn let_stray(&mut self, now: Time, frame: &HostFrame, port: PortNo) {
        if let Some(digest) = frame.digest {
            self.copies.insert(now, digest, self.options.lock);
        }
        self.came_wrong(now, frame, port);
    }

    /// Learns where a frame's source is. Returns true if it has come to this switch from another,
    /// so that others may take it for where it was.
    fn learn(&mut self, now: Time, frame: &HostFrame, port: PortNo) -> bool {
        let station = frame.source();
        let state = if frame.is_group() {
            PathState::Locked
        } else {
            PathState::Learnt
        };
        let before = self.paths.get(now, &station).copied();
        if let Some(entry) = before
            && entry.port == port
        {
            self.refresh(now, &station, state);
            return false;
        }
        let was_elsewhere = before.is_some_and(|entry| self.kind(now, entry.port).is_switch());
        self.counts.moves += u64::from(before.is_some());
        self.bind(now, station, port, (state, 0));
        was_elsewhere && !self.kind(now, port).is_switch()
    }

    /// How long an entry lives.
    fn lifetime(&self, state: PathState) -> u64 {
        match state {
            PathState::Locked => self.options.lock,
            PathState::Learnt => self.options.learnt,
        }
    }

    /// A host was heard where it is known to be.
    fn refresh(&mut self, now: Time, station: &VlanHost, state: PathState) {
        let (lock, learnt) = (self.options.lock, self.options.learnt);
        let Some(entry) = self.paths.get_mut(now, station) else {
            return;
        };
        entry.seen = now;
        if state == PathState::Learnt {
            entry.state = PathState::Learnt;
        }
        if !entry.is_pinned() {
            entry.until = match entry.state {
                PathState::Locked => now.after(lock),
                PathState::Learnt => now.after(learnt),
            };
        }
    }

    /// The path to a host is in use.
    pub(super) fn confirm(&mut self, now: Time, station: &VlanHost) {
        let until = now.after(self.options.learnt);
        if let Some(entry) = self.paths.get_mut(now, station)
            && entry.state == PathState::Locked
        {
            entry.state = PathState::Learnt;
            entry.until = entry.until.max(until);
        }
    }

    /// A port leads to a host from now on: sends it what has waited.
    pub(super) fn bind(
        &mut self,
        now: Time,
        station: VlanHost,
        port: PortNo,
        (state, via): (PathState, u64),
    ) {
        let before = self.paths.get(now, &station).copied();
        if before.is_some_and(|entry| entry.is_pinned()) {
            return;
        }
        let same = before.filter(|entry| entry.port == port);
        // A path in use stays one.
        let state = match same {
            Some(entry) if entry.state == PathState::Learnt => PathState::Learnt,
            _ => state,
        };
        let entry = PathEntry {
            port,
            state,
            until: now.after(self.lifetime(state)),
            seen: now,
            bound: same.map_or(now, |entry| entry.bound),
            via,
        };
        self.paths.insert(station, entry);
        self.release(now, station, port);
    }

    /// A port leads to a host until the operator says otherwise.
    pub(super) fn pin(&mut self, now: Time, station: VlanHost, port: PortNo) {
        let entry = PathEntry {
            port,
            state: PathState::Learnt,
            until: Time::NEVER,
            seen: now,
            bound: now,
            via: 0,
        };
        self.paths.insert(station, entry);
        self.release(now, station, port);
    }

    /// Sends the frames that wait for a host to the port that leads there.
    fn release(&mut self, now: Time, station: VlanHost, port: PortNo) {
        if self.waiting.is_empty() {
            return;
        }
        let frames = self.waiting.release(station);
        if frames.is_empty() {
            return;
        }
        self.confirm(now, &station);
        let leads_to_switch = self.kind(now, port) == NeighbourKind::Switch;
        for packet in frames {
            if packet.in_port() != port {
                self.outbox.packets.push((port, packet));
            } else if leads_to_switch {
                // Back: the path from the source's edge does not come by here any more.
                self.outbox.packets.push((PortNo::IN_PORT, packet));
            }
        }
    }

    /// A frame to one host came in through a port at which its source is not. That is a late one,
    /// unless it goes on: then the paths of the two hosts do not fit each other.
    fn came_wrong(&mut self, now: Time, frame: &HostFrame, port: PortNo) {
        let settle = self.options.lock / SETTLE_SHARE;
        let is_late = self.was_bound(now, &frame.source(), settle)
            || self.was_bound(now, &frame.destination(), settle);
        let is_free = self.waiting.admission(&frame.pair, port, false) == RepairStart::First;
        if !is_late && is_free && self.kind(now, port).is_switch() {
            self.repair(now, frame.pair, port, false);
        }
    }

    /// Whether the port that leads to a host is another one since less than `ns` nanoseconds.
    fn was_bound(&self, now: Time, station: &VlanHost, ns: u64) -> bool {
        let entry = self.paths.get(now, station);
        entry.is_some_and(|entry| now.since(entry.bound) < ns)
    }

    /// Keeps a frame that has no path, and asks for one. Returns why it is dropped, if it is.
    pub(super) fn wait(
        &mut self,
        now: Time,
        frame: &HostFrame,
        packet: Option<Packet>,
    ) -> Option<&'static str> {
        let Some(ingress) = frame.ingress else {
            return Some("no_path");
        };
        let for_all = self.kind(now, ingress).is_switch();
        match self.waiting.admission(&frame.pair, ingress, for_all) {
            RepairStart::NotFound => return Some("no_path"),
            RepairStart::Full => return Some("repairs_full"),
            RepairStart::Asked => {}
            RepairStart::First => {
                // What is known of the destination is wrong.
                self.forget(now, &frame.destination());
                if !self.repair(now, frame.pair, ingress, for_all) {
                    return Some("repairs_full");
                }
            }
        }
        let kept = packet.is_some_and(|packet| self.waiting.keep(&frame.pair, packet));
        (!kept).then_some("queue_full")
    }

    /// Forgets a host, unless the operator has pinned it.
    pub(super) fn forget(&mut self, now: Time, station: &VlanHost) {
        let entry = self.paths.get(now, station);
        if entry.is_some_and(|entry| !entry.is_pinned()) {
            self.paths.remove(station);
        }
    }

    /// Begins to look for a path; all switches are to know it if frames wait at one between the
    /// edges. Returns false if the port has begun too many.
    pub(super) fn repair(
        &mut self,
        now: Time,
        pair: HostPair,
        ingress: PortNo,
        for_all: bool,
    ) -> bool {
        if !self.neighbours.may_repair(now, ingress) {
            return false;
        }
        let patience = self.options.repair;
        self.waiting.begin(now, pair, (ingress, for_all), patience);
        self.counts.repairs += 1;
        self.ask(now, pair);
        true
    }

    /// Forgets what was learnt on a port.
    pub(super) fn flush(&mut self, port: PortNo) {
        self.counts.flushed += self.paths.flush(port) as u64;
    }

    /// Whether a frame has to be known again: one to a group on a port where copies may come in,
    /// those of other switches behind the same bridge; and one that came another way than its
    /// source.
    pub(super) fn needs_digest(&self, now: Time, frame: &HostFrame) -> bool {
        let Some(port) = frame.ingress else {
            return false;
        };
        if frame.is_group() {
            self.kind(now, port) == NeighbourKind::Shared
        } else {
            self.source(now, &frame.source(), port) == KnownSource::Elsewhere
        }
    }
}
