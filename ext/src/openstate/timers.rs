//! The timers of a state, in microseconds as on the wire.

use bofuss_datapath::Time;

/// Nanoseconds of a microsecond, the unit of timeouts on the wire.
const NANOS_PER_MICRO: u64 = 1000;

/// The timers of a state. A timeout of 0 means that there is no such timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Timers {
    /// Microseconds from the transition until the state becomes `hard_rollback`.
    pub hard_timeout: u32,
    /// Microseconds without a packet until the state becomes `idle_rollback`.
    pub idle_timeout: u32,
    /// The state after the hard timeout.
    pub hard_rollback: u32,
    /// The state after the idle timeout.
    pub idle_rollback: u32,
}

impl Timers {
    /// The timers that run in `state`: a timer whose rollback state is this one does not run.
    pub fn armed_in(mut self, state: u32) -> Self {
        if self.hard_timeout == 0 || self.hard_rollback == state {
            (self.hard_timeout, self.hard_rollback) = (0, 0);
        }
        if self.idle_timeout == 0 || self.idle_rollback == state {
            (self.idle_timeout, self.idle_rollback) = (0, 0);
        }
        self
    }
}

/// The time after this many microseconds; never for 0.
pub(super) fn deadline(from: Time, micros: u32) -> Time {
    match micros {
        0 => Time::NEVER,
        micros => from.after(u64::from(micros) * NANOS_PER_MICRO),
    }
}
