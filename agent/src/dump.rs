//! Long replies, made in slices: flow statistics and their sums.

use alloc::vec::Vec;

use bofuss_datapath::{Cursor, Datapath, Entry, Filter, Time};
use bofuss_oflib::Message;
use bofuss_oflib::message::multipart::flow::FlowEntry;
use bofuss_oflib::message::multipart::{
    AggregateStats, FlowStats, FlowStatsRequest, MultipartReply, ReplyBody,
};
use bofuss_oflib::types::TableId;

use crate::connection::{ConnId, Connection};
use crate::switch::Face;

/// A reply in the making.
pub(crate) struct Dump {
    xid: u32,
    filter: Filter,
    cursor: Cursor,
    /// The sums, if these are asked for and not the entries.
    sums: Option<AggregateStats>,
}

impl Dump {
    /// The entries that a FLOW request asks for.
    pub(crate) fn flows(xid: u32, request: &FlowStatsRequest) -> Self {
        Self {
            xid,
            filter: Filter::from(request),
            cursor: Cursor::new(request.table_id),
            sums: None,
        }
    }

    /// The sums that an AGGREGATE request asks for.
    pub(crate) fn aggregate(xid: u32, request: &FlowStatsRequest) -> Self {
        Self {
            sums: Some(AggregateStats::default()),
            ..Self::flows(xid, request)
        }
    }
}

impl Connection {
    /// Goes on with the reply by one slice; sends what it gives.
    pub(crate) fn continue_dump<F: Face>(
        &mut self,
        now: Time,
        id: ConnId,
        datapath: &mut Datapath,
        face: &mut F,
    ) {
        let Some(mut dump) = self.dump.take() else {
            return;
        };
        datapath.settle();
        let mut entries = Vec::new();
        let mut sums = dump.sums.take();
        let filter = &dump.filter;
        let last = dump
            .cursor
            .slice(datapath.tables(), |table, entry| match &mut sums {
                _ if !filter.selects(entry) => {}
                Some(sums) => {
                    sums.packet_count = sums.packet_count.saturating_add(entry.packets);
                    sums.byte_count = sums.byte_count.saturating_add(entry.bytes);
                    sums.flow_count += 1;
                }
                None => entries.push(flow_stats(datapath, now, table, entry)),
            });
        let body = match sums {
            Some(sums) if last => Some(ReplyBody::Aggregate(sums)),
            None if last || !entries.is_empty() => Some(ReplyBody::Flow(entries)),
            Some(_) | None => None,
        };
        if let Some(body) = body {
            let reply = MultipartReply { more: !last, body };
            face.send(id, dump.xid, Message::MultipartReply(reply));
        }
        if !last {
            dump.sums = sums;
            self.dump = Some(dump);
        }
    }
}

fn flow_stats(datapath: &Datapath, now: Time, table_id: TableId, entry: &Entry) -> FlowStats {
    let (duration_sec, duration_nsec) = now.duration(entry.created);
    FlowStats(FlowEntry {
        table_id,
        duration_sec,
        duration_nsec,
        priority: entry.key.priority.0,
        idle_timeout: entry.idle_timeout,
        hard_timeout: entry.hard_timeout,
        flags: entry.flags,
        cookie: entry.cookie,
        packet_count: entry.packet_count(),
        byte_count: entry.byte_count(),
        fields: entry.rule.to_match(datapath.catalogue()),
        instructions: (*entry.instructions).clone(),
    })
}
