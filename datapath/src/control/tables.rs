//! The configuration of tables, and whether they have room.

use bofuss_oflib::message::multipart::table_desc::TableDesc;
use bofuss_oflib::message::table_mod::{TableConfig, TableMiss};
use bofuss_oflib::types::TableId;

use crate::Sink;
use crate::control::Control;
use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Pipeline;

impl<S: Sink, E: FrameEngine> Control<'_, S, E> {
    /// Forgets all flows of the cache, because they may be wrong now.
    pub(crate) fn forget_flows(&mut self) {
        let pipeline = &mut *self.cx.pipeline;
        let engine = &mut self.cx.lane.engine;
        E::forget_all(engine, &pipeline.catalogue, &mut pipeline.tables);
    }

    /// Sets the configuration and the miss behaviour of a table, or of all.
    ///
    /// Tables have a miss behaviour in OpenFlow 1.1 and 1.2; later versions have table-miss entries
    /// instead.
    pub fn configure_table(&mut self, table: TableId, config: u32, miss: TableMiss) {
        for number in self.cx.pipeline.shape.configure(table, config) {
            self.cx.pipeline.tables[usize::from(number.0)].miss = miss;
        }
        // Cached flows whose packets missed in this table may be wrong now.
        self.forget_flows();
    }

    /// The configuration of each table.
    pub fn table_descs(&self) -> impl Iterator<Item = TableDesc> {
        let pipeline = &*self.cx.pipeline;
        pipeline.shape.heads().map(move |head| {
            let mut desc = TableDesc {
                table_id: head.table_id,
                config: TableConfig(head.config),
                ..TableDesc::default()
            };
            pipeline.describe_filling(&mut desc);
            desc
        })
    }

    /// Returns true if a table has room for one more entry without an eviction.
    pub fn has_place(&self, table: TableId) -> bool {
        let Pipeline { shape, tables, .. } = &self.cx.pipeline;
        shape.has_table(table)
            && tables[usize::from(table.0)].len_after() < shape.max_entries(table)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use bofuss_frame::{Frame, Pool};
    use bofuss_oflib::Catalogue;

    use super::*;
    use crate::{Config, Datapath, Time};

    #[test]
    fn a_table_that_is_not_there_has_no_place() {
        let config = Config {
            n_tables: 2,
            ..Config::default()
        };
        let pool = Pool::new(1 << 20);
        let mut datapath: Datapath = Datapath::new(config, Catalogue::default().into(), pool);
        let sink = &mut Vec::<Frame>::new();
        let control = datapath.control(Time(0), sink);
        let places = [0, 1, 2, 255].map(|number| control.has_place(TableId(number)));
        assert_eq!(places, [true, true, false, false]);
    }
}
