//! A host: it answers ARP, neighbour discovery and echo requests, receives UDP and TCP, and sends
//! what its programs say.

use std::collections::BTreeSet;
use std::net::IpAddr;

use bofuss_datapath::Time;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::Mac;
use bofuss_packet::checksum::update;
use bofuss_packet::craft::Layer;
use bofuss_packet::header::protocol;

use super::neighbours::Neighbours;
use super::ping::{PingCounts, PingProgram, Pinger};
use super::streams::{Streams, TcpCounts, TcpProgram};
use super::tally::{Series, Times};
use super::udp::{Mark, UdpCounts, UdpExpectation, UdpProgram, UdpReceiver, UdpSender};
use super::wire::{self, Content, ETHERNET_BYTES, Received, WireError};
use super::{Host, HostConfig, HostOutput};
use crate::random::Random;
use crate::tcp::segment::Segment;

/// The least MTU: the minimum link MTU of IPv6. Spec: RFC 8200 section 5.
pub const MIN_MTU_BYTES: u16 = 1_280;

/// Something that a host does for a row of traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostProgram {
    /// Sends echo requests.
    Ping(PingProgram),
    /// Sends UDP.
    Udp(UdpProgram),
    /// Counts UDP.
    UdpExpectation(UdpExpectation),
    /// Opens a TCP connection.
    Tcp(TcpProgram),
}

/// The result of a [`HostProgram`] so far.
#[derive(Clone, Debug)]
pub enum Outcome<'a> {
    /// Echo requests and their replies.
    Ping(&'a PingCounts),
    /// Packets sent by each flow, with its number.
    UdpSent(Vec<(u32, u64)>),
    /// The tally of each flow, with its number; and of all flows together, the delays and the bytes
    /// by interval.
    UdpReceived(Vec<(u32, UdpCounts)>, &'a Times, &'a Series),
    /// A connection, its counts, and its acknowledged bytes by interval.
    Tcp(&'a TcpProgram, TcpCounts, &'a Series),
}

/// The list that a program is in, and its index there.
#[derive(Clone, Copy, Debug)]
enum ProgramSlot {
    Ping(usize),
    Udp(usize),
    UdpExpectation(usize),
    Tcp(usize),
}

/// The purpose of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum HostTimer {
    Ping(usize),
    Udp(usize),
    Open(usize),
    Stop(usize),
}

/// The counters of a host apart from those of its programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct HostCounts {
    frames: u64,
    not_for_us: u64,
    malformed: u64,
    wrong_checksum: u64,
    unknown: u64,
    unexpected: u64,
    echo_requests: u64,
    no_buffer: u64,
}

/// A host with one interface.
pub struct EndHost {
    config: HostConfig,
    neighbours: Neighbours,
    pings: Vec<Pinger>,
    senders: Vec<UdpSender>,
    receivers: Vec<UdpReceiver>,
    streams: Streams,
    timers: BTreeSet<(Time, HostTimer)>,
    slots: Vec<ProgramSlot>,
    counts: HostCounts,
    segments: Vec<Segment>,
}

impl EndHost {
    /// A host without programs. An MTU below [`MIN_MTU_BYTES`] is raised to that.
    pub fn new(mut config: HostConfig) -> Self {
        config.mtu_bytes = config.mtu_bytes.max(MIN_MTU_BYTES);
        let neighbours = Neighbours::new(config.addresses.clone(), config.known.clone());
        let streams = Streams::new(config.mtu_bytes, Random::new(config.seed, 0));
        Self {
            config,
            neighbours,
            pings: Vec::new(),
            senders: Vec::new(),
            receivers: Vec::new(),
            streams,
            timers: BTreeSet::new(),
            slots: Vec::new(),
            counts: HostCounts::default(),
            segments: Vec::new(),
        }
    }

