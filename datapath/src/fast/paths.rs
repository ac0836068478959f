//! Packets on cached paths.

use alloc::{rc::Rc, vec::Vec};

use bofuss_oflib::types::TableId;
use bofuss_oflib::{Field, FieldSet};
use bofuss_packet::{Key, Words, offload};

use super::record::{goes_on_only, goto};
use crate::cache::{Body, Cache, Hit, MAX_UNSETTLED, PathCall, Program, ProgramStep};
use crate::hook::HookPoint;
use crate::lazy_packet::set_field;
use crate::pipeline::context::Context;
use crate::pipeline::hooking::MissReply;
use crate::pipeline::{NO_COOKIE, Walk, each_table};
use crate::slab::NONE;
use crate::upcoming::WORDS;
use crate::{DropReason, EntryKey, HookEffect, Sink, Table};

/// Sends a packet through the tables, on cached paths where there are any.
pub(crate) fn known_paths<S: Sink>(
    context: &mut Context<'_, S>,
    walk: &mut Walk<'_>,
    mut next: Option<TableId>,
) -> Result<(), DropReason> {
    while let Some(table) = next {
        walk.table = table;
        next = match walk.flow.take() {
            Some(flow) => context.replay(walk, flow)?,
            None => context.one_path(walk)?,
        };
        context.lane.cache.stats.continued += u64::from(next.is_some());
    }
    Ok(())
}

