//! What names the entry that a packet hit last.

use super::entry::Entry;

/// The entry that a packet hit last, as controllers and extensions know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HitEntry {
    /// Its cookie.
    pub cookie: u64,
    /// Its priority.
    pub priority: u16,
}

impl HitEntry {
    /// For what no single entry caused.
    pub const NONE: Self = Self {
        cookie: u64::MAX,
        priority: 0,
    };
}

impl From<&Entry> for HitEntry {
    fn from(entry: &Entry) -> Self {
        Self {
            cookie: entry.cookie,
            priority: entry.key.priority.0,
        }
    }
}
