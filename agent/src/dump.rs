//! Long replies, made in slices: flow statistics and their sums, groups, meters.
//!
//! A dump is the position in a walk, and not a copy of what it lists: so it takes the same memory
//! for any table, and counters are those of the moment in which each is listed.
//! [`crate::change::Change`] sees to it that a list of entries, groups or meters shows one state
//! nevertheless. `replies.rs` sends the parts.

use alloc::vec::Vec;
use core::ops::RangeInclusive;

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Cursor, Datapath, Entry, Filter, Settled, Time};
use bofuss_oflib::error::MeterModFailed;
use bofuss_oflib::message::multipart::flow::{FlowCounters, FlowEntry, FlowStatsReason};
use bofuss_oflib::message::multipart::{AggregateStats, FlowStats, FlowStatsRequest, ReplyBody};
use bofuss_oflib::types::{GroupId, MeterId, TableId};
use bofuss_oflib::{ErrorCode, ExtValue};

use crate::turns::Needs;

/// The number of groups or meters that one slice lists. A slice of entries has those that the
/// datapath's cursor visits.
const LISTED_PER_SLICE: usize = 32;

/// A long reply in progress.
pub(crate) struct Dump {
    /// The transaction id of the request, which all parts have.
    pub(crate) xid: u32,
    pub(crate) what: What,
    /// The time of its last slice: a change waits no longer than a bound for the next.
    pub(crate) continued: Time,
}

/// What a long reply lists.
pub(crate) enum What {
    /// Flow entries.
    Entries(Entries),
    /// Groups or meters, and the ids that are still to be visited. By id, so that it does not
    /// matter what comes or goes in between.
    List(DumpedList, RangeInclusive<u32>),
    /// An extension's answer: the request, and where the next part begins.
    Extension(ExtValue, u64),
    /// The initial report of flow monitors.
    #[cfg(feature = "monitors")]
    Monitored(Cursor),
}

/// Which kind of list of groups or meters.
#[derive(Clone, Copy)]
pub(crate) enum DumpedList {
    /// Counters of groups.
    Group,
    /// Groups as they were made.
    GroupDesc,
    /// Counters of meters.
    Meter,
    /// Meters as they were made.
    MeterConfig,
}

/// A walk over flow entries.
pub(crate) struct Entries {
    filter: Filter,
    cursor: Cursor,
    report: EntryReport,
}

/// What a reply says of flow entries.
#[derive(Clone, Copy)]
pub(crate) enum EntryReport {
    /// The full description of each.
    Descriptions,
    /// The statistics of each.
    Counters,
    /// Their sums, accumulated so far.
    Sums(AggregateStats),
}

impl Dump {
    fn new(xid: u32, what: What) -> Self {
        Self {
            xid,
            what,
            // The first slice, which is made at once, sets the time.
            continued: Time(0),
        }
    }

    /// What it needs of the tables, groups and meters.
    pub(crate) fn needs(&self) -> Needs {
        match &self.what {
            What::Entries(_) => Needs::OneState(false),
            What::List(DumpedList::GroupDesc | DumpedList::MeterConfig, _) => {
                Needs::OneState(false)
            }
            What::List(DumpedList::Group | DumpedList::Meter, _) => Needs::OneState(true),
            // What an extension keeps is its own.
            What::Extension(..) => Needs::Nothing,
            // A monitor is told of each change, so it misses none.
            #[cfg(feature = "monitors")]
            What::Monitored(_) => Needs::Nothing,
        }
    }

    /// Returns true if it goes on while a bundle is in progress. A report for monitors does not,
    /// because the bundle's changes are reported at its end.
    pub(crate) fn passes_bundles(&self) -> bool {
        match self.what {
            What::Entries(_) | What::List(..) | What::Extension(..) => true,
            #[cfg(feature = "monitors")]
            What::Monitored(_) => false,
        }
    }

    /// A reply about flow entries, to a FLOW, FLOW_STATS or AGGREGATE request. If the request names
    /// a cookie, a group or a port, the walk skips entries that certainly lack it.
    pub(crate) fn flows(xid: u32, request: &FlowStatsRequest, report: EntryReport) -> Self {
        let filter = Filter::from(request);
        let entries = Entries {
            cursor: Cursor::new(request.table_id).of(filter.label()),
            filter,
            report,
        };
        Self::new(xid, What::Entries(entries))
    }

    /// A reply of an extension.
    pub(crate) fn extension(xid: u32, request: &ExtValue) -> Self {
        Self::new(xid, What::Extension(request.clone(), 0))
    }

    /// A reply about one group, or all. The list is empty if that group does not exist.
    pub(crate) fn groups(xid: u32, listed: DumpedList, id: GroupId) -> Self {
        let one = (id != GroupId::ALL).then_some(id.0);
        Self::list(xid, listed, one)
    }

    /// A reply about one meter, or all. Errors: METER_MOD_FAILED/UNKNOWN_METER.
    pub(crate) fn meters(
        xid: u32,
        listed: DumpedList,
        id: MeterId,
        datapath: &Datapath<impl FrameEngine>,
    ) -> Result<Self, ErrorCode> {
        let one = (id != MeterId::ALL).then_some(id.0);
        if one.is_some() && !datapath.meters().has(id) {
            return Err(MeterModFailed::UNKNOWN_METER);
        }
        Ok(Self::list(xid, listed, one))
    }

