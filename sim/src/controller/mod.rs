//! What a controller is to the network: messages or bytes and time in, messages or bytes out.

mod learning;
mod rules;

use bofuss_datapath::Time;
use bofuss_oflib::Message;

use crate::host::HostReport;
use crate::link::NodeId;

pub use learning::LearningController;
pub use rules::RulesController;

/// A controller of any number of switches. All that it knows of the world are these calls.
///
/// Equal calls have equal effects: a controller takes time and random numbers from nowhere else.
pub trait Controller {
    /// Whether it takes and sends bytes, HELLO and all, and no messages.
    fn takes_bytes(&self) -> bool {
        false
    }
    /// A switch has connected. Where messages have no bytes, nothing of it is a HELLO.
    fn connected(&mut self, _now: Time, _switch: NodeId, _out: &mut ControllerOutput) {}
    /// The connection of a switch is gone.
    fn disconnected(&mut self, _now: Time, _switch: NodeId, _out: &mut ControllerOutput) {}
    /// A message came from a switch.
    fn message(
        &mut self,
        _now: Time,
        _switch: NodeId,
        _xid: u32,
        _message: Message,
        _out: &mut ControllerOutput,
    ) {
    }
    /// Bytes came from a switch, whole messages; only if it takes bytes.
    fn bytes(&mut self, _now: Time, _switch: NodeId, _bytes: &[u8], _out: &mut ControllerOutput) {}
    /// The time of [`Controller::next_tick`] came. It may come late, and without need.
    fn tick(&mut self, _now: Time, _out: &mut ControllerOutput) {}
    /// When [`Controller::tick`] wants to be called next; asked after each call of other methods.
    fn next_tick(&self) -> Option<Time> {
        None
    }
}

/// What passes on a control channel.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlData {
    /// A message with its transaction id.
    Message(u32, Message),
    /// Bytes: whole messages towards a controller, cut anywhere towards a switch.
    Bytes(Vec<u8>),
}

/// What a controller does, in order.
#[derive(Debug, Default)]
pub struct ControllerOutput {
    pub(crate) sent: Vec<(NodeId, ControlData)>,
    pub(crate) reports: Vec<HostReport>,
    pub(crate) failure: Option<String>,
}

impl ControllerOutput {
    /// Sends a message to a switch.
    pub fn send(&mut self, switch: NodeId, xid: u32, message: Message) {
        self.sent.push((switch, ControlData::Message(xid, message)));
    }

    /// Sends bytes to a switch.
    pub fn send_bytes(&mut self, switch: NodeId, bytes: Vec<u8>) {
        self.sent.push((switch, ControlData::Bytes(bytes)));
    }

    /// Puts a line into the event log.
    pub fn report(&mut self, report: HostReport) {
        self.reports.push(report);
    }

    /// Ends the run with an error, in words: the controller cannot go on.
    pub fn fail(&mut self, why: impl Into<String>) {
        self.failure = Some(why.into());
    }
}
