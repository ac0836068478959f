//! Hooks on the direct path: they are called with a frame that is not a packet yet. It need not
//! become one as long as they only read fields, and set fields that are in no header.

use alloc::{boxed::Box, rc::Rc};

use bofuss_datapath::Qos;
use bofuss_datapath::engine::{
    HookOutcome, HookPoint, HookQuery, HookReply, Lookahead, LookupNote, Predicted, Walk, set_field,
};
use bofuss_datapath::{
    DropReason, HitEntry, Hook, HookContext, HookEffect, Sink, Upcoming, Verdict,
};
use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::types::TableId;
use bofuss_packet::{Key, Packet};

use super::direct::Burst;
use super::engine::{BegunActions, BegunNotes, FlowNotes};
use super::engine::{FastContext, FastWalk};
use super::paths::hit_entry;
use crate::cache::lookahead::PortArrival;
use crate::lazy_packet::FieldSets;
use crate::lazy_packet::LazyEdits;
use crate::lazy_packet::LazyPacket;

/// The result of a hook: its verdict, whether the plan of hooks has changed, and whether it wants
/// the frame looked up again.
type HookResult = (Verdict, bool, bool);

/// The result of the actions of extensions with which a program begins.
pub(super) enum ActionResult {
    /// They only read fields.
    Read,
    /// An action wants more, which is done on the frame's path as a packet.
    Begun,
    /// The last one sends the frame to this port. If the frame cannot simply be sent there,
    /// [`HookProgress::defer`] has this hook (the second value) do so on the frame's path, after as
    /// many other actions as the third value says.
    Forwards(PortNo, usize, usize),
}

/// The facts already known, and the work already done, when a packet enters the pipeline.
#[derive(Default)]
struct Start {
    notes: FlowNotes,
    /// The reply of a hook that was called to prepare it for table 0.
    reply: Option<Box<HookReply>>,
    /// The QoS record that hooks have given it.
    qos: Option<Qos>,
    /// The notes of hooks about it.
    note: Option<LookupNote>,
}

/// The work that hooks have already done for a frame.
#[derive(Default)]
pub(super) struct HookProgress {
    made: LazyEdits,
    /// The effects that they have asked for.
    outcome: HookOutcome,
    start: Start,
    /// True if it is prepared for the lookup in table 0 as hooks predicted.
    is_applied: bool,
    /// The number of its path's actions that are done.
    acted: usize,
}

impl HookProgress {
    /// Resets it for the next frame, and keeps its memory.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.made.sets.clear();
        (self.start.notes.prepared, self.start.qos, self.start.note) = (false, None, None);
        (self.is_applied, self.acted) = (false, 0);
    }

    /// Defers a hook's output to a port to the frame's path as a packet.
    pub(super) fn defer(&mut self, acted: &ActionResult) {
        let ActionResult::Forwards(port, hook, done) = *acted else {
            return;
        };
        let mut reply = Box::new(HookReply::of(hook));
        reply.outcome.forward = Some(port);
        reply.outcome.taken = true;
        self.start.notes.begun = BegunNotes(Some(BegunActions { done, reply }));
    }

    /// Takes the port from a hook's requests, if all that it wants is to send the unchanged frame
    /// there.
    #[inline]
    fn only_forwards(&mut self, (verdict, replanned, again): HookResult) -> Option<PortNo> {
        let outcome = &mut self.outcome;
        let does_more = verdict != Verdict::Continue
            || replanned
            || again
            || outcome.changed
            || !outcome.acts.is_empty()
            || outcome.goto.is_some()
            || outcome.drop.is_some()
            || self.made.packet.is_some();
        if does_more {
            return None;
        }
        let port = outcome.forward.take()?;
        outcome.taken = false;
        self.keep_records();
        Some(port)
    }

    /// Keeps the QoS record that a hook gave the frame, and what it noted about it, in case the
    /// frame becomes a packet.
    #[inline]
    fn keep_records(&mut self) {
        if let Some(qos) = self.outcome.qos.take() {
            self.start.qos = Some(qos);
        }
        if let Some(note) = self.outcome.note.take() {
            self.start.note = Some(note);
        }
    }

    /// The reply of a hook, if it did more than reading fields and, if it may, setting fields that
    /// are in no header.
    #[inline]
    fn reply(
        &mut self,
        hook: usize,
        (verdict, replanned, again): HookResult,
        may_set: bool,
    ) -> Option<HookReply> {
        let outcome = &mut self.outcome;
        let is_plain = verdict == Verdict::Continue
            && (may_set || !outcome.changed)
            && outcome.acts.is_empty()
            && outcome.goto.is_none()
            && !outcome.taken
            && !again
            && outcome.drop.is_none()
            && !replanned
            && self.made.packet.is_none();
        if is_plain {
            outcome.changed = false;
            self.keep_records();
            return None;
        }
        Some(HookReply {
            hook,
            verdict,
            outcome: core::mem::take(outcome),
            replanned,
            again,
        })
    }
}