impl<S: Sink> Context<'_, S> {
    /// The start of a path as one word of the cache's key: the table, whether hooks have prepared
    /// the packet for its lookup, whether they have had it looked up again, and the number of their
    /// plan.
    pub(super) fn start(&self, table: TableId, prepared: bool, asked: bool) -> u64 {
        let state = u64::from(prepared) << 8 | u64::from(asked) << 9;
        u64::from(self.hooks.plan()) << 16 | state | u64::from(table.0)
    }

    /// Whether the flow of a received packet can be found from its headers alone.
    pub(super) fn looks_ahead(&self) -> bool {
        self.hooks.effect(TableId(0)) <= HookEffect::Branch
            && !self.lane.cache.volatile_tables.contains(TableId(0))
    }

    /// What a found flow is valid for: the plan of hooks, and the width of the key.
    pub(super) fn known_as(&self) -> (u32, u64) {
        (self.hooks.plan(), self.lane.cache.stats.widened)
    }

    /// Sends a packet along one path from the current table on. A path that is not cached is
    /// recorded, if that is possible and the cache admits it. Returns the table to continue with,
    /// if any.
    fn one_path(&mut self, walk: &mut Walk<'_>) -> Result<Option<TableId>, DropReason> {
        let effect = self.hooks.effect(walk.table);
        if effect == HookEffect::Unknown || self.lane.cache.volatile_tables.contains(walk.table) {
            return self.one_table(walk);
        }
        if effect == HookEffect::Branch && !walk.prepared {
            self.call_hooks(walk, HookPoint::BeforeLookup, 0)?;
            if walk.goto.is_some() {
                return Ok(walk.goto.take());
            }
            walk.prepared = true;
        }
        let start = self.start(walk.table, walk.prepared, walk.asked);
        let words = self.lane.cache.words(start, walk.packet.key());
        let hash = self.lane.cache.hash(words.padded());
        match self.known_path((hash, &words), walk.packet.key()) {
            Some(flow) => self.replay(walk, flow),
            None if self.lane.cache.admits(hash) => self.record(walk, (hash, &words)),
            // A flow that is not admitted is not recorded.
            None => each_table(self, walk, Some(walk.table)).map(|()| None),
        }
    }

    /// The cached flow of packets with this key, whose words and hash are given, if there is one
    /// and it is still right.
    fn known_path(&mut self, (hash, words): (u64, &Words<WORDS>), key: &Key) -> Option<u32> {
        let cache = &mut self.lane.cache;
        let tables = &mut self.pipeline.tables;
        let Some(flow) = cache.find(hash, words.padded()) else {
            cache.stats.misses += 1;
            return None;
        };
        let right = if cache.is_current(flow) || cache.renew(flow, words.padded()) {
            Some(true)
        } else {
            cache.confirm(flow, key, |rival: EntryKey, hit: Hit| {
                let entry = tables[usize::from(hit.table.0)].at(hit.slot);
                entry.is_none_or(|entry| rival < entry.key)
            })
        };
        if right.unwrap_or_else(|| revalidates(cache, tables, flow, key)) {
            return Some(flow);
        }
        cache.forget(tables, flow);
        None
    }

    /// Executes the program of a flow. Returns the table to continue with, if any.
    fn replay(&mut self, walk: &mut Walk<'_>, slot: u32) -> Result<Option<TableId>, DropReason> {
        (walk.prepared, walk.asked) = (false, false);
        let flow = &self.lane.cache.flows[slot];
        let program = Rc::clone(&flow.program);
        let n_hits = flow.n_hits();
        self.lane.cache.stats.hits += 1;
        if program.calls || self.pipeline.first_egress.is_some() {
            return self.replay_with_hooks(walk, slot, &program);
        }
        let counts = offload::wire_count(&walk.packet.frame);
        let mut counted = false;
        let mut next = None;
        for step in &program.steps {
            let body = match step {
                ProgramStep::Execute(body) => body,
                ProgramStep::Set(field, value) => {
                    self.set_on_path(walk, field, *value);
                    continue;
                }
                ProgramStep::Call(_) => continue,
            };
            let number = usize::from(body.hit);
            if body.may_packet_in {
                let hit = self.lane.cache.flows[slot].hit(number);
                walk.cookie = self.cookie_of(hit);
            }
            if number + 1 == n_hits {
                // Packets that the execution of this one causes may make the cache forget the flow.
                self.count(slot, counts);
                counted = true;
            }
            walk.deviates = false;
            let result = self.run_body(walk, body);
            if result.is_err() || walk.deviates {
                if !counted {
                    self.count_part(slot, number, counts);
                }
                return result;
            }
            next = result?;
        }
        if !counted {
            self.count(slot, counts);
        }
        self.end_path(walk, &program, next)
    }

    /// As [`Self::replay`], for a path on which hooks are called, which may take the packet off the
    /// path, or whose outputs go to egress tables. These may make the cache forget the flow, so its
    /// hits are counted one by one.
    fn replay_with_hooks(
        &mut self,
        walk: &mut Walk<'_>,
        slot: u32,
        program: &Program,
    ) -> Result<Option<TableId>, DropReason> {
        let flow = &mut self.lane.cache.flows[slot];
        let hits: Vec<Hit> = flow.hits().collect();
        flow.count(self.now, 0, 0);
        let counts = offload::wire_count(&walk.packet.frame);
        let mut counted = 0;
        let mut leaves = false;
        let mut next = None;
        for step in &program.steps {
            match step {
                ProgramStep::Set(field, value) if !leaves => {
                    self.set_on_path(walk, field, *value);
                }
                ProgramStep::Call(call) if !leaves => {
                    walk.table = call.table;
                    self.count_hits(&hits, &mut counted, call.hits.into(), counts);
                    leaves = self.call_on_path(walk, call, hits[..counted].last())?;
                    if leaves && call.point == HookPoint::BeforeLookup {
                        return Ok(self.leave_before_lookup(walk));
                    }
                }
                ProgramStep::Set(..) | ProgramStep::Call(_) => {}
                ProgramStep::Execute(body) => {
                    self.count_hits(&hits, &mut counted, usize::from(body.hit) + 1, counts);
                    walk.cookie = self.cookie_of(hits[counted - 1]);
                    walk.deviates = false;
                    next = self.run_body(walk, body)?;
                    if leaves || walk.deviates {
                        self.lane.cache.stats.cut_short += 1;
                        return Ok(next);
                    }
                }
            }
        }
        self.count_hits(&hits, &mut counted, hits.len(), counts);
        self.end_path(walk, program, next)
    }

    /// The end of a path after its program.
    fn end_path(
        &mut self,
        walk: &mut Walk<'_>,
        program: &Program,
        next: Option<TableId>,
    ) -> Result<Option<TableId>, DropReason> {
        walk.table = program.last;
        if program.missed {
            return self.after_miss(walk, program.asks);
        }
        Ok(program.next.and(next))
    }

    /// Handles a miss in the current table. With `asks`, hooks are called first and may have the
    /// packet looked up again with the key that it has then.
    pub(super) fn after_miss(
        &mut self,
        walk: &mut Walk<'_>,
        asks: bool,
    ) -> Result<Option<TableId>, DropReason> {
        let reply = if asks {
            self.on_miss(walk)?
        } else {
            MissReply::Nothing
        };
        if walk.goto.is_some() {
            return Ok(walk.goto.take());
        }
        match reply {
            MissReply::Nothing => self.no_entry(walk),
            MissReply::Again => {
                (walk.prepared, walk.asked) = (true, true);
                Ok(Some(walk.table))
            }
            MissReply::Taken => Ok(None),
        }
    }

    /// Calls a hook on a path; `last` is the entry that was hit last. Returns true if the packet
    /// leaves the path; then the other hooks of the table are called as well.
    fn call_on_path(
        &mut self,
        walk: &mut Walk<'_>,
        call: &PathCall,
        last: Option<&Hit>,
    ) -> Result<bool, DropReason> {
        walk.cookie = last.map_or(NO_COOKIE, |hit| self.cookie_of(*hit));
        let called = self.call_point(call.hook, walk, call.point, false)?;
        if called.deviates {
            self.call_hooks(walk, call.point, call.hook + 1)?;
        }
        Ok(called.deviates)
    }

    /// The table in which a packet continues that leaves its path before the lookup in the current
    /// table.
    pub(super) fn leave_before_lookup(&mut self, walk: &mut Walk<'_>) -> Option<TableId> {
        self.lane.cache.stats.cut_short += 1;
        if walk.goto.is_some() {
            return walk.goto.take();
        }
        walk.prepared = true;
        Some(walk.table)
    }

    fn set_on_path(&mut self, walk: &mut Walk<'_>, field: &Field, value: Option<u128>) {
        if !field.at.is_empty() {
            self.flush_pending(walk);
        }
        set_field(walk.packet, field, value);
    }

    pub(super) fn cookie_of(&self, hit: Hit) -> u64 {
        let entry = self.pipeline.tables[usize::from(hit.table.0)].at(hit.slot);
        entry.map_or(NO_COOKIE, |entry| entry.cookie)
    }

    /// Counts a packet for the hits up to one, except those that have already counted it.
    fn count_hits(
        &mut self,
        hits: &[Hit],
        counted: &mut usize,
        end: usize,
        (packets, bytes): (u64, u64),
    ) {
        for hit in &hits[*counted..end] {
            let table = &mut self.pipeline.tables[usize::from(hit.table.0)];
            table.count(hit.slot, packets, bytes, self.now);
        }
        *counted = end;
    }

    fn count(&mut self, slot: u32, (packets, bytes): (u64, u64)) {
        if self.lane.cache.flows[slot].count(self.now, packets, bytes) {
            self.mark_unsettled(slot);
        }
    }

    /// Notes that a flow has unsettled packets.
    #[inline]
    pub(super) fn mark_unsettled(&mut self, slot: u32) {
        self.lane.cache.unsettled.push(slot);
        if self.lane.cache.unsettled.len() >= MAX_UNSETTLED {
            self.lane.cache.settle(&mut self.pipeline.tables);
        }
    }

    /// Counts a packet whose path ended at a hit before the last.
    fn count_part(&mut self, slot: u32, last: usize, (packets, bytes): (u64, u64)) {
        self.lane.cache.stats.cut_short += 1;
        for hit in self.lane.cache.flows[slot].hits().take(last + 1) {
            self.pipeline.tables[usize::from(hit.table.0)]
                .count(hit.slot, packets, bytes, self.now);
        }
    }

    fn run_body(
        &mut self,
        walk: &mut Walk<'_>,
        body: &Body,
    ) -> Result<Option<TableId>, DropReason> {
        (walk.table, walk.reason) = (body.table, body.reason);
        let Some(port) = body.output else {
            return self.act(walk, &body.instructions);
        };
        self.flush_pending(walk);
        walk.pending = Some(port);
        Ok(walk.goto.take())
    }
}

