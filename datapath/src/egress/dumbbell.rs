//! The network of the papers on fairness, on a virtual clock: senders on one side, a slow port, and
//! what subscribers on the other side get. For tests of disciplines.

use alloc::vec::Vec;

use bofuss_frame::Pool;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::craft;

use crate::Time;
use crate::egress::discipline_named;
use crate::egress::queue::DEFAULT_QUEUE;

/// The port's rate in kb/s.
pub(super) const PORT_KBPS: u32 = 10_000;
/// The subscribers of the 32 flows of OpenQFlow's evaluation, with the flows of each. Flow `n`
/// offers `n` times 312.5 kb/s.
const SUBSCRIBERS: [core::ops::RangeInclusive<u32>; 4] = [1..=4, 5..=10, 11..=20, 21..=32];

/// One sender of UDP at a rate; it waits between two packets for the mean time, more or less by up
/// to three tenths.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    /// To whom, counted from 0.
    pub(super) subscriber: usize,
    pub(super) kbps: f64,
    /// When it begins and ends, in seconds.
    pub(super) active: core::ops::Range<f64>,
    /// How many 5-tuples it uses in turn, and for how many frames each.
    pub(super) n_tuples: u16,
    pub(super) frames_per_tuple: usize,
    pub(super) frame_bytes: usize,
}

/// What arrived: of each sender, when and how long after it was sent, in nanoseconds.
pub(super) struct Arrivals(pub(super) Vec<Vec<(u64, u64)>>);

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
        }
    }

    fn frame(&self, number: usize, tuple: u16) -> Vec<u8> {
        let udp = craft::udp(10_000 + tuple, 9, &[]);
        let sender = [10, 0, 1, number as u8].into();
        let subscriber = [10, 0, 0, self.subscriber as u8 + 1].into();
        let ip = craft::ipv4(sender, subscriber, 64, udp);
        let mut bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
        bytes.resize(self.frame_bytes, 0);
        bytes[42..44].copy_from_slice(&(number as u16).to_be_bytes());
        bytes
    }

    /// The mean time from one packet to the next, in nanoseconds.
    fn gap_ns(&self) -> f64 {
        self.frame_bytes as f64 * 8e6 / self.kbps
    }
}

/// Lets the senders send for so many seconds through a port with this discipline.
pub(super) fn run(discipline: &str, senders: &[Sender], seconds: f64) -> Arrivals {
    let pool = Pool::new(1 << 26);
    let row = discipline_named(Some(discipline));
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
            return Arrivals(arrivals);
        }
        if now < *at {
            let (_, frame) = port
                .dequeue(Time(now))
                .expect("a frame is due when it says");
            let bytes = frame.bytes();
            let sender = u16::from_be_bytes([bytes[42], bytes[43]]);
            let number = u32::from_be_bytes([bytes[44], bytes[45], bytes[46], bytes[47]]);
            let sender = usize::from(sender);
            let at = sent[sender][number as usize];
            if let Some((last, wait)) = arrivals[sender].last()
                && senders[sender].n_tuples == 1
            {
                assert!(at > last - wait, "frames of a microflow keep their order");
            }
            arrivals[sender].push((now, now - at));
            continue;
        }
        let source = &senders[sender];
        let number = sent[sender].len();
        let mut bytes = source.frame(
            sender,
            (number / source.frames_per_tuple % usize::from(source.n_tuples)) as u16,
        );
        bytes[44..48].copy_from_slice(&(number as u32).to_be_bytes());
        let frame = pool.frame(&bytes).expect("within the limit");
        // Whether it is taken shows in what arrives.
        let _ = port.enqueue(Time(now), DEFAULT_QUEUE, frame, true);
        sent[sender].push(now);
        due[sender] = now + (source.gap_ns() * (0.7 + 0.6 * next_fraction())) as u64;
        if due[sender] as f64 > source.active.end * 1e9 {
            due[sender] = u64::MAX;
        }
    }
}

impl Arrivals {
    /// What each of `count` subscribers got from one second to another, in kb/s.
    pub(super) fn kbps(&self, senders: &[Sender], count: usize, from: f64, to: f64) -> Vec<f64> {
        let mut rates = alloc::vec![0.0; count];
        for (sender, arrivals) in senders.iter().zip(&self.0) {
            let within = |at: u64| (from * 1e9) as u64 <= at && at < (to * 1e9) as u64;
            let n = arrivals.iter().filter(|(at, _)| within(*at)).count();
            rates[sender.subscriber] += (n * sender.frame_bytes) as f64 * 8e-3 / (to - from);
        }
        rates
    }
}

/// Jain's index of fairness: 1 if all have the same.
pub(super) fn fairness(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    sum * sum / (rates.len() as f64 * squares)
}
