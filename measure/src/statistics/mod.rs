//! The statistics of a series of delays: intervals that allow for autocorrelation, percentiles,
//! jitter in three forms, and the whole distribution.

pub mod numbers;
pub mod repeats;
pub mod special;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::statistics::special::{binomial_quantile, student_t_critical};

/// Batches of the method of batch means.
pub const BATCHES: usize = 100;
/// The least series that is cut into batches: ten in each.
const MIN_BATCHED: usize = 10 * BATCHES;
/// Significant digits of the histogram: its buckets are at most 0.8 % wide.
const DIGITS: u8 = 2;
/// The gain of the jitter estimate. Spec: RFC 3550 section 6.4.1.
const JITTER_GAIN: f64 = 16.0;

/// The bound of the first autocorrelation of independent values, times the root of their number:
/// it is exceeded by chance once in 20 times.
const CORRELATION_BOUND: f64 = 1.645;

/// The bound of the statistic of Mann and Kendall's test: values without a trend exceed it by
/// chance once in 100 times.
const TREND_BOUND: f64 = 2.576;

/// A lower and an upper bound, nanoseconds.
pub type Interval = (f64, f64);

/// The statistics of one series of delays, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The number of delays.
    pub n: usize,
    /// The least.
    pub min: f64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, with n - 1.
    pub deviation: f64,
    /// The median.
    pub p50: f64,
    /// The median time of round trips that is the far end's, which sends frames back; 0 one way.
    #[serde(default)]
    pub far_end: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// The greatest.
    pub max: f64,
    /// 99 % interval of the mean as if the delays were independent.
    pub plain_99: Option<Interval>,
    /// The same of 95 %.
    pub plain_95: Option<Interval>,
    /// 99 % interval of the mean by the means of 100 consecutive batches.
    pub batch_99: Option<Interval>,
    /// The same of 95 %.
    pub batch_95: Option<Interval>,
    /// True if the delays, or the batches where there are some, depend on those before them: then
    /// one repeat shows no interval.
    #[serde(default)]
    pub correlated: bool,
    /// Whether the means of the batches rise, or fall, in their order; see [`trend`].
    #[serde(default)]
    pub trend: Option<f64>,
    /// 95 % intervals of the median and of the 99th percentile, by order statistics.
    pub p50_95: Option<Interval>,
    /// See `p50_95`.
    pub p99_95: Option<Interval>,
    /// The differences of consecutive delays: median and 90th and 99th percentile.
    pub jitter: [f64; 3],
    /// The running estimate of RFC 3550 after the last delay.
    pub jitter_rfc3550: f64,
    /// The 99th percentile less the median.
    pub jitter_spread: f64,
    /// The distribution: the highest value of each bucket, and the share of delays up to it.
    pub distribution: Vec<(u64, f64)>,
    /// The same of the differences of consecutive delays.
    #[serde(default)]
    pub jitter_distribution: Vec<(u64, f64)>,
}

/// The mean.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of a sample, with n - 1; 0 of fewer than two values.
pub fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// The interval of the mean of independent values; none of fewer than two.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    if values.len() < 2 {
        return None;
    }
    let count = values.len() as f64;
    let critical = student_t_critical(confidence, count - 1.0);
    let half = critical * deviation(values) / count.sqrt();
    let mean = mean(values);
    Some((mean - half, mean + half))
}

/// By which factor the second of each pair is above the first: the geometric mean of their ratios,
/// and its interval, as if the logarithms of the ratios were normal; none without pairs, or if a
/// number is not positive: to leave its pair out would favour one side.
pub fn paired_ratio(pairs: &[(f64, f64)], confidence: f64) -> Option<(f64, Option<Interval>)> {
    let are_positive = |(one, other): &(f64, f64)| *one > 0.0 && *other > 0.0;
    if pairs.is_empty() || !pairs.iter().all(are_positive) {
        return None;
    }
    let ratios = pairs.iter().map(|(one, other)| other / one);
    let logs: Vec<f64> = ratios.map(f64::ln).collect();
    let interval = mean_interval(&logs, confidence);
    let bounds = interval.map(|(low, high)| (low.exp(), high.exp()));
    Some((mean(&logs).exp(), bounds))
}

