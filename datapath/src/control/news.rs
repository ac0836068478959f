//! A record of changes of entries, for flow monitors.

use alloc::boxed::Box;
use alloc::vec::Vec;

use bofuss_oflib::Match;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::FlowRemovedReason;
use bofuss_oflib::types::TableId;

use crate::{Entry, EntryKey};

/// One change of an entry.
#[derive(Debug)]
pub struct EntryNews {
    /// Its table.
    pub table_id: TableId,
    /// Which entry.
    pub key: EntryKey,
    /// The change.
    pub change: EntryFate,
}

/// The kind of a change, with what it changed.
#[derive(Debug)]
pub enum EntryFate {
    /// It was added.
    Added,
    /// It replaced this entry, which had these instructions.
    Replaced(EntryKey, Instructions),
    /// It got other instructions; these are the old ones.
    Modified(Instructions),
    /// It was removed.
    Removed(Box<RemovedEntry>),
    /// It is unchanged but has another key; this is the old key.
    Moved(EntryKey),
}

/// An entry that was removed.
#[derive(Debug)]
pub struct RemovedEntry {
    /// The entry.
    pub entry: Entry,
    /// Its match, as replies have it.
    pub fields: Match,
    /// The reason why it was removed.
    pub reason: FlowRemovedReason,
}

/// The recorded changes of entries, if they are recorded.
#[derive(Debug, Default)]
pub struct News(Option<Vec<EntryNews>>);

impl News {
    /// Sets whether changes of entries are recorded. If so, call [`News::take`] after each call
    /// that may change entries. Changes recorded so far are forgotten.
    pub fn follow(&mut self, followed: bool) {
        self.0 = followed.then(Vec::new);
    }

    /// Returns true if changes of entries are recorded.
    pub fn is_followed(&self) -> bool {
        self.0.is_some()
    }

    /// Returns true if there are none since the last [`News::take`].
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(Vec::is_empty)
    }

    /// The changes since the last call, in order. Their number is bounded, because each call of the
    /// datapath changes only one slice of entries.
    pub fn take(&mut self) -> Vec<EntryNews> {
        self.0.as_mut().map(core::mem::take).unwrap_or_default()
    }

    /// Records a change of an entry, if changes are recorded.
    pub(crate) fn note(&mut self, table_id: TableId, key: EntryKey, change: EntryFate) {
        if let Some(news) = &mut self.0 {
            news.push(EntryNews {
                table_id,
                key,
                change,
            });
        }
    }
}
