//! Entries by what requests name: cookie, output port, group.

use alloc::collections::BTreeSet;

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

/// The slots of a table's entries, by label.
#[derive(Debug, Default)]
pub(crate) struct Index(BTreeSet<(Label, u32)>);

impl Index {
    pub(crate) fn insert(&mut self, entry: &Entry) {
        self.0
            .extend(Label::of(entry).map(|label| (label, entry.key.slot)));
    }

    pub(crate) fn remove(&mut self, entry: &Entry) {
        for label in Label::of(entry) {
            self.0.remove(&(label, entry.key.slot));
        }
    }

    /// The first slot from `from` on whose entry has a label.
    pub(crate) fn next(&self, label: Label, from: u32) -> Option<u32> {
        let mut slots = self.0.range((label, from)..=(label, u32::MAX));
        slots.next().map(|(_, slot)| *slot)
    }
}
