//! Multiparts about the switch: description and table statistics. Spec: OpenFlow 1.3.5 sections
//! 7.3.5.1, 7.3.5.4.

use super::table_features::TableFeatureSet;
use crate::model::model;
use crate::types::TableId;
use crate::wire::FixedStr;

model! {
    /// The maker and the names of the switch.
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

model! {
    /// The counters of a table.
    pub struct TableStats {
        /// The table.
        pub table_id: TableId,
        /// Entries now.
        pub active_count: u32,
        /// Packets looked up.
        pub lookup_count: u64,
        /// Packets that hit an entry.
        pub matched_count: u64,
    } in_some_versions {
        /// The capabilities of the table, in the versions that say so here (OpenFlow 1.0 to 1.2).
        pub features: TableFeatureSet,
    }
}
