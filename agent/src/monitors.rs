//! Flow monitors: what connections ask to be told of entries, and what each is told of a change.
//! Spec: OpenFlow 1.4.1 section 7.3.5.18.

use alloc::{boxed::Box, collections::BTreeMap, vec::Vec};

use bofuss_datapath::{Cursor, Datapath, Engine, Entry, EntryFate, EntryKey, EntryNews, Filter};
use bofuss_oflib::error::FlowMonitorFailed;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::multipart::flow_monitor::{
    FlowMonitorCommand, FlowMonitorFlags, FlowUpdateEvent, MonitoredFlow,
};
use bofuss_oflib::message::multipart::{FlowMonitorRequest, FlowStatsRequest, FlowUpdate};
use bofuss_oflib::types::{GroupId, TableId};
use bofuss_oflib::{ErrorCode, Match, Version};

/// Monitors that a connection has at most: each costs every change of an entry some 20 ns.
const MAX_MONITORS: usize = 16;
/// Entries of which a connection that does not read is told later, at most: some 300 KB. If there
/// are more, all entries are told again.
const MAX_LATE: usize = 4096;
/// Entries that one slice tells late.
const REPORTED_PER_SLICE: usize = 32;

/// A monitor.
#[derive(Clone)]
struct Monitor {
    flags: FlowMonitorFlags,
    table_id: TableId,
    filter: Filter,
    /// Whether the walk over the entries that were there at first still goes on.
    is_beginning: bool,
}

/// The monitors of a connection, and what it was not told yet.
#[derive(Default)]
pub(crate) struct Monitoring {
    monitors: BTreeMap<u32, Monitor>,
    pause: Option<Box<Pause>>,
    /// Whether it knows that the request that is handled, its own, changed entries.
    pub(crate) has_abbreviated: bool,
}

/// What a connection that did not read has to be told.
struct Pause {
    /// The [`EntryKey::number`] that the first entry got that was added meanwhile.
    since: u64,
    /// Entries that were added or changed.
    late: BTreeMap<(TableId, EntryKey), LateEntry>,
    /// If these were too many: all entries from here on.
    walk: Option<Cursor>,
}

/// What a connection has to be told of an entry.
#[derive(Clone, Copy)]
struct LateEntry {
    /// Whether it knows of an earlier state.
    is_known: bool,
    flags: FlowMonitorFlags,
}

/// What all connections see of a change: the switch after it, and whose request made it.
pub(crate) struct Scene<'a> {
    pub(crate) datapath: &'a Datapath,
    /// Whether the connection's own request made the changes, and its transaction id.
    pub(crate) own: Option<u32>,
    /// Whether another controller's request did.
    pub(crate) is_foreign: bool,
    pub(crate) version: Version,
    /// How far the walk over the entries that were there at first has come.
    pub(crate) beginning: Option<&'a Cursor>,
}

impl Monitor {
    fn selects(&self, table: TableId, entry: &Entry, before: Option<&Instructions>) -> bool {
        let in_table = self.table_id == TableId::ALL || self.table_id == table;
        in_table
            && match before {
                Some(before) => self.filter.selects_either(entry, before),
                None => self.filter.selects(entry),
            }
    }
}

impl Monitoring {
    pub(crate) fn is_empty(&self) -> bool {
        self.monitors.is_empty()
    }

    /// Whether it has to be told what happened while it did not read.
    pub(crate) fn is_paused(&self) -> bool {
        self.pause.is_some()
    }

    /// Begins, changes and ends monitors; all that are asked for, or none. Returns true if some
    /// want the entries that there are.
    ///
    /// Errors: FLOW_MONITOR_FAILED with MONITOR_EXISTS, UNKNOWN_MONITOR, BAD_FLAGS, BAD_TABLE_ID,
    /// BAD_OUT, or INVALID_MONITOR if there are too many.
    pub(crate) fn change(
        &mut self,
        datapath: &Datapath,
        requests: &[FlowMonitorRequest],
    ) -> Result<bool, ErrorCode> {
        let mut monitors = self.monitors.clone();
        let mut walks = false;
        for request in requests {
            let id = request.monitor_id;
            let exists = monitors.contains_key(&id);
            match request.command {
                FlowMonitorCommand::ADD if exists => {
                    return Err(FlowMonitorFailed::MONITOR_EXISTS);
                }
                FlowMonitorCommand::ADD if monitors.len() >= MAX_MONITORS => {
                    return Err(FlowMonitorFailed::INVALID_MONITOR);
                }
                FlowMonitorCommand::MODIFY | FlowMonitorCommand::DELETE if !exists => {
                    return Err(FlowMonitorFailed::UNKNOWN_MONITOR);
                }
                FlowMonitorCommand::DELETE => {
                    monitors.remove(&id);
                }
                FlowMonitorCommand::ADD | FlowMonitorCommand::MODIFY => {
                    let monitor = monitor_of(datapath, request)?;
                    walks |= monitor.is_beginning;
                    monitors.insert(id, monitor);
                }
                _ => return Err(FlowMonitorFailed::BAD_COMMAND),
            }
        }
        self.monitors = monitors;
        if self.monitors.is_empty() {
            self.pause = None;
        }
        Ok(walks)
    }

