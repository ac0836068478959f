//! The recorder: sends the first packet of a flow through the pipeline and records its path.

use alloc::vec::Vec;

use bofuss_datapath::engine::{HookPoint, Hooks, NONE, WORDS, sole_output};
use bofuss_datapath::{DropReason, HookEffect, Sink};
use bofuss_oflib::field::ACTSET_OUTPUT;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, FieldSet, Instruction, PortNo};
use bofuss_packet::Words;

use super::end::note_end;
use super::engine::{FastContext, FastWalk};
use super::paths::{after_miss, leave_before_lookup};
use crate::cache::Body;
use crate::cache::Hit;
use crate::cache::PathCall;
use crate::cache::Program;
use crate::cache::ProgramStep;

/// The limits that an entry's instructions set to what may be cached of a path after them.
#[derive(Default)]
struct PathEffect {
    /// They may cause a packet-in.
    may_packet_in: bool,
    /// They change the key, always in the same manner.
    sets_fields: bool,
    /// The resulting key depends on more than the key.
    unpredictable: bool,
    /// True if the resulting key depends on what actions of extensions read.
    reads_more: bool,
    /// True if the resulting key depends on fields that are copied or partly set.
    copies: bool,
}

impl PathEffect {
    /// Computes it for instructions; `read` are the fields that any entry reads.
    fn of(body: &Instructions, hooks: &Hooks, read: FieldSet) -> Self {
        let mut this = Self::default();
        for instruction in body.list() {
            match instruction {
                Instruction::ApplyActions(actions) => {
                    actions.iter().for_each(|action| this.apply(action, hooks));
                }
                Instruction::Experimenter(value) => this.extend(hooks.effect_of(value)),
                Instruction::WriteMetadata { .. } => this.sets_fields = true,
                Instruction::ClearActions | Instruction::WriteActions(_) => {
                    this.sets_fields |= read.contains(ACTSET_OUTPUT);
                }
                // A packet that a meter drops or remarks leaves the path.
                Instruction::Meter(_) | Instruction::StatTrigger(_) | Instruction::GotoTable(_) => {
                }
            }
        }
        this
    }

    /// Adds the effect of an action or instruction of an extension. Its hook sees the cookie, as a
    /// packet-in does.
    fn extend(&mut self, effect: HookEffect) {
        self.may_packet_in = true;
        match effect {
            HookEffect::None | HookEffect::Live => {}
            HookEffect::Pure => (self.sets_fields, self.reads_more) = (true, true),
            HookEffect::Branch | HookEffect::Unknown => self.unpredictable = true,
        }
    }

    fn apply(&mut self, action: &Action, hooks: &Hooks) {
        if let Action::Experimenter(value) = action {
            if !action.is_tag_vlan() {
                return self.extend(hooks.effect_of(value));
            }
        }
        let may_packet_in = matches!(action, Action::DecNwTtl | Action::DecMplsTtl)
            || matches!(action, Action::Output(output) if output.port == PortNo::CONTROLLER);
        self.copies |= copies(action);
        let sets_fields = matches!(action, Action::SetField(_) | Action::CopyField(_));
        let does_neither = matches!(
            action,
            Action::Output(_)
                | Action::Group(_)
                | Action::Meter(_)
                | Action::SetQueue(_)
                | Action::SetNwTtl(_)
                | Action::SetMplsTtl(_)
                | Action::CopyTtlOut
                | Action::CopyTtlIn
        );
        // An action not named here may do anything.
        let unknown = !may_packet_in && !sets_fields && !does_neither;
        self.may_packet_in |= may_packet_in || unknown;
        self.sets_fields |= sets_fields;
        self.unpredictable |= unknown;
    }
}

/// Returns true if an action's result depends on other fields of the packet, and on nothing else.
fn copies(action: &Action) -> bool {
    if let Action::SetField(set) = action {
        !set.0.is_exact()
    } else {
        matches!(action, Action::CopyField(_))
    }
}

