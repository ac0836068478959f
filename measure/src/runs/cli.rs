//! The command line of the meter: what users type to measure a switch.

use std::path::{Path, PathBuf};

use clap::Subcommand;

use crate::cases::CASES;
use crate::cases::calibration;
use crate::cases::workbench::{Limits, Workbench};
use crate::error::Result;
use crate::reports::compare;
use crate::runs::paper_run::PaperArguments;
use crate::runs::results::{Results, Store};
use crate::runs::run_arguments::{RunArguments, report};
use crate::runs::runner;
use crate::runs::signals;
use crate::subject::address::SwitchAddress;
use crate::subject::controller::STALL_SECONDS;
use crate::subject::faults::Faults;
use crate::subject::forward;
use crate::subject::reflector::reflect_all;
use crate::subject::time_stamps::TimeStamps;
use crate::subject::{TestSubject, virtual_stamps};
use crate::tell::say;
use crate::testbed::traffic::open_whole;

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
        /// The clock that stamps frames [default: the network card if both have one clock, else the
        /// kernel, else the program]
        #[arg(long, value_name = "WHO")]
        time_stamps: Option<TimeStamps>,
        /// Fewer sizes, loads and frames
        #[arg(long)]
        short: bool,
    },
    /// Put back the rules that a run removed from a switch, if it was killed before it did
    Restore {
        /// The switch, as for run
        #[arg(long, value_name = "ADDRESS")]
        switch: SwitchAddress,
        /// The folder of the run
        #[arg(long, default_value = "ofmeter-results", value_name = "DIR")]
        out: PathBuf,
        /// Seconds that the switch may take to answer
        #[arg(long, value_name = "SECONDS", default_value_t = STALL_SECONDS)]
        #[arg(value_parser = clap::value_parser!(u64).range(1..=3600))]
        stall: u64,
    },
    /// Write the report of a run: report.html in its folder
    Report {
        /// The folder of the results
        dir: PathBuf,
    },
    /// Run a paper's experiments here, and put its tables and figures beside ours
    Paper(PaperArguments),
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
        /// As delay=500us,spread=50us,loss=1%,duplicate=0.1%,reorder=0.1%,seed=7
        #[arg(long, default_value = "", value_name = "FAULTS")]
        faults: Faults,
        /// Keep the delays of the meter's frames from the first to the second interface here, by
        /// the kernel's stamps
        #[arg(long, value_name = "FILE", hide = true)]
        truth: Option<PathBuf>,
    },
}

/// Carries out a command.
///
/// Errors: a sentence.
pub fn run(command: MeterCommand) -> Result<()> {
    match command {
        MeterCommand::List => {
            for case in CASES {
                say(format_args!(
                    "{:16} {}; after {}",
                    case.name, case.title, case.source
                ))?;
            }
        }
        MeterCommand::Run(arguments) => arguments.run()?,
        MeterCommand::Calibrate {
            out,
            ports,
            time_stamps,
            short,
        } => calibrate(&out, &ports, time_stamps, short)?,
        MeterCommand::Restore { switch, out, stall } => {
            RunArguments::restore(&switch, &out, stall)?;
        }
        MeterCommand::Report { dir } => report(&dir)?,
        MeterCommand::Paper(arguments) => arguments.run()?,
        MeterCommand::Compare { first, second } => {
            let table = compare::table(&Results::read(&first)?, &Results::read(&second)?);
            say(table.trim_end_matches('\n'))?;
        }
        MeterCommand::Reflect { interface } => {
            signals::listen();
            reflect_all(open_whole(&interface)?, None, &signals::is_over)?;
        }
        MeterCommand::Forward {
            one,
            other,
            faults,
            truth,
        } => forward::run([&one, &other], faults, truth.as_deref())?,
    }
    Ok(())
}

fn calibrate(out: &Path, ports: &[String], stamps: Option<TimeStamps>, short: bool) -> Result<()> {
    signals::listen();
    let store = Store::open(out)?;
    let _claim = store.claim()?;
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
            let stamps = virtual_stamps(stamps)?;
            runner::calibrate(&limits, stamps, &signals::is_over)?
        }
        _ => return Err("--ports takes two interfaces, as A,B".into()),
    };
    store.set_calibration(&calibration)?;
    say(calibration.sentences().join("\n"))
}
