//! The commit of a bundle: prepared in slices next to the live tables, then made visible to packets
//! in one step, or undone. Spec: OpenFlow 1.4.1 section 7.3.9.
//!
//! While a bundle is prepared, its messages are executed by the functions that execute them at
//! other times; the datapath stages what they change. A packet-out and a port-mod are only checked
//! then, because their effects cannot be undone: a port-mod takes effect at the commit, a
//! packet-out after it.

use alloc::vec::Vec;

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Datapath, Time};
use bofuss_oflib::error::BundleFailed;
use bofuss_oflib::message::bundle::BundleControlType;
use bofuss_oflib::message::{BundleControl, ErrorMsg};
use bofuss_oflib::{Codec, ErrorCode, Message};

use crate::bundles::schedule::{CommitClock, ScheduledCommit};
use crate::bundles::{Bundle, Bundles};
use crate::connections::Connections;
use crate::deliver::SwitchSink;
use crate::extensions::refusal;
use crate::given_packet::{check_packet_out, packet_out};
use crate::io::SwitchIo;
use crate::mods::{change_port, check_port_mod, flow_mod, follow_up};
use crate::request::{ConnId, Origin};

/// The number of messages that one slice prepares or reports; that takes some 20 us.
const MESSAGES_PER_SLICE: usize = 16;
/// In how many slices a bundle is prepared at most, which takes 1 or 2 s: changes of others wait
/// for its end. That is enough for as many messages as a bundle may have, and for eight that change
/// each of 200,000 entries.
const MAX_SLICES: usize = 1 << 18;

/// A commit in progress. It holds the bundle, which no longer is among the open ones, so that
/// messages cannot reach it.
pub(crate) struct Commit {
    /// The connection of the request, and its transaction id; the connection may have closed.
    conn: ConnId,
    xid: u32,
    /// The first bytes of the commit request, which errors quote, and the request itself.
    head: Vec<u8>,
    control: BundleControl,
    bundle: Bundle,
    /// The number of messages that have been prepared, the one that failed included, and in how
    /// many slices.
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

/// The reason why a commit is undone.
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
    /// Begins a commit, which [`Commit::slice`] does in slices. Nothing is prepared yet.
    ///
    /// Panics: if another change is in progress.
    pub(crate) fn begin(
        datapath: &mut Datapath<impl FrameEngine>,
        from: Origin<'_>,
        control: &BundleControl,
        bundle: Bundle,
    ) -> Self {
        datapath.bundle().begin(bundle.changes_groups);
        Self {
            conn: from.conn,
            xid: from.xid,
            head: from.head.into(),
            control: control.clone(),
            bundle,
            prepared: 0,
            slices: 0,
            phase: CommitPhase::Preparing,
            due: None,
        }
    }

    /// The same, but packets see its changes at its scheduled time.
    pub(crate) fn at(self, due: ScheduledCommit) -> Self {
        let due = Some(due);
        Self { due, ..self }
    }

    /// Ends it after its last slice: its bundle waits for its time again, or is discarded.
    pub(crate) fn end(self, connections: &Connections, bundles: &mut Bundles) {
        match (self.phase, self.due) {
            (CommitPhase::Undoing(UndoReason::Early), Some(due)) if connections.has(self.conn) => {
                bundles.put_back(self.conn, self.bundle, due);
            }
            _ => bundles.dispose(self.bundle),
        }
    }

