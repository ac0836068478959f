//! Without the feature `filling`, no table evicts entries: see `eviction.rs`.

use crate::tables::entry::Entry;

/// The order of eviction, in which there are no entries.
#[derive(Debug, Default)]
pub(crate) struct EvictionOrder {}

impl EvictionOrder {
    /// Adds nothing.
    pub(crate) fn insert(&mut self, _: &Entry) {}

    /// Takes nothing out.
    pub(crate) fn remove(&mut self, _: u32) {}
}
