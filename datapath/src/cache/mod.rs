//! The cache: from what a packet's path through the tables depended on to the path itself.
//!
//! One exact-match key, which is the fields that any entry reads and which fields there are; so
//! there is one probe, and traffic cannot make more of them. A path is a program: the instructions
//! of the entries hit, one after another. What it does is not remembered but done.

pub(crate) mod forgotten;
pub(crate) mod key_reader;
pub(crate) mod lookahead;
mod revalidation;
mod stats;
mod versions;
mod volatile_tables;

use alloc::{boxed::Box, collections::VecDeque, rc::Rc, vec::Vec};

use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::PacketInReason;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Catalogue, ExtValue, Field, FieldSet, PortNo};
use bofuss_packet::{KeyMask, Words};

use self::forgotten::{Forgotten, Round};
use self::key_reader::KeyReader;
use self::lookahead::{PortArrival, SetPlace, hash_stored};
use self::revalidation::LoggedChange;
pub use self::stats::CacheStats;
use self::versions::Versions;
use self::volatile_tables::VolatileTables;
use crate::direct_path::DirectPath;
use crate::hook::HookPoint;
use crate::slab::Slab;
use crate::tables::step_map::StepMap;
use crate::tables::tag_table::{Secret, TagTable};
use crate::upcoming::{Foreseen, Lookahead, WORDS};
use crate::{DropReason, EntryKey, Table, Time};

/// Packets whose memory is brought near together.
pub(crate) const BATCH: usize = 32;
/// Flows that may wait to have their packets added to their entries' counters.
pub(crate) const MAX_UNSETTLED: usize = 1024;
/// Flows among which the one that was idle for longest makes room.
const CANDIDATES: usize = 4;

/// Words of a key that a flow has in place: those of a 5-tuple and an Ethernet address.
pub(crate) const FEW: usize = 6;

/// Flows without room of which it is known that they had a packet.
const REFUSED: usize = 4096;

/// An entry that a flow's packets hit; in slot `NONE`, that no entry of the table matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) slot: u32,
    pub(crate) table: TableId,
}

/// One thing that is done for a flow's packets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ProgramStep {
    /// Instructions are executed.
    Execute(Body),
    /// A field gets the value that a hook gave it, or becomes absent.
    Set(&'static Field, Option<u128>),
    /// A hook is called.
    Call(PathCall),
}

/// An action of an extension that comes before all else on a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PathAction {
    pub(crate) hook: usize,
    /// The place of its row in the extension's list, and its value; none if the hook is asked about
    /// a miss.
    pub(crate) action: Option<(usize, ExtValue)>,
    pub(crate) table: TableId,
    /// Which of the flow's hits its entry is.
    pub(crate) hit: u8,
}

/// A hook that is called on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PathCall {
    pub(crate) hook: usize,
    pub(crate) table: TableId,
    /// How many of the flow's hits come before it.
    pub(crate) hits: u8,
    pub(crate) point: HookPoint,
}

/// The instructions of one entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Body {
    pub(crate) instructions: Instructions,
    pub(crate) table: TableId,
    pub(crate) reason: PacketInReason,
    /// Which of the flow's hits it is.
    pub(crate) hit: u8,
    /// Whether they may send the packet to the controllers, so that the cookie matters.
    pub(crate) may_packet_in: bool,
    /// The port, if all that they do is to send the packet to one.
    pub(crate) output: Option<PortNo>,
}

/// What is done for a flow's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Program {
    pub(crate) steps: Vec<ProgramStep>,
    /// The last table looked up.
    pub(crate) last: TableId,
    /// The table to go on with, from the key as it is then.
    pub(crate) next: Option<TableId>,
    /// How many of the hits were found by the key as it was at the start.
    pub(crate) unchanged: u8,
    /// Whether no entry matched in the last table,
    pub(crate) missed: bool,
    /// and hooks are asked whether it is looked up again.
    pub(crate) asks: bool,
    /// Whether it calls hooks.
    pub(crate) calls: bool,
    pub(crate) end: End,
    /// What comes before a simple end.
    pub(crate) actions: Vec<PathAction>,
    /// All that it does, if the end is [`End::Steps`].
    pub(crate) direct: Option<DirectPath>,
}

