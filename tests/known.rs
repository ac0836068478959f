//! Tests that the meter finds delays and losses of a known size, and says how well.
#![allow(clippy::unwrap_used)]

use bofuss_tests::ok;
use serde_json::Value;

use crate::plant::{Folder, busy_loops, measured, metric, ofmeter, stated};

/// Delays of a forwarder, microseconds: the least and the greatest. Others are in the long tier.
const DELAYS_US: [f64; 2] = [100.0, 10_000.0];
/// The share of a delay by which the meter may be wrong.
const MOST_ERROR: f64 = 0.05;
/// Busy loops beside the meter.
pub const BUSY_LOOPS: usize = 2;

/// Returns true if a known answer is within the error that the report states; what else runs on the
/// machine may make it worse than the calibration knew, so that it is tried again.
pub fn is_found(known: f64, mut attempt: impl FnMut() -> (f64, f64)) {
    let mut seen = Vec::new();
    for _ in 0..6 {
        let (low, high) = attempt();
        if (low..=high).contains(&known) {
            return;
        }
        seen.push((low, high));
    }
    panic!("{known} is in none of {seen:?}");
}

/// The results of frames that a switch forwards without OpenFlow.
pub fn of_legacy(results: &[Value]) -> impl Iterator<Item = &Value> + Clone {
    let is_legacy = |one: &&Value| one["point"]["kind"] == "legacy";
    results.iter().filter(is_legacy)
}

/// The median delay by the kernel's stamps at the forwarder's own ports, in microseconds.
fn true_delay(result: &Value) -> f64 {
    metric(result, "true delay between its ports, p50")
}

/// The mean over repeats of what a forwarder's own stamps say, in microseconds.
fn mean_truth(folder: &Folder) -> f64 {
    let results = folder.results();
    let truths: Vec<f64> = of_legacy(&results).map(true_delay).collect();
    truths.iter().sum::<f64>() / truths.len() as f64
}

/// Checks that each round has a wire and a yardstick of its own, at the load of its frames.
fn has_baselines(folder: &Folder) {
    let results = folder.results();
    let legacy = of_legacy(&results);
    for path in ["wire", "yardstick"] {
        let found: Vec<_> = legacy.clone().map(|one| &one["baseline"][path]).collect();
        assert!(found.iter().all(|one| one["bytes"] == 64), "{found:?}");
        assert!(
            found.iter().all(|one| one["rate"][0] == 5_000.0),
            "{found:?}"
        );
        let means = found.iter().map(|one| one["mean"].to_string());
        let means: std::collections::BTreeSet<_> = means.collect();
        assert_eq!(means.len(), 3, "{found:?}");
    }
    assert!(
        folder
            .read("results.csv")
            .contains("\"yardstick in this round, p50\",us")
    );
}

#[test]
fn known_answers_are_within_the_stated_errors() {
    let case = ["mode-speedup", "--frames", "2000", "--max-rate", "5000"];
    let more = ["--repeats", "3", "--setup"];
    let measure = |faults: &str| {
        let folder = Folder::new();
        let faults = format!("forwarder:{faults}");
        measured(&folder, &[&case[..], &more, &[&faults]].concat());
        folder
    };
    is_found(0.0, || {
        let folder = measure("delay=50us");
        has_baselines(&folder);
        let column = "added to the wire, 95 % interval";
        let (low, high) = stated(&folder, "mode-speedup", "legacy 64 B", column);
        // A slow machine takes its own time for each frame, besides what the forwarder waits.
        let truth = mean_truth(&folder);
        (low - truth, high - truth)
    });
    is_found(1.0, || {
        let folder = measure("loss=1%,reorder=0.5%,duplicate=2%");
        let known = [("lost", 1.0), ("reordered", 0.5), ("duplicated", 2.0)];
        let bounds = known.map(|(count, percent)| {
            let column = format!("{count}, 99 % interval, %");
            let (low, high) = stated(&folder, "mode-speedup", "legacy 64 B", &column);
            (low / percent, high / percent)
        });
        // What all three intervals have in common, each in parts of what is known.
        let low = bounds.iter().map(|one| one.0).fold(0.0, f64::max);
        let high = bounds.iter().map(|one| one.1).fold(100.0, f64::min);
        (low, high)
    });
}

/// The medians of two rounds on a forwarder: what the meter found more than on the wire of the
/// round, and the truth by the kernel's stamps at the forwarder's own ports; microseconds.
fn found_and_true(micros: f64) -> Vec<(f64, f64)> {
    let folder = Folder::new();
    let setup = format!("forwarder:delay={micros}us");
    let load = ["--frames", "300", "--max-rate", "500", "--repeats", "2"];
    let case = ["mode-speedup", "--setup", &setup];
    let results = measured(&folder, &[&case[..], &load].concat());
    let pairs = of_legacy(&results).map(|one| {
        let wire = one["baseline"]["wire"]["p50"].as_f64().unwrap();
        let found = one["delay"]["p50"].as_f64().unwrap() - wire;
        (found / 1e3, true_delay(one))
    });
    pairs.collect()
}

#[test]
fn a_known_delay_is_found_within_five_percent_at_rest_and_beside_busy_loops() {
    let mut wrong = Vec::new();
    for loops in [0, BUSY_LOOPS] {
        let _busy = busy_loops(loops);
        for micros in DELAYS_US {
            for (found, truth) in found_and_true(micros) {
                println!("{micros} us, {loops} busy loops: found {found:.1} of {truth:.1} us");
                assert!(truth >= micros, "the forwarder holds each frame as long");
                if (found / truth - 1.0).abs() > MOST_ERROR {
                    wrong.push((micros, loops, found, truth));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn a_knee_above_the_instruments_limit_is_no_result() {
    let folder = Folder::new();
    let words = ["run", "--short", "action-delay", "--max-rate", "5000"];
    let mut command = ofmeter(&folder, &[&words[..], &["--setup", "yardstick"]].concat());
    // Without stamps the instrument is said to be true up to 1,000 frames/s, with them to more.
    let mut calibration: Value = serde_json::from_str(&folder.read("calibration.json")).unwrap();
    calibration["limit"] = 1e6.into();
    calibration["rate_limit"] = 1e3.into();
    std::fs::write(folder.0.join("calibration.json"), calibration.to_string()).unwrap();
    println!("{}", ok(&mut command));
    let above = "above the instrument's limit of 1000 frames/s";
    for result in folder.results() {
        let is_marked = result["marks"].to_string().contains(above);
        assert_eq!(is_marked, result["point"]["kind"] == "knee", "{result}");
    }
}
