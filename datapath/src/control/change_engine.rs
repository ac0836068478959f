//! Changing the engine that looks up entries while the switch runs.

use bofuss_oflib::FieldSet;

use crate::frame_engine::FrameEngine;
use crate::{Datapath, Engine, EntryKey, Table};

impl<E: FrameEngine> Datapath<E> {
    /// Makes all tables use the classifier of `engine`, if that is another engine than before. The
    /// entries stay in their slots.
    pub(crate) fn change_engine(&mut self, engine: Engine) {
        if engine == core::mem::replace(&mut self.pipeline.config.engine, engine) {
            return;
        }
        let secret = self.pipeline.config.secret;
        let tables = self.pipeline.tables.iter_mut();
        tables.for_each(|table| table.move_to(Table::new(E::classifier(engine, secret), engine)));
        // A new table reads only the fields of its entries; the old one also read those of former
        // entries.
        let rules = self
            .pipeline
            .tables
            .iter()
            .flat_map(|t| t.entries(EntryKey::FIRST));
        let mut fields = FieldSet::EMPTY;
        for (_, entry) in rules {
            fields.insert(entry.rule.fields());
        }
        let Self { pipeline, lane, .. } = self;
        let catalogue = &pipeline.catalogue;
        E::replace_tables(&mut lane.engine, catalogue, &mut pipeline.tables, fields);
    }
}
