//! Finds the flows below the switch that a change may concern, by the match of the change alone.

use alloc::collections::BTreeSet;
use alloc::rc::Rc;
use alloc::vec::Vec;

use bofuss_datapath::engine::Slab;
use bofuss_packet::{KeyMask, KeyMatch};

use super::flow::Flow;
use super::flow_key::FlowKey;
use super::versions::places_of;

/// The most masks that have an index. A change with another mask concerns all flows.
const MAX_MASKS: usize = 4;

/// The flows that were offered to an accelerator and were not taken back, of which it may have
/// given some up.
#[derive(Debug, Default)]
pub(super) struct BelowIndex {
    /// Those that depend only on the words of their keys.
    by_key: BTreeSet<u32>,
    /// The others, which any change may concern.
    others: BTreeSet<u32>,
    masks: Vec<MaskIndex>,
}

/// The flows by the hash of the words that one mask covers.
#[derive(Debug)]
struct MaskIndex {
    mask: Rc<KeyMask>,
    /// For each word of the mask, its place among the words of the cache's key, and its bits.
    places: Vec<(usize, u64)>,
    flows: BTreeSet<(u64, u32)>,
}

impl MaskIndex {
    fn hash(&self, flow: &Flow, key: &FlowKey) -> u64 {
        let words = flow.key.get(key.width());
        let places = self.places.iter();
        key.secret
            .hash(places.map(|(place, bits)| words[*place] & bits))
    }
}

impl BelowIndex {
    pub(super) fn insert(&mut self, number: u32, flow: &Flow, key: &FlowKey) {
        if usize::from(flow.program.unchanged) != flow.n_hits() {
            self.others.insert(number);
            return;
        }
        self.by_key.insert(number);
        for index in &mut self.masks {
            let hash = index.hash(flow, key);
            index.flows.insert((hash, number));
        }
    }

    pub(super) fn remove(&mut self, number: u32, flow: &Flow, key: &FlowKey) {
        if self.others.remove(&number) || !self.by_key.remove(&number) {
            return;
        }
        for index in &mut self.masks {
            let hash = index.hash(flow, key);
            index.flows.remove(&(hash, number));
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The flows that a change with this match may concern; `None` if these are all.
    pub(super) fn concerned(
        &mut self,
        rule: &KeyMatch,
        flows: &Slab<Flow>,
        key: &FlowKey,
    ) -> Option<Vec<u32>> {
        let mut masks = self.masks.iter();
        let known = masks.position(|index| index.mask == *rule.mask());
        let number = known.unwrap_or(self.masks.len());
        if number == MAX_MASKS {
            return None;
        }
        if known.is_none() {
            self.masks.push(self.of_mask(rule.mask(), flows, key)?);
        }
        let index = &self.masks[number];
        let hash = key.secret.hash(index.mask.of_match(rule));
        let found = index.flows.range((hash, 0)..=(hash, u32::MAX));
        let found = found.map(|(_, number)| *number);
        Some(found.chain(self.others.iter().copied()).collect())
    }

    /// All flows by a mask; `None` if the cache's key lacks some of its bits.
    fn of_mask(&self, mask: &Rc<KeyMask>, flows: &Slab<Flow>, key: &FlowKey) -> Option<MaskIndex> {
        let mut index = MaskIndex {
            mask: Rc::clone(mask),
            places: places_of(mask, &key.mask)?,
            flows: BTreeSet::new(),
        };
        for number in &self.by_key {
            let hash = index.hash(&flows[*number], key);
            index.flows.insert((hash, *number));
        }
        Some(index)
    }
}
