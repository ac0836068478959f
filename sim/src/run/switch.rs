//! Carries out a switch's effects: frames on links, and messages to controllers.

use std::collections::BTreeSet;

use bofuss_embed::Effect;

use super::EventLoop;
use crate::controller::ControlData;
use crate::link::NodeId;
use crate::network::NodeKind;
use crate::switch_node::SwitchNode;

impl EventLoop<'_> {
    /// Carries out the effects of a switch, and lets it work, until nothing more can be done now.
    pub(super) fn serve_switch(&mut self, id: NodeId) {
        let mut sent = BTreeSet::new();
        loop {
            while let Some(effect) = self.switch_node(id).switch.next_effect() {
                match effect {
                    Effect::Transmit {
                        port, mut frame, ..
                    } => {
                        // A link is no tunnel.
                        frame.tunnel_id = 0;
                        if self.switch_node(id).is_paced(port) {
                            sent.insert(port);
                        }
                        self.transmit(id, port, frame);
                    }
                    Effect::Send { conn, bytes } => {
                        let data = ControlData::Bytes(bytes);
                        let now = self.network.now;
                        let from = (id, conn);
                        self.network.control.send_to_controller(
                            now,
                            from,
                            data,
                            &mut self.network.events,
                        );
                    }
                    Effect::Message { conn, xid, message } => {
                        let data = ControlData::Message(xid, message);
                        let now = self.network.now;
                        let from = (id, conn);
                        self.network.control.send_to_controller(
                            now,
                            from,
                            data,
                            &mut self.network.events,
                        );
                    }
                    Effect::Close { conn, .. } => self.closed(id, conn),
                    Effect::SetLink { port, up } => self.set_link(id, port, up),
                    // The event log has the ERROR that follows; simulated ports advertise nothing.
                    Effect::Advertise { .. }
                    | Effect::Unsent { .. }
                    | Effect::Refused { .. }
                    | _ => {}
                }
            }
            if let Some(port) = sent.pop_first() {
                self.pace(id, port);
                continue;
            }
            let now = self.network.now;
            if !self.switch_node(id).go_on(now) {
                break;
            }
        }
        self.network.schedule_tick(id);
    }

    fn switch_node(&mut self, id: NodeId) -> &mut SwitchNode {
        match &mut self.network.nodes[id.0 as usize].kind {
            NodeKind::Switch(node) => node,
            NodeKind::Host(_) | NodeKind::P4(_) => unreachable!("only switches are served"),
        }
    }
}
