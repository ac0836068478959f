//! The state of statistics triggers: which threshold each entry of a table reaches next. Spec:
//! OpenFlow 1.5.1 section 7.2.5.

use alloc::collections::{BTreeMap, BTreeSet};

use bofuss_oflib::message::stats::StatTime;
use bofuss_oflib::stat_trigger::{StatTrigger, StatTriggerFlags};
use bofuss_oflib::types::TableId;

use crate::Time;
use crate::tables::entry::Entry;

/// True if entries may have statistics triggers.
pub(crate) const HAS_TRIGGERS: bool = true;

/// A threshold that no statistic reaches.
const NEVER: u64 = u64::MAX;

/// The statistics that have thresholds, by their place: how long an entry exists and how long it
/// has had no packet, nanoseconds; packets; bytes.
const STATISTICS: usize = 4;
const DURATION: usize = 0;
const IDLE_TIME: usize = 1;

/// The state of an entry's trigger.
#[derive(Debug)]
pub(crate) struct EntryWatch {
    /// The next threshold of each statistic; [`NEVER`] if it has no more.
    next: [u64; STATISTICS],
    /// With ONLY_FIRST, the statistic whose threshold was reached first; the others are ignored
    /// from then on.
    first: Option<usize>,
    /// The time of the last known packet, with which the idle time begins.
    used: Time,
    /// The time when it is to be checked because of time, in the list of these; [`Time::NEVER`] if
    /// it has none there.
    due: Time,
}

/// The watches of a table.
#[derive(Debug, Default)]
pub(crate) struct Triggers {
    /// Each by its entry's slot.
    watches: BTreeMap<u32, EntryWatch>,
    /// Slots of watched entries that have had packets since they were last checked.
    noted: BTreeSet<u32>,
}

/// The times when the entries of all tables are checked.
#[derive(Debug, Default)]
pub(crate) struct TriggerTimes {
    /// The time when entries are checked because of time. These are no deadlines of entries, so
    /// that replicas, of which one has triggers, expire entries in the same order.
    pub(crate) deadlines: BTreeSet<(Time, TableId, u32)>,
    /// Tables with entries that have triggers.
    pub(crate) tables: BTreeSet<TableId>,
    /// The time when entries that have had packets are checked next, and from which table and slot
    /// on.
    pub(crate) next_check: Time,
    pub(crate) check_from: (TableId, u32),
}

fn nanos(time: StatTime) -> u64 {
    u64::from(time.sec) * Time::SEC + u64::from(time.nsec)
}

/// The thresholds of a trigger, none of which is zero.
fn thresholds(trigger: &StatTrigger) -> [u64; STATISTICS] {
    let thresholds = &trigger.thresholds;
    [
        thresholds.duration.map_or(NEVER, nanos),
        thresholds.idle_time.map_or(NEVER, nanos),
        thresholds.packet_count.unwrap_or(NEVER),
        thresholds.byte_count.unwrap_or(NEVER),
    ]
}

/// The statistics of an entry.
fn statistics(entry: &Entry, now: Time) -> [u64; STATISTICS] {
    let duration = now.since(entry.created);
    let idle_time = now.since(entry.used);
    [duration, idle_time, entry.packets, entry.bytes]
}

/// The next threshold after `value` has reached one.
fn following(trigger: &StatTrigger, threshold: u64, value: u64) -> u64 {
    if trigger.flags.has(StatTriggerFlags::PERIODIC) {
        (value / threshold + 1).saturating_mul(threshold)
    } else {
        NEVER
    }
}

impl EntryWatch {
    /// Begins with the thresholds that an entry has not reached yet.
    fn new(trigger: &StatTrigger, entry: &Entry, now: Time) -> Self {
        let mut next = thresholds(trigger);
        for (next, value) in next.iter_mut().zip(statistics(entry, now)) {
            if value >= *next {
                *next = following(trigger, *next, value);
            }
        }
        Self {
            next,
            first: None,
            used: entry.used,
            due: Time::NEVER,
        }
    }

