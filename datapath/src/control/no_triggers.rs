//! Without the feature `triggers`, entries with statistics triggers are refused: see `triggers.rs`.

use core::convert::Infallible;

use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::BadInstruction;
use bofuss_oflib::stat_trigger::StatTrigger;
use bofuss_oflib::types::TableId;

use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Pipeline;
use crate::{EntryKey, Sink, Time};

impl<E: FrameEngine> Pipeline<E> {
    /// Watches nothing.
    pub(crate) fn watch(&mut self, _: TableId, _: u32, _: Time) {}

    /// Watches nothing.
    #[cfg(feature = "bundles")]
    pub(crate) fn watch_from(&mut self, _: TableId, _: EntryKey, _: Time, _: (u64, u64)) {}

    /// Returns `None`, as nothing is watched.
    pub(crate) fn unwatch(&mut self, _: TableId, _: u32) -> Option<Infallible> {
        None
    }

    /// Watches nothing.
    pub(crate) fn watch_moved(&mut self, _: TableId, _: u32, _: Option<Infallible>) {}

    /// Returns `None`, as nothing is watched.
    #[cfg(feature = "replicas")]
    pub(crate) fn next_common_check(&self, _: Time) -> Option<Time> {
        None
    }
}

/// Errors: BAD_INSTRUCTION/UNSUP_INST.
pub(crate) fn check_thresholds(_: &StatTrigger) -> Result<(), ErrorCode> {
    Err(BadInstruction::UNSUP_INST)
}

/// Returns `None`, as nothing is watched.
pub(crate) fn next_time<E: FrameEngine>(_: &Pipeline<E>, _: &E::State) -> Option<Time> {
    None
}

/// Checks nothing.
pub(crate) fn check<S: Sink>(_: &mut Pipeline<impl FrameEngine>, _: Time, _: &mut S) {}

/// Checks nothing.
pub(crate) fn check_one<S: Sink>(
    _: &mut Pipeline<impl FrameEngine>,
    _: Time,
    _: TableId,
    _: EntryKey,
    _: &mut S,
) {
}
