//! A hash map that grows and shrinks by one bucket at a time (linear hashing, Litwin, 1980), so
//! that no operation takes long.
//!
//! A map that doubles would stop packets while it moves all of its keys. The pairs are in a slab,
//! whose slots do not move, and the hash table has only their numbers; so a slot can be remembered
//! and tried first.

use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};

use hashbrown::DefaultHashBuilder;

use crate::slab::{NONE, Slab};
use crate::tables::tag_table::TagTable;

/// A key and its value, in this order in memory, aligned as `A`.
#[derive(Debug)]
#[repr(C)]
struct KeyValue<K, V, A> {
    key: K,
    value: V,
    aligned: [A; 0],
}

/// The map. Each pair of key and value is aligned as `A`.
#[derive(Debug)]
pub struct StepMap<K, V, A = ()> {
    hasher: DefaultHashBuilder,
    pairs: Slab<KeyValue<K, V, A>>,
    index: TagTable,
    /// The number of times that a key was added or removed.
    changes: u64,
    /// The slot of the key that [`StepMap::entry`] returned last, because the next call usually
    /// asks for the same key.
    recent: u32,
}

impl<K, V, A> Default for StepMap<K, V, A> {
    fn default() -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            pairs: Slab::default(),
            index: TagTable::default(),
            changes: 0,
            recent: NONE,
        }
    }
}

impl<K: Hash + Eq, V, A> StepMap<K, V, A> {
    /// Returns how many keys there are.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns how often a key was added or removed. As long as it stays the same, so do the slots
    /// of keys.
    #[inline]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most bytes of memory that it takes, without what keys and values point to.
    pub fn held_bytes(&self) -> usize {
        self.pairs.held_bytes() + self.index.held_bytes()
    }

    /// The first slot from `from` on that has a key. A key stays in its slot until it is removed.
    pub fn used(&self, from: u32) -> Option<u32> {
        self.pairs.used(from)
    }

    /// The key of a slot and its value.
    #[inline]
    pub fn at(&self, slot: u32) -> Option<(&K, &V)> {
        let pair = self.pairs.get(slot)?;
        Some((&pair.key, &pair.value))
    }

    /// The key of a slot and its value, for changes.
    #[inline]
    pub fn at_mut(&mut self, slot: u32) -> Option<(&K, &mut V)> {
        let pair = self.pairs.get_mut(slot)?;
        Some((&pair.key, &mut pair.value))
    }

    /// The slot of a key, if it is in the map.
    ///
    /// The last key is tried before its hash is computed: flow-mods come in runs with equal masks
    /// or instructions.
    fn slot<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<u32>
    where
        K: Borrow<Q>,
    {
        match self.pairs.get(self.recent) {
            Some(recent) if recent.key.borrow() == key => Some(self.recent),
            Some(_) | None => self.slot_under(self.hasher.hash_one(key), key),
        }
    }

    fn slot_under<Q: Eq + ?Sized>(&self, hash: u64, key: &Q) -> Option<u32>
    where
        K: Borrow<Q>,
    {
        self.index
            .find(hash, |slot| self.pairs[slot].key.borrow() == key)
    }

    /// The stored key and its value.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        let pair = &self.pairs[self.slot(key)?];
        Some((&pair.key, &pair.value))
    }

    /// The stored key and its value, for changes.
    pub fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<(&K, &mut V)>
    where
        K: Borrow<Q>,
    {
        let slot = self.slot(key)?;
        let pair = &mut self.pairs[slot];
        Some((&pair.key, &mut pair.value))
    }

    /// The stored key and its value, added if it is not in the map.
    ///
    /// The key is cloned only if it is new.
    pub fn entry(&mut self, key: &K) -> (&K, &mut V)
    where
        K: Clone,
        V: Default,
    {
        let slot = match self.slot(key) {
            Some(slot) => slot,
            None => self.insert(key.clone(), V::default()),
        };
        self.recent = slot;
        let pair = &mut self.pairs[slot];
        (&pair.key, &mut pair.value)
    }

    /// Adds a key that is not in the map. Returns its slot.
    pub fn insert(&mut self, key: K, value: V) -> u32 {
        self.changes += 1;
        let hash = self.hasher.hash_one(&key);
        let slot = self.pairs.insert(|_| KeyValue {
            key,
            value,
            aligned: [],
        });
        self.index.insert(hash, slot, |slot: u32| {
            self.hasher.hash_one(&self.pairs[slot].key)
        });
        self.recent = slot;
        slot
    }

    /// Takes a key out.
    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        if let Some(slot) = self.slot(key) {
            self.changes += 1;
            self.index.replace(self.hasher.hash_one(key), slot, None);
            self.pairs.remove(slot);
        }
    }

    /// Frees the memory of some removed keys. Returns true if there was any.
    ///
    /// As for a slab, nothing else may be called after it.
    pub fn drop_some(&mut self) -> bool {
        self.index.drop_some() || self.pairs.drop_some()
    }
}

#[cfg(feature = "lookahead")]
impl<K: Hash + Eq, V, A> StepMap<K, V, A> {
    /// The hash under which a key is kept.
    #[inline]
    pub fn hash(&self, key: &K) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Prefetches what is read first to find a key with this hash.
    #[inline]
    pub fn prefetch(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    /// The slot that most likely has the key with this hash, which is prefetched. It may be unused.
    #[inline]
    pub fn guess(&self, hash: u64) -> u32 {
        let slot = self.index.guess(self.index.home(hash), hash);
        self.pairs.prefetch(slot);
        slot
    }

    /// The slot of a key with this hash, if it is in the map. Slot `likely` is tried first.
    ///
    /// `hash` has to be [`Self::hash`] of the key.
    #[inline]
    pub fn find(&self, hash: u64, likely: u32, key: &K) -> Option<u32> {
        match self.pairs.get(likely) {
            Some(other) if other.key == *key => Some(likely),
            Some(_) | None => self.slot_under(hash, key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};

    #[test]
    fn keys_have_their_values_until_they_are_removed() {
        let mut map: StepMap<String, u32> = StepMap::default();
        (0..2000u32).for_each(|n| _ = map.insert(n.to_string(), n));
        assert_eq!(map.get("1999"), Some((&"1999".into(), &1999)));
        *map.entry(&"7".into()).1 += 1;
        *map.entry(&"new".into()).1 += 1;
        assert_eq!((map.len(), map.get("7").map(|one| one.1)), (2001, Some(&8)));
        assert_eq!(map.get_mut("new").map(|(_, value)| *value), Some(1));
        (0..2000u32).for_each(|n| map.remove(&*n.to_string()));
        map.remove("unknown");
        assert_eq!((map.len(), map.get("7")), (1, None));
        assert_eq!(map.get("new"), Some((&"new".into(), &1)));
    }
}
