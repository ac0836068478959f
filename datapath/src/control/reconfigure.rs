//! Reconfiguration of a running datapath, which keeps its entries, groups, meters and ports.

use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::FlowModFailed;
use bofuss_oflib::message::FlowMod;
use bofuss_oflib::types::TableId;

use crate::frame_engine::FrameEngine;
use crate::tables::features::Abilities;
use crate::{Config, Datapath, EntryKey, Sink, Table, Time};

/// Why a configuration is refused: a table, or all, and the error with which the switch would
/// refuse an entry that exists now.
pub type Obstacle = (TableId, ErrorCode);

impl<E: FrameEngine> Datapath<E> {
    /// Checks that the entries fit into `other`, which is new and has the same catalogue. If
    /// `other` has no egress tables but has the table with the number of our first one, that
    /// becomes its first egress table.
    ///
    /// The time is proportional to the number of entries if `other` has another pipeline than this
    /// datapath was made with.
    ///
    /// Errors: the first obstacle.
    pub fn check_reconfigure(&mut self, other: &mut Self) -> Result<(), Obstacle> {
        if self.pipeline.entry_places + self.pipeline.instructions.places
            > other.pipeline.config.max_total_entries as usize
        {
            return Err((TableId::ALL, FlowModFailed::TABLE_FULL));
        }
        if are_same(&other.pipeline.max_abilities, &self.pipeline.max_abilities) {
            return Ok(());
        }
        let own = self.pipeline.first_egress.filter(|first| {
            let table = other.pipeline.table_abilities.get(usize::from(first.0));
            table.is_some_and(Option::is_some)
        });
        other.pipeline.first_egress = other.pipeline.first_egress.or(own);
        self.swap_tables(other);
        let checked = self.check_entries();
        self.swap_tables(other);
        checked
    }

    /// Exchanges the features of tables and the first egress table.
    fn swap_tables(&mut self, other: &mut Self) {
        let own = &mut self.pipeline;
        let others = &mut other.pipeline;
        core::mem::swap(&mut own.table_abilities, &mut others.table_abilities);
        core::mem::swap(&mut own.first_egress, &mut others.first_egress);
    }

    /// Takes over the configuration of `other`, which [`Self::check_reconfigure`] accepted. Its
    /// pipeline is taken over only if it differs from the one with which this datapath was made;
    /// otherwise the pipeline stays as controllers changed it. Entries, groups, meters, ports,
    /// counters and waiting frames stay.
    pub fn reconfigure<S: Sink>(&mut self, now: Time, other: Self, sink: &mut S) {
        let first_egress = other.pipeline.first_egress;
        let config = other.pipeline.config;
        let table_abilities = other.pipeline.table_abilities;
        let max_abilities = other.pipeline.max_abilities;
        if !are_same(&max_abilities, &self.pipeline.max_abilities) {
            (self.pipeline.table_abilities, self.pipeline.max_abilities) =
                (table_abilities, max_abilities);
            self.pipeline.first_egress = first_egress;
            self.forget_flows();
        }
        self.change_engine(config.engine);
        let secret = self.pipeline.config.secret;
        self.pipeline.config = Config { secret, ..config };
        self.pipeline.bridge.reconfigure(&self.pipeline.config);
        self.pipeline
            .tables
            .resize_with(self.pipeline.table_abilities.len(), || {
                let engine = self.pipeline.config.engine;
                Table::new(E::classifier(engine, secret), engine)
            });
        for (id, group) in &mut self.pipeline.groups {
            let algorithm = self.pipeline.config.algorithm(*id);
            let seed = self.pipeline.config.seed;
            let selector = &mut group.selector;
            if (selector.algorithm, selector.seed) != (algorithm, seed) {
                (selector.algorithm, selector.seed) = (algorithm, seed);
                selector.state = seed;
            }
        }
        self.change_disciplines(now, sink);
    }

    /// Errors: a table with an entry that the pipeline does not accept.
    fn check_entries(&self) -> Result<(), Obstacle> {
        for (number, table) in (0..).map(TableId).zip(&self.pipeline.tables) {
            if table.is_empty() {
                continue;
            }
            if !self.has_table(number) {
                return Err((number, FlowModFailed::BAD_TABLE_ID));
            }
            if table.len() > self.max_entries(number) {
                return Err((number, FlowModFailed::TABLE_FULL));
            }
            for (_, entry) in table.entries(EntryKey::FIRST) {
                let mut add = FlowMod::add(entry.rule.to_match(&self.pipeline.catalogue));
                add.table_id = number;
                add.priority = entry.key.priority.0;
                add.instructions = entry.instructions.clone();
                let checked = self.check_features(&add);
                checked.map_err(|error| (number, error))?;
            }
        }
        Ok(())
    }
}

/// Whether two pipelines are the same, names included.
fn are_same(one: &[Option<Abilities>], other: &[Option<Abilities>]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|pair| match pair {
            (Some(one), Some(other)) => one.is_as_able_as(other) && one.head == other.head,
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        })
}
