//! SET_CONFIG and GET_CONFIG_REPLY. Spec: OpenFlow 1.3.5 section 7.3.2.

use crate::types::MaxLen;
use crate::wire::{flags, wire};

flags! {
    /// How IP fragments are treated; the two bits name one way.
    pub struct ConfigFlags(u16) {
        /// Fragments are dropped.
        FRAG_DROP = 0x1 "FRAG_DROP",
        /// Fragments are reassembled.
        FRAG_REASM = 0x2 "FRAG_REASM",
    }
}

wire! {
    /// What a controller sets once for the switch.
    pub struct SwitchConfig {
        /// Fragment handling.
        pub flags: ConfigFlags,
        /// Bytes of a packet that go to the controller, where no output action says how many.
        pub miss_send_len: MaxLen,
    }
}
