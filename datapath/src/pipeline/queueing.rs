//! Frames that leave by a port, at once or through its queues.
//!
//! A port without queues sends at once. With queues, each frame goes through the port's discipline,
//! even if it leaves at once, so that its bytes are charged to its queue. The sender keeps
//! `PortQueues::waiting_bytes` equal to the sum of all buffers that wait.

use alloc::collections::BTreeMap;

use bofuss_frame::{Frame, OffloadCapabilities};
use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;
use bofuss_packet::packet_type::FRONT_BYTES;
use bofuss_packet::{Packet, offload};

use crate::egress::Egress;
use crate::engine_notes::EngineNotes;
use crate::hooks::Hooks;
use crate::pipeline::context::{Context, PortQueues, count_drop};
use crate::pipeline::fragments::cut_again;
use crate::qos::QueueClass;
use crate::{DropReason, EgressDrop, Port, Sink, Step, Time};

/// The most bytes of buffers that wait in all queues of a switch.
///
/// Buffers of the pool are counted and not frames, because a short frame occupies a whole buffer.
pub const MAX_WAITING_BYTES: usize = 32 << 20;
/// The most frames that one port sends in a row, so that others get their turn.
///
/// If more frames are due, the next wakeup comes at once.
const FRAMES_PER_RELEASE: usize = 64;

/// All that frames need to leave by a port: the ports, their queues, and who learns of drops.
///
/// It has neither tables nor the engine: a frame that is here can only leave, wait or be dropped.
pub(crate) struct PortSender<'a, S: Sink> {
    now: Time,
    sink: &'a mut S,
    ports: &'a mut BTreeMap<PortNo, Port>,
    queues: &'a mut PortQueues,
    hooks: &'a mut Hooks,
    drops: &'a mut [u64; DropReason::ALL.len()],
}

impl<S: Sink, E: EngineNotes> Context<'_, S, E> {
    /// Returns what frames need to leave by a port.
    #[inline(always)]
    pub(crate) fn sender(&mut self) -> PortSender<'_, S> {
        PortSender {
            now: self.now,
            sink: self.sink,
            ports: &mut self.pipeline.ports,
            queues: self.egress,
            hooks: self.hooks,
            drops: &mut self.lane.drops,
        }
    }
}

