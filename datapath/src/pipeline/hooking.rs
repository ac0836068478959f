//! Calls hooks on a packet's path, and carries out what they ask for.
//!
//! Any hook may be called here while a packet is on its way, so what it asks for is collected first
//! and carried out after it has returned: a hook never sees the pipeline in the middle of a change.

use alloc::vec::Vec;

use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, ExtValue, PortNo};
use bofuss_packet::Packet;

use crate::action_set::ActionSet;
use crate::engine_notes::EngineNotes;
use crate::hook::HookPoint;
use crate::hook_context::{HookAct, HookOutcome, LookupNote, Subject};
use crate::pipeline::context::Context;
use crate::pipeline::hook_call::{BegunCall, HookCall, HookReply, MissReply};
use crate::pipeline::walk::{Stage, Walk};
use crate::qos::QueueClass;
use crate::{DropReason, HitEntry, Hook, HookContext, HookEffect, Sink, Step, Verdict};

impl<S: Sink, E: EngineNotes> Context<'_, S, E> {
    /// Calls a hook at one point, and carries out what it asks for.
    ///
    /// A pending output is done with a copy first, because the hook may change the packet.
    ///
    /// Errors: why the packet goes no further.
    pub(crate) fn call_hook(
        &mut self,
        hook: usize,
        walk: &mut Walk<'_, E>,
        records: bool,
        point: impl FnOnce(&mut dyn Hook, &mut HookContext<'_>) -> Verdict,
    ) -> Result<HookCall, DropReason> {
        self.flush_pending(walk);
        let mut reply = HookReply::of(hook);
        let query = HookQuery {
            hook,
            subject: &mut *walk.packet,
            progress: Some((&walk.set, walk.class)),
            table: walk.table,
            entry: walk.cause.entry,
            noted: walk.hook.note,
            records,
        };
        (reply.verdict, reply.replanned) = query.ask(self, &mut reply.outcome, point);
        reply.carry_out(self, walk)
    }

    /// Calls a hook at one point of the current table.
    ///
    /// With `records`, the fields that the hook sets are noted, so that an engine can repeat the
    /// call's effect without the call.
    ///
    /// Errors: why the packet goes no further.
    pub fn call_point(
        &mut self,
        hook: usize,
        walk: &mut Walk<'_, E>,
        point: HookPoint,
        records: bool,
    ) -> Result<HookCall, DropReason> {
        self.call_hook(hook, walk, records, |hook, cx| match point {
            HookPoint::BeforeLookup => hook.before_lookup(cx),
            HookPoint::AfterHit => hook.after_hit(cx),
        })
    }

    /// Calls the hooks of the current table at one point, from number `first` on.
    ///
    /// An engine that has called the first hooks itself continues with `first`. A hook that drops
    /// the packet keeps the others from being called.
    ///
    /// Errors: why the packet goes no further.
    #[inline(always)]
    pub fn call_hooks(
        &mut self,
        walk: &mut Walk<'_, E>,
        point: HookPoint,
        first: usize,
    ) -> Result<(), DropReason> {
        if !S::TRACES && self.hooks.at(walk.table, point).is_empty() {
            return Ok(());
        }
        self.call_each_hook(walk, point, first)
    }

    /// As [`Self::call_hooks`], for a table that has hooks, or for a trace.
    #[inline(never)]
    fn call_each_hook(
        &mut self,
        walk: &mut Walk<'_, E>,
        point: HookPoint,
        first: usize,
    ) -> Result<(), DropReason> {
        if S::TRACES && point == HookPoint::BeforeLookup {
            self.sink.step(Step::Enter(walk.table));
        }
        let mut next = 0;
        // A call may change the plan, so the list is read again for each.
        while let Some(&(hook, effect)) = self.hooks.at(walk.table, point).get(next) {
            next += 1;
            if hook < first {
                continue;
            }
            let before = S::TRACES.then(|| walk.packet.key().clone());
            note_segments(self, hook, effect);
            self.call_point(hook, walk, point, false)?;
            // A trace names only the hooks that changed the key; the others would fill it with
            // noise.
            if before.is_some_and(|key| !key.has_values_of(walk.packet.key())) {
                let name = self.hooks.all[hook].name();
                self.sink.step(Step::Hook(name, effect));
            }
        }
        Ok(())
    }

    /// Calls the hooks that act on a miss.
    ///
    /// The first hook that takes the packet, or that wants it looked up again, decides; the hooks
    /// after it are not called. The caller looks up again only once, so this cannot go on for ever.
    ///
    /// Errors: why the packet goes no further.
    pub fn on_miss(&mut self, walk: &mut Walk<'_, E>) -> Result<MissReply, DropReason> {
        let mut next = 0;
        while let Some(&(hook, effect)) = self.hooks.at_miss(walk.table).get(next) {
            next += 1;
            note_segments(self, hook, effect);
            let mut again = false;
            let call = match E::begun_call(&mut walk.notes) {
                BegunCall::Replied(mut reply) => {
                    again = reply.again;
                    reply.carry_out(self, walk)?
                }
                BegunCall::Done => continue,
                BegunCall::Nothing => self.call_hook(hook, walk, false, |hook, cx| {
                    again = hook.on_miss(cx);
                    Verdict::Continue
                })?,
            };
            if again {
                return Ok(MissReply::Again);
            }
            if call.taken {
                return Ok(MissReply::Taken);
            }
        }
        Ok(MissReply::Nothing)
    }

    /// Calls the extension that an action or instruction belongs to.
    ///
    /// A value whose extension has no hook in this switch does nothing; its entry was admitted all
    /// the same.
    ///
    /// Errors: why the packet goes no further.
    pub(crate) fn apply_extension(
        &mut self,
        walk: &mut Walk<'_, E>,
        value: &ExtValue,
    ) -> Result<(), DropReason> {
        let Some((hook, row)) = self.hooks.of(value.row) else {
            return Ok(());
        };
        note_segments(self, hook, HookEffect::Unknown);
        let call = match E::begun_call(&mut walk.notes) {
            BegunCall::Replied(mut reply) => reply.carry_out(self, walk)?,
            BegunCall::Done => return Ok(()),
            BegunCall::Nothing => {
                self.call_hook(hook, walk, false, |hook, cx| hook.on_action(cx, row, value))?
            }
        };
        let hook = &self.hooks.all[hook];
        E::note_action(&mut walk.notes, &call, || hook.action_effect(row, value));
        Ok(())
    }

    /// Calls hooks for a packet that is about to be sent out of a port; they may change how it
    /// waits.
    ///
    /// The packet has no action set any more. Hooks are asked once for each copy that leaves, after
    /// the egress tables.
    ///
    /// Errors: why the packet goes no further.
    pub(crate) fn on_egress(
        &mut self,
        packet: &mut Packet,
        port: PortNo,
        class: &mut QueueClass,
    ) -> Result<(), DropReason> {
        for next in 0..self.hooks.at_egress.len() {
            let hook = self.hooks.at_egress[next];
            note_segments(self, hook, HookEffect::Unknown);
            let mut walk = Walk::from(&mut *packet);
            walk.class = *class;
            self.call_hook(hook, &mut walk, false, |hook, cx| hook.on_egress(cx, port))?;
            self.flush_pending(&mut walk);
            *class = walk.class;
        }
        Ok(())
    }
}

