//! A hash table of slot numbers. Each bucket is a cache line of eight tags and slots. It grows and
//! shrinks by one bucket at a time (linear hashing), and its hash has a secret, so that nobody can
//! provoke collisions.
//!
//! A lookup compares all eight tags of a cache line at once, as a word (SWAR), and reads an item
//! only if its tag is equal, so it usually touches one line of the table and one item. Linear
//! hashing is that of Litwin (1980).

use alloc::vec::Vec;

use crate::blocks::BlockSizes;
use crate::slab::{NONE, Slab};

/// Slots of a bucket, one cache line of 64 bytes.
const LANES: usize = 8;
/// The arrangement of buckets in memory.
const SIZES: BlockSizes = BlockSizes::of::<HashBucket>(64);
/// The table grows when buckets have so many slots on average.
const FULL: usize = 5;
/// The same for a small table, which fits into the processor's caches: fewer buckets overflow, and
/// the processor predicts better whether a lookup reads a second bucket.
const SMALL_FULL: usize = 3;
/// Buckets of a small table.
const SMALL: usize = 32;
/// The table shrinks when buckets have fewer slots on average.
const SPARSE: usize = 2;
/// The first bit of a bucket's number that is stored with each slot. Small tables need none,
/// because their keys are in the processor's caches.
const KEPT_FROM: u32 = 8;
/// The number of bits of a hash that are the tag; the bits after them number the bucket.
const TAG_BITS: u32 = 8;
/// The lowest and the highest bit of each byte.
const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct HashBucket {
    /// One byte each: 0 if the lane is free.
    tags: u64,
    slots: [u32; LANES],
    /// Bits of the hashes that decide where a lane goes when its bucket is split.
    kept: [u16; LANES],
    /// The overflow bucket with the slots for which this bucket has no room.
    next: u32,
}

const EMPTY: HashBucket = HashBucket {
    tags: 0,
    slots: [NONE; LANES],
    kept: [0; LANES],
    next: NONE,
};

/// The tag of a hash: its low byte with the highest bit set, so that no tag is that of a free lane.
#[inline]
fn tag(hash: u64) -> u64 {
    hash & 0xff | 0x80
}

/// The high bit of each lane that has this tag, and perhaps of another lane that is used.
///
/// The borrow of the subtraction may also mark the lane after one that agrees, so callers check
/// each item; it never marks a free lane, in which the highest bit differs.
#[inline]
fn lanes(tags: u64, tag: u64) -> u64 {
    let differ = tags ^ (LOW * tag);
    differ.wrapping_sub(LOW) & !differ & HIGH
}

/// Where a bucket is: whether it is an overflow bucket, and its number.
type BucketPlace = (bool, usize);

/// A set of slot numbers, each under its hash (linear hashing).
#[derive(Debug, Default)]
pub struct TagTable {
    blocks: Vec<Vec<HashBucket>>,
    n_buckets: usize,
    /// The next power of two, less one.
    mask: usize,
    spilled: Slab<HashBucket>,
    len: usize,
}

impl TagTable {
    /// The number of the first bucket of a hash.
    ///
    /// The table has more than half of `mask + 1` buckets. A number that is not there yet belongs
    /// to the bucket from which it will be split.
    #[inline]
    pub(crate) fn home(&self, hash: u64) -> usize {
        let at = (hash >> TAG_BITS) as usize & self.mask;
        if at < self.n_buckets {
            at
        } else {
            at & self.mask >> 1
        }
    }

    #[inline]
    fn bucket(&self, (spilled, at): BucketPlace) -> &HashBucket {
        if spilled {
            &self.spilled[at as u32]
        } else {
            let (block, at) = SIZES.place(at);
            &self.blocks[block][at]
        }
    }

    fn bucket_mut(&mut self, (spilled, at): BucketPlace) -> &mut HashBucket {
        if spilled {
            &mut self.spilled[at as u32]
        } else {
            let (block, at) = SIZES.place(at);
            &mut self.blocks[block][at]
        }
    }

    /// The most bytes of memory that it takes.
    pub(crate) fn held_bytes(&self) -> usize {
        let buckets = SIZES.room(self.n_buckets);
        buckets * size_of::<HashBucket>() + self.spilled.held_bytes()
    }

