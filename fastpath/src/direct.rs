//! Bursts of frames. Of a frame whose flow is cached and only goes to a port or is dropped, nothing
//! is read but what identifies the flow.

use alloc::rc::Rc;
use alloc::vec::{Drain, Vec};

use bofuss_datapath::WORK_PER_TURN;
use bofuss_datapath::engine::{Lookahead, Predicted, SuperFrame};
use bofuss_datapath::{DropReason, HookEffect, Sink};
use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::types::{QueueId, TableId};
use bofuss_packet::offload::Cut;
use bofuss_packet::{Key, Layout, Packet};

use super::direct_hooks::{ActionResult, HookProgress};
use super::direct_hooks::{
    act_first, applies_predicted_actions, is_predicted_by, prepare, preparer, run_begun,
};
use super::direct_output::DirectOutput;
use super::direct_output::{change_output, close_outputs, leaves};
use super::direct_steps::can_go;
use super::direct_steps::run_steps;
use super::engine::FastContext;
use super::engine::FlowNotes;
use super::offer::offer_one;
use super::paths::{known_as, looks_ahead, mark_unsettled};
use super::read_ahead::{look_ahead, port_arrival};
use crate::cache::BATCH;
use crate::cache::End;
use crate::cache::Program;
use crate::cache::lookahead::PortArrival;

/// The values that the frames of a burst share.
pub(super) struct Burst<'a> {
    /// The port that they arrived on.
    pub(super) ingress: PortNo,
    /// The values that their packets share before headers are read.
    pub(super) arrival: &'a PortArrival,
    /// True if hooks set fields of each packet before the lookup in table 0.
    branches: bool,
    /// The hook that does so, if it is the only one.
    pub(super) preparer: Option<usize>,
    /// The field values that hooks predict for them.
    pub(super) predicted: &'a Predicted,
    /// True if flows are found by the words that were read ahead.
    looks_ahead: bool,
    pub(super) output: DirectOutput,
    /// The previous output.
    pub(super) other_output: DirectOutput,
}

/// The way in which a frame is processed further.
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

impl<'a> Burst<'a> {
    /// A burst of frames with what was read ahead of them.
    #[inline(always)]
    fn new<S: Sink>(
        cx: &FastContext<'_, S>,
        ingress: PortNo,
        (arrival, predicted): (&'a PortArrival, &'a Predicted),
        branches: bool,
    ) -> Self {
        Self {
            ingress,
            arrival,
            branches,
            preparer: preparer(cx),
            predicted,
            looks_ahead: looks_ahead(cx),
            output: DirectOutput::default(),
            other_output: DirectOutput::default(),
        }
    }
}