/// A question to a hook at one point of a table.
pub struct HookQuery<'p> {
    /// The number of the hook.
    pub hook: usize,
    /// The packet.
    pub subject: &'p mut dyn Subject,
    /// The packet's action set and queueing class, once it is in the pipeline.
    pub progress: Option<(&'p ActionSet, QueueClass)>,
    /// The table.
    pub table: TableId,
    /// The entry that was hit last.
    pub entry: HitEntry,
    /// The last note about the packet.
    pub noted: Option<LookupNote>,
    /// True if the fields that the hook sets are recorded.
    pub records: bool,
}

impl HookQuery<'_> {
    /// Calls the hook. Its requests are added to `outcome` and not carried out yet. Returns its
    /// verdict, and whether the plan of hooks has changed.
    #[inline]
    pub fn ask<S: Sink, E: EngineNotes>(
        self,
        cx: &mut Context<'_, S, E>,
        outcome: &mut HookOutcome,
        point: impl FnOnce(&mut dyn Hook, &mut HookContext<'_>) -> Verdict,
    ) -> (Verdict, bool) {
        let plan = cx.hooks.plan();
        // The context has no tables: a hook on a packet's path cannot change entries, only want
        // some.
        let mut context = HookContext {
            now: cx.now,
            table: self.table,
            entry: self.entry,
            trial: cx.trial,
            traces: S::TRACES,
            records: self.records,
            subject: self.subject,
            progress: self.progress,
            noted: self.noted,
            pool: &cx.lane.pool,
            egress: &cx.egress.ports,
            additions: cx.pipeline.catalogue.additions(),
            #[cfg(feature = "wanted")]
            wanted: (&mut cx.lane.wanted, self.hook),
            outcome,
        };
        let verdict = point(&mut *cx.hooks.all[self.hook], &mut context);
        // The plan may change in any call, because it depends on the hook's generation.
        let n_tables = cx.pipeline.tables.len();
        cx.hooks.refresh_after(self.hook, n_tables);
        (verdict, plan != cx.hooks.plan())
    }
}

