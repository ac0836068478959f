//! The intervals of delays: over the repeats of a point, as what makes a machine slow lasts longer
//! than a series; over one series only if its delays do not depend on those before them.

use crate::statistics::{BATCHES, Interval, Summary, least, mean_interval};

/// A statistic of a series of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayStatistic {
    /// The mean.
    Mean,
    /// The median.
    Median,
    /// The 99th percentile.
    P99,
}

impl DelayStatistic {
    /// Its interval over some repeats, nanoseconds. Of one repeat there is one of 95 % or 99 % for
    /// the mean and of 95 % for the others, if its delays are independent.
    pub fn interval(self, repeats: &[&Summary], confidence: f64) -> Option<Interval> {
        if let [one] = repeats {
            return self.of_one(one, confidence).filter(|_| !one.correlated);
        }
        let values: Vec<f64> = repeats.iter().map(|delay| self.value(delay)).collect();
        interval_of_positive(&values, confidence)
    }

    fn value(self, delay: &Summary) -> f64 {
        match self {
            Self::Mean => delay.mean,
            Self::Median => delay.p50,
            Self::P99 => delay.p99,
        }
    }

    fn of_one(self, delay: &Summary, confidence: f64) -> Option<Interval> {
        let (batches, plain) = if confidence > 0.95 {
            (delay.batch_99, delay.plain_99)
        } else {
            (delay.batch_95, delay.plain_95)
        };
        // The mean of a batch is not below the least delay.
        let count = if batches.is_some() { BATCHES } else { delay.n };
        let possible = |found| above(least_mean(delay.min, count, confidence), found);
        match self {
            Self::Mean => batches.or(plain).map(possible),
            Self::Median => delay.p50_95,
            Self::P99 => delay.p99_95,
        }
    }
}

/// The interval without what is below a bound, which is not above its middle.
fn above(bound: f64, (low, high): Interval) -> Interval {
    (low.max(bound), high)
}

/// What the mean of values that cannot be negative is at least, by the least of `count` independent
/// ones. Whatever their distribution is, this is too much with at most half of the probability that
/// the confidence leaves: a value is at least the mean divided by `share` with a probability of
/// `share` at most (Markov's inequality), and all of them are with `share` to the power of `count`.
fn least_mean(least: f64, count: usize, confidence: f64) -> f64 {
    let share = ((1.0 - confidence) / 2.0).powf(1.0 / count as f64);
    least * share
}

/// The interval of the mean of independent values that cannot be negative, as times and rates. The
/// lower bound of Student's t is below zero where few values differ much; then it is what the least
/// of them shows, which is above zero and needs no distribution.
pub fn interval_of_positive(values: &[f64], confidence: f64) -> Option<Interval> {
    let interval = mean_interval(values, confidence)?;
    let bound = least_mean(least(values), values.len(), confidence);
    Some(above(bound, interval))
}

