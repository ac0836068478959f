//! A flow table: its entries by priority, found by a plain scan.

use alloc::{collections::BTreeMap, rc::Rc};
use core::cmp::Reverse;
use core::hash::BuildHasher;

use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::FlowModFlags;
use bofuss_oflib::{Action, Match, PortNo, types::GroupId};
use bofuss_packet::{Key, KeyMatch, ReadLog};
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::Time;
use crate::group::groups;

/// Identifies an entry for as long as the switch runs, and orders entries: highest priority first,
/// then oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryKey {
    /// The priority.
    pub priority: Reverse<u16>,
    /// A number that no other entry ever has.
    pub serial: u64,
}

impl EntryKey {
    /// Before all entries.
    pub const FIRST: Self = Self {
        priority: Reverse(u16::MAX),
        serial: 0,
    };
}

/// One flow entry.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Which packets it is for.
    pub fields: Match,
    /// The same, compiled.
    pub rule: KeyMatch,
    /// What becomes of them.
    pub instructions: Rc<Instructions>,
    /// The controller's mark.
    pub cookie: u64,
    /// Its options.
    pub flags: FlowModFlags,
    /// Seconds without a packet until it goes; 0 is never.
    pub idle_timeout: u16,
    /// Seconds until it goes; 0 is never.
    pub hard_timeout: u16,
    /// When it was added.
    pub created: Time,
    /// When a packet last hit it.
    pub used: Time,
    /// The deadline that waits for it.
    pub(crate) due: Option<Time>,
    /// Packets that hit it, super-frames as their segments.
    pub packets: u64,
    /// Bytes that hit it.
    pub bytes: u64,
}

impl Entry {
    /// The packet counter as reported: all ones if not kept.
    pub fn packet_count(&self) -> u64 {
        if self.flags.has(FlowModFlags::NO_PKT_COUNTS) {
            u64::MAX
        } else {
            self.packets
        }
    }

    /// The byte counter as reported: all ones if not kept.
    pub fn byte_count(&self) -> u64 {
        if self.flags.has(FlowModFlags::NO_BYT_COUNTS) {
            u64::MAX
        } else {
            self.bytes
        }
    }

    /// When it goes if no packet comes, and whether for idleness; `None` if never.
    pub fn deadline(&self) -> Option<(Time, bool)> {
        let at = |from: Time, sec: u16| from.after(u64::from(sec) * Time::SEC);
        let idle = (self.idle_timeout > 0).then(|| (at(self.used, self.idle_timeout), true));
        let hard = (self.hard_timeout > 0).then(|| (at(self.created, self.hard_timeout), false));
        idle.into_iter().chain(hard).min()
    }

    /// The groups that it forwards to.
    pub fn groups(&self) -> impl Iterator<Item = GroupId> {
        groups(self.instructions.actions())
    }

    /// Whether an output to `port` (or any, for ANY) and `group` stands in its instructions.
    pub fn outputs_to(&self, port: PortNo, group: GroupId) -> bool {
        let by_port = port == PortNo::ANY
            || self
                .instructions
                .actions()
                .any(|a| matches!(a, Action::Output(o) if o.port == port));
        let by_group = group == GroupId::ANY || self.groups().any(|named| named == group);
        by_port && by_group
    }
}

/// A flow table.
#[derive(Debug, Default)]
pub struct Table {
    entries: BTreeMap<EntryKey, Entry>,
    /// Finds an entry by priority and match.
    index: HashTable<EntryKey>,
    hasher: DefaultHashBuilder,
    /// Packets looked up.
    pub lookup_count: u64,
    /// Packets that hit an entry.
    pub matched_count: u64,
}

impl Table {
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry of highest priority that `key` matches; of equal ones, the oldest.
    pub fn lookup(&mut self, key: &Key, log: &mut impl ReadLog) -> Option<(EntryKey, &mut Entry)> {
        let hit = self
            .entries
            .iter_mut()
            .find(|(_, entry)| key.matches(&entry.rule, log));
        hit.map(|(key, entry)| (*key, entry))
    }

    /// The entries from `from` on, highest priority first. Keys stay what they are, so a walk may
    /// be left and taken up again behind the last key seen.
    pub fn entries(&self, from: EntryKey) -> impl Iterator<Item = (EntryKey, &Entry)> {
        self.entries.range(from..).map(|(key, entry)| (*key, entry))
    }

    /// One entry.
    pub fn get_mut(&mut self, key: EntryKey) -> Option<&mut Entry> {
        self.entries.get_mut(&key)
    }

    fn hash(hasher: &DefaultHashBuilder, priority: u16, rule: &KeyMatch) -> u64 {
        hasher.hash_one((priority, rule))
    }

    /// The entry of exactly this priority and match.
    pub fn find(&self, priority: u16, rule: &KeyMatch) -> Option<EntryKey> {
        let same = |key: &EntryKey| key.priority.0 == priority && self.entries[key].rule == *rule;
        self.index
            .find(Self::hash(&self.hasher, priority, rule), same)
            .copied()
    }

    /// Adds an entry.
    pub(crate) fn insert(&mut self, key: EntryKey, entry: Entry) {
        let Self {
            entries,
            index,
            hasher,
            ..
        } = self;
        let hash = Self::hash(hasher, key.priority.0, &entry.rule);
        entries.insert(key, entry);
        index.insert_unique(hash, key, |k| {
            Self::hash(hasher, k.priority.0, &entries[k].rule)
        });
    }

    /// Removes an entry.
    pub(crate) fn remove(&mut self, key: EntryKey) -> Option<Entry> {
        let hash = Self::hash(&self.hasher, key.priority.0, &self.entries.get(&key)?.rule);
        if let Ok(found) = self.index.find_entry(hash, |k| *k == key) {
            found.remove();
        }
        self.entries.remove(&key)
    }
}
