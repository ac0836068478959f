//! The datapath: its parts, the calls by which packets enter, and what can be read of it.

use alloc::{
    boxed::Box, collections::BTreeMap, collections::BTreeSet, string::String, sync::Arc, vec::Vec,
};

use bofuss_frame::{Frame, Pool};
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::types::{QueueId, TableId};
use bofuss_oflib::{Catalogue, PortNo};

use crate::control::Control;
use crate::control::bulk_change::{Cursor, ENTRIES_REPORTED};
use crate::control::changes::Changes;
use crate::control::check::Checker;
use crate::control::clock::{next_tick, settle};
use crate::control::extensions::HookCalls;
use crate::control::groups::GroupsView;
use crate::control::meters::MetersView;
use crate::control::news::News;
use crate::control::ports::PortControl;
use crate::control::queues::QueueError;
use crate::frame_engine::{FrameEngine, PlainEngine, ReviewScope};
use crate::hooks::Hooks;
use crate::ingress::{catch_up, receive};
use crate::pipeline::bridge::Bridge;
use crate::pipeline::context::{Context, Lane, Pipeline, PortQueues};
use crate::tables::field_uses::FieldUses;
use crate::tables::shape::PipelineShape;
use crate::tables::shared::SharedInstructions;
use crate::{Config, Entry, Hook, Port, QueueSpec, Sink, Table, Time, Trial};

