//! How far the entries of a table are from thresholds of their statistics. Spec: OpenFlow 1.5.1
//! section 7.2.5.

use alloc::collections::{BTreeMap, BTreeSet};

use bofuss_oflib::message::stats::StatTime;
use bofuss_oflib::stat_trigger::{StatTrigger, StatTriggerFlags};

use crate::{Entry, Time};

/// What no statistic reaches.
const NEVER: u64 = u64::MAX;

/// The statistics that have thresholds, by their place: how long an entry exists and how long it
/// has had no packet, nanoseconds; packets; bytes.
const STATISTICS: usize = 4;
const DURATION: usize = 0;
const IDLE_TIME: usize = 1;

/// How far an entry is from its thresholds.
#[derive(Debug)]
pub(crate) struct EntryWatch {
    /// What each statistic reaches next; [`NEVER`] if it counts no more.
    next: [u64; STATISTICS],
    /// The statistic whose threshold was reached first, with ONLY_FIRST; no other counts then.
    first: Option<usize>,
    /// The last packet that is known of: the idle time begins anew with each.
    used: Time,
}

/// The watches of a table.
#[derive(Debug, Default)]
pub(crate) struct Triggers {
    /// Each by its entry's slot.
    watches: BTreeMap<u32, EntryWatch>,
    /// Slots of watched entries that have had packets since they were looked at.
    noted: BTreeSet<u32>,
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

/// What comes after a value that has reached a threshold.
fn following(trigger: &StatTrigger, threshold: u64, value: u64) -> u64 {
    if trigger.flags.has(StatTriggerFlags::PERIODIC) {
        (value / threshold + 1).saturating_mul(threshold)
    } else {
        NEVER
    }
}

impl EntryWatch {
    /// Begins: what an entry has reached by now does not count.
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
        }
    }

    /// Looks at the statistics; returns true if one has reached what it had not the last time.
    ///
    /// Choice: the idle time may reach its threshold again after each packet. With ONLY_FIRST, of
    /// thresholds that are reached together the first is that of the first statistic, and with
    /// PERIODIC its multiples go on.
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

    /// When time alone makes a statistic reach its threshold; [`Time::NEVER`] if it does not.
    fn due(&self, entry: &Entry) -> Time {
        let duration = entry.created.after(self.next[DURATION]);
        let idle_time = entry.used.after(self.next[IDLE_TIME]);
        duration.min(idle_time)
    }
}

impl Triggers {
    /// Whether no entry is watched.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.watches.is_empty()
    }

    /// Watches an entry if it has a trigger, from now on, and no longer if it has none.
    pub(crate) fn begin(&mut self, entry: &mut Entry, now: Time) {
        let slot = entry.key.slot;
        let watch = entry
            .instructions
            .stat_trigger()
            .map(|trigger| EntryWatch::new(trigger, entry, now));
        entry.notes_packets = watch.is_some();
        self.end(slot);
        self.watches.extend(watch.map(|watch| (slot, watch)));
    }

    /// Watches the entry in a slot no longer. Returns how far it was.
    pub(crate) fn end(&mut self, slot: u32) -> Option<EntryWatch> {
        self.noted.remove(&slot);
        self.watches.remove(&slot)
    }

    /// Watches an entry that has another slot now, as before.
    pub(crate) fn resume(&mut self, slot: u32, watch: EntryWatch) {
        self.watches.insert(slot, watch);
        self.noted.insert(slot);
    }

    /// Notes that an entry may have reached a threshold.
    pub(crate) fn note(&mut self, slot: u32) {
        self.noted.insert(slot);
    }

    /// The first slot from one on whose entry is noted.
    pub(crate) fn noted_from(&self, slot: u32) -> Option<u32> {
        self.noted.range(slot..).next().copied()
    }

    /// Looks at an entry; returns true if it has reached a threshold.
    pub(crate) fn look(&mut self, entry: &mut Entry, now: Time) -> bool {
        let Some(watch) = self.watches.get_mut(&entry.key.slot) else {
            return false;
        };
        self.noted.remove(&entry.key.slot);
        entry.notes_packets = true;
        let trigger = entry.instructions.stat_trigger();
        trigger.is_some_and(|trigger| watch.reaches(trigger, entry, now))
    }

    /// When an entry has to be looked at for the time that passes; [`Time::NEVER`] if not.
    pub(crate) fn due(&self, entry: &Entry) -> Time {
        let watch = self.watches.get(&entry.key.slot);
        watch.map_or(Time::NEVER, |watch| watch.due(entry))
    }
}
