//! The state of a switch by owner, and which of it a packet in the pipeline may touch.

use alloc::{collections::BTreeMap, collections::BTreeSet, sync::Arc, vec::Vec};

use bofuss_frame::{Frame, Pool};
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::types::{GroupId, MeterId, QueueId, TableId};
use bofuss_oflib::{Catalogue, PortNo};
use bofuss_packet::Fragment;

use crate::action_set::ActionSet;
use crate::egress::Egress;
use crate::engine_notes::{EngineNotes, GroupOf};
use crate::hooks::Hooks;
use crate::meters::Meter;
use crate::pipeline::backlog::Backlog;
use crate::pipeline::bridge::Bridge;
use crate::pipeline::walk::Walk;
use crate::pipeline::work::Work;
use crate::tables::field_uses::FieldUses;
use crate::tables::shape::PipelineShape;
use crate::tables::shared::SharedInstructions;
use crate::{Config, DropReason, Port, Sink, Step, Table, Time, Trial};

/// The state that controllers and ports configure. It changes rarely: packets only increase
/// counters in it, and make NORMAL learn addresses.
pub struct Pipeline<E: EngineNotes> {
    /// The configuration of the switch.
    pub config: Config,
    /// The fields and experimenter values that it knows.
    pub catalogue: Arc<Catalogue>,
    /// The tables, by number.
    pub tables: Vec<Table>,
    /// Which of them are in the pipeline, and with which features.
    pub shape: PipelineShape,
    /// The number of entries that all tables count as towards the limit, with their masks; and the
    /// shared instructions.
    pub(crate) entry_places: usize,
    pub(crate) instructions: SharedInstructions,
    /// The fields that entries read and write.
    pub field_uses: FieldUses,
    /// The next deadline of each entry that has one.
    pub(crate) deadlines: BTreeSet<(Time, TableId, u32)>,
    /// The times when entries with statistics triggers are checked.
    #[cfg(feature = "triggers")]
    pub(crate) triggers: crate::tables::triggers::TriggerTimes,
    /// Tables that have to be compacted.
    pub(crate) sparse_tables: BTreeSet<TableId>,
    /// The vacancy events of tables.
    #[cfg(feature = "filling")]
    pub(crate) vacancies: BTreeMap<TableId, crate::tables::vacancy::VacancyEvents>,
    pub(crate) next_serial: u64,
    /// The groups.
    pub groups: BTreeMap<GroupId, GroupOf<E>>,
    /// The number of buckets of all groups; long ones count as several.
    pub(crate) n_buckets: usize,
    /// The meters.
    pub meters: BTreeMap<MeterId, Meter>,
    /// The ports, and how often one was added, removed or changed.
    pub ports: BTreeMap<PortNo, Port>,
    pub(crate) port_changes: u64,
    /// What NORMAL has learned.
    pub bridge: Bridge,
    /// The treatment of IP fragments.
    pub(crate) fragments: ConfigFlags,
    /// True if this is a replica that only forwards: another one reports.
    #[cfg(feature = "replicas")]
    pub(crate) follows: bool,
}

impl<E: EngineNotes> Pipeline<E> {
    /// The table with this number; all tables for [`TableId::ALL`].
    pub(crate) fn tables_named(&self, wanted: TableId) -> &[Table] {
        match wanted {
            TableId::ALL => &self.tables,
            TableId(one) => &self.tables[usize::from(one)..=usize::from(one)],
        }
    }

    /// Returns how many of a super-frame's first segments agree in what entries read and write.
    #[cfg(feature = "super_frames")]
    pub(crate) fn agreeing(&self, frame: &Frame) -> u64 {
        let uses = self.field_uses.of(&self.catalogue);
        let additions = self.catalogue.additions();
        bofuss_packet::offload::agreeing_segments(frame, additions, uses) as u64
    }

    /// Returns true if a frame with such a part of a packet is treated specially and does not go
    /// through the tables.
    #[inline(always)]
    pub fn handles_specially(&self, fragment: Fragment) -> bool {
        fragment != Fragment::No && self.fragments != ConfigFlags(0)
    }
}

