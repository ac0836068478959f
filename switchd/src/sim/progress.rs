//! How far a run of a scenario is, for its user at a terminal, and Ctrl-C, which ends it.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bofuss_datapath::Time;

use crate::error::{Result, context};
use crate::runtime::stopped;

/// The time between two lines of progress.
const SHOWN_EACH: Duration = Duration::from_secs(1);

/// The progress of a run.
pub struct Progress {
    end: Time,
    began: Instant,
    shown: Instant,
    is_shown: bool,
    is_stopped: Arc<AtomicBool>,
}

impl Progress {
    /// Begins a run up to the time `end`, which SIGINT or SIGTERM ends; a second one ends the
    /// process. Errors: the signals cannot be waited for.
    pub fn begin(end: Time) -> Result<Self> {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let noted = is_stopped.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(context("waiting for signals"))?;
        let first = {
            let _guard = runtime.enter();
            stopped()
        };
        std::thread::spawn(move || {
            runtime.block_on(first);
            noted.store(true, Ordering::Relaxed);
            runtime.block_on(async { stopped().await });
            std::process::exit(130);
        });
        let now = Instant::now();
        Ok(Self {
            end,
            began: now,
            shown: now,
            is_shown: stderr().is_terminal(),
            is_stopped,
        })
    }

    /// Shows how far the run is, now and then. Returns false if it has to end.
    pub fn goes_on(&mut self, now: Time, events: u64) -> bool {
        if self.is_shown && self.shown.elapsed() >= SHOWN_EACH {
            self.shown = Instant::now();
            let text = line(now, self.end, events, self.began.elapsed());
            let _ = write!(stderr(), "\r\x1b[K{text}");
        }
        !self.is_stopped.load(Ordering::Relaxed)
    }

    /// Removes the line.
    pub fn finish(&self) {
        if self.is_shown && self.shown > self.began {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

/// How far a run is after some time of the wall.
fn line(now: Time, end: Time, events: u64, elapsed: Duration) -> String {
    let share = now.0 as f64 / end.0.max(1) as f64;
    let left = elapsed.as_secs_f64() * (1.0 - share) / share.max(1e-9);
    let left = match left {
        seconds if seconds < 100.0 => format!("{seconds:.0} s"),
        seconds if seconds < 6_000.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.0} h", seconds / 3600.0),
    };
    let [now, end] = [now, end].map(|time| time.0 as f64 / 1e9);
    format!("{now:.3} of {end} s, {events} events, about {left} left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_as_long_as_the_run_was_for_its_share() {
        let at = |now: f64, elapsed| {
            let now = Time((now * 1e9) as u64);
            line(now, Time(10_000_000_000), 7, Duration::from_secs(elapsed))
        };
        assert_eq!(at(2.5, 20), "2.500 of 10 s, 7 events, about 60 s left");
        assert_eq!(at(0.1, 20), "0.100 of 10 s, 7 events, about 33 min left");
        assert_eq!(at(0.001, 20), "0.001 of 10 s, 7 events, about 56 h left");
    }
}
