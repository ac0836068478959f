//! The flows that the kernel forwards, in the memory that it shares with us.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::fence;
use std::time::{Duration, Instant};

use bofuss_fastpath::Way;

use crate::error::Refusal;
use crate::key::{self, KEY_BYTES, TAG_BYTES};
use crate::layout::{CPUS, KEY_WORDS, NOTED, Tags, WAYS};
use crate::program::Program;
use crate::way::{Route, Ways};

/// A flow that was not used for so long gives its place to another.
const IDLE_NS: u64 = 1_000_000_000;
/// The bytes of a frame without its tag below which the switch pads it. In `accel.c`, too.
const SHORTEST_BYTES: usize = 60;
/// The time that a processor may take for one frame. Only one that no longer obeys takes longer.
pub(crate) const LONGEST_SECTION: Duration = Duration::from_millis(10);
/// The numbers of processors on which frames may arrive, whichever this process may use.
const PROCESSORS: &str = "/sys/devices/system/cpu/possible";
/// Odd, with about as many ones as zeros: 2^64 divided by the golden ratio. In `accel.c`, too.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// The bits of a hash at which the numbers of its two buckets begin. With one bucket, 100,000 flows
/// in 131,072 slots would leave some 4 % without a place. In `accel.c`, too.
const BUCKETS_AT: [u32; 2] = [0, 24];

/// A flow in a slot.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// Its number in the cache.
    pub(crate) flow: u32,
    /// The place of the port that its frames arrive on.
    pub(crate) from: u8,
    /// Its way, and what the kernel makes of it.
    pub(crate) way: Rc<Way>,
    pub(crate) route: Route,
    /// The most bytes of a frame, or of a segment, without its tag.
    pub(crate) longest: u32,
    /// Packets and bytes that were taken from its slot.
    pub(crate) taken: Cell<(u64, u64)>,
}

impl Known {
    /// Returns true if its frames need legs, because they are changed or leave more than once.
    fn has_legs(&self) -> bool {
        match &self.route[..] {
            [] => false,
            [(change, _)] => !change.is_nothing(),
            _ => true,
        }
    }
}

/// What was counted for a flow.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub(crate) known: Known,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// Those of these that a meter dropped.
    pub(crate) dropped: (u64, u64),
    /// When the last of these came, and when the last of the others.
    pub(crate) dropped_ns: u64,
    pub(crate) used_ns: u64,
}

/// The table of flows.
#[derive(Debug)]
pub(crate) struct FlowTable {
    pub(crate) program: Program,
    mask: [u8; KEY_BYTES],
    known: BTreeMap<u32, Known>,
    /// The slots of each flow of the cache.
    slots_of: BTreeMap<u32, Vec<u32>>,
    ways: Ways,
    /// What flows counted that were forgotten since.
    last: Vec<Counted>,
    n_cpus: usize,
}

impl FlowTable {
    /// Begins without flows; `seed` makes the hashes unpredictable. The time 0 of the switch is
    /// `start_ns` of the kernel's clock.
    pub(crate) fn new(program: Program, seed: u64, start_ns: u64) -> Self {
        let settings = &program.settings[0];
        settings.start.store(start_ns, Relaxed);
        settings.seed.store(seed, Relaxed);
        let buckets = (program.size.slots / WAYS) as u64;
        settings.buckets.store(buckets - 1, Relaxed);
        settings.epoch.store(1, SeqCst);
        let list = fs::read_to_string(PROCESSORS).unwrap_or_default();
        let n_cpus = processors(&list).unwrap_or(CPUS);
        Self {
            n_cpus: n_cpus.min(program.cpus.len()),
            program,
            mask: [0; KEY_BYTES],
            known: BTreeMap::new(),
            slots_of: BTreeMap::new(),
            ways: Ways::default(),
            last: Vec::new(),
        }
    }

    /// How many flows of the cache are forwarded.
    pub(crate) fn len(&self) -> usize {
        self.slots_of.len()
    }

    /// The number of slots that are not empty: a flow of the cache has several if frames of it go
    /// several ways.
    pub(crate) fn slots(&self) -> usize {
        self.known.len()
    }

    /// The flows of the cache that are forwarded.
    #[cfg(test)]
    pub(crate) fn flows(&self) -> Vec<u32> {
        self.slots_of.keys().copied().collect()
    }

