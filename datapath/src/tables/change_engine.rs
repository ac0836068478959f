//! Another way to find entries, while the switch runs.

use bofuss_oflib::FieldSet;

use crate::slab::NONE;
use crate::tables::labels::LabelIndex;
use crate::{Datapath, Engine, EntryKey, Table};

impl Datapath {
    /// Has all tables find their entries as `engine` does, and the cache forget its flows, if they
    /// are found in another way so far. The entries stay in their slots.
    pub(crate) fn change_engine(&mut self, engine: Engine) {
        if engine == core::mem::replace(&mut self.config.engine, engine) {
            return;
        }
        let secret = self.config.secret;
        let tables = self.tables.iter_mut();
        tables.for_each(|table| table.move_to(Table::new(engine, secret)));
        // Tables that are new read what their entries do; old ones also what others did.
        let rules = self.tables.iter().flat_map(|t| t.entries(EntryKey::FIRST));
        let mut fields = FieldSet::EMPTY;
        for (_, entry) in rules {
            fields.insert(entry.rule.fields());
        }
        self.widen(fields);
    }
}

impl Table {
    /// Has the entries be found by what `empty` finds them by.
    fn move_to(&mut self, empty: Self) {
        (self.classifier, self.index) = (empty.classifier, empty.index);
        let mut next = self.entries.used(0);
        while let Some(slot) = next {
            let entry = &mut self.entries[slot];
            entry.next = NONE;
            let key = entry.key;
            self.classifier.insert(&mut self.entries, key);
            self.relabel(slot, LabelIndex::insert);
            next = self.entries.used(slot + 1);
        }
    }
}
