//! The pipeline that all engines run: tables, instructions, action set, one packet at a time.
//! Spec: OpenFlow 1.3.5 section 5.1.

mod apply;
pub(crate) mod buckets;
mod metering;
pub(crate) mod normal;
mod output;
pub(crate) mod work;

use alloc::vec::Vec;

use bofuss_oflib::field::{ETH_TYPE, IN_PHY_PORT};
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::PacketInReason;
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::message::table_mod::TableMiss;
use bofuss_oflib::types::{QueueId, TableId};
use bofuss_oflib::{Action, Catalogue, FieldSet, Instruction, Match, PortNo};
use bofuss_packet::{Packet, offload};

use crate::action_set::ActionSet;
use crate::pipeline::buckets::MAX_BUCKETS_PER_PACKET;
use crate::references::meter;
use crate::slab::NONE;
use crate::{Datapath, DropReason, Entry, EntryKey, Lost, Port, Sink, Step, Time, Verdict};

/// Entries that a trace names for having lost a lookup.
const LOST_SHOWN: usize = 4;
/// Entries of a table among which they are looked for.
const LOST_SEARCHED: usize = 10_000;
/// The cookie of a packet-in that no single entry caused.
pub(crate) const NO_COOKIE: u64 = u64::MAX;

/// A packet on its way.
pub(crate) struct Walk<'a> {
    pub(crate) packet: &'a mut Packet,
    pub(crate) set: ActionSet,
    pub(crate) table: TableId,
    pub(crate) cookie: u64,
    /// Why an output to the controllers would happen now.
    pub(crate) reason: PacketInReason,
    pub(crate) queue: QueueId,
    /// An output that still waits for the packet: the last one needs no copy.
    pub(crate) pending: Option<PortNo>,
    /// Whether it went anywhere yet.
    pub(crate) sent: bool,
    /// Whether an output to TABLE is allowed: from a packet-out, before the tables.
    pub(crate) may_enter: bool,
    /// Groups that forwarded to each other so far.
    pub(crate) depth: u8,
    /// Buckets that it may still enter.
    pub(crate) buckets_left: u16,
    /// Whether no entry matched.
    pub(crate) unmatched: bool,
    /// The entry that was hit last.
    pub(crate) hit: Option<EntryKey>,
    /// The fields that lookups have read.
    pub(crate) log: FieldSet,
    /// Its flow in the cache, if it is known, and the packet prepared for its first table.
    pub(crate) flow: Option<u32>,
}

impl<'a> From<&'a mut Packet> for Walk<'a> {
    #[inline]
    fn from(packet: &'a mut Packet) -> Self {
        Self {
            packet,
            set: ActionSet::default(),
            table: TableId(0),
            cookie: NO_COOKIE,
            reason: PacketInReason::ACTION,
            queue: QueueId(0),
            pending: None,
            sent: false,
            may_enter: false,
            depth: 0,
            buckets_left: MAX_BUCKETS_PER_PACKET,
            unmatched: false,
            hit: None,
            log: FieldSet::EMPTY,
            flow: None,
        }
    }
}

impl Datapath {
    /// Sends a packet through the tables from table 0 on, on the way of `flow` if that is known.
    pub(crate) fn run<S: Sink>(
        &mut self,
        now: Time,
        packet: &mut Packet,
        flow: Option<u32>,
        sink: &mut S,
    ) {
        if S::TRACES {
            sink.step(received(packet, &self.catalogue));
        }
        if packet.is_fragment() && self.fragments != ConfigFlags(0) {
            return self.treat_fragment(now, packet, sink);
        }
        let mut walk = Walk::from(packet);
        (walk.set, walk.flow) = (core::mem::take(&mut self.spare_set), flow);
        let result = self.tables_and_set(now, &mut walk, Some(TableId(0)), sink);
        walk.set.clear();
        self.spare_set = core::mem::take(&mut walk.set);
        self.end_copy(now, &mut walk, result, sink);
    }

