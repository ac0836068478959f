//! The cache: from what a packet's path through the tables depended on to the path itself.
//!
//! One exact-match key, which is the fields that any entry reads and which fields there are; so
//! there is one probe, and traffic cannot make more of them. A path is a program: the instructions
//! of the entries hit, one after another. What it does is not remembered but done.

use alloc::{boxed::Box, collections::VecDeque, rc::Rc, vec::Vec};

use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::PacketInReason;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{FieldSet, PortNo};
use bofuss_packet::{Key, KeyMask, KeyMatch, Words};

use super::forgotten::{Forgotten, Round};
use super::key_reader::KeyReader;
use super::lookahead::Lookahead;
use crate::slab::Slab;
use crate::tables::masks;
use crate::tables::step_map::StepMap;
use crate::tables::tag_table::{Secret, TagTable};
use crate::{DropReason, EntryKey, Time};

/// Flows that may wait to have their packets added to their entries' counters.
pub(super) const MAX_UNSETTLED: usize = 1024;
/// Flows among which the one that was idle for longest makes room.
const CANDIDATES: usize = 4;

/// Words of a key that a flow has in place: those of a 5-tuple and an Ethernet address.
pub(super) const FEW: usize = 6;

/// Flows without room of which it is known that they had a packet.
const REFUSED: usize = 4096;

/// An entry that a flow's packets hit; in slot `NONE`, that no entry of the table matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) slot: u32,
    pub(super) table: TableId,
}

/// The instructions of one entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ProgramStep {
    pub(super) body: Instructions,
    pub(super) table: TableId,
    pub(super) reason: PacketInReason,
    /// Which of the flow's hits it is.
    pub(super) hit: u8,
    /// Whether they may send the packet to the controllers, so that the cookie matters.
    pub(super) may_packet_in: bool,
    /// The port, if all that they do is to send the packet to one.
    pub(super) output: Option<PortNo>,
}

/// What is done for a flow's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Program {
    pub(super) steps: Vec<ProgramStep>,
    /// The last table looked up.
    pub(super) last: TableId,
    /// The table to go on with, from the key as it is then.
    pub(super) next: Option<TableId>,
    /// How many of the hits were found by the key as it was at the start.
    pub(super) unchanged: u8,
    /// Whether no entry matched in the last table.
    pub(super) missed: bool,
    pub(super) end: End,
}

/// What becomes of a flow's packets, if that is simple.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum End {
    /// It is not.
    #[default]
    Other,
    /// They are sent to a port, and that is all.
    Port(PortNo),
    /// They are dropped.
    Drop(DropReason),
}

/// Packets that have the same key. Two lines of the processor's caches.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Flow {
    /// What its entries' counters do not have yet.
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) used: Time,
    /// How many changes there had been when it was last known to be right.
    pub(super) checked: u64,
    /// That of the program.
    pub(super) end: End,
    pub(super) program: Rc<Program>,
    /// The entries that were hit, in order: the first one, and the others.
    first: Hit,
    others: Box<[Hit]>,
    /// Where it starts, and the words of its key that count.
    pub(super) key: Words<FEW>,
}

impl Flow {
    pub(super) fn hits(&self) -> impl Iterator<Item = Hit> {
        [self.first].into_iter().chain(self.others.iter().copied())
    }

    pub(super) fn hit(&self, number: usize) -> Hit {
        match number.checked_sub(1) {
            None => self.first,
            Some(other) => self.others[other],
        }
    }

    pub(super) fn n_hits(&self) -> usize {
        1 + self.others.len()
    }

    /// Counts packets; whether it had none that its entries' counters lack.
    #[inline]
    pub(super) fn count(&mut self, now: Time, packets: u64, bytes: u64) -> bool {
        let first = self.packets == 0;
        self.packets += packets;
        self.bytes += bytes;
        self.used = now;
        first
    }
}

/// A change of a table that may make a flow wrong.
#[derive(Debug)]
enum LoggedChange {
    Added(TableId, EntryKey, KeyMatch),
    Gone(Hit),
}

/// How often each thing happened in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Packets, or their further segments, that found their flow.
    pub hits: u64,
    /// Those that did not.
    pub misses: u64,
    /// Flows that a change did not concern.
    pub confirmed: u64,
    /// Flows that a change made wrong.
    pub refuted: u64,
    /// Flows that were older than all changes remembered,
    pub overrun: u64,
    /// and those of them whose entries were found again.
    pub retraced: u64,
    /// Flows that made room for others.
    pub evicted: u64,
    /// First packets for which no flow had to make room.
    pub refused: u64,
    /// Times that the key became wider, and all flows were forgotten.
    pub widened: u64,
    /// Ways that went on from a changed key.
    pub continued: u64,
    /// Packets whose path ended before its program did.
    pub cut_short: u64,
}

/// The hash of a key as it is stored.
fn hash_stored(secret: &Secret, key: &Words<FEW>) -> u64 {
    let words = match key {
        Words::Few(words) => return secret.hash_few(words),
        Words::Many(words) => words,
    };
    let (start, words) = words.split_first().expect("a start, and words");
    secret.hash(*start, words.iter().copied())
}

