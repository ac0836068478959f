//! Long changes and the messages of others: which are handled between the slices of a change, and
//! which reads a change waits for, so that each read shows one state.

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Datapath, Time};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags};
use bofuss_oflib::message::multipart::{ExtBody, RequestBody};
use bofuss_oflib::message::{BundleControl, ErrorMsg};
use bofuss_oflib::{ErrorCode, Message};

use crate::dump::Dump;
use crate::request::ConnId;
use crate::switch::{Switch, SwitchIo};

/// How long a change waits for reads that began before it. A full table is listed in less.
const MAX_WAIT_NS: u64 = Time::SEC;
/// A change does not wait longer than this for the next part of a reply: its controller does not
/// read.
const MAX_PART_NS: u64 = Time::SEC / 10;
/// What ends a read that a change did not wait for.
const READ_ENDED: ErrorCode = BadRequest::MULTIPART_REPLY_TIMEOUT;

/// What a message needs of the tables, groups and meters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing that a change in progress touches, or no more than a packet.
    Nothing,
    /// It reads them. The flag: also how many entries use a group or a meter.
    OneState(bool),
    /// It changes them, and waits for its turn.
    Turn,
}

impl Needs {
    /// What a message needs.
    pub(crate) fn of(message: &Message) -> Self {
        match message {
            Message::FlowMod(_)
            | Message::GroupMod(_)
            | Message::PortMod(_)
            | Message::TableMod(_)
            | Message::MeterMod(_) => Self::Turn,
            Message::BundleControl(control) => Self::of_bundle_control(control),
            Message::Experimenter(value) if value.row.changes => Self::Turn,
            Message::MultipartRequest(request) => Self::of_multipart(&request.body),
            Message::Hello(_)
            | Message::Error(_)
            | Message::EchoRequest(_)
            | Message::EchoReply(_)
            | Message::Experimenter(_)
            | Message::FeaturesRequest(_)
            | Message::FeaturesReply(_)
            | Message::GetConfigRequest(_)
            | Message::GetConfigReply(_)
            | Message::SetConfig(_)
            | Message::PacketIn(_)
            | Message::FlowRemoved(_)
            | Message::PortStatus(_)
            | Message::PacketOut(_)
            | Message::MultipartReply(_)
            | Message::BarrierRequest(_)
            | Message::BarrierReply(_)
            | Message::QueueGetConfigRequest(_)
            | Message::QueueGetConfigReply(_)
            | Message::RoleRequest(_)
            | Message::RoleReply(_)
            | Message::GetAsyncRequest(_)
            | Message::GetAsyncReply(_)
            | Message::SetAsync(_)
            | Message::RoleStatus(_)
            | Message::TableStatus(_)
            | Message::RequestForward(_)
            | Message::ControllerStatus(_)
            | Message::BundleAdd(_) => Self::Nothing,
        }
    }

    /// Only a commit at once changes anything now.
    fn of_bundle_control(control: &BundleControl) -> Self {
        let commits = control.ty == BundleControlType::COMMIT_REQUEST;
        if commits && !control.flags.has(BundleFlags::TIME) {
            Self::Turn
        } else {
            Self::Nothing
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a new multipart is right without an arm"
    )]
    fn of_multipart(body: &RequestBody) -> Self {
        match body {
            RequestBody::TableFeatures(wanted) if !wanted.is_empty() => Self::Turn,
            RequestBody::Experimenter(ExtBody(value)) if value.row.changes => Self::Turn,
            // A monitor begins with a state and reports all changes after it.
            RequestBody::FlowMonitor(_) => Self::Turn,
            RequestBody::Flow(_)
            | RequestBody::Aggregate(_)
            | RequestBody::FlowCounters(_)
            | RequestBody::Table(_)
            | RequestBody::TableDesc(_)
            | RequestBody::GroupDesc(_)
            | RequestBody::MeterConfig(_) => Self::OneState(false),
            RequestBody::Desc(_)
            | RequestBody::PortStats(_)
            | RequestBody::Queue(_)
            | RequestBody::GroupFeatures(_)
            | RequestBody::MeterFeatures(_)
            | RequestBody::TableFeatures(_)
            | RequestBody::PortDesc(_)
            | RequestBody::QueueDesc(_)
            | RequestBody::BundleFeatures(_)
            | RequestBody::ControllerStatus(_)
            | RequestBody::Experimenter(_) => Self::Nothing,
            // GROUP and METER, and a new multipart.
            _ => Self::OneState(true),
        }
    }

