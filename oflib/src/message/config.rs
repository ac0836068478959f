//! SET_CONFIG and GET_CONFIG_REPLY. Spec: OpenFlow 1.3.5 section 7.3.2.

use crate::model::{flags, model};
use crate::types::MaxLen;

flags! {
    /// The treatment of IP fragments: a number in two bits.
    pub struct ConfigFlags(u32) {
        /// Fragments are dropped.
        FRAG_DROP = 0x1 "FRAG_DROP",
        /// Fragments are reassembled.
        FRAG_REASM = 0x2 "FRAG_REASM",
        /// Packets with an invalid TTL go to the controller (OpenFlow 1.1 and 1.2).
        INVALID_TTL_TO_CONTROLLER = 0x1_0000 "INVALID_TTL_TO_CONTROLLER",
    }
}

model! {
    /// The settings that a controller makes once for the switch.
    pub struct SwitchConfig {
        /// Fragment handling.
        pub flags: ConfigFlags,
        /// Bytes of a packet that go to the controller, where no output action says how many.
        pub miss_send_len: MaxLen,
    }
}
