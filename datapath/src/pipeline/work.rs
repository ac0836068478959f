//! Limits of the work that one frame may cause.

use bofuss_frame::Frame;
use bofuss_packet::offload;

/// The most buckets that one packet may enter, including those of nested groups.
pub const MAX_BUCKETS_PER_PACKET: u16 = 1024;
/// The most levels of nested groups.
pub const MAX_CHAIN: u8 = 16;
/// The work of one turn, in packets copied or sent, counting segments one by one; after it, frames
/// wait for a later turn. One takes 0.3 to 0.7 us, and as long again in a port's system call.
pub const WORK_PER_TURN: u64 = 512;
/// The work of one packet, after which further copies are dropped: enough for
/// [`MAX_BUCKETS_PER_PACKET`] buckets with an output each.
pub const WORK_PER_FRAME: u64 = 2 * MAX_BUCKETS_PER_PACKET as u64;
/// The most levels of nested calls of hooks, when actions that a hook asks for call others.
const MAX_NESTING: u8 = 8;
/// Copying so many bytes costs about as much as handling a packet.
const BYTES_PER_PACKET: u64 = 2048;

/// Counts the work done, and says when the limits are reached.
#[derive(Debug, Default)]
pub struct Work {
    pub(crate) done: u64,
    turn_end: u64,
    frame_end: u64,
    /// The number of entries that the trace in progress may still search for those that nearly
    /// matched.
    #[cfg(feature = "text")]
    pub(crate) searches: usize,
    /// The levels of nested calls of hooks now.
    nesting: u8,
    #[cfg(feature = "resubmit")]
    resubmits: Resubmits,
    /// The levels of nested passes through the egress tables now.
    #[cfg(feature = "reshape")]
    egress_rounds: u8,
    /// True if a trial run met a hook that has to see each packet of the wire.
    #[cfg_attr(not(feature = "super_frames"), allow(dead_code))]
    pub(crate) by_segment: bool,
}

impl Work {
    /// Returns how many packets were copied or sent since the start, counting segments one by one:
    /// a measure of work that is the same on every machine.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Begins to count the work of a turn.
    pub fn begin_turn(&mut self) {
        self.turn_end = self.done + WORK_PER_TURN;
    }

    /// Begins to count the work of a frame.
    pub fn begin_frame(&mut self) {
        self.frame_end = self.done + WORK_PER_FRAME;
        #[cfg(feature = "resubmit")]
        {
            self.resubmits.done = 0;
        }
    }

    /// Returns true if the turn is over.
    pub fn is_turn_over(&self) -> bool {
        self.done >= self.turn_end
    }

    /// Returns true if the frame may have no more copies.
    pub(crate) fn is_spent(&self) -> bool {
        self.done >= self.frame_end
    }

    /// Begins to carry out what a hook asked for. Returns false if that is nested too deeply or too
    /// much work.
    pub(crate) fn begin_nested(&mut self) -> bool {
        let may = self.nesting < MAX_NESTING && !self.is_spent();
        self.nesting += u8::from(may);
        may
    }

    /// Ends what [`Work::begin_nested`] allowed.
    pub(crate) fn end_nested(&mut self) {
        self.nesting -= 1;
    }

    /// Counts a copy of a frame.
    pub(crate) fn count(&mut self, frame: &Frame) {
        self.count_packets(offload::wire_count(frame).0, frame.len() as u64);
    }

    /// Counts a copy of a frame of `bytes` bytes that is so many packets on a wire.
    pub fn count_packets(&mut self, packets: u64, bytes: u64) {
        self.done += packets.max(bytes / BYTES_PER_PACKET);
    }
}

#[cfg(feature = "reshape")]
impl Work {
    /// The most levels of nested passes through the egress tables, when a copy output there begins
    /// another pass.
    const MAX_EGRESS: u8 = 4;

    /// Begins a pass through the egress tables. Returns false if it is nested too deeply.
    pub(crate) fn begin_egress(&mut self) -> bool {
        let may = self.egress_rounds < Self::MAX_EGRESS;
        self.egress_rounds += u8::from(may);
        may
    }

    /// Ends what [`Work::begin_egress`] allowed.
    pub(crate) fn end_egress(&mut self) {
        self.egress_rounds -= 1;
    }
}

/// The resubmits of a frame.
#[cfg(feature = "resubmit")]
#[derive(Debug, Default)]
struct Resubmits {
    /// How many are within each other now.
    depth: u16,
    done: u16,
}

#[cfg(feature = "resubmit")]
impl Resubmits {
    /// The most within each other. Open vSwitch has this limit for those to the same table or to
    /// one before it; here it is for all, because each takes its part of the stack.
    const MAX_DEPTH: u16 = 64;
    /// The most of one packet. Source: Open vSwitch.
    const MAX_PER_PACKET: u16 = 4096;
}

#[cfg(feature = "resubmit")]
impl Work {
    /// Begins a resubmit, which counts as work of the turn. Returns false if it is nested too
    /// deeply, or one too many.
    pub(super) fn begin_resubmit(&mut self) -> bool {
        let resubmits = &mut self.resubmits;
        if resubmits.depth >= Resubmits::MAX_DEPTH || resubmits.done >= Resubmits::MAX_PER_PACKET {
            return false;
        }
        resubmits.depth += 1;
        resubmits.done += 1;
        self.done += 1;
        self.frame_end += 1;
        true
    }

    /// Ends what [`Work::begin_resubmit`] allowed.
    pub(super) fn end_resubmit(&mut self) {
        self.resubmits.depth -= 1;
    }
}
