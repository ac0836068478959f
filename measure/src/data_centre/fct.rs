//! `spine-leaf-fct`: throughput and completion time of flows in a data centre of 4 spines, 4 leaves
//! and 80 servers, simulated with the switch's core on a virtual clock.

use std::fmt::Write;

use crate::cases::point::{CaseVerdict, EndedFlow, Point, PointOutcome};
use crate::cases::workbench::{Limits, Workbench};
use crate::data_centre::flow_classes::{FRAME_COST, IMBALANCE, add_load, by_class};
use crate::data_centre::flow_sizes::{
    ArrivalPlan, DATA_MINING, FlowArrival, SizeDistribution, WEB_SEARCH,
};
use crate::data_centre::leaf_spine::LeafSpine;
use crate::error::Result;
use crate::statistics::{greatest, mean};
use crate::subject::SetupName;
use crate::subject::template::Template;
use crate::testbed::setup::Setup;
use bofuss_datapath::Time;
use bofuss_sim::scenario::{NoOutside, Scenario};
use serde_json::Value;

/// The name of the case.
pub const NAME: &str = "spine-leaf-fct";
/// The rate of the paper's links.
pub const LINK_MBPS: f64 = 100.0;
/// The delay of a link in microseconds, without a switch's work, and frames that wait at its end.
const LINK_DELAY_US: f64 = 5.0;
const QUEUE_FRAMES: u32 = 100;
/// The number of links that a frame passes in one direction.
const LINKS: f64 = 4.0;
/// Offered loads in percent.
const LOADS: [u32; 3] = [10, 20, 40];
/// Those of the reduced form.
const REDUCED_LOADS: [u32; 2] = [10, 40];
/// Flows that do not count, and flows that do; fewer in the reduced and in the shortest form.
pub const WARM_UP: usize = 500;
pub const FLOWS: usize = 5_000;
pub const REDUCED_WARM_UP: usize = 20;
pub const REDUCED_FLOWS: usize = 100;
const SHORT_WARM_UP: usize = 20;
const SHORT_FLOWS: usize = 100;
/// Bytes at which flows are cut off.
const MOST_BYTES: MostBytes = MostBytes {
    long: 100e6,
    short: 50e3,
};
const REDUCED_MOST_BYTES: f64 = 15e6;
/// Seconds after the last arrival in which flows may end.
const PATIENCE: f64 = 30.0;
/// Simulated nanoseconds after which it is checked whether the user wants an end.
const SLICE_NS: u64 = 10_000_000;
/// The load in Mb/s at which the cost of a frame is measured; and how busy a leaf may be with that
/// cost: above, frames would queue for its processor, which is not simulated.
const COST_MBPS: f64 = 20.0;
const MOST_BUSY: f64 = 0.8;
/// For the time that is announced: segments and acknowledgements for each full segment, the events
/// of each at a link, and the seconds of an event on a slow machine.
const FRAMES_PER_SEGMENT: f64 = 1.5;
const EVENTS_PER_LINK: f64 = 2.0;
const EVENT_SECONDS: f64 = 3e-6;
/// Bytes of a full segment with its headers.
const SEGMENT_BYTES: f64 = 1_514.0;

/// The points: sizes, load and how paths are chosen.
pub fn points(limits: &Limits) -> Vec<Point> {
    let loads: &[u32] = match (limits.short, limits.reduced) {
        (true, _) => &LOADS[..1],
        (false, true) => &REDUCED_LOADS,
        (false, false) => &LOADS,
    };
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

/// The distribution of a point's sizes.
pub fn sizes_of(point: &Point) -> &'static SizeDistribution {
    if point.kind.starts_with(WEB_SEARCH.name) {
        return &WEB_SEARCH;
    }
    &DATA_MINING
}

/// Returns the way in which the spine of a flow is chosen at a point.
pub fn paths_of(point: &Point) -> &str {
    point.kind.rsplit(", ").next().unwrap_or_default()
}

/// Entries of a switch in a scenario.
fn quoted(flows: &[String]) -> String {
    let quoted: Vec<String> = flows.iter().map(|flow| format!("\"{flow}\"")).collect();
    quoted.join(",")
}