    /// The first slot with this hash for which `is` returns true.
    ///
    /// Any lane may be marked wrongly, so `is` has to compare the whole item.
    #[inline]
    pub fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let mut bucket = self.home_bucket(self.home(hash))?;
        loop {
            let mut hits = lanes(bucket.tags, tag(hash));
            while hits != 0 {
                let slot = bucket.slots[hits.trailing_zeros() as usize / LANES];
                if is(slot) {
                    return Some(slot);
                }
                hits &= hits - 1;
            }
            if bucket.next == NONE {
                return None;
            }
            bucket = &self.spilled[bucket.next];
        }
    }

    /// The bucket with this number, if there is one; never an overflow bucket.
    #[inline]
    fn home_bucket(&self, home: usize) -> Option<&HashBucket> {
        SIZES.get(&self.blocks, home)
    }

    /// Adds a slot. `rehash` returns the hash of any slot in the table.
    ///
    /// The slot must not be in the table yet. At most one bucket is split, so an insertion takes a
    /// bounded time, except when many items have the same hash.
    pub fn insert(&mut self, hash: u64, slot: u32, rehash: impl Fn(u32) -> u64) {
        let full = if self.n_buckets < SMALL {
            SMALL_FULL
        } else {
            FULL
        };
        if self.len >= self.n_buckets * full {
            self.grow(rehash);
        }
        self.len += 1;
        let kept = (hash >> (TAG_BITS + KEPT_FROM)) as u16;
        self.put(self.home(hash), tag(hash), kept, slot);
    }

    fn put(&mut self, home: usize, tag: u64, kept: u16, slot: u32) {
        let mut place = (false, home);
        loop {
            let next = self.bucket(place).next;
            // A lane is free if the highest bit of its tag is not set.
            let free = !self.bucket(place).tags & HIGH;
            if free != 0 {
                let lane = free.trailing_zeros() as usize / LANES;
                let bucket = self.bucket_mut(place);
                bucket.tags |= tag << (8 * lane);
                (bucket.slots[lane], bucket.kept[lane]) = (slot, kept);
                return;
            }
            place = if next == NONE {
                let fresh = self.spilled.insert(|_| EMPTY);
                self.bucket_mut(place).next = fresh;
                (true, fresh as usize)
            } else {
                (true, next as usize)
            };
        }
    }

    /// The bucket from which the last one was split, and the bit in which their numbers differ.
    ///
    /// The last bucket's number is that of the former with one higher bit set.
    fn split(&self) -> (usize, u32) {
        let last = self.n_buckets - 1;
        let level = last.ilog2();
        (last - (1 << level), level)
    }

    fn set_buckets(&mut self, count: usize) {
        self.n_buckets = count;
        self.mask = count.next_power_of_two() - 1;
    }

    /// Adds one bucket, and moves its share of another bucket's slots into it.
    fn grow(&mut self, rehash: impl Fn(u32) -> u64) {
        let (block, _) = SIZES.place(self.n_buckets);
        if block == self.blocks.len() {
            // Only the first block grows, as most tables are small.
            let whole = if block > 0 {
                SIZES.of_block(block).len()
            } else {
                0
            };
            self.blocks.push(Vec::with_capacity(whole));
        }
        self.blocks[block].push(EMPTY);
        self.set_buckets(self.n_buckets + 1);
        if self.n_buckets == 1 {
            return;
        }
        let last = self.n_buckets - 1;
        let (split, level) = self.split();
        // The bit of the hash that now counts is kept with each slot, so that the items need not be
        // read. Beyond 2^24 buckets they are.
        let kept_bit = level.checked_sub(KEPT_FROM).filter(|bit| *bit < u16::BITS);
        let bucket = core::mem::replace(self.bucket_mut((false, split)), EMPTY);
        self.spread(bucket, |kept, slot| {
            let moves = match kept_bit {
                Some(bit) => u64::from(kept) >> bit,
                None => rehash(slot) >> (TAG_BITS + level),
            };
            if moves & 1 == 1 { last } else { split }
        });
    }

    /// Removes the last bucket, and moves its slots to the bucket from which it was split.
    ///
    /// The bucket that takes its slots is in the first half, so it stays.
    fn shrink(&mut self) {
        let (split, _) = self.split();
        let block = self.blocks.last_mut().expect("there are buckets");
        let bucket = block.pop().expect("no block is empty");
        if block.is_empty() {
            self.blocks.pop();
        }
        self.set_buckets(self.n_buckets - 1);
        self.spread(bucket, |_, _| split);
    }

    /// Distributes the slots of a bucket and its overflow buckets as `home` says, by the bits kept
    /// of each slot.
    fn spread(&mut self, mut bucket: HashBucket, home: impl Fn(u16, u32) -> usize) {
        loop {
            for lane in 0..LANES {
                let tag = bucket.tags >> (8 * lane) & 0xff;
                let slot = bucket.slots[lane];
                let kept = bucket.kept[lane];
                if tag != 0 {
                    self.put(home(kept, slot), tag, kept, slot);
                }
            }
            let next = self.spilled.remove(bucket.next);
            let Some(next) = next else {
                return;
            };
            bucket = next;
        }
    }

    /// Frees the memory of some removed buckets. Returns true if there was any.
    pub fn drop_some(&mut self) -> bool {
        self.blocks.pop().is_some() || self.spilled.drop_some()
    }

    /// Replaces `slot` by `new`, or removes it. Returns true if it was there.
    ///
    /// The hash has to be that under which the slot was inserted.
    pub fn replace(&mut self, hash: u64, slot: u32, new: Option<u32>) -> bool {
        let mut place = (false, self.home(hash));
        loop {
            let bucket = self.bucket_mut(place);
            let lane = (0..LANES)
                .find(|i| bucket.slots[*i] == slot && bucket.tags >> (8 * i) & 0xff == tag(hash));
            if let Some(lane) = lane {
                bucket.slots[lane] = new.unwrap_or(NONE);
                if new.is_none() {
                    bucket.tags &= !(0xff << (8 * lane));
                    self.len -= 1;
                    if self.len < (self.n_buckets - 1) * SPARSE {
                        self.shrink();
                    }
                }
                return true;
            }
            if bucket.next == NONE {
                return false;
            }
            place = (true, bucket.next as usize);
        }
    }
}

