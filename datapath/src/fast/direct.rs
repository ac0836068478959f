//! Frames that arrive together. Of those of known flows that just go to a port, or nowhere, no more
//! is read than what tells the flow.

use alloc::vec::Vec;

use bofuss_frame::{Frame, OffloadCapabilities};
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::types::{QueueId, TableId};
use bofuss_oflib::{Instruction, PortNo};
use bofuss_packet::offload::Cut;
use bofuss_packet::{Fragment, Key, Layout, Packet, arrival, survey};

use super::record::sole_output;
use crate::cache::lookahead::Lookahead;
use crate::cache::{BATCH, End, Program, ProgramStep};
use crate::pipeline::context::Context;
use crate::pipeline::work::WORK_PER_TURN;
use crate::{DropReason, Sink};

/// The port that frames leave by, as long as they go to the same one.
#[derive(Default)]
struct DirectOutput {
    port: PortNo,
    /// Whether frames that are complete may just leave.
    open: bool,
    capabilities: OffloadCapabilities,
    /// What its counters do not have yet.
    packets: u64,
    bytes: u64,
}

/// What becomes of a frame.
enum Disposition {
    /// It has left by the direct path.
    Sent,
    /// It is dropped.
    Dropped,
    /// It goes through the tables, along its known path if it has one.
    Slow(Option<u32>),
}

/// What becomes of packets in the end, if all that a program does is to send them to one port, or
/// nothing.
pub(super) fn end(program: &Program) -> End {
    let (mut at_once, mut at_end) = (None, None);
    let sets_headers = program
        .steps
        .iter()
        .any(|step| matches!(step, ProgramStep::Set(field, _) if !field.at.is_empty()));
    if program.calls || program.asks || sets_headers {
        return End::Other;
    }
    for instruction in program.executed().flat_map(|body| body.instructions.list()) {
        let (actions, port) = match instruction {
            Instruction::ApplyActions(actions) if at_once.is_none() => (actions, &mut at_once),
            Instruction::WriteActions(actions) => (actions, &mut at_end),
            Instruction::ClearActions => {
                at_end = None;
                continue;
            }
            Instruction::WriteMetadata { .. } | Instruction::GotoTable(_) => continue,
            Instruction::ApplyActions(_) | Instruction::Meter(_) | Instruction::Experimenter(_) => {
                return End::Other;
            }
        };
        *port = sole_output(actions);
        if port.is_none() {
            return End::Other;
        }
    }
    match (at_once, at_end) {
        _ if program.next.is_some() => End::Other,
        (None, _) if program.missed => End::Drop(DropReason::TableMiss),
        (None, None) => End::Drop(DropReason::NoOutput),
        (Some(port), None) | (None, Some(port)) if !program.missed => End::Port(port),
        (Some(_), _) | (None, Some(_)) => End::Other,
    }
}