/// What becomes of a flow's packets, if that is simple.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum End {
    /// It is not.
    #[default]
    Other,
    /// They are sent to a port, and that is all; but for the program's actions, if it `acts`.
    Port { port: PortNo, acts: bool },
    /// They are dropped; the same holds.
    Drop { reason: DropReason, acts: bool },
    /// They are edited, metered, copied or sent to groups before they leave, and do not have to
    /// become packets for it.
    Steps,
}

/// Packets that have the same key. Two lines of the processor's caches.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Flow {
    /// What its entries' counters do not have yet.
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) used: Time,
    /// How many changes there had been when it was last known to be right.
    pub(crate) checked: u64,
    /// That of the program.
    pub(crate) end: End,
    pub(crate) program: Rc<Program>,
    /// The entries that were hit, in order: the first one, and the others.
    first: Hit,
    others: Box<[Hit]>,
    /// Where it starts, and the words of its key that count.
    pub(crate) key: Words<FEW>,
}

impl Program {
    /// The instructions that it executes, in order.
    pub(crate) fn executed(&self) -> impl Iterator<Item = &Body> {
        self.steps.iter().filter_map(|step| match step {
            ProgramStep::Execute(body) => Some(body),
            ProgramStep::Set(..) | ProgramStep::Call(_) => None,
        })
    }
}

impl Flow {
    pub(crate) fn hits(&self) -> impl Iterator<Item = Hit> {
        [self.first].into_iter().chain(self.others.iter().copied())
    }

    pub(crate) fn hit(&self, number: usize) -> Hit {
        match number.checked_sub(1) {
            None => self.first,
            Some(other) => self.others[other],
        }
    }

    pub(crate) fn n_hits(&self) -> usize {
        1 + self.others.len()
    }

    /// Counts packets; whether it had none that its entries' counters lack.
    #[inline]
    pub(crate) fn count(&mut self, now: Time, packets: u64, bytes: u64) -> bool {
        let first = self.packets == 0;
        self.packets += packets;
        self.bytes += bytes;
        self.used = now;
        first
    }
}

/// All flows that are remembered.
#[derive(Debug)]
pub(crate) struct Cache {
    pub(crate) secret: Secret,
    pub(crate) flows: Slab<Flow>,
    pub(crate) index: TagTable,
    pub(crate) programs: StepMap<Rc<Program>, ()>,
    /// The fields of the key.
    pub(crate) fields: FieldSet,
    pub(crate) mask: KeyMask,
    pub(crate) volatile_tables: VolatileTables,
    /// Changes so far, and the last of them.
    pub(crate) changes: u64,
    log: VecDeque<LoggedChange>,
    max_log: usize,
    /// Which flows the changes may concern.
    versions: Versions,
    /// Whether flows of this burst were older than the last change: those of the next may be, too.
    renews: bool,
    max_flows: usize,
    clock_hand: u32,
    /// Of flows that were not remembered because there was no room, some bits of the hashes.
    refused: Vec<u16>,
    /// Flows with packets that their entries' counters do not have; some may be gone.
    pub(crate) unsettled: Vec<u32>,
    /// All flows of other keys.
    pub(crate) forgotten: Vec<Forgotten>,
    pub(crate) round: Round,
    /// Finds the words of the key in a frame.
    pub(crate) reader: KeyReader,
    /// Kept for their memory.
    pub(crate) spare_hits: Vec<Hit>,
    pub(crate) lookaheads: Vec<Lookahead>,
    pub(crate) arrival: Option<Box<PortArrival>>,
    pub(crate) foreseen: Foreseen,
    /// Of the fields that hooks have set last, in their order.
    places: Vec<SetPlace>,
    pub(crate) stats: CacheStats,
}

