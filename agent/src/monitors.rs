//! Flow monitors: which changes of entries a connection wants reported, and what is reported of a
//! change. Spec: OpenFlow 1.4.1 section 7.3.5.17.
//!
//! A connection that does not read is told of removals at once. Of other changes [`Pause`]
//! remembers which entries changed, not how, and reports each in the state that it has then.
//!
//! `no_monitors.rs` is in the place of this module in a switch without flow monitors.

mod pause;
mod reports;

use alloc::{boxed::Box, collections::BTreeMap, vec::Vec};

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Cursor, Datapath, Entry, EntryFate, EntryNews, Filter};
use bofuss_oflib::error::FlowMonitorFailed;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::features::Capabilities;
use bofuss_oflib::message::multipart::flow_monitor::{
    FlowMonitorCommand, FlowMonitorFlags, FlowUpdate, FlowUpdateEvent, MonitoredFlow,
};
use bofuss_oflib::message::multipart::{FlowMonitorRequest, FlowStatsRequest, ReplyBody};
use bofuss_oflib::types::{GroupId, TableId};
use bofuss_oflib::{ErrorCode, Match, Version};

use crate::dump::Slice;

use pause::Pause;
pub(crate) use reports::{
    Cause, begin_request, follow_monitored, monitor_entries, report_late_entries, report_news,
};

/// What FEATURES_REPLY says of flow monitors.
pub(crate) const CAPABILITIES: Capabilities = Capabilities::FLOW_MONITORING;

/// The most monitors that a connection may have: each adds some 20 ns to every change of an entry.
const MAX_MONITORS: usize = 16;
/// How many remembered entries one slice reports.
const REPORTED_PER_SLICE: usize = 32;

/// One flow monitor.
#[derive(Clone)]
struct Monitor {
    flags: FlowMonitorFlags,
    table_id: TableId,
    filter: Filter,
    /// True if the initial report, of the entries that existed when it began, is still in progress.
    is_beginning: bool,
}

/// The monitors of a connection, and what has still to be reported to it.
#[derive(Default)]
pub(crate) struct Monitoring {
    monitors: BTreeMap<u32, Monitor>,
    pause: Option<Box<Pause>>,
    /// True if ABBREV was already sent for the connection's own request that is being handled.
    pub(crate) has_abbreviated: bool,
}

/// What decides how a change is reported to one connection: the switch after the change, and whose
/// request made it.
pub(crate) struct Scene<'a, E: FrameEngine> {
    pub(crate) datapath: &'a Datapath<E>,
    /// The transaction id of the connection's own request, if that made the changes.
    pub(crate) own: Option<u32>,
    /// True if another controller's request made the changes.
    pub(crate) is_foreign: bool,
    pub(crate) version: Version,
    /// How far the initial report has come, if one is in progress.
    pub(crate) beginning: Option<&'a Cursor>,
}

impl Monitor {
    /// Returns true if it is about this entry, or was with the instructions `before`: an entry that
    /// a change has moved out of the filter's outputs is reported once more.
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

    /// Returns true if reports are held back because the connection did not read.
    pub(crate) fn is_paused(&self) -> bool {
        self.pause.is_some()
    }

    /// Adds, modifies and deletes monitors as requested: all, or none if one request is wrong.
    /// Returns true if any of them wants an initial report.
    ///
    /// Errors: FLOW_MONITOR_FAILED with MONITOR_EXISTS, UNKNOWN_MONITOR, BAD_FLAGS, BAD_TABLE_ID,
    /// BAD_OUT, BAD_COMMAND, or INVALID_MONITOR if there are too many.
    pub(crate) fn change(
        &mut self,
        datapath: &Datapath<impl FrameEngine>,
        requests: &[FlowMonitorRequest],
    ) -> Result<bool, ErrorCode> {
        // A copy, so that a wrong request undoes those before it.
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
        // Nothing is left to be reported, so the pause ends without RESUMED.
        if self.monitors.is_empty() {
            self.pause = None;
        }
        Ok(walks)
    }

    /// The next slice of the initial report, from `cursor` on. With the last, which is sent even if
    /// it is empty, monitors that began with it report every change that they want.
    pub(crate) fn slice(
        &mut self,
        datapath: &mut Datapath<impl FrameEngine>,
        cursor: &mut Cursor,
    ) -> Slice {
        let mut updates = Vec::new();
        let settled = datapath.settled();
        let last = settled.slice(cursor, |table, entry| {
            updates.extend(self.initial(settled.datapath(), table, entry));
        });
        if last {
            self.has_begun();
        }
        let has_body = last || !updates.is_empty();
        (last, has_body.then_some(ReplyBody::FlowMonitor(updates)))
    }

    /// The initial report of an entry, if a monitor that begins wants it. One report serves all
    /// that do, with the instructions if any of them asks for these.
    fn initial(
        &self,
        datapath: &Datapath<impl FrameEngine>,
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

    /// Notes that the initial report is complete.
    fn has_begun(&mut self) {
        for monitor in self.monitors.values_mut() {
            monitor.is_beginning = false;
        }
    }

    /// The flags, combined, of the monitors that want this change; 0 if none does.
    fn flags_for(&self, scene: &Scene<'_, impl FrameEngine>, news: &EntryNews) -> FlowMonitorFlags {
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
            // The initial report will show the entry as it is after the change.
            let is_later = monitor.is_beginning && comes_later;
            let wants = monitor.flags.has(wanted) && !is_others && !is_later;
            if wants && monitor.selects(news.table_id, entry, before) {
                flags = flags | monitor.flags;
            }
        }
        flags
    }