    /// Sets the mask of keys; there must be no flows.
    pub(crate) fn set_mask(&mut self, mask: [u8; KEY_BYTES]) {
        self.mask = mask;
        let words = key::masked(&[0xff; KEY_BYTES], &mask);
        for (place, word) in self.program.settings[0].mask.iter().zip(words) {
            place.store(word, SeqCst);
        }
    }

    /// The mask of keys.
    pub(crate) fn mask(&self) -> &[u8; KEY_BYTES] {
        &self.mask
    }

    /// Returns true if the flow of frames with this key is there.
    pub(crate) fn has(&self, key: &[u8; KEY_BYTES]) -> bool {
        let words = key::masked(key, &self.mask);
        self.has_words(&words, self.hash(&words))
    }

    fn has_words(&self, words: &[u64; KEY_WORDS], hash: u64) -> bool {
        self.find(words, hash).is_some()
    }

    /// The slot of the flow with these words.
    fn find(&self, words: &[u64; KEY_WORDS], hash: u64) -> Option<u32> {
        let epoch = self.epoch();
        self.buckets(hash).into_iter().flatten().find(|number| {
            let slot = &self.program.slots[*number as usize];
            let mut pairs = slot.key.iter().zip(words);
            slot.epoch.load(Relaxed) == epoch && pairs.all(|(at, word)| at.load(Relaxed) == *word)
        })
    }

    /// The slots of each bucket of a hash.
    fn buckets(&self, hash: u64) -> [Range<u32>; 2] {
        let buckets = self.program.settings[0].buckets.load(Relaxed) as u32;
        BUCKETS_AT.map(|at| {
            let first = ((hash >> at) as u32 & buckets) * WAYS as u32;
            first..first + WAYS as u32
        })
    }

    /// Why a frame with this key goes up although its flow is there, if it does.
    pub(crate) fn leaves(&self, key: &[u8; KEY_BYTES], frame: &[u8]) -> Option<Refusal> {
        let words = key::masked(key, &self.mask);
        let number = self.find(&words, self.hash(&words))?;
        let slot = &self.program.slots[number as usize];
        let tag = if key::has_tag(key) { TAG_BYTES } else { 0 };
        let len = frame.len() - tag;
        if len < SHORTEST_BYTES {
            return Some(Refusal::Short);
        }
        if len > slot.longest.load(Relaxed) as usize {
            return Some(Refusal::Long);
        }
        let ttl = u16::from(key::ttl(frame, key));
        if ttl <= slot.hops.load(Relaxed).max(1) {
            return Some(Refusal::Ttl);
        }
        let port = usize::from(slot.from.load(Relaxed));
        let drained = &self.program.settings[0].drained[port];
        let waits =
            slot.is_below.load(Relaxed) == 0 && drained.load(Relaxed) <= slot.sent_up.load(Relaxed);
        waits.then_some(Refusal::Waits)
    }

    /// Why there is no room for a flow, if there is none.
    pub(crate) fn refusal(
        &self,
        key: &[u8; KEY_BYTES],
        known: &Known,
        now_ns: u64,
    ) -> Option<Refusal> {
        let hash = self.hash(&key::masked(key, &self.mask));
        if self.free_slot(hash, now_ns).is_none() {
            return Some(Refusal::Slots);
        }
        if !self.program.meters.have_room(known.way.meter) {
            return Some(Refusal::Meters);
        }
        let is_plain = !known.has_legs();
        let has_way = is_plain || self.ways.have_room(&known.route, &self.program.legs);
        (!has_way).then_some(Refusal::Legs)
    }

    /// The slot for another flow, which is empty, in the emptier bucket, or has an idle one.
    fn free_slot(&self, hash: u64, now_ns: u64) -> Option<u32> {
        let epoch = self.epoch();
        let used = |number: u32| {
            let slot = &self.program.slots[number as usize];
            if slot.epoch.load(Relaxed) != epoch {
                return 0;
            }
            self.used_ns(number).max(slot.sent_up.load(Relaxed))
        };
        let places = self.buckets(hash).into_iter().flat_map(|bucket| {
            let all: Vec<u64> = bucket.clone().map(used).collect();
            let taken = all.iter().filter(|used| **used > 0).count();
            all.into_iter()
                .zip(bucket)
                .map(move |(used, number)| (used, taken, number))
        });
        let (used, _, number) = places.min()?;
        (used.saturating_add(IDLE_NS) <= now_ns).then_some(number)
    }