    /// A list of one id, or of all if there is none.
    fn list(xid: u32, listed: DumpedList, one: Option<u32>) -> Self {
        let ids = one.map_or(0..=u32::MAX, |id| id..=id);
        Self::new(xid, What::List(listed, ids))
    }
}

#[cfg(feature = "monitors")]
impl Dump {
    /// The initial report of monitors that begin.
    pub(crate) fn monitored(xid: u32) -> Self {
        Self::new(xid, What::Monitored(Cursor::new(TableId::ALL)))
    }

    /// Returns how far it has come, if it is the initial report of monitors.
    pub(crate) fn beginning(&self) -> Option<&Cursor> {
        if let What::Monitored(cursor) = &self.what {
            Some(cursor)
        } else {
            None
        }
    }
}

/// A slice of a reply: whether it is the last, and its body if there is one.
pub(crate) type Slice = (bool, Option<ReplyBody>);

impl Entries {
    /// Visits the next slice of entries. The sums are one reply, which comes with the last slice;
    /// of the other reports each slice is a part, unless it has found none and is not the last.
    pub(crate) fn slice(&mut self, now: Time, settled: &Settled<'_, impl FrameEngine>) -> Slice {
        let datapath = settled.datapath();
        let filter = &self.filter;
        let report = &mut self.report;
        let mut entries = Vec::new();
        let last = settled.slice(&mut self.cursor, |table, entry| match report {
            _ if !filter.selects(entry) => {}
            EntryReport::Sums(sums) => {
                // Choice: the packets and bytes of an entry with NO_PKT_COUNTS or NO_BYT_COUNTS,
                // which itself reports all ones, are in the sums.
                sums.packet_count = sums.packet_count.saturating_add(entry.packets);
                sums.byte_count = sums.byte_count.saturating_add(entry.bytes);
                sums.flow_count += 1;
            }
            EntryReport::Descriptions | EntryReport::Counters => {
                entries.push(flow_stats(datapath, now, table, entry));
            }
        });
        let has_body = last || !entries.is_empty();
        let body = match report {
            EntryReport::Sums(sums) => last.then_some(ReplyBody::Aggregate(*sums)),
            EntryReport::Descriptions => has_body.then_some(ReplyBody::Flow(entries)),
            EntryReport::Counters => {
                let counters = entries.into_iter().map(|entry| counters(entry.0));
                has_body.then(|| ReplyBody::FlowCounters(counters.collect()))
            }
        };
        (last, body)
    }
}

/// The statistics of an entry, as a request for them is answered.
fn counters(entry: FlowEntry) -> FlowCounters {
    FlowCounters {
        stats: entry.stats(),
        table_id: entry.table_id,
        reason: FlowStatsReason::STATS_REQUEST,
        priority: entry.priority,
        fields: entry.fields,
    }
}

/// Lists the next groups or meters, and moves `ids` past them. It is the last slice if it is not
/// full, or has reached the last id.
pub(crate) fn list(
    now: Time,
    datapath: &Datapath<impl FrameEngine>,
    listed: DumpedList,
    ids: &mut RangeInclusive<u32>,
) -> Slice {
    let most = LISTED_PER_SLICE;
    let groups = GroupId(*ids.start())..=GroupId(*ids.end());
    let meters = MeterId(*ids.start())..=MeterId(*ids.end());
    let (count, next, body) = match listed {
        DumpedList::Group => {
            let list: Vec<_> = datapath.groups().stats(now, groups).take(most).collect();
            let next = list.last().map(|group| group.0.group_id.0);
            (list.len(), next, ReplyBody::Group(list))
        }
        DumpedList::GroupDesc => {
            let list: Vec<_> = datapath.groups().descs(groups).take(most).collect();
            let next = list.last().map(|group| group.group_id.0);
            (list.len(), next, ReplyBody::GroupDesc(list))
        }
        DumpedList::Meter => {
            let list: Vec<_> = datapath.meters().stats(now, meters).take(most).collect();
            let next = list.last().map(|meter| meter.meter_id.0);
            (list.len(), next, ReplyBody::Meter(list))
        }
        DumpedList::MeterConfig => {
            let list: Vec<_> = datapath.meters().configs(meters).take(most).collect();
            let next = list.last().map(|meter| meter.meter_id.0);
            (list.len(), next, ReplyBody::MeterConfig(list))
        }
    };
    if let Some(id) = next.filter(|id| id < ids.end()) {
        *ids = id + 1..=*ids.end();
    }
    (count < most || next == Some(*ids.end()), Some(body))
}

/// The description of an entry; `now` is the end of the time for which it has existed.
fn flow_stats(
    datapath: &Datapath<impl FrameEngine>,
    now: Time,
    table_id: TableId,
    entry: &Entry,
) -> FlowStats {
    let (duration_sec, duration_nsec) = now.duration(entry.created);
    FlowStats(FlowEntry {
        table_id,
        duration_sec,
        duration_nsec,
        priority: entry.key.priority.0,
        idle_timeout: entry.idle_timeout,
        hard_timeout: entry.hard_timeout,
        flags: entry.flags(),
        cookie: entry.cookie,
        packet_count: entry.packet_count(),
        byte_count: entry.byte_count(),
        fields: datapath.tables()[usize::from(table_id.0)].fields_of(entry, datapath.catalogue()),
        instructions: entry.instructions.clone(),
        importance: entry.importance,
        idle_time: entry.stats(now).idle_time,
    })
}
