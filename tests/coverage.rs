//! Tests that of a hundred real runs as many intervals hold the truth as they say.
#![allow(clippy::unwrap_used)]

use serde_json::Value;

use crate::plant::{Folder, measured, metric, stated};

/// Runs of each measurement, and by how many of them an interval may miss what it says.
const RUNS: usize = 100;
const MOST_SHORT: usize = 5;
/// The share of frames that a forwarder loses, overtakes or sends twice, in percent.
const SHARE: f64 = 2.0;
/// The load of frames whose delay is measured, in as many rounds.
const LOAD: [&str; 6] = ["--frames", "200", "--max-rate", "1000", "--repeats", "4"];

/// What is true of a point, and the column of the interval that should hold it.
type TrueNumber = (&'static str, usize, fn(&Value) -> f64);
/// What each measurement of delays says.
const NUMBERS: [TrueNumber; 2] = [
    ("added to the wire, 95 % interval", 95, added),
    ("99 % interval of the mean", 99, whole),
];

/// In how many of [`RUNS`] runs an interval holds the truth.
struct Coverage {
    name: String,
    /// In how many of a hundred it should.
    stated: usize,
    runs: usize,
    holds: usize,
}

impl Coverage {
    fn none(name: String, stated: usize) -> Self {
        Self {
            name,
            stated,
            runs: 0,
            holds: 0,
        }
    }

    fn count(&mut self, (low, high): (f64, f64), truth: f64) {
        println!("{}: {low} to {high} for {truth:.3}", self.name);
        self.runs += 1;
        self.holds += usize::from((low..=high).contains(&truth));
    }

    /// Returns true if enough of the intervals hold the truth.
    fn is_right(&self) -> bool {
        let Self {
            name,
            stated,
            runs,
            holds,
        } = self;
        println!("{name}: {holds} of {runs} intervals of {stated} % hold the truth");
        *runs >= RUNS && (holds + MOST_SHORT) * RUNS >= stated * runs
    }
}

/// The median that a forwarder's own stamps say, in microseconds: what it adds to a wire.
fn added(result: &Value) -> f64 {
    metric(result, "true delay between its ports, p50")
}

/// The mean of a frame's whole way: what the forwarder's own stamps say, and the wire of the round.
/// The end that sends frames back takes less of it than on a wire.
fn whole(result: &Value) -> f64 {
    let us = |value: &Value| value.as_f64().unwrap() / 1e3;
    let wire = &result["baseline"]["wire"];
    let wire_us = us(&wire["mean"]) - us(&wire["far_end"]) + us(&result["delay"]["far_end"]);
    metric(result, "true delay between its ports, mean") + wire_us
}

/// Measures a forwarder of these faults.
fn of_forwarder(case: &str, faults: &str, options: &[&str]) -> Folder {
    let folder = Folder::new();
    let setup = format!("forwarder:{faults}");
    measured(&folder, &[&[case, "--setup", &setup], options].concat());
    folder
}

/// Shares of frames that are lost, overtaken and doubled, other ones in each run.
fn coverage_of_shares() -> Vec<Coverage> {
    let passed = 1.0 - SHARE / 100.0;
    // A frame that overtakes another is not overtaken itself.
    let overtaken = passed * SHARE / (1.0 + SHARE / 100.0);
    let kinds = [
        ("lost", SHARE),
        ("reordered", overtaken),
        ("duplicated", passed * SHARE),
    ];
    let mut kinds = kinds.map(|(name, share)| {
        let kind = Coverage::none(format!("{name}, 99 % interval, %"), 99);
        (kind, share)
    });
    for seed in 0..RUNS {
        let load = ["--frames", "1000", "--max-rate", "5000"];
        let faults = format!("loss={SHARE}%,reorder={SHARE}%,duplicate={SHARE}%,seed={seed}");
        let folder = of_forwarder("mode-speedup", &faults, &load);
        for (kind, share) in &mut kinds {
            let found = stated(&folder, "mode-speedup", "legacy 64 B", &kind.name);
            kind.count(found, *share);
        }
    }
    kinds.map(|(kind, _)| kind).into()
}

/// The mean over repeats of what is true at a point, in microseconds.
fn mean_truth(repeats: &[&Value], truth: fn(&Value) -> f64) -> f64 {
    repeats.iter().map(|one| truth(one)).sum::<f64>() / repeats.len() as f64
}

/// Delays at each point of a case at which the forwarder knows the truth.
fn coverage_of_delays(case: &str, faults: &str, options: &[&str]) -> Vec<Coverage> {
    let kinds = NUMBERS.map(|(column, stated, _)| Coverage::none(column.into(), stated));
    let mut kinds = Vec::from(kinds);
    while kinds.iter().any(|kind| kind.runs < RUNS) {
        let folder = of_forwarder(case, faults, &[&LOAD[..], options].concat());
        let results = folder.results();
        let known = |one: &&Value| one["metrics"].to_string().contains("true delay");
        let first = results.iter().filter(known).filter(|one| one["round"] == 1);
        for point in first.map(|one| &one["point"]["name"]) {
            let of_point = results
                .iter()
                .filter(known)
                .filter(|one| one["point"]["name"] == *point);
            let repeats: Vec<&Value> = of_point.collect();
            let row = format!("{} ", point.as_str().unwrap());
            for (kind, (column, _, truth)) in kinds.iter_mut().zip(NUMBERS) {
                let found = stated(&folder, case, &row, column);
                kind.count(found, mean_truth(&repeats, truth));
            }
        }
    }
    kinds
}

/// Checks that enough of the intervals hold the truth.
fn check(kinds: &[Coverage]) {
    let wrong = kinds.iter().filter(|kind| !kind.is_right());
    let wrong: Vec<&str> = wrong.map(|kind| &kind.name[..]).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
#[ignore = "long: a hundred runs"]
fn intervals_of_shares_of_frames_hold_them_as_often_as_they_say() {
    check(&coverage_of_shares());
}

#[test]
#[ignore = "long: a hundred runs"]
fn intervals_of_a_delay_by_size_and_load_hold_it_as_often_as_they_say() {
    check(&coverage_of_delays("action-delay", "delay=1000us", &[]));
}

#[test]
#[ignore = "long: a hundred runs"]
fn intervals_of_a_delay_that_varies_hold_it_as_often_as_they_say() {
    check(&coverage_of_delays(
        "mode-speedup",
        "delay=500us,spread=500us",
        &[],
    ));
}

#[test]
#[ignore = "long: a hundred runs"]
fn intervals_of_a_delay_there_and_back_hold_it_as_often_as_they_say() {
    check(&coverage_of_delays(
        "mode-speedup",
        "delay=500us",
        &["--echo"],
    ));
}
