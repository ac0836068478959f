//! The flow cache: maps everything on which a packet's path through the tables depended to the path
//! itself.
//!
//! There is one exact-match key: all fields that any entry reads, and which fields are present. So
//! a lookup is one probe, and no traffic can cause more probes. A path is a program: the
//! instructions of the entries hit, one after another. Not their results are cached; they are
//! executed again for each packet.

mod admission;
pub(crate) mod below;
mod below_index;
mod flow;
pub(crate) mod flow_key;
pub(crate) mod forgotten;
pub(crate) mod key_reader;
pub(crate) mod lookahead;
mod metered;
mod revalidation;
mod stations;
mod stats;
mod versions;
mod volatile_tables;
mod way;

use alloc::{boxed::Box, collections::VecDeque, rc::Rc, vec::Vec};

use bofuss_datapath::StepMap;
use bofuss_datapath::engine::{Lookahead, Predicted, Slab, TagTable, WORDS};
use bofuss_datapath::{EntryKey, Table};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Catalogue, FieldSet};
use bofuss_packet::{KeyMask, Words};

use self::admission::Admission;
use self::below::{Below, Counted};
pub(crate) use self::flow::{Body, End, Flow, Hit, PathAction, PathCall, Program, ProgramStep};
use self::flow_key::FlowKey;
use self::forgotten::{Forgotten, Round};
use self::lookahead::PortArrival;
use self::revalidation::LoggedChange;
pub use self::stats::CacheStats;
use self::versions::Versions;
use self::volatile_tables::VolatileTables;
pub use self::way::{Departure, GroupPass, MAX_DEPARTURES, Way};
pub(crate) use self::way::{KnownStations, parting_flags};

/// The number of packets prefetched together.
pub(crate) const BATCH: usize = 32;
/// The most flows whose packets may wait to be added to the counters of entries.
pub(crate) const MAX_UNSETTLED: usize = 1024;
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
    pub(crate) admission: Admission,
    /// Flows with unsettled packets; some may have been removed meanwhile.
    pub(crate) unsettled: Vec<u32>,
    /// The flows of former keys, which are being freed.
    pub(crate) forgotten: Vec<Forgotten>,
    pub(crate) round: Round,
    /// An empty list that is kept for its memory.
    pub(crate) spare_hits: Vec<Hit>,
    pub(crate) lookaheads: Vec<Lookahead>,
    /// What the packets of the last burst shared, and those of the last one from another port.
    pub(crate) arrival: Option<Box<PortArrival>>,
    pub(crate) other_arrival: Option<Box<PortArrival>>,
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
            admission: Admission::new(max_flows),
            unsettled: Vec::new(),
            forgotten: Vec::new(),
            round: Round::default(),
            spare_hits: Vec::new(),
            lookaheads: Vec::new(),
            arrival: None,
            other_arrival: None,
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
        let flow = Flow::new(program, hits, self.changes, stored);
        let slot = self.flows.insert(|_| flow);
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

    /// Adds what flows have counted to the counters of their entries and tables.
    pub(crate) fn settle(&mut self, tables: &mut [Table]) {
        self.absorb(Counted::All);
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
        self.below.settle_hits(tables);
    }

    fn settle_flow(&mut self, tables: &mut [Table], slot: u32) {
        let Some(flow) = self.flows.get_mut(slot) else {
            return;
        };
        let packets = flow.packets;
        let bytes = flow.bytes;
        if packets == 0 && bytes == 0 {
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
        // They look for the fields of the catalogue before.
        self.lookaheads.clear();
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
        self.take_back(&[slot]);
        self.settle_flow(tables, slot);
        self.remove(slot);
    }
}
