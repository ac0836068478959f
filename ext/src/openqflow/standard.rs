//! Reports of flows as standard messages of OpenFlow 1.5: triggered statistics and flow-removed.

use alloc::vec::Vec;

use bofuss_oflib::Message;
use bofuss_oflib::matching::{FieldMatch, Match};
use bofuss_oflib::message::multipart::flow::{FlowCounters, FlowStatsReason};
use bofuss_oflib::message::multipart::{MultipartReply, ReplyBody};
use bofuss_oflib::message::stats::{StatTime, Stats};
use bofuss_oflib::message::{FlowRemoved, FlowRemovedReason};
use bofuss_oflib::types::TableId;

use super::flow::{FlowRecord, ReportReason};

/// Choice: a flow is not an entry of any table.
const NO_TABLE: TableId = TableId(0xff);

/// The messages for a list of reports: triggered statistics of flows that continue, and
/// flow-removed of flows that ended.
///
/// Spec: OpenFlow 1.5.1 sections 7.2.5 and 7.4.2.
pub(super) fn messages(list: &[FlowRecord]) -> Vec<Message> {
    let mut counters = Vec::new();
    let mut messages = Vec::new();
    for record in list {
        match record.reason {
            ReportReason::Periodic | ReportReason::Threshold => counters.push(statistics(record)),
            ReportReason::Idle => messages.push(end(record, FlowRemovedReason::IDLE_TIMEOUT)),
            ReportReason::Evicted => messages.push(end(record, FlowRemovedReason::EVICTION)),
        }
    }
    if !counters.is_empty() {
        let reply = MultipartReply::from(ReplyBody::FlowCounters(counters));
        messages.push(Message::MultipartReply(reply));
    }
    messages
}

/// The match on exactly a flow's packets; without ports for fragments and for protocols that have
/// none.
fn fields(record: &FlowRecord) -> Match {
    let fields = record.tuple.fields();
    let matches: Vec<FieldMatch> = fields
        .into_iter()
        .map(|(field, value)| FieldMatch::exact(field, value))
        .collect();
    Match::new(&matches).expect("the fields of a tuple have what they need")
}

fn statistics(record: &FlowRecord) -> FlowCounters {
    FlowCounters {
        table_id: NO_TABLE,
        reason: FlowStatsReason::STAT_TRIGGER,
        priority: 0,
        fields: fields(record),
        stats: Stats {
            duration: Some(time(record.age_ms)),
            idle_time: Some(time(record.idle_ms.into())),
            packet_count: Some(record.packets),
            byte_count: Some(record.bytes),
            ..Stats::default()
        },
    }
}

fn end(record: &FlowRecord, reason: FlowRemovedReason) -> Message {
    let duration = time(record.age_ms);
    Message::FlowRemoved(FlowRemoved {
        reason,
        table_id: NO_TABLE,
        duration_sec: duration.sec,
        duration_nsec: duration.nsec,
        packet_count: record.packets,
        byte_count: record.bytes,
        fields: fields(record),
        idle_time: Some(time(record.idle_ms.into())),
        ..FlowRemoved::default()
    })
}

fn time(ms: u64) -> StatTime {
    StatTime {
        sec: (ms / 1000) as u32,
        nsec: (ms % 1000) as u32 * 1_000_000,
    }
}
