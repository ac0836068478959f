//! SET_ASYNC and GET_ASYNC_REPLY: which unasked messages a controller wants. Spec: OpenFlow 1.3.5
//! section 7.3.10, OpenFlow 1.4.1 section 7.3.10.

use alloc::vec::Vec;

use super::property::ExperimenterProperty;
use crate::model::{flags, model};
use crate::version::Version;

flags! {
    /// The masks of an asynchronous configuration; the bits have the numbers of their properties in
    /// OpenFlow 1.4 (`OFPACPT_*`).
    pub struct AsyncMasks(u32) {
        /// PACKET_IN as slave.
        PACKET_IN_SLAVE = 0x1 "packet_in_slave",
        /// PACKET_IN as master or equal.
        PACKET_IN = 0x2 "packet_in",
        /// PORT_STATUS as slave.
        PORT_STATUS_SLAVE = 0x4 "port_status_slave",
        /// PORT_STATUS as master or equal.
        PORT_STATUS = 0x8 "port_status",
        /// FLOW_REMOVED as slave.
        FLOW_REMOVED_SLAVE = 0x10 "flow_removed_slave",
        /// FLOW_REMOVED as master or equal.
        FLOW_REMOVED = 0x20 "flow_removed",
        /// ROLE_STATUS as slave.
        ROLE_STATUS_SLAVE = 0x40 "role_status_slave",
        /// ROLE_STATUS as master or equal.
        ROLE_STATUS = 0x80 "role_status",
        /// TABLE_STATUS as slave.
        TABLE_STATUS_SLAVE = 0x100 "table_status_slave",
        /// TABLE_STATUS as master or equal.
        TABLE_STATUS = 0x200 "table_status",
        /// REQUESTFORWARD as slave.
        REQUEST_FORWARD_SLAVE = 0x400 "request_forward_slave",
        /// REQUESTFORWARD as master or equal.
        REQUEST_FORWARD = 0x800 "request_forward",
        /// FLOW_STATS as slave.
        FLOW_STATS_SLAVE = 0x1000 "flow_stats_slave",
        /// FLOW_STATS as master or equal.
        FLOW_STATS = 0x2000 "flow_stats",
        /// CONTROLLER_STATUS as slave.
        CONTROLLER_STATUS_SLAVE = 0x4000 "controller_status_slave",
        /// CONTROLLER_STATUS as master or equal.
        CONTROLLER_STATUS = 0x8000 "controller_status",
    }
}

model! {
    /// One bit for each reason of each message; first as master or equal, then as slave.
    pub struct AsyncConfig {
        /// PACKET_IN reasons as master or equal.
        pub packet_in: u32 as hex,
        /// PACKET_IN reasons as slave.
        pub packet_in_slave: u32 as hex,
        /// PORT_STATUS reasons as master or equal.
        pub port_status: u32 as hex,
        /// PORT_STATUS reasons as slave.
        pub port_status_slave: u32 as hex,
        /// FLOW_REMOVED reasons as master or equal.
        pub flow_removed: u32 as hex,
        /// FLOW_REMOVED reasons as slave.
        pub flow_removed_slave: u32 as hex,
    } in_some_versions {
        /// ROLE_STATUS reasons as master or equal (this and what follows since OpenFlow 1.4).
        pub role_status: u32,
        /// ROLE_STATUS reasons as slave.
        pub role_status_slave: u32,
        /// TABLE_STATUS reasons as master or equal.
        pub table_status: u32,
        /// TABLE_STATUS reasons as slave.
        pub table_status_slave: u32,
        /// REQUESTFORWARD reasons as master or equal.
        pub request_forward: u32,
        /// REQUESTFORWARD reasons as slave.
        pub request_forward_slave: u32,
        /// FLOW_STATS reasons as master or equal (this and what follows since OpenFlow 1.5).
        pub flow_stats: u32,
        /// FLOW_STATS reasons as slave.
        pub flow_stats_slave: u32,
        /// CONTROLLER_STATUS reasons as master or equal.
        pub controller_status: u32,
        /// CONTROLLER_STATUS reasons as slave.
        pub controller_status_slave: u32,
        /// The masks that the message leaves out: these stay as they are.
        pub omitted: AsyncMasks,
        /// Properties of experimenters, as master or equal.
        pub experimenters: Vec<ExperimenterProperty>,
        /// Properties of experimenters, as slave.
        pub experimenters_slave: Vec<ExperimenterProperty>,
    }
}

