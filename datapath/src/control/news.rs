//! A record of changes of entries, for flow monitors.

use alloc::boxed::Box;
use alloc::vec::Vec;

use bofuss_oflib::Match;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::FlowRemovedReason;
use bofuss_oflib::types::TableId;

use crate::frame_engine::FrameEngine;
use crate::{Datapath, Entry, EntryKey};

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
    /// Why it was removed.
    pub reason: FlowRemovedReason,
}

impl<E: FrameEngine> Datapath<E> {
    /// Sets whether changes of entries are recorded. If so, call [`Datapath::take_news`] after each
    /// call that may change entries. Changes recorded so far are forgotten.
    pub fn follow_entries(&mut self, followed: bool) {
        self.news = followed.then(Vec::new);
    }

    /// Whether changes were recorded since the last [`Datapath::take_news`].
    pub fn has_news(&self) -> bool {
        self.news.as_ref().is_some_and(|news| !news.is_empty())
    }

    /// The changes since the last call, in order. Their number is bounded, because each call of the
    /// datapath changes only one slice of entries.
    pub fn take_news(&mut self) -> Vec<EntryNews> {
        let news = self.news.as_mut();
        news.map(core::mem::take).unwrap_or_default()
    }

    /// The [`EntryKey::number`] of the next entry that is added.
    pub fn next_entry_number(&self) -> u64 {
        self.pipeline.next_serial
    }

    /// Whether changes of entries are recorded.
    pub fn is_followed(&self) -> bool {
        self.news.is_some()
    }

    /// Records a change of an entry, if changes are recorded.
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
