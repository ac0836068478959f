//! What OpenQFlow tells controllers and engines, and what they tell it.

use alloc::{vec, vec::Vec};

use bofuss_datapath::{ControlContext, Metric, MetricKind, ReplyPart, Time};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::ValueList;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{ErrorCode, ExtValue};

use super::aggregate::KeyMod;
use super::dpi::SignatureMod;
use super::flow::ReportReason;
use super::hook::OpenQflow;
use super::message::{AggregateRecord, FlowCopy, FlowFilter, FlowQuery, LinkSet};
use super::records::QosRecord;
use super::table::FlowTable;
use super::tuple::FlowTuple;
use super::write::FlowWrite;
use super::{COPY, LIMITS, NOTIFY, REPORT};

/// Records that one part of a reply has at most.
const RECORDS_PER_PART: usize = 200;
/// Flows that one part looks at, so that packets need not wait.
const FLOWS_PER_PART: usize = 2000;
/// Nanoseconds of a millisecond.
const MS: u64 = Time::SEC / 1000;

/// A copy of a packet for engines.
pub(super) fn copy(tuple: &FlowTuple, frame: &[u8]) -> ExtValue {
    let body = FlowCopy {
        tuple: *tuple,
        frame: Bytes(frame.into()),
    };
    ExtValue::typed(COPY, body)
}

/// Does what a message asks. Errors: those of the message; then nothing is changed.
pub(super) fn message(
    this: &mut OpenQflow,
    cx: &mut ControlContext<'_>,
    row: usize,
    value: &ExtValue,
) -> Result<(), ErrorCode> {
    if let Some(change) = value.body::<KeyMod>() {
        this.table.keys.change(change)?;
        this.table.begin_epoch();
        return Ok(());
    }
    if let Some(write) = value.body::<FlowWrite>() {
        return this.table.write(write);
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
            let [push_ms, bytes, kbps] = value.args[..] else {
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
            Ok(())
        }
        // The others are for switches to send.
        _ => Err(BadRequest::BAD_EXP_TYPE),
    }
}

/// The next part of a list. Errors: there is no such list.
pub(super) fn part(
    this: &OpenQflow,
    now: Time,
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
        return Ok(flows(table, now, request, &filter, from));
    }
    if request.body::<ValueList<AggregateRecord>>().is_some() {
        return Ok(aggregates(table, request, from));
    }
    if request.body::<ValueList<KeyMod>>().is_some() {
        let list = table.keys.list().collect();
        return Ok(ReplyPart::last(ExtValue::typed(
            request.row,
            ValueList(list),
        )));
    }
    if request.body::<ValueList<SignatureMod>>().is_some() {
        let list = ValueList(this.signatures.list());
        return Ok(ReplyPart::last(ExtValue::typed(request.row, list)));
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

fn flows(
    table: &FlowTable,
    now: Time,
    request: &ExtValue,
    filter: &FlowFilter,
    from: u64,
) -> ReplyPart {
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
            let is_asked = |key| filter.key == QosRecord::PORT_KEY || key == filter.key;
            records.extend(record.filter(|record| is_asked(record.key)));
        }
        next = Some(slot + 1);
        if records.len() >= RECORDS_PER_PART {
            break;
        }
    }
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
    while let Some((slot, id, aggregate)) = table.next_aggregate(next) {
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
        });
        next = slot + 1;
    }
    let has_more = table.next_aggregate(next).is_some();
    ReplyPart {
        value: Some(ExtValue::typed(request.row, ValueList(records))),
        next: has_more.then_some(next.into()),
    }
}

/// Adds what is counted to a list.
pub(super) fn metrics(table: &FlowTable, list: &mut Vec<Metric>) {
    let gauges = [
        ("flows", "Flows that are known", table.len()),
        (
            "records",
            "Different forward records of flows",
            table.n_records(),
        ),
        (
            "aggregates",
            "Aggregates that have flows",
            table.n_aggregates(),
        ),
    ];
    for (name, help, value) in gauges {
        list.push(Metric::only(name, help, MetricKind::Gauge, value as u64));
    }
    let counts = &table.counts;
    let suppressed = "Packets of flows that wait for the controller";
    let classified = "Flows that got another class by their payload";
    let counters = [
        ("created", "Flows that came", counts.created),
        (
            "expired",
            "Flows that were idle for too long",
            counts.expired,
        ),
        ("evicted", "Flows that made room for others", counts.evicted),
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
    ];
    for (name, help, value) in counters {
        list.push(Metric::only(name, help, MetricKind::Counter, value));
    }
}
