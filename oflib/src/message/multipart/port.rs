//! Multiparts about ports and queues: PORT_STATS and QUEUE. Spec: OpenFlow 1.3.5 sections 7.3.5.6,
//! 7.3.5.8, OpenFlow 1.4.1 sections 7.3.5.7 to 7.3.5.10.

use alloc::vec::Vec;

use crate::message::property::ExperimenterProperty;
use crate::message::queue::QueueProperty;
use crate::model::{flags, model};
use crate::types::{PortNo, QueueId};

model! {
    /// The port that is asked for; ANY is all.
    pub struct PortRequest {
        /// The port.
        pub port_no: PortNo,
    }
}

/// The ports that are asked for: all, before OpenFlow 1.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortDescRequest {
    /// The port.
    pub port_no: PortNo,
}

impl PortDescRequest {
    /// All of them.
    pub const ALL: Self = Self {
        port_no: PortNo::ANY,
    };
}

flags! {
    /// Flags for the numbers of an optical port that are known (`OFPOSF_*`).
    pub struct OpticalStatsFlags(u32) {
        /// The receiver's frequency.
        RX_TUNE = 0x1 "RX_TUNE",
        /// The transmitter's frequency.
        TX_TUNE = 0x2 "TX_TUNE",
        /// The power sent.
        TX_PWR = 0x4 "TX_PWR",
        /// The power received.
        RX_PWR = 0x10 "RX_PWR",
        /// The transmitter's bias.
        TX_BIAS = 0x20 "TX_BIAS",
        /// The transmitter's temperature.
        TX_TEMP = 0x40 "TX_TEMP",
    }
}

model! {
    /// The state of an optical port. Frequencies are in MHz, wavelengths in nm * 100, powers in
    /// dBm * 10, currents in mA * 10, temperatures in degrees Celsius * 10.
    #[derive(Copy)]
    pub struct OpticalStats {
        /// The numbers that are known.
        pub flags: OpticalStatsFlags,
        /// The frequency or wavelength sent.
        pub tx_freq_lmda: u32,
        /// The offset of that.
        pub tx_offset: u32,
        /// The size of its grid.
        pub tx_grid_span: u32,
        /// The frequency or wavelength received.
        pub rx_freq_lmda: u32,
        /// The offset of that.
        pub rx_offset: u32,
        /// The size of its grid.
        pub rx_grid_span: u32,
        /// The power sent.
        pub tx_pwr: u16,
        /// The power received.
        pub rx_pwr: u16,
        /// The transmitter's bias current.
        pub bias_current: u16,
        /// The transmitter's temperature.
        pub temperature: u16,
    }
}

model! {
    /// The statistics of a port.
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
        /// The whole seconds for which the port has been there.
        pub duration_sec: u32,
        /// The nanoseconds beyond these seconds.
        pub duration_nsec: u32,
    } in_some_versions {
        /// The state of an optical port (since OpenFlow 1.4).
        pub optical: Option<OpticalStats>,
        /// Properties of experimenters (since OpenFlow 1.4).
        pub experimenters: Vec<ExperimenterProperty>,
    }
}

model! {
    /// The queue that is asked for; ANY and ALL are all.
    pub struct QueueStatsRequest {
        /// The port.
        pub port_no: PortNo,
        /// The queue.
        pub queue_id: QueueId,
    }
}

model! {
    /// The statistics of a queue.
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
        /// The whole seconds for which the queue has been there.
        pub duration_sec: u32,
        /// The nanoseconds beyond these seconds.
        pub duration_nsec: u32,
    } in_some_versions {
        /// Properties of experimenters (since OpenFlow 1.4).
        pub experimenters: Vec<ExperimenterProperty>,
    }
}

model! {
    /// A queue with its properties (since OpenFlow 1.4, in place of QUEUE_GET_CONFIG).
    pub struct QueueDesc {
        /// The port.
        pub port_no: PortNo,
        /// The queue.
        pub queue_id: QueueId,
        /// Its properties.
        pub properties: Vec<QueueProperty>,
    }
}
