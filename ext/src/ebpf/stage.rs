//! The behaviour: the action runs a program on a packet, and messages change programs and maps.

use alloc::{boxed::Box, format, string::ToString, vec, vec::Vec};

use bofuss_datapath::{
    ControlContext, Hook, HookContext, HookEffect, Metric, MetricKind, ReplyPart, Time, Verdict,
};
use bofuss_oflib::action::Output;
use bofuss_oflib::error::{BadAction, BadRequest};
use bofuss_oflib::types::{MaxLen, TableId};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, Catalogue, ErrorCode, ExtValue, PortNo};
use bofuss_packet::offload::finish_checksum;

use super::name::Name;
use super::programs::Programs;
use super::run::{Fault, Outside, run};
use super::wire::{MapEntries, MapMod, Notification, ProgramMod, RunProgram};
use super::{NOTIFICATION, VALUES};
use crate::common::list::ValueList;

/// What a program returns: a port, or one of these, of which all but the first have the numbers of
/// BPFabric.
pub mod verdict {
    /// The packet goes on as its entry says.
    pub const CONTINUE: u32 = 0xffff_fffc;
    /// It leaves through all ports but the one that it came from.
    pub const FLOOD: u32 = 0xffff_fffd;
    /// It is sent to controllers.
    pub const CONTROLLER: u32 = 0xffff_fffe;
    /// It is dropped.
    pub const DROP: u32 = 0xffff_ffff;
}

/// The hook, without programs.
pub fn hook(_: &Catalogue) -> Box<dyn Hook> {
    Box::new(Stage::default())
}

#[derive(Default)]
struct Stage(Programs);

/// A packet in the pipeline, as its program sees it.
struct Subject<'a, 'b> {
    cx: &'a mut HookContext<'b>,
    program: Name,
    /// True if the packet was written to.
    has_changed: bool,
}

impl Outside for Subject<'_, '_> {
    fn packet(&self) -> &[u8] {
        self.cx.frame().bytes()
    }

    fn packet_mut(&mut self) -> &mut [u8] {
        self.has_changed = true;
        self.cx.edit().frame.bytes_mut()
    }

    fn in_port(&mut self) -> u32 {
        self.cx.in_port().0
    }

    fn now_ns(&self) -> u64 {
        self.cx.now.0
    }

    fn notify(&mut self, id: u32, data: &[u8]) {
        let body = Notification {
            program: self.program,
            id,
            data: Bytes(data.into()),
        };
        self.cx.notify(ExtValue::typed(&VALUES[NOTIFICATION], body));
    }
}

impl Hook for Stage {
    fn name(&self) -> &'static str {
        "ebpf"
    }

    /// It acts only in its action.
    fn effect(&self, _: TableId) -> HookEffect {
        HookEffect::None
    }

    /// A program is run for each packet; if it changes one, that leaves the remembered path.
    fn action_effect(&self, _: usize, _: &ExtValue) -> HookEffect {
        HookEffect::Live
    }

    /// A program sees each packet of the wire.
    fn acts_on_segments(&self) -> bool {
        !self.0.is_empty()
    }

    /// Errors: BAD_ARGUMENT for a table that is not behind that of the entry.
    fn check(&self, _: usize, value: &ExtValue, table: TableId) -> Result<(), ErrorCode> {
        let wanted = value.body::<RunProgram>().and_then(|body| body.table);
        if wanted.is_some_and(|wanted| wanted <= table.0) {
            return Err(BadAction::BAD_ARGUMENT);
        }
        Ok(())
    }

    /// Runs the program. Without one of that name, the packet goes on as if it had said so.
    fn on_action(&mut self, cx: &mut HookContext<'_>, _: usize, value: &ExtValue) -> Verdict {
        let Some(body) = value.body::<RunProgram>() else {
            return Verdict::Continue;
        };
        let name = body.program;
        let Some(program) = self.0.get_mut(cx.trial(), &name) else {
            cx.say(|| format!("there is no program {name}"));
            return go_on(cx, body);
        };
        if cx.frame().offload.checksum.is_some() {
            finish_checksum(&mut cx.edit().frame);
        }
        let mut subject = Subject {
            cx,
            program: name,
            has_changed: false,
        };
        let ran = run(&program.code, &mut program.maps, &mut subject);
        let has_changed = subject.has_changed;
        program.runs += 1;
        program.steps += u64::from(ran.steps);
        if has_changed {
            cx.edit().reparse();
        }
        let steps = ran.steps;
        match ran.result {
            Ok(result) => {
                let result = result as u32;
                cx.say(|| format!("program {name} returns {result:#x} after {steps} steps"));
                carry_out(cx, body, result)
            }
            Err(Fault::Overrun) => cx.drop("overrun"),
            Err(Fault::BadAccess) => cx.drop("bad_access"),
        }
    }

    fn on_message(
        &mut self,
        _: &mut ControlContext<'_>,
        _: usize,
        value: &ExtValue,
    ) -> Result<(), ErrorCode> {
        if let Some(change) = value.body::<ProgramMod>() {
            return self.0.modify(change);
        }
        let change = value.body::<MapMod>().ok_or(BadRequest::BAD_EXP_TYPE)?;
        self.0.modify_map(change)
    }

    fn on_multipart(
        &mut self,
        _: &mut ControlContext<'_>,
        _: usize,
        request: &ExtValue,
        from: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        let row = request.row;
        match request.body::<MapEntries>() {
            Some(MapEntries::Request(wanted)) => {
                let (list, next) = self.0.entries(wanted, from)?;
                let value = Some(ExtValue::typed(row, MapEntries::Reply(list)));
                Ok(ReplyPart { value, next })
            }
            Some(MapEntries::Reply(_)) => Err(BadRequest::BAD_EXP_TYPE),
            None => {
                let (list, next) = self.0.list(from);
                let value = Some(ExtValue::typed(row, ValueList(list)));
                Ok(ReplyPart { value, next })
            }
        }
    }

    fn metrics(&self, _: Time, _: u64, list: &mut Vec<Metric>) -> Option<u64> {
        for (name, program) in self.0.in_order() {
            for (metric, help, value) in [
                ("runs", "Packets for which a program was run", program.runs),
                (
                    "instructions",
                    "Instructions of a program's runs",
                    program.steps,
                ),
            ] {
                list.push(Metric {
                    name: metric,
                    help,
                    kind: MetricKind::Counter,
                    labels: vec![("program", name.to_string())],
                    value,
                });
            }
        }
        None
    }
}

/// Has the packet go on as its entry says, or in the table that the action names.
fn go_on(cx: &mut HookContext<'_>, body: &RunProgram) -> Verdict {
    if let Some(table) = body.table {
        cx.goto(TableId(table));
    }
    Verdict::Continue
}

/// Does with the packet what its program returned.
fn carry_out(cx: &mut HookContext<'_>, body: &RunProgram, result: u32) -> Verdict {
    let port = match result {
        verdict::CONTINUE => return go_on(cx, body),
        verdict::DROP => return cx.drop("dropped_by_program"),
        verdict::FLOOD => PortNo::FLOOD,
        verdict::CONTROLLER => PortNo::CONTROLLER,
        // As in BPFabric, a program may send a packet back.
        port if PortNo(port) == cx.in_port() => PortNo::IN_PORT,
        port if (1..=PortNo::MAX.0).contains(&port) => PortNo(port),
        _ => return cx.drop("bad_port"),
    };
    let max_len = MaxLen::NO_BUFFER;
    cx.apply(vec![Action::Output(Output { port, max_len })]);
    Verdict::Continue
}