impl HookReply {
    /// Carries out what a hook asked for.
    ///
    /// First come the actions, in the order in which they were asked for. A drop comes after them,
    /// so that a hook can send a copy and drop the packet. The table to continue with is only
    /// marked: the pipeline goes there when the current point is done.
    ///
    /// Errors: why the packet goes no further.
    pub fn carry_out<S: Sink, E: EngineNotes>(
        &mut self,
        cx: &mut Context<'_, S, E>,
        walk: &mut Walk<'_, E>,
    ) -> Result<HookCall, DropReason> {
        let hook = self.hook;
        let outcome = &mut self.outcome;
        // Judged before the requests are taken out below.
        let only_sets = outcome.acts.is_empty()
            && outcome.goto.is_none()
            && outcome.qos.is_none()
            && outcome.before_edit.is_none();
        if !outcome.acts.is_empty() {
            let acts = core::mem::take(&mut outcome.acts);
            outcome.changed |= do_all_for_hook(cx, hook, walk, acts)?;
        }
        #[cfg(feature = "resubmit")]
        if let Some(resubmit) = outcome.resubmit {
            outcome.changed |= resubmit.carry_out(cx, walk)?;
        }
        if self.verdict == Verdict::Drop || outcome.drop.is_some() {
            count_hook_drop(cx, hook, outcome.drop);
            return Err(DropReason::Hook);
        }
        if let Some(table) = outcome.goto {
            // As for goto-table, packets only go to later tables, so each walk ends.
            if table <= walk.table || !cx.pipeline.shape.joins(walk.table, table) {
                return Err(DropReason::Hook);
            }
            walk.hook.goto = Some(table);
        }
        walk.output.sent |= outcome.taken;
        // The hook has a copy of the action set, which is executed when it lets the packet
        // continue.
        if outcome.held {
            walk.set.clear();
        }
        if outcome.qos.is_some() {
            walk.class.qos = outcome.qos;
        }
        walk.hook.note = outcome.note.or(walk.hook.note);
        if let Some(port) = outcome.forward {
            cx.apply(walk, &Action::output(port))?;
        }
        // A hook that got the packet for editing may have changed any field without telling.
        let before_edit = outcome.before_edit.as_deref();
        let edited = before_edit.is_some_and(|key| key != walk.packet.key());
        let changed = outcome.changed || edited;
        Ok(HookCall {
            sets: core::mem::take(&mut outcome.sets),
            read: outcome.read,
            only_sets,
            // A cached path repeats the fields that the hook set, and nothing else.
            uncacheable: changed || outcome.goto.is_some() || self.replanned,
            taken: outcome.taken,
        })
    }
}

