//! The commit of a bundle: prepared message by message, then seen by all packets at once, or
//! undone. Spec: OpenFlow 1.4.1 section 7.3.9.

use alloc::{boxed::Box, vec::Vec};

use bofuss_datapath::Time;
use bofuss_oflib::error::BundleFailed;
use bofuss_oflib::message::bundle::BundleControlType;
use bofuss_oflib::message::{BundleControl, ErrorMsg};
use bofuss_oflib::types::BufferId;
use bofuss_oflib::{Action, Codec, ErrorCode, Message, PortNo};

use crate::bundles::{Bundle, RequestOrigin};
use crate::connection::ConnId;
use crate::switch::{Switch, SwitchIo, parts};

/// Messages of a bundle that one slice prepares or tells of: some 20 us.
const MESSAGES_PER_SLICE: usize = 16;

/// A bundle that is carried out.
pub(crate) struct Commit {
    conn: ConnId,
    xid: u32,
    /// The first bytes of the request, and what it says.
    head: Vec<u8>,
    control: BundleControl,
    bundle: Bundle,
    /// Messages that are prepared.
    prepared: usize,
    phase: CommitPhase,
}

/// How far a commit is.
#[derive(Clone, Copy)]
enum CommitPhase {
    /// Messages are prepared, for no packet to see.
    Preparing,
    /// Packets see all; it is told whom it concerns.
    Telling,
    /// A message failed, if there is an error, or the connection ended; all is undone.
    Undoing(Option<ErrorCode>),
}

impl Commit {
    /// The connection whose bundle it is, and the transaction id of the request to commit it.
    pub(crate) fn origin(&self) -> (ConnId, u32) {
        (self.conn, self.xid)
    }
}

impl Switch {
    /// Begins to carry out a bundle. The rest is done in slices.
    pub(crate) fn begin_commit(
        &mut self,
        (conn, xid, head): RequestOrigin<'_>,
        control: &BundleControl,
        bundle: Bundle,
    ) {
        self.datapath.begin_bundle(bundle.changes_groups);
        self.commit = Some(Box::new(Commit {
            conn,
            xid,
            head: head.into(),
            control: control.clone(),
            bundle,
            prepared: 0,
            phase: CommitPhase::Preparing,
        }));
    }

    /// Goes on with the commit by one slice.
    pub(crate) fn go_on_with_commit<I: SwitchIo>(&mut self, now: Time, io: &mut I) {
        let Some(mut commit) = self.commit.take() else {
            return;
        };
        if self.commit_slice(now, &mut commit, io) {
            self.discarded.push(commit.bundle);
            self.follow_fail_mode(now);
        } else {
            self.commit = Some(commit);
        }
    }

    /// One slice of a commit. Returns true if that was the last.
    fn commit_slice<I: SwitchIo>(&mut self, now: Time, commit: &mut Commit, io: &mut I) -> bool {
        match commit.phase {
            CommitPhase::Preparing if self.datapath.copy_groups() => false,
            CommitPhase::Preparing => {
                self.datapath.swap_groups();
                let prepared = self.prepare_some(now, commit, io);
                self.datapath.swap_groups();
                match prepared {
                    Ok(true) => self.let_see(now, commit, io),
                    Ok(false) => {}
                    Err(error) => {
                        self.datapath.undo_bundle();
                        commit.phase = CommitPhase::Undoing(error);
                    }
                }
                false
            }
            CommitPhase::Telling | CommitPhase::Undoing(_) if self.datapath.has_work() => {
                let (datapath, sink) = parts!(self, now, io);
                datapath.work(now, sink);
                false
            }
            CommitPhase::Telling => self.tell_some(now, commit, io),
            CommitPhase::Undoing(error) => {
                if let Some(error) = error {
                    self.tell_failure(commit, error, io);
                }
                true
            }
        }
    }

