//! An integer priority queue: numbers in buckets of ranks, with a bitmap to find the first bucket.

use alloc::{vec, vec::Vec};

/// No number.
const NONE: u32 = u32::MAX;
/// Bits of a word.
const BITS: u64 = u64::BITS as u64;

/// For each number, the next number in its bucket. Queues with different members may share it.
pub(super) type Links = Vec<u32>;

/// Numbers by rank. Those of one bucket leave in the order of arrival. A rank after the last bucket
/// counts as in it, and one before the first as in that. Adding and removing take constant time,
/// however many numbers there are; the design follows Eiffel (Saeed and others, 2019).
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    /// The number of ranks in one bucket; their order within it does not matter.
    width: u64,
    /// The bit of each bucket that has members.
    occupied: Vec<u64>,
    /// The bucket that the last number left, counted from rank 0.
    first: u64,
    /// The first and the last number of each bucket.
    heads: Vec<u32>,
    tails: Vec<u32>,
    len: usize,
}

impl Buckets {
    /// A queue with `words` words of buckets, each of `width` ranks.
    pub(super) fn new(words: usize, width: u64) -> Self {
        let count = words * BITS as usize;
        Self {
            width,
            occupied: vec![0; words],
            first: 0,
            heads: vec![NONE; count],
            tails: vec![NONE; count],
            len: 0,
        }
    }

    /// Adds a number that is in no queue with these links.
    pub(super) fn push(&mut self, links: &mut Links, rank: u64, number: u32) {
        let count = self.heads.len() as u64;
        let bucket = (rank / self.width).clamp(self.first, self.first + count - 1);
        let at = (bucket % count) as usize;
        if links.len() <= number as usize {
            links.resize(number as usize + 1, NONE);
        }
        links[number as usize] = NONE;
        if self.heads[at] == NONE {
            self.occupied[at / BITS as usize] |= 1 << (at as u64 % BITS);
            self.heads[at] = number;
        } else {
            links[self.tails[at] as usize] = number;
        }
        self.tails[at] = number;
        self.len += 1;
    }

    /// Returns true if nothing is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first bucket that has members, counted from rank 0.
    fn first_occupied(&self) -> Option<u64> {
        if self.len == 0 {
            return None;
        }
        let mut bucket = self.first;
        let count = self.heads.len() as u64;
        loop {
            let at = bucket % count;
            let word = self.occupied[(at / BITS) as usize] >> (at % BITS);
            if word != 0 {
                return Some(bucket + u64::from(word.trailing_zeros()));
            }
            bucket += BITS - at % BITS;
        }
    }

    /// The least rank of the first bucket that has members.
    pub(super) fn first_rank(&self) -> Option<u64> {
        self.first_occupied().map(|bucket| bucket * self.width)
    }

    /// Removes and returns the first number of the first bucket.
    pub(super) fn pop(&mut self, links: &Links) -> Option<u32> {
        self.first = self.first_occupied()?;
        let at = (self.first % self.heads.len() as u64) as usize;
        let number = self.heads[at];
        self.heads[at] = links[number as usize];
        if self.heads[at] == NONE {
            self.occupied[at / BITS as usize] &= !(1 << (at as u64 % BITS));
        }
        self.len -= 1;
        Some(number)
    }

    /// Moves the first bucket to a rank. The queue must be empty.
    pub(super) fn begin_at(&mut self, rank: u64) {
        debug_assert_eq!(self.len, 0, "what is in it would change its place");
        self.first = rank / self.width;
    }

    /// Returns true if this rank is within the buckets.
    pub(super) fn reaches(&self, rank: u64) -> bool {
        rank / self.width < self.first + self.heads.len() as u64
    }

    /// Returns true if a rank is in a bucket after that of the last removed number.
    pub(super) fn is_later(&self, rank: u64) -> bool {
        rank / self.width > self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: u64 = 256;

    #[test]
    fn numbers_leave_by_bucket_and_within_one_as_they_came() {
        let (mut buckets, mut links) = (Buckets::new(1, WIDTH), Links::new());
        let ranks = [
            5 * WIDTH,
            0,
            5 * WIDTH + 7,
            WIDTH - 1,
            63 * WIDTH,
            99 * WIDTH,
        ];
        for (number, rank) in ranks.into_iter().enumerate() {
            buckets.push(&mut links, rank, number as u32);
        }
        let left: Vec<u32> = core::iter::from_fn(|| buckets.pop(&links)).collect();
        assert_eq!(left, [1, 3, 0, 2, 4, 5]);
    }

    #[test]
    fn ranks_go_on_beyond_the_number_of_buckets() {
        let (mut buckets, mut links) = (Buckets::new(1, WIDTH), Links::new());
        let mut ranks = [0, 700, 1_400, 9_000];
        for number in 0..4 {
            buckets.push(&mut links, ranks[number as usize], number);
        }
        let mut reached = 0;
        for _ in 0..10_000 {
            let number = buckets.pop(&links).expect("four are in it");
            let rank = &mut ranks[number as usize];
            assert!(*rank + WIDTH > reached, "{rank} after {reached}");
            reached = reached.max(*rank);
            *rank += 1_000 + 500 * u64::from(number);
            buckets.push(&mut links, *rank, number);
        }
        assert!(reached > 64_000);
    }
}
