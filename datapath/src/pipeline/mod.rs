//! The pipeline that all engines run: tables, instructions, action set, one packet at a time.
//! Spec: OpenFlow 1.3.5 section 5.1.

mod apply;
pub(crate) mod backlog;
#[cfg(feature = "normal")]
pub(crate) mod bridge;
#[cfg(not(feature = "normal"))]
#[path = "no_bridge.rs"]
pub(crate) mod bridge;
mod buckets;
pub(crate) mod context;
#[cfg(feature = "reshape")]
mod egress_tables;
#[cfg(feature = "reassembly")]
pub(crate) mod fragments;
#[cfg(not(feature = "reassembly"))]
#[path = "no_fragments.rs"]
pub(crate) mod fragments;
pub(crate) mod hook_call;
pub(crate) mod hooking;
pub(crate) mod metering;
#[cfg(feature = "normal")]
mod normal;
#[cfg(not(feature = "normal"))]
#[path = "no_normal.rs"]
mod normal;
mod output;
pub(crate) mod queueing;
#[cfg(feature = "resubmit")]
mod resubmit;
#[cfg(feature = "super_frames")]
pub(crate) mod super_frames;
#[cfg(not(feature = "super_frames"))]
#[path = "no_super_frames.rs"]
pub(crate) mod super_frames;
#[cfg(feature = "text")]
pub(crate) mod tracing;
pub(crate) mod walk;
pub(crate) mod work;

use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::PacketInReason;
use bofuss_oflib::message::table_mod::TableMiss;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, Instruction};
use bofuss_packet::{Packet, offload};

use crate::engine_notes::EngineNotes;
use crate::hook::HookPoint;
use crate::pipeline::context::Context;
use crate::pipeline::fragments::handle_fragment;
use crate::pipeline::hook_call::MissReply;
use crate::pipeline::metering::meters_whole;
#[cfg(feature = "text")]
use crate::pipeline::tracing::{received, trace_lookup, trace_outdone};
pub use crate::pipeline::walk::Walk;
use crate::pipeline::walk::{PacketInCause, PendingOutput, Stage};
use crate::references::{meters, sole_output};
use crate::slab::NONE;
use crate::{DropReason, HeldPacket, HitEntry, Sink, Step};