    /// Adds a program. Returns its number, for [`EndHost::outcome`].
    pub fn add(&mut self, program: HostProgram) -> usize {
        let slot = match program {
            HostProgram::Ping(program) => {
                let at = self.pings.len();
                let pinger = Pinger::new(program, at as u16);
                self.set_timer(pinger.next_tick(), HostTimer::Ping(at));
                self.pings.push(pinger);
                ProgramSlot::Ping(at)
            }
            HostProgram::Udp(program) => {
                let at = self.senders.len();
                let own_mac = self.config.addresses.mac;
                let sender = UdpSender::new(program, own_mac, |peer| self.neighbours.own_ip(peer));
                self.set_timer(sender.next_tick(), HostTimer::Udp(at));
                self.senders.push(sender);
                ProgramSlot::Udp(at)
            }
            HostProgram::UdpExpectation(expectation) => {
                self.receivers.push(UdpReceiver::new(&expectation));
                ProgramSlot::UdpExpectation(self.receivers.len() - 1)
            }
            HostProgram::Tcp(program) => {
                let at = self.streams.add(program);
                self.set_timer(program.start, HostTimer::Open(at));
                self.set_timer(program.stop, HostTimer::Stop(at));
                ProgramSlot::Tcp(at)
            }
        };
        self.slots.push(slot);
        self.slots.len() - 1
    }

