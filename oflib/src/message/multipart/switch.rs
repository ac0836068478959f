//! Multiparts about the switch: description and table statistics. Spec: OpenFlow 1.3.5 sections
//! 7.3.5.1, 7.3.5.4.

use crate::types::TableId;
use crate::wire::{FixedStr, wire};

wire! {
    /// Who made the switch, and what it is called.
    pub struct Desc {
        /// Manufacturer.
        pub mfr_desc: FixedStr<256>,
        /// Hardware.
        pub hw_desc: FixedStr<256>,
        /// Software.
        pub sw_desc: FixedStr<256>,
        /// Serial number.
        pub serial_num: FixedStr<32>,
        /// A description for people.
        pub dp_desc: FixedStr<256>,
    }
}

wire! {
    /// What a table did.
    pub struct TableStats {
        /// The table.
        pub table_id: TableId => 3,
        /// Entries now.
        pub active_count: u32,
        /// Packets looked up.
        pub lookup_count: u64,
        /// Packets that hit an entry.
        pub matched_count: u64,
    } also {
        /// Its name (OpenFlow 1.0).
        pub name: FixedStr<32>,
        /// Entries at most (OpenFlow 1.0).
        pub max_entries: u32,
        /// The wildcards that it does not take, as 1.0 numbers them (OpenFlow 1.0).
        pub no_wildcards: u32,
    }
}
