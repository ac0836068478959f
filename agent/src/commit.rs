//! The commit of a bundle: prepared in slices next to the live tables, then made visible to packets
//! in one step, or undone. Spec: OpenFlow 1.4.1 section 7.3.9.

use alloc::{boxed::Box, vec::Vec};

use bofuss_datapath::Time;
use bofuss_datapath::engine::FrameEngine;
use bofuss_oflib::error::BundleFailed;
use bofuss_oflib::message::bundle::BundleControlType;
use bofuss_oflib::message::{BundleControl, ErrorMsg};
use bofuss_oflib::{Codec, ErrorCode, Message};

use crate::bundles::Bundle;
use crate::request::{ConnId, Origin, buffer_of};
use crate::schedule::ScheduledCommit;
use crate::switch::{Switch, SwitchIo};

/// How many messages one slice prepares or reports; that takes some 20 us.
const MESSAGES_PER_SLICE: usize = 16;
/// In how many slices a bundle is prepared at most, which takes 1 or 2 s: changes of others wait
/// for its end. That is enough for as many messages as a bundle may have, and for eight that change
/// each of 200,000 entries.
const MAX_SLICES: usize = 1 << 18;

/// A commit in progress.
pub(crate) struct Commit {
    conn: ConnId,
    xid: u32,
    /// The first bytes of the commit request, which errors quote, and the request itself.
    head: Vec<u8>,
    control: BundleControl,
    bundle: Bundle,
    /// How many messages have been prepared, and in how many slices.
    prepared: usize,
    slices: usize,
    phase: CommitPhase,
    /// The schedule, if packets are to see the bundle at a stated time.
    due: Option<ScheduledCommit>,
}

/// The phase of a commit.
#[derive(Clone, Copy)]
enum CommitPhase {
    /// Messages are being prepared; packets do not see their changes.
    Preparing,
    /// All messages are prepared, and their scheduled time has not come.
    Waiting,
    /// Packets see the changes. Hooks and other controllers are now informed, slice by slice.
    Reporting,
    /// The prepared changes are being removed again.
    Undoing(UndoReason),
}

/// Why a commit is undone.
#[derive(Clone, Copy)]
enum UndoReason {
    /// A message failed.
    Failed(ErrorCode),
    /// The clock was set forward beyond the scheduled time and its tolerance.
    Missed,
    /// The clock was set back, or a message could not wait: the bundle goes back to waiting for its
    /// time.
    Early,
    /// The connection was closed.
    Ended,
}

impl Commit {
    /// Where the request for the commit comes from.
    pub(crate) fn origin(&self) -> Origin<'_> {
        Origin {
            conn: self.conn,
            xid: self.xid,
            head: &self.head,
        }
    }

    /// Whether it has a scheduled time.
    pub(crate) fn is_scheduled(&self) -> bool {
        self.due.is_some()
    }
}

impl<E: FrameEngine> Switch<E> {
    /// Begins a commit. [`Switch::go_on_with_commit`] does the rest in slices.
    pub(crate) fn begin_commit(
        &mut self,
        from: Origin<'_>,
        control: &BundleControl,
        bundle: Bundle,
    ) {
        self.datapath.begin_bundle(bundle.changes_groups);
        self.commit = Some(Box::new(Commit {
            conn: from.conn,
            xid: from.xid,
            head: from.head.into(),
            control: control.clone(),
            bundle,
            prepared: 0,
            slices: 0,
            phase: CommitPhase::Preparing,
            due: None,
        }));
    }

    /// Begins a commit whose changes packets see at its scheduled time.
    pub(crate) fn begin_scheduled(
        &mut self,
        conn: ConnId,
        scheduled: ScheduledCommit,
        bundle: Bundle,
    ) {
        let from = Origin {
            conn,
            xid: scheduled.xid,
            head: &scheduled.head,
        };
        self.begin_commit(from, &scheduled.control, bundle);
        if let Some(commit) = &mut self.commit {
            commit.due = Some(scheduled);
        }
    }

    /// Does one slice of the commit. At the end the bundle is discarded, or waits for its time
    /// again.
    pub(crate) fn go_on_with_commit<I: SwitchIo>(&mut self, now: Time, io: &mut I) {
        let Some(mut commit) = self.commit.take() else {
            return;
        };
        if !self.commit_slice(now, &mut commit, io) {
            self.commit = Some(commit);
            return;
        }
        if matches!(commit.phase, CommitPhase::Undoing(UndoReason::Early))
            && let Some(connection) = self.connections.get_mut(&commit.conn)
        {
            commit.bundle.scheduled = commit.due;
            let id = commit.control.bundle_id;
            connection.bundles.insert(id, commit.bundle);
        } else {
            self.discarded.push(commit.bundle);
        }
        self.follow_fail_mode(now);
    }

