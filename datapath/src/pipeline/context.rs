//! Who may touch what: the state of a switch by owner, and what a packet on its way is given of it.

use alloc::{collections::BTreeMap, collections::BTreeSet, sync::Arc, vec::Vec};

use bofuss_frame::{Frame, Pool};
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::types::{GroupId, MeterId, TableId};
use bofuss_oflib::{Catalogue, PortNo};
use bofuss_packet::Fragment;
use bofuss_packet::reassemble::Reassembler;

use crate::action_set::ActionSet;
use crate::cache::Cache;
use crate::egress::discipline::Egress;
use crate::groups::Group;
use crate::hooks::Hooks;
use crate::meters::Meter;
use crate::pipeline::bridge::Bridge;
use crate::pipeline::work::Work;
use crate::pipeline::{Walk, each_table};
use crate::tables::features::Abilities;
use crate::tables::field_uses::FieldUses;
use crate::tables::shared::SharedInstructions;
use crate::{Config, DropReason, Engine, Port, Sink, Step, Table, Time, Trial};

/// What controllers and ports configure. It changes rarely; packets only count in it, and learn
/// addresses for NORMAL.
pub(crate) struct Pipeline {
    pub(crate) config: Config,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) tables: Vec<Table>,
    /// What each table can do; none if it is not in the pipeline.
    pub(crate) table_abilities: Vec<Option<Abilities>>,
    /// The most that each can be made to do.
    pub(crate) max_abilities: Vec<Option<Abilities>>,
    /// The first of the tables that packets go through on their way to a port, if there are some.
    pub(crate) first_egress: Option<TableId>,
    /// Places that the entries of all tables and their masks take, and what they do.
    pub(crate) entry_places: usize,
    pub(crate) instructions: SharedInstructions,
    /// Which fields entries read and write.
    pub(crate) field_uses: FieldUses,
    /// The next deadline of each entry that has one.
    pub(crate) deadlines: BTreeSet<(Time, TableId, u32)>,
    /// Tables whose entries have to be moved together.
    pub(crate) sparse_tables: BTreeSet<TableId>,
    /// Tables that say how full they are.
    pub(crate) watched_tables: BTreeSet<TableId>,
    /// Tables with entries whose statistics have thresholds.
    pub(crate) triggered_tables: BTreeSet<TableId>,
    /// When their entries are looked at next, and from which table and slot on.
    pub(crate) next_look: Time,
    pub(crate) look_from: (TableId, u32),
    pub(crate) next_serial: u64,
    pub(crate) groups: BTreeMap<GroupId, Group>,
    /// Buckets of all groups, long ones as several.
    pub(crate) n_buckets: usize,
    pub(crate) meters: BTreeMap<MeterId, Meter>,
    pub(crate) ports: BTreeMap<PortNo, Port>,
    pub(crate) bridge: Bridge,
    /// How IP fragments are treated.
    pub(crate) fragments: ConfigFlags,
}

impl Pipeline {
    /// The table of this number; all for [`TableId::ALL`].
    pub(crate) fn tables_named(&self, wanted: TableId) -> &[Table] {
        match wanted {
            TableId::ALL => &self.tables,
            TableId(one) => &self.tables[usize::from(one)..=usize::from(one)],
        }
    }

    /// Whether a frame that holds such a part of a packet gets a treatment instead of its path.
    #[inline(always)]
    pub(crate) fn treats(&self, fragment: Fragment) -> bool {
        fragment != Fragment::No && self.fragments != ConfigFlags(0)
    }

    /// Whether a table is one of those that packets go through on their way to a port.
    pub(crate) fn is_egress(&self, table: TableId) -> bool {
        self.first_egress.is_some_and(|first| table >= first)
    }

    /// Whether a packet may go on from one table to another: it is there, and for the same stage.
    pub(crate) fn joins(&self, from: TableId, to: TableId) -> bool {
        self.has_table(to) && self.is_egress(from) == self.is_egress(to)
    }

