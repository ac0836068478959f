//! The evaluation of OpenQFlow in a simulated network: what each discipline makes of 32 flows for
//! four subscribers, drawn next to what the paper's text prints.

use std::fmt::Write as _;
use std::path::Path;

use bofuss_sim::scenario::{NoOutside, Scenario};
use serde::Serialize;

use crate::error::Result;
use crate::openqflow::flow_cost;
use crate::openqflow::heavy_tail;
use crate::reports::papers;
use crate::reports::plot::{self, Bar};

/// The scenario, and its line that differs between disciplines.
const SCENARIO: &str = include_str!("../../../testdata/sim/openqflow.toml");
const CHOICE: &str = "discipline = \"hfair\"";
/// The disciplines, and those of the shortest form.
pub const DISCIPLINES: [&str; 7] = ["hfair", "ceta2", "ceta", "beta", "drr", "fred", "fifo"];
const SHORT_DISCIPLINES: [&str; 3] = ["ceta", "drr", "fred"];
/// The scenario's line of its end, and that of the shortest form.
const END: &str = "end = 12.0";
const SHORT_END: &str = "end = 2.0";
/// Seconds at the beginning that do not count.
const WARM_UP: usize = 4;
const SHORT_WARM_UP: usize = 1;
/// The paper, and its case to which the numbers belong.
const PAPER: &str = "003";
const CASE: &str = "fairness";
/// Bytes of a frame for each byte of data.
const FRAME_BYTES: f64 = 1_000.0 / 958.0;
/// The seed of the trace of figure 2.
const TRACE_SEED: u64 = 2;

/// The title of its plots.
const TITLE: &str = "Four subscribers, 165 Mb/s of UDP, a port of 10 Mb/s";

/// The result of a discipline.
#[derive(Clone, Debug, Serialize)]
pub struct Shares {
    /// The discipline.
    pub discipline: &'static str,
    /// Jain's index of subscribers, here and in the paper's text.
    pub index: f64,
    /// See `index`.
    pub paper_index: Option<f64>,
    /// Mb/s of frames that each subscriber gets, by name.
    subscribers: Vec<(String, f64)>,
    /// Mb/s of frames of each flow, and whose it is.
    flows: Vec<(String, f64)>,
}

impl Shares {
    /// The fairness of a discipline, computed from each flow's subscriber and rate.
    pub fn of(discipline: &'static str, flows: Vec<(String, f64)>) -> Result<Self> {
        let mut subscribers: Vec<(String, f64)> = Vec::new();
        for (to, rate) in &flows {
            match subscribers.iter_mut().find(|(name, _)| name == to) {
                Some((_, sum)) => *sum += rate,
                None => subscribers.push((to.clone(), *rate)),
            }
        }
        Ok(Self {
            discipline,
            index: fairness(&subscribers),
            paper_index: papers::of(PAPER)?.value(CASE, discipline),
            subscribers,
            flows,
        })
    }

