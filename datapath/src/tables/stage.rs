//! What the bundle in progress does to an entry.
//!
//! `no_stage.rs` is in the place of this module in a switch without bundles.

use bofuss_oflib::message::FlowRemovedReason;

/// The change that the bundle in progress makes of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EntryStage {
    /// Nothing.
    #[default]
    Settled,
    /// It adds the entry, which is only in the later view.
    Added(AddedAs),
    /// It removes the entry, which is only in the earlier view; the reason, if nothing replaces it.
    Doomed(FlowRemovedReason),
}

impl EntryStage {
    /// Returns true if it adds the entry.
    #[inline]
    pub(crate) fn is_added(self) -> bool {
        matches!(self, Self::Added(_))
    }

    /// Returns true if it removes the entry.
    #[inline]
    pub(crate) fn is_doomed(self) -> bool {
        matches!(self, Self::Doomed(_))
    }
}

/// The reason why a bundle adds an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddedAs {
    /// It is new.
    New,
    /// It replaces its twin.
    Replaces {
        /// True if it takes over the counters.
        keeps_counts: bool,
    },
    /// It holds other instructions for its twin, which gets them at the end.
    Modifies {
        /// True if the counters stay.
        keeps_counts: bool,
    },
}

impl AddedAs {
    /// Returns true if the counters of the entry before are kept.
    pub(crate) fn keeps_counts(self) -> bool {
        match self {
            Self::New => false,
            Self::Replaces { keeps_counts } | Self::Modifies { keeps_counts } => keeps_counts,
        }
    }

    /// The same, but without keeping counters if `reset`.
    pub(crate) fn and_reset(self, reset: bool) -> Self {
        let keeps_counts = self.keeps_counts() && !reset;
        match self {
            Self::New => Self::New,
            Self::Replaces { .. } => Self::Replaces { keeps_counts },
            Self::Modifies { .. } => Self::Modifies { keeps_counts },
        }
    }
}
