//! The command line of the meter: what users type to measure a switch.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bofuss_oflib::Version;
use clap::{ArgGroup, Args, Subcommand};

use super::case::{CASES, chosen};
use super::compare;
use super::controller::{ControlSession, STALL_SECONDS, SwitchAddress, offered_versions};
use super::faults::Faults;
use super::guard::Guard;
use super::live_fct::SCALE;
use super::markdown::{markdown, with_tables};
use super::results::{Results, RunInfo, Store};
use super::runner::{self, RunPlan, machine};
use super::subject::{SetupName, TestSubject, isolated, own_folder, reflect_all};
use super::time_stamps::TimeStamps;
use super::workbench::{Limits, MAX_OWN_RULES, Workbench};
use super::{calibration, forward, html, paper_qos, papers, signals};
use crate::net::context;
use crate::traffic::open;

/// Rules that a switch that was not started here is given at most, and any in the shortest form,
/// unless the user says otherwise.
const MAX_RULES: u32 = 10_000;
const MAX_SHORT_RULES: u32 = 1_000;
/// Repeats of each point.
const REPEATS: u32 = 5;
/// Frames per second at most, unless the user says otherwise.
const MAX_RATE: u32 = 10_000_000;
/// Where the original BOFUSS is installed.
const ORIGINAL_FOLDER: &str = "/usr/local/bin";
/// The report's file, and that of its text.
const REPORT: &str = "report.html";
const MARKDOWN: &str = "report.md";

/// The user's commands.
#[derive(Subcommand)]
pub enum MeterCommand {
    /// List the cases
    List,
    /// Run cases on a set-up that is started, or on a switch that is there
    Run(RunArguments),
    /// Measure the instrument alone: on a wire and through a forwarder that looks nothing up
    Calibrate {
        /// The folder of the results
        #[arg(long, default_value = "ofmeter-results", value_name = "DIR")]
        out: PathBuf,
        /// Two interfaces that are joined by a cable [default: a pair of virtual ones]
        #[arg(long, value_name = "A,B", value_delimiter = ',')]
        ports: Vec<String>,
        /// Who stamps frames [default: the network card if both have one clock, else the program]
        #[arg(long, value_name = "WHO")]
        time_stamps: Option<TimeStamps>,
        /// Fewer sizes, loads and frames
        #[arg(long)]
        short: bool,
    },
    /// Write the report of a run: report.html in its folder
    Report {
        /// The folder of the results
        dir: PathBuf,
    },
    /// Run a paper's experiments here, and put its tables and figures beside ours
    Paper {
        /// Its number: 000, 002, 003 or 004
        number: String,
        /// The set-ups to measure
        #[arg(long = "setup", value_name = "NAME", default_values = ["bofuss", "ovs", "bridge"])]
        setups: Vec<String>,
        /// Each case in its shortest form, once
        #[arg(long)]
        short: bool,
        /// Repeats of each point [default: 5, with --short 1]
        #[arg(long, value_name = "COUNT")]
        #[arg(value_parser = clap::value_parser!(u32).range(1..))]
        repeats: Option<u32>,
        /// The folder of the results, one below it for each set-up
        #[arg(long, default_value = "ofmeter-paper", value_name = "DIR")]
        out: PathBuf,
        /// Also write the tables into this Markdown file, between the marks of the paper
        #[arg(long, value_name = "FILE")]
        page: Option<PathBuf>,
    },
    /// Compare two runs, point by point
    Compare {
        /// The folder of one run
        first: PathBuf,
        /// The folder of the other one
        second: PathBuf,
    },
    /// Send frames of UDP back where they come from, on the far machine
    Reflect {
        /// The interface
        interface: String,
    },
    /// Move frames between two interfaces and look nothing up, with faults if wanted
    Forward {
        /// One interface
        one: String,
        /// The other one
        other: String,
        /// As delay=500us,spread=50us,loss=1%,duplicate=0.1%,reorder=0.1%
        #[arg(long, default_value = "", value_name = "FAULTS")]
        faults: Faults,
    },
}

