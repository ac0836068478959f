//! Packets on known paths, and how paths become known.

use alloc::rc::Rc;

use bofuss_oflib::action::Output;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, FieldSet, Instruction, PortNo};
use bofuss_packet::{Key, offload};

use super::cache::{Flow, Hit, MAX_UNSETTLED, Program, ProgramStep};
use super::direct::{BATCH, end};
use crate::pipeline::Walk;
use crate::slab::NONE;
use crate::tables::masks;
use crate::{CacheStats, Datapath, DropReason, Engine, EntryKey, HookEffect, Sink, Time, Verdict};

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

impl Datapath {
    /// How often each thing happened in the cache.
    pub fn cache_stats(&self) -> CacheStats {
        self.cache.stats
    }

    /// Whether packets go along known paths.
    pub(crate) fn uses_cache<S: Sink>(&self) -> bool {
        let known = |effect| effect != HookEffect::Unknown;
        let engine = self.config.engine == Engine::Cache && !S::TRACES && !S::DRY;
        engine && self.hooks.iter().all(|hook| known(hook.effect()))
    }

    /// Whether hooks do nothing more for a packet that they prepared.
    pub(super) fn is_quiet(&self) -> bool {
        self.hooks.iter().all(|hook| hook.is_quiet())
    }

    /// Sends a packet through the tables.
    pub(crate) fn follow<S: Sink>(
        &mut self,
        now: Time,
        walk: &mut Walk<'_>,
        mut next: Option<TableId>,
        sink: &mut S,
    ) -> Result<(), DropReason> {
        while let Some(table) = next {
            walk.table = table;
            let known = walk.flow.take();
            if known.is_none() {
                self.before_lookup(now, walk, sink);
            }
            let quiet = known.is_some() || self.is_quiet();
            let known = known.or_else(|| self.known_path(start(table, quiet), walk.packet.key()));
            next = match known {
                Some(flow) => self.replay(now, walk, flow, quiet, sink)?,
                None => self.record(now, walk, quiet, sink)?,
            };
            self.cache.stats.continued += u64::from(next.is_some());
        }
        Ok(())
    }

    /// The flow of packets with this key, if it is known and still right.
    fn known_path(&mut self, start: u64, key: &Key) -> Option<u32> {
        let Self { cache, tables, .. } = self;
        let words = cache.words(start, key);
        let flow = cache.find(cache.hash(&words), &words);
        let Some(flow) = flow else {
            cache.stats.misses += 1;
            return None;
        };
        let rival_wins = |rival: EntryKey, hit: Hit| {
            let entry = tables[usize::from(hit.table.0)].at(hit.slot);
            entry.is_none_or(|entry| rival < entry.key)
        };
        let right = match cache.is_current(flow) {
            true => Some(true),
            false => cache.confirm(flow, key, rival_wins),
        };
        if right.unwrap_or_else(|| self.revalidates(flow, key)) {
            return Some(flow);
        }
        self.forget(flow);
        None
    }

