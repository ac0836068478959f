//! Properties of the scheduler on a virtual clock.
#![allow(clippy::unwrap_used)]

extern crate std;

use std::collections::BTreeMap;

use bofuss_frame::Pool;

use super::*;
use crate::Rate;
use crate::egress::{MAX_QUEUE_BYTES, MAX_QUEUE_PACKETS};

const PORT: PortNo = PortNo(1);
const SEC: u64 = Time::SEC;

/// A small generator of random numbers (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit
    }
}

/// A port with queues on a virtual clock, and what left.
struct Stage {
    egress: WeightedPriority,
    pool: Pool,
    now: Time,
    random: Random,
    /// Time, queue, bytes, and the number that the frame carries.
    sent: Vec<(Time, u32, u64, u64)>,
    accepted: BTreeMap<u32, u64>,
}

impl Stage {
    fn new(port_kbps: u32, specs: &[(u32, QueueSpec)]) -> Self {
        let now = Time(5 * SEC);
        let mut egress = WeightedPriority::new(now, PORT, port_kbps);
        for (id, spec) in specs {
            egress.modify(now, QueueId(*id), *spec);
        }
        Self {
            egress,
            pool: Pool::new(1 << 28),
            now,
            random: Random(7),
            sent: Vec::new(),
            accepted: BTreeMap::new(),
        }
    }

    fn offer(&mut self, id: u32, bytes: usize) -> bool {
        let mut frame = self.pool.take(bytes).unwrap();
        frame.set_len(bytes);
        let number = self.accepted.entry(id).or_default();
        frame.bytes_mut()[..8].copy_from_slice(&number.to_be_bytes());
        let accepted = self
            .egress
            .enqueue(self.now, &QueueClass::of(QueueId(id)), frame, true)
            .is_ok();
        *number += u64::from(accepted);
        accepted
    }

    fn pop_all(&mut self) {
        while let Some((id, frame)) = self.egress.dequeue(self.now) {
            let number = u64::from_be_bytes(frame.bytes()[..8].try_into().unwrap());
            self.sent.push((self.now, id.0, frame.len() as u64, number));
        }
    }

    /// Keeps these queues from running empty for `seconds`; ticks are up to `late_ns` late.
    fn saturate(&mut self, ids: &[u32], seconds: u64, late_ns: u64) {
        let end = self.now.after(seconds * SEC);
        while self.now < end {
            for id in ids {
                while self.egress.queues[self.egress.place(QueueId(*id))].packets < 40 {
                    let bytes = 60 + self.random.below(1455) as usize;
                    self.offer(*id, bytes);
                }
            }
            let due = self.egress.next_wakeup().unwrap().max(self.now);
            self.now = due.after(self.random.below(late_ns + 1)).min(end);
            self.pop_all();
        }
    }

    /// Returns what a queue sent from `from` on, in kb/s.
    fn kbps(&self, id: u32, from: Time) -> f64 {
        let own = self.sent.iter().filter(|s| s.1 == id && s.0 >= from);
        let bytes: u64 = own.map(|sent| sent.2).sum();
        bytes as f64 * 8e6 / self.now.since(from) as f64
    }
}

fn spec(min: u32, max: u32, priority: u16, weight: u16) -> QueueSpec {
    let rate = |kbps| (kbps > 0).then_some(Rate::Kbps(kbps));
    QueueSpec {
        min: rate(min),
        max: rate(max),
        priority,
        weight,
    }
}

fn near(is: f64, should: f64, share: f64, what: &str) {
    let off = (is / should - 1.0).abs();
    assert!(off <= share, "{what}: {is} instead of {should}");
}

#[test]
fn a_maximum_holds_within_one_percent_and_100_us_on_slow_and_fast_queues() {
    for (kbps, seconds) in [(64, 100), (1_000, 20), (10_000, 4), (1_000_000, 1)] {
        for late_ns in [0, 50_000] {
            let mut stage = Stage::new(0, &[(3, spec(0, kbps, 0, 1))]);
            let start = stage.now;
            stage.saturate(&[3], seconds, late_ns);
            near(stage.kbps(3, start), kbps.into(), 0.01, "rate");
            let mut errors = Vec::new();
            for pair in stage.sent.windows(2) {
                let ideal = pair[0].2 * 8_000_000 / u64::from(kbps);
                errors.push(pair[1].0.since(pair[0].0).abs_diff(ideal));
            }
            errors.sort_unstable();
            let p99 = errors[errors.len() * 99 / 100];
            assert!(p99 <= 100_000, "{kbps} kb/s: {p99} ns at p99");
        }
    }
}