/// Revalidates a flow by looking up its entries again: whether packets with this key still hit the
/// same entries, and these have the same instructions.
fn revalidates(cache: &mut Cache, tables: &[Table], slot: u32, key: &Key) -> bool {
    let flow = &cache.flows[slot];
    let program = &flow.program;
    let unchanged = usize::from(program.unchanged) == flow.n_hits();
    let mut executed = program.executed().peekable();
    let same = flow.hits().enumerate().all(|(i, hit)| {
        if cache.volatile_tables.contains(hit.table) {
            return false;
        }
        let table = &tables[usize::from(hit.table.0)];
        let found = table.lookup(key, &mut FieldSet::default());
        let body = executed.next_if(|body| usize::from(body.hit) == i);
        match (found.and_then(|key| table.get(key)), body) {
            (None, _) => hit.slot == NONE,
            (Some(entry), _) if entry.key.slot != hit.slot => false,
            (Some(entry), Some(body)) => {
                entry.instructions == body.instructions && entry.reason() == body.reason
            }
            (Some(entry), None) => {
                let next = flow.hits().nth(i + 1).map(|hit| hit.table);
                goes_on_only(&entry.instructions)
                    && goto(&entry.instructions) == next.or(program.next)
            }
        }
    });
    drop(executed);
    if same && unchanged {
        cache.retraced(slot);
    }
    same && unchanged
}
