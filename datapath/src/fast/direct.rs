//! Frames that arrive together. Of those of known flows that just go to a port, or nowhere, no more
//! is read than what tells the flow.

use alloc::vec::Vec;

use bofuss_frame::{Capabilities, Frame};
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::types::{QueueId, TableId};
use bofuss_oflib::{Instruction, PortNo};
use bofuss_packet::{Fragment, Key, Layout, Packet, arrival, survey};

use super::cache::{End, Program};
use super::lookahead::Lookahead;
use super::paths::{sole_output, start};
use crate::{Datapath, DropReason, Sink, Time};

/// Packets whose memory is brought near together.
pub(super) const BATCH: usize = 32;

/// The port that frames leave by, as long as they go to the same one.
#[derive(Default)]
struct DirectOutput {
    port: PortNo,
    /// Whether frames that are complete may just leave.
    open: bool,
    capabilities: Capabilities,
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
    for instruction in program.steps.iter().flat_map(|step| step.body.list()) {
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

impl Datapath {
    /// Sends frames that arrived on `port` through the tables; leaves `frames` empty.
    #[inline(never)]
    pub(crate) fn process_frames<S: Sink>(
        &mut self,
        now: Time,
        port: PortNo,
        frames: &mut Vec<Frame>,
        sink: &mut S,
    ) {
        self.work.begin_turn();
        let mut lookaheads = core::mem::take(&mut self.cache.lookaheads);
        lookaheads.resize_with(BATCH, || Lookahead::seeking(self.catalogue.additions()));
        while !frames.is_empty() {
            let count = frames.len().min(BATCH);
            let key = self.look_ahead::<S>(now, port, &mut frames[..count], &mut lookaheads);
            let (mut quiet, mut direct) = (self.is_quiet(), DirectOutput::default());
            let mut left = None;
            let mut batch = frames.drain(..count);
            for lookahead in &mut lookaheads[..count] {
                let disposition = match batch.as_slice() {
                    [first, ..] if quiet => {
                        self.disposition(now, port, first, lookahead, &mut direct, sink)
                    }
                    _ => Disposition::Slow(None),
                };
                let Some(frame) = batch.next() else { break };
                match disposition {
                    Disposition::Sent => sink.transmit(direct.port, QueueId(0), frame),
                    Disposition::Dropped => {}
                    Disposition::Slow(flow) => {
                        if frame.offload.gso.is_some() {
                            left = self.run_super_frame(now, frame, &key, flow, sink);
                        } else {
                            self.work.begin_frame();
                            let mut packet = Packet::surveyed(frame, &key, &lookahead.layout);
                            self.run(now, &mut packet, flow, sink);
                        }
                        quiet = self.is_quiet();
                    }
                }
                if self.work.is_turn_over() {
                    break;
                }
            }
            let left: Vec<Frame> = left.into_iter().chain(batch).collect();
            self.close(&direct);
            if !left.is_empty() || self.work.is_turn_over() && !frames.is_empty() {
                frames.splice(..0, left);
                self.backlog.insert(port, core::mem::take(frames));
            }
        }
        self.cache.lookaheads = lookaheads;
    }

    /// Finds the headers of frames, and as long as no hook makes one packet depend on another, has
    /// what is known of their flows brought near, all together: so they wait for memory once. The
    /// key of their packets without what headers say.
    #[inline(never)]
    fn look_ahead<S: Sink>(
        &mut self,
        now: Time,
        port: PortNo,
        frames: &mut [Frame],
        lookaheads: &mut [Lookahead],
    ) -> Key {
        let mut key = arrival(port, self.catalogue.additions());
        let follows = self.uses_cache::<S>() && self.is_quiet();
        if follows && !self.hooks.is_empty() {
            // What quiet hooks do to one packet they do to all.
            let mut packet = Packet::surveyed(frames[0].take(), &key, &Layout::EMPTY);
            let hooks = self.hooks.iter_mut();
            hooks.for_each(|hook| hook.before_lookup(now, TableId(0), &mut packet));
            (key, frames[0]) = (*packet.key(), packet.frame);
        }
        let base = self.cache.words(start(TableId(0), true), &key);
        for (frame, lookahead) in frames.iter().zip(&mut *lookaheads) {
            let bytes = frame.bytes();
            survey(bytes, &mut lookahead.layout);
            lookahead.clear();
            if follows {
                self.cache.look_at(bytes, &base, lookahead);
                if cfg!(any(test, debug_assertions)) {
                    assert!(self.cache.is_exact(lookahead, frame, &key));
                }
            }
        }
        let lookaheads = lookaheads[..frames.len()].iter_mut();
        lookaheads.for_each(|lookahead| self.cache.guess(lookahead));
        key
    }

    /// What becomes of a frame; counts it if that is simple.
    #[inline(always)]
    fn disposition<S: Sink>(
        &mut self,
        now: Time,
        ingress: PortNo,
        frame: &Frame,
        lookahead: &mut Lookahead,
        direct: &mut DirectOutput,
        sink: &mut S,
    ) -> Disposition {
        let Some(mut flow) = self.cache.flow(lookahead) else {
            return Disposition::Slow(None);
        };
        if let End::Port(port) = flow.end
            && port != direct.port
        {
            self.close(direct);
            *direct = self.open(port, ingress);
            flow = &mut self.cache.flows[lookahead.guess];
        }
        let (slot, bytes) = (lookahead.guess, frame.len() as u64);
        let treated = lookahead.layout.fragment != Fragment::No && self.fragments != ConfigFlags(0);
        if treated || frame.offload.gso.is_some() {
            return Disposition::Slow(Some(slot));
        }
        let disposition = match flow.end {
            End::Port(_) if direct.open && direct.capabilities.take(&frame.offload, 0) => {
                (direct.packets, direct.bytes) = (direct.packets + 1, direct.bytes + bytes);
                Disposition::Sent
            }
            End::Drop(reason) if reason != DropReason::TableMiss || !sink.wants_misses() => {
                self.drops[reason as usize] += 1;
                Disposition::Dropped
            }
            End::Port(_) | End::Drop(_) | End::Other => return Disposition::Slow(Some(slot)),
        };
        if flow.count(now, 1, bytes) {
            self.mark_unsettled(slot);
        }
        self.cache.stats.hits += 1;
        disposition
    }

    /// The way out of a port for packets that came in through `ingress`.
    #[inline(never)]
    fn open(&self, number: PortNo, ingress: PortNo) -> DirectOutput {
        let port = self.ports.get(&number);
        let port = port.filter(|port| number != ingress && port.egress_block().is_none());
        DirectOutput {
            port: number,
            open: port.is_some() && !self.egress.contains_key(&number),
            capabilities: port.map(|port| port.capabilities).unwrap_or_default(),
            ..DirectOutput::default()
        }
    }

    /// Counts what left by a port.
    #[inline(never)]
    fn close(&mut self, direct: &DirectOutput) {
        if let Some(port) = self.ports.get_mut(&direct.port) {
            port.stats.tx_packets += direct.packets;
            port.stats.tx_bytes += direct.bytes;
        }
    }
}
