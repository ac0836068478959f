//! Calls of extensions without a packet: messages, timers and events.

use alloc::vec::Vec;

use bofuss_oflib::error::BadRequest;
use bofuss_oflib::message::FlowMod;
use bofuss_oflib::{ErrorCode, ExtValue, Instruction, PortNo};

use crate::control_context::{ControlContext, ControlOutcome};
use crate::frame_engine::FrameEngine;
use crate::hooks::Hooks;
use crate::{Asker, Datapath, Hook, HookAnswer, Microflow, ReplyPart, Sink, Time};

impl<E: FrameEngine> Datapath<E> {
    /// The hooks of extensions.
    pub fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// Informs all hooks that a connection was closed.
    pub fn connection_ended(&mut self, connection: u64) {
        for hook in &mut self.hooks.all {
            hook.on_disconnect(connection);
        }
    }

    /// Passes an extension's message to its hook.
    ///
    /// Errors: the hook's; BAD_REQUEST/BAD_EXPERIMENTER if no hook has it.
    pub fn extension_message<S: Sink>(
        &mut self,
        now: Time,
        asker: Asker,
        value: &ExtValue,
        sink: &mut S,
    ) -> Result<HookAnswer, ErrorCode> {
        let found = self.hooks.of(value.row);
        let (hook, row) = found.ok_or(BadRequest::BAD_EXPERIMENTER)?;
        let (_, answer) = self.call_control(now, Some(asker), hook, sink, |hook, cx| {
            hook.on_message(cx, row, value)
        })?;
        Ok(answer)
    }

    /// Calls an extension's hook for the next part of its answer to a multipart request; `from` is
    /// where the part begins.
    ///
    /// Errors: the hook's; BAD_REQUEST/BAD_EXPERIMENTER if no hook has it.
    pub fn extension_multipart<S: Sink>(
        &mut self,
        now: Time,
        asker: Asker,
        request: &ExtValue,
        from: u64,
        sink: &mut S,
    ) -> Result<(ReplyPart, HookAnswer), ErrorCode> {
        let found = self.hooks.of(request.row);
        let (hook, row) = found.ok_or(BadRequest::BAD_EXPERIMENTER)?;
        self.call_control(now, Some(asker), hook, sink, |hook, cx| {
            hook.on_multipart(cx, row, request, from)
        })
    }

    /// Asks the extensions whose actions or instructions a flow-mod has whether they accept it.
    ///
    /// Errors: theirs.
    pub(crate) fn admit<S: Sink>(
        &mut self,
        now: Time,
        flow_mod: &FlowMod,
        sink: &mut S,
    ) -> Result<(), ErrorCode> {
        for instruction in flow_mod.instructions.list() {
            let Instruction::Experimenter(value) = instruction else {
                continue;
            };
            if let Some((hook, row)) = self.hooks.of(value.row) {
                self.call_control(now, None, hook, sink, |hook, cx| {
                    hook.admit(cx, row, flow_mod)
                })?;
            }
        }
        Ok(())
    }

    /// Informs hooks that a flow-mod is done. Returns their answers, each with its experimenter.
    /// `asker` returns the connection, if there is one, as an experimenter's hook sees it.
    pub fn flow_mod_done<S: Sink>(
        &mut self,
        now: Time,
        asker: impl Fn(u32) -> Option<Asker>,
        flow_mod: &FlowMod,
        sink: &mut S,
    ) -> Vec<(u32, HookAnswer)> {
        let mut answers = Vec::new();
        for hook in 0..self.hooks.all.len() {
            let experimenter = self.hooks.experimenter(hook);
            let done = self.call_control(now, asker(experimenter), hook, sink, |hook, cx| {
                hook.on_flow_mod(cx, flow_mod);
                Ok(())
            });
            answers.extend(done.map(|((), answer)| (experimenter, answer)));
        }
        answers
    }

    /// Calls the hooks whose timers are due.
    pub(crate) fn tick_hooks<S: Sink>(&mut self, now: Time, sink: &mut S) {
        self.notify_hooks(now, sink, |hook, cx| {
            if hook.next_tick().is_some_and(|at| at <= cx.now) {
                hook.on_tick(cx);
            }
        });
    }

    /// Calls every hook for an event that no connection requested.
    pub(crate) fn notify_hooks<S: Sink>(
        &mut self,
        now: Time,
        sink: &mut S,
        tell: impl Fn(&mut dyn Hook, &mut ControlContext<'_>),
    ) {
        for hook in 0..self.hooks.all.len() {
            // There is nobody to reply to.
            let _ = self.call_control(now, None, hook, sink, |hook, cx| {
                tell(hook, cx);
                Ok(())
            });
        }
    }

    /// Calls a hook, and carries out what it asks for.
    ///
    /// Errors: the hook's.
    fn call_control<S: Sink, T>(
        &mut self,
        now: Time,
        asker: Option<Asker>,
        hook: usize,
        sink: &mut S,
        point: impl FnOnce(&mut dyn Hook, &mut ControlContext<'_>) -> Result<T, ErrorCode>,
    ) -> Result<(T, HookAnswer), ErrorCode> {
        let egress = &self.egress;
        let standing = |port: PortNo, microflow: &Microflow| {
            let egress = egress.ports.get(&port)?;
            egress.discipline.standing(now, microflow)
        };
        let mut cx = ControlContext {
            now,
            asker,
            tables: &self.pipeline.tables,
            ports: &self.pipeline.ports,
            catalogue: &self.pipeline.catalogue,
            pool: &self.lane.pool,
            standing: &standing,
            guarantees: &|port| egress.ports.get(&port)?.guarantees(),
            waits: &|port, flow_id| egress.waits(port, flow_id),
            outcome: ControlOutcome::default(),
        };
        let done = point(&mut *self.hooks.all[hook], &mut cx)?;
        let outcome = cx.outcome;
        for value in &outcome.notifications {
            sink.notify(value);
        }
        for (packet, actions) in outcome.packets {
            self.packet_out(now, packet, &actions, sink);
        }
        for held in outcome.resumed {
            self.context(now, sink).resume(held);
        }
        Ok((done, outcome.answer))
    }
}
