//! Messages and lists: what OpenQFlow reports to controllers and engines, and what these request.

use alloc::{string::ToString, vec, vec::Vec};

use bofuss_datapath::{ControlContext, Metric, MetricKind, ReplyPart, Time};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::wire::Text;
use bofuss_oflib::{ErrorCode, ExtValue};

use super::aggregate::{AggregateCounts, KeyMod};
use super::dpi::SignatureMod;
use super::egress::{add_standing, microflow_of};
use super::error::{NO_FLOW, NOT_ADMITTED};
use super::flow::ReportReason;
use super::forwarding::OpenQflow;
use super::message::{AggregateRecord, FlowFilter, FlowQuery, LinkSet};
use super::records::QosRecord;
use super::table::FlowTable;
use super::tuple::FlowTuple;
use super::write::FlowWrite;
use super::{COPY, LIMITS, NOTIFY, REPORT};
use crate::common::list::{Listed, ValueList};

/// The most records in one part of a reply.
const RECORDS_PER_PART: usize = 200;
/// The number of flows that one part visits, so that packets need not wait.
const FLOWS_PER_PART: usize = 2000;
/// The most aggregates with metrics.
const MAX_AGGREGATE_METRICS: usize = 100;
/// Nanoseconds of a millisecond.
const MS: u64 = Time::SEC / 1000;

/// Executes a message. Errors: those of the message; then nothing is changed.
pub(super) fn message(
    this: &mut OpenQflow,
    cx: &mut ControlContext<'_>,
    row: usize,
    value: &ExtValue,
) -> Result<(), ErrorCode> {
    if let Some(change) = value.body::<KeyMod>() {
        this.table.aggregates.keys.change(change)?;
        this.begin_epoch(cx.now);
        return Ok(());
    }
    if let Some(write) = value.body::<FlowWrite>() {
        if !is_admitted(&this.table, cx, write) {
            this.table.counts.not_admitted += 1;
            return Err(NOT_ADMITTED);
        }
        let slot = this.table.find(&write.tuple).ok_or(NO_FLOW)?;
        let has_backlog = this.table.has_backlog(slot, |port, id| cx.waits(port, id));
        this.table.write(write, has_backlog)?;
        this.pending.paths_changed(cx.now);
        return Ok(());
    }
    if let Some(change) = value.body::<SignatureMod>() {
        return this.signatures.change(change);
    }
    if let Some(links) = value.body::<LinkSet>() {
        this.table.balancer.choose(&links.ports, links.gap_us);
        return Ok(());
    }
    match row {
        NOTIFY => {
            let is_wanted = value.args[0] != 0;
            this.table.reports_ends |= is_wanted;
            cx.subscribe(REPORT, is_wanted);
            cx.subscribe(COPY, is_wanted);
            Ok(())
        }
        LIMITS => {
            let [push_ms, bytes, kbps, share] = value.args[..] else {
                return Err(BadRequest::BAD_LEN);
            };
            let limits = &mut this.table.limits;
            if push_ms > 0 {
                this.options.push_ns = push_ms * MS;
            }
            if bytes > 0 {
                limits.report_bytes = bytes;
            }
            if kbps > 0 {
                limits.report_kbps = kbps as u32;
            }
            if share > 0 {
                limits.report_share = share as u32;
            }
            Ok(())
        }
        // The others are sent only by switches.
        _ => Err(BadRequest::BAD_EXP_TYPE),
    }
}

/// Returns true if the port of a flow can grant the guarantee that an engine requests, if it
/// requests one.
fn is_admitted(table: &FlowTable, cx: &ControlContext<'_>, write: &FlowWrite) -> bool {
    let Some(qos) = write.qos.filter(QosRecord::is_guaranteed) else {
        return true;
    };
    let slot = table.find(&write.tuple);
    let known = slot.and_then(|slot| table.resolved(slot));
    let port = match &write.forward {
        Some(rule) => Some(table.paths.port_of(rule)),
        None => known.map(|known| known.port),
    };
    let Some((port, promised)) = port.and_then(|port| Some((port, cx.guarantees(port)?))) else {
        return true;
    };
    let standing = cx.standing(port, &microflow_of(table, &write.tuple));
    let own = standing.map_or(0, |standing| standing.guaranteed_kbps);
    u64::from(qos.rate) <= promised.free_kbps + own
}

/// The next part of a list. Errors: there is no such list.
pub(super) fn part(
    this: &OpenQflow,
    cx: &ControlContext<'_>,
    request: &ExtValue,
    from: u64,
) -> Result<ReplyPart, ErrorCode> {
    let table = &this.table;
    if let Some(stats) = request.body::<FlowQuery>() {
        let filter = match stats {
            FlowQuery::Request(filter) => *filter,
            FlowQuery::Reply(list) if list.0.is_empty() => FlowFilter::default(),
            FlowQuery::Reply(_) => return Err(BadRequest::BAD_LEN),
        };
        return Ok(flows(table, cx, request, &filter, from));
    }
    if request.body::<ValueList<AggregateRecord>>().is_some() {
        return Ok(aggregates(table, request, from));
    }
    if request.body::<ValueList<KeyMod>>().is_some() {
        let list = table.aggregates.keys.list();
        return Ok(some_of(list, RECORDS_PER_PART, request, from));
    }
    if request.body::<ValueList<SignatureMod>>().is_some() {
        // A signature with many actions may be as long as a message.
        return Ok(some_of(this.signatures.list(), 1, request, from));
    }
    if request.body::<ValueList<LinkSet>>().is_some() {
        let set = LinkSet {
            gap_us: table.balancer.gap_us,
            ports: table.balancer.links().collect(),
        };
        return Ok(ReplyPart::last(ExtValue::typed(
            request.row,
            ValueList(vec![set]),
        )));
    }
    Err(BadRequest::BAD_EXP_TYPE)
}

