//! Counters as they are reported: including what the flow cache has counted.

use bofuss_oflib::types::TableId;

use crate::control::bulk_change::ENTRIES_REPORTED;
use crate::frame_engine::FrameEngine;
use crate::{Cursor, Datapath, Entry, Table};

/// A view of the datapath in which the counters of entries and tables are complete. There is no
/// other access to them from outside.
pub struct Settled<'a, E: FrameEngine>(&'a Datapath<E>);

/// The counters of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableCounts {
    /// Packets looked up.
    pub lookups: u64,
    /// Packets that hit an entry.
    pub matches: u64,
}

impl<E: FrameEngine> Datapath<E> {
    /// Adds what the flow cache has counted to the counters of entries and tables, and returns the
    /// view.
    pub fn settled(&mut self) -> Settled<'_, E> {
        self.settle();
        Settled(self)
    }
}

impl<'a, E: FrameEngine> Settled<'a, E> {
    /// The datapath itself.
    pub fn datapath(&self) -> &'a Datapath<E> {
        self.0
    }

    /// The counters of a table.
    ///
    /// Panics: if there is no such table.
    pub fn table_counts(&self, table: TableId) -> TableCounts {
        let table = &self.0.pipeline.tables[usize::from(table.0)];
        TableCounts {
            lookups: table.lookup_count,
            matches: table.matched_count,
        }
    }

    /// Visits the next slice of entries; while a bundle is in progress, of those before it. Returns
    /// true if that was the last.
    pub fn slice(&self, cursor: &mut Cursor, mut see: impl FnMut(TableId, &'a Entry)) -> bool {
        let see = |table, entry| {
            see(table, entry);
            0
        };
        let tables = &self.0.pipeline.tables;
        cursor.slice(ENTRIES_REPORTED, tables, Table::read_view, see)
    }
}
