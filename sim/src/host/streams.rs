//! The TCP connections of a host: those that its programs open, and those that it accepts.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use bofuss_datapath::Time;
use serde::Serialize;

use super::tally::Series;
use crate::random::Random;
use crate::tcp::congestion::CongestionControl;
use crate::tcp::segment::{ACK, HEADER_BYTES, RST, SYN, Segment};
use crate::tcp::{Ports, TcpReceiver, TcpSender, TcpSenderConfig};

/// The most accepted connections of a host that are not over. A further SYN is dropped.
const MAX_ACCEPTED: usize = 65_536;
/// The first of the ports from which connections are opened, in turn (Linux:
/// `ip_local_port_range`).
const FIRST_PORT: u16 = 32_768;
/// The number of such ports.
const PORTS: u16 = 28_232;

/// A TCP connection that one host opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpProgram {
    /// The destination.
    pub to: IpAddr,
    /// Destination port.
    pub dst_port: u16,
    /// The time at which the SYN is sent.
    pub start: Time,
    /// No new data is sent at this time or later, and the connection closes.
    pub stop: Time,
    /// Bytes to send; `u64::MAX` for no end.
    pub size_bytes: u64,
    /// Congestion control.
    pub algorithm: CongestionControl,
    /// The most bytes in flight.
    pub window_bytes: u64,
    /// The minimum retransmission timeout.
    pub min_timeout_ns: u64,
    /// True if it offers explicit congestion notification.
    pub ecn: bool,
    /// The length of the intervals in which acknowledged bytes are counted, from `start` on; 0 for
    /// none.
    pub interval_ns: u64,
}

/// The result of a [`TcpProgram`] so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TcpCounts {
    /// Bytes of data that the other end acknowledged.
    pub acknowledged_bytes: u64,
    /// Segments that were retransmitted.
    pub retransmissions: u64,
    /// The time from the SYN to the acknowledgement of the last byte.
    pub completed_ns: Option<u64>,
    /// True if the connection was refused, or given up.
    pub failed: bool,
}

/// Identifies a connection of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StreamKey {
    pub peer: IpAddr,
    pub ports: Ports,
}

/// A connection that a program opens.
#[derive(Clone, Debug)]
pub(super) struct TcpFlow {
    program: TcpProgram,
    key: Option<StreamKey>,
    pub(super) counts: TcpCounts,
    pub(super) series: Series,
}

#[derive(Debug)]
enum TcpEnd {
    Sender {
        sender: Box<TcpSender>,
        stream: usize,
    },
    Receiver(TcpReceiver),
}

#[derive(Debug)]
struct TcpConnection {
    end: TcpEnd,
    /// The time at which its entry in [`Streams::timers`] is due: not after its next timer.
    wake_at: Time,
}

/// The connections of a host.
#[derive(Debug)]
pub(super) struct Streams {
    mtu_bytes: u16,
    random: Random,
    opened: u16,
    accepted: usize,
    pub(super) streams: Vec<TcpFlow>,
    connections: BTreeMap<StreamKey, TcpConnection>,
    timers: BTreeSet<(Time, StreamKey)>,
    /// SYNs for which there was no room.
    pub(super) refused: u64,
}

impl Streams {
    pub(super) fn new(mtu_bytes: u16, random: Random) -> Self {
        Self {
            mtu_bytes,
            random,
            opened: 0,
            accepted: 0,
            streams: Vec::new(),
            connections: BTreeMap::new(),
            timers: BTreeSet::new(),
            refused: 0,
        }
    }

    /// Adds a connection that [`Streams::open`] opens. Returns its index.
    pub(super) fn add(&mut self, program: TcpProgram) -> usize {
        self.streams.push(TcpFlow {
            program,
            key: None,
            counts: TcpCounts::default(),
            series: Series::new(program.start, program.interval_ns),
        });
        self.streams.len() - 1
    }

    /// Opens a connection. Returns its key; `None` if all ports are in use, or it would begin when
    /// it has to stop.
    pub(super) fn open(
        &mut self,
        now: Time,
        stream: usize,
        out: &mut Vec<Segment>,
    ) -> Option<StreamKey> {
        let program = self.streams[stream].program;
        if now >= program.stop {
            return None;
        }
        let Some(key) = self.free_key(&program) else {
            self.streams[stream].counts.failed = true;
            return None;
        };
        let mut sender = TcpSender::new(TcpSenderConfig {
            ports: key.ports,
            size_bytes: program.size_bytes,
            algorithm: program.algorithm,
            mss: self.mss(program.to),
            window_bytes: program.window_bytes,
            min_timeout_ns: program.min_timeout_ns,
            initial_seq: self.random.next() as u32,
            ecn: program.ecn,
        });
        sender.open(now, out);
        self.streams[stream].key = Some(key);
        let sender = Box::new(sender);
        self.insert(key, TcpEnd::Sender { sender, stream });
        Some(key)
    }

    fn insert(&mut self, key: StreamKey, end: TcpEnd) {
        let wake_at = Time::NEVER;
        self.connections.insert(key, TcpConnection { end, wake_at });
    }

    fn end(&mut self, key: &StreamKey) -> Option<&mut TcpEnd> {
        self.connections.get_mut(key).map(|c| &mut c.end)
    }