#[test]
fn a_rate_makes_up_for_tens_of_milliseconds_without_a_processor() {
    let mut stage = Stage::new(0, &[(3, spec(0, 1_000, 0, 1))]);
    let start = stage.now;
    stage.saturate(&[3], 20, 50_000_000);
    near(stage.kbps(3, start), 1_000.0, 0.01, "rate");
}

#[test]
fn the_rest_of_a_division_is_not_lost() {
    let mut pace = Pace::default();
    pace.set(Time(0), 100_000_007);
    (0..1_000_000).for_each(|_| pace.charge(Time(0), 60));
    let ideal = 60.0 * 8e6 / 100_000_007.0 * 1e6;
    near(pace.due.0 as f64, ideal, 1e-6, "a million small frames");
}

#[test]
fn a_port_rate_is_shared_by_weight_and_not_exceeded() {
    let mut stage = Stage::new(
        100_000,
        &[
            (1, spec(0, 0, 2, 1)),
            (2, spec(0, 0, 2, 4)),
            (3, spec(0, 20_000, 2, 50)),
        ],
    );
    let start = stage.now;
    stage.saturate(&[1, 2, 3], 2, 30_000);
    near(stage.kbps(3, start), 20_000.0, 0.01, "its maximum");
    near(
        stage.kbps(1, start),
        16_000.0,
        0.02,
        "one part of what is left",
    );
    near(stage.kbps(2, start), 64_000.0, 0.02, "four parts");
}

#[test]
fn a_queue_that_was_idle_gets_its_share_and_no_more() {
    let mut stage = Stage::new(10_000, &[(1, spec(0, 0, 0, 1)), (2, spec(0, 0, 0, 1))]);
    stage.saturate(&[1], 5, 0);
    let start = stage.now;
    stage.saturate(&[1, 2], 5, 0);
    near(stage.kbps(2, start), 5_000.0, 0.02, "half of the port");
}

#[test]
fn the_highest_priority_has_all_but_what_is_guaranteed() {
    let mut stage = Stage::new(
        10_000,
        &[
            (1, spec(0, 0, 9, 1)),
            (2, spec(2_000, 0, 0, 1)),
            (3, spec(500, 0, 0, 1)),
        ],
    );
    let start = stage.now;
    stage.saturate(&[0, 1, 2, 3], 20, 50_000);
    near(stage.kbps(2, start), 2_000.0, 0.01, "its guarantee");
    near(stage.kbps(3, start), 500.0, 0.02, "its guarantee");
    near(stage.kbps(1, start), 7_500.0, 0.01, "the rest");
    let lowest = stage.sent.iter().filter(|sent| sent.1 == 0).count();
    assert_eq!(
        lowest, 0,
        "the default queue has a lower priority and no guarantee"
    );
}

#[test]
fn an_unused_guarantee_goes_to_others() {
    let mut stage = Stage::new(10_000, &[(1, spec(9_000, 0, 0, 1)), (2, spec(0, 0, 0, 1))]);
    let start = stage.now;
    stage.saturate(&[2], 2, 0);
    near(stage.kbps(2, start), 10_000.0, 0.01, "the whole port");
    let start = stage.now;
    stage.saturate(&[1, 2], 4, 0);
    let own = stage.kbps(1, start);
    assert!(own >= 8_990.0, "{own} kb/s, whatever was not used before");
}

