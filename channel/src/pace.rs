//! Limits how many may pass a second.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The most messages or packets a second, and how many may come at once after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// A second, at least 1.
    pub per_second: u32,
    /// At once; at least 1 is taken.
    pub burst: u32,
}

/// Lets pass what a [`RateLimit`] allows.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    period: Duration,
    /// The longest time by which what has passed may be ahead of the rate.
    slack: Duration,
    /// The time at which all that has passed would have passed, one each period.
    until: Instant,
}

impl RateLimiter {
    pub(crate) fn new(rate: RateLimit) -> Self {
        let period = Duration::from_secs(1) / rate.per_second.max(1);
        Self {
            period,
            slack: period * rate.burst.saturating_sub(1),
            until: Instant::now(),
        }
    }

    /// Lets one pass now. Errors: when it may, if not now.
    pub(crate) fn admit(&mut self) -> Result<(), Instant> {
        let now = Instant::now();
        let until = self.until.max(now);
        if until - now > self.slack {
            return Err(until - self.slack);
        }
        self.until = until + self.period;
        Ok(())
    }

    /// Waits until one may pass.
    pub(crate) async fn wait(&mut self) {
        while let Err(at) = self.admit() {
            sleep_until(at).await;
        }
    }
}

/// A rate limiter that several share: each may use at most as much of the burst as remains free. So
/// one that floods always leaves some to others, and several that flood get equal parts.
#[derive(Debug)]
pub(crate) struct SharedRateLimiter<const N: usize> {
    rate: RateLimit,
    last: Instant,
    /// The number that has passed ahead of the rate.
    ahead: f64,
    /// The part of this number that each share has.
    shares: [f64; N],
}

impl<const N: usize> SharedRateLimiter<N> {
    pub(crate) fn new(rate: RateLimit) -> Self {
        Self {
            rate,
            last: Instant::now(),
            ahead: 0.0,
            shares: [0.0; N],
        }
    }

    /// Returns true if one of this share may pass now; if so it counts.
    pub(crate) fn admits(&mut self, share: usize) -> bool {
        let now = Instant::now();
        let passed = (now - self.last).as_secs_f64() * f64::from(self.rate.per_second);
        let ahead = (self.ahead - passed).max(0.0);
        for share in &mut self.shares {
            // A number next to nothing becomes 0: processors are slow with such numbers.
            let is_some = *share > 1e-6 && ahead > 0.0;
            *share *= if is_some { ahead / self.ahead } else { 0.0 };
        }
        (self.last, self.ahead) = (now, ahead);
        let is_free = ahead + self.shares[share] < f64::from(self.rate.burst.max(1));
        if is_free {
            self.ahead += 1.0;
            self.shares[share] += 1.0;
        }
        is_free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_that_floods_leaves_their_share_to_others() {
        let rate = |per_second, burst| RateLimit { per_second, burst };
        let mut pace = SharedRateLimiter::<3>::new(rate(100, 20));
        let mut passed = [0; 3];
        for ms in 0..100_000 {
            passed[0] += u32::from(pace.admits(0));
            passed[1] += u32::from(ms % 2 == 0 && pace.admits(1));
            passed[2] += u32::from(ms % 50 == 0 && pace.admits(2));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // 20 a second are less than a third of the rate, and all pass; two share what is left.
        assert!(
            (9_980..=10_020).contains(&passed.iter().sum::<u32>()),
            "{passed:?}"
        );
        assert!(passed[2] >= 1_990, "{passed:?}");
        assert!(passed[0].abs_diff(passed[1]) < 100, "{passed:?}");
        // Alone, it has the whole rate.
        let mut alone = 0;
        for _ in 0..100_000 {
            alone += u32::from(pace.admits(0));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!((9_980..=10_020).contains(&alone), "{alone}");
        let mut single = SharedRateLimiter::<1>::new(rate(1, 0));
        assert!(single.admits(0) && !single.admits(0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_one_more_waits_for_its_time() {
        let rate = |per_second, burst| RateLimiter::new(RateLimit { per_second, burst });
        let mut pace = rate(100, 5);
        assert!((0..5).all(|_| pace.admit().is_ok()));
        let next = pace.admit().expect_err("the burst is over");
        assert_eq!(next - Instant::now(), Duration::from_millis(10));
        let start = Instant::now();
        for _ in 0..100 {
            pace.wait().await;
        }
        assert_eq!(start.elapsed(), Duration::from_secs(1));
        // A pause earns no more than the burst.
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!((0..10).filter(|_| pace.admit().is_ok()).count(), 5);
        let mut single = rate(1, 0);
        assert!(single.admit().is_ok() && single.admit().is_err());
    }
}