    fn free_key(&mut self, program: &TcpProgram) -> Option<StreamKey> {
        for _ in 0..PORTS {
            let ports = Ports {
                local: FIRST_PORT + self.opened % PORTS,
                peer: program.dst_port,
            };
            self.opened = (self.opened + 1) % PORTS;
            let peer = program.to;
            let key = StreamKey { peer, ports };
            if !self.connections.contains_key(&key) {
                return Some(key);
            }
        }
        None
    }

    /// The longest segment after the TCP header.
    fn mss(&self, peer: IpAddr) -> u16 {
        let ip_bytes = match peer {
            IpAddr::V4(_) => super::wire::IPV4_BYTES,
            IpAddr::V6(_) => super::wire::IPV6_BYTES,
        };
        self.mtu_bytes - (ip_bytes + HEADER_BYTES) as u16
    }

    /// Stops the sending of a connection. Returns its key if it was opened.
    pub(super) fn stop(
        &mut self,
        now: Time,
        stream: usize,
        out: &mut Vec<Segment>,
    ) -> Option<StreamKey> {
        let key = self.streams[stream].key?;
        if let Some(TcpEnd::Sender { sender, .. }) = self.end(&key) {
            sender.stop(now, out);
        }
        Some(key)
    }

    /// Handles a segment of `peer`. Returns the key of the connection that it is for.
    pub(super) fn receive(
        &mut self,
        now: Time,
        peer: IpAddr,
        segment: &Segment,
        out: &mut Vec<Segment>,
    ) -> Option<StreamKey> {
        let ports = Ports {
            local: segment.dst_port,
            peer: segment.src_port,
        };
        let key = StreamKey { peer, ports };
        match self.end(&key) {
            Some(TcpEnd::Sender { sender, .. }) => sender.receive(now, segment, out),
            Some(TcpEnd::Receiver(receiver)) => receiver.receive(now, segment, out),
            None if segment.flags & (SYN | ACK | RST) == SYN => {
                if self.accepted == MAX_ACCEPTED {
                    self.refused += 1;
                    return None;
                }
                self.accepted += 1;
                let mss = self.mss(peer);
                let initial_seq = self.random.next() as u32;
                let receiver = TcpReceiver::accept(now, ports, mss, initial_seq, segment, out);
                self.insert(key, TcpEnd::Receiver(receiver));
            }
            None if segment.flags & RST == 0 => {
                out.push(reset(segment));
                return None;
            }
            None => return None,
        }
        Some(key)
    }

    /// Returns when [`Streams::tick`] has something to do.
    pub(super) fn next_tick(&self) -> Option<Time> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Handles the timers of one connection that is due, and returns its key; `None` if none is
    /// due.
    pub(super) fn tick(&mut self, now: Time, out: &mut Vec<Segment>) -> Option<StreamKey> {
        let &(at, key) = self.timers.first()?;
        if at > now {
            return None;
        }
        self.timers.pop_first();
        let connection = self.connections.get_mut(&key)?;
        connection.wake_at = Time::NEVER;
        match &mut connection.end {
            TcpEnd::Sender { sender, .. } => sender.tick(now, out),
            TcpEnd::Receiver(receiver) => receiver.tick(now, out),
        }
        Some(key)
    }

    /// Updates the counts and the timer of a connection, and removes it if it is over.
    pub(super) fn settle(&mut self, now: Time, key: &StreamKey) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let (is_over, next_tick) = match &connection.end {
            TcpEnd::Sender { sender, stream } => {
                self.streams[*stream].count(now, sender);
                (sender.is_over(), sender.next_tick())
            }
            TcpEnd::Receiver(receiver) => {
                self.accepted -= usize::from(receiver.is_over());
                (receiver.is_over(), receiver.next_tick())
            }
        };
        // A timer that was postponed stays where it is: it expires too early, and is then set anew.
        if is_over || next_tick < connection.wake_at {
            self.timers.remove(&(connection.wake_at, *key));
            connection.wake_at = next_tick;
            if next_tick < Time::NEVER {
                self.timers.insert((next_tick, *key));
            }
        }
        if is_over {
            self.connections.remove(key);
        }
    }
}

impl TcpFlow {
    pub(super) fn program(&self) -> &TcpProgram {
        &self.program
    }

    fn count(&mut self, now: Time, sender: &TcpSender) {
        let counts = &mut self.counts;
        let bytes = sender.acknowledged_bytes();
        self.series.add(now, bytes - counts.acknowledged_bytes);
        counts.acknowledged_bytes = bytes;
        counts.retransmissions = sender.retransmissions();
        counts.failed = sender.has_failed();
        // Of data that has an end, `stop` may have cut off a part.
        let is_all = [bytes, u64::MAX].contains(&self.program.size_bytes);
        let completed_at = sender.completed_at().filter(|_| is_all);
        counts.completed_ns = completed_at.map(|at| at.since(self.program.start));
    }
}

/// The answer to a segment of a connection that does not exist. Spec: RFC 9293 section 3.10.7.1.
fn reset(segment: &Segment) -> Segment {
    let empty = Segment {
        src_port: segment.dst_port,
        dst_port: segment.src_port,
        ..Segment::default()
    };
    if segment.flags & ACK != 0 {
        return Segment {
            seq: segment.ack,
            flags: RST,
            ..empty
        };
    }
    Segment {
        ack: segment.seq.wrapping_add(segment.len as u32),
        flags: RST | ACK,
        ..empty
    }
}
