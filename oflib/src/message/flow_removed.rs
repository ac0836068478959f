//! FLOW_REMOVED: an entry was removed. Spec: OpenFlow 1.3.5 section 7.4.2.

use super::stats::StatTime;
use crate::matching::Match;
use crate::model::{model, named};
use crate::types::TableId;
use crate::version::Version;

named! {
    /// The reason for which the entry was removed (`OFPRR_*`).
    pub struct FlowRemovedReason(u8) {
        /// No packet for its idle time.
        IDLE_TIMEOUT = 0 "idle",
        /// Its hard time is over.
        HARD_TIMEOUT = 1 "hard",
        /// A flow-mod deleted it.
        DELETE = 2 "delete",
        /// Its group was deleted.
        GROUP_DELETE = 3 "group_delete",
        /// Its meter was deleted (since OpenFlow 1.4).
        METER_DELETE = 4 "meter_delete",
        /// Its table made room for another (since OpenFlow 1.4).
        EVICTION = 5 "eviction",
    }
}

impl FlowRemovedReason {
    /// The reason that replaces this reason in a version: before 1.4, DELETE for the reasons that
    /// 1.4 added.
    #[must_use]
    pub fn in_version(self, version: Version) -> Self {
        match self {
            Self::METER_DELETE | Self::EVICTION if !version.has_bundles() => Self::DELETE,
            _ => self,
        }
    }
}

model! {
    /// A removed entry with its last counters.
    pub struct FlowRemoved {
        /// Its cookie.
        pub cookie: u64 as hex,
        /// Its priority.
        pub priority: u16,
        /// The reason for which it was removed.
        pub reason: FlowRemovedReason,
        /// Its table.
        pub table_id: TableId,
        /// The time for which it lived: whole seconds.
        pub duration_sec: u32,
        /// And nanoseconds beyond.
        pub duration_nsec: u32,
        /// Its idle timeout, seconds.
        pub idle_timeout: u16,
        /// Its hard timeout, seconds.
        pub hard_timeout: u16,
        /// Packets that hit it.
        pub packet_count: u64,
        /// Bytes that hit it.
        pub byte_count: u64,
        /// Its match.
        pub fields: Match,
    } in_some_versions {
        /// The time for which it had no packet (since OpenFlow 1.5).
        pub idle_time: Option<StatTime>,
    }
}
