//! TABLE_MOD: a change of a table's configuration. Spec: OpenFlow 1.3.5 section 7.3.3, OpenFlow
//! 1.4.1 section 7.3.4.1.

use alloc::vec::Vec;

use super::property::ExperimenterProperty;
use crate::model::{flags, model, named};
use crate::types::TableId;

named! {
    /// The treatment of packets that no entry of a table matches, in the versions that say so of
    /// the table (`OFPTC_TABLE_MISS_*`; OpenFlow 1.1 and 1.2).
    pub struct TableMiss(u32) {
        /// As the version has it: dropped, unless a table-miss entry says otherwise.
        ENTRY = 0 "entry",
        /// They go to the controllers.
        CONTROLLER = 1 "controller",
        /// They go on in the next table.
        CONTINUE = 2 "continue",
        /// They are dropped.
        DROP = 3 "drop",
    }
}

impl TableMiss {
    /// The bits of a table's configuration that say so in OpenFlow 1.1 and 1.2: controller,
    /// continue, drop. A table that nobody configured has those of the controller.
    pub const MASK: u32 = 3;

    /// Returns the bits that say this.
    pub fn bits(self) -> u32 {
        self.0.saturating_sub(Self::CONTROLLER.0) & Self::MASK
    }
}

flags! {
    /// The configuration of a table (`OFPTC_*`).
    pub struct TableConfig(u32) {
        /// A full table makes room for new entries (since OpenFlow 1.4).
        EVICTION = 0x4 "EVICTION",
        /// The table says how full it is (since OpenFlow 1.4).
        VACANCY_EVENTS = 0x8 "VACANCY_EVENTS",
    }
}

flags! {
    /// The criteria by which a table chooses entries to evict (`OFPTMPEF_*`).
    pub struct EvictionFlags(u32) {
        /// Something else.
        OTHER = 0x1 "other",
        /// The entries' importance.
        IMPORTANCE = 0x2 "importance",
        /// The time that they have still to live.
        LIFETIME = 0x4 "lifetime",
    }
}

model! {
    /// The thresholds at which a table says how full it is. Vacancy is the share of its entries
    /// that are free, in per cent.
    #[derive(Copy)]
    pub struct Vacancy {
        /// A vacancy below this is told.
        pub vacancy_down: u8,
        /// A vacancy above this is told.
        pub vacancy_up: u8,
        /// The vacancy now; zero in a request.
        pub vacancy: u8,
    }
}

model! {
    /// A change of a table's configuration.
    pub struct TableMod {
        /// The table, or ALL.
        pub table_id: TableId,
        /// The configuration; OpenFlow 1.3 defines no bits (`OFPTC_DEPRECATED_MASK` is ignored).
        pub config: u32,
    } in_some_versions {
        /// The criteria by which the table chooses entries to evict (since OpenFlow 1.4).
        pub eviction: Option<EvictionFlags>,
        /// The thresholds at which the table says how full it is (since OpenFlow 1.4).
        pub vacancy: Option<Vacancy>,
        /// Properties of experimenters (since OpenFlow 1.4).
        pub experimenters: Vec<ExperimenterProperty>,
        /// The treatment of packets without an entry (OpenFlow 1.1 and 1.2).
        pub miss: TableMiss,
    }
}