impl<S: Sink, E: EngineNotes> Context<'_, S, E> {
    /// Sends a packet through the tables from table 0 on.
    #[inline]
    pub fn run(&mut self, packet: &mut Packet, notes: E::PathNotes) {
        if self.goes_through_tables(packet) {
            let mut walk = Walk::from(packet);
            walk.notes = notes;
            self.run_walk(walk, |_, walk| Ok(Some(walk.table)));
        }
    }

    /// Returns false for a fragment that is treated specially instead.
    #[inline(always)]
    pub fn goes_through_tables(&mut self, packet: &mut Packet) -> bool {
        #[cfg(feature = "text")]
        if S::TRACES {
            self.sink.step(received(packet, &self.pipeline.catalogue));
        }
        if self.pipeline.handles_specially(packet.layout().fragment) {
            handle_fragment(self, packet);
            return false;
        }
        true
    }

    /// Sends a packet through the tables from the table on that `begin` returns, if it returns any.
    #[inline(always)]
    pub fn run_walk(
        &mut self,
        mut walk: Walk<'_, E>,
        begin: impl FnOnce(&mut Self, &mut Walk<'_, E>) -> Result<Option<TableId>, DropReason>,
    ) {
        core::mem::swap(&mut walk.set, &mut self.lane.spare_set);
        let next = begin(self, &mut walk);
        let result = next.and_then(|next| self.tables_and_set(&mut walk, next));
        walk.set.clear();
        core::mem::swap(&mut walk.set, &mut self.lane.spare_set);
        self.end_copy(&mut walk, result);
    }

    /// Applies a packet-out's actions to its packet.
    pub(crate) fn packet_out(&mut self, mut packet: Packet, actions: &[Action]) {
        self.lane.work.begin_frame();
        let mut walk = Walk::from(&mut packet);
        walk.stage = Stage::BeforeTables;
        walk.cause.reason = PacketInReason::PACKET_OUT;
        let result = actions.iter().try_for_each(|a| self.apply(&mut walk, a));
        self.end_copy(&mut walk, result);
    }

    /// Passes the packet itself to its last output, and accounts for a packet that went nowhere.
    pub(crate) fn end_copy(&mut self, walk: &mut Walk<'_, E>, result: Result<(), DropReason>) {
        match (result, walk.output.pending.take()) {
            (Ok(()), None) if !walk.output.sent => self.drop(DropReason::NoOutput),
            (Ok(()), None) => {}
            (Ok(()), Some(output)) => self.do_output(walk.packet, output, &walk.class),
            (Err(reason), pending) => {
                if let Some(output) = pending {
                    self.do_output(walk.packet, output, &walk.class);
                }
                self.drop(reason);
            }
        }
    }

    /// Sends a packet through the tables from `next` on, if that is one; then executes its action
    /// set.
    #[inline]
    pub(crate) fn tables_and_set(
        &mut self,
        walk: &mut Walk<'_, E>,
        next: Option<TableId>,
    ) -> Result<(), DropReason> {
        (self.through_tables)(self, walk, next)?;
        if walk.set.is_empty() {
            return Ok(());
        }
        if S::TRACES {
            self.sink.step(Step::ActionSet);
        }
        walk.cause = PacketInCause {
            entry: HitEntry::NONE,
            reason: PacketInReason::ACTION_SET,
        };
        let is_super = walk.packet.frame.offload.gso.is_some();
        if is_super {
            let (meters, now) = (&mut self.pipeline.meters, self.now);
            if !meters_whole(meters, now, walk.set.meters(), walk.packet) {
                return self.by_segments(walk, |this, part| this.tables_and_set(part, None));
            }
        }
        let set = core::mem::take(&mut walk.set);
        let result = set.in_order().try_for_each(|a| self.apply(walk, a));
        walk.set = set;
        result
    }

    /// Looks up one table and executes the entry's instructions. Returns the next table, if any.
    #[inline(always)]
    pub fn one_table(&mut self, walk: &mut Walk<'_, E>) -> Result<Option<TableId>, DropReason> {
        if !E::take_prepared(&mut walk.notes) {
            self.call_hooks(walk, HookPoint::BeforeLookup, 0)?;
            if walk.hook.goto.is_some() {
                return Ok(walk.hook.goto.take());
            }
        }
        self.look_up(walk);
        let looked_up_again = E::take_looked_up_again(&mut walk.notes);
        if walk.lookup.hit.is_none() && !looked_up_again {
            match self.on_miss(walk)? {
                MissReply::Nothing => {}
                MissReply::Again => self.look_up(walk),
                MissReply::Taken => return Ok(None),
            }
        }
        if walk.hook.goto.is_some() {
            return Ok(walk.hook.goto.take());
        }
        let Some(entry) = walk.hit(&self.pipeline.tables) else {
            return self.no_entry(walk);
        };
        // Copying a list of instructions and dropping the copy takes two atomic operations, so the
        // most common ones are executed in place.
        if !S::TRACES && self.hooks.at(walk.table, HookPoint::AfterHit).is_empty() {
            match entry.instructions.list() {
                [Instruction::GotoTable(next)] => return Ok(Some(*next)),
                [
                    Instruction::WriteMetadata { value, mask },
                    Instruction::GotoTable(next),
                ] => {
                    walk.packet.write_metadata(*value, *mask);
                    return Ok(Some(*next));
                }
                [Instruction::ApplyActions(actions)] => {
                    if let Some(port) = sole_output(actions) {
                        self.flush_pending(walk);
                        walk.output.pending = Some(PendingOutput::To(port));
                        return Ok(None);
                    }
                }
                _ => {}
            }
        }
        let instructions = entry.instructions.clone();
        self.call_hooks(walk, HookPoint::AfterHit, 0)?;
        self.act(walk, &instructions)
    }

    /// Executes an entry's instructions, on each segment if the packet has to be cut for that.
    /// Returns the table to continue with, if any.
    #[inline(always)]
    pub fn act(
        &mut self,
        walk: &mut Walk<'_, E>,
        instructions: &Instructions,
    ) -> Result<Option<TableId>, DropReason> {
        if walk.packet.frame.offload.gso.is_some() {
            let (state, now) = (&mut self.pipeline.meters, self.now);
            if !meters_whole(state, now, meters(instructions), walk.packet) {
                self.by_segments(walk, |this, part| {
                    let next = this.execute_all(part, instructions)?;
                    this.tables_and_set(part, next)
                })?;
                walk.hook.goto = None;
                return Ok(None);
            }
        }
        self.execute_all(walk, instructions)
    }

    /// Executes an entry's instructions. Returns the table to continue with, if any.
    pub(crate) fn execute_all(
        &mut self,
        walk: &mut Walk<'_, E>,
        instructions: &Instructions,
    ) -> Result<Option<TableId>, DropReason> {
        let mut next = None;
        for instruction in instructions.list() {
            next = self.execute(walk, instruction)?;
        }
        Ok(walk.hook.goto.take().or(next))
    }

    /// Handles a miss as the current table is configured: drops the packet, after a packet-in if a
    /// controller wants misses, or returns the table to continue with.
    pub fn no_entry(&mut self, walk: &mut Walk<'_, E>) -> Result<Option<TableId>, DropReason> {
        let miss = self.pipeline.tables[usize::from(walk.table.0)].miss;
        if miss == TableMiss::CONTINUE {
            let after = walk.table.0.checked_add(1).map(TableId);
            if let Some(next) = after.filter(|next| self.pipeline.shape.joins(walk.table, *next)) {
                return Ok(Some(next));
            }
        } else if miss != TableMiss::DROP && self.sink.wants_misses() {
            walk.cause.entry = HitEntry::NONE;
            self.offer_to_controllers(walk, PacketInReason::NO_MATCH, None);
        }
        Err(DropReason::TableMiss)
    }

    /// Executes one instruction. Returns the table to continue with, if any.
    pub(crate) fn execute(
        &mut self,
        walk: &mut Walk<'_, E>,
        instruction: &Instruction,
    ) -> Result<Option<TableId>, DropReason> {
        if S::TRACES {
            self.sink.step(Step::Instruction(instruction));
        }
        // A copy that was output before must not see the changed pipeline fields.
        if self.pipeline.shape.first_egress.is_some() {
            self.flush_pending(walk);
        }
        match instruction {
            Instruction::Meter(id) => self.apply_meter(walk, *id)?,
            Instruction::ApplyActions(actions) => {
                actions.iter().try_for_each(|a| self.apply(walk, a))?;
            }
            Instruction::ClearActions => {
                walk.set.clear();
                walk.note_output();
            }
            Instruction::WriteActions(actions) => {
                walk.set.write(actions);
                walk.note_output();
            }
            Instruction::WriteMetadata { value, mask } => {
                walk.packet.write_metadata(*value, *mask);
            }
            Instruction::StatTrigger(_) => {}
            Instruction::Experimenter(value) => self.apply_extension(walk, value)?,
            Instruction::GotoTable(table) => return Ok(Some(*table)),
        }
        Ok(None)
    }

    /// Finds the entry of the current table that the packet hits, and counts the lookup.
    #[inline(always)]
    pub fn look_up(&mut self, walk: &mut Walk<'_, E>) {
        let table = &mut self.pipeline.tables[usize::from(walk.table.0)];
        walk.lookup.hit = table.lookup(walk.packet.key(), &mut walk.lookup.read);
        if !S::DRY {
            let (packets, bytes) = offload::wire_count(&walk.packet.frame);
            let slot = walk.lookup.hit.map_or(NONE, |hit| hit.slot);
            table.count(slot, packets, bytes, self.now);
        }
        #[cfg(feature = "text")]
        if S::TRACES {
            let looked_up = (walk.table, &*table);
            let catalogue = &self.pipeline.catalogue;
            let searches = &mut self.lane.work.searches;
            let hit = walk.lookup.hit;
            if trace_lookup(looked_up, walk.packet, hit, catalogue, searches, self.sink) {
                trace_outdone(self.hooks, walk.table, self.sink);
            }
        }
    }
}

impl HeldPacket {
    /// Sends the packet, which a hook held, through the tables.
    pub(crate) fn resume<S: Sink, E: EngineNotes>(mut self, cx: &mut Context<'_, S, E>) {
        cx.lane.work.begin_frame();
        let mut walk = Walk::from(&mut self.packet);
        walk.table = self.table;
        walk.set = self.progress.set;
        walk.class = self.progress.class;
        let result = cx.tables_and_set(&mut walk, Some(self.table));
        cx.end_copy(&mut walk, result);
    }
}

/// Sends a packet through the tables, one after another.
pub fn each_table<S: Sink, E: EngineNotes>(
    context: &mut Context<'_, S, E>,
    walk: &mut Walk<'_, E>,
    mut next: Option<TableId>,
) -> Result<(), DropReason> {
    while let Some(table) = next {
        walk.table = table;
        next = context.one_table(walk)?;
    }
    Ok(())
}
