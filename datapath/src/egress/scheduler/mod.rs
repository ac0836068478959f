//! Today's discipline: guaranteed rates, then strict priority, then weighted fair queueing.
//!
//! Pure: it is told the time. A queue whose guaranteed rate is due comes first, then strict
//! priority decides, then weight. Rates count the frame's bytes as the counters do: without
//! preamble, gap and FCS.

use alloc::{collections::VecDeque, vec, vec::Vec};
use core::cmp::Reverse;

use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::message::multipart::QueueStats;
use bofuss_oflib::types::QueueId;
use bofuss_packet::offload;

use crate::egress::discipline::Discipline;
use crate::{DropReason, Time};

/// Packets that one queue holds at most, a super-frame as its segments.
pub const MAX_QUEUE_PACKETS: u64 = 1_000;
/// Bytes of frames that one queue holds at most.
pub const MAX_QUEUE_BYTES: u64 = 1 << 20;
/// How much lateness a rate makes up for by sending closer together afterwards.
const CATCH_UP_NS: u64 = 10_000_000;
/// How much earlier than its time a frame may leave, so that fast ports send in batches.
const AHEAD_NS: u64 = 20_000;
/// The longest time on the wire of a super-frame that a queue takes whole.
const MAX_WHOLE_NS: u64 = 60_000;
/// The queue of packets that name none, or one that their port does not have.
pub const DEFAULT_QUEUE: QueueId = QueueId(0);

/// A rate, of its own or as a share of the port's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// So many kb/s.
    Kbps(u32),
    /// So many thousandths of the port's rate.
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

/// What a queue is configured to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSpec {
    /// The rate that it has at least, if it has so much to send.
    pub min: Option<Rate>,
    /// The rate that it has at most; its frames are spaced evenly.
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
struct Pace {
    /// 0 is no rate: always due.
    kbps: u32,
    due: Time,
    /// What the last division left, in millionths of a bit.
    rest: u64,
}

impl Pace {
    fn set(&mut self, now: Time, kbps: u32) {
        if kbps != self.kbps {
            (self.kbps, self.due) = (kbps, now);
        }
    }

    /// Nothing could leave until `start`: there is no time before it to catch up on.
    fn begin(&mut self, start: Time) {
        self.due = self.due.max(start);
    }

    fn duration_ns(&self, bytes: u64) -> u64 {
        (bytes * 8_000_000)
            .checked_div(self.kbps.into())
            .unwrap_or(0)
    }

    fn charge(&mut self, now: Time, bytes: u64) {
        if self.kbps > 0 {
            let (kbps, owed) = (u64::from(self.kbps), bytes * 8_000_000 + self.rest);
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
    /// What it is configured to be.
    pub spec: QueueSpec,
    /// Its counters; frames as they are on a wire.
    pub stats: QueueStats,
    /// When it was made.
    pub since: Time,
    frames: VecDeque<Frame>,
    packets: u64,
    bytes: u64,
    min: Pace,
    max: Pace,
    /// Its place in the order of weighted sharing, and its place when it was served last.
    finish: u128,
    start: u128,
}

impl Queue {
    pub(crate) fn new(now: Time, port_no: PortNo, id: QueueId) -> Self {
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
            finish: 0,
            start: 0,
        }
    }

    fn has_room(&self, packets: u64, bytes: u64) -> bool {
        self.packets + packets <= MAX_QUEUE_PACKETS && self.bytes + bytes <= MAX_QUEUE_BYTES
    }

    /// Where its next frame stands in the order: priority, then virtual time.
    fn rank(&self) -> (Reverse<u16>, u128) {
        (Reverse(self.spec.priority), self.finish)
    }
}

/// The queues of one port: guaranteed rates first, then strict priority, then weighted fair
/// queueing among equals.
#[derive(Debug)]
pub(crate) struct WeightedPriority {
    /// By number; the first is the default queue.
    queues: Vec<Queue>,
    port_no: PortNo,
    pace: Pace,
}

impl WeightedPriority {
    /// With the default queue alone, on a port of `kbps`, 0 if that is not known.
    pub(crate) fn new(now: Time, port_no: PortNo, kbps: u32) -> Self {
        let mut this = Self {
            queues: vec![Queue::new(now, port_no, DEFAULT_QUEUE)],
            port_no,
            pace: Pace::default(),
        };
        this.set_rate(now, kbps);
        this
    }

    /// The place of the queue that frames for `id` wait in.
    fn place(&self, id: QueueId) -> usize {
        let own = self.queues.iter().position(|queue| queue.id == id);
        own.unwrap_or(0)
    }

    /// When the first queue may send, whatever the port's rate; `None` if nothing waits.
    fn first_due(&self) -> Option<Time> {
        let waiting = self.queues.iter().filter(|queue| !queue.frames.is_empty());
        waiting.map(|queue| queue.max.due).min()
    }

