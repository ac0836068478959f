//! Controller roles. Spec: OpenFlow 1.3.5 sections 6.3.5 and 7.3.9.
//!
//! A role belongs to a channel: auxiliary connections have that of their main connection. A switch
//! has at most one master, which this file ensures, and any number of slaves and equals.

use alloc::vec::Vec;

use bofuss_datapath::Datapath;
use bofuss_datapath::engine::FrameEngine;
use bofuss_oflib::error::RoleRequestFailed;
use bofuss_oflib::message::controller_status::ControllerStatusReason;
use bofuss_oflib::message::multipart::{ExtBody, RequestBody};
use bofuss_oflib::message::{ControllerRole, Role};
use bofuss_oflib::{ErrorCode, Message};

use crate::connections::Connections;
use crate::controllers::{note_change, notify_demoted, report_controllers};
use crate::io::SwitchIo;
use crate::request::ConnId;

/// Changes a channel's role and short id. A new master makes the old one a slave; the old one
/// and the other controllers are informed. Choice: a short id of 0 leaves it unchanged.
///
/// Errors: ROLE_REQUEST_FAILED with ID_IN_USE for the short id of another channel, and with
/// STALE for a generation id older than the last.
pub(crate) fn change_role<I: SwitchIo>(
    connections: &mut Connections,
    conn: ConnId,
    asked: &Role,
    io: &mut I,
) -> Result<Role, ErrorCode> {
    // Roles that controllers agree on among themselves, and so have a generation.
    let elected = asked.role == ControllerRole::MASTER || asked.role == ControllerRole::SLAVE;
    let channel = connections.channel(conn);
    // From here on, the main connection stands for whichever has asked.
    let conn = channel.main;
    let before = (channel.role, channel.short_id);
    let version = channel.version;
    let short_id = match asked.short_id {
        0 => channel.short_id,
        other => other,
    };
    // All checks come before the first change, also of the generation id.
    for (id, other) in &connections.by_id {
        if *id != conn && short_id != 0 && other.short_id == short_id {
            return Err(RoleRequestFailed::ID_IN_USE);
        }
    }
    if elected && version.roles_have_generations() {
        // A signed difference, so that the numbers may wrap. Spec: section 6.3.5.
        let is_old = |last| (asked.generation_id.wrapping_sub(last) as i64) < 0;
        if connections.generation_id.is_some_and(is_old) {
            return Err(RoleRequestFailed::STALE);
        }
        connections.generation_id = Some(asked.generation_id);
    }
    let mut role = before.0;
    if asked.role != ControllerRole::NOCHANGE {
        role = asked.role;
    }
    let mut demoted = Vec::new();
    for (id, other) in &mut connections.by_id {
        if *id == conn {
            other.role = role;
            other.short_id = short_id;
        } else if asked.role == ControllerRole::MASTER && other.role == ControllerRole::MASTER {
            other.role = ControllerRole::SLAVE;
            demoted.push(*id);
        }
    }
    notify_demoted(connections, &demoted, io);
    for id in demoted {
        note_change(connections, id, ControllerStatusReason::ROLE);
    }
    // One status for both changes: it has the new short id in any case.
    if role != before.0 {
        note_change(connections, conn, ControllerStatusReason::ROLE);
    } else if short_id != before.1 {
        note_change(connections, conn, ControllerStatusReason::SHORT_ID);
    }
    report_controllers(connections, io);
    // All ones stand for a generation id that no controller has set.
    Ok(Role {
        role,
        generation_id: connections.generation_id.unwrap_or(u64::MAX),
        short_id,
    })
}

/// Returns true if a slave is refused this message with IS_SLAVE: it would change the switch or
/// send a packet. What concerns only the slave's own connection, such as the messages that it
/// wants, and all reads are allowed. Spec: OpenFlow 1.3.5 section 6.3.5.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "multipart requests ask, but for those that are named"
)]
pub(crate) fn is_for_masters(datapath: &Datapath<impl FrameEngine>, message: &Message) -> bool {
    match message {
        Message::PacketOut(_)
        | Message::FlowMod(_)
        | Message::GroupMod(_)
        | Message::PortMod(_)
        | Message::TableMod(_)
        | Message::MeterMod(_)
        | Message::BundleControl(_)
        | Message::BundleAdd(_) => true,
        Message::MultipartRequest(request) => match &request.body {
            RequestBody::TableFeatures(wanted) => !wanted.is_empty(),
            RequestBody::Experimenter(ExtBody(value)) => value.row.changes,
            // All others only read, so a new multipart needs no arm here.
            _ => false,
        },
        // `miss_send_len` is the connection's own and changes nothing for others.
        Message::SetConfig(config) => config.flags != datapath.fragments(),
        // The specification does not know these; a row says whether the message changes the
        // switch.
        Message::Experimenter(value) => value.row.changes,
        Message::Hello(_)
        | Message::Error(_)
        | Message::EchoRequest(_)
        | Message::EchoReply(_)
        | Message::FeaturesRequest(_)
        | Message::FeaturesReply(_)
        | Message::GetConfigRequest(_)
        | Message::GetConfigReply(_)
        | Message::PacketIn(_)
        | Message::FlowRemoved(_)
        | Message::PortStatus(_)
        | Message::MultipartReply(_)
        | Message::BarrierRequest(_)
        | Message::BarrierReply(_)
        | Message::QueueGetConfigRequest(_)
        | Message::QueueGetConfigReply(_)
        | Message::RoleRequest(_)
        | Message::RoleReply(_)
        | Message::GetAsyncRequest(_)
        | Message::GetAsyncReply(_)
        | Message::SetAsync(_)
        | Message::RoleStatus(_)
        | Message::TableStatus(_)
        | Message::RequestForward(_)
        | Message::ControllerStatus(_) => false,
    }
}
