//! Where packets go: ports, reserved ports, controllers.

use bofuss_frame::{Capabilities, Frame};
use bofuss_oflib::PortNo;
use bofuss_oflib::message::PacketInReason;
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::types::{MaxLen, MeterId, QueueId};
use bofuss_packet::{Packet, offload, reassemble};

use crate::pipeline::Walk;
use crate::{Datapath, DropReason, PacketInEvent, Sink, Step, Time, Verdict};

impl Datapath {
    /// Does the output that waits, with a copy, because the packet goes on.
    pub(crate) fn flush_pending<S: Sink>(&mut self, now: Time, walk: &mut Walk<'_>, sink: &mut S) {
        let Some(port) = walk.pending.take() else {
            return;
        };
        walk.sent = true;
        if self.work.is_spent() {
            return self.drop(DropReason::Work, sink);
        }
        match walk.packet.try_clone() {
            Some(mut copy) => self.output(now, &mut copy, port, walk.queue, sink),
            None => self.drop(DropReason::NoBuffer, sink),
        }
    }

    /// Sends a packet to a port or a reserved port, and with it its frame. Spec: OpenFlow 1.3.5
    /// section 4.5.
    pub(crate) fn output<S: Sink>(
        &mut self,
        now: Time,
        packet: &mut Packet,
        port: PortNo,
        queue: QueueId,
        sink: &mut S,
    ) {
        let ingress = packet.in_port();
        match port {
            PortNo::NORMAL => self.normal(now, packet, queue, sink),
            PortNo::FLOOD => self.flood(now, packet, PortConfig::NO_FLOOD, queue, sink),
            PortNo::ALL => self.flood(now, packet, PortConfig::default(), queue, sink),
            PortNo::IN_PORT => self.transmit(now, packet, ingress, queue, sink),
            port if port == ingress => self.drop(DropReason::OutputIsIngress, sink),
            port => self.transmit(now, packet, port, queue, sink),
        }
    }

    /// Sends a packet out of every port but its ingress, those that forward nothing and those with
    /// a bit of `except`.
    pub(crate) fn flood<S: Sink>(
        &mut self,
        now: Time,
        packet: &mut Packet,
        except: PortConfig,
        queue: QueueId,
        sink: &mut S,
    ) {
        let ingress = packet.in_port();
        let mut last = None;
        let mut next = PortNo(0);
        while let Some((&number, port)) = self.ports.range(next..).next() {
            next = PortNo(number.0 + 1);
            let excepted = port.desc.config.0 & except.0 != 0;
            if number == ingress || excepted || port.egress_block().is_some() {
                continue;
            }
            if let Some(before) = last.replace(number) {
                if self.work.is_spent() {
                    return self.drop(DropReason::Work, sink);
                }
                match packet.try_clone() {
                    Some(mut copy) => self.transmit(now, &mut copy, before, queue, sink),
                    None => self.drop(DropReason::NoBuffer, sink),
                }
            }
        }
        match last {
            Some(port) => self.transmit(now, packet, port, queue, sink),
            None => self.drop(DropReason::NoOutput, sink),
        }
    }

