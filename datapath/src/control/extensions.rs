//! Calls of extensions without a packet: messages, timers and events.
//!
//! A hook gets a context that reads the switch, and what it asks for is done after it has returned:
//! so it never sees its own changes half done, and cannot keep anything of the switch borrowed.

use alloc::vec::Vec;

use bofuss_oflib::error::BadRequest;
use bofuss_oflib::message::{FlowMod, PortMod};
use bofuss_oflib::{ErrorCode, ExtValue, Instruction};

use crate::control_context::{ControlContext, ControlOutcome};
use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Context;
use crate::{Asker, Hook, HookAnswer, ReplyPart, Sink};

/// The part that calls extensions when no packet causes it. Their requests are carried out at once.
pub struct HookCalls<'a, S: Sink, E: FrameEngine> {
    pub(super) cx: Context<'a, S, E>,
}

impl<'a, S: Sink, E: FrameEngine> HookCalls<'a, S, E> {
    pub(crate) fn new(cx: Context<'a, S, E>) -> Self {
        Self { cx }
    }

    /// Informs all hooks that a connection was closed.
    ///
    /// They can only forget what they keep for the connection: there is nobody to reply to, so they
    /// get no context.
    pub fn disconnected(&mut self, connection: u64) {
        for hook in self.cx.hooks.all.iter_mut() {
            hook.on_disconnect(connection);
        }
    }

    /// Passes an extension's message to its hook.
    ///
    /// Errors: the hook's; BAD_REQUEST/BAD_EXPERIMENTER if no hook has it.
    pub fn message(&mut self, asker: Asker, value: &ExtValue) -> Result<HookAnswer, ErrorCode> {
        let found = self.cx.hooks.of(value.row);
        let (hook, row) = found.ok_or(BadRequest::BAD_EXPERIMENTER)?;
        let (_, answer) = self.call(Some(asker), hook, |hook, cx| {
            hook.on_message(cx, row, value)
        })?;
        Ok(answer)
    }

    /// Calls an extension's hook for the next part of its answer to a multipart request; `from` is
    /// where the part begins.
    ///
    /// Errors: the hook's; BAD_REQUEST/BAD_EXPERIMENTER if no hook has it.
    pub fn multipart(
        &mut self,
        asker: Asker,
        request: &ExtValue,
        from: u64,
    ) -> Result<(ReplyPart, HookAnswer), ErrorCode> {
        let found = self.cx.hooks.of(request.row);
        let (hook, row) = found.ok_or(BadRequest::BAD_EXPERIMENTER)?;
        self.call(Some(asker), hook, |hook, cx| {
            hook.on_multipart(cx, row, request, from)
        })
    }

    /// Asks the extensions whose instructions a flow-mod has whether they accept it.
    ///
    /// Called before any change, so a refusal leaves no trace. Limits and overlaps are checked
    /// later, so an entry that is admitted may still be refused. Extensions' actions are not asked
    /// about: `Hooks::check` has them.
    ///
    /// Errors: theirs.
    pub(crate) fn admit(&mut self, flow_mod: &FlowMod) -> Result<(), ErrorCode> {
        for instruction in flow_mod.instructions.list() {
            let Instruction::Experimenter(value) = instruction else {
                continue;
            };
            if let Some((hook, row)) = self.cx.hooks.of(value.row) {
                self.call(None, hook, |hook, cx| hook.admit(cx, row, flow_mod))?;
            }
        }
        Ok(())
    }

    /// Informs hooks that a flow-mod is done. Returns their answers, each with its experimenter.
    /// `asker` returns the connection, if there is one, as an experimenter's hook sees it.
    pub fn flow_mod_done(
        &mut self,
        asker: impl Fn(u32) -> Option<Asker>,
        flow_mod: &FlowMod,
    ) -> Vec<(u32, HookAnswer)> {
        let mut answers = Vec::new();
        for hook in 0..self.cx.hooks.all.len() {
            let experimenter = self.cx.hooks.experimenter(hook);
            let done = self.call(asker(experimenter), hook, |hook, cx| {
                hook.on_flow_mod(cx, flow_mod);
                Ok(())
            });
            answers.extend(done.map(|((), answer)| (experimenter, answer)));
        }
        answers
    }

    /// Informs hooks of a port-mod that one of them takes.
    pub fn port_mod(&mut self, port_mod: &PortMod) {
        self.notify(|hook, cx| hook.on_port_mod(cx, port_mod));
    }

    /// Calls the hooks whose timers are due.
    ///
    /// Each hook has one timer, which it may set anew in the call.
    pub(crate) fn tick(&mut self) {
        let due = self.cx.hooks.all.next_tick();
        if due.is_none_or(|at| at > self.cx.now) {
            return;
        }
        self.notify(|hook, cx| {
            if hook.next_tick().is_some_and(|at| at <= cx.now) {
                hook.on_tick(cx);
            }
        });
    }

    /// Calls every hook for an event that no connection requested.
    pub(crate) fn notify(&mut self, tell: impl Fn(&mut dyn Hook, &mut ControlContext<'_>)) {
        for hook in 0..self.cx.hooks.all.len() {
            // There is nobody to reply to.
            let _ = self.call(None, hook, |hook, cx| {
                tell(hook, cx);
                Ok(())
            });
        }
    }

    /// Calls a hook, and carries out what it asks for.
    ///
    /// Errors: the hook's.
    fn call<T>(
        &mut self,
        asker: Option<Asker>,
        hook: usize,
        point: impl FnOnce(&mut dyn Hook, &mut ControlContext<'_>) -> Result<T, ErrorCode>,
    ) -> Result<(T, HookAnswer), ErrorCode> {
        let mut cx = ControlContext {
            now: self.cx.now,
            asker,
            tables: &self.cx.pipeline.tables,
            ports: &self.cx.pipeline.ports,
            catalogue: &self.cx.pipeline.catalogue,
            #[cfg(feature = "spare")]
            field_uses: &self.cx.pipeline.field_uses,
            pool: &self.cx.lane.pool,
            egress: &self.cx.egress.ports,
            outcome: ControlOutcome::default(),
        };
        let done = point(&mut *self.cx.hooks.all[hook], &mut cx)?;
        let outcome = cx.outcome;
        // Notifications come first: they are about the state before the packets below.
        for value in &outcome.notifications {
            self.cx.sink.notify(value);
        }
        #[cfg(feature = "spare")]
        if let Some(catalogue) = outcome.catalogue {
            let pipeline = &mut *self.cx.pipeline;
            pipeline.catalogue = catalogue.into();
            let engine = &mut self.cx.lane.engine;
            E::forget_all(engine, &pipeline.catalogue, &mut pipeline.tables);
        }
        // The call may have changed in which tables hooks act.
        let n_tables = self.cx.pipeline.tables.len();
        self.cx.hooks.refresh_after(hook, n_tables);
        for (packet, actions) in outcome.packets {
            self.cx.packet_out(packet, &actions);
        }
        // A packet that is sent or resumed may meet the same hook, which has returned by now.
        for held in outcome.resumed {
            held.resume(&mut self.cx);
        }
        for (port, properties) in outcome.properties {
            self.set_properties(port, properties);
        }
        Ok((done, outcome.answer))
    }
}