impl<S: Sink> Context<'_, S> {
    /// Sends frames that arrived on `port` through the tables; leaves `frames` empty.
    #[inline(never)]
    pub(crate) fn process_frames(&mut self, port: PortNo, frames: &mut Vec<Frame>) {
        self.lane.work.begin_turn();
        let mut lookaheads = core::mem::take(&mut self.lane.cache.lookaheads);
        lookaheads.resize_with(BATCH, || {
            Lookahead::seeking(self.pipeline.catalogue.additions())
        });
        while !frames.is_empty() {
            let count = frames.len().min(BATCH);
            let key = self.look_ahead(port, &mut frames[..count], &mut lookaheads);
            let mut looks_ahead = self.looks_ahead();
            let mut direct = DirectOutput::default();
            let looked_for = self.known_as();
            let mut left = None;
            let mut batch = frames.drain(..count);
            for lookahead in &mut lookaheads[..count] {
                let disposition = match batch.as_slice() {
                    [first, ..] if looks_ahead => {
                        self.disposition(port, first, lookahead, &mut direct)
                    }
                    _ => Disposition::Slow(None),
                };
                let Some(frame) = batch.next() else { break };
                match disposition {
                    Disposition::Sent => self.sink.transmit(direct.port, QueueId(0), frame),
                    Disposition::Dropped => {}
                    Disposition::Slow(flow) => {
                        if frame.offload.gso.is_some() {
                            left = self.run_super_frame(frame, &key, flow);
                        } else {
                            self.lane.work.begin_frame();
                            let mut packet = Packet::surveyed(frame, &key, &lookahead.layout);
                            self.run(&mut packet, flow);
                        }
                        looks_ahead &= looked_for == self.known_as();
                    }
                }
                if self.lane.work.is_turn_over() {
                    break;
                }
            }
            let left: Vec<Frame> = left.into_iter().chain(batch).collect();
            self.close(&direct);
            if !left.is_empty() || self.lane.work.is_turn_over() && !frames.is_empty() {
                frames.splice(..0, left);
                self.lane.backlog.insert(port, core::mem::take(frames));
            }
        }
        self.lane.cache.lookaheads = lookaheads;
    }

    /// Finds the headers of frames, and as long as no hook makes one packet depend on another, has
    /// what is known of their flows brought near, all together: so they wait for memory once. The
    /// key of their packets without what headers say.
    #[inline(never)]
    fn look_ahead(
        &mut self,
        port: PortNo,
        frames: &mut [Frame],
        lookaheads: &mut [Lookahead],
    ) -> Key {
        let key = arrival(port, self.pipeline.catalogue.additions());
        let follows = self.uses_cache() && self.looks_ahead();
        let base = self
            .lane
            .cache
            .words(self.start(TableId(0), false, false), &key);
        for (frame, lookahead) in frames.iter().zip(&mut *lookaheads) {
            let bytes = frame.bytes();
            survey(bytes, &mut lookahead.layout);
            lookahead.clear();
            if follows {
                self.lane.cache.look_at(bytes, &base, lookahead);
                if cfg!(any(test, debug_assertions)) {
                    assert!(self.lane.cache.is_exact(lookahead, frame, &key));
                }
            }
        }
        let lookaheads = lookaheads[..frames.len()].iter_mut();
        lookaheads.for_each(|lookahead| self.lane.cache.guess(lookahead));
        key
    }

    /// What becomes of a frame; counts it if that is simple.
    #[inline(always)]
    fn disposition(
        &mut self,
        ingress: PortNo,
        frame: &Frame,
        lookahead: &mut Lookahead,
        direct: &mut DirectOutput,
    ) -> Disposition {
        let Some(mut flow) = self.lane.cache.flow(lookahead) else {
            return Disposition::Slow(None);
        };
        if let End::Port(port) = flow.end
            && port != direct.port
        {
            self.close(direct);
            *direct = self.open(port, ingress);
            flow = &mut self.lane.cache.flows[lookahead.guess];
        }
        let slot = lookahead.guess;
        let layout = &lookahead.layout;
        let treated = layout.fragment != Fragment::No && self.pipeline.fragments != ConfigFlags(0);
        let end = flow.end;
        let counts = if frame.offload.gso.is_none() {
            Some((1, frame.len() as u64))
        } else {
            self.whole_count(frame, layout)
        };
        let Some((packets, bytes)) = counts.filter(|_| !treated) else {
            return Disposition::Slow(Some(slot));
        };
        let disposition = match end {
            End::Port(_)
                if direct.open && direct.capabilities.take(&frame.offload, layout.vlan_tags) =>
            {
                direct.packets += packets;
                direct.bytes += bytes;
                if frame.offload.gso.is_some() {
                    self.lane.work.count_packets(packets, frame.len() as u64);
                }
                Disposition::Sent
            }
            End::Drop(reason) if reason != DropReason::TableMiss || !self.sink.wants_misses() => {
                self.lane.drops[reason as usize] += 1;
                Disposition::Dropped
            }
            End::Port(_) | End::Drop(_) | End::Other => return Disposition::Slow(Some(slot)),
        };
        if self.lane.cache.flows[slot].count(self.now, packets, bytes) {
            self.mark_unsettled(slot);
        }
        self.lane.cache.stats.hits += 1;
        disposition
    }

    /// How many packets and bytes a super-frame is on a wire, if it may go whole, as
    /// [`Context::run_super_frame`] would let it.
    #[inline(never)]
    fn whole_count(&self, frame: &Frame, layout: &Layout) -> Option<(u64, u64)> {
        if self.hooks.all.iter().any(|hook| hook.acts_on_segments()) {
            return None;
        }
        let cut = Cut::known(frame, layout)?;
        let counts = cut.wire_count();
        let uses = self.pipeline.field_uses.of(&self.pipeline.catalogue);
        let agreeing = cut.agreeing(frame, uses) as u64;
        (counts.0 <= agreeing.min(WORK_PER_TURN)).then_some(counts)
    }

    /// The way out of a port for packets that came in through `ingress`.
    #[inline(never)]
    fn open(&self, number: PortNo, ingress: PortNo) -> DirectOutput {
        let port = self.pipeline.ports.get(&number);
        let port = port.filter(|port| number != ingress && port.egress_block().is_none());
        DirectOutput {
            port: number,
            open: port.is_some()
                && !self.egress.ports.contains_key(&number)
                && self.hooks.at_egress.is_empty(),
            capabilities: port.map(|port| port.capabilities).unwrap_or_default(),
            ..DirectOutput::default()
        }
    }

    /// Counts what left by a port.
    #[inline(never)]
    fn close(&mut self, direct: &DirectOutput) {
        if let Some(port) = self.pipeline.ports.get_mut(&direct.port) {
            port.stats.tx_packets += direct.packets;
            port.stats.tx_bytes += direct.bytes;
        }
    }
}
