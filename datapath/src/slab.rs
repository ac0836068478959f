//! A slab: items in numbered slots, which never move. Memory grows and shrinks in small steps.
//!
//! A chunk knows how many of its slots are used, so that a walk skips empty ones, and has its own
//! free list, so that new items fill the first chunks and the last ones can become empty. Insertion
//! and removal allocate or free at most one block.

use alloc::vec::Vec;

use crate::blocks::BlockSizes;

/// No slot.
pub const NONE: u32 = u32::MAX;
/// The number of slots of one chunk; use is tracked per chunk.
const CHUNK: usize = 256;
/// A slab is sparse when it has memory for so many times the blocks that its items need. Until then
/// three quarters were removed and one quarter has to be moved: a third of a move for each removal.
const SPARSE: usize = 4;

#[derive(Debug)]
enum Slot<T> {
    Used(T),
    /// The next free slot of its chunk.
    Free(u32),
}

/// The slots of a chunk that are used.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// The number of slots that are used.
    used: u32,
    /// The first free slot among those that were used before; slots that were never used come after
    /// these.
    free: u32,
}

const UNUSED: Chunk = Chunk {
    used: 0,
    free: NONE,
};

/// A slab. A new item gets a slot in the first chunk with room. A block without used slots has no
/// memory, and the last chunk always has used slots.
#[derive(Debug)]
pub struct Slab<T> {
    /// The slots that were ever used; each block consists of whole chunks.
    blocks: Vec<Vec<Slot<T>>>,
    chunks: Vec<Chunk>,
    /// No chunk before this chunk has a free slot.
    first_roomy: u32,
    /// The number of slots that have memory.
    n_held: usize,
    len: usize,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            blocks: Vec::new(),
            chunks: Vec::new(),
            first_roomy: 0,
            n_held: 0,
            len: 0,
        }
    }
}

impl<T> Slab<T> {
    const SIZES: BlockSizes = BlockSizes::of::<Slot<T>>(CHUNK);

    /// Returns how many slots are used.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most bytes of memory that the slots take.
    pub(crate) fn held_bytes(&self) -> usize {
        self.n_held * size_of::<Slot<T>>()
    }

    /// The first used slot from `from` on.
    pub fn used(&self, from: u32) -> Option<u32> {
        let mut from = from as usize;
        while from < self.end() as usize {
            let number = from / CHUNK;
            let end = (number + 1) * CHUNK;
            let mut slots = from as u32..end as u32;
            if self.chunks[number].used > 0 {
                let found = slots.find(|slot| self.get(*slot).is_some());
                if found.is_some() {
                    return found;
                }
            }
            from = end;
        }
        None
    }

    /// A number above all used slots.
    ///
    /// It may decrease when items are removed.
    pub fn end(&self) -> u32 {
        let Some(last) = self.blocks.last() else {
            return 0;
        };
        let first = Self::SIZES.of_block(self.blocks.len() - 1).start;
        (first + last.len()) as u32
    }

    /// The item in a slot.
    #[inline]
    pub fn get(&self, slot: u32) -> Option<&T> {
        match Self::SIZES.get(&self.blocks, slot as usize)? {
            Slot::Used(one) => Some(one),
            Slot::Free(_) => None,
        }
    }

