//! Forwards the frames of hosts: it learns the port of each source, and finds the port towards each
//! destination.
//!
//! Nothing here knows tables or hooks. Frames to send are collected in [`PathMachine::sender`] and
//! [`PathMachine::released`].

use alloc::{vec, vec::Vec};

use bofuss_datapath::Time;
use bofuss_oflib::{Action, PortNo};
use bofuss_packet::Packet;

use super::duplicates::Duplicates;
use super::frame::HostPair;
use super::hello_timer::HelloTimer;
use super::neighbours::{NeighbourKind, PathNeighbours};
use super::options::PathOptions;
use super::sender::PathSender;
use super::sessions::Nonces;
use super::table::{PathEntry, PathState, PathTable, VlanHost};
use super::waiting::{RepairStart, Waiting};

/// The parts of a host's frame on which forwarding depends.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostFrame {
    /// Its source, destination and VLAN.
    pub(super) pair: HostPair,
    /// Its ingress port; `None` if that port is not up.
    pub(super) ingress: Option<PortNo>,
    /// A hash of the frame, if copies of it may arrive on the same port.
    pub(super) digest: Option<u64>,
}

impl HostFrame {
    pub(super) fn source(&self) -> VlanHost {
        (self.pair.vlan, self.pair.source)
    }

    pub(super) fn destination(&self) -> VlanHost {
        (self.pair.vlan, self.pair.destination)
    }

    pub(super) fn is_group(&self) -> bool {
        self.pair.destination.is_multicast()
    }
}

/// The comparison of a frame's ingress with the entry of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownSource {
    /// The host is not known.
    New,
    /// The host is on the same port.
    Same,
    /// The host is on another port, and was silent for long enough to have moved.
    Moved,
    /// A frame of the host arrived on another port recently.
    Elsewhere,
    /// The operator has pinned the host to another port.
    Pinned,
}

/// The decision on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forwarding {
    /// It is sent to all ports except its ingress.
    Flood,
    /// It is sent to one port.
    Port(PortNo),
    /// It waits for a path.
    Wait,
    /// It is dropped for this reason.
    Drop(&'static str),
}

/// Counters of events.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathCounts {
    pub(super) moves: u64,
    pub(super) flushed: u64,
    pub(super) repairs: u64,
    pub(super) replies: u64,
    pub(super) expired_frames: u64,
    pub(super) forged: u64,
    pub(super) replayed: u64,
    pub(super) offered: u64,
    pub(super) lost_neighbours: u64,
}

/// The state of ARP-Path in a switch.
pub(super) struct PathMachine {
    pub(super) options: PathOptions,
    pub(super) sender: PathSender,
    pub(super) paths: PathTable,
    pub(super) neighbours: PathNeighbours,
    pub(super) waiting: Waiting,
    /// Requests that were already received: origin and sequence number.
    pub(super) requests: Duplicates<(u64, u64)>,
    /// Hashes of frames of which copies may arrive.
    pub(super) copies: Duplicates<u64>,
    /// Paths that no edge has answered for: their frames are offered to all ports.
    pub(super) offered: Duplicates<HostPair>,
    pub(super) hellos: HelloTimer,
    /// The time when a neighbour may be lost.
    pub(super) next_loss: Option<Time>,
    /// Frames of hosts that waited for a path, each with the actions that send it.
    pub(super) released: Vec<(Packet, Vec<Action>)>,
    pub(super) counts: PathCounts,
}

impl PathMachine {
    pub(super) fn new(options: PathOptions, id: u64, nonces: Nonces) -> Self {
        Self {
            paths: PathTable::new(options.entries),
            options,
            sender: PathSender::new(id, nonces),
            neighbours: PathNeighbours::default(),
            waiting: Waiting::default(),
            requests: Duplicates::default(),
            copies: Duplicates::default(),
            offered: Duplicates::default(),
            hellos: HelloTimer::default(),
            next_loss: None,
            released: Vec::new(),
            counts: PathCounts::default(),
        }
    }

