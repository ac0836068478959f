//! Properties of disciplines, checked with random packets against simple models.

extern crate std;

use alloc::{boxed::Box, format, vec, vec::Vec};
use std::collections::HashMap;

use bofuss_datapath::egress::{DEFAULT_QUEUE, Discipline, QueueClass, QueueSpec, Rate};
use bofuss_datapath::{Entitlement, Qos, Time};
use bofuss_frame::Pool;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::craft;

use crate::dumbbell::{PORT_KBPS, Sender, run};
use crate::single_queue::{Bounds, FrameOrder};
use crate::{DISCIPLINES, eta};

/// Random numbers of a seed (xorshift).
pub(super) struct Random(pub(super) u64);

impl Random {
    /// A number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A frame of UDP of microflow `flow`, with a number at its end.
fn frame(flow: u8, sequence: u32, bytes: usize) -> Vec<u8> {
    let udp = craft::udp(1_000 + u16::from(flow), 9, &[]);
    let ip = craft::ipv4(
        [10, 0, 1, flow].into(),
        [10, 0, 0, flow % 5].into(),
        64,
        udp,
    );
    let mut frame = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
    frame.resize(bytes.max(60), 0);
    let end = frame.len();
    frame[end - 5] = flow;
    frame[end - 4..].copy_from_slice(&sequence.to_be_bytes());
    frame
}

fn number_of(frame: &[u8]) -> (u8, u32) {
    let [.., flow, a, b, c, d] = *frame else {
        panic!("a frame has its number at its end");
    };
    (flow, u32::from_be_bytes([a, b, c, d]))
}

fn entitlement(random: &mut Random) -> Entitlement {
    Entitlement {
        weight: random.one_of(&[0, 1, 2, 9, 1_000]),
        guaranteed_kbps: random.one_of(&[0, 0, 64, 400, 5_000]),
        max_kbps: random.one_of(&[0, 0, 100, 900]),
    }
}

fn record(random: &mut Random) -> Option<Qos> {
    if random.below(2) == 0 {
        return None;
    }
    let aggregate = entitlement(random);
    Some(Qos {
        flow: entitlement(random),
        aggregate: (random.below(3) > 0).then_some(aggregate),
        aggregate_id: random.one_of(&[None, None, Some(1), Some(2)]),
        priority: random.below(6) as u8,
        ..Qos::DEFAULT
    })
}

/// The frames that a discipline has and must give back: each once, and those of a microflow in
/// order.
#[derive(Default)]
struct Ledger {
    /// For each microflow, the numbers of its waiting frames, with their bytes.
    waiting: HashMap<u8, Vec<(u32, usize)>>,
    bytes: usize,
}

impl Ledger {
    fn take(&mut self, frame: &[u8]) {
        let (flow, sequence) = number_of(frame);
        let of_flow = self.waiting.get_mut(&flow).expect("it was given");
        assert_eq!(of_flow.remove(0), (sequence, frame.len()), "in its order");
        self.bytes -= frame.len();
    }
}

/// Sends random packets of microflows with changing records, while the port's rate and maximum
/// change and all waiting frames are sometimes removed.
fn toss(mut port: Box<dyn Discipline>, seed: u64) {
    let (mut random, pool) = (Random(seed), Pool::new(1 << 26));
    let (mut now, mut ledger) = (Time(1), Ledger::default());
    let mut records: Vec<Option<Qos>> = vec![None; 12];
    for sequence in 0..6_000 {
        now = now.after(random.below(2_000_000));
        for _ in 0..random.below(4) {
            let flow = random.below(12) as u8;
            let bytes = frame(flow, sequence, random.below(1_400) as usize);
            let class = QueueClass {
                qos: records[usize::from(flow)],
                ..QueueClass::DEFAULT
            };
            let waits = ledger.waiting.entry(flow).or_default();
            if waits.last().is_none_or(|(last, _)| *last < sequence)
                && let Some(given) = pool.frame(&bytes)
                && port
                    .enqueue(now, &class, given, random.below(40) > 0)
                    .is_ok()
            {
                waits.push((sequence, bytes.len()));
                ledger.bytes += bytes.len();
            }
        }
        let wanted = random.below(5);
        for _ in 0..wanted {
            let due = port.next_wakeup();
            assert_eq!(
                due.is_some(),
                ledger.bytes > 0,
                "it knows whether something waits"
            );
            let Some(due) = due.filter(|due| *due <= now) else {
                break;
            };
            let (_, frame) = port
                .dequeue(now)
                .unwrap_or_else(|| panic!("due at {due:?}, {now:?}"));
            ledger.take(frame.bytes());
        }
        match random.below(200) {
            0 => port.set_rate(now, random.one_of(&[0, 500, 2_000, 10_000])),
            1 => {
                let max = random.one_of(&[None, Some(Rate::Kbps(3_000))]);
                let spec = QueueSpec {
                    max,
                    ..QueueSpec::default()
                };
                port.modify(now, DEFAULT_QUEUE, spec);
            }
            2 => {
                for frame in port.take_frames() {
                    ledger.take(frame.bytes());
                }
                assert_eq!(ledger.bytes, 0);
            }
            3..15 => {
                let flow = random.below(12) as usize;
                records[flow] = record(&mut random);
            }
            _ => {}
        }
    }
    while let Some(due) = port.next_wakeup() {
        now = now.max(due);
        let (_, frame) = port.dequeue(now).expect("a frame is due when it says");
        ledger.take(frame.bytes());
    }
    assert_eq!((ledger.bytes, pool.stats().bytes_in_use), (0, 0));
}

#[test]
fn bytes_are_conserved_and_each_microflow_keeps_its_order_whatever_changes() {
    for row in DISCIPLINES {
        for seed in 1..=4 {
            toss((row.new)(Time(0), PortNo(1), 2_000), seed);
        }
    }
}

/// The rates of members with these demands in kb/s and entitlements (water filling, by bisection):
/// each its guarantee, and of the rest a part by weight, up to its demand or maximum.
fn filled(rate: f64, members: &[(f64, Entitlement)]) -> Vec<f64> {
    let at = |level: f64| -> Vec<f64> {
        let get = |(demand, entitlement): &(f64, Entitlement)| {
            let max = entitlement.max_kbps;
            let max = if max > 0 {
                f64::from(max)
            } else {
                f64::INFINITY
            };
            let weight = f64::from(entitlement.weight.max(1));
            let share = f64::from(entitlement.guaranteed_kbps) + weight * level;
            share.min(*demand).min(max)
        };
        members.iter().map(get).collect()
    };
    let (mut low, mut high) = (0.0, 1e9);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if at(middle).iter().sum::<f64>() > rate {
            high = middle;
        } else {
            low = middle;
        }
    }
    at(low)
}

