//! SET_ASYNC and GET_ASYNC_REPLY: which unasked messages a controller wants. Spec: OpenFlow 1.3.5
//! section 7.3.10.

use crate::model::model;

model! {
    /// One bit for each reason of each message; first as master or equal, then as slave.
    #[derive(Copy)]
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
    }
}

impl AsyncConfig {
    /// What holds until a controller says otherwise: all but INVALID_TTL for a master or equal,
    /// only port status for a slave. Spec: OpenFlow 1.3.5 section 6.3.5.
    pub const INITIAL: Self = Self {
        packet_in: 0b011,
        packet_in_slave: 0,
        port_status: 0b111,
        port_status_slave: 0b111,
        flow_removed: 0b1111,
        flow_removed_slave: 0,
    };
}