    /// Sends a packet through the tables for the steps of its trace: with a sink that is
    /// [`Sink::DRY`], nothing is counted, learned or changed.
    pub fn trace<S: Sink>(&mut self, now: Time, mut packet: Packet, sink: &mut S) {
        let ingress = self.ports.get(&packet.in_port());
        match ingress.map_or(Some(DropReason::NoSuchPort), Port::ingress_block) {
            None => {
                self.work.begin_frame();
                self.run(now, &mut packet, None, sink);
                self.bridge.tried.clear();
            }
            Some(reason) => {
                sink.step(received(&packet, &self.catalogue));
                self.drop(reason, sink);
            }
        }
    }

    /// Applies a packet-out's actions to its packet.
    pub fn packet_out<S: Sink>(
        &mut self,
        now: Time,
        mut packet: Packet,
        actions: &[Action],
        sink: &mut S,
    ) {
        self.work.begin_frame();
        let mut walk = Walk::from(&mut packet);
        walk.may_enter = true;
        let result = actions
            .iter()
            .try_for_each(|a| self.apply(now, &mut walk, a, sink));
        self.end_copy(now, &mut walk, result, sink);
    }

    /// Lets a packet's last output have the packet itself, and accounts for one that went nowhere.
    pub(crate) fn end_copy<S: Sink>(
        &mut self,
        now: Time,
        walk: &mut Walk<'_>,
        result: Result<(), DropReason>,
        sink: &mut S,
    ) {
        match (result, walk.pending.take()) {
            (Ok(()), None) if !walk.sent => self.drop(DropReason::NoOutput, sink),
            (Ok(()), None) => {}
            (Ok(()), Some(port)) => self.output(now, walk.packet, port, walk.queue, sink),
            (Err(reason), pending) => {
                if let Some(port) = pending {
                    self.output(now, walk.packet, port, walk.queue, sink);
                }
                self.drop(reason, sink);
            }
        }
    }

    /// Sends a packet through the tables from `next` on, if that is one; then executes its action
    /// set.
    pub(crate) fn tables_and_set<S: Sink>(
        &mut self,
        now: Time,
        walk: &mut Walk<'_>,
        mut next: Option<TableId>,
        sink: &mut S,
    ) -> Result<(), DropReason> {
        if self.uses_cache::<S>() {
            self.follow(now, walk, next, sink)?;
        } else {
            while let Some(table) = next {
                walk.table = table;
                self.before_lookup(now, walk, sink);
                next = self.one_table(now, walk, sink)?;
            }
        }
        if walk.set.is_empty() {
            return Ok(());
        }
        if S::TRACES {
            sink.step(Step::ActionSet);
        }
        (walk.cookie, walk.reason) = (NO_COOKIE, PacketInReason::ACTION);
        let set = core::mem::take(&mut walk.set);
        let result = set
            .in_order()
            .try_for_each(|a| self.apply(now, walk, a, sink));
        walk.set = set;
        result
    }

    /// Has hooks prepare a packet for the present table.
    pub(crate) fn before_lookup<S: Sink>(&mut self, now: Time, walk: &mut Walk<'_>, sink: &mut S) {
        let number = walk.table;
        for hook in &mut self.hooks {
            let before = S::TRACES.then(|| *walk.packet.key());
            if S::DRY {
                hook.peek(now, number, walk.packet);
            } else {
                hook.before_lookup(now, number, walk.packet);
            }
            // A field that a hook only gives its initial value says nothing about this packet.
            if before.is_some_and(|key| !key.has_values_of(walk.packet.key())) {
                sink.step(Step::Hook(hook.name(), hook.effect()));
            }
        }
    }

