//! A datapath that runs takes over another configuration, and keeps all that is in it.

use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::FlowModFailed;
use bofuss_oflib::message::FlowMod;
use bofuss_oflib::types::TableId;

use crate::features::Shape;
use crate::{Config, Datapath, Entry, EntryKey, Table};

/// What is in the way of another configuration: a table, or all of them, and the error with which
/// the switch would then refuse an entry that is there.
pub type Misfit = (TableId, ErrorCode);

impl Datapath {
    /// Whether the entries fit into `other`, which is new and has the same catalogue.
    ///
    /// Takes time in the number of entries, if `other` has another pipeline than this began with.
    ///
    /// Errors: what is in the way.
    pub fn fits(&mut self, other: &mut Self) -> Result<(), Misfit> {
        if self.entry_places + self.bodies.places > other.config.max_total_entries as usize {
            return Err((TableId::ALL, FlowModFailed::TABLE_FULL));
        }
        if are_same(&other.bounds, &self.bounds) {
            return Ok(());
        }
        core::mem::swap(&mut self.shapes, &mut other.shapes);
        let checked = self.check_entries();
        core::mem::swap(&mut self.shapes, &mut other.shapes);
        checked
    }

    /// Takes over the configuration of `other`, into which everything [`fits`](Self::fits), and its
    /// pipeline if that is not the one that this began with: else what controllers made of it
    /// stays. Entries, groups, meters, ports and counters stay.
    pub fn refit(&mut self, other: Self) {
        let (config, shapes, bounds) = (other.config, other.shapes, other.bounds);
        if !are_same(&bounds, &self.bounds) {
            (self.shapes, self.bounds) = (shapes, bounds);
        }
        self.change_engine(config.engine);
        let secret = self.config.secret;
        self.config = Config { secret, ..config };
        self.bridge.refit(&self.config);
        self.tables
            .resize_with(self.shapes.len(), || Table::new(self.config.engine, secret));
        for (id, group) in &mut self.groups {
            let (algorithm, seed) = (self.config.algorithm(*id), self.config.seed);
            let selector = &mut group.selector;
            if (selector.algorithm, selector.seed) != (algorithm, seed) {
                (selector.algorithm, selector.seed) = (algorithm, seed);
                selector.state = seed;
            }
        }
    }

    /// Errors: a table with an entry that the pipeline has no place for.
    fn check_entries(&self) -> Result<(), Misfit> {
        for (number, table) in (0..).map(TableId).zip(&self.tables) {
            let check = |entry: &Entry| {
                if !self.has_table(number) {
                    return Err(FlowModFailed::BAD_TABLE_ID);
                }
                if table.len() > self.max_entries(number) {
                    return Err(FlowModFailed::TABLE_FULL);
                }
                let mut add = FlowMod::add(entry.rule.to_match(&self.catalogue));
                (add.table_id, add.priority) = (number, entry.key.priority.0);
                add.instructions = entry.instructions.clone();
                self.check_features(&add)
            };
            let mut entries = table.entries(EntryKey::FIRST);
            let checked = entries.try_for_each(|(_, entry)| check(entry));
            checked.map_err(|error| (number, error))?;
        }
        Ok(())
    }
}

/// Whether two pipelines are the same, names included.
fn are_same(one: &[Option<Shape>], other: &[Option<Shape>]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|pair| match pair {
            (Some(one), Some(other)) => one.is_as_able_as(other) && one.head == other.head,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        })
}
