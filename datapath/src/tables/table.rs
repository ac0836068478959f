//! A flow table: its entries, their instructions shared, found by a classifier.

use alloc::{boxed::Box, collections::BTreeMap, rc::Rc, sync::Arc};
use core::cmp::Reverse;

use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::table_mod::TableMiss;
use bofuss_oflib::message::{FlowMod, FlowModFlags, FlowRemovedReason, PacketInReason};
use bofuss_oflib::{Catalogue, FieldSet, Match, PortNo, matching::Sent, types::GroupId};
use bofuss_packet::{Key, KeyMask, KeyMatch};

use super::shared::SharedMasks;
use crate::references::{groups, outputs_to};
use crate::slab::{NONE, Slab};
use crate::tables::classifier::Classifier;
use crate::tables::eviction::EvictionOrder;
use crate::tables::labels::{Label, LabelIndex};
use crate::tables::stage::{EntryStage, View};
use crate::tables::triggers::Triggers;
use crate::tables::vacancy::VacancyEvents;
use crate::{Engine, Time};

/// Identifies an entry until it is moved, and orders entries: highest priority first, then those
/// with the flag FIRST, then oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryKey {
    /// The priority.
    pub priority: Reverse<u16>,
    /// A number that no other entry ever has.
    pub serial: u64,
    /// Its slot in its table.
    pub slot: u32,
}

impl EntryKey {
    /// A key before those of all entries.
    pub const FIRST: Self = Self {
        priority: Reverse(u16::MAX),
        serial: 0,
        slot: 0,
    };

    /// How many entries had been added before this one, including those of bundles.
    pub fn number(self) -> u64 {
        self.serial & u64::MAX >> 1
    }

    /// The position directly after this entry in a walk.
    fn next(self) -> Self {
        Self {
            slot: self.slot + 1,
            ..self
        }
    }
}

/// One flow entry. What packets change is in its first cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Entry {
    /// Packets that hit it; a super-frame counts as its segments.
    pub packets: u64,
    /// Bytes that hit it.
    pub bytes: u64,
    /// When a packet last hit it.
    pub used: Time,
    /// Its key.
    pub key: EntryKey,
    /// Its match, as keys are compared with it.
    pub rule: KeyMatch,
    /// Its instructions.
    pub instructions: Instructions,
    /// The cookie that the controller gave it.
    pub cookie: u64,
    /// Its options: [`Entry::flags`].
    pub(crate) flags: EntryFlags,
    /// The idle timeout in seconds; 0 is never.
    pub idle_timeout: u16,
    /// The hard timeout in seconds; 0 is never.
    pub hard_timeout: u16,
    /// Its importance for eviction.
    pub importance: u16,
    /// When it was added.
    pub created: Time,
    /// Its deadline in the list of deadlines; [`Time::NEVER`] if it has none there.
    pub(crate) due: Time,
    /// The slot of the next entry in a chain of the classifier.
    pub next: u32,
    /// What the bundle in progress does to it.
    pub(crate) stage: EntryStage,
    /// Whether its next packet has to be noted, because a threshold may be reached.
    pub(crate) notes_packets: bool,
}

/// The flags of an entry in 16 bits: the low byte of the wire's flags, and in the high byte our own
/// flags. No entry has others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EntryFlags {
    wire: u8,
    own: u8,
}

/// By how many bits our own flags are above the others.
const OWN_SHIFT: u32 = 16;
const _: () = assert!(
    FlowModFlags::ALL.0 & !(0xff | 0xff << OWN_SHIFT) == 0,
    "every flag has a place in an entry"
);

impl From<FlowModFlags> for EntryFlags {
    fn from(flags: FlowModFlags) -> Self {
        Self {
            wire: flags.0 as u8,
            own: (flags.0 >> OWN_SHIFT) as u8,
        }
    }
}

impl Entry {
    /// Makes the entry that a flow-mod adds, without a place in a table.
    pub fn new(
        now: Time,
        flow_mod: &FlowMod,
        rule: KeyMatch,
        instructions: Instructions,
        serial: u64,
    ) -> Self {
        Self {
            key: EntryKey {
                priority: Reverse(flow_mod.priority),
                serial,
                slot: NONE,
            },
            rule,
            instructions,
            cookie: flow_mod.cookie,
            flags: flow_mod.flags.into(),
            idle_timeout: flow_mod.idle_timeout,
            hard_timeout: flow_mod.hard_timeout,
            importance: flow_mod.importance,
            created: now,
            used: now,
            due: Time::NEVER,
            next: NONE,
            stage: EntryStage::Settled,
            notes_packets: false,
            packets: 0,
            bytes: 0,
        }
    }