/// The state that one data-plane thread has for itself and shares with no other.
pub struct Lane<E: EngineNotes> {
    pub(crate) pool: Pool,
    /// The state of the engine.
    pub engine: E::State,
    /// The number of packets that were dropped, by reason.
    pub drops: [u64; DropReason::ALL.len()],
    /// Fragments that wait for others.
    #[cfg(feature = "reassembly")]
    pub(crate) reassembler: bofuss_packet::reassemble::Reassembler,
    /// The work that frames cause.
    pub work: Work,
    /// Frames that wait for a later turn.
    pub backlog: Backlog,
    /// Entries that hooks want.
    #[cfg(feature = "wanted")]
    pub(crate) wanted: crate::wanted_entries::WantedEntries,
    /// An empty action set that is kept for its memory.
    pub(crate) spare_set: ActionSet,
    /// The trial that was begun last.
    last_trial: Trial,
}

impl<E: EngineNotes> Lane<E> {
    /// Makes a lane without packets, its engine as `config` says.
    pub(crate) fn new(config: &Config, pool: Pool) -> Self {
        Self {
            pool,
            engine: E::new(config),
            drops: [0; DropReason::ALL.len()],
            #[cfg(feature = "reassembly")]
            reassembler: Default::default(),
            work: Work::default(),
            backlog: Backlog::default(),
            #[cfg(feature = "wanted")]
            wanted: Default::default(),
            spare_set: ActionSet::default(),
            last_trial: Trial::LIVE,
        }
    }

    /// Returns true if hooks want entries.
    pub fn has_wanted(&self) -> bool {
        #[cfg(feature = "wanted")]
        return !self.wanted.is_empty();
        #[cfg(not(feature = "wanted"))]
        false
    }

    /// Returns how many packets were dropped for each reason that occurred.
    pub fn drops(&self) -> impl Iterator<Item = (DropReason, u64)> {
        let counted = DropReason::ALL
            .iter()
            .map(|r| (*r, self.drops[*r as usize]));
        counted.filter(|(_, count)| *count > 0)
    }

    /// Begins a trial.
    pub(crate) fn next_trial(&mut self) -> Trial {
        self.last_trial = self.last_trial.next();
        self.last_trial
    }
}

/// The queues of ports that have some; kept while a port is absent.
#[derive(Default)]
pub struct PortQueues {
    /// The queues, by port.
    pub ports: BTreeMap<PortNo, Egress>,
    /// The bytes of buffers that wait in all queues.
    pub(crate) waiting_bytes: usize,
}

impl PortQueues {
    /// Returns true if a frame may wait at a port as it is: it is no super-frame, or the queue
    /// accepts it whole.
    pub(crate) fn takes_whole(&self, port: PortNo, id: QueueId, frame: &Frame) -> bool {
        if frame.offload.gso.is_none() {
            return true;
        }
        let egress = self.ports.get(&port);
        egress.is_none_or(|egress| egress.discipline.takes_whole(id, frame))
    }
}

/// The function that sends a packet through the tables, beginning with one: from table to table, or
/// on cached paths.
pub type ThroughTables<S, E> =
    fn(&mut Context<'_, S, E>, &mut Walk<'_, E>, Option<TableId>) -> Result<(), DropReason>;

/// All that a packet in the pipeline may touch: the switch by owner, the time, and the sink of
/// effects.
pub struct Context<'a, S: Sink, E: EngineNotes> {
    /// The time.
    pub now: Time,
    /// The receiver of effects.
    pub sink: &'a mut S,
    /// The tables, groups, meters and ports.
    pub pipeline: &'a mut Pipeline<E>,
    /// The state that the thread has for itself.
    pub lane: &'a mut Lane<E>,
    /// The queues of ports.
    pub egress: &'a mut PortQueues,
    /// The hooks of extensions.
    pub hooks: &'a mut Hooks,
    /// The number of the trial run, if it is one.
    pub(crate) trial: Trial,
    pub(crate) through_tables: ThroughTables<S, E>,
}

impl<S: Sink, E: EngineNotes> Context<'_, S, E> {
    /// The same for a while.
    pub(crate) fn reborrow(&mut self) -> Context<'_, S, E> {
        Context {
            now: self.now,
            sink: self.sink,
            pipeline: self.pipeline,
            lane: self.lane,
            egress: self.egress,
            hooks: self.hooks,
            trial: self.trial,
            through_tables: self.through_tables,
        }
    }

    /// Counts a dropped packet.
    pub fn drop(&mut self, reason: DropReason) {
        count_drop(self.sink, &mut self.lane.drops, reason);
    }
}

/// Counts a dropped packet.
#[inline]
pub(crate) fn count_drop<S: Sink>(
    sink: &mut S,
    drops: &mut [u64; DropReason::ALL.len()],
    reason: DropReason,
) {
    if !S::DRY {
        drops[reason as usize] += 1;
    }
    if S::TRACES {
        sink.step(Step::Drop(reason));
    }
}
