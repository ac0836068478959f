//! Ports: their description, PORT_STATUS and PORT_MOD. Spec: OpenFlow 1.3.5 sections 7.2.1,
//! 7.3.4.3, 7.4.3.

use crate::model::{flags, model, named};
use crate::types::{Mac, PortNo};
use crate::wire::FixedStr;

flags! {
    /// What a controller sets on a port (`OFPPC_*`).
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
    /// What a port is (`OFPPS_*`).
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
    /// What a port's medium can do (`OFPPF_*`).
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

model! {
    /// A port as the controller sees it.
    pub struct PortDesc {
        /// Its number.
        pub port_no: PortNo,
        /// Its Ethernet address.
        pub hw_addr: Mac,
        /// Its name.
        pub name: FixedStr<16>,
        /// What the controller set.
        pub config: PortConfig,
        /// What it is.
        pub state: PortState,
        /// What it uses now.
        pub curr: PortFeatures,
        /// What it advertises.
        pub advertised: PortFeatures,
        /// What it could do.
        pub supported: PortFeatures,
        /// What its peer advertises.
        pub peer: PortFeatures,
        /// Its present speed, kb/s.
        pub curr_speed: u32,
        /// Its highest speed, kb/s.
        pub max_speed: u32,
    }
}

named! {
    /// What happened to a port (`OFPPR_*`).
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
        /// What happened.
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
        /// What to advertise; 0 leaves it.
        pub advertise: PortFeatures,
    }
}