    /// Its flags.
    pub fn flags(&self) -> FlowModFlags {
        FlowModFlags(u32::from(self.flags.wire) | u32::from(self.flags.own) << OWN_SHIFT)
    }

    /// The reason of packet-ins that it causes.
    pub fn reason(&self) -> PacketInReason {
        if self.key.priority.0 == 0 && self.rule.is_any() {
            PacketInReason::NO_MATCH
        } else {
            PacketInReason::ACTION
        }
    }

    /// The packet counter as reported: all ones if not kept.
    pub fn packet_count(&self) -> u64 {
        if self.flags().has(FlowModFlags::NO_PKT_COUNTS) {
            u64::MAX
        } else {
            self.packets
        }
    }

    /// The byte counter as reported: all ones if not kept.
    pub fn byte_count(&self) -> u64 {
        if self.flags().has(FlowModFlags::NO_BYT_COUNTS) {
            u64::MAX
        } else {
            self.bytes
        }
    }

    /// When it expires if no packet arrives, and the reason; `None` if never.
    pub fn deadline(&self) -> Option<(Time, FlowRemovedReason)> {
        let hard = timeout_end(self.created, self.hard_timeout);
        let idle = timeout_end(self.used, self.idle_timeout);
        let hard = hard.map(|at| (at, FlowRemovedReason::HARD_TIMEOUT));
        let idle = idle.map(|at| (at, FlowRemovedReason::IDLE_TIMEOUT));
        hard.into_iter().chain(idle).min_by_key(|(at, _)| *at)
    }

    /// The groups that it forwards to.
    pub fn groups(&self) -> impl Iterator<Item = GroupId> {
        groups(self.instructions.actions())
    }

    /// Whether its instructions contain an output to `port` (any, for ANY) and one to `group`.
    pub fn outputs_to(&self, port: PortNo, group: GroupId) -> bool {
        outputs_to(&self.instructions, port, group)
    }
}

/// So many matches that are kept as they were sent (some 90 bytes each in OpenFlow 1.0, 140 in 1.1)
/// count as one more entry.
const SENT_PER_PLACE: usize = 8;

/// A flow table.
#[derive(Debug)]
pub struct Table {
    pub(crate) entries: Slab<Entry>,
    pub(crate) classifier: Box<dyn Classifier>,
    /// Finds entries by labels; the plain engine has no such index.
    pub(crate) index: Option<LabelIndex>,
    /// The matches, by the entry's slot, that were sent in another form than they would be reported
    /// in. They are few, so entries do not contain them; a tree never grows all at once.
    pub(crate) sent: BTreeMap<u32, Sent>,
    pub(crate) masks: SharedMasks,
    /// Shared with each walk that is in the table. While there is one, entries keep their keys.
    pub(crate) walks: Arc<()>,
    /// Entries with the flag ONE_TAG.
    n_one_tag: usize,
    /// The mask of the last added entry, because the next one usually has the same.
    pub(crate) last_mask: Option<Rc<KeyMask>>,
    /// Which entries packets see.
    pub(crate) view: View,
    /// Entries that a bundle adds, as long as they are marked so.
    pub(crate) n_added: usize,
    /// Entries that a bundle removes.
    pub(crate) n_doomed: usize,
    /// The miss behaviour.
    pub(crate) miss: TableMiss,
    /// The order of eviction.
    pub(crate) eviction: Box<EvictionOrder>,
    /// The state of its vacancy events.
    pub(crate) vacancy: VacancyEvents,
    /// The state of its entries' statistics triggers.
    pub(crate) triggers: Triggers,
    /// Packets looked up.
    pub(crate) lookup_count: u64,
    /// Packets that hit an entry.
    pub(crate) matched_count: u64,
}

/// When a timeout of `sec` seconds ends; `None` for 0, which means never.
fn timeout_end(from: Time, sec: u16) -> Option<Time> {
    (sec > 0).then(|| from.after(u64::from(sec) * Time::SEC))
}

