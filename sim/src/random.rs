//! Random numbers that are determined by a seed.

/// A generator of random numbers: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Makes a generator. Users that share a seed have different streams.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut this = Self(seed);
        let first = this.next();
        Self(first ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The next random number, of 64 bits.
    #[allow(clippy::should_implement_trait)] // It never ends, so it is no iterator.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `limit`, or 0 if that is 0. The bias of each number is below `limit` / 2^64.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// A number from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        // A float holds 53 bits exactly.
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_one_seed_differ_and_equal_ones_agree() {
        let mut one = Random::new(7, 0);
        let mut same = Random::new(7, 0);
        let mut other = Random::new(7, 1);
        let first = one.next();
        assert_eq!(first, same.next());
        assert_ne!(first, other.next());
    }

    #[test]
    fn numbers_below_a_limit_reach_each_of_them() {
        let mut random = Random::new(1, 0);
        let mut seen = [0; 6];
        for _ in 0..6000 {
            seen[random.below(6) as usize] += 1;
        }
        assert!(
            seen.iter().all(|count| (850..1150).contains(count)),
            "{seen:?}"
        );
    }
}
