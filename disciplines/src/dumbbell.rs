//! The dumbbell topology of the papers on fairness, on a virtual clock: senders, a slow port, and
//! subscribers. For tests of disciplines.

use alloc::vec::Vec;

use bofuss_datapath::egress::{DEFAULT_QUEUE, QueueClass};
use bofuss_datapath::{Qos, Time};
use bofuss_frame::Pool;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::craft;

use crate::row;

/// The port's rate in kb/s.
pub(super) const PORT_KBPS: u32 = 10_000;
/// The subscribers of the 32 flows of OpenQFlow's evaluation, with the flows of each. Flow `n`
/// offers `n` times 312.5 kb/s.
const SUBSCRIBERS: [core::ops::RangeInclusive<u32>; 4] = [1..=4, 5..=10, 11..=20, 21..=32];

/// The kind of a sender's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Udp,
    Ping,
    Arp,
    /// First and last fragments of datagrams, alternating.
    Fragments,
    /// Malformed IP headers, to a different station each time.
    Wrong,
}

/// One sender. The time between its packets varies by up to 30 % around the mean.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    /// The subscriber to which it sends, counted from 0.
    pub(super) subscriber: usize,
    pub(super) kbps: f64,
    /// The time at which it begins and ends, in seconds.
    pub(super) active: core::ops::Range<f64>,
    /// The number of 5-tuples that it uses in turn, and of frames for each.
    pub(super) n_tuples: u16,
    pub(super) frames_per_tuple: usize,
    pub(super) frame_bytes: usize,
    pub(super) kind: Kind,
    /// The ingress port of its frames.
    pub(super) ingress: u32,
    /// The QoS record of its packets, and later records, each with the second in which it begins.
    pub(super) qos: Option<Qos>,
    pub(super) later: Vec<(f64, Option<Qos>)>,
}

/// For each sender, the time of arrival and the delay of each frame in nanoseconds; and how many
/// frames each sent.
pub(super) struct Arrivals(pub(super) Vec<Vec<(u64, u64)>>, pub(super) Vec<usize>);

/// The senders of OpenQFlow's evaluation: 165 Mb/s for a port of 10 Mb/s.
pub(super) fn paper_senders() -> Vec<Sender> {
    let mut senders = Vec::new();
    for (subscriber, flows) in SUBSCRIBERS.into_iter().enumerate() {
        senders.extend(flows.map(|flow| Sender::new(subscriber, 312.5 * f64::from(flow))));
    }
    senders
}

impl Sender {
    pub(super) fn new(subscriber: usize, kbps: f64) -> Self {
        Self {
            subscriber,
            kbps,
            active: 0.0..f64::INFINITY,
            n_tuples: 1,
            frames_per_tuple: 1,
            frame_bytes: 1_000,
            kind: Kind::Udp,
            ingress: 2,
            qos: None,
            later: Vec::new(),
        }
    }

    /// Frame number `sequence` of sender `number`.
    fn frame(&self, number: usize, sequence: usize) -> Vec<u8> {
        let tuple = (sequence / self.frames_per_tuple % usize::from(self.n_tuples)) as u16;
        let sender = [10, 0, 1, number as u8].into();
        let subscriber = [10, 0, 0, self.subscriber as u8 + 1].into();
        let mut station = Mac([2; 6]);
        let payload = match self.kind {
            Kind::Udp | Kind::Fragments | Kind::Wrong => {
                let udp = craft::udp(10_000 + tuple, 9, &[]);
                craft::ipv4(sender, subscriber, 64, udp)
            }
            Kind::Ping => craft::ipv4(sender, subscriber, 64, craft::ping(sequence as u16, &[])),
            Kind::Arp => craft::arp(1, Mac([4; 6]), sender, Mac([0; 6]), subscriber),
        };
        if self.kind == Kind::Wrong {
            station.0[2..].copy_from_slice(&(sequence as u32).to_be_bytes());
        }
        let mut bytes = craft::ethernet(station, Mac([4; 6]), payload);
        bytes.resize(self.frame_bytes, 0);
        match (self.kind, sequence % 2) {
            // A first fragment has "more fragments", a later one an offset.
            (Kind::Fragments, 0) => bytes[20] = 0x20,
            (Kind::Fragments, _) => bytes[21] = 0x40,
            // A header too short for addresses, and one of an unknown version.
            (Kind::Wrong, 0) => bytes[14] = 0x42,
            (Kind::Wrong, _) => bytes[14] = 0x75,
            (Kind::Udp | Kind::Ping | Kind::Arp, _) => {}
        }
        let end = bytes.len();
        bytes[end - 6..end - 4].copy_from_slice(&(number as u16).to_be_bytes());
        bytes[end - 4..].copy_from_slice(&(sequence as u32).to_be_bytes());
        bytes
    }

