//! Writes the results of a run into a page: the targets and some plots between two marks, all
//! figures in a page of their own.

use std::path::Path;

use crate::bench::case_groups::MODE_SPEEDUP;
use crate::bench::report::BenchReport;
use crate::bench::targets::{InMemory, Targets};
use crate::error::Result;
use crate::reports::plot::{Bar, Stack, bars, stacks, title};
use crate::statistics::numbers::{counted, number};
use crate::testbed::net::context;
use crate::testbed::setup::Setup;

/// The marks between which the page is generated.
const BEGIN: &str = "<!-- figures of a run: begin -->";
const END: &str = "<!-- figures of a run: end -->";
/// The output of the bench without I/O.
const IN_MEMORY: &str = "in-memory.txt";
/// The layers that it measures, in the order of their colours, with their names.
const LAYERS: [(&str, &str); 2] = [
    ("tables", "hash tables alone"),
    ("cache", "with the flow cache"),
];
/// The sections, with the cases and metrics of their plots.
const SECTIONS: [(&str, &[(&str, &str)]); 5] = [
    (
        "Small frames",
        &[
            ("frames", "rate"),
            ("frames", "processor"),
            ("both-ways", "rate"),
            ("share", "processor"),
        ],
    ),
    (
        "TCP",
        &[
            ("tcp", "rate"),
            ("tcp", "processor"),
            ("tcp-plain", "rate"),
            ("tcp-plain", "processor"),
        ],
    ),
    (
        "Latency",
        &[("rtt", "p50"), ("rtt", "p99"), (MODE_SPEEDUP, "speed-up")],
    ),
    (
        "Many flows, rules, tables and masks",
        &[
            ("flows", "processor"),
            ("rules", "processor"),
            ("tables", "processor"),
            ("masks", "processor"),
        ],
    ),
    (
        "Controllers",
        &[
            ("rules", "added"),
            ("first-packet", "p50"),
            ("first-packet", "p99"),
            ("packet-ins", "rate"),
        ],
    ),
];

/// Writes the figures of the run in `folder` into `docs/performance.md` and `docs/performance`.
///
/// Errors: the system's, or a page without the marks.
pub fn write(folder: &Path, docs: &Path) -> Result<()> {
    let report = BenchReport::read(folder)?;
    // Without this file, its rows are shown as not measured.
    let text = std::fs::read_to_string(folder.join(IN_MEMORY)).unwrap_or_default();
    let in_memory = in_memory(&text);
    let page = docs.join("performance.md");
    let figures = docs.join("performance");
    let folder = docs.display().to_string();
    let failed = context(folder.as_str());
    let old = std::fs::read_to_string(&page).map_err(failed)?;
    let (head, rest) = old
        .split_once(BEGIN)
        .ok_or("the page has no mark to begin")?;
    let (_, tail) = rest.split_once(END).ok_or("the page has no mark to end")?;
    std::fs::create_dir_all(&figures).map_err(failed)?;
    let mut text = format!(
        "{BEGIN}\n<!-- written by `cargo xtask bench --docs` -->\n\n{}\n\n### Targets\n\n{}",
        report.machine,
        Targets::new(&report, &in_memory).table()
    );
    let mut plots = Vec::new();
    for (heading, cases) in SECTIONS {
        text += &format!("\n### {heading}\n");
        for (case, metric) in cases {
            let name = format!("{case}-{metric}");
            let plot = report.plot(case, metric);
            text += &link_to_plot(&name, &plot);
            plots.push((name, plot));
        }
    }
    text += "\n### Where the nanoseconds go\n";
    for (name, plot) in [
        ("nanoseconds", nanoseconds(&report, &in_memory)),
        ("in-memory", layers(&in_memory)),
    ] {
        text += &link_to_plot(name, &plot);
        plots.push((name.into(), plot));
    }
    for (name, svg) in plots {
        std::fs::write(figures.join(format!("{name}.svg")), svg).map_err(failed)?;
    }
    text += "\nAll figures of this run are in [performance/figures.md](performance/figures.md).\n";
    std::fs::write(&page, format!("{head}{text}{END}{tail}")).map_err(failed)?;
    let mut all = format!(
        "# All figures of a run\n\n{}\n\n{}",
        report.machine,
        report.table()
    );
    all += "\n| without input and output | ns a packet |\n|---|---|\n";
    for (name, ns) in &in_memory {
        all += &format!("| {name} | {} |\n", number(*ns));
    }
    std::fs::write(figures.join("figures.md"), all).map_err(failed)
}

