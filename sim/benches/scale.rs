//! The memory that 1,000 switches take, and what an event costs among them and among 100.
//!
//! Each run is checked before its figure is printed.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;

use bofuss_datapath::Time;
use bofuss_sim::scenario::{NoOutside, Scenario};

const SWITCHES: usize = 1_000;
/// The most bytes of resident memory of switches in a line whose hosts ping each other: half of
/// what they took at the commit 374a3289.
const MOST_BYTES: usize = (928 << 20) / 2;

/// The most bytes of memory that this process had.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    let line = lines.find(|line| line.starts_with("VmHWM:")).unwrap();
    let kilobytes: usize = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes * 1024
}

/// Builds a line of learning switches, each with a host, and lets each host ping another.
fn line() {
    let text = format!(
        "end = 4.0\n[defaults.switch]\nfail_mode = \"standalone\"\n\
         [topology]\nshape = \"line\"\nswitches = {SWITCHES}\nhosts = 1\n\
         [[traffic]]\nkind = \"ping\"\nfrom = \"h*\"\nto = \"h*\"\ncount = 2\n"
    );
    let built = Scenario::build(&text, None, &mut NoOutside);
    let mut scenario = built.unwrap_or_else(|error| panic!("{error}"));
    scenario.run_until(scenario.end(), &mut ()).unwrap();
    let statistics = scenario.statistics();
    let traffic = &statistics["traffic"][0];
    assert_eq!(traffic["received"], 2 * SWITCHES, "{traffic}");
}

/// Links between the switches of a ping and its receiver, so that paths are the same in both sizes.
const HOPS: usize = 10;
/// The time from one ping of a host to the next; all replies are back by then.
const INTERVAL: Time = Time(20_000_000);
/// The events that are measured together, at least.
const EVENTS: u64 = 200_000;
const ROUNDS: usize = 7;
/// The most times that an event may cost in the large network what it costs in the small one.
const MOST_TIMES: f64 = 1.5;

/// Some switches in a line, whose hosts ping each other on paths of the same length by entries that
/// are there from the start.
struct Paths {
    scenario: Scenario,
    switches: usize,
    rounds: u64,
    /// The nanoseconds that an event took, by measurement.
    costs: Vec<f64>,
}

impl Paths {
    fn new(switches: usize) -> Self {
        let mut text = format!(
            "end = 1000.0\nknown_addresses = true\n\
             [topology]\nshape = \"line\"\nswitches = {switches}\nhosts = 1\n"
        );
        for switch in 1..=switches {
            let before = u32::from(switch > 1);
            let after = before + 1;
            let own = after + u32::from(switch < switches);
            let mut flows = String::new();
            for host in switch.saturating_sub(HOPS).max(1)..=(switch + HOPS).min(switches) {
                let port = match host.cmp(&switch) {
                    std::cmp::Ordering::Less => before,
                    std::cmp::Ordering::Equal => own,
                    std::cmp::Ordering::Greater => after,
                };
                let [high, low] = (host as u16).to_be_bytes();
                let fields = format!("eth_dst=02:00:00:00:{high:02x}:{low:02x}");
                write!(flows, "\"{fields},actions=output:{port}\",").unwrap();
            }
            writeln!(text, "[[switch]]\nname = \"s{switch}\"\nflows = [{flows}]").unwrap();
        }
        for host in 1..=switches - HOPS {
            let interval = INTERVAL.0 as f64 / 1e9;
            let start = host as f64 / 1e6;
            writeln!(
                text,
                "[[traffic]]\nkind = \"ping\"\nfrom = \"h{host}\"\nto = \"h{}\"\n\
                 interval = {interval}\nstart = {start:.6}",
                host + HOPS
            )
            .unwrap();
        }
        let built = Scenario::build(&text, None, &mut NoOutside);
        let mut paths = Self {
            scenario: built.unwrap_or_else(|error| panic!("{error}")),
            switches,
            rounds: 0,
            costs: Vec::new(),
        };
        paths.round();
        paths
    }

    /// Lets each host ping once; returns how many events that were.
    fn round(&mut self) -> u64 {
        let before = self.scenario.network().events();
        self.rounds += 1;
        let end = Time(self.rounds * INTERVAL.0);
        self.scenario.run_until(end, &mut ()).unwrap();
        self.scenario.network().events() - before
    }

    fn measure(&mut self) {
        let begin = processor_nanos();
        let mut events = 0;
        while events < EVENTS {
            events += self.round();
        }
        let nanos = processor_nanos() - begin;
        self.costs.push(nanos as f64 / events as f64);
    }

    /// Checks that all pings were answered; returns the least nanoseconds that an event took.
    fn cost(&mut self) -> f64 {
        let statistics = self.scenario.statistics();
        let rows = statistics["traffic"].as_array().unwrap();
        assert_eq!(rows.len(), self.switches - HOPS);
        for row in rows {
            assert_eq!(row["sent"], self.rounds, "{row}");
            assert_eq!(row["received"], self.rounds, "{row}");
        }
        self.costs.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// The nanoseconds that this process had a processor: other processes disturb that less than a
/// clock, though they still take its caches.
fn processor_nanos() -> u64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}

fn events() {
    let mut both = [SWITCHES / 10, SWITCHES].map(Paths::new);
    for _ in 0..ROUNDS {
        both.iter_mut().for_each(Paths::measure);
    }
    let [small, large] = both.each_mut().map(Paths::cost);
    println!(
        "an event in a line: {small:.0} ns among {} switches, {large:.0} ns among {SWITCHES}: \
         {:.2} times, {:.2} of the target",
        SWITCHES / 10,
        large / small,
        large / small / MOST_TIMES
    );
}

fn main() {
    line();
    let bytes = peak();
    println!(
        "{SWITCHES} switches in a line: {} MiB at most, {:.2} of the target",
        bytes >> 20,
        bytes as f64 / MOST_BYTES as f64
    );
    assert!(bytes <= MOST_BYTES, "more memory than the target");
    events();
}