#[test]
fn every_accepted_frame_leaves_in_its_queues_order_within_the_limits() {
    let specs = [
        (1, spec(0, 3_000, 1, 1)),
        (2, spec(500, 0, 0, 3)),
        (7, spec(0, 0, 0, 1)),
    ];
    let mut stage = Stage::new(20_000, &specs);
    let mut refused = 0;
    for _ in 0..20_000 {
        let id = [0, 1, 2, 7, 99][stage.random.below(5) as usize];
        let bytes = 60 + stage.random.below(1455) as usize;
        refused += u64::from(!stage.offer(id, bytes));
        for queue in stage.egress.queues() {
            assert!(queue.packets <= MAX_QUEUE_PACKETS && queue.bytes <= MAX_QUEUE_BYTES);
        }
        stage.now = stage.now.after(stage.random.below(300_000));
        stage.pop_all();
    }
    while let Some(due) = stage.egress.next_wakeup() {
        stage.now = due.max(stage.now);
        stage.pop_all();
    }
    assert!(refused > 0, "some queue was full");
    let errors: u64 = stage
        .egress
        .queues()
        .iter()
        .map(|q| q.stats.tx_errors)
        .sum();
    assert_eq!(errors, refused, "each refusal is counted");
    for queue in stage.egress.queues() {
        let own = stage.sent.iter().filter(|sent| sent.1 == queue.id.0);
        assert_eq!(own.clone().count() as u64, queue.stats.tx_packets);
        assert_eq!(own.map(|s| s.2).sum::<u64>(), queue.stats.tx_bytes);
        assert_eq!((queue.packets, queue.bytes), (0, 0));
    }
    // Frames for queue 99 share the default queue with those for 0, each kind in its order.
    for id in [1, 2, 7] {
        let own = stage.sent.iter().filter(|sent| sent.1 == id).map(|s| s.3);
        assert!(
            own.eq(0..stage.accepted[&id]),
            "queue {id} in order and complete"
        );
    }
    let rest = stage.sent.iter().filter(|sent| sent.1 == 0).count() as u64;
    assert_eq!(rest, stage.accepted[&0] + stage.accepted[&99]);
    assert_eq!(
        stage.pool.stats().bytes_in_use,
        0,
        "no frame is left anywhere"
    );
}

#[test]
fn a_queue_accepts_packets_and_bytes_up_to_its_limits() {
    let mut stage = Stage::new(0, &[(1, spec(0, 1, 0, 1))]);
    assert!((0..MAX_QUEUE_PACKETS).all(|_| stage.offer(1, 60)));
    assert!(!stage.offer(1, 60), "one packet more");
    let mut stage = Stage::new(0, &[(1, spec(0, 1, 0, 1))]);
    let count = MAX_QUEUE_BYTES / (1 << 15);
    assert!((0..count).all(|_| stage.offer(1, 1 << 15)));
    assert!(!stage.offer(1, 60), "some bytes more");
    let full = &stage.egress.queues()[1].stats;
    assert_eq!(full.tx_errors, 1);
}

#[test]
fn after_silence_frames_do_not_leave_in_a_burst() {
    let mut stage = Stage::new(0, &[(1, spec(0, 1_000, 0, 1))]);
    stage.now = stage.now.after(60 * SEC);
    (0..3).for_each(|_| assert!(stage.offer(1, 1250)));
    stage.pop_all();
    assert_eq!(stage.sent.len(), 1, "the others have their time");
    assert_eq!(
        stage.egress.next_wakeup(),
        Some(stage.now.after(10_000_000))
    );
}

#[test]
fn a_new_rate_counts_from_now_on() {
    let mut stage = Stage::new(0, &[(1, spec(0, 1, 0, 1))]);
    (0..2).for_each(|_| assert!(stage.offer(1, 1250)));
    stage.pop_all();
    assert_eq!(stage.egress.next_wakeup(), Some(stage.now.after(10 * SEC)));
    stage
        .egress
        .modify(stage.now, QueueId(1), spec(0, 10_000, 0, 1));
    assert_eq!(
        stage.egress.next_wakeup(),
        Some(stage.now),
        "the old debt is forgotten"
    );
    let share = QueueSpec {
        max: Some(Rate::PerMille(500)),
        ..QueueSpec::default()
    };
    stage.egress.modify(stage.now, QueueId(1), share);
    stage.egress.set_rate(stage.now, 2_001);
    assert_eq!(
        stage.egress.queues()[1].max.kbps,
        1_001,
        "a share follows the port's rate"
    );
}
