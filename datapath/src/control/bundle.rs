//! The calls of a bundle: it is begun, then made visible or given up, and ended in slices.

use crate::control::bulk_change::{CHANGED_COUNTS, ENTRIES_REPORTED};
use crate::control::staged_bundle::{Ended, StagedBundle};
use crate::frame_engine::FrameEngine;
use crate::{Datapath, Sink, Time};

impl<E: FrameEngine> Datapath<E> {
    /// Begins a bundle: until [`Datapath::commit_bundle`] or [`Datapath::undo_bundle`], changes of
    /// entries are only prepared, and packets do not see them. Entries still expire, except those
    /// that the bundle removes. With `groups`, the bundle may also change groups and meters, once
    /// [`Datapath::copy_groups`] has copied them.
    ///
    /// Panics: if another bundle or a bulk change is in progress.
    pub fn begin_bundle(&mut self, groups: bool) {
        assert!(self.bundle.is_none() && !self.has_work(), "one at a time");
        self.bundle = Some(StagedBundle::begin(&mut self.pipeline, groups));
    }

    /// Makes all prepared changes visible to packets, in constant time. [`Datapath::work`] does
    /// what remains.
    ///
    /// Panics: if no bundle is prepared.
    pub fn commit_bundle(&mut self, now: Time) {
        let (bundle, mut editor) = self.staging().expect("a bundle is prepared");
        bundle.commit(&mut editor, now);
    }

    /// Gives up all prepared changes. [`Datapath::work`] removes them.
    ///
    /// Panics: if no bundle is prepared.
    pub fn undo_bundle(&mut self) {
        let (bundle, _) = self.staging().expect("a bundle is prepared");
        bundle.undo();
        self.bulk_changes.clear();
        self.deleted.stop();
    }

    /// Does one slice of the copy of groups and meters for a bundle. Returns true if there was
    /// something to copy; the bundle's changes then have to wait.
    pub fn copy_groups(&mut self) -> bool {
        let groups = self.bundle.as_mut().and_then(StagedBundle::groups);
        groups.is_some_and(|groups| groups.copy_some(&mut self.pipeline))
    }

    /// Exchanges the groups and meters that packets see and those of the bundle. Called before and
    /// after each slice of its preparation.
    pub fn swap_groups(&mut self) {
        if let Some(bundle) = &mut self.bundle {
            bundle.swap_groups(&mut self.pipeline);
        }
    }

    /// Whether a read shows one state if it ends before the next slice of the change in progress:
    /// the state before a bundle that is being prepared or undone. With `with_uses`, the read also
    /// shows how many entries use a group or a meter; a bundle that has no copy of them changes
    /// that as it is prepared.
    pub fn shows_one_state(&self, with_uses: bool) -> bool {
        match &self.bundle {
            None => !self.has_work(),
            Some(bundle) => !bundle.is_settling() && (!with_uses || bundle.has_groups()),
        }
    }

    /// Does one slice of a bundle's end. Returns true if it is complete.
    pub(crate) fn work_on_bundle<S: Sink>(&mut self, now: Time, sink: &mut S) -> bool {
        let Some(mut bundle) = self.bundle.take_if(|bundle| bundle.has_work()) else {
            return true;
        };
        // Entries that are undone change reference counts in the bundle's groups, which are
        // discarded as well.
        bundle.swap_groups(&mut self.pipeline);
        let mut left = ENTRIES_REPORTED;
        while left > 0
            && let Some(ended) = bundle.end_next(&mut self.editor())
        {
            left = left.saturating_sub(match &ended {
                Ended::Revealed => 1,
                Ended::Removed | Ended::Goes(_) => CHANGED_COUNTS,
            });
            if let Ended::Goes(gone) = ended {
                self.remove_at_once(now, gone.table, gone.key, gone.reason, sink);
                bundle.reveal_successor(&mut self.editor(), &gone);
            }
        }
        bundle.swap_groups(&mut self.pipeline);
        if bundle.has_ended(&mut self.pipeline) {
            return true;
        }
        self.bundle = Some(bundle);
        false
    }
}
