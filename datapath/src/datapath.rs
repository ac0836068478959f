//! The datapath: its parts, the calls by which packets enter, and its timers.

use alloc::{
    boxed::Box, collections::BTreeMap, collections::BTreeSet, collections::VecDeque, sync::Arc,
};

use bofuss_frame::Pool;
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, Catalogue, PortNo};
use bofuss_packet::Packet;

use crate::control::bulk_change::BulkChange;
use crate::control::compaction::{compact, table_to_compact};
use crate::control::deleted::Deleted;
use crate::control::news::News;
use crate::control::staged_bundle::StagedBundle;
use crate::control::triggers;
use crate::egress::Egress;
use crate::frame_engine::{FrameEngine, PlainEngine};
use crate::hooks::Hooks;
use crate::pipeline::bridge::Bridge;
use crate::pipeline::context::{Context, Lane, Pipeline, PortQueues};
use crate::tables::field_uses::FieldUses;
use crate::tables::shape::PipelineShape;
use crate::tables::shared::SharedInstructions;
use crate::{Config, DropReason, Hook, Port, Sink, Table, Time, Trial};

/// The most entries that one tick expires, so that packets need not wait.
const EXPIRIES_PER_TICK: usize = 64;

/// An OpenFlow switch without connections.
pub struct Datapath<E: FrameEngine = PlainEngine> {
    pub(crate) pipeline: Pipeline<E>,
    pub(crate) lane: Lane<E>,
    pub(crate) egress: PortQueues,
    pub(crate) hooks: Hooks,
    /// Bulk changes in progress.
    pub(crate) bulk_changes: VecDeque<BulkChange>,
    /// Groups and meters that are deleted and not yet freed.
    pub(crate) deleted: Deleted<E>,
    /// The bundle in progress.
    pub(crate) bundle: Option<StagedBundle<E>>,
    /// The recorded changes of entries.
    pub(crate) news: News,
}

impl<E: FrameEngine> Datapath<E> {
    /// Makes a datapath without ports and entries.
    ///
    /// Panics: if `config` asks for no table, or for more than 254.
    pub fn new(config: Config, catalogue: Arc<Catalogue>, pool: Pool) -> Self {
        assert!(
            (1..=TableId::MAX.0).contains(&config.n_tables),
            "1 to 254 tables"
        );
        Self {
            lane: Lane::new(&config, pool),
            pipeline: Pipeline {
                tables: (0..config.n_tables)
                    .map(|_| Table::new(E::classifier(config.engine, config.secret), config.engine))
                    .collect(),
                shape: PipelineShape::new(&config, &catalogue),
                config,
                catalogue,
                entry_places: 0,
                instructions: SharedInstructions::default(),
                field_uses: FieldUses::default(),
                deadlines: BTreeSet::new(),
                sparse_tables: BTreeSet::new(),
                watched_tables: BTreeSet::new(),
                triggered_tables: BTreeSet::new(),
                next_check: Time(0),
                check_from: (TableId(0), 0),
                next_serial: 1,
                groups: BTreeMap::new(),
                n_buckets: 0,
                meters: BTreeMap::new(),
                ports: BTreeMap::new(),
                bridge: Bridge::default(),
                fragments: ConfigFlags(0),
            },
            egress: PortQueues::default(),
            hooks: Hooks::default(),
            bulk_changes: VecDeque::new(),
            deleted: Deleted::default(),
            bundle: None,
            news: News::default(),
        }
    }