/// The table of the goto-table instruction, if there is one.
pub(super) fn goto(body: &Instructions) -> Option<TableId> {
    match body.list().last() {
        Some(Instruction::GotoTable(table)) => Some(*table),
        _ => None,
    }
}

/// The port, if the instructions do nothing but output the packet to one at once.
fn step_output(body: &Instructions) -> Option<PortNo> {
    match body.list() {
        [Instruction::ApplyActions(actions)] => sole_output(actions),
        _ => None,
    }
}

/// Returns true if the instructions contain nothing but goto-table, or are empty.
pub(super) fn goes_on_only(body: &Instructions) -> bool {
    matches!(body.list(), [] | [Instruction::GotoTable(_)])
}

/// A path that is being recorded.
#[derive(Default)]
struct Recording {
    program: Program,
    hits: Vec<Hit>,
    /// The fields that pure hooks and actions read.
    read: FieldSet,
    /// True if fields were changed since the start of the path.
    sets_fields: bool,
    /// True if a hook that declares itself pure did more than set fields.
    is_wrong: bool,
    /// True if it can be cached.
    is_complete: bool,
}

/// Sends a packet through the tables as far as its path depends only on its key, and caches the
/// path under the words of the key and their hash. Returns the table to continue with, if any.
pub(super) fn record_path<S: Sink>(
    cx: &mut FastContext<'_, S>,
    walk: &mut FastWalk<'_>,
    words: (u64, &Words<WORDS>),
) -> Result<Option<TableId>, DropReason> {
    let mut path = Recording {
        hits: core::mem::take(&mut cx.lane.engine.spare_hits),
        ..Recording::default()
    };
    path.hits.clear();
    walk.lookup.read = FieldSet::EMPTY;
    let widened = cx.lane.engine.stats.widened;
    let result = record_steps(cx, walk, &mut path);
    let cache = &mut cx.lane.engine;
    // A packet that this one caused may have been recorded meanwhile and have widened the key.
    path.is_complete &= cache.stats.widened == widened;
    debug_assert!(
        cache.key.fields().is_superset(walk.lookup.read),
        "I14: the key has what was read"
    );
    let tables = &mut cx.pipeline.tables;
    let volatile = cx.pipeline.catalogue.additions().volatile;
    let is_complete = path.is_complete && path.read.is_disjoint(volatile);
    if is_complete && !cache.key.fields().is_superset(path.read) {
        // The key is now wider. The next packet is recorded under its new words.
        let fields = cache.key.fields().union(path.read);
        cache.widen(&cx.pipeline.catalogue, tables, fields);
    } else if is_complete {
        if let Some(victim) = cache.admission.victim(&cache.flows) {
            cache.forget(tables, victim);
            cache.stats.evicted += 1;
        }
        // With egress tables the output needs a packet.
        if cx.pipeline.shape.first_egress.is_none() {
            note_end(&mut path.program, path.hits.len(), cx.hooks);
        }
        cache.insert(words, path.program, &path.hits);
    }
    cache.spare_hits = path.hits;
    result
}

