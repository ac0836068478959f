//! Reconfiguration of a running datapath, which keeps its entries, groups, meters and ports.

use bofuss_oflib::ErrorCode;
use bofuss_oflib::error::FlowModFailed;
use bofuss_oflib::message::FlowMod;
use bofuss_oflib::types::TableId;

use crate::frame_engine::FrameEngine;
use crate::pipeline::context::Pipeline;
use crate::tables::shape::PipelineShape;
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
        if other.pipeline.shape.has_same_limits(&self.pipeline.shape) {
            return Ok(());
        }
        let own = self.pipeline.shape.first_egress;
        let shape = &mut other.pipeline.shape;
        let own = own.filter(|first| shape.has_table(*first));
        shape.first_egress = shape.first_egress.or(own);
        self.check_entries(shape)
    }

    /// Takes over the configuration of `other`, which [`Self::check_reconfigure`] accepted. Its
    /// pipeline is taken over only if it differs from the one with which this datapath was made;
    /// otherwise the pipeline stays as controllers changed it. Entries, groups, meters, ports,
    /// counters and waiting frames stay.
    pub fn reconfigure<S: Sink>(&mut self, now: Time, other: Self, sink: &mut S) {
        let Pipeline { config, shape, .. } = other.pipeline;
        if !shape.has_same_limits(&self.pipeline.shape) {
            self.pipeline.shape = shape;
            self.forget_flows();
        }
        self.change_engine(config.engine);
        let secret = self.pipeline.config.secret;
        self.pipeline.config = Config { secret, ..config };
        self.pipeline.bridge.reconfigure(&self.pipeline.config);
        self.pipeline
            .tables
            .resize_with(self.pipeline.shape.n_tables(), || {
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

    /// Errors: a table with an entry that a pipeline of this shape does not accept.
    fn check_entries(&self, shape: &PipelineShape) -> Result<(), Obstacle> {
        for (number, table) in (0..).map(TableId).zip(&self.pipeline.tables) {
            if table.is_empty() {
                continue;
            }
            if !shape.has_table(number) {
                return Err((number, FlowModFailed::BAD_TABLE_ID));
            }
            if table.len() > shape.max_entries(number) {
                return Err((number, FlowModFailed::TABLE_FULL));
            }
            for (_, entry) in table.entries(EntryKey::FIRST) {
                let mut add = FlowMod::add(entry.rule.to_match(&self.pipeline.catalogue));
                add.table_id = number;
                add.priority = entry.key.priority.0;
                add.instructions = entry.instructions.clone();
                let checked = shape.check(&add);
                checked.map_err(|error| (number, error))?;
            }
        }
        Ok(())
    }
}
