//! How the entry of the highest rank is found for a key.
//!
//! Entries that look at the same bits are a group: a hash table under these bits. A lookup goes
//! through the groups, those of higher rank first, and ends where no better entry can come.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Reverse;

use hashbrown::HashMap;

use crate::key::{Bits, Key};

/// The number of an entry in its table. It is not used again while the table has other entries to
/// number.
pub type Handle = usize;

/// An entry with its rank, in the order in which they are preferred. Choice: of several with one
/// rank, that of the lowest number.
type Ranked = (Reverse<i32>, Handle);

/// Entries under the same bits, at least one, of which most have no other.
#[derive(Clone, Debug)]
struct List {
    best: Ranked,
    /// The others, in order. Behind a pointer, so that keys with one entry are close together.
    #[expect(clippy::box_collection, reason = "a vector has three times its size")]
    more: Option<Box<Vec<Ranked>>>,
}

impl List {
    fn insert(&mut self, mut new: Ranked) {
        if new < self.best {
            core::mem::swap(&mut self.best, &mut new);
        }
        let more = self.more.get_or_insert_default();
        let place = more.partition_point(|other| *other < new);
        more.insert(place, new);
    }

    /// Removes an entry. Returns whether none is left.
    fn remove(&mut self, old: Ranked) -> bool {
        let Some(more) = &mut self.more else {
            return self.best == old;
        };
        if self.best == old {
            self.best = more.remove(0);
        } else if let Ok(place) = more.binary_search(&old) {
            more.remove(place);
        }
        if more.is_empty() {
            self.more = None;
        }
        false
    }

    fn iter(&self) -> impl Iterator<Item = Ranked> {
        core::iter::once(self.best).chain(self.more.iter().flat_map(|more| more.iter().copied()))
    }
}

/// Entries that look at the same bits.
#[derive(Clone, Debug)]
struct Group {
    mask: Bits,
    /// The highest rank of its entries, or of some that are no longer there.
    rank: i32,
    entries: HashMap<Bits, List>,
}

/// Entries by their keys.
#[derive(Clone, Debug, Default)]
pub struct Index {
    groups: Vec<Group>,
    by_mask: HashMap<Bits, usize>,
    /// The groups with their ranks, the highest first.
    order: Vec<(Reverse<i32>, usize)>,
    /// The order is not right.
    stale: bool,
}

impl Index {
    /// Adds an entry that looks at the bits of `mask`, which must be those of `key`.
    pub fn insert(&mut self, mask: &Bits, key: Bits, rank: i32, handle: Handle) {
        let at = match self.by_mask.get(mask) {
            Some(at) => *at,
            None => {
                self.stale = true;
                self.groups.push(Group {
                    mask: mask.clone(),
                    rank,
                    entries: HashMap::new(),
                });
                self.by_mask.insert(mask.clone(), self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        let group = &mut self.groups[at];
        if rank > group.rank {
            group.rank = rank;
            self.stale = true;
        }
        let ranked = (Reverse(rank), handle);
        match group.entries.get_mut(&key) {
            Some(list) => list.insert(ranked),
            None => {
                let list = List {
                    best: ranked,
                    more: None,
                };
                group.entries.insert(key, list);
            }
        }
    }

    /// Removes what was added with these.
    pub fn remove(&mut self, mask: &Bits, key: &Bits, rank: i32, handle: Handle) {
        let Some(at) = self.by_mask.get(mask).copied() else {
            return;
        };
        let entries = &mut self.groups[at].entries;
        let list = entries.get_mut(key);
        if list.is_some_and(|list| list.remove((Reverse(rank), handle))) {
            entries.remove(key);
        }
        if entries.is_empty() {
            self.stale = true;
            self.by_mask.remove(mask);
            self.groups.swap_remove(at);
            if let Some(moved) = self.groups.get(at) {
                self.by_mask.insert(moved.mask.clone(), at);
            }
        }
    }

    /// The entries that were added with this mask, key and rank.
    pub fn same(&self, mask: &Bits, key: &Bits, rank: i32) -> impl Iterator<Item = Handle> {
        let group = self.by_mask.get(mask).map(|at| &self.groups[*at]);
        let list = group.and_then(|group| group.entries.get(key));
        let all = list.into_iter().flat_map(List::iter);
        all.filter(move |(other, _)| other.0 == rank)
            .map(|(_, handle)| handle)
    }

    /// The best entry for a key of those that `fits` accepts, too.
    pub fn best(&mut self, key: &mut Key, fits: impl Fn(Handle, &Key) -> bool) -> Option<Handle> {
        if self.stale {
            self.sort();
        }
        let mut best: Option<Ranked> = None;
        for (rank, at) in &self.order {
            if best.is_some_and(|(found, _)| found < *rank) {
                break;
            }
            let group = &self.groups[*at];
            let Some(list) = group.entries.get(key.masked(&group.mask)) else {
                continue;
            };
            if let Some(found) = list.iter().find(|(_, handle)| fits(*handle, key)) {
                best = Some(best.map_or(found, |other| other.min(found)));
            }
        }
        best.map(|(_, handle)| handle)
    }

    fn sort(&mut self) {
        let groups = self.groups.iter().enumerate();
        self.order.clear();
        self.order
            .extend(groups.map(|(at, group)| (Reverse(group.rank), at)));
        self.order.sort_unstable();
        self.stale = false;
    }
}
