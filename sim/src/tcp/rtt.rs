//! Round-trip time and retransmission timeout, as RFC 6298 computes them.

use bofuss_datapath::Time;

/// The timeout before the first sample. Spec: RFC 6298 section 2.1.
const INITIAL_TIMEOUT_NS: u64 = Time::SEC;
/// The longest timeout. Spec: RFC 6298 section 2.5 allows 60 s or more; Linux has 120 s.
const MAX_TIMEOUT_NS: u64 = 120 * Time::SEC;

/// The estimate of the round-trip time.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip {
    smoothed_ns: Option<u64>,
    variation_ns: u64,
    min_ns: u64,
    latest_ns: u64,
    /// The number of times that the timer has expired since the last sample.
    backoff: u32,
    min_timeout_ns: u64,
}

impl RoundTrip {
    /// Makes an estimate without samples; timeouts are at least `min_timeout_ns`.
    pub fn new(min_timeout_ns: u64) -> Self {
        Self {
            smoothed_ns: None,
            variation_ns: 0,
            min_ns: u64::MAX,
            latest_ns: 0,
            backoff: 0,
            min_timeout_ns,
        }
    }

    /// Adds a sample, which must not be of a retransmission (Karn's algorithm).
    pub fn sample(&mut self, rtt_ns: u64) {
        self.latest_ns = rtt_ns;
        self.min_ns = self.min_ns.min(rtt_ns);
        self.backoff = 0;
        match self.smoothed_ns {
            None => {
                self.smoothed_ns = Some(rtt_ns);
                self.variation_ns = rtt_ns / 2;
            }
            Some(smoothed) => {
                // Spec: RFC 6298 section 2.3, alpha 1/8, beta 1/4.
                self.variation_ns = (3 * self.variation_ns + smoothed.abs_diff(rtt_ns)) / 4;
                self.smoothed_ns = Some((7 * smoothed + rtt_ns) / 8);
            }
        }
    }

    /// SRTT; `None` before the first sample.
    pub fn smoothed_ns(&self) -> Option<u64> {
        self.smoothed_ns
    }

    /// The least of all samples; `u64::MAX` before the first.
    pub fn min_ns(&self) -> u64 {
        self.min_ns
    }

    /// The greater of SRTT and the latest sample; 0 before the first.
    pub fn recent_ns(&self) -> u64 {
        self.smoothed_ns.unwrap_or(0).max(self.latest_ns)
    }

    /// RTO, with its back-off. Four times the variation counts as at least the minimum timeout, so
    /// that a path without variation has some margin (Linux: RTTVAR is at least 50 ms, a quarter of
    /// the 200 ms of the minimum timeout).
    pub fn timeout_ns(&self) -> u64 {
        let plain = match self.smoothed_ns {
            None => INITIAL_TIMEOUT_NS,
            Some(smoothed) => smoothed + (4 * self.variation_ns).max(self.min_timeout_ns),
        };
        plain
            .saturating_mul(1 << self.backoff.min(16))
            .min(MAX_TIMEOUT_NS)
    }

    /// Doubles the timeout. Spec: RFC 6298 section 5.5.
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_timeout_follows_the_samples_and_doubles() {
        let mut rtt = RoundTrip::new(200 * MS);
        assert_eq!(rtt.timeout_ns(), Time::SEC);
        rtt.sample(100 * MS);
        assert_eq!(rtt.timeout_ns(), 300 * MS, "4 * RTTVAR is 200 ms");
        rtt.sample(300 * MS);
        let (srtt, variation) = (125 * MS, (150 + 200) * MS / 4);
        assert_eq!(rtt.smoothed_ns(), Some(srtt));
        assert_eq!(rtt.timeout_ns(), srtt + 4 * variation);
        rtt.back_off();
        assert_eq!(rtt.timeout_ns(), 2 * (srtt + 4 * variation));
        (0..60).for_each(|_| rtt.back_off());
        assert_eq!(rtt.timeout_ns(), MAX_TIMEOUT_NS);
        rtt.sample(100 * MS);
        assert!(rtt.timeout_ns() < Time::SEC, "a sample ends the back-off");
    }
}
