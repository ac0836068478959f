//! How the entry of the highest rank is found for a key.
//!
//! Entries that look at the same bits are a group. A hash of the group and of these bits leads to
//! the entry, in one table for all groups that is small enough for a cache. A lookup goes through
//! the groups, those of higher rank first, and ends where no better entry can come.

use alloc::vec::Vec;
use core::cmp::Reverse;
use core::hash::{BuildHasher, Hasher};

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use crate::key::{Bits, Key};
use crate::lines::Lines;

/// The number of an entry in its table. It is not used again while the table has other entries to
/// number.
pub type Handle = usize;

/// An entry with its rank, in the order in which they are preferred. Choice: of several with one
/// rank, that of the lowest number.
type Ranked = (Reverse<i32>, u32);

/// The highest bit of a slot's entry: others have its hash, too.
const MORE: u32 = 1 << 31;

/// Where a hash leads to.
#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    /// The best entry, with [`MORE`] if there are others.
    best: u32,
}

/// The hash of a slot as the table of slots wants it: of 64 bits.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Entries that look at the same bits.
#[derive(Clone, Debug)]
struct Group {
    mask: Bits,
    /// The highest rank of its entries, or of some that are no longer there.
    rank: i32,
    count: usize,
}

/// Entries by their keys.
#[derive(Clone, Debug, Default)]
pub struct Index {
    slots: HashTable<Slot>,
    /// All entries of a hash, in order, where there are several.
    more: HashMap<u32, Vec<Ranked>>,
    groups: Vec<Group>,
    /// Groups without entries.
    free: Vec<u32>,
    by_mask: HashMap<Bits, u32>,
    /// The groups with their ranks, the highest first.
    order: Vec<(Reverse<i32>, u32)>,
    /// The order is not right.
    stale: bool,
    hasher: DefaultHashBuilder,
}

impl Index {
    /// Entries that can be numbered.
    pub const MAX_ENTRIES: usize = MORE as usize;

    /// Adds an entry, which `lines` has, that looks at the bits of `mask`, which must be those of
    /// `key`. Returns the number of its group.
    pub fn insert(&mut self, mask: &Bits, key: &Bits, lines: &Lines, handle: Handle) -> u32 {
        let ranked = |handle| (Reverse(lines.rank(handle)), handle);
        let new = ranked(handle as u32);
        let at = self.group(mask, new.0.0);
        let hash = self.hash(at, key);
        let found = self.slots.find_mut(spread(hash), |slot| slot.hash == hash);
        let Some(slot) = found else {
            let best = handle as u32;
            let slot = Slot { hash, best };
            self.slots
                .insert_unique(spread(hash), slot, |slot| spread(slot.hash));
            return at;
        };
        let only = || alloc::vec![ranked(slot.best)];
        let list = self.more.entry(hash).or_insert_with(only);
        let place = list.partition_point(|other| *other < new);
        list.insert(place, new);
        slot.best = list[0].1 | MORE;
        at
    }

    /// Removes what was added with these.
    pub fn remove(&mut self, mask: &Bits, key: &Bits, rank: i32, handle: Handle) {
        let Some(at) = self.by_mask.get(mask).copied() else {
            return;
        };
        let hash = self.hash(at, key);
        let found = self
            .slots
            .find_entry(spread(hash), |slot| slot.hash == hash);
        let Ok(mut slot) = found else {
            return;
        };
        match self.more.get_mut(&hash) {
            None => drop(slot.remove()),
            Some(list) => {
                if let Ok(place) = list.binary_search(&(Reverse(rank), handle as u32)) {
                    list.remove(place);
                }
                slot.get_mut().best = list[0].1 | MORE;
                if let [(_, only)] = list[..] {
                    slot.get_mut().best = only;
                    self.more.remove(&hash);
                }
            }
        }
        let group = &mut self.groups[at as usize];
        group.count -= 1;
        if group.count == 0 {
            self.stale = true;
            self.by_mask.remove(mask);
            self.free.push(at);
        }
    }

    /// The entries that may have been added with this mask and key: all that were, and perhaps
    /// others of the same hash.
    pub fn same(&self, mask: &Bits, key: &Bits) -> impl Iterator<Item = Handle> {
        let at = self.by_mask.get(mask);
        let hash = at.map_or(0, |at| self.hash(*at, key));
        let slot = at.and_then(|_| self.slots.find(spread(hash), |slot| slot.hash == hash));
        let more = slot.and_then(|_| self.more.get(&hash));
        let only = slot.filter(|_| more.is_none()).map(|slot| slot.best);
        let all = more.into_iter().flatten().map(|(_, handle)| *handle);
        all.chain(only).map(|handle| handle as Handle)
    }

    /// The group of a mask, in which there is one entry more.
    fn group(&mut self, mask: &Bits, rank: i32) -> u32 {
        if let Some(at) = self.by_mask.get(mask) {
            let group = &mut self.groups[*at as usize];
            group.count += 1;
            if rank > group.rank {
                group.rank = rank;
                self.stale = true;
            }
            return *at;
        }
        self.stale = true;
        let mask = mask.clone();
        let group = Group {
            mask: mask.clone(),
            rank,
            count: 1,
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.groups[at as usize] = group;
                at
            }
            None => {
                self.groups.push(group);
                self.groups.len() as u32 - 1
            }
        };
        self.by_mask.insert(mask, at);
        at
    }

    fn hash(&self, group: u32, key: &Bits) -> u32 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write_u32(group);
        match key {
            Bits::Word(word) => hasher.write_u128(*word),
            Bits::Bytes(bytes) => hasher.write(bytes),
        }
        let hash = hasher.finish();
        (hash >> 32 ^ hash) as u32
    }

    /// The best entry of `lines` for a key.
    pub fn best(&mut self, key: &mut Key, lines: &Lines) -> Option<Handle> {
        if self.stale {
            self.sort();
        }
        let mut best: Option<Ranked> = None;
        for (rank, at) in &self.order {
            if best.is_some_and(|(found, _)| found < *rank) {
                break;
            }
            let hash = self.hash(*at, key.mask(&self.groups[*at as usize].mask));
            let Some(slot) = self.slots.find(spread(hash), |slot| slot.hash == hash) else {
                continue;
            };
            let fits = |handle: &u32| lines.fits(*handle, *at, key);
            let found = if slot.best & MORE == 0 {
                Some(slot.best).filter(fits)
            } else {
                let mut all = self.more[&hash].iter().map(|(_, handle)| *handle);
                all.find(fits)
            };
            if let Some(handle) = found {
                let found = (Reverse(lines.rank(handle)), handle);
                best = Some(best.map_or(found, |other| other.min(found)));
            }
        }
        best.map(|(_, handle)| handle as Handle)
    }

    fn sort(&mut self) {
        let groups = self.groups.iter().enumerate();
        let used = groups.filter(|(_, group)| group.count > 0);
        self.order.clear();
        self.order
            .extend(used.map(|(at, group)| (Reverse(group.rank), at as u32)));
        self.order.sort_unstable();
        self.stale = false;
    }
}