    /// What is said of an entry that was there when monitors began, if one of these wants it.
    pub(crate) fn initial(
        &self,
        datapath: &Datapath,
        table: TableId,
        entry: &Entry,
    ) -> Option<FlowUpdate> {
        let mut flags = FlowMonitorFlags(0);
        for monitor in self.monitors.values() {
            if monitor.is_beginning && monitor.selects(table, entry, None) {
                flags = flags | monitor.flags;
            }
        }
        let wanted = flags.has(FlowMonitorFlags::INITIAL);
        let flow = wanted.then(|| flow_of(datapath, table, entry, flags));
        flow.map(|flow| FlowUpdate::Full(FlowUpdateEvent::INITIAL, flow))
    }

    /// The walk over the entries that were there at first is complete.
    pub(crate) fn has_begun(&mut self) {
        for monitor in self.monitors.values_mut() {
            monitor.is_beginning = false;
        }
    }

    /// What those monitors ask for together that want this change.
    fn flags_for(&self, scene: &Scene<'_>, news: &EntryNews) -> FlowMonitorFlags {
        let before = match &news.change {
            EntryFate::Replaced(_, before) | EntryFate::Modified(before) => Some(before),
            EntryFate::Added | EntryFate::Removed(_) | EntryFate::Moved(_) => None,
        };
        let (wanted, entry) = match &news.change {
            EntryFate::Removed(gone) => (FlowMonitorFlags::REMOVED, Some(&gone.entry)),
            EntryFate::Added => (FlowMonitorFlags::ADD, entry_at(scene.datapath, news)),
            EntryFate::Replaced(..) | EntryFate::Modified(_) => {
                (FlowMonitorFlags::MODIFY, entry_at(scene.datapath, news))
            }
            EntryFate::Moved(_) => (FlowMonitorFlags(0), None),
        };
        let mut flags = FlowMonitorFlags(0);
        let Some(entry) = entry else {
            return flags;
        };
        let engine = scene.datapath.config().engine;
        let walk = scene.beginning;
        let comes_later =
            walk.is_some_and(|walk| !walk.has_passed(news.table_id, news.key, engine));
        for monitor in self.monitors.values() {
            let is_others = scene.is_foreign && monitor.flags.has(FlowMonitorFlags::ONLY_OWN);
            let is_later = monitor.is_beginning && comes_later;
            let wants = monitor.flags.has(wanted) && !is_others && !is_later;
            if wants && monitor.selects(news.table_id, entry, before) {
                flags = flags | monitor.flags;
            }
        }
        flags
    }

    /// What is said of changes now to a connection that has room. Others are told later what they
    /// have to know: see [`Monitoring::hold`].
    pub(crate) fn tell(&mut self, scene: &Scene<'_>, news: &[EntryNews]) -> Vec<FlowUpdate> {
        let mut updates = Vec::new();
        for one in news {
            let flags = self.flags_for(scene, one);
            if flags == FlowMonitorFlags(0) {
                continue;
            }
            match scene.own {
                Some(_) if flags.has(FlowMonitorFlags::NO_ABBREV) => {}
                Some(_) if self.has_abbreviated => continue,
                Some(xid) => {
                    self.has_abbreviated = true;
                    updates.push(FlowUpdate::Abbrev(xid));
                    continue;
                }
                None => {}
            }
            updates.extend(update_of(scene, one, flags));
        }
        updates
    }

    /// Whether some change concerns it.
    pub(crate) fn wants(&self, scene: &Scene<'_>, news: &[EntryNews]) -> bool {
        let none = FlowMonitorFlags(0);
        news.iter().any(|one| self.flags_for(scene, one) != none)
    }

