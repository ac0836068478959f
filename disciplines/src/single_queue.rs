//! A discipline with one queue: the port's rate, limits and counters around an order of frames.

use alloc::{collections::VecDeque, vec::Vec};
use core::fmt::Debug;
use core::slice;

use bofuss_datapath::egress::{
    AHEAD_NS, DEFAULT_QUEUE, Discipline, MAX_QUEUE_BYTES, Queue, QueueClass, QueueSpec,
};
use bofuss_datapath::{DropReason, Guarantees, Microflow, Standing, Time};
use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;
use bofuss_packet::offload;

use crate::lone_queue::LoneQueue;

/// The most waiting bytes are those that the port sends in this time, in milliseconds.
pub(super) const BUFFER_MS: u64 = 200;
/// So many bytes may wait even at the slowest port.
const MIN_BUFFER_BYTES: u64 = 64 << 10;

/// Bytes beyond a port's limit that are reserved for frames within a guarantee.
pub(crate) const GUARANTEED_BYTES: u64 = 16 << 10;

/// The rate and the buffer of a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The rate at which frames leave in kb/s; 0 if it is unlimited.
    pub(crate) kbps: u32,
    /// The number of bytes that may wait.
    pub(crate) limit_bytes: u64,
}

/// The sum of granted guarantees in kb/s, and how many were refused.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Promised {
    pub(crate) kbps: u64,
    pub(crate) refused: u64,
}

/// An order of frames: decides which waiting frame leaves next. No frame is a super-frame.
pub(crate) trait FrameOrder: Debug + Default {
    /// Adds a frame. Errors: why it is refused.
    fn push(
        &mut self,
        now: Time,
        frame: Frame,
        class: &QueueClass,
        bounds: Bounds,
    ) -> Result<(), DropReason>;

    /// Removes and returns the frame that leaves next.
    fn pop(&mut self, now: Time) -> Option<Frame>;

    /// Returns when `pop` has a frame, if the port can send; `None` if nothing waits.
    fn due(&self) -> Option<Time>;

    /// Removes and returns all frames.
    fn take_frames(&mut self) -> Vec<Frame>;

    /// The standing of a microflow, if it is known. Frames leave at `kbps`; 0 if that is unlimited.
    fn standing(&self, now: Time, microflow: &Microflow, kbps: u32) -> Option<Standing>;

    /// The granted and refused guarantees; `None` if it ignores QoS records.
    fn promised(&self) -> Option<Promised> {
        None
    }
}

/// A discipline with one queue, whose frames an `O` orders.
#[derive(Debug)]
pub(crate) struct SingleQueue<O> {
    /// The configuration and the counters of the queue. Its frames are in `order`.
    lone: LoneQueue,
    order: O,
}

impl<O: FrameOrder> SingleQueue<O> {
    /// Makes it for a port with a rate of `kbps`; 0 if that is not known.
    pub(crate) fn new(now: Time, port_no: PortNo, kbps: u32) -> Self {
        Self {
            lone: LoneQueue::new(now, port_no, kbps),
            order: O::default(),
        }
    }

    /// Makes only an order of frames.
    #[cfg(test)]
    pub(super) fn order() -> O {
        O::default()
    }

    fn bounds(&self) -> Bounds {
        let rates = [self.lone.pace.kbps, self.lone.queue.max.kbps];
        let Some(kbps) = rates.into_iter().filter(|kbps| *kbps > 0).min() else {
            return Bounds {
                kbps: 0,
                limit_bytes: MAX_QUEUE_BYTES,
            };
        };
        let bytes = u64::from(kbps) * BUFFER_MS / 8;
        Bounds {
            kbps,
            limit_bytes: bytes.clamp(MIN_BUFFER_BYTES, MAX_QUEUE_BYTES),
        }
    }
}

impl<O: FrameOrder> Discipline for SingleQueue<O> {
    fn check(&self, id: QueueId, spec: &QueueSpec) -> Result<(), &'static str> {
        LoneQueue::check(id, spec)
    }

    fn enqueue(
        &mut self,
        now: Time,
        class: &QueueClass,
        frame: Frame,
        has_room: bool,
    ) -> Result<(), DropReason> {
        let (packets, _) = offload::wire_count(&frame);
        if self.order.due().is_none() {
            self.lone.queue.max.begin(now);
        }
        let bounds = self.bounds();
        let taken = if has_room {
            self.order.push(now, frame, class, bounds)
        } else {
            Err(DropReason::QueuesFull)
        };
        if taken.is_err() {
            self.lone.queue.stats.tx_errors += packets;
        }
        taken
    }

    fn dequeue(&mut self, now: Time) -> Option<(QueueId, Frame)> {
        if self.order.due()? > now || self.next_wakeup()? > now.after(AHEAD_NS) {
            return None;
        }
        self.lone.pace.begin(self.lone.queue.max.due);
        let frame = self.order.pop(now)?;
        let (packets, bytes) = offload::wire_count(&frame);
        self.lone.queue.stats.tx_packets += packets;
        self.lone.queue.stats.tx_bytes += bytes;
        self.lone.charge(now, bytes);
        Some((DEFAULT_QUEUE, frame))
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.order.due().map(|due| due.max(self.lone.due()))
    }

    /// A super-frame would count as one packet, however long it is.
    fn takes_whole(&self, _: QueueId, frame: &Frame) -> bool {
        frame.offload.gso.is_none()
    }

    fn queues(&self) -> &[Queue] {
        slice::from_ref(&self.lone.queue)
    }

    fn set_rate(&mut self, now: Time, kbps: u32) {
        self.lone.set_rate(now, kbps);
    }

    fn modify(&mut self, now: Time, _: QueueId, spec: QueueSpec) {
        self.lone.modify(now, spec);
    }

    fn remove(&mut self, id: QueueId) -> Option<VecDeque<Frame>> {
        self.lone.reset(id)?;
        Some(self.take_frames().into())
    }

    fn take_frames(&mut self) -> Vec<Frame> {
        self.order.take_frames()
    }

    fn standing(&self, now: Time, microflow: &Microflow) -> Option<Standing> {
        self.order.standing(now, microflow, self.bounds().kbps)
    }

    fn guarantees(&self) -> Option<Guarantees> {
        let promised = self.order.promised()?;
        let kbps = u64::from(self.bounds().kbps);
        Some(Guarantees {
            granted_kbps: promised.kbps,
            free_kbps: kbps.saturating_sub(promised.kbps),
            refused: promised.refused,
        })
    }
}
