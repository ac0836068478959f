//! The datapath's state, and its inputs: frames, ports, ticks.

use alloc::{
    boxed::Box, collections::BTreeMap, collections::BTreeSet, collections::VecDeque, sync::Arc,
    vec::Vec,
};

use bofuss_frame::{Capabilities, Frame, Pool};
use bofuss_oflib::Catalogue;
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::ExtRow;
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::message::multipart::PortStats;
use bofuss_oflib::message::port::{PortConfig, PortFeatures, PortState};
use bofuss_oflib::message::{FlowRemoved, FlowRemovedReason, PortDesc, PortStatusReason};
use bofuss_oflib::types::{GroupId, MeterId, TableId};
use bofuss_oflib::{ErrorCode, ExtValue, Match, PortNo};
use bofuss_packet::reassemble::Reassembler;

use crate::action_set::ActionSet;
use crate::egress::discipline::Egress;
use crate::fast::cache::Cache;
use crate::groups::Group;
use crate::meters::Meter;
use crate::pipeline::normal::Bridge;
use crate::pipeline::work::Work;
use crate::tables::bulk_change::BulkChange;
use crate::tables::features::{self, Abilities};
use crate::tables::field_uses::FieldUses;
use crate::tables::shared::SharedInstructions;
use crate::{Config, DropReason, Entry, EntryKey, Hook, Port, Sink, Step, Table, Time};

/// Entries that one tick expires at most, so that packets need not wait.
const EXPIRIES_PER_TICK: usize = 64;

/// An OpenFlow switch without connections.
pub struct Datapath {
    pub(crate) config: Config,
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) pool: Pool,
    pub(crate) tables: Vec<Table>,
    /// What each table can do; none if it is not in the pipeline.
    pub(crate) table_abilities: Vec<Option<Abilities>>,
    /// The most that each can be made to do.
    pub(crate) max_abilities: Vec<Option<Abilities>>,
    /// Places that the entries of all tables and their masks take, and what they do.
    pub(crate) entry_places: usize,
    pub(crate) instructions: SharedInstructions,
    pub(crate) ports: BTreeMap<PortNo, Port>,
    pub(crate) groups: BTreeMap<GroupId, Group>,
    /// Buckets of all groups, long ones as several.
    pub(crate) n_buckets: usize,
    pub(crate) meters: BTreeMap<MeterId, Meter>,
    pub(crate) bridge: Bridge,
    /// What waits at the ports that have queues; kept while a port is away.
    pub(crate) egress: BTreeMap<PortNo, Egress>,
    /// Bytes of buffers that wait there.
    pub(crate) waiting_bytes: usize,
    /// Changes of many entries that are under way.
    pub(crate) bulk_changes: VecDeque<BulkChange>,
    pub(crate) hooks: Vec<Box<dyn Hook>>,
    /// The experimenter values of each hook's extension.
    hook_values: Vec<&'static [ExtRow]>,
    pub(crate) cache: Cache,
    /// The next deadline of each entry that has one.
    pub(crate) deadlines: BTreeSet<(Time, TableId, u32)>,
    pub(crate) next_serial: u64,
    pub(crate) drops: [u64; DropReason::ALL.len()],
    /// The action set of the packet in the pipeline; kept for its memory.
    pub(crate) spare_set: ActionSet,
    /// How IP fragments are treated.
    pub fragments: ConfigFlags,
    pub(crate) reassembler: Reassembler,
    /// Which fields entries read and write.
    pub(crate) field_uses: FieldUses,
    pub(crate) work: Work,
    /// Frames of ports that wait for a later turn, in their order; and the port that was last
    /// served of them.
    pub(crate) backlog: BTreeMap<PortNo, Vec<Frame>>,
    pub(crate) last_served: PortNo,
}

impl Datapath {
    /// Makes a datapath without ports and entries.
    ///
    /// Panics: if `config` asks for no table, or for more than 254.
    pub fn new(config: Config, catalogue: Arc<Catalogue>, pool: Pool) -> Self {
        assert!(
            (1..=TableId::MAX.0).contains(&config.n_tables),
            "1 to 254 tables"
        );
        let table = |_| Table::new(config.engine, config.secret);
        let tables = (0..config.n_tables).map(table).collect();
        let table_abilities = features::everything(&config, &catalogue);
        let cache = Cache::new(config.secret, config.cache_flows, config.cache_changes);
        Self {
            config,
            catalogue,
            pool,
            tables,
            max_abilities: table_abilities.clone(),
            table_abilities,
            entry_places: 0,
            instructions: SharedInstructions::default(),
            ports: BTreeMap::new(),
            groups: BTreeMap::new(),
            n_buckets: 0,
            meters: BTreeMap::new(),
            bridge: Bridge::default(),
            egress: BTreeMap::new(),
            waiting_bytes: 0,
            bulk_changes: VecDeque::new(),
            hooks: Vec::new(),
            hook_values: Vec::new(),
            cache,
            deadlines: BTreeSet::new(),
            next_serial: 1,
            drops: [0; DropReason::ALL.len()],
            spare_set: ActionSet::default(),
            fragments: ConfigFlags(0),
            reassembler: Reassembler::default(),
            field_uses: FieldUses::default(),
            work: Work::default(),
            backlog: BTreeMap::new(),
            last_served: PortNo(0),
        }
    }

