//! Reports changes of entries to the connections that monitor them.
//!
//! The datapath records changes while any connection has a monitor. Each call of the switch that
//! may change entries is followed by [`report_news`], so that a report tells who caused the change,
//! and sees the entries as they are directly after it. `monitors.rs` decides what a connection
//! gets.

use alloc::{vec, vec::Vec};

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Datapath, EntryFate, EntryNews};
use bofuss_oflib::Message;
use bofuss_oflib::message::multipart::flow_monitor::{FlowMonitorCommand, FlowUpdateEvent};
use bofuss_oflib::message::multipart::{FlowMonitorRequest, FlowUpdate, ReplyBody};

use crate::connections::Connections;
use crate::deliver::{SwitchSink, UNASKED};
use crate::dump::Dump;
use crate::io::SwitchIo;
use crate::monitors::Scene;
use crate::replies::start;
use crate::request::{ConnId, HandlerResult, Outcome};

/// Whose request changed entries: the main connection of its channel, and the transaction id.
/// `None` if the switch made the change by itself, as on a timeout.
pub(crate) type Cause = Option<(ConnId, u32)>;

/// Handles the multipart FLOW_MONITOR: adds, modifies and deletes monitors, and replies with
/// the entries that they want initially.
///
/// Errors: FLOW_MONITOR_FAILED's.
pub(crate) fn monitor_entries<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    conn: ConnId,
    xid: u32,
    requests: &[FlowMonitorRequest],
) -> HandlerResult {
    let Some(connection) = sink.connections.by_id.get_mut(&conn) else {
        return Ok(Outcome::Done);
    };
    let walks = connection.monitoring.change(datapath, requests)?;
    // The ONF's extension for 1.3 deletes a monitor with a message that has no reply.
    let is_silent = !connection.version.has_bundles() && requests.iter().any(ends_one);
    // Before the walk begins, so that no change is missed between its slices.
    follow_monitored(datapath, sink.connections);
    if walks {
        return start(datapath, sink, conn, Dump::monitored(xid));
    }
    Ok(if is_silent {
        Outcome::Done
    } else {
        Outcome::Reply(reply(Vec::new()))
    })
}

/// Has the datapath record changes of entries as long as any connection monitors them; without a
/// monitor, changes cost nothing more. To be called after monitors or connections have come or
/// gone.
pub(crate) fn follow_monitored(
    datapath: &mut Datapath<impl FrameEngine>,
    connections: &Connections,
) {
    let mut connections = connections.by_id.values();
    let wanted = connections.any(|conn| !conn.monitoring.is_empty());
    // Setting it again would forget what is recorded and not yet reported.
    if wanted != datapath.changes().news().is_followed() {
        datapath.news_mut().follow(wanted);
    }
}

/// Prepares for the changes of a connection's request: reports those made before it, which have
/// another cause, and forgets the ABBREVs of the previous request. Not to be called while a change
/// is in progress, whose request goes on.
pub(crate) fn begin_request<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
) {
    if !datapath.changes().news().is_followed() {
        return;
    }
    report_news(datapath, sink, None);
    for conn in sink.connections.by_id.values_mut() {
        conn.monitoring.has_abbreviated = false;
    }
}

/// Reports the changes since the last call to the connections that monitor entries; all have the
/// same `cause`. A connection without room gets PAUSED in place of the first report that it would
/// miss, and from then on only removals, until [`report_late_entries`] has caught up.
pub(crate) fn report_news<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    cause: Cause,
) {
    if datapath.changes().news().is_empty() {
        return;
    }
    let news = datapath.news_mut().take();
    let first = first_added(&news);
    // The pause begins before these changes, so the first entry that they added is new to it.
    let since = first.unwrap_or_else(|| datapath.next_entry_number());
    for (id, conn) in &mut sink.connections.by_id {
        let monitoring = &mut conn.monitoring;
        if monitoring.is_empty() {
            continue;
        }
        let own = cause.filter(|(main, _)| *main == conn.main);
        let scene = Scene {
            datapath,
            own: own.map(|(_, xid)| xid),
            is_foreign: cause.is_some() && own.is_none(),
            version: conn.version,
            beginning: conn.dump.as_ref().and_then(Dump::beginning),
        };
        if !monitoring.is_paused() && !sink.io.has_room(*id) && monitoring.wants(&scene, &news) {
            monitoring.pause(since);
            let paused = FlowUpdate::Stream(FlowUpdateEvent::PAUSED);
            sink.io.send(*id, UNASKED, reply(vec![paused]));
        }
        let updates = if monitoring.is_paused() {
            monitoring.hold(&scene, &news)
        } else {
            monitoring.tell(&scene, &news)
        };
        if !updates.is_empty() {
            sink.io.send(*id, UNASKED, reply(updates));
        }
    }
}

/// Reports to a connection that reads again one slice of what was held back, and RESUMED after the
/// last. Spec: OpenFlow 1.4.1 section 7.3.5.17.
pub(crate) fn report_late_entries<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    conn: ConnId,
) {
    let Some(connection) = sink.connections.by_id.get_mut(&conn) else {
        return;
    };
    if !connection.monitoring.is_paused() {
        return;
    }
    let resumed = FlowUpdate::Stream(FlowUpdateEvent::RESUMED);
    let late = connection.monitoring.catch_up(datapath);
    let updates = late.unwrap_or_else(|| vec![resumed]);
    if !updates.is_empty() {
        sink.io.send(conn, UNASKED, reply(updates));
    }
}

/// Returns true if a request deletes a monitor.
fn ends_one(request: &FlowMonitorRequest) -> bool {
    request.command == FlowMonitorCommand::DELETE
}

/// The lowest number of an added entry.
fn first_added(news: &[EntryNews]) -> Option<u64> {
    let mut first = None;
    for one in news {
        if matches!(one.change, EntryFate::Added | EntryFate::Replaced(..)) {
            let number = one.key.number();
            first = Some(first.map_or(number, |first: u64| first.min(number)));
        }
    }
    first
}

/// The reply that carries these updates.
fn reply(updates: Vec<FlowUpdate>) -> Message {
    Message::MultipartReply(ReplyBody::FlowMonitor(updates).into())
}