    /// The item in a slot, for changes.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        match Self::SIZES.get_mut(&mut self.blocks, slot as usize)? {
            Slot::Used(one) => Some(one),
            Slot::Free(_) => None,
        }
    }

    /// The last used slot.
    pub(crate) fn last(&self) -> Option<u32> {
        let first = self.chunks.len().checked_sub(1)? * CHUNK;
        let mut slots = (first as u32..self.end()).rev();
        slots.find(|slot| self.get(*slot).is_some())
    }

    /// Returns true if so little of the memory is used that a quarter of it would suffice.
    pub fn is_sparse(&self) -> bool {
        self.n_held > SPARSE * Self::SIZES.room(self.len)
    }

    /// Returns true if moving items could not free any memory.
    pub(crate) fn is_dense(&self) -> bool {
        self.n_held <= Self::SIZES.room(self.len)
    }

    /// The first chunk that has a free slot, made if there is none.
    ///
    /// `first_roomy` only moves forward here, and back when a slot of an earlier chunk becomes
    /// free; so the search costs little in total.
    fn chunk_with_room(&mut self) -> usize {
        let first = self.first_roomy as usize;
        let later = self.chunks.iter().skip(first);
        let full = later.take_while(|chunk| chunk.used as usize == CHUNK);
        let number = first + full.count();
        self.first_roomy = number as u32;
        if number == self.chunks.len() {
            self.chunks.push(UNUSED);
        }
        number
    }

    /// Fills a free slot with the item that `make` returns for its number.
    ///
    /// Allocates a block if the chunk's has no memory. Numbers of removed items are used again, so
    /// what keeps a number has to recognise its item by something else, as an
    /// [`EntryKey`](crate::EntryKey) does.
    pub fn insert(&mut self, make: impl FnOnce(u32) -> T) -> u32 {
        let number = self.chunk_with_room();
        let (block, _) = Self::SIZES.place(number * CHUNK);
        if block == self.blocks.len() {
            self.blocks.push(Vec::new());
        }
        let slots = &mut self.blocks[block];
        let of_block = Self::SIZES.of_block(block);
        if slots.capacity() == 0 {
            self.n_held += of_block.len();
            // Only the first block grows, as most slabs are small.
            slots.reserve_exact(if block > 0 { of_block.len() } else { 1 });
        }
        let chunk = &mut self.chunks[number];
        let slot = match chunk.free {
            // All chunks before this chunk are full, so that the next slot of the block is in it.
            NONE => (of_block.start + slots.len()) as u32,
            free => free,
        };
        let one = Slot::Used(make(slot));
        if chunk.free == NONE {
            slots.push(one);
        } else if let Slot::Free(next) =
            core::mem::replace(&mut slots[slot as usize - of_block.start], one)
        {
            chunk.free = next;
        }
        chunk.used += 1;
        self.len += 1;
        slot
    }

    /// Frees the memory of some slots of a slab that is no longer used. Returns true if there was
    /// any.
    ///
    /// It leaves the slab in a state in which nothing but this may be called.
    pub fn drop_some(&mut self) -> bool {
        let Some(last) = self.blocks.last_mut() else {
            return false;
        };
        let left = last.len().saturating_sub(CHUNK);
        last.truncate(left);
        if left == 0 {
            self.blocks.pop();
        }
        true
    }

    /// Removes the item of a slot. If it was the last of its block, the block's memory is freed.
    pub fn remove(&mut self, slot: u32) -> Option<T> {
        self.get(slot)?;
        let number = slot as usize / CHUNK;
        let (block, at) = Self::SIZES.place(slot as usize);
        let chunk = &mut self.chunks[number];
        let free = Slot::Free(chunk.free);
        let before = core::mem::replace(&mut self.blocks[block][at], free);
        chunk.used -= 1;
        chunk.free = slot;
        self.len -= 1;
        if chunk.used == 0 {
            self.free_block(block);
            self.free_end();
        }
        let first = number.min(self.chunks.len()) as u32;
        self.first_roomy = self.first_roomy.min(first);
        match before {
            Slot::Used(one) => Some(one),
            Slot::Free(_) => None,
        }
    }

    /// Frees the memory of a block if none of its slots is used.
    fn free_block(&mut self, block: usize) {
        let slots = Self::SIZES.of_block(block);
        let end = self.chunks.len().min(slots.end / CHUNK);
        let chunks = &mut self.chunks[slots.start / CHUNK..end];
        if chunks.iter().all(|chunk| chunk.used == 0) {
            chunks.fill(UNUSED);
            self.blocks[block] = Vec::new();
            self.n_held -= slots.len();
        }
    }

    /// Forgets chunks at the end in which no slot is used.
    ///
    /// Restores that the last chunk has used slots.
    fn free_end(&mut self) {
        while self.chunks.last().is_some_and(|chunk| chunk.used == 0) {
            self.chunks.pop();
        }
        let end = self.chunks.len() * CHUNK;
        let n_blocks = match end.checked_sub(1) {
            Some(last) => Self::SIZES.place(last).0 + 1,
            None => 0,
        };
        self.blocks.truncate(n_blocks);
        if let Some(last) = self.blocks.last_mut() {
            last.truncate(end - Self::SIZES.of_block(n_blocks - 1).start);
        }
    }
}

#[cfg(feature = "lookahead")]
impl<T> Slab<T> {
    /// Prefetches a slot, if there is such a slot.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        if let Some(one) = Self::SIZES.get(&self.blocks, slot as usize) {
            bofuss_intrinsics::prefetch(one);
        }
    }

    /// Prefetches the first cache line of a slot, if there is such a slot.
    #[inline]
    pub fn prefetch_start(&self, slot: u32) {
        if let Some(one) = Self::SIZES.get(&self.blocks, slot as usize) {
            bofuss_intrinsics::prefetch_start(one);
        }
    }
}

impl<T> core::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, slot: u32) -> &T {
        self.get(slot)
            .expect("whoever keeps a slot's number keeps it used")
    }
}

impl<T> core::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut T {
        self.get_mut(slot)
            .expect("whoever keeps a slot's number keeps it used")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An item so large that a large block has four chunks.
    #[derive(Debug, PartialEq)]
    #[repr(align(1024))]
    struct Bulky(u32);

    /// For how many items there is memory.
    fn memory<T>(slab: &Slab<T>) -> usize {
        slab.blocks.iter().map(Vec::capacity).sum()
    }