    /// Adds the behaviour of an extension; its experimenter values are those that the catalogue has
    /// under its name.
    pub fn add_hook(&mut self, hook: Box<dyn Hook>) {
        self.hook_values.push(self.catalogue.values_of(hook.name()));
        self.hooks.push(hook);
    }

    /// The hook whose extension has this row, and the row's place in the extension's list.
    pub(crate) fn hook_of(&self, row: &'static ExtRow) -> Option<(usize, usize)> {
        let mut lists = self.hook_values.iter().enumerate();
        lists.find_map(|(hook, rows)| Some((hook, row.place_in(rows)?)))
    }

    /// What the datapath was made with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The fields and experimenter values that it knows.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// Where its frames come from.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Its tables, by number.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Its ports, by number.
    pub fn ports(&self) -> &BTreeMap<PortNo, Port> {
        &self.ports
    }

    /// Dropped packets by reason, those that happened.
    pub fn drops(&self) -> impl Iterator<Item = (DropReason, u64)> {
        let counted = DropReason::ALL
            .iter()
            .map(|r| (*r, self.drops[*r as usize]));
        counted.filter(|(_, count)| *count > 0)
    }

    /// Counts a packet's end.
    pub(crate) fn drop<S: Sink>(&mut self, reason: DropReason, sink: &mut S) {
        if !S::DRY {
            self.drops[reason as usize] += 1;
        }
        if S::TRACES {
            sink.step(Step::Drop(reason));
        }
    }

    /// When [`Datapath::tick`] wants to be called next; `None` if nothing waits for time.
    pub fn next_tick(&self) -> Option<Time> {
        let expiry = self.deadlines.first().map(|(at, ..)| *at);
        expiry
            .into_iter()
            .chain(self.next_clean())
            .chain(self.hooks.iter().filter_map(|h| h.next_tick()))
            .chain(self.reassembler.deadline_ns().map(Time))
            .chain(self.egress.values().filter_map(Egress::next_wakeup))
            .min()
    }

    /// Does what is due: sends what waited, expires entries, lets hooks act. Some may be left for
    /// the next tick.
    pub fn tick<S: Sink>(&mut self, now: Time, sink: &mut S) {
        self.release_due(now, sink);
        self.settle();
        self.clean(now);
        for _ in 0..self.reassembler.expire(now.0) {
            self.drop(DropReason::FragmentLost, sink);
        }
        for _ in 0..EXPIRIES_PER_TICK {
            let Some(&due) = self.deadlines.first().filter(|(at, ..)| *at <= now) else {
                break;
            };
            self.deadlines.pop_first();
            let (_, table, slot) = due;
            let entry = self.tables[usize::from(table.0)].at(slot);
            let entry = entry.expect("an entry takes its deadline with it");
            let key = entry.key;
            match entry.deadline() {
                Some((at, _)) if at > now => self.set_deadline(table, key),
                Some((_, reason)) => self.remove_entry(now, table, key, reason, sink),
                None => {}
            }
        }
        for hook in &mut self.hooks {
            if hook.next_tick().is_some_and(|at| at <= now) {
                hook.on_tick(now);
            }
        }
    }

    /// Has an entry's next deadline wait for it, if it has one, instead of the one before.
    pub(crate) fn set_deadline(&mut self, table: TableId, key: EntryKey) {
        let Some(entry) = self.tables[usize::from(table.0)].get_mut(key) else {
            return;
        };
        let next = entry.deadline().map_or(Time::NEVER, |(at, _)| at);
        let before = core::mem::replace(&mut entry.due, next);
        self.deadlines.remove(&(before, table, key.slot));
        if next != Time::NEVER {
            self.deadlines.insert((next, table, key.slot));
        }
    }

    /// Takes an entry out of its table, and its deadline with it.
    pub(crate) fn take_entry(&mut self, table: TableId, key: EntryKey) -> Option<Entry> {
        self.entry_gone(table, key);
        let table_of = &mut self.tables[usize::from(table.0)];
        let entry = table_of.remove(key)?;
        self.entry_places -= table_of.masks.places(&entry.rule);
        self.instructions.release(&entry.instructions);
        self.refer(&entry.instructions, false);
        self.field_uses.rule(&entry.rule, &self.catalogue, false);
        if entry.due != Time::NEVER {
            self.deadlines.remove(&(entry.due, table, key.slot));
        }
        Some(entry)
    }

    /// Removes an entry and says so to whom it concerns.
    pub(crate) fn remove_entry<S: Sink>(
        &mut self,
        now: Time,
        table: TableId,
        key: EntryKey,
        reason: FlowRemovedReason,
        sink: &mut S,
    ) {
        let before = &self.tables[usize::from(table.0)];
        let fields = before
            .get(key)
            .map(|entry| before.fields_of(entry, &self.catalogue));
        let Some((entry, fields)) = self.take_entry(table, key).zip(fields) else {
            return;
        };
        let removed = removal(now, table, &entry, fields, reason);
        for hook in &mut self.hooks {
            hook.on_flow_removed(now, &removed);
        }
        if entry
            .flags
            .has(bofuss_oflib::message::FlowModFlags::SEND_FLOW_REM)
        {
            sink.flow_removed(removed);
        }
    }

