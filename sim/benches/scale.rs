//! The memory that 1,000 switches take.
//!
//! The run is checked before its figure is printed.
#![allow(clippy::unwrap_used)]

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

fn main() {
    line();
    let bytes = peak();
    println!(
        "{SWITCHES} switches in a line: {} MiB at most, {:.2} of the target",
        bytes >> 20,
        bytes as f64 / MOST_BYTES as f64
    );
    assert!(bytes <= MOST_BYTES, "more memory than the target");
}