/// Random microflows of random aggregates: senders, and the expected rate of each in kb/s.
fn random_shares(random: &mut Random) -> (Vec<Sender>, Vec<f64>) {
    let n_aggregates = 2 + random.below(4) as usize;
    let mut guarantees_left = 1;
    let (mut senders, mut aggregates, mut flows) = (Vec::new(), Vec::new(), Vec::new());
    for subscriber in 0..n_aggregates {
        let mut own = Entitlement {
            weight: 1 + random.below(4) as u16,
            guaranteed_kbps: 0,
            max_kbps: random.one_of(&[0, 0, 0, 1_500]),
        };
        if guarantees_left > 0 && random.below(3) == 0 {
            guarantees_left -= 1;
            (own.guaranteed_kbps, own.max_kbps) = (2_000, 0);
        }
        let mut of_own = Vec::new();
        for _ in 0..=random.below(4) {
            let entitlement = Entitlement {
                weight: 1 + random.below(4) as u16,
                guaranteed_kbps: 0,
                max_kbps: random.one_of(&[0, 0, 0, 300]),
            };
            let kbps = random.one_of(&[100.0, 15_000.0, 30_000.0]);
            let mut sender = Sender::new(subscriber, kbps);
            sender.qos = Some(Qos {
                flow: entitlement,
                aggregate: Some(own),
                ..Qos::DEFAULT
            });
            senders.push(sender);
            of_own.push((kbps, entitlement));
        }
        let asked = filled(1e9, &of_own).iter().sum();
        aggregates.push((asked, own));
        flows.push(of_own);
    }
    let rates = filled(f64::from(PORT_KBPS), &aggregates);
    let each = rates
        .iter()
        .zip(&flows)
        .flat_map(|(rate, flows)| filled(*rate, flows));
    let each = each.collect();
    (senders, each)
}