    /// Returns true if all its frames are of one microflow.
    fn is_one_flow(&self) -> bool {
        self.n_tuples == 1 && self.kind != Kind::Wrong
    }

    /// The QoS record of frames that it sends at a time.
    fn qos_at(&self, now: u64) -> Option<Qos> {
        let later = self.later.iter().rev();
        let mut later = later.filter(|(from, _)| now as f64 >= from * 1e9);
        later.next().map_or(self.qos, |(_, qos)| *qos)
    }

    /// The mean time from one packet to the next, in nanoseconds.
    fn gap_ns(&self) -> f64 {
        self.frame_bytes as f64 * 8e6 / self.kbps
    }
}

/// Runs the senders for some seconds through a port with this discipline.
pub(super) fn run(discipline: &str, senders: &[Sender], seconds: f64) -> Arrivals {
    let pool = Pool::new(1 << 26);
    let row = row(discipline);
    let mut port = (row.new)(Time(0), PortNo(1), PORT_KBPS);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next_fraction = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as f64 / (1_u64 << 53) as f64
    };
    let end = (seconds * 1e9) as u64;
    let mut due: Vec<u64> = Vec::new();
    for sender in senders {
        let phase = next_fraction() * sender.gap_ns();
        due.push((sender.active.start * 1e9 + phase) as u64);
    }
    let mut sent: Vec<Vec<u64>> = senders.iter().map(|_| Vec::new()).collect();
    let mut arrivals: Vec<Vec<(u64, u64)>> = senders.iter().map(|_| Vec::new()).collect();
    loop {
        let (sender, at) = due
            .iter()
            .enumerate()
            .min_by_key(|(_, at)| **at)
            .expect("some send");
        let now = port.next_wakeup().map_or(*at, |wakeup| wakeup.0.min(*at));
        if now >= end {
            return Arrivals(arrivals, sent.iter().map(Vec::len).collect());
        }
        if now < *at {
            let (_, frame) = port
                .dequeue(Time(now))
                .expect("a frame is due when it says");
            let [.., a, b, c, d, e, f] = *frame.bytes() else {
                panic!("a frame has its number at its end");
            };
            let sender = usize::from(u16::from_be_bytes([a, b]));
            let number = u32::from_be_bytes([c, d, e, f]);
            let at = sent[sender][number as usize];
            if let Some((last, wait)) = arrivals[sender].last()
                && senders[sender].is_one_flow()
            {
                assert!(at > last - wait, "frames of a microflow keep their order");
            }
            arrivals[sender].push((now, now - at));
            continue;
        }
        let source = &senders[sender];
        let number = sent[sender].len();
        let bytes = source.frame(sender, number);
        let frame = pool.frame(&bytes).expect("within the limit");
        // Whether it is accepted is visible in the arrivals.
        let class = QueueClass {
            ingress: PortNo(source.ingress),
            queue: DEFAULT_QUEUE,
            qos: source.qos_at(now),
        };
        let _ = port.enqueue(Time(now), &class, frame, true);
        sent[sender].push(now);
        due[sender] = now + (source.gap_ns() * (0.7 + 0.6 * next_fraction())) as u64;
        if due[sender] as f64 > source.active.end * 1e9 {
            due[sender] = u64::MAX;
        }
    }
}

impl Arrivals {
    /// The rate of each of `count` subscribers from one second to another, in kb/s.
    pub(super) fn kbps(&self, senders: &[Sender], count: usize, from: f64, to: f64) -> Vec<f64> {
        let mut rates = alloc::vec![0.0; count];
        for (n, sender) in senders.iter().enumerate() {
            rates[sender.subscriber] += self.kbps_of(n, sender, from, to);
        }
        rates
    }

    /// The rate of one sender's arrivals from one second to another, in kb/s.
    pub(super) fn kbps_of(&self, number: usize, sender: &Sender, from: f64, to: f64) -> f64 {
        let arrivals = self.0[number].iter();
        let within = |at: u64| (from * 1e9) as u64 <= at && at < (to * 1e9) as u64;
        let n = arrivals.filter(|(at, _)| within(*at)).count();
        (n * sender.frame_bytes) as f64 * 8e-3 / (to - from)
    }
}

/// Jain's fairness index: 1 if all have the same rate.
pub(super) fn fairness(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    sum * sum / (rates.len() as f64 * squares)
}
