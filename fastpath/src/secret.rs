//! Keyed hashes of words, so that nobody outside can choose words whose hashes collide.

/// The secret of a table's hashes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Secret(u64, u64);

impl Secret {
    /// Makes a secret of a random number.
    pub(crate) fn new(seed: u64) -> Self {
        let first = mixed(seed);
        Self(first, mixed(first.rotate_left(32) ^ seed))
    }

    /// The hash of some words: a sum over pairs, which the processor computes in parallel.
    #[inline]
    pub(crate) fn hash(&self, mut words: impl Iterator<Item = u64>) -> u64 {
        let mut key = self.0;
        let mut sum = 0u64;
        let mut left = words.next();
        while let Some(word) = left {
            let right = words.next();
            sum = sum.wrapping_add(pair(key, word, right.unwrap_or(0)));
            key = key.wrapping_add(self.1);
            left = right.and_then(|_| words.next());
        }
        fold(sum, self.1)
    }

    /// The hash of adjacent words.
    #[inline]
    pub(crate) fn hash_slice(&self, words: &[u64]) -> u64 {
        let mut key = self.0;
        let mut sum = 0u64;
        let pairs = words.chunks_exact(2);
        let last = pairs.remainder();
        for both in pairs {
            sum = sum.wrapping_add(pair(key, both[0], both[1]));
            key = key.wrapping_add(self.1);
        }
        if let [left] = last {
            sum = sum.wrapping_add(pair(key, *left, 0));
        }
        fold(sum, self.1)
    }

    /// The hash of words whose even number is known at compile time.
    #[inline(always)]
    pub(crate) fn hash_few<const N: usize>(&self, words: &[u64; N]) -> u64 {
        let mut key = self.0;
        let mut sum = 0u64;
        for both in words.chunks_exact(2) {
            sum = sum.wrapping_add(pair(key, both[0], both[1]));
            key = key.wrapping_add(self.1);
        }
        fold(sum, self.1)
    }
}

/// An odd number that depends on all bits of another number. The constants have about as many ones
/// as zeros: 2^64 divided by the golden ratio, and a random number.
fn mixed(number: u64) -> u64 {
    fold(number ^ 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93) | 1
}

#[inline]
fn pair(key: u64, left: u64, right: u64) -> u64 {
    fold(left ^ key, right ^ key.rotate_left(32))
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_changes_every_hash() {
        let words = || [1u64, 2, 3].into_iter();
        let (a, b) = (Secret::new(1), Secret::new(2));
        assert_ne!(a.hash(words()), b.hash(words()));
        assert_ne!(a.hash(words()), a.hash([1u64, 2, 4].into_iter()));
        assert_ne!(a.hash([0u64, 1].into_iter()), a.hash([1u64, 0].into_iter()));
    }

    #[test]
    fn words_have_the_same_hash_from_all_functions() {
        let secret = Secret::new(3);
        let words = [5u64, 0, 7, u64::MAX, 9, 0];
        for count in 1..=words.len() {
            let some = &words[..count];
            let hash = secret.hash(some.iter().copied());
            assert_eq!(hash, secret.hash_slice(some));
        }
        assert_eq!(secret.hash_few(&words), secret.hash_slice(&words));
        assert_eq!(secret.hash_few(&words), secret.hash_slice(&words[..5]));
    }
}
