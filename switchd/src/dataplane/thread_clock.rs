//! The clock of a data-plane thread: the time of its switch.

use std::time::{Duration, Instant};

use bofuss_datapath::Time;

/// The time since a switch was made, or one at which it stands still.
#[derive(Clone, Copy)]
pub(super) struct ThreadClock {
    /// When the thread began,
    epoch: Instant,
    /// and the time of the switch then.
    began_at: Duration,
    stopped_at: Option<Time>,
}

impl ThreadClock {
    /// Starts at 0, or where an earlier switch ended.
    pub(super) fn start(at: Time) -> Self {
        Self {
            epoch: Instant::now(),
            began_at: Duration::from_nanos(at.0),
            stopped_at: None,
        }
    }

    /// The time that this thread has run.
    pub(super) fn uptime(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// The time of the switch.
    pub(super) fn now(&self) -> Time {
        let goes_on = || Time((self.began_at + self.uptime()).as_nanos() as u64);
        self.stopped_at.unwrap_or_else(goes_on)
    }

    /// Returns true if the time stands still.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped_at.is_some()
    }

    /// Stops the time, or lets it go on.
    pub(super) fn stop_at(&mut self, time: Option<Time>) {
        self.stopped_at = time;
    }

    /// Lets the time go on from another.
    #[cfg(test)]
    pub(super) fn go_on_from(&mut self, time: Time) {
        self.epoch = Instant::now();
        self.began_at = Duration::from_nanos(time.0);
        self.stopped_at = None;
    }
}