/// What to run, and on what.
#[derive(Args)]
#[command(group(ArgGroup::new("subject").args(["switch", "setup"]).required(true)))]
pub struct RunArguments {
    /// The cases; see ofmeter list [default: all]
    #[arg(value_name = "CASE")]
    cases: Vec<String>,
    /// The switch: tcp:HOST:PORT where it listens, ptcp:PORT where it connects to
    #[arg(long, value_name = "ADDRESS", requires = "ports")]
    switch: Option<SwitchAddress>,
    /// A set-up to start: bofuss, ovs, ovs-afxdp, bridge, wire, yardstick, bofuss-original,
    /// forwarder:FAULTS, and those of ofmeter bench
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
    /// Repeats of each point [default: 5]
    #[arg(long, value_name = "COUNT")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    repeats: Option<u32>,
    /// Each case in its shortest form, once
    #[arg(long)]
    short: bool,
    /// Send frames there and back
    #[arg(long)]
    echo: bool,
    /// Who stamps frames [default: the network card if both interfaces have one clock, else the
    /// program]
    #[arg(long, value_name = "WHO")]
    time_stamps: Option<TimeStamps>,
    /// Bytes at which flows of spine-leaf-fct and spine-leaf-live are cut off [default: 100000000
    /// and 1000000]
    #[arg(long, value_name = "BYTES")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    largest_flow: Option<u64>,
    /// How many times slower than 100 Mb/s the links of spine-leaf-live are
    #[arg(long, value_name = "TIMES", default_value_t = SCALE)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    scale: u32,
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

/// Carries out a command.
///
/// Errors: a sentence.
pub fn run(command: MeterCommand) -> Result<(), String> {
    match command {
        MeterCommand::List => {
            for case in CASES {
                println!("{:16} {}; after {}", case.name, case.title, case.source);
            }
        }
        MeterCommand::Run(arguments) => arguments.run()?,
        MeterCommand::Calibrate {
            out,
            ports,
            time_stamps,
            short,
        } => calibrate(&out, &ports, time_stamps, short)?,
        MeterCommand::Report { dir } => report(&dir)?,
        MeterCommand::Paper {
            number,
            setups,
            short,
            repeats,
            out,
            page,
        } => {
            let report = paper(&number, &setups, (short, repeats), &out)?;
            write_paper(&out, &report)?;
            if let Some(page) = page {
                fill_page(&page, &number, &report)?;
            }
        }
        MeterCommand::Compare { first, second } => {
            let table = compare::table(&Results::read(&first)?, &Results::read(&second)?);
            print!("{table}");
        }
        MeterCommand::Reflect { interface } => {
            signals::listen();
            reflect_all(open(&interface)?, &signals::is_over)?;
        }
        MeterCommand::Forward { one, other, faults } => forward::run([&one, &other], faults)?,
    }
    Ok(())
}

fn report(folder: &Path) -> Result<(), String> {
    let results = Results::read(folder)?;
    let path = Store::open(folder)?.write(REPORT, &html::report(&results))?;
    println!("{}", path.display());
    Ok(())
}

/// Runs a paper's cases on each set-up that is here, all in the shortest form or not, and as often
/// as wanted. Returns the report.
fn paper(
    number: &str,
    setups: &[String],
    (short, repeats): (bool, Option<u32>),
    out: &Path,
) -> Result<String, String> {
    let paper = papers::of(number)?;
    if paper.cases.is_empty() {
        return paper_qos::run(&paper, short);
    }
    let mut runs = Vec::new();
    // One instrument, measured before the first set-up.
    let mut calibration = None;
    for setup in setups {
        if !SetupName::of(setup)?.is_here(&own_folder(), Path::new(ORIGINAL_FOLDER)) {
            eprintln!("{setup} is not on this machine");
            continue;
        }
        let folder = papers::folder(out, setup);
        let mut arguments = RunArguments::of_setup(setup, &paper.cases, &folder);
        arguments.short = short;
        arguments.repeats = repeats;
        if let Some(calibration) = &calibration {
            Store::open(&folder)?.set_calibration(calibration)?;
        }
        arguments.run()?;
        let results = Results::read(&folder)?;
        calibration = results.calibration.clone();
        runs.push(results);
    }
    Ok(papers::report(&paper, &runs))
}

/// Writes a paper's report, and its tables and sentences as Markdown.
fn write_paper(out: &Path, page: &str) -> Result<(), String> {
    let store = Store::open(out)?;
    for (name, text) in [(REPORT, page), (MARKDOWN, &markdown(page))] {
        println!("{}", store.write(name, text)?.display());
    }
    Ok(())
}

/// Writes a paper's tables and sentences into a document.
fn fill_page(path: &Path, number: &str, report: &str) -> Result<(), String> {
    let named = path.display().to_string();
    let failed = context(named.as_str());
    let old = std::fs::read_to_string(path).map_err(failed)?;
    let new = with_tables(&old, number, &markdown(report));
    let new = new.map_err(|missing| format!("{named}: {missing}"))?;
    std::fs::write(path, new).map_err(failed)?;
    println!("{named}");
    Ok(())
}

fn calibrate(
    out: &Path,
    ports: &[String],
    stamps: Option<TimeStamps>,
    short: bool,
) -> Result<(), String> {
    signals::listen();
    let store = Store::open(out)?;
    let limits = Limits::unbounded(short);
    let calibration = match ports {
        [near, far] => {
            let mut subject = TestSubject::cable(near, far);
            subject.choose_stamps(stamps)?;
            let mut calibration = calibration::Calibration {
                stamps: subject.stamps,
                ..calibration::Calibration::default()
            };
            let bench = Workbench::new(&subject, &[], &limits, &signals::is_over)?;
            calibration::measure(&bench, "wire", &mut calibration)?;
            calibration
        }
        [] => {
            let stamps = TimeStamps::of_virtual_interfaces(stamps)?;
            runner::calibrate(&limits, stamps, &signals::is_over)?
        }
        _ => return Err("--ports takes two interfaces, as A,B".into()),
    };
    store.set_calibration(&calibration)?;
    println!("{}", calibration.sentences().join("\n"));
    Ok(())
}

impl RunArguments {
    /// Cases on a set-up, with the usual values of all else.
    fn of_setup(setup: &str, cases: &[String], out: &Path) -> Self {
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
            repeats: None,
            short: false,
            echo: false,
            time_stamps: None,
            largest_flow: None,
            scale: SCALE,
            stall: STALL_SECONDS,
            force: false,
            programs: None,
            original: ORIGINAL_FOLDER.into(),
        }
    }

