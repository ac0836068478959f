//! A queue of numbers in the order of their ranks: buckets, found by their first set bit.

use alloc::vec::Vec;

/// No number.
const NONE: u32 = u32::MAX;
/// Buckets of a queue: as many as a word has bits.
const BUCKETS: u64 = u64::BITS as u64;
/// Ranks of one bucket: bytes that are not told apart, a small frame or a few.
const WIDTH: u64 = 256;

/// Which number follows which in its bucket, by number. Queues whose members differ may share it.
pub(super) type Links = Vec<u32>;

/// Numbers by rank. Those of one bucket leave in the order in which they came; a rank beyond the
/// last bucket counts as in it, and one before the first as in that. Adding and taking cost the
/// same however many there are: an integer priority queue in the manner of Eiffel (Saeed and
/// others, 2019).
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    /// The bit of each bucket that has members.
    occupied: u64,
    /// The bucket that the last number left, counted from rank 0.
    first: u64,
    heads: [u32; BUCKETS as usize],
    tails: [u32; BUCKETS as usize],
}

impl Default for Buckets {
    fn default() -> Self {
        Self {
            occupied: 0,
            first: 0,
            heads: [NONE; BUCKETS as usize],
            tails: [NONE; BUCKETS as usize],
        }
    }
}

impl Buckets {
    /// Adds a number that is in no queue with these links.
    pub(super) fn push(&mut self, links: &mut Links, rank: u64, number: u32) {
        let last = self.first + (BUCKETS - 1);
        let at = ((rank / WIDTH).clamp(self.first, last) % BUCKETS) as usize;
        if links.len() <= number as usize {
            links.resize(number as usize + 1, NONE);
        }
        links[number as usize] = NONE;
        if self.occupied & 1 << at == 0 {
            self.occupied |= 1 << at;
            self.heads[at] = number;
        } else {
            links[self.tails[at] as usize] = number;
        }
        self.tails[at] = number;
    }

    /// Takes the first number of the first bucket.
    pub(super) fn pop(&mut self, links: &Links) -> Option<u32> {
        if self.occupied == 0 {
            return None;
        }
        let turned = self.occupied.rotate_right((self.first % BUCKETS) as u32);
        self.first += u64::from(turned.trailing_zeros());
        let at = (self.first % BUCKETS) as usize;
        let number = self.heads[at];
        self.heads[at] = links[number as usize];
        if self.heads[at] == NONE {
            self.occupied &= !(1 << at);
        }
        Some(number)
    }

    /// Whether a rank is in a bucket behind the one that the last number left.
    pub(super) fn is_later(&self, rank: u64) -> bool {
        rank / WIDTH > self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_leave_by_bucket_and_within_one_as_they_came() {
        let (mut buckets, mut links) = (Buckets::default(), Links::new());
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
        let (mut buckets, mut links) = (Buckets::default(), Links::new());
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
        assert!(reached > 1_000 * BUCKETS);
    }
}
