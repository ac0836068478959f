//! The clock of scheduled commits: when it is read, and until when the thread may sleep.

use std::str::FromStr;

use bofuss_datapath::Time;
use bofuss_ext::Switch;
use rustix::time::{ClockId, DynamicClockId, clock_gettime_dynamic};

use crate::error::{Error, Result};

/// The time before a commit at which the thread stops sleeping, and polls.
const SPIN_NS: u64 = 200_000;
/// The most by which two clocks differ that are read one after the other, without a step.
const CLOCK_NOISE_NS: u64 = 2_000;

/// A clock of the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BundleClock {
    /// The system's time, UTC.
    #[default]
    Realtime,
    /// International atomic time, which has no leap seconds.
    Tai,
}

impl BundleClock {
    /// Nanoseconds since 1970.
    pub fn nanos(self) -> u64 {
        let id = match self {
            Self::Realtime => DynamicClockId::Known(ClockId::Realtime),
            Self::Tai => DynamicClockId::Tai,
        };
        let now = clock_gettime_dynamic(id).expect("Linux has both clocks");
        now.tv_sec as u64 * Time::SEC + now.tv_nsec as u64
    }
}

impl FromStr for BundleClock {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        match name {
            "realtime" => Ok(Self::Realtime),
            "tai" => Ok(Self::Tai),
            _ => Err(format!("'{name}' is no clock: write realtime or tai").into()),
        }
    }
}

/// Returns the clock's reading at [`Time`] 0, in nanoseconds since 1970, if the switch has another
/// one: the clock was set, or runs at another rate than [`Time`]. The clock is read when there are
/// messages, which may schedule a commit, and at each wake-up while a commit waits for its time; a
/// timer of the poller wakes the thread when the clock is set.
pub(super) fn changed_clock(
    switch: &Switch,
    has_inputs: bool,
    now: Time,
    clock_ns: impl FnOnce() -> u64,
) -> Option<u64> {
    if !has_inputs && !switch.follows_clock() {
        return None;
    }
    let nanos_at_0 = clock_ns().saturating_sub(now.0);
    let known = switch.clock().nanos_at_0();
    let is_known = known.is_some_and(|known| known.abs_diff(nanos_at_0) <= CLOCK_NOISE_NS);
    (!is_known).then_some(nanos_at_0)
}

/// Returns when the timer is to wake the thread for what is due at `tick`; `None` if it must not
/// sleep.
pub(super) fn alarm(switch: &Switch, tick: Time, now: Time) -> Option<Time> {
    // Waking up takes too long to sleep until just before the time of a commit.
    let early = if switch.waits_until() == Some(tick) {
        SPIN_NS
    } else {
        0
    };
    let alarm = Time(tick.0.saturating_sub(early));
    (alarm > now).then_some(alarm)
}

#[cfg(test)]
mod tests;
