//! Frames into the queues of their port, and out.

use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;
use bofuss_packet::offload;

use crate::pipeline::context::Context;
use crate::qos::QueueClass;
use crate::{DropReason, Port, Sink, Step};

/// Bytes of buffers that wait in all queues of a switch at most.
pub const MAX_WAITING_BYTES: usize = 32 << 20;
/// Frames that one port sends in a row at most, so that others get their turn.
const FRAMES_PER_RELEASE: usize = 64;

impl<S: Sink> Context<'_, S> {
    /// Whether a frame may wait for a port as it is: any that is no super-frame, and what the queue
    /// takes whole.
    pub(crate) fn takes_whole(&self, number: PortNo, id: QueueId, frame: &Frame) -> bool {
        if frame.offload.gso.is_none() {
            return true;
        }
        let egress = self.egress.ports.get(&number);
        egress.is_none_or(|egress| egress.discipline.takes_whole(id, frame))
    }

    /// Sends a frame that is ready to leave: at once, or through the port's queues.
    #[inline]
    pub(crate) fn enqueue_or_send(&mut self, frame: Frame, number: PortNo, class: &QueueClass) {
        let Some(egress) = self.egress.ports.get_mut(&number) else {
            return self.send_now(frame, number, class.queue);
        };
        if S::TRACES {
            let queue = egress.resolve(class.queue);
            self.sink.step(Step::Queue(number, queue));
        }
        if S::DRY {
            return self.send_now(frame, number, class.queue);
        }
        let bytes = frame.buffer_bytes();
        let packets = offload::wire_count(&frame).0;
        let room = self.egress.waiting_bytes + bytes <= MAX_WAITING_BYTES;
        let refused = match egress.discipline.enqueue(self.now, class, frame, room) {
            Ok(()) => {
                self.egress.waiting_bytes += bytes;
                return self.release(number);
            }
            Err(reason) => reason,
        };
        let port = self.pipeline.ports.get_mut(&number);
        port.expect("its queues are asked").stats.tx_dropped += packets;
        self.drop(refused);
    }

    /// Queues a frame again that waited for a port under another discipline.
    pub(crate) fn enqueue_again(&mut self, frame: Frame, number: PortNo, id: QueueId) {
        let Some(egress) = self.egress.ports.get_mut(&number) else {
            return self.drop_queued(number, &frame, DropReason::QueueGone);
        };
        let bytes = frame.buffer_bytes();
        let packets = offload::wire_count(&frame).0;
        if let Err(reason) = egress
            .discipline
            .enqueue(self.now, &QueueClass::of(id), frame, true)
        {
            self.count_queue_drop(number, bytes, packets, reason);
        }
    }

    /// Sends what is due of a port, as far as the port takes it; drops all that waits for one that
    /// is down.
    pub(crate) fn release(&mut self, number: PortNo) {
        let block = self.pipeline.ports.get(&number).map(Port::egress_block);
        if let Some(reason) = block.unwrap_or(Some(DropReason::NoSuchPort)) {
            return self.clear_queues(number, reason);
        }
        for _ in 0..FRAMES_PER_RELEASE {
            let Some(egress) = self.egress.ports.get_mut(&number) else {
                return;
            };
            egress.blocked = !self.sink.has_room(number);
            if egress.blocked {
                return;
            }
            let Some((id, frame)) = egress.discipline.dequeue(self.now) else {
                return;
            };
            self.egress.waiting_bytes -= frame.buffer_bytes();
            self.send_now(frame, number, id);
        }
    }

    /// Drops all that waits for a port.
    pub(crate) fn clear_queues(&mut self, number: PortNo, reason: DropReason) {
        let egress = self.egress.ports.get_mut(&number);
        let frames = egress.map(|egress| egress.discipline.take_frames());
        for frame in frames.into_iter().flatten() {
            self.drop_queued(number, &frame, reason);
        }
    }

    /// Sends what is due of every port.
    pub(crate) fn release_due(&mut self) {
        let mut next = PortNo(0);
        while let Some((&number, egress)) = self.egress.ports.range(next..).next() {
            next = PortNo(number.0 + 1);
            if egress.next_wakeup().is_some_and(|at| at <= self.now) {
                self.release(number);
            }
        }
    }

    pub(crate) fn drop_queued(&mut self, number: PortNo, frame: &Frame, reason: DropReason) {
        let packets = offload::wire_count(frame).0;
        self.count_queue_drop(number, frame.buffer_bytes(), packets, reason);
    }

    fn count_queue_drop(&mut self, number: PortNo, bytes: usize, packets: u64, reason: DropReason) {
        self.egress.waiting_bytes -= bytes;
        if let Some(port) = self.pipeline.ports.get_mut(&number) {
            port.stats.tx_dropped += packets;
        }
        self.drop(reason);
    }
}
