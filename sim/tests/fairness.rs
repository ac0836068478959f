//! The scenarios of OpenQFlow: what share of a slow port each subscriber gets with each discipline,
//! with UDP and TCP, and how soon the shares follow when subscribers leave and return.
#![allow(clippy::unwrap_used)]

use std::ops::RangeInclusive;

use bofuss_sim::scenario::{NoOutside, Scenario};
use serde_json::Value;

/// The scenarios, and the line in them that each discipline replaces.
const UDP: &str = include_str!("../../testdata/sim/openqflow.toml");
const TCP: &str = include_str!("../../testdata/sim/openqflow_tcp.toml");
const MIXED: &str = include_str!("../../testdata/sim/openqflow_mixed.toml");
const RETURN: &str = include_str!("../../testdata/sim/openqflow_return.toml");
const QUIET: &str = include_str!("../../testdata/sim/openqflow_quiet.toml");
const CHOICE: &str = "discipline = \"hfair\"";
/// The subscribers of most scenarios.
const SUBSCRIBERS: [&str; 4] = ["a", "b", "c", "d"];
/// Seconds at the beginning of a run that are not counted.
const WARM_UP: usize = 4;
/// Mb/s of data in frames of 1,000 bytes of UDP, and of 1,514 of TCP, that fill the port.
const UDP_MBPS: f64 = 10.0 * 958.0 / 1_000.0;
const TCP_MBPS: f64 = 10.0 * 1_448.0 / 1_514.0;
/// The disciplines; Jain's index and the use of the link that each reaches with TCP at least.
const TCP_BARS: [(&str, f64, f64); 2] = [("hfair", 0.999, 0.995), ("ceta2", 0.997, 0.95)];
/// Shares are measured in bins. A share has settled at the first right bin of [`BINS`] of which at
/// most [`MAY_BE_OFF`] are wrong.
const BINS_PER_SECOND: usize = 20;
const BINS: usize = 20;
const MAY_BE_OFF: usize = 2;

/// A scenario with this discipline.
fn chosen(scenario: &str, discipline: &str) -> String {
    assert_eq!(scenario.matches(CHOICE).count(), 1);
    scenario.replace(CHOICE, &format!("discipline = \"{discipline}\""))
}

/// The statistics of a run.
fn statistics(text: &str) -> Value {
    let mut scenario = Scenario::build(text, None, &mut NoOutside).unwrap();
    scenario.run_until(scenario.end(), &mut ()).unwrap();
    serde_json::to_value(scenario.statistics()).unwrap()
}

/// Returns what each subscriber gets after the warm-up, in Mb/s, and Jain's index of fairness.
fn run(scenario: &str, discipline: &str) -> ([f64; 4], f64) {
    shares(&statistics(&chosen(scenario, discipline)))
}

/// The same from a run's statistics.
fn shares(statistics: &Value) -> ([f64; 4], f64) {
    let mut rates = [0.0; 4];
    let rows = statistics["traffic"].as_array().unwrap();
    for report in rows {
        let to = report["to"].as_str().unwrap();
        let at = SUBSCRIBERS.iter().position(|name| *name == to).unwrap();
        let mut intervals = vec![&report["intervals_mbps"]];
        if let Some(flows) = report["flows"]
            .as_array()
            .filter(|_| report["kind"] == "tcp")
        {
            intervals = flows.iter().map(|flow| &flow["intervals_mbps"]).collect();
        }
        for mbps in intervals {
            let mbps = mbps.as_array().unwrap();
            let counted = mbps[WARM_UP..].iter().map(|one| one.as_f64().unwrap());
            rates[at] += counted.sum::<f64>() / (mbps.len() - WARM_UP) as f64;
        }
    }
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    (rates, rates.iter().sum::<f64>().powi(2) / (4.0 * squares))
}

#[test]
fn t1_t2_t3_t4_t5_t6_udp_floods_of_different_sizes_end_up_as_each_discipline_has_it() {
    let expected = [
        ("hfair", 0.9995..=1.0),
        ("ceta2", 0.9995..=1.0),
        ("ceta", 0.990..=0.998),
        ("beta", 0.860..=0.870),
        ("drr", 0.860..=0.870),
        ("fred", 0.55..=0.68),
        ("fifo", 0.53..=0.57),
    ];
    let check = |discipline, bounds: RangeInclusive<f64>| {
        let (rates, index) = run(UDP, discipline);
        assert!(bounds.contains(&index), "{discipline}: {index}, {rates:?}");
        let used = rates.iter().sum::<f64>() / UDP_MBPS;
        let least = if discipline == "ceta" || discipline == "beta" {
            0.95
        } else {
            0.995
        };
        assert!((least..=1.001).contains(&used), "{discipline}: {used}");
    };
    std::thread::scope(|scope| {
        for (discipline, bounds) in expected {
            scope.spawn(move || check(discipline, bounds));
        }
    });
}

#[test]
fn t12_tcp_of_different_distances_and_numbers_shares_evenly() {
    for (discipline, least, least_used) in TCP_BARS {
        let (rates, index) = run(TCP, discipline);
        let used = rates.iter().sum::<f64>() / TCP_MBPS;
        println!("{discipline}: {index}, used {used} {rates:?}");
        assert!(index >= least, "{discipline}: {rates:?}");
        assert!(used >= least_used, "{discipline}: {used}");
    }
}

