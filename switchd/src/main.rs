//! `bofuss`: the daemon's command line.
#![forbid(unsafe_code)]
// The help texts of options use brackets for what may be left out.
#![allow(rustdoc::broken_intra_doc_links)]

mod config;
mod dataplane;
mod demo;
mod face;
mod port;
mod profile;
mod run;
mod rundir;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// Open files that a switch with a few ports and connections needs.
const MIN_OPEN_FILES: u64 = 64;

/// A user-space OpenFlow switch.
#[derive(Parser)]
#[command(name = "bofuss", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// What to log: error, warn, info, debug or trace [default: info, in the demo warn].
    #[arg(long, global = true, value_name = "LEVEL")]
    log: Option<String>,
}

#[derive(Subcommand)]
enum Command {
    /// Run a switch in the foreground until SIGTERM or Ctrl-C.
    Run(Box<config::Options>),
    /// Show what a switch does: three hosts, pings, a TCP transfer, tables, a packet explained.
    Demo(demo::DemoOptions),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let level = cli.log.as_deref().unwrap_or(match cli.command {
        Command::Run(_) => "info",
        Command::Demo(_) => "warn",
    });
    let filter = match EnvFilter::try_new(level) {
        Ok(filter) => filter,
        Err(error) => return usage(&format!("--log {level}: {error}")),
    };
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colour)
        .with_target(false)
        // A log that nobody takes any more must not end the switch.
        .log_internal_errors(false)
        .init();
    if let Err(error) = check_limits() {
        eprintln!("bofuss: {error}");
        return ExitCode::FAILURE;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime of one thread needs two descriptors");
    let result = match cli.command {
        Command::Run(options) => match options.resolve() {
            Ok(config) => runtime.block_on(serve(config)),
            Err(error) => return usage(&error),
        },
        Command::Demo(options) => runtime.block_on(demo::demo(options, stopped())),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bofuss: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Refuses a limit that would stop the switch half-way.
fn check_limits() -> Result<(), String> {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    match files {
        Some(limit) if limit < MIN_OPEN_FILES => Err(format!(
            "only {limit} files may be open at a time, and a switch needs {MIN_OPEN_FILES}; \
             type: ulimit -n 1024"
        )),
        Some(_) | None => Ok(()),
    }
}

fn usage(error: &str) -> ExitCode {
    eprintln!("bofuss: {error}");
    ExitCode::from(2)
}

async fn serve(config: config::Config) -> Result<(), String> {
    let running = run::start(config, None).await?;
    running.until(stopped()).await
}

/// Done when the user or the system wants the switch to end.
async fn stopped() {
    let wait = |kind| signal(kind).expect("these signals can be handled");
    let (mut terminate, mut interrupt) =
        (wait(SignalKind::terminate()), wait(SignalKind::interrupt()));
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
