//! The clock of a data-plane thread: the time of its switch.

use std::time::{Duration, Instant};

use bofuss_datapath::Time;

/// The time since a switch was made, or one that a test sets.
pub(super) struct ThreadClock {
    /// Time 0 of the switch.
    epoch: Instant,
    #[cfg(test)]
    stopped_at: Option<Time>,
}

impl ThreadClock {
    /// Starts at 0.
    pub(super) fn start() -> Self {
        Self {
            epoch: Instant::now(),
            #[cfg(test)]
            stopped_at: None,
        }
    }

    /// The time that the switch has run.
    pub(super) fn uptime(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// The time of the switch.
    pub(super) fn now(&self) -> Time {
        #[cfg(test)]
        if let Some(at) = self.stopped_at {
            return at;
        }
        Time(self.uptime().as_nanos() as u64)
    }

    /// Returns true if a test has set the time.
    #[cfg(test)]
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped_at.is_some()
    }

    /// Stops the time, or lets it go on.
    #[cfg(test)]
    pub(super) fn stop_at(&mut self, time: Option<Time>) {
        self.stopped_at = time;
    }

    /// Lets the time go on from another.
    #[cfg(test)]
    pub(super) fn go_on_from(&mut self, time: Time) {
        self.epoch = Instant::now() - Duration::from_nanos(time.0);
        self.stopped_at = None;
    }
}
