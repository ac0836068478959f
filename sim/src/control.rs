//! Controllers and their control links: what is in transit in each direction, and its arrival.

use std::collections::VecDeque;

use bofuss_datapath::Time;
use bofuss_embed::ConnId;
use bofuss_oflib::Version;

use crate::controller::{ControlData, Controller, ControllerOutput};
use crate::event_queue::{Due, Turn};
use crate::link::NodeId;
use crate::network::{Network, NodeKind};
use crate::observer::{ControllerId, EventKind, Observer};

/// The control link of a switch and a controller, with its connection while that is up.
///
/// Link `i` has the directions `2 * i` to the controller and `2 * i + 1` to the switch.
pub(crate) struct ControlLink {
    pub(crate) switch: NodeId,
    pub(crate) controller: ControllerId,
    delay_ns: u64,
    version: Version,
    /// The switch's number of the connection, while that is up.
    conn: Option<ConnId>,
    to_controller: VecDeque<(Turn, ControlData)>,
    to_switch: VecDeque<(Turn, ControlData)>,
}

impl ControlLink {
    pub(crate) fn new(
        switch: NodeId,
        controller: ControllerId,
        delay_ns: u64,
        version: Version,
    ) -> Self {
        Self {
            switch,
            controller,
            delay_ns,
            version,
            conn: None,
            to_controller: VecDeque::new(),
            to_switch: VecDeque::new(),
        }
    }

    fn direction(&mut self, to_switch: bool) -> &mut VecDeque<(Turn, ControlData)> {
        if to_switch {
            &mut self.to_switch
        } else {
            &mut self.to_controller
        }
    }
}

/// A controller, and when its next tick is scheduled.
pub(crate) struct ControllerSlot {
    controller: Box<dyn Controller>,
    tick_at: Time,
}

impl ControllerSlot {
    pub(crate) fn new(controller: Box<dyn Controller>) -> Self {
        Self {
            controller,
            tick_at: Time::NEVER,
        }
    }
}

impl Network {
    pub(crate) fn control_link(&self, switch: NodeId, controller: ControllerId) -> Option<usize> {
        let mut links = self.control_links.iter();
        links.position(|link| link.switch == switch && link.controller == controller)
    }

    pub(crate) fn connect(
        &mut self,
        switch: NodeId,
        controller: ControllerId,
        observer: &mut dyn Observer,
    ) {
        let place = self.control_link(switch, controller);
        let link = &mut self.control_links[place.expect("it was checked when it was planned")];
        if link.conn.is_some() {
            return;
        }
        let NodeKind::Switch(node) = &mut self.nodes[switch.0 as usize].kind else {
            return;
        };
        let takes_bytes = self.controllers[controller.0 as usize]
            .controller
            .takes_bytes();
        link.conn = Some(if takes_bytes {
            node.switch.connect(true)
        } else {
            node.switch.connect_typed(self.now, link.version)
        });
        self.report(EventKind::Connected(switch, controller), observer);
        self.with_controller(controller, observer, |controller, now, out| {
            controller.connected(now, switch, out);
        });
        self.serve_switch(switch, observer);
    }

    pub(crate) fn disconnect(
        &mut self,
        switch: NodeId,
        controller: ControllerId,
        observer: &mut dyn Observer,
    ) {
        let Some(place) = self.control_link(switch, controller) else {
            return;
        };
        let link = &mut self.control_links[place];
        let Some(conn) = link.conn.take() else { return };
        link.to_controller.clear();
        link.to_switch.clear();
        if let NodeKind::Switch(node) = &mut self.nodes[switch.0 as usize].kind {
            node.disconnect(self.now, conn);
        }
        self.report(EventKind::Disconnected(switch, controller), observer);
        self.with_controller(controller, observer, |controller, now, out| {
            controller.disconnected(now, switch, out);
        });
        self.serve_switch(switch, observer);
    }

