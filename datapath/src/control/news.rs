//! What becomes of entries, noted for whoever follows them.

use alloc::boxed::Box;
use alloc::vec::Vec;

use bofuss_oflib::Match;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::FlowRemovedReason;
use bofuss_oflib::types::TableId;

use crate::{Datapath, Entry, EntryKey};

/// One change of an entry.
#[derive(Debug)]
pub struct EntryNews {
    /// Its table.
    pub table_id: TableId,
    /// Which entry.
    pub key: EntryKey,
    /// What became of it.
    pub change: EntryFate,
}

/// What became of an entry.
#[derive(Debug)]
pub enum EntryFate {
    /// It was added.
    Added,
    /// It was added in the place of this one, which had these instructions.
    Replaced(EntryKey, Instructions),
    /// It got other instructions; those that it had.
    Modified(Instructions),
    /// It is gone.
    Removed(Box<RemovedEntry>),
    /// It is the same under another key; the one that it had.
    Moved(EntryKey),
}

/// An entry that is gone.
#[derive(Debug)]
pub struct RemovedEntry {
    /// What it was.
    pub entry: Entry,
    /// Its match, as replies have it.
    pub fields: Match,
    /// Why it went.
    pub reason: FlowRemovedReason,
}

impl Datapath {
    /// Whether entries are followed: if so, [`Datapath::take_news`] is to be called after each
    /// call that may change some. What was noted before is forgotten.
    pub fn follow_entries(&mut self, followed: bool) {
        self.news = followed.then(Vec::new);
    }

    /// Whether something became of entries since [`Datapath::take_news`].
    pub fn has_news(&self) -> bool {
        self.news.as_ref().is_some_and(|news| !news.is_empty())
    }

    /// What became of entries since this was called last, in order. A call of the datapath changes
    /// as many as it may without letting packets wait.
    pub fn take_news(&mut self) -> Vec<EntryNews> {
        let news = self.news.as_mut();
        news.map(core::mem::take).unwrap_or_default()
    }

    /// The [`EntryKey::number`] of the next entry that is added.
    pub fn next_entry_number(&self) -> u64 {
        self.pipeline.next_serial
    }

    /// Whether entries are followed.
    pub fn is_followed(&self) -> bool {
        self.news.is_some()
    }

    /// Notes what became of an entry, if entries are followed.
    pub(crate) fn note(&mut self, table_id: TableId, key: EntryKey, change: EntryFate) {
        if let Some(news) = &mut self.news {
            news.push(EntryNews {
                table_id,
                key,
                change,
            });
        }
    }
}