/// The means of [`BATCHES`] consecutive batches of equal size; delays that follow each other are
/// correlated, and their batches hardly. The rest that fills no batch is left out.
///
/// Source: A. Law, Simulation Modeling and Analysis, section 9.5.3.
pub fn batch_means(values: &[f64]) -> Option<Vec<f64>> {
    if values.len() < MIN_BATCHED {
        return None;
    }
    let size = values.len() / BATCHES;
    Some(values.chunks_exact(size).take(BATCHES).map(mean).collect())
}

/// Returns true if values depend on those before them: if their first autocorrelation is greater
/// than that of independent ones.
///
/// Source: G. Box and G. Jenkins, Time Series Analysis, section 2.1.6.
pub fn is_correlated(values: &[f64]) -> bool {
    let mean = mean(values);
    let variance: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if variance == 0.0 {
        return false;
    }
    let pairs = values.windows(2);
    let products: f64 = pairs.map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    products / variance > CORRELATION_BOUND / (values.len() as f64).sqrt()
}

/// The statistic of Mann and Kendall's test of a trend: far above 0 if values rise in their order,
/// far below if they fall. That of independent ones without a trend is nearly normal.
///
/// Source: H. Mann, Nonparametric Tests Against Trend, Econometrica 13, 1945.
pub fn trend(values: &[f64]) -> f64 {
    let mut rising = 0.0;
    for (at, earlier) in values.iter().enumerate() {
        for later in &values[at + 1..] {
            rising += f64::from(later.total_cmp(earlier) as i8);
        }
    }
    if rising == 0.0 {
        return 0.0;
    }
    let count = values.len() as f64;
    let variance = count * (count - 1.0) * (2.0 * count + 5.0) / 18.0;
    (rising - f64::signum(rising)) / variance.sqrt()
}

/// A quantile of sorted values, linear between neighbours as numpy's; 0 of none.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    let place = share * last as f64;
    let low = place.floor() as usize;
    let high = place.ceil() as usize;
    sorted[low] + (sorted[high] - sorted[low]) * (place - low as f64)
}

/// The interval of a quantile between two order statistics. It has at least this confidence for any
/// distribution; none if there are too few values.
///
/// Source: W. J. Conover, Practical Nonparametric Statistics, section 3.2.
pub fn quantile_interval(sorted: &[f64], share: f64, confidence: f64) -> Option<Interval> {
    let count = sorted.len() as u64;
    let tail = (1.0 - confidence) / 2.0;
    let low = binomial_quantile(tail, count, share).checked_sub(1)?;
    let high = binomial_quantile(1.0 - tail, count, share);
    Some((*sorted.get(low as usize)?, *sorted.get(high as usize)?))
}

