//! A flow entry, its place in the order of lookups, and which lookups see it.

use core::cmp::Reverse;

use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::stats::{StatTime, Stats};
use bofuss_oflib::message::{FlowMod, FlowModFlags, FlowRemovedReason, PacketInReason};
use bofuss_oflib::{PortNo, types::GroupId};
use bofuss_packet::KeyMatch;

use crate::Time;
use crate::references::{groups, outputs_to};
use crate::slab::NONE;
use crate::tables::stage::EntryStage;

/// Identifies an entry until it is moved, and orders entries: highest priority first, then those
/// with the flag FIRST, then oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryKey {
    /// The priority.
    pub priority: Reverse<u16>,
    /// A number that no other entry ever has.
    pub serial: u64,
    /// Its slot in its table.
    pub slot: u32,
}

impl EntryKey {
    /// A key before those of all entries.
    pub const FIRST: Self = Self {
        priority: Reverse(u16::MAX),
        serial: 0,
        slot: 0,
    };

    /// Returns how many entries had been added before this one, including those of bundles.
    pub fn number(self) -> u64 {
        self.serial & u64::MAX >> 1
    }

    /// The position directly after this entry in a walk.
    pub(crate) fn next(self) -> Self {
        Self {
            slot: self.slot + 1,
            ..self
        }
    }
}

/// One flow entry. What packets change is in its first cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Entry {
    /// Packets that hit it; a super-frame counts as its segments.
    pub packets: u64,
    /// Bytes that hit it.
    pub bytes: u64,
    /// The time when a packet last hit it.
    pub used: Time,
    /// Its key.
    pub key: EntryKey,
    /// Its match, as keys are compared with it.
    pub rule: KeyMatch,
    /// Its instructions.
    pub instructions: Instructions,
    /// The cookie that the controller gave it.
    pub cookie: u64,
    /// Its options: [`Entry::flags`].
    pub(crate) flags: EntryFlags,
    /// The idle timeout in seconds; 0 is never.
    pub idle_timeout: u16,
    /// The hard timeout in seconds; 0 is never.
    pub hard_timeout: u16,
    /// Its importance for eviction.
    pub importance: u16,
    /// The time when it was added.
    pub created: Time,
    /// Its deadline in the list of deadlines; [`Time::NEVER`] if it has none there.
    pub(crate) due: Time,
    /// The slot of the next entry in a chain of the classifier.
    pub next: u32,
    /// The change that the bundle in progress makes of it.
    pub(crate) stage: EntryStage,
    /// True if its next packet has to be noted, because a threshold may be reached.
    #[cfg(feature = "triggers")]
    pub(crate) notes_packets: bool,
}

/// The flags of an entry in 16 bits: the low byte of the wire's flags, and in the high byte our own
/// flags. No entry has others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EntryFlags {
    wire: u8,
    own: u8,
}

/// By how many bits our own flags are above the others.
const OWN_SHIFT: u32 = 16;
const _: () = assert!(
    FlowModFlags::ALL.0 & !(0xff | 0xff << OWN_SHIFT) == 0,
    "every flag has a place in an entry"
);

impl From<FlowModFlags> for EntryFlags {
    fn from(flags: FlowModFlags) -> Self {
        Self {
            wire: flags.0 as u8,
            own: (flags.0 >> OWN_SHIFT) as u8,
        }
    }
}

impl Entry {
    /// Makes the entry that a flow-mod adds, without a place in a table.
    pub fn new(
        now: Time,
        flow_mod: &FlowMod,
        rule: KeyMatch,
        instructions: Instructions,
        serial: u64,
    ) -> Self {
        Self {
            key: EntryKey {
                priority: Reverse(flow_mod.priority),
                serial,
                slot: NONE,
            },
            rule,
            instructions,
            cookie: flow_mod.cookie,
            flags: flow_mod.flags.into(),
            idle_timeout: flow_mod.idle_timeout,
            hard_timeout: flow_mod.hard_timeout,
            importance: flow_mod.importance,
            created: now,
            used: now,
            due: Time::NEVER,
            next: NONE,
            stage: EntryStage::Settled,
            #[cfg(feature = "triggers")]
            notes_packets: false,
            packets: 0,
            bytes: 0,
        }
    }

    /// Its flags.
    pub fn flags(&self) -> FlowModFlags {
        FlowModFlags(u32::from(self.flags.wire) | u32::from(self.flags.own) << OWN_SHIFT)
    }

    /// The reason of packet-ins that it causes.
    pub fn reason(&self) -> PacketInReason {
        if self.key.priority.0 == 0 && self.rule.is_any() {
            PacketInReason::NO_MATCH
        } else {
            PacketInReason::ACTION
        }
    }

    /// The packet counter as reported: all ones if not kept.
    pub fn packet_count(&self) -> u64 {
        if self.flags().has(FlowModFlags::NO_PKT_COUNTS) {
            u64::MAX
        } else {
            self.packets
        }
    }

    /// The byte counter as reported: all ones if not kept.
    pub fn byte_count(&self) -> u64 {
        if self.flags().has(FlowModFlags::NO_BYT_COUNTS) {
            u64::MAX
        } else {
            self.bytes
        }
    }

    /// Its statistics, with the counters that it keeps.
    ///
    /// The idle time is since the last packet that was settled.
    pub fn stats(&self, now: Time) -> Stats {
        Stats {
            duration: Some(stat_time(now, self.created)),
            idle_time: Some(stat_time(now, self.used)),
            ..Stats::counted(self.packet_count(), self.byte_count())
        }
    }

    /// The time when it expires if no packet arrives, and the reason; `None` if never.
    pub fn deadline(&self) -> Option<(Time, FlowRemovedReason)> {
        let hard = timeout_end(self.created, self.hard_timeout);
        let idle = timeout_end(self.used, self.idle_timeout);
        let hard = hard.map(|at| (at, FlowRemovedReason::HARD_TIMEOUT));
        let idle = idle.map(|at| (at, FlowRemovedReason::IDLE_TIMEOUT));
        hard.into_iter().chain(idle).min_by_key(|(at, _)| *at)
    }

    /// The groups that it forwards to.
    pub fn groups(&self) -> impl Iterator<Item = GroupId> {
        groups(self.instructions.actions())
    }

    /// Returns true if its instructions contain an output to `port` (any, for ANY) and one to
    /// `group`.
    pub fn outputs_to(&self, port: PortNo, group: GroupId) -> bool {
        outputs_to(&self.instructions, port, group)
    }

    /// Returns true if the bundle in progress adds it.
    pub(crate) fn is_staged(&self) -> bool {
        self.stage.is_added()
    }
}

/// The time since `start`.
fn stat_time(now: Time, start: Time) -> StatTime {
    let (sec, nsec) = now.duration(start);
    StatTime { sec, nsec }
}

/// The time when a timeout of `sec` seconds ends; `None` for 0, which means never.
fn timeout_end(from: Time, sec: u16) -> Option<Time> {
    (sec > 0).then(|| from.after(u64::from(sec) * Time::SEC))
}

/// The entries that a lookup sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// All entries; no bundle is in progress.
    #[default]
    Both,
    /// The entries before the bundle.
    Before,
    /// The entries after the bundle.
    After,
}

impl View {
    /// Returns true if an entry is in this view. Without a bundle, the entry's memory is not read.
    #[inline]
    pub fn has(self, entry: &Entry) -> bool {
        match self {
            Self::Both => true,
            Self::Before => !entry.stage.is_added(),
            Self::After => !entry.stage.is_doomed(),
        }
    }
}