impl Table {
    /// Prefetches what [`Table::count`] changes.
    #[inline]
    pub fn prefetch_counters(&self, slot: u32) {
        self.entries.prefetch_start(slot);
    }

    /// Makes a table that finds its entries by this classifier of `engine`.
    pub(crate) fn new(classifier: Box<dyn Classifier>, engine: Engine) -> Self {
        Self {
            entries: Slab::default(),
            classifier,
            index: (engine != Engine::Reference).then(LabelIndex::default),
            sent: BTreeMap::new(),
            n_one_tag: 0,
            masks: SharedMasks::default(),
            walks: Arc::default(),
            view: View::Both,
            n_added: 0,
            n_doomed: 0,
            miss: TableMiss::default(),
            eviction: Box::default(),
            vacancy: VacancyEvents::default(),
            triggers: Triggers::default(),
            last_mask: None,
            lookup_count: 0,
            matched_count: 0,
        }
    }

    /// The miss behaviour.
    pub fn miss(&self) -> TableMiss {
        self.miss
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry of highest priority that `key` matches; of equal ones, the oldest. `log` learns
    /// the fields read.
    pub fn lookup(&self, key: &Key, log: &mut FieldSet) -> Option<EntryKey> {
        self.classifier.lookup(&self.entries, self.view, key, log)
    }

    /// How many entries count towards the limit: those after the bundle in progress.
    pub(crate) fn len_after(&self) -> usize {
        self.len() - self.n_doomed
    }

    /// How many entries there were before the bundle in progress, if there is one.
    pub fn len_read(&self) -> usize {
        self.len() - self.n_added
    }

    /// The view of controllers' reads: while a bundle is in progress, the state before it.
    pub(crate) fn read_view(&self) -> View {
        match self.view {
            View::Both => View::Both,
            View::Before | View::After => View::Before,
        }
    }

    /// The view of changes: while a bundle is in progress, the state after it.
    pub(crate) fn changed_view(&self) -> View {
        match self.view {
            View::Both => View::Both,
            View::Before | View::After => View::After,
        }
    }

    /// The entries from `from` on, in a stable order. No entry is moved while a walk holds
    /// [`Table::walks`], so a walk may be interrupted and continued after the last key seen.
    pub(crate) fn entries(&self, from: EntryKey) -> impl Iterator<Item = (EntryKey, &Entry)> {
        self.entries_of(None, from)
    }

    /// The entries whose matches are within the given one.
    pub fn entries_within<'a>(&'a self, rule: &'a KeyMatch) -> impl Iterator<Item = &'a Entry> {
        let all = self.entries(EntryKey::FIRST).map(|(_, entry)| entry);
        all.filter(|entry| rule.covers(&entry.rule))
    }

    /// The entries from `from` on, without those that certainly lack a label.
    pub(crate) fn entries_of(
        &self,
        label: Option<Label>,
        mut from: EntryKey,
    ) -> impl Iterator<Item = (EntryKey, &Entry)> {
        core::iter::from_fn(move || {
            let key = match (label, &self.index) {
                (Some(label), Some(index)) => self.entries[index.next(label, from.slot)?].key,
                (None, _) | (_, None) => self.classifier.next(&self.entries, from)?,
            };
            from = key.next();
            Some((key, &self.entries[key.slot]))
        })
    }

    /// One entry.
    pub fn get(&self, key: EntryKey) -> Option<&Entry> {
        self.entries.get(key.slot).filter(|entry| entry.key == key)
    }

    /// One entry.
    pub fn get_mut(&mut self, key: EntryKey) -> Option<&mut Entry> {
        self.entries
            .get_mut(key.slot)
            .filter(|entry| entry.key == key)
    }

    /// The entry in a slot.
    pub fn at(&self, slot: u32) -> Option<&Entry> {
        self.entries.get(slot)
    }

    /// Counts packets that were looked up and hit the entry in a slot, if there is one.
    pub fn count(&mut self, slot: u32, packets: u64, bytes: u64, used: Time) {
        self.lookup_count += packets;
        if let Some(entry) = self.entries.get_mut(slot) {
            self.matched_count += packets;
            entry.packets += packets;
            entry.bytes += bytes;
            entry.used = entry.used.max(used);
            if !self.triggers.is_empty() && entry.notes_packets {
                entry.notes_packets = false;
                self.triggers.note(slot);
            }
        }
    }

    /// The entry of exactly this priority and match.
    pub fn find(&self, priority: u16, rule: &KeyMatch) -> Option<EntryKey> {
        let view = self.changed_view();
        self.classifier.find(&self.entries, view, priority, rule)
    }

    /// The match of an entry, as replies report it.
    pub fn fields_of(&self, entry: &Entry, catalogue: &Catalogue) -> Match {
        let fields = entry.rule.to_match(catalogue);
        fields.written_as(self.sent.get(&entry.key.slot))
    }

    /// Whether there are entries with (or without) the flag ONE_TAG.
    pub(crate) fn has_entries_behind(&self, one_tag: bool) -> bool {
        if one_tag {
            self.n_one_tag > 0
        } else {
            self.n_one_tag < self.len()
        }
    }

    /// How many entries a new one would count as.
    pub(crate) fn places(&self, rule: &KeyMatch, sent: bool) -> usize {
        self.masks.places(rule) + self.sent_places(sent)
    }

    /// How many entries one more match that is kept as it was sent would count as.
    pub(crate) fn sent_places(&self, sent: bool) -> usize {
        usize::from(sent && (self.sent.len() + 1).is_multiple_of(SENT_PER_PLACE))
    }

    /// Adds an entry to a free slot. Its match is reported as it was `sent`.
    pub(crate) fn insert(&mut self, mut entry: Entry, sent: Option<&Sent>) -> EntryKey {
        let slot = self.entries.insert(|slot| {
            entry.key.slot = slot;
            entry
        });
        self.masks.share(&mut self.entries[slot].rule);
        let key = self.entries[slot].key;
        self.n_added += usize::from(self.entries[slot].is_staged());
        self.classifier.insert(&mut self.entries, key);
        self.relabel(key.slot, LabelIndex::insert);
        self.eviction.insert(&self.entries[key.slot]);
        self.n_one_tag += usize::from(self.entries[key.slot].flags().has(FlowModFlags::ONE_TAG));
        self.sent.extend(sent.map(|sent| (key.slot, sent.clone())));
        self.last_mask = Some(Rc::clone(self.entries[slot].rule.mask()));
        key
    }

    /// Removes an entry.
    pub(crate) fn remove(&mut self, key: EntryKey) -> Option<Entry> {
        self.get(key)?;
        self.classifier.remove(&mut self.entries, key);
        self.relabel(key.slot, LabelIndex::remove);
        self.eviction.remove(key.slot);
        self.sent.remove(&key.slot);
        self.triggers.end(key.slot);
        let entry = self.entries.remove(key.slot)?;
        self.masks.release(&entry.rule);
        self.n_added -= usize::from(entry.is_staged());
        self.n_one_tag -= usize::from(entry.flags().has(FlowModFlags::ONE_TAG));
        Some(entry)
    }

    /// Replaces the instructions of an entry. Returns the previous ones.
    pub(crate) fn set_instructions(
        &mut self,
        key: EntryKey,
        instructions: Instructions,
    ) -> Option<Instructions> {
        self.get(key)?;
        self.relabel(key.slot, LabelIndex::remove);
        let entry = &mut self.entries[key.slot];
        let before = core::mem::replace(&mut entry.instructions, instructions);
        self.relabel(key.slot, LabelIndex::insert);
        Some(before)
    }

    pub(crate) fn relabel(&mut self, slot: u32, change: impl Fn(&mut LabelIndex, &Entry)) {
        if let Some(index) = &mut self.index {
            change(index, &self.entries[slot]);
        }
    }

    /// Replaces the classifier by that of `empty`, and adds all entries to it.
    pub(crate) fn move_to(&mut self, empty: Self) {
        (self.classifier, self.index) = (empty.classifier, empty.index);
        let mut next = self.entries.used(0);
        while let Some(slot) = next {
            let entry = &mut self.entries[slot];
            entry.next = NONE;
            let key = entry.key;
            self.classifier.insert(&mut self.entries, key);
            self.relabel(slot, LabelIndex::insert);
            next = self.entries.used(slot + 1);
        }
    }
}
