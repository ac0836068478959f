//! Frames that enter the tables. Without the feature `super_frames`, each is one packet: see
//! `super_frames.rs`.

use bofuss_frame::Frame;
use bofuss_packet::{Key, Layout, Packet, survey};

use crate::Sink;
use crate::engine_notes::EngineNotes;
use crate::pipeline::context::Context;

/// Sends a frame through the tables; `key` is that of its packets without the fields of headers.
/// Returns `None`, as nothing of it is left.
pub(crate) fn run_frame<S: Sink, E: EngineNotes>(
    cx: &mut Context<'_, S, E>,
    frame: Frame,
    key: &Key,
    notes: E::PathNotes,
) -> Option<Frame> {
    cx.lane.work.begin_frame();
    let mut layout = Layout::seeking(cx.pipeline.catalogue.additions());
    survey(frame.bytes(), &mut layout);
    cx.run(&mut Packet::with_layout(frame, key, &layout), notes);
    None
}
