//! The simulator's speed, with a spine-leaf network of 80 hosts, and its memory, with 1,000
//! switches.
//!
//! Each run is checked before its figure is printed.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::time::Instant;

use bofuss_sim::scenario::{NoOutside, Scenario};
use serde_json::Value;

const SPINES: usize = 4;
const LEAVES: usize = 4;
const HOSTS: usize = 20;
const PACKETS: u64 = 1_000_000;
const FLOWS: u64 = 10_000;
/// Links that a packet passes: host, leaf, spine, leaf, host.
const LINKS: u64 = 4;
/// The most seconds that the run may take.
const TARGET_SECONDS: f64 = 10.0;
const SWITCHES: usize = 1000;
/// The most bytes of resident memory that they may take.
const TARGET_BYTES: usize = 1_000_000_000;

/// The scenario. Hosts of the first two leaves are `west1` and so on, those of the others `east1`,
/// so each packet from west to east passes a leaf, a spine and a leaf. A leaf chooses the spine by
/// the low bits of the destination address.
fn spine_leaf() -> String {
    let mut text = format!(
        "end = 12.0\nknown_addresses = true\nmax_events = 100000000\n\
         [defaults.link]\nmbps = 10000\nqueue = 1000\n\
         [defaults.switch]\ntables = 2\n\
         [topology]\nshape = \"spine-leaf\"\nspines = {SPINES}\nleaves = {LEAVES}\nhosts = 0\n"
    );
    let address = |leaf: usize, host: usize| format!("10.{}.0.{}", leaf + 1, host + 1);
    let side = |leaf: usize| if leaf < LEAVES / 2 { "west" } else { "east" };
    for spine in 0..SPINES {
        let mut flows = Vec::new();
        for leaf in 0..LEAVES {
            flows.push(format!(
                "\"ip,nw_dst=10.{0}.0.0/16,actions=output:{0}\"",
                leaf + 1
            ));
        }
        let flows = flows.join(",");
        write!(
            text,
            "[[switch]]\nname = \"spine{}\"\nflows = [{flows}]\n",
            spine + 1
        )
        .unwrap();
    }
    for leaf in 0..LEAVES {
        let mut flows = Vec::new();
        for host in 0..HOSTS {
            let port = SPINES + 1 + host;
            let to = address(leaf, host);
            flows.push(format!(
                "\"priority=2,ip,nw_dst={to},actions=output:{port}\""
            ));
        }
        for spine in 0..SPINES {
            let fields = format!("nw_dst=0.0.0.{spine}/0.0.0.3");
            flows.push(format!(
                "\"priority=1,ip,{fields},actions=output:{}\"",
                spine + 1
            ));
        }
        let flows = flows.join(",");
        write!(
            text,
            "[[switch]]\nname = \"leaf{}\"\nflows = [{flows}]\n",
            leaf + 1
        )
        .unwrap();
        for host in 0..HOSTS {
            let name = format!("{}{}", side(leaf), leaf * HOSTS + host + 1);
            let ip = address(leaf, host);
            write!(
                text,
                "[[host]]\nname = \"{name}\"\nswitch = \"leaf{}\"\nip = \"{ip}/8\"\n",
                leaf + 1
            )
            .unwrap();
        }
    }
    text + &format!(
        "[[traffic]]\nkind = \"udp\"\nfrom = \"west*\"\nto = \"east*\"\nflows = {FLOWS}\n\
         pps = 100000\ncount = {PACKETS}\nsize = 400\n"
    )
}

fn build(text: &str) -> Scenario {
    Scenario::build(text, None, &mut NoOutside).unwrap_or_else(|error| panic!("{error}"))
}

/// Sends the million packets; returns how many seconds the run took.
fn million() -> f64 {
    let mut scenario = build(&spine_leaf());
    let begin = Instant::now();
    scenario.run_until(scenario.end(), &mut ()).unwrap();
    let seconds = begin.elapsed().as_secs_f64();
    let statistics = scenario.statistics();
    let traffic = &statistics["traffic"][0];
    assert_eq!(traffic["received"], PACKETS, "{traffic}");
    let looked_up = |kind: &str| {
        let switches = statistics["switches"].as_object().unwrap().iter();
        let of_kind = switches.filter(|(name, _)| name.starts_with(kind));
        of_kind
            .map(|(_, switch)| switch["tables"]["0"]["matches"].as_u64().unwrap())
            .sum::<u64>()
    };
    assert_eq!(looked_up("leaf"), 2 * PACKETS);
    assert_eq!(looked_up("spine"), PACKETS);
    assert_eq!(carried(&statistics), LINKS * PACKETS);
    seconds
}

/// Frames that arrived over all links.
fn carried(statistics: &Value) -> u64 {
    let links = statistics["links"].as_object().unwrap().values();
    let arrived = |link: &Value, way: &str| link[way]["arrived_frames"].as_u64().unwrap();
    links
        .map(|link| arrived(link, "forth") + arrived(link, "back"))
        .sum()
}

/// Bytes of memory that this process has now.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    let kilobytes: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes * 1024
}

/// Builds a line of 1,000 learning switches, each with a host, and lets hosts ping each other.
/// Returns the bytes that it takes.
fn thousand() -> usize {
    let before = resident();
    let mut scenario = build(&format!(
        "end = 4.0\n[defaults.switch]\nfail_mode = \"standalone\"\n\
         [topology]\nshape = \"line\"\nswitches = {SWITCHES}\nhosts = 1\n\
         [[traffic]]\nkind = \"ping\"\nfrom = \"h1*\"\nto = \"h1*\"\ncount = 2\n"
    ));
    scenario.run_until(scenario.end(), &mut ()).unwrap();
    let statistics = scenario.statistics();
    let traffic = &statistics["traffic"][0];
    assert_eq!(
        traffic["sent"],
        traffic["received"],
        "{}",
        bofuss_sim::summary(&statistics)
    );
    resident() - before
}

fn main() {
    let bytes = thousand();
    println!(
        "{SWITCHES} switches with a host each: {} MB resident, {:.2} of the target",
        bytes / 1_000_000,
        bytes as f64 / TARGET_BYTES as f64
    );
    let seconds = million();
    println!(
        "{PACKETS} packets of {FLOWS} flows over 3 switches: {seconds:.1} s, {:.2} of the target, \
         {:.0} ns a hop",
        seconds / TARGET_SECONDS,
        seconds * 1e9 / (3 * PACKETS) as f64
    );
    assert!(bytes <= TARGET_BYTES, "more memory than the target");
    assert!(seconds <= TARGET_SECONDS, "slower than the target");
}
