//! Multiparts about ports and queues: PORT_STATS and QUEUE. Spec: OpenFlow 1.3.5 sections 7.3.5.6,
//! 7.3.5.8.

use crate::model::model;
use crate::types::{PortNo, QueueId};

model! {
    /// Which port is asked for; ANY is all.
    pub struct PortRequest {
        /// The port.
        pub port_no: PortNo,
    }
}

model! {
    /// What passed through a port.
    #[derive(Copy)]
    pub struct PortStats {
        /// The port.
        pub port_no: PortNo,
        /// Packets received.
        pub rx_packets: u64,
        /// Packets sent.
        pub tx_packets: u64,
        /// Bytes received.
        pub rx_bytes: u64,
        /// Bytes sent.
        pub tx_bytes: u64,
        /// Received packets dropped.
        pub rx_dropped: u64,
        /// Packets dropped instead of sent.
        pub tx_dropped: u64,
        /// Receive errors.
        pub rx_errors: u64,
        /// Transmit errors.
        pub tx_errors: u64,
        /// Frame alignment errors.
        pub rx_frame_err: u64,
        /// Overruns.
        pub rx_over_err: u64,
        /// Checksum errors.
        pub rx_crc_err: u64,
        /// Collisions.
        pub collisions: u64,
        /// How long the port has been there: whole seconds,
        pub duration_sec: u32,
        /// and nanoseconds beyond.
        pub duration_nsec: u32,
    }
}

model! {
    /// Which queue is asked for; ANY and ALL are all.
    pub struct QueueStatsRequest {
        /// The port.
        pub port_no: PortNo,
        /// The queue.
        pub queue_id: QueueId,
    }
}

model! {
    /// What passed through a queue.
    #[derive(Copy)]
    pub struct QueueStats {
        /// The port.
        pub port_no: PortNo,
        /// The queue.
        pub queue_id: QueueId,
        /// Bytes sent.
        pub tx_bytes: u64,
        /// Packets sent.
        pub tx_packets: u64,
        /// Packets dropped because the queue was full.
        pub tx_errors: u64,
        /// How long the queue has been there: whole seconds,
        pub duration_sec: u32,
        /// and nanoseconds beyond.
        pub duration_nsec: u32,
    }
}