    /// Follows a switch that has ended a connection.
    pub(crate) fn closed(&mut self, switch: NodeId, conn: ConnId, observer: &mut dyn Observer) {
        if let Some(place) = self.place_of(switch, conn) {
            let controller = self.control_links[place].controller;
            self.disconnect(switch, controller, observer);
        }
    }

    fn place_of(&self, switch: NodeId, conn: ConnId) -> Option<usize> {
        let mut links = self.control_links.iter();
        links.position(|link| link.switch == switch && link.conn == Some(conn))
    }

    /// Sends something from a switch on a connection.
    pub(crate) fn send_to_controller(&mut self, switch: NodeId, conn: ConnId, data: ControlData) {
        if let Some(place) = self.place_of(switch, conn) {
            self.send_control(place, false, data);
        }
    }

    fn send_control(&mut self, place: usize, to_switch: bool, data: ControlData) {
        let link = &mut self.control_links[place];
        let turn = self.events.turn(self.now.after(link.delay_ns));
        let direction = link.direction(to_switch);
        direction.push_back((turn, data));
        if direction.len() == 1 {
            let direction = 2 * place as u32 + u32::from(to_switch);
            self.events.push(turn, Due::Control { direction });
        }
    }

    pub(crate) fn control_arrival(
        &mut self,
        turn: Turn,
        direction: u32,
        observer: &mut dyn Observer,
    ) {
        let link = &mut self.control_links[direction as usize / 2];
        let to_switch = direction % 2 == 1;
        let switch = link.switch;
        let controller = link.controller;
        let Some(conn) = link.conn else { return };
        let waiting = link.direction(to_switch);
        if waiting.front().is_none_or(|(first, _)| *first != turn) {
            // What had this turn was lost when an earlier connection ended.
            return;
        }
        let Some((_, data)) = waiting.pop_front() else {
            return;
        };
        if let Some(&(next, _)) = waiting.front() {
            self.events.push(next, Due::Control { direction });
        }
        if to_switch {
            self.report(EventKind::ToSwitch(switch, controller, &data), observer);
            if let NodeKind::Switch(node) = &mut self.nodes[switch.0 as usize].kind {
                node.control(self.now, conn, data);
            }
            self.serve_switch(switch, observer);
        } else {
            self.report(EventKind::ToController(switch, controller, &data), observer);
            self.with_controller(controller, observer, |controller, now, out| match data {
                ControlData::Message(xid, message) => {
                    controller.message(now, switch, xid, message, out);
                }
                ControlData::Bytes(bytes) => controller.bytes(now, switch, &bytes, out),
            });
        }
    }

    pub(crate) fn controller_tick(&mut self, id: ControllerId, observer: &mut dyn Observer) {
        let slot = &mut self.controllers[id.0 as usize];
        if slot.tick_at > self.now {
            return;
        }
        slot.tick_at = Time::NEVER;
        self.with_controller(id, observer, |controller, now, out| {
            controller.tick(now, out)
        });
    }

    /// Calls a controller, and carries out what it asks for.
    fn with_controller(
        &mut self,
        id: ControllerId,
        observer: &mut dyn Observer,
        call: impl FnOnce(&mut dyn Controller, Time, &mut ControllerOutput),
    ) {
        let mut out = ControllerOutput::default();
        let slot = &mut self.controllers[id.0 as usize];
        call(&mut *slot.controller, self.now, &mut out);
        let next = slot.controller.next_tick().map(|next| next.max(self.now));
        if let Some(next) = next.filter(|next| *next < slot.tick_at) {
            slot.tick_at = next;
            let due = Due::ControllerTick { controller: id.0 };
            self.events.schedule(next, due);
        }
        self.failure = self.failure.take().or(out.failure);
        for report in &out.reports {
            self.report(EventKind::Controller(id, report), observer);
        }
        for (switch, data) in out.sent {
            if let Some(place) = self.control_link(switch, id)
                && self.control_links[place].conn.is_some()
            {
                self.send_control(place, true, data);
            }
        }
    }
}
