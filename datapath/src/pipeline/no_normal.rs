//! Without the feature `normal`, an output to NORMAL is refused: see `normal.rs`.

use bofuss_oflib::PortNo;
use bofuss_packet::Packet;

use crate::engine_notes::EngineNotes;
use crate::pipeline::context::Context;
use crate::qos::QueueClass;
use crate::{Config, DropReason, Sink};

impl<S: Sink, E: EngineNotes> Context<'_, S, E> {
    /// Drops a packet. Only a hook can send it here, as no controller's action does.
    pub(crate) fn normal(&mut self, packet: &mut Packet, class: &QueueClass) {
        self.drop_for(packet, class, DropReason::NoSuchPort);
    }

    /// Sends a packet out of one port.
    pub(super) fn transmit_in_vlan(
        &mut self,
        packet: &mut Packet,
        port: PortNo,
        _: Option<u16>,
        class: &QueueClass,
    ) {
        self.transmit(packet, port, class);
    }
}

impl Config {
    /// Returns true, as ports have no VLANs.
    pub(crate) fn port_carries(&self, _: PortNo, _: Option<u16>) -> bool {
        true
    }
}
