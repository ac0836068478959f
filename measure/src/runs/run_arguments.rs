//! `ofmeter run`: what to run, on what, and the run from its calibration to its report.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bofuss_oflib::Version;
use clap::{ArgGroup, Args};

use crate::cases::baseline::Baselines;
use crate::cases::workbench::{Limits, MAX_OWN_RULES, USUAL_SCALE, Workbench, trial_seconds};
use crate::cases::{check_reduced, chosen};
use crate::error::{ControlError, Error, Result};
use crate::reports::html;
use crate::reports::methods;
use crate::reports::papers::PublishedPaper;
use crate::reports::thesis;
use crate::runs::guard::Guard;
use crate::runs::machine::{AT_THE_END, asked, at_the_end, machine, switch_facts};
use crate::runs::results::{Results, Store};
use crate::runs::run_info::RunInfo;
use crate::runs::runner::{self, RunPlan};
use crate::runs::signals;
use crate::subject::address::{SwitchAddress, offered_versions};
use crate::subject::controller::{ControlSession, STALL_SECONDS};
use crate::subject::time_stamps::TimeStamps;
use crate::subject::{SetupName, TestSubject, isolated, own_folder, virtual_stamps};
use crate::tell::say;

/// Rules that a switch that was not started here is given at most, and any in the shortest form,
/// unless the user says otherwise.
const MAX_RULES: u32 = 10_000;
const MAX_SHORT_RULES: u32 = 1_000;
/// Repeats of each point.
const REPEATS: u32 = 5;
/// Frames per second at most, unless the user says otherwise.
const MAX_RATE: u32 = 10_000_000;
/// The folder in which the original BOFUSS is installed.
pub const ORIGINAL_FOLDER: &str = "/usr/local/bin";
/// The report's file.
pub const REPORT: &str = "report.html";

/// Options of a run: the cases, and the set-ups.
#[derive(Args)]
#[command(group(ArgGroup::new("subject").args(["switch", "setup"]).required(true)))]
pub struct RunArguments {
    /// The cases; see ofmeter list [default: all]
    #[arg(value_name = "CASE")]
    cases: Vec<String>,
    /// The switch: tcp:HOST:PORT where it listens, ptcp:PORT where it connects to
    #[arg(long, value_name = "ADDRESS", requires = "ports")]
    switch: Option<SwitchAddress>,
    /// A set-up to start: bofuss, ovs, ovs-kernel, ovs-afxdp, bridge, wire, yardstick,
    /// bofuss-original, forwarder:FAULTS, and those of ofmeter bench
    #[arg(long, value_name = "NAME")]
    setup: Option<String>,
    /// The interfaces where frames go into the switch and come out; one, if another machine
    /// reflects
    #[arg(
        long,
        value_name = "A[,B]",
        value_delimiter = ',',
        conflicts_with = "setup"
    )]
    ports: Vec<String>,
    /// The version of OpenFlow [default: the newest that both speak]
    #[arg(long, value_name = "VERSION")]
    openflow: Option<String>,
    /// The folder of the results; a run that was interrupted goes on there
    #[arg(long, default_value = "ofmeter-results", value_name = "DIR")]
    out: PathBuf,
    /// Remove the rules of a switch that was not started here, and put them back in the end
    #[arg(long, conflicts_with = "setup")]
    wipe: bool,
    /// Rules at most [default: 10000 on a switch that was not started here, else 1000000]
    #[arg(long, value_name = "COUNT")]
    #[arg(value_parser = clap::value_parser!(u32).range(10..))]
    max_rules: Option<u32>,
    /// Frames per second at most
    #[arg(long, value_name = "RATE", default_value_t = MAX_RATE)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    max_rate: u32,
    /// Frames of a series [default: 30000 one way, 10000 there and back]
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 0,
        hide_default_value = true
    )]
    frames: u32,
    /// The repeats that share a case's own number of frames or requests.
    #[arg(skip = 1_u32)]
    parts: u32,
    /// Repeats of each point [default: 5, with --short or --reduced 1]
    #[arg(long, value_name = "COUNT")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    repeats: Option<u32>,
    /// Each case in its shortest form, once
    #[arg(long)]
    short: bool,
    /// Fewer flows in spine-leaf-fct and spine-leaf-live, and few frames: once, in minutes
    #[arg(long, conflicts_with = "short")]
    reduced: bool,
    /// Send frames there and back
    #[arg(long)]
    echo: bool,
    /// The clock that stamps frames of delays [default: the network card if both interfaces have
    /// one clock, else the kernel, else the program]
    #[arg(long, value_name = "WHO")]
    time_stamps: Option<TimeStamps>,
    /// Bytes at which flows of spine-leaf-fct and spine-leaf-live are cut off [default: 100000000
    /// and 30000000]
    #[arg(long, value_name = "BYTES")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    largest_flow: Option<u64>,
    /// The factor by which the links of spine-leaf-live are slower than 100 Mb/s
    #[arg(long, value_name = "TIMES", default_value_t = USUAL_SCALE)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    scale: u32,
    /// Seconds of a trial of rfc2544-throughput [default: 60]
    #[arg(long, value_name = "SECONDS")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=300))]
    trial: Option<u32>,
    /// Seconds that the switch may take to answer before it counts as hanging
    #[arg(long, value_name = "SECONDS", default_value_t = STALL_SECONDS)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3600))]
    stall: u64,
    /// Show points beyond the instrument's limits as results, with a note
    #[arg(long)]
    force: bool,
    /// The folder of bofuss [default: that of this program]
    #[arg(long, value_name = "FOLDER")]
    programs: Option<PathBuf>,
    /// The folder of the original BOFUSS
    #[arg(long, value_name = "FOLDER", default_value = ORIGINAL_FOLDER)]
    original: PathBuf,
}

