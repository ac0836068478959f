//! TABLE_MOD: a change of a table's configuration. Spec: OpenFlow 1.3.5 section 7.3.3.

use crate::types::TableId;
use crate::wire::wire;

wire! {
    /// A change of a table's configuration.
    pub struct TableMod {
        /// The table, or ALL.
        pub table_id: TableId => 3,
        /// The configuration; OpenFlow 1.3 defines no bits (`OFPTC_DEPRECATED_MASK` is ignored).
        pub config: u32,
    }
}