/// The switches' rules: spines know the leaves, leaves their servers, and all else goes to a spine
/// by the hash of the flow.
fn rules(network: &LeafSpine, text: &mut String) {
    for spine in 1..=network.spines {
        let flows = quoted(&network.spine_flows());
        let _ = write!(
            text,
            "[[switch]]\nname = \"spine{spine}\"\nflows = [{flows}]\n"
        );
    }
    for leaf in 1..=network.leaves {
        let mut flows = vec![network.leaf_group()];
        flows.extend(network.leaf_flows(leaf));
        let flows = quoted(&flows);
        let _ = write!(
            text,
            "[[switch]]\nname = \"leaf{leaf}\"\nselect = \"hash\"\nflows = [{flows}]\n"
        );
    }
}

/// The scenario of some flows; a switch's work delays each frame by `cost_us`.
fn scenario(network: &LeafSpine, arrivals: &[FlowArrival], paths: &str, cost_us: f64) -> String {
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
        "[topology]\nshape = \"spine-leaf\"\nspines = {}\nleaves = {}\nhosts = 0\n",
        network.spines, network.leaves
    );
    if known {
        rules(network, &mut text);
    }
    for server in 0..network.servers() {
        let leaf = network.leaf(server);
        let ip = network.address(server);
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

/// The sizes at which flows are cut off, in the long and in the short form. All reduced forms have
/// the same.
pub struct MostBytes {
    pub long: f64,
    pub short: f64,
}

/// The arrivals of a point, on links of a rate.
pub fn plan_at(
    link_bps: f64,
    most: MostBytes,
    limits: &Limits,
    point: &Point,
) -> ArrivalPlan<'static> {
    let network = LeafSpine::of(limits);
    let usual = match (limits.short, limits.reduced) {
        (true, _) => most.short,
        (false, true) => REDUCED_MOST_BYTES,
        (false, false) => most.long,
    };
    ArrivalPlan {
        sizes: sizes_of(point),
        most_bytes: limits.largest_flow.unwrap_or(usual),
        servers_per_leaf: network.servers_per_leaf,
        leaves: network.leaves,
        link_bps,
        load: point.mbps / LINK_MBPS,
    }
}

/// The arrivals of a point.
fn plan(limits: &Limits, point: &Point) -> ArrivalPlan<'static> {
    plan_at(LINK_MBPS * 1e6, MOST_BYTES, limits, point)
}

/// Flows that do not count, and flows that do.
fn flow_counts(limits: &Limits) -> (usize, usize) {
    match (limits.short, limits.reduced) {
        (true, _) => (SHORT_WARM_UP, SHORT_FLOWS),
        (false, true) => (REDUCED_WARM_UP, REDUCED_FLOWS),
        (false, false) => (WARM_UP, FLOWS),
    }
}

/// A note on the form of a run.
pub fn form_note(limits: &Limits) -> Option<String> {
    limits.reduced.then(|| {
        format!("reduced form: {REDUCED_FLOWS} flows that count, and not {FLOWS}; rough numbers")
    })
}

/// The time that a point takes on a set-up, in seconds, roughly: to measure the cost of a frame,
/// and to simulate.
pub fn seconds(limits: &Limits, setup: Option<&SetupName>, point: &Point) -> f64 {
    let in_kernel = [Setup::Direct, Setup::Bridge, Setup::OvsKernel].map(SetupName::Known);
    if setup.is_some_and(|setup| in_kernel.contains(setup)) {
        return 0.0;
    }
    let (warm_up, flows) = flow_counts(limits);
    let arrivals = plan(limits, point).arrivals(1, warm_up + flows);
    let bytes: f64 = arrivals.iter().map(|flow| flow.bytes as f64).sum();
    let frames = bytes / SEGMENT_BYTES * FRAMES_PER_SEGMENT;
    let cost = Point::of("cost").mbps(COST_MBPS);
    limits.seconds(&cost, limits.echo) + frames * LINKS * EVENTS_PER_LINK * EVENT_SECONDS
}

