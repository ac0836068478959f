//! Limits of the work that one frame may cause. A super-frame that causes more is processed in
//! pieces, turn by turn.

use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::message::{FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::types::QueueId;
use bofuss_packet::{Key, Layout, Packet, offload, survey};

use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Context;
use crate::{DropReason, MAX_BUCKETS_PER_PACKET, PacketInEvent, Sink};

/// The work of one turn, in packets copied or sent, counting segments one by one; after it, frames
/// wait for a later turn. One takes 0.3 to 0.7 us, and as long again in a port's system call.
pub const WORK_PER_TURN: u64 = 512;
/// The work of one packet, after which further copies are dropped: enough for
/// [`crate::MAX_BUCKETS_PER_PACKET`] buckets with an output each.
pub const WORK_PER_FRAME: u64 = 2 * MAX_BUCKETS_PER_PACKET as u64;
/// How deeply calls of hooks may be nested, when actions that one asks for call another.
const MAX_NESTING: u8 = 8;
/// How deeply passes through the egress tables may be nested, when a copy output there begins
/// another pass.
const MAX_EGRESS: u8 = 4;
/// Copying so many bytes costs about as much as handling a packet.
const BYTES_PER_PACKET: u64 = 2048;

/// Counts the work done, and says when the limits are reached.
#[derive(Debug, Default)]
pub struct Work {
    pub(crate) done: u64,
    turn_end: u64,
    frame_end: u64,
    /// How many entries the trace in progress may still search for those that nearly matched.
    pub(crate) searches: usize,
    /// How deeply calls of hooks are nested now.
    nesting: u8,
    /// How deeply passes through the egress tables are nested now.
    egress_rounds: u8,
    /// Whether a trial run met a hook that has to see each packet of the wire.
    pub(crate) by_segment: bool,
}

impl Work {
    /// Begins to count the work of a turn.
    pub fn begin_turn(&mut self) {
        self.turn_end = self.done + WORK_PER_TURN;
    }

    /// Begins to count the work of a frame.
    pub fn begin_frame(&mut self) {
        self.frame_end = self.done + WORK_PER_FRAME;
    }

    /// Whether the turn is over.
    pub fn is_turn_over(&self) -> bool {
        self.done >= self.turn_end
    }

    /// Whether the frame may have no more copies.
    pub(crate) fn is_spent(&self) -> bool {
        self.done >= self.frame_end
    }

    /// Begins to carry out what a hook asked for. Returns false if that is nested too deeply or too
    /// much work.
    pub(crate) fn begin_nested(&mut self) -> bool {
        let may = self.nesting < MAX_NESTING && !self.is_spent();
        self.nesting += u8::from(may);
        may
    }

    /// Ends what [`Work::begin_nested`] allowed.
    pub(crate) fn end_nested(&mut self) {
        self.nesting -= 1;
    }

    /// Begins a pass through the egress tables. Returns false if it is nested too deeply.
    pub(crate) fn begin_egress(&mut self) -> bool {
        let may = self.egress_rounds < MAX_EGRESS;
        self.egress_rounds += u8::from(may);
        may
    }

    /// Ends what [`Work::begin_egress`] allowed.
    pub(crate) fn end_egress(&mut self) {
        self.egress_rounds -= 1;
    }

    /// Counts a copy of a frame.
    pub(crate) fn count(&mut self, frame: &Frame) {
        self.count_packets(offload::wire_count(frame).0, frame.len() as u64);
    }

    /// Counts a copy of a frame of `bytes` bytes that is so many packets on a wire.
    pub fn count_packets(&mut self, packets: u64, bytes: u64) {
        self.done += packets.max(bytes / BYTES_PER_PACKET);
    }
}

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
            let agreeing = self.agreeing(&frame);
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

    /// How many of a super-frame's first segments agree in what entries read and write.
    fn agreeing(&self, frame: &Frame) -> u64 {
        if self.lane.work.by_segment {
            return 1;
        }
        let uses = self.pipeline.field_uses.of(&self.pipeline.catalogue);
        offload::agreeing(frame, self.pipeline.catalogue.additions(), uses) as u64
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

fn surveyed(frame: Frame, key: &Key, catalogue: &bofuss_oflib::Catalogue) -> Packet {
    let mut layout = Layout::seeking(catalogue.additions());
    survey(frame.bytes(), &mut layout);
    Packet::surveyed(frame, key, &layout)
}

#[cfg(test)]
mod tests;