/// Writes the report of a folder.
///
/// Errors: there are no results, or the system's.
pub fn report(folder: &Path) -> Result<()> {
    let results = Results::read(folder)?;
    let page = html::report(&results);
    let path = Store::open(folder)?.write(REPORT, &page)?;
    say(path.display())?;
    let files = thesis::write(folder, &page, &[methods::paragraph(&results)])?;
    say(files.display())
}

/// Runs the plan, and adds to the record what has changed of the machine until its end.
///
/// Errors: the folder's.
fn recorded(
    bench: &mut Workbench<'_>,
    plan: &RunPlan<'_>,
    store: &Store,
    info: &RunInfo,
    baselines: &mut Baselines,
) -> Result<bool> {
    let ended = runner::run(bench, plan, store, info, baselines)?;
    let mut facts = at_the_end();
    let waits = bench.settling.fact();
    facts.extend(waits.map(|fact| format!("{AT_THE_END}{fact}")));
    store.add_facts(facts)?;
    Ok(ended)
}

/// Repeats of each point: what the user says, or what is usual; one if all is to be done once.
pub fn repeats(wanted: Option<u32>, once: bool) -> u32 {
    wanted.unwrap_or(if once { 1 } else { REPEATS })
}

impl RunArguments {
    /// Cases on a set-up, with the usual values of all else.
    pub fn of_setup(setup: &str, cases: &[String], out: &Path) -> Self {
        Self {
            cases: cases.to_vec(),
            switch: None,
            setup: Some(setup.into()),
            ports: Vec::new(),
            openflow: None,
            out: out.into(),
            wipe: false,
            max_rules: None,
            max_rate: MAX_RATE,
            frames: 0,
            parts: 1,
            repeats: None,
            short: false,
            reduced: false,
            echo: false,
            time_stamps: None,
            largest_flow: None,
            scale: USUAL_SCALE,
            trial: None,
            stall: STALL_SECONDS,
            force: false,
            programs: None,
            original: ORIGINAL_FOLDER.into(),
        }
    }

    /// The same in the shortest form or not, with this many repeats in all.
    #[must_use]
    pub fn repeated(mut self, repeats: u32, short: bool) -> Self {
        self.repeats = Some(repeats);
        self.short = short;
        self
    }

    /// The same with a part of each case's own frames and requests, of which all repeats together
    /// have its number.
    #[must_use]
    pub fn shared_by(mut self, repeats: u32) -> Self {
        self.parts = repeats;
        self
    }

