//! What happens in a network, reported event by event.

use bofuss_datapath::Time;
use bofuss_ext::trace::Trace;
use bofuss_frame::Frame;

use crate::controller::ControlData;
use crate::host::HostReport;
use crate::link::{LinkDrop, LinkState, NodeId};

/// A number of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// A number of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ControllerId(pub u32);

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkDirection {
    /// The link.
    pub link: LinkId,
    /// Whether from its second end to its first.
    pub back: bool,
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub struct LogEvent<'a> {
    /// Its number, from 1: equal runs have equal numbers.
    pub number: u64,
    /// When it happened.
    pub at: Time,
    /// What happened.
    pub kind: EventKind<'a>,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum EventKind<'a> {
    /// A node gave a frame to a link, which took it.
    Sent(LinkDirection, &'a Frame),
    /// A frame arrived at the other end.
    Arrived(LinkDirection, &'a Frame),
    /// A link dropped a frame.
    Dropped(LinkDirection, LinkDrop, &'a Frame),
    /// A link came up or went down.
    Link(LinkId, LinkState),
    /// A switch connected to a controller.
    Connected(NodeId, ControllerId),
    /// A connection ended.
    Disconnected(NodeId, ControllerId),
    /// Something on a control channel arrived at the switch.
    ToSwitch(NodeId, ControllerId, &'a ControlData),
    /// Something on a control channel arrived at the controller.
    ToController(NodeId, ControllerId, &'a ControlData),
    /// A host has something to say.
    Host(NodeId, &'a HostReport),
    /// A controller has something to say.
    Controller(ControllerId, &'a HostReport),
}

/// Who is told of events.
pub trait Observer {
    /// An event happened.
    fn event(&mut self, event: &LogEvent<'_>);
    /// Whether to explain what the switch will do with the frame that arrived in this event.
    fn wants_trace(&mut self, _event: &LogEvent<'_>) -> bool {
        false
    }
    /// What a switch does with the frame of the event of this number, or why it cannot be reported.
    fn trace(&mut self, _number: u64, _trace: Result<Trace, String>) {}
}

/// Takes no notice.
impl Observer for () {
    fn event(&mut self, _: &LogEvent<'_>) {}
}
