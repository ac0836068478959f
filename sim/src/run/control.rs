//! Carries out events of controllers: connections begin and end, messages arrive, ticks.

use bofuss_datapath::Time;
use bofuss_embed::ConnId;

use super::EventLoop;
use crate::controller::{ControlData, Controller, ControllerOutput};
use crate::event_queue::{Due, Turn};
use crate::link::NodeId;
use crate::network::NodeKind;
use crate::observer::{ControllerId, EventKind};

impl EventLoop<'_> {
    pub(super) fn connect(&mut self, switch: NodeId, controller: ControllerId) {
        let place = self.network.control.link(switch, controller);
        let link =
            &mut self.network.control.links[place.expect("it was checked when it was planned")];
        if link.conn.is_some() {
            return;
        }
        let NodeKind::Switch(node) = &mut self.network.nodes[switch.0 as usize].kind else {
            return;
        };
        let takes_bytes = self.network.control.controllers[controller.0 as usize]
            .controller
            .takes_bytes();
        link.conn = Some(if takes_bytes {
            node.switch.connect(true)
        } else {
            node.switch.connect_typed(self.network.now, link.version)
        });
        self.report(EventKind::Connected(switch, controller));
        self.with_controller(controller, |controller, now, out| {
            controller.connected(now, switch, out);
        });
        self.serve_switch(switch);
    }

    pub(super) fn disconnect(&mut self, switch: NodeId, controller: ControllerId) {
        let Some(place) = self.network.control.link(switch, controller) else {
            return;
        };
        let link = &mut self.network.control.links[place];
        let Some(conn) = link.conn.take() else { return };
        link.to_controller.clear();
        link.to_switch.clear();
        if let NodeKind::Switch(node) = &mut self.network.nodes[switch.0 as usize].kind {
            node.disconnect(self.network.now, conn);
        }
        self.report(EventKind::Disconnected(switch, controller));
        self.with_controller(controller, |controller, now, out| {
            controller.disconnected(now, switch, out);
        });
        self.serve_switch(switch);
    }

    /// Follows a switch that has ended a connection.
    pub(super) fn closed(&mut self, switch: NodeId, conn: ConnId) {
        if let Some(place) = self.network.control.link_of(switch, conn) {
            let controller = self.network.control.links[place].controller;
            self.disconnect(switch, controller);
        }
    }

    pub(super) fn control_arrival(&mut self, turn: Turn, direction: u32) {
        let link = &mut self.network.control.links[direction as usize / 2];
        let to_switch = direction % 2 == 1;
        let switch = link.switch;
        let controller = link.controller;
        let Some(conn) = link.conn else { return };
        let waiting = link.direction(to_switch);
        if waiting.front().is_none_or(|(first, _)| *first != turn) {
            // The data of this turn were lost when an earlier connection ended.
            return;
        }
        let Some((_, data)) = waiting.pop_front() else {
            return;
        };
        if let Some(&(next, _)) = waiting.front() {
            self.network.events.push(next, Due::Control { direction });
        }
        if to_switch {
            self.report(EventKind::ToSwitch(switch, controller, &data));
            if let NodeKind::Switch(node) = &mut self.network.nodes[switch.0 as usize].kind {
                node.control(self.network.now, conn, data);
            }
            self.serve_switch(switch);
        } else {
            self.report(EventKind::ToController(switch, controller, &data));
            self.with_controller(controller, |controller, now, out| match data {
                ControlData::Message(xid, message) => {
                    controller.message(now, switch, xid, message, out);
                }
                ControlData::Bytes(bytes) => controller.bytes(now, switch, &bytes, out),
            });
        }
    }

    pub(super) fn controller_tick(&mut self, id: ControllerId) {
        let slot = &mut self.network.control.controllers[id.0 as usize];
        if slot.tick_at > self.network.now {
            return;
        }
        slot.tick_at = Time::NEVER;
        self.with_controller(id, |controller, now, out| controller.tick(now, out));
    }

    /// Calls a controller, and carries out what it asks for.
    fn with_controller(
        &mut self,
        id: ControllerId,
        call: impl FnOnce(&mut dyn Controller, Time, &mut ControllerOutput),
    ) {
        let mut out = ControllerOutput::default();
        let slot = &mut self.network.control.controllers[id.0 as usize];
        call(&mut *slot.controller, self.network.now, &mut out);
        let next = slot
            .controller
            .next_tick()
            .map(|next| next.max(self.network.now));
        if let Some(next) = next.filter(|next| *next < slot.tick_at) {
            slot.tick_at = next;
            let due = Due::ControllerTick { controller: id.0 };
            self.network.events.schedule(next, due);
        }
        self.network.failure = self.network.failure.take().or(out.failure);
        for report in &out.reports {
            self.report(EventKind::Controller(id, report));
        }
        for (switch, data) in out.sent {
            if let Some(place) = self.network.control.link(switch, id)
                && self.network.control.links[place].conn.is_some()
            {
                let now = self.network.now;
                self.network
                    .control
                    .send(now, place, true, data, &mut self.network.events);
            }
        }
    }
}
