//! Frames that enter the tables. A super-frame that causes much work is processed in pieces, turn
//! by turn.

use bofuss_frame::Frame;
use bofuss_oflib::message::{FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, PortNo};
use bofuss_packet::{Key, Layout, Packet, offload, survey};

use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Context;
use crate::pipeline::each_table;
use crate::pipeline::work::WORK_PER_TURN;
use crate::{DropReason, PacketInEvent, Sink};

/// A sink that only counts a packet's copies.
struct Probe;

impl Sink for Probe {
    const DRY: bool = true;
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

impl<S: Sink, E: FrameEngine> Context<'_, S, E> {
    /// Sends a frame through the tables; `key` is that of its packets without the fields of
    /// headers. Returns the rest of a super-frame if the turn is over.
    pub(crate) fn run_frame(
        &mut self,
        frame: Frame,
        key: &Key,
        notes: E::PathNotes,
    ) -> Option<Frame> {
        if frame.offload.gso.is_some() {
            return self.run_super_frame(frame, key, notes);
        }
        self.lane.work.begin_frame();
        self.run(&mut surveyed(frame, key, &self.pipeline.catalogue), notes);
        None
    }

    /// Sends a super-frame through the tables. It goes whole if its segments agree in all fields
    /// that entries read and write, if no hook has to see each of them, and if that is not too much
    /// work; otherwise in pieces, until the turn is over. Returns the rest. `key` is that of its
    /// packets without the fields of headers.
    pub fn run_super_frame(
        &mut self,
        mut frame: Frame,
        key: &Key,
        mut notes: E::PathNotes,
    ) -> Option<Frame> {
        self.lane.work.by_segment = false;
        loop {
            let segments = offload::wire_count(&frame).0;
            let agreeing = if self.lane.work.by_segment {
                1
            } else {
                self.pipeline.agreeing(&frame)
            };
            let has_egress_hooks = !self.hooks.at_egress.is_empty();
            let is_single = !has_egress_hooks && E::copies_once(&self.lane.engine, &notes);
            let copies = if agreeing == 1 || is_single {
                1
            } else {
                self.copies(&frame, key)
            };
            // If its packets have met a hook that has to see each of them, the remaining ones may
            // meet it as well.
            let most = if self.lane.work.by_segment {
                1
            } else {
                agreeing
            };
            let count = (WORK_PER_TURN / copies.max(1)).max(1).min(most);
            self.lane.work.begin_frame();
            if count >= segments {
                self.run(&mut surveyed(frame, key, &self.pipeline.catalogue), notes);
                return None;
            }
            let Some((piece, rest)) = offload::split(frame, count as usize) else {
                self.drop(DropReason::NoBuffer);
                return None;
            };
            let mut packet = surveyed(piece, key, &self.pipeline.catalogue);
            self.run(&mut packet, E::PathNotes::default());
            (frame, notes) = (rest, E::PathNotes::default());
            if self.lane.work.is_turn_over() {
                return Some(frame);
            }
        }
    }

    /// A context for trial packets, whose effects go to another sink and which take no cached
    /// paths.
    fn trying<'b, T: Sink>(&'b mut self, sink: &'b mut T) -> Context<'b, T, E> {
        Context {
            now: self.now,
            sink,
            trial: self.lane.next_trial(),
            pipeline: self.pipeline,
            lane: self.lane,
            egress: self.egress,
            hooks: self.hooks,
            through_tables: each_table,
        }
    }

    /// Computes the work of a super-frame's first segment by a trial run, as for a trace. Notes
    /// whether it meets a hook that has to see each packet of the wire.
    fn copies(&mut self, frame: &Frame, key: &Key) -> u64 {
        let Some(first) = offload::first(frame) else {
            return 1;
        };
        let before = self.lane.work.done;
        self.lane.work.begin_frame();
        let mut packet = surveyed(first, key, &self.pipeline.catalogue);
        self.trying(&mut Probe)
            .run(&mut packet, E::PathNotes::default());
        self.pipeline.bridge.tried.clear();
        let after = core::mem::replace(&mut self.lane.work.done, before);
        after - before
    }
}

fn surveyed(frame: Frame, key: &Key, catalogue: &Catalogue) -> Packet {
    let mut layout = Layout::seeking(catalogue.additions());
    survey(frame.bytes(), &mut layout);
    Packet::with_layout(frame, key, &layout)
}

#[cfg(test)]
mod tests;
