//! Frames that enter the tables. A super-frame that causes much work is processed in pieces, turn
//! by turn.
//!
//! A super-frame is one frame of up to 64 KiB that the kernel has not cut yet. Whatever happens to
//! it must equal what would have happened to its segments; so it stays whole only as long as the
//! tables cannot tell them apart.
//!
//! Without the feature `super_frames`, `no_super_frames.rs` takes the place of this file.

use bofuss_frame::Frame;
use bofuss_oflib::message::{FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, PortNo};
use bofuss_packet::{Key, Layout, Packet, offload, survey};

use crate::engine_notes::EngineNotes;
use crate::pipeline::context::Context;
use crate::pipeline::each_table;
use crate::pipeline::work::WORK_PER_TURN;
use crate::{DropReason, PacketInEvent, Sink};

/// A sink that only counts a packet's copies.
///
/// It is dry, so the run counts, learns and sends nothing.
struct Probe;

impl Sink for Probe {
    const DRY: bool = true;
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// Sends a frame through the tables; `key` is that of its packets without the fields of headers.
/// Returns the rest of a super-frame if the turn is over.
pub(crate) fn run_frame<S: Sink, E: EngineNotes>(
    cx: &mut Context<'_, S, E>,
    frame: Frame,
    key: &Key,
    notes: E::PathNotes,
) -> Option<Frame> {
    if frame.offload.gso.is_some() {
        return SuperFrame::new(frame, key, notes).run(cx);
    }
    cx.lane.work.begin_frame();
    cx.run(&mut surveyed(frame, key, &cx.pipeline.catalogue), notes);
    None
}

/// A super-frame on its way into the tables.
pub struct SuperFrame<'k, E: EngineNotes> {
    /// The rest that is not processed yet.
    frame: Frame,
    /// The key of its packets without the fields of headers.
    key: &'k Key,
    notes: E::PathNotes,
}

impl<'k, E: EngineNotes> SuperFrame<'k, E> {
    /// A super-frame that has not entered the tables. `key` is that of its packets without the
    /// fields of headers.
    pub fn new(frame: Frame, key: &'k Key, notes: E::PathNotes) -> Self {
        Self { frame, key, notes }
    }

    /// Sends it through the tables. It goes whole if its segments agree in all fields that entries
    /// read and write, if no hook has to see each of them, and if that is not too much work;
    /// otherwise in pieces, until the turn is over. Returns the rest.
    pub fn run<S: Sink>(mut self, cx: &mut Context<'_, S, E>) -> Option<Frame> {
        // Only trial runs set this, so it has to be forgotten between two frames.
        cx.lane.work.by_segment = false;
        loop {
            let segments = offload::wire_count(&self.frame).0;
            let count = self.next_count(cx).min(segments);
            cx.lane.work.begin_frame();
            if count == segments {
                let mut packet = surveyed(self.frame, self.key, &cx.pipeline.catalogue);
                cx.run(&mut packet, self.notes);
                return None;
            }
            let Some((piece, rest)) = offload::split(self.frame, count as usize) else {
                cx.drop(DropReason::NoBuffer);
                return None;
            };
            let mut packet = surveyed(piece, self.key, &cx.pipeline.catalogue);
            cx.run(&mut packet, E::PathNotes::default());
            self.frame = rest;
            // The engine's notes are about the first piece; the others may take another path.
            self.notes = E::PathNotes::default();
            if cx.lane.work.is_turn_over() {
                return Some(self.frame);
            }
        }
    }

    /// Returns how many segments may go through the tables as one packet now.
    ///
    /// At least one, so that each turn makes progress, even if a single segment is more than the
    /// work of a turn.
    fn next_count<S: Sink>(&self, cx: &mut Context<'_, S, E>) -> u64 {
        let agreeing = if cx.lane.work.by_segment {
            1
        } else {
            cx.pipeline.agreeing(&self.frame)
        };
        let has_egress_hooks = !cx.hooks.at_egress.is_empty();
        let is_single = !has_egress_hooks && E::copies_once(&cx.lane.engine, &self.notes);
        let copies = if agreeing == 1 || is_single {
            1
        } else {
            self.copies(cx)
        };
        // If its packets have met a hook that has to see each of them, the remaining ones may meet
        // it as well.
        let most = if cx.lane.work.by_segment { 1 } else { agreeing };
        // The copies of all these segments together are about the work of one turn.
        (WORK_PER_TURN / copies.max(1)).max(1).min(most)
    }

    /// Computes the work of the first segment by a trial run, as for a trace; it takes no cached
    /// paths. Notes whether it meets a hook that has to see each packet of the wire.
    fn copies<S: Sink>(&self, cx: &mut Context<'_, S, E>) -> u64 {
        let Some(first) = offload::first(&self.frame) else {
            return 1;
        };
        // The trial is no work of the turn. Its limit is that of a frame, so it ends.
        let before = cx.lane.work.done;
        cx.lane.work.begin_frame();
        let mut packet = surveyed(first, self.key, &cx.pipeline.catalogue);
        let mut trial = Context {
            now: cx.now,
            sink: &mut Probe,
            trial: cx.lane.next_trial(),
            pipeline: cx.pipeline,
            lane: cx.lane,
            egress: cx.egress,
            hooks: cx.hooks,
            through_tables: each_table,
        };
        trial.run(&mut packet, E::PathNotes::default());
        cx.pipeline.bridge.end_trial();
        let after = core::mem::replace(&mut cx.lane.work.done, before);
        after - before
    }
}

/// Makes a packet of a frame: finds its headers, and adds their fields to the key.
fn surveyed(frame: Frame, key: &Key, catalogue: &Catalogue) -> Packet {
    let mut layout = Layout::seeking(catalogue.additions());
    survey(frame.bytes(), &mut layout);
    Packet::with_layout(frame, key, &layout)
}

#[cfg(test)]
mod tests;