    /// The origin of the request for the commit.
    pub(crate) fn origin(&self) -> Origin<'_> {
        Origin {
            conn: self.conn,
            xid: self.xid,
            head: &self.head,
        }
    }

    /// Returns true if a message of a connection waits for the commit's end: the next one of the
    /// connection that asked for it. A scheduled commit was accepted long before, so only messages
    /// about bundles wait.
    pub(crate) fn holds_back(&self, conn: ConnId, message: Option<&Message>) -> bool {
        let is_about_bundles = matches!(
            message,
            Some(Message::BundleControl(_) | Message::BundleAdd(_))
        );
        self.conn == conn && (self.due.is_none() || is_about_bundles)
    }

    /// The scheduled time of a prepared bundle that waits for it. Until then no other changes are
    /// made.
    pub(crate) fn waits_until(&self, bundles: &Bundles) -> Option<Time> {
        let due = self.due.as_ref()?;
        let is_waiting = matches!(self.phase, CommitPhase::Waiting);
        bundles.clock.time_of(due.at_ns).filter(|_| is_waiting)
    }

    /// Returns true if it waits for its time and needs no turn until then: the clock was not set
    /// since that was last compared with it.
    pub(crate) fn rests(&self, bundles: &Bundles) -> bool {
        self.waits_until(bundles).is_some() && !bundles.clock.was_set
    }

    /// Undoes a prepared bundle that waits for its time, because a message has to be handled now;
    /// the bundle will be prepared again.
    pub(crate) fn stop_waiting(&mut self, datapath: &mut Datapath<impl FrameEngine>) {
        if matches!(self.phase, CommitPhase::Waiting) {
            self.undo(datapath, UndoReason::Early);
        }
    }

    /// Does one slice. Returns true if that was the last.
    pub(crate) fn slice<I: SwitchIo>(
        &mut self,
        datapath: &mut Datapath<impl FrameEngine>,
        sink: &mut SwitchSink<'_, I>,
        clock: &mut CommitClock,
    ) -> bool {
        match self.phase {
            // A bundle that changes groups or meters works on a copy, which has to be complete
            // first.
            CommitPhase::Preparing if datapath.bundle().copy_groups() => false,
            CommitPhase::Preparing => {
                // The bundle's groups are in place only while this slice prepares, and no packet
                // comes.
                datapath.bundle().swap_groups();
                let prepared = self.prepare_some(datapath, sink);
                datapath.bundle().swap_groups();
                match prepared {
                    Ok(true) => self.phase = CommitPhase::Waiting,
                    Ok(false) => {}
                    Err(reason) => self.undo(datapath, reason),
                }
                // So a bundle that is not scheduled is visible as soon as it is prepared.
                if matches!(self.phase, CommitPhase::Waiting) {
                    self.wait(datapath, sink, clock);
                }
                false
            }
            CommitPhase::Waiting => {
                self.wait(datapath, sink, clock);
                false
            }
            // First the datapath removes what packets do not see any more.
            CommitPhase::Reporting | CommitPhase::Undoing(_)
                if datapath.changes().in_progress() =>
            {
                datapath.control(sink.now, sink).work();
                false
            }
            CommitPhase::Reporting => self.report_some(datapath, sink),
            CommitPhase::Undoing(UndoReason::Failed(error)) => {
                self.report_failure(datapath, sink, error);
                true
            }
            CommitPhase::Undoing(UndoReason::Missed) => {
                let error = ErrorMsg::quoting(BundleFailed::SCHED_PAST, &self.head);
                sink.io.send(self.conn, self.xid, Message::Error(error));
                true
            }
            CommitPhase::Undoing(UndoReason::Early | UndoReason::Ended) => true,
        }
    }

    /// Gives up what is prepared; the datapath removes it in the next slices. Packets have seen
    /// nothing of it.
    fn undo(&mut self, datapath: &mut Datapath<impl FrameEngine>, reason: UndoReason) {
        datapath.bundle().undo();
        self.phase = CommitPhase::Undoing(reason);
    }

    /// Makes a prepared bundle visible if it is not scheduled or its time has come; undoes it if
    /// the clock was set past it or back, or if the connection was closed.
    fn wait<I: SwitchIo>(
        &mut self,
        datapath: &mut Datapath<impl FrameEngine>,
        sink: &mut SwitchSink<'_, I>,
        clock: &mut CommitClock,
    ) {
        // It is compared with the clock here, and needs no further turn until that is set again.
        clock.was_set = false;
        if !sink.connections.has(self.conn) {
            return self.undo(datapath, UndoReason::Ended);
        }
        let Some((due, clock_ns)) = self.due.as_ref().zip(clock.ns(sink.now)) else {
            return self.publish(datapath, sink);
        };
        let n_messages = self.bundle.messages.len();
        if due.is_missed(clock_ns) {
            self.undo(datapath, UndoReason::Missed);
        } else if due.at_ns <= clock_ns {
            // The error is measured when the first packet is handled that sees the bundle.
            clock.unmeasured_ns = Some(due.at_ns);
            self.publish(datapath, sink);
        } else if due.is_early(clock_ns, n_messages) {
            self.undo(datapath, UndoReason::Early);
        }
    }

    /// Prepares the next messages of a bundle, or does one slice of the bulk change that the
    /// previous message began. Returns true if all messages are prepared.
    ///
    /// Errors: why the commit has to be undone; BUNDLE_FAILED/MSG_TOO_MANY if it takes too long.
    fn prepare_some<I: SwitchIo>(
        &mut self,
        datapath: &mut Datapath<impl FrameEngine>,
        sink: &mut SwitchSink<'_, I>,
    ) -> Result<bool, UndoReason> {
        // A bundle ends with its connection as long as no packet has seen it.
        if !sink.connections.has(self.conn) {
            return Err(UndoReason::Ended);
        }
        self.slices += 1;
        if self.slices > MAX_SLICES {
            return Err(UndoReason::Failed(BundleFailed::MSG_TOO_MANY));
        }
        // The previous message goes on, and the next one sees the state after it.
        if datapath.changes().in_progress() {
            let result = datapath.control(sink.now, sink).work().unwrap_or(Ok(()));
            result.map_err(UndoReason::Failed)?;
            return Ok(false);
        }
        for _ in 0..MESSAGES_PER_SLICE {
            let Some((_, message)) = self.bundle.messages.get(self.prepared) else {
                return Ok(true);
            };
            self.prepared += 1;
            let prepared = prepare(datapath, sink, self.conn, message);
            prepared.map_err(UndoReason::Failed)?;
            if datapath.changes().in_progress() {
                break;
            }
        }
        Ok(false)
    }

    /// Makes the prepared changes visible to packets, and applies the port-mods, all in this slice:
    /// no packet comes in between.
    fn publish<I: SwitchIo>(
        &mut self,
        datapath: &mut Datapath<impl FrameEngine>,
        sink: &mut SwitchSink<'_, I>,
    ) {
        datapath.bundle().commit(sink.now);
        for place in &self.bundle.port_mods {
            let message = self.bundle.messages.get(*place);
            if let Some(Message::PortMod(port_mod)) = message.map(|(_, message)| &**message) {
                change_port(datapath, sink, port_mod);
            }
        }
        self.phase = CommitPhase::Reporting;
    }

    /// Runs [`follow_up`] or sends the packet-out for the next messages of a committed bundle, in
    /// their order, and sends the reply after the last. Returns true if that was the last. If the
    /// connection has closed, only packet-outs and the reply are left out, because packets see the
    /// whole bundle.
    fn report_some<I: SwitchIo>(
        &mut self,
        datapath: &mut Datapath<impl FrameEngine>,
        sink: &mut SwitchSink<'_, I>,
    ) -> bool {
        for _ in 0..MESSAGES_PER_SLICE {
            let Some((xid, message)) = self.bundle.messages.pop() else {
                let reply = self.control.reply(BundleControlType::COMMIT_REPLY);
                if sink.connections.has(self.conn) {
                    sink.io
                        .send(self.conn, self.xid, Message::BundleControl(reply));
                }
                return true;
            };
            if let Message::PacketOut(out) = &*message {
                // The replica that it follows sends it, and takes the tokens of meters.
                #[cfg(feature = "replicas")]
                if datapath.follows() {
                    continue;
                }
                // A held packet may have expired meanwhile.
                if sink.connections.has(self.conn) {
                    let _ = packet_out(datapath, sink, self.conn, out);
                }
            } else {
                follow_up(datapath, sink, self.conn, xid, &message);
            }
        }
        false
    }

    /// Sends the error of the message that failed, with its own transaction id, and then MSG_FAILED
    /// for the commit. The message is written again to be quoted, since a bundle does not keep its
    /// bytes.
    fn report_failure<I: SwitchIo>(
        &self,
        datapath: &Datapath<impl FrameEngine>,
        sink: &mut SwitchSink<'_, I>,
        error: ErrorCode,
    ) {
        let conn = self.conn;
        let Some(connection) = sink.connections.by_id.get(&conn) else {
            return;
        };
        let failed = self.prepared.checked_sub(1);
        if let Some((xid, message)) = failed.and_then(|place| self.bundle.messages.get(place)) {
            let catalogue = datapath.catalogue().clone();
            let codec = Codec::new(connection.version, catalogue);
            let mut bytes = Vec::new();
            // A message that this version cannot express is quoted as no bytes.
            let _ = codec.encode(*xid, message, &mut bytes);
            sink.io
                .refused(conn, *xid, message, &refusal(datapath, message, error));
            sink.io
                .send(conn, *xid, Message::Error(ErrorMsg::quoting(error, &bytes)));
        }
        let failed = ErrorMsg::quoting(BundleFailed::MSG_FAILED, &self.head);
        sink.io.send(conn, self.xid, Message::Error(failed));
    }
}

/// Prepares one message of a bundle, so that all that may fail has failed before packets see any of
/// it. Errors: the message's.
fn prepare<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    conn: ConnId,
    message: &Message,
) -> Result<(), ErrorCode> {
    if let Message::FlowMod(request) = message {
        flow_mod(datapath, sink, conn, request).map(drop)
    } else if let Message::GroupMod(group_mod) = message {
        datapath.control(sink.now, sink).group_mod(group_mod)
    } else if let Message::MeterMod(meter_mod) = message {
        datapath.control(sink.now, sink).meter_mod(meter_mod)
    } else if let Message::PortMod(port_mod) = message {
        check_port_mod(datapath, port_mod, sink.io)
    } else if let Message::PacketOut(out) = message {
        check_packet_out(datapath, sink.connections, sink.now, conn, out)
    } else {
        Err(BundleFailed::MSG_UNSUP)
    }
}
