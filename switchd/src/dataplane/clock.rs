//! The clock of scheduled commits.

use std::str::FromStr;

use bofuss_datapath::Time;
use rustix::time::{ClockId, DynamicClockId, clock_gettime_dynamic};

/// Which clock of the system it is.
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
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "realtime" => Ok(Self::Realtime),
            "tai" => Ok(Self::Tai),
            _ => Err(format!("'{name}' is no clock: write realtime or tai")),
        }
    }
}
