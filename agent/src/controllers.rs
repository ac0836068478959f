//! What controllers learn of each other: ROLE_STATUS, REQUESTFORWARD, and CONTROLLER_STATUS about
//! connections, roles and short ids. Spec: OpenFlow 1.4.1 sections 7.4.4 and 7.4.6, OpenFlow 1.5.1
//! sections 6.3.5, 7.3.5.20 and 7.4.8.
//!
//! Without the feature `peers`, `no_controllers.rs` takes the place of this file.
//!
//! Choice: each main connection counts as a controller for as long as it lasts. If a controller
//! does not read, only the newest status of each other controller waits for it, and none of a
//! controller that connected and disconnected meanwhile. So at most one status waits for each
//! connection that exists now or existed when it stopped reading.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use bofuss_oflib::message::controller_status::{ChannelStatus, ControllerStatusReason, Uri};
use bofuss_oflib::message::request_forward::RequestForwardReason;
use bofuss_oflib::message::role::RoleStatusReason;
use bofuss_oflib::message::{ControllerStatus, RequestForward, RoleStatus};
use bofuss_oflib::{ErrorCode, Message};

use crate::connection::Connection;
use crate::connections::Connections;
use crate::deliver::{SwitchSink, UNASKED};
use crate::io::SwitchIo;
use crate::request::ConnId;

impl Connection {
    /// The status of its controller, which is up: [`ended_status`] makes the last one.
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

    /// Returns true if it wants statuses of other controllers with this reason.
    fn wants_status(&self, reason: ControllerStatusReason) -> bool {
        let wants = self.wants(
            |a| (a.controller_status, a.controller_status_slave),
            reason.0,
        );
        self.version.has_stat_lists() && wants
    }

    /// Stores the newest status of another controller until it can be sent. One that waits to be
    /// announced as connected is either announced with its newest state, or never mentioned if it
    /// has ended.
    fn note_controller(&mut self, of: ConnId, mut status: ControllerStatus) {
        // The older status is removed even if the newer one is not wanted: it would be wrong.
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

    /// Sends one waiting status of another controller, if there is room: a thousand controllers
    /// that come at once have a million to be told of each other, and packets pass in between.
    pub(crate) fn report_late_controller<I: SwitchIo>(&mut self, id: ConnId, io: &mut I) {
        if !io.has_room(id) {
            return;
        }
        if let Some((_, status)) = self.late_controllers.pop_first() {
            io.send(id, UNASKED, Message::ControllerStatus(status));
        }
    }
}

/// Sets the address of a connection's peer, also in the statuses that wait: a connection is
/// announced before its address is known.
pub(crate) fn set_peer(connections: &mut Connections, conn: ConnId, uri: &str) {
    let uri = Some(Uri(String::from(uri)));
    if let Some(connection) = connections.by_id.get_mut(&conn) {
        connection.uri = uri.clone();
    }
    for other in connections.by_id.values_mut() {
        if let Some(status) = other.late_controllers.get_mut(&conn) {
            status.uri = uri.clone();
        }
    }
}

/// Stores the status of a connection's controller for all other controllers that want it. Nothing
/// is sent here, so a call costs the same whoever reads.
pub(crate) fn note_status(connections: &mut Connections, of: ConnId, status: &ControllerStatus) {
    for (id, other) in &mut connections.by_id {
        if *id != of {
            other.note_controller(of, status.clone());
        }
    }
}

/// Stores, for all other controllers, that a connection opened or that its controller changed.
pub(crate) fn note_change(
    connections: &mut Connections,
    of: ConnId,
    reason: ControllerStatusReason,
) {
    if let Some(connection) = connections.by_id.get(&of) {
        let status = connection.status(reason);
        note_status(connections, of, &status);
    }
}

/// The last status of the controller of a connection that closes; `None` for an auxiliary one.
pub(crate) fn ended_status(connections: &Connections, conn: ConnId) -> Option<ControllerStatus> {
    let ended = connections.by_id.get(&conn)?;
    let status = ended.status(ControllerStatusReason::CHANNEL_STATUS);
    (ended.auxiliary_id == 0).then_some(ControllerStatus {
        channel_status: ChannelStatus::DOWN,
        ..status
    })
}

/// Sends a waiting status to every connection that has room, one to each; the rest waits for the
/// next turn.
pub(crate) fn report_controllers<I: SwitchIo>(connections: &mut Connections, io: &mut I) {
    for (id, connection) in &mut connections.by_id {
        connection.report_late_controller(*id, io);
    }
}

/// The status of every controller, the one that asks included. Spec: OpenFlow 1.5.1 section
/// 7.3.5.20.
///
/// Errors: none; without the feature `peers`, BAD_REQUEST/BAD_MULTIPART.
pub(crate) fn controller_statuses(
    connections: &Connections,
) -> Result<Vec<ControllerStatus>, ErrorCode> {
    let mains = connections.by_id.values().filter(|c| c.auxiliary_id == 0);
    let statuses = mains.map(|main| main.status(ControllerStatusReason::REQUEST));
    Ok(statuses.collect())
}

/// Sends ROLE_STATUS to former masters, because another controller has become master. They are
/// slaves already, so their masks for slaves decide. Spec: OpenFlow 1.4.1 section 7.4.4.
pub(crate) fn notify_demoted<I: SwitchIo>(
    connections: &Connections,
    demoted: &[ConnId],
    io: &mut I,
) {
    let reason = RoleStatusReason::MASTER_REQUEST;
    for id in demoted {
        let conn = &connections.by_id[id];
        let wants = conn.wants(|a| (a.role_status, a.role_status_slave), reason.0);
        if !conn.version.has_bundles() || !wants {
            continue;
        }
        let status = RoleStatus {
            role: conn.role,
            reason,
            generation_id: connections.generation_id.unwrap_or(u64::MAX),
            ..RoleStatus::default()
        };
        io.send(*id, UNASKED, Message::RoleStatus(status));
    }
}

/// Forwards a request that changed groups or meters to the other controllers that want it, with the
/// transaction id that its sender gave it, also if the sender's connection has closed meanwhile.
/// Other messages are not forwarded. Spec: OpenFlow 1.4.1 section 7.4.6.
pub(crate) fn forward_request<I: SwitchIo>(
    sink: &mut SwitchSink<'_, I>,
    from: ConnId,
    xid: u32,
    request: &Message,
) {
    let reason = if matches!(request, Message::GroupMod(_)) {
        RequestForwardReason::GROUP_MOD
    } else if matches!(request, Message::MeterMod(_)) {
        RequestForwardReason::METER_MOD
    } else {
        return;
    };
    // An auxiliary connection is of the same controller as its main one.
    let sender = sink.connections.by_id.get(&from);
    let from = sender.map_or(from, |sender| sender.main);
    for (id, conn) in &sink.connections.by_id {
        let wants = conn.wants(|a| (a.request_forward, a.request_forward_slave), reason.0);
        if *id == from || !conn.version.has_bundles() || !wants {
            continue;
        }
        let forward = RequestForward {
            xid,
            request: Box::new(request.clone()),
        };
        sink.io.send(*id, UNASKED, Message::RequestForward(forward));
    }
}
