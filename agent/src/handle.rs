//! One arm for each message that a controller may send.

use bofuss_datapath::Datapath;
use bofuss_datapath::engine::FrameEngine;
use bofuss_oflib::error::{AsyncConfigFailed, BadRequest, SwitchConfigFailed};
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::message::{AsyncConfig, ControllerRole, Empty, ErrorMsg, SwitchConfig};
use bofuss_oflib::{ErrorCode, ExtValue, Message};

use crate::bundles::{bundle_message, go_on_with_commit};
use crate::connection::Connection;
use crate::connections::Connections;
use crate::extensions::{extension_message, refusal};
use crate::features::features;
use crate::given_packet::packet_out;
use crate::io::SwitchIo;
use crate::mods::{flow_mod, follow_up, port_mod, progress, table_mod};
use crate::monitors::{Cause, begin_request, report_news};
use crate::multipart::multipart;
use crate::parts::Parts;
use crate::queues::queues;
use crate::request::{
    ConnId, HandlerResult, Origin, Outcome, Pending, Request, refuse_experimenters,
};
use crate::roles::{change_role, is_for_masters};
#[cfg(feature = "text")]
use crate::trace;

/// Handles a message and sends its reply or error; then reports its changes to monitors.
pub(crate) fn handle<E: FrameEngine, I: SwitchIo>(
    parts: &mut Parts<'_, E, I>,
    conn: ConnId,
    request: Request<'_>,
) {
    if !parts.change.goes_on(parts.datapath) {
        begin_request(parts.datapath, &mut parts.sink);
    }
    let Request { xid, head, message } = request;
    match message {
        Ok(message) => carry_out(parts, Origin { conn, xid, head }, message),
        Err(error) => parts.sink.io.send(conn, xid, Message::Error(error)),
    }
    let cause = cause(parts.sink.connections, conn, xid);
    report_news(parts.datapath, &mut parts.sink, cause);
}

/// The cause of changes that a connection's request makes.
fn cause(connections: &Connections, conn: ConnId, xid: u32) -> Cause {
    let conn = connections.by_id.get(&conn)?;
    Some((conn.main, xid))
}

fn carry_out<E: FrameEngine, I: SwitchIo>(
    parts: &mut Parts<'_, E, I>,
    from: Origin<'_>,
    message: Message,
) {
    match answer(parts, from, &message) {
        Ok(Outcome::Done) => conclude(parts, from, &message, Ok(())),
        Ok(Outcome::Reply(reply)) => parts.sink.io.send(from.conn, from.xid, reply),
        Ok(Outcome::GoesOn) => {
            parts.change.pending = Some(Pending {
                conn: from.conn,
                xid: from.xid,
                head: from.head.into(),
                message,
            });
        }
        Ok(Outcome::Begun) => {}
        #[cfg(feature = "bundles")]
        Ok(Outcome::Kept) => parts.bundles.add(from, message),
        Err(error) => conclude(parts, from, &message, Err(error)),
    }
}

/// Does one slice of the change in progress, if there is one, unless it waits for reads; then
/// reports it to monitors.
pub(crate) fn go_on<E: FrameEngine, I: SwitchIo>(parts: &mut Parts<'_, E, I>) {
    let sink = &mut parts.sink;
    if parts.change.waits_for_reads(parts.datapath, sink) {
        return;
    }
    let from = parts.change.origin();
    let cause = from.and_then(|from| cause(parts.sink.connections, from.conn, from.xid));
    match parts.change.commit.take() {
        Some(commit) => {
            if go_on_with_commit(parts, commit) {
                // The entry of the fail mode waits for the end of a commit.
                let connections = &*parts.sink.connections;
                let stand_in = &mut parts.stand_in;
                stand_in.follow(parts.sink.now, parts.datapath, connections, parts.change);
            }
        }
        None => go_on_with_change(parts),
    }
    report_news(parts.datapath, &mut parts.sink, cause);
}

/// Does one slice of the change in progress, which waits neither for its time nor for reads.
pub(crate) fn hurry<E: FrameEngine, I: SwitchIo>(parts: &mut Parts<'_, E, I>) {
    parts.change.stop_waiting(parts.datapath, &mut parts.sink);
    go_on(parts);
}