    /// Does one slice of a commit. Returns true if that was the last.
    fn commit_slice<I: SwitchIo>(&mut self, now: Time, commit: &mut Commit, io: &mut I) -> bool {
        match commit.phase {
            CommitPhase::Preparing if self.datapath.copy_groups() => false,
            CommitPhase::Preparing => {
                self.datapath.swap_groups();
                let prepared = self.prepare_some(now, commit, io);
                self.datapath.swap_groups();
                match prepared {
                    Ok(true) => commit.phase = CommitPhase::Waiting,
                    Ok(false) => {}
                    Err(reason) => self.undo(commit, reason),
                }
                if matches!(commit.phase, CommitPhase::Waiting) {
                    self.wait(now, commit, io);
                }
                false
            }
            CommitPhase::Waiting => {
                self.wait(now, commit, io);
                false
            }
            CommitPhase::Reporting | CommitPhase::Undoing(_) if self.datapath.has_work() => {
                let (datapath, mut sink) = self.parts(now, io);
                datapath.work(now, &mut sink);
                false
            }
            CommitPhase::Reporting => self.report_some(now, commit, io),
            CommitPhase::Undoing(UndoReason::Failed(error)) => {
                self.report_failure(commit, error, io);
                true
            }
            CommitPhase::Undoing(UndoReason::Missed) => {
                let error = ErrorMsg::quoting(BundleFailed::SCHED_PAST, &commit.head);
                io.send(commit.conn, commit.xid, Message::Error(error));
                true
            }
            CommitPhase::Undoing(UndoReason::Early | UndoReason::Ended) => true,
        }
    }

    /// The scheduled time of a prepared bundle that waits for it. Until then no other changes are
    /// made.
    pub fn waits_until(&self) -> Option<Time> {
        let commit = self.commit.as_ref()?;
        let due = commit.due.as_ref()?;
        let is_waiting = matches!(commit.phase, CommitPhase::Waiting);
        self.clock.time_of(due.at_ns).filter(|_| is_waiting)
    }

    /// Undoes a prepared bundle that waits for its time, because a message has to be handled now;
    /// the bundle will be prepared again.
    pub(crate) fn stop_waiting(&mut self) {
        if let Some(mut commit) = self.commit.take() {
            if matches!(commit.phase, CommitPhase::Waiting) {
                self.undo(&mut commit, UndoReason::Early);
            }
            self.commit = Some(commit);
        }
    }

    fn undo(&mut self, commit: &mut Commit, reason: UndoReason) {
        self.datapath.undo_bundle();
        commit.phase = CommitPhase::Undoing(reason);
    }

    /// Makes a prepared bundle visible if it is not scheduled or its time has come; undoes it if
    /// the clock was set past it or back, or if the connection was closed.
    fn wait<I: SwitchIo>(&mut self, now: Time, commit: &mut Commit, io: &mut I) {
        self.clock.was_set = false;
        if !self.connections.contains_key(&commit.conn) {
            return self.undo(commit, UndoReason::Ended);
        }
        let Some((due, clock_ns)) = commit.due.as_ref().zip(self.clock.ns(now)) else {
            return self.publish(now, commit, io);
        };
        let n_messages = commit.bundle.messages.len();
        if due.is_missed(clock_ns) {
            self.undo(commit, UndoReason::Missed);
        } else if due.at_ns <= clock_ns {
            self.clock.unmeasured_ns = Some(due.at_ns);
            self.publish(now, commit, io);
        } else if due.is_early(clock_ns, n_messages) {
            self.undo(commit, UndoReason::Early);
        }
    }

    /// Prepares the next messages of a bundle, or does one slice of the bulk change that the
    /// previous message began. Returns true if all messages are prepared.
    ///
    /// Errors: why the commit has to be undone; BUNDLE_FAILED/MSG_TOO_MANY if it takes too long.
    fn prepare_some<I: SwitchIo>(
        &mut self,
        now: Time,
        commit: &mut Commit,
        io: &mut I,
    ) -> Result<bool, UndoReason> {
        if !self.connections.contains_key(&commit.conn) {
            return Err(UndoReason::Ended);
        }
        commit.slices += 1;
        if commit.slices > MAX_SLICES {
            return Err(UndoReason::Failed(BundleFailed::MSG_TOO_MANY));
        }
        if self.datapath.has_work() {
            let (datapath, mut sink) = self.parts(now, io);
            let result = datapath.work(now, &mut sink).unwrap_or(Ok(()));
            result.map_err(UndoReason::Failed)?;
            return Ok(false);
        }
        for _ in 0..MESSAGES_PER_SLICE {
            let Some((_, message)) = commit.bundle.messages.get(commit.prepared) else {
                return Ok(true);
            };
            commit.prepared += 1;
            let prepared = self.prepare(now, commit.conn, message, io);
            prepared.map_err(UndoReason::Failed)?;
            if self.datapath.has_work() {
                break;
            }
        }
        Ok(false)
    }