    /// What packets may touch, with effects that go to `sink`.
    pub(crate) fn context<'a, S: Sink>(
        &'a mut self,
        now: Time,
        sink: &'a mut S,
    ) -> Context<'a, S, E> {
        self.hooks.refresh(self.pipeline.tables.len());
        let through_tables = E::through_tables(&self.pipeline.config);
        Context {
            trial: if S::DRY {
                self.lane.next_trial()
            } else {
                Trial::LIVE
            },
            now,
            sink,
            pipeline: &mut self.pipeline,
            lane: &mut self.lane,
            egress: &mut self.egress,
            hooks: &mut self.hooks,
            through_tables,
        }
    }

    /// Sends a packet through the tables to trace its steps. With a sink that is [`Sink::DRY`],
    /// nothing is counted, learned or changed.
    pub fn trace<S: Sink>(&mut self, now: Time, packet: Packet, sink: &mut S) {
        self.context(now, sink).trace(packet);
    }

    /// Applies a packet-out's actions to its packet.
    pub fn packet_out<S: Sink>(
        &mut self,
        now: Time,
        packet: Packet,
        actions: &[Action],
        sink: &mut S,
    ) {
        self.context(now, sink).packet_out(packet, actions);
    }

    /// Sends what is due at a port that had no room and now accepts frames again.
    pub fn port_has_room<S: Sink>(&mut self, now: Time, number: PortNo, sink: &mut S) {
        if self.egress.ports.contains_key(&number) {
            self.context(now, sink).release(number);
        }
    }

    /// How many packets were copied or sent since the start, counting segments one by one: a
    /// measure of work that is the same on every machine.
    pub fn work_done(&self) -> u64 {
        self.lane.work.done
    }

    /// Counters of packets that extensions dropped: the extension, its reason, and the number.
    pub fn hook_drops(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        let drops = self.lane.hook_drops.iter();
        drops.map(|((hook, reason), count)| (self.hooks.all[*hook].name(), *reason, *count))
    }

    /// What its engine knows.
    pub fn engine(&self) -> &E::State {
        &self.lane.engine
    }

    /// What its engine knows.
    pub fn engine_mut(&mut self) -> &mut E::State {
        &mut self.lane.engine
    }

    /// Lets what forwards frames outside the switch learn of changes. To be called after anything
    /// but a packet, if there is such a thing.
    pub fn review(&mut self) {
        self.hooks.refresh(self.pipeline.tables.len());
        E::review(
            &mut self.lane.engine,
            &self.pipeline,
            &self.egress,
            &self.hooks,
        );
    }

    /// How IP fragments are treated.
    pub fn fragments(&self) -> ConfigFlags {
        self.pipeline.fragments
    }

    /// Sets how IP fragments are treated.
    pub fn set_fragments(&mut self, fragments: ConfigFlags) {
        self.pipeline.fragments = fragments;
    }

    /// Adds an extension's hook; its experimenter values are those in the catalogue under its name.
    pub fn add_hook(&mut self, mut hook: Box<dyn Hook>) {
        hook.start(&self.pipeline.config);
        let rows = self.pipeline.catalogue.values_of(hook.name());
        self.hooks.add(hook, rows, self.pipeline.tables.len());
    }

    /// What the datapath was made with.
    pub fn config(&self) -> &Config {
        &self.pipeline.config
    }

    /// The fields and experimenter values that it knows.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.pipeline.catalogue
    }

    /// Where its frames come from.
    pub fn pool(&self) -> &Pool {
        &self.lane.pool
    }

    /// Its tables, by number.
    pub fn tables(&self) -> &[Table] {
        &self.pipeline.tables
    }

    /// Its ports, by number.
    pub fn ports(&self) -> &BTreeMap<PortNo, Port> {
        &self.pipeline.ports
    }

    /// How many packets were dropped for each reason that occurred.
    pub fn drops(&self) -> impl Iterator<Item = (DropReason, u64)> {
        let counted = DropReason::ALL
            .iter()
            .map(|r| (*r, self.lane.drops[*r as usize]));
        counted.filter(|(_, count)| *count > 0)
    }

    /// When [`Datapath::tick`] has to be called next; `None` if there is no timer.
    pub fn next_tick(&self) -> Option<Time> {
        let moves = self.bundle.is_none();
        let expiry = self.pipeline.deadlines.first().map(|(at, ..)| *at);
        let compaction = table_to_compact(&self.pipeline).map(|_| Time(0));
        expiry
            .into_iter()
            .chain(compaction.filter(|_| moves))
            .chain(triggers::next_check(&self.pipeline, &self.lane.engine))
            .chain(E::next_clean(&self.lane.engine))
            .chain(self.hooks.all.iter().filter_map(|h| h.next_tick()))
            .chain(self.lane.reassembler.deadline_ns().map(Time))
            .chain(self.egress.ports.values().filter_map(Egress::next_wakeup))
            .min()
    }

    /// Handles all timers that are due: sends queued frames, expires entries, calls hooks. Some may
    /// be left for the next tick.
    pub fn tick<S: Sink>(&mut self, now: Time, sink: &mut S) {
        let mut context = self.context(now, sink);
        context.release_due();
        for _ in 0..context.lane.reassembler.expire(now.0) {
            context.drop(DropReason::FragmentLost);
        }
        self.settle();
        let Self { pipeline, lane, .. } = self;
        E::clean(
            &mut lane.engine,
            &pipeline.catalogue,
            &mut pipeline.tables,
            now,
        );
        if self.bundle.is_none() {
            compact(&mut self.editor());
        }
        triggers::check_noted(&mut self.pipeline, now, sink);
        self.expire(now, sink);
        self.tick_hooks(now, sink);
    }

    fn expire<S: Sink>(&mut self, now: Time, sink: &mut S) {
        for _ in 0..EXPIRIES_PER_TICK {
            let Some(&due) = self
                .pipeline
                .deadlines
                .first()
                .filter(|(at, ..)| *at <= now)
            else {
                break;
            };
            self.pipeline.deadlines.pop_first();
            let (_, table, slot) = due;
            let found = self.pipeline.tables[usize::from(table.0)].at(slot);
            let entry = found.expect("an entry takes its deadline with it");
            let key = entry.key;
            let expired = entry.deadline().filter(|(at, _)| *at <= now);
            triggers::check_one(&mut self.pipeline, now, table, key, sink);
            match expired {
                Some((_, reason)) => self.expire_entry(now, table, key, reason, sink),
                None => self.pipeline.set_deadline(table, key),
            }
        }
    }

    /// The recorded changes of entries.
    pub fn news(&self) -> &News {
        &self.news
    }

    /// The recorded changes of entries, and whether they are recorded.
    pub fn news_mut(&mut self) -> &mut News {
        &mut self.news
    }

    /// The key number of the next entry that is added.
    pub fn next_entry_number(&self) -> u64 {
        self.pipeline.next_serial
    }

    /// Adds what flows have counted to the counters of entries, tables and ports.
    pub(crate) fn settle(&mut self) {
        let Self { pipeline, lane, .. } = self;
        E::settle(&mut lane.engine, &mut pipeline.tables);
        E::settle_ports(&mut lane.engine, &mut pipeline.ports, &mut lane.drops);
    }
}
