//! One arm for each multipart request.
//!
//! What does not grow with the tables is answered at once. Entries, groups, meters and what
//! extensions keep may be many: their arms begin a [`Dump`], of which each slice makes one part of
//! the reply, so that packets are handled in between. A request comes here whole, also if it was
//! sent in parts.

use alloc::vec::Vec;

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Datapath, FILLING_BITS, Time};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::message::multipart::{
    AggregateStats, ExtBody, FlowStatsRequest, PortStats, ReplyBody, RequestBody, TableFeatures,
    TableStats,
};
use bofuss_oflib::message::table_mod::TableMiss;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{ErrorCode, Message, PortNo, Version};

use crate::bundles::bundle_features;
use crate::controllers::controller_statuses;
use crate::deliver::SwitchSink;
use crate::dump::{Dump, DumpedList, EntryReport};
use crate::features::port_descs;
use crate::io::SwitchIo;
use crate::mods::progress;
use crate::monitors::monitor_entries;
use crate::parts::Parts;
use crate::queues::{queue_descs, queue_stats};
use crate::replies::start;
use crate::request::{ConnId, HandlerResult, Outcome};
use crate::reshape::reshape;

/// Answers a multipart request, either at once or by starting a long reply.
///
/// Errors: BAD_REQUEST with BAD_TABLE_ID or BAD_PORT, METER_MOD_FAILED/UNKNOWN_METER, those of
/// QUEUE_OP_FAILED, TABLE_FEATURES_FAILED and FLOW_MONITOR_FAILED, BAD_PROPERTY/BAD_EXPERIMENTER,
/// or an extension's. Then no part of the reply is sent, and nothing has changed.
pub(crate) fn multipart<E: FrameEngine, I: SwitchIo>(
    parts: &mut Parts<'_, E, I>,
    conn: ConnId,
    xid: u32,
    request: &RequestBody,
) -> HandlerResult {
    let Parts { datapath, sink, .. } = parts;
    let now = sink.now;
    let version = sink.connections.channel(conn).version;
    let body = match request {
        RequestBody::Desc(_) => ReplyBody::Desc(parts.identity.desc.clone()),
        RequestBody::Flow(request) => {
            let dump = entries(datapath, xid, request, EntryReport::Descriptions)?;
            return start(datapath, sink, conn, dump);
        }
        RequestBody::Aggregate(request) => {
            let sums = EntryReport::Sums(AggregateStats::default());
            let dump = entries(datapath, xid, request, sums)?;
            return start(datapath, sink, conn, dump);
        }
        RequestBody::FlowCounters(request) => {
            let dump = entries(datapath, xid, request, EntryReport::Counters)?;
            return start(datapath, sink, conn, dump);
        }
        RequestBody::Table(_) => ReplyBody::Table(table_stats(datapath, version)),
        RequestBody::PortStats(of) => ReplyBody::PortStats(port_stats(datapath, now, of.port_no)?),
        RequestBody::Queue(request) => ReplyBody::Queue(queue_stats(datapath, now, request)?),
        // Choice: a group that does not exist is an empty list, a meter that does not an error.
        RequestBody::Group(of) => {
            let dump = Dump::groups(xid, DumpedList::Group, of.group_id);
            return start(datapath, sink, conn, dump);
        }
        RequestBody::GroupDesc(of) => {
            let dump = Dump::groups(xid, DumpedList::GroupDesc, of.group_id);
            return start(datapath, sink, conn, dump);
        }
        RequestBody::Meter(of) => {
            let dump = Dump::meters(xid, DumpedList::Meter, of.meter_id, datapath)?;
            return start(datapath, sink, conn, dump);
        }
        RequestBody::MeterConfig(of) => {
            let dump = Dump::meters(xid, DumpedList::MeterConfig, of.meter_id, datapath)?;
            return start(datapath, sink, conn, dump);
        }
        RequestBody::GroupFeatures(_) => ReplyBody::GroupFeatures(datapath.groups().features()),
        RequestBody::MeterFeatures(_) => ReplyBody::MeterFeatures(datapath.meters().features()),
        // The reply does not wait for the removal of entries that no longer fit, which is done in
        // slices; the connection's next message does.
        RequestBody::TableFeatures(wanted) => {
            let body = ReplyBody::TableFeatures(shape_tables(datapath, sink, version, wanted)?);
            if !wanted.is_empty() {
                sink.io
                    .send(conn, xid, Message::MultipartReply(body.into()));
                return Ok(progress(datapath));
            }
            body
        }
        RequestBody::PortDesc(of) => ReplyBody::PortDesc(port_desc(datapath, of.port_no)?),
        RequestBody::TableDesc(_) => {
            ReplyBody::TableDesc(datapath.control(sink.now, sink).table_descs().collect())
        }
        RequestBody::QueueDesc(request) => ReplyBody::QueueDesc(queue_descs(datapath, request)?),
        RequestBody::BundleFeatures(asked) => bundle_features(parts.bundles, sink, conn, asked)?,
        RequestBody::FlowMonitor(asked) => {
            return monitor_entries(datapath, sink, conn, xid, asked);
        }
        RequestBody::ControllerStatus(_) => {
            ReplyBody::ControllerStatus(controller_statuses(sink.connections)?)
        }
        RequestBody::Experimenter(ExtBody(value)) => {
            return start(datapath, sink, conn, Dump::extension(xid, value));
        }
    };
    Ok(Outcome::Reply(Message::MultipartReply(body.into())))
}

