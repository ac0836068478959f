//! TABLE_DESC and TABLE_STATUS: how a table is configured, and what happened to it. Spec: OpenFlow
//! 1.4.1 sections 7.3.4.1, 7.3.5.5, 7.4.5.

use alloc::vec::Vec;

use crate::message::property::ExperimenterProperty;
use crate::message::table_mod::{EvictionFlags, TableConfig, Vacancy};
use crate::model::{model, named};
use crate::types::TableId;

model! {
    /// The configuration of a table.
    pub struct TableDesc {
        /// The table.
        pub table_id: TableId,
        /// Its configuration.
        pub config: TableConfig,
    } in_some_versions {
        /// The criteria by which it chooses the entries that it evicts.
        pub eviction: Option<EvictionFlags>,
        /// The thresholds at which it says how full it is.
        pub vacancy: Option<Vacancy>,
        /// Properties of experimenters.
        pub experimenters: Vec<ExperimenterProperty>,
    }
}

named! {
    /// The events of a table (`OFPTR_*`).
    pub struct TableStatusReason(u8) {
        /// Its vacancy fell below the lower threshold.
        VACANCY_DOWN = 3 "vacancy_down",
        /// Its vacancy rose above the upper threshold.
        VACANCY_UP = 4 "vacancy_up",
    }
}

model! {
    /// Something happened to a table.
    pub struct TableStatus {
        /// The event.
        pub reason: TableStatusReason,
        /// The table as it is configured.
        pub table: TableDesc,
    }
}