/// A part of a list, from a place on, with at most so many elements.
fn some_of<T: Listed>(
    list: impl Iterator<Item = T>,
    most: usize,
    request: &ExtValue,
    from: u64,
) -> ReplyPart {
    let mut rest = list.skip(from as usize);
    let part = rest.by_ref().take(most).collect();
    ReplyPart {
        value: Some(ExtValue::typed(request.row, ValueList(part))),
        next: rest.next().map(|_| from + most as u64),
    }
}

fn flows(
    table: &FlowTable,
    cx: &ControlContext<'_>,
    request: &ExtValue,
    filter: &FlowFilter,
    from: u64,
) -> ReplyPart {
    let now = cx.now;
    let mut records = Vec::new();
    let mut next = Some(from as u32);
    if filter.tuples.mask == FlowTuple::EXACT {
        let slot = table.find(&filter.tuples.value);
        records.extend(slot.and_then(|slot| table.record(now, slot, ReportReason::Periodic)));
        next = None;
    }
    for _ in 0..FLOWS_PER_PART {
        let Some((slot, tuple, _)) = next.and_then(|from| table.next(from)) else {
            next = None;
            break;
        };
        if filter.tuples.matches(tuple) {
            let record = table.record(now, slot, ReportReason::Periodic);
            let any_key = filter.key == QosRecord::PORT_KEY;
            records.extend(record.filter(|record| any_key || record.key == filter.key));
        }
        next = Some(slot + 1);
        if records.len() >= RECORDS_PER_PART {
            break;
        }
    }
    records
        .iter_mut()
        .for_each(|one| add_standing(table, cx, one));
    ReplyPart {
        value: Some(ExtValue::typed(
            request.row,
            FlowQuery::Reply(ValueList(records)),
        )),
        next: next.map(u64::from),
    }
}

fn aggregates(table: &FlowTable, request: &ExtValue, from: u64) -> ReplyPart {
    let mut records = Vec::new();
    let mut next = from as u32;
    while let Some((slot, id, aggregate)) = table.aggregates().next(next) {
        if records.len() >= RECORDS_PER_PART {
            break;
        }
        records.push(AggregateRecord {
            out_port: id.out_port,
            key: id.key,
            tuple: id.tuple,
            flows: aggregate.flows,
            packets: aggregate.packets,
            bytes: aggregate.bytes,
            dropped_packets: aggregate.dropped_packets,
            dropped_bytes: aggregate.dropped_bytes,
        });
        next = slot + 1;
    }
    let has_more = table.aggregates().next(next).is_some();
    ReplyPart {
        value: Some(ExtValue::typed(request.row, ValueList(records))),
        next: has_more.then_some(next.into()),
    }
}

/// Adds the counters to a list of metrics.
pub(super) fn metrics(this: &OpenQflow, list: &mut Vec<Metric>) {
    let table = &this.table;
    let gauges = [
        ("flows", "Flows that are known", table.len()),
        (
            "records",
            "Different forward records of flows",
            table.paths.n_forwards(),
        ),
        (
            "aggregates",
            "Aggregates that have flows",
            table.aggregates().len(),
        ),
        (
            "waiting",
            "Packets that wait for a rule",
            this.pending.len(),
        ),
    ];
    for (name, help, value) in gauges {
        list.push(Metric::only(name, help, MetricKind::Gauge, value as u64));
    }
    let counts = &table.counts;
    let suppressed = "Packets dropped while their flow waited for the controller";
    let classified = "Flows classified by their payload";
    let counters = [
        ("created", "Flows that were created", counts.created),
        (
            "expired",
            "Flows that ended because they were idle",
            counts.expired,
        ),
        ("evicted", "Flows evicted for new ones", counts.evicted),
        (
            "looked_up",
            "Packets for which rules were looked up",
            counts.resolved,
        ),
        ("suppressed", suppressed, counts.suppressed),
        (
            "unreported",
            "Flows that ended without a report",
            counts.unreported,
        ),
        ("moved", "Flows that were moved between links", counts.moved),
        ("classified", classified, counts.classified),
        (
            "not_admitted",
            "Guarantees that rules or engines requested and a port could not grant",
            counts.not_admitted,
        ),
    ];
    for (name, help, value) in counters {
        list.push(Metric::only(name, help, MetricKind::Counter, value));
    }
    aggregate_metrics(table, list);
}

/// Adds the counters of aggregates, only of the first ones so that a scrape is bounded.
fn aggregate_metrics(table: &FlowTable, list: &mut Vec<Metric>) {
    type Value = fn(&AggregateCounts) -> u64;
    let values: [(&str, &str, Value); 3] = [
        (
            "aggregate_bytes",
            "Bytes of an aggregate that were sent",
            |one| one.bytes,
        ),
        (
            "aggregate_dropped_bytes",
            "Bytes of an aggregate that were dropped",
            |one| one.dropped_bytes,
        ),
        (
            "aggregate_flows",
            "Flows that an aggregate has now",
            |one| u64::from(one.flows),
        ),
    ];
    for (name, help, value) in values {
        let mut next = table.aggregates().next(0);
        for _ in 0..MAX_AGGREGATE_METRICS {
            let Some((slot, id, counts)) = next else {
                break;
            };
            let labels = vec![
                ("port", id.out_port.to_string()),
                ("key", id.key.to_string()),
                ("aggregate", Text(&id.tuple).to_string()),
            ];
            list.push(Metric {
                name,
                help,
                kind: MetricKind::Gauge,
                labels,
                value: value(counts),
            });
            next = table.aggregates().next(slot + 1);
        }
    }
}
