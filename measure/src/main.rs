//! `ofmeter`: measures OpenFlow switches, any by the cases of the papers, ours by its bench.
//!
//! [`cases`] lists the cases of the meter, and has the workbench on which they run;
//! [`data_centre`] and [`openqflow`] have larger experiments. [`subject`] is what is measured,
//! with a controller and a probe of frames; [`testbed`] has the hosts and set-ups on this
//! machine. [`runs`] carries out cases in rounds and keeps their results, and [`reports`] shows
//! them. The developers' [`mod@bench`] uses these, and is used by none.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

mod bench;
mod cases;
mod data_centre;
mod error;
mod generate;
mod openqflow;
mod reports;
mod runs;
mod statistics;
mod subject;
mod tell;
mod testbed;

use std::alloc::System;
use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bofuss_ports::HugePageAllocator;
use clap::{CommandFactory, Parser, Subcommand};
use hdrhistogram::Histogram;

use crate::error::Result;
use crate::generate::Generate;
use crate::openqflow::live_shares::SharesArguments;
use crate::runs::cli::MeterCommand;
use crate::tell::{say, tell};
use crate::testbed::setup::Setup;
use crate::testbed::traffic::Load;

/// With huge pages, as the switch has it: one in this process is measured, too.
#[global_allocator]
static ALLOCATOR: HugePageAllocator<System> = HugePageAllocator(System);

/// Measure any OpenFlow switch by the experiments of the papers.
#[derive(Parser)]
#[command(name = "ofmeter", version)]
struct Cli {
    #[command(subcommand)]
    verb: CliCommand,
}

