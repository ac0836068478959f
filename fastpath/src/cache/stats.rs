//! Counters of events in the flow cache.

/// The number of times that each event happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Packets that found their flow; a super-frame counts as its segments.
    pub hits: u64,
    /// Packets that did not find their flow.
    pub misses: u64,
    /// Flows older than a change that were found right without looking up their entries.
    pub confirmed: u64,
    /// Flows that the log of changes showed to be wrong.
    pub refuted: u64,
    /// Flows that were older than the whole log of changes.
    pub overrun: u64,
    /// Flows of these that proved right when their entries were looked up again.
    pub retraced: u64,
    /// Flows that were evicted for others.
    pub evicted: u64,
    /// Packets whose flow was not admitted because the cache was full.
    pub refused: u64,
    /// The number of times that the key was widened and all flows were forgotten.
    pub widened: u64,
    /// Paths that continued after an earlier path, with a changed key.
    pub continued: u64,
    /// Packets that left their path before the end of its program.
    pub cut_short: u64,
}