    /// Looks up one table and executes the entry's instructions; the table to go on with, if any.
    pub(crate) fn one_table<S: Sink>(
        &mut self,
        now: Time,
        walk: &mut Walk<'_>,
        sink: &mut S,
    ) -> Result<Option<TableId>, DropReason> {
        let number = walk.table;
        self.look_up(walk);
        let mut hooks = self.hooks.iter_mut().filter(|_| !S::DRY);
        if walk.hit.is_none() && hooks.any(|h| h.on_miss(now, number, walk.packet)) {
            self.look_up(walk);
        }
        let table = &mut self.tables[usize::from(number.0)];
        if !S::DRY {
            let (packets, bytes) = offload::wire_count(&walk.packet.frame);
            table.count(walk.hit.map_or(NONE, |hit| hit.slot), packets, bytes, now);
        }
        if S::TRACES {
            self.trace_lookup(walk, sink);
        }
        let Some(key) = walk.hit else {
            return self.no_entry(now, walk, sink);
        };
        let entry = self.tables[usize::from(number.0)].get(key);
        let entry = entry.expect("the entry was hit just now");
        let instructions = entry.instructions.clone();
        walk.cookie = entry.cookie;
        walk.reason = entry.reason();
        for hook in self.hooks.iter_mut().filter(|_| !S::DRY) {
            if hook.after_hit(now, number, walk.packet) == Verdict::Drop {
                return Err(DropReason::Hook);
            }
        }
        self.act(now, walk, &instructions, sink)
    }

    /// Executes an entry's instructions, on each segment if the packet has to be cut for it; the
    /// table that it goes on with, if any.
    pub(crate) fn act<S: Sink>(
        &mut self,
        now: Time,
        walk: &mut Walk<'_>,
        instructions: &Instructions,
        sink: &mut S,
    ) -> Result<Option<TableId>, DropReason> {
        match meter(instructions) {
            Some(id) if !self.meters_whole(now, id, walk.packet) => {
                self.execute_by_segments(now, walk, instructions, sink)
            }
            _ => self.execute_all(now, walk, instructions, sink),
        }
    }

    /// Executes an entry's instructions; the table that it goes on with, if any.
    pub(crate) fn execute_all<S: Sink>(
        &mut self,
        now: Time,
        walk: &mut Walk<'_>,
        instructions: &Instructions,
        sink: &mut S,
    ) -> Result<Option<TableId>, DropReason> {
        let mut next = None;
        for instruction in instructions.list() {
            next = self.execute(now, walk, instruction, sink)?;
        }
        Ok(next)
    }

    /// Does what the present table says of a packet that no entry matches: drops it, once it was
    /// offered to the controllers if one takes such packets; or gives the table to go on with.
    pub(crate) fn no_entry<S: Sink>(
        &mut self,
        now: Time,
        walk: &mut Walk<'_>,
        sink: &mut S,
    ) -> Result<Option<TableId>, DropReason> {
        let miss = self.tables[usize::from(walk.table.0)].miss;
        if miss == TableMiss::CONTINUE {
            let after = walk.table.0.checked_add(1).map(TableId);
            if let Some(next) = after.filter(|next| self.has_table(*next)) {
                return Ok(Some(next));
            }
        } else if miss != TableMiss::DROP && sink.wants_misses() {
            walk.cookie = NO_COOKIE;
            walk.unmatched = true;
            self.offer_to_controllers(now, walk, PacketInReason::NO_MATCH, None, sink);
        }
        Err(DropReason::TableMiss)
    }

    /// Executes one instruction; the table that it goes on with, if any.
    pub(crate) fn execute<S: Sink>(
        &mut self,
        now: Time,
        walk: &mut Walk<'_>,
        instruction: &Instruction,
        sink: &mut S,
    ) -> Result<Option<TableId>, DropReason> {
        if S::TRACES {
            sink.step(Step::Instruction(instruction));
        }
        match instruction {
            Instruction::Meter(id) => self.enter_meter(now, *id, walk.packet, sink)?,
            Instruction::ApplyActions(actions) => {
                actions
                    .iter()
                    .try_for_each(|a| self.apply(now, walk, a, sink))?;
            }
            Instruction::ClearActions => walk.set.clear(),
            Instruction::WriteActions(actions) => walk.set.write(actions),
            Instruction::WriteMetadata { value, mask } => {
                walk.packet.write_metadata(*value, *mask);
            }
            Instruction::Experimenter(value) => self.apply_extension::<S>(now, walk, value)?,
            Instruction::GotoTable(table) => return Ok(Some(*table)),
        }
        Ok(None)
    }

