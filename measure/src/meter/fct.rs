//! `spine-leaf-fct`: throughput and completion time of flows in a data centre of 4 spines, 4 leaves
//! and 80 servers, simulated with the switch's core on a virtual clock.

use std::fmt::Write;

use bofuss_sim::scenario::{NoOutside, Scenario};
use serde_json::Value;

use super::flow_sizes::{
    ArrivalPlan, DATA_MINING, FlowArrival, FlowClass, SizeDistribution, WEB_SEARCH,
};
use super::point::{CaseVerdict, Point, PointOutcome};
use super::statistics::{mean, quantile};
use super::template::Template;
use super::workbench::{Limits, Workbench};

/// The network of the paper.
const SPINES: usize = 4;
const LEAVES: usize = 4;
const SERVERS: usize = 20;
const LINK_MBPS: f64 = 100.0;
/// The delay of a link in microseconds, without a switch's work, and frames that wait at its end.
const LINK_DELAY_US: f64 = 5.0;
const QUEUE_FRAMES: u32 = 100;
/// Links that a frame passes one way.
const LINKS: f64 = 4.0;
/// Offered loads in percent.
const LOADS: [u32; 3] = [10, 20, 40];
/// Flows that do not count, and flows that do; in the shortest form fewer.
const WARM_UP: usize = 500;
const FLOWS: usize = 5_000;
const SHORT_WARM_UP: usize = 20;
const SHORT_FLOWS: usize = 100;
/// Bytes at which flows are cut off.
const MOST_BYTES: f64 = 100e6;
const SHORT_MOST_BYTES: f64 = 50e3;
/// Seconds after the last arrival in which flows may end.
const PATIENCE: f64 = 30.0;
/// Frames for the cost of one, and how many the switch may forward in a second before its work
/// would queue, as a share of what that cost allows.
const COST_MBPS: f64 = 20.0;
const MOST_BUSY: f64 = 0.8;
/// Bytes of a full segment with its headers.
const SEGMENT_BYTES: f64 = 1_514.0;

/// The points: sizes, load and how paths are chosen.
pub fn points(limits: &Limits) -> Vec<Point> {
    let loads = if limits.short { &LOADS[..1] } else { &LOADS };
    let mut points = Vec::new();
    for sizes in [WEB_SEARCH.name, DATA_MINING.name] {
        for paths in ["hash", "arp-path"] {
            for load in loads {
                let kind = format!("{sizes}, {paths}");
                points.push(Point {
                    name: format!("{kind} {load} %"),
                    kind,
                    mbps: f64::from(*load) / 100.0 * LINK_MBPS,
                    ..Point::default()
                });
            }
        }
    }
    points
}

fn address(server: usize) -> String {
    format!("10.{}.0.{}", server / SERVERS + 1, server % SERVERS + 1)
}

/// The switches' rules: spines know the leaves, leaves their servers, and all else goes to a spine
/// by the hash of the flow.
fn rules(text: &mut String) {
    for spine in 1..=SPINES {
        let mut flows = String::new();
        for leaf in 1..=LEAVES {
            let _ = write!(
                flows,
                "\"ip,nw_dst=10.{leaf}.0.0/16,actions=output:{leaf}\","
            );
        }
        let _ = write!(
            text,
            "[[switch]]\nname = \"spine{spine}\"\nflows = [{flows}]\n"
        );
    }
    for leaf in 1..=LEAVES {
        let buckets: Vec<String> = (1..=SPINES)
            .map(|spine| format!("bucket=output:{spine}"))
            .collect();
        let mut flows = format!("\"group_id=1,type=select,{}\",", buckets.join(","));
        flows += "\"priority=1,ip,actions=group:1\",";
        for server in 0..SERVERS {
            let to = address((leaf - 1) * SERVERS + server);
            let port = SPINES + 1 + server;
            let _ = write!(
                flows,
                "\"priority=2,ip,nw_dst={to},actions=output:{port}\","
            );
        }
        let _ = write!(
            text,
            "[[switch]]\nname = \"leaf{leaf}\"\nselect = \"hash\"\nflows = [{flows}]\n"
        );
    }
}

/// The scenario of some flows; a switch's work delays each frame by `cost_us`.
fn scenario(arrivals: &[FlowArrival], paths: &str, cost_us: f64) -> String {
    let end = arrivals.last().map_or(0.0, |last| last.start) + PATIENCE;
    let delay = LINK_DELAY_US + cost_us;
    let known = paths == "hash";
    let mut text = format!(
        "end = {end:?}\nknown_addresses = {known}\nmax_events = 4000000000\n\
         [defaults.link]\nmbps = {LINK_MBPS:?}\ndelay_us = {delay:?}\nqueue = {QUEUE_FRAMES}\n"
    );
    if !known {
        text += "[defaults.switch]\nfail_mode = \"arp-path\"\n";
    }
    let _ = write!(
        text,
        "[topology]\nshape = \"spine-leaf\"\nspines = {SPINES}\nleaves = {LEAVES}\nhosts = 0\n"
    );
    if known {
        rules(&mut text);
    }
    for server in 0..SERVERS * LEAVES {
        let leaf = server / SERVERS + 1;
        let ip = address(server);
        let _ = write!(
            text,
            "[[host]]\nname = \"server{server}\"\nswitch = \"leaf{leaf}\"\nip = \"{ip}/8\"\n"
        );
    }
    for arrival in arrivals {
        let (from, to) = arrival.servers;
        let _ = write!(
            text,
            "[[traffic]]\nkind = \"tcp\"\nfrom = \"server{from}\"\nto = \"server{to}\"\n\
             start = {:?}\nsize = {}\n",
            arrival.start, arrival.bytes
        );
    }
    text
}

