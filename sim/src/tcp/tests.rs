//! Senders and receivers over one bottleneck: rates, shares, losses, timeouts.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

use super::congestion::CongestionControl;
use super::segment::{CE, CWR, ECE, ECT_0, SYN, Segment};
use super::*;

const MS: u64 = 1_000_000;
/// Ethernet, IP and TCP headers with timestamps, FCS, preamble and gap of a data segment.
const WIRE_OVERHEAD: u64 = 14 + 20 + 32 + 4 + 20;
const PAYLOAD: u64 = 1_448;

/// A link with a drop-tail queue towards the receivers; the way back has a delay only.
struct Path {
    bits_per_second: u64,
    one_way_ns: u64,
    queue: usize,
    /// The number of 1,000 data segments that are lost, and the state of the random choice.
    lost_in_1000: u64,
    random: u64,
    /// The time during which all segments are lost.
    broken: (Time, Time),
    /// The numbers, from 1, of segments that are lost, in the order in which they entered.
    lost_numbers: Vec<usize>,
    came: usize,
    leaves: VecDeque<Time>,
}

impl Path {
    fn new(bits_per_second: u64, one_way_ns: u64, queue: usize) -> Self {
        Self {
            bits_per_second,
            one_way_ns,
            queue,
            lost_in_1000: 0,
            random: 0x9e37_79b9_7f4a_7c15,
            broken: (Time::NEVER, Time::NEVER),
            lost_numbers: Vec::new(),
            came: 0,
            leaves: VecDeque::new(),
        }
    }

    /// Returns when a segment that enters now arrives; `None` if it is lost.
    fn enter(&mut self, now: Time, segment: &Segment) -> Option<Time> {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.came += 1;
        while self.leaves.front().is_some_and(|left| *left <= now) {
            self.leaves.pop_front();
        }
        let lost = self.random % 1_000 < self.lost_in_1000 && segment.len > 0;
        let is_broken = self.broken.0 <= now && now < self.broken.1;
        let is_chosen = self.lost_numbers.contains(&self.came);
        if lost || is_broken || is_chosen || self.leaves.len() >= self.queue {
            return None;
        }
        let bits = 8 * (segment.len as u64 + WIRE_OVERHEAD);
        let free_at = self.leaves.back().copied().unwrap_or(now).max(now);
        let left = free_at.after(bits * Time::SEC / self.bits_per_second);
        self.leaves.push_back(left);
        Some(left.after(self.one_way_ns))
    }
}

struct Network {
    now: Time,
    path: Path,
    senders: Vec<TcpSender>,
    receivers: Vec<Option<TcpReceiver>>,
    /// Arrivals by time and number, with the flow and whether the sender gets it.
    arrivals: BTreeMap<(Time, u64), (usize, bool, Segment)>,
    events: u64,
}

impl Network {
    fn new(path: Path, flows: &[(CongestionControl, u64)]) -> Self {
        let mut network = Self {
            now: Time(0),
            path,
            senders: Vec::new(),
            receivers: vec![None; flows.len()],
            arrivals: BTreeMap::new(),
            events: 0,
        };
        for (flow, &(algorithm, size_bytes)) in flows.iter().enumerate() {
            let mut sender = TcpSender::new(TcpSenderConfig {
                ports: Ports {
                    local: flow as u16,
                    peer: 9,
                },
                size_bytes,
                algorithm,
                mss: 1_460,
                window_bytes: u64::MAX,
                min_timeout_ns: 200 * MS,
                initial_seq: u32::MAX - 5_000,
                ecn: false,
            });
            let mut out = Vec::new();
            sender.open(Time(0), &mut out);
            network.senders.push(sender);
            network.send_data(flow, out);
        }
        network
    }

    fn send_data(&mut self, flow: usize, segments: Vec<Segment>) {
        for segment in segments {
            if let Some(arrival) = self.path.enter(self.now, &segment) {
                self.events += 1;
                self.arrivals
                    .insert((arrival, self.events), (flow, false, segment));
            }
        }
    }

