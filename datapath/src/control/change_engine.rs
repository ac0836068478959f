//! Changing the engine that looks up entries while the switch runs.

use bofuss_oflib::FieldSet;

use crate::{Datapath, Engine, EntryKey, Table};

impl Datapath {
    /// Makes all tables use the classifier of `engine`, and the cache forget its flows, if that is
    /// another engine than before. The entries stay in their slots.
    pub(crate) fn change_engine(&mut self, engine: Engine) {
        if engine == core::mem::replace(&mut self.pipeline.config.engine, engine) {
            return;
        }
        let secret = self.pipeline.config.secret;
        let tables = self.pipeline.tables.iter_mut();
        tables.for_each(|table| table.move_to(Table::new(engine, secret)));
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
        lane.cache.widen(catalogue, &mut pipeline.tables, fields);
    }
}