    /// Prepares one message of a bundle. Errors: the message's.
    fn prepare<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        message: &Message,
        io: &mut I,
    ) -> Result<(), ErrorCode> {
        if let Message::FlowMod(flow_mod) = message {
            self.flow_mod(now, conn, flow_mod, io).map(drop)
        } else if let Message::GroupMod(group_mod) = message {
            let (datapath, mut sink) = self.parts(now, io);
            datapath.stage_group_mod(now, group_mod, &mut sink)
        } else if let Message::MeterMod(meter_mod) = message {
            let (datapath, mut sink) = self.parts(now, io);
            datapath.stage_meter_mod(now, meter_mod, &mut sink)
        } else if let Message::PortMod(port_mod) = message {
            self.check_port_mod(port_mod, io)
        } else if let Message::PacketOut(out) = message {
            self.check_packet_out(now, conn, out)
        } else {
            Err(BundleFailed::MSG_UNSUP)
        }
    }

    /// Makes the prepared changes visible to packets, and applies the port-mods.
    fn publish<I: SwitchIo>(&mut self, now: Time, commit: &mut Commit, io: &mut I) {
        self.datapath.commit_bundle(now);
        for place in &commit.bundle.port_mods {
            if let Some((_, message)) = commit.bundle.messages.get(*place)
                && let Message::PortMod(port_mod) = &**message
            {
                self.change_port(now, port_mod, io);
            }
        }
        commit.phase = CommitPhase::Reporting;
    }

    /// Runs [`Switch::follow_up`] for the next messages of a committed bundle, and sends the reply
    /// after the last. Returns true if that was the last.
    fn report_some<I: SwitchIo>(&mut self, now: Time, commit: &mut Commit, io: &mut I) -> bool {
        if !self.connections.contains_key(&commit.conn) {
            return true;
        }
        for _ in 0..MESSAGES_PER_SLICE {
            let Some((xid, message)) = commit.bundle.messages.pop() else {
                let reply = commit.control.reply(BundleControlType::COMMIT_REPLY);
                io.send(commit.conn, commit.xid, Message::BundleControl(reply));
                return true;
            };
            self.follow_up(now, commit.conn, xid, &message, io);
        }
        false
    }

    /// Does what follows a committed message: informs hooks and other controllers, sends its
    /// packet-out, and resubmits the buffered packet of a flow-mod. A buffered packet that has
    /// expired meanwhile is lost.
    fn follow_up<I: SwitchIo>(
        &mut self,
        now: Time,
        conn: ConnId,
        xid: u32,
        message: &Message,
        io: &mut I,
    ) {
        self.forward_request(conn, xid, message, io);
        if let Message::PacketOut(out) = message {
            let _ = self.packet_out(now, conn, out, io);
        }
        let Message::FlowMod(flow_mod) = message else {
            return;
        };
        self.flow_mod_done(now, conn, xid, flow_mod, io);
        if let Some(buffer) = buffer_of(flow_mod) {
            let _ = self.resubmit(now, conn, buffer, io);
        }
    }

    /// Sends the error of the message that failed, and then MSG_FAILED for the commit.
    fn report_failure<I: SwitchIo>(&mut self, commit: &Commit, error: ErrorCode, io: &mut I) {
        let conn = commit.conn;
        let Some(connection) = self.connections.get(&conn) else {
            return;
        };
        let failed = commit.prepared.checked_sub(1);
        if let Some((xid, message)) = failed.and_then(|place| commit.bundle.messages.get(place)) {
            let catalogue = self.datapath.catalogue().clone();
            let codec = Codec::new(connection.version, catalogue);
            let mut bytes = Vec::new();
            // A message that this version cannot express is quoted as no bytes.
            let _ = codec.encode(*xid, message, &mut bytes);
            io.refused(conn, *xid, message, &self.refusal(message, error));
            io.send(conn, *xid, Message::Error(ErrorMsg::quoting(error, &bytes)));
        }
        let failed = ErrorMsg::quoting(BundleFailed::MSG_FAILED, &commit.head);
        io.send(conn, commit.xid, Message::Error(failed));
    }
}
