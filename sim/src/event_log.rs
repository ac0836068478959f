//! The event log: one JSON object a line.

use std::sync::Arc;

use bofuss_frame::{Frame, Pool};
use bofuss_oflib::{Catalogue, PortNo};
use bofuss_packet::Packet;
use serde_json::{Map, Value, json};

use crate::controller::ControlData;
use crate::host::{Fact, HostReport};
use crate::link::{LinkState, NodeId};
use crate::network::Network;
use crate::observer::{ControllerId, EventKind, LinkDirection, LinkId, LogEvent};
use crate::statistics::NetworkNames;

/// Bytes of the pool for the copy of the frame that is described.
const POOL_BYTES: usize = 1 << 18;

/// Writes events as lines of text.
///
/// Each event has `n`, its number; `t`, its time in nanoseconds; and `event`, what happened. An
/// event of a frame also has `link`, `from`, `to`, `bytes`, and `packet`, which is its fields as a
/// match. One between a switch and a controller has `switch` and `controller`, and for what is sent
/// `xid` and `message`, or `bytes`. A report of a host or a controller has its name and its facts.
pub struct EventLog {
    nodes: Vec<String>,
    /// The name and the ends of each link.
    links: Vec<(String, NodeId, NodeId)>,
    controllers: Vec<String>,
    catalogue: Arc<Catalogue>,
    pool: Pool,
}

impl EventLog {
    /// Makes the log of a network whose parts have these names.
    pub fn new(network: &Network, names: &NetworkNames, catalogue: Arc<Catalogue>) -> Self {
        let nodes = (0..network.node_count()).map(|node| network.name(NodeId(node)).into());
        let mut links = Vec::new();
        for (name, number) in names.links.iter().zip(0..) {
            let (first, second) = network.ends(LinkId(number));
            links.push((name.clone(), first.node, second.node));
        }
        Self {
            nodes: nodes.collect(),
            links,
            controllers: names.controllers.clone(),
            catalogue,
            pool: Pool::new(POOL_BYTES),
        }
    }

    /// Writes an event as a line that ends with a newline.
    pub fn line(&self, event: &LogEvent<'_>) -> String {
        let mut line = Map::new();
        line.insert("n".into(), event.number.into());
        line.insert("t".into(), event.at.0.into());
        match event.kind {
            EventKind::Sent(direction, frame) => self.frame(&mut line, "sent", direction, frame),
            EventKind::Arrived(direction, frame) => {
                self.frame(&mut line, "arrived", direction, frame);
            }
            EventKind::Dropped(direction, reason, frame) => {
                self.frame(&mut line, "dropped", direction, frame);
                line.insert("reason".into(), reason.name().into());
            }
            EventKind::Link(link, state) => {
                line.insert("event".into(), "link".into());
                line.insert("link".into(), self.links[link.0 as usize].0.clone().into());
                line.insert("state".into(), state_name(state).into());
            }
            EventKind::Connected(switch, controller) => {
                self.connection(&mut line, "connected", switch, controller);
            }
            EventKind::Disconnected(switch, controller) => {
                self.connection(&mut line, "disconnected", switch, controller);
            }
            EventKind::ToSwitch(switch, controller, data) => {
                self.connection(&mut line, "to_switch", switch, controller);
                describe(&mut line, data);
            }
            EventKind::ToController(switch, controller, data) => {
                self.connection(&mut line, "to_controller", switch, controller);
                describe(&mut line, data);
            }
            EventKind::Host(host, report) => {
                line.insert("event".into(), report.what.into());
                line.insert("host".into(), self.node(host).into());
                facts(&mut line, report);
            }
            EventKind::Controller(controller, report) => {
                line.insert("event".into(), report.what.into());
                let name = &self.controllers[controller.0 as usize];
                line.insert("controller".into(), name.clone().into());
                facts(&mut line, report);
            }
        }
        let mut text = Value::Object(line).to_string();
        text.push('\n');
        text
    }

    fn node(&self, node: NodeId) -> &str {
        &self.nodes[node.0 as usize]
    }

    fn frame(
        &self,
        line: &mut Map<String, Value>,
        what: &str,
        direction: LinkDirection,
        frame: &Frame,
    ) {
        let (link, first, second) = &self.links[direction.link.0 as usize];
        let (from, to) = if direction.back {
            (second, first)
        } else {
            (first, second)
        };
        line.insert("event".into(), what.into());
        line.insert("link".into(), link.clone().into());
        line.insert("from".into(), self.node(*from).into());
        line.insert("to".into(), self.node(*to).into());
        line.insert("bytes".into(), frame.len().into());
        line.insert("packet".into(), self.fields(frame).into());
    }

    /// The fields of a frame, without the ingress port.
    fn fields(&self, frame: &Frame) -> String {
        let Some(copy) = self.pool.frame(frame.bytes()) else {
            return String::new();
        };
        let packet = Packet::with_additions(copy, PortNo(0), self.catalogue.additions());
        let fields = packet.key().to_match(&self.catalogue).to_string();
        let shown = fields
            .split(',')
            .filter(|field| !field.starts_with("in_port="));
        shown.collect::<Vec<_>>().join(",")
    }

    fn connection(
        &self,
        line: &mut Map<String, Value>,
        what: &str,
        switch: NodeId,
        controller: ControllerId,
    ) {
        line.insert("event".into(), what.into());
        line.insert("switch".into(), self.node(switch).into());
        let name = &self.controllers[controller.0 as usize];
        line.insert("controller".into(), name.clone().into());
    }
}

fn describe(line: &mut Map<String, Value>, data: &ControlData) {
    match data {
        ControlData::Message(xid, message) => {
            line.insert("xid".into(), (*xid).into());
            line.insert("message".into(), message.to_string().into());
        }
        ControlData::Bytes(bytes) => {
            line.insert("bytes".into(), bytes.len().into());
        }
    }
}

fn facts(line: &mut Map<String, Value>, report: &HostReport) {
    for (name, fact) in &report.facts {
        let value = match fact {
            Fact::Number(number) => json!(number),
            Fact::Text(text) => json!(text),
        };
        line.insert((*name).into(), value);
    }
}

/// A link's state in logs.
pub(crate) fn state_name(state: LinkState) -> &'static str {
    match state {
        LinkState::Up => "up",
        LinkState::Down => "down",
        LinkState::Silent => "silent",
    }
}
