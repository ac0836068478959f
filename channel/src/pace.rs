//! How many may pass a second.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The most messages or packets a second, and how many may come at once after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// A second, at least 1.
    pub per_second: u32,
    /// At once; at least 1 is taken.
    pub burst: u32,
}

/// Lets pass what a [`Rate`] allows.
#[derive(Debug)]
pub(crate) struct Pace {
    period: Duration,
    /// How far ahead of the rate what has passed may be.
    slack: Duration,
    /// When all that has passed would have passed, one each period.
    until: Instant,
}

impl Pace {
    pub(crate) fn new(rate: Rate) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_one_more_waits_for_its_time() {
        let rate = |per_second, burst| Pace::new(Rate { per_second, burst });
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
