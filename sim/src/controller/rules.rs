//! A controller that sends each switch its messages when it connects, and nothing else.

use std::collections::BTreeMap;

use bofuss_datapath::Time;
use bofuss_oflib::Message;

use super::{Controller, ControllerOutput, report_error};
use crate::link::NodeId;

/// Static rules: the messages of each switch, which are sent each time that it connects. An ERROR
/// that answers one is reported.
#[derive(Debug, Default)]
pub struct RulesController {
    messages: BTreeMap<NodeId, Vec<Message>>,
}

impl RulesController {
    /// Adds messages for a switch, after those that it already has.
    pub fn add(&mut self, switch: NodeId, messages: Vec<Message>) {
        self.messages.entry(switch).or_default().extend(messages);
    }
}

impl Controller for RulesController {
    fn connected(&mut self, _: Time, switch: NodeId, out: &mut ControllerOutput) {
        let messages = self.messages.get(&switch).into_iter().flatten();
        for (message, xid) in messages.zip(1..) {
            out.send(switch, xid, message.clone());
        }
    }

    fn message(
        &mut self,
        _: Time,
        _: NodeId,
        xid: u32,
        message: Message,
        out: &mut ControllerOutput,
    ) {
        if let Message::Error(error) = message {
            report_error(xid, &error, out);
        }
    }
}
