//! Packets on cached paths.

use alloc::{rc::Rc, vec::Vec};

use bofuss_datapath::engine::{
    HookPoint, MissReply, NONE, PendingOutput, WORDS, each_table, set_field,
};
use bofuss_datapath::{DropReason, EntryKey, HitEntry, HookEffect, Sink, Table};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Field, FieldSet};
use bofuss_packet::{Key, Words, offload};

use super::engine::{FastContext, FastWalk};
use super::record::record_path;
use super::record::{goes_on_only, goto};
use crate::cache::Body;
use crate::cache::Cache;
use crate::cache::Hit;
use crate::cache::MAX_UNSETTLED;
use crate::cache::PathCall;
use crate::cache::Program;
use crate::cache::ProgramStep;

/// Sends a packet through the tables, on cached paths where there are any.
pub(super) fn known_paths<S: Sink>(
    cx: &mut FastContext<'_, S>,
    walk: &mut FastWalk<'_>,
    mut next: Option<TableId>,
) -> Result<(), DropReason> {
    while let Some(table) = next {
        walk.table = table;
        next = match walk.notes.flow.take() {
            Some(flow) => replay(cx, walk, flow)?,
            None => one_path(cx, walk)?,
        };
        cx.lane.engine.stats.continued += u64::from(next.is_some());
    }
    Ok(())
}

/// The start of a path as one word of the cache's key: the table, whether hooks have prepared
/// the packet for its lookup, whether they have had it looked up again, and the number of their
/// plan.
pub(super) fn path_start<S: Sink>(
    cx: &FastContext<'_, S>,
    table: TableId,
    prepared: bool,
    asked: bool,
) -> u64 {
    start_word(cx.hooks.plan(), table, prepared, asked)
}

/// The same with this plan of hooks.
pub(super) fn start_word(plan: u32, table: TableId, prepared: bool, asked: bool) -> u64 {
    let state = u64::from(prepared) << 8 | u64::from(asked) << 9;
    u64::from(plan) << 16 | state | u64::from(table.0)
}

/// Returns true if the flow of a received packet can be found from its headers alone.
pub(super) fn looks_ahead<S: Sink>(cx: &FastContext<'_, S>) -> bool {
    cx.hooks.effect(TableId(0)) <= HookEffect::Branch
        && !cx.lane.engine.volatile_tables.contains(TableId(0))
}

/// Returns the state for which a found flow is valid: the plan of hooks, and the width of the key.
pub(super) fn known_as<S: Sink>(cx: &FastContext<'_, S>) -> (u32, u64) {
    (cx.hooks.plan(), cx.lane.engine.stats.widened)
}

/// Sends a packet along one path from the current table on. A path that is not cached is
/// recorded, if that is possible and the cache admits it. Returns the table to continue with,
/// if any.
fn one_path<S: Sink>(
    cx: &mut FastContext<'_, S>,
    walk: &mut FastWalk<'_>,
) -> Result<Option<TableId>, DropReason> {
    let effect = cx.hooks.effect(walk.table);
    if effect == HookEffect::Unknown || cx.lane.engine.volatile_tables.contains(walk.table) {
        return cx.one_table(walk);
    }
    if effect == HookEffect::Branch && !walk.notes.prepared {
        cx.call_hooks(walk, HookPoint::BeforeLookup, 0)?;
        if walk.hook.goto.is_some() {
            return Ok(walk.hook.goto.take());
        }
        walk.notes.prepared = true;
    }
    let start = path_start(
        cx,
        walk.table,
        walk.notes.prepared,
        walk.notes.looked_up_again,
    );
    let words = cx.lane.engine.key.words(start, walk.packet.key());
    let hash = cx.lane.engine.key.hash(words.padded());
    if let Some(flow) = known_path(cx, (hash, &words), walk.packet.key()) {
        return replay(cx, walk, flow);
    }
    let cache = &mut cx.lane.engine;
    if cache.admission.admits(&cache.flows, hash) {
        return record_path(cx, walk, (hash, &words));
    }
    cache.stats.refused += 1;
    each_table(cx, walk, Some(walk.table)).map(|()| None)
}

