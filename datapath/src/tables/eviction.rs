//! Which entry a full table gives up first. Spec: OpenFlow 1.4.1 sections 5.5 and 7.3.4.1.
//!
//! Entries are ordered by when they end, as it was when they were last looked at. A packet puts off
//! the end of an entry with an idle timeout and leaves it where it is in the order; it is moved
//! when it comes to be the first.

use alloc::collections::{BTreeMap, BTreeSet};

use bofuss_oflib::message::table_mod::EvictionFlags;

use crate::tables::table::{Entry, EntryKey};
use crate::{Table, Time};

/// Entries that one search looks at: some 10 us.
const RANKS_PER_SLICE: usize = 16;

/// How a table chooses until a controller says otherwise: by importance, and of equal ones the one
/// that ends first.
const DEFAULT_FLAGS: EvictionFlags =
    EvictionFlags(EvictionFlags::IMPORTANCE.0 | EvictionFlags::LIFETIME.0);

/// Where an entry is in the order of eviction; the lowest goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Its importance; 0 if the table does not look at that.
    importance: u16,
    /// When it ends if no packet comes; [`Time::NEVER`] if the table does not look at that.
    ends: Time,
    /// Its serial number without the bit that puts some entries before others: of equal entries the
    /// oldest goes first.
    age: u64,
    slot: u32,
}

/// The entries of a table in the order in which they are evicted; none if the table evicts nothing.
#[derive(Debug)]
pub(crate) struct EvictionOrder {
    /// Whether the table evicts entries.
    pub(crate) is_on: bool,
    /// What it looks at.
    pub(crate) flags: EvictionFlags,
    order: BTreeSet<Rank>,
    /// The rank that the entry of a slot has in `order`: never above that which it has now.
    ranks: BTreeMap<u32, Rank>,
}

/// What a search for an entry to evict found.
pub(crate) enum Victim {
    /// This one is to go.
    Entry(EntryKey),
    /// There is none, or each is more important than the one that wants its place.
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
        if self.flags.has(EvictionFlags::LIFETIME)
            && let Some((at, _)) = entry.deadline()
        {
            rank.ends = at;
        }
        rank
    }

    /// Puts an entry where it belongs; nowhere if the table evicts nothing.
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
}

impl Table {
    /// The entry to evict for one of this importance, if the table evicts entries. What packets did
    /// must be settled.
    pub(crate) fn victim(&mut self, importance: u16) -> Victim {
        for _ in 0..RANKS_PER_SLICE {
            // Choice: a new entry takes the place of an equally important one, and of none above.
            let first = self.eviction.order.first().copied();
            let Some(first) = first.filter(|first| first.importance <= importance) else {
                return Victim::Nothing;
            };
            let entry = &self.entries[first.slot];
            if self.eviction.rank_of(entry) == first {
                return Victim::Entry(entry.key);
            }
            self.eviction.insert(entry);
        }
        Victim::Unfinished
    }
}
