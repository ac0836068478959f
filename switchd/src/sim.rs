//! `bofuss sim`: runs a scenario of the simulator, and writes what happened to files.

mod captures;
pub mod moment;
mod progress;
mod refusals;
mod tcp_controller;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bofuss_channel::{read_input, read_standard_input};
use bofuss_datapath::Time;
use bofuss_embed::EmbedError;
use bofuss_sim::controller::Controller;
use bofuss_sim::scenario::{ControllerRow, KINDS, Outside, Scenario, ScenarioError};
use bofuss_sim::{EventKind, EventLog, LogEvent, Observer, Timeline, summary};

use captures::LinkCaptures;
use progress::Progress;
use refusals::Refusals;
use tcp_controller::{Lateness, TcpController};

use crate::error::{Error, Result, context};
use crate::output::print;
use crate::tell::tell;

/// Options of `bofuss sim`: the files to run, and those to write.
#[derive(clap::Args)]
pub struct SimOptions {
    /// The scenario: a TOML file, as docs/guide/simulate.md says, or - for the standard input.
    file: PathBuf,
    /// Write what each link carries to DIR/LINK.pcapng.
    #[arg(long, value_name = "DIR")]
    pcap: Option<PathBuf>,
    /// Write all events, a JSON object a line.
    #[arg(long, value_name = "FILE")]
    events: Option<PathBuf>,
    /// Write a picture of what links carried over time, as SVG.
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Explain what a switch does with a frame that arrives: by the event's number, or the first on
    /// a link from a time in seconds on.
    #[arg(long, value_name = "N|LINK@SECONDS")]
    explain: Option<String>,
    /// Use this seed and not the scenario's.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Let the clock of the simulation run with that of the wall, for controllers with timers.
    #[arg(long)]
    wall_clock: bool,
    /// Print statistics as JSON.
    #[arg(long)]
    json: bool,
    /// Then let this switch of it stand still, and show it to `bofuss web`, `bofuss trace`, dpctl
    /// and controllers, until Ctrl-C.
    #[arg(long, value_name = "SWITCH")]
    #[arg(conflicts_with_all = ["pcap", "events", "timeline", "explain", "wall_clock", "json"])]
    serve: Option<String>,
    /// Run only up to this time.
    #[arg(long, value_name = "SECONDS", requires = "serve")]
    until: Option<f64>,
}

impl SimOptions {
    /// Runs the scenario and prints statistics. Errors: a sentence for the user, also if an
    /// assertion of the scenario does not hold.
    pub fn run(&self) -> Result<()> {
        let name = self.file.display();
        let lateness = Lateness::default();
        let mut scenario = read_scenario(&self.file, self.seed, self.wall_clock, &lateness)?;
        let mut reporter = Reporter::new(self, &mut scenario)?;
        let ran = self.run_to_end(&mut scenario, &mut reporter);
        reporter.progress.finish();
        reporter.finish(self.timeline.as_deref())?;
        // A run that ended early has a report of what it did.
        let statistics = scenario.statistics();
        if self.json {
            print(&format!("{statistics:#}\n"))?;
        } else {
            print(&summary(&statistics))?;
        }
        for line in reporter.refusals.lines() {
            tell!("{name}: {line}");
        }
        ran?;
        let late = lateness.get();
        if late > 0 {
            tell!(
                "bofuss: {late} times a controller sent messages after it had answered; another \
                 run may differ"
            );
        }
        let failures = scenario.failures(&statistics);
        for failure in &failures {
            tell!("{name}: {failure}");
        }
        let mut failed: Vec<usize> = failures.iter().map(|failure| failure.number).collect();
        failed.dedup();
        match failed.len() {
            0 => Ok(()),
            count => Err(format!(
                "{name}: {count} of {} assertions do not hold",
                scenario.assertion_count()
            )
            .into()),
        }
    }

