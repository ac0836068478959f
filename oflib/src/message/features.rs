//! FEATURES_REPLY: what the switch is. Spec: OpenFlow 1.3.5 section 7.3.1.

use alloc::vec::Vec;

use crate::message::PortDesc;
use crate::model::{flags, model};

flags! {
    /// The capabilities of the switch (`OFPC_*`).
    pub struct Capabilities(u64) {
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
        /// Can match the addresses within ARP (OpenFlow 1.0).
        ARP_MATCH_IP = 0x1_0000_0000 "ARP_MATCH_IP",
        /// Bundles (since OpenFlow 1.5).
        BUNDLES = 0x2_0000_0000 "BUNDLES",
        /// Flow monitors (since OpenFlow 1.5).
        FLOW_MONITORING = 0x4_0000_0000 "FLOW_MONITORING",
    }
}

model! {
    /// The body of FEATURES_REPLY.
    pub struct Features {
        /// Identifies the switch.
        pub datapath_id: u64 as hex,
        /// Packets that the switch can hold.
        pub n_buffers: u32,
        /// Tables.
        pub n_tables: u8,
        /// The number of this connection among the controller's; 0 for the main one.
        pub auxiliary_id: u8,
        /// The capabilities of the switch.
        pub capabilities: Capabilities,
        /// The last word of the message, which the text keeps for later use: written as it was
        /// read, zero otherwise.
        pub reserved: u32,
    } in_some_versions {
        /// The types of action that the switch has, one bit each as 1.0 numbers them (OpenFlow
        /// 1.0).
        pub actions: u32,
        /// The switch's ports, in the versions that list them here (OpenFlow 1.0 to 1.2).
        pub ports: Vec<PortDesc>,
    }
}

/// The bits of all actions of OpenFlow 1.0, from OUTPUT to ENQUEUE.
pub const ALL_ACTIONS_1_0: u32 = 0xfff;
