//! The entries of a table, and how one is found.
//!
//! Entries that look at the same bits are a group: a hash table under these bits. A lookup goes
//! through the groups, those of higher rank first, and ends where no better entry can come.

use alloc::boxed::Box;
use alloc::vec::Vec;

use hashbrown::HashMap;

use crate::count::Count;
use crate::error::ControlError;
use crate::int::Int;
use crate::meter::Meter;
use crate::program::{KeyPart, Match, MatchKind, Table};

/// What an entry does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Does {
    /// An action and its data.
    Action(usize, Vec<Int>),
    /// The action of a member of the table's action profile.
    Member(u32),
    /// That of a member which the selector chooses.
    Group(u32),
}

/// An entry.
#[derive(Clone, Debug)]
pub struct Entry {
    /// By the parts of the table's key.
    pub key: Vec<Match>,
    /// The higher is preferred, in tables with a key of the kinds ternary, range or optional.
    pub priority: i32,
    /// What is done with a packet that it matches.
    pub does: Does,
    /// The direct counter.
    pub count: Count,
    /// The direct meter.
    pub meter: Meter,
    /// After so many microseconds without a packet, the control plane is told. 0 is never.
    pub idle_timeout: u64,
    /// When a packet was last here, in microseconds.
    pub used: u64,
}

impl Entry {
    /// A new entry.
    pub fn new(key: Vec<Match>, priority: i32, does: Does) -> Self {
        Self {
            key,
            priority,
            does,
            count: Count::default(),
            meter: Meter::default(),
            idle_timeout: 0,
            used: 0,
        }
    }
}

/// The number of an entry in its table. It is not used again while the table has other entries to
/// number.
pub type Handle = usize;

/// Entries that look at the same bits.
#[derive(Clone, Debug)]
struct Group {
    mask: Box<[u8]>,
    /// All bits count.
    full: bool,
    /// The highest rank of its entries.
    rank: i64,
    /// Under the masked key, the entries with their ranks: the highest first, of those the lowest
    /// number.
    entries: HashMap<Box<[u8]>, Vec<(i64, Handle)>>,
}

/// The entries of a table.
#[derive(Clone, Debug)]
pub struct TableState {
    entries: Vec<Option<Entry>>,
    free: Vec<Handle>,
    count: usize,
    groups: Vec<Group>,
    /// Entries have priorities.
    ranked: bool,
    ranges: bool,
    /// What is done where no entry matches.
    pub default: Option<Does>,
    /// Packets that were looked up.
    pub lookups: u64,
    /// Those that hit an entry.
    pub hits: u64,
}

impl TableState {
    /// The table with the entries and the default action of the program.
    pub fn new(table: &Table) -> Self {
        let has = |kind| table.key.iter().any(|part| part.kind == kind);
        let default = table.default.clone();
        let mut state = Self {
            entries: Vec::new(),
            free: Vec::new(),
            count: 0,
            groups: Vec::new(),
            ranked: has(MatchKind::Ternary) || has(MatchKind::Range) || has(MatchKind::Optional),
            ranges: has(MatchKind::Range),
            default: default.map(|(action, data)| Does::Action(action, data)),
            lookups: 0,
            hits: 0,
        };
        for entry in &table.entries {
            let does = Does::Action(entry.action, entry.data.clone());
            let entry = Entry::new(entry.key.clone(), entry.priority, does);
            // An entry that repeats an earlier one is never found.
            let _ = state.insert(&table.key, entry, usize::MAX);
        }
        state
    }

    /// Whether entries have priorities.
    pub fn has_priorities(&self) -> bool {
        self.ranked
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All entries, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &Entry)> {
        self.iter_from(0)
    }

    /// The entries from a number on, with their numbers.
    pub fn iter_from(&self, from: Handle) -> impl Iterator<Item = (Handle, &Entry)> {
        let all = self.entries.iter().enumerate().skip(from);
        all.filter_map(|(handle, entry)| entry.as_ref().map(|entry| (handle, entry)))
    }

    /// An entry.
    pub fn get(&self, handle: Handle) -> Option<&Entry> {
        self.entries.get(handle)?.as_ref()
    }

    /// An entry. Its key and priority must stay.
    pub fn get_mut(&mut self, handle: Handle) -> Option<&mut Entry> {
        self.entries.get_mut(handle)?.as_mut()
    }

    /// Adds an entry to a table of at most `size`. Errors: one of the same key and priority is
    /// there, no room.
    pub fn insert(
        &mut self,
        parts: &[KeyPart],
        entry: Entry,
        size: usize,
    ) -> Result<Handle, ControlError> {
        if self.find(parts, &entry.key, entry.priority).is_some() {
            return Err(ControlError::Exists);
        }
        if self.count >= size {
            return Err(ControlError::Full);
        }
        let (mask, key) = masked(parts, &entry.key);
        let rank = self.rank(&entry.key, entry.priority);
        let handle = self.free.pop().unwrap_or(self.entries.len());
        match self.entries.get_mut(handle) {
            Some(slot) => *slot = Some(entry),
            None => self.entries.push(Some(entry)),
        }
        self.count += 1;
        let index = match self.groups.iter().position(|group| *group.mask == *mask) {
            Some(index) => index,
            None => {
                self.groups.push(Group {
                    full: mask.iter().all(|byte| *byte == 0xff),
                    mask: mask.into(),
                    rank,
                    entries: HashMap::new(),
                });
                self.groups.len() - 1
            }
        };
        let group = &mut self.groups[index];
        group.rank = group.rank.max(rank);
        let list = group.entries.entry(key.into()).or_default();
        let better =
            |(other, number): &(i64, Handle)| *other > rank || *other == rank && *number < handle;
        let place = list.partition_point(better);
        list.insert(place, (rank, handle));
        self.groups
            .sort_by_key(|group| core::cmp::Reverse(group.rank));
        Ok(handle)
    }

