//! Tables with entries that match on volatile fields: no path through one of them is cached.

use alloc::vec::Vec;

use bofuss_oflib::types::TableId;

/// The tables that have such an entry, or have had one since they were last empty.
#[derive(Debug, Default)]
pub(crate) struct VolatileTables(Vec<TableId>);

impl VolatileTables {
    /// Returns true if a table is one of them.
    pub(crate) fn contains(&self, table: TableId) -> bool {
        self.0.contains(&table)
    }

    /// Notes that a table got an entry, and whether that matches on a volatile field.
    pub(crate) fn entry_added(&mut self, table: TableId, is_first: bool, is_volatile: bool) {
        if is_first {
            self.0.retain(|other| *other != table);
        }
        if is_volatile && !self.contains(table) {
            self.0.push(table);
        }
    }
}