    /// Adds a flow; returns false if there is no room, or if its frames are those of one that is
    /// there. Its frames go below once those before `now_ns` have left.
    pub(crate) fn add(&mut self, key: &[u8; KEY_BYTES], known: Known, now_ns: u64) -> bool {
        let words = key::masked(key, &self.mask);
        let hash = self.hash(&words);
        if self.has_words(&words, hash) {
            return false;
        }
        let epoch = self.epoch();
        let Some(number) = self.free_slot(hash, now_ns) else {
            return false;
        };
        if let Some(idle) = self.known.get(&number) {
            self.forget(&[idle.flow]);
        }
        let Some(meter) = self.program.meters.number(known.way.meter) else {
            return false;
        };
        let mut leg = 0;
        if known.has_legs() {
            match self.ways.add(&known.route, &self.program.legs) {
                Some(first) => leg = first,
                None => return false,
            }
        }
        let Tags(tags) = &self.program.tags[number as usize / WAYS];
        tags[number as usize % WAYS].store((hash >> 48) as u16, Relaxed);
        let slot = &self.program.slots[number as usize];
        for (place, word) in slot.key.iter().zip(words) {
            place.store(word, Relaxed);
        }
        let out = known.route.last().map_or(0, |(_, out)| *out);
        let hops: u32 = known.route.iter().map(|(change, _)| change.hops).sum();
        slot.out.store(out, Relaxed);
        slot.longest.store(known.longest, Relaxed);
        slot.leg.store(leg, Relaxed);
        slot.hops
            .store(u16::try_from(hops).unwrap_or(u16::MAX), Relaxed);
        slot.meter.store(meter, Relaxed);
        slot.from.store(known.from.into(), Relaxed);
        slot.parting.store(known.way.parting.to_be(), Relaxed);
        slot.is_below.store(0, Relaxed);
        slot.sent_up.store(now_ns, Relaxed);
        slot.used.store(0, Relaxed);
        let dropped = &self.program.dropped[number as usize];
        dropped.last.store(0, Relaxed);
        // A frame that came before may be compared with the key that was in the slot.
        self.wait();
        slot.epoch.store(epoch, Release);
        self.slots_of.entry(known.flow).or_default().push(number);
        self.known.insert(number, known);
        self.count_slots();
        true
    }

    /// Forgets flows of the cache: when this returns, their frames go up, and those that did not
    /// are counted and on their way.
    pub(crate) fn forget(&mut self, flows: &[u32]) {
        let mut numbers = Vec::new();
        for flow in flows {
            numbers.extend(self.slots_of.remove(flow).unwrap_or_default());
        }
        if numbers.is_empty() {
            return;
        }
        for number in &numbers {
            self.program.slots[*number as usize].epoch.store(0, SeqCst);
        }
        self.wait();
        for number in numbers {
            let Some(known) = self.known.remove(&number) else {
                continue;
            };
            if known.has_legs() {
                self.ways.remove(&known.route);
            }
            self.last.extend(self.taken(number, &known));
        }
        self.count_slots();
    }

    /// Forgets all flows, as [`Self::forget`].
    pub(crate) fn forget_all(&mut self) {
        if self.known.is_empty() {
            return;
        }
        self.program.settings[0].epoch.fetch_add(1, SeqCst);
        self.wait();
        let counts = self.take_live();
        self.last.extend(counts);
        self.known.clear();
        self.slots_of.clear();
        self.ways.clear();
        self.count_slots();
    }

    /// Tells the program how many slots are not empty. If none is, it reads no frames.
    fn count_slots(&self) {
        let flows = &self.program.settings[0].flows;
        flows.store(self.slots() as u64, Release);
    }

    /// The first flows, at most so many, with the masked key, and when the last frame came of each.
    pub(crate) fn first(
        &self,
        most: usize,
    ) -> impl Iterator<Item = (&Known, [u8; KEY_BYTES], u64)> {
        self.known.iter().take(most).map(|(number, known)| {
            let slot = &self.program.slots[*number as usize];
            let words = slot.key.each_ref().map(|word| word.load(Relaxed));
            let mut key = [0; KEY_BYTES];
            for (place, word) in key.chunks_exact_mut(8).zip(words) {
                place.copy_from_slice(&word.to_ne_bytes());
            }
            (known, key, self.used_ns(*number))
        })
    }

    /// When the last frame of a slot came, also if a meter dropped it; 0 if none has come.
    fn used_ns(&self, number: u32) -> u64 {
        let used = self.program.slots[number as usize].used.load(Relaxed);
        let dropped = &self.program.dropped[number as usize];
        used.max(dropped.last.load(Relaxed))
    }