    /// Whether packets of a flow, with this key, still hit the entries that they hit before, and
    /// these do what they did.
    fn revalidates(&mut self, slot: u32, key: &Key) -> bool {
        let flow = &self.cache.flows[slot];
        let program = &flow.program;
        let next = |i| flow.hits().nth(i + 1).map(|hit| hit.table);
        let mut steps = program.steps.iter().peekable();
        let same = flow.hits().enumerate().all(|(i, hit)| {
            let table = &self.tables[usize::from(hit.table.0)];
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
            self.cache.retraced(slot);
        }
        same
    }

    pub(super) fn forget(&mut self, flow: u32) {
        self.settle_flow(flow);
        self.cache.remove(flow);
    }

    /// Does what is done for a flow's packets; the table to go on with, if any.
    fn replay<S: Sink>(
        &mut self,
        now: Time,
        walk: &mut Walk<'_>,
        slot: u32,
        quiet: bool,
        sink: &mut S,
    ) -> Result<Option<TableId>, DropReason> {
        self.cache.stats.hits += 1;
        let counts = offload::wire_count(&walk.packet.frame);
        let flow = &self.cache.flows[slot];
        let (program, n_hits) = (Rc::clone(&flow.program), flow.n_hits());
        let (mut counted, mut next) = (false, None);
        for step in &program.steps {
            (walk.table, walk.reason) = (step.table, step.reason);
            let number = usize::from(step.hit);
            if step.may_packet_in {
                let hit = self.cache.flows[slot].hit(number);
                let entry = self.tables[usize::from(hit.table.0)].at(hit.slot);
                walk.cookie = entry.expect("the flow is right").cookie;
            }
            if number + 1 == n_hits {
                // Segments of this packet may make the cache forget the flow.
                self.count(now, slot, counts);
                counted = true;
            }
            match self.run_step(now, walk, step, quiet, sink) {
                Ok(to) => next = to,
                Err(reason) => {
                    if !counted {
                        self.count_part(now, slot, number, counts);
                    }
                    return Err(reason);
                }
            }
        }
        walk.table = program.last;
        if !counted {
            self.count(now, slot, counts);
        }
        if program.missed {
            return self.no_entry(now, walk, sink);
        }
        Ok(program.next.and(next))
    }

    fn count(&mut self, now: Time, slot: u32, (packets, bytes): (u64, u64)) {
        if self.cache.flows[slot].count(now, packets, bytes) {
            self.mark_unsettled(slot);
        }
    }

    /// Notes that a flow has packets that its entries' counters lack.
    #[inline]
    pub(super) fn mark_unsettled(&mut self, slot: u32) {
        self.cache.unsettled.push(slot);
        if self.cache.unsettled.len() >= MAX_UNSETTLED {
            self.settle();
        }
    }

    /// Counts a packet that came to an end at a hit before the last.
    fn count_part(&mut self, now: Time, slot: u32, last: usize, (packets, bytes): (u64, u64)) {
        self.cache.stats.cut_short += 1;
        for hit in self.cache.flows[slot].hits().take(last + 1) {
            self.tables[usize::from(hit.table.0)].count(hit.slot, packets, bytes, now);
        }
    }

    fn run_step<S: Sink>(
        &mut self,
        now: Time,
        walk: &mut Walk<'_>,
        step: &ProgramStep,
        quiet: bool,
        sink: &mut S,
    ) -> Result<Option<TableId>, DropReason> {
        for hook in self.hooks.iter_mut().filter(|_| !quiet) {
            if hook.after_hit(now, step.table, walk.packet) == Verdict::Drop {
                return Err(DropReason::Hook);
            }
        }
        let Some(port) = step.output else {
            return self.act(now, walk, &step.body, sink);
        };
        self.flush_pending(now, walk, sink);
        walk.pending = Some(port);
        Ok(None)
    }

    /// Sends a packet through the tables as far as its path depends on nothing but its key, and
    /// remembers the path; the table to go on with, if any.
    fn record<S: Sink>(
        &mut self,
        now: Time,
        walk: &mut Walk<'_>,
        quiet: bool,
        sink: &mut S,
    ) -> Result<Option<TableId>, DropReason> {
        let (key, start) = (*walk.packet.key(), start(walk.table, quiet));
        let mut hits = core::mem::take(&mut self.cache.spare_hits);
        hits.clear();
        let mut program = Program::default();
        let mut unchanged = true;
        walk.log = FieldSet::EMPTY;
        let result = loop {
            let table = walk.table;
            let result = self.one_table(now, walk, sink);
            hits.push(Hit {
                slot: walk.hit.map_or(NONE, |hit| hit.slot),
                table,
            });
            program.last = table;
            program.unchanged += u8::from(unchanged);
            let entry = walk
                .hit
                .and_then(|hit| self.tables[usize::from(table.0)].get(hit));
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
                self.cache.spare_hits = hits;
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
            self.cache.fields.is_superset(walk.log),
            "I14: the key has what was read"
        );
        // What hooks see missing may be there the next time.
        if (!program.missed || quiet) && self.cache.admits(start, &key) {
            if let Some(victim) = self.cache.victim() {
                self.forget(victim);
                self.cache.stats.evicted += 1;
            }
            program.end = end(&program);
            self.cache.insert(start, &key, program, &hits);
        }
        self.cache.spare_hits = hits;
        result
    }

    /// Adds what flows have counted to their entries and tables.
    pub(crate) fn settle(&mut self) {
        let mut unsettled = core::mem::take(&mut self.cache.unsettled);
        for flows in unsettled.chunks(BATCH) {
            let near = flows.iter().filter_map(|flow| self.cache.flows.get(*flow));
            near.flat_map(Flow::hits)
                .for_each(|hit| self.tables[usize::from(hit.table.0)].prefetch(hit.slot));
            flows.iter().for_each(|flow| self.settle_flow(*flow));
        }
        unsettled.clear();
        self.cache.unsettled = unsettled;
    }

    fn settle_flow(&mut self, slot: u32) {
        let Some(flow) = self.cache.flows.get_mut(slot) else {
            return;
        };
        let (packets, bytes) = (flow.packets, flow.bytes);
        if packets == 0 {
            return;
        }
        (flow.packets, flow.bytes) = (0, 0);
        for hit in flow.hits() {
            self.tables[usize::from(hit.table.0)].count(hit.slot, packets, bytes, flow.used);
        }
    }

    /// Has the cache know that an entry was added.
    pub(crate) fn entry_added(&mut self, table: TableId, key: EntryKey) {
        let rule = &self.tables[usize::from(table.0)].at(key.slot);
        let rule = &rule.expect("it was added just now").rule;
        let fields = self.cache.fields.union(rule.fields());
        self.cache.added(table, key, rule);
        if fields != self.cache.fields && self.config.engine == Engine::Cache {
            self.widen(fields);
        }
    }

    /// Has the cache's key be those fields, and forgets all flows once they are counted.
    pub(crate) fn widen(&mut self, fields: FieldSet) {
        let chosen = self.catalogue.fields().iter();
        let chosen = chosen.filter(|field| fields.contains(field));
        let mask = masks::whole(chosen.copied());
        self.settle();
        self.cache.widen(fields, mask);
    }

    /// Has the cache forget all flows once they are counted.
    pub(crate) fn forget_flows(&mut self) {
        self.widen(self.cache.fields);
    }

    /// Has the cache know that an entry is about to go, or to do something else.
    pub(crate) fn entry_gone(&mut self, table: TableId, key: EntryKey) {
        self.settle();
        self.cache.gone(table, key.slot);
    }
}
