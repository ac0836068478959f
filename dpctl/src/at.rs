//! `--at`: when the changes of a bundle take effect.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::Failure;

/// Reads `--at`: seconds since 1970, or after a plus sign from now. Returns the time since 1970.
/// Errors: what it has to be.
pub(crate) fn time(text: &str) -> Result<Duration, Failure> {
    let (from, seconds) = match text.strip_prefix('+') {
        Some(seconds) => (since_1970(SystemTime::now()), seconds),
        None => (Duration::ZERO, text),
    };
    let seconds = seconds.parse().ok();
    let after = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let time = after.and_then(|after| from.checked_add(after));
    time.ok_or_else(|| Failure::Usage("it is a number of seconds, as 1800000000.5 or +0.5".into()))
}

/// The time since 1970; zero for an earlier one.
pub(crate) fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}
