//! Another way to find entries, while the switch runs.

use bofuss_oflib::FieldSet;

use crate::{Datapath, Engine, EntryKey, Table};

impl Datapath {
    /// Makes all tables find their entries as `engine` does, and the cache forget its flows, if
    /// they are found in another way so far. The entries stay in their slots.
    pub(crate) fn change_engine(&mut self, engine: Engine) {
        if engine == core::mem::replace(&mut self.pipeline.config.engine, engine) {
            return;
        }
        let secret = self.pipeline.config.secret;
        let tables = self.pipeline.tables.iter_mut();
        tables.for_each(|table| table.move_to(Table::new(engine, secret)));
        // Tables that are new read what their entries do; old ones also what others did.
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