/// Processes frames that arrived on `port`; leaves `frames` empty.
#[inline(never)]
pub(super) fn process_frames<S: Sink>(
    cx: &mut FastContext<'_, S>,
    port: PortNo,
    frames: &mut Vec<Frame>,
) {
    cx.lane.work.begin_turn();
    let mut kept = core::mem::take(&mut cx.lane.engine.lookaheads);
    let mut single;
    let additions = cx.pipeline.catalogue.additions();
    // A frame alone has its lookahead on the stack: programs with many switches pass frames one by
    // one, and the memory that a switch keeps is cold then.
    let lookaheads = if frames.len() == 1 {
        single = [Lookahead::seeking(additions)];
        &mut single[..]
    } else {
        kept.resize_with(BATCH, || Lookahead::seeking(additions));
        &mut kept[..]
    };
    let mut predicted = core::mem::take(&mut cx.lane.engine.predicted);
    let mut begun = HookProgress::default();
    while !frames.is_empty() {
        let count = frames.len().min(BATCH);
        let branches = cx.hooks.effect(TableId(0)) == HookEffect::Branch;
        let arrival = port_arrival(cx, port, branches);
        let read = (&mut lookaheads[..count], &mut predicted);
        look_ahead(cx, &arrival, branches, &frames[..count], read);
        let mut burst = Burst::new(cx, port, (&arrival, &predicted), branches);
        if burst.looks_ahead && !branches {
            offer_one(cx, port, &frames[..count], &mut lookaheads[..count]);
        }
        let looked_for = known_as(cx);
        let mut left = None;
        let mut batch = frames.drain(..count);
        for lookahead in &mut *lookaheads {
            let Some(next) = batch.as_slice().first() else {
                break;
            };
            match plain_disposition(cx, &mut burst, next, lookahead, &mut begun) {
                Some(Disposition::Sent) => {
                    cx.sink
                        .transmit(burst.output.port, QueueId(0), taken(&mut batch));
                    continue;
                }
                Some(Disposition::Dropped(_)) => drop(taken(&mut batch)),
                Some(Disposition::Steps(program)) => {
                    let mut frame = taken(&mut batch);
                    let layout = &mut lookahead.layout;
                    if run_steps(cx, &mut frame, &mut burst, layout, &program) {
                        cx.sink.transmit(burst.output.port, QueueId(0), frame);
                    }
                }
                Some(Disposition::Slow(flow)) => {
                    run_known(cx, taken(&mut batch), &arrival.key, lookahead, flow);
                }
                None => {
                    left = run_any(cx, taken(&mut batch), &mut burst, lookahead, &mut begun);
                }
            }
            burst.looks_ahead &= looked_for == known_as(cx);
            if cx.lane.work.is_turn_over() {
                break;
            }
        }
        if cx.lane.work.is_turn_over() {
            let mut rest: Vec<Frame> = left.into_iter().chain(batch).collect();
            rest.append(frames);
            cx.lane.backlog.defer(port, rest);
        }
        close_outputs(cx, &[&burst.output, &burst.other_output]);
        cx.lane.engine.arrival = Some(arrival);
    }
    cx.lane.engine.lookaheads = kept;
    cx.lane.engine.predicted = predicted;
}

/// Decides about an ordinary frame with which hooks do no more than they predicted, and counts it
/// if its path is simple. `None` for any other frame.
#[inline(always)]
fn plain_disposition<S: Sink>(
    cx: &mut FastContext<'_, S>,
    burst: &mut Burst<'_>,
    frame: &Frame,
    lookahead: &mut Lookahead,
    begun: &mut HookProgress,
) -> Option<Disposition> {
    if frame.offload.gso.is_some() {
        return None;
    }
    let branches = burst.branches;
    let slow = |flow| (!branches).then_some(Disposition::Slow(flow));
    if !burst.looks_ahead {
        return slow(None);
    }
    let is_special = cx.pipeline.handles_specially(lookahead.layout.fragment);
    if burst.branches && (is_special || !is_predicted_by(cx, burst.preparer, lookahead, begun)) {
        return None;
    }
    let Some(mut flow) = cx.lane.engine.flow(lookahead) else {
        return slow(None);
    };
    let slot = lookahead.guess;
    if is_special {
        return slow(Some(slot));
    }
    let end = flow.end;
    if end == End::Steps {
        let program = begin_steps(cx, slot, frame, &lookahead.layout);
        return program.map(Disposition::Steps).or_else(|| slow(Some(slot)));
    }
    let End::Port { port, acts: false } = end else {
        return other_disposition(cx, burst, frame, lookahead, begun);
    };
    if port != burst.output.port {
        change_output(cx, burst, port);
        flow = &mut cx.lane.engine.flows[slot];
    }
    let output = &mut burst.output;
    let leaves = output.open && output.capabilities.take(&frame.offload, 0);
    if !leaves {
        return slow(Some(slot));
    }
    let frame_bytes = frame.len() as u64;
    output.packets += 1;
    output.bytes += frame_bytes;
    if flow.count(cx.now, 1, frame_bytes) {
        mark_unsettled(cx, slot);
    }
    cx.lane.engine.stats.hits += 1;
    Some(Disposition::Sent)
}

