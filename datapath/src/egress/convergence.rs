//! How soon shares follow when subscribers leave, come back, or all but one go quiet: tests of
//! the disciplines that share a port among subscribers, on a virtual clock.

extern crate std;

use alloc::vec::Vec;
use std::println;

use crate::egress::dumbbell::{Arrivals, PORT_KBPS, Sender, run};

/// Seconds of a bin.
const BIN: f64 = 0.05;
/// Bins in which shares have to be right from then on, and how many of them may be off.
const BINS: usize = 20;
const MAY_BE_OFF: usize = 2;
/// Bins after an event of which one has to be the first of these.
const TRIED: usize = 40;
/// What a bin may differ from what is expected, as a fraction.
const TOLERANCE: f64 = 0.1;
/// The time that is allowed, in seconds.
const ALLOWED: f64 = 0.3;

/// Whether what subscribers get from some time on is what is expected.
fn is_right(arrivals: &Arrivals, senders: &[Sender], from: f64, expected: &[f64]) -> bool {
    let rates = arrivals.kbps(senders, senders.len(), from, from + BIN);
    let mut both = rates.iter().zip(expected);
    both.all(|(rate, expected)| (rate - expected).abs() <= TOLERANCE * f64::max(*expected, 500.0))
}

/// Shares are what is expected soon after an event at `event` seconds.
fn follows(what: &str, senders: &[Sender], event: f64, expected: &[f64]) {
    for discipline in ["hfair", "ceta2"] {
        let bins = TRIED + BINS;
        let arrivals = run(discipline, senders, event + bins as f64 * BIN);
        let at = |bin: usize| event + bin as f64 * BIN;
        let right: Vec<bool> = (0..bins)
            .map(|bin| is_right(&arrivals, senders, at(bin), expected))
            .collect();
        let settled = right.windows(BINS).position(|window| {
            let off = window.iter().filter(|is_right| !**is_right).count();
            window[0] && off <= MAY_BE_OFF
        });
        let seconds = settled.map(|bin| bin as f64 * BIN);
        println!("{what}: {discipline} after {seconds:?} s");
        assert!(
            seconds.is_some_and(|time| time <= ALLOWED),
            "{discipline}: {right:?}"
        );
    }
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
    follows(
        "two of four leave",
        &senders,
        1.0,
        &[5_000.0, 0.0, 0.0, 5_000.0],
    );
    follows("they come back", &senders, 3.0, &[2_500.0; 4]);
}

#[test]
fn all_but_one_of_many_go_quiet() {
    for count in [50, 100] {
        let mut senders = greedy(count);
        for sender in &mut senders[1..] {
            sender.kbps = 1_000.0;
            sender.active = 0.0..1.0;
        }
        follows(
            "all but one go quiet",
            &senders,
            1.0,
            &[f64::from(PORT_KBPS)],
        );
    }
}
