//! One controller connection as the switch sees it.

use alloc::{collections::BTreeMap, vec::Vec};

use bofuss_datapath::flow_hash;

use bofuss_oflib::ext::ExtRow;
use bofuss_oflib::message::{
    AsyncConfig, ControllerRole, ControllerStatus, PacketInReason, PortDesc, PortStatusReason,
};
use bofuss_oflib::types::MaxLen;
use bofuss_oflib::{PortNo, Version};
use bofuss_packet::Packet;

use crate::buffers::Buffers;
use crate::dump::Dump;
use crate::monitors::Monitoring;
use crate::request::ConnId;

/// The number of bytes of a packet that a packet-in carries if no action says so, until SET_CONFIG
/// changes it. Spec: OpenFlow 1.3.5 section 7.3.2.
const DEFAULT_MISS_SEND_LEN: MaxLen = MaxLen(128);

/// How many messages for a connection were dropped, because its peer does not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Packet-ins.
    pub packet_ins: u64,
    /// Statistics of entries that reached a threshold.
    pub flow_stats: u64,
    /// Notifications of extensions.
    pub notifications: u64,
}

/// The state of one connection. Role, configuration and buffers belong to a whole channel and are
/// kept at its main connection; those of an auxiliary connection stay as they began, without
/// effect.
pub(crate) struct Connection {
    /// The main connection of its channel; its own number, unless it is auxiliary.
    pub(crate) main: ConnId,
    /// 0 for a main connection.
    pub(crate) auxiliary_id: u8,
    /// True if its transport may lose messages.
    pub(crate) datagrams: bool,
    /// The auxiliary connections of this main one.
    pub(crate) auxiliaries: Vec<ConnId>,
    /// True if its peer is a configured controller (and not, say, a tool).
    pub(crate) is_controller: bool,
    /// The version that was agreed on; an auxiliary connection has that of its main one.
    pub(crate) version: Version,
    /// EQUAL until a role request.
    pub(crate) role: ControllerRole,
    /// The short id that its controller chose in a role request; 0 if none.
    pub(crate) short_id: u16,
    /// The address of its peer, if known.
    #[cfg(feature = "peers")]
    pub(crate) uri: Option<bofuss_oflib::message::controller_status::Uri>,
    /// The reasons for which it wants asynchronous messages, as master or equal, and as slave.
    pub(crate) async_config: AsyncConfig,
    /// Bytes of a packet that a packet-in carries if no action says how many.
    pub(crate) miss_send_len: MaxLen,
    /// The packets held for it; they are freed with it.
    pub(crate) buffers: Buffers,
    /// Its flow monitors.
    pub(crate) monitoring: Monitoring,
    /// The long reply in progress.
    pub(crate) dump: Option<Dump>,
    /// The newest change of each port that could not be sent yet, for lack of room.
    pub(crate) late_ports: BTreeMap<PortNo, (PortStatusReason, PortDesc)>,
    /// The newest status of each other controller that could not be sent yet, for lack of room.
    pub(crate) late_controllers: BTreeMap<ConnId, ControllerStatus>,
    /// The messages that were dropped for lack of room.
    pub(crate) lost: Lost,
    /// The notifications of extensions that it subscribed to (true) or from (false).
    pub(crate) subscriptions: Vec<(&'static ExtRow, bool)>,
    /// The form in which it wants the values of each experimenter, if not form 0.
    pub(crate) forms: BTreeMap<u32, u8>,
}

impl Connection {
    /// Makes a main connection with the settings that its version begins with.
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
            #[cfg(feature = "peers")]
            uri: None,
            async_config: AsyncConfig::initial(version),
            miss_send_len: DEFAULT_MISS_SEND_LEN,
            buffers: Buffers::default(),
            monitoring: Monitoring::default(),
            dump: None,
            late_ports: BTreeMap::new(),
            late_controllers: BTreeMap::new(),
            lost: Lost::default(),
            subscriptions: Vec::new(),
            forms: BTreeMap::new(),
        }
    }

    /// Returns true if a long reply is in progress, or changes of ports, entries or controllers
    /// wait to be sent.
    pub(crate) fn has_more(&self) -> bool {
        let has_late = !self.late_ports.is_empty() || !self.late_controllers.is_empty();
        self.dump.is_some() || has_late || self.monitoring.is_paused()
    }

    /// Chooses the connection for a packet-in by a hash of its flow: one of the auxiliary
    /// connections if there are any, and always the same for a flow. Spec: OpenFlow 1.3.5 section
    /// 6.3.6.
    pub(crate) fn connection_for(&self, packet: &Packet) -> ConnId {
        match self.auxiliaries.len() {
            0 => self.main,
            count => {
                let hash = flow_hash(packet.layout(), packet.frame.bytes(), 0);
                self.auxiliaries[hash as usize % count]
            }
        }
    }

    /// Sets whether it wants packets with an invalid TTL while its role is not slave.
    pub(crate) fn want_invalid_ttl(&mut self, wanted: bool) {
        let bit = 1 << PacketInReason::INVALID_TTL.0;
        self.async_config.packet_in &= !bit;
        if wanted {
            self.async_config.packet_in |= bit;
        }
    }

    /// Returns true if it wants packets with an invalid TTL while its role is not slave.
    pub(crate) fn wants_invalid_ttl(&self) -> bool {
        self.async_config.packet_in >> PacketInReason::INVALID_TTL.0 & 1 == 1
    }

    /// Returns true if a message with this reason is to be sent on this connection: `wanted`
    /// returns the masks of reasons for master or equal, and for slave. Auxiliary connections never
    /// want any, so each channel gets a message once.
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