    /// Sends a packet out of one port, in segments if the port wants them.
    pub(crate) fn transmit<S: Sink>(
        &mut self,
        now: Time,
        packet: &mut Packet,
        number: PortNo,
        queue: QueueId,
        sink: &mut S,
    ) {
        if self.work.is_spent() {
            return self.drop(DropReason::Work, sink);
        }
        self.work.count(&packet.frame);
        let (blocked, capabilities) = match self.ports.get(&number) {
            None => (Some(DropReason::NoSuchPort), Capabilities::default()),
            Some(port) => (port.egress_block(), port.capabilities),
        };
        if let Some(reason) = blocked {
            if let (false, Some(port)) = (S::DRY, self.ports.get_mut(&number)) {
                port.stats.tx_dropped += offload::wire_count(&packet.frame).0;
            }
            return self.drop(reason, sink);
        }
        for hook in self.hooks.iter_mut().filter(|_| !S::DRY) {
            if hook.on_egress(now, number, packet) == Verdict::Drop {
                return self.drop(DropReason::Hook, sink);
            }
        }
        let tags = packet.tags_before_ip();
        let whole = self.takes_whole(number, queue, &packet.frame);
        if whole && capabilities.take(&packet.frame.offload, tags) {
            self.enqueue_or_send(now, packet.frame.take(), number, queue, sink);
        } else if packet.frame.offload.gso.is_some() || packet.frame.offload.fragment_bytes > 0 {
            let frame = packet.frame.take();
            let each = |mut part: Frame| {
                if !capabilities.checksum {
                    offload::finish_checksum(&mut part);
                }
                self.enqueue_or_send(now, part, number, queue, sink);
            };
            let whole = match frame.offload.gso {
                Some(_) => offload::segment(&frame, each),
                None => reassemble::fragment(&frame, each),
            };
            if !whole {
                self.drop(DropReason::Segmentation, sink);
            }
        } else {
            offload::finish_checksum(&mut packet.frame);
            self.enqueue_or_send(now, packet.frame.take(), number, queue, sink);
        }
    }

    /// Gives a frame to its port.
    #[inline(always)]
    pub(crate) fn send_now<S: Sink>(
        &mut self,
        frame: Frame,
        number: PortNo,
        queue: QueueId,
        sink: &mut S,
    ) {
        let (packets, bytes) = offload::wire_count(&frame);
        let port = self
            .ports
            .get_mut(&number)
            .expect("the port was there just now");
        if !S::DRY {
            port.stats.tx_packets += packets;
            port.stats.tx_bytes += bytes;
        }
        if S::TRACES {
            sink.step(Step::Transmit(number, queue, frame.bytes()));
        }
        sink.transmit(number, queue, frame);
    }

    /// Offers a packet, or each segment of a super-frame, to the controllers, finished as on a
    /// wire, by the meter of the controllers.
    pub(crate) fn offer_to_controllers<S: Sink>(
        &mut self,
        now: Time,
        walk: &mut Walk<'_>,
        reason: PacketInReason,
        max_len: Option<MaxLen>,
        sink: &mut S,
    ) {
        walk.sent = true;
        let ingress = self.ports.get(&walk.packet.in_port());
        let quiet = ingress.is_some_and(|p| p.desc.config.has(PortConfig::NO_PACKET_IN));
        if quiet && walk.unmatched {
            return;
        }
        // To who knows no table-miss entry this is none.
        let silenced = quiet && reason == PacketInReason::NO_MATCH;
        if silenced && !sink.wants_misses() {
            return self.drop(DropReason::NoPacketIn, sink);
        }
        if self.work.is_spent() {
            return self.drop(DropReason::Work, sink);
        }
        self.work.count(&walk.packet.frame);
        if S::TRACES {
            sink.step(Step::PacketIn(reason));
        }
        let (table_id, cookie, unmatched) = (walk.table, walk.cookie, walk.unmatched);
        let offer = |packet: &Packet, sink: &mut S| {
            sink.packet_in(&PacketInEvent {
                packet,
                reason,
                table_id,
                cookie,
                max_len,
                unmatched,
                silenced,
            });
        };
        let offload = walk.packet.frame.offload;
        if offload == bofuss_frame::Offload::NONE && self.meters.is_empty() {
            return offer(walk.packet, sink);
        }
        let unasked = reason != PacketInReason::ACTION;
        let slow = unasked.then_some(MeterId::SLOWPATH);
        let one = |this: &mut Self, mut packet: Packet, sink: &mut S| {
            offload::finish_checksum(&mut packet.frame);
            for id in slow.into_iter().chain([MeterId::CONTROLLER]) {
                match this.enter_meter(now, id, &mut packet, sink) {
                    Ok(()) | Err(DropReason::NoMeter) => {}
                    Err(reason) => return this.drop(reason, sink),
                }
            }
            offer(&packet, sink);
        };
        let each = |segment| one(self, walk.packet.with_frame(segment), sink);
        if !offload::segment(&walk.packet.frame, each) {
            self.drop(DropReason::Segmentation, sink);
        }
    }
}
