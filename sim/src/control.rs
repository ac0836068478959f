//! Controllers and their control links, with what is in transit in each direction.

use std::collections::VecDeque;

use bofuss_datapath::Time;
use bofuss_embed::ConnId;
use bofuss_oflib::Version;

use crate::controller::{ControlData, Controller};
use crate::event_queue::{Due, EventQueue, Turn};
use crate::link::NodeId;
use crate::observer::ControllerId;

/// The controllers of a network and their control links.
#[derive(Default)]
pub(crate) struct ControlPlane {
    pub(crate) controllers: Vec<ControllerSlot>,
    /// Link `i` has the directions `2 * i` to the controller and `2 * i + 1` to the switch.
    pub(crate) links: Vec<ControlLink>,
}

/// The control link of a switch and a controller, with its connection while that is up.
pub(crate) struct ControlLink {
    pub(crate) switch: NodeId,
    pub(crate) controller: ControllerId,
    delay_ns: u64,
    pub(crate) version: Version,
    /// The switch's number of the connection, while that is up.
    pub(crate) conn: Option<ConnId>,
    pub(crate) to_controller: VecDeque<(Turn, ControlData)>,
    pub(crate) to_switch: VecDeque<(Turn, ControlData)>,
}

impl ControlLink {
    pub(crate) fn direction(&mut self, to_switch: bool) -> &mut VecDeque<(Turn, ControlData)> {
        if to_switch {
            &mut self.to_switch
        } else {
            &mut self.to_controller
        }
    }
}

/// A controller, and when its next tick is scheduled.
pub(crate) struct ControllerSlot {
    pub(crate) controller: Box<dyn Controller>,
    pub(crate) tick_at: Time,
}

impl ControlPlane {
    /// Adds a controller without switches.
    pub(crate) fn add_controller(&mut self, controller: Box<dyn Controller>) -> ControllerId {
        self.controllers.push(ControllerSlot {
            controller,
            tick_at: Time::NEVER,
        });
        ControllerId(self.controllers.len() as u32 - 1)
    }

    /// Adds a link on which everything takes `delay_ns`. Returns false if there is no such
    /// controller.
    pub(crate) fn add_link(
        &mut self,
        switch: NodeId,
        controller: ControllerId,
        delay_ns: u64,
        version: Version,
    ) -> bool {
        let exists = (controller.0 as usize) < self.controllers.len();
        if exists {
            self.links.push(ControlLink {
                switch,
                controller,
                delay_ns,
                version,
                conn: None,
                to_controller: VecDeque::new(),
                to_switch: VecDeque::new(),
            });
        }
        exists
    }

    /// The number of the link between a switch and a controller.
    pub(crate) fn link(&self, switch: NodeId, controller: ControllerId) -> Option<usize> {
        let mut links = self.links.iter();
        links.position(|link| link.switch == switch && link.controller == controller)
    }

    /// The number of the link that has a switch's connection.
    pub(crate) fn link_of(&self, switch: NodeId, conn: ConnId) -> Option<usize> {
        let mut links = self.links.iter();
        links.position(|link| link.switch == switch && link.conn == Some(conn))
    }

    /// Sends something from a switch on a connection.
    pub(crate) fn send_to_controller(
        &mut self,
        now: Time,
        (switch, conn): (NodeId, ConnId),
        data: ControlData,
        events: &mut EventQueue,
    ) {
        if let Some(link) = self.link_of(switch, conn) {
            self.send(now, link, false, data, events);
        }
    }

    /// Sends something on a link.
    pub(crate) fn send(
        &mut self,
        now: Time,
        number: usize,
        to_switch: bool,
        data: ControlData,
        events: &mut EventQueue,
    ) {
        let link = &mut self.links[number];
        let turn = events.turn(now.after(link.delay_ns));
        let direction = link.direction(to_switch);
        direction.push_back((turn, data));
        if direction.len() == 1 {
            let direction = 2 * number as u32 + u32::from(to_switch);
            events.push(turn, Due::Control { direction });
        }
    }
}
