//! Which entry a full table evicts first. Spec: OpenFlow 1.4.1 sections 5.5 and 7.3.4.1.
//!
//! Entries are ordered by when they expire, as known when they were last visited. When a packet
//! delays the expiry of an entry with an idle timeout, the entry keeps its place; it is moved only
//! when it becomes the first.

use alloc::collections::{BTreeMap, BTreeSet};

use bofuss_oflib::message::table_mod::EvictionFlags;

use crate::Time;
use crate::slab::Slab;
use crate::tables::entry::{Entry, EntryKey};

/// The number of entries that one search visits, which takes some 10 us.
const RANKS_PER_SLICE: usize = 16;

/// The default criteria: by importance, and of equally important entries the entry that expires
/// first.
const DEFAULT_FLAGS: EvictionFlags =
    EvictionFlags(EvictionFlags::IMPORTANCE.0 | EvictionFlags::LIFETIME.0);

/// The place of an entry in the order of eviction; the lowest is evicted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Its importance; 0 if that is no criterion.
    importance: u16,
    /// The time when it expires if no packet arrives; [`Time::NEVER`] if that is no criterion.
    ends: Time,
    /// Its serial number without the bit for the flag FIRST, so that of equal entries the oldest is
    /// evicted first.
    age: u64,
    slot: u32,
}

/// The entries of a table in the order in which they are evicted; none if the table evicts nothing.
#[derive(Debug)]
pub(crate) struct EvictionOrder {
    /// True if the table evicts entries.
    pub(crate) is_on: bool,
    /// The criteria.
    pub(crate) flags: EvictionFlags,
    order: BTreeSet<Rank>,
    /// The rank that the entry of a slot has in `order`; it may be lower than its current rank, but
    /// never higher.
    ranks: BTreeMap<u32, Rank>,
}

/// The result of a search for an entry to evict.
pub(crate) enum Victim {
    /// This entry is to be evicted.
    Entry(EntryKey),
    /// There is none, or all are more important than the new entry.
    Nothing,
    /// Nothing yet; the search is to be repeated.
    Unfinished,
}

impl Default for EvictionOrder {
    fn default() -> Self {
        Self {
            is_on: false,
            flags: DEFAULT_FLAGS,
            order: BTreeSet::new(),
            ranks: BTreeMap::new(),
        }
    }
}

impl EvictionOrder {
    fn rank_of(&self, entry: &Entry) -> Rank {
        let mut rank = Rank {
            importance: 0,
            ends: Time::NEVER,
            age: entry.key.serial << 1,
            slot: entry.key.slot,
        };
        if self.flags.has(EvictionFlags::IMPORTANCE) {
            rank.importance = entry.importance;
        }
        let by_lifetime = self.flags.has(EvictionFlags::LIFETIME);
        if let Some((at, _)) = entry.deadline().filter(|_| by_lifetime) {
            rank.ends = at;
        }
        rank
    }

    /// Adds an entry to the order, if the table evicts entries.
    pub(crate) fn insert(&mut self, entry: &Entry) {
        self.remove(entry.key.slot);
        if self.is_on {
            let rank = self.rank_of(entry);
            self.order.insert(rank);
            self.ranks.insert(rank.slot, rank);
        }
    }

    /// Takes the entry of a slot out, if it is there.
    pub(crate) fn remove(&mut self, slot: u32) {
        if let Some(rank) = self.ranks.remove(&slot) {
            self.order.remove(&rank);
        }
    }

    /// The entry of these to evict for a new one of this importance, if the table evicts entries.
    /// Counters must be settled.
    pub(crate) fn victim(&mut self, entries: &Slab<Entry>, importance: u16) -> Victim {
        for _ in 0..RANKS_PER_SLICE {
            // Choice: a new entry may evict an equally important one, but none that is more
            // important.
            let first = self.order.first().copied();
            let Some(first) = first.filter(|first| first.importance <= importance) else {
                return Victim::Nothing;
            };
            let entry = &entries[first.slot];
            if self.rank_of(entry) == first {
                return Victim::Entry(entry.key);
            }
            self.insert(entry);
        }
        Victim::Unfinished
    }
}