    /// The result of a program so far.
    pub fn outcome(&self, number: usize) -> Outcome<'_> {
        match self.slots[number] {
            ProgramSlot::Ping(at) => Outcome::Ping(&self.pings[at].counts),
            ProgramSlot::Udp(at) => Outcome::UdpSent(self.senders[at].sent().collect()),
            ProgramSlot::UdpExpectation(at) => {
                let receiver = &self.receivers[at];
                let counts = receiver.counts().collect();
                Outcome::UdpReceived(counts, &receiver.delays, &receiver.series)
            }
            ProgramSlot::Tcp(at) => {
                let stream = &self.streams.streams[at];
                Outcome::Tcp(stream.program(), stream.counts, &stream.series)
            }
        }
    }

    fn set_timer(&mut self, at: Time, work: HostTimer) {
        if at < Time::NEVER {
            self.timers.insert((at, work));
        }
    }

    /// Returns true if the IP destination of a packet is one of our addresses.
    fn is_for_us(&self, packet: &Received<'_>) -> bool {
        self.neighbours.own_ip(packet.dst) == Some(packet.dst)
    }

    /// Counts a packet for another host. A known neighbour that asks others may have a new Ethernet
    /// address, which is learned. Spec: RFC 826, the merge flag.
    fn overhear(&mut self, now: Time, packet: &Received<'_>, out: &mut HostOutput<'_>) {
        self.counts.not_for_us += 1;
        if packet.content == Content::Question {
            let mac = packet.src_mac;
            self.neighbours.learn(now, packet.src, mac, false, out);
        }
    }

    fn take(&mut self, now: Time, packet: &Received<'_>, out: &mut HostOutput<'_>) {
        match packet.content {
            Content::Question => {
                if !packet.src.is_unspecified() {
                    let mac = packet.src_mac;
                    self.neighbours.learn(now, packet.src, mac, true, out);
                    out.send_bytes(&wire::answer(self.config.addresses.mac, packet));
                }
            }
            Content::Answer(mac) => self.neighbours.learn(now, packet.src, mac, false, out),
            Content::EchoRequest(body) => {
                self.counts.echo_requests += 1;
                self.send_echo(now, packet.src, true, body, out);
            }
            Content::EchoReply(body) => self.take_echo_reply(now, packet.src, body),
            Content::Udp(datagram) => {
                let mark = Mark::read(datagram);
                let mut receivers = self.receivers.iter_mut();
                let is_expected = mark.is_some_and(|mark| receivers.any(|r| r.receive(now, &mark)));
                self.counts.unexpected += u64::from(!is_expected);
            }
            Content::Tcp(bytes) => match Segment::read(bytes) {
                None => self.counts.malformed += 1,
                Some(segment) => {
                    let ecn = packet.ecn;
                    let segment = Segment { ecn, ..segment };
                    self.take_segment(now, packet.src, &segment, out);
                }
            },
        }
    }

    fn take_segment(
        &mut self,
        now: Time,
        peer: IpAddr,
        segment: &Segment,
        out: &mut HostOutput<'_>,
    ) {
        let mut segments = std::mem::take(&mut self.segments);
        let key = self.streams.receive(now, peer, segment, &mut segments);
        self.segments = segments;
        self.send_segments(now, peer, out);
        if let Some(key) = key {
            self.streams.settle(now, &key);
        }
    }

    /// Counts a reply if it is to one of our pings, which its identifier names.
    fn take_echo_reply(&mut self, now: Time, peer: IpAddr, body: &[u8]) {
        let identifier = body.first_chunk().map(|bytes| u16::from_be_bytes(*bytes));
        let pinger = identifier.and_then(|at| self.pings.get_mut(usize::from(at)));
        let is_expected =
            pinger.is_some_and(|pinger| pinger.to() == peer && pinger.reply(now, body));
        self.counts.unexpected += u64::from(!is_expected);
    }

    fn send_echo(
        &mut self,
        now: Time,
        peer: IpAddr,
        is_reply: bool,
        body: &[u8],
        out: &mut HostOutput<'_>,
    ) {
        let layer = wire::echo(peer.is_ipv4(), is_reply, body);
        self.send(now, peer, layer, (0, 0), out);
    }

    fn send_segments(&mut self, now: Time, peer: IpAddr, out: &mut HostOutput<'_>) {
        let mut segments = std::mem::take(&mut self.segments);
        for segment in segments.drain(..) {
            let mut bytes = Vec::with_capacity(60);
            segment.write_header(&mut bytes);
            let layer = Layer {
                number: protocol::TCP.into(),
                bytes,
            };
            self.send(now, peer, layer, (segment.len, segment.ecn), out);
        }
        self.segments = segments;
    }

    /// Sends an IP packet to `peer` with an ECN codepoint: `layer`, followed by `zeros` zeros.
    fn send(
        &mut self,
        now: Time,
        peer: IpAddr,
        layer: Layer,
        (zeros, ecn): (usize, u8),
        out: &mut HostOutput<'_>,
    ) {
        let Some(own_ip) = self.neighbours.own_ip(peer) else {
            return;
        };
        let mac = self.config.addresses.mac;
        match frame_of(mac, own_ip, peer, layer, zeros, out.pool()) {
            Some(mut frame) => {
                if ecn > 0 {
                    wire::set_ecn(frame.bytes_mut(), ecn);
                }
                self.neighbours.send(now, peer, frame, out);
            }
            None => self.counts.no_buffer += 1,
        }
    }

    fn work(&mut self, now: Time, work: HostTimer, out: &mut HostOutput<'_>) {
        match work {
            HostTimer::Ping(at) => {
                let pinger = &mut self.pings[at];
                let peer = pinger.to();
                let body = pinger.request(now);
                let next_at = pinger.next_tick();
                self.set_timer(next_at, work);
                self.send_echo(now, peer, false, &body, out);
            }
            HostTimer::Udp(at) => {
                let sender = &mut self.senders[at];
                let pool = out.pool();
                self.counts.no_buffer += sender.tick(now, pool, |peer, frame| {
                    self.neighbours.send(now, peer, frame, out);
                });
                let next_at = sender.next_tick();
                self.set_timer(next_at, work);
            }
            HostTimer::Open(at) | HostTimer::Stop(at) => self.open_or_stop(now, at, work, out),
        }
    }

    fn open_or_stop(&mut self, now: Time, at: usize, work: HostTimer, out: &mut HostOutput<'_>) {
        let mut segments = std::mem::take(&mut self.segments);
        let key = if work == HostTimer::Open(at) {
            self.streams.open(now, at, &mut segments)
        } else {
            self.streams.stop(now, at, &mut segments)
        };
        self.segments = segments;
        if let Some(key) = key {
            self.send_segments(now, key.peer, out);
            self.streams.settle(now, &key);
        }
    }

    /// Returns true if the Ethernet destination of a frame is our address or a group.
    fn is_addressed(&self, frame: &[u8]) -> bool {
        let own = self.config.addresses.mac;
        let is_group = frame.first().is_some_and(|first| first & 1 == 1);
        is_group || frame.starts_with(&own.0)
    }
}