/// The bits of the reasons that each message has, in the order of the masks: PACKET_IN,
/// PORT_STATUS, FLOW_REMOVED, ROLE_STATUS, TABLE_STATUS, REQUESTFORWARD, FLOW_STATS,
/// CONTROLLER_STATUS.
const REASONS: [u32; 8] = [
    0b11_1111, 0b111, 0b11_1111, 0b111, 0b1_1000, 0b11, 0b11, 0b111_1111,
];

impl AsyncConfig {
    /// The setting that holds until a controller of 1.3 says otherwise: all but INVALID_TTL for a
    /// master or equal, only port status for a slave. Spec: OpenFlow 1.3.5 section 6.3.5.
    pub const INITIAL: Self = Self {
        packet_in: 0b011,
        packet_in_slave: 0,
        port_status: 0b111,
        port_status_slave: 0b111,
        flow_removed: 0b1111,
        flow_removed_slave: 0,
        role_status: 0,
        role_status_slave: 0,
        table_status: 0,
        table_status_slave: 0,
        request_forward: 0,
        request_forward_slave: 0,
        flow_stats: 0,
        flow_stats_slave: 0,
        controller_status: 0,
        controller_status_slave: 0,
        omitted: AsyncMasks(0),
        experimenters: Vec::new(),
        experimenters_slave: Vec::new(),
    };

    /// The initial configuration in a version. Choice: since 1.4 a slave is informed how it became
    /// one, and requests are forwarded only to connections that asked for it. Since 1.5 triggered
    /// statistics go to connections that may set triggers, and the status of controllers goes to
    /// all, except for replies.
    pub fn initial(version: Version) -> Self {
        if !version.has_bundles() {
            return Self::INITIAL;
        }
        let since_1_4 = Self {
            packet_in: 0b11_1011,
            flow_removed: 0b11_1111,
            role_status: 0b111,
            role_status_slave: 0b111,
            table_status: 0b1_1000,
            ..Self::INITIAL
        };
        if !version.has_stat_lists() {
            return since_1_4;
        }
        Self {
            flow_stats: 0b10,
            controller_status: 0b111_1110,
            controller_status_slave: 0b111_1110,
            ..since_1_4
        }
    }

    /// Each mask with its bit.
    pub(crate) fn masks(&mut self) -> [(AsyncMasks, &mut u32); 16] {
        [
            (AsyncMasks::PACKET_IN_SLAVE, &mut self.packet_in_slave),
            (AsyncMasks::PACKET_IN, &mut self.packet_in),
            (AsyncMasks::PORT_STATUS_SLAVE, &mut self.port_status_slave),
            (AsyncMasks::PORT_STATUS, &mut self.port_status),
            (AsyncMasks::FLOW_REMOVED_SLAVE, &mut self.flow_removed_slave),
            (AsyncMasks::FLOW_REMOVED, &mut self.flow_removed),
            (AsyncMasks::ROLE_STATUS_SLAVE, &mut self.role_status_slave),
            (AsyncMasks::ROLE_STATUS, &mut self.role_status),
            (AsyncMasks::TABLE_STATUS_SLAVE, &mut self.table_status_slave),
            (AsyncMasks::TABLE_STATUS, &mut self.table_status),
            (
                AsyncMasks::REQUEST_FORWARD_SLAVE,
                &mut self.request_forward_slave,
            ),
            (AsyncMasks::REQUEST_FORWARD, &mut self.request_forward),
            (AsyncMasks::FLOW_STATS_SLAVE, &mut self.flow_stats_slave),
            (AsyncMasks::FLOW_STATS, &mut self.flow_stats),
            (
                AsyncMasks::CONTROLLER_STATUS_SLAVE,
                &mut self.controller_status_slave,
            ),
            (AsyncMasks::CONTROLLER_STATUS, &mut self.controller_status),
        ]
    }

    /// Returns true if a mask has a bit that is no reason of its message in OpenFlow 1.4 and later.
    pub fn has_unknown_reasons(&self) -> bool {
        let mut asked = self.clone();
        for (at, (_, mask)) in asked.masks().into_iter().enumerate() {
            if *mask & !REASONS[at / 2] != 0 {
                return true;
            }
        }
        false
    }

    /// Takes the masks of `asked` that it does not leave out.
    pub fn change(&mut self, asked: &Self) {
        let mut asked = asked.clone();
        let omitted = asked.omitted;
        for ((bit, mine), (_, wanted)) in self.masks().into_iter().zip(asked.masks()) {
            if !omitted.has(bit) {
                *mine = *wanted;
            }
        }
    }
}
