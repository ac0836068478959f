//! The evaluation of OpenQFlow in a simulated network: what each discipline makes of 32 flows for
//! four subscribers, drawn next to what the paper's text prints.

use std::fmt::Write as _;
use std::path::Path;

use bofuss_sim::scenario::{NoOutside, Scenario};
use serde::Serialize;

use crate::heavy_tail;
use crate::plot::{self, Bar};

/// The scenario, and its line that is another for each discipline.
const SCENARIO: &str = include_str!("../../testdata/sim/openqflow.toml");
const CHOICE: &str = "discipline = \"hfair\"";
/// The disciplines, and Jain's index of subscribers as the paper's text has it.
const DISCIPLINES: [(&str, Option<f64>); 7] = [
    ("hfair", None),
    ("ceta2", None),
    ("ceta", Some(0.99)),
    ("beta", Some(0.86)),
    ("drr", Some(0.86)),
    ("fred", Some(0.62)),
    ("fifo", None),
];
/// Seconds at the beginning that do not count.
const WARM_UP: usize = 4;
/// Bytes of a frame for each byte of data.
const FRAME_BYTES: f64 = 1_000.0 / 958.0;
/// The seed of the trace of figure 2.
const TRACE_SEED: u64 = 2;

/// What came of a discipline.
#[derive(Clone, Debug, Serialize)]
pub struct Shares {
    /// The discipline.
    discipline: &'static str,
    /// Jain's index of subscribers, here and in the paper's text.
    index: f64,
    paper_index: Option<f64>,
    /// Mb/s of frames that each subscriber gets, by name.
    subscribers: Vec<(String, f64)>,
    /// Mb/s of frames of each flow, and whose it is.
    flows: Vec<(String, f64)>,
}

impl Shares {
    /// A line of the table.
    fn line(&self) -> String {
        let paper = match self.paper_index {
            Some(index) => format!("{index:.2}"),
            None => String::new(),
        };
        let mut line = format!("{:11} {:.4}  {paper:>5} ", self.discipline, self.index);
        for (name, rate) in &self.subscribers {
            write!(line, " {name} {rate:.2}").expect("a text takes what is written");
        }
        line
    }
}

/// Jain's index: 1 if all are the same.
fn fairness(rates: &[(String, f64)]) -> f64 {
    let sum: f64 = rates.iter().map(|(_, rate)| rate).sum();
    let squares: f64 = rates.iter().map(|(_, rate)| rate * rate).sum();
    sum * sum / (rates.len() as f64 * squares)
}

/// Plays the scenario with a discipline.
///
/// Errors: the scenario is not as it was, in words.
fn play(discipline: &'static str, paper_index: Option<f64>) -> Result<Shares, String> {
    let choice = format!("discipline = \"{discipline}\"");
    let text = SCENARIO.replace(CHOICE, &choice);
    let built = Scenario::build(&text, None, &mut NoOutside);
    let mut scenario = built.map_err(|error| error.to_string())?;
    let played = scenario.run_until(scenario.end(), &mut ());
    played.map_err(|error| error.to_string())?;
    let written = serde_json::to_value(scenario.statistics());
    let statistics = written.map_err(|error| error.to_string())?;
    let rows = statistics["traffic"].as_array();
    let mut flows = Vec::new();
    for row in rows.ok_or("the scenario has no traffic")? {
        let to = row["to"].as_str().ok_or("a flow goes to nobody")?;
        let intervals = row["intervals_mbps"].as_array();
        let mbps = intervals.ok_or("a flow has no intervals")?;
        let counted = &mbps[WARM_UP.min(mbps.len())..];
        let sum: f64 = counted.iter().filter_map(|one| one.as_f64()).sum();
        let rate = FRAME_BYTES * sum / counted.len().max(1) as f64;
        flows.push((to.to_string(), rate));
    }
    let mut subscribers: Vec<(String, f64)> = Vec::new();
    for (to, rate) in &flows {
        match subscribers.iter_mut().find(|(name, _)| name == to) {
            Some((_, sum)) => *sum += rate,
            None => subscribers.push((to.clone(), *rate)),
        }
    }
    Ok(Shares {
        discipline,
        index: fairness(&subscribers),
        paper_index,
        subscribers,
        flows,
    })
}

/// A bar without spread.
fn bar(group: &str, series: usize, name: &str, value: f64) -> Bar {
    Bar {
        group: group.into(),
        series,
        name: name.into(),
        value,
        range: (value, value),
    }
}

/// Bars of rates, of each the colour of its subscriber.
fn rate_bars(all: &[Shares], rates: fn(&Shares) -> &Vec<(String, f64)>) -> Vec<Bar> {
    let mut bars = Vec::new();
    for shares in all {
        let names: Vec<&String> = shares.subscribers.iter().map(|(name, _)| name).collect();
        for (name, rate) in rates(shares) {
            let series = names.iter().position(|one| *one == name).unwrap_or(0);
            bars.push(bar(shares.discipline, series, name, *rate));
        }
    }
    bars
}

/// The plots and their names.
fn plots(
    all: &[Shares],
    indexes: &[Bar],
    trace: &[heavy_tail::TraceInterval],
) -> [(&'static str, String); 4] {
    let title = "Four subscribers, 165 Mb/s of UDP, a port of 10 Mb/s";
    [
        (
            "fairness-index",
            plot::bars(title, "Jain's index of subscribers", indexes),
        ),
        (
            "fairness-subscribers",
            plot::bars(
                title,
                "Mb/s of a subscriber",
                &rate_bars(all, |one| &one.subscribers),
            ),
        ),
        (
            "fairness-flows",
            plot::bars(
                title,
                "Mb/s of each of 32 flows",
                &rate_bars(all, |one| &one.flows),
            ),
        ),
        (
            "heavy-tail",
            plot::bars(
                "Four bins of a heavy-tailed trace, intervals of 10 s",
                "part of the mean bin's",
                &heavy_tail::bars(trace),
            ),
        ),
    ]
}

/// Plays all, and writes the plots and the figures into a folder; a table of them.
///
/// Errors: in words.
pub fn run(folder: &Path) -> Result<String, String> {
    let mut all = Vec::new();
    for (discipline, paper_index) in DISCIPLINES {
        all.push(play(discipline, paper_index)?);
    }
    let mut indexes = Vec::new();
    let mut table = String::from("discipline   index  paper  Mb/s of each subscriber\n");
    for shares in &all {
        indexes.push(bar(shares.discipline, 0, "simulated here", shares.index));
        if let Some(index) = shares.paper_index {
            indexes.push(bar(shares.discipline, 1, "the paper's text", index));
        }
        writeln!(table, "{}", shares.line()).expect("a text takes what is written");
    }
    let trace = heavy_tail::trace(TRACE_SEED);
    let (flows, octets) = heavy_tail::mean_unevenness(&trace);
    let line = format!("bins of a heavy-tailed trace: flows {flows:.3}, octets {octets:.3}");
    writeln!(table, "{line} (the fullest over the mean)").expect("a text takes what is written");
    let plots = plots(&all, &indexes, &trace);
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for (name, svg) in plots {
        let path = folder.join(format!("{name}.svg"));
        std::fs::write(&path, svg).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let json = serde_json::to_string_pretty(&all).map_err(|error| error.to_string())?;
    let path = folder.join("fairness.json");
    std::fs::write(&path, json).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(table)
}
