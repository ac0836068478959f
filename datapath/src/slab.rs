//! Things in numbered slots: they stay where they are, and room is made in small steps.

use alloc::vec::Vec;

use bofuss_intrinsics::prefetch;

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;
/// Slots that are made at a time.
const CHUNK: usize = 256;

#[derive(Debug)]
enum Slot<T> {
    Used(T),
    /// The next free slot of its chunk.
    Free(u32),
}

/// What is free in a chunk.
#[derive(Debug)]
struct Room {
    /// How many of its slots are used.
    used: usize,
    /// The first of its slots that were used before; then come those that never were.
    free: u32,
    /// The next chunk with a free slot, if this has one.
    next: u32,
}

/// Numbered slots. A chunk in which none is used has no memory. Invariant: `roomy` begins the list
/// of all chunks that have a free slot.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    chunks: Vec<Vec<Slot<T>>>,
    rooms: Vec<Room>,
    roomy: u32,
    len: usize,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            rooms: Vec::new(),
            roomy: NONE,
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
            if self.rooms[number].used > 0
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
        if self.roomy == NONE {
            self.roomy = self.chunks.len() as u32;
            self.chunks.push(Vec::new());
            self.rooms.push(Room {
                used: 0,
                free: NONE,
                next: NONE,
            });
        }
        let number = self.roomy as usize;
        let (chunk, room) = (&mut self.chunks[number], &mut self.rooms[number]);
        if chunk.capacity() == 0 && number > 0 {
            chunk.reserve_exact(CHUNK);
        }
        let first = (number * CHUNK) as u32;
        let slot = match room.free {
            NONE => first + chunk.len() as u32,
            free => free,
        };
        let one = Slot::Used(make(slot));
        if room.free == NONE {
            chunk.push(one);
        } else if let Slot::Free(next) =
            core::mem::replace(&mut chunk[(slot - first) as usize], one)
        {
            room.free = next;
        }
        room.used += 1;
        self.len += 1;
        if room.used == CHUNK {
            self.roomy = core::mem::replace(&mut room.next, NONE);
        }
        slot
    }

    /// Gives the memory of some slots back, for good; whether there was any.
    pub(crate) fn drop_some(&mut self) -> bool {
        self.chunks.pop().is_some()
    }

    /// Empties a slot; the last of its chunk gives back the chunk's memory.
    pub(crate) fn remove(&mut self, slot: u32) -> Option<T> {
        self.get(slot)?;
        let number = slot as usize / CHUNK;
        let (chunk, room) = (&mut self.chunks[number], &mut self.rooms[number]);
        let place = &mut chunk[slot as usize % CHUNK];
        let before = core::mem::replace(place, Slot::Free(room.free));
        if room.used == CHUNK {
            room.next = core::mem::replace(&mut self.roomy, number as u32);
        }
        (room.used, room.free) = (room.used - 1, slot);
        if room.used == 0 {
            (*chunk, room.free) = (Vec::new(), NONE);
        }
        self.len -= 1;
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

    #[test]
    fn chunks_without_used_slots_take_no_memory() {
        let mut slab = Slab::default();
        let slots: Vec<u32> = (0..5000).map(|n| slab.insert(|_| n)).collect();
        let memory = |slab: &Slab<i32>| slab.chunks.iter().map(Vec::capacity).sum::<usize>();
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
}
