//! `ofmeter paper`: runs a paper's cases on several set-ups, a round on each in turn, and writes
//! the report.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;

use crate::cases::baseline::Baselines;
use crate::cases::workbench::Limits;
use crate::cases::{calibration, check_reduced, chosen};
use crate::data_centre::live_fct;
use crate::error::Result;
use crate::reports::html;
use crate::reports::markdown::{fill_page, markdown};
use crate::reports::methods;
use crate::reports::paper_qos;
use crate::reports::papers::{self, PublishedPaper};
use crate::reports::thesis;
use crate::runs::results::{Results, Store};
use crate::runs::run_arguments::{ORIGINAL_FOLDER, REPORT, RunArguments, repeats};
use crate::runs::runner::{self, left};
use crate::statistics::numbers::lasting;
use crate::subject::{SetupName, own_folder};
use crate::tell::{say, tell};

/// Seconds that starting and stopping a set-up take, for the time that is announced.
const SETUP_SECONDS: f64 = 3.0;
/// The file of the report's text.
const MARKDOWN: &str = "report.md";

/// A paper, and how much of it to run.
#[derive(Args)]
pub struct PaperArguments {
    /// Its number: 000, 002, 003 or 004
    number: String,
    /// The set-ups to measure [default: bofuss, ovs and bridge; for 000 wire, too]
    #[arg(long = "setup", value_name = "NAME")]
    setups: Vec<String>,
    /// Each case in its shortest form, once
    #[arg(long)]
    short: bool,
    /// Paper 000 with fewer flows and frames: at most ten minutes on its set-ups, once
    #[arg(long, conflicts_with = "short")]
    reduced: bool,
    /// Repeats of each point [default: 5, with --short or --reduced 1]
    #[arg(long, value_name = "COUNT")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    repeats: Option<u32>,
    /// The folder of the results, one below it for each set-up
    #[arg(long, default_value = "ofmeter-paper", value_name = "DIR")]
    out: PathBuf,
    /// Also write the tables into this Markdown file, between the marks of the paper
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// A set-up of a paper's run, and the folder of its results.
struct PaperSetup<'a> {
    name: &'a str,
    setup: SetupName,
    folder: PathBuf,
}

impl PaperArguments {
    /// Runs the experiments and writes the report.
    ///
    /// Errors: no such paper or set-up; what does not start; the user ends it.
    pub fn run(&self) -> Result<()> {
        let paper = papers::of(&self.number)?;
        if self.reduced {
            check_reduced(paper.cases.iter().map(String::as_str))?;
        }
        let (report, methods) = if paper.cases.is_empty() {
            (paper_qos::run(&paper, self.short)?, Vec::new())
        } else {
            let results = self.results(&paper)?;
            let methods: Vec<String> = results.iter().map(methods::paragraph).collect();
            (papers::report(&paper, &results), methods)
        };
        let store = Store::open(&self.out)?;
        for (name, text) in [(REPORT, &report), (MARKDOWN, &markdown(&report))] {
            say(store.write(name, text)?.display())?;
        }
        let files = thesis::write(&self.out, &report, &methods)?;
        say(files.display())?;
        match &self.page {
            Some(page) => {
                let verb = format!("paper {}", self.number);
                fill_page(page, &verb, &markdown(&report))
            }
            None => Ok(()),
        }
    }

    /// Measures each set-up once, then each again: what else the machine does meanwhile affects all
    /// of them alike.
    fn results(&self, paper: &PublishedPaper) -> Result<Vec<Results>> {
        let setups = self.setups(paper)?;
        let rounds = repeats(self.repeats, self.short || self.reduced);
        self.announce(paper, &setups, rounds)?;
        let start = Instant::now();
        let all = rounds as usize * setups.len();
        // One instrument, measured before the first set-up, and one baseline in a round.
        let mut calibration = None;
        let mut baselines = Baselines::default();
        for round in 1..=rounds {
            for (at, setup) in setups.iter().enumerate() {
                let done = (round - 1) as usize * setups.len() + at;
                let mut progress = String::new();
                if done > 0 {
                    progress = format!("; {}", left(start, done, all, 0.0));
                }
                tell!("round {round} of {rounds}: {}{progress}", setup.name);
                let store = Store::open(&setup.folder)?;
                if let Some(calibration) = &calibration {
                    store.set_calibration(calibration)?;
                }
                // Earlier rounds are in the folder already.
                let arguments = self.arguments(paper, setup, round, rounds);
                arguments.run_with(Some(paper), &mut baselines)?;
                calibration = store.calibration()?;
            }
        }
        setups
            .iter()
            .map(|setup| Results::read(&setup.folder))
            .collect()
    }

