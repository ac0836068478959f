//! Two-level fair queueing: aggregates share the port, and their microflows each aggregate.
//!
//! What goes to one address is an aggregate. Each gets as much as any other that has so much to
//! send, and so does each microflow of it.

use alloc::{collections::VecDeque, vec::Vec};
use core::slice;

use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;
use bofuss_packet::offload;

use crate::egress::discipline::Discipline;
use crate::egress::fair_order::FairOrder;
use crate::egress::microflow::Microflow;
use crate::egress::queue::{
    AHEAD_NS, DEFAULT_QUEUE, MAX_QUEUE_BYTES, MAX_QUEUE_PACKETS, Pace, Queue, QueueSpec,
};
use crate::{DropReason, Time};

/// How long it takes at most to send all that may wait, in milliseconds.
const BUFFER_MS: u64 = 200;
/// Bytes that may wait at any port, however slow.
const MIN_BUFFER_BYTES: u64 = 64 << 10;
/// What a frame that is shorter counts as, so that not too many wait.
const MIN_SIZE: u64 = MAX_QUEUE_BYTES / MAX_QUEUE_PACKETS;

/// The frames of one port by aggregate and microflow.
#[derive(Debug)]
pub(crate) struct HierarchicalFair {
    /// What the one queue is configured to be, and its counters. The frames are in `order`.
    queue: Queue,
    pace: Pace,
    order: FairOrder,
}

impl HierarchicalFair {
    /// On a port of `kbps`, 0 if that is not known.
    pub(crate) fn new(now: Time, port_no: PortNo, kbps: u32) -> Self {
        let mut this = Self {
            queue: Queue::new(now, port_no, DEFAULT_QUEUE),
            pace: Pace::default(),
            order: FairOrder::default(),
        };
        this.set_rate(now, kbps);
        this
    }

    /// Bytes that may wait.
    fn limit(&self) -> u64 {
        let rates = [self.pace.kbps, self.queue.max.kbps];
        let Some(kbps) = rates.into_iter().filter(|kbps| *kbps > 0).min() else {
            return MAX_QUEUE_BYTES;
        };
        let bytes = u64::from(kbps) * BUFFER_MS / 8;
        bytes.clamp(MIN_BUFFER_BYTES, MAX_QUEUE_BYTES)
    }

    /// Whether so much more may wait of a microflow: twice of what is free for a whole aggregate,
    /// and for a microflow what the aggregate leaves of that. So some room is always free for
    /// others. Dynamic thresholds: Choudhury and Hahne, 1998.
    fn has_room_for(&self, microflow: &Microflow, size: u64) -> bool {
        let free = self.limit().saturating_sub(self.order.size());
        let of_all = self.order.size_of_all(&microflow.aggregate());
        let left = (2 * free).saturating_sub(of_all);
        let waiting = self.order.size_of(microflow);
        size <= free && (waiting < left && (waiting == 0 || waiting + size <= left))
    }
}

impl Discipline for HierarchicalFair {
    fn check(&self, id: QueueId, spec: &QueueSpec) -> Result<(), &'static str> {
        if spec.is_only_a_maximum(id) {
            Ok(())
        } else {
            Err("a port with the discipline hfair has queue 0 only, and of it a maximum only")
        }
    }

    fn enqueue(
        &mut self,
        now: Time,
        _: QueueId,
        frame: Frame,
        has_room: bool,
    ) -> Result<(), DropReason> {
        let (packets, bytes) = offload::wire_count(&frame);
        let size = bytes.max(MIN_SIZE);
        let microflow = Microflow::of(frame.bytes());
        let is_below_limits = self.has_room_for(&microflow, size);
        if !is_below_limits || !has_room {
            self.queue.stats.tx_errors += packets;
            return Err(if is_below_limits {
                DropReason::QueuesFull
            } else {
                DropReason::QueueFull
            });
        }
        if self.order.size() == 0 {
            self.queue.max.begin(now);
        }
        self.order.push(microflow, frame, size);
        Ok(())
    }

    fn dequeue(&mut self, now: Time) -> Option<(QueueId, Frame)> {
        if self.next_wakeup()? > now.after(AHEAD_NS) {
            return None;
        }
        self.pace.begin(self.queue.max.due);
        let frame = self.order.pop()?;
        let (packets, bytes) = offload::wire_count(&frame);
        self.queue.stats.tx_packets += packets;
        self.queue.stats.tx_bytes += bytes;
        self.queue.max.charge(now, bytes);
        self.pace.charge(now, bytes);
        Some((DEFAULT_QUEUE, frame))
    }

    fn next_wakeup(&self) -> Option<Time> {
        let due = self.queue.max.due.max(self.pace.due);
        (self.order.size() > 0).then_some(due)
    }

    /// A super-frame would be one packet of its microflow, however long.
    fn takes_whole(&self, _: QueueId, frame: &Frame) -> bool {
        frame.offload.gso.is_none()
    }

    fn queues(&self) -> &[Queue] {
        slice::from_ref(&self.queue)
    }

    fn set_rate(&mut self, now: Time, kbps: u32) {
        self.pace.set(now, kbps);
        let max = self.queue.spec.max;
        self.queue.max.set(now, max.map_or(0, |rate| rate.kbps(kbps)));
    }

    fn modify(&mut self, now: Time, _: QueueId, spec: QueueSpec) {
        self.queue.spec = spec;
        self.set_rate(now, self.pace.kbps);
    }

    fn remove(&mut self, id: QueueId) -> Option<VecDeque<Frame>> {
        if id != DEFAULT_QUEUE {
            return None;
        }
        self.queue.spec = QueueSpec::default();
        Some(self.take_frames().into())
    }

    fn take_frames(&mut self) -> Vec<Frame> {
        self.order.take_frames()
    }
}

#[cfg(test)]
mod tests;
