//! Reads times of files, which are in seconds, as nanoseconds.

use bofuss_datapath::Time;

/// The latest time: 150 days.
const MAX_SECONDS: f64 = 12_960_000.0;

/// Seconds as nanoseconds. Errors: a negative time, or one above [`MAX_SECONDS`].
pub(crate) fn nanoseconds(key: &str, seconds: f64) -> Result<u64, String> {
    if !(0.0..=MAX_SECONDS).contains(&seconds) {
        return Err(format!("{key} is out of range"));
    }
    Ok((seconds * 1e9).round() as u64)
}

/// Seconds as a time. Errors: likewise.
pub(crate) fn time(key: &str, seconds: f64) -> Result<Time, String> {
    nanoseconds(key, seconds).map(Time)
}
