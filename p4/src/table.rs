//! The entries of a table.

use alloc::vec::Vec;

use crate::count::Count;
use crate::error::ControlError;
pub use crate::index::Handle;
use crate::index::Index;
use crate::int::Int;
use crate::key::{Bits, Key};
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

/// An entry. What a packet needs of it is within the 64 bytes of a cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Entry {
    /// What is done with a packet that it matches.
    pub does: Does,
    /// The direct counter.
    pub count: Count,
    /// When a packet was last here, in microseconds.
    pub used: u64,
    /// The direct meter.
    pub meter: Meter,
    /// By the parts of the table's key.
    pub key: Vec<Match>,
    /// The higher is preferred, in tables with a key of the kinds ternary, range or optional.
    pub priority: i32,
    /// After so many microseconds without a packet, the control plane is told. 0 is never.
    pub idle_timeout: u64,
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

/// The entries of a table.
#[derive(Clone, Debug)]
pub struct TableState {
    entries: Vec<Option<Entry>>,
    free: Vec<Handle>,
    count: usize,
    index: Index,
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
            index: Index::default(),
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
        let rank = self.rank(&entry.key, entry.priority);
        let handle = self.free.pop().unwrap_or(self.entries.len());
        for (mask, key) in masked(parts, &entry.key) {
            self.index.insert(&mask, key, rank, handle);
        }
        match self.entries.get_mut(handle) {
            Some(slot) => *slot = Some(entry),
            None => self.entries.push(Some(entry)),
        }
        self.count += 1;
        Ok(handle)
    }

    /// Removes an entry. Errors: it is not there.
    pub fn remove(&mut self, parts: &[KeyPart], handle: Handle) -> Result<Entry, ControlError> {
        let slot = self.entries.get_mut(handle).and_then(Option::take);
        let entry = slot.ok_or(ControlError::NotFound)?;
        self.free.push(handle);
        self.count -= 1;
        let rank = self.rank(&entry.key, entry.priority);
        for (mask, key) in masked(parts, &entry.key) {
            self.index.remove(&mask, &key, rank, handle);
        }
        Ok(entry)
    }

    /// The entry of exactly this key and priority.
    pub fn find(&self, parts: &[KeyPart], key: &[Match], priority: i32) -> Option<Handle> {
        let all = masked(parts, key);
        let (mask, bits) = all.first()?;
        let mut same = self.index.same(mask, bits, self.rank(key, priority));
        same.find(|handle| {
            let entry = self.get(*handle);
            entry.is_some_and(|entry| same_ranges(&entry.key, key))
        })
    }

    fn rank(&self, key: &[Match], priority: i32) -> i32 {
        if self.ranked {
            return priority;
        }
        let length = key.iter().find_map(|part| match part {
            Match::Lpm(_, length) => Some(length.cast_signed()),
            Match::Exact(_) | Match::Ternary(..) | Match::Range(..) | Match::Any => None,
        });
        length.unwrap_or(0)
    }

    /// Whether keys need the values that ranges are compared with.
    pub fn has_ranges(&self) -> bool {
        self.ranges
    }

    /// The best entry for a key.
    pub fn lookup(&mut self, key: &mut Key) -> Option<Handle> {
        let (ranges, entries) = (self.ranges, &self.entries);
        self.index.best(key, |handle, key| {
            !ranges || in_ranges(entries.get(handle), &key.values)
        })
    }
}

/// Whether values are within the ranges of an entry.
fn in_ranges(entry: Option<&Option<Entry>>, values: &[Int]) -> bool {
    entry.and_then(Option::as_ref).is_some_and(|entry| {
        let mut parts = entry.key.iter().zip(values);
        parts.all(|(part, value)| match part {
            Match::Range(low, high) => low <= value && value <= high,
            Match::Exact(_) | Match::Lpm(..) | Match::Ternary(..) | Match::Any => true,
        })
    })
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

/// The bits that a key looks at, and the value that they must have. The first range is taken as the
/// prefixes that it is made of, so there are several; others are compared afterwards.
fn masked(parts: &[KeyPart], key: &[Match]) -> Vec<(Bits, Bits)> {
    let ranged = key.iter().position(|part| matches!(part, Match::Range(..)));
    let prefixes = ranged.map_or_else(Vec::new, |at| key[at].prefixes(parts[at].width));
    let one = |prefix: Option<&(Int, Int)>| {
        let mut mask = Vec::new();
        let mut bytes = Vec::new();
        for (at, (part, wanted)) in parts.iter().zip(key).enumerate() {
            let width = part.width;
            let (value, bits) = match prefix {
                Some(prefix) if Some(at) == ranged => prefix.clone(),
                Some(_) | None => wanted.value_and_mask(width),
            };
            bits.append_to(width, &mut mask);
            value.and(&bits).append_to(width, &mut bytes);
        }
        (Bits::new(&mask), Bits::new(&bytes))
    };
    match &prefixes[..] {
        [] => alloc::vec![one(None)],
        all => all.iter().map(|prefix| one(Some(prefix))).collect(),
    }
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

    /// The prefixes, as values and masks, that a range of values of `width` bits is made of, less
    /// than twice as many as bits; none of what is no range, or of more than 64 bits.
    fn prefixes(&self, width: u32) -> Vec<(Int, Int)> {
        let Self::Range(low, high) = self else {
            return Vec::new();
        };
        let mut prefixes = Vec::new();
        if width > u64::BITS {
            return prefixes;
        }
        let (mut next, high) = (u128::from(low.low()), u128::from(high.low()));
        while next <= high {
            // The largest block that begins here and is within the range.
            let free = next.trailing_zeros().min((high - next + 1).ilog2());
            let mask = Int::highest(width).xor(&Int::highest(free));
            prefixes.push((Int::Small(next as i128), mask));
            next += 1 << free;
        }
        prefixes
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_its_prefixes() {
        let width = 6;
        for (low, high) in (0..64_u32).flat_map(|low| (low..64).map(move |high| (low, high))) {
            let range = Match::Range(Int::from(low), Int::from(high));
            let prefixes = range.prefixes(width);
            assert!(prefixes.len() < 2 * width as usize, "{low} to {high}");
            for value in 0..64 {
                let hits = prefixes.iter();
                let hits = hits.filter(|(prefix, mask)| Int::from(value).and(mask) == *prefix);
                let wanted = usize::from((low..=high).contains(&value));
                assert_eq!(hits.count(), wanted, "{value} in {low} to {high}");
            }
        }
        let all = Match::Range(Int::ZERO, Int::highest(64));
        assert_eq!(all.prefixes(64), [(Int::ZERO, Int::ZERO)]);
    }
}