/// The cached flow of packets with this key, whose words and hash are given, if there is one
/// and it is still right.
fn known_path<S: Sink>(
    cx: &mut FastContext<'_, S>,
    (hash, words): (u64, &Words<WORDS>),
    key: &Key,
) -> Option<u32> {
    let cache = &mut cx.lane.engine;
    let tables = &mut cx.pipeline.tables;
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
fn replay<S: Sink>(
    cx: &mut FastContext<'_, S>,
    walk: &mut FastWalk<'_>,
    slot: u32,
) -> Result<Option<TableId>, DropReason> {
    (walk.notes.prepared, walk.notes.looked_up_again) = (false, false);
    let flow = &cx.lane.engine.flows[slot];
    let program = Rc::clone(&flow.program);
    let n_hits = flow.n_hits();
    cx.lane.engine.stats.hits += 1;
    if program.calls || cx.pipeline.shape.first_egress.is_some() {
        return replay_with_hooks(cx, walk, slot, &program);
    }
    let counts = offload::wire_count(&walk.packet.frame);
    let mut counted = false;
    let mut next = None;
    for step in &program.steps {
        let body = match step {
            ProgramStep::Execute(body) => body,
            ProgramStep::Set(field, value) => {
                set_on_path(cx, walk, field, *value);
                continue;
            }
            ProgramStep::Call(_) => continue,
        };
        let number = usize::from(body.hit);
        if body.may_packet_in {
            let hit = cx.lane.engine.flows[slot].hit(number);
            walk.cause.entry = hit_entry(cx, hit);
        }
        if number + 1 == n_hits {
            // Packets that the execution of this one causes may make the cache forget the flow.
            count_packets(cx, slot, counts);
            counted = true;
        }
        walk.notes.uncacheable = false;
        let result = run_body(cx, walk, body);
        if result.is_err() || walk.notes.uncacheable || is_cut(body, result) {
            if !counted {
                count_part(cx, slot, number, counts);
            }
            return result;
        }
        next = result?;
    }
    if !counted {
        count_packets(cx, slot, counts);
    }
    end_path(cx, walk, &program, next)
}

/// As [`replay`], for a path on which hooks are called, which may take the packet off the
/// path, or whose outputs go to egress tables. These may make the cache forget the flow, so its
/// hits are counted one by one.
fn replay_with_hooks<S: Sink>(
    cx: &mut FastContext<'_, S>,
    walk: &mut FastWalk<'_>,
    slot: u32,
    program: &Program,
) -> Result<Option<TableId>, DropReason> {
    let flow = &mut cx.lane.engine.flows[slot];
    let hits: Vec<Hit> = flow.hits().collect();
    flow.count(cx.now, 0, 0);
    let counts = offload::wire_count(&walk.packet.frame);
    let mut counted = 0;
    let mut leaves = false;
    let mut next = None;
    for step in &program.steps {
        match step {
            ProgramStep::Set(field, value) if !leaves => {
                set_on_path(cx, walk, field, *value);
            }
            ProgramStep::Call(call) if !leaves => {
                walk.table = call.table;
                count_hits(cx, &hits, &mut counted, call.hits.into(), counts);
                leaves = call_on_path(cx, walk, call, hits[..counted].last())?;
                if leaves && call.point == HookPoint::BeforeLookup {
                    return Ok(leave_before_lookup(cx, walk));
                }
            }
            ProgramStep::Set(..) | ProgramStep::Call(_) => {}
            ProgramStep::Execute(body) => {
                count_hits(cx, &hits, &mut counted, usize::from(body.hit) + 1, counts);
                walk.cause.entry = hit_entry(cx, hits[counted - 1]);
                walk.notes.uncacheable = false;
                next = run_body(cx, walk, body)?;
                if leaves || walk.notes.uncacheable || is_cut(body, Ok(next)) {
                    cx.lane.engine.stats.cut_short += 1;
                    return Ok(next);
                }
            }
        }
    }
    count_hits(cx, &hits, &mut counted, hits.len(), counts);
    end_path(cx, walk, program, next)
}

/// The end of a path after its program.
fn end_path<S: Sink>(
    cx: &mut FastContext<'_, S>,
    walk: &mut FastWalk<'_>,
    program: &Program,
    next: Option<TableId>,
) -> Result<Option<TableId>, DropReason> {
    walk.table = program.last;
    if program.missed {
        return after_miss(cx, walk, program.asks);
    }
    Ok(program.next.and(next))
}

/// Handles a miss in the current table. With `asks`, hooks are called first and may have the
/// packet looked up again with the key that it has then.
pub(super) fn after_miss<S: Sink>(
    cx: &mut FastContext<'_, S>,
    walk: &mut FastWalk<'_>,
    asks: bool,
) -> Result<Option<TableId>, DropReason> {
    let reply = if asks {
        cx.on_miss(walk)?
    } else {
        MissReply::Nothing
    };
    if walk.hook.goto.is_some() {
        return Ok(walk.hook.goto.take());
    }
    match reply {
        MissReply::Nothing => cx.no_entry(walk),
        MissReply::Again => {
            (walk.notes.prepared, walk.notes.looked_up_again) = (true, true);
            Ok(Some(walk.table))
        }
        MissReply::Taken => Ok(None),
    }
}

/// Calls a hook on a path; `last` is the entry that was hit last. Returns true if the packet
/// leaves the path; then the other hooks of the table are called as well.
fn call_on_path<S: Sink>(
    cx: &mut FastContext<'_, S>,
    walk: &mut FastWalk<'_>,
    call: &PathCall,
    last: Option<&Hit>,
) -> Result<bool, DropReason> {
    walk.cause.entry = last.map_or(HitEntry::NONE, |hit| hit_entry(cx, *hit));
    let called = cx.call_point(call.hook, walk, call.point, false)?;
    if called.uncacheable {
        cx.call_hooks(walk, call.point, call.hook + 1)?;
    }
    Ok(called.uncacheable)
}

/// The table in which a packet continues that leaves its path before the lookup in the current
/// table.
pub(super) fn leave_before_lookup<S: Sink>(
    cx: &mut FastContext<'_, S>,
    walk: &mut FastWalk<'_>,
) -> Option<TableId> {
    cx.lane.engine.stats.cut_short += 1;
    if walk.hook.goto.is_some() {
        return walk.hook.goto.take();
    }
    walk.notes.prepared = true;
    Some(walk.table)
}

fn set_on_path<S: Sink>(
    cx: &mut FastContext<'_, S>,
    walk: &mut FastWalk<'_>,
    field: &Field,
    value: Option<u128>,
) {
    if !field.at.is_empty() {
        cx.flush_pending(walk);
    }
    set_field(walk.packet, field, value);
}

pub(super) fn hit_entry<S: Sink>(cx: &FastContext<'_, S>, hit: Hit) -> HitEntry {
    let entry = cx.pipeline.tables[usize::from(hit.table.0)].at(hit.slot);
    entry.map_or(HitEntry::NONE, HitEntry::from)
}

/// Counts a packet for the hits up to one, except those that have already counted it.
fn count_hits<S: Sink>(
    cx: &mut FastContext<'_, S>,
    hits: &[Hit],
    counted: &mut usize,
    end: usize,
    (packets, bytes): (u64, u64),
) {
    for hit in &hits[*counted..end] {
        let table = &mut cx.pipeline.tables[usize::from(hit.table.0)];
        table.count(hit.slot, packets, bytes, cx.now);
    }
    *counted = end;
}

fn count_packets<S: Sink>(cx: &mut FastContext<'_, S>, slot: u32, (packets, bytes): (u64, u64)) {
    if cx.lane.engine.flows[slot].count(cx.now, packets, bytes) {
        mark_unsettled(cx, slot);
    }
}

/// Notes that a flow has unsettled packets.
#[inline]
pub(super) fn mark_unsettled<S: Sink>(cx: &mut FastContext<'_, S>, slot: u32) {
    cx.lane.engine.unsettled.push(slot);
    if cx.lane.engine.unsettled.len() >= MAX_UNSETTLED {
        cx.lane.engine.settle_known(&mut cx.pipeline.tables);
    }
}

/// Counts a packet whose path ended at a hit before the last.
fn count_part<S: Sink>(
    cx: &mut FastContext<'_, S>,
    slot: u32,
    last: usize,
    (packets, bytes): (u64, u64),
) {
    cx.lane.engine.stats.cut_short += 1;
    for hit in cx.lane.engine.flows[slot].hits().take(last + 1) {
        cx.pipeline.tables[usize::from(hit.table.0)].count(hit.slot, packets, bytes, cx.now);
    }
}

fn run_body<S: Sink>(
    cx: &mut FastContext<'_, S>,
    walk: &mut FastWalk<'_>,
    body: &Body,
) -> Result<Option<TableId>, DropReason> {
    (walk.table, walk.cause.reason) = (body.table, body.reason);
    let Some(port) = body.output else {
        return cx.act(walk, &body.instructions);
    };
    cx.flush_pending(walk);
    walk.output.pending = Some(PendingOutput::To(port));
    Ok(walk.hook.goto.take())
}

/// Returns true if a super-frame was cut, so that its segments have continued through the tables.
fn is_cut(body: &Body, result: Result<Option<TableId>, DropReason>) -> bool {
    result == Ok(None) && goto(&body.instructions).is_some()
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
