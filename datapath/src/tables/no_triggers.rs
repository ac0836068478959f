//! Without the feature `triggers`, no entry is watched: see `triggers.rs`.

use crate::tables::entry::Entry;

/// True if entries may have statistics triggers.
pub(crate) const HAS_TRIGGERS: bool = false;

/// The watches of a table, which has none.
#[derive(Debug, Default)]
pub(crate) struct Triggers {}

impl Triggers {
    /// Notes nothing.
    #[inline]
    pub(crate) fn note_packet(&mut self, _: &mut Entry) {}
}