    /// The same with fewer flows of a live data centre, or all.
    #[must_use]
    pub fn reduced(mut self, reduced: bool) -> Self {
        self.reduced = reduced;
        self
    }

    /// The same with frames that go there and back, or one way.
    #[must_use]
    pub fn there_and_back(mut self, echo: bool) -> Self {
        self.echo = echo;
        self
    }

    /// Returns the amount to measure.
    pub fn limits(&self) -> Limits {
        let usual = match (self.short, self.setup.is_some()) {
            (true, _) => MAX_SHORT_RULES,
            (false, true) => MAX_OWN_RULES,
            (false, false) => MAX_RULES,
        };
        Limits {
            frames: self.frames,
            parts: self.parts,
            short: self.short,
            trial_seconds: trial_seconds(self.trial, self.short),
            reduced: self.reduced,
            echo: self.echo,
            max_rules: self.max_rules.unwrap_or(usual),
            max_rate: f64::from(self.max_rate),
            stall: Duration::from_secs(self.stall),
            largest_flow: self.largest_flow.map(|bytes| bytes as f64),
            scale: self.scale,
        }
    }

    /// Returns the folder of bofuss.
    fn program_folder(&self) -> PathBuf {
        self.programs.clone().unwrap_or_else(own_folder)
    }

    fn subject(&self) -> Result<TestSubject> {
        if let Some(setup) = &self.setup {
            return TestSubject::start(setup, &self.program_folder(), &self.original);
        }
        let (Some(address), Some(near)) = (&self.switch, self.ports.first()) else {
            return Err("--switch needs --ports".into());
        };
        let far = self.ports.get(1).map(String::as_str);
        if self.ports.len() > 2 || far == Some(near) {
            return Err(format!(
                "--ports {}: takes two interfaces as A,B, or one if another machine reflects",
                self.ports.join(",")
            )
            .into());
        }
        Ok(TestSubject::existing(address.clone(), near, far))
    }

    /// Runs the cases that are not in the folder yet, and writes the report.
    ///
    /// Errors: the user ends it; the set-up's or the switch's.
    pub fn run(&self) -> Result<()> {
        self.run_with(None, &mut Baselines::default())
    }

    /// The same of the points that a paper shows, if one is given, with baselines that its runs on
    /// several set-ups share.
    ///
    /// Errors: the user ends it; the set-up's or the switch's.
    pub fn run_with(
        &self,
        paper: Option<&PublishedPaper>,
        baselines: &mut Baselines,
    ) -> Result<()> {
        signals::listen();
        let cases = chosen(&self.cases)?;
        if self.reduced {
            check_reduced(cases.iter().map(|case| case.name))?;
        }
        let versions = offered_versions(self.openflow.as_deref())?;
        if let Some(setup) = &self.setup {
            let named = SetupName::of(setup)?;
            if !named.is_here(&self.program_folder(), &self.original) {
                let hint = named.hint();
                return Err(format!("{setup} is not on this machine{hint}").into());
            }
        }
        let limits = self.limits();
        let stamps = self.stamps(&versions)?;
        let store = Store::open(&self.out)?;
        let _claim = store.claim()?;
        store.check()?;
        self.calibrated(&store, stamps)?;
        let plan = RunPlan {
            cases: &cases,
            repeats: repeats(self.repeats, self.short || self.reduced),
            forced: self.force,
            paper,
        };
        let ended = isolated(self.setup.is_some(), || {
            let mut subject = self.subject()?;
            subject.choose_stamps(Some(stamps))?;
            let bench = Workbench::new(&subject, &versions, &limits, &signals::is_over);
            match bench {
                Ok(mut bench) => self.guarded(&mut bench, &plan, &store, baselines),
                // That is a result, too.
                Err(Error::Control(ControlError::Hangs)) => {
                    let info = self.info(&subject, &plan, None, Vec::new());
                    store.begin(&info)?;
                    runner::keep_silence(&limits, &plan, &store, &info)
                }
                Err(error) => Err(error),
            }
        })?;
        report(&self.out)?;
        if ended {
            return Ok(());
        }
        Err("interrupted; the same command goes on where it was".into())
    }