fn go_on_with_change<E: FrameEngine, I: SwitchIo>(parts: &mut Parts<'_, E, I>) {
    let sink = &mut parts.sink;
    let result = parts.datapath.control(sink.now, sink).work();
    let Some(result) = result else { return };
    if let Some(pending) = parts.change.pending.take() {
        conclude(parts, pending.origin(), &pending.message, result);
    }
}

/// Completes a message after its change, or sends the error, unless its connection has closed.
fn conclude<E: FrameEngine, I: SwitchIo>(
    parts: &mut Parts<'_, E, I>,
    from: Origin<'_>,
    message: &Message,
    result: Result<(), ErrorCode>,
) {
    let Parts { datapath, sink, .. } = parts;
    let Origin { conn, xid, head } = from;
    match result {
        Ok(()) => follow_up(datapath, sink, conn, xid, message),
        Err(error) if sink.connections.has(conn) => {
            let refusal = refusal(datapath, message, error);
            sink.io.refused(conn, xid, message, &refusal);
            let error = ErrorMsg::quoting(error, head);
            sink.io.send(conn, xid, Message::Error(error));
        }
        Err(_) => {}
    }
}

/// Errors: BAD_REQUEST/BAD_TYPE for a message that may not come over datagrams, IS_SLAVE for one
/// that a slave may not send.
fn check_sender(
    datapath: &Datapath<impl FrameEngine>,
    connections: &mut Connections,
    conn: ConnId,
    message: &Message,
) -> Result<(), ErrorCode> {
    if connections.by_id[&conn].datagrams && !may_be_lost(message) {
        return Err(BadRequest::BAD_TYPE);
    }
    let role = connections.channel(conn).role;
    if role == ControllerRole::SLAVE && is_for_masters(datapath, message) {
        return Err(BadRequest::IS_SLAVE);
    }
    Ok(())
}

fn answer<E: FrameEngine, I: SwitchIo>(
    parts: &mut Parts<'_, E, I>,
    from: Origin<'_>,
    message: &Message,
) -> HandlerResult {
    let Parts {
        datapath,
        identity,
        sink,
        ..
    } = &mut *parts;
    let Origin { conn, xid, .. } = from;
    check_sender(datapath, sink.connections, conn, message)?;
    let channel = sink.connections.channel(conn);
    let reply = match message {
        Message::EchoRequest(data) => Message::EchoReply(data.clone()),
        Message::Hello(_) | Message::Error(_) | Message::EchoReply(_) => {
            return Ok(Outcome::Done);
        }
        Message::Experimenter(value) => return experimenter(parts, conn, xid, value),
        Message::FeaturesRequest(_) => {
            let mut features = features(datapath, identity, &sink.connections.by_id[&conn]);
            if !sink.io.holds_packets() {
                features.n_buffers = 0;
            }
            Message::FeaturesReply(features)
        }
        Message::GetConfigRequest(_) => Message::GetConfigReply(switch_config(datapath, channel)),
        Message::SetConfig(config) => return set_config(datapath, channel, config),
        Message::PacketOut(out) => return packet_out(datapath, sink, conn, out),
        Message::FlowMod(request) => return flow_mod(datapath, sink, conn, request),
        Message::GroupMod(group_mod) => {
            datapath.control(sink.now, sink).group_mod(group_mod)?;
            return Ok(progress(datapath));
        }
        Message::PortMod(request) => return port_mod(datapath, sink, request),
        Message::TableMod(request) => return table_mod(datapath, sink, conn, request),
        Message::MultipartRequest(r) => return multipart(parts, conn, xid, &r.body),
        Message::BarrierRequest(_) => {
            sink.io.flush();
            Message::BarrierReply(Empty)
        }
        Message::QueueGetConfigRequest(request) => {
            Message::QueueGetConfigReply(queues(datapath, request)?)
        }
        Message::RoleRequest(asked) => {
            Message::RoleReply(change_role(sink.connections, conn, asked, sink.io)?)
        }
        Message::GetAsyncRequest(_) => Message::GetAsyncReply(channel.async_config.clone()),
        Message::SetAsync(config) => return set_async(channel, config),
        Message::MeterMod(meter_mod) => {
            datapath.control(sink.now, sink).meter_mod(meter_mod)?;
            return Ok(progress(datapath));
        }
        Message::BundleControl(_) | Message::BundleAdd(_) => {
            return bundle_message(parts, from, message);
        }
        Message::FeaturesReply(_)
        | Message::GetConfigReply(_)
        | Message::PacketIn(_)
        | Message::FlowRemoved(_)
        | Message::PortStatus(_)
        | Message::MultipartReply(_)
        | Message::BarrierReply(_)
        | Message::QueueGetConfigReply(_)
        | Message::RoleReply(_)
        | Message::GetAsyncReply(_)
        | Message::RoleStatus(_)
        | Message::TableStatus(_)
        | Message::RequestForward(_)
        | Message::ControllerStatus(_) => return Err(BadRequest::BAD_TYPE),
    };
    Ok(Outcome::Reply(reply))
}