/// Calls a hook with a frame at a point of a table; the entry is the one that was hit last.
/// Returns its verdict, and whether the plan of hooks has changed.
#[inline]
fn call_lazily<S: Sink>(
    cx: &mut FastContext<'_, S>,
    hook: usize,
    frame: &mut Frame,
    (arrival, lookahead): (&Key, &Lookahead),
    (table, entry): (TableId, HitEntry),
    begun: &mut HookProgress,
    point: impl FnOnce(&mut dyn Hook, &mut HookContext<'_>) -> Verdict,
) -> (Verdict, bool) {
    let mut lazy = LazyPacket {
        frame,
        layout: &lookahead.layout,
        arrival,
        number: lookahead.number,
        made: &mut begun.made,
    };
    let query = HookQuery {
        hook,
        subject: &mut lazy,
        progress: None,
        table,
        entry,
        noted: begun.start.note,
        records: false,
    };
    query.ask(cx, &mut begun.outcome, point)
}

/// The hook that prepares packets for the lookup in table 0, if it is the only one that acts
/// there.
pub(super) fn preparer<S: Sink>(cx: &FastContext<'_, S>) -> Option<usize> {
    match cx.hooks.at(TableId(0), HookPoint::BeforeLookup) {
        [(hook, HookEffect::Branch)] => Some(*hook),
        _ => None,
    }
}

/// Has the hook prepare a frame for the lookup in table 0 as it predicted. Returns false, with
/// nothing done, if the hook now acts differently.
#[inline]
pub(super) fn is_predicted_by<S: Sink>(
    cx: &mut FastContext<'_, S>,
    preparer: Option<usize>,
    lookahead: &Lookahead,
    begun: &mut HookProgress,
) -> bool {
    let Some((hook, number)) = preparer.zip(lookahead.number) else {
        return false;
    };
    let hook = &mut cx.hooks.all[hook];
    (begun.is_applied, begun.acted) = (
        lookahead.is_read && hook.apply_prediction(cx.now, TableId(0), number),
        0,
    );
    begun.is_applied
}

/// Has hooks execute the actions with which a flow's program begins, as they predicted. Returns
/// false if one wants more; then [`act_first`] continues with it.
#[inline]
pub(super) fn applies_predicted_actions<S: Sink>(
    cx: &mut FastContext<'_, S>,
    lookahead: &Lookahead,
    begun: &mut HookProgress,
) -> bool {
    let Some(number) = lookahead.number else {
        return false;
    };
    for action in &cx.lane.engine.flows[lookahead.guess].program.actions {
        let hook = &mut cx.hooks.all[action.hook];
        let Some((row, value)) = &action.action else {
            return false;
        };
        if !hook.apply_predicted_action(cx.now, number, *row, value) {
            return false;
        }
        begun.acted += 1;
    }
    true
}

/// Has hooks prepare a frame for the lookup in table 0, and writes the fields that they set
/// into the words by which its flow is found, unless the hooks predicted them. Returns false if a
/// packet is needed for that.
pub(super) fn prepare<S: Sink>(
    cx: &mut FastContext<'_, S>,
    frame: &mut Frame,
    burst: &Burst<'_>,
    lookahead: &mut Lookahead,
    begun: &mut HookProgress,
) -> bool {
    if begun.is_applied {
        let predicted = lookahead.number.map(|number| burst.predicted.of(number));
        begun.made.sets.extend(predicted.into_iter().flatten());
        if let Some((hook, number)) = burst.preparer.zip(lookahead.number) {
            begun.start.note = cx.hooks.all[hook].prediction_note(number);
        }
        begun.start.notes.prepared = true;
        return true;
    }
    let key = &burst.arrival.key;
    let place = (TableId(0), HitEntry::NONE);
    let mut next = 0;
    while let Some(&(hook, _)) = cx.hooks.at(TableId(0), HookPoint::BeforeLookup).get(next) {
        next += 1;
        let given = (key, &*lookahead);
        let result = call_lazily(cx, hook, frame, given, place, begun, |hook, cx| {
            hook.before_lookup(cx)
        });
        if let Some(reply) = begun.reply(hook, (result.0, result.1, false), true) {
            begun.start.reply = Some(Box::new(reply));
            return false;
        }
    }
    begun.start.notes.prepared = true;
    // The words still have the predicted values.
    let cache = &mut cx.lane.engine;
    let sets = &begun.made.sets;
    cache
        .key
        .look_at(frame.bytes(), &burst.arrival.words, lookahead);
    let has_place = cache.key.set_fields(lookahead, sets);
    if has_place && cfg!(any(test, debug_assertions)) {
        assert!(is_exact_with(cx, lookahead, frame, key, sets));
    }
    has_place
}

/// Reads the words by which the flows of frames are found, with the field values that hooks
/// predict.
pub(super) fn read_ahead<S: Sink>(
    cx: &mut FastContext<'_, S>,
    frames: &[Frame],
    arrival: &PortArrival,
    lookaheads: &mut [Lookahead],
    predicted: &mut Predicted,
) {
    predicted.clear(frames.len());
    let mut packets = Upcoming {
        now: cx.now,
        frames,
        lookaheads,
        arrival: &arrival.key,
        predicted,
    };
    cx.hooks.prefetch(TableId(0), &mut packets);
    let cache = &cx.lane.engine;
    cache.predict(frames, &arrival.words, predicted, lookaheads);
}

/// Returns true if the words of a lookahead equal those of the frame's packet with these fields
/// set.
fn is_exact_with<S: Sink>(
    cx: &FastContext<'_, S>,
    lookahead: &Lookahead,
    frame: &Frame,
    key: &Key,
    sets: &FieldSets,
) -> bool {
    let mut key = key.clone();
    for (field, value) in sets {
        match value {
            Some(value) => key.set(field, *value),
            None => key.clear(field),
        }
    }
    cx.lane.engine.key.is_exact(lookahead, frame, &key)
}

/// Calls the hooks of the actions with which a flow's program begins, and the hook that acts on
/// a miss at its end.
pub(super) fn act_first<S: Sink>(
    cx: &mut FastContext<'_, S>,
    frame: &mut Frame,
    burst: &Burst<'_>,
    lookahead: &Lookahead,
    begun: &mut HookProgress,
) -> ActionResult {
    let flow = &cx.lane.engine.flows[lookahead.guess];
    let program = Rc::clone(&flow.program);
    let actions = program.actions.iter().enumerate();
    for (done, call) in actions.skip(begun.acted) {
        let mut again = false;
        let hit = cx.lane.engine.flows[lookahead.guess].hit(call.hit.into());
        let place = (call.table, hit_entry(cx, hit));
        let given = (&burst.arrival.key, lookahead);
        let (verdict, replanned) =
            call_lazily(cx, call.hook, frame, given, place, begun, |hook, cx| {
                if let Some((row, value)) = &call.action {
                    return hook.on_action(cx, *row, value);
                }
                again = hook.on_miss(cx);
                Verdict::Continue
            });
        let result = (verdict, replanned, again);
        let is_last = done + 1 == program.actions.len();
        if let Some(port) = begun.only_forwards(result).filter(|_| is_last) {
            return ActionResult::Forwards(port, call.hook, done);
        }
        if let Some(reply) = begun.reply(call.hook, result, false) {
            begun.start.notes.begun = BegunNotes(Some(BegunActions {
                done,
                reply: Box::new(reply),
            }));
            return ActionResult::Begun;
        }
    }
    ActionResult::Read
}

/// Sends a frame that hooks have begun to handle through the pipeline as a packet, on the
/// cached path of `flow` if there is one.
pub(super) fn run_begun<S: Sink>(
    cx: &mut FastContext<'_, S>,
    frame: Frame,
    key: &Key,
    lookahead: &Lookahead,
    flow: Option<u32>,
    begun: &mut HookProgress,
) {
    cx.lane.work.begin_frame();
    let mut start = core::mem::take(&mut begun.start);
    start.notes.flow = flow;
    if let Some(mut packet) = begun.made.packet.take() {
        return run_from(cx, &mut packet, start);
    }
    let mut packet = Packet::with_layout(frame, key, &lookahead.layout);
    for (field, value) in &begun.made.sets {
        set_field(&mut packet, field, *value);
    }
    run_from(cx, &mut packet, start);
}

/// Carries out what a hook asked for before the lookup in the current table, and calls the
/// hooks after it. Returns the table to continue with.
///
/// Errors: why the packet goes no further.
fn finish_preparing<S: Sink>(
    cx: &mut FastContext<'_, S>,
    walk: &mut FastWalk<'_>,
    mut reply: HookReply,
) -> Result<Option<TableId>, DropReason> {
    let after = reply.hook + 1;
    reply.carry_out(cx, walk)?;
    if walk.hook.goto.is_none() {
        cx.call_hooks(walk, HookPoint::BeforeLookup, after)?;
    }
    if walk.hook.goto.is_some() {
        return Ok(walk.hook.goto.take());
    }
    walk.notes.prepared = true;
    Ok(Some(walk.table))
}

/// Sends a packet that hooks have begun to handle through the tables.
fn run_from<S: Sink>(cx: &mut FastContext<'_, S>, packet: &mut Packet, start: Start) {
    if !cx.goes_through_tables(packet) {
        return;
    }
    let mut walk = Walk::from(packet);
    walk.notes = start.notes;
    walk.class.qos = start.qos;
    walk.hook.note = start.note;
    cx.run_walk(walk, |this, walk| match start.reply {
        None => Ok(Some(walk.table)),
        Some(reply) => finish_preparing(this, walk, *reply),
    });
}