/// Records the steps of a path. Returns the table to continue with, if any.
fn record_steps<S: Sink>(
    cx: &mut FastContext<'_, S>,
    walk: &mut FastWalk<'_>,
    path: &mut Recording,
) -> Result<Option<TableId>, DropReason> {
    loop {
        let table = walk.table;
        let prepared = core::mem::take(&mut walk.notes.prepared);
        let asked = core::mem::take(&mut walk.notes.looked_up_again);
        if !prepared && record_calls(cx, walk, path, HookPoint::BeforeLookup)? {
            return Ok(leave_before_lookup(cx, walk));
        }
        cx.look_up(walk);
        let slot = walk.lookup.hit.map_or(NONE, |hit| hit.slot);
        path.hits.push(Hit { slot, table });
        path.program.last = table;
        path.program.unchanged += u8::from(!path.sets_fields);
        let entry = walk.hit(&cx.pipeline.tables);
        let Some(instructions) = entry.map(|entry| entry.instructions.clone()) else {
            let asks = !asked && !cx.hooks.at_miss(table).is_empty();
            (path.program.missed, path.program.asks) = (true, asks);
            path.is_complete = !path.is_wrong;
            let result = after_miss(cx, walk, asks);
            path.program.next = result.ok().flatten();
            return result;
        };
        let n_steps = path.program.steps.len();
        let leaves = record_calls(cx, walk, path, HookPoint::AfterHit)?;
        let acted = path.program.steps.len() > n_steps;
        let effect = PathEffect::of(&instructions, cx.hooks, cx.lane.engine.key.fields());
        let reason = walk.cause.reason;
        (walk.notes.uncacheable, walk.notes.action_reads) = (false, FieldSet::EMPTY);
        let result = cx.act(walk, &instructions);
        let leaves = leaves || core::mem::take(&mut walk.notes.uncacheable);
        // Effects on this packet alone are executed again for each later packet.
        let goes_on = goto(&instructions).is_some();
        if effect.reads_more || effect.copies && goes_on {
            path.read.insert(walk.notes.action_reads);
        }
        // If the packet was cut, its segments have already continued through the tables.
        let is_whole = result.is_ok_and(|next| next == goto(&instructions));
        let (true, Ok(next)) = (is_whole, result) else {
            return result;
        };
        let is_recordable = !leaves && !effect.unpredictable;
        let on_path = next.filter(|next| {
            is_recordable
                && cx.hooks.effect(*next) <= HookEffect::Live
                && !cx.lane.engine.volatile_tables.contains(*next)
        });
        let ends_between = next.is_some() && on_path.is_none();
        if acted || ends_between || !goes_on_only(&instructions) {
            path.program.steps.push(ProgramStep::Execute(Body {
                output: step_output(&instructions),
                instructions,
                table,
                reason,
                hit: path.hits.len() as u8 - 1,
                may_packet_in: effect.may_packet_in,
            }));
        }
        path.program.next = next;
        path.sets_fields |= effect.sets_fields;
        let Some(next) = on_path else {
            path.is_complete = !path.is_wrong;
            return Ok(next);
        };
        walk.table = next;
    }
}

/// Calls the hooks of the current table at one point, and records what they do. Returns true if
/// the packet leaves the path.
#[inline(always)]
fn record_calls<S: Sink>(
    cx: &mut FastContext<'_, S>,
    walk: &mut FastWalk<'_>,
    path: &mut Recording,
    point: HookPoint,
) -> Result<bool, DropReason> {
    if cx.hooks.at(walk.table, point).is_empty() {
        return Ok(false);
    }
    record_each_call(cx, walk, path, point)
}

#[inline(never)]
fn record_each_call<S: Sink>(
    cx: &mut FastContext<'_, S>,
    walk: &mut FastWalk<'_>,
    path: &mut Recording,
    point: HookPoint,
) -> Result<bool, DropReason> {
    let mut next = 0;
    let mut leaves = false;
    while let Some(&(hook, effect)) = cx.hooks.at(walk.table, point).get(next) {
        next += 1;
        let is_pure = effect == HookEffect::Pure;
        let call = cx.call_point(hook, walk, point, is_pure)?;
        if leaves {
            continue;
        }
        if is_pure {
            path.read.insert(call.read);
            path.is_wrong |= !call.only_sets;
            let read = cx.lane.engine.key.fields();
            path.sets_fields |= call.sets.iter().any(|(field, _)| read.contains(field));
            let sets = call.sets.into_iter();
            let steps = sets.map(|(field, value)| ProgramStep::Set(field, value));
            path.program.steps.extend(steps);
        } else {
            leaves = call.uncacheable;
            path.program.calls = true;
            path.program.steps.push(ProgramStep::Call(PathCall {
                hook,
                table: walk.table,
                hits: path.hits.len() as u8,
                point,
            }));
        }
    }
    Ok(leaves)
}
