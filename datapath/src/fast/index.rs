//! Entries by what requests name: cookie, output port, group.

use alloc::collections::{BTreeMap, BTreeSet, btree_map};

use bofuss_oflib::types::GroupId;
use bofuss_oflib::{Action, PortNo};

use crate::Entry;

/// What entries may have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// A cookie that is not 0.
    Cookie(u64),
    /// An output to a port.
    Port(PortNo),
    /// A group.
    Group(GroupId),
}

impl Label {
    /// All labels of an entry; some may come twice.
    fn of(entry: &Entry) -> impl Iterator<Item = Self> {
        let cookie = (entry.cookie != 0).then_some(Self::Cookie(entry.cookie));
        let ports = entry
            .instructions
            .actions()
            .filter_map(|action| match action {
                Action::Output(output) => Some(Self::Port(output.port)),
                _ => None,
            });
        let groups = entry.groups().map(Self::Group);
        cookie.into_iter().chain(ports).chain(groups)
    }
}

/// Slots that stand together, a bit each.
const BLOCK: u32 = u64::BITS;

/// The slots of a table's entries, by label.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Many entries have one of few ports and groups: which of a block of slots have it.
    outputs: BTreeMap<(Label, u32), u64>,
    /// Few entries have one of many cookies.
    cookies: BTreeSet<(u64, u32)>,
}

impl Index {
    pub(crate) fn insert(&mut self, entry: &Entry) {
        let slot = entry.key.slot;
        for label in Label::of(entry) {
            match label {
                Label::Cookie(cookie) => _ = self.cookies.insert((cookie, slot)),
                Label::Port(_) | Label::Group(_) => {
                    *self.outputs.entry((label, slot / BLOCK)).or_default() |= 1 << (slot % BLOCK);
                }
            }
        }
    }

    pub(crate) fn remove(&mut self, entry: &Entry) {
        let slot = entry.key.slot;
        for label in Label::of(entry) {
            if let Label::Cookie(cookie) = label {
                self.cookies.remove(&(cookie, slot));
            } else if let btree_map::Entry::Occupied(mut block) =
                self.outputs.entry((label, slot / BLOCK))
            {
                *block.get_mut() &= !(1 << (slot % BLOCK));
                if *block.get() == 0 {
                    block.remove();
                }
            }
        }
    }

    /// The first slot from `from` on whose entry has a label.
    pub(crate) fn next(&self, label: Label, from: u32) -> Option<u32> {
        if let Label::Cookie(cookie) = label {
            let mut slots = self.cookies.range((cookie, from)..=(cookie, u32::MAX));
            return slots.next().map(|(_, slot)| *slot);
        }
        let first = from / BLOCK;
        let mut blocks = self.outputs.range((label, first)..=(label, u32::MAX));
        blocks.find_map(|((_, block), bits)| {
            let before = if *block == first { from % BLOCK } else { 0 };
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
    fn put(index: &mut Index, port: u32, slot: u32) {
        let label = (Label::Port(PortNo(port)), slot / BLOCK);
        *index.outputs.entry(label).or_default() |= 1 << (slot % BLOCK);
    }

    #[test]
    fn slots_of_a_port_are_walked_across_blocks() {
        let mut index = Index::default();
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
