//! The log: to standard error, at a level that can be changed.

use std::io::IsTerminal;
use std::sync::OnceLock;

use tracing_subscriber::EnvFilter;

/// Changes the level of the log that was started.
type Change = Box<dyn Fn(EnvFilter) -> Result<(), String> + Send + Sync>;

static CHANGE: OnceLock<Change> = OnceLock::new();

/// Starts the log. Errors: a level that is none.
pub fn start(level: &str) -> Result<(), String> {
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter(level)?)
        .with_writer(std::io::stderr)
        .with_ansi(colour)
        .with_target(false)
        // A log that nobody takes any more must not end the switch.
        .log_internal_errors(false)
        .with_filter_reloading();
    let handle = builder.reload_handle();
    builder.init();
    let change: Change = Box::new(move |filter| handle.reload(filter).map_err(|e| e.to_string()));
    // The log is started once.
    let _ = CHANGE.set(change);
    Ok(())
}

/// Logs at another level from now on. Errors: a level that is none; nothing is changed then.
pub fn set(level: &str) -> Result<(), String> {
    let filter = filter(level)?;
    CHANGE.get().map_or(Ok(()), |change| change(filter))
}

fn filter(level: &str) -> Result<EnvFilter, String> {
    EnvFilter::try_new(level).map_err(|error| format!("--log {level}: {error}"))
}