    /// Takes what forgotten flows have counted.
    pub(crate) fn take_last(&mut self) -> Vec<Counted> {
        std::mem::take(&mut self.last)
    }

    /// Takes what all flows have counted.
    pub(crate) fn take_counts(&mut self) -> Vec<Counted> {
        let mut counts = self.take_last();
        counts.extend(self.take_live());
        counts
    }

    /// Takes what flows have counted. Its time is that of the flows that have, however many others
    /// there are.
    fn take_live(&self) -> Vec<Counted> {
        let mut counts = Vec::new();
        for (place, noted) in self.program.noted.iter().enumerate() {
            if noted.load(Relaxed) == 0 {
                continue;
            }
            // What is counted from here on is noted again; no counter is read before that is seen.
            let bits = noted.swap(0, SeqCst);
            fence(SeqCst);
            for bit in (0..NOTED).filter(|bit| bits >> bit & 1 == 1) {
                let number = (place * NOTED + bit) as u32;
                if let Some(known) = self.known.get(&number) {
                    counts.extend(self.taken(number, known));
                }
            }
        }
        counts
    }

    /// Waits until every frame has either left or come up that met the filter before.
    pub(crate) fn wait(&self) {
        fence(SeqCst);
        for cpu in &self.program.cpus[..self.n_cpus] {
            let section = cpu.section.load(Acquire);
            if section % 2 == 0 {
                continue;
            }
            let start = Instant::now();
            while cpu.section.load(Acquire) == section && start.elapsed() < LONGEST_SECTION {
                std::hint::spin_loop();
            }
        }
    }

    /// Has each frame decided once from now on, as sockets of two switches may meet it.
    pub(crate) fn share(&self) {
        for cpu in &self.program.cpus[..self.n_cpus] {
            cpu.is_shared.store(1, Release);
        }
    }

    /// Notes that all frames that arrived on the port at this place before `at_ns` have left.
    pub(crate) fn drained(&self, port: u8, at_ns: u64) {
        let places = &self.program.settings[0].drained;
        places[usize::from(port)].store(at_ns, Release);
    }

    /// Gives a place to another port, which no frame has left and which has dropped none.
    pub(crate) fn begin_place(&self, port: u8) {
        let settings = &self.program.settings[0];
        for places in [&settings.drained, &settings.hold, &settings.held] {
            places[usize::from(port)].store(0, Relaxed);
        }
    }

    /// Holds frames of known flows of a port back until then.
    pub(crate) fn hold(&self, port: u8, until_ns: u64) {
        let places = &self.program.settings[0].hold;
        places[usize::from(port)].store(until_ns, Release);
    }

    /// The number of packets of the port at this place that were held back.
    pub(crate) fn held(&self, port: u8) -> u64 {
        self.program.settings[0].held[usize::from(port)].load(Relaxed)
    }

    fn epoch(&self) -> u64 {
        self.program.settings[0].epoch.load(Relaxed)
    }

    fn hash(&self, words: &[u64; KEY_WORDS]) -> u64 {
        let mut hash = self.program.settings[0].seed.load(Relaxed);
        for word in words {
            hash = (hash ^ word).wrapping_mul(FACTOR);
            hash ^= hash >> 32;
        }
        hash
    }

    /// What a slot has counted since it was asked last, if anything.
    fn taken(&self, number: u32, known: &Known) -> Option<Counted> {
        let slot = &self.program.slots[number as usize];
        let drops = &self.program.dropped[number as usize];
        let counters = [&slot.packets, &slot.bytes, &drops.packets, &drops.bytes];
        if counters.iter().all(|counter| counter.load(Relaxed) == 0) {
            return None;
        }
        // Frames come meanwhile, so that the packet of some bytes may be counted later.
        let [passed, passed_bytes, dropped, dropped_bytes] =
            counters.map(|counter| counter.swap(0, Acquire));
        let (packets, bytes) = (passed + dropped, passed_bytes + dropped_bytes);
        let before = known.taken.get();
        known.taken.set((before.0 + packets, before.1 + bytes));
        Some(Counted {
            known: known.clone(),
            packets,
            bytes,
            dropped: (dropped, dropped_bytes),
            dropped_ns: drops.last.load(Relaxed),
            used_ns: slot.used.load(Relaxed),
        })
    }
}

/// A number above those of all processors of a list such as `0-3` or `0,2-5`; `None` without any.
pub(crate) fn processors(list: &str) -> Option<usize> {
    let last = list.trim().rsplit([',', '-']).next()?;
    last.parse::<usize>().ok().map(|last| last + 1)
}