/// All flows that are remembered.
#[derive(Debug)]
pub(crate) struct Cache {
    pub(super) secret: Secret,
    pub(super) flows: Slab<Flow>,
    pub(super) index: TagTable,
    pub(super) programs: StepMap<Rc<Program>, ()>,
    /// The fields of the key.
    pub(super) fields: FieldSet,
    pub(super) mask: KeyMask,
    /// Changes so far, and the last of them.
    pub(super) changes: u64,
    log: VecDeque<LoggedChange>,
    max_log: usize,
    max_flows: usize,
    clock_hand: u32,
    /// Of flows that were not remembered because there was no room, some bits of the hashes.
    refused: Vec<u16>,
    /// Flows with packets that their entries' counters do not have; some may be gone.
    pub(super) unsettled: Vec<u32>,
    /// All flows of other keys.
    pub(super) forgotten: Vec<Forgotten>,
    pub(super) round: Round,
    /// Finds the words of the key in a frame.
    pub(super) reader: KeyReader,
    /// Kept for their memory.
    pub(super) spare_hits: Vec<Hit>,
    pub(super) lookaheads: Vec<Lookahead>,
    pub(super) stats: CacheStats,
}

impl Cache {
    pub(crate) fn new(secret: u64, max_flows: u32, max_log: u32) -> Self {
        let mask = masks::whole([].into_iter());
        Self {
            secret: Secret::new(secret),
            flows: Slab::default(),
            index: TagTable::default(),
            programs: StepMap::default(),
            fields: FieldSet::EMPTY,
            reader: KeyReader::new(FieldSet::EMPTY, &mask),
            mask,
            changes: 0,
            log: VecDeque::new(),
            max_log: max_log as usize,
            max_flows: max_flows as usize,
            clock_hand: 0,
            refused: alloc::vec![0; REFUSED],
            unsettled: Vec::new(),
            forgotten: Vec::new(),
            round: Round::default(),
            spare_hits: Vec::new(),
            lookaheads: Vec::new(),
            stats: CacheStats::default(),
        }
    }

    /// Has the key be those fields, and forgets all flows. Their packets were counted before.
    pub(crate) fn widen(&mut self, fields: FieldSet, mask: KeyMask) {
        self.reader = KeyReader::new(fields, &mask);
        (self.fields, self.mask) = (fields, mask);
        self.forgotten.push(Forgotten {
            flows: core::mem::take(&mut self.flows),
            index: core::mem::take(&mut self.index),
            programs: core::mem::take(&mut self.programs),
        });
        self.stats.widened += 1;
    }

    /// Notes that an entry was added.
    pub(crate) fn added(&mut self, table: TableId, key: EntryKey, rule: &KeyMatch) {
        self.note(LoggedChange::Added(table, key, rule.clone()));
    }

    /// Notes that an entry is gone, or does something else.
    pub(crate) fn gone(&mut self, table: TableId, slot: u32) {
        self.note(LoggedChange::Gone(Hit { slot, table }));
    }

    fn note(&mut self, change: LoggedChange) {
        self.changes += 1;
        if self.log.len() >= self.max_log {
            self.log.pop_front();
        }
        self.log.push_back(change);
    }

    /// Whether packets of a flow just go to a port, or nowhere.
    pub(crate) fn is_simple(&self, flow: u32) -> bool {
        self.flows[flow].end != End::Other
    }

    /// Whether nothing has changed since the flow was last known to be right.
    #[inline]
    pub(super) fn is_current(&self, slot: u32) -> bool {
        self.flows[slot].checked == self.changes
    }

    /// Whether a flow is still right after what has changed, if that is remembered; its packets
    /// have this key. `rival_wins` tells whether an added entry comes before one that was hit.
    pub(super) fn confirm(
        &mut self,
        slot: u32,
        key: &Key,
        rival_wins: impl Fn(EntryKey, Hit) -> bool,
    ) -> Option<bool> {
        let flow = &self.flows[slot];
        let missed = (self.changes - flow.checked) as usize;
        if missed > self.log.len() {
            self.stats.overrun += 1;
            return None;
        }
        let concerns = |change: &LoggedChange| match change {
            LoggedChange::Gone(gone) => flow.hits().any(|hit| hit == *gone),
            LoggedChange::Added(table, rival, rule) => flow.hits().enumerate().any(|(i, hit)| {
                let known = i < usize::from(flow.program.unchanged);
                hit.table == *table
                    && (!known || key.matches(rule, &mut ()))
                    && rival_wins(*rival, hit)
            }),
        };
        if self.log.iter().rev().take(missed).any(concerns) {
            self.stats.refuted += 1;
            return Some(false);
        }
        self.stats.confirmed += 1;
        self.flows[slot].checked = self.changes;
        Some(true)
    }

    /// Notes that a flow was found to be right.
    pub(super) fn retraced(&mut self, slot: u32) {
        self.stats.retraced += 1;
        self.flows[slot].checked = self.changes;
    }

    /// Remembers a path.
    pub(super) fn insert(&mut self, start: u64, key: &Key, program: Program, hits: &[Hit]) {
        let words = self.words(start, key);
        let hash = self.hash(&words);
        let program = Rc::clone(self.programs.entry(&Rc::new(program)).0);
        let width = self.mask.words().len() + 1;
        let stored = Words::new(width, words.iter().copied().take(width));
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
        let rehash = |slot: u32| hash_stored(secret, &flows[slot].key);
        self.index.insert(hash, slot, rehash);
    }

    /// Forgets a flow, whose packets were counted.
    pub(super) fn remove(&mut self, slot: u32) {
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
    pub(super) fn admits(&mut self, start: u64, key: &Key) -> bool {
        if self.flows.len() < self.max_flows {
            return true;
        }
        let hash = self.hash(&self.words(start, key));
        let place = &mut self.refused[(hash >> 32) as usize % REFUSED];
        let again = core::mem::replace(place, hash as u16 | 1) == hash as u16 | 1;
        self.stats.refused += u64::from(!again);
        again
    }

    /// The flow that has to go before another one is remembered, if there is no room.
    pub(super) fn victim(&mut self) -> Option<u32> {
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
}
