//! The calls of a bundle: it is begun, then made visible or given up, and ended in slices.

use crate::control::Control;
use crate::control::bulk_change::{CHANGED_COUNTS, ENTRIES_REPORTED};
use crate::control::bundle::staged_bundle::{Ended, StagedBundle};
use crate::control::changes::Changes;
use crate::control::entries::EntryEditor;
use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Pipeline;
use crate::{Sink, Time};

/// The part that begins, commits and undoes a bundle. Its end is done in slices, by
/// [`crate::Control::work`].
pub struct BundleControl<'a, E: FrameEngine> {
    pub(crate) pipeline: &'a mut Pipeline<E>,
    pub(crate) engine: &'a mut E::State,
    pub(crate) changes: &'a mut Changes<E>,
}

impl<E: FrameEngine> BundleControl<'_, E> {
    /// Begins a bundle: until [`Self::commit`] or [`Self::undo`], changes of entries are only
    /// prepared, and packets do not see them. Entries still expire, except those that the bundle
    /// removes. With `groups`, the bundle may also change groups and meters, once
    /// [`Self::copy_groups`] has copied them.
    ///
    /// Panics: if another bundle or a bulk change is in progress.
    pub fn begin(self, groups: bool) {
        let is_free = self.changes.bundle.is_none() && !self.changes.in_progress();
        assert!(is_free, "one at a time");
        self.changes.bundle = Some(StagedBundle::begin(self.pipeline, groups));
    }

    /// Makes all prepared changes visible to packets, in constant time. [`crate::Control::work`]
    /// does what remains.
    ///
    /// Panics: if no bundle is prepared.
    pub fn commit(self, now: Time) {
        let Changes { bundle, news, .. } = self.changes;
        let bundle = bundle.as_mut().filter(|bundle| bundle.is_prepared());
        let mut editor = EntryEditor {
            pipeline: self.pipeline,
            engine: self.engine,
            news,
        };
        bundle
            .expect("a bundle is prepared")
            .commit(&mut editor, now);
    }

    /// Gives up all prepared changes. [`crate::Control::work`] removes them.
    ///
    /// Panics: if no bundle is prepared.
    pub fn undo(self) {
        let bundle = self.changes.bundle.as_mut();
        let bundle = bundle.filter(|bundle| bundle.is_prepared());
        bundle.expect("a bundle is prepared").undo();
        self.changes.bulk.clear();
        self.changes.deleted.stop();
    }

    /// Does one slice of the copy of groups and meters for a bundle. Returns true if there was
    /// something to copy; the bundle's changes then have to wait.
    pub fn copy_groups(self) -> bool {
        let groups = self.changes.bundle.as_mut().and_then(StagedBundle::groups);
        groups.is_some_and(|groups| groups.copy_some(self.pipeline))
    }

    /// Exchanges the groups and meters that packets see and those of the bundle. Called before and
    /// after each slice of its preparation.
    pub fn swap_groups(self) {
        if let Some(bundle) = &mut self.changes.bundle {
            bundle.swap_groups(self.pipeline);
        }
    }
}

impl<S: Sink, E: FrameEngine> Control<'_, S, E> {
    /// Does one slice of a bundle's end. Returns true if it is complete.
    ///
    /// Does nothing while the bundle is prepared: then its messages are the work.
    pub(crate) fn work_on_bundle(&mut self) -> bool {
        let Some(mut bundle) = self.changes.bundle.take_if(|bundle| bundle.has_work()) else {
            return true;
        };
        // Entries that are undone change reference counts in the bundle's groups, which are
        // discarded as well.
        bundle.swap_groups(self.cx.pipeline);
        let mut left = ENTRIES_REPORTED;
        while left > 0 {
            let ended = bundle.end_next(&mut self.editor());
            let Some(ended) = ended else { break };
            left = left.saturating_sub(match &ended {
                Ended::Revealed => 1,
                Ended::Removed | Ended::Goes(_) => CHANGED_COUNTS,
            });
            if let Ended::Goes(gone) = ended {
                self.remove_at_once(gone.table, gone.key, gone.reason);
                bundle.reveal_successor(&mut self.editor(), &gone);
            }
        }
        bundle.swap_groups(self.cx.pipeline);
        if bundle.has_ended(self.cx.pipeline) {
            return true;
        }
        self.changes.bundle = Some(bundle);
        false
    }
}