    fn send_answers(&mut self, flow: usize, segments: Vec<Segment>) {
        let arrival = self.now.after(self.path.one_way_ns);
        for segment in segments {
            self.events += 1;
            self.arrivals
                .insert((arrival, self.events), (flow, true, segment));
        }
    }

    fn run_until(&mut self, end: Time) {
        loop {
            let first_arrival = self.arrivals.keys().next().map_or(Time::NEVER, |k| k.0);
            let senders = self.senders.iter().map(TcpSender::next_tick);
            let receivers = self.receivers.iter().flatten().map(TcpReceiver::next_tick);
            let tick = senders.chain(receivers).min().unwrap();
            let next = first_arrival.min(tick);
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
            if first_arrival == next {
                let (_, (flow, to_sender, segment)) = self.arrivals.pop_first().unwrap();
                self.deliver(flow, to_sender, &segment);
            } else {
                self.tick();
            }
        }
    }

    fn deliver(&mut self, flow: usize, to_sender: bool, segment: &Segment) {
        let mut out = Vec::new();
        if to_sender {
            self.senders[flow].receive(self.now, segment, &mut out);
            self.send_data(flow, out);
            return;
        }
        match &mut self.receivers[flow] {
            Some(receiver) => receiver.receive(self.now, segment, &mut out),
            none => {
                let ports = Ports {
                    local: 9,
                    peer: segment.src_port,
                };
                *none = Some(TcpReceiver::accept(
                    self.now, ports, 1_460, 7, segment, &mut out,
                ));
            }
        }
        self.send_answers(flow, out);
    }

    fn tick(&mut self) {
        for flow in 0..self.senders.len() {
            let mut out = Vec::new();
            if self.senders[flow].next_tick() <= self.now {
                self.senders[flow].tick(self.now, &mut out);
            }
            self.send_data(flow, out);
            let mut answers = Vec::new();
            if let Some(receiver) = &mut self.receivers[flow] {
                receiver.tick(self.now, &mut answers);
            }
            self.send_answers(flow, answers);
        }
    }

    /// Bytes of each flow that are acknowledged from `from` to `to` seconds.
    fn bytes_between(&mut self, from: u64, to: u64) -> Vec<u64> {
        self.run_until(Time(from * Time::SEC));
        let before: Vec<u64> = self
            .senders
            .iter()
            .map(TcpSender::acknowledged_bytes)
            .collect();
        self.run_until(Time(to * Time::SEC));
        let after = self.senders.iter().map(TcpSender::acknowledged_bytes);
        after.zip(before).map(|(a, b)| a - b).collect()
    }
}

const ALGORITHMS: [CongestionControl; 2] = [CongestionControl::Reno, CongestionControl::Cubic];
const WITHOUT_END: u64 = u64::MAX;

#[test]
fn a_flow_fills_a_link() {
    for algorithm in ALGORITHMS {
        for (mbps, queue) in [(10, 50), (100, 300), (100, 1_000)] {
            let path = Path::new(mbps * 1_000_000, 10 * MS, queue);
            let mut network = Network::new(path, &[(algorithm, WITHOUT_END)]);
            let bytes = network.bytes_between(2, 22)[0];
            let full = (mbps * 1_000_000 / 8 * 20 * PAYLOAD / (PAYLOAD + WIRE_OVERHEAD)) as f64;
            let share = bytes as f64 / full;
            assert!(
                (0.97..=1.001).contains(&share),
                "{algorithm:?} {mbps} {share}"
            );
        }
    }
}

#[test]
fn two_flows_share_evenly() {
    for algorithm in ALGORITHMS {
        let path = Path::new(10_000_000, 10 * MS, 60);
        let flows = [(algorithm, WITHOUT_END); 2];
        let mut network = Network::new(path, &flows);
        let bytes = network.bytes_between(5, 65);
        let share = bytes[0] as f64 / (bytes[0] + bytes[1]) as f64;
        assert!((0.4..0.6).contains(&share), "{algorithm:?} {bytes:?}");
    }
}

