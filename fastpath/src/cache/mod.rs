//! The flow cache: maps everything on which a packet's path through the tables depended to the path
//! itself.
//!
//! There is one exact-match key: all fields that any entry reads, and which fields are present. So
//! a lookup is one probe, and no traffic can cause more probes. A path is a program: the
//! instructions of the entries hit, one after another. Not their results are cached; they are
//! executed again for each packet.

pub(crate) mod below;
mod below_index;
pub(crate) mod flow_key;
pub(crate) mod forgotten;
pub(crate) mod key_reader;
pub(crate) mod lookahead;
mod revalidation;
mod stats;
mod versions;
mod volatile_tables;

use alloc::{boxed::Box, collections::VecDeque, rc::Rc, vec::Vec};

use bofuss_datapath::StepMap;
use bofuss_datapath::engine::{HookPoint, Lookahead, Predicted, Slab, TagTable, WORDS};
use bofuss_datapath::{DropReason, EntryKey, Table, Time};
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::PacketInReason;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Catalogue, ExtValue, Field, FieldSet, PortNo};
use bofuss_packet::{KeyMask, Words};

use self::below::Below;
use self::flow_key::{FEW, FlowKey};
use self::forgotten::{Forgotten, Round};
use self::lookahead::PortArrival;
use self::revalidation::LoggedChange;
pub use self::stats::CacheStats;
use self::versions::Versions;
use self::volatile_tables::VolatileTables;
use crate::direct_path::DirectPath;

/// The number of packets prefetched together.
pub(crate) const BATCH: usize = 32;
/// The most flows whose packets may wait to be added to the counters of entries.
pub(crate) const MAX_UNSETTLED: usize = 1024;
/// The number of flows compared for eviction; the flow that was idle for longest is evicted.
const CANDIDATES: usize = 4;

/// The number of hashes of recently refused flows kept for the admission.
const REFUSED: usize = 4096;

/// An entry that a flow's packets hit; slot `NONE` means that no entry of the table matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) slot: u32,
    pub(crate) table: TableId,
}

/// One step of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ProgramStep {
    /// Instructions are executed.
    Execute(Body),
    /// A field is set to the value that a hook gave it, or marked as absent.
    Set(&'static Field, Option<u128>),
    /// A hook is called.
    Call(PathCall),
}

/// An action of an extension that comes before all else on a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PathAction {
    pub(crate) hook: usize,
    /// The place of its row in the extension's list, and its value; `None` if the hook is called
    /// for a miss.
    pub(crate) action: Option<(usize, ExtValue)>,
    pub(crate) table: TableId,
    /// The index of its entry among the flow's hits.
    pub(crate) hit: u8,
}

/// A hook that is called on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PathCall {
    pub(crate) hook: usize,
    pub(crate) table: TableId,
    /// The number of the flow's hits that precede it.
    pub(crate) hits: u8,
    pub(crate) point: HookPoint,
}

/// The instructions of one entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Body {
    pub(crate) instructions: Instructions,
    pub(crate) table: TableId,
    pub(crate) reason: PacketInReason,
    /// The index of its entry among the flow's hits.
    pub(crate) hit: u8,
    /// True if they may cause a packet-in, so that the cookie matters.
    pub(crate) may_packet_in: bool,
    /// The port, if they do nothing but output the packet to one.
    pub(crate) output: Option<PortNo>,
}

/// The program for a flow's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Program {
    pub(crate) steps: Vec<ProgramStep>,
    /// The last table looked up.
    pub(crate) last: TableId,
    /// The table in which the next path begins, with the key as it is then.
    pub(crate) next: Option<TableId>,
    /// The number of hits that were found before the key was first changed.
    pub(crate) unchanged: u8,
    /// True if no entry matched in the last table.
    pub(crate) missed: bool,
    /// True if hooks are called for that miss and may have the packet looked up again.
    pub(crate) asks: bool,
    /// True if it calls hooks.
    pub(crate) calls: bool,
    pub(crate) end: End,
    /// The actions of extensions that precede a simple end.
    pub(crate) actions: Vec<PathAction>,
    /// Its steps, if the end is [`End::Steps`].
    pub(crate) direct: Option<DirectPath>,
}

