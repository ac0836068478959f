//! What the maps contain, as `accel.c` and `frame.h` have it.

use std::sync::atomic::{AtomicI64, AtomicU16, AtomicU32, AtomicU64};

#[cfg(doc)]
use bofuss_fastpath::DropBand;
use bofuss_fastpath::MAX_DEPARTURES;

use crate::memory::Shared;

/// The slots of a bucket; a flow is in one of two.
pub(crate) const WAYS: usize = 8;
/// The most processors.
pub(crate) const CPUS: usize = 1024;
/// The most ports.
pub(crate) const PORTS: usize = 256;
/// The most meters, and one that is not used.
pub(crate) const METERS: usize = 4096;
/// Words of a key.
pub(crate) const KEY_WORDS: usize = 8;
/// The most legs of one way, which `accel.c` has, too.
const LONGEST_WAY: usize = 8;
const _: () = assert!(MAX_DEPARTURES == LONGEST_WAY);

/// How much there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Slots of flows: a power of two.
    pub(crate) slots: usize,
    /// Legs, one of which is not used.
    pub(crate) legs: usize,
}

/// The number of flows that there is room for unless more are wanted: 3 MiB.
pub const USUAL_FLOWS: u32 = 1 << 14;
/// The most flows that there can be room for: 170 MiB.
pub const MOST_FLOWS: u32 = 1 << 20;
/// The fewest slots.
const FEWEST_SLOTS: u32 = 64;
/// A leg for so many slots, as flows that are treated alike share theirs.
const SLOTS_OF_LEG: usize = 4;

impl Size {
    /// The size with a slot or more for each of so many flows, at most [`MOST_FLOWS`].
    pub(crate) fn of(flows: u32) -> Self {
        let slots = flows.clamp(FEWEST_SLOTS, MOST_FLOWS).next_power_of_two() as usize;
        Self {
            slots,
            legs: slots / SLOTS_OF_LEG,
        }
    }
}

/// A flow.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) key: [AtomicU64; KEY_WORDS],
    /// The slot has a flow while this is the epoch of the settings.
    pub(crate) epoch: AtomicU64,
    /// The index of the interface that frames leave by; 0 drops them.
    pub(crate) out: AtomicU32,
    /// The most bytes of a frame, or of a segment, without its tag.
    pub(crate) longest: AtomicU32,
    /// The time when its last frame was left to the switch, and whether frames have stopped going
    /// there.
    pub(crate) sent_up: AtomicU64,
    pub(crate) is_below: AtomicU32,
    /// The place in [`Settings::drained`] of the port that they arrive on.
    pub(crate) from: AtomicU16,
    /// TCP flags, as in the key, that entries read and only one segment of a super-frame has.
    pub(crate) parting: AtomicU16,
    /// Packets and bytes that no meter dropped.
    pub(crate) packets: AtomicU64,
    pub(crate) bytes: AtomicU64,
    /// When the last of these came.
    pub(crate) used: AtomicU64,
    /// The first of its legs; 0 if frames leave as they came, by one interface.
    pub(crate) leg: AtomicU32,
    /// By how much their TTL is lowered.
    pub(crate) hops: AtomicU16,
    /// The meter that judges them; 0 if there is none.
    pub(crate) meter: AtomicU16,
}

/// What the meter of the flow in a slot dropped, and when it did last.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Dropped {
    pub(crate) packets: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) last: AtomicU64,
}

/// A meter with one band, which drops packets: its bucket, and what that costs. See [`DropBand`].
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) until: AtomicI64,
    pub(crate) depth: AtomicI64,
    pub(crate) per_packet: AtomicU64,
    pub(crate) per_byte: AtomicU64,
    pub(crate) rate: AtomicU32,
    pub(crate) deepens: AtomicU32,
}

/// A change of frames and a departure.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Leg {
    /// The bits of the key that stay, and those that are set.
    pub(crate) stays: [AtomicU64; KEY_WORDS],
    pub(crate) set: [AtomicU64; KEY_WORDS],
    /// The index of the interface that frames leave by.
    pub(crate) out: AtomicU32,
    /// The next leg; 0 if there is none.
    pub(crate) next: AtomicU32,
    pub(crate) hops: AtomicU32,
    /// What is changed: the bits of [`Changes`](crate::way::Changes).
    pub(crate) changes: AtomicU32,
}

/// What a processor does.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Cpu {
    /// Odd while a frame is between its decision and its departure.
    pub(crate) section: AtomicU64,
    verdict: [AtomicU32; 3],
    /// 1 if sockets of two switches may meet a frame, which is decided once.
    pub(crate) is_shared: AtomicU32,
    unused: [AtomicU32; 10],
}

/// What applies to all flows.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Settings {
    /// Slots of another epoch are empty.
    pub(crate) epoch: AtomicU64,
    pub(crate) mask: [AtomicU64; KEY_WORDS],
    pub(crate) seed: AtomicU64,
    /// The number of buckets of slots, less one.
    pub(crate) buckets: AtomicU64,
    /// The number of slots that are not empty.
    pub(crate) flows: AtomicU64,
    /// The time 0 of the switch.
    pub(crate) start: AtomicU64,
    /// By port: all frames that arrived before this time have left the switch.
    pub(crate) drained: [AtomicU64; PORTS],
    /// By port: until then, frames of known flows are dropped that would go up, and counted.
    pub(crate) hold: [AtomicU64; PORTS],
    pub(crate) held: [AtomicU64; PORTS],
}

/// A bit of each of so many slots, which says that it has counted since it was asked.
pub(crate) const NOTED: usize = u64::BITS as usize;

const _: () = assert!(size_of::<Slot>() == 128 && size_of::<Cpu>() == 64);
const _: () = assert!(size_of::<Leg>() == 144 && size_of::<Meter>() == 40);

/// 16 bits of the hash of each key in a bucket of slots.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct Tags(pub(crate) [AtomicU16; WAYS]);

// SAFETY: they are atomic.
unsafe impl Shared for Tags {}
// SAFETY: it is atomic, and any bits are a number.
unsafe impl Shared for AtomicU64 {}
// SAFETY: all fields are atomic, and the program in C has the same; the sizes are checked above.
unsafe impl Shared for Slot {}
// SAFETY: as above.
unsafe impl Shared for Leg {}
// SAFETY: as above.
unsafe impl Shared for Dropped {}
// SAFETY: as above.
unsafe impl Shared for Meter {}
// SAFETY: as above.
unsafe impl Shared for Cpu {}
// SAFETY: as above; words of 8 bytes leave no gaps.
unsafe impl Shared for Settings {}
