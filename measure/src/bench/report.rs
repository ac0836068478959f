//! The results of a bench: figures, each compared with the yardstick's, as a table and as JSON.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::bench::case::{BenchMetric, Case};
use crate::bench::case_groups::MODE_SPEEDUP;
use crate::error::Result;
use crate::reports::plot::{Bar, bars};
use crate::statistics::median;
use crate::statistics::numbers::{counted, number};
use crate::tell::tell;
use crate::testbed::setup::Setup;

/// The first lines of the table.
const HEAD: &str = "\
| case | figure | set-up | median | least | most | ratio |
|---|---|---|---|---|---|---|
";
/// The file of all figures.
const JSON: &str = "bench.json";

/// The figures of one metric of one case.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figure {
    pub case: String,
    pub title: String,
    /// The unit of the parameter.
    pub counts: String,
    pub parameter: u32,
    pub metric: String,
    pub unit: String,
    pub setup: String,
    /// The value of each round.
    pub values: Vec<f64>,
    pub median: f64,
    pub min: f64,
    pub max: f64,
    /// The ratio to the yardstick, or to Open vSwitch in cases of switches: the median of the
    /// rounds' ratios.
    pub ratio: Option<f64>,
}

/// All figures, in the order in which they were measured.
#[derive(Default, Serialize, Deserialize)]
pub struct BenchReport {
    /// The machine, and when they were measured.
    pub machine: String,
    pub figures: Vec<Figure>,
    /// The cases that failed, or do not exist on this machine.
    pub failures: Vec<String>,
}

impl Figure {
    /// The case with its parameter.
    pub fn name(&self) -> String {
        match &self.counts[..] {
            "" => self.case.clone(),
            counts => format!("{} ({})", self.case, counted(self.parameter, counts)),
        }
    }

    /// The index of its set-up.
    fn setup_position(&self) -> usize {
        let mut all = Setup::ALL.iter();
        all.position(|s| s.name() == self.setup).unwrap_or(0)
    }

    fn bar(&self) -> Bar {
        Bar {
            group: match &self.counts[..] {
                "" => String::new(),
                counts => counted(self.parameter, counts),
            },
            series: self.setup_position(),
            name: Setup::ALL[self.setup_position()].title().into(),
            value: self.median,
            range: (self.min, self.max),
        }
    }

    /// The ratio of this to another: the median of the rounds' ratios.
    pub fn over(&self, base: &Self) -> Option<f64> {
        let ratios = self.ratios(base);
        (!ratios.is_empty()).then(|| median(&ratios))
    }

    /// The ratio of this to another in each round.
    fn ratios(&self, base: &Self) -> Vec<f64> {
        let pairs = self.values.iter().zip(&base.values);
        let defined = pairs.filter(|(_, base)| **base > 0.0);
        defined.map(|(own, base)| own / base).collect()
    }

    /// This latency over that of OpenFlow entries (`base`), round by round; none without rounds.
    fn speed_up(&self, base: &Self) -> Option<Self> {
        let mut values = self.ratios(base);
        values.sort_by(f64::total_cmp);
        Some(Self {
            metric: "speed-up".into(),
            unit: "times".into(),
            median: median(&values),
            min: *values.first()?,
            max: *values.last()?,
            values,
            ratio: None,
            ..self.clone()
        })
    }
}

impl BenchReport {
    /// Adds the figures of one turn.
    pub fn add(
        &mut self,
        case: &Case,
        parameter: u32,
        setup: Setup,
        figures: &[(BenchMetric, f64)],
    ) {
        for &((metric, unit), value) in figures {
            let at = self
                .position(case.name, parameter, metric, setup)
                .unwrap_or_else(|| {
                    self.figures.push(Figure {
                        case: case.name.into(),
                        title: case.title.into(),
                        counts: case.parameters.0.into(),
                        parameter,
                        metric: metric.into(),
                        unit: unit.into(),
                        setup: setup.name().into(),
                        values: Vec::new(),
                        median: value,
                        min: value,
                        max: value,
                        ratio: None,
                    });
                    self.figures.len() - 1
                });
            let figure = &mut self.figures[at];
            figure.values.push(value);
            figure.median = median(&figure.values);
            figure.min = figure.min.min(value);
            figure.max = figure.max.max(value);
        }
    }

    /// Adds the speed-up of OpenFlow entries to the figures of [`MODE_SPEEDUP`]: how many times as
    /// long an echo takes by another mode of the same round.
    fn add_speed_ups(&mut self) {
        let mut added = Vec::new();
        for figure in &self.figures {
            let is_legacy = figure.setup != Setup::Bofuss.name();
            let is_latency = figure.case == MODE_SPEEDUP && figure.metric == "p50";
            let base = self.get(MODE_SPEEDUP, figure.parameter, "p50", Setup::Bofuss);
            if is_legacy && is_latency {
                added.extend(base.and_then(|base| figure.speed_up(base)));
            }
        }
        self.figures.extend(added);
    }

    /// Records a failure and prints it.
    pub fn failed(&mut self, what: String) {
        tell!("{what}");
        self.failures.push(what);
    }

    fn position(&self, case: &str, parameter: u32, metric: &str, setup: Setup) -> Option<usize> {
        self.figures.iter().position(|f| {
            let case = f.case == case && f.parameter == parameter;
            case && f.metric == metric && f.setup == setup.name()
        })
    }