    /// The engine changes, and with it the order of walks: what has to be told again is told from
    /// the beginning.
    pub(crate) fn order_changes(&mut self) {
        if let Some(pause) = &mut self.pause
            && pause.walk.is_some()
        {
            pause.walk = Some(Cursor::new(TableId::ALL));
        }
    }

    /// Begins to hold back what it would be told, before the entry of number `since` is added.
    pub(crate) fn pause(&mut self, since: u64) {
        self.pause = Some(Box::new(Pause {
            since,
            late: BTreeMap::new(),
            walk: None,
        }));
    }

    /// Notes what a connection that does not read has to be told later. Returns what it is told
    /// all the same: entries that are gone, as nothing of them is left for later.
    pub(crate) fn hold(&mut self, scene: &Scene<'_>, news: &[EntryNews]) -> Vec<FlowUpdate> {
        let mut updates = Vec::new();
        for one in news {
            let flags = self.flags_for(scene, one);
            let Some(pause) = &mut self.pause else {
                break;
            };
            let is_wanted = flags != FlowMonitorFlags(0);
            let goes = pause.note(one, flags, scene.datapath.config().engine);
            if goes && is_wanted {
                updates.extend(update_of(scene, one, flags));
            }
        }
        updates
    }

    /// The next slice of what a connection was not told; `None` if it knows all.
    pub(crate) fn catch_up(&mut self, datapath: &mut Datapath) -> Option<Vec<FlowUpdate>> {
        let pause = self.pause.as_mut()?;
        let mut updates = Vec::new();
        while updates.len() < REPORTED_PER_SLICE
            && let Some(((table, key), late)) = pause.late.pop_first()
        {
            let event = if late.is_known {
                FlowUpdateEvent::MODIFIED
            } else {
                FlowUpdateEvent::ADDED
            };
            let table_of = datapath.tables().get(usize::from(table.0));
            if let Some(entry) = table_of.and_then(|table| table.get(key)) {
                let flow = flow_of(datapath, table, entry, late.flags);
                updates.push(FlowUpdate::Full(event, flow));
            }
        }
        if !updates.is_empty() {
            return Some(updates);
        }
        let Some(walk) = &mut pause.walk else {
            self.pause = None;
            return None;
        };
        let since = pause.since;
        let monitors = &self.monitors;
        let settled = datapath.settled();
        let last = settled.slice(walk, |table, entry| {
            let update = reported_again(monitors, settled.datapath(), since, (table, entry));
            updates.extend(update);
        });
        if last {
            pause.walk = None;
        }
        Some(updates)
    }
}

impl Pause {
    /// Notes a change that monitors want if there are `flags`. Returns true if the entry is gone
    /// and the connection may know of it.
    fn note(&mut self, news: &EntryNews, flags: FlowMonitorFlags, engine: Engine) -> bool {
        let place = (news.table_id, news.key);
        let mut is_known = true;
        match &news.change {
            EntryFate::Removed(_) => {
                let late = self.late.remove(&place);
                return late.is_none_or(|late| late.is_known);
            }
            EntryFate::Moved(before) => {
                if let Some(late) = self.late.remove(&(news.table_id, *before)) {
                    self.late.insert(place, late);
                }
                return false;
            }
            EntryFate::Added => is_known = false,
            EntryFate::Replaced(before, _) => {
                if let Some(late) = self.late.remove(&(news.table_id, *before)) {
                    is_known = late.is_known;
                }
            }
            EntryFate::Modified(_) => {
                if let Some(late) = self.late.get(&place) {
                    is_known = late.is_known;
                }
            }
        }
        let walk = self.walk.as_ref();
        let is_ahead = walk.is_some_and(|walk| !walk.has_passed(place.0, place.1, engine));
        if flags == FlowMonitorFlags(0) || is_ahead {
            return false;
        }
        self.late.insert(place, LateEntry { is_known, flags });
        if self.late.len() > MAX_LATE {
            self.late.clear();
            self.walk = Some(Cursor::new(TableId::ALL));
        }
        false
    }
}

