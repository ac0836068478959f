//! Multiparts about flow entries: FLOW and AGGREGATE. Spec: OpenFlow 1.3.5 sections 7.3.5.2,
//! 7.3.5.3.

use crate::instruction::Instructions;
use crate::matching::Match;
use crate::message::FlowModFlags;
use crate::message::stats::{StatTime, Stats};
use crate::model::{model, named};
use crate::types::{GroupId, PortNo, TableId};

model! {
    /// A request for entries.
    pub struct FlowStatsRequest {
        /// Their table, or ALL.
        pub table_id: TableId,
        /// Only those that output to this port.
        pub out_port: PortNo,
        /// Only those that use this group.
        pub out_group: GroupId,
        /// The cookie that they must have.
        pub cookie: u64 as hex,
        /// The bits of the cookie that count.
        pub cookie_mask: u64 as hex,
        /// Only those that this match covers.
        pub fields: Match,
    }
}

impl FlowStatsRequest {
    /// All entries of all tables.
    pub fn all() -> Self {
        Self {
            table_id: TableId::ALL,
            out_port: PortNo::ANY,
            out_group: GroupId::ANY,
            ..Self::default()
        }
    }
}

model! {
    /// An entry without its length.
    pub struct FlowEntry text write_flow_entry {
        /// Its table.
        pub table_id: TableId,
        /// The whole seconds for which it has lived.
        pub duration_sec: u32,
        /// The nanoseconds beyond these seconds.
        pub duration_nsec: u32,
        /// Its priority.
        pub priority: u16,
        /// Its idle timeout, seconds.
        pub idle_timeout: u16,
        /// Its hard timeout, seconds.
        pub hard_timeout: u16,
        /// Its options.
        pub flags: FlowModFlags,
        /// Its cookie.
        pub cookie: u64,
        /// Packets that hit it; all ones if not counted.
        pub packet_count: u64,
        /// Bytes that hit it; all ones if not counted.
        pub byte_count: u64,
        /// Its match.
        pub fields: Match,
        /// Its instructions.
        pub instructions: Instructions,
        /// Its importance (since OpenFlow 1.4).
        pub importance: u16,
        /// The time for which it has had no packet (since OpenFlow 1.5).
        pub idle_time: Option<StatTime>,
    }
}

impl FlowEntry {
    /// The time for which it exists, what it counted, and how long ago.
    pub fn stats(&self) -> Stats {
        let duration = StatTime {
            sec: self.duration_sec,
            nsec: self.duration_nsec,
        };
        Stats {
            duration: Some(duration),
            idle_time: self.idle_time,
            ..Stats::counted(self.packet_count, self.byte_count)
        }
    }
}

/// An entry with its counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlowStats(pub FlowEntry);

model! {
    /// Sums over entries.
    #[derive(Copy)]
    pub struct AggregateStats {
        /// Packets.
        pub packet_count: u64,
        /// Bytes.
        pub byte_count: u64,
        /// Entries.
        pub flow_count: u32,
    }
}

named! {
    /// The reason for which statistics of an entry are sent (`OFPFSR_*`).
    pub struct FlowStatsReason(u8) {
        /// They were asked for.
        STATS_REQUEST = 0 "stats_request",
        /// One of them reached a threshold.
        STAT_TRIGGER = 1 "stat_trigger",
    }
}

model! {
    /// The statistics of an entry, and which it is (since OpenFlow 1.5).
    pub struct FlowCounters {
        /// Its table.
        pub table_id: TableId,
        /// The reason for which they are sent.
        pub reason: FlowStatsReason,
        /// Its priority.
        pub priority: u16,
        /// Its match.
        pub fields: Match,
        /// Its statistics.
        pub stats: Stats,
    }
}
