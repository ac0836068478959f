//! NORMAL: forwarding like an ordinary learning switch.
//!
//! `vlan.rs` has the VLANs of ports, and `bridge.rs` the stations that were learned. Here is the
//! order of decisions: may the frame enter, learn its source, find its destination, flood.
//!
//! Without the feature `normal`, `no_normal.rs` takes the place of this file.

use bofuss_oflib::field::{ETH_DST, ETH_SRC, VID_PRESENT, VLAN_PCP, VLAN_VID};
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::{Field, Mac, PortNo};
use bofuss_packet::{EditError, Packet};

use crate::engine_notes::EngineNotes;
use crate::pipeline::context::Context;
use crate::qos::QueueClass;
use crate::vlan::rules::vid_of;
use crate::{Config, DropReason, PortVlans, Sink, Step};

/// Destinations 01:80:c2:00:00:00 to :0f belong to the link and are not forwarded.
///
/// They are for protocols of one link, such as STP and LACP. Source: IEEE 802.1D-2004 section
/// 7.12.6.
const LINK_LOCAL: [u8; 5] = [0x01, 0x80, 0xc2, 0x00, 0x00];

impl<S: Sink, E: EngineNotes> Context<'_, S, E> {
    /// Forwards a packet like an ordinary learning switch. Spec: OpenFlow 1.3.5 section 4.5,
    /// NORMAL.
    ///
    /// Choice: each VLAN learns independently. Frames keep their tags on all ports, unless there
    /// are VLANs of ports: see [`PortVlans`]. A packet without an Ethernet header
    /// has no addresses, and is dropped.
    pub(crate) fn normal(&mut self, packet: &mut Packet, class: &QueueClass) {
        if !packet.key().is_of_ethernet() {
            return self.drop(DropReason::PacketType);
        }
        let vid = number(packet, VLAN_VID) as u16;
        let source = mac(packet, ETH_SRC);
        let destination = mac(packet, ETH_DST);
        let ingress = packet.in_port();
        if destination.0[..5] == LINK_LOCAL && destination.0[5] < 16 {
            return self.drop(DropReason::LinkLocal);
        }
        // `tag` is where the station is learned; `vlan` is none if the switch has no VLANs of
        // ports.
        let Some((tag, vlan)) = self.pipeline.config.vlan_at_ingress(ingress, vid) else {
            return self.drop(DropReason::Vlan);
        };
        // A controller's packet may name a port that does not exist; nothing is learned there.
        let is_port = self.pipeline.ports.contains_key(&ingress);
        let fixed = &self.pipeline.config.static_addresses;
        if !source.is_multicast() && is_port && !fixed.contains_key(&(tag, source)) {
            // Stations that a trace would have learned are kept apart, and forgotten when it ends.
            if S::DRY {
                self.pipeline.bridge.tried.push((tag, source))
            } else {
                self.pipeline
                    .bridge
                    .learn(self.now, (tag, source), ingress, &self.pipeline.config)
            }
        }
        let bridge = &self.pipeline.bridge;
        // A group address is never learned, so it always floods.
        let known = if destination.is_multicast() {
            None
        } else {
            let station = (tag, destination);
            let tried = bridge.tried.contains(&station).then_some(ingress);
            tried.or_else(|| bridge.find(self.now, &station, &self.pipeline.config))
        };
        if S::TRACES {
            self.sink.step(Step::Normal(match known {
                Some(_) => "knows the port of the destination",
                None => "does not know the destination, or it is a group: to all ports",
            }));
        }
        match known {
            Some(port) if port == ingress => self.drop(DropReason::OutputIsIngress),
            Some(port) => self.transmit_in_vlan(packet, port, vlan, class),
            // Only ports have a limit of floods: a controller decides itself how much it sends.
            None if !is_port || self.pipeline.bridge.may_flood(self.now, ingress, S::DRY) => {
                self.flood(packet, PortConfig::NO_FLOOD, vlan, class)
            }
            None => self.drop(DropReason::Storm),
        }
    }

    /// Sends a packet out of one port, with the tag that its VLAN has there.
    ///
    /// Without VLANs of ports, the packet keeps its tag.
    pub(super) fn transmit_in_vlan(
        &mut self,
        packet: &mut Packet,
        port: PortNo,
        vlan: Option<u16>,
        class: &QueueClass,
    ) {
        if let Some(vlan) = vlan {
            if !self.pipeline.config.port_carries(port, Some(vlan)) {
                return self.drop(DropReason::Vlan);
            }
            let vlans = self.pipeline.config.port_vlans.get(&port);
            let removes_tag = vlans.is_some_and(|vlans| vlans.removes_tag(vlan));
            if retag(packet, vlan, removes_tag).is_err() {
                return self.drop(DropReason::NoHeadroom);
            }
        }
        self.transmit(packet, port, class);
    }
}

impl Config {
    /// The VLAN by which stations are known, as a VLAN_VID value, and the one that ports have to
    /// carry, if there are VLANs of ports; `None` if a packet with the VLAN_VID value `vid` may not
    /// enter by its port.
    pub(crate) fn vlan_at_ingress(&self, ingress: PortNo, vid: u16) -> Option<(u16, Option<u16>)> {
        if self.port_vlans.is_empty() {
            return Some((vid, None));
        }
        let all = PortVlans::default();
        let vlans = self.port_vlans.get(&ingress).unwrap_or(&all);
        let vlan = vlans.at_ingress(vid)?;
        Some((vid_of(vlan), Some(vlan)))
    }

    /// Returns true if a port carries a VLAN, if it has to.
    pub(crate) fn port_carries(&self, port: PortNo, vlan: Option<u16>) -> bool {
        let both = self.port_vlans.get(&port).zip(vlan);
        both.is_none_or(|(vlans, vlan)| vlans.carries(vlan))
    }
}

/// Gives a packet the tag of a VLAN, or takes its tag; in VLAN 0 it has one for its
/// priority alone. A tag keeps its priority.
fn retag(packet: &mut Packet, vlan: u16, removes_tag: bool) -> Result<(), EditError> {
    let vid = number(packet, VLAN_VID) as u16;
    if removes_tag || vlan == 0 && number(packet, VLAN_PCP) == 0 {
        return if vid == 0 { Ok(()) } else { packet.pop_vlan() };
    }
    if vid & !VID_PRESENT == vlan {
        return Ok(());
    }
    // A packet that has a tag keeps it, and gets the other number.
    packet.tag_vlan()?;
    let mut value = [0; 16];
    value[..2].copy_from_slice(&vid_of(vlan).to_be_bytes());
    packet.set_field(VLAN_VID, &value)
}

/// The value of a field; 0 if the packet does not have it.
fn number(packet: &Packet, field: &Field) -> u128 {
    packet.key().get(field, &mut ()).unwrap_or(0)
}

fn mac(packet: &Packet, field: &Field) -> Mac {
    let bytes = number(packet, field).to_be_bytes();
    Mac(core::array::from_fn(|i| bytes[10 + i]))
}
