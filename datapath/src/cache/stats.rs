//! What happened in the cache, counted.

/// How often each thing happened in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Packets, or their further segments, that found their flow.
    pub hits: u64,
    /// Those that did not.
    pub misses: u64,
    /// Flows that a change did not concern.
    pub confirmed: u64,
    /// Flows that a change made wrong.
    pub refuted: u64,
    /// Flows that were older than all changes remembered,
    pub overrun: u64,
    /// and those of them whose entries were found again.
    pub retraced: u64,
    /// Flows that made room for others.
    pub evicted: u64,
    /// First packets for which no flow had to make room.
    pub refused: u64,
    /// Times that the key became wider, and all flows were forgotten.
    pub widened: u64,
    /// Ways that went on from a changed key.
    pub continued: u64,
    /// Packets whose path ended before its program did.
    pub cut_short: u64,
}
