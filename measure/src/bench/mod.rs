//! The bench runs in rounds: each set-up has its turn in each round, so that changes of the
//! machine's load affect all of them alike.

pub mod case;
pub mod case_groups;
pub mod host_case;
pub mod hostile;
pub mod idle;
pub mod known_flows;
pub mod page;
pub mod report;
pub mod switch_case;
pub mod targets;

use std::path::Path;
use std::time::Instant;

use crate::bench::case::{Case, CaseContext, RATE};
use crate::bench::case_groups::{CaseGroup, GROUPS};
use crate::bench::host_case::{FRAMES, frames};
use crate::bench::report::BenchReport;
use crate::error::Result;
use crate::statistics::median;
use crate::tell::tell;
use crate::testbed::forwarder::Forwarder;
use crate::testbed::net::{self, Bed, HOST_PORT};
use crate::testbed::setup::Setup;
use crate::testbed::traffic::{Load, receive, send};

/// Frames that must arrive before anything is measured, and the rate at which they are sent.
const CHECKED_FRAMES: u64 = 2_000;
const CHECKED_RATE: u64 = 20_000;
/// The number of attempts.
const CHECKS: usize = 3;
/// Runs that measure how many frames the yardstick forwards.
const CAPACITY_RUNS: usize = 3;

/// The options of a bench.
pub struct BenchOptions<'a> {
    /// The folder of our programs.
    pub programs: &'a Path,
    /// Names of cases; empty for all.
    pub cases: &'a [String],
    /// Set-ups.
    pub setups: Vec<Setup>,
    /// The number of rounds, if it is not that of each group.
    pub rounds: Option<usize>,
    /// The largest parameter of a case.
    pub limit: u32,
}

impl BenchOptions<'_> {
    /// Returns true if a case is to run.
    fn names(&self, case: &Case) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|name| name == case.name)
    }
}

/// Runs the bench. What fails is reported, and has no figure.
///
/// Errors: an unknown case; bofuss does not start.
pub fn run(wanted: &BenchOptions<'_>) -> Result<BenchReport> {
    let all = GROUPS.iter().flat_map(|group| group.cases);
    let names: Vec<_> = all.map(|case| case.name).collect();
    for name in wanted.cases {
        if !names.contains(&name.as_str()) {
            return Err(format!("no case {name}; there are {}", names.join(", ")).into());
        }
    }
    let started = Instant::now();
    let mut bench = Bench {
        wanted,
        capacity: 0.0,
        report: BenchReport::default(),
        absent: Vec::new(),
    };
    bench.capacity = bench.capacity()?;
    for group in GROUPS {
        let cases: Vec<&Case> = group.cases.iter().filter(|c| wanted.names(c)).collect();
        let rounds = wanted.rounds.unwrap_or(group.rounds);
        for round in (1..=rounds).filter(|_| !cases.is_empty()) {
            for &setup in &wanted.setups {
                if group.setups.contains(&setup) && !bench.absent.contains(&setup) {
                    let progress = format!("{round}/{rounds} {}", setup.name());
                    bench.turn(group, &cases, setup, &progress)?;
                }
            }
        }
    }
    bench.report.machine = format!(
        "{} {} minutes.",
        machine(),
        started.elapsed().as_secs() / 60
    );
    Ok(bench.report)
}

/// The machine that this runs on, and the beginning of the sentence about the time.
fn machine() -> String {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel: Vec<&str> = release.trim().split('.').take(2).collect();
    let peer = net::run("ovs-vswitchd --version")
        .unwrap_or_default()
        .lines()
        .next()
        .unwrap_or("no Open vSwitch")
        .to_string();
    format!(
        "A machine of {processors} processors; Linux {}; {peer}. The run took",
        kernel.join(".")
    )
}

/// A running bench.
struct Bench<'a> {
    wanted: &'a BenchOptions<'a>,
    /// Frames per second that the yardstick forwards.
    capacity: f64,
    report: BenchReport,
    /// Set-ups that do not work on this machine.
    absent: Vec<Setup>,
}

impl Bench<'_> {
    fn capacity(&self) -> Result<f64> {
        let bed = Bed::new(false, false)?;
        let forwarder = Setup::Yardstick.start(self.wanted.programs)?;
        let context = self.context(&bed, &forwarder, Setup::Yardstick, 0);
        let mut rates = Vec::new();
        for _ in 0..CAPACITY_RUNS {
            let figures = frames(&context, Load::of(FRAMES))?;
            rates.extend(figures.iter().filter(|(m, _)| *m == RATE).map(|(_, f)| *f));
        }
        Ok(median(&rates))
    }

    fn context<'a>(
        &'a self,
        bed: &'a Bed,
        forwarder: &'a Forwarder,
        setup: Setup,
        parameter: u32,
    ) -> CaseContext<'a> {
        CaseContext {
            bed,
            forwarder,
            setup,
            programs: self.wanted.programs,
            parameter,
            capacity: self.capacity,
        }
    }

    /// One turn of a set-up with a group of cases.
    fn turn(
        &mut self,
        group: &CaseGroup,
        cases: &[&Case],
        setup: Setup,
        progress: &str,
    ) -> Result<()> {
        let bed = Bed::new(setup == Setup::Direct, group.offloads)?;
        let forwarder = match setup.start(self.wanted.programs) {
            Ok(forwarder) => forwarder,
            // Programs of others may not work on this machine.
            Err(error) if setup.is_foreign() => {
                let what = format!("{} is left out: {error}", setup.name());
                self.report.failed(what);
                self.absent.push(setup);
                return Ok(());
            }
            Err(error) => return Err(format!("{}: {error}", setup.name()).into()),
        };
        // A busy machine may lose frames at any rate.
        if let Some(error) = (0..CHECKS)
            .map_while(|_| check(&bed, setup).err())
            .nth(CHECKS - 1)
        {
            self.report.failed(format!("{progress}: {error}"));
            return Ok(());
        }
        for case in cases {
            let (counts, values) = case.parameters;
            for &parameter in values.iter().filter(|n| **n <= self.wanted.limit) {
                let name = match counts {
                    "" => case.name.to_string(),
                    counts => format!("{} ({parameter} {counts})", case.name),
                };
                let context = self.context(&bed, &forwarder, setup, parameter);
                match case.run(&context, group.resets) {
                    Ok(mut figures) => {
                        // A set-up that is only in the kernel has no process.
                        figures.retain(|((what, _), n)| *what != "processor" || *n > 0.0);
                        let shown: Vec<_> = figures
                            .iter()
                            .map(|((what, unit), n)| format!("{what} {n:.1} {unit}"))
                            .collect();
                        tell!("{progress} {name}: {}", shown.join(", "));
                        self.report.add(case, parameter, setup, &figures);
                    }
                    Err(error) => self.report.failed(format!("{progress} {name}: {error}")),
                }
            }
        }
        Ok(())
    }
}

/// Checks the result before the time is measured: numbered frames arrive complete, in order and
/// unchanged, or as the set-up has to change them.
fn check(bed: &Bed, setup: Setup) -> Result<()> {
    let load = Load {
        rate: CHECKED_RATE,
        ..Load::of(CHECKED_FRAMES)
    };
    let (tell, ready) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            bed.host(true, || {
                // The closure owns the sender: if nothing can be received, both are dropped, and
                // the wait below ends.
                receive(HOST_PORT, CHECKED_FRAMES, setup.router(), move || {
                    let _ = tell.send(());
                })
            })
        });
        let _ = ready.recv();
        bed.host(false, || send(HOST_PORT, load))?;
        receiving.join().map_err(|_| "the receiver died")?
    })
}
