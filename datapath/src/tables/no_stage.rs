//! In the place of `stage.rs` in a switch without bundles, which change no entry.

/// The change that the bundle in progress makes of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EntryStage {
    /// Nothing.
    #[default]
    Settled,
}

impl EntryStage {
    #[inline]
    pub(crate) fn is_added(self) -> bool {
        false
    }
    #[inline]
    pub(crate) fn is_doomed(self) -> bool {
        false
    }
}
