//! The two views of tables while a bundle is carried out: packets see the earlier one until all of
//! it is prepared, and from then on the later one.

use bofuss_oflib::message::FlowRemovedReason;

use crate::Entry;

/// Which entries are there for whoever looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum View {
    /// All: no bundle is carried out.
    #[default]
    Both,
    /// Those before the bundle.
    Before,
    /// Those after it.
    After,
}

impl View {
    /// Whether an entry is in this view. Without a bundle, the entry is not looked at.
    #[inline]
    pub(crate) fn has(self, entry: &Entry) -> bool {
        match self {
            Self::Both => true,
            Self::Before => !matches!(entry.stage, EntryStage::Added(_)),
            Self::After => !matches!(entry.stage, EntryStage::Doomed(_)),
        }
    }
}

/// What the bundle that is carried out does to an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EntryStage {
    /// Nothing.
    #[default]
    Settled,
    /// It adds the entry, which is in the later view only.
    Added(AddedAs),
    /// It removes the entry, which is in the earlier view only; why, if nothing takes its place.
    Doomed(FlowRemovedReason),
}

/// Why a bundle adds an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddedAs {
    /// It is new.
    New,
    /// It takes the place of its twin.
    Replaces {
        /// Whether it takes over the counters.
        keeps_counts: bool,
    },
    /// It is its twin with other instructions, which the twin gets in the end.
    Modifies {
        /// Whether the counters stay.
        keeps_counts: bool,
    },
}

impl AddedAs {
    /// Whether the counters of the entry before are kept.
    pub(crate) fn keeps_counts(self) -> bool {
        match self {
            Self::New => false,
            Self::Replaces { keeps_counts } | Self::Modifies { keeps_counts } => keeps_counts,
        }
    }

    /// The same, but the counters begin anew if `reset`.
    pub(crate) fn and_reset(self, reset: bool) -> Self {
        let keeps_counts = self.keeps_counts() && !reset;
        match self {
            Self::New => Self::New,
            Self::Replaces { .. } => Self::Replaces { keeps_counts },
            Self::Modifies { .. } => Self::Modifies { keeps_counts },
        }
    }
}