fn link_to_plot(name: &str, plot: &str) -> String {
    format!("\n![{}](performance/{name}.svg)\n", title(plot))
}

/// Name and nanoseconds of each line such as `cache: 10 flows  101.5 ns  (best 90.2)`.
fn in_memory(text: &str) -> InMemory {
    text.lines()
        .filter_map(|line| {
            let (line, _) = line.split_once(" ns  (best")?;
            let (name, ns) = line.rsplit_once(' ')?;
            Some((name.trim().to_string(), ns.parse().ok()?))
        })
        .collect()
}

/// The processor time of a frame or entry, in nanoseconds.
fn processor_time(report: &BenchReport, case: &str, parameter: u32, setup: Setup) -> Option<f64> {
    let figure = report.get(case, parameter, "processor", setup)?;
    Some(figure.median)
}

/// The nanoseconds of each stage of the switch, with this many flows; none if one is missing.
fn stages(in_memory: &InMemory, flows: u32) -> Option<Vec<(&'static str, f64)>> {
    let mut all = Vec::new();
    for stage in ["parse", "lookup and counters", "actions and output"] {
        let ns = in_memory.get(&format!("stages: {flows} flows, {stage}"))?;
        // A difference of two measurements may be negative.
        all.push((stage, ns.max(0.0)));
    }
    Some(all)
}

/// The processor time of a 64-byte frame, by part.
fn nanoseconds(report: &BenchReport, in_memory: &InMemory) -> String {
    let yardstick = processor_time(report, "frames", 0, Setup::Yardstick);
    let mut shown = Vec::new();
    let io = "input and output";
    if let Some(io_ns) = yardstick {
        shown.push(Stack::new(Setup::Yardstick.title(), &[(io, io_ns)]));
    }
    let own = [
        ("bofuss, one rule", ("frames", 0), 1_000),
        (
            "bofuss, 1,000,000 rules and flows",
            ("rules", 1_000_000),
            1_000_000,
        ),
    ];
    for (name, (case, parameter), flows) in own {
        let all = processor_time(report, case, parameter, Setup::Bofuss);
        let parts = stages(in_memory, flows);
        if let (Some(all), Some(parts), Some(io_ns)) = (all, parts, yardstick) {
            let known: f64 = parts.iter().map(|part| part.1).sum();
            let io_ns = io_ns.min(all - known).max(0.0);
            let rest = ("the rest", (all - known - io_ns).max(0.0));
            let all_parts = [&[(io, io_ns)][..], &parts, &[rest]].concat();
            shown.push(Stack::new(name, &all_parts));
        }
    }
    for setup in [Setup::Ovs, Setup::OvsXdp] {
        if let Some(all) = processor_time(report, "frames", 0, setup) {
            let name = format!("{}, one rule", setup.title());
            shown.push(Stack::new(&name, &[("all of it", all)]));
        }
    }
    stacks(
        "Where the processor time of a 64-byte frame goes",
        "ns/frame",
        &shown,
    )
}

/// The time for packets without input and output, by layer and number of flows.
fn layers(in_memory: &InMemory) -> String {
    let mut shown = Vec::new();
    for flows in [1, 10, 1_000, 10_000, 100_000, 1_000_000] {
        for (series, (layer, name)) in LAYERS.into_iter().enumerate() {
            if let Some(ns) = in_memory.get(&format!("{layer}: {flows} flows")) {
                shown.push(Bar {
                    group: counted(flows, "flows"),
                    series: series + 3,
                    name: name.into(),
                    value: *ns,
                    range: (*ns, *ns),
                });
            }
        }
    }
    bars(
        "Packets without input and output, flows in random order",
        "ns/packet",
        &shown,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_bench_without_io_are_read() {
        let text = "cache: 1000 flows, 5 tables     70.5 ns  (best 70.0)\n    320 bytes an entry\n";
        let read = in_memory(text);
        assert_eq!(read.get("cache: 1000 flows, 5 tables"), Some(&70.5));
        assert_eq!(read.len(), 1);
    }
}