    /// Returns what is at the other end of a port.
    pub(super) fn kind(&self, now: Time, port: PortNo) -> NeighbourKind {
        self.neighbours.kind(now, port, &self.options)
    }

    /// Compares a frame's ingress port with the entry of its source.
    pub(super) fn source(&self, now: Time, station: &VlanHost, port: PortNo) -> KnownSource {
        match self.paths.get(now, station) {
            None => KnownSource::New,
            Some(entry) if entry.port == port => KnownSource::Same,
            Some(entry) if entry.is_pinned() => KnownSource::Pinned,
            Some(entry) if now.since(entry.seen) < self.options.lock => KnownSource::Elsewhere,
            Some(_) => KnownSource::Moved,
        }
    }

    /// Decides what has to be done with a frame, and changes nothing.
    pub(super) fn decide(&self, now: Time, frame: &HostFrame) -> Forwarding {
        let is_flooded = frame.is_group() || self.is_offered(now, frame);
        let is_copy = frame.digest.is_some_and(|hash| self.copies.has(now, &hash));
        if let Some(port) = frame.ingress {
            if self.kind(now, port) == NeighbourKind::Unidirectional {
                return Forwarding::Drop("unidirectional");
            }
            match self.source(now, &frame.source(), port) {
                KnownSource::New | KnownSource::Same | KnownSource::Moved => {}
                KnownSource::Elsewhere if self.may_stray(now, frame, port) => {}
                KnownSource::Elsewhere if self.may_be_offered(now, frame, port) => {}
                KnownSource::Elsewhere | KnownSource::Pinned => {
                    let reason = if is_flooded {
                        "late_copy"
                    } else {
                        "wrong_port"
                    };
                    return Forwarding::Drop(reason);
                }
            }
        }
        if is_flooded && is_copy {
            return Forwarding::Drop("late_copy");
        }
        match self.paths.get(now, &frame.destination()) {
            _ if frame.is_group() => Forwarding::Flood,
            None if is_flooded => Forwarding::Flood,
            None => Forwarding::Wait,
            Some(entry) if Some(entry.port) != frame.ingress => Forwarding::Port(entry.port),
            // The destination is towards the switch that the frame came from, so two switches
            // disagree about its place.
            Some(entry) if self.kind(now, entry.port) == NeighbourKind::Switch => Forwarding::Wait,
            Some(_) => Forwarding::Drop("same_port"),
        }
    }

    /// The output port of a frame between two hosts whose path is in use, after refreshing both
    /// entries. It gives the result of [`PathMachine::forward`] for most frames, faster.
    #[inline]
    pub(super) fn known_port(&mut self, now: Time, frame: &HostFrame) -> Option<PortNo> {
        let ingress = frame.ingress?;
        // Copies of a frame that was offered may still arrive.
        if !self.neighbours.is_plain(ingress) || !self.offered.is_empty() {
            return None;
        }
        let until = now.after(self.options.learnt);
        let destination = self.paths.get_mut(now, &frame.destination())?;
        if destination.state != PathState::Learnt || destination.port == ingress {
            return None;
        }
        // A host that only receives is kept by what is sent to it.
        destination.until = destination.until.max(until);
        let port = destination.port;
        let source = self.paths.get_mut(now, &frame.source())?;
        if source.port != ingress || source.state != PathState::Learnt || source.is_pinned() {
            return None;
        }
        source.seen = now;
        source.until = until;
        Some(port)
    }

