//! In the place of `bundle.rs` in a switch without bundles: none is ever in progress, and all
//! changes are made at once.

use alloc::collections::BTreeMap;
use core::convert::Infallible;

use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::matching::Sent;
use bofuss_oflib::message::{FlowRemovedReason, GroupMod, MeterMod};
use bofuss_oflib::types::{GroupId, MeterId, TableId};

use crate::control::Control;
use crate::control::entries::EntryEditor;
use crate::engine_notes::GroupOf;
use crate::frame_engine::FrameEngine;
use crate::meters::Meter;
use crate::pipeline::context::Pipeline;
use crate::{Entry, EntryKey, Sink};

/// The bundle in progress, of which there is none.
pub(crate) struct StagedBundle<E: FrameEngine> {
    _never: Infallible,
    pub(crate) n_doomed: usize,
    groups: StagedGroups<E>,
}

/// The groups and meters of a bundle.
pub(crate) struct StagedGroups<E: FrameEngine> {
    pub(crate) groups: BTreeMap<GroupId, GroupOf<E>>,
    pub(crate) meters: BTreeMap<MeterId, Meter>,
}

impl<E: FrameEngine> StagedBundle<E> {
    pub(crate) fn has_work(&self) -> bool {
        false
    }
    pub(crate) fn is_prepared(&self) -> bool {
        false
    }
    pub(crate) fn is_settling(&self) -> bool {
        false
    }
    pub(crate) fn has_groups(&self) -> bool {
        false
    }
    pub(crate) fn groups_before(&self) -> Option<&StagedGroups<E>> {
        Some(&self.groups)
    }
    pub(crate) fn groups(&mut self) -> Option<&mut StagedGroups<E>> {
        Some(&mut self.groups)
    }
    pub(crate) fn add(
        &mut self,
        _: &mut EntryEditor<'_, E>,
        _: TableId,
        _: Entry,
        _: Option<&Sent>,
        _: (Option<EntryKey>, bool),
    ) {
    }
    pub(crate) fn modify(
        &mut self,
        _: &mut EntryEditor<'_, E>,
        _: TableId,
        _: EntryKey,
        _: &Instructions,
        _: bool,
    ) {
    }
    pub(crate) fn remove(
        &mut self,
        _: &mut EntryEditor<'_, E>,
        _: TableId,
        _: EntryKey,
        _: FlowRemovedReason,
    ) {
    }
}

impl<E: FrameEngine> StagedGroups<E> {
    pub(crate) fn note_group_mod(&mut self, _: &GroupMod) {}
    pub(crate) fn note_meter_mod(&mut self, _: &MeterMod) {}
    pub(crate) fn swap(&mut self, _: &mut Pipeline<E>) {}
}

impl<S: Sink, E: FrameEngine> Control<'_, S, E> {
    /// Returns true, as no bundle has work left.
    pub(crate) fn work_on_bundle(&mut self) -> bool {
        true
    }
}
