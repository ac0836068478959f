//! The entries of a table.

use alloc::vec::Vec;
use core::ops::Range;

use crate::count::Count;
use crate::error::ControlError;
pub use crate::index::Handle;
use crate::index::Index;
use crate::int::Int;
use crate::key::{Bits, Key};
use crate::lines::{Besides, Lines, Short, Wide};
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

impl Does {
    /// The action and its data; `None` of a member or a group.
    fn action(&self) -> Option<(usize, &[Int])> {
        match self {
            Self::Action(action, data) => Some((*action, data)),
            Self::Member(_) | Self::Group(_) => None,
        }
    }
}

/// An entry. What most packets need of it is besides in a line of its table.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What is done with a packet that it matches.
    pub does: Does,
    /// When a packet was last here, in microseconds, in tables that have timeouts.
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
            meter: Meter::default(),
            idle_timeout: 0,
            used: 0,
        }
    }

    /// Whether its timeout has passed at `now`, in microseconds, without a packet.
    pub fn is_idle(&self, now: u64) -> bool {
        self.idle_timeout > 0 && now.saturating_sub(self.used) >= self.idle_timeout
    }
}

/// The entries of a table.
#[derive(Clone, Debug)]
pub struct TableState {
    entries: Vec<Option<Entry>>,
    lines: Lines,
    free: Vec<Handle>,
    count: usize,
    index: Index,
    /// Entries have priorities.
    ranked: bool,
    /// Entries have ranges that are compared with the values of a key.
    compares: bool,
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
        let ranges = table
            .key
            .iter()
            .filter(|part| part.kind == MatchKind::Range);
        let wide = ranges.clone().any(|part| part.width > u64::BITS);
        let default = table.default.clone();
        let mut state = Self {
            entries: Vec::new(),
            lines: Lines::default(),
            free: Vec::new(),
            count: 0,
            index: Index::default(),
            ranked: has(MatchKind::Ternary) || has(MatchKind::Range) || has(MatchKind::Optional),
            compares: wide || ranges.count() > 1,
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

    /// The entries whose numbers are in a range, with their numbers.
    pub fn iter_within(&self, range: Range<Handle>) -> impl Iterator<Item = (Handle, &Entry)> {
        let end = range.end.min(self.entries.len());
        let some = self.entries[..end].iter().enumerate().skip(range.start);
        some.filter_map(|(handle, entry)| entry.as_ref().map(|entry| (handle, entry)))
    }

    /// A number above those of all entries, also of some that are no longer there.
    pub fn end(&self) -> Handle {
        self.entries.len()
    }

    /// An entry.
    pub fn get(&self, handle: Handle) -> Option<&Entry> {
        self.entries.get(handle)?.as_ref()
    }

    /// An entry. Its key, its priority and what it does must stay.
    pub fn get_mut(&mut self, handle: Handle) -> Option<&mut Entry> {
        self.entries.get_mut(handle)?.as_mut()
    }

    /// Gives an entry another action. Errors: it is not there.
    pub fn set_does(&mut self, handle: Handle, does: Does) -> Result<(), ControlError> {
        let entry = self.entries.get_mut(handle).and_then(Option::as_mut);
        let entry = entry.ok_or(ControlError::NotFound)?;
        self.lines.set_action(handle, does.action());
        entry.does = does;
        Ok(())
    }

    /// The action of an entry and its data as words, if it is one of few that are narrow.
    #[inline]
    pub fn action(&self, handle: Handle) -> Option<(usize, &[u64])> {
        self.lines.action(handle)
    }

    /// The direct counter of an entry that is there.
    pub fn count(&self, handle: Handle) -> Count {
        self.lines.count(handle)
    }

    /// The same, to change.
    pub fn count_mut(&mut self, handle: Handle) -> &mut Count {
        self.lines.count_mut(handle)
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
        if self.count >= size.min(Index::MAX_ENTRIES) {
            return Err(ControlError::Full);
        }
        let rank = self.rank(&entry.key, entry.priority);
        let handle = self.free.pop().unwrap_or(self.entries.len());
        let places = masked(parts, &entry.key);
        let besides = besides(parts, &entry.key);
        self.lines.set(handle, rank, &places[0].1, besides);
        self.lines.set_action(handle, entry.does.action());
        for (mask, key) in &places {
            let group = self.index.insert(mask, key, &self.lines, handle);
            self.lines.set_group(handle, group);
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
        let rank = self.rank(key, priority);
        self.index.same(mask, bits).find(|handle| {
            let entry = self.get(*handle);
            entry.is_some_and(|entry| {
                self.rank(&entry.key, entry.priority) == rank
                    && same_ranges(&entry.key, key)
                    && masked(parts, &entry.key) == all
            })
        })
    }

    fn rank(&self, key: &[Match], priority: i32) -> i32 {
        if self.ranked {
            return priority;
        }
        let length = key.iter().find_map(|part| match part {
            Match::Lpm(_, length) => Some(*length as i32),
            Match::Exact(_) | Match::Ternary(..) | Match::Range(..) | Match::Any => None,
        });
        length.unwrap_or(0)
    }

    /// Whether keys need the values that ranges are compared with.
    pub fn compares(&self) -> bool {
        self.compares
    }

    /// The best entry for a key.
    pub fn lookup(&mut self, key: &mut Key) -> Option<Handle> {
        self.index.best(key, &self.lines)
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

/// The place of the first range of a key.
fn ranged(key: &[Match]) -> Option<usize> {
    key.iter().position(|part| matches!(part, Match::Range(..)))
}

/// The bits that a key looks at, and the value that they must have. The first range is taken as the
/// prefixes that it is made of, so there are several; others are compared afterwards.
fn masked(parts: &[KeyPart], key: &[Match]) -> Vec<(Bits, Bits)> {
    let prefixes = ranged(key).map_or_else(Vec::new, |at| key[at].prefixes(parts[at].width));
    match &prefixes[..] {
        [] => alloc::vec![masked_once(parts, key, None)],
        all => all
            .iter()
            .map(|prefix| masked_once(parts, key, Some(prefix)))
            .collect(),
    }
}

/// The same for one prefix of the first range, or without ranges.
fn masked_once(parts: &[KeyPart], key: &[Match], prefix: Option<&(Int, Int)>) -> (Bits, Bits) {
    let ranged = ranged(key);
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
}

/// What is compared of a key besides the bits of a group, in one way for all entries of a table;
/// `None` in tables of short keys without ranges.
fn besides(parts: &[KeyPart], key: &[Match]) -> Option<Besides> {
    let (mask, bits) = masked_once(parts, key, None);
    let ranges = parts.iter().filter(|part| part.kind == MatchKind::Range);
    let widths: Vec<u32> = ranges.map(|part| part.width).collect();
    if widths.is_empty() && matches!(bits, Bits::Word(_)) {
        return None;
    }
    let mut range = None;
    let mut others = Vec::new();
    for (at, (part, wanted)) in parts.iter().zip(key).enumerate() {
        let Match::Range(low, high) = wanted else {
            continue;
        };
        if range.is_none() && others.is_empty() && part.width <= u64::BITS {
            let behind = parts[at + 1..].iter();
            let end: usize = behind.map(|part| part.width.div_ceil(8) as usize).sum();
            range = Some((low.low(), high.low(), end, part.width));
        } else {
            others.push((at, low.clone(), high.clone()));
        }
    }
    Some(match (mask, bits, &widths[..]) {
        (Bits::Word(mask), Bits::Word(bits), [0..=u64::BITS]) => {
            let (low, high, end, width) = range.unwrap_or((0, u64::MAX, 0, 0));
            Besides::Short(Short {
                mask,
                bits,
                range: (low, high),
                end: end as u32,
                width,
            })
        }
        (mask, bits, _) => Besides::Wide(Wide {
            mask,
            bits,
            range,
            others,
        }),
    })
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