/// The interval of the mean of independent values. If none of them is below zero, neither is the
/// interval.
pub fn interval_from_zero(values: &[f64], confidence: f64) -> Option<Interval> {
    let interval = mean_interval(values, confidence)?;
    if values.iter().all(|value| *value >= 0.0) {
        return Some(above(0.0, interval));
    }
    Some(interval)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::traffic::random;

    /// Simulated runs of each kind, and repeats of each.
    const RUNS: usize = 200;
    const REPEATS: usize = 5;
    /// The mean of all kinds, nanoseconds.
    const TRUTH: f64 = 50_000.0;

    /// What makes delays differ.
    #[derive(Clone, Copy, Debug)]
    enum Noise {
        /// All values up to twice the mean alike.
        Even,
        /// Waits for a processor: an exponential distribution.
        Skewed,
        /// Queues: each delay depends on the one before.
        Queued,
        /// One frame in 50 waits 20 times as long.
        Spikes,
        /// A machine that is slower in one repeat than in another.
        Drifting,
    }

    const ALL: [Noise; 5] = [
        Noise::Even,
        Noise::Skewed,
        Noise::Queued,
        Noise::Spikes,
        Noise::Drifting,
    ];

    /// A source of numbers from 0 to 1.
    fn shares(seed: u64) -> impl FnMut() -> f64 {
        let mut next = random(seed);
        move || ((next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// The delays of a repeat with a known mean.
    fn series(noise: Noise, count: usize, share: &mut impl FnMut() -> f64) -> Vec<u64> {
        // The sum of twelve is nearly normal, with a deviation of 1.
        let mut normal = || (0..12).map(|_| share()).sum::<f64>() - 6.0;
        let shift = normal();
        let mut queue = normal();
        let mut delays = Vec::with_capacity(count);
        for _ in 0..count {
            let factor = match noise {
                Noise::Even => 2.0 * share(),
                Noise::Skewed => -share().ln(),
                Noise::Queued => {
                    let fresh = (0..12).map(|_| share()).sum::<f64>() - 6.0;
                    queue = 0.9 * queue + fresh * (1.0 - 0.81_f64).sqrt();
                    1.0 + 0.15 * queue
                }
                Noise::Spikes => {
                    let usual = 1.0 / (0.98 + 0.02 * 20.0);
                    if share() < 0.02 { 20.0 * usual } else { usual }
                }
                Noise::Drifting => 1.0 + 0.1 * shift + 0.05 * (share() - 0.5),
            };
            delays.push((factor.max(0.0) * TRUTH) as u64);
        }
        delays
    }

    fn holds(interval: Option<Interval>) -> Option<bool> {
        interval.map(|(low, high)| (low..=high).contains(&TRUTH))
    }

    #[track_caller]
    fn assert_share(what: &str, found: &[bool], confidence: f64) {
        let hits = found.iter().filter(|hit| **hit).count();
        let share = hits as f64 / found.len() as f64;
        assert!((share - confidence).abs() <= 0.05, "{what}: {share}");
    }

    #[test]
    fn intervals_over_repeats_hold_the_truth_as_often_as_they_say() {
        let mut share = shares(7);
        for noise in ALL {
            let mut found = [Vec::new(), Vec::new()];
            for _ in 0..RUNS {
                let mut repeats = || Summary::of(&series(noise, 300, &mut share)).unwrap();
                let all: Vec<Summary> = (0..REPEATS).map(|_| repeats()).collect();
                let all: Vec<&Summary> = all.iter().collect();
                for (found, confidence) in found.iter_mut().zip([0.95, 0.99]) {
                    found.extend(holds(DelayStatistic::Mean.interval(&all, confidence)));
                }
            }
            for (found, confidence) in found.iter().zip([0.95, 0.99]) {
                assert_eq!(found.len(), RUNS);
                assert_share(&format!("{noise:?}, {confidence}"), found, confidence);
            }
        }
    }

    #[test]
    fn intervals_of_one_repeat_are_there_only_where_batches_are_independent() {
        let mut share = shares(11);
        let mut found = [Vec::new(), Vec::new()];
        for _ in 0..120 {
            let one = Summary::of(&series(Noise::Queued, 10_000, &mut share)).unwrap();
            for (found, confidence) in found.iter_mut().zip([0.95, 0.99]) {
                found.extend(holds(DelayStatistic::Mean.interval(&[&one], confidence)));
            }
        }
        for (found, confidence) in found.iter().zip([0.95, 0.99]) {
            assert!(found.len() >= 100, "{}", found.len());
            assert_share(&format!("{confidence}"), found, confidence);
        }
        // A queue that lasts longer than a batch.
        let waves = (0..10_000).map(|at| if at / 1_000 % 2 == 0 { 30_000 } else { 70_000 });
        let one = Summary::of(&waves.collect::<Vec<u64>>()).unwrap();
        assert!(one.plain_99.is_some() && one.batch_99.is_some());
        assert_eq!(DelayStatistic::Mean.interval(&[&one], 0.99), None);
        assert_eq!(DelayStatistic::Median.interval(&[&one], 0.95), None);
    }

    #[test]
    fn no_bound_of_a_delay_is_below_zero() {
        let repeats = [1_000, 1_000, 90_000].map(|ns| Summary::of(&[ns; 10]).unwrap());
        let repeats: Vec<&Summary> = repeats.iter().collect();
        let (low, high) = DelayStatistic::Mean.interval(&repeats, 0.99).unwrap();
        // The cube root of 0.005 is 0.171.
        assert!(
            (170.9..171.1).contains(&low) && high > 90_000.0,
            "{low} {high}"
        );
        let mut late = vec![1_000; 20];
        late[10] = 500_000;
        let one = Summary::of(&late).unwrap();
        let (low, _) = DelayStatistic::Mean.interval(&[&one], 0.95).unwrap();
        assert!((831.0..832.0).contains(&low), "{low}");
        // Differences may be negative.
        assert!(interval_from_zero(&[-1.0, 1.0], 0.95).unwrap().0 < -1.0);
    }

    #[test]
    fn ten_repeats_of_which_one_is_slow_have_a_lower_bound_above_zero() {
        // As the delay of statistics in milliseconds, where one of ten repeats had a late answer:
        // Student's lower bound is -1.8 ms.
        let mut repeats = [0.2; 10];
        repeats[4] = 9.0;
        assert!(mean_interval(&repeats, 0.99).unwrap().0 < -1.7);
        let (low, high) = interval_of_positive(&repeats, 0.99).unwrap();
        assert!((0.117..0.118).contains(&low), "{low}");
        assert_eq!(high, mean_interval(&repeats, 0.99).unwrap().1);
        // Where repeats are alike, the interval is Student's.
        let alike = [0.9, 1.0, 1.1, 1.0, 0.9];
        assert_eq!(
            interval_of_positive(&alike, 0.95),
            mean_interval(&alike, 0.95)
        );
        assert_eq!(interval_of_positive(&[1.0], 0.95), None);
    }

    #[test]
    fn lower_bounds_of_skewed_repeats_are_not_above_the_truth_more_often_than_they_say() {
        let mut share = shares(13);
        let mut negative = 0;
        for noise in [Noise::Skewed, Noise::Spikes] {
            for (count, confidence) in [(2, 0.95), (5, 0.95), (10, 0.99)] {
                let mut too_high = 0;
                for _ in 0..RUNS {
                    // A repeat of three delays is nearly as skewed as one delay.
                    let mut repeat = || Summary::of(&series(noise, 3, &mut share)).unwrap().mean;
                    let values: Vec<f64> = (0..count).map(|_| repeat()).collect();
                    let plain = mean_interval(&values, confidence).unwrap();
                    negative += usize::from(plain.0 < 0.0);
                    let (low, high) = interval_of_positive(&values, confidence).unwrap();
                    assert!(0.0 < low && low <= high, "{values:?}");
                    too_high += usize::from(low > TRUTH);
                }
                // In 200 runs, 5 for 95 %; and as many by chance.
                assert!(too_high <= 10, "{noise:?}, {count}: {too_high}");
            }
        }
        assert!(negative > 100, "{negative}");
    }
}