    /// Reports changes to a connection that has room. For one without room, see
    /// [`Monitoring::hold`].
    pub(crate) fn tell(
        &mut self,
        scene: &Scene<'_, impl FrameEngine>,
        news: &[EntryNews],
    ) -> Vec<FlowUpdate> {
        let mut updates = Vec::new();
        for one in news {
            let flags = self.flags_for(scene, one);
            if flags == FlowMonitorFlags(0) {
                continue;
            }
            // The controller knows what it asked for, so one ABBREV with its transaction id stands
            // for all changes of the request.
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

    /// Returns true if any monitor wants any of these changes.
    pub(crate) fn wants(&self, scene: &Scene<'_, impl FrameEngine>, news: &[EntryNews]) -> bool {
        let none = FlowMonitorFlags(0);
        news.iter().any(|one| self.flags_for(scene, one) != none)
    }

    /// Restarts a walk that reports all entries, because the engine changes and with it the order
    /// of walks.
    #[cfg(feature = "reconfigure")]
    pub(crate) fn order_changes(&mut self) {
        if let Some(walk) = self.pause.as_mut().and_then(|pause| pause.walk.as_mut()) {
            *walk = Cursor::new(TableId::ALL);
        }
    }

    /// Begins to hold back reports. Entries numbered `since` or higher are new to the connection.
    pub(crate) fn pause(&mut self, since: u64) {
        self.pause = Some(Box::new(Pause::new(since)));
    }

    /// Remembers what has to be reported later to a connection that does not read. Returns what is
    /// reported at once nevertheless: removed entries, because nothing of them remains to be looked
    /// up later.
    pub(crate) fn hold(
        &mut self,
        scene: &Scene<'_, impl FrameEngine>,
        news: &[EntryNews],
    ) -> Vec<FlowUpdate> {
        let mut updates = Vec::new();
        for one in news {
            let flags = self.flags_for(scene, one);
            let Some(pause) = &mut self.pause else {
                break;
            };
            let is_wanted = flags != FlowMonitorFlags(0);
            // Changes that nobody wants are noted as well: the entry may be remembered under
            // another key.
            let goes = pause.note(one, flags, scene.datapath.config().engine);
            if goes && is_wanted {
                updates.extend(update_of(scene, one, flags));
            }
        }
        updates
    }

    /// The next slice of the reports that were held back; `None` if there are no more.
    pub(crate) fn catch_up(
        &mut self,
        datapath: &mut Datapath<impl FrameEngine>,
    ) -> Option<Vec<FlowUpdate>> {
        let pause = self.pause.as_mut()?;
        let mut updates = Vec::new();
        while updates.len() < REPORTED_PER_SLICE {
            let Some(((table, key), late)) = pause.late.pop_first() else {
                break;
            };
            let event = if late.is_known {
                FlowUpdateEvent::MODIFIED
            } else {
                FlowUpdateEvent::ADDED
            };
            // An entry that is gone was reported as removed then.
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

/// The report of an entry when all entries are reported again: as added if its number is `since` or
/// higher, otherwise as modified.
fn reported_again(
    monitors: &BTreeMap<u32, Monitor>,
    datapath: &Datapath<impl FrameEngine>,
    since: u64,
    (table, entry): (TableId, &Entry),
) -> Option<FlowUpdate> {
    let mut event = FlowUpdateEvent::MODIFIED;
    let mut wanted = FlowMonitorFlags::MODIFY;
    if entry.key.number() >= since {
        // It may have replaced an entry that the connection knows, so monitors of changes want it,
        // too.
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

/// Makes the monitor that a request describes. Errors: FLOW_MONITOR_FAILED with BAD_FLAGS,
/// BAD_TABLE_ID or BAD_OUT.
fn monitor_of(
    datapath: &Datapath<impl FrameEngine>,
    request: &FlowMonitorRequest,
) -> Result<Monitor, ErrorCode> {
    let flags = request.flags;
    if flags.0 & !FlowMonitorFlags::ALL.0 != 0 {
        return Err(FlowMonitorFailed::BAD_FLAGS);
    }
    let table_id = request.table_id;
    if table_id != TableId::ALL && !datapath.shape().has_table(table_id) {
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

/// The entry that a change concerns, if it still exists.
fn entry_at<'a>(datapath: &'a Datapath<impl FrameEngine>, news: &EntryNews) -> Option<&'a Entry> {
    let table = datapath.tables().get(usize::from(news.table_id.0))?;
    table.get(news.key)
}

/// The full report of a change; `None` if a later change has removed the entry.
fn update_of(
    scene: &Scene<'_, impl FrameEngine>,
    news: &EntryNews,
    flags: FlowMonitorFlags,
) -> Option<FlowUpdate> {
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

/// Describes an existing entry, with its instructions if `flags` ask for them.
fn flow_of(
    datapath: &Datapath<impl FrameEngine>,
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

/// Describes an entry without its instructions.
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
