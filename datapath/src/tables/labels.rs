//! An index of entries by what requests name: cookie, output port, group.

use alloc::collections::{BTreeMap, BTreeSet, btree_map};

use bofuss_oflib::types::GroupId;
use bofuss_oflib::{Action, PortNo};

use crate::tables::entry::Entry;

/// A number that requests may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// A cookie that is not 0.
    Cookie(u64),
    /// An output to a port.
    Port(PortNo),
    /// A group.
    Group(GroupId),
}

/// The number of slots of one block of the index, one bit each.
const BLOCK: u32 = u64::BITS;
/// By how many outputs and groups an entry is indexed. An entry with more is visited for every
/// request; so the index stays small although many entries may share a long list of actions.
const MAX_LABELS: usize = 4;

/// The slots of a table's entries, by label.
#[derive(Debug, Default)]
pub(crate) struct LabelIndex {
    /// Many entries share few ports and groups, so for each of these there is a bit for each slot
    /// of a block. Under `None` are entries with more than [`MAX_LABELS`].
    outputs: BTreeMap<(Option<Label>, u32), u64>,
    /// Few entries share a cookie, of which there are many.
    cookies: BTreeSet<(u64, u32)>,
}

/// The port or group that an action forwards to.
fn label(action: &Action) -> Option<Label> {
    if let Action::Output(output) = action {
        return Some(Label::Port(output.port));
    }
    if let Action::Group(group) = action {
        return Some(Label::Group(*group));
    }
    None
}

/// The outputs and groups of an entry, possibly with repetitions; only `None` if they are too many.
fn labels(entry: &Entry) -> impl Iterator<Item = Option<Label>> {
    let few = all_labels(entry).nth(MAX_LABELS).is_none();
    let short = all_labels(entry).take_while(move |_| few).map(Some);
    short.chain((!few).then_some(None))
}

fn all_labels(entry: &Entry) -> impl Iterator<Item = Label> {
    entry.instructions.actions().filter_map(label)
}

impl LabelIndex {
    pub(crate) fn insert(&mut self, entry: &Entry) {
        let slot = entry.key.slot;
        if entry.cookie != 0 {
            self.cookies.insert((entry.cookie, slot));
        }
        for label in labels(entry) {
            *self.outputs.entry((label, slot / BLOCK)).or_default() |= 1 << (slot % BLOCK);
        }
    }

    pub(crate) fn remove(&mut self, entry: &Entry) {
        let slot = entry.key.slot;
        self.cookies.remove(&(entry.cookie, slot));
        for label in labels(entry) {
            if let btree_map::Entry::Occupied(mut block) = self.outputs.entry((label, slot / BLOCK))
            {
                *block.get_mut() &= !(1 << (slot % BLOCK));
                if *block.get() == 0 {
                    block.remove();
                }
            }
        }
    }

    /// The first slot from `from` on whose entry has a label.
    ///
    /// The entry may still lack the label, if it has more than [`MAX_LABELS`]; so callers compare
    /// it.
    pub(crate) fn next(&self, label: Label, from: u32) -> Option<u32> {
        if let Label::Cookie(cookie) = label {
            let mut slots = self.cookies.range((cookie, from)..=(cookie, u32::MAX));
            return slots.next().map(|(_, slot)| *slot);
        }
        let short = self.next_output(Some(label), from);
        let long = self.next_output(None, from);
        short.into_iter().chain(long).min()
    }

    fn next_output(&self, label: Option<Label>, from: u32) -> Option<u32> {
        let first = from / BLOCK;
        let mut blocks = self.outputs.range((label, first)..=(label, u32::MAX));
        blocks.find_map(|((_, block), bits)| {
            let before = if *block == first { from % BLOCK } else { 0 };
            // Bits below the first slot are cleared; if none is left, the number is 64, which is no
            // slot.
            let slot = (bits >> before << before).trailing_zeros();
            (slot < BLOCK).then(|| block * BLOCK + slot)
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// Adds a slot under a port; the index itself wants entries.
    fn put(index: &mut LabelIndex, port: u32, slot: u32) {
        let label = (Some(Label::Port(PortNo(port))), slot / BLOCK);
        *index.outputs.entry(label).or_default() |= 1 << (slot % BLOCK);
    }

    #[test]
    fn slots_of_a_port_are_walked_across_blocks() {
        let mut index = LabelIndex::default();
        let slots = [0, 63, 64, 127, 300, u32::MAX - 1];
        slots.iter().for_each(|slot| put(&mut index, 2, *slot));
        put(&mut index, 1, 5);
        put(&mut index, 3, 5);
        let label = Label::Port(PortNo(2));
        let mut told = Vec::new();
        let mut from = 0;
        while let Some(slot) = index.next(label, from) {
            told.push(slot);
            from = slot + 1;
        }
        assert_eq!(told, slots);
        assert_eq!(index.next(Label::Port(PortNo(4)), 0), None);
    }
}
