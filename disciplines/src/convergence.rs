//! The time in which shares adapt when subscribers stop, return, or all but one stop: tests of the
//! fair disciplines on a virtual clock.

extern crate std;

use alloc::vec::Vec;
use std::println;

use crate::dumbbell::{Arrivals, PORT_KBPS, Sender, run};

/// Seconds of a bin.
const BIN: f64 = 0.05;
/// In how many bins shares have to be right from then on, and how many exceptions there may be.
const BINS: usize = 20;
const MAY_BE_OFF: usize = 2;
/// Within how many bins after an event the first of these must be: 2 s, and 20 s.
const TRIED: usize = 40;
const TRIED_LONG: usize = 400;
/// The allowed deviation of a bin, as a fraction; and that where one subscriber has everything.
const TOLERANCE: f64 = 0.1;
const TOLERANCE_OF_ALL: f64 = 0.05;
/// The allowed time to adapt, in seconds.
const ALLOWED: f64 = 0.3;

/// The expected rates of subscribers after an event.
struct Expected<'a> {
    /// The second of the event.
    event: f64,
    kbps: &'a [f64],
    tolerance: f64,
    /// Within how many bins this must begin to hold.
    tried: usize,
}

impl Expected<'_> {
    /// Returns true if subscribers get the expected rates from some time on.
    fn is_met(&self, arrivals: &Arrivals, senders: &[Sender], from: f64) -> bool {
        let rates = arrivals.kbps(senders, senders.len(), from, from + BIN);
        let mut both = rates.iter().zip(self.kbps);
        both.all(|(rate, kbps)| (rate - kbps).abs() <= self.tolerance * f64::max(*kbps, 500.0))
    }

    /// Seconds from the event until this holds; `None` if it does not within the tried bins.
    fn settles(&self, discipline: &str, senders: &[Sender]) -> Option<f64> {
        let bins = self.tried + BINS;
        let arrivals = run(discipline, senders, self.event + bins as f64 * BIN);
        let at = |bin: usize| self.event + bin as f64 * BIN;
        let met: Vec<bool> = (0..bins)
            .map(|bin| self.is_met(&arrivals, senders, at(bin)))
            .collect();
        let settled = met.windows(BINS).position(|window| {
            let off = window.iter().filter(|is_met| !**is_met).count();
            window[0] && off <= MAY_BE_OFF
        });
        settled.map(|bin| bin as f64 * BIN)
    }

    /// Checks that this holds soon with all disciplines except those that only serve for
    /// comparison.
    fn holds_soon(&self, what: &str, senders: &[Sender]) {
        for discipline in ["hfair", "ceta2"] {
            let seconds = self.settles(discipline, senders);
            println!("{what}: {discipline} after {seconds:?} s");
            assert!(
                seconds.is_some_and(|time| time <= ALLOWED),
                "{discipline}: {seconds:?}"
            );
        }
    }
}

/// A greedy sender to each of `count` subscribers.
fn greedy(count: usize) -> Vec<Sender> {
    (0..count).map(|one| Sender::new(one, 20_000.0)).collect()
}

#[test]
fn t10_two_of_four_stop_and_return() {
    let mut senders = greedy(4);
    for one in [1, 2] {
        senders[one].active = 0.0..1.0;
        let mut back = senders[one].clone();
        back.active = 3.0..f64::INFINITY;
        senders.push(back);
    }
    let mut left = Expected {
        event: 1.0,
        kbps: &[5_000.0, 0.0, 0.0, 5_000.0],
        tolerance: TOLERANCE,
        tried: TRIED,
    };
    left.holds_soon("two of four leave", &senders);
    (left.event, left.kbps) = (3.0, &[2_500.0; 4]);
    left.holds_soon("they come back", &senders);
}

/// One has the port from the second 1 on.
fn one_has_all(tried: usize) -> Expected<'static> {
    Expected {
        event: 1.0,
        kbps: &[PORT_KBPS as f64],
        tolerance: TOLERANCE_OF_ALL,
        tried,
    }
}

#[test]
fn t9_all_but_one_of_many_stop() {
    for count in [50, 100] {
        let mut senders = greedy(count);
        for sender in &mut senders[1..] {
            sender.kbps = 1_000.0;
            sender.active = 0.0..1.0;
        }
        one_has_all(TRIED).holds_soon("all but one go quiet", &senders);
    }
}

#[test]
fn t9_by_the_paper_s_algorithm_one_has_the_port_long_after_49_went_quiet_but_known() {
    // A small frame in 5 s keeps each of them known.
    let mut senders = greedy(50);
    for n in 1..50 {
        senders[n].kbps = 1_000.0;
        senders[n].active = 0.0..1.0;
        let mut whisper = senders[n].clone();
        (whisper.frame_bytes, whisper.kbps) = (100, 0.16);
        whisper.active = 1.0..f64::INFINITY;
        senders.push(whisper);
    }
    one_has_all(TRIED).holds_soon("all but one whisper", &senders);
    let seconds = one_has_all(TRIED_LONG).settles("ceta", &senders);
    println!("all but one whisper: ceta after {seconds:?} s");
    // Each tenth of a second the rest shrinks by a fiftieth: 14.8 s until it is a twentieth.
    assert!(
        seconds.is_some_and(|time| (14.0..16.5).contains(&time)),
        "{seconds:?}"
    );
}
