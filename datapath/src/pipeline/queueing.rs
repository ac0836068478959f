//! Frames entering and leaving the queues of their port.

use alloc::string::ToString;

use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_packet::offload;

use crate::egress::Egress;
use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Context;
use crate::qos::QueueClass;
use crate::{DropReason, EgressDrop, Microflow, Port, Sink, Step};

/// The most bytes of buffers that wait in all queues of a switch.
pub const MAX_WAITING_BYTES: usize = 32 << 20;
/// The most frames that one port sends in a row, so that others get their turn.
const FRAMES_PER_RELEASE: usize = 64;

impl<S: Sink, E: FrameEngine> Context<'_, S, E> {
    /// Sends a frame that is ready: at once, or through the port's queues.
    #[inline]
    pub(crate) fn enqueue_or_send(&mut self, frame: Frame, number: PortNo, class: &QueueClass) {
        let Some(egress) = self.egress.ports.get_mut(&number) else {
            return self.send_now(frame, number, class.queue);
        };
        if S::TRACES {
            let queue = egress.resolve(class.queue);
            self.sink.step(Step::Queue(number, queue));
            let microflow = Microflow::in_class(frame.bytes(), class);
            if let Some(standing) = egress.discipline.standing(self.now, &microflow) {
                let text = standing.to_string();
                self.sink.step(Step::Said(egress.discipline(), &text));
                if S::DRY && standing.is_early {
                    return self.drop(DropReason::TooEarly);
                }
            }
        }
        if S::DRY {
            return self.send_now(frame, number, class.queue);
        }
        let bytes = frame.buffer_bytes();
        let on_wire = offload::wire_count(&frame);
        let room = self.egress.waiting_bytes + bytes <= MAX_WAITING_BYTES;
        match egress.enqueue(self.now, class, frame, room) {
            Ok(()) => {
                self.egress.waiting_bytes += bytes;
                self.release(number);
            }
            Err(reason) => self.drop_at_port(number, class, on_wire, reason),
        }
    }

    /// Queues a frame again that waited at a port under another discipline.
    pub(crate) fn enqueue_again(&mut self, frame: Frame, number: PortNo, class: &QueueClass) {
        let Some(egress) = self.egress.ports.get_mut(&number) else {
            return self.drop_queued(number, class, &frame, DropReason::QueueGone);
        };
        let bytes = frame.buffer_bytes();
        let on_wire = offload::wire_count(&frame);
        if let Err(reason) = egress.enqueue(self.now, class, frame, true) {
            self.egress.waiting_bytes -= bytes;
            self.drop_at_port(number, class, on_wire, reason);
        }
    }

    /// Sends the frames that are due at a port, as far as the port accepts them; drops all of them
    /// if the port is down.
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
            let Some((id, frame)) = egress.dequeue(self.now) else {
                return;
            };
            self.egress.waiting_bytes -= frame.buffer_bytes();
            self.send_now(frame, number, id);
        }
    }

    /// Drops all frames that wait at a port.
    pub(crate) fn clear_queues(&mut self, number: PortNo, reason: DropReason) {
        let egress = self.egress.ports.get_mut(&number);
        let frames = egress.map(Egress::take_frames);
        for (class, frame) in frames.into_iter().flatten() {
            self.drop_queued(number, &class, &frame, reason);
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

    pub(crate) fn drop_queued(
        &mut self,
        number: PortNo,
        class: &QueueClass,
        frame: &Frame,
        reason: DropReason,
    ) {
        self.egress.waiting_bytes -= frame.buffer_bytes();
        self.drop_at_port(number, class, offload::wire_count(frame), reason);
    }

    /// Drops packets (how many, and their bytes on the wire) at a port, which counts them.
    pub(crate) fn drop_at_port(
        &mut self,
        number: PortNo,
        class: &QueueClass,
        on_wire: (u64, u64),
        reason: DropReason,
    ) {
        if let (false, Some(port)) = (S::DRY, self.pipeline.ports.get_mut(&number)) {
            port.stats.tx_dropped += on_wire.0;
        }
        self.drop_for(class, on_wire, reason);
    }

    /// Drops packets (how many, and their bytes on the wire) before a port. The owner in their QoS
    /// record, if there is one, is informed.
    pub(crate) fn drop_for(
        &mut self,
        class: &QueueClass,
        (packets, bytes): (u64, u64),
        reason: DropReason,
    ) {
        if let (false, Some(owner)) = (S::DRY, class.qos().owner) {
            let report = EgressDrop {
                number: owner.number,
                packets,
                bytes,
                reason,
            };
            let mut hooks = self.hooks.all.iter_mut();
            if let Some(hook) = hooks.find(|hook| hook.name() == owner.extension) {
                hook.on_egress_drop(&report);
            }
        }
        self.drop(reason);
    }
}
