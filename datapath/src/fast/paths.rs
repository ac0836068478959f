//! Packets on known paths, and how paths become known.

use alloc::rc::Rc;

use bofuss_oflib::action::Output;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, FieldSet, Instruction, PortNo};
use bofuss_packet::{Key, offload};

use super::direct::end;
use crate::cache::{Cache, Hit, MAX_UNSETTLED, Program, ProgramStep};
use crate::pipeline::Walk;
use crate::pipeline::context::Context;
use crate::slab::NONE;
use crate::{DropReason, EntryKey, Sink, Table, Verdict};

/// How an entry's instructions limit what may be cached of a path that goes on after them.
#[derive(Default)]
struct PathEffect {
    /// They may send the packet to the controllers.
    may_packet_in: bool,
    /// They change the key, always alike.
    sets_fields: bool,
    /// What the key becomes depends on more than the key.
    unpredictable: bool,
}

impl PathEffect {
    fn of(body: &Instructions) -> Self {
        let mut this = Self::default();
        for instruction in body.list() {
            match instruction {
                Instruction::ApplyActions(actions) => {
                    actions.iter().for_each(|action| this.apply(action));
                }
                // A meter may change the DSCP.
                Instruction::Meter(_) => this.unpredictable = true,
                Instruction::Experimenter(_) => {
                    (this.may_packet_in, this.unpredictable) = (true, true)
                }
                Instruction::WriteMetadata { .. } => this.sets_fields = true,
                Instruction::ClearActions
                | Instruction::WriteActions(_)
                | Instruction::GotoTable(_) => {}
            }
        }
        this
    }

    fn apply(&mut self, action: &Action) {
        let to_controller = |o: &Output| o.port == PortNo::CONTROLLER;
        let may_packet_in = matches!(action, Action::DecNwTtl | Action::DecMplsTtl)
            || matches!(action, Action::Output(output) if to_controller(output));
        let sets_fields = matches!(action, Action::SetField(_));
        let does_neither = matches!(
            action,
            Action::Output(_)
                | Action::Group(_)
                | Action::SetQueue(_)
                | Action::SetNwTtl(_)
                | Action::SetMplsTtl(_)
                | Action::CopyTtlOut
                | Action::CopyTtlIn
        );
        // An action that is not named here may do anything.
        let unknown = !may_packet_in && !sets_fields && !does_neither;
        self.may_packet_in |= may_packet_in || unknown;
        self.sets_fields |= sets_fields;
        self.unpredictable |= unknown;
    }
}

/// The table that an entry's packets go on with.
fn goto(body: &Instructions) -> Option<TableId> {
    match body.list().last() {
        Some(Instruction::GotoTable(table)) => Some(*table),
        _ => None,
    }
}

/// The port, if all that actions do is to send the packet to one.
pub(super) fn sole_output(actions: &[Action]) -> Option<PortNo> {
    let [Action::Output(output)] = actions else {
        return None;
    };
    (output.port <= PortNo::MAX).then_some(output.port)
}

/// The port, if all that instructions do is to send the packet to one now.
fn step_output(body: &Instructions) -> Option<PortNo> {
    match body.list() {
        [Instruction::ApplyActions(actions)] => sole_output(actions),
        _ => None,
    }
}

/// Whether instructions do nothing but name the table to go on with, if any.
fn goes_on_only(body: &Instructions) -> bool {
    matches!(body.list(), [] | [Instruction::GotoTable(_)])
}

/// Where a path begins: the table, and whether hooks do nothing on it.
pub(super) fn start(table: TableId, quiet: bool) -> u64 {
    u64::from(table.0) << 1 | u64::from(quiet)
}

/// Sends a packet through the tables, along known paths where there are some.
pub(crate) fn known_paths<S: Sink>(
    context: &mut Context<'_, S>,
    walk: &mut Walk<'_>,
    mut next: Option<TableId>,
) -> Result<(), DropReason> {
    while let Some(table) = next {
        walk.table = table;
        let known = walk.flow.take();
        if known.is_none() {
            context.before_lookup(walk);
        }
        let quiet = known.is_some() || context.is_quiet();
        let known = known.or_else(|| context.known_path(start(table, quiet), walk.packet.key()));
        next = match known {
            Some(flow) => context.replay(walk, flow, quiet)?,
            None => context.record(walk, quiet)?,
        };
        context.lane.cache.stats.continued += u64::from(next.is_some());
    }
    Ok(())
}