/// Compares the rates that a discipline gives to random microflows with the expected rates, within
/// some frames plus a fraction.
fn hold_to_shares(discipline: &str, seed: u64, most_frames: f64, most_part: f64) {
    let mut random = Random(seed);
    for round in 0..8 {
        let (senders, expected) = random_shares(&mut random);
        let (from, to) = (2.0, 6.0);
        let arrivals = run(discipline, &senders, to);
        for (n, (sender, expected)) in senders.iter().zip(&expected).enumerate() {
            let rate = arrivals.kbps_of(n, sender, from, to);
            // A sender with a lower demand sends at random times.
            let frames = most_frames + 0.05 * expected.min(sender.kbps) * (to - from) / 80.0;
            // A sender with a maximum does not catch up on all of the time that it waits for its
            // turn.
            let has_max = sender.qos.is_some_and(|qos| qos.flow.max_kbps > 0);
            let part = if has_max {
                most_part.max(0.05)
            } else {
                most_part
            };
            let most = frames * 8.0 / (to - from) + part * expected;
            let what = format!("{round}, {n} of {}: {rate}, not {expected}", senders.len());
            assert!((rate - expected).abs() <= most, "{discipline}: {what}");
        }
    }
}

#[test]
fn hfair_fills_two_levels_by_weight() {
    // At each level, start-time fair queueing deviates by one frame of each of two members, and
    // here by a bucket.
    hold_to_shares("hfair", 0x5eed, 4.0, 0.01);
}

#[test]
fn ceta2_fills_two_levels_by_weight() {
    // A microflow may be early by 20 ms or two frames, and shares change ten times a second.
    for seed in [0x5eed, 1] {
        hold_to_shares("ceta2", seed, 6.0, 0.05);
    }
}

/// A slot of the calendar.
const SLOT_SECONDS: f64 = 8e-6;

/// Algorithm 1 of OpenQFlow with equations 5 and 6, in seconds and bits, where each microflow is
/// its own aggregate; a new member takes its part from the others. With one tier it is BETA:
/// microflows share the port, none may be early, and credit does not expire (equations 1 to 4).
#[derive(Default)]
struct Algorithm1 {
    has_one_tier: bool,
    /// For each microflow, its ETA and its aggregate.
    flows: HashMap<u8, (f64, u8)>,
    flows_of: HashMap<u8, usize>,
    share: f64,
    interval: u64,
    accepted: f64,
}

/// The algorithm's decision about a packet.
struct Decision {
    accepts: bool,
    /// The margin of the decision, in seconds.
    margin: f64,
    /// The time at which the packet leaves, in seconds.
    leaves: f64,
}

impl Algorithm1 {
    /// Decides about a packet.
    fn offers(&mut self, now: Time, flow: u8, bits: f64, capacity: f64) -> Decision {
        let t = now.0 as f64 / 1e9;
        let aggregate = if self.has_one_tier { flow } else { flow % 5 };
        let is_new = !self.flows.contains_key(&flow);
        if is_new {
            let n_before = self.flows_of.len();
            *self.flows_of.entry(aggregate).or_default() += 1;
            self.flows.insert(flow, (t, aggregate));
            if self.flows_of.len() > n_before {
                let all = if n_before == 0 {
                    capacity
                } else {
                    self.share * n_before as f64
                };
                self.share = all / (n_before + 1) as f64;
            }
        }
        let interval = (t * 10.0).floor() as u64;
        if interval > self.interval {
            let n = self.flows_of.len() as f64;
            let used = self.accepted / ((interval - self.interval) as f64 / 10.0);
            self.share = (self.share + (capacity - used) / n).clamp(capacity / n, capacity);
            (self.interval, self.accepted) = (interval, 0.0);
        }
        let rate = self.share / self.flows_of[&aggregate] as f64;
        let eta = self.flows[&flow].0;
        let early = if self.has_one_tier { 0.0 } else { 0.02 };
        if !is_new && t <= eta - early {
            return Decision {
                accepts: false,
                margin: eta - early - t,
                leaves: f64::NAN,
            };
        }
        let margin = if is_new { 1.0 } else { t - (eta - early) };
        let has_credit = self.has_one_tier || t <= eta + 0.02;
        let from = if has_credit { eta } else { t };
        self.flows.insert(flow, (from + bits / rate, aggregate));
        self.accepted += bits;
        Decision {
            accepts: true,
            margin,
            leaves: t.max(eta),
        }
    }
}