    /// A figure of one set-up.
    pub fn get(&self, case: &str, parameter: u32, metric: &str, setup: Setup) -> Option<&Figure> {
        let at = self.position(case, parameter, metric, setup)?;
        Some(&self.figures[at])
    }

    /// The ratio of a figure to that of the yardstick, or of Open vSwitch if there is no yardstick.
    fn ratio(&self, figure: &Figure) -> Option<f64> {
        let mut bases = [Setup::Yardstick, Setup::Ovs, Setup::OvsTso].iter();
        let base = bases.find_map(|s| self.get(&figure.case, figure.parameter, &figure.metric, *s));
        figure.over(base?)
    }

    /// The figures sorted by case, parameter and metric, each group in the order of the set-ups.
    pub fn rows(&self) -> Vec<&Figure> {
        let mut rows: Vec<&Figure> = Vec::new();
        for figure in &self.figures {
            let name = figure.name();
            if rows
                .iter()
                .any(|row| row.name() == name && row.metric == figure.metric)
            {
                continue;
            }
            for setup in Setup::ALL {
                rows.extend(self.get(&figure.case, figure.parameter, &figure.metric, setup));
            }
        }
        rows
    }

    /// A table for people: medians, spread, ratios.
    pub fn table(&self) -> String {
        let mut text = HEAD.to_string();
        for f in self.rows() {
            let ratio = f
                .ratio
                .map_or_else(|| "-".into(), |ratio| format!("{ratio:.2}"));
            let what = format!("{} | {}, {} | {}", f.name(), f.metric, f.unit, f.setup);
            let [median, min, max] = [f.median, f.min, f.max].map(number);
            text += &format!("| {what} | {median} | {min} | {max} | {ratio} |\n");
        }
        text
    }

    /// Writes `bench.md`, `bench.json` and a plot for each case and figure into a folder.
    ///
    /// Errors: the system's.
    pub fn write(&mut self, folder: &Path) -> Result<()> {
        self.add_speed_ups();
        for at in 0..self.figures.len() {
            self.figures[at].ratio = self.ratio(&self.figures[at]);
        }
        self.write_files(folder)
            .map_err(|e| format!("{}: {e}", folder.display()).into())
    }

    fn write_files(&self, folder: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("bench.md"), self.table())?;
        std::fs::write(folder.join(JSON), serde_json::to_string_pretty(self)?)?;
        for figure in &self.figures {
            let name = format!("{}-{}", figure.case, figure.metric)
                .replace(|c: char| !c.is_ascii_alphanumeric(), "-");
            let plot = self.plot(&figure.case, &figure.metric);
            std::fs::write(folder.join(format!("{name}.svg")), plot)?;
        }
        Ok(())
    }

    /// Reads a report from a folder.
    ///
    /// Errors: the system's, or a file that is no report.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(JSON);
        let json = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        serde_json::from_slice(&json).map_err(|e| format!("{}: {e}", path.display()).into())
    }

    /// Bars: a group for each parameter, a bar for each set-up.
    pub fn plot(&self, case: &str, metric: &str) -> String {
        let rows = self.rows();
        let all: Vec<&Figure> = rows
            .iter()
            .filter(|f| f.case == case && f.metric == metric)
            .copied()
            .collect();
        let title = all.first().map_or_else(String::new, |first| {
            format!("{}: {}", first.title, first.metric)
        });
        let unit = all.first().map_or("", |first| &first.unit);
        let all_bars: Vec<Bar> = all.iter().map(|figure| figure.bar()).collect();
        bars(&title, unit, &all_bars)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_the_same_round() {
        let mut report = BenchReport::default();
        let case = &crate::bench::case_groups::GROUPS[0].cases[0];
        let mut add = |setup, value| report.add(case, 0, setup, &[(("x", "ns"), value)]);
        for (base, own) in [(1.0, 2.0), (10.0, 20.0), (5.0, 15.0)] {
            add(Setup::Yardstick, base);
            add(Setup::Bofuss, own);
        }
        let own = report.get("frames", 0, "x", Setup::Bofuss).expect("added");
        assert_eq!((own.median, own.min, own.max), (15.0, 2.0, 20.0));
        assert_eq!(report.ratio(own), Some(2.0));
    }

    #[test]
    fn a_speed_up_is_legacy_latency_over_that_of_entries_of_the_same_round() {
        let mut report = BenchReport::default();
        let cases = crate::bench::case_groups::GROUPS
            .iter()
            .flat_map(|group| group.cases);
        let case = cases.into_iter().find(|case| case.name == MODE_SPEEDUP);
        let mut add = |setup, value| {
            report.add(
                case.expect("it is there"),
                64,
                setup,
                &[(("p50", "us"), value)],
            );
        };
        for (entries, bridge) in [(10.0, 5.0), (20.0, 20.0), (10.0, 9.0)] {
            add(Setup::Bofuss, entries);
            add(Setup::Bridge, bridge);
        }
        report.add_speed_ups();
        let found = report.get(MODE_SPEEDUP, 64, "speed-up", Setup::Bridge);
        let found = found.expect("it was added");
        assert_eq!((found.median, found.min, found.max), (0.9, 0.5, 1.0));
        assert!(
            report
                .get(MODE_SPEEDUP, 64, "speed-up", Setup::Bofuss)
                .is_none()
        );
    }
}
