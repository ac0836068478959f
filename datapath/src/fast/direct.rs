//! Bursts of frames. Of a frame whose flow is cached and only goes to a port or is dropped, nothing
//! is read but what identifies the flow.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::{Drain, Vec};

use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::types::{QueueId, TableId};
use bofuss_packet::offload::Cut;
use bofuss_packet::{Key, Layout, Packet, arrival};

use super::direct_hooks::{Acted, Begun};
use super::direct_output::DirectOutput;
use super::direct_steps::can_go;
use crate::cache::lookahead::PortArrival;
use crate::cache::{BATCH, End, Program};
use crate::pipeline::context::Context;
use crate::pipeline::work::WORK_PER_TURN;
use crate::upcoming::{Foreseen, Lookahead};
use crate::{DropReason, HookEffect, Sink};

/// What the frames of a burst have in common.
pub(super) struct Burst<'a> {
    /// The port that they arrived on.
    pub(super) ingress: PortNo,
    /// What their packets have in common before headers are read.
    pub(super) arrival: &'a PortArrival,
    /// Whether hooks set fields of each packet before the lookup in table 0.
    branches: bool,
    /// The hook that does so, if it is the only one.
    preparer: Option<usize>,
    /// The field values that hooks foresee for them.
    pub(super) foreseen: &'a Foreseen,
    /// Whether flows are found by the words that were read ahead.
    looks_ahead: bool,
    pub(super) output: DirectOutput,
    /// The previous output.
    pub(super) other_output: DirectOutput,
}

/// What has to be done with a frame.
enum Disposition {
    /// Nothing: it was sent on the direct path.
    Sent,
    /// It has to be dropped.
    Dropped(DropReason),
    /// It has to take the steps of a program, and is already counted.
    Steps(Rc<Program>),
    /// It has to become a packet, and takes the cached path of this flow if there is one.
    Slow(Option<u32>),
}

/// Takes the next frame of a batch.
#[inline(always)]
fn taken(batch: &mut Drain<'_, Frame>) -> Frame {
    batch.next().expect("it is there to be looked at")
}

