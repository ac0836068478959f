//! The change in progress: which messages of others it lets pass, and which reads it waits for, so
//! that each read shows one state.
//!
//! Two kinds of change take more than one slice: that of a message, which the datapath goes on
//! with, and the commit of a bundle, whose messages the datapath does not know. At most one is in
//! progress.

use alloc::boxed::Box;

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Datapath, Time};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::message::ErrorMsg;
use bofuss_oflib::{ErrorCode, Message};

use crate::bundles::{Bundles, Commit};
use crate::connections::Connections;
use crate::deliver::SwitchSink;
use crate::dump::Dump;
use crate::io::SwitchIo;
use crate::request::{ConnId, Origin, Pending};
use crate::turns::Needs;

/// The time that a change waits for reads that began before it. A full table is listed in less.
const MAX_WAIT_NS: u64 = Time::SEC;
/// A change does not wait longer than this for the next part of a reply: its controller does not
/// read.
const MAX_PART_NS: u64 = Time::SEC / 10;
/// What ends a read that a change did not wait for.
const READ_ENDED: ErrorCode = BadRequest::MULTIPART_REPLY_TIMEOUT;

/// The change in progress: of a message, of a commit, or none.
#[derive(Default)]
pub(crate) struct Change {
    /// The message whose bulk change is in progress.
    pub(crate) pending: Option<Pending>,
    /// The commit in progress.
    pub(crate) commit: Option<Box<Commit>>,
    /// Since when it waits for reads: the wait ends after a time even if each part comes early
    /// enough. `None` while it goes on.
    held_since: Option<Time>,
}

impl Change {
    /// Returns true if a long change is in progress.
    pub(crate) fn goes_on(&self, datapath: &Datapath<impl FrameEngine>) -> bool {
        self.commit.is_some() || datapath.changes().in_progress()
    }

    /// The origin of the message that caused the change; `None` if no message did.
    pub(crate) fn origin(&self) -> Option<Origin<'_>> {
        let pending = self.pending.as_ref().map(Pending::origin);
        let commit = self.commit.as_ref().map(|commit| commit.origin());
        commit.or(pending)
    }

    /// Returns true if a message may be handled before the change is complete. `None` is one that
    /// could not be decoded.
    pub(crate) fn lets_pass(
        &self,
        datapath: &Datapath<impl FrameEngine>,
        conn: ConnId,
        message: Option<&Message>,
    ) -> bool {
        if !self.goes_on(datapath) {
            return true;
        }
        // An error reply needs nothing of the tables.
        let is_met = message.is_none_or(|message| Needs::of(message).are_met(datapath));
        is_met && !self.is_of(conn, message)
    }

    /// Returns true if the change is of a connection whose next message waits for it.
    fn is_of(&self, conn: ConnId, message: Option<&Message>) -> bool {
        if let Some(commit) = &self.commit {
            return commit.holds_back(conn, message);
        }
        let pending = self.pending.as_ref();
        pending.is_some_and(|pending| pending.conn == conn)
    }

    /// The scheduled time of a prepared bundle that waits for it.
    pub(crate) fn waits_until(&self, bundles: &Bundles) -> Option<Time> {
        self.commit.as_ref()?.waits_until(bundles)
    }

    /// Until when the change waits for reads that began before it, and that its next slice would
    /// change; `None` if there are none.
    pub(crate) fn waits_for_reads_until(
        &self,
        datapath: &Datapath<impl FrameEngine>,
        connections: &Connections,
    ) -> Option<Time> {
        let connections = connections.by_id.values();
        let dumps = connections.filter_map(|connection| connection.dump.as_ref());
        // Reads that the next slice would not change go on beside it.
        let torn = dumps.filter(|dump| !dump.needs().are_met(datapath));
        // The slowest of them counts, but all together get no more than the time for one change.
        let last = torn.map(|dump| dump.continued.after(MAX_PART_NS)).max()?;
        let most = self
            .held_since
            .map_or(last, |since| since.after(MAX_WAIT_NS));
        Some(last.min(most))
    }

    /// Returns true if the change waits for reads. Ends those that it no longer waits for.
    pub(crate) fn waits_for_reads<I: SwitchIo>(
        &mut self,
        datapath: &Datapath<impl FrameEngine>,
        sink: &mut SwitchSink<'_, I>,
    ) -> bool {
        match self.waits_for_reads_until(datapath, sink.connections) {
            Some(until) if sink.now < until => {
                self.held_since.get_or_insert(sink.now);
                return true;
            }
            // Their time is over, and the change goes on in this call.
            Some(_) => end_reads(datapath, sink),
            None => {}
        }
        self.held_since = None;
        false
    }

    /// Has the change wait neither for its time nor for reads, because a message has to be handled
    /// that cannot wait: a caller has not asked [`crate::Switch::takes`]. A prepared bundle is
    /// undone, to be prepared again for its time.
    pub(crate) fn stop_waiting<I: SwitchIo>(
        &mut self,
        datapath: &mut Datapath<impl FrameEngine>,
        sink: &mut SwitchSink<'_, I>,
    ) {
        if let Some(commit) = &mut self.commit {
            commit.stop_waiting(datapath);
        }
        end_reads(datapath, sink);
    }
}

/// Ends the reads that the next slice of the change would tear, with an error.
fn end_reads<I: SwitchIo>(datapath: &Datapath<impl FrameEngine>, sink: &mut SwitchSink<'_, I>) {
    for (conn, connection) in &mut sink.connections.by_id {
        let torn = |dump: &mut Dump| !dump.needs().are_met(datapath);
        if let Some(dump) = connection.dump.take_if(torn) {
            let error = ErrorMsg::quoting(READ_ENDED, &[]);
            sink.io.send(*conn, dump.xid, Message::Error(error));
        }
    }
}