    /// Prepares the next messages of a bundle, or goes on with what the last one began. Returns
    /// true if all is prepared.
    ///
    /// Errors: the message's that failed; none if the connection ended.
    fn prepare_some<I: SwitchIo>(
        &mut self,
        now: Time,
        commit: &mut Commit,
        io: &mut I,
    ) -> Result<bool, Option<ErrorCode>> {
        if !self.connections.contains_key(&commit.conn) {
            return Err(None);
        }
        if self.datapath.has_work() {
            let (datapath, sink) = parts!(self, now, io);
            datapath.work(now, sink).unwrap_or(Ok(()))?;
            return Ok(false);
        }
        for _ in 0..MESSAGES_PER_SLICE {
            let Some((_, message)) = commit.bundle.messages.get(commit.prepared) else {
                return Ok(true);
            };
            commit.prepared += 1;
            self.prepare(now, commit.conn, message, io)?;
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
            if flow_mod.buffer_id != BufferId::NO_BUFFER && !flow_mod.deletes() {
                let buffers = &self.channel(conn).buffers;
                buffers.check(now, flow_mod.buffer_id)?;
            }
            let (datapath, sink) = parts!(self, now, io);
            datapath.flow_mod(now, flow_mod, sink)
        } else if let Message::GroupMod(group_mod) = message {
            let (datapath, sink) = parts!(self, now, io);
            datapath.stage_group_mod(now, group_mod, sink)
        } else if let Message::MeterMod(meter_mod) = message {
            let (datapath, sink) = parts!(self, now, io);
            datapath.stage_meter_mod(now, meter_mod, sink)
        } else if let Message::PortMod(port_mod) = message {
            self.check_port_mod(port_mod, io)
        } else if let Message::PacketOut(out) = message {
            self.check_packet_out(now, conn, out)
        } else {
            Err(BundleFailed::MSG_UNSUP)
        }
    }

    /// Lets packets see what was prepared.
    fn let_see<I: SwitchIo>(&mut self, now: Time, commit: &mut Commit, io: &mut I) {
        self.datapath.commit_bundle(now);
        for place in &commit.bundle.port_mods {
            if let Some((_, message)) = commit.bundle.messages.get(*place)
                && let Message::PortMod(port_mod) = &**message
            {
                self.change_port(now, port_mod, io);
            }
        }
        commit.phase = CommitPhase::Telling;
    }

    /// Does for the next messages of a bundle what follows a change, and in the end sends the
    /// reply. Returns true if that was all.
    fn tell_some<I: SwitchIo>(&mut self, now: Time, commit: &mut Commit, io: &mut I) -> bool {
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

    /// Does what follows a change that a message made: hooks and other controllers are told, and
    /// packets go on their way. One that was held and is given up meanwhile is lost.
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
        if flow_mod.buffer_id == BufferId::NO_BUFFER || flow_mod.deletes() {
            return;
        }
        let buffers = &mut self.channel(conn).buffers;
        if let Ok(packet) = buffers.take(now, flow_mod.buffer_id) {
            let (datapath, sink) = parts!(self, now, io);
            datapath.packet_out(now, packet, &[Action::output(PortNo::TABLE)], sink);
        }
    }

    /// Sends the error of the message that failed, and that of the commit.
    fn tell_failure<I: SwitchIo>(&mut self, commit: &Commit, error: ErrorCode, io: &mut I) {
        let conn = commit.conn;
        let Some(connection) = self.connections.get(&conn) else {
            return;
        };
        let failed = commit.prepared.checked_sub(1);
        if let Some((xid, message)) = failed.and_then(|place| commit.bundle.messages.get(place)) {
            let catalogue = self.datapath.catalogue().clone();
            let codec = Codec::new(connection.version, catalogue);
            let mut bytes = Vec::new();
            // What has no words in its version is quoted without any.
            let _ = codec.encode(*xid, message, &mut bytes);
            io.refused(conn, *xid, message, error);
            io.send(conn, *xid, Message::Error(ErrorMsg::quoting(error, &bytes)));
        }
        let failed = ErrorMsg::quoting(BundleFailed::MSG_FAILED, &commit.head);
        io.send(conn, commit.xid, Message::Error(failed));
    }
}