impl Cache {
    pub(crate) fn new(secret: u64, max_flows: u32, max_log: u32) -> Self {
        let mask = KeyMask::whole([].into_iter());
        Self {
            secret: Secret::new(secret),
            flows: Slab::default(),
            index: TagTable::default(),
            programs: StepMap::default(),
            fields: FieldSet::EMPTY,
            reader: KeyReader::new(&mask),
            mask,
            volatile_tables: VolatileTables::default(),
            changes: 0,
            log: VecDeque::new(),
            max_log: max_log as usize,
            versions: Versions::default(),
            renews: false,
            max_flows: max_flows as usize,
            clock_hand: 0,
            refused: alloc::vec![0; REFUSED],
            unsettled: Vec::new(),
            forgotten: Vec::new(),
            round: Round::default(),
            spare_hits: Vec::new(),
            lookaheads: Vec::new(),
            arrival: None,
            foreseen: Foreseen::default(),
            places: Vec::new(),
            stats: CacheStats::default(),
        }
    }

    /// Whether packets of a flow just go to a port, or nowhere, and cause nothing else.
    pub(crate) fn is_simple(&self, flow: u32) -> bool {
        match self.flows[flow].end {
            End::Port { acts, .. } | End::Drop { acts, .. } => !acts,
            End::Steps | End::Other => false,
        }
    }

    /// Remembers a path under these words and their hash.
    pub(crate) fn insert(
        &mut self,
        (hash, words): (u64, &Words<WORDS>),
        program: Program,
        hits: &[Hit],
    ) {
        let program = self.share(program);
        let words = words.get(self.width());
        let stored = Words::new(words.len(), words.iter().copied());
        let slot = self.flows.insert(|_| Flow {
            packets: 0,
            bytes: 0,
            used: Time(0),
            checked: self.changes,
            end: program.end,
            program,
            first: hits[0],
            others: hits[1..].into(),
            key: stored,
        });
        let (secret, flows) = (&self.secret, &self.flows);
        self.index.insert(hash, slot, |slot: u32| {
            hash_stored(secret, &flows[slot].key)
        });
    }

    /// The program as other flows have it, if one does the same.
    fn share(&mut self, program: Program) -> Rc<Program> {
        if let Some((known, ())) = self.programs.get(&program) {
            return Rc::clone(known);
        }
        let program = Rc::new(program);
        self.programs.insert(Rc::clone(&program), ());
        program
    }

    /// Forgets a flow, whose packets were counted.
    pub(crate) fn remove(&mut self, slot: u32) {
        let hash = hash_stored(&self.secret, &self.flows[slot].key);
        self.index.replace(hash, slot, None);
        if let Some(flow) = self.flows.remove(slot)
            && Rc::strong_count(&flow.program) == 2
        {
            self.programs.remove(&flow.program);
        }
    }

    /// Whether a flow may be remembered: when there is no room, from its second packet on, so that
    /// packets that come alone do not drive out flows that live.
    pub(crate) fn admits(&mut self, hash: u64) -> bool {
        if self.flows.len() < self.max_flows {
            return true;
        }
        let place = &mut self.refused[(hash >> 32) as usize % REFUSED];
        let again = core::mem::replace(place, hash as u16 | 1) == hash as u16 | 1;
        self.stats.refused += u64::from(!again);
        again
    }

    /// The flow that has to go before another one is remembered, if there is no room.
    pub(crate) fn victim(&mut self) -> Option<u32> {
        if self.flows.len() < self.max_flows {
            return None;
        }
        let end = self.flows.end();
        let around = (0..end).map(|i| (self.clock_hand + i) % end);
        let used = around.filter_map(|slot| Some((self.flows.get(slot)?.used, slot)));
        let victim = used.take(CANDIDATES).min();
        self.clock_hand = (self.clock_hand + CANDIDATES as u32) % end;
        victim.map(|(_, slot)| slot)
    }