/// What is said of an entry when all are told again: those that were added since `since` are new,
/// the others may have changed.
fn reported_again(
    monitors: &BTreeMap<u32, Monitor>,
    datapath: &Datapath,
    since: u64,
    (table, entry): (TableId, &Entry),
) -> Option<FlowUpdate> {
    let mut event = FlowUpdateEvent::MODIFIED;
    let mut wanted = FlowMonitorFlags::MODIFY;
    if entry.key.number() >= since {
        // It may have replaced another, too.
        event = FlowUpdateEvent::ADDED;
        wanted = wanted | FlowMonitorFlags::ADD;
    }
    let mut flags = FlowMonitorFlags(0);
    for monitor in monitors.values() {
        if monitor.flags.0 & wanted.0 != 0 && monitor.selects(table, entry, None) {
            flags = flags | monitor.flags;
        }
    }
    let is_wanted = flags != FlowMonitorFlags(0);
    let flow = is_wanted.then(|| flow_of(datapath, table, entry, flags))?;
    Some(FlowUpdate::Full(event, flow))
}

/// The monitor that a request asks for. Errors: FLOW_MONITOR_FAILED with BAD_FLAGS, BAD_TABLE_ID or
/// BAD_OUT.
fn monitor_of(datapath: &Datapath, request: &FlowMonitorRequest) -> Result<Monitor, ErrorCode> {
    let flags = request.flags;
    if flags.0 & !FlowMonitorFlags::ALL.0 != 0 {
        return Err(FlowMonitorFailed::BAD_FLAGS);
    }
    let table_id = request.table_id;
    if table_id != TableId::ALL && !datapath.has_table(table_id) {
        return Err(FlowMonitorFailed::BAD_TABLE_ID);
    }
    let is_port = request.out_port.is_port() || request.out_port.name().is_some();
    let is_group = request.out_group <= GroupId::MAX || request.out_group == GroupId::ANY;
    if !is_port || !is_group {
        return Err(FlowMonitorFailed::BAD_OUT);
    }
    let asked = FlowStatsRequest {
        table_id,
        out_port: request.out_port,
        out_group: request.out_group,
        fields: request.fields.clone(),
        ..FlowStatsRequest::default()
    };
    Ok(Monitor {
        flags,
        table_id,
        filter: Filter::from(&asked),
        is_beginning: flags.has(FlowMonitorFlags::INITIAL),
    })
}

/// The entry that a change is about, if it is still there.
fn entry_at<'a>(datapath: &'a Datapath, news: &EntryNews) -> Option<&'a Entry> {
    let table = datapath.tables().get(usize::from(news.table_id.0))?;
    table.get(news.key)
}

/// What is said of a change in full; nothing of an entry that another change took away.
fn update_of(scene: &Scene<'_>, news: &EntryNews, flags: FlowMonitorFlags) -> Option<FlowUpdate> {
    let event = match &news.change {
        EntryFate::Added => FlowUpdateEvent::ADDED,
        EntryFate::Replaced(..) | EntryFate::Modified(_) => FlowUpdateEvent::MODIFIED,
        EntryFate::Moved(_) => return None,
        EntryFate::Removed(gone) => {
            let reason = gone.reason.in_version(scene.version);
            let flow = described(news.table_id, &gone.entry, gone.fields.clone());
            let flow = MonitoredFlow {
                reason: reason.0,
                ..flow
            };
            return Some(FlowUpdate::Full(FlowUpdateEvent::REMOVED, flow));
        }
    };
    let entry = entry_at(scene.datapath, news)?;
    let flow = flow_of(scene.datapath, news.table_id, entry, flags);
    Some(FlowUpdate::Full(event, flow))
}

/// An entry that is there, with its instructions if they are asked for.
fn flow_of(
    datapath: &Datapath,
    table: TableId,
    entry: &Entry,
    flags: FlowMonitorFlags,
) -> MonitoredFlow {
    let fields = datapath.tables()[usize::from(table.0)].fields_of(entry, datapath.catalogue());
    let mut flow = described(table, entry, fields);
    if flags.has(FlowMonitorFlags::INSTRUCTIONS) {
        flow.instructions = entry.instructions.clone();
    }
    flow
}

/// An entry without instructions.
fn described(table_id: TableId, entry: &Entry, fields: Match) -> MonitoredFlow {
    MonitoredFlow {
        table_id,
        idle_timeout: entry.idle_timeout,
        hard_timeout: entry.hard_timeout,
        priority: entry.key.priority.0,
        cookie: entry.cookie,
        fields,
        ..MonitoredFlow::default()
    }
}
