//! The log: to standard error, at a level that can be changed.

use std::io::IsTerminal;
use std::sync::OnceLock;

use clap::ValueEnum;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, reload};

/// Changes the level of the log that was started.
type Change = Box<dyn Fn(EnvFilter) -> Result<(), String> + Send + Sync>;

static CHANGE: OnceLock<Change> = OnceLock::new();

/// How a line of the log is written.
#[derive(Clone, Copy, Default, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object, for programs.
    Json,
}

/// Starts the log. Errors: a level that is none.
pub fn start(level: &str, format: Format) -> Result<(), String> {
    let (filter, handle) = reload::Layer::new(filter(level)?);
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_target(false)
        // A log that nobody takes any more must not end the switch.
        .log_internal_errors(false);
    let lines = match format {
        Format::Text => lines.with_ansi(colour).boxed(),
        Format::Json => lines.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .init();
    let change: Change = Box::new(move |filter| handle.reload(filter).map_err(|e| e.to_string()));
    // The log is started once.
    let _ = CHANGE.set(change);
    Ok(())
}

/// Errors: a level that is none.
pub fn check(level: &str) -> Result<(), String> {
    filter(level).map(|_| ())
}

/// Logs at another level from now on. Errors: a level that is none; nothing is changed then.
pub fn set(level: &str) -> Result<(), String> {
    let filter = filter(level)?;
    CHANGE.get().map_or(Ok(()), |change| change(filter))
}

fn filter(level: &str) -> Result<EnvFilter, String> {
    EnvFilter::try_new(level).map_err(|error| format!("--log {level}: {error}"))
}