/// As [`plain_disposition`], for a frame whose flow was found and whose path begins with
/// actions or drops it.
#[inline(always)]
fn other_disposition<S: Sink>(
    cx: &mut FastContext<'_, S>,
    burst: &mut Burst<'_>,
    frame: &Frame,
    lookahead: &mut Lookahead,
    begun: &mut HookProgress,
) -> Option<Disposition> {
    let slot = lookahead.guess;
    let slow = (!burst.branches).then_some(Disposition::Slow(Some(slot)));
    let end = cx.lane.engine.flows[slot].end;
    if let End::Port { port, .. } = end {
        if port != burst.output.port {
            change_output(cx, burst, port);
        }
    }
    let at_end = at_end(cx, end, &burst.output, frame, &lookahead.layout);
    let Some((disposition, acts)) = at_end else {
        return slow;
    };
    if acts && !applies_predicted_actions(cx, lookahead, begun) {
        return None;
    }
    count_direct(cx, burst, slot, &disposition, (1, frame.len() as u64));
    Some(disposition)
}

/// Counts an ordinary frame of a flow whose program is a list of steps, and returns that
/// program, if the frame can take all of its steps.
#[inline(always)]
fn begin_steps<S: Sink>(
    cx: &mut FastContext<'_, S>,
    slot: u32,
    frame: &Frame,
    layout: &Layout,
) -> Option<Rc<Program>> {
    let flow = &mut cx.lane.engine.flows[slot];
    let path = flow.program.direct.as_ref()?;
    if !can_go(path, frame, layout, cx.pipeline, cx.hooks) {
        return None;
    }
    let program = Rc::clone(&flow.program);
    if flow.count(cx.now, 1, frame.len() as u64) {
        mark_unsettled(cx, slot);
    }
    cx.lane.engine.stats.hits += 1;
    Some(program)
}

/// Counts a frame that is sent or dropped on the direct path.
#[inline(always)]
fn count_direct<S: Sink>(
    cx: &mut FastContext<'_, S>,
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
        Disposition::Dropped(reason) => cx.lane.drops[*reason as usize] += 1,
        Disposition::Steps(_) | Disposition::Slow(_) => {}
    }
    count_flow(cx, slot, (packets, bytes));
}

/// Counts packets for a flow.
fn count_flow<S: Sink>(cx: &mut FastContext<'_, S>, slot: u32, (packets, bytes): (u64, u64)) {
    if cx.lane.engine.flows[slot].count(cx.now, packets, bytes) {
        mark_unsettled(cx, slot);
    }
    cx.lane.engine.stats.hits += 1;
}

/// Sends an ordinary frame through the pipeline as a packet, on the cached path of `flow` if
/// there is one.
#[inline(never)]
fn run_known<S: Sink>(
    cx: &mut FastContext<'_, S>,
    frame: Frame,
    key: &Key,
    lookahead: &Lookahead,
    flow: Option<u32>,
) {
    cx.lane.work.begin_frame();
    let mut packet = Packet::with_layout(frame, key, &lookahead.layout);
    cx.run(&mut packet, FlowNotes::of(flow));
}

/// Sends any frame through the pipeline as a packet. Returns the rest of a super-frame if the
/// turn is over.
#[inline(never)]
fn run_any<S: Sink>(
    cx: &mut FastContext<'_, S>,
    mut frame: Frame,
    burst: &mut Burst<'_>,
    lookahead: &mut Lookahead,
    begun: &mut HookProgress,
) -> Option<Frame> {
    let disposition = if burst.looks_ahead {
        disposition(cx, burst, &mut frame, lookahead, begun)
    } else {
        Disposition::Slow(None)
    };
    let mut left = None;
    match disposition {
        Disposition::Sent => cx.sink.transmit(burst.output.port, QueueId(0), frame),
        Disposition::Dropped(_) => {}
        Disposition::Steps(program) => {
            if run_steps(cx, &mut frame, burst, &mut lookahead.layout, &program) {
                cx.sink.transmit(burst.output.port, QueueId(0), frame);
            }
        }
        Disposition::Slow(flow) if frame.offload.gso.is_some() => {
            let notes = FlowNotes::of(flow);
            left = SuperFrame::new(frame, &burst.arrival.key, notes).run(cx);
        }
        Disposition::Slow(flow) => {
            run_begun(cx, frame, &burst.arrival.key, lookahead, flow, begun);
        }
    }
    begun.clear();
    left
}