    /// Adds a port, or tells what has changed of one; says so to the controllers if it shows.
    ///
    /// The configuration that controllers set stays as it is.
    pub fn port_changed<S: Sink>(
        &mut self,
        now: Time,
        desc: PortDesc,
        capabilities: Capabilities,
        sink: &mut S,
    ) {
        let number = desc.port_no;
        let before = self.ports.get(&number).map(|port| port.desc.clone());
        let fresh = Port {
            desc: desc.clone(),
            capabilities,
            stats: PortStats::default(),
            since: now,
        };
        let port = self.ports.entry(number).or_insert(fresh);
        let config = port.desc.config;
        port.desc = PortDesc { config, ..desc };
        port.capabilities = capabilities;
        port.stats.port_no = number;
        port.refresh_live();
        let after = port.desc.clone();
        if let Some(egress) = self.egress.get_mut(&number) {
            egress.discipline.set_rate(now, after.curr_speed);
        }
        self.port_liveness_changed(number);
        match before {
            None => sink.port_status(PortStatusReason::ADD, &after),
            Some(before) if before != after => sink.port_status(PortStatusReason::MODIFY, &after),
            Some(_) => return,
        }
        let up = !after.state.has(PortState::LINK_DOWN);
        self.hooks
            .iter_mut()
            .for_each(|hook| hook.on_port_change(now, number, up));
    }

    /// Removes a port and forgets what NORMAL learned there.
    pub fn port_removed<S: Sink>(&mut self, now: Time, number: PortNo, sink: &mut S) {
        if let Some(port) = self.ports.remove(&number) {
            self.bridge.forget(number);
            self.clear_queues(number, DropReason::NoSuchPort, sink);
            self.port_liveness_changed(number);
            sink.port_status(PortStatusReason::DELETE, &port.desc);
            self.hooks
                .iter_mut()
                .for_each(|hook| hook.on_port_change(now, number, false));
        }
    }

    /// Changes the configuration bits of a port that `mask` selects. Unknown numbers change
    /// nothing.
    pub fn configure_port<S: Sink>(
        &mut self,
        number: PortNo,
        config: PortConfig,
        mask: PortConfig,
        sink: &mut S,
    ) {
        let Some(port) = self.ports.get_mut(&number) else {
            return;
        };
        let before = port.desc.config;
        port.desc.config = PortConfig(before.0 & !mask.0 | config.0 & mask.0);
        port.refresh_live();
        let desc = port.desc.clone();
        if before != desc.config {
            self.port_liveness_changed(number);
            if before.has(PortConfig::PORT_DOWN) != desc.config.has(PortConfig::PORT_DOWN) {
                sink.set_link(number, !desc.config.has(PortConfig::PORT_DOWN));
            }
            sink.port_status(PortStatusReason::MODIFY, &desc);
        }
    }

    /// Has a port advertise other features.
    pub fn advertise<S: Sink>(&mut self, number: PortNo, features: PortFeatures, sink: &mut S) {
        if let Some(port) = self.ports.get_mut(&number) {
            port.desc.advertised = features;
            sink.advertise(number, features);
            sink.port_status(PortStatusReason::MODIFY, &port.desc);
        }
    }

    /// Counters of a port that its driver keeps: frames lost on the way in and out.
    pub fn set_driver_counters(&mut self, number: PortNo, lost: &PortStats) {
        if let Some(port) = self.ports.get_mut(&number) {
            port.stats.rx_over_err = lost.rx_over_err;
            port.stats.rx_errors = lost.rx_errors;
            port.stats.tx_errors = lost.tx_errors;
            port.stats.tx_dropped = lost.tx_dropped;
        }
    }

    /// Gives an extension's message or multipart request to its hook.
    ///
    /// Errors: the hook's; BAD_REQUEST/BAD_EXPERIMENTER if no hook has it.
    pub fn experimenter(
        &mut self,
        now: Time,
        value: &ExtValue,
    ) -> Result<Vec<ExtValue>, ErrorCode> {
        let found = self.hook_of(value.row);
        let (hook, row) = found.ok_or(BadRequest::BAD_EXPERIMENTER)?;
        self.hooks[hook].on_message(now, row, value)
    }
}

/// What is said of a removed entry.
fn removal(
    now: Time,
    table_id: TableId,
    entry: &Entry,
    fields: Match,
    reason: FlowRemovedReason,
) -> FlowRemoved {
    let (duration_sec, duration_nsec) = now.duration(entry.created);
    FlowRemoved {
        cookie: entry.cookie,
        priority: entry.key.priority.0,
        reason,
        table_id,
        duration_sec,
        duration_nsec,
        idle_timeout: entry.idle_timeout,
        hard_timeout: entry.hard_timeout,
        packet_count: entry.packet_count(),
        byte_count: entry.byte_count(),
        fields,
    }
}
