//! SET_ASYNC and GET_ASYNC_REPLY: which unasked messages a controller wants. Spec: OpenFlow 1.3.5
//! section 7.3.10, OpenFlow 1.4.1 section 7.3.10.

#[cfg(feature = "v1_4")]
mod masks;
#[cfg(not(feature = "v1_4"))]
#[path = "async_config/no_masks.rs"]
mod masks;

use alloc::vec::Vec;

use super::property::ExperimenterProperty;
use crate::model::{flags, model};

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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Version;

    #[test]
    fn a_message_that_leaves_no_mask_out_is_the_configuration_from_then_on() {
        let mut config = AsyncConfig::initial(Version::V1_3);
        assert_eq!(config, AsyncConfig::INITIAL);
        let asked = AsyncConfig {
            packet_in: 0b100,
            port_status_slave: 0,
            ..AsyncConfig::INITIAL
        };
        config.change(&asked);
        assert_eq!(config, asked);
        assert!(!config.has_unknown_reasons());
    }
}
