//! The surroundings of switches: a tokio runtime, enough open files, and the signals that end it.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

use crate::error::{Result, context};

/// Most bytes of frames that a switch holds: received, queued, and buffered for controllers.
pub const POOL_BYTES: usize = 64 << 20;

/// Open files that a switch with a few ports and connections needs.
const MIN_OPEN_FILES: u64 = 64;

/// The time that a resolver thread waits for its next lookup before it ends.
const THREAD_KEEP_ALIVE: Duration = Duration::from_millis(100);

/// Runs `work`, which starts switches, to its end. Errors: those of `work`, or a limit of the
/// system is too low.
pub fn with_runtime(work: impl Future<Output = Result<()>>) -> Result<()> {
    check_limits()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // A resolver thread that was started early has rights that the process gives up later.
        .thread_keep_alive(THREAD_KEEP_ALIVE)
        .build()
        .map_err(context("waiting for events"))?;
    runtime.block_on(work)
}

/// Raises the limit on open files as far as permitted, since a process may have many switches.
///
/// Errors: the limit is too low for one switch.
fn check_limits() -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    let current = limit.maximum;
    // If it may not be raised, it stays.
    let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < MIN_OPEN_FILES => Err(format!(
            "only {limit} files may be open at a time, and a switch needs {MIN_OPEN_FILES}; \
             type: ulimit -n 1024"
        )
        .into()),
        Some(_) | None => Ok(()),
    }
}

/// Waits for SIGTERM or SIGINT. A signal after the call counts, even before the first poll.
///
/// Panics outside a tokio runtime.
pub fn stopped() -> impl Future<Output = ()> {
    let mut terminate = signal(SignalKind::terminate()).expect("it can be handled");
    let mut interrupt = signal(SignalKind::interrupt()).expect("it can be handled");
    async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}
