//! Things in numbered slots: they stay where they are, and room is made in small steps.

use alloc::vec::Vec;

use bofuss_intrinsics::prefetch;

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;
/// Slots that are made at a time.
const CHUNK: usize = 256;
/// How many times the chunks needed have memory when it is time to move things together. A slab
/// that shrinks by three quarters moves one quarter: a third of a move for each removal.
const SPARSE: usize = 4;

#[derive(Debug)]
enum Slot<T> {
    Used(T),
    /// The next free slot of its chunk.
    Free(u32),
}

/// Slots that stand together in memory.
#[derive(Debug)]
struct Chunk<T> {
    slots: Vec<Slot<T>>,
    /// How many are used.
    used: u32,
    /// The first of its slots that were used before; then come those that never were.
    free: u32,
}

/// Numbered slots. A new one is in the first chunk that has room. A chunk in which none is used has
/// no memory, and none of them is the last.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    chunks: Vec<Chunk<T>>,
    /// No chunk before this one has a free slot.
    first_roomy: u32,
    /// How many chunks have memory.
    n_held: u32,
    len: usize,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            first_roomy: 0,
            n_held: 0,
            len: 0,
        }
    }
}

impl<T> Slab<T> {
    /// How many slots are used.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// How many bytes of memory the slots take at most.
    pub(crate) fn held_bytes(&self) -> usize {
        self.n_held as usize * CHUNK * size_of::<Slot<T>>()
    }

    /// The first used slot from `from` on.
    pub(crate) fn used(&self, from: u32) -> Option<u32> {
        let mut from = from as usize;
        while from < self.end() as usize {
            let number = from / CHUNK;
            let is_used = |slot: &usize| self.get(*slot as u32).is_some();
            let end = (number + 1) * CHUNK;
            if self.chunks[number].used > 0
                && let Some(slot) = (from..end).find(is_used)
            {
                return Some(slot as u32);
            }
            from = end;
        }
        None
    }

    /// All slots that are used are before it.
    pub(crate) fn end(&self) -> u32 {
        let last = self.chunks.last().map_or(0, |chunk| chunk.slots.len());
        (self.chunks.len().saturating_sub(1) * CHUNK + last) as u32
    }

    /// What is in a slot.
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&T> {
        let chunk = self.chunks.get(slot as usize / CHUNK)?;
        match chunk.slots.get(slot as usize % CHUNK)? {
            Slot::Used(one) => Some(one),
            Slot::Free(_) => None,
        }
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        let chunk = self.chunks.get_mut(slot as usize / CHUNK)?;
        match chunk.slots.get_mut(slot as usize % CHUNK)? {
            Slot::Used(one) => Some(one),
            Slot::Free(_) => None,
        }
    }

    /// Prefetches a slot, if there is such a slot.
    #[inline]
    pub(crate) fn prefetch(&self, slot: u32) {
        let chunk = self.chunks.get(slot as usize / CHUNK);
        if let Some(one) = chunk.and_then(|chunk| chunk.slots.get(slot as usize % CHUNK)) {
            prefetch(one);
        }
    }

    /// The last used slot.
    pub(crate) fn last(&self) -> Option<u32> {
        let first = self.chunks.len().checked_sub(1)? * CHUNK;
        let mut slots = (first as u32..self.end()).rev();
        slots.find(|slot| self.get(*slot).is_some())
    }

    /// Whether a small part of the memory is used: the same things would need a quarter of the
    /// chunks.
    pub(crate) fn is_sparse(&self) -> bool {
        self.n_held as usize > SPARSE * self.n_needed()
    }

    /// Whether no other order would need fewer chunks.
    pub(crate) fn is_dense(&self) -> bool {
        self.n_held as usize <= self.n_needed()
    }

    /// Chunks that are needed for what there is.
    fn n_needed(&self) -> usize {
        self.len.div_ceil(CHUNK)
    }

    /// The first chunk that has a free slot, made if there is none.
    fn chunk_with_room(&mut self) -> usize {
        let first = self.first_roomy as usize;
        let later = self.chunks.iter().skip(first);
        let full = later.take_while(|chunk| chunk.used as usize == CHUNK);
        let number = first + full.count();
        self.first_roomy = number as u32;
        if number == self.chunks.len() {
            self.chunks.push(Chunk {
                slots: Vec::new(),
                used: 0,
                free: NONE,
            });
        }
        number
    }

    /// Fills a free slot with what `make` makes for its number.
    pub(crate) fn insert(&mut self, make: impl FnOnce(u32) -> T) -> u32 {
        let number = self.chunk_with_room();
        let chunk = &mut self.chunks[number];
        if chunk.slots.capacity() == 0 {
            self.n_held += 1;
            // Only the first chunk grows, as most slabs are small.
            chunk
                .slots
                .reserve_exact(if number > 0 { CHUNK } else { 1 });
        }
        let first = (number * CHUNK) as u32;
        let slot = match chunk.free {
            NONE => first + chunk.slots.len() as u32,
            free => free,
        };
        let one = Slot::Used(make(slot));
        if chunk.free == NONE {
            chunk.slots.push(one);
        } else if let Slot::Free(next) =
            core::mem::replace(&mut chunk.slots[(slot - first) as usize], one)
        {
            chunk.free = next;
        }
        chunk.used += 1;
        self.len += 1;
        slot
    }

    /// Frees the memory of some slots. Returns true if there was any.
    pub(crate) fn drop_some(&mut self) -> bool {
        self.chunks.pop().is_some()
    }

    /// Empties a slot; the last of its chunk gives back the chunk's memory.
    pub(crate) fn remove(&mut self, slot: u32) -> Option<T> {
        self.get(slot)?;
        let number = slot as usize / CHUNK;
        let chunk = &mut self.chunks[number];
        let place = &mut chunk.slots[slot as usize % CHUNK];
        let before = core::mem::replace(place, Slot::Free(chunk.free));
        (chunk.used, chunk.free) = (chunk.used - 1, slot);
        self.len -= 1;
        if chunk.used == 0 {
            (chunk.slots, chunk.free) = (Vec::new(), NONE);
            self.n_held -= 1;
        }
        while self.chunks.last().is_some_and(|chunk| chunk.used == 0) {
            self.chunks.pop();
        }
        let first = number.min(self.chunks.len()) as u32;
        self.first_roomy = self.first_roomy.min(first);
        match before {
            Slot::Used(one) => Some(one),
            Slot::Free(_) => None,
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
        let memory = |slab: &Slab<i32>| {
            slab.chunks
                .iter()
                .map(|chunk| chunk.slots.capacity())
                .sum::<usize>()
        };
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
    fn things_that_are_moved_from_the_end_need_few_chunks() {
        let mut slab = Slab::default();
        (0..50_000).for_each(|n| _ = slab.insert(|_| n));
        assert!(slab.is_dense() && !slab.is_sparse());
        let leaves = |slot: &u32| !slot.is_multiple_of(100);
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
