//! One queue of a port, its configuration, and the clock of a rate.

use alloc::collections::VecDeque;

use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::message::multipart::QueueStats;
use bofuss_oflib::types::QueueId;
use bofuss_packet::offload;

use crate::{DropReason, Time};

/// The most packets in one queue; a super-frame counts as its segments.
pub const MAX_QUEUE_PACKETS: u64 = 1_000;
/// The most bytes of frames in one queue.
pub const MAX_QUEUE_BYTES: u64 = 1 << 20;
/// The lateness that a rate makes up for by sending frames closer together afterwards: a machine
/// that is shared takes the processor away for tens of milliseconds.
const CATCH_UP_NS: u64 = 50_000_000;
/// The time by which a frame may leave early, so that fast ports can send in batches.
pub const AHEAD_NS: u64 = 20_000;
/// The longest time on the wire of a super-frame that may wait whole.
const MAX_WHOLE_NS: u64 = 60_000;
/// The queue of packets that name no queue, or a queue that their port does not have.
pub const DEFAULT_QUEUE: QueueId = QueueId(0);

/// A rate, absolute or as a share of the port's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// In kb/s.
    Kbps(u32),
    /// In thousandths of the port's rate.
    PerMille(u16),
}

impl Rate {
    /// The rate in kb/s on a port of `port_kbps`: rounded up, 0 for a share of an unknown rate.
    pub fn kbps(self, port_kbps: u32) -> u32 {
        match self {
            Self::Kbps(kbps) => kbps,
            Self::PerMille(share) => {
                let kbps = (u64::from(port_kbps) * u64::from(share)).div_ceil(1000);
                u32::try_from(kbps).unwrap_or(u32::MAX)
            }
        }
    }
}

/// The configuration of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSpec {
    /// The guaranteed rate, as far as it has enough to send.
    pub min: Option<Rate>,
    /// The maximum rate; frames are spaced evenly.
    pub max: Option<Rate>,
    /// A queue of higher priority goes first, once the guaranteed rates are served.
    pub priority: u16,
    /// Its share among queues of its priority; 0 counts as 1.
    pub weight: u16,
}

impl Default for QueueSpec {
    fn default() -> Self {
        Self {
            min: None,
            max: None,
            priority: 0,
            weight: 1,
        }
    }
}

/// A rate's clock: when the next frame is due.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// 0 is no rate: always due.
    pub kbps: u32,
    /// The time when the next frame is due.
    pub due: Time,
    /// The remainder of the last division, in millionths of a bit.
    rest: u64,
}

/// Returns how many nanoseconds bytes take at a rate; 0 if the rate is 0, which means unlimited.
pub fn duration_ns(bytes: u64, kbps: u64) -> u64 {
    (bytes * 8_000_000).checked_div(kbps).unwrap_or(0)
}

impl Pace {
    /// Sets the rate; another one begins now.
    pub fn set(&mut self, now: Time, kbps: u32) {
        if kbps != self.kbps {
            (self.kbps, self.due) = (kbps, now);
        }
    }

    /// Begins at `start`. Time before it is not made up for, because nothing could be sent then.
    pub fn begin(&mut self, start: Time) {
        self.due = self.due.max(start);
    }

    /// Returns how many nanoseconds bytes take at this rate; 0 if there is none.
    pub fn duration_ns(&self, bytes: u64) -> u64 {
        duration_ns(bytes, self.kbps.into())
    }

    /// Moves the time of the next frame on by that of a frame with so many bytes.
    pub fn charge(&mut self, now: Time, bytes: u64) {
        if self.kbps > 0 {
            let kbps = u64::from(self.kbps);
            let owed = bytes * 8_000_000 + self.rest;
            let from = self.due.max(Time(now.0.saturating_sub(CATCH_UP_NS)));
            (self.due, self.rest) = (from.after(owed / kbps), owed % kbps);
        }
    }
}

/// One queue of a port.
#[derive(Debug)]
pub struct Queue {
    /// Its number.
    pub id: QueueId,
    /// Its configuration.
    pub spec: QueueSpec,
    /// Its counters; frames are counted as on a wire.
    pub stats: QueueStats,
    /// The time when it was made.
    pub since: Time,
    /// Its frames, in the order in which they leave.
    pub frames: VecDeque<Frame>,
    /// The number of packets; a super-frame counts as its segments.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// The clock of its guaranteed rate.
    pub min: Pace,
    /// The clock of its maximum rate.
    pub max: Pace,
}

impl Queue {
    /// Makes an empty queue of a port.
    pub fn new(now: Time, port_no: PortNo, id: QueueId) -> Self {
        let stats = QueueStats {
            port_no,
            queue_id: id,
            ..QueueStats::default()
        };
        Self {
            id,
            spec: QueueSpec::default(),
            stats,
            since: now,
            frames: VecDeque::new(),
            packets: 0,
            bytes: 0,
            min: Pace::default(),
            max: Pace::default(),
        }
    }

    /// Adds a frame at its end. `has_room` is false if the switch has no memory for it.
    ///
    /// Errors: QueueFull or QueuesFull; the frame is dropped, and counted.
    pub fn push(&mut self, now: Time, frame: Frame, has_room: bool) -> Result<(), DropReason> {
        let (packets, bytes) = offload::wire_count(&frame);
        let is_below_limits = self.is_below_limits(packets, bytes);
        if !is_below_limits || !has_room {
            self.stats.tx_errors += packets;
            return Err(if is_below_limits {
                DropReason::QueuesFull
            } else {
                DropReason::QueueFull
            });
        }
        if self.frames.is_empty() {
            self.min.begin(now);
            self.max.begin(now);
        }
        self.packets += packets;
        self.bytes += bytes;
        self.frames.push_back(frame);
        Ok(())
    }

    /// Removes its first frame, and counts it as sent. Returns it with its bytes on the wire.
    pub fn pop(&mut self) -> Option<(Frame, u64)> {
        let frame = self.frames.pop_front()?;
        let (packets, bytes) = offload::wire_count(&frame);
        self.packets -= packets;
        self.bytes -= bytes;
        self.stats.tx_packets += packets;
        self.stats.tx_bytes += bytes;
        Some((frame, bytes))
    }

    /// Removes and returns all of its frames.
    pub fn take_frames(&mut self) -> VecDeque<Frame> {
        (self.packets, self.bytes) = (0, 0);
        core::mem::take(&mut self.frames)
    }

    /// Returns true if a super-frame may wait in it whole: there is room for all segments, and at
    /// the port's pace they take so little time that others need not wait long.
    pub fn takes_whole(&self, port: &Pace, frame: &Frame) -> bool {
        let (packets, bytes) = offload::wire_count(frame);
        let longest = self.max.duration_ns(bytes).max(port.duration_ns(bytes));
        longest <= MAX_WHOLE_NS && self.is_below_limits(packets, bytes)
    }

    /// Returns true if so many more packets and bytes are within the limits of a queue.
    fn is_below_limits(&self, packets: u64, bytes: u64) -> bool {
        self.packets + packets <= MAX_QUEUE_PACKETS && self.bytes + bytes <= MAX_QUEUE_BYTES
    }
}
