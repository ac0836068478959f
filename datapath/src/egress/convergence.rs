//! How soon shares follow when subscribers leave, come back, or all but one go quiet: tests of
//! two-level fair queueing, on a virtual clock.

use alloc::vec::Vec;

use crate::egress::dumbbell::{PORT_KBPS, Sender, run};

/// Seconds of a bin.
const BIN: f64 = 0.05;
/// Bins that are looked at after the time that is allowed, and how many of them may be off.
const BINS: usize = 20;
const MAY_BE_OFF: usize = 2;
/// What a bin may differ from what is expected, as a fraction.
const TOLERANCE: f64 = 0.1;
/// The time that is allowed, in seconds.
const ALLOWED: f64 = 0.3;

/// Whether rates are what is expected soon after an event at `event` seconds.
fn follows(senders: &[Sender], event: f64, expected: &[f64]) {
    let begin = event + ALLOWED;
    let end = begin + BINS as f64 * BIN;
    let arrivals = run("hfair", senders, end);
    let mut off = Vec::new();
    for bin in 0..BINS {
        let from = begin + bin as f64 * BIN;
        let rates = arrivals.kbps(senders, senders.len(), from, from + BIN);
        let mut both = rates.iter().zip(expected);
        if both.any(|(rate, expected)| {
            (rate - expected).abs() > TOLERANCE * f64::max(*expected, 500.0)
        }) {
            off.push(rates);
        }
    }
    assert!(off.len() <= MAY_BE_OFF, "{off:?}");
}

/// A greedy sender to each of `count` subscribers.
fn greedy(count: usize) -> Vec<Sender> {
    (0..count).map(|one| Sender::new(one, 20_000.0)).collect()
}

#[test]
fn two_of_four_leave_and_come_back() {
    let mut senders = greedy(4);
    for one in [1, 2] {
        senders[one].active = 0.0..1.0;
        let mut back = senders[one].clone();
        back.active = 3.0..f64::INFINITY;
        senders.push(back);
    }
    follows(&senders, 1.0, &[5_000.0, 0.0, 0.0, 5_000.0]);
    follows(&senders, 3.0, &[2_500.0; 4]);
}

#[test]
fn all_but_one_of_many_go_quiet() {
    for count in [50, 100] {
        let mut senders = greedy(count);
        for sender in &mut senders[1..] {
            sender.kbps = 1_000.0;
            sender.active = 0.0..1.0;
        }
        follows(&senders, 1.0, &[f64::from(PORT_KBPS)]);
    }
}
