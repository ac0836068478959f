//! FEATURES_REPLY: what the switch is. Spec: OpenFlow 1.3.5 section 7.3.1.

use alloc::vec::Vec;

use crate::message::PortDesc;
use crate::wire::{flags, wire};

flags! {
    /// What the switch can do (`OFPC_*`).
    pub struct Capabilities(u32) {
        /// Flow statistics.
        FLOW_STATS = 0x1 "FLOW_STATS",
        /// Table statistics.
        TABLE_STATS = 0x2 "TABLE_STATS",
        /// Port statistics.
        PORT_STATS = 0x4 "PORT_STATS",
        /// Group statistics.
        GROUP_STATS = 0x8 "GROUP_STATS",
        /// Can reassemble IP fragments.
        IP_REASM = 0x20 "IP_REASM",
        /// Queue statistics.
        QUEUE_STATS = 0x40 "QUEUE_STATS",
        /// The switch blocks looping ports itself.
        PORT_BLOCKED = 0x100 "PORT_BLOCKED",
    }
}

wire! {
    /// The body of FEATURES_REPLY.
    pub struct Features {
        /// Identifies the switch.
        pub datapath_id: u64 as hex,
        /// Packets that the switch can hold.
        pub n_buffers: u32,
        /// Tables.
        pub n_tables: u8,
        /// Which connection of the controller this is; 0 for the main one.
        pub auxiliary_id: u8 => 2,
        /// What the switch can do.
        pub capabilities: Capabilities,
        /// Zero in OpenFlow 1.3; what a switch of 1.0 lacks: action types, one bit each, and in
        /// bit 31 the capability to match addresses within ARP.
        pub reserved: u32,
    } also {
        /// The switch's ports, in the versions that list them here (OpenFlow 1.0).
        pub ports: Vec<PortDesc>,
    }
}