/// Handles an experimenter message: our trace, BOFUSS's queue messages, or an extension's.
/// Errors: BAD_REQUEST/BAD_EXPERIMENTER.
fn experimenter<E: FrameEngine, I: SwitchIo>(
    parts: &mut Parts<'_, E, I>,
    conn: ConnId,
    xid: u32,
    value: &ExtValue,
) -> HandlerResult {
    let Parts { datapath, sink, .. } = parts;
    #[cfg(feature = "text")]
    if trace::asks(value) {
        let reply = Message::Experimenter(trace::trace(datapath, sink.now, value, 0)?);
        return Ok(Outcome::Reply(reply));
    }
    #[cfg(feature = "queue_messages")]
    if let Some(done) = crate::queues::queue_message(datapath, parts.identity, sink, value) {
        return done.map(|()| Outcome::Done);
    }
    extension_message(datapath, sink, conn, xid, value)?;
    Ok(if value.row.changes {
        progress(datapath)
    } else {
        Outcome::Done
    })
}

fn switch_config(datapath: &Datapath<impl FrameEngine>, channel: &Connection) -> SwitchConfig {
    let mut flags = datapath.fragments();
    if channel.version.config_asks_for_invalid_ttl() && channel.wants_invalid_ttl() {
        flags = flags | ConfigFlags::INVALID_TTL_TO_CONTROLLER;
    }
    SwitchConfig {
        flags,
        miss_send_len: channel.miss_send_len,
    }
}

fn set_config(
    datapath: &mut Datapath<impl FrameEngine>,
    channel: &mut Connection,
    config: &SwitchConfig,
) -> HandlerResult {
    let fragments = config.flags.without(ConfigFlags::INVALID_TTL_TO_CONTROLLER);
    let reassembles = fragments.has(ConfigFlags::FRAG_REASM);
    if fragments.0 > ConfigFlags::FRAG_REASM.0 || reassembles && !cfg!(feature = "reassembly") {
        return Err(SwitchConfigFailed::BAD_FLAGS);
    }
    datapath.set_fragments(fragments);
    channel.miss_send_len = config.miss_send_len;
    if channel.version.config_asks_for_invalid_ttl() {
        let wanted = config.flags.has(ConfigFlags::INVALID_TTL_TO_CONTROLLER);
        channel.want_invalid_ttl(wanted);
    }
    Ok(Outcome::Done)
}

/// Changes the masks that a controller names. Errors: ASYNC_CONFIG_FAILED/INVALID for a reason
/// that its version does not have, since 1.4; BAD_PROPERTY/BAD_EXPERIMENTER.
fn set_async(channel: &mut Connection, config: &AsyncConfig) -> HandlerResult {
    refuse_experimenters(&config.experimenters)?;
    refuse_experimenters(&config.experimenters_slave)?;
    if channel.version.has_bundles() && config.has_unknown_reasons() {
        return Err(AsyncConfigFailed::INVALID);
    }
    channel.async_config.change(config);
    Ok(Outcome::Done)
}

/// Returns true if a message may come over a connection whose transport may lose it. Spec: OpenFlow
/// 1.3.5 section 6.3.6.
fn may_be_lost(message: &Message) -> bool {
    matches!(
        message,
        Message::Hello(_)
            | Message::Error(_)
            | Message::EchoRequest(_)
            | Message::EchoReply(_)
            | Message::FeaturesRequest(_)
            | Message::PacketOut(_)
            | Message::Experimenter(_)
    )
}
