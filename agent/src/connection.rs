//! One controller connection as the switch sees it.

use alloc::{collections::BTreeMap, vec::Vec};

use bofuss_datapath::flow_hash;

use bofuss_oflib::ext::ExtRow;
use bofuss_oflib::message::controller_status::Uri;
use bofuss_oflib::message::{
    AsyncConfig, ControllerRole, ControllerStatus, ErrorMsg, PacketInReason, PortDesc,
    PortStatusReason,
};
use bofuss_oflib::types::MaxLen;
use bofuss_oflib::{Message, PortNo, Version};
use bofuss_packet::Packet;

use crate::buffers::Buffers;
use crate::bundles::Bundle;
use crate::dump::Dump;
use crate::monitors::Monitoring;
use crate::schedule::Tolerances;

/// Names a connection for as long as it lasts; never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// Bytes of a packet that a controller gets where no action says how many, until it says otherwise.
/// Spec: OpenFlow 1.3.5 section 7.3.2.
const DEFAULT_MISS_SEND_LEN: MaxLen = MaxLen(128);

/// One message from a connection.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Its transaction id.
    pub xid: u32,
    /// Its first bytes, which an error quotes.
    pub head: &'a [u8],
    /// The message, or the error that its bytes deserve.
    pub message: Result<Message, ErrorMsg>,
}

/// The state of one connection. Role, configuration and buffers are those of a whole channel, and
/// stand at its main connection.
pub(crate) struct Connection {
    /// The main connection of its channel: itself, unless it is auxiliary.
    pub(crate) main: ConnId,
    /// 0 for a main connection.
    pub(crate) auxiliary_id: u8,
    /// Whether what is sent on it may be lost.
    pub(crate) datagrams: bool,
    /// The auxiliary connections of this main one.
    pub(crate) auxiliaries: Vec<ConnId>,
    /// Whether it is to a configured controller (and not from, say, a tool).
    pub(crate) is_controller: bool,
    pub(crate) version: Version,
    pub(crate) role: ControllerRole,
    /// The number that its controller gave itself; 0 if it gave none.
    pub(crate) short_id: u16,
    /// Where its peer is, if that was said.
    pub(crate) uri: Option<Uri>,
    pub(crate) async_config: AsyncConfig,
    pub(crate) miss_send_len: MaxLen,
    pub(crate) buffers: Buffers,
    /// The bundles that are open on it, by their numbers.
    pub(crate) bundles: BTreeMap<u32, Bundle>,
    /// How far from now it may schedule commits.
    pub(crate) tolerances: Tolerances,
    /// What it is told of entries.
    pub(crate) monitoring: Monitoring,
    /// The long reply that is being made.
    pub(crate) dump: Option<Dump>,
    /// Ports whose last change it has not been told, for want of room.
    pub(crate) late_ports: BTreeMap<PortNo, (PortStatusReason, PortDesc)>,
    /// Other controllers of whose last change it has not been told, for want of room.
    pub(crate) late_controllers: BTreeMap<ConnId, ControllerStatus>,
    /// Packet-ins that it did not get, for want of room.
    pub(crate) lost_packet_ins: u64,
    /// Statistics that reached a threshold and that it did not get, for want of room.
    pub(crate) lost_flow_stats: u64,
    /// The notifications of extensions that it said it wants, or does not want.
    pub(crate) subscriptions: Vec<(&'static ExtRow, bool)>,
    /// The forms in which it wants the values of experimenters, but for 0.
    pub(crate) forms: BTreeMap<u32, u8>,
    /// Notifications that it did not get, for want of room.
    pub(crate) lost_notifications: u64,
}

impl Connection {
    pub(crate) fn new(conn: ConnId, version: Version, is_controller: bool) -> Self {
        Self {
            main: conn,
            auxiliary_id: 0,
            datagrams: false,
            auxiliaries: Vec::new(),
            is_controller,
            version,
            role: ControllerRole::EQUAL,
            short_id: 0,
            uri: None,
            async_config: AsyncConfig::initial(version),
            miss_send_len: DEFAULT_MISS_SEND_LEN,
            buffers: Buffers::default(),
            bundles: BTreeMap::new(),
            tolerances: Tolerances::default(),
            monitoring: Monitoring::default(),
            dump: None,
            late_ports: BTreeMap::new(),
            late_controllers: BTreeMap::new(),
            lost_packet_ins: 0,
            lost_flow_stats: 0,
            subscriptions: Vec::new(),
            forms: BTreeMap::new(),
            lost_notifications: 0,
        }
    }

    /// Whether a reply has not been sent to its end, or news of ports, entries or controllers wait.
    pub(crate) fn has_more(&self) -> bool {
        let has_late = !self.late_ports.is_empty() || !self.late_controllers.is_empty();
        self.dump.is_some() || has_late || self.monitoring.is_paused()
    }

    /// The connection that carries a packet-in: one of the auxiliary connections if there are any,
    /// always the same for a flow. Spec: OpenFlow 1.3.5 section 6.3.6.
    pub(crate) fn connection_for(&self, packet: &Packet) -> ConnId {
        match self.auxiliaries.len() {
            0 => self.main,
            count => {
                let hash = flow_hash(packet.layout(), packet.frame.bytes(), 0);
                self.auxiliaries[hash as usize % count]
            }
        }
    }

    /// Sets whether it wants packets with an invalid TTL while it is not a slave.
    pub(crate) fn want_invalid_ttl(&mut self, wanted: bool) {
        let bit = 1 << PacketInReason::INVALID_TTL.0;
        self.async_config.packet_in &= !bit;
        if wanted {
            self.async_config.packet_in |= bit;
        }
    }

    /// Whether packets with an invalid TTL are wanted, as long as it is no slave.
    pub(crate) fn wants_invalid_ttl(&self) -> bool {
        self.async_config.packet_in >> PacketInReason::INVALID_TTL.0 & 1 == 1
    }

    /// Whether a message with this reason is wanted: `wanted` picks the mask for the role. What is
    /// wanted leaves once a channel.
    pub(crate) fn wants(&self, wanted: impl Fn(&AsyncConfig) -> (u32, u32), reason: u8) -> bool {
        let (full, slave) = wanted(&self.async_config);
        let mask = if self.role == ControllerRole::SLAVE {
            slave
        } else {
            full
        };
        self.auxiliary_id == 0 && mask.checked_shr(reason.into()).unwrap_or(0) & 1 == 1
    }
}
