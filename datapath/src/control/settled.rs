//! Counters as they are reported: with all that the flow cache has counted.

use bofuss_oflib::types::TableId;

use crate::control::bulk_change::ENTRIES_REPORTED;
use crate::{Cursor, Datapath, Entry};

/// A datapath whose entries and tables have every packet counted. Nobody outside reads their
/// counters otherwise.
pub struct Settled<'a>(&'a Datapath);

/// What a table counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableCounts {
    /// Packets looked up.
    pub lookups: u64,
    /// Packets that hit an entry.
    pub matches: u64,
}

impl Datapath {
    /// Adds what the flow cache has counted to entries and tables, for them to be read.
    pub fn settled(&mut self) -> Settled<'_> {
        self.settle();
        Settled(self)
    }
}

impl<'a> Settled<'a> {
    /// The datapath itself.
    pub fn datapath(&self) -> &'a Datapath {
        self.0
    }

    /// What a table counted.
    ///
    /// Panics: if there is no such table.
    pub fn table_counts(&self, table: TableId) -> TableCounts {
        let table = &self.0.pipeline.tables[usize::from(table.0)];
        TableCounts {
            lookups: table.lookup_count,
            matches: table.matched_count,
        }
    }

    /// Looks at the next slice of the entries; returns true if that was the last.
    pub fn slice(&self, cursor: &mut Cursor, see: impl FnMut(TableId, &'a Entry)) -> bool {
        cursor.slice(ENTRIES_REPORTED, &self.0.pipeline.tables, see)
    }
}
