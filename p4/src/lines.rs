//! What a packet needs of entries, a cache line each.

use alloc::vec::Vec;

use crate::count::Count;
use crate::int::Int;
use crate::key::{Bits, Key};

/// Values of an action that a line has room for.
const WORDS: usize = 2;
/// Stands for what a line has no room for.
const ELSEWHERE: u32 = u32::MAX;

/// What a packet needs of an entry.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Line {
    /// What a packet has in the bits of the group, in tables of short keys.
    word: u128,
    group: u32,
    rank: i32,
    /// The action, or [`ELSEWHERE`].
    action: u32,
    /// The values that the action has.
    words: u32,
    data: [u64; WORDS],
    count: Count,
}

/// What is compared besides the bits of a group.
#[derive(Clone, Debug)]
pub enum Besides {
    /// In tables of short keys with one range, of which prefixes are found.
    Short(Short),
    /// In other tables with ranges or of long keys.
    Wide(Wide),
}

/// What else is compared in tables of short keys with one range: a cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Short {
    /// The bits that count, without the range.
    pub mask: u128,
    /// What they are.
    pub bits: u128,
    /// The lowest and highest of the range.
    pub range: (u64, u64),
    /// The bytes of the key behind the value of the range.
    pub end: u32,
    /// The bits of that value, which is 0 if it has none.
    pub width: u32,
}

/// What else is compared in other tables of ranges, or of long keys.
#[derive(Clone, Debug)]
pub struct Wide {
    /// The bits that count, without ranges.
    pub mask: Bits,
    /// What they are.
    pub bits: Bits,
    /// The lowest and highest of a range that is found by its prefixes, and where in the key its
    /// value is: so many bits from the end, so many bits.
    pub range: Option<(u64, u64, usize, u32)>,
    /// Other ranges, by the parts of the key.
    pub others: Vec<(usize, Int, Int)>,
}

/// What packets need of the entries of a table, by the numbers of these.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    lines: Vec<Line>,
    /// None, or one for each entry: all entries of a table are compared in one way.
    short: Vec<Short>,
    /// The same.
    wide: Vec<Wide>,
}

impl Lines {
    /// Sets what is looked for of an entry, whose number is one of those that are there or the
    /// next, and that it has counted nothing. [`Self::set_group`] and [`Self::set_action`] follow.
    pub fn set(&mut self, handle: usize, rank: i32, bits: &Bits, besides: Option<Besides>) {
        let line = Line {
            word: match bits {
                Bits::Word(word) => *word,
                Bits::Bytes(_) => 0,
            },
            group: 0,
            rank,
            action: ELSEWHERE,
            words: 0,
            data: [0; WORDS],
            count: Count::default(),
        };
        put(&mut self.lines, handle, line);
        match besides {
            Some(Besides::Short(short)) => put(&mut self.short, handle, short),
            Some(Besides::Wide(wide)) => put(&mut self.wide, handle, wide),
            None => {}
        }
    }

    /// Sets the group of the index that finds an entry of a short key.
    pub fn set_group(&mut self, handle: usize, group: u32) {
        self.lines[handle].group = group;
    }

    /// Sets the action of an entry and its data; `None` is a member or a group.
    pub fn set_action(&mut self, handle: usize, does: Option<(usize, &[Int])>) {
        let line = &mut self.lines[handle];
        line.action = ELSEWHERE;
        let Some((action, data)) = does.filter(|(_, data)| data.len() <= WORDS) else {
            return;
        };
        for (word, value) in line.data.iter_mut().zip(data) {
            match value {
                Int::Small(value) if u64::try_from(*value).is_ok() => *word = *value as u64,
                Int::Small(_) | Int::Big(_) => return,
            }
        }
        line.words = data.len() as u32;
        line.action = u32::try_from(action).unwrap_or(ELSEWHERE);
    }

    /// The rank of an entry.
    #[inline]
    pub fn rank(&self, handle: u32) -> i32 {
        self.lines[handle as usize].rank
    }

    /// Whether an entry that a group of the index has matches a key, which is masked for the group.
    #[inline]
    pub fn fits(&self, handle: u32, group: u32, key: &Key) -> bool {
        let handle = handle as usize;
        if let Some(short) = self.short.get(handle) {
            let (low, high) = short.range;
            let value = key.word(short.end as usize, short.width);
            return key.has_word(short.mask, short.bits) && (low..=high).contains(&value);
        }
        let Some(wide) = self.wide.get(handle) else {
            let line = &self.lines[handle];
            return line.group == group && *key.masked() == Bits::Word(line.word);
        };
        let mut others = wide.others.iter();
        key.has(&wide.mask, &wide.bits)
            && wide
                .range
                .is_none_or(|(low, high, end, width)| (low..=high).contains(&key.word(end, width)))
            && others.all(|(part, low, high)| {
                let value = &key.values[*part];
                low <= value && value <= high
            })
    }

    /// The action of an entry and its data, if its line has room for them.
    #[inline]
    pub fn action(&self, handle: usize) -> Option<(usize, &[u64])> {
        let line = &self.lines[handle];
        (line.action != ELSEWHERE)
            .then(|| (line.action as usize, &line.data[..line.words as usize]))
    }

    /// The direct counter of an entry.
    #[inline]
    pub fn count(&self, handle: usize) -> Count {
        self.lines[handle].count
    }

    /// The same, to change.
    #[inline]
    pub fn count_mut(&mut self, handle: usize) -> &mut Count {
        &mut self.lines[handle].count
    }
}

/// Overwrites an element, or appends it.
fn put<T>(all: &mut Vec<T>, at: usize, new: T) {
    match all.get_mut(at) {
        Some(old) => *old = new,
        None => all.push(new),
    }
}
