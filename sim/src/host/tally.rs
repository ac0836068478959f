//! The counters of receivers: delays, duplicates and reordered packets, bytes by interval.

use bofuss_datapath::Time;
use hdrhistogram::Histogram;
use serde::Serialize;

/// The length of a [`SequenceWindow`], in numbers of the sequence.
const REMEMBERED: u64 = 64;
/// The decimal digits to which quantiles are exact.
const DIGITS: u8 = 2;
/// The most intervals of a [`Series`]: ten minutes of milliseconds. Later bytes count in the last
/// one.
const MAX_INTERVALS: u64 = 600_000;

/// The distribution of some times, in nanoseconds.
#[derive(Clone, Debug)]
pub struct Times {
    histogram: Histogram<u32>,
    sum_ns: u128,
}

impl Default for Times {
    fn default() -> Self {
        let histogram = Histogram::new(DIGITS);
        let mut times = Self {
            histogram: histogram.expect("so many digits are allowed"),
            sum_ns: 0,
        };
        times.histogram.auto(true);
        times
    }
}

impl Times {
    /// Adds a time.
    pub fn add(&mut self, ns: u64) {
        let recorded = self.histogram.record(ns);
        recorded.expect("a histogram that grows takes all values");
        self.sum_ns += u128::from(ns);
    }

    /// Adds all times of `other`.
    pub fn join(&mut self, other: &Self) {
        let joined = self.histogram.add(&other.histogram);
        joined.expect("a histogram that grows takes all values");
        self.sum_ns += other.sum_ns;
    }

    /// The summary; `None` if there are no times.
    pub fn summary(&self) -> Option<TimesSummary> {
        let count = self.histogram.len();
        if count == 0 {
            return None;
        }
        let histogram = &self.histogram;
        Some(TimesSummary {
            min_ms: milliseconds(histogram.min()),
            mean_ms: milliseconds((self.sum_ns / u128::from(count)) as u64),
            median_ms: milliseconds(histogram.value_at_quantile(0.5)),
            p99_ms: milliseconds(histogram.value_at_quantile(0.99)),
            max_ms: milliseconds(histogram.max()),
        })
    }
}

/// Nanoseconds as milliseconds.
pub(crate) fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// The summary of a distribution, in milliseconds; quantiles are exact within 1 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TimesSummary {
    /// The least.
    pub min_ms: f64,
    /// The mean.
    pub mean_ms: f64,
    /// The median.
    pub median_ms: f64,
    /// The quantile 0.99.
    pub p99_ms: f64,
    /// The greatest.
    pub max_ms: f64,
}

/// The order of a packet among those that arrived before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It was sent after all that arrived before.
    InOrder,
    /// A later one arrived before it. Spec: RFC 4737 section 3.3.
    Reordered,
    /// It arrived before already.
    Duplicate,
}

/// The numbers of a sequence that arrived. It remembers the last 64; an older number counts as
/// reordered.
#[derive(Clone, Copy, Debug, Default)]
pub struct SequenceWindow {
    /// One more than the highest that arrived.
    next: u64,
    /// Bit i: whether number `next - 1 - i` arrived.
    arrived: u64,
}

impl SequenceWindow {
    /// Notes that a number arrived, of which the low 32 bits are known.
    pub fn arrive(&mut self, low: u32) -> Arrival {
        let distance = low.wrapping_sub(self.next as u32) as i32;
        if distance >= 0 {
            let shift = distance as u32 + 1;
            let before = self.arrived.checked_shl(shift).unwrap_or(0);
            self.arrived = before | 1;
            self.next += u64::from(shift);
            return Arrival::InOrder;
        }
        let age = u64::from(distance.unsigned_abs()) - 1;
        if age >= REMEMBERED {
            return Arrival::Reordered;
        }
        let bit = 1 << age;
        let came_before = self.arrived & bit != 0;
        self.arrived |= bit;
        if came_before {
            Arrival::Duplicate
        } else {
            Arrival::Reordered
        }
    }
}

/// The bytes that arrived in each interval of a fixed length.
#[derive(Clone, Debug, Default)]
pub struct Series {
    start: Time,
    interval_ns: u64,
    bytes: Vec<u64>,
}

impl Series {
    /// Makes a series with intervals of `interval_ns` from `start` on; with 0, nothing is counted.
    pub fn new(start: Time, interval_ns: u64) -> Self {
        Self {
            start,
            interval_ns,
            bytes: Vec::new(),
        }
    }

    /// Counts bytes that arrived now.
    pub fn add(&mut self, now: Time, bytes: u64) {
        if self.interval_ns == 0 {
            return;
        }
        let interval = now.since(self.start) / self.interval_ns;
        let at = interval.min(MAX_INTERVALS - 1) as usize;
        if self.bytes.len() <= at {
            self.bytes.resize(at + 1, 0);
        }
        self.bytes[at] += bytes;
    }

    /// Adds another series with the same intervals.
    pub fn join(&mut self, other: &Self) {
        if self.bytes.len() < other.bytes.len() {
            self.bytes.resize(other.bytes.len(), 0);
        }
        for (mine, theirs) in self.bytes.iter_mut().zip(&other.bytes) {
            *mine += theirs;
        }
    }

    /// The rate of each interval, in Mb/s.
    pub fn mbps(&self) -> Vec<f64> {
        let rates = self.bytes.iter();
        rates.map(|&bytes| mbps(bytes, self.interval_ns)).collect()
    }
}

/// The rate of `bytes` bytes in `ns` nanoseconds, in Mb/s; 0 if the time is 0.
pub(crate) fn mbps(bytes: u64, ns: u64) -> f64 {
    if ns == 0 {
        return 0.0;
    }
    bytes as f64 * 8e3 / ns as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_tells_reordered_from_repeated() {
        use Arrival::*;
        let mut sequence = SequenceWindow::default();
        let arrivals = [0, 1, 3, 2, 2, 3, 500, 450, 450, 400, 3].map(|n| sequence.arrive(n));
        let expected = [
            InOrder, InOrder, InOrder, Reordered, Duplicate, Duplicate, InOrder, Reordered,
            Duplicate, Reordered, Reordered,
        ];
        assert_eq!(arrivals, expected);
    }

    #[test]
    fn numbers_go_on_where_32_bits_end() {
        let mut sequence = SequenceWindow::default();
        for low in [0x7fff_fff0, 0xffff_fff0, u32::MAX, 0] {
            assert_eq!(sequence.arrive(low), Arrival::InOrder, "{low}");
        }
        assert_eq!(sequence.arrive(u32::MAX), Arrival::Duplicate);
    }

    #[test]
    fn times_come_to_their_distribution() {
        let mut times = Times::default();
        assert_eq!(times.summary(), None);
        (1..=100).for_each(|ms| times.add(ms * 1_000_000));
        let mut joined = Times::default();
        joined.join(&times);
        let summary = joined.summary().unwrap();
        assert_eq!(summary.mean_ms, 50.5);
        assert!((summary.p99_ms - 99.0).abs() < 1.0, "{summary:?}");
    }

    #[test]
    fn a_series_counts_by_interval() {
        let mut series = Series::new(Time(1_000), 1_000);
        for (at, bytes) in [(1_000, 1), (1_999, 2), (4_000, 5), (u64::MAX, 7)] {
            series.add(Time(at), bytes);
        }
        let rates = series.mbps();
        assert_eq!(rates[..4], [24.0, 0.0, 0.0, 40.0]);
        assert_eq!(rates.len() as u64, MAX_INTERVALS);
    }
}