    /// Notes which entry of the present table the packet hits.
    fn look_up(&self, walk: &mut Walk) {
        let table = &self.tables[usize::from(walk.table.0)];
        walk.hit = table.lookup(walk.packet.key(), &mut walk.log);
    }

    fn trace_lookup<S: Sink>(&mut self, walk: &Walk<'_>, sink: &mut S) {
        let (key, table) = (walk.packet.key(), &self.tables[usize::from(walk.table.0)]);
        let tell = |entry: &Entry| entry.rule.to_match(&self.catalogue);
        let won = walk.hit.and_then(|hit| table.get(hit));
        // One that comes behind is told of if it matches, too.
        let rank = |entry: &Entry| {
            let behind = won.is_some_and(|won| entry.key > won.key);
            (behind, key.distance(&entry.rule), entry.key)
        };
        let entries = table.entries(EntryKey::FIRST).map(|(_, entry)| entry);
        let others = entries
            .take(LOST_SEARCHED)
            .filter(|one| walk.hit != Some(one.key));
        let ranked = others.map(|entry| (rank(entry), entry));
        let mut near: Vec<_> = ranked
            .filter(|((behind, far, _), _)| !behind || *far == 0)
            .collect();
        near.sort_unstable_by_key(|(rank, _)| *rank);
        let lost = near.into_iter().take(LOST_SHOWN).map(|(_, entry)| {
            let fields = tell(entry);
            let differs = fields.fields().iter().filter(|one| !key.has(one, &mut ()));
            let mut differs: Vec<_> = differs
                .map(|one| (*one, key.get(one.field, &mut ())))
                .collect();
            // All fields are there, but for who skips one VLAN tag they stand behind a second.
            if differs.is_empty()
                && !key.matches(&entry.rule, &mut ())
                && let Some(eth_type) = fields.get(ETH_TYPE)
            {
                let second = key.second_tag(&mut ()).map(u128::from);
                differs.push((*eth_type, second));
            }
            Lost {
                priority: entry.key.priority.0,
                differs,
                fields,
            }
        });
        let lost = lost.collect();
        let fields = won.map(tell);
        let won = won.zip(fields.as_ref());
        let won = won.map(|(e, fields)| (e.key.priority.0, fields, e.cookie));
        let key = describe(walk.packet, &self.catalogue);
        sink.step(Step::Lookup(walk.table, key, won, lost));
    }

    /// Drops a fragment, or keeps it until the whole packet that it is of can be sent through the
    /// tables.
    fn treat_fragment<S: Sink>(&mut self, now: Time, packet: &mut Packet, sink: &mut S) {
        if self.fragments.has(ConfigFlags::FRAG_DROP) {
            return self.drop(DropReason::Fragment, sink);
        }
        if S::TRACES {
            sink.step(Step::Fragment);
        }
        let (whole, lost) = match S::DRY {
            true => (None, 0),
            false => self.reassembler.add(now.0, packet.take()),
        };
        (0..lost).for_each(|_| self.drop(DropReason::FragmentRefused, sink));
        if let Some(mut whole) = whole {
            self.run(now, &mut whole, None, sink);
        }
    }
}

fn received<'a>(packet: &'a Packet, catalogue: &Catalogue) -> Step<'a> {
    let key = describe(packet, catalogue);
    Step::Received(packet.in_port(), key, packet.frame.bytes())
}

/// A packet's key as a match that only such packets have; metadata and extensions' fields that
/// are as they begin are left out.
fn describe(packet: &Packet, catalogue: &Catalogue) -> Match {
    let all = packet.key().to_match(catalogue);
    let shown = all.fields().iter().filter(|one| {
        let from_packet = !one.field.at.is_empty();
        let initial = u128::from(one.field.initial.unwrap_or(0));
        (from_packet || one.number() != initial) && one.field.id != IN_PHY_PORT.id
    });
    Match::new(&shown.copied().collect::<Vec<_>>()).unwrap_or_default()
}