/// The effect of a program, if it is simple enough for the direct path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum End {
    /// It is not simple.
    #[default]
    Other,
    /// Packets are output to a port and nothing else happens, except for the program's `actions` if
    /// it `acts`.
    Port { port: PortNo, acts: bool },
    /// Packets are dropped and nothing else happens, except for the program's `actions` if it
    /// `acts`.
    Drop { reason: DropReason, acts: bool },
    /// Frames are edited, metered, copied or sent to groups before they leave, without becoming
    /// packets.
    Steps,
}

/// The packets that have the same key. The size is two cache lines (128 bytes).
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Flow {
    /// Packets and bytes that are not yet in the counters of its entries.
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) used: Time,
    /// The number of the last change when it was last known to be right.
    pub(crate) checked: u64,
    /// The end of its program.
    pub(crate) end: End,
    pub(crate) program: Rc<Program>,
    /// The entries that were hit, in order: the first, and the others.
    first: Hit,
    others: Box<[Hit]>,
    /// The start of its path, and the masked words of its key.
    pub(crate) key: Words<FEW>,
}

impl Program {
    /// The instructions that the program executes, in order.
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

    /// Returns true if packets are only output to one port or dropped, and cause nothing else.
    pub(crate) fn is_simple(&self) -> bool {
        match self.end {
            End::Port { acts, .. } | End::Drop { acts, .. } => !acts,
            End::Steps | End::Other => false,
        }
    }

    /// Counts packets. Returns true if the flow had nothing unsettled before.
    #[inline]
    pub(crate) fn count(&mut self, now: Time, packets: u64, bytes: u64) -> bool {
        let first = self.packets == 0;
        self.packets += packets;
        self.bytes += bytes;
        self.used = now;
        first
    }
}

/// The programs of all flows, each of which is there once.
#[derive(Debug, Default)]
pub(crate) struct Programs(pub(crate) StepMap<Rc<Program>, ()>);

impl Programs {
    /// Shares a program with the other flows that have it.
    fn share(&mut self, program: Program) -> Rc<Program> {
        if let Some((known, ())) = self.0.get(&program) {
            return Rc::clone(known);
        }
        let program = Rc::new(program);
        self.0.insert(Rc::clone(&program), ());
        program
    }

    /// Gives a program up, unless another flow than the caller's has it.
    fn release(&mut self, program: &Rc<Program>) {
        if Rc::strong_count(program) == 2 {
            self.0.remove(program);
        }
    }
}

/// The cached flows, and what is needed to find and check them.
#[derive(Debug)]
pub struct Cache {
    /// What identifies a flow.
    pub(crate) key: FlowKey,
    pub(crate) flows: Slab<Flow>,
    pub(crate) index: TagTable,
    pub(crate) programs: Programs,
    pub(crate) volatile_tables: VolatileTables,
    /// The number of changes so far, and a log of the last changes.
    pub(crate) changes: u64,
    log: VecDeque<LoggedChange>,
    max_log: usize,
    /// The flows that the changes may concern.
    versions: Versions,
    /// True if flows of this burst were older than the last change; then those of the next burst
    /// may be as well, and what checks them is prefetched.
    renews: bool,
    max_flows: usize,
    clock_hand: u32,
    /// Some bits of the hashes of flows that were recently refused for lack of room.
    refused: Vec<u16>,
    /// Flows with unsettled packets; some may have been removed meanwhile.
    pub(crate) unsettled: Vec<u32>,
    /// The flows of former keys, which are being freed.
    pub(crate) forgotten: Vec<Forgotten>,
    pub(crate) round: Round,
    /// An empty list that is kept for its memory.
    pub(crate) spare_hits: Vec<Hit>,
    pub(crate) lookaheads: Vec<Lookahead>,
    pub(crate) arrival: Option<Box<PortArrival>>,
    pub(crate) predicted: Predicted,
    pub(crate) stats: CacheStats,
    /// What forwards frames below the switch.
    pub(crate) below: Below,
}

impl Cache {
    /// Its counters.
    pub fn stats(&self) -> CacheStats {
        self.stats
    }

    pub(crate) fn new(secret: u64, max_flows: u32, max_log: u32) -> Self {
        Self {
            key: FlowKey::new(secret),
            flows: Slab::default(),
            index: TagTable::default(),
            programs: Programs::default(),
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
            predicted: Predicted::default(),
            stats: CacheStats::default(),
            below: Below::default(),
        }
    }