    /// Runs the scenario; with the wall clock, no event comes before its time. Errors: a sentence
    /// for the user.
    fn run_to_end(&self, scenario: &mut Scenario, reporter: &mut Reporter) -> Result<()> {
        let name = self.file.display();
        let start = Instant::now();
        while self.wall_clock
            && let Some(next) = scenario.network().next_event()
            && next <= scenario.end()
        {
            let until = Duration::from_nanos(next.0);
            std::thread::sleep(until.saturating_sub(start.elapsed()));
            let run = scenario.run_until(next, reporter);
            run.map_err(context(&name))?;
        }
        let run = scenario.run_until(scenario.end(), reporter);
        run.map_err(context(name))
    }
}

/// Reads a scenario, and prints what is probably not meant. Errors: a sentence for the user.
fn read_scenario(
    file: &Path,
    seed: Option<u64>,
    wall_clock: bool,
    lateness: &Lateness,
) -> Result<Scenario> {
    let name = file.display();
    let read = match file.as_os_str().as_encoded_bytes() {
        b"-" => read_standard_input(),
        _ => read_input(file),
    };
    let text = read.map_err(context(&name))?;
    let mut surroundings = Surroundings {
        directory: file.parent().unwrap_or(Path::new(".")).into(),
        lateness: lateness.clone(),
        wall_clock,
    };
    let built = Scenario::build(&text, seed, &mut surroundings);
    let scenario = built.map_err(context(&name))?;
    for warning in scenario.warnings() {
        tell!("{name}: {warning}");
    }
    Ok(scenario)
}

/// The time until which a scenario runs that ends at `end`. Errors: it ends before.
fn until(seconds: Option<f64>, end: Time) -> Result<Time> {
    let Some(seconds) = seconds else {
        return Ok(end);
    };
    let until = seconds_of(seconds).filter(|time| *time <= end);
    until.ok_or_else(|| {
        let last = end.0 as f64 / Time::SEC as f64;
        format!("--until {seconds}: a time in seconds, at most {last}").into()
    })
}

/// A time in seconds; `None` if it is none.
fn seconds_of(seconds: f64) -> Option<Time> {
    (0.0..1e9)
        .contains(&seconds)
        .then_some(Time((seconds * 1e9) as u64))
}

/// The things that a scenario needs from outside of the simulator: files and real controllers.
struct Surroundings {
    /// The folder of the scenario: names of files are relative to it.
    directory: PathBuf,
    lateness: Lateness,
    wall_clock: bool,
}

impl Outside for Surroundings {
    fn read(&mut self, name: &str) -> Result<String, ScenarioError> {
        Ok(read_input(&self.directory.join(name)).map_err(Error::from)?)
    }

    fn controller(&mut self, row: &ControllerRow) -> Result<Box<dyn Controller>, ScenarioError> {
        match row.kind.get_ref().as_str() {
            "tcp" => {
                let said = row.address.as_deref();
                let address = said.ok_or("it needs an address, as 127.0.0.1:6653")?;
                let lateness = self.lateness.clone();
                let made = TcpController::new(address, self.wall_clock, lateness)?;
                Ok(Box::new(made))
            }
            "python" => Err("python3 -m bofuss.sim runs scenarios with it".into()),
            _ => Err(format!("it is one of {KINDS}, tcp").into()),
        }
    }
}

/// The frame to be explained.
enum Wanted {
    Nothing,
    /// The frame of the event with this number.
    Number(u64),
    /// The first frame on a link from a time on.
    Place(bofuss_sim::LinkId, Time),
}

/// Writes what happens to the files that are wanted.
struct Reporter {
    log: Option<(EventLog, BufWriter<File>)>,
    captures: Option<LinkCaptures>,
    timeline: Option<Timeline>,
    refusals: Refusals,
    wanted: Wanted,
    explained: Option<String>,
    error: Option<Error>,
    progress: Progress,
}

