//! Ports: their description, PORT_STATUS and PORT_MOD. Spec: OpenFlow 1.3.5 sections 7.2.1,
//! 7.3.4.3, 7.4.3, OpenFlow 1.4.1 section 7.2.1.

use alloc::vec::Vec;

use super::multipart::table_features::FieldId;
use super::property::ExperimenterProperty;
use crate::field::PACKET_TYPE;
use crate::model::{flags, model, named};
use crate::types::{Mac, PortNo};
use crate::wire::FixedStr;

flags! {
    /// The configuration of a port by a controller (`OFPPC_*`).
    pub struct PortConfig(u64) {
        /// Administratively down.
        PORT_DOWN = 0x1 "PORT_DOWN",
        /// Drop all received packets.
        NO_RECV = 0x4 "NO_RECV",
        /// Drop packets forwarded to the port.
        NO_FWD = 0x20 "NO_FWD",
        /// Send no packet-in for the port's packets.
        NO_PACKET_IN = 0x40 "NO_PACKET_IN",
        /// Leave the port out when flooding (OpenFlow 1.0).
        NO_FLOOD = 0x1_0000_0000 "NO_FLOOD",
    }
}

flags! {
    /// The state of a port (`OFPPS_*`).
    pub struct PortState(u32) {
        /// No physical link.
        LINK_DOWN = 0x1 "LINK_DOWN",
        /// Blocked by a protocol of the switch.
        BLOCKED = 0x2 "BLOCKED",
        /// Live for fast failover.
        LIVE = 0x4 "LIVE",
    }
}

flags! {
    /// The features of a port's medium (`OFPPF_*`).
    pub struct PortFeatures(u32) {
        /// 10 Mb/s half duplex.
        HD_10MB = 0x1 "10MB-HD",
        /// 10 Mb/s full duplex.
        FD_10MB = 0x2 "10MB-FD",
        /// 100 Mb/s half duplex.
        HD_100MB = 0x4 "100MB-HD",
        /// 100 Mb/s full duplex.
        FD_100MB = 0x8 "100MB-FD",
        /// 1 Gb/s half duplex.
        HD_1GB = 0x10 "1GB-HD",
        /// 1 Gb/s full duplex.
        FD_1GB = 0x20 "1GB-FD",
        /// 10 Gb/s full duplex.
        FD_10GB = 0x40 "10GB-FD",
        /// 40 Gb/s full duplex.
        FD_40GB = 0x80 "40GB-FD",
        /// 100 Gb/s full duplex.
        FD_100GB = 0x100 "100GB-FD",
        /// 1 Tb/s full duplex.
        FD_1TB = 0x200 "1TB-FD",
        /// Another rate.
        OTHER = 0x400 "OTHER",
        /// Copper.
        COPPER = 0x800 "COPPER",
        /// Fibre.
        FIBER = 0x1000 "FIBER",
        /// Auto-negotiation.
        AUTONEG = 0x2000 "AUTONEG",
        /// Pause.
        PAUSE = 0x4000 "PAUSE",
        /// Asymmetric pause.
        PAUSE_ASYM = 0x8000 "PAUSE_ASYM",
    }
}

flags! {
    /// The features of an optical port, and which of them are configured (`OFPOPF_*`).
    pub struct OpticalPortFeatures(u32) {
        /// The receiver can be tuned.
        RX_TUNE = 0x1 "RX_TUNE",
        /// The transmitter can be tuned.
        TX_TUNE = 0x2 "TX_TUNE",
        /// The power can be set.
        TX_PWR = 0x4 "TX_PWR",
        /// Numbers are frequencies, not wavelengths.
        USE_FREQ = 0x8 "USE_FREQ",
    }
}

