//! Groups and meters that were deleted all at once, and what remains to be done for each.

use alloc::collections::BTreeMap;

use bofuss_oflib::types::{GroupId, MeterId};

use crate::engine_notes::GroupOf;
use crate::frame_engine::FrameEngine;
use crate::groups::actions_of;
use crate::meters::Meter;
use crate::pipeline::context::Pipeline;

/// The number of deleted groups and meters that one slice frees; a group with many buckets counts
/// as several.
const FREED_PER_SLICE: usize = 64;
/// A group counts as one more for each of so many buckets.
const BUCKETS_PER_GROUP: usize = 4;

/// Fewer groups than this, or meters, are deleted at once; all of them are in one part of a list.
const AT_ONCE: usize = 32;

/// The groups and meters of a request to delete all. Freeing all of a full switch at once would
/// take tens of milliseconds.
pub(crate) struct Deleted<E: FrameEngine> {
    /// True if the next slice deletes all groups, and the same for all ordinary meters.
    takes_groups: bool,
    takes_meters: bool,
    /// Groups and meters that no packet and no message sees any more, and that are still to be
    /// freed.
    groups: BTreeMap<GroupId, GroupOf<E>>,
    meters: BTreeMap<MeterId, Meter>,
}

impl<E: FrameEngine> Default for Deleted<E> {
    fn default() -> Self {
        Self {
            takes_groups: false,
            takes_meters: false,
            groups: BTreeMap::new(),
            meters: BTreeMap::new(),
        }
    }
}

impl<E: FrameEngine> Deleted<E> {
    /// Deletes all groups: at once if there are few, otherwise in the next slice.
    pub(crate) fn begin_groups(&mut self, pipeline: &mut Pipeline<E>) {
        self.takes_groups = true;
        if pipeline.groups.len() < AT_ONCE {
            self.go_on(pipeline);
        }
    }

    /// Deletes all ordinary meters: at once if there are few, otherwise in the next slice.
    pub(crate) fn begin_meters(&mut self, pipeline: &mut Pipeline<E>) {
        self.takes_meters = true;
        if pipeline.meters.len() < AT_ONCE {
            self.go_on(pipeline);
        }
    }

    /// Deletes no more, as the bundle that asked for it is undone.
    ///
    /// Groups and meters that were taken already belonged to the bundle's copy, and are only to be
    /// freed.
    #[cfg(feature = "bundles")]
    pub(crate) fn stop(&mut self) {
        (self.takes_groups, self.takes_meters) = (false, false);
    }

    /// Returns true if nothing remains to be done.
    pub(crate) fn is_empty(&self) -> bool {
        let takes = self.takes_groups || self.takes_meters;
        !takes && self.groups.is_empty() && self.meters.is_empty()
    }

    /// Does one slice.
    pub(crate) fn go_on(&mut self, pipeline: &mut Pipeline<E>) {
        if core::mem::take(&mut self.takes_groups) {
            self.groups.append(&mut pipeline.groups);
            pipeline.n_buckets = 0;
        }
        if core::mem::take(&mut self.takes_meters) {
            // Virtual meters have numbers above MAX, and stay.
            let others = pipeline.meters.split_off(&MeterId(MeterId::MAX.0 + 1));
            self.meters.append(&mut pipeline.meters);
            pipeline.meters = others;
        }
        self.free_some(pipeline);
    }

    /// Frees some groups and meters. The fields that a group's actions use count until then.
    fn free_some(&mut self, pipeline: &mut Pipeline<E>) {
        let mut left = FREED_PER_SLICE;
        while left > 0 {
            if let Some((_, group)) = self.groups.pop_first() {
                left = left.saturating_sub(1 + group.plans.len() / BUCKETS_PER_GROUP);
                pipeline.field_uses.actions(actions_of(&group.plans), false);
            } else if self.meters.pop_first().is_some() {
                left -= 1;
            } else {
                return;
            }
        }
    }
}
