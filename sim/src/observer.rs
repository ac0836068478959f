//! Reports what happens in a network, event by event.

use bofuss_datapath::Time;
use bofuss_embed::EmbedError;
use bofuss_frame::Frame;

use crate::controller::ControlData;
use crate::host::HostReport;
use crate::link::{LinkDrop, LinkState, NodeId};

/// The number of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// The number of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ControllerId(pub u32);

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkDirection {
    /// The link.
    pub link: LinkId,
    /// True if it leads from the second end to the first.
    pub back: bool,
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub struct LogEvent<'a> {
    /// Its number, from 1; the same in equal runs.
    pub number: u64,
    /// The time at which it happened.
    pub at: Time,
    /// The kind of an event.
    pub kind: EventKind<'a>,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug)]
pub enum EventKind<'a> {
    /// A link accepted a frame from a node.
    Sent(LinkDirection, &'a Frame),
    /// A frame arrived at the other end.
    Arrived(LinkDirection, &'a Frame),
    /// A link dropped a frame.
    Dropped(LinkDirection, LinkDrop, &'a Frame),
    /// A link changed its state.
    Link(LinkId, LinkState),
    /// A switch connected to a controller.
    Connected(NodeId, ControllerId),
    /// A connection ended.
    Disconnected(NodeId, ControllerId),
    /// Something on a control channel arrived at the switch.
    ToSwitch(NodeId, ControllerId, &'a ControlData),
    /// Something on a control channel arrived at the controller.
    ToController(NodeId, ControllerId, &'a ControlData),
    /// A host reports something.
    Host(NodeId, &'a HostReport),
    /// A controller reports something.
    Controller(ControllerId, &'a HostReport),
}

/// Events between two calls of [`Observer::goes_on`].
pub(crate) const ASKED_EACH: u64 = 4096;

/// Receives the events of a network.
pub trait Observer {
    /// Called for each event, in order.
    fn event(&mut self, event: &LogEvent<'_>);
    /// Returns true if the frame that arrived at a switch in this event is to be traced. It is
    /// called before the switch handles the frame.
    fn wants_trace(&mut self, _event: &LogEvent<'_>) -> bool {
        false
    }
    /// Takes the trace of the frame in the event with this number, as lines, or why it cannot be
    /// traced.
    fn trace(&mut self, _number: u64, _trace: Result<String, EmbedError>) {}
    /// Called now and then, at least once in some thousand events, with the time and the number of
    /// events so far. Returns false to end the run there.
    fn goes_on(&mut self, _now: Time, _events: u64) -> bool {
        true
    }
}

/// Ignores all events.
impl Observer for () {
    fn event(&mut self, _: &LogEvent<'_>) {}
}