/// Processor nanoseconds of the subject for a frame; none if nothing of it is a process.
fn cost_ns(bench: &mut Workbench<'_>) -> Result<Option<f64>, String> {
    bench.reset()?;
    let Some(forwarder) = &bench.subject.forwarder else {
        return Ok(None);
    };
    let point = Point::of("cost").mbps(COST_MBPS);
    let before = forwarder.cpu_nanos();
    let seen = bench.observe(
        &Template::plain(SEGMENT_BYTES as usize),
        &bench.load(&point),
    )?;
    let spent = forwarder.cpu_nanos() - before;
    Ok((spent > 0.0).then(|| spent / f64::from(seen.received.max(1))))
}

/// Simulates the flows of a point; the seed is the number of the repeat, so that all subjects have
/// the same flows.
pub fn run(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome, String> {
    let cost = cost_ns(bench)?;
    let short = bench.limits.short;
    let mut sizes: &SizeDistribution = &DATA_MINING;
    if point.kind.starts_with(WEB_SEARCH.name) {
        sizes = &WEB_SEARCH;
    }
    let plan = ArrivalPlan {
        sizes,
        most_bytes: if short { SHORT_MOST_BYTES } else { MOST_BYTES },
        servers_per_leaf: SERVERS,
        leaves: LEAVES,
        link_bps: LINK_MBPS * 1e6,
        load: point.mbps / LINK_MBPS,
    };
    let warm_up = if short { SHORT_WARM_UP } else { WARM_UP };
    let flows = if short { SHORT_FLOWS } else { FLOWS };
    let arrivals = plan.arrivals(u64::from(bench.round), warm_up + flows);
    let paths = point.kind.rsplit(", ").next().unwrap_or_default();
    let cost_us = cost.unwrap_or(0.0) / 1e3;
    let text = scenario(&arrivals, paths, cost_us);
    let mut scenario = Scenario::build(&text, None, &mut NoOutside).map_err(|e| e.to_string())?;
    scenario
        .run_until(scenario.end(), &mut ())
        .map_err(|e| e.to_string())?;
    let statistics = scenario.statistics();
    let reports = statistics["traffic"]
        .as_array()
        .ok_or("no traffic in the statistics")?;
    let measured: Vec<(&FlowArrival, &Value)> =
        arrivals.iter().zip(reports).skip(warm_up).collect();
    let mut outcome = outcome(&measured, cost_us);
    let bytes: u64 = arrivals.iter().map(|arrival| arrival.bytes).sum();
    let seconds = arrivals.last().map_or(1.0, |last| last.start);
    let servers = (SERVERS * LEAVES) as f64;
    let realised = bytes as f64 * 8.0 / seconds / (servers * LINK_MBPS * 1e6);
    outcome.add("offered load, realised", "%", realised * 100.0);
    outcome.add(
        "mean size of the distribution",
        "bytes",
        sizes.mean(plan.most_bytes),
    );
    outcome.notes.push(format!(
        "simulated; flows are cut off at {} bytes; {}",
        plan.most_bytes,
        cost.map_or_else(
            || "the switch's work takes no time".into(),
            |ns| format!("each switch delays a frame by the measured {ns:.0} ns")
        )
    ));
    // The most that one leaf forwards: its servers send and receive at the load.
    let frames = 2.0 * SERVERS as f64 * plan.load * plan.link_bps / 8.0 / SEGMENT_BYTES;
    if frames * cost_us / 1e6 > MOST_BUSY {
        outcome
            .marks
            .push("a leaf would be busier than 80 %, which is not simulated".into());
    }
    Ok(outcome)
}

/// Throughput and completion times by class.
fn outcome(measured: &[(&FlowArrival, &Value)], cost_us: f64) -> PointOutcome {
    let mut outcome = PointOutcome::default();
    let mut unfinished = 0;
    let mut resent = 0;
    let mut slowdowns = Vec::new();
    let round_trip = 2.0 * LINKS * (LINK_DELAY_US + cost_us) / 1e6;
    for class in FlowClass::ALL {
        let mut times = Vec::new();
        let mut rates = Vec::new();
        for (arrival, report) in measured {
            if FlowClass::of(arrival.bytes) != class {
                continue;
            }
            let flow = &report["flows"][0];
            resent += flow["retransmissions"].as_u64().unwrap_or(0);
            let Some(seconds) = flow["completed"].as_f64() else {
                unfinished += 1;
                continue;
            };
            let bits = arrival.bytes as f64 * 8.0;
            times.push(seconds * 1e3);
            rates.push(bits / seconds / 1e6);
            slowdowns.push(seconds / (bits / (LINK_MBPS * 1e6) + round_trip));
            outcome.delays_ns.push((seconds * 1e9) as u64);
        }
        if times.is_empty() {
            continue;
        }
        let name = class.name();
        outcome.add(&format!("{name}: flows"), "", times.len() as f64);
        outcome.add(&format!("{name}: throughput, mean"), "Mb/s", mean(&rates));
        outcome.add(&format!("{name}: completion, mean"), "ms", mean(&times));
        times.sort_by(f64::total_cmp);
        for (words, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
            let at = quantile(&times, share);
            outcome.add(&format!("{name}: completion, {words}"), "ms", at);
        }
    }
    slowdowns.sort_by(f64::total_cmp);
    outcome.add("slowdown, p50", "times", quantile(&slowdowns, 0.5));
    outcome.add("slowdown, p99", "times", quantile(&slowdowns, 0.99));
    outcome.add("segments sent again", "", resent as f64);
    outcome.add("flows without an end", "", f64::from(unfinished));
    if slowdowns.is_empty() {
        outcome.verdict = CaseVerdict::Wrong;
        outcome.notes.push("no flow came to its end".into());
    }
    outcome
}