    /// Compares the statistics with their thresholds. Returns true if one was reached since the
    /// last call.
    ///
    /// Choice: the idle time may reach its threshold again after each packet. With ONLY_FIRST, if
    /// several are reached together, the first statistic in order counts; with PERIODIC its
    /// multiples follow.
    fn reaches(&mut self, trigger: &StatTrigger, entry: &Entry, now: Time) -> bool {
        let thresholds = thresholds(trigger);
        let only_first = trigger.flags.has(StatTriggerFlags::ONLY_FIRST);
        let periodic = trigger.flags.has(StatTriggerFlags::PERIODIC);
        if entry.used > self.used {
            self.used = entry.used;
            if self.first.is_none() || self.first == Some(IDLE_TIME) && periodic {
                self.next[IDLE_TIME] = thresholds[IDLE_TIME];
            }
        }
        let mut reached = false;
        for (number, value) in statistics(entry, now).into_iter().enumerate() {
            if value < self.next[number] {
                continue;
            }
            reached = true;
            let next = following(trigger, thresholds[number], value);
            if only_first {
                self.next = [NEVER; STATISTICS];
                self.first = Some(number);
            }
            self.next[number] = next;
        }
        reached
    }

    /// The time when a statistic reaches its threshold by time alone; [`Time::NEVER`] if none does.
    fn due(&self, entry: &Entry) -> Time {
        let duration = entry.created.after(self.next[DURATION]);
        let idle_time = entry.used.after(self.next[IDLE_TIME]);
        duration.min(idle_time)
    }
}

impl Triggers {
    /// Returns true if no entry is watched.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.watches.is_empty()
    }

    /// Begins to watch an entry if it has a trigger, and stops if it has none.
    pub(crate) fn begin(&mut self, entry: &mut Entry, now: Time) {
        let slot = entry.key.slot;
        let trigger = entry.instructions.stat_trigger();
        let watch = trigger.map(|trigger| EntryWatch::new(trigger, entry, now));
        entry.notes_packets = watch.is_some();
        self.end(slot);
        self.watches.extend(watch.map(|watch| (slot, watch)));
    }

    /// Stops watching the entry in a slot. Returns its state.
    pub(crate) fn end(&mut self, slot: u32) -> Option<EntryWatch> {
        self.noted.remove(&slot);
        self.watches.remove(&slot)
    }

    /// Continues to watch an entry that has moved to this slot.
    pub(crate) fn resume(&mut self, slot: u32, watch: EntryWatch) {
        self.watches.insert(slot, watch);
        self.noted.insert(slot);
    }

    /// Notes that an entry has had a packet, if it is watched and that is not noted yet.
    #[inline]
    pub(crate) fn note_packet(&mut self, entry: &mut Entry) {
        if !self.is_empty() && entry.notes_packets {
            entry.notes_packets = false;
            self.note(entry.key.slot);
        }
    }

    /// Notes that an entry may have reached a threshold.
    pub(crate) fn note(&mut self, slot: u32) {
        self.noted.insert(slot);
    }

    /// The first slot from one on whose entry is noted.
    pub(crate) fn noted_from(&self, slot: u32) -> Option<u32> {
        self.noted.range(slot..).next().copied()
    }

    /// Checks an entry. Returns true if it has reached a threshold.
    pub(crate) fn check(&mut self, entry: &mut Entry, now: Time) -> bool {
        let Some(watch) = self.watches.get_mut(&entry.key.slot) else {
            return false;
        };
        self.noted.remove(&entry.key.slot);
        entry.notes_packets = true;
        let trigger = entry.instructions.stat_trigger();
        trigger.is_some_and(|trigger| watch.reaches(trigger, entry, now))
    }

    /// Replaces the time in the list of deadlines of the entry in a slot, and returns the old one.
    pub(crate) fn replace_due(&mut self, slot: u32, due: Time) -> Time {
        let watch = self.watches.get_mut(&slot);
        watch.map_or(Time::NEVER, |watch| core::mem::replace(&mut watch.due, due))
    }

    /// The time when an entry has to be checked because of time; [`Time::NEVER`] if not.
    pub(crate) fn due(&self, entry: &Entry) -> Time {
        let watch = self.watches.get(&entry.key.slot);
        watch.map_or(Time::NEVER, |watch| watch.due(entry))
    }
}
