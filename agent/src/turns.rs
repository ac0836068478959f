//! What messages and reads need of the tables: whether they are handled between the slices of a
//! change.
//!
//! A message that is let through although it needs the tables would see or make half a change; one
//! that is held back needlessly makes its controller wait for another's, up to seconds. Messages
//! have no wildcard arm, so a new one does not compile before its needs are stated.

use bofuss_datapath::Datapath;
use bofuss_datapath::engine::FrameEngine;
use bofuss_oflib::Message;
use bofuss_oflib::message::BundleControl;
use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags};
use bofuss_oflib::message::multipart::{ExtBody, RequestBody};

/// What a message needs of the tables, groups and meters.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing that a change in progress touches, or no more than a packet.
    Nothing,
    /// It reads them, and must see one state from its first part to its last. The flag: also how
    /// many entries use a group or a meter, which changes while a bundle is still prepared.
    OneState(bool),
    /// It changes them, and waits for its turn.
    Turn,
}

impl Needs {
    /// The needs of a message, whatever change is in progress. That a connection's own messages
    /// keep their order is not looked at here: see [`crate::change::Change::lets_pass`].
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
            // A packet-out needs what a packet needs, and sees what packets see.
            | Message::PacketOut(_)
            | Message::MultipartReply(_)
            // A barrier concerns its own connection's messages alone, and waits for these anyway.
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
            // It is only collected; the commit changes something.
            | Message::BundleAdd(_) => Self::Nothing,
        }
    }

    /// Only a commit at once changes anything now. One at a stated time is accepted, and takes its
    /// turn when the time comes.
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
            // The most that a read can need, so a new one may wait too long, but shows one state.
            // GROUP and METER, and a new multipart.
            _ => Self::OneState(true),
        }
    }

    /// Returns true if the change in progress leaves alone what is needed.
    pub(crate) fn are_met(self, datapath: &Datapath<impl FrameEngine>) -> bool {
        match self {
            Self::Nothing => true,
            Self::OneState(with_uses) => datapath.changes().show_one_state(with_uses),
            Self::Turn => false,
        }
    }
}