    /// Whether the pipeline has a table.
    pub(crate) fn has_table(&self, table: TableId) -> bool {
        matches!(
            self.table_abilities.get(usize::from(table.0)),
            Some(Some(_))
        )
    }
}

/// What one data-plane thread has for itself.
pub(crate) struct Lane {
    pub(crate) pool: Pool,
    pub(crate) cache: Cache,
    pub(crate) drops: [u64; DropReason::ALL.len()],
    pub(crate) reassembler: Reassembler,
    pub(crate) work: Work,
    /// Frames of ports that wait for a later turn, in their order; and the port that was last
    /// served of them.
    pub(crate) backlog: BTreeMap<PortNo, Vec<Frame>>,
    pub(crate) last_served: PortNo,
    /// The action set of the packet in the pipeline; kept for its memory.
    pub(crate) spare_set: ActionSet,
    /// The trial that was begun last.
    last_trial: Trial,
    /// Packets that hooks dropped for reasons of their own: the hook's number, and the reason.
    pub(crate) hook_drops: BTreeMap<(usize, &'static str), u64>,
}

impl Lane {
    /// Makes a lane without packets, its cache as `config` says.
    pub(crate) fn new(config: &Config, pool: Pool) -> Self {
        Self {
            pool,
            cache: Cache::new(config.secret, config.cache_flows, config.cache_changes),
            drops: [0; DropReason::ALL.len()],
            reassembler: Reassembler::default(),
            work: Work::default(),
            backlog: BTreeMap::new(),
            last_served: PortNo(0),
            spare_set: ActionSet::default(),
            last_trial: Trial::LIVE,
            hook_drops: BTreeMap::new(),
        }
    }

    /// Begins a trial.
    pub(crate) fn next_trial(&mut self) -> Trial {
        self.last_trial = self.last_trial.next();
        self.last_trial
    }
}

/// What waits to leave by the ports that have queues; kept while a port is away.
#[derive(Default)]
pub(crate) struct PortQueues {
    pub(crate) ports: BTreeMap<PortNo, Egress>,
    /// Bytes of buffers that wait there.
    pub(crate) waiting_bytes: usize,
}

/// Sends a packet through the tables, from one on: one after another, or on known paths.
pub(crate) type ThroughTables<S> =
    fn(&mut Context<'_, S>, &mut Walk<'_>, Option<TableId>) -> Result<(), DropReason>;

/// What a packet on its way may touch: the switch by owner, the time and where effects go.
pub(crate) struct Context<'a, S: Sink> {
    pub(crate) now: Time,
    pub(crate) sink: &'a mut S,
    pub(crate) pipeline: &'a mut Pipeline,
    pub(crate) lane: &'a mut Lane,
    pub(crate) egress: &'a mut PortQueues,
    pub(crate) hooks: &'a mut Hooks,
    /// Which run of packets it is.
    pub(crate) trial: Trial,
    pub(crate) through_tables: ThroughTables<S>,
}

impl<S: Sink> Context<'_, S> {
    /// The same for packets whose effects go to another sink, and which take no known paths.
    pub(crate) fn trying<'b, T: Sink>(&'b mut self, sink: &'b mut T) -> Context<'b, T> {
        Context {
            now: self.now,
            sink,
            trial: self.lane.next_trial(),
            pipeline: self.pipeline,
            lane: self.lane,
            egress: self.egress,
            hooks: self.hooks,
            through_tables: each_table,
        }
    }

    /// Whether packets take known paths.
    pub(crate) fn uses_cache(&self) -> bool {
        self.pipeline.config.engine == Engine::Cache && !S::TRACES && !S::DRY
    }

    /// Counts a packet's end.
    pub(crate) fn drop(&mut self, reason: DropReason) {
        if !S::DRY {
            self.lane.drops[reason as usize] += 1;
        }
        if S::TRACES {
            self.sink.step(Step::Drop(reason));
        }
    }
}
