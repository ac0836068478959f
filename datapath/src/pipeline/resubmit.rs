//! Lookups of a packet in tables of any number, after which it continues where it was.

use bofuss_oflib::field::IN_PORT;

use crate::engine_notes::EngineNotes;
use crate::hook::HookPoint;
use crate::hook_context::Resubmit;
use crate::pipeline::context::Context;
use crate::pipeline::each_table;
use crate::pipeline::walk::Walk;
use crate::{DropReason, Sink};

impl Resubmit {
    /// Executes what a packet hits in the table, and what follows from there. Returns true if that
    /// changed the key.
    ///
    /// Errors: why the packet goes no further.
    pub(super) fn carry_out<S: Sink, E: EngineNotes>(
        self,
        cx: &mut Context<'_, S, E>,
        walk: &mut Walk<'_, E>,
    ) -> Result<bool, DropReason> {
        if !cx.pipeline.shape.joins(walk.table, self.table) {
            return Ok(false);
        }
        if !cx.lane.work.begin_resubmit() {
            return Err(DropReason::Work);
        }
        let before = walk.packet.key().clone();
        let (table, cause, lookup) = (walk.table, walk.cause, walk.lookup);
        let goto = walk.hook.goto.take();
        let notes = core::mem::take(&mut walk.notes);
        walk.table = self.table;
        let result = self.pass(cx, walk);
        (walk.table, walk.cause, walk.lookup) = (table, cause, lookup);
        walk.hook.goto = goto;
        walk.notes = notes;
        cx.lane.work.end_resubmit();
        match result {
            Ok(()) | Err(DropReason::TableMiss) => Ok(before != *walk.packet.key()),
            Err(reason) => Err(reason),
        }
    }

    /// Sends a packet through the table and those after it. Errors: why it goes no further; a miss.
    fn pass<S: Sink, E: EngineNotes>(
        self,
        cx: &mut Context<'_, S, E>,
        walk: &mut Walk<'_, E>,
    ) -> Result<(), DropReason> {
        cx.call_hooks(walk, HookPoint::BeforeLookup, 0)?;
        let own = walk.packet.in_port();
        let in_port = self.in_port.unwrap_or(own);
        walk.packet.key_mut().set(IN_PORT, in_port.0.into());
        cx.look_up(walk);
        walk.packet.key_mut().set(IN_PORT, own.0.into());
        let entry = walk.hit(&cx.pipeline.tables);
        let instructions = entry.ok_or(DropReason::TableMiss)?.instructions.clone();
        cx.call_hooks(walk, HookPoint::AfterHit, 0)?;
        let next = cx.act(walk, &instructions)?;
        each_table(cx, walk, next)
    }
}