    /// Whether the change in progress leaves alone what is needed.
    pub(crate) fn are_met(self, datapath: &Datapath<impl FrameEngine>) -> bool {
        match self {
            Self::Nothing => true,
            Self::OneState(with_uses) => datapath.shows_one_state(with_uses),
            Self::Turn => false,
        }
    }
}

impl<E: FrameEngine> Switch<E> {
    /// Whether a message of a connection may be passed to [`Switch::message`] now: the connection's
    /// previous message is complete and it has room for a reply, and the message does not depend on
    /// the change in progress.
    pub fn takes<I: SwitchIo>(&self, conn: ConnId, message: Option<&Message>, io: &I) -> bool {
        let is_busy = self
            .connections
            .get(&conn)
            .is_some_and(|connection| connection.dump.is_some());
        !is_busy && io.has_room(conn) && self.may_pass(conn, message)
    }

    /// Whether a message may be handled before the change in progress is complete. `None` is one
    /// that could not be decoded.
    pub(crate) fn may_pass(&self, conn: ConnId, message: Option<&Message>) -> bool {
        if !self.is_changing() {
            return true;
        }
        let is_met = message.is_none_or(|message| Needs::of(message).are_met(&self.datapath));
        is_met && !self.is_changed_by(conn, message)
    }

    /// Whether the change in progress is of a connection whose next message waits for it. A
    /// scheduled commit was accepted long before, so only messages about bundles wait.
    fn is_changed_by(&self, conn: ConnId, message: Option<&Message>) -> bool {
        if let Some(commit) = &self.commit {
            let is_about_bundles = matches!(
                message,
                Some(Message::BundleControl(_) | Message::BundleAdd(_))
            );
            return commit.origin().conn == conn && (!commit.is_scheduled() || is_about_bundles);
        }
        let pending = self.pending.as_ref();
        pending.is_some_and(|pending| pending.conn == conn)
    }

    /// Until when the change in progress waits for reads that began before it, and that its next
    /// slice would change; `None` if there are none.
    pub(crate) fn waits_for_reads_until(&self) -> Option<Time> {
        let connections = self.connections.values();
        let dumps = connections.filter_map(|connection| connection.dump.as_ref());
        let torn = dumps.filter(|dump| !dump.needs().are_met(&self.datapath));
        let last = torn.map(|dump| dump.continued.after(MAX_PART_NS)).max()?;
        let most = self
            .held_since
            .map_or(last, |since| since.after(MAX_WAIT_NS));
        Some(last.min(most))
    }

    /// Whether the change in progress waits for reads. Ends those that it no longer waits for.
    pub(crate) fn waits_for_reads<I: SwitchIo>(&mut self, now: Time, io: &mut I) -> bool {
        match self.waits_for_reads_until() {
            Some(until) if now < until => {
                self.held_since.get_or_insert(now);
                return true;
            }
            Some(_) => self.end_reads(io),
            None => {}
        }
        self.held_since = None;
        false
    }

    /// Does one slice of the change in progress, which waits neither for its time nor for reads.
    pub(crate) fn hurry<I: SwitchIo>(&mut self, now: Time, io: &mut I) {
        self.stop_waiting();
        self.end_reads(io);
        self.go_on(now, io);
    }

    /// Ends the reads that the next slice of the change would tear, with an error.
    fn end_reads<I: SwitchIo>(&mut self, io: &mut I) {
        for (conn, connection) in &mut self.connections {
            let torn = |dump: &mut Dump| !dump.needs().are_met(&self.datapath);
            if let Some(dump) = connection.dump.take_if(torn) {
                let error = ErrorMsg::quoting(READ_ENDED, &[]);
                io.send(*conn, dump.xid, Message::Error(error));
            }
        }
    }
}