    /// The run of a set-up until a round, of `rounds` in all.
    fn arguments(
        &self,
        paper: &PublishedPaper,
        setup: &PaperSetup<'_>,
        until: u32,
        rounds: u32,
    ) -> RunArguments {
        let usual = RunArguments::of_setup(setup.name, &paper.cases, &setup.folder);
        usual
            .repeated(until, self.short)
            .shared_by(rounds)
            .reduced(self.reduced)
            .there_and_back(paper.echo)
    }

    /// The set-ups that are on this machine.
    fn setups<'a>(&'a self, paper: &'a PublishedPaper) -> Result<Vec<PaperSetup<'a>>> {
        let names = if self.setups.is_empty() {
            &paper.setups
        } else {
            &self.setups
        };
        let mut found = Vec::new();
        for name in names {
            let setup = SetupName::of(name)?;
            if setup.is_here(&own_folder(), Path::new(ORIGINAL_FOLDER)) {
                let folder = papers::folder(&self.out, name);
                found.push(PaperSetup {
                    name,
                    setup,
                    folder,
                });
            } else {
                tell!("{name} is not on this machine");
            }
        }
        Ok(found)
    }

    /// Says how long all cases take on all set-ups, and how long the longest of them does.
    fn announce(
        &self,
        paper: &PublishedPaper,
        setups: &[PaperSetup<'_>],
        rounds: u32,
    ) -> Result<()> {
        let (all, live) = self.seconds(paper, setups, rounds)?;
        let form = html::form(self.short, self.reduced);
        tell!(
            "paper {}{form}: its cases take about {} in all rounds",
            self.number,
            lasting(all)
        );
        if live > 0.0 {
            tell!("{} of it", live_fct::announcement(live, self.reduced));
        }
        Ok(())
    }

    /// About how many seconds all takes, and of these `spine-leaf-live`.
    fn seconds(
        &self,
        paper: &PublishedPaper,
        setups: &[PaperSetup<'_>],
        rounds: u32,
    ) -> Result<(f64, f64)> {
        let few = self.short || self.reduced;
        let mut all = calibration::seconds(&Limits::unbounded(few));
        let mut live = 0.0;
        for setup in setups {
            let limits = self.arguments(paper, setup, rounds, rounds).limits();
            all += SETUP_SECONDS * f64::from(rounds);
            for case in chosen(&paper.cases)? {
                let points = runner::points_of(case, &limits, Some(paper));
                let each = points
                    .iter()
                    .map(|point| runner::seconds(&limits, Some(&setup.setup), case, point));
                let seconds = each.sum::<f64>() * f64::from(rounds);
                all += seconds;
                if case.name == live_fct::NAME {
                    live += seconds;
                }
            }
        }
        Ok((all, live))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        paper: PaperArguments,
    }

    /// The seconds that a command plans on all set-ups of its paper, whatever this machine has.
    fn planned(words: &[&str]) -> (f64, f64) {
        let line = Line::parse_from([&["paper"], words].concat());
        let paper = papers::of(&line.paper.number).unwrap();
        let mut setups = Vec::new();
        for name in &paper.setups {
            setups.push(PaperSetup {
                name,
                setup: SetupName::of(name).unwrap(),
                folder: PathBuf::new(),
            });
        }
        let once = line.paper.short || line.paper.reduced;
        let rounds = repeats(line.paper.repeats, once);
        line.paper.seconds(&paper, &setups, rounds).unwrap()
    }

    #[test]
    fn every_reduced_form_plans_at_most_ten_minutes_on_all_set_ups_of_its_paper() {
        let mut reduced = 0;
        for paper in papers::all() {
            if check_reduced(paper.cases.iter().map(String::as_str)).is_err() {
                continue;
            }
            reduced += 1;
            let (all, live) = planned(&[&paper.number, "--reduced"]);
            assert!((60.0..=600.0).contains(&all), "{}: {all} s", paper.number);
            assert!(live < all, "{live} of {all} s");
            let (long, _) = planned(&[&paper.number]);
            assert!(lasting(long).ends_with(" hours"), "{}", lasting(long));
        }
        assert!(reduced > 0);
    }

    #[test]
    fn papers_without_a_reduced_form_refuse_it() {
        for number in ["002", "003", "004"] {
            let line = Line::parse_from(["paper", number, "--reduced"]);
            let why = line.paper.run().unwrap_err().to_string();
            assert!(why.contains("there is --short"), "{why}");
        }
    }
}