/// Carries out what a hook asked for. Returns true if that changed the key.
///
/// The reason is Work if hooks are nested too deeply or the frame has had all of its work.
///
/// Errors: why the packet goes no further.
fn do_all_for_hook<S: Sink, E: EngineNotes>(
    cx: &mut Context<'_, S, E>,
    hook: usize,
    walk: &mut Walk<'_, E>,
    acts: Vec<HookAct>,
) -> Result<bool, DropReason> {
    if !cx.lane.work.begin_nested() {
        return Err(DropReason::Work);
    }
    let before = walk.packet.key().clone();
    let mut acts = acts.into_iter();
    let done = acts.try_for_each(|act| do_for_hook(cx, hook, walk, act));
    cx.lane.work.end_nested();
    done.map(|()| before != *walk.packet.key())
}

fn do_for_hook<S: Sink, E: EngineNotes>(
    cx: &mut Context<'_, S, E>,
    hook: usize,
    walk: &mut Walk<'_, E>,
    act: HookAct,
) -> Result<(), DropReason> {
    match act {
        HookAct::Apply(actions) => {
            return actions.iter().try_for_each(|one| cx.apply(walk, one));
        }
        HookAct::ApplyToCopy(actions) => apply_to_copy(cx, walk, &actions),
        HookAct::Emit(packet, actions) => emit(cx, *packet, &actions),
        HookAct::Notify(value) if !S::DRY => cx.sink.notify(&value),
        #[cfg(feature = "text")]
        HookAct::Notify(value) => {
            let name = cx.hooks.all[hook].name();
            let line = alloc::format!("notifies {value}");
            cx.sink.step(Step::Reported(name, &line));
        }
        #[cfg(not(feature = "text"))]
        HookAct::Notify(_) => {}
        HookAct::Say(line) => {
            let name = cx.hooks.all[hook].name();
            cx.sink.step(Step::Reported(name, &line));
        }
    }
    Ok(())
}

/// Applies actions, and then the action set, to a copy of a packet.
///
/// The copy continues where the packet is, with the same limits: what it does in groups counts for
/// the packet.
fn apply_to_copy<S: Sink, E: EngineNotes>(
    cx: &mut Context<'_, S, E>,
    walk: &mut Walk<'_, E>,
    actions: &[Action],
) {
    walk.output.sent = true;
    let Some(mut packet) = walk.packet.try_clone() else {
        return cx.drop(DropReason::NoBuffer);
    };
    cx.lane.work.count(&packet.frame);
    let mut copy = Walk {
        table: walk.table,
        set: walk.set.clone(),
        class: walk.class,
        stage: walk.stage,
        cause: walk.cause,
        limits: walk.limits,
        hook: walk.hook,
        ..Walk::from(&mut packet)
    };
    let result = actions.iter().try_for_each(|a| cx.apply(&mut copy, a));
    let result = result.and_then(|()| cx.tables_and_set(&mut copy, None));
    walk.limits = copy.limits;
    cx.end_copy(&mut copy, result);
}

/// Applies actions to a packet that a hook emits.
///
/// It begins outside the tables, as that of a packet-out does, so an output to TABLE is allowed.
fn emit<S: Sink, E: EngineNotes>(
    cx: &mut Context<'_, S, E>,
    mut packet: Packet,
    actions: &[Action],
) {
    cx.lane.work.count(&packet.frame);
    let mut walk = Walk::from(&mut packet);
    walk.stage = Stage::BeforeTables;
    let result = actions.iter().try_for_each(|a| cx.apply(&mut walk, a));
    cx.end_copy(&mut walk, result);
}

/// Counts a packet that a hook drops.
fn count_hook_drop<S: Sink, E: EngineNotes>(
    cx: &mut Context<'_, S, E>,
    hook: usize,
    reason: Option<&'static str>,
) {
    let Some(reason) = reason else { return };
    if !S::DRY {
        cx.hooks.count_drop(hook, reason);
    }
    if S::TRACES {
        let name = cx.hooks.all[hook].name();
        cx.sink.step(Step::Reported(name, reason));
    }
}

/// Notes whether a hook with this effect has to see each packet of the wire, if the caller
/// wants to know.
fn note_segments<S: Sink, E: EngineNotes>(
    cx: &mut Context<'_, S, E>,
    hook: usize,
    effect: HookEffect,
) {
    if S::DRY && effect > HookEffect::Pure {
        cx.lane.work.by_segment |= cx.hooks.all[hook].acts_on_segments();
    }
}