/// An OpenFlow switch without connections: frames and changes go in by calls, and what they cause
/// goes to a [`Sink`] before the call returns.
///
/// ```
/// use std::sync::Arc;
///
/// use bofuss_datapath::{Config, Datapath, Time};
/// use bofuss_frame::{Frame, OffloadCapabilities, Pool};
/// use bofuss_oflib::message::{FlowModCommand, PortDesc};
/// use bofuss_oflib::text::parse_flow;
/// use bofuss_oflib::{Catalogue, PortNo};
///
/// let catalogue = Arc::new(Catalogue::default());
/// let pool = Pool::new(1 << 20);
/// let mut datapath: Datapath = Datapath::new(Config::default(), catalogue.clone(), pool.clone());
/// // A sink that keeps the frames that are sent.
/// let mut sent: Vec<Frame> = Vec::new();
/// for number in [1, 2] {
///     let desc = PortDesc { port_no: PortNo(number), ..PortDesc::default() };
///     datapath.port_control(Time(0), &mut sent).changed(desc, OffloadCapabilities::default());
/// }
/// let rule = "in_port=1,actions=set_field:02:00:00:00:00:02->eth_dst,output:2";
/// let flow_mod = parse_flow(rule, FlowModCommand::ADD, &catalogue).expect("it is one");
/// datapath.control(Time(0), &mut sent).flow_mod(&flow_mod).expect("it has place");
///
/// let frame = pool.frame(&[0xff; 60]).expect("the pool is empty");
/// datapath.receive(Time(1_000), PortNo(1), &mut vec![frame], &mut sent);
/// assert_eq!(sent[0].bytes()[..6], [2, 0, 0, 0, 0, 2]);
/// ```
pub struct Datapath<E: FrameEngine = PlainEngine> {
    pipeline: Pipeline<E>,
    lane: Lane<E>,
    queues: PortQueues,
    hooks: Hooks,
    changes: Changes<E>,
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
                #[cfg(feature = "triggers")]
                triggers: Default::default(),
                sparse_tables: BTreeSet::new(),
                #[cfg(feature = "filling")]
                vacancies: BTreeMap::new(),
                next_serial: 1,
                groups: BTreeMap::new(),
                n_buckets: 0,
                meters: BTreeMap::new(),
                ports: BTreeMap::new(),
                port_changes: 0,
                bridge: Bridge::default(),
                fragments: ConfigFlags(0),
                #[cfg(feature = "replicas")]
                follows: false,
            },
            queues: PortQueues::default(),
            hooks: Hooks::default(),
            changes: Changes::default(),
        }
    }

    /// Returns what packets may touch, with effects that go to `sink`; and the changes in progress.
    fn split<'a, S: Sink>(
        &'a mut self,
        now: Time,
        sink: &'a mut S,
    ) -> (Context<'a, S, E>, &'a mut Changes<E>) {
        self.hooks.refresh(self.pipeline.tables.len());
        let through_tables = E::through_tables(&self.pipeline.config);
        let trial = if S::DRY {
            self.lane.next_trial()
        } else {
            Trial::LIVE
        };
        let context = Context {
            trial,
            now,
            sink,
            pipeline: &mut self.pipeline,
            lane: &mut self.lane,
            egress: &mut self.queues,
            hooks: &mut self.hooks,
            through_tables,
        };
        (context, &mut self.changes)
    }

    /// Returns what packets may touch, with effects that go to `sink`.
    pub(crate) fn context<'a, S: Sink>(
        &'a mut self,
        now: Time,
        sink: &'a mut S,
    ) -> Context<'a, S, E> {
        self.split(now, sink).0
    }

    /// Returns the part that changes tables, groups and meters, with effects that go to `sink`.
    pub fn control<'a, S: Sink>(&'a mut self, now: Time, sink: &'a mut S) -> Control<'a, S, E> {
        let (context, changes) = self.split(now, sink);
        Control::new(context, changes)
    }

    /// Returns the part that changes ports and their queues, with effects that go to `sink`.
    pub fn port_control<'a, S: Sink>(
        &'a mut self,
        now: Time,
        sink: &'a mut S,
    ) -> PortControl<'a, S, E> {
        PortControl::new(self.context(now, sink))
    }

    /// Returns the part that calls extensions for messages, with effects that go to `sink`.
    pub fn hook_calls<'a, S: Sink>(
        &'a mut self,
        now: Time,
        sink: &'a mut S,
    ) -> HookCalls<'a, S, E> {
        HookCalls::new(self.context(now, sink))
    }

    /// Returns the part that begins, commits and undoes a bundle.
    #[cfg(feature = "bundles")]
    pub fn bundle(&mut self) -> crate::BundleControl<'_, E> {
        crate::BundleControl {
            pipeline: &mut self.pipeline,
            engine: &mut self.lane.engine,
            changes: &mut self.changes,
        }
    }

    /// Processes frames that arrived on `port`; leaves `frames` empty. Frames that exceed the work
    /// of one turn wait for [`Datapath::catch_up`].
    pub fn receive<S: Sink>(
        &mut self,
        now: Time,
        port: PortNo,
        frames: &mut Vec<Frame>,
        sink: &mut S,
    ) {
        receive(&mut self.context(now, sink), port, frames);
    }

    /// Processes waiting frames of one port for one turn; ports take turns. Adds entries that hooks
    /// want.
    pub fn catch_up<S: Sink>(&mut self, now: Time, sink: &mut S) {
        catch_up(&mut self.context(now, sink));
        #[cfg(feature = "wanted")]
        if !self.lane.wanted.is_empty() {
            self.control(now, sink).add_wanted();
        }
    }

    /// Returns the state that its data-plane thread has for itself.
    pub fn lane(&self) -> &Lane<E> {
        &self.lane
    }

    /// Returns the state of its engine.
    pub fn engine_mut(&mut self) -> &mut E::State {
        &mut self.lane.engine
    }

    /// Lets what forwards frames outside the switch learn of changes. To be called after frames and
    /// after anything else, if there is such a thing.
    pub fn review(&mut self, now: Time, scope: ReviewScope) {
        self.hooks.refresh(self.pipeline.tables.len());
        let around = (&mut self.pipeline, &self.queues, &self.hooks);
        E::review(&mut self.lane.engine, now, scope, around);
    }

    /// Returns why frames like this one, which arrives on `port`, are not forwarded outside the
    /// switch, if there is such a thing and what is known of them says so.
    pub fn why_inside(&self, now: Time, port: PortNo, frame: &[u8]) -> Option<String> {
        let frame = self.lane.pool.frame(frame)?;
        let (engine, around) = (
            &self.lane.engine,
            (&self.pipeline, &self.queues, &self.hooks),
        );
        E::why_inside(engine, now, around, port, frame)
    }

    /// Returns how IP fragments are treated.
    pub fn fragments(&self) -> ConfigFlags {
        self.pipeline.fragments
    }

    /// Sets how IP fragments are treated.
    pub fn set_fragments(&mut self, fragments: ConfigFlags) {
        self.pipeline.fragments = fragments;
    }

    /// Returns a checker of lists of actions.
    pub fn checker(&self) -> Checker<'_, E> {
        Checker::new(&self.pipeline, &self.hooks)
    }

    /// Adds an extension's hook; its experimenter values are those in the catalogue under its name.
    pub fn add_hook(&mut self, mut hook: Box<dyn Hook>) {
        hook.start(&self.pipeline.config);
        let rows = self.pipeline.catalogue.values_of(hook.name());
        self.hooks.add(hook, rows, self.pipeline.tables.len());
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Config {
        &self.pipeline.config
    }

    /// The fields and experimenter values that it knows.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.pipeline.catalogue
    }

    /// The pool of its frames.
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

    /// The queues of ports.
    pub fn queues(&self) -> &PortQueues {
        &self.queues
    }

    /// Creates a queue of a port, or changes one, which keeps its counters and frames. With its
    /// first queue a port also gets the default queue.
    ///
    /// Errors: [`QueueError`], and nothing is changed.
    pub fn modify_queue(
        &mut self,
        now: Time,
        port: PortNo,
        id: QueueId,
        spec: QueueSpec,
    ) -> Result<(), QueueError> {
        self.queues.modify(now, &self.pipeline, port, id, spec)
    }

    /// The time when [`Datapath::tick`] has to be called next; `None` if there is no timer.
    pub fn next_tick(&self) -> Option<Time> {
        let (lane, queues) = (&self.lane, &self.queues);
        next_tick(&self.pipeline, lane, queues, &self.hooks, &self.changes)
    }

    /// Handles all timers that are due: sends queued frames, expires entries, calls hooks. Some may
    /// be left for the next tick.
    pub fn tick<S: Sink>(&mut self, now: Time, sink: &mut S) {
        self.control(now, sink).tick();
    }

    /// The changes in progress.
    pub fn changes(&self) -> &Changes<E> {
        &self.changes
    }

    /// What NORMAL has learned.
    pub fn bridge(&self) -> &Bridge {
        &self.pipeline.bridge
    }

    /// What can be given the past of an earlier run.
    #[cfg(feature = "restore")]
    pub fn restore(&mut self) -> crate::Restore<'_, E> {
        crate::Restore::new(&mut self.pipeline)
    }

    /// The record of changes of entries, for taking them and for choosing whether there are any.
    pub fn news_mut(&mut self) -> &mut News {
        self.changes.news_mut()
    }

    /// The key number of the next entry that is added.
    pub fn next_entry_number(&self) -> u64 {
        self.pipeline.next_serial
    }

    /// The hooks of extensions.
    pub fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// Which tables the pipeline has, and with which features.
    pub fn shape(&self) -> &PipelineShape {
        &self.pipeline.shape
    }

    /// Sets the pipeline of a new datapath, which is also the most that controllers may request.
    ///
    /// Errors: TABLE_FEATURES_FAILED with BAD_TABLE, BAD_METADATA, BAD_TYPE, BAD_ARGUMENT, BAD_CAP,
    /// BAD_FEATURES, BAD_COMMAND or TOO_MANY.
    #[cfg(feature = "reshape")]
    pub fn set_profile(
        &mut self,
        tables: &[bofuss_oflib::message::multipart::TableFeatures],
    ) -> Result<(), bofuss_oflib::ErrorCode> {
        self.pipeline.shape = self.pipeline.shape.changed(tables)?.limited();
        Ok(())
    }

    /// The groups, for reading.
    pub fn groups(&self) -> GroupsView<'_, E> {
        GroupsView::new(&self.pipeline, &self.changes)
    }

    /// The meters, for reading.
    pub fn meters(&self) -> MetersView<'_> {
        MetersView::new(&self.pipeline, &self.changes)
    }

    /// Adds what the engine has counted to the counters of entries, tables and ports, and returns
    /// the view in which they are read.
    pub fn settled(&mut self) -> Settled<'_, E> {
        settle(&mut self.pipeline, &mut self.lane);
        Settled(self)
    }
}

