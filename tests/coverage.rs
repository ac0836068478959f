//! Tests that of a hundred real runs as many intervals hold the truth as they say.
#![allow(clippy::unwrap_used)]

use crate::known::mean_truth;
use crate::plant::{Folder, measured, stated};

/// Runs of each measurement, and by how many of them an interval may miss what it says.
const RUNS: usize = 100;
const MOST_SHORT: usize = 5;
/// The share of frames that a forwarder loses, overtakes or sends twice, in percent.
const SHARE: f64 = 2.0;

/// In how many of [`RUNS`] runs an interval holds the truth.
struct Coverage {
    name: &'static str,
    /// In how many of a hundred it should.
    stated: usize,
    holds: usize,
}

impl Coverage {
    fn none(name: &'static str, stated: usize) -> Self {
        let holds = 0;
        Self {
            name,
            stated,
            holds,
        }
    }

    fn count(&mut self, (low, high): (f64, f64), truth: f64) {
        self.holds += usize::from((low..=high).contains(&truth));
    }
}

/// Measures a forwarder of these faults.
fn of_forwarder(faults: &str, load: &[&str]) -> Folder {
    let folder = Folder::new();
    let setup = format!("forwarder:{faults}");
    let case = ["mode-speedup", "--setup", &setup];
    measured(&folder, &[&case[..], load].concat());
    folder
}

/// The interval of a forwarder's frames under this head.
fn interval(folder: &Folder, head: &str) -> (f64, f64) {
    stated(folder, "mode-speedup", "legacy 64 B", head)
}

/// Shares of frames that are lost, overtaken and doubled.
fn coverage_of_counts() -> [Coverage; 3] {
    let names = ["lost", "reordered", "duplicated"];
    let mut kinds = names.map(|name| Coverage::none(name, 99));
    let faults = format!("loss={SHARE}%,reorder={SHARE}%,duplicate={SHARE}%");
    for _ in 0..RUNS {
        let folder = of_forwarder(&faults, &["--frames", "1000", "--max-rate", "5000"]);
        for kind in &mut kinds {
            let head = format!("{}, 99 % interval, %", kind.name);
            kind.count(interval(&folder, &head), SHARE);
        }
    }
    kinds
}

/// What a forwarder that holds each frame for 1,000 us adds to a wire: what its own stamps say.
fn coverage_of_delays() -> Coverage {
    let mut kind = Coverage::none("added to the wire, 95 % interval", 95);
    let load = ["--frames", "200", "--max-rate", "1000", "--repeats", "4"];
    for _ in 0..RUNS {
        let folder = of_forwarder("delay=1000us", &load);
        let (truth, found) = (mean_truth(&folder), interval(&folder, kind.name));
        println!("{}: {found:?} for {truth:.1} us", kind.name);
        kind.count(found, truth);
    }
    kind
}

#[test]
#[ignore = "long: hundreds of runs"]
fn intervals_of_a_hundred_real_runs_hold_the_truth_as_often_as_they_say() {
    let mut wrong = Vec::new();
    let (delays, counts) = (coverage_of_delays(), coverage_of_counts());
    for kind in [&delays].into_iter().chain(&counts) {
        let Coverage {
            name,
            stated,
            holds,
        } = kind;
        println!("{name}: {holds} of {RUNS} intervals of {stated} % hold the truth");
        if holds + MOST_SHORT < *stated {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