    /// Caches a path under these words and their hash.
    pub(crate) fn insert(
        &mut self,
        (hash, words): (u64, &Words<WORDS>),
        program: Program,
        hits: &[Hit],
    ) {
        let program = self.programs.share(program);
        let words = words.get(self.key.width());
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
        let key = &self.key;
        let flows = &self.flows;
        self.index
            .insert(hash, slot, |slot: u32| key.hash_stored(&flows[slot].key));
    }

    /// Removes a flow whose packets are settled.
    pub(crate) fn remove(&mut self, slot: u32) {
        let hash = self.key.hash_stored(&self.flows[slot].key);
        self.index.replace(hash, slot, None);
        if let Some(flow) = self.flows.remove(slot) {
            self.programs.release(&flow.program);
        }
    }

    /// The admission: whether a flow may be cached. In a full cache it may only from its second
    /// packet on, so that single packets (a scan of addresses) do not evict active flows.
    pub(crate) fn admits(&mut self, hash: u64) -> bool {
        if self.flows.len() < self.max_flows {
            return true;
        }
        let place = &mut self.refused[(hash >> 32) as usize % REFUSED];
        let again = core::mem::replace(place, hash as u16 | 1) == hash as u16 | 1;
        self.stats.refused += u64::from(!again);
        again
    }

    /// The flow to evict if the cache is full: the flow that was idle for longest among the next
    /// [`CANDIDATES`] from a rotating position.
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

    /// Adds what flows have counted to the counters of their entries and tables.
    pub(crate) fn settle(&mut self, tables: &mut [Table]) {
        self.absorb_all();
        self.settle_known(tables);
    }

    /// As [`Self::settle`], without what an accelerator has counted for flows that it keeps.
    pub(crate) fn settle_known(&mut self, tables: &mut [Table]) {
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
        let packets = flow.packets;
        let bytes = flow.bytes;
        if packets == 0 {
            return;
        }
        (flow.packets, flow.bytes) = (0, 0);
        for hit in flow.hits() {
            tables[usize::from(hit.table.0)].count(hit.slot, packets, bytes, flow.used);
        }
    }

    /// Notes that an entry was added. If it reads a further field, the key is widened by that
    /// field; all flows are settled and forgotten.
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

    /// As [`Self::entry_added`], for an entry that packets do not see yet: the key is widened if
    /// necessary, but no flow becomes wrong.
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
        let fields = self.key.fields().union(rule.fields().difference(volatile));
        let is_first = tables[usize::from(table.0)].len() == 1;
        let is_volatile = !rule.fields().is_disjoint(volatile);
        self.volatile_tables
            .entry_added(table, is_first, is_volatile);
        if fields != self.key.fields() {
            self.widen(catalogue, tables, fields);
        }
    }

    /// Notes that an entry is about to be removed or to get other instructions.
    pub(crate) fn entry_gone(&mut self, tables: &mut [Table], table: TableId, key: EntryKey) {
        let hit = Hit {
            slot: key.slot,
            table,
        };
        if let Some(entry) = tables[usize::from(table.0)].at(key.slot) {
            self.note(LoggedChange::Gone(hit), &entry.rule);
        }
        // An accelerator has no flow left that hit the entry.
        self.settle_known(tables);
    }

    /// Settles and forgets all flows.
    pub(crate) fn forget_all(&mut self, catalogue: &Catalogue, tables: &mut [Table]) {
        self.widen(catalogue, tables, self.key.fields());
    }

    /// Makes these fields the key; settles and forgets all flows.
    pub(crate) fn widen(&mut self, catalogue: &Catalogue, tables: &mut [Table], fields: FieldSet) {
        let chosen = catalogue
            .fields()
            .iter()
            .filter(|field| fields.contains(field));
        let mask = KeyMask::whole(chosen.copied());
        self.take_back_flows();
        self.settle_known(tables);
        self.key.set(fields, mask);
        if !self.flows.is_empty() {
            self.forgotten.push(Forgotten {
                flows: core::mem::take(&mut self.flows),
                index: core::mem::take(&mut self.index),
                programs: core::mem::take(&mut self.programs),
            });
        }
        self.versions.clear(self.changes);
        self.stats.widened += 1;
        self.below.set_fields(fields);
    }

    /// Settles and forgets a flow.
    pub(crate) fn forget(&mut self, tables: &mut [Table], slot: u32) {
        self.take_back(slot);
        self.settle_flow(tables, slot);
        self.remove(slot);
    }
}