    /// Adds what flows have counted to their entries and tables.
    pub(crate) fn settle(&mut self, tables: &mut [Table]) {
        let mut unsettled = core::mem::take(&mut self.unsettled);
        for flows in unsettled.chunks(BATCH) {
            let near = flows.iter().filter_map(|flow| self.flows.get(*flow));
            near.flat_map(Flow::hits)
                .for_each(|hit| tables[usize::from(hit.table.0)].prefetch_counters(hit.slot));
            flows
                .iter()
                .for_each(|flow| self.settle_flow(tables, *flow));
        }
        unsettled.clear();
        self.unsettled = unsettled;
    }

    fn settle_flow(&mut self, tables: &mut [Table], slot: u32) {
        let Some(flow) = self.flows.get_mut(slot) else {
            return;
        };
        let (packets, bytes) = (flow.packets, flow.bytes);
        if packets == 0 {
            return;
        }
        (flow.packets, flow.bytes) = (0, 0);
        for hit in flow.hits() {
            tables[usize::from(hit.table.0)].count(hit.slot, packets, bytes, flow.used);
        }
    }

    /// Notes that an entry was added. If it reads a further field, the key has that from now on,
    /// and all flows are forgotten once they are counted.
    pub(crate) fn entry_added(
        &mut self,
        catalogue: &Catalogue,
        tables: &mut [Table],
        table: TableId,
        key: EntryKey,
    ) {
        let entry = tables[usize::from(table.0)].at(key.slot);
        let rule = &entry.expect("it was added just now").rule;
        self.note(LoggedChange::Added(table, key, rule.clone()), rule);
        self.entry_staged(catalogue, tables, table, key);
    }

    /// The same for an entry that packets do not see yet: the key has its fields, and no flow
    /// becomes wrong.
    pub(crate) fn entry_staged(
        &mut self,
        catalogue: &Catalogue,
        tables: &mut [Table],
        table: TableId,
        key: EntryKey,
    ) {
        let entry = tables[usize::from(table.0)].at(key.slot);
        let rule = &entry.expect("it was added just now").rule;
        let volatile = catalogue.additions().volatile;
        let fields = self.fields.union(rule.fields().difference(volatile));
        let is_first = tables[usize::from(table.0)].len() == 1;
        let is_volatile = !rule.fields().is_disjoint(volatile);
        self.volatile_tables
            .entry_added(table, is_first, is_volatile);
        if fields != self.fields {
            self.widen(catalogue, tables, fields);
        }
    }

    /// Notes that an entry is about to go, or to do something else.
    pub(crate) fn entry_gone(&mut self, tables: &mut [Table], table: TableId, key: EntryKey) {
        self.settle(tables);
        let hit = Hit {
            slot: key.slot,
            table,
        };
        if let Some(entry) = tables[usize::from(table.0)].at(key.slot) {
            self.note(LoggedChange::Gone(hit), &entry.rule);
        }
    }

    /// Counts all flows and forgets them.
    pub(crate) fn forget_all(&mut self, catalogue: &Catalogue, tables: &mut [Table]) {
        self.widen(catalogue, tables, self.fields);
    }

    /// Makes these fields the key, and forgets all flows once they are counted.
    pub(crate) fn widen(&mut self, catalogue: &Catalogue, tables: &mut [Table], fields: FieldSet) {
        let chosen = catalogue.fields().iter();
        let chosen = chosen.filter(|field| fields.contains(field));
        let mask = KeyMask::whole(chosen.copied());
        self.settle(tables);
        self.reader = KeyReader::new(&mask);
        self.places.clear();
        (self.fields, self.mask) = (fields, mask);
        if self.flows.len() > 0 {
            self.forgotten.push(Forgotten {
                flows: core::mem::take(&mut self.flows),
                index: core::mem::take(&mut self.index),
                programs: core::mem::take(&mut self.programs),
            });
        }
        self.versions.clear(self.changes);
        self.stats.widened += 1;
    }

    /// Counts a flow's packets and forgets it.
    pub(crate) fn forget(&mut self, tables: &mut [Table], slot: u32) {
        self.settle_flow(tables, slot);
        self.remove(slot);
    }
}