impl<S: Sink> Context<'_, S> {
    /// Whether hooks do nothing more for a packet that they prepared.
    pub(super) fn is_quiet(&self) -> bool {
        self.hooks.all.iter().all(|hook| hook.is_quiet())
    }

    /// The flow of packets with this key, if it is known and still right.
    fn known_path(&mut self, start: u64, key: &Key) -> Option<u32> {
        let (cache, tables) = (&mut self.lane.cache, &mut self.pipeline.tables);
        let words = cache.words(start, key);
        let flow = cache.find(cache.hash(words.padded()), words.padded());
        let Some(flow) = flow else {
            cache.stats.misses += 1;
            return None;
        };
        let rival_wins = |rival: EntryKey, hit: Hit| {
            let entry = tables[usize::from(hit.table.0)].at(hit.slot);
            entry.is_none_or(|entry| rival < entry.key)
        };
        let right = if cache.is_current(flow) {
            Some(true)
        } else {
            cache.confirm(flow, key, rival_wins)
        };
        if right.unwrap_or_else(|| revalidates(cache, tables, flow, key)) {
            return Some(flow);
        }
        cache.forget(tables, flow);
        None
    }

    /// Does what is done for a flow's packets; the table to go on with, if any.
    fn replay(
        &mut self,
        walk: &mut Walk<'_>,
        slot: u32,
        quiet: bool,
    ) -> Result<Option<TableId>, DropReason> {
        self.lane.cache.stats.hits += 1;
        let counts = offload::wire_count(&walk.packet.frame);
        let flow = &self.lane.cache.flows[slot];
        let (program, n_hits) = (Rc::clone(&flow.program), flow.n_hits());
        let (mut counted, mut next) = (false, None);
        for step in &program.steps {
            (walk.table, walk.reason) = (step.table, step.reason);
            let number = usize::from(step.hit);
            if step.may_packet_in {
                let hit = self.lane.cache.flows[slot].hit(number);
                let entry = self.pipeline.tables[usize::from(hit.table.0)].at(hit.slot);
                walk.cookie = entry.expect("the flow is right").cookie;
            }
            if number + 1 == n_hits {
                // Segments of this packet may make the cache forget the flow.
                self.count(slot, counts);
                counted = true;
            }
            match self.run_step(walk, step, quiet) {
                Ok(to) => next = to,
                Err(reason) => {
                    if !counted {
                        self.count_part(slot, number, counts);
                    }
                    return Err(reason);
                }
            }
        }
        walk.table = program.last;
        if !counted {
            self.count(slot, counts);
        }
        if program.missed {
            return self.no_entry(walk);
        }
        Ok(program.next.and(next))
    }

    fn count(&mut self, slot: u32, (packets, bytes): (u64, u64)) {
        if self.lane.cache.flows[slot].count(self.now, packets, bytes) {
            self.mark_unsettled(slot);
        }
    }

    /// Notes that a flow has packets that its entries' counters lack.
    #[inline]
    pub(super) fn mark_unsettled(&mut self, slot: u32) {
        self.lane.cache.unsettled.push(slot);
        if self.lane.cache.unsettled.len() >= MAX_UNSETTLED {
            self.lane.cache.settle(&mut self.pipeline.tables);
        }
    }

    /// Counts a packet that came to an end at a hit before the last.
    fn count_part(&mut self, slot: u32, last: usize, (packets, bytes): (u64, u64)) {
        self.lane.cache.stats.cut_short += 1;
        for hit in self.lane.cache.flows[slot].hits().take(last + 1) {
            self.pipeline.tables[usize::from(hit.table.0)]
                .count(hit.slot, packets, bytes, self.now);
        }
    }

    fn run_step(
        &mut self,
        walk: &mut Walk<'_>,
        step: &ProgramStep,
        quiet: bool,
    ) -> Result<Option<TableId>, DropReason> {
        for hook in self.hooks.all.iter_mut().filter(|_| !quiet) {
            if hook.after_hit(self.now, step.table, walk.packet) == Verdict::Drop {
                return Err(DropReason::Hook);
            }
        }
        let Some(port) = step.output else {
            return self.act(walk, &step.body);
        };
        self.flush_pending(walk);
        walk.pending = Some(port);
        Ok(None)
    }

    /// Sends a packet through the tables as far as its path depends on nothing but its key, and
    /// remembers the path; the table to go on with, if any.
    fn record(&mut self, walk: &mut Walk<'_>, quiet: bool) -> Result<Option<TableId>, DropReason> {
        let (key, start) = (walk.packet.key().clone(), start(walk.table, quiet));
        let mut hits = core::mem::take(&mut self.lane.cache.spare_hits);
        hits.clear();
        let mut program = Program::default();
        let mut unchanged = true;
        walk.log = FieldSet::EMPTY;
        let result = loop {
            let table = walk.table;
            let result = self.one_table(walk);
            hits.push(Hit {
                slot: walk.hit.map_or(NONE, |hit| hit.slot),
                table,
            });
            program.last = table;
            program.unchanged += u8::from(unchanged);
            let entry = walk
                .hit
                .and_then(|hit| self.pipeline.tables[usize::from(table.0)].get(hit));
            let Some(entry) = entry else {
                program.missed = true;
                program.next = result.ok().flatten();
                break result;
            };
            let body = entry.instructions.clone();
            let effect = PathEffect::of(&body);
            // Of a packet that was cut, the segments have gone on.
            let goes_on = result.is_ok_and(|next| next == goto(&body));
            let (true, Ok(next)) = (goes_on, result) else {
                self.lane.cache.spare_hits = hits;
                return result;
            };
            if !goes_on_only(&body) || !quiet {
                program.steps.push(ProgramStep {
                    output: step_output(&body),
                    body,
                    table,
                    reason: walk.reason,
                    hit: hits.len() as u8 - 1,
                    may_packet_in: effect.may_packet_in,
                });
            }
            program.next = next;
            match next {
                Some(next) if quiet && !effect.unpredictable => walk.table = next,
                _ => break result,
            }
            unchanged &= !effect.sets_fields;
        };
        debug_assert!(
            self.lane.cache.fields.is_superset(walk.log),
            "I14: the key has what was read"
        );
        // What hooks see missing may be there the next time.
        if (!program.missed || quiet) && self.lane.cache.admits(start, &key) {
            if let Some(victim) = self.lane.cache.victim() {
                self.lane.cache.forget(&mut self.pipeline.tables, victim);
                self.lane.cache.stats.evicted += 1;
            }
            program.end = end(&program);
            self.lane.cache.insert(start, &key, program, &hits);
        }
        self.lane.cache.spare_hits = hits;
        result
    }
}

/// Whether packets of a flow, with this key, still hit the entries that they hit before, and
/// these do what they did.
fn revalidates(cache: &mut Cache, tables: &[Table], slot: u32, key: &Key) -> bool {
    let flow = &cache.flows[slot];
    let program = &flow.program;
    let next = |i| flow.hits().nth(i + 1).map(|hit| hit.table);
    let mut steps = program.steps.iter().peekable();
    let same = flow.hits().enumerate().all(|(i, hit)| {
        let table = &tables[usize::from(hit.table.0)];
        let found = table.lookup(key, &mut FieldSet::default());
        let step = steps.next_if(|step| usize::from(step.hit) == i);
        match (found.and_then(|key| table.get(key)), step) {
            (None, _) => hit.slot == NONE,
            (Some(entry), _) if entry.key.slot != hit.slot => false,
            (Some(entry), Some(step)) => {
                entry.instructions == step.body && entry.reason() == step.reason
            }
            (Some(entry), None) => {
                goes_on_only(&entry.instructions)
                    && goto(&entry.instructions) == next(i).or(program.next)
            }
        }
    });
    let same = same && usize::from(program.unchanged) == flow.n_hits();
    if same {
        cache.retraced(slot);
    }
    same
}