#[test]
fn losses_lower_the_rate_as_the_square_root_law_says() {
    // W = sqrt(3 / 2p) segments a round trip, Mathis et al. 1997, an acknowledgement counting
    // bytes; CUBIC is no slower and, at windows as small, hardly faster (RFC 9438 section 4.3).
    for algorithm in ALGORITHMS {
        let mut path = Path::new(1_000_000_000, 20 * MS, 1_000);
        path.lost_in_1000 = 10;
        let mut network = Network::new(path, &[(algorithm, WITHOUT_END)]);
        let bytes = network.bytes_between(5, 205)[0] as f64;
        let expected = (1.5_f64 / 0.01).sqrt() * PAYLOAD as f64 * 200.0 / 0.04;
        let ratio = bytes / expected;
        assert!((0.8..1.25).contains(&ratio), "{algorithm:?} {ratio}");
    }
}

#[test]
fn a_transfer_ends_and_both_ends_close() {
    let path = Path::new(10_000_000, 10 * MS, 1_000);
    let mut network = Network::new(path, &[(CongestionControl::Cubic, 100_000)]);
    network.run_until(Time(10 * Time::SEC));
    let sender = &network.senders[0];
    assert!(sender.is_over() && !sender.has_failed());
    assert_eq!(sender.acknowledged_bytes(), 100_000);
    let receiver = network.receivers[0].as_ref().unwrap();
    assert!(receiver.is_over());
    assert_eq!(receiver.received_bytes(), 100_000);
    // A round trip to open, then 10, 20, 40 segments, of which the link takes about 1.23 ms each.
    let completed_ms = sender.completed_at().unwrap().0 / MS;
    assert!((105..140).contains(&completed_ms), "{completed_ms}");
    assert_eq!(sender.retransmissions(), 0);
}

#[test]
fn a_lost_tail_is_probed_and_not_waited_for() {
    // SYN, ACK, ten segments: the last two of them are lost.
    let mut path = Path::new(1_000_000_000, MS, 1_000);
    path.lost_numbers = vec![11, 12];
    let mut network = Network::new(path, &[(CongestionControl::Cubic, 10 * PAYLOAD)]);
    network.run_until(Time(Time::SEC));
    let completed = network.senders[0].completed_at().unwrap();
    assert!(completed < Time(50 * MS), "{completed:?}");
}

#[test]
fn a_flow_recovers_after_the_path_failed() {
    let mut path = Path::new(10_000_000, 10 * MS, 50);
    path.broken = (Time(5 * Time::SEC), Time(7 * Time::SEC));
    let mut network = Network::new(path, &[(CongestionControl::Cubic, WITHOUT_END)]);
    assert_eq!(network.bytes_between(6, 7), [0]);
    // Doubled timeouts: at most 1.6 s after 2 s without a path.
    let full = 10_000_000 / 8 * PAYLOAD / (PAYLOAD + WIRE_OVERHEAD);
    let bytes = network.bytes_between(10, 20)[0];
    assert!(bytes > full * 10 * 95 / 100, "{bytes}");
}

#[test]
fn a_peer_that_does_not_answer_is_given_up() {
    let mut path = Path::new(10_000_000, 10 * MS, 50);
    path.lost_numbers = (1..100).collect();
    let mut network = Network::new(path, &[(CongestionControl::Reno, 1)]);
    network.run_until(Time(200 * Time::SEC));
    assert!(network.senders[0].has_failed());
    assert_eq!(network.path.came, 7, "a SYN and six again");
}

/// A sender that offers ECN, and its receiver, once both are connected.
fn connected() -> (TcpSender, TcpReceiver, Vec<Segment>) {
    let ports = Ports { local: 1, peer: 9 };
    let mut sender = TcpSender::new(TcpSenderConfig {
        ports,
        size_bytes: u64::MAX,
        algorithm: CongestionControl::Reno,
        mss: 1_460,
        window_bytes: u64::MAX,
        min_timeout_ns: 200 * MS,
        initial_seq: 0,
        ecn: true,
    });
    let mut sent = Vec::new();
    sender.open(Time(0), &mut sent);
    let peer = Ports { local: 9, peer: 1 };
    let mut answers = Vec::new();
    let syn = sent.pop().unwrap();
    assert_eq!((syn.flags, syn.ecn), (SYN | ECE | CWR, 0));
    let receiver = TcpReceiver::accept(Time(0), peer, 1_460, 0, &syn, &mut answers);
    sender.receive(Time(MS), &answers[0], &mut sent);
    (sender, receiver, sent)
}

