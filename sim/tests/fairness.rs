//! Subscribers behind a slow port: what each gets by the port's discipline, of UDP and TCP.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;

use bofuss_sim::scenario::{NoOutside, Scenario};
use serde_json::Value;

/// The subscribers of OpenQFlow's evaluation and the last flow of each. Flow `n` is one of
/// `n` times 312.5 kb/s, where it is UDP: 165 Mb/s for a port of 10 Mb/s.
const SUBSCRIBERS: [(&str, u32); 4] = [("a", 4), ("b", 10), ("c", 20), ("d", 32)];
/// Seconds of a run, and of its beginning that do not count.
const SECONDS: u32 = 12;
const WARM_UP: usize = 4;

/// Three servers at 10, 20 and 40 ms, a switch whose port 9 has this discipline, a second switch,
/// and the subscribers.
fn network(discipline: &str) -> String {
    let mut text = format!(
        "end = {SECONDS}.0\nseed = 7\nknown_addresses = true\n\
         [defaults.switch]\nfail_mode = \"standalone\"\n\
         [defaults.link]\nmbps = 1000\nqueue = 10000\n\
         [[switch]]\nname = \"s1\"\ndiscipline = \"{discipline}\"\n\
         flows = [\"queue-mod 9 0 max=10M\"]\n\
         [[switch]]\nname = \"s2\"\n\
         [[link]]\nends = [\"s1:9\", \"s2:9\"]\n"
    );
    for delay_ms in [10, 20, 40] {
        let name = format!("server{delay_ms}");
        write!(text, "[[host]]\nname = \"{name}\"\n").unwrap();
        let delay_us = 1000 * delay_ms;
        writeln!(
            text,
            "[[link]]\nends = [\"{name}\", \"s1\"]\ndelay_us = {delay_us}"
        )
        .unwrap();
    }
    for (name, _) in SUBSCRIBERS {
        writeln!(text, "[[host]]\nname = \"{name}\"\nswitch = \"s2\"").unwrap();
    }
    text
}

/// Adds flows to a subscriber: of UDP one by one, each from the next server.
fn add_udp(text: &mut String, to: &str, flows: std::ops::RangeInclusive<u32>) {
    for flow in flows {
        let from = ["server10", "server20", "server40"][flow as usize % 3];
        let mbps = 0.3125 * f64::from(flow);
        write!(
            text,
            "[[traffic]]\nkind = \"udp\"\nfrom = \"{from}\"\nto = \"{to}\"\nmbps = {mbps}\n\
             size = 958\narrivals = \"poisson\"\ninterval = 1.0\n"
        )
        .unwrap();
    }
}

/// The same of TCP, all in one row.
fn add_tcp(text: &mut String, to: &str, flows: std::ops::RangeInclusive<u32>) {
    write!(
        text,
        "[[traffic]]\nkind = \"tcp\"\nfrom = \"server*\"\nto = \"{to}\"\nflows = {}\n\
         congestion = \"reno\"\ninterval = 1.0\n",
        flows.count()
    )
    .unwrap();
}

/// The statistics of a run.
fn statistics(text: &str) -> Value {
    let mut scenario = Scenario::build(text, None, &mut NoOutside).unwrap();
    scenario.run_until(scenario.end(), &mut ()).unwrap();
    serde_json::to_value(scenario.statistics()).unwrap()
}

/// What each subscriber gets after the warm-up, in Mb/s, and Jain's index of fairness.
fn run(text: &str) -> ([f64; 4], f64) {
    shares(&statistics(text))
}