    /// Mb/s of each subscriber.
    pub fn rates(&self) -> Vec<f64> {
        self.subscribers.iter().map(|(_, rate)| *rate).collect()
    }

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
/// Errors: the scenario does not run, or lacks a part of its statistics.
fn play(discipline: &'static str, short: bool) -> Result<Shares> {
    let choice = format!("discipline = \"{discipline}\"");
    let mut text = SCENARIO.replace(CHOICE, &choice);
    let mut warm_up = WARM_UP;
    if short {
        text = text.replace(END, SHORT_END);
        warm_up = SHORT_WARM_UP;
    }
    let built = Scenario::build(&text, None, &mut NoOutside);
    let mut scenario = built.map_err(|error| error.to_string())?;
    let played = scenario.run_until(scenario.end(), &mut ());
    played.map_err(|error| error.to_string())?;
    let written = serde_json::to_value(scenario.statistics());
    let statistics = written.map_err(|error| error.to_string())?;
    let rows = statistics["traffic"].as_array();
    let mut flows = Vec::new();
    for row in rows.ok_or("the scenario has no traffic")? {
        let to = row["to"].as_str().ok_or("a flow without \"to\"")?;
        let intervals = row["intervals_mbps"].as_array();
        let mbps = intervals.ok_or("a flow has no intervals")?;
        let counted = &mbps[warm_up.min(mbps.len())..];
        let sum: f64 = counted.iter().filter_map(|one| one.as_f64()).sum();
        let rate = FRAME_BYTES * sum / counted.len().max(1) as f64;
        flows.push((to.to_string(), rate));
    }
    Shares::of(discipline, flows)
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

/// Plots what each subscriber gets, by discipline.
pub fn subscriber_plot(title: &str, all: &[Shares]) -> String {
    let bars = rate_bars(all, |one| &one.subscribers);
    plot::bars(title, "Mb/s of a subscriber", &bars)
}

/// Plots what each flow gets, by discipline.
pub fn flow_plot(title: &str, all: &[Shares]) -> String {
    let bars = rate_bars(all, |one| &one.flows);
    plot::bars(title, "Mb/s of each of 32 flows", &bars)
}

/// Bars of rates, each in the colour of its subscriber.
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

/// The results of all disciplines, and a trace of flows.
pub struct FairnessRun {
    /// The shares of the flows under each discipline.
    pub shares: Vec<Shares>,
    /// The trace of figure 2, and what it is.
    trace: Vec<heavy_tail::TraceInterval>,
    trace_name: String,
}

impl FairnessRun {
    /// Plays all disciplines; in the shortest form some of them, and for less time. The trace is
    /// read from a capture, or made from a seed without one.
    ///
    /// Errors: the scenario's, or the capture's.
    pub fn play(short: bool, capture: Option<&Path>) -> Result<Self> {
        let (trace, trace_name) = match capture {
            Some(path) => (heavy_tail::of_capture(path)?, path.display().to_string()),
            None => (heavy_tail::trace(TRACE_SEED), "a heavy-tailed trace".into()),
        };
        let disciplines = if short {
            &SHORT_DISCIPLINES[..]
        } else {
            &DISCIPLINES[..]
        };
        let mut shares = Vec::new();
        for discipline in disciplines {
            shares.push(play(discipline, short)?);
        }
        Ok(Self {
            shares,
            trace,
            trace_name,
        })
    }

    /// The sentence on the bins of the trace.
    pub fn bins(&self) -> String {
        let (flows, octets) = heavy_tail::mean_unevenness(&self.trace);
        format!(
            "bins of {}: flows {flows:.3}, octets {octets:.3} (the fullest over the mean)",
            self.trace_name
        )
    }

    /// A table of all.
    fn table(&self) -> String {
        let mut table = String::from("discipline   index  paper  Mb/s of each subscriber\n");
        for shares in &self.shares {
            table += &shares.line();
            table += "\n";
        }
        table + &self.bins() + "\n"
    }

    /// The bars of Jain's index, and of what the paper's text prints.
    fn index_bars(&self) -> Vec<Bar> {
        let mut indexes = Vec::new();
        for shares in &self.shares {
            indexes.push(bar(shares.discipline, 0, "simulated here", shares.index));
            if let Some(index) = shares.paper_index {
                indexes.push(bar(shares.discipline, 1, "the paper's text", index));
            }
        }
        indexes
    }

    /// The plots and their names.
    pub fn plots(&self) -> [(&'static str, String); 4] {
        [
            ("fairness-index", self.index_plot()),
            ("fairness-subscribers", self.subscribers_plot()),
            ("fairness-flows", self.flows_plot()),
            ("heavy-tail", self.bins_plot()),
        ]
    }

    /// Jain's index of each discipline.
    pub fn index_plot(&self) -> String {
        plot::bars(TITLE, "Jain's index of subscribers", &self.index_bars())
    }

    /// Plots what each subscriber gets.
    pub fn subscribers_plot(&self) -> String {
        subscriber_plot(TITLE, &self.shares)
    }

    /// Plots what each flow gets.
    pub fn flows_plot(&self) -> String {
        flow_plot(TITLE, &self.shares)
    }

    /// Plots how evenly hash bins are filled.
    pub fn bins_plot(&self) -> String {
        plot::bars(
            &format!("Four bins of {}, intervals of 10 s", self.trace_name),
            "part of the mean bin's",
            &heavy_tail::bars(&self.trace),
        )
    }
}

/// Plays all, measures what packets of flows cost, and writes the plots and the figures into a
/// folder. Returns a table of them.
///
/// Errors: the scenario's, the capture's, or the system's.
pub fn run(folder: &Path, capture: Option<&Path>) -> Result<String> {
    let played = FairnessRun::play(false, capture)?;
    let costs = flow_cost::measure(false)?;
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paper = papers::of(PAPER)?;
    let mut plots = Vec::from(played.plots());
    plots.extend(flow_cost::plots(&costs, &paper.values("flow-cost")));
    for (name, svg) in plots {
        let path = folder.join(format!("{name}.svg"));
        std::fs::write(&path, svg).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let json = serde_json::to_string_pretty(&played.shares).map_err(|error| error.to_string())?;
    let path = folder.join("fairness.json");
    std::fs::write(&path, json).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(played.table() + &flow_cost::table(&costs))
}