impl<S: Sink> Context<'_, S> {
    /// Processes frames that arrived on `port`; leaves `frames` empty.
    #[inline(never)]
    pub(crate) fn process_frames(&mut self, port: PortNo, frames: &mut Vec<Frame>) {
        self.lane.work.begin_turn();
        let mut lookaheads = core::mem::take(&mut self.lane.cache.lookaheads);
        let mut foreseen = core::mem::take(&mut self.lane.cache.foreseen);
        let mut begun = Begun::default();
        lookaheads.resize_with(BATCH, || {
            Lookahead::seeking(self.pipeline.catalogue.additions())
        });
        while !frames.is_empty() {
            let count = frames.len().min(BATCH);
            let branches = self.hooks.effect(TableId(0)) == HookEffect::Branch;
            let arrival = self.arrival(port, branches);
            let of_frames = (&mut lookaheads[..count], &mut foreseen);
            self.look_ahead(&arrival, branches, &frames[..count], of_frames);
            let mut burst = Burst {
                ingress: port,
                arrival: &arrival,
                branches,
                preparer: self.preparer(),
                foreseen: &foreseen,
                looks_ahead: self.uses_cache() && self.looks_ahead(),
                output: DirectOutput::default(),
                other_output: DirectOutput::default(),
            };
            let looked_for = self.known_as();
            let mut left = None;
            let mut batch = frames.drain(..count);
            for lookahead in &mut lookaheads {
                let [next, ..] = batch.as_slice() else {
                    break;
                };
                match self.plain_disposition(&mut burst, next, lookahead, &mut begun) {
                    Some(Disposition::Sent) => {
                        let port = burst.output.port;
                        self.sink.transmit(port, QueueId(0), taken(&mut batch));
                        continue;
                    }
                    Some(Disposition::Dropped(_)) => drop(taken(&mut batch)),
                    Some(Disposition::Steps(program)) => {
                        let mut frame = taken(&mut batch);
                        let layout = &mut lookahead.layout;
                        if self.run_steps(&mut frame, &mut burst, layout, &program) {
                            self.sink.transmit(burst.output.port, QueueId(0), frame);
                        }
                    }
                    Some(Disposition::Slow(flow)) => {
                        self.run_frame(taken(&mut batch), &arrival.key, lookahead, flow);
                    }
                    None => {
                        left = self.run_any(taken(&mut batch), &mut burst, lookahead, &mut begun);
                    }
                }
                burst.looks_ahead &= looked_for == self.known_as();
                if self.lane.work.is_turn_over() {
                    break;
                }
            }
            if self.lane.work.is_turn_over() {
                let mut waiting: Vec<Frame> = left.into_iter().chain(batch).collect();
                waiting.append(frames);
                if !waiting.is_empty() {
                    self.lane.backlog.insert(port, waiting);
                }
            }
            self.close(&[&burst.output, &burst.other_output]);
            self.lane.cache.arrival = Some(arrival);
        }
        self.lane.cache.lookaheads = lookaheads;
        self.lane.cache.foreseen = foreseen;
    }

    /// Decides about an ordinary frame with which hooks do no more than they foresaw, and counts it
    /// if its path is simple. `None` for any other frame.
    #[inline(always)]
    fn plain_disposition(
        &mut self,
        burst: &mut Burst<'_>,
        frame: &Frame,
        lookahead: &mut Lookahead,
        begun: &mut Begun,
    ) -> Option<Disposition> {
        if frame.offload.gso.is_some() {
            return None;
        }
        let branches = burst.branches;
        let slow = |flow| (!branches).then_some(Disposition::Slow(flow));
        if !burst.looks_ahead {
            return slow(None);
        }
        let is_treated = self.pipeline.treats(lookahead.layout.fragment);
        if burst.branches && (is_treated || !self.fulfils(burst.preparer, lookahead, begun)) {
            return None;
        }
        let Some(mut flow) = self.lane.cache.flow(lookahead) else {
            return slow(None);
        };
        let slot = lookahead.guess;
        if is_treated {
            return slow(Some(slot));
        }
        let end = flow.end;
        if end == End::Steps {
            let program = self.begin_steps(slot, frame, &lookahead.layout);
            return program.map(Disposition::Steps).or_else(|| slow(Some(slot)));
        }
        let End::Port { port, acts: false } = end else {
            return self.other_disposition(burst, frame, lookahead, begun);
        };
        if port != burst.output.port {
            self.change_output(burst, port);
            flow = &mut self.lane.cache.flows[slot];
        }
        let output = &mut burst.output;
        let leaves = output.open && output.capabilities.take(&frame.offload, 0);
        if !leaves {
            return slow(Some(slot));
        }
        let frame_bytes = frame.len() as u64;
        output.packets += 1;
        output.bytes += frame_bytes;
        if flow.count(self.now, 1, frame_bytes) {
            self.mark_unsettled(slot);
        }
        self.lane.cache.stats.hits += 1;
        Some(Disposition::Sent)
    }

    /// As [`Self::plain_disposition`], for a frame whose flow was found and whose path begins with
    /// actions or drops it.
    #[inline(always)]
    fn other_disposition(
        &mut self,
        burst: &mut Burst<'_>,
        frame: &Frame,
        lookahead: &mut Lookahead,
        begun: &mut Begun,
    ) -> Option<Disposition> {
        let slot = lookahead.guess;
        let slow = (!burst.branches).then_some(Disposition::Slow(Some(slot)));
        let end = self.lane.cache.flows[slot].end;
        if let End::Port { port, .. } = end
            && port != burst.output.port
        {
            self.change_output(burst, port);
        }
        let at_end = self.at_end(end, &burst.output, frame, &lookahead.layout);
        let Some((disposition, acts)) = at_end else {
            return slow;
        };
        if acts && !self.fulfils_actions(lookahead, begun) {
            return None;
        }
        self.count_direct(burst, slot, &disposition, (1, frame.len() as u64));
        Some(disposition)
    }

    /// Counts an ordinary frame of a flow whose program is a list of steps, and returns that
    /// program, if the frame can take all of its steps.
    #[inline(always)]
    fn begin_steps(&mut self, slot: u32, frame: &Frame, layout: &Layout) -> Option<Rc<Program>> {
        let flow = &mut self.lane.cache.flows[slot];
        let path = flow.program.direct.as_ref()?;
        if !can_go(path, frame, layout, self.pipeline, self.hooks) {
            return None;
        }
        let program = Rc::clone(&flow.program);
        if flow.count(self.now, 1, frame.len() as u64) {
            self.mark_unsettled(slot);
        }
        self.lane.cache.stats.hits += 1;
        Some(program)
    }

    /// Counts a frame that is sent or dropped on the direct path.
    #[inline(always)]
    fn count_direct(
        &mut self,
        burst: &mut Burst<'_>,
        slot: u32,
        disposition: &Disposition,
        (packets, bytes): (u64, u64),
    ) {
        match disposition {
            Disposition::Sent => {
                burst.output.packets += packets;
                burst.output.bytes += bytes;
            }
            Disposition::Dropped(reason) => self.lane.drops[*reason as usize] += 1,
            Disposition::Steps(_) | Disposition::Slow(_) => {}
        }
        self.count_flow(slot, (packets, bytes));
    }

    /// Counts packets for a flow.
    fn count_flow(&mut self, slot: u32, (packets, bytes): (u64, u64)) {
        if self.lane.cache.flows[slot].count(self.now, packets, bytes) {
            self.mark_unsettled(slot);
        }
        self.lane.cache.stats.hits += 1;
    }

    /// Sends an ordinary frame through the pipeline as a packet, on the cached path of `flow` if
    /// there is one.
    #[inline(never)]
    fn run_frame(&mut self, frame: Frame, key: &Key, lookahead: &Lookahead, flow: Option<u32>) {
        self.lane.work.begin_frame();
        let mut packet = Packet::surveyed(frame, key, &lookahead.layout);
        self.run(&mut packet, flow);
    }

    /// Sends any frame through the pipeline as a packet. Returns the rest of a super-frame if the
    /// turn is over.
    #[inline(never)]
    fn run_any(
        &mut self,
        mut frame: Frame,
        burst: &mut Burst<'_>,
        lookahead: &mut Lookahead,
        begun: &mut Begun,
    ) -> Option<Frame> {
        let disposition = if burst.looks_ahead {
            self.disposition(burst, &mut frame, lookahead, begun)
        } else {
            Disposition::Slow(None)
        };
        let mut left = None;
        match disposition {
            Disposition::Sent => self.sink.transmit(burst.output.port, QueueId(0), frame),
            Disposition::Dropped(_) => {}
            Disposition::Steps(program) => {
                if self.run_steps(&mut frame, burst, &mut lookahead.layout, &program) {
                    self.sink.transmit(burst.output.port, QueueId(0), frame);
                }
            }
            Disposition::Slow(flow) if frame.offload.gso.is_some() => {
                left = self.run_super_frame(frame, &burst.arrival.key, flow);
            }
            Disposition::Slow(flow) => {
                self.run_begun(frame, &burst.arrival.key, lookahead, flow, begun);
            }
        }
        begun.clear();
        left
    }

    /// Reads frames ahead, depending on whether they begin with an Ethernet header.
    fn look_ahead(
        &mut self,
        arrival: &PortArrival,
        branches: bool,
        frames: &[Frame],
        read: (&mut [Lookahead], &mut Foreseen),
    ) {
        if arrival.key.is_of_ethernet() {
            self.look_ahead_of::<true>(arrival, branches, frames, read);
        } else {
            self.look_ahead_of::<false>(arrival, branches, frames, read);
        }
    }

    /// Finds the headers of frames and prefetches their flows all together, so that the burst waits
    /// for memory once; not if a hook makes one packet depend on another. `branches` says that
    /// hooks set fields of each packet before the lookup in table 0. These hooks, and those that
    /// act on misses there, see the frames first. `ETHERNET` says whether the frames begin with an
    /// Ethernet header.
    #[inline(never)]
    fn look_ahead_of<const ETHERNET: bool>(
        &mut self,
        arrival: &PortArrival,
        branches: bool,
        frames: &[Frame],
        (lookaheads, foreseen): (&mut [Lookahead], &mut Foreseen),
    ) {
        let follows = self.uses_cache() && self.looks_ahead();
        let is_shown = branches || self.hooks.has_only_misses(TableId(0));
        let cache = &self.lane.cache;
        let base = &arrival.words;
        let is_read_now = follows && !is_shown;
        let few = cache.few(base.padded()).filter(|_| is_read_now);
        for (frame, lookahead) in frames.iter().zip(&mut *lookaheads) {
            let bytes = frame.bytes();
            lookahead.survey(bytes);
            if !ETHERNET {
                lookahead.leave_ethernet();
            }
            if let Some(few) = few {
                cache.look_at_few(bytes, few, lookahead);
                cache.prefetch_few(lookahead);
            } else if is_read_now {
                cache.look_at(bytes, base, lookahead);
                cache.prefetch(lookahead);
            }
            if cfg!(any(test, debug_assertions)) {
                assert!(cache.is_exact(lookahead, frame, &arrival.key));
            }
        }
        if follows && is_shown {
            self.foresee(frames, arrival, lookaheads, foreseen);
        }
        self.lane.cache.guess_all(lookaheads);
    }

    /// What packets from a port have in common now before headers are read.
    fn arrival(&mut self, port: PortNo, branches: bool) -> Box<PortArrival> {
        let start = self.start(TableId(0), branches, false);
        let ingress = self.pipeline.ports.get(&port);
        let without_ethernet = ingress.is_some_and(|ingress| ingress.without_ethernet);
        let cache = &mut self.lane.cache;
        let known_as = (port, start, cache.stats.widened);
        if let Some(known) = cache.arrival.take()
            && known.known_as == known_as
            && known.key.is_of_ethernet() != without_ethernet
        {
            return known;
        }
        let mut key = arrival(port, self.pipeline.catalogue.additions());
        if without_ethernet {
            key.leave_ethernet();
        }
        Box::new(PortArrival {
            known_as,
            words: cache.words(start, &key),
            key,
        })
    }

    /// Decides about a frame, and counts it if its path is simple.
    fn disposition(
        &mut self,
        burst: &mut Burst<'_>,
        frame: &mut Frame,
        lookahead: &mut Lookahead,
        begun: &mut Begun,
    ) -> Disposition {
        let treated = self.pipeline.treats(lookahead.layout.fragment);
        let is_super_frame = frame.offload.gso.is_some();
        if burst.branches
            && (treated
                || is_super_frame
                || !lookahead.is_read
                || !self.prepare(frame, burst, lookahead, begun))
        {
            return Disposition::Slow(None);
        }
        let Some(flow) = self.lane.cache.flow(lookahead) else {
            return Disposition::Slow(None);
        };
        let slot = lookahead.guess;
        let end = flow.end;
        if let End::Port { port, .. } = end
            && port != burst.output.port
        {
            self.change_output(burst, port);
        }
        let layout = &lookahead.layout;
        let counts = if is_super_frame {
            self.whole_count(frame, layout)
        } else {
            Some((1, frame.len() as u64))
        };
        let Some((packets, bytes)) = counts.filter(|_| !treated) else {
            return Disposition::Slow(Some(slot));
        };
        if end == End::Steps && !is_super_frame {
            let program = self.begin_steps(slot, frame, layout);
            return program.map_or(Disposition::Slow(Some(slot)), Disposition::Steps);
        }
        let Some((disposition, acts)) = self.at_end(end, &burst.output, frame, layout) else {
            return Disposition::Slow(Some(slot));
        };
        if acts && is_super_frame {
            return Disposition::Slow(Some(slot));
        }
        if acts {
            match self.act_first(frame, burst, lookahead, begun) {
                Acted::Read => {}
                Acted::Forwards(port, ..) if self.leaves(burst, frame, port) => {
                    self.count_flow(slot, (packets, bytes));
                    return Disposition::Sent;
                }
                acted @ (Acted::Begun | Acted::Forwards(..)) => {
                    begun.defer(&acted);
                    return Disposition::Slow(Some(slot));
                }
            }
        }
        self.count_direct(burst, slot, &disposition, (packets, bytes));
        if is_super_frame && matches!(disposition, Disposition::Sent) {
            self.lane.work.count_packets(packets, frame.len() as u64);
        }
        disposition
    }

    /// Decides about a frame at the end of a path without steps, and reports whether the path
    /// begins with actions; `None` if the frame cannot simply be sent or dropped.
    #[inline(always)]
    fn at_end(
        &self,
        end: End,
        direct: &DirectOutput,
        frame: &Frame,
        layout: &Layout,
    ) -> Option<(Disposition, bool)> {
        match end {
            End::Port { acts, .. }
                if direct.open && direct.capabilities.take(&frame.offload, layout.vlan_tags) =>
            {
                Some((Disposition::Sent, acts))
            }
            End::Drop { reason, acts }
                if reason != DropReason::TableMiss || !self.sink.wants_misses() =>
            {
                Some((Disposition::Dropped(reason), acts))
            }
            End::Port { .. } | End::Drop { .. } | End::Steps | End::Other => None,
        }
    }

    /// The packets and bytes that a super-frame is on a wire, if it may stay whole on a path
    /// without hooks by the rules of [`Context::run_super_frame`].
    #[inline(never)]
    fn whole_count(&self, frame: &Frame, layout: &Layout) -> Option<(u64, u64)> {
        let cut = Cut::known(frame, layout)?;
        let counts = cut.wire_count();
        let uses = self.pipeline.field_uses.of(&self.pipeline.catalogue);
        let agreeing = cut.agreeing(frame, uses) as u64;
        (counts.0 <= agreeing.min(WORK_PER_TURN)).then_some(counts)
    }
}
