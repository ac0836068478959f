//! Without the feature `peers`, controllers learn nothing of each other: see `controllers.rs`.

use alloc::vec::Vec;

use bofuss_oflib::error::BadRequest;
use bofuss_oflib::message::ControllerStatus;
use bofuss_oflib::message::controller_status::ControllerStatusReason;
use bofuss_oflib::{ErrorCode, Message};

use crate::connection::Connection;
use crate::connections::Connections;
use crate::deliver::SwitchSink;
use crate::io::SwitchIo;
use crate::request::ConnId;

/// The end of a controller's main connection.
pub(crate) struct Ended;

impl Connection {
    /// Sends nothing.
    pub(crate) fn report_late_controller<I: SwitchIo>(&mut self, _: ConnId, _: &mut I) {}
}

/// Sets nothing.
pub(crate) fn set_peer(_: &mut Connections, _: ConnId, _: &str) {}

/// Stores nothing.
pub(crate) fn note_status(_: &mut Connections, _: ConnId, _: &Ended) {}

/// Stores nothing.
pub(crate) fn note_change(_: &mut Connections, _: ConnId, _: ControllerStatusReason) {}

/// Returns `None` for an auxiliary connection, or for one that is not there.
pub(crate) fn ended_status(connections: &Connections, conn: ConnId) -> Option<Ended> {
    let ended = connections.by_id.get(&conn)?;
    (ended.auxiliary_id == 0).then_some(Ended)
}

/// Sends nothing.
pub(crate) fn report_controllers<I: SwitchIo>(_: &mut Connections, _: &mut I) {}

/// Errors: BAD_REQUEST/BAD_MULTIPART.
pub(crate) fn controller_statuses(_: &Connections) -> Result<Vec<ControllerStatus>, ErrorCode> {
    Err(BadRequest::BAD_MULTIPART)
}

/// Sends nothing.
pub(crate) fn notify_demoted<I: SwitchIo>(_: &Connections, _: &[ConnId], _: &mut I) {}

/// Forwards nothing.
pub(crate) fn forward_request<I: SwitchIo>(
    _: &mut SwitchSink<'_, I>,
    _: ConnId,
    _: u32,
    _: &Message,
) {
}
