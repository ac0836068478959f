//! What a connection that does not read has not been told of: which entries changed, not how.

use alloc::collections::BTreeMap;

use bofuss_datapath::{Cursor, Engine, EntryFate, EntryKey, EntryNews};
use bofuss_oflib::message::multipart::flow_monitor::FlowMonitorFlags;
use bofuss_oflib::types::TableId;

/// The most changed entries that are remembered for a connection that does not read; they take some
/// 300 KB. If more change, all entries are reported again.
const MAX_LATE: usize = 4096;

/// What has to be reported to a connection that did not read.
pub(super) struct Pause {
    /// The [`EntryKey::number`] of the first entry that was added since the pause began.
    pub(super) since: u64,
    /// Entries that were added or changed since the pause began.
    pub(super) late: BTreeMap<(TableId, EntryKey), LateEntry>,
    /// If these were too many: the walk that reports all entries.
    pub(super) walk: Option<Cursor>,
}

/// How a remembered entry has to be reported.
#[derive(Clone, Copy)]
pub(super) struct LateEntry {
    /// True if the connection knows an earlier state of it, so that it is reported as modified and
    /// not as added.
    pub(super) is_known: bool,
    pub(super) flags: FlowMonitorFlags,
}

impl Pause {
    /// Begins one. Entries numbered `since` or higher are new to the connection.
    pub(super) fn new(since: u64) -> Self {
        Self {
            since,
            late: BTreeMap::new(),
            walk: None,
        }
    }

    /// Remembers a change; monitors want it if `flags` is not 0. Returns true if the entry was
    /// removed and the connection may know it.
    pub(super) fn note(
        &mut self,
        news: &EntryNews,
        flags: FlowMonitorFlags,
        engine: Engine,
    ) -> bool {
        let place = (news.table_id, news.key);
        let mut is_known = true;
        match &news.change {
            EntryFate::Removed(_) => {
                let late = self.late.remove(&place);
                return late.is_none_or(|late| late.is_known);
            }
            EntryFate::Moved(before) => {
                if let Some(late) = self.late.remove(&(news.table_id, *before)) {
                    self.late.insert(place, late);
                }
                return false;
            }
            EntryFate::Added => is_known = false,
            EntryFate::Replaced(before, _) => {
                if let Some(late) = self.late.remove(&(news.table_id, *before)) {
                    is_known = late.is_known;
                }
            }
            EntryFate::Modified(_) => {
                if let Some(late) = self.late.get(&place) {
                    is_known = late.is_known;
                }
            }
        }
        // What the walk over all entries has not reached, it reports.
        let walk = self.walk.as_ref();
        let is_ahead = walk.is_some_and(|walk| !walk.has_passed(place.0, place.1, engine));
        if flags == FlowMonitorFlags(0) || is_ahead {
            return false;
        }
        self.late.insert(place, LateEntry { is_known, flags });
        if self.late.len() > MAX_LATE {
            // From here on, `since` alone tells new entries from known ones.
            self.late.clear();
            self.walk = Some(Cursor::new(TableId::ALL));
        }
        false
    }
}