/// Processor nanoseconds of the subject for a frame; none if nothing of it is a process.
fn cost_ns(bench: &mut Workbench<'_>) -> Result<Option<f64>> {
    bench.reset()?;
    let Some(forwarder) = &bench.subject.forwarder else {
        return Ok(None);
    };
    let point = Point::of("cost").mbps(COST_MBPS);
    let before = forwarder.cpu_nanos();
    let template = Template::plain(SEGMENT_BYTES as usize);
    let seen = bench.served(|bench| bench.observe(&template, &bench.load(&point)))?;
    let spent = forwarder.cpu_nanos() - before;
    Ok((spent > 0.0).then(|| spent / f64::from(seen.received.max(1))))
}

/// Bytes that each spine has received.
fn carried(network: &LeafSpine, statistics: &Value) -> Vec<f64> {
    let mut sums = Vec::new();
    for spine in 1..=network.spines {
        let ports = statistics["switches"][format!("spine{spine}")]["ports"].as_object();
        let received = ports.into_iter().flatten();
        sums.push(
            received
                .filter_map(|(_, port)| port["rx_bytes"].as_f64())
                .sum(),
        );
    }
    sums
}

/// Lets a scenario run to its end, or until the user wants one.
fn simulate(scenario: &mut Scenario, over: &dyn Fn() -> bool) -> Result<()> {
    let end = scenario.end();
    let mut until = Time::default();
    while until < end && !over() {
        until = until.after(SLICE_NS).min(end);
        let run = scenario.run_until(until, &mut ());
        run.map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// Simulates the flows of a point; the seed is the number of the repeat, so that all subjects have
/// the same flows.
pub fn run(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    let Some(cost) = cost_ns(bench)? else {
        let unknown = "its work is done in the kernel, so that the time of a frame is unknown";
        return Ok(PointOutcome::of(CaseVerdict::Unsupported, unknown));
    };
    let network = LeafSpine::of(bench.limits);
    let plan = plan(bench.limits, point);
    let (warm_up, flows) = flow_counts(bench.limits);
    let arrivals = plan.arrivals(u64::from(bench.round), warm_up + flows);
    let paths = paths_of(point);
    let cost_us = cost / 1e3;
    let text = scenario(&network, &arrivals, paths, cost_us);
    let mut scenario = Scenario::build(&text, None, &mut NoOutside).map_err(|e| e.to_string())?;
    simulate(&mut scenario, bench.over)?;
    let statistics = scenario.statistics();
    let reports = statistics["traffic"]
        .as_array()
        .ok_or("no traffic in the statistics")?;
    let mut ended = Vec::new();
    let mut resent = 0;
    for (arrival, report) in arrivals.iter().zip(reports).skip(warm_up) {
        let flow = &report["flows"][0];
        resent += flow["retransmissions"].as_u64().unwrap_or(0);
        ended.push(EndedFlow {
            bytes: arrival.bytes,
            seconds: flow["completed"].as_f64(),
        });
    }
    let round_trip = 2.0 * LINKS * (LINK_DELAY_US + cost_us) / 1e6;
    let mut outcome = by_class(&ended, LINK_MBPS * 1e6, round_trip);
    outcome.add("segments sent again", "", resent as f64);
    outcome.add(FRAME_COST, "ns", cost);
    let carried = carried(&network, &statistics);
    outcome.add(IMBALANCE, "times", greatest(&carried) / mean(&carried));
    add_load(&mut outcome, &plan, &arrivals);
    outcome.notes.extend(form_note(bench.limits));
    let cut = format!("simulated; flows are cut off at {} bytes", plan.most_bytes);
    outcome.notes.push(cut);
    outcome.notes.push(format!(
        "each switch delays a frame by the measured {cost:.0} ns"
    ));
    // The most that one leaf forwards: its servers send and receive at the load.
    let frames =
        2.0 * network.servers_per_leaf as f64 * plan.load * plan.link_bps / 8.0 / SEGMENT_BYTES;
    if frames * cost_us / 1e6 > MOST_BUSY {
        outcome
            .beyond
            .push("a leaf would be busier than 80 %, which is not simulated".into());
    }
    Ok(outcome)
}