    /// Removes an entry. Errors: it is not there.
    pub fn remove(&mut self, parts: &[KeyPart], handle: Handle) -> Result<Entry, ControlError> {
        let slot = self.entries.get_mut(handle).and_then(Option::take);
        let entry = slot.ok_or(ControlError::NotFound)?;
        self.free.push(handle);
        self.count -= 1;
        let (mask, key) = masked(parts, &entry.key);
        if let Some(group) = self.groups.iter_mut().find(|group| *group.mask == *mask)
            && let Some(list) = group.entries.get_mut(&*key)
        {
            list.retain(|(_, other)| *other != handle);
            if list.is_empty() {
                group.entries.remove(&*key);
            }
        }
        self.groups.retain(|group| !group.entries.is_empty());
        Ok(entry)
    }

    /// The entry of exactly this key and priority.
    pub fn find(&self, parts: &[KeyPart], key: &[Match], priority: i32) -> Option<Handle> {
        let (mask, bytes) = masked(parts, key);
        let group = self.groups.iter().find(|group| *group.mask == *mask)?;
        let rank = self.rank(key, priority);
        let mut list = group.entries.get(&*bytes)?.iter();
        let same = |handle: &Handle| {
            let entry = self.get(*handle);
            entry.is_some_and(|entry| same_ranges(&entry.key, key))
        };
        let found = list.find(|(other, handle)| *other == rank && same(handle));
        found.map(|(_, handle)| *handle)
    }

    fn rank(&self, key: &[Match], priority: i32) -> i64 {
        if self.ranked {
            return priority.into();
        }
        let length = key.iter().find_map(|part| match part {
            Match::Lpm(_, length) => Some(i64::from(*length)),
            Match::Exact(_) | Match::Ternary(..) | Match::Range(..) | Match::Any => None,
        });
        length.unwrap_or(0)
    }

    /// The best entry for a key: its `bytes`, and the values that ranges are compared with.
    /// `scratch` is overwritten.
    pub fn lookup(&self, bytes: &[u8], values: &[Int], scratch: &mut Vec<u8>) -> Option<Handle> {
        let mut best: Option<(i64, Handle)> = None;
        for group in &self.groups {
            if best.is_some_and(|(rank, _)| rank > group.rank) {
                break;
            }
            let key = if group.full {
                bytes
            } else {
                scratch.clear();
                scratch.extend(bytes.iter().zip(&group.mask).map(|(b, m)| b & m));
                &**scratch
            };
            let Some(list) = group.entries.get(key) else {
                continue;
            };
            let found = if self.ranges {
                list.iter()
                    .find(|(_, handle)| self.in_ranges(*handle, values))
            } else {
                list.first()
            };
            if let Some((rank, handle)) = found {
                // Choice: of several with one priority, that of the lowest number.
                let better = best.is_none_or(|(r, h)| *rank > r || *rank == r && *handle < h);
                if better {
                    best = Some((*rank, *handle));
                }
            }
        }
        best.map(|(_, handle)| handle)
    }

    fn in_ranges(&self, handle: Handle, values: &[Int]) -> bool {
        let entry = self.get(handle);
        entry.is_some_and(|entry| {
            let mut parts = entry.key.iter().zip(values);
            parts.all(|(part, value)| match part {
                Match::Range(low, high) => low <= value && value <= high,
                Match::Exact(_) | Match::Lpm(..) | Match::Ternary(..) | Match::Any => true,
            })
        })
    }
}

/// Whether the ranges of two keys are the same. The rest is in the bytes.
fn same_ranges(a: &[Match], b: &[Match]) -> bool {
    a.iter().zip(b).all(|(a, b)| match (a, b) {
        (Match::Range(..), _) | (_, Match::Range(..)) => a == b,
        (
            Match::Exact(_) | Match::Lpm(..) | Match::Ternary(..) | Match::Any,
            Match::Exact(_) | Match::Lpm(..) | Match::Ternary(..) | Match::Any,
        ) => true,
    })
}

/// The bits that a key looks at, and the value that they must have.
fn masked(parts: &[KeyPart], key: &[Match]) -> (Vec<u8>, Vec<u8>) {
    let mut mask = Vec::new();
    let mut bytes = Vec::new();
    for (part, wanted) in parts.iter().zip(key) {
        let width = part.width;
        let (value, bits) = wanted.value_and_mask(width);
        let start = mask.len();
        if bits == Int::highest(width) {
            // The padding counts, so that a key of whole values is compared as it is.
            mask.resize(start + width.div_ceil(8) as usize, 0xff);
        } else {
            bits.append_to(width, &mut mask);
        }
        value.and(&bits).append_to(width, &mut bytes);
    }
    (mask, bytes)
}

impl Match {
    /// The value and the mask that a packet is compared with; of a range, nothing.
    pub fn value_and_mask(&self, width: u32) -> (Int, Int) {
        match self {
            Self::Exact(value) => (value.clone(), Int::highest(width)),
            Self::Lpm(value, length) => {
                let rest = Int::highest(width - length.min(&width));
                (value.clone(), Int::highest(width).xor(&rest))
            }
            Self::Ternary(value, mask) => (value.clone(), mask.wrapped(width)),
            Self::Range(..) | Self::Any => (Int::ZERO, Int::ZERO),
        }
    }

    /// Whether a value, unsigned and of `width` bits, is matched.
    pub fn matches(&self, value: &Int, width: u32) -> bool {
        if let Self::Range(low, high) = self {
            return low <= value && value <= high;
        }
        let (wanted, mask) = self.value_and_mask(width);
        value.and(&mask) == wanted.and(&mask)
    }
}