    /// Decides as [`PathMachine::decide`], and learns from the frame. If it has to wait, pass it to
    /// [`PathMachine::wait`].
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
        let is_flooded = forwarding == Forwarding::Flood;
        if self.source(now, &frame.source(), port) != KnownSource::Elsewhere {
            let state = if is_flooded {
                PathState::Locked
            } else {
                PathState::Learnt
            };
            if self.learn(now, frame.source(), port, state) {
                self.announce(now, frame.source(), port);
            }
        } else if !is_flooded {
            self.let_stray(now, frame, port);
        }
        if let Some(digest) = frame.digest {
            if is_flooded || self.is_offered(now, frame) {
                self.copies.insert(now, digest, self.options.lock);
            }
        }
        if is_flooded && !frame.is_group() {
            self.waiting.want(&frame.pair);
            self.counts.offered += 1;
        }
        if let Forwarding::Port(_) = forwarding {
            self.confirm(now, &frame.destination());
        }
        forwarding
    }

    /// Learns the port of a frame's source. Returns true if the host has moved here from another
    /// switch, so that other switches may still have its old place.
    fn learn(&mut self, now: Time, station: VlanHost, port: PortNo, state: PathState) -> bool {
        let before = self.paths.get(now, &station).copied();
        if before.is_some_and(|entry| entry.port == port) {
            self.refresh(now, &station, state);
            return false;
        }
        let was_elsewhere = before.is_some_and(|entry| self.kind(now, entry.port).is_switch());
        self.counts.moves += u64::from(before.is_some());
        self.bind(now, station, port, (state, 0));
        was_elsewhere && !self.kind(now, port).is_switch()
    }

    /// Refreshes the entry of a host that was seen on its known port.
    fn refresh(&mut self, now: Time, station: &VlanHost, state: PathState) {
        let Some(entry) = self.paths.get_mut(now, station) else {
            return;
        };
        entry.seen = now;
        if state == PathState::Learnt {
            entry.state = PathState::Learnt;
        }
        if !entry.is_pinned() {
            entry.until = now.after(self.options.lifetime(entry.state));
        }
    }

    /// Marks the path to a host as in use, so that it lives as if the host had sent a frame.
    pub(super) fn confirm(&mut self, now: Time, station: &VlanHost) {
        let until = now.after(self.options.learnt);
        if let Some(entry) = self.paths.get_mut(now, station) {
            entry.state = PathState::Learnt;
            entry.until = entry.until.max(until);
        }
    }

    /// Sets the port towards a host, and sends the frames that waited for it.
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
        // A path in use stays in use.
        let state = match same {
            Some(entry) if entry.state == PathState::Learnt => PathState::Learnt,
            _ => state,
        };
        let entry = PathEntry {
            port,
            state,
            until: now.after(self.options.lifetime(state)),
            seen: now,
            bound: same.map_or(now, |entry| entry.bound),
            via,
        };
        self.paths.insert(station, entry);
        self.release(now, station, port);
    }

    /// Pins a host to a port until the operator deletes the entry.
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

    /// Sends the frames that wait for a host out of the port towards it.
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
            // A frame that returns to its ingress is on a path from the source's edge that no
            // longer passes this switch.
            let output = match packet.in_port() {
                ingress if ingress != port => port,
                _ if leads_to_switch => PortNo::IN_PORT,
                _ => continue,
            };
            let actions = vec![Action::output(output)];
            self.released.push((packet, actions));
        }
    }

    /// Keeps a frame that has no path, and requests one. Returns the reason if it is dropped.
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
                // The entry of the destination is wrong.
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

    /// Begins to look for a path. With `for_all`, all switches learn it, because frames wait at one
    /// between the edges. Returns false if the port has begun too many repairs.
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
        self.ask(now, pair, false);
        true
    }

    /// Forgets all hosts that were learnt on a port.
    pub(super) fn flush(&mut self, port: PortNo) {
        self.counts.flushed += self.paths.flush(port) as u64;
    }

    /// Returns true if a frame has to be recognised if it arrives again: a multicast frame on a
    /// shared port, where other switches on the same bridge may send copies; a frame that arrived
    /// on another port than its source's; and one that is offered to all ports.
    pub(super) fn needs_digest(&self, now: Time, frame: &HostFrame) -> bool {
        let Some(port) = frame.ingress else {
            return false;
        };
        if frame.is_group() {
            matches!(
                self.kind(now, port),
                NeighbourKind::Shared | NeighbourKind::Loop
            )
        } else {
            let known = self.source(now, &frame.source(), port);
            known == KnownSource::Elsewhere || self.is_offered(now, frame)
        }
    }
}
