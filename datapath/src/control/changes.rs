//! The changes in progress, and what they leave behind for others to report.

use alloc::collections::VecDeque;

use crate::control::bulk_change::BulkChange;
use crate::control::bundle::{StagedBundle, StagedGroups};
use crate::control::deleted::Deleted;
use crate::control::news::News;
use crate::frame_engine::FrameEngine;

/// The changes in progress, which are done in slices: while packets may come in between, other
/// changes of the switch wait.
pub struct Changes<E: FrameEngine> {
    /// Changes of many entries.
    pub(super) bulk: VecDeque<BulkChange>,
    /// Groups and meters that are deleted and not yet freed.
    pub(super) deleted: Deleted<E>,
    /// The bundle in progress.
    pub(super) bundle: Option<StagedBundle<E>>,
    /// The recorded changes of entries.
    pub(super) news: News,
    /// The entry that is being added for a hook.
    #[cfg(feature = "wanted")]
    pub(super) wanted: Option<crate::wanted_entries::BeingAdded>,
}

impl<E: FrameEngine> Default for Changes<E> {
    fn default() -> Self {
        Self {
            bulk: VecDeque::new(),
            deleted: Deleted::default(),
            bundle: None,
            news: News::default(),
            #[cfg(feature = "wanted")]
            wanted: None,
        }
    }
}

impl<E: FrameEngine> Changes<E> {
    /// Returns true if a change is in progress that [`crate::Control::work`] continues. Other
    /// changes of the switch have to wait for it; packets do not.
    pub fn in_progress(&self) -> bool {
        let bundle = self.bundle.as_ref();
        !self.bulk.is_empty()
            || !self.deleted.is_empty()
            || bundle.is_some_and(StagedBundle::has_work)
    }

    /// Returns true if a read shows one state if it ends before the next slice of the change in
    /// progress: the state before a bundle that is being prepared or undone. With `with_uses`, the
    /// read also shows how many entries use a group or a meter; a bundle that has no copy of them
    /// changes that as it is prepared.
    pub fn show_one_state(&self, with_uses: bool) -> bool {
        match &self.bundle {
            None => !self.in_progress(),
            Some(bundle) => !bundle.is_settling() && (!with_uses || bundle.has_groups()),
        }
    }

    /// The recorded changes of entries.
    pub fn news(&self) -> &News {
        &self.news
    }

    /// The recorded changes of entries, for taking them and for choosing whether there are any.
    pub fn news_mut(&mut self) -> &mut News {
        &mut self.news
    }

    /// Returns true if entries may be added that are no part of a change in progress.
    pub fn lets_add(&self) -> bool {
        !self.in_progress() && !self.have_bundle()
    }

    /// Returns true if a bundle is in progress, so that entries must not move.
    pub(crate) fn have_bundle(&self) -> bool {
        self.bundle.is_some()
    }

    /// The groups and meters before the bundle that is being settled, if one is.
    pub(super) fn groups_before(&self) -> Option<&StagedGroups<E>> {
        self.bundle.as_ref().and_then(StagedBundle::groups_before)
    }

    /// The groups and meters of the bundle that is being prepared, to which changes belong now, if
    /// it may change any.
    pub(super) fn prepared_groups(&mut self) -> Option<&mut StagedGroups<E>> {
        let bundle = self.bundle.as_mut();
        bundle.filter(|bundle| bundle.is_prepared())?.groups()
    }
}