/// The same of a run's statistics.
fn shares(statistics: &Value) -> ([f64; 4], f64) {
    let mut rates = [0.0; 4];
    let rows = statistics["traffic"].as_array().unwrap();
    for report in rows {
        let to = report["to"].as_str().unwrap();
        let at = SUBSCRIBERS
            .iter()
            .position(|(name, _)| *name == to)
            .unwrap();
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
fn udp_floods_of_different_sizes_end_up_as_each_discipline_has_it() {
    let scenario = include_str!("../../testdata/sim/openqflow.toml");
    let expected = [
        ("hfair", 0.9995..=1.0),
        ("ceta2", 0.9995..=1.0),
        ("ceta", 0.990..=0.998),
        ("beta", 0.860..=0.870),
        ("drr", 0.860..=0.870),
        ("fred", 0.55..=0.68),
        ("fifo", 0.53..=0.57),
    ];
    for (discipline, bounds) in expected {
        let choice = format!("discipline = \"{discipline}\"");
        let text = scenario.replace("discipline = \"hfair\"", &choice);
        let (rates, index) = run(&text);
        assert!(bounds.contains(&index), "{discipline}: {index}, {rates:?}");
        // Of each 1,000 bytes of a frame, UDP has 958.
        let used = rates.iter().sum::<f64>() / 9.58;
        let least = if discipline == "ceta" || discipline == "beta" {
            0.95
        } else {
            0.995
        };
        assert!((least..=1.001).contains(&used), "{discipline}: {used}");
    }
}

#[test]
fn tcp_of_different_distances_and_numbers_shares_evenly() {
    for (discipline, least) in [("hfair", 0.999), ("ceta2", 0.997)] {
        let mut text = network(discipline);
        let mut first = 1;
        for (name, last) in SUBSCRIBERS {
            add_tcp(&mut text, name, first..=last);
            first = last + 1;
        }
        let (rates, index) = run(&text);
        let sum: f64 = rates.iter().sum();
        println!("{discipline}: {index}, {sum} {rates:?}");
        assert!(index >= least, "{discipline}: {rates:?}");
        // Of each 1,514 bytes of a frame, TCP has 1,448.
        assert!(
            sum >= 0.95 * 10.0 * 1448.0 / 1514.0,
            "{discipline}: {rates:?}"
        );
    }
}

#[test]
fn tcp_gets_its_share_beside_udp_floods() {
    for (discipline, least) in [("hfair", 0.999), ("ceta2", 0.997)] {
        let mut text = network(discipline);
        add_tcp(&mut text, "a", 1..=4);
        let mut first = 5;
        for (name, last) in &SUBSCRIBERS[1..] {
            add_udp(&mut text, name, first..=*last);
            first = last + 1;
        }
        let (rates, index) = run(&text);
        println!("{discipline}: {index}, {rates:?}");
        // Of each 1,514 bytes of a frame, TCP has 1,448.
        let share = 2.5 * 1448.0 / 1514.0;
        let part = rates[0] / share;
        assert!((0.97..=1.03).contains(&part), "{discipline}: {rates:?}");
        assert!(index >= least, "{discipline}: {rates:?}");
    }
}

/// How many segments of TCP were sent again.
fn retransmissions(statistics: &Value) -> u64 {
    let rows = statistics["traffic"].as_array().unwrap();
    let flows = rows.iter().flat_map(|row| row["flows"].as_array().unwrap());
    flows
        .map(|flow| flow["retransmissions"].as_u64().unwrap())
        .sum()
}

#[test]
fn tcp_that_understands_marks_shares_as_evenly_and_loses_far_less() {
    // A calendar drops what comes too early, also in the first windows, which nothing marks.
    for (discipline, least, most_lost) in [("hfair", 0.999, 0.02), ("ceta2", 0.997, 0.7)] {
        let mut text = network(discipline);
        for (name, _) in SUBSCRIBERS {
            add_tcp(&mut text, name, 1..=3);
        }
        let without = retransmissions(&statistics(&text));
        let reno = "congestion = \"reno\"";
        let marked = statistics(&text.replace(reno, &format!("{reno}\necn = true")));
        let (rates, index) = shares(&marked);
        let with = retransmissions(&marked);
        println!("{discipline}: {index}, {rates:?}, sent again {with}, without marks {without}");
        assert!(index >= least, "{discipline}: {index}, {rates:?}");
        // Of each 1,514 bytes of a frame, TCP has 1,448.
        let used = rates.iter().sum::<f64>() / (10.0 * 1448.0 / 1514.0);
        assert!(used >= 0.95, "{discipline}: {used}");
        let lost = with as f64 / without as f64;
        assert!(lost <= most_lost, "{discipline}: {with} of {without}");
    }
}