    fn limits(&self) -> Limits {
        let usual = match (self.short, self.setup.is_some()) {
            (true, _) => MAX_SHORT_RULES,
            (false, true) => MAX_OWN_RULES,
            (false, false) => MAX_RULES,
        };
        Limits {
            frames: self.frames,
            short: self.short,
            echo: self.echo,
            max_rules: self.max_rules.unwrap_or(usual),
            max_rate: f64::from(self.max_rate),
            stall: Duration::from_secs(self.stall),
            largest_flow: self.largest_flow.map(|bytes| bytes as f64),
            scale: self.scale,
        }
    }

    fn subject(&self) -> Result<TestSubject, String> {
        if let Some(setup) = &self.setup {
            let programs = self.programs.clone().unwrap_or_else(own_folder);
            return TestSubject::start(setup, &programs, &self.original);
        }
        let (Some(address), Some(near)) = (&self.switch, self.ports.first()) else {
            return Err("--switch needs --ports".into());
        };
        let far = self.ports.get(1).map(String::as_str);
        Ok(TestSubject::existing(address.clone(), near, far))
    }

    fn run(&self) -> Result<(), String> {
        signals::listen();
        let cases = chosen(&self.cases)?;
        let versions = offered_versions(self.openflow.as_deref())?;
        if let Some(setup) = &self.setup {
            let programs = self.programs.clone().unwrap_or_else(own_folder);
            let named = SetupName::of(setup)?;
            if !named.is_here(&programs, &self.original) {
                let hint = named.hint();
                return Err(format!("{setup} is not on this machine{hint}"));
            }
        }
        let limits = self.limits();
        let store = Store::open(&self.out)?;
        let stamps = self.stamps(&versions)?;
        self.calibrated(&store, stamps)?;
        let plan = RunPlan {
            cases: &cases,
            repeats: self.repeats.unwrap_or(if self.short { 1 } else { REPEATS }),
            forced: self.force,
        };
        let ended = isolated(self.setup.is_some(), || {
            let mut subject = self.subject()?;
            subject.choose_stamps(Some(stamps))?;
            let mut bench = Workbench::new(&subject, &versions, &limits, &signals::is_over)?;
            self.guarded(&mut bench, &plan, &store)
        })?;
        report(&self.out)?;
        if ended {
            return Ok(());
        }
        Err("interrupted; the same command goes on where it was".into())
    }

    /// Who stamps the frames of this run.
    ///
    /// Errors: a switch that is there does not answer, or an interface is not usable.
    fn stamps(&self, versions: &[Version]) -> Result<TimeStamps, String> {
        if self.setup.is_some() {
            return TimeStamps::of_virtual_interfaces(self.time_stamps);
        }
        let mut subject = self.subject()?;
        subject.choose_stamps(self.time_stamps)?;
        // What is wrong with the switch or an interface is said before the calibration.
        subject.check_interfaces()?;
        if let Some(address @ SwitchAddress::Active(_)) = &self.switch {
            ControlSession::connect(address, versions, Duration::from_secs(self.stall))?;
        }
        Ok(subject.stamps)
    }

    /// Calibrates the instrument, unless the folder has a calibration with these time stamps.
    fn calibrated(&self, store: &Store, stamps: TimeStamps) -> Result<(), String> {
        if let Some(there) = store.calibration()?
            && [stamps, stamps.on_virtual_interfaces()].contains(&there.stamps)
        {
            return Ok(());
        }
        let limits = Limits::unbounded(self.short);
        let fresh = runner::calibrate(&limits, stamps, &signals::is_over)?;
        store.set_calibration(&fresh)
    }

    /// Runs the plan; a switch that was not started here is as before in the end.
    fn guarded(
        &self,
        bench: &mut Workbench<'_>,
        plan: &RunPlan<'_>,
        store: &Store,
    ) -> Result<bool, String> {
        let info = RunInfo {
            program: format!("ofmeter {}", env!("CARGO_PKG_VERSION")),
            subject: bench.subject.name.clone(),
            version: bench.version().map(|version| version.to_string()),
            repeats: plan.repeats,
            short: self.short,
            echo: self.echo,
            stamps: bench.subject.stamps,
            machine: [machine(), bench.subject.time_stamps()].concat(),
        };
        store.begin(&info)?;
        let mut guard = None;
        if let Some(controller) = &mut bench.controller
            && !bench.subject.is_own
        {
            guard = Some(Guard::new(controller, self.wipe, store)?);
        }
        let ended = runner::run(bench, plan, store, &info);
        if guard.is_some() {
            bench.reconnect_if_closed()?;
        }
        if let (Some(guard), Some(controller)) = (guard, &mut bench.controller) {
            guard.restore(controller)?;
        }
        ended
    }
}
