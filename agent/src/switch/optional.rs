//! What only some switches do: commit bundles at a time, make queues, go on with an earlier state,
//! be one of several replicas, or tell an operator what extensions know.

#[cfg(feature = "replicas")]
use bofuss_datapath::Replica;
use bofuss_datapath::engine::FrameEngine;
#[cfg(feature = "operators")]
use bofuss_datapath::{Asker, ReplyPart, Time};
#[cfg(feature = "operators")]
use bofuss_oflib::{ErrorCode, ExtValue, Version, message::ControllerRole};

use super::Switch;
#[cfg(feature = "bundles")]
use crate::bundles::CommitClock;
#[cfg(feature = "operators")]
use crate::deliver::DiscardSink;
#[cfg(feature = "replicas")]
use crate::{io::SwitchIo, request::ConnId};

#[cfg(feature = "bundles")]
impl<E: FrameEngine> Switch<E> {
    /// The scheduled time of a prepared bundle that waits for it. Until then no other changes are
    /// made.
    pub fn waits_until(&self) -> Option<bofuss_datapath::Time> {
        self.change.waits_until(&self.bundles)
    }

    /// The clock of scheduled commits, without which commits cannot be scheduled.
    pub fn clock(&self) -> &CommitClock {
        &self.bundles.clock
    }

    /// The clock of scheduled commits, to be set.
    pub fn clock_mut(&mut self) -> &mut CommitClock {
        &mut self.bundles.clock
    }

    /// Returns true if the caller has to watch the clock: a commit is in progress, scheduled or
    /// not, or one is scheduled.
    pub fn follows_clock(&self) -> bool {
        self.change.commit.is_some() || self.bundles.next_scheduled_ns().is_some()
    }
}

#[cfg(feature = "queues")]
impl<E: FrameEngine> Switch<E> {
    /// Creates or changes a queue of a port.
    ///
    /// Errors: why that is not possible.
    pub fn modify_queue(
        &mut self,
        now: bofuss_datapath::Time,
        port: bofuss_oflib::PortNo,
        id: bofuss_oflib::types::QueueId,
        spec: bofuss_datapath::QueueSpec,
    ) -> Result<(), bofuss_datapath::QueueError> {
        self.datapath.modify_queue(now, port, id, spec)
    }
}

#[cfg(feature = "restore")]
impl<E: FrameEngine> Switch<E> {
    /// What can be given the past of an earlier run.
    pub fn restore(&mut self) -> bofuss_datapath::Restore<'_, E> {
        self.datapath.restore()
    }

    /// The newest generation id of a request for the role of master or slave.
    pub fn generation_id(&self) -> Option<u64> {
        self.connections.generation_id
    }

    /// Refuses requests for these roles that are older than this generation.
    pub fn set_generation_id(&mut self, id: u64) {
        self.connections.generation_id = Some(id);
    }
}

#[cfg(feature = "replicas")]
impl<E: FrameEngine> Switch<E> {
    /// The part by which it works in step with replicas of itself: see
    /// [`Datapath::replica`](bofuss_datapath::Datapath::replica).
    pub fn replica(&mut self) -> Replica<'_, E> {
        self.datapath.replica()
    }

    /// Counts a packet-in of a replica for which a connection had no room, at its main connection.
    pub fn note_lost_packet_in(&mut self, conn: ConnId) {
        if self.connections.has(conn) {
            self.connections.channel(conn).lost.packet_ins += 1;
        }
    }

    /// Processes frames that wait, for one turn: see
    /// [`Datapath::catch_up`](bofuss_datapath::Datapath::catch_up). [`Switch::work`] also continues
    /// with changes and replies.
    pub fn catch_up<I: SwitchIo>(&mut self, now: bofuss_datapath::Time, io: &mut I) {
        let parts = &mut self.parts(now, io);
        parts.datapath.catch_up(now, &mut parts.sink);
    }
}

#[cfg(feature = "operators")]
impl<E: FrameEngine> Switch<E> {
    /// Returns the next part of an extension's answer to a multipart request that changes nothing,
    /// for an operator, who has no connection; `from` is 0 at first, then what the part before
    /// named as next.
    ///
    /// Errors: the extension's; BAD_REQUEST/BAD_EXPERIMENTER if none has the request.
    pub fn extension_part(
        &mut self,
        now: Time,
        request: &ExtValue,
        from: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        let asker = Asker {
            connection: u64::MAX,
            role: ControllerRole::EQUAL,
            version: Version::V1_5,
            form: 0,
        };
        let sink = &mut DiscardSink;
        let mut calls = self.datapath.hook_calls(now, sink);
        Ok(calls.multipart(asker, request, from)?.0)
    }
}
