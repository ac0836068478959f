//! PACKET_IN: a packet for the controller. Spec: OpenFlow 1.3.5 section 7.4.1.

use crate::field::IN_PORT;
use crate::matching::Match;
use crate::model::{model, named};
use crate::types::{BufferId, PortNo, TableId};
use crate::version::Version;
use crate::wire::Bytes;

named! {
    /// The reason for which the packet was sent (`OFPR_*`).
    pub struct PacketInReason(u8) {
        /// The table-miss entry sent it.
        NO_MATCH = 0 "NO_MATCH",
        /// An output action sent it.
        ACTION = 1 "ACTION",
        /// Its TTL is invalid.
        INVALID_TTL = 2 "INVALID_TTL",
        /// An output action of its action set sent it (since OpenFlow 1.4).
        ACTION_SET = 3 "ACTION_SET",
        /// An output action of a group's bucket sent it (since OpenFlow 1.4).
        GROUP = 4 "GROUP",
        /// A packet-out sent it (since OpenFlow 1.4).
        PACKET_OUT = 5 "PACKET_OUT",
    }
}

impl PacketInReason {
    /// The reason that replaces this reason in a version: before 1.4, ACTION for the reasons that
    /// 1.4 added.
    #[must_use]
    pub fn in_version(self, version: Version) -> Self {
        match self {
            Self::ACTION_SET | Self::GROUP | Self::PACKET_OUT if !version.has_bundles() => {
                Self::ACTION
            }
            _ => self,
        }
    }
}

model! {
    /// A packet for the controller.
    pub struct PacketIn {
        /// The buffer in which the switch holds the packet.
        pub buffer_id: BufferId,
        /// Bytes of the whole packet.
        pub total_len: u16,
        /// The reason.
        pub reason: PacketInReason,
        /// The table that was looked up.
        pub table_id: TableId,
        /// The cookie of the entry that was looked up; all ones if there is none.
        pub cookie: u64 as hex,
        /// Ingress port, metadata and tunnel id, those that are not zero.
        pub fields: Match,
        /// The packet, or its beginning.
        pub data: Bytes,
    }
}

impl PacketIn {
    /// The port by which the packet came in, if the switch says so.
    pub fn in_port(&self) -> Option<PortNo> {
        let one = self.fields.get(IN_PORT)?;
        Some(PortNo(one.number() as u32))
    }
}
