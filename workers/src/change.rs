//! What changes a switch: all replicas get it in the same order.

use bofuss_agent::{ConnId, Request, SwitchIo};
use bofuss_datapath::{DispatchBy, Time, may_use_states};
use bofuss_ext::Switch;
use bofuss_frame::OffloadCapabilities;
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::message::bundle::BundleControlType;
use bofuss_oflib::message::multipart::{ExtBody, RequestBody};
use bofuss_oflib::{Message, PortNo, Version};

/// An input of a switch other than frames.
#[derive(Clone)]
pub(crate) enum Change {
    /// A port was added or changed.
    Port(Box<PortDesc>, OffloadCapabilities),
    /// A port was removed.
    PortGone(PortNo),
    /// A controller connected.
    Connected(ConnId, Version),
    /// A connection was closed.
    Disconnected(ConnId),
    /// A connection sent a message, with its transaction id.
    Message(ConnId, u32, Box<Message>),
    /// The next slice of a long change.
    Work,
    /// A timer is due.
    Tick,
    /// Frames are to be divided by this.
    DispatchBy(DispatchBy),
    /// A message of an extension that the leader has refused.
    Refused,
}

/// Which replicas need a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// The leader answers it or carries it out.
    Leader,
    /// The leader answers it from counters, which have to be complete.
    Counters,
    /// It changes what all have.
    All,
    /// It reads or changes states of flows, which the leader has to have, and maybe what all have.
    States,
}

impl Change {
    /// Which replicas need it, if the switch has egress tables or not.
    pub(crate) fn needs(&self, has_egress: bool) -> Needs {
        match self {
            Self::Message(_, _, message) => Needs::of(message, has_egress),
            Self::Port(..)
            | Self::PortGone(_)
            | Self::Connected(..)
            | Self::Disconnected(_)
            | Self::Work
            | Self::Tick
            | Self::DispatchBy(_)
            | Self::Refused => Needs::All,
        }
    }

    /// Returns true if all replicas have to stop for it, whatever is changed before it: a switch
    /// that has egress tables now may have none by then.
    pub(crate) fn stops_all(&self) -> bool {
        matches!(self.needs(false), Needs::All | Needs::States)
    }

    /// Returns true if followers need it, too.
    pub(crate) fn is_for_followers(&self) -> bool {
        let Self::Message(_, _, message) = self else {
            return !matches!(self, Self::Refused);
        };
        if let Message::MultipartRequest(request) = &**message
            && let RequestBody::Experimenter(ExtBody(value)) = &request.body
        {
            return value.row.changes;
        }
        !matches!(**message, Message::PacketOut(_))
    }

    /// Makes the change in one replica, as far as it can be done at once.
    pub(crate) fn make(self, now: Time, switch: &mut Switch, io: &mut impl SwitchIo) {
        match self {
            Self::Port(desc, capabilities) => {
                switch.ports(now, io, |ports| ports.changed(*desc, capabilities))
            }
            Self::PortGone(port) => switch.ports(now, io, |ports| ports.removed(port)),
            Self::Connected(conn, version) => switch.connected(now, conn, version, true),
            Self::Disconnected(conn) => switch.disconnected(now, conn),
            Self::Message(conn, xid, message) => {
                let request = Request {
                    xid,
                    head: &[],
                    message: Ok(*message),
                };
                switch.message(now, conn, request, io);
            }
            Self::Work => switch.work(now, io),
            Self::Tick => switch.tick(now, io),
            Self::DispatchBy(_) | Self::Refused => {}
        }
        while !switch.is_changing() && switch.has_work(io) {
            switch.work(now, io);
        }
    }
}

impl Needs {
    /// Which replicas need a message. Messages about connections are for all, because each replica
    /// writes the packet-ins of its packets.
    fn of(message: &Message, has_egress: bool) -> Self {
        match message {
            Message::MultipartRequest(request) => Self::of_multipart(&request.body),
            Message::FlowMod(_)
            | Message::GroupMod(_)
            | Message::PortMod(_)
            | Message::TableMod(_)
            | Message::MeterMod(_)
            | Message::BundleAdd(_)
            | Message::SetConfig(_)
            | Message::RoleRequest(_)
            | Message::SetAsync(_) => Self::All,
            Message::Experimenter(_) => Self::States,
            Message::BundleControl(control) => match control.ty {
                BundleControlType::COMMIT_REQUEST => Self::States,
                _ => Self::All,
            },
            Message::PacketOut(out) if has_egress || may_use_states(&out.actions) => Self::States,
            Message::Hello(_)
            | Message::Error(_)
            | Message::EchoRequest(_)
            | Message::EchoReply(_)
            | Message::FeaturesRequest(_)
            | Message::FeaturesReply(_)
            | Message::GetConfigRequest(_)
            | Message::GetConfigReply(_)
            | Message::PacketIn(_)
            | Message::FlowRemoved(_)
            | Message::PortStatus(_)
            | Message::PacketOut(_)
            | Message::MultipartReply(_)
            | Message::BarrierRequest(_)
            | Message::BarrierReply(_)
            | Message::QueueGetConfigRequest(_)
            | Message::QueueGetConfigReply(_)
            | Message::RoleReply(_)
            | Message::GetAsyncRequest(_)
            | Message::GetAsyncReply(_)
            | Message::RoleStatus(_)
            | Message::TableStatus(_)
            | Message::RequestForward(_)
            | Message::ControllerStatus(_) => Self::Leader,
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a new multipart is right without an arm if it is a read"
    )]
    fn of_multipart(body: &RequestBody) -> Self {
        match body {
            RequestBody::TableFeatures(wanted) if !wanted.is_empty() => Self::All,
            RequestBody::Experimenter(_) => Self::States,
            _ => Self::Counters,
        }
    }
}

#[cfg(test)]
mod tests {
    use bofuss_oflib::Match;
    use bofuss_oflib::message::{FlowMod, PacketOut};

    use super::*;

    #[test]
    fn nobody_stops_for_a_message_that_an_earlier_change_may_leave_to_the_leader() {
        let of = |message| Change::Message(ConnId(1), 1, Box::new(message));
        let out = of(Message::PacketOut(PacketOut::default()));
        assert_eq!(out.needs(true), Needs::States);
        assert!(!out.stops_all());
        let entry = FlowMod::add(Match::ANY);
        assert!(of(Message::FlowMod(entry)).stops_all());
    }
}
