//! Things in numbered slots: they stay where they are, and room is made in small steps.

use alloc::vec::Vec;

use bofuss_intrinsics::prefetch;

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;
/// Slots that are made at a time.
const CHUNK: usize = 256;

/// Adds a chunk for `len` things. Only the first grows, as most have few things: what others would
/// let go as they grow is hard to use again.
pub(super) fn add_chunk<T>(chunks: &mut Vec<Vec<T>>, len: usize) {
    let whole = if chunks.is_empty() { 0 } else { len };
    chunks.push(Vec::with_capacity(whole));
}

#[derive(Debug)]
enum Slot<T> {
    Used(T),
    /// The next free slot.
    Free(u32),
}

/// Numbered slots. Invariant: `free` begins the list of all free slots.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    chunks: Vec<Vec<Slot<T>>>,
    /// How many slots of each chunk are used.
    counts: Vec<u16>,
    free: u32,
    len: usize,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            counts: Vec::new(),
            free: NONE,
            len: 0,
        }
    }
}

impl<T> Slab<T> {
    /// How many slots are used.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The first used slot from `from` on.
    pub(crate) fn used(&self, from: u32) -> Option<u32> {
        let mut from = from as usize;
        while from < self.end() as usize {
            let number = from / CHUNK;
            let is_used = |slot: &usize| self.get(*slot as u32).is_some();
            let end = (number + 1) * CHUNK;
            if self.counts[number] > 0
                && let Some(slot) = (from..end).find(is_used)
            {
                return Some(slot as u32);
            }
            from = end;
        }
        None
    }

    /// How many slots there are.
    pub(crate) fn end(&self) -> u32 {
        let last = self.chunks.last().map_or(0, Vec::len);
        (self.chunks.len().saturating_sub(1) * CHUNK + last) as u32
    }

    /// What is in a slot.
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&T> {
        match self
            .chunks
            .get(slot as usize / CHUNK)?
            .get(slot as usize % CHUNK)?
        {
            Slot::Used(one) => Some(one),
            Slot::Free(_) => None,
        }
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        let chunk = self.chunks.get_mut(slot as usize / CHUNK)?;
        match chunk.get_mut(slot as usize % CHUNK)? {
            Slot::Used(one) => Some(one),
            Slot::Free(_) => None,
        }
    }

    /// Has the memory of a slot brought near, if there is such a slot.
    #[inline]
    pub(crate) fn prefetch(&self, slot: u32) {
        let chunk = self.chunks.get(slot as usize / CHUNK);
        if let Some(one) = chunk.and_then(|chunk| chunk.get(slot as usize % CHUNK)) {
            prefetch(one);
        }
    }

    /// Fills a free slot with what `make` makes for its number.
    pub(crate) fn insert(&mut self, make: impl FnOnce(u32) -> T) -> u32 {
        self.len += 1;
        let slot = self.free;
        if slot == NONE {
            let slot = self.end();
            if (slot as usize).is_multiple_of(CHUNK) {
                add_chunk(&mut self.chunks, CHUNK);
                self.counts.push(0);
            }
            self.counts[slot as usize / CHUNK] += 1;
            let chunk = self.chunks.last_mut().expect("one was pushed just now");
            chunk.push(Slot::Used(make(slot)));
            return slot;
        }
        self.counts[slot as usize / CHUNK] += 1;
        let place = &mut self.chunks[slot as usize / CHUNK][slot as usize % CHUNK];
        if let Slot::Free(next) = core::mem::replace(place, Slot::Used(make(slot))) {
            self.free = next;
        }
        slot
    }

    /// Gives the memory of some slots back, for good; whether there was any.
    pub(crate) fn drop_some(&mut self) -> bool {
        self.chunks.pop().is_some()
    }

    /// Empties a slot.
    pub(crate) fn remove(&mut self, slot: u32) -> Option<T> {
        self.get(slot)?;
        let place = &mut self.chunks[slot as usize / CHUNK][slot as usize % CHUNK];
        let before = core::mem::replace(place, Slot::Free(self.free));
        self.counts[slot as usize / CHUNK] -= 1;
        (self.free, self.len) = (slot, self.len - 1);
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
    }
}
