//! Reports changes of entries to the connections that monitor them.

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

/// Has the datapath record changes of entries as long as any connection monitors them.
pub(crate) fn follow_monitored(
    datapath: &mut Datapath<impl FrameEngine>,
    connections: &Connections,
) {
    let wanted = connections
        .by_id
        .values()
        .any(|conn| !conn.monitoring.is_empty());
    if wanted != datapath.changes().news().is_followed() {
        datapath.news_mut().follow(wanted);
    }
}

/// Prepares for the changes of a connection's request: reports those made before it, and
/// forgets the ABBREVs of the previous request.
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

/// Reports the changes since the last call to the connections that monitor entries.
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

/// Reports to a connection that reads again one slice of what was held back.
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