#[cfg(feature = "reconfigure")]
impl<E: FrameEngine> Datapath<E> {
    /// Checks that the entries fit into `other`, which is new and has the same catalogue. If
    /// `other` has no egress tables but has the table with the number of our first one, that
    /// becomes its first egress table.
    ///
    /// The time is proportional to the number of entries if `other` has another pipeline than this
    /// datapath was made with.
    ///
    /// Errors: the first obstacle.
    pub fn check_reconfigure(
        &mut self,
        other: &mut Self,
    ) -> Result<(), crate::reconfigure::Obstacle> {
        crate::control::reconfigure::check(&self.pipeline, &mut other.pipeline)
    }

    /// Takes over the configuration of `other`, which [`Self::check_reconfigure`] accepted. Its
    /// pipeline is taken over only if it differs from that with which this datapath was made;
    /// otherwise the pipeline stays as controllers changed it. Entries, groups, meters, ports,
    /// counters and waiting frames stay.
    pub fn reconfigure<S: Sink>(&mut self, now: Time, other: Self, sink: &mut S) {
        let Pipeline { config, shape, .. } = other.pipeline;
        self.control(now, sink).reconfigure(config, shape);
    }
}

#[cfg(feature = "replicas")]
impl<E: FrameEngine> Datapath<E> {
    /// Returns the part by which it works in step with replicas of itself.
    pub fn replica(&mut self) -> crate::Replica<'_, E> {
        self.hooks.refresh(self.pipeline.tables.len());
        let queues = &self.queues;
        crate::Replica::new(&mut self.pipeline, &mut self.lane, queues, &mut self.hooks)
    }

    /// Returns true if this is a replica that only forwards: another one reports.
    pub fn follows(&self) -> bool {
        self.pipeline.follows
    }
}

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

impl<'a, E: FrameEngine> Settled<'a, E> {
    /// The datapath itself.
    pub fn datapath(&self) -> &'a Datapath<E> {
        self.0
    }

    /// The counters of a table.
    ///
    /// Panics: if there is no such table.
    pub fn table_counts(&self, table: TableId) -> TableCounts {
        let table = &self.0.tables()[usize::from(table.0)];
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
        let tables = self.0.tables();
        cursor.slice(ENTRIES_REPORTED, tables, Table::read_view, see)
    }
}