#[test]
fn t13_tcp_gets_its_share_beside_udp_floods() {
    for (discipline, least, _) in TCP_BARS {
        let (rates, index) = run(MIXED, discipline);
        println!("{discipline}: {index}, {rates:?}");
        let part = rates[0] / (TCP_MBPS / 4.0);
        assert!((0.97..=1.03).contains(&part), "{discipline}: {rates:?}");
        assert!(index >= least, "{discipline}: {rates:?}");
    }
}

/// Returns how many segments of TCP were retransmitted.
fn retransmissions(statistics: &Value) -> u64 {
    let rows = statistics["traffic"].as_array().unwrap();
    let flows = rows.iter().flat_map(|row| row["flows"].as_array().unwrap());
    flows
        .map(|flow| flow["retransmissions"].as_u64().unwrap())
        .sum()
}

#[test]
fn t12_tcp_that_understands_marks_shares_as_evenly_and_loses_far_less() {
    // A calendar drops what comes too early, also in the first windows, which nothing marks.
    let most_lost = [0.02, 0.7];
    for ((discipline, least, least_used), most_lost) in TCP_BARS.into_iter().zip(most_lost) {
        let mut text = chosen(TCP, discipline);
        for flows in [4, 6, 10, 12] {
            text = text.replace(&format!("flows = {flows},"), "flows = 3,");
        }
        let reno = "congestion = \"reno\"";
        let marked = statistics(&text.replace(reno, &format!("{reno}, ecn = true")));
        let lossy = statistics(&text);
        for statistics in [&marked, &lossy] {
            let (rates, index) = shares(statistics);
            let used = rates.iter().sum::<f64>() / TCP_MBPS;
            println!("{discipline}: {index}, used {used}, {rates:?}");
            assert!(index >= least, "{discipline}: {index}, {rates:?}");
            assert!(used >= least_used, "{discipline}: {used}");
        }
        let [with, without] = [&marked, &lossy].map(retransmissions);
        println!("{discipline}: sent again {with}, without marks {without}");
        let lost = with as f64 / without as f64;
        assert!(lost <= most_lost, "{discipline}: {with} of {without}");
    }
}

/// The rates in Mb/s that the subscribers `names` get, bin by bin.
fn binned(scenario: &str, discipline: &str, names: &[&str]) -> Vec<Vec<f64>> {
    let statistics = statistics(&chosen(scenario, discipline));
    let rows = statistics["traffic"].as_array().unwrap();
    let mut all = Vec::new();
    for name in names {
        let row = rows.iter().find(|row| row["to"] == *name).unwrap();
        let bins = row["intervals_mbps"].as_array().unwrap();
        all.push(bins.iter().map(|bin| bin.as_f64().unwrap()).collect());
    }
    all
}

/// Seconds after `second` until each subscriber gets its part of the port, within `tolerance` of
/// that part; `None` if that never happens.
fn settles(bins: &[Vec<f64>], second: usize, parts: &[f64], tolerance: f64) -> Option<f64> {
    let from = second * BINS_PER_SECOND;
    let is_met = |bin: usize| {
        let mut both = bins.iter().zip(parts);
        both.all(|(bins, part)| (bins[bin] / UDP_MBPS - part).abs() <= tolerance * part.max(0.05))
    };
    let met: Vec<bool> = (from..bins[0].len()).map(is_met).collect();
    let first = met.windows(BINS).position(|window| {
        let off = window.iter().filter(|is_met| !**is_met).count();
        window[0] && off <= MAY_BE_OFF
    });
    first.map(|bin| bin as f64 / BINS_PER_SECOND as f64)
}

#[test]
fn t10_shares_follow_within_0_3_s_when_two_of_four_leave_and_return() {
    for discipline in ["hfair", "ceta2"] {
        let bins = binned(RETURN, discipline, &SUBSCRIBERS);
        let left = settles(&bins, 2, &[0.5, 0.0, 0.0, 0.5], 0.1);
        let back = settles(&bins, 4, &[0.25; 4], 0.1);
        println!("{discipline}: after {left:?} s and {back:?} s");
        for seconds in [left, back] {
            let is_soon = seconds.is_some_and(|seconds| seconds <= 0.3);
            assert!(is_soon, "{discipline}: {left:?}, {back:?}");
        }
    }
}

#[test]
fn t9_one_has_the_port_within_0_3_s_after_49_others_and_by_the_paper_s_algorithm_after_14_s() {
    for (discipline, bounds) in [
        ("hfair", 0.0..=0.3),
        ("ceta2", 0.0..=0.3),
        ("ceta", 14.0..=16.5),
    ] {
        let bins = binned(QUIET, discipline, &["a"]);
        let seconds = settles(&bins, 2, &[1.0], 0.05);
        println!("{discipline}: after {seconds:?} s");
        let is_right = seconds.is_some_and(|seconds| bounds.contains(&seconds));
        assert!(is_right, "{discipline}: {seconds:?}");
    }
}