/// Decides about a frame, and counts it if its path is simple.
fn disposition<S: Sink>(
    cx: &mut FastContext<'_, S>,
    burst: &mut Burst<'_>,
    frame: &mut Frame,
    lookahead: &mut Lookahead,
    begun: &mut HookProgress,
) -> Disposition {
    let is_special = cx.pipeline.handles_specially(lookahead.layout.fragment);
    let is_super_frame = frame.offload.gso.is_some();
    if burst.branches
        && (is_special
            || is_super_frame
            || !lookahead.is_read
            || !prepare(cx, frame, burst, lookahead, begun))
    {
        return Disposition::Slow(None);
    }
    let Some(flow) = cx.lane.engine.flow(lookahead) else {
        return Disposition::Slow(None);
    };
    let slot = lookahead.guess;
    let end = flow.end;
    if let End::Port { port, .. } = end {
        if port != burst.output.port {
            change_output(cx, burst, port);
        }
    }
    let layout = &lookahead.layout;
    let counts = if is_super_frame {
        whole_count(cx, frame, layout)
    } else {
        Some((1, frame.len() as u64))
    };
    let Some((packets, bytes)) = counts.filter(|_| !is_special) else {
        return Disposition::Slow(Some(slot));
    };
    if end == End::Steps && !is_super_frame {
        let program = begin_steps(cx, slot, frame, layout);
        return program.map_or(Disposition::Slow(Some(slot)), Disposition::Steps);
    }
    let Some((disposition, acts)) = at_end(cx, end, &burst.output, frame, layout) else {
        return Disposition::Slow(Some(slot));
    };
    if acts && is_super_frame {
        return Disposition::Slow(Some(slot));
    }
    if acts {
        match act_first(cx, frame, burst, lookahead, begun) {
            ActionResult::Read => {}
            ActionResult::Forwards(port, ..) if leaves(cx, burst, frame, port) => {
                count_flow(cx, slot, (packets, bytes));
                return Disposition::Sent;
            }
            acted @ (ActionResult::Begun | ActionResult::Forwards(..)) => {
                begun.defer(&acted);
                return Disposition::Slow(Some(slot));
            }
        }
    }
    count_direct(cx, burst, slot, &disposition, (packets, bytes));
    if is_super_frame && matches!(disposition, Disposition::Sent) {
        cx.lane.work.count_packets(packets, frame.len() as u64);
    }
    disposition
}

/// Decides about a frame at the end of a path without steps, and reports whether the path
/// begins with actions; `None` if the frame cannot simply be sent or dropped.
#[inline(always)]
fn at_end<S: Sink>(
    cx: &FastContext<'_, S>,
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
            if reason != DropReason::TableMiss || !cx.sink.wants_misses() =>
        {
            Some((Disposition::Dropped(reason), acts))
        }
        End::Port { .. } | End::Drop { .. } | End::Steps | End::Other => None,
    }
}

/// The packets and bytes that a super-frame is on a wire, if it may stay whole on a path
/// without hooks by the rules of [`run_super_frame`](bofuss_datapath::engine::Context).
#[inline(never)]
fn whole_count<S: Sink>(
    cx: &FastContext<'_, S>,
    frame: &Frame,
    layout: &Layout,
) -> Option<(u64, u64)> {
    let cut = Cut::known(frame, layout)?;
    let counts = cut.wire_count();
    let uses = cx.pipeline.field_uses.of(&cx.pipeline.catalogue);
    let agreeing = cut.agreeing_segments(frame, uses) as u64;
    (counts.0 <= agreeing.min(WORK_PER_TURN)).then_some(counts)
}
