//! `bofuss`: the daemon's command line.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]
// The help texts of options use brackets for what may be left out.
#![allow(rustdoc::broken_intra_doc_links)]

mod account;
mod capture;
mod config;
mod control;
mod ctl;
mod dataplane;
mod demo;
mod drivers;
mod edits;
mod error;
mod export;
mod features;
mod front;
mod generate;
mod http;
mod kept;
mod log;
mod manager;
mod metrics;
mod offline;
mod output;
mod p4;
mod p4_switch;
mod past;
mod port;
mod process;
mod profile;
mod recent;
mod record;
mod refusal;
mod reload;
mod replay;
mod rights;
mod run;
mod rundir;
mod runtime;
mod sim;
mod snoop;
mod state_dir;
mod still;
mod successor;
mod tell;
mod trace;
mod web;

use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::error::{Error, Result};
use crate::output::print;
use crate::runtime::{stopped, with_runtime};

#[cfg(feature = "allocator")]
#[global_allocator]
static ALLOCATOR: bofuss_ports::Allocator = bofuss_ports::allocator();

/// The place of the options that all commands have in the help: after a command's own.
const LAST: usize = 100;

/// A user-space OpenFlow switch.
#[derive(Parser)]
#[command(name = "bofuss", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,
    /// The log level: error, warn, info, debug or trace [default: info, in the demo warn].
    #[arg(long, global = true, value_name = "LEVEL", display_order = LAST)]
    log: Option<String>,
    /// The form of the log: text, or json, one object a line.
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        display_order = LAST,
        hide_possible_values = true,
        default_value = "text"
    )]
    log_format: log::LogFormat,
}

#[derive(Subcommand)]
enum CliCommand {
    /// Run a switch in the foreground until SIGTERM or Ctrl-C.
    Run(Box<config::Options>),
    /// Show what a switch does: three hosts, pings, a TCP transfer, tables, a packet explained.
    Demo(demo::DemoOptions),
    /// Send one command to a running switch; `bofuss ctl list` lists them.
    Ctl {
        /// [NAME] COMMAND [ARGUMENT...]: the switch's name, which may be left out if only one runs.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        #[arg(value_name = "WORD")]
        words: Vec<String>,
    },
    /// Explain what a switch does with a packet: a running one, or one that files describe (needs
    /// no rights).
    Trace(Box<trace::TraceOptions>),
    /// Run a network of switches, hosts and controllers that a file describes, on a virtual clock
    /// (needs no rights).
    Sim(Box<sim::SimOptions>),
    /// Play what `bofuss run --record` wrote, and say where the switch does something else now
    /// (needs no rights).
    Replay(Box<replay::ReplayOptions>),
    /// Run P4 programs for v1model, as `p4c-bm2-ss` compiles them (needs no rights).
    #[command(subcommand)]
    P4(p4::P4Command),
    /// Show a running switch in a browser of this machine: its pipeline with counters, a packet's
    /// path, OpenFlow messages, state machines. It only looks.
    Web(web::WebOptions),
    /// Let a running switch, and all others of its process, read their configuration file again, as
    /// SIGHUP does.
    Reload {
        /// The switch's name [default: the only one that runs, or those of the only process].
        name: Option<String>,
    },
    /// Print shell completions or a manual page.
    #[command(hide = true)]
    Generate {
        /// The text to print.
        what: generate::Generate,
    },
}

/// BOFUSS's programs `ofdatapath` and `ofprotocol`, and bmv2's, are this program under other names.
fn main() -> ExitCode {
    #[cfg(feature = "allocator")]
    bofuss_ports::return_memory_at_once();
    let first = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&first).file_name().and_then(|name| name.to_str());
    let mut programs = front::simple_switch::PROGRAMS.into_iter();
    if let Some(program) = programs.find(|program| name == Some(program)) {
        return front::simple_switch::main(program);
    }
    match name {
        Some("ofdatapath") => front::ofdatapath::main(),
        Some("ofprotocol") => front::ofprotocol::main(),
        Some(_) | None => bofuss(),
    }
}

fn bofuss() -> ExitCode {
    let cli = Cli::parse();
    let level = cli.log.as_deref().unwrap_or(match cli.command {
        CliCommand::Run(_) => config::DEFAULT_LEVEL,
        CliCommand::Demo(_)
        | CliCommand::Ctl { .. }
        | CliCommand::Trace(_)
        | CliCommand::Sim(_)
        | CliCommand::Replay(_)
        | CliCommand::P4(_)
        | CliCommand::Web(_)
        | CliCommand::Reload { .. } => "warn",
        CliCommand::Generate { .. } => "error",
    });
    if let Err(error) = log::start(level, cli.log_format) {
        return error.into_usage().report("bofuss");
    }
    let result = match cli.command {
        CliCommand::Run(mut options) => {
            kept::begin();
            options.log.clone_from(&cli.log);
            configured(*options)
                .map_err(Error::into_usage)
                .and_then(|(source, configs)| with_runtime(serve(source, configs)))
        }
        CliCommand::Demo(options) => with_runtime(async { demo::demo(options, stopped()).await }),
        CliCommand::Ctl { words } => ctl::command(&words).and_then(|text| print(&text)),
        CliCommand::Trace(options) => options.run(),
        CliCommand::Sim(options) => sim::moment::run(*options),
        CliCommand::Replay(options) => replay::moment::run(*options),
        CliCommand::P4(command) => command.run(),
        CliCommand::Web(options) => options.run(),
        CliCommand::Reload { name } => ctl::reload(name.as_deref()).and_then(|text| print(&text)),
        CliCommand::Generate { what } => {
            let mut text = Vec::new();
            let made = generate::print(what, Cli::command(), &mut text);
            made.map_err(Error::from)
                .and_then(|()| print(&String::from_utf8_lossy(&text)))
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report("bofuss"),
    }
}

/// Reads the configuration, and sets its log level. Errors: a sentence for the user.
fn configured(options: config::Options) -> Result<(reload::ConfigSource, Vec<config::Config>)> {
    let (source, configs) = reload::ConfigSource::read(options)?;
    log::set(&configs[0].log)?;
    Ok((source, configs))
}

async fn serve(source: reload::ConfigSource, mut configs: Vec<config::Config>) -> Result<()> {
    let mut stop = std::pin::pin!(stopped());
    if let [config] = &configs[..]
        && config.p4.is_some()
    {
        return p4_switch::serve(source, configs.remove(0), stop).await;
    }
    let replaces = configs.iter().any(|config| config.replaces);
    // Who ends it before it is ready ends nothing else: a switch that it would replace goes on.
    let prepared = tokio::select! {
        prepared = process::Process::prepare(configs, source, None) => prepared?,
        () = &mut stop, if replaces => return Ok(()),
    };
    let process = prepared.complete().await?;
    process.run(|| Ok(()), stop).await
}
