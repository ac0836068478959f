//! CONTROLLER_STATUS: controllers are told of each other's connections, roles and short ids. Spec:
//! OpenFlow 1.5.1 sections 6.3.5, 7.3.5.20 and 7.4.8.
//!
//! Choice: every connection but auxiliary ones is a controller's, as long as it lasts. Of each
//! other controller the newest status waits for one that does not read, and none of a controller
//! that came and went meanwhile: what waits is never more than there are connections, and were when
//! the reader stopped.

use alloc::string::String;
use alloc::vec::Vec;

use bofuss_oflib::Message;
use bofuss_oflib::message::ControllerStatus;
use bofuss_oflib::message::controller_status::{ChannelStatus, ControllerStatusReason, Uri};

use crate::connection::{ConnId, Connection};
use crate::deliver::UNASKED;
use crate::switch::{Switch, SwitchIo};

impl Connection {
    /// How its controller is.
    pub(crate) fn status(&self, reason: ControllerStatusReason) -> ControllerStatus {
        ControllerStatus {
            short_id: self.short_id,
            role: self.role,
            reason,
            channel_status: ChannelStatus::UP,
            uri: self.uri.clone(),
            experimenters: Vec::new(),
        }
    }

    /// Whether it is told of another controller for this reason.
    fn wants_status(&self, reason: ControllerStatusReason) -> bool {
        let wants = self.wants(
            |a| (a.controller_status, a.controller_status_slave),
            reason.0,
        );
        self.version.has_stat_lists() && wants
    }

    /// Notes how another controller is.
    fn note_controller(&mut self, of: ConnId, mut status: ControllerStatus) {
        let before = self.late_controllers.remove(&of);
        let is_news = before.is_some_and(|before| {
            before.reason == ControllerStatusReason::CHANNEL_STATUS
                && before.channel_status == ChannelStatus::UP
        });
        let has_ended = status.channel_status == ChannelStatus::DOWN;
        if !self.wants_status(status.reason) || is_news && has_ended {
            return;
        }
        if is_news {
            status.reason = ControllerStatusReason::CHANNEL_STATUS;
        }
        self.late_controllers.insert(of, status);
    }

    /// Sends what waits of other controllers, if there is room.
    pub(crate) fn tell_late_controllers<I: SwitchIo>(&mut self, id: ConnId, io: &mut I) {
        while io.has_room(id)
            && let Some((_, status)) = self.late_controllers.pop_first()
        {
            io.send(id, UNASKED, Message::ControllerStatus(status));
        }
    }
}

impl Switch {
    /// Says where the peer of a connection is, such as `tcp:192.0.2.1:6653`.
    pub fn set_peer(&mut self, conn: ConnId, uri: &str) {
        let uri = Some(Uri(String::from(uri)));
        if let Some(connection) = self.connections.get_mut(&conn) {
            connection.uri = uri.clone();
        }
        for other in self.connections.values_mut() {
            if let Some(status) = other.late_controllers.get_mut(&conn) {
                status.uri = uri.clone();
            }
        }
    }

    /// Notes for all other controllers that want it how that of a connection is.
    pub(crate) fn note_status(&mut self, of: ConnId, status: &ControllerStatus) {
        for (id, other) in &mut self.connections {
            if *id != of {
                other.note_controller(of, status.clone());
            }
        }
    }

    /// Notes that a connection came, or what of its controller changed.
    pub(crate) fn note_change(&mut self, of: ConnId, reason: ControllerStatusReason) {
        if let Some(connection) = self.connections.get(&of) {
            let status = connection.status(reason);
            self.note_status(of, &status);
        }
    }

    /// How the controller of a connection is that ends; none of an auxiliary one.
    pub(crate) fn ended_status(&self, conn: ConnId) -> Option<ControllerStatus> {
        let ended = self.connections.get(&conn)?;
        let status = ended.status(ControllerStatusReason::CHANNEL_STATUS);
        (ended.auxiliary_id == 0).then_some(ControllerStatus {
            channel_status: ChannelStatus::DOWN,
            ..status
        })
    }

    /// Tells of controllers whom there is room for.
    pub(crate) fn tell_controllers<I: SwitchIo>(&mut self, io: &mut I) {
        for (id, connection) in &mut self.connections {
            connection.tell_late_controllers(*id, io);
        }
    }

    /// How every controller is.
    pub(crate) fn controller_statuses(&self) -> Vec<ControllerStatus> {
        let mains = self.connections.values().filter(|c| c.auxiliary_id == 0);
        mains
            .map(|main| main.status(ControllerStatusReason::REQUEST))
            .collect()
    }
}
