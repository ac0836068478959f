//! Finds the flows below the switch that a change may concern, by the match of the change alone.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use bofuss_datapath::engine::Slab;
use bofuss_packet::KeyMatch;

use super::flow::Flow;
use super::flow_key::FlowKey;
use super::versions::places_of;

/// The most masks of single words that have an index. Matches of many shapes have few of these, and
/// an index serves longer masks as well.
const MAX_MASKS: usize = 16;
/// If an index finds so few flows, a change needs no further one.
const FEW: usize = 64;
/// The most flows that are looked at for one change; otherwise it concerns all.
const MAX_CONCERNED: usize = 4096;

/// The flows that were offered to an accelerator and were not taken back, of which it may have
/// given some up.
#[derive(Debug, Default)]
pub(super) struct BelowIndex {
    /// Those that depend only on the words of their keys.
    by_key: BTreeSet<u32>,
    /// The others, which any change may concern.
    others: BTreeSet<u32>,
    masks: Vec<WordIndex>,
}

/// Bits of a match: a word of the cache's key, and their value.
struct MaskedWord {
    place: usize,
    bits: u64,
    value: u64,
}

/// The flows by the bits of one word of their keys.
#[derive(Debug)]
struct WordIndex {
    /// The place of the word in the cache's key, and the bits.
    place: usize,
    bits: u64,
    flows: BTreeSet<(u64, u32)>,
}

impl WordIndex {
    fn of(&self, number: u32, flow: &Flow, key: &FlowKey) -> (u64, u32) {
        let words = flow.key.get(key.width());
        (words[self.place] & self.bits, number)
    }

    /// The flows whose bits these are.
    fn with(&self, bits: u64) -> impl Iterator<Item = u32> {
        let found = self.flows.range((bits, 0)..=(bits, u32::MAX));
        found.map(|(_, number)| *number)
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
            let one = index.of(number, flow, key);
            index.flows.insert(one);
        }
    }

    pub(super) fn remove(&mut self, number: u32, flow: &Flow, key: &FlowKey) {
        if self.others.remove(&number) || !self.by_key.remove(&number) {
            return;
        }
        for index in &mut self.masks {
            let one = index.of(number, flow, key);
            index.flows.remove(&one);
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The flows that a change with this match may concern; `None` if these are all, or too many.
    pub(super) fn concerned(
        &mut self,
        rule: &KeyMatch,
        flows: &Slab<Flow>,
        key: &FlowKey,
    ) -> Option<Vec<u32>> {
        let mask = rule.mask();
        let places = places_of(mask, &key.mask)?.into_iter();
        let words = places.zip(mask.of_match(rule));
        let words = words.map(|((place, bits), value)| MaskedWord { place, bits, value });
        let words: Vec<MaskedWord> = words.collect();
        let candidates = loop {
            let missing = words.iter().filter(|word| !self.has(word));
            let Some(missing) = missing.max_by_key(|word| word.bits.count_ones()) else {
                break self.candidates(&words, MAX_CONCERNED)?;
            };
            if let Some(few) = self.candidates(&words, FEW) {
                break few;
            }
            self.add(missing, flows, key)?;
        };
        let concerns = |number: &u32| {
            let key = flows[*number].key.get(key.width());
            let mut words = words.iter();
            words.all(|word| key[word.place] & word.bits == word.value)
        };
        let concerned = candidates.into_iter().filter(concerns);
        Some(concerned.chain(self.others.iter().copied()).collect())
    }

    /// Returns true if there is an index by just these bits.
    fn has(&self, word: &MaskedWord) -> bool {
        let mut masks = self.masks.iter();
        masks.any(|index| (index.place, index.bits) == (word.place, word.bits))
    }

    /// Adds an index by these bits; `None` if there are too many.
    fn add(&mut self, word: &MaskedWord, flows: &Slab<Flow>, key: &FlowKey) -> Option<()> {
        if self.masks.len() == MAX_MASKS {
            return None;
        }
        let mut index = WordIndex {
            place: word.place,
            bits: word.bits,
            flows: BTreeSet::new(),
        };
        let all = self.by_key.iter();
        let all = all.map(|number| index.of(*number, &flows[*number], key));
        index.flows = all.collect();
        self.masks.push(index);
        Some(())
    }

    /// The flows that have the bits of one of these words, of which there are the fewest, as far as
    /// the indexes tell; `None` if there are more than `most` for each. All are counted in step, so
    /// that this takes no longer than for the fewest.
    fn candidates(&self, words: &[MaskedWord], most: usize) -> Option<Vec<u32>> {
        let mut found = Vec::new();
        for word in words {
            let serves =
                |index: &&WordIndex| index.place == word.place && index.bits & !word.bits == 0;
            let indexes = self.masks.iter().filter(serves);
            found.extend(indexes.map(|index| (index.with(word.value & index.bits), Vec::new())));
        }
        for _ in 0..=most {
            for (flows, taken) in &mut found {
                match flows.next() {
                    Some(next) => taken.push(next),
                    None => return Some(core::mem::take(taken)),
                }
            }
        }
        None
    }
}