/// Compares a scheme with the model on random packets, of which at least `least` are accepted and
/// as many refused.
fn hold_to_model(mut order: impl FrameOrder, mut model: Algorithm1, seed: u64, least: usize) {
    let (mut random, pool) = (Random(seed), Pool::new(1 << 26));
    let bounds = Bounds {
        kbps: PORT_KBPS,
        limit_bytes: 1 << 30,
    };
    let (mut now, mut counts) = (Time(0), [0, 0]);
    let mut leaving: HashMap<u32, f64> = HashMap::new();
    for sequence in 0..30_000 {
        now = now.after(random.below(800_000));
        while let Some(due) = order.due().filter(|due| *due <= now) {
            let left = order.pop(due).expect("it is due");
            let (_, number) = number_of(left.bytes());
            let leaves = leaving.remove(&number).expect("it was accepted");
            // It leaves not before its time, and in its slot; times are rounded to whole
            // nanoseconds there.
            let late = due.0 as f64 / 1e9 - leaves;
            assert!(
                (-1e-5..SLOT_SECONDS + 1e-5).contains(&late),
                "{sequence}: {late}"
            );
        }
        // Some microflows send more than others.
        let flow = (random.below(8) * random.below(8) / 3) as u8;
        let bytes = frame(flow, sequence, 200 + random.below(1_200) as usize);
        let bits = bytes.len() as f64 * 8.0;
        let given = pool.frame(&bytes).expect("within the limit");
        let accepts = order.push(now, given, &QueueClass::DEFAULT, bounds).is_ok();
        let capacity = f64::from(PORT_KBPS) * 1e3;
        let expected = model.offers(now, flow, bits, capacity);
        assert!(
            accepts == expected.accepts || expected.margin < 1e-5,
            "{sequence}: {} s",
            expected.margin
        );
        if accepts != expected.accepts {
            // From here on the results cannot be equal.
            break;
        }
        counts[usize::from(accepts)] += 1;
        if accepts {
            leaving.insert(sequence, expected.leaves);
        }
    }
    assert!(counts.iter().all(|count| *count > least), "{counts:?}");
}

#[test]
fn t1_ceta_accepts_and_delays_as_the_algorithm_of_the_paper_does() {
    hold_to_model(eta::Ceta::order(), Algorithm1::default(), 99, 3_000);
}

#[test]
fn t2_beta_accepts_and_delays_as_the_equations_of_the_paper_do() {
    let model = Algorithm1 {
        has_one_tier: true,
        ..Algorithm1::default()
    };
    hold_to_model(eta::Beta::order(), model, 99, 1_000);
}

#[test]
fn t3_a_fifo_is_a_list() {
    let pool = Pool::new(1 << 26);
    let row = DISCIPLINES.iter().find(|row| row.name == "fifo");
    let mut port = (row.expect("it is one").new)(Time(0), PortNo(1), 8_000);
    let (mut random, mut list, mut now) = (Random(3), vec![], Time(0));
    for sequence in 0..5_000 {
        let bytes = frame(
            random.below(9) as u8,
            sequence,
            60 + random.below(1_000) as usize,
        );
        let given = pool.frame(&bytes).expect("within the limit");
        if port
            .enqueue(now, &QueueClass::of(QueueId(7)), given, true)
            .is_ok()
        {
            list.push(bytes);
        }
        now = now.after(random.below(900_000));
        while port.next_wakeup().is_some_and(|due| due <= now) {
            let (_, frame) = port.dequeue(now).expect("it is due");
            assert_eq!(frame.bytes(), list.remove(0));
        }
    }
}
