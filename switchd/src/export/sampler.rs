//! Chooses packets at random: one in N on average.

use std::fmt;

/// One in how many packets is sampled: 1 to 2^24.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(u32);

impl Rate {
    /// The least frequent sampling.
    pub const MAX: u32 = 1 << 24;

    /// One in `packets`; `None` beyond [`Self::MAX`], and for 0.
    pub fn new(packets: u32) -> Option<Self> {
        (1..=Self::MAX).contains(&packets).then_some(Self(packets))
    }

    /// One in how many.
    pub fn packets(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Chooses packets.
pub struct Sampler {
    rate: Rate,
    random: u64,
    /// Packets up to the next that is chosen, which counts, too.
    skip: u64,
}

impl Sampler {
    /// Chooses one in `rate` packets. Equal seeds choose the same.
    pub fn new(rate: Rate, seed: u64) -> Self {
        let mut this = Self {
            rate,
            random: seed,
            skip: 0,
        };
        this.skip = this.next_skip();
        this
    }

    /// Lets `count` packets pass. Returns false, with nothing changed, if one of them is chosen.
    #[inline]
    pub fn passes(&mut self, count: u64) -> bool {
        let passes = count < self.skip;
        if passes {
            self.skip -= count;
        }
        passes
    }

    /// Lets `count` packets pass up to the first that is chosen, and returns its place among them,
    /// from 0.
    pub fn pass(&mut self, count: u64) -> Option<u64> {
        if self.passes(count) {
            return None;
        }
        let place = self.skip - 1;
        self.skip = self.next_skip();
        Some(place)
    }

    /// A number of 1 to 2N-1, each as likely, so that the average is N. Spec: sFlow version 5,
    /// section 3.1: the skip is random, so that it does not fall in step with traffic.
    fn next_skip(&mut self) -> u64 {
        // splitmix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let choices = 2 * u64::from(self.rate.0) - 1;
        1 + mixed % choices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `bursts` bursts of 32 packets are chosen.
    fn chosen(rate: u32, seed: u64, bursts: u64) -> u64 {
        let mut sampler = Sampler::new(Rate::new(rate).unwrap(), seed);
        let mut chosen = 0;
        for _ in 0..bursts {
            let mut left = 32;
            while let Some(place) = sampler.pass(left) {
                left -= place + 1;
                chosen += 1;
            }
        }
        chosen
    }

    #[test]
    fn one_in_one_is_all() {
        assert_eq!(chosen(1, 7, 100), 3200);
    }

    #[test]
    fn one_in_n_is_within_four_standard_deviations() {
        for (rate, seed) in [(2, 1), (10, 2), (512, 3), (4096, 4)] {
            let packets = 32 * 100_000_u64;
            let mean = packets as f64 / f64::from(rate);
            // The skip is uniform over 2N-1 numbers, so its variance is N(N-1)/3.
            let per_skip = f64::from(rate - 1) / (3.0 * f64::from(rate));
            let deviation = (mean * per_skip).sqrt();
            let off = (chosen(rate, seed, 100_000) as f64 - mean).abs();
            assert!(off < 4.0 * deviation + 1.0, "1 in {rate}: {off}");
        }
    }

    #[test]
    fn rates_have_limits() {
        assert_eq!(Rate::new(0), None);
        assert_eq!(Rate::new(Rate::MAX + 1), None);
        assert_eq!(Rate::new(512).map(Rate::packets), Some(512));
    }
}
