//! The features of the switch and its ports.

use alloc::vec::Vec;

use bofuss_datapath::engine::FrameEngine;
use bofuss_oflib::message::features::{ALL_ACTIONS_1_0, Capabilities};
use bofuss_oflib::message::{Features, PortDesc};

use crate::Switch;
use crate::buffers::MAX_BUFFERS;
use crate::request::ConnId;

impl<E: FrameEngine> Switch<E> {
    /// The body of FEATURES_REPLY on a connection.
    pub(crate) fn features(&self, conn: ConnId) -> Features {
        Features {
            datapath_id: self.identity.datapath_id,
            n_buffers: MAX_BUFFERS as u32,
            n_tables: self.datapath.config().n_tables,
            capabilities: Capabilities::FLOW_STATS
                | Capabilities::TABLE_STATS
                | Capabilities::PORT_STATS
                | Capabilities::QUEUE_STATS
                | Capabilities::GROUP_STATS
                | Capabilities::IP_REASM
                | Capabilities::ARP_MATCH_IP
                | Capabilities::BUNDLES
                | Capabilities::FLOW_MONITORING,
            actions: ALL_ACTIONS_1_0,
            auxiliary_id: self.connections.get(&conn).map_or(0, |c| c.auxiliary_id),
            ports: self.port_descs(),
            ..Features::default()
        }
    }

    /// The description of every port.
    pub(crate) fn port_descs(&self) -> Vec<PortDesc> {
        let ports = self.datapath.ports().values();
        ports.map(|port| port.desc.clone()).collect()
    }
}