/// Makes a frame whose destination address is filled in later. Zeros change checksums only by
/// their number, so the headers are made without them and then corrected.
fn frame_of(
    mac: Mac,
    own_ip: IpAddr,
    peer: IpAddr,
    layer: Layer,
    zeros: usize,
    pool: &Pool,
) -> Option<Frame> {
    let layer_bytes = layer.bytes.len();
    let headers = wire::ip_frame(Mac::default(), mac, own_ip, peer, layer);
    let mut frame = pool.take(headers.len() + zeros)?;
    frame.set_len(headers.len() + zeros);
    let (head, rest) = frame.bytes_mut().split_at_mut(headers.len());
    head.copy_from_slice(&headers);
    rest.fill(0);
    if zeros > 0 {
        lengthen(head, own_ip.is_ipv4(), layer_bytes, zeros);
    }
    Some(frame)
}

/// Corrects the lengths and checksums in the headers of a TCP segment for `zeros` more zeros.
fn lengthen(headers: &mut [u8], is_ipv4: bool, layer_bytes: usize, zeros: usize) {
    let length_at = ETHERNET_BYTES + if is_ipv4 { 2 } else { 4 };
    let tcp_at = headers.len() - layer_bytes;
    let more = zeros as u64;
    let length = read_u16(headers, length_at);
    write_u16(headers, length_at, length + zeros as u16);
    if is_ipv4 {
        let checksum_at = ETHERNET_BYTES + 10;
        let checksum = read_u16(headers, checksum_at);
        write_u16(headers, checksum_at, update(checksum, 0, more));
    }
    let checksum_at = tcp_at + 16;
    let checksum = read_u16(headers, checksum_at);
    write_u16(headers, checksum_at, update(checksum, 0, more));
}

fn read_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn write_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

impl Host for EndHost {
    fn receive(&mut self, now: Time, frame: Frame, out: &mut HostOutput<'_>) {
        self.counts.frames += 1;
        if !self.is_addressed(frame.bytes()) {
            self.counts.not_for_us += 1;
            return;
        }
        match wire::read(frame.bytes()) {
            Ok(packet) if self.is_for_us(&packet) => self.take(now, &packet, out),
            Ok(packet) => self.overhear(now, &packet, out),
            Err(WireError::Malformed) => self.counts.malformed += 1,
            Err(WireError::Checksum) => self.counts.wrong_checksum += 1,
            Err(WireError::Unknown) => self.counts.unknown += 1,
        }
    }

    fn tick(&mut self, now: Time, out: &mut HostOutput<'_>) {
        self.neighbours.tick(now, out);
        while let Some(&(at, work)) = self.timers.first()
            && at <= now
        {
            self.timers.pop_first();
            self.work(now, work, out);
        }
        let mut segments = std::mem::take(&mut self.segments);
        while let Some(key) = self.streams.tick(now, &mut segments) {
            self.segments = segments;
            self.send_segments(now, key.peer, out);
            self.streams.settle(now, &key);
            segments = std::mem::take(&mut self.segments);
        }
        self.segments = segments;
    }

    fn announce(&mut self, _: Time, out: &mut HostOutput<'_>) {
        let own = &self.config.addresses;
        let ips = [own.ip4.map(|ip| ip.0.into()), own.ip6.map(|ip| ip.0.into())];
        for ip in ips.into_iter().flatten() {
            if !out.send_bytes(&wire::announcement(own.mac, ip)) {
                self.counts.no_buffer += 1;
            }
        }
    }

    fn next_tick(&self) -> Option<Time> {
        let program = self.timers.first().map(|(at, _)| *at);
        let stream = self.streams.next_tick();
        let neighbour = self.neighbours.next_tick();
        [program, stream, neighbour].into_iter().flatten().min()
    }

    fn statistics(&self) -> Vec<(String, u64)> {
        let counts = &self.counts;
        let named = [
            ("frames", counts.frames),
            ("not_for_us", counts.not_for_us),
            ("malformed", counts.malformed),
            ("wrong_checksum", counts.wrong_checksum),
            ("unknown", counts.unknown),
            ("unexpected", counts.unexpected),
            ("echo_requests", counts.echo_requests),
            ("no_buffer", counts.no_buffer),
            ("unresolved", self.neighbours.unresolved),
            ("refused_connections", self.streams.refused),
        ];
        let owned = named.map(|(name, count)| (name.to_string(), count));
        owned.to_vec()
    }
}