/// The absolute differences of consecutive delays.
fn differences(values: &[f64]) -> Vec<f64> {
    values.windows(2).map(|w| (w[1] - w[0]).abs()).collect()
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The least; infinity of no values.
pub fn least(values: &[f64]) -> f64 {
    let least = values.iter().copied().min_by(f64::total_cmp);
    least.unwrap_or(f64::INFINITY)
}

/// The greatest; minus infinity of no values.
pub fn greatest(values: &[f64]) -> f64 {
    let greatest = values.iter().copied().max_by(f64::total_cmp);
    greatest.unwrap_or(f64::NEG_INFINITY)
}

/// The median; 0 of no values.
pub fn median(values: &[f64]) -> f64 {
    quantile(&sorted(values.to_vec()), 0.5)
}

/// The distribution of some times: the highest value of each bucket, and the share of times up to
/// it.
pub fn distribution(delays_ns: &[u64]) -> Vec<(u64, f64)> {
    let mut histogram = Histogram::<u64>::new(DIGITS).expect("two digits are supported");
    for &delay in delays_ns {
        histogram.record(delay).expect("it grows");
    }
    let mut seen = 0;
    let mut points = Vec::new();
    for bucket in histogram.iter_recorded() {
        seen += bucket.count_at_value();
        let share = seen as f64 / delays_ns.len() as f64;
        points.push((bucket.value_iterated_to(), share));
    }
    points
}

impl Summary {
    /// The statistics of delays in the order in which they were measured; none of no delays.
    pub fn of(delays_ns: &[u64]) -> Option<Self> {
        let series: Vec<f64> = delays_ns.iter().map(|delay| *delay as f64).collect();
        let ordered = sorted(series.clone());
        let changes = differences(&series);
        let changes_ordered = sorted(changes.clone());
        let changes_ns: Vec<u64> = changes.iter().map(|change| *change as u64).collect();
        let batches = batch_means(&series);
        let correlated = is_correlated(batches.as_deref().unwrap_or(&series));
        let mut running = 0.0;
        for change in &changes {
            running += (change - running) / JITTER_GAIN;
        }
        let p50 = quantile(&ordered, 0.5);
        let p99 = quantile(&ordered, 0.99);
        Some(Self {
            n: series.len(),
            min: *ordered.first()?,
            mean: mean(&series),
            deviation: deviation(&series),
            p50,
            far_end: 0.0,
            p90: quantile(&ordered, 0.9),
            p99,
            p999: quantile(&ordered, 0.999),
            max: *ordered.last()?,
            plain_99: mean_interval(&series, 0.99),
            plain_95: mean_interval(&series, 0.95),
            batch_99: batches.as_deref().and_then(|b| mean_interval(b, 0.99)),
            batch_95: batches.as_deref().and_then(|b| mean_interval(b, 0.95)),
            correlated,
            trend: batches.as_deref().map(trend),
            p50_95: quantile_interval(&ordered, 0.5, 0.95),
            p99_95: quantile_interval(&ordered, 0.99, 0.95),
            jitter: [0.5, 0.9, 0.99].map(|share| quantile(&changes_ordered, share)),
            jitter_rfc3550: running,
            jitter_spread: p99 - p50,
            distribution: distribution(delays_ns),
            jitter_distribution: distribution(&changes_ns),
        })
    }

    /// Says so if the series was not in a steady state: if its delays rise or fall.
    pub fn unsteady(&self) -> Option<String> {
        let trend = self.trend.filter(|trend| trend.abs() > TREND_BOUND)?;
        let changes = if trend > 0.0 { "rise" } else { "fall" };
        Some(format!(
            "not steady: the delays {changes} during the series (Mann and Kendall's test, 1 %)"
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::statistics::special::{share_interval, student_t_critical};

    /// Returns scipy's results, written by testdata/statistics.py.
    fn vectors() -> Value {
        let text = include_str!("../../../testdata/statistics.json");
        serde_json::from_str(text).unwrap()
    }

    fn numbers(value: &Value) -> Vec<f64> {
        value
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_f64().unwrap())
            .collect()
    }

    #[track_caller]
    fn assert_close(own: f64, scipys: f64) {
        let error = (own - scipys).abs() / scipys.abs().max(1e-3);
        assert!(error < 1e-8, "{own}, and scipy says {scipys}");
    }

    #[track_caller]
    fn assert_same_interval(own: Option<Interval>, scipys: &Value) {
        assert_eq!(own.is_none(), scipys.is_null());
        if let Some((low, high)) = own {
            let bounds = numbers(scipys);
            assert_close(low, bounds[0]);
            assert_close(high, bounds[1]);
        }
    }

    #[test]
    fn critical_values_are_scipys() {
        for row in vectors()["t"].as_array().unwrap() {
            let row = numbers(row);
            assert_close(student_t_critical(row[0], row[1]), row[2]);
        }
    }

    #[test]
    fn intervals_of_shares_are_scipys() {
        for row in vectors()["shares"].as_array().unwrap() {
            let row = numbers(row);
            let (low, high) = share_interval(row[0] as u64, row[1] as u64, row[2]);
            assert_close(low, row[3]);
            assert_close(high, row[4]);
        }
    }

    #[test]
    fn binomial_quantiles_are_scipys() {
        for row in vectors()["binomial"].as_array().unwrap() {
            let row = numbers(row);
            let own = binomial_quantile(row[0], row[1] as u64, row[2]);
            assert_eq!(own, row[3] as u64, "{row:?}");
        }
    }

    #[test]
    fn summaries_are_scipys() {
        for series in vectors()["series"].as_array().unwrap() {
            let delays: Vec<u64> = numbers(&series["delays"])
                .iter()
                .map(|delay| *delay as u64)
                .collect();
            let own = Summary::of(&delays).unwrap();
            assert_close(own.mean, series["mean"].as_f64().unwrap());
            assert_close(own.deviation, series["deviation"].as_f64().unwrap());
            let quantiles = numbers(&series["quantiles"]);
            for (own, scipys) in [own.p50, own.p90, own.p99, own.p999].iter().zip(quantiles) {
                assert_close(*own, scipys);
            }
            for (own, scipys) in own.jitter.iter().zip(numbers(&series["jitter"])) {
                assert_close(*own, scipys);
            }
            assert_close(
                own.jitter_rfc3550,
                series["jitter_rfc3550"].as_f64().unwrap(),
            );
            assert_same_interval(own.plain_99, &series["plain_99"]);
            assert_same_interval(own.plain_95, &series["plain_95"]);
            assert_same_interval(own.batch_99, &series["batch_99"]);
            assert_same_interval(own.batch_95, &series["batch_95"]);
            assert_same_interval(own.p50_95, &series["p50_95"]);
            assert_same_interval(own.p99_95, &series["p99_95"]);
        }
    }

    #[test]
    fn batches_widen_the_interval_of_delays_that_follow_each_other() {
        let vectors = vectors();
        let series = &vectors["series"][1];
        let plain = numbers(&series["plain_99"]);
        let batch = numbers(&series["batch_99"]);
        assert!(batch[1] - batch[0] > 2.0 * (plain[1] - plain[0]));
    }

    #[test]
    fn the_distribution_is_within_one_percent_and_ends_with_all() {
        let delays: Vec<u64> = (1..=10_000).map(|n| n * 37).collect();
        let found = distribution(&delays);
        assert_eq!(found.last().unwrap().1, 1.0);
        for (value, share) in found {
            let exact = (share * 10_000.0).round() as u64 * 37;
            assert!(
                value >= exact && value as f64 <= exact as f64 * 1.01,
                "{value} {exact}"
            );
        }
    }

    #[test]
    fn a_series_that_rises_or_falls_is_not_steady() {
        let of = |delay: fn(u64) -> u64| {
            let delays: Vec<u64> = (0..2_000).map(delay).collect();
            Summary::of(&delays).unwrap()
        };
        let steady = of(|at| 1_000 + at % 20);
        assert_eq!((steady.trend, steady.unsteady()), (Some(0.0), None));
        assert!(of(|at| 1_000 + at).unsteady().unwrap().contains("rise"));
        assert!(of(|at| 9_000 - at).unsteady().unwrap().contains("fall"));
        // Of 100 batches that rise, each of 4,950 pairs does.
        let most = 4_949.0 / 112_750.0_f64.sqrt();
        assert_close(of(|at| 1_000 + at).trend.unwrap(), most);
        // A short series has no batches.
        assert_eq!(Summary::of(&[1, 2, 3]).unwrap().trend, None);
    }

    #[test]
    fn a_pair_without_a_ratio_is_not_left_out_of_a_ratio() {
        let ratio = |pairs: &[(f64, f64)]| paired_ratio(pairs, 0.95).map(|(ratio, _)| ratio);
        assert_close(ratio(&[(1.0, 2.0), (2.0, 4.0)]).unwrap(), 2.0);
        // In one of two repeats only the second lost frames.
        assert_eq!(ratio(&[(0.0, 10.0), (1.0, 2.0)]), None);
        assert_eq!(ratio(&[]), None);
    }

    #[test]
    fn no_delays_have_no_summary_and_one_has_no_interval() {
        assert_eq!(Summary::of(&[]), None);
        let one = Summary::of(&[5]).unwrap();
        assert_eq!((one.mean, one.plain_99, one.p50_95), (5.0, None, None));
    }
}