#[derive(Subcommand)]
enum CliCommand {
    #[command(flatten)]
    Meter(MeterCommand),
    /// Print the manual page or completions for a shell
    Generate {
        /// The text to print
        what: Generate,
    },
    /// For developers: measure bofuss, a bare forwarder, the bridge and Open vSwitch in turns
    Bench {
        /// A case; repeat for more [default: all]
        #[arg(long = "case", value_name = "NAME")]
        cases: Vec<String>,
        /// A set-up: direct, bridge, yardstick, recvmmsg, bofuss, bofuss-static, ovs, ovs-afxdp,
        /// ovs-tso, bofuss-normal, bofuss-arp-path, bofuss-openqflow
        /// [default: all here]
        #[arg(long = "setup", value_name = "NAME")]
        setups: Vec<String>,
        /// The number of rounds [default: 1 to 7, fewer where they are longer]
        #[arg(long, value_name = "COUNT")]
        #[arg(value_parser = clap::value_parser!(u8).range(1..))]
        rounds: Option<u8>,
        /// Skip cases with more flows, rules or masks [default: none]
        #[arg(long, value_name = "COUNT")]
        #[arg(default_value_t = u32::MAX, hide_default_value = true)]
        limit: u32,
        /// The folder for the table, the JSON and the plots
        #[arg(long, default_value = "bench", value_name = "FOLDER")]
        out: PathBuf,
        /// The folder of bofuss and the bare forwarder [default: that of this program]
        #[arg(long, value_name = "FOLDER")]
        programs: Option<PathBuf>,
    },
    /// For developers: play the evaluation of OpenQFlow, and draw what comes
    Fairness {
        /// The folder for the plots and the JSON
        #[arg(long, default_value = "bench", value_name = "FOLDER")]
        out: PathBuf,
        /// A pcap or pcapng file whose flows are divided into bins [default: a trace from a seed]
        #[arg(long, value_name = "FILE")]
        trace: Option<PathBuf>,
    },
    /// For developers: measure what four subscribers get of a port on real interfaces
    Shares(SharesArguments),
    /// For developers: write the figures of a run into docs/performance.md
    Page {
        /// The folder with the run's JSON
        run: PathBuf,
        /// The folder of performance.md
        docs: PathBuf,
    },
    /// Become a program that ends with its parent
    #[command(hide = true)]
    Hold {
        /// The parent
        parent: u32,
        /// The program and its arguments
        #[arg(last = true, required = true)]
        words: Vec<OsString>,
    },
    /// Send 64-byte UDP frames out of an interface
    Send {
        /// The interface
        interface: String,
        /// Their number
        frames: u64,
        /// Frames per second; 0 is as fast as possible
        #[arg(long, default_value_t = 0)]
        rate: u64,
        /// Flows over which the frames are spread at random
        #[arg(long, default_value_t = 1)]
        flows: u32,
    },
    /// Answer UDP datagrams until stopped
    Echo {
        /// The local address
        address: Ipv4Addr,
        /// The local UDP port
        port: u16,
    },
    /// Measure the time of UDP echoes, one at a time
    Rtt {
        /// The address of `ofmeter echo`
        address: Ipv4Addr,
        /// Its UDP port
        port: u16,
        /// Their number
        #[arg(default_value_t = 10_000)]
        count: usize,
        /// Bytes of each frame
        #[arg(default_value_t = 64)]
        size: usize,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell!("ofmeter: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(verb: CliCommand) -> Result<()> {
    match verb {
        CliCommand::Meter(command) => runs::cli::run(command)?,
        CliCommand::Generate { what } => {
            let mut text = Vec::new();
            generate::print(what, Cli::command(), &mut text).map_err(|e| format!("output: {e}"))?;
            say(String::from_utf8_lossy(&text).trim_end())?;
        }
        CliCommand::Bench {
            cases,
            setups,
            rounds,
            limit,
            out,
            programs,
        } => {
            let program = std::env::current_exe().map_err(|e| format!("own path: {e}"))?;
            let own = program.parent().expect("a program is in a folder");
            let programs = programs.as_deref().unwrap_or(own);
            let wanted = bench::BenchOptions {
                programs,
                cases: &cases,
                setups: chosen(&setups, programs)?,
                rounds: rounds.map(usize::from),
                limit,
            };
            let mut report = bench::run(&wanted)?;
            report.write(&out)?;
            let table = report.table();
            say(format_args!("{table}\nwritten to {}", out.display()))?;
            if !report.failures.is_empty() {
                return Err(format!("what failed:\n{}", report.failures.join("\n")).into());
            }
        }
        CliCommand::Fairness { out, trace } => {
            let table = openqflow::fairness::run(&out, trace.as_deref())?;
            say(format_args!("{table}\nwritten to {}", out.display()))?;
        }
        CliCommand::Shares(arguments) => arguments.run()?,
        CliCommand::Page { run, docs } => bench::page::write(&run, &docs)?,
        CliCommand::Hold { parent, words } => match testbed::held::hold(parent, &words)? {},
        CliCommand::Send {
            interface,
            frames,
            rate,
            flows,
        } => {
            let load = Load {
                rate,
                flows,
                ..Load::of(frames)
            };
            let took = testbed::traffic::send(&interface, load)?;
            let rate = frames as f64 / took.as_secs_f64();
            say(format_args!(
                "{frames} frames in {took:?}: {rate:.0} per second"
            ))?;
        }
        CliCommand::Echo { address, port } => testbed::echo::serve(address, port, || false)?,
        CliCommand::Rtt {
            address,
            port,
            count,
            size,
        } => {
            print_times(&testbed::echo::ask((address, port), count, size, false)?)?;
        }
    }
    Ok(())
}

/// Prints times, which are in nanoseconds. Errors: those of [`say`].
fn print_times(times: &Histogram<u64>) -> Result<()> {
    for (name, quantile) in [("p50", 0.5), ("p99", 0.99), ("most", 1.0)] {
        let us = times.value_at_quantile(quantile) as f64 / 1000.0;
        say(format_args!("{name} {us:.1} us"))?;
    }
    say(format_args!("mean {:.1} us", times.mean() / 1000.0))
}

/// The set-ups with these names; without names, those that this machine has.
fn chosen(names: &[String], programs: &Path) -> Result<Vec<Setup>> {
    if names.is_empty() {
        let (here, absent): (Vec<_>, Vec<_>) =
            Setup::ALL.into_iter().partition(|s| s.is_here(programs));
        for setup in absent {
            tell!("{} is not on this machine", setup.name());
        }
        return Ok(here);
    }
    names
        .iter()
        .map(|name| {
            let found = Setup::ALL.into_iter().find(|setup| setup.name() == name);
            found.ok_or_else(|| format!("no set-up is called {name}").into())
        })
        .collect()
}
