//! The statistics of flow entries as a list of fields (OXS), since OpenFlow 1.5. Spec: OpenFlow
//! 1.5.1 section 7.2.4.

/// Nanoseconds of a second.
pub(crate) const NANOS: u32 = 1_000_000_000;

/// The time for which something lasted: whole seconds, and nanoseconds beyond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatTime {
    /// Whole seconds.
    pub sec: u32,
    /// Nanoseconds beyond.
    pub nsec: u32,
}

/// Statistics of flow entries, or thresholds of them: those that are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stats {
    /// The time for which an entry exists.
    pub duration: Option<StatTime>,
    /// The time for which it has had no packet.
    pub idle_time: Option<StatTime>,
    /// Entries whose statistics these are the sums of.
    pub flow_count: Option<u32>,
    /// Packets.
    pub packet_count: Option<u64>,
    /// Bytes.
    pub byte_count: Option<u64>,
}

/// The value of a counter that is not kept, in the versions that have no lists of statistics.
const NOT_COUNTED: u64 = u64::MAX;

impl Stats {
    /// The counters of entries, each of which is all ones if it is not kept.
    pub fn counted(packet_count: u64, byte_count: u64) -> Self {
        Self {
            packet_count: (packet_count != NOT_COUNTED).then_some(packet_count),
            byte_count: (byte_count != NOT_COUNTED).then_some(byte_count),
            ..Self::default()
        }
    }

    /// Packets, all ones if they are not there.
    pub fn packets(&self) -> u64 {
        self.packet_count.unwrap_or(NOT_COUNTED)
    }

    /// Bytes, all ones if they are not there.
    pub fn bytes(&self) -> u64 {
        self.byte_count.unwrap_or(NOT_COUNTED)
    }
}