impl<S: Sink> PortSender<'_, S> {
    /// Sends a packet out of a port that forwards, in segments if the port or its queue wants them.
    ///
    /// The caller has checked that the port exists and is not blocked.
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        packet: &mut Packet,
        number: PortNo,
        capabilities: OffloadCapabilities,
        class: &QueueClass,
    ) {
        // Some ports cut super-frames only below a limited number of VLAN tags.
        let tags = packet.tags_before_ip();
        let whole = self.queues.takes_whole(number, class.queue, &packet.frame);
        if whole && capabilities.take(&packet.frame.offload, tags) {
            self.enqueue_or_transmit(packet.take_frame(), number, class);
        } else {
            self.send_prepared(packet.take_frame(), number, capabilities, class);
        }
    }

    /// Finishes a frame's checksum or cuts it, and sends the parts.
    #[inline(never)]
    fn send_prepared(
        &mut self,
        mut frame: Frame,
        number: PortNo,
        capabilities: OffloadCapabilities,
        class: &QueueClass,
    ) {
        // The usual case: one packet, of which only the checksum is missing.
        if frame.offload.gso.is_none() && frame.offload.fragment_bytes == 0 {
            offload::finish_checksum(&mut frame);
            return self.enqueue_or_transmit(frame, number, class);
        }
        // A port with checksum offload gets the segments with their checksums still open.
        let each = |mut part: Frame| {
            if !capabilities.checksum {
                offload::finish_checksum(&mut part);
            }
            self.enqueue_or_transmit(part, number, class);
        };
        let whole = match frame.offload.gso {
            Some(_) => offload::segment(&frame, each),
            None => cut_again(&frame, each),
        };
        if !whole {
            self.drop_for(class, offload::wire_count(&frame), DropReason::Segmentation);
        }
    }

    /// Sends a frame that is ready: at once, or through the port's queues.
    #[inline(always)]
    fn enqueue_or_transmit(&mut self, frame: Frame, number: PortNo, class: &QueueClass) {
        if self.queues.ports.contains_key(&number) {
            self.enqueue(frame, number, class);
        } else {
            self.transmit(frame, number, class.queue);
        }
    }

    /// Adds a frame to a queue of its port and sends what is due there, which may be this very
    /// frame.
    #[inline(never)]
    fn enqueue(&mut self, frame: Frame, number: PortNo, class: &QueueClass) {
        let Some(egress) = self.queues.ports.get_mut(&number) else {
            return self.transmit(frame, number, class.queue);
        };
        // A trace asks for the standing before anything changes, as the live packet would have met
        // it.
        if S::TRACES {
            let queue = egress.resolve(class.queue);
            self.sink.step(Step::Queue(number, queue));
            #[cfg(feature = "microflows")]
            {
                let microflow = crate::Microflow::in_class(frame.bytes(), class);
                if let Some(standing) = egress.discipline.standing(self.now, &microflow) {
                    let text = alloc::format!("{standing}");
                    self.sink.step(Step::Reported(egress.discipline(), &text));
                    if S::DRY && standing.is_early {
                        return self.drop(DropReason::TooEarly);
                    }
                }
            }
        }
        // A dry run must not put a frame among live ones; it is shown as if it left at once.
        if S::DRY {
            return self.transmit(frame, number, class.queue);
        }
        let bytes = frame.buffer_bytes();
        let on_wire = offload::wire_count(&frame);
        // The discipline decides what a frame without room means, since it counts the drop at its
        // queue.
        let room = self.queues.waiting_bytes + bytes <= MAX_WAITING_BYTES;
        match egress.enqueue(self.now, class, frame, room) {
            Ok(()) => {
                self.queues.waiting_bytes += bytes;
                self.release(number);
            }
            Err(reason) => self.drop_at_port(number, class, on_wire, reason),
        }
    }

    /// Passes a frame to its port.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, frame: Frame, number: PortNo, queue: QueueId) {
        let (packets, bytes) = offload::wire_count(&frame);
        let port = self.ports.get_mut(&number);
        let port = port.expect("the port was there just now");
        if !S::DRY {
            port.stats.tx_packets += packets;
            port.stats.tx_bytes += bytes;
        }
        if S::TRACES {
            let front = if port.without_ethernet {
                FRONT_BYTES
            } else {
                0
            };
            let bytes = &frame.bytes()[front..];
            let step = Step::Transmit(number, queue, frame.tunnel_id, bytes);
            self.sink.step(step);
        }
        self.sink.transmit(number, queue, frame);
    }

    /// Queues a frame again that waited at a port under another discipline.
    ///
    /// Its buffer is already counted in `waiting_bytes`, and it had room before; so only the new
    /// queue's own limits can refuse it.
    pub(crate) fn enqueue_again(&mut self, frame: Frame, number: PortNo, class: &QueueClass) {
        let Some(egress) = self.queues.ports.get_mut(&number) else {
            return self.drop_queued(number, class, &frame, DropReason::QueueGone);
        };
        let bytes = frame.buffer_bytes();
        let on_wire = offload::wire_count(&frame);
        if let Err(reason) = egress.enqueue(self.now, class, frame, true) {
            self.queues.waiting_bytes -= bytes;
            self.drop_at_port(number, class, on_wire, reason);
        }
    }

    /// Sends the frames that are due at a port, as far as the port accepts them; drops all of them
    /// if the port is down.
    ///
    /// A port that is down loses its frames, because they would be old when it comes up again. A
    /// full port keeps them: it calls when it has room, and until then its egress has no timer.
    pub(crate) fn release(&mut self, number: PortNo) {
        if let Some(reason) = self.egress_block(number) {
            return self.clear_queues(number, reason);
        }
        for _ in 0..FRAMES_PER_RELEASE {
            let Some(egress) = self.queues.ports.get_mut(&number) else {
                return;
            };
            // Asked before the dequeue, since a frame cannot be put back at the front of its queue.
            egress.blocked = !self.sink.has_room(number);
            if egress.blocked {
                return;
            }
            let Some((id, frame)) = egress.dequeue(self.now) else {
                return;
            };
            self.queues.waiting_bytes -= frame.buffer_bytes();
            self.transmit(frame, number, id);
        }
    }

    /// The reason for which a port sends nothing now, if there is one.
    fn egress_block(&self, number: PortNo) -> Option<DropReason> {
        let block = self.ports.get(&number).map(Port::egress_block);
        block.unwrap_or(Some(DropReason::NoSuchPort))
    }

    /// Drops all frames that wait at a port.
    pub(crate) fn clear_queues(&mut self, number: PortNo, reason: DropReason) {
        let egress = self.queues.ports.get_mut(&number);
        let frames = egress.map(Egress::take_frames);
        for (class, frame) in frames.into_iter().flatten() {
            self.drop_queued(number, &class, &frame, reason);
        }
    }

    /// Sends all frames that wait at a port, whatever its rates and its room; drops all of them if
    /// the port is down.
    ///
    /// Called when another process takes over the port, or when its queues go: it is better to send
    /// too fast for a moment than to lose the frames.
    pub(crate) fn send_waiting(&mut self, number: PortNo) {
        if let Some(reason) = self.egress_block(number) {
            return self.clear_queues(number, reason);
        }
        let egress = self.queues.ports.get_mut(&number);
        let frames = egress.map(Egress::take_frames);
        for (class, frame) in frames.into_iter().flatten() {
            self.queues.waiting_bytes -= frame.buffer_bytes();
            self.transmit(frame, number, class.queue);
        }
    }

    /// Sends what is due of every port.
    pub(crate) fn release_due(&mut self) {
        let mut next = PortNo(0);
        // A release needs all of `self`, so no iterator over the ports can stay open.
        while let Some((&number, egress)) = self.queues.ports.range(next..).next() {
            next = PortNo(number.0 + 1);
            if egress.next_wakeup().is_some_and(|at| at <= self.now) {
                self.release(number);
            }
        }
    }

    /// Drops a frame that has left its queue without being sent. Restores `waiting_bytes`.
    pub(crate) fn drop_queued(
        &mut self,
        number: PortNo,
        class: &QueueClass,
        frame: &Frame,
        reason: DropReason,
    ) {
        self.queues.waiting_bytes -= frame.buffer_bytes();
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
        if let (false, Some(port)) = (S::DRY, self.ports.get_mut(&number)) {
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
                // Only the extension that wrote the record can read the owner's number.
                hook.on_egress_drop(&report);
            }
        }
        self.drop(reason);
    }

    fn drop(&mut self, reason: DropReason) {
        count_drop(self.sink, self.drops, reason);
    }
}