    fn serve(&mut self, now: Time, at: usize, shared: bool) -> (QueueId, Frame) {
        let priority = self.queues[at].spec.priority;
        let peers = self.queues.iter().filter(|q| q.spec.priority == priority);
        let virtual_time = peers.map(|queue| queue.start).max().unwrap_or(0);
        let queue = &mut self.queues[at];
        let frame = queue.frames.pop_front().expect("a ready queue has a frame");
        let (packets, bytes) = offload::wire_count(&frame);
        queue.packets -= packets;
        queue.bytes -= bytes;
        queue.stats.tx_packets += packets;
        queue.stats.tx_bytes += bytes;
        // What it gets beyond its guarantee does not count against the guarantee later.
        queue.min.due = queue.min.due.min(now);
        queue.min.charge(now, bytes);
        queue.max.charge(now, bytes);
        self.pace.charge(now, bytes);
        if shared {
            queue.start = queue.finish.max(virtual_time);
            let weight = u128::from(queue.spec.weight.max(1));
            queue.finish = queue.start + (u128::from(bytes) << 16) / weight;
        }
        (queue.id, frame)
    }
}

impl Discipline for WeightedPriority {
    fn enqueue(
        &mut self,
        now: Time,
        id: QueueId,
        frame: Frame,
        has_room: bool,
    ) -> Result<(), DropReason> {
        let (packets, bytes) = offload::wire_count(&frame);
        let place = self.place(id);
        let queue = &mut self.queues[place];
        let fits = queue.has_room(packets, bytes);
        if !fits || !has_room {
            queue.stats.tx_errors += packets;
            return Err(if fits {
                DropReason::QueuesFull
            } else {
                DropReason::QueueFull
            });
        }
        if queue.frames.is_empty() {
            queue.min.begin(now);
            queue.max.begin(now);
        }
        queue.packets += packets;
        queue.bytes += bytes;
        queue.frames.push_back(frame);
        Ok(())
    }

    fn dequeue(&mut self, now: Time) -> Option<(QueueId, Frame)> {
        let latest = now.after(AHEAD_NS);
        if self.pace.due > latest {
            return None;
        }
        let ready = |queue: &Queue| !queue.frames.is_empty() && queue.max.due <= latest;
        let ready = || (0..self.queues.len()).filter(|at| ready(&self.queues[*at]));
        let queue = |at: &usize| &self.queues[*at];
        let late = ready().filter(|at| queue(at).min.kbps > 0 && queue(at).min.due <= now);
        let late = late.min_by_key(|at| queue(at).min.due);
        let at = late.or_else(|| ready().min_by_key(|at| queue(at).rank()))?;
        // The port is late only by the time in which a frame could have left.
        self.pace.begin(self.first_due()?);
        Some(self.serve(now, at, late.is_none()))
    }

    fn next_wakeup(&self) -> Option<Time> {
        Some(self.first_due()?.max(self.pace.due))
    }

    fn takes_whole(&self, id: QueueId, frame: &Frame) -> bool {
        let (packets, bytes) = offload::wire_count(frame);
        let port_ns = self.pace.duration_ns(bytes);
        let queue = &self.queues[self.place(id)];
        let longest = queue.max.duration_ns(bytes).max(port_ns);
        longest <= MAX_WHOLE_NS && queue.has_room(packets, bytes)
    }

    fn queues(&self) -> &[Queue] {
        &self.queues
    }

    fn set_rate(&mut self, now: Time, kbps: u32) {
        self.pace.set(now, kbps);
        for queue in &mut self.queues {
            let rate = |rate: Option<Rate>| rate.map_or(0, |rate| rate.kbps(kbps));
            queue.min.set(now, rate(queue.spec.min));
            queue.max.set(now, rate(queue.spec.max));
        }
    }

    fn modify(&mut self, now: Time, id: QueueId, spec: QueueSpec) {
        let at = match self.queues.binary_search_by_key(&id.0, |queue| queue.id.0) {
            Ok(at) => at,
            Err(at) => {
                self.queues.insert(at, Queue::new(now, self.port_no, id));
                at
            }
        };
        self.queues[at].spec = spec;
        self.set_rate(now, self.pace.kbps);
    }

    fn remove(&mut self, id: QueueId) -> Option<VecDeque<Frame>> {
        let at = self.queues.iter().position(|queue| queue.id == id)?;
        Some(self.queues.remove(at).frames)
    }

    fn take_frames(&mut self) -> Vec<Frame> {
        let empty = |queue: &mut Queue| {
            (queue.packets, queue.bytes) = (0, 0);
            core::mem::take(&mut queue.frames)
        };
        self.queues.iter_mut().flat_map(empty).collect()
    }
}

#[cfg(test)]
mod tests;