impl Reporter {
    /// Opens the files. Errors: a sentence for the user.
    fn new(options: &SimOptions, scenario: &mut Scenario) -> Result<Self> {
        let catalogue = scenario.catalogue().clone();
        let log = match &options.events {
            Some(path) => {
                let file = File::create(path).map_err(context(path.display()))?;
                let names = scenario.names().clone();
                let log = EventLog::new(scenario.network(), &names, catalogue);
                Some((log, BufWriter::new(file)))
            }
            None => None,
        };
        let captures = match &options.pcap {
            Some(directory) => Some(LinkCaptures::create(directory, scenario)?),
            None => None,
        };
        let wanted = match &options.explain {
            Some(text) => wanted(text, scenario)?,
            None => Wanted::Nothing,
        };
        let refusals = Refusals::new(scenario.names().clone(), scenario.catalogue().clone());
        let wants_picture = options.timeline.is_some();
        let timeline = wants_picture.then(|| Timeline::new(scenario.end(), scenario.names()));
        Ok(Self {
            log,
            captures,
            timeline,
            refusals,
            wanted,
            explained: None,
            error: None,
            progress: Progress::begin(scenario.end())?,
        })
    }

    /// Ends the files, and prints the explanation. Errors: a sentence for the user.
    fn finish(&mut self, timeline: Option<&Path>) -> Result<()> {
        if let Some((_, file)) = &mut self.log {
            file.flush().map_err(context("events"))?;
        }
        if let Some(captures) = &mut self.captures {
            captures.finish()?;
        }
        if let (Some(path), Some(picture)) = (timeline, &mut self.timeline) {
            std::fs::write(path, picture.svg()).map_err(context(path.display()))?;
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        match (&self.wanted, &self.explained) {
            (Wanted::Nothing, _) => Ok(()),
            (_, Some(text)) => print(&text.to_string()),
            (_, None) => Err("--explain: no such frame arrived at a switch".into()),
        }
    }

    fn write(&mut self, event: &LogEvent<'_>) -> Result<()> {
        if let Some((log, file)) = &mut self.log {
            let written = file.write_all(log.line(event).as_bytes());
            written.map_err(context("events"))?;
        }
        if let Some(captures) = &mut self.captures {
            captures.write(event)?;
        }
        Ok(())
    }
}

impl Observer for Reporter {
    fn event(&mut self, event: &LogEvent<'_>) {
        if self.error.is_none() {
            self.error = self.write(event).err();
        }
        self.refusals.add(event);
        if let Some(timeline) = &mut self.timeline {
            timeline.add(event);
        }
    }

    fn wants_trace(&mut self, event: &LogEvent<'_>) -> bool {
        let EventKind::Arrived(direction, _) = event.kind else {
            return false;
        };
        self.explained.is_none()
            && match self.wanted {
                Wanted::Nothing => false,
                Wanted::Number(number) => event.number == number,
                Wanted::Place(link, from) => direction.link == link && event.at >= from,
            }
    }

    fn goes_on(&mut self, now: Time, events: u64) -> bool {
        self.progress.goes_on(now, events)
    }

    fn trace(&mut self, number: u64, trace: Result<String, EmbedError>) {
        let text = match trace {
            Ok(text) => text,
            Err(error) => format!("{error}\n"),
        };
        self.explained = Some(format!("event {number}:\n{text}"));
    }
}

/// Reads what is to be explained. Errors: a sentence for the user.
fn wanted(text: &str, scenario: &Scenario) -> Result<Wanted> {
    let Some((link, at)) = text.split_once('@') else {
        let number = text.parse().map(Wanted::Number);
        return number
            .map_err(|_| format!("--explain '{text}': it is a number, or LINK@SECONDS").into());
    };
    let found = scenario.names().link(link);
    let id = found.ok_or_else(|| format!("--explain: there is no link '{link}'"))?;
    let number: Option<f64> = at.parse().ok();
    let time = number.and_then(seconds_of);
    let time = time.ok_or_else(|| format!("--explain '{at}': a time in seconds"))?;
    Ok(Wanted::Place(id, time))
}