/// Sets the features of tables, unless the list is empty; returns the features that all tables have
/// then, those that the request does not name included. Spec: OpenFlow 1.3.5 section 7.3.5.5.
///
/// Errors: TABLE_FEATURES_FAILED's; then all tables are as before.
fn shape_tables<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    version: Version,
    wanted: &[TableFeatures],
) -> Result<Vec<TableFeatures>, ErrorCode> {
    if !wanted.is_empty() {
        reshape(datapath, sink, version, wanted)?;
    }
    Ok(table_features(datapath, version))
}

/// Builds the long reply about entries. Errors: BAD_REQUEST/BAD_TABLE_ID.
fn entries(
    datapath: &Datapath<impl FrameEngine>,
    xid: u32,
    request: &FlowStatsRequest,
    report: EntryReport,
) -> Result<Dump, ErrorCode> {
    check_table(datapath, request.table_id)?;
    Ok(Dump::flows(xid, request, report))
}

/// Errors: BAD_REQUEST/BAD_TABLE_ID, unless the pipeline has the table or all tables are meant.
/// Tables that TABLE_FEATURES has removed from the pipeline are not there.
fn check_table(datapath: &Datapath<impl FrameEngine>, table: TableId) -> Result<(), ErrorCode> {
    let known = datapath.shape().has_table(table) || table == TableId::ALL;
    known.then_some(()).ok_or(BadRequest::BAD_TABLE_ID)
}

/// The statistics of all tables; in versions whose table statistics contain them, also the
/// features.
fn table_stats(datapath: &mut Datapath<impl FrameEngine>, version: Version) -> Vec<TableStats> {
    let settled = datapath.settled();
    let heads = settled.datapath().shape().heads();
    let mut stats: Vec<TableStats> = heads
        .map(|head| {
            let table = &settled.datapath().tables()[usize::from(head.table_id.0)];
            let counts = settled.table_counts(head.table_id);
            TableStats {
                table_id: head.table_id,
                // While a bundle is in progress, the entries before it, as flow statistics list
                // them.
                active_count: table.len_read() as u32,
                lookup_count: counts.lookups,
                matched_count: counts.matches,
                ..TableStats::default()
            }
        })
        .collect();
    if version.table_stats_have_features() {
        // Both lists have the tables of the pipeline in the order of their numbers.
        for (one, features) in stats.iter_mut().zip(datapath.shape().features()) {
            one.features = features.0;
            let table = &datapath.tables()[usize::from(one.table_id.0)];
            // A table-mod changes the miss behaviour of the table itself, not its features.
            let others = one.features.config & !TableMiss::MASK;
            one.features.config = others | table.miss().bits();
        }
    }
    stats
}

/// The features of all tables, with the experimenters that are announced. Since 1.4, `config`
/// holds the configuration bits that a table supports.
fn table_features(datapath: &Datapath<impl FrameEngine>, version: Version) -> Vec<TableFeatures> {
    let mut tables = datapath.shape().features();
    for table in &mut tables {
        table.0.hide_unannounced(version, datapath.catalogue());
        if version.has_bundles() {
            table.0.config = FILLING_BITS;
        }
    }
    tables
}

/// The description of one port, or of all for ANY, which is what each request before 1.5 means.
///
/// Errors: BAD_REQUEST/BAD_PORT for one port that does not exist.
fn port_desc(
    datapath: &Datapath<impl FrameEngine>,
    wanted: PortNo,
) -> Result<Vec<PortDesc>, ErrorCode> {
    if wanted == PortNo::ANY {
        return Ok(port_descs(datapath));
    }
    match datapath.ports().get(&wanted) {
        Some(port) => Ok([port.desc.clone()].into()),
        None => Err(BadRequest::BAD_PORT),
    }
}

/// The statistics of one port, or of all for ANY; `now` is the end of the time for which each has
/// existed.
///
/// Errors: BAD_REQUEST/BAD_PORT for one port that does not exist.
fn port_stats(
    datapath: &mut Datapath<impl FrameEngine>,
    now: Time,
    wanted: PortNo,
) -> Result<Vec<PortStats>, ErrorCode> {
    // The counters of ports are complete only after the engine has added what it has counted.
    let ports = datapath.settled().datapath().ports();
    if wanted != PortNo::ANY && !ports.contains_key(&wanted) {
        return Err(BadRequest::BAD_PORT);
    }
    let mut list = Vec::new();
    for (number, port) in ports {
        if wanted != PortNo::ANY && wanted != *number {
            continue;
        }
        let (duration_sec, duration_nsec) = now.duration(port.since);
        list.push(PortStats {
            duration_sec,
            duration_nsec,
            ..port.stats.clone()
        });
    }
    Ok(list)
}
