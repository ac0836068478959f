//! Long replies, made in slices: flow statistics and their sums.

use alloc::vec::Vec;

use bofuss_datapath::{Datapath, Entry, EntryKey, Filter, Time};
use bofuss_oflib::Message;
use bofuss_oflib::message::multipart::flow::FlowEntry;
use bofuss_oflib::message::multipart::{
    AggregateStats, FlowStats, FlowStatsRequest, MultipartReply, ReplyBody,
};
use bofuss_oflib::types::TableId;

use crate::connection::{ConnId, Connection};
use crate::switch::Face;

/// Entries that one slice looks at: some tens of microseconds.
const ENTRIES_PER_SLICE: usize = 128;

/// A reply in the making. An entry that exists throughout is in it exactly once, because entries
/// are walked in the order of their keys, which never change.
pub(crate) struct Dump {
    xid: u32,
    wanted: TableId,
    filter: Filter,
    table: u8,
    from: EntryKey,
    /// The sums, if these are asked for and not the entries.
    sums: Option<AggregateStats>,
}

impl Dump {
    /// The entries that a FLOW request asks for.
    pub(crate) fn flows(xid: u32, request: &FlowStatsRequest) -> Self {
        let wanted = request.table_id;
        let table = if wanted == TableId::ALL { 0 } else { wanted.0 };
        let filter = Filter::from(request);
        Self {
            xid,
            wanted,
            filter,
            table,
            from: EntryKey::FIRST,
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

    /// Looks at one slice of the entries; whether that was the last.
    fn slice(&mut self, datapath: &Datapath, mut see: impl FnMut(TableId, &Entry)) -> bool {
        let mut left = ENTRIES_PER_SLICE;
        while let Some(table) = datapath.tables().get(usize::from(self.table)) {
            for (key, entry) in table.entries(self.from) {
                if left == 0 {
                    self.from = key;
                    return false;
                }
                left -= 1;
                if self.filter.selects(entry) {
                    see(TableId(self.table), entry);
                }
            }
            self.table += 1;
            self.from = EntryKey::FIRST;
            if self.wanted != TableId::ALL {
                break;
            }
        }
        true
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
        let last = dump.slice(datapath, |table, entry| match &mut sums {
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
