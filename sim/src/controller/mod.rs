//! The interface of controllers. In: messages or bytes, and the time. Out: messages or bytes.

mod graph;
mod learning;
mod paths;
mod rules;

use bofuss_datapath::Time;
use bofuss_oflib::Message;
use bofuss_oflib::message::ErrorMsg;

use crate::host::{Fact, HostReport};
use crate::link::NodeId;

pub use graph::{PathChoice, PathGraph};
pub use learning::LearningController;
pub use paths::PathsController;
pub use rules::RulesController;

/// A controller of any number of switches. These calls are its only input.
///
/// It has to be deterministic, so that equal calls have equal effects: it takes the time and random
/// numbers from nowhere else.
pub trait Controller {
    /// Returns true if it receives and sends bytes, HELLO included, instead of messages.
    fn takes_bytes(&self) -> bool {
        false
    }
    /// Called when a switch has connected. If the controller takes messages, there is no HELLO.
    fn connected(&mut self, _now: Time, _switch: NodeId, _out: &mut ControllerOutput) {}
    /// Called when the connection of a switch was closed.
    fn disconnected(&mut self, _now: Time, _switch: NodeId, _out: &mut ControllerOutput) {}
    /// Called for a message of a switch, unless the controller takes bytes.
    fn message(
        &mut self,
        _now: Time,
        _switch: NodeId,
        _xid: u32,
        _message: Message,
        _out: &mut ControllerOutput,
    ) {
    }
    /// Called for bytes of a switch, which are whole messages, if the controller takes bytes.
    fn bytes(&mut self, _now: Time, _switch: NodeId, _bytes: &[u8], _out: &mut ControllerOutput) {}
    /// Called at the time of [`Controller::next_tick`], or later. A call may also find nothing due.
    fn tick(&mut self, _now: Time, _out: &mut ControllerOutput) {}
    /// Returns when [`Controller::tick`] has to be called next; asked after each call of the other
    /// methods.
    fn next_tick(&self) -> Option<Time> {
        None
    }
}

/// The data that is sent on a control link.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlData {
    /// A message with its transaction id.
    Message(u32, Message),
    /// Bytes: whole messages if for a controller, cut anywhere if for a switch.
    Bytes(Vec<u8>),
}

/// The outputs of a controller, in order.
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

    /// Adds a report to the event log.
    pub fn report(&mut self, report: HostReport) {
        self.reports.push(report);
    }

    /// Ends the run with an error, because the controller cannot continue; `why` is its text.
    pub fn fail(&mut self, why: impl Into<String>) {
        self.failure = Some(why.into());
    }
}

/// Reports an ERROR that answers the message with this transaction id.
fn report_error(xid: u32, error: &ErrorMsg, out: &mut ControllerOutput) {
    let text = format!("{:?}", error.error);
    out.report(HostReport {
        what: "refused",
        facts: vec![
            ("message", Fact::Number(xid.into())),
            ("error", Fact::Text(text)),
        ],
    });
}