#[cfg(feature = "lookahead")]
impl TagTable {
    /// Prefetches the memory that is read first for `hash`. Returns the number of that bucket.
    #[inline]
    pub fn prefetch(&self, hash: u64) -> usize {
        let home = self.home(hash);
        if let Some(bucket) = self.home_bucket(home) {
            bofuss_intrinsics::prefetch(bucket);
        }
        home
    }

    /// The slot that most likely has this hash, judged by the tag alone; `home` is the number of
    /// its first bucket.
    ///
    /// It may be any other slot whose tag is equal, so the caller has to compare. It is for a
    /// prefetch, which costs nothing if it is wrong.
    #[inline]
    pub fn guess(&self, home: usize, hash: u64) -> u32 {
        let Some(bucket) = self.home_bucket(home) else {
            return NONE;
        };
        let hits = lanes(bucket.tags, tag(hash));
        if hits != 0 {
            return bucket.slots[hits.trailing_zeros() as usize / LANES];
        }
        if bucket.next == NONE {
            return NONE;
        }
        self.find(hash, |_| true).unwrap_or(NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_until_they_are_removed() {
        // Many slots share a hash, so that buckets overflow.
        let hash = |slot: u32| u64::from(slot % 3000).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut table = TagTable::default();
        let has = |table: &TagTable, slot| table.find(hash(slot), |one| one == slot).is_some();
        for slot in 0..9000 {
            table.insert(hash(slot), slot, hash);
            assert!(has(&table, slot) && has(&table, slot / 2) && !has(&table, slot + 1));
        }
        for slot in (0..9000).step_by(2) {
            assert!(table.replace(hash(slot), slot, None));
            assert!(!table.replace(hash(slot), slot, None));
        }
        assert!((0..9000).all(|slot| has(&table, slot) == (slot % 2 == 1)));
        assert!(table.replace(hash(1), 1, Some(9001)));
        assert!(table.find(hash(1), |one| one == 9001).is_some() && !has(&table, 1));
        assert_eq!(table.len, 4500);
        table.replace(hash(9001), 9001, None);
        for slot in (3..9000).step_by(2) {
            assert!(has(&table, slot) && (slot == 3 || !has(&table, slot - 2)));
            assert!(table.replace(hash(slot), slot, None));
        }
        let left = (table.len, table.n_buckets, table.spilled.len());
        assert_eq!((left, table.blocks.len()), ((0, 1, 0), 1));
    }
}