#[test]
fn a_mark_halves_the_window_once_and_is_echoed_until_the_sender_says_so() {
    let (mut sender, mut receiver, mut sent) = connected();
    let data: Vec<Segment> = sent.drain(..).filter(|one| one.len > 0).collect();
    assert_eq!(data.len(), 10);
    assert!(
        data.iter()
            .all(|one| one.ecn == ECT_0 && one.flags & CWR == 0)
    );
    let mut answers = Vec::new();
    receiver.receive(Time(2 * MS), &Segment { len: 0, ..data[0] }, &mut answers);
    for (number, segment) in data.iter().enumerate() {
        let ecn = if number < 3 { CE } else { ECT_0 };
        receiver.receive(Time(2 * MS), &Segment { ecn, ..*segment }, &mut answers);
    }
    assert!(
        answers.iter().all(|one| one.flags & ECE != 0),
        "{answers:?}"
    );
    for answer in &answers {
        sender.receive(Time(3 * MS), answer, &mut sent);
    }
    // Half of ten, all of it new: nothing was lost.
    assert_eq!((sent.len(), sender.retransmissions()), (5, 0));
    let reduced: Vec<bool> = sent.iter().map(|one| one.flags & CWR != 0).collect();
    assert_eq!(reduced, [true, false, false, false, false]);
    answers.clear();
    receiver.receive(Time(4 * MS), &sent[0], &mut answers);
    assert!(
        answers.iter().all(|one| one.flags & ECE == 0),
        "{answers:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_byte_arrives_once_whatever_is_lost(
        lost in 0_u64..300,
        random in 1_u64..,
        size in 0_u64..300_000,
        reno in any::<bool>(),
        queue in 3_usize..40,
    ) {
        let mut path = Path::new(10_000_000, 5 * MS, queue);
        path.lost_in_1000 = lost;
        path.random = random;
        let algorithm = if reno { CongestionControl::Reno } else { CongestionControl::Cubic };
        let mut network = Network::new(path, &[(algorithm, size)]);
        network.run_until(Time(10_000 * Time::SEC));
        let sender = &network.senders[0];
        prop_assert!(sender.is_over() && !sender.has_failed());
        prop_assert_eq!(sender.acknowledged_bytes(), size);
        prop_assert_eq!(network.receivers[0].as_ref().unwrap().received_bytes(), size);
    }

    #[test]
    fn hostile_segments_neither_panic_nor_fill_memory(
        segments in proptest::collection::vec(
            (any::<[u32; 6]>(), any::<u8>(), any::<u16>(), 0_usize..2_000), 0..200),
    ) {
        let mut out = Vec::new();
        let mut sender = TcpSender::new(TcpSenderConfig {
            ports: Ports { local: 1, peer: 2 },
            size_bytes: 50_000,
            algorithm: CongestionControl::Cubic,
            mss: 1_460,
            window_bytes: u64::MAX,
 min_timeout_ns: 200 * MS,
            initial_seq: 0,
            ecn: true,
        });
        sender.open(Time(0), &mut out);
        let ports = Ports { local: 2, peer: 1 };
        let syn = Segment::default();
        let mut receiver = TcpReceiver::accept(Time(0), ports, 1_460, 0, &syn, &mut out);
        for (at, &(numbers, flags, window, len)) in segments.iter().enumerate() {
            let near = |number: u32| number % 100_000;
            let segment = Segment {
                seq: near(numbers[0]),
                ack: near(numbers[1]),
                flags,
                window,
                mss: Some(window),
                sack: [
                    Some((near(numbers[2]), near(numbers[3]))),
                    Some((numbers[4], numbers[5])),
                    None,
                ],
                len,
                ..Segment::default()
            };
            let now = Time(at as u64 * 10 * MS);
            sender.receive(now, &segment, &mut out);
            receiver.receive(now, &segment, &mut out);
            sender.tick(now, &mut out);
            receiver.tick(now, &mut out);
            out.clear();
        }
        prop_assert!(receiver.received_bytes() < 600_000);
    }
}