    /// Chooses the clock that stamps the frames of this run.
    ///
    /// Errors: a switch that is there does not answer, or an interface is not usable.
    fn stamps(&self, versions: &[Version]) -> Result<TimeStamps> {
        if self.setup.is_some() {
            return virtual_stamps(self.time_stamps);
        }
        let mut subject = self.subject()?;
        subject.choose_stamps(self.time_stamps)?;
        // What is wrong with the switch or an interface is said before the calibration.
        subject.check_interfaces()?;
        if let Some(address @ SwitchAddress::Active(_)) = &self.switch {
            let stall = Duration::from_secs(self.stall);
            match ControlSession::connect(address, versions, stall) {
                Ok(_) | Err(ControlError::Hangs) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(subject.stamps)
    }

    /// Calibrates the instrument, unless the folder has a calibration with these time stamps.
    fn calibrated(&self, store: &Store, stamps: TimeStamps) -> Result<()> {
        if let Some(there) = store.calibration()?
            && [stamps, stamps.on_virtual_interfaces()].contains(&there.stamps)
        {
            return Ok(());
        }
        let limits = Limits::unbounded(self.short || self.reduced);
        let fresh = runner::calibrate(&limits, stamps, &signals::is_over)?;
        store.set_calibration(&fresh)
    }

    /// Puts back what a run that was killed removed from a switch.
    ///
    /// Errors: there is nothing; the connection's.
    pub fn restore(switch: &SwitchAddress, out: &Path, stall: u64) -> Result<()> {
        let store = Store::open(out)?;
        let _claim = store.claim()?;
        Guard::put_back(switch, Duration::from_secs(stall), &store)
    }

    /// The record of what was requested, on what.
    fn info(
        &self,
        subject: &TestSubject,
        plan: &RunPlan<'_>,
        version: Option<Version>,
        facts: Vec<String>,
    ) -> RunInfo {
        RunInfo {
            program: format!("ofmeter {}", env!("CARGO_PKG_VERSION")),
            subject: subject.name.clone(),
            version: version.map(|version| version.to_string()),
            repeats: plan.repeats,
            short: self.short,
            reduced: self.reduced,
            echo: self.echo,
            stamps: subject.stamps,
            machine: [
                machine(subject.is_own),
                facts,
                subject.time_stamps(),
                vec![asked(&self.limits())],
            ]
            .concat(),
            results_before: 0,
            earlier: Vec::new(),
        }
    }

    /// Runs the plan; a switch that was not started here is as before in the end.
    fn guarded(
        &self,
        bench: &mut Workbench<'_>,
        plan: &RunPlan<'_>,
        store: &Store,
        baselines: &mut Baselines,
    ) -> Result<bool> {
        let facts = switch_facts(bench);
        let info = self.info(bench.subject, plan, bench.version(), facts);
        store.begin(&info)?;
        let address = match &bench.subject.address {
            Some(address) if !bench.subject.is_own => address,
            Some(_) | None => {
                return recorded(bench, plan, store, &info, baselines);
            }
        };
        // A switch that connects has one connection.
        bench.controller = None;
        let guard = match Guard::new(address, bench.limits.stall, self.wipe, store) {
            // What it has is not known, so that it is left as it is.
            Err(Error::Control(ControlError::Hangs)) => {
                return runner::keep_silence(bench.limits, plan, store, &info);
            }
            guard => guard?,
        };
        let run = AssertUnwindSafe(|| {
            let connected = bench.connect();
            connected.and_then(|()| recorded(bench, plan, store, &info, baselines))
        });
        let ended = catch_unwind(run);
        bench.controller = None;
        let restored = guard.restore();
        let ended = ended.unwrap_or_else(|panic| resume_unwind(panic));
        match (ended, restored) {
            (ended, Ok(())) => ended,
            (Ok(_), Err(error)) => Err(error),
            (Err(why), Err(error)) => Err(format!("{why}\n{error}").into()),
        }
    }
}
