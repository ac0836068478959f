//! The features of the switch and its ports.

use alloc::vec::Vec;

use bofuss_datapath::Datapath;
use bofuss_datapath::engine::FrameEngine;
use bofuss_oflib::message::features::{ALL_ACTIONS_1_0, Capabilities};
use bofuss_oflib::message::multipart::Desc;
use bofuss_oflib::message::{Features, PortDesc};

use crate::buffers::MAX_BUFFERS;
use crate::connection::Connection;

/// How the switch identifies itself to controllers.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Its datapath id, by which controllers tell switches apart: by convention a MAC address in
    /// the lower 48 bits, and a number of the implementer's above. Spec: OpenFlow 1.3.5 section
    /// 7.3.1.
    pub datapath_id: u64,
    /// Its description, for people. The experimenter message `set_desc` changes a part of it.
    pub desc: Desc,
}

/// The capability of putting IP fragments together, if the switch has it.
const REASSEMBLY: Capabilities = if cfg!(feature = "reassembly") {
    Capabilities::IP_REASM
} else {
    Capabilities(0)
};

/// The body of FEATURES_REPLY on a connection, as far as a version has it: actions and ports are
/// only in that of older ones. `n_buffers` is for a switch that holds packets; the caller replaces
/// it otherwise.
pub(crate) fn features(
    datapath: &Datapath<impl FrameEngine>,
    identity: &Identity,
    connection: &Connection,
) -> Features {
    Features {
        datapath_id: identity.datapath_id,
        n_buffers: MAX_BUFFERS as u32,
        n_tables: datapath.config().n_tables,
        // Without PORT_BLOCKED: the switch blocks no port to break a loop.
        capabilities: Capabilities::FLOW_STATS
            | Capabilities::TABLE_STATS
            | Capabilities::PORT_STATS
            | Capabilities::GROUP_STATS
            | REASSEMBLY
            | Capabilities::ARP_MATCH_IP
            | crate::bundles::CAPABILITIES
            | crate::monitors::CAPABILITIES
            | crate::queues::CAPABILITIES,
        actions: ALL_ACTIONS_1_0,
        auxiliary_id: connection.auxiliary_id,
        ports: port_descs(datapath),
        ..Features::default()
    }
}

/// The description of every port, in the order of their numbers.
pub(crate) fn port_descs(datapath: &Datapath<impl FrameEngine>) -> Vec<PortDesc> {
    let ports = datapath.ports().values();
    ports.map(|port| port.desc.clone()).collect()
}
