//! Without the feature `reassembly`, IP fragments that are treated specially are dropped: see
//! `fragments.rs`.

use bofuss_frame::Frame;
use bofuss_packet::Packet;

use crate::engine_notes::EngineNotes;
use crate::pipeline::context::{Context, Lane};
use crate::{DropReason, Sink, Time};

/// Drops a fragment: SET_CONFIG can ask for nothing else.
pub(super) fn handle_fragment<S: Sink, E: EngineNotes>(cx: &mut Context<'_, S, E>, _: &mut Packet) {
    cx.drop(DropReason::Fragment);
}

/// Returns `None`, as no fragments wait.
pub(crate) fn next_deadline<E: EngineNotes>(_: &Lane<E>) -> Option<Time> {
    None
}

/// Forgets nothing.
pub(crate) fn expire<S: Sink, E: EngineNotes>(_: &mut Context<'_, S, E>) {}

/// Returns false, as no packet was put together.
pub(super) fn cut_again(_: &Frame, _: impl FnMut(Frame)) -> bool {
    false
}
