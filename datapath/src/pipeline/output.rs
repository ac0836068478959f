//! Output: ports, reserved ports, controllers.

use bofuss_frame::{Offload, OffloadCapabilities};
use bofuss_oflib::PortNo;
use bofuss_oflib::message::PacketInReason;
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::types::{MaxLen, MeterId};
use bofuss_packet::{Packet, offload};

use crate::engine_notes::EngineNotes;
use crate::pipeline::context::Context;
use crate::pipeline::metering::remark;
use crate::pipeline::walk::{PendingOutput, Walk};
use crate::qos::QueueClass;
use crate::{DropReason, PacketInEvent, Sink, Step};

impl<S: Sink, E: EngineNotes> Context<'_, S, E> {
    /// Executes the pending output with a copy, because the packet itself is still needed.
    #[inline(always)]
    pub fn flush_pending(&mut self, walk: &mut Walk<'_, E>) {
        if let Some(output) = walk.output.pending.take() {
            self.output_copy(walk, output);
        }
    }

    #[inline(never)]
    fn output_copy(&mut self, walk: &mut Walk<'_, E>, output: PendingOutput) {
        walk.output.sent = true;
        if self.lane.work.is_spent() {
            return self.drop(DropReason::Work);
        }
        match walk.packet.try_clone() {
            Some(mut copy) => self.do_output(&mut copy, output, &walk.class),
            None => self.drop(DropReason::NoBuffer),
        }
    }

    /// Carries out an output that was pending; the packet's frame is taken.
    pub(crate) fn do_output(
        &mut self,
        packet: &mut Packet,
        output: PendingOutput,
        class: &QueueClass,
    ) {
        match output {
            PendingOutput::To(port) => self.output(packet, port, class),
            PendingOutput::AfterEgressTables(number) => {
                let port = self.pipeline.ports.get(&number);
                let none = OffloadCapabilities::default();
                let capabilities = port.map_or(none, |port| port.capabilities);
                self.leave(packet, number, capabilities, class);
            }
        }
    }

    /// Sends a packet to a port or a reserved port; its frame is taken. Spec: OpenFlow 1.3.5
    /// section 4.5.
    pub fn output(&mut self, packet: &mut Packet, port: PortNo, class: &QueueClass) {
        let ingress = packet.in_port();
        match port {
            PortNo::NORMAL => self.normal(packet, class),
            PortNo::FLOOD => self.flood(packet, PortConfig::NO_FLOOD, None, class),
            PortNo::ALL => self.flood(packet, PortConfig::default(), None, class),
            PortNo::IN_PORT => self.transmit(packet, ingress, class),
            port if port == ingress => self.drop_for(packet, class, DropReason::OutputIsIngress),
            port => self.transmit(packet, port, class),
        }
    }

    /// Sends a packet out of every port except its ingress, ports that do not forward, those with a
    /// bit of `except`, and those that do not carry its VLAN.
    pub(super) fn flood(
        &mut self,
        packet: &mut Packet,
        except: PortConfig,
        vlan: Option<u16>,
        class: &QueueClass,
    ) {
        let ingress = packet.in_port();
        let mut last = None;
        let mut next = PortNo(0);
        while let Some((&number, port)) = self.pipeline.ports.range(next..).next() {
            next = PortNo(number.0 + 1);
            let carries = self.pipeline.config.port_carries(number, vlan);
            let excepted = port.desc.config.0 & except.0 != 0 || !carries;
            let takes_type = port.without_ethernet != packet.key().is_of_ethernet();
            if number == ingress || excepted || !takes_type || port.egress_block().is_some() {
                continue;
            }
            if let Some(before) = last.replace(number) {
                if self.lane.work.is_spent() {
                    return self.drop(DropReason::Work);
                }
                match packet.try_clone() {
                    Some(mut copy) => self.transmit_in_vlan(&mut copy, before, vlan, class),
                    None => self.drop(DropReason::NoBuffer),
                }
            }
        }
        match last {
            Some(port) => self.transmit_in_vlan(packet, port, vlan, class),
            None => self.drop(DropReason::NoOutput),
        }
    }

    /// Sends a packet out of one port, through the egress tables if there are some.
    pub(crate) fn transmit(&mut self, packet: &mut Packet, number: PortNo, class: &QueueClass) {
        if self.lane.work.is_spent() {
            return self.drop_for(packet, class, DropReason::Work);
        }
        self.lane.work.count(&packet.frame);
        let (blocked, capabilities) = match self.pipeline.ports.get(&number) {
            None => (Some(DropReason::NoSuchPort), OffloadCapabilities::default()),
            Some(port) if port.without_ethernet == packet.key().is_of_ethernet() => {
                (Some(DropReason::PacketType), port.capabilities)
            }
            Some(port) => (port.egress_block(), port.capabilities),
        };
        if let Some(reason) = blocked {
            let on_wire = offload::wire_count(&packet.frame);
            return self.sender().drop_at_port(number, class, on_wire, reason);
        }
        #[cfg(feature = "reshape")]
        if let Some(first) = self.pipeline.shape.first_egress {
            return self.pass_egress(packet, number, class, first);
        }
        self.leave(packet, number, capabilities, class);
    }

    /// Drops a packet that is on its way to a port, and tells its owner.
    pub(super) fn drop_for(&mut self, packet: &Packet, class: &QueueClass, reason: DropReason) {
        let on_wire = offload::wire_count(&packet.frame);
        self.sender().drop_for(class, on_wire, reason);
    }

    /// Sends a packet out of a port that forwards, in segments if the port wants them.
    #[inline]
    fn leave(
        &mut self,
        packet: &mut Packet,
        number: PortNo,
        capabilities: OffloadCapabilities,
        class: &QueueClass,
    ) {
        if self.hooks.at_egress.is_empty() {
            return self.sender().send(packet, number, capabilities, class);
        }
        let mut class = *class;
        match self.on_egress(packet, number, &mut class) {
            Ok(()) => self.sender().send(packet, number, capabilities, &class),
            Err(reason) => self.drop_for(packet, &class, reason),
        }
    }

    /// Sends a packet, or each segment of a super-frame, to the controllers through the CONTROLLER
    /// meter. Checksums are finished first, as on a wire.
    pub(crate) fn offer_to_controllers(
        &mut self,
        walk: &mut Walk<'_, E>,
        reason: PacketInReason,
        max_len: Option<MaxLen>,
    ) {
        walk.output.sent = true;
        let ingress = self.pipeline.ports.get(&walk.packet.in_port());
        let no_packet_ins = ingress.is_some_and(|p| p.desc.config.has(PortConfig::NO_PACKET_IN));
        // Otherwise an entry matched, whose output names a length.
        let unmatched = reason == PacketInReason::NO_MATCH && max_len.is_none();
        if no_packet_ins && unmatched {
            return;
        }
        // For versions without table-miss entries this is not one.
        let silenced = no_packet_ins && reason == PacketInReason::NO_MATCH;
        if silenced && !self.sink.wants_misses() {
            return self.drop(DropReason::NoPacketIn);
        }
        if self.lane.work.is_spent() {
            return self.drop(DropReason::Work);
        }
        self.lane.work.count(&walk.packet.frame);
        if S::TRACES {
            self.sink.step(Step::PacketIn(reason));
        }
        let event = PacketInEvent {
            packet: walk.packet,
            reason,
            table_id: walk.table,
            cookie: walk.cause.entry.cookie,
            max_len,
            unmatched,
            silenced,
        };
        let offload = walk.packet.frame.offload;
        if offload == Offload::NONE && self.pipeline.meters.is_empty() {
            return self.sink.packet_in(&event);
        }
        let whole = offload::segment(&walk.packet.frame, |segment| {
            offer_metered(self, walk.packet.with_frame(segment), &event);
        });
        if !whole {
            self.drop(DropReason::Segmentation);
        }
    }
}

/// Sends a packet to the controllers through their meters, in place of the event's own.
fn offer_metered<S: Sink, E: EngineNotes>(
    cx: &mut Context<'_, S, E>,
    mut packet: Packet,
    event: &PacketInEvent<'_>,
) {
    offload::finish_checksum(&mut packet.frame);
    let unasked = [PacketInReason::NO_MATCH, PacketInReason::INVALID_TTL].contains(&event.reason);
    let slow = unasked.then_some(MeterId::SLOWPATH);
    for id in slow.into_iter().chain([MeterId::CONTROLLER]) {
        match cx.meter(id, &packet.frame) {
            Ok(Some(levels)) => remark(&mut packet, levels),
            Ok(None) | Err(DropReason::NoMeter) => {}
            Err(reason) => return cx.drop(reason),
        }
    }
    cx.sink.packet_in(&PacketInEvent {
        packet: &packet,
        ..*event
    });
}
