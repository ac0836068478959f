//! A flow table: its entries, their instructions shared, found by a classifier.

use alloc::{boxed::Box, collections::BTreeMap, rc::Rc, sync::Arc};

use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::FlowModFlags;
use bofuss_oflib::message::table_mod::TableMiss;
use bofuss_oflib::{Catalogue, FieldSet, Match, matching::Sent};
use bofuss_packet::{Key, KeyMask, KeyMatch};

use super::shared::SharedMasks;
use crate::slab::Slab;
use crate::tables::classifier::Classifier;
use crate::tables::entry::{Entry, EntryKey, View};
use crate::tables::eviction::EvictionOrder;
use crate::tables::labels::{Label, LabelIndex};
use crate::tables::triggers::Triggers;
use crate::{Engine, Time};

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
    /// The entries that packets see.
    pub(crate) view: View,
    /// Entries that a bundle adds, as long as they are marked so.
    pub(crate) n_added: usize,
    /// Entries that a bundle removes.
    pub(crate) n_doomed: usize,
    /// The miss behaviour.
    pub(crate) miss: TableMiss,
    /// The order of eviction.
    pub(crate) eviction: Box<EvictionOrder>,
    /// The state of its entries' statistics triggers.
    pub(crate) triggers: Triggers,
    /// The entries that have had packets, if this is the table of a replica.
    #[cfg(feature = "replicas")]
    pub(crate) touched: Option<Box<crate::tables::replicated::Touched>>,
    /// Packets looked up.
    pub(crate) lookup_count: u64,
    /// Packets that hit an entry.
    pub(crate) matched_count: u64,
}

impl Table {
    /// Prefetches what [`Table::count`] changes.
    #[cfg(feature = "lookahead")]
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
            triggers: Triggers::default(),
            last_mask: None,
            #[cfg(feature = "replicas")]
            touched: None,
            lookup_count: 0,
            matched_count: 0,
        }
    }

    /// The miss behaviour.
    pub fn miss(&self) -> TableMiss {
        self.miss
    }

    /// Returns how many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry of highest priority that `key` matches; of equal ones, the oldest. `log` learns
    /// the fields read.
    pub fn lookup(&self, key: &Key, log: &mut FieldSet) -> Option<EntryKey> {
        self.classifier.lookup(&self.entries, self.view, key, log)
    }

    /// Returns how many entries count towards the limit: those after the bundle in progress.
    pub(crate) fn len_after(&self) -> usize {
        self.len() - self.n_doomed
    }

    /// Returns how many entries there were before the bundle in progress, if there is one.
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
            #[cfg(feature = "replicas")]
            if let Some(touched) = &mut self.touched {
                touched.note(slot, entry.used);
            }
            entry.packets += packets;
            entry.bytes += bytes;
            entry.used = entry.used.max(used);
            self.triggers.note_packet(entry);
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

    /// Returns true if there are entries with (or without) the flag ONE_TAG.
    pub(crate) fn has_entries_behind(&self, one_tag: bool) -> bool {
        if one_tag {
            self.n_one_tag > 0
        } else {
            self.n_one_tag < self.len()
        }
    }

    /// Returns how many entries a new one would count as.
    pub(crate) fn places(&self, rule: &KeyMatch, sent: bool) -> usize {
        self.masks.places(rule) + self.sent_places(sent)
    }

    /// Returns how many entries one more match that is kept as it was sent would count as.
    pub(crate) fn sent_places(&self, sent: bool) -> usize {
        usize::from(sent && (self.sent.len() + 1) % SENT_PER_PLACE == 0)
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
}