model! {
    /// The features of an optical port. Frequencies are in MHz, wavelengths in nm * 100, powers in
    /// dBm * 10.
    #[derive(Copy)]
    pub struct OpticalPort {
        /// The features.
        pub supported: OpticalPortFeatures,
        /// The least frequency or wavelength sent.
        pub tx_min_freq_lmda: u32,
        /// The greatest.
        pub tx_max_freq_lmda: u32,
        /// The spacing of those between.
        pub tx_grid_freq_lmda: u32,
        /// The least frequency or wavelength received.
        pub rx_min_freq_lmda: u32,
        /// The greatest.
        pub rx_max_freq_lmda: u32,
        /// The spacing of those between.
        pub rx_grid_freq_lmda: u32,
        /// The least power sent.
        pub tx_pwr_min: u16,
        /// The greatest power sent.
        pub tx_pwr_max: u16,
    }
}

model! {
    /// The settings of an optical port; units as of [`OpticalPort`].
    #[derive(Copy)]
    pub struct OpticalPortMod {
        /// The settings that count.
        pub configure: OpticalPortFeatures,
        /// The frequency or wavelength.
        pub freq_lmda: u32,
        /// The offset of that.
        pub fl_offset: i32,
        /// The size of its grid.
        pub grid_span: u32,
        /// The power.
        pub tx_pwr: u32,
    }
}

model! {
    /// A port as the controller sees it.
    pub struct PortDesc {
        /// Its number.
        pub port_no: PortNo,
        /// Its Ethernet address.
        pub hw_addr: Mac,
        /// Its name.
        pub name: FixedStr<16>,
        /// The configuration by the controller.
        pub config: PortConfig,
        /// The state.
        pub state: PortState,
        /// The features in use.
        pub curr: PortFeatures,
        /// The features that it advertises.
        pub advertised: PortFeatures,
        /// The features that it supports.
        pub supported: PortFeatures,
        /// The features that its peer advertises.
        pub peer: PortFeatures,
        /// Its present speed, kb/s.
        pub curr_speed: u32,
        /// Its highest speed, kb/s.
        pub max_speed: u32,
    } in_some_versions {
        /// The features of an optical port (since OpenFlow 1.4).
        pub optical: Option<OpticalPort>,
        /// The fields in no header that its packets have when they come (since OpenFlow 1.5).
        pub pipeline_input: Option<Vec<FieldId>>,
        /// The fields in no header that it takes with packets that leave (since OpenFlow 1.5).
        pub pipeline_output: Option<Vec<FieldId>>,
        /// The ports on which packets that are sent to it may come back (since OpenFlow 1.5).
        pub recirculate: Option<Vec<PortNo>>,
        /// Properties of experimenters (since OpenFlow 1.4).
        pub experimenters: Vec<ExperimenterProperty>,
    }
}

impl PortDesc {
    /// Returns true if its packets have no Ethernet header: it gives them a packet type. Spec:
    /// OpenFlow 1.5.1 section 7.2.1.2.
    pub fn is_without_ethernet(&self) -> bool {
        let packet_type = FieldId::Known(PACKET_TYPE, false);
        let given = self.pipeline_input.as_ref();
        given.is_some_and(|fields| fields.contains(&packet_type))
    }
}

named! {
    /// The events of a port (`OFPPR_*`).
    pub struct PortStatusReason(u8) {
        /// It was added.
        ADD = 0 "ADD",
        /// It was removed.
        DELETE = 1 "DELETE",
        /// It changed.
        MODIFY = 2 "MODIFY",
    }
}

model! {
    /// A port came, went or changed.
    pub struct PortStatus {
        /// The event.
        pub reason: PortStatusReason,
        /// The port afterwards.
        pub desc: PortDesc,
    }
}

model! {
    /// A change of a port's configuration.
    pub struct PortMod {
        /// The port.
        pub port_no: PortNo,
        /// Its address, as a check.
        pub hw_addr: Mac,
        /// New values of the bits in `mask`.
        pub config: PortConfig,
        /// The bits to change.
        pub mask: PortConfig,
        /// The features to advertise; 0 leaves them.
        pub advertise: PortFeatures,
    } in_some_versions {
        /// The settings of an optical port (since OpenFlow 1.4).
        pub optical: Option<OpticalPortMod>,
        /// Properties of experimenters (since OpenFlow 1.4).
        pub experimenters: Vec<ExperimenterProperty>,
    }
}
