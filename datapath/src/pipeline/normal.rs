//! NORMAL: forwarding like an ordinary learning switch.

use bofuss_oflib::field::{ETH_DST, ETH_SRC, VLAN_VID};
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::{Field, Mac};
use bofuss_packet::Packet;

use crate::engine_notes::EngineNotes;
use crate::pipeline::context::Context;
use crate::qos::QueueClass;
use crate::{DropReason, Sink, Step};

/// Destinations 01:80:c2:00:00:00 to :0f belong to the link and are not forwarded.
const LINK_LOCAL: [u8; 5] = [0x01, 0x80, 0xc2, 0x00, 0x00];

impl<S: Sink, E: EngineNotes> Context<'_, S, E> {
    /// Forwards a packet like an ordinary learning switch. Spec: OpenFlow 1.3.5 section 4.5,
    /// NORMAL.
    ///
    /// Choice: each VLAN learns independently, and frames keep their tags on all ports. A packet
    /// without an Ethernet header has no addresses, and is dropped.
    pub(crate) fn normal(&mut self, packet: &mut Packet, class: &QueueClass) {
        if !packet.key().is_of_ethernet() {
            return self.drop(DropReason::PacketType);
        }
        let vlan = number(packet, VLAN_VID) as u16;
        let source = mac(packet, ETH_SRC);
        let destination = mac(packet, ETH_DST);
        let ingress = packet.in_port();
        if destination.0[..5] == LINK_LOCAL && destination.0[5] < 16 {
            return self.drop(DropReason::LinkLocal);
        }
        // A controller's packet may name a port that does not exist; nothing is learned there.
        let is_port = self.pipeline.ports.contains_key(&ingress);
        if !source.is_multicast() && is_port {
            if S::DRY {
                self.pipeline.bridge.tried.push((vlan, source))
            } else {
                self.pipeline
                    .bridge
                    .learn(self.now, (vlan, source), ingress, &self.pipeline.config)
            }
        }
        let bridge = &mut self.pipeline.bridge;
        let known = if destination.is_multicast() {
            None
        } else if bridge.tried.contains(&(vlan, destination)) {
            Some(ingress)
        } else {
            bridge.find(self.now, &(vlan, destination))
        };
        if S::TRACES {
            self.sink.step(Step::Normal(match known {
                Some(_) => "knows the port of the destination",
                None => "does not know the destination, or it is a group: to all ports",
            }));
        }
        match known {
            Some(port) if port == ingress => self.drop(DropReason::OutputIsIngress),
            Some(port) => self.transmit(packet, port, class),
            None if !is_port || self.pipeline.bridge.may_flood(self.now, ingress, S::DRY) => {
                self.flood(packet, PortConfig::NO_FLOOD, class)
            }
            None => self.drop(DropReason::Storm),
        }
    }
}

fn number(packet: &Packet, field: &Field) -> u128 {
    packet.key().get(field, &mut ()).unwrap_or(0)
}

fn mac(packet: &Packet, field: &Field) -> Mac {
    let bytes = number(packet, field).to_be_bytes();
    Mac(core::array::from_fn(|i| bytes[10 + i]))
}