    #[test]
    fn slots_are_used_again() {
        let mut slab = Slab::default();
        let slots: Vec<u32> = (0..600).map(|n| slab.insert(|slot| (slot, n))).collect();
        assert_eq!((slab.len(), slab.end()), (600, 600));
        assert!(slots.iter().all(|slot| slab[*slot].0 == *slot));
        assert_eq!(slab.remove(300), Some((300, 300)));
        assert_eq!((slab.remove(300), slab.get(300)), (None, None));
        assert_eq!(slab.remove(0), Some((0, 0)));
        assert_eq!(slab.insert(|slot| (slot, 1)), 0);
        assert_eq!(slab.insert(|slot| (slot, 2)), 300);
        assert_eq!(slab.insert(|slot| (slot, 3)), 600);
        assert_eq!((slab.len(), slab.end()), (601, 601));
        (1..600).for_each(|slot| assert!(slab.remove(slot).is_some()));
        assert_eq!((slab.used(0), slab.used(1)), (Some(0), Some(600)));
        assert_eq!((slab.used(601), slab.used(9999)), (None, None));
        assert_eq!(slab.last(), Some(600));
        assert_eq!(slab.remove(600), Some((600, 3)));
        assert_eq!((slab.last(), slab.len(), slab.end()), (Some(0), 1, 256));
        assert_eq!(slab.remove(0), Some((0, 1)));
        assert_eq!((slab.last(), slab.end()), (None, 0));
    }

    #[test]
    fn chunks_without_used_slots_take_no_memory() {
        let mut slab = Slab::default();
        let slots: Vec<u32> = (0..5000).map(|n| slab.insert(|_| n)).collect();
        assert!(memory(&slab) >= 5000);
        slots[..4999].iter().for_each(|slot| _ = slab.remove(*slot));
        assert_eq!((slab.len(), slab.used(0)), (1, Some(4999)));
        assert_eq!(memory(&slab), CHUNK);
        let mut again: Vec<u32> = (0..4999).map(|n| slab.insert(|_| n)).collect();
        again.sort_unstable();
        assert_eq!(again, slots[..4999]);
        slots.iter().for_each(|slot| _ = slab.remove(*slot));
        assert_eq!((slab.len(), slab.used(0), memory(&slab)), (0, None, 0));
    }

    #[test]
    fn a_large_block_has_memory_as_long_as_one_of_its_slots_is_used() {
        let mut slab = Slab::default();
        let large = Slab::<Bulky>::SIZES.of_block(4).len();
        assert_eq!(large, 4 * CHUNK);
        let count = 3 * large as u32;
        (0..count).for_each(|n| assert_eq!(slab.insert(Bulky), n));
        let mut random = 1u32;
        for _ in 0..20 {
            let mut slots: Vec<u32> = (0..count).collect();
            for place in 0..slots.len() {
                random = random.wrapping_mul(0x915f_77f5).wrapping_add(1);
                slots.swap(place, (random >> 8) as usize % count as usize);
            }
            let kept = slots.split_off(slots.len() - random as usize % 4);
            for slot in slots {
                assert_eq!(slab.remove(slot), Some(Bulky(slot)));
            }
            let blocks = |slot: u32| Slab::<Bulky>::SIZES.place(slot as usize).0;
            let mut held: Vec<usize> = kept.iter().map(|slot| blocks(*slot)).collect();
            held.sort_unstable();
            held.dedup();
            let held = held
                .iter()
                .map(|at| Slab::<Bulky>::SIZES.of_block(*at).len());
            assert_eq!(memory(&slab), held.sum::<usize>());
            assert_eq!(slab.last(), kept.iter().max().copied());
            while slab.len() < count as usize {
                assert!(slab.insert(Bulky) < count);
            }
            assert!(slab.is_dense());
            assert!((0..count).all(|slot| slab[slot].0 == slot));
        }
    }

    #[test]
    fn items_moved_from_the_end_need_few_chunks() {
        let mut slab = Slab::default();
        (0..50_000).for_each(|n| _ = slab.insert(|_| n));
        assert!(slab.is_dense() && !slab.is_sparse());
        let leaves = |slot: &u32| slot % 100 != 0;
        (0..50_000)
            .filter(leaves)
            .for_each(|slot| _ = slab.remove(slot));
        assert!(slab.is_sparse() && !slab.is_dense());
        let mut moved = 0;
        while !slab.is_dense() {
            let last = slab.last().expect("there are some");
            let one = slab.remove(last).expect("it is used");
            assert!(slab.insert(|_| one) < last);
            moved += 1;
        }
        assert!(moved <= 500 && !slab.is_sparse(), "{moved}");
        assert_eq!((slab.len(), slab.end()), (500, 512));
        let mut left: Vec<u32> = (0..slab.end())
            .filter_map(|slot| slab.get(slot).copied())
            .collect();
        left.sort_unstable();
        assert!(left.into_iter().eq((0..50_000).step_by(100)));
    }
}
