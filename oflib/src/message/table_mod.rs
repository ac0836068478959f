//! TABLE_MOD: a change of a table's configuration. Spec: OpenFlow 1.3.5 section 7.3.3.

use crate::model::{model, named};
use crate::types::TableId;

named! {
    /// What becomes of packets that no entry of a table matches, in the versions that say so of the
    /// table (`OFPTC_TABLE_MISS_*`; OpenFlow 1.1 and 1.2).
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

model! {
    /// A change of a table's configuration.
    pub struct TableMod {
        /// The table, or ALL.
        pub table_id: TableId,
        /// The configuration; OpenFlow 1.3 defines no bits (`OFPTC_DEPRECATED_MASK` is ignored).
        pub config: u32,
    } in_some_versions {
        /// What becomes of packets without an entry (OpenFlow 1.1 and 1.2).
        pub miss: TableMiss,
    }
}
