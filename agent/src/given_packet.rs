//! Packets of a controller: sent as bytes or held for it, for a packet-out, a flow-mod or a trace.
//!
//! Bytes that a controller sends become a packet as received ones do, with the fields that the
//! switch supplies as they begin. A held packet goes on with its key as it was when the packet-in
//! was sent.

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Datapath, DropReason, Time};
use bofuss_oflib::error::{BadMatch, BadRequest};
use bofuss_oflib::field::{Field, IN_PHY_PORT, PACKET_TYPE};
use bofuss_oflib::message::{FlowMod, PacketOut};
use bofuss_oflib::types::{BufferId, TableId};
use bofuss_oflib::{Action, ErrorCode, FieldMatch, Match, PortNo};
use bofuss_packet::{Packet, packet_type};

use crate::connections::Connections;
use crate::deliver::SwitchSink;
use crate::io::SwitchIo;
use crate::request::{ConnId, HandlerResult, Outcome, buffer_of};

/// The values besides ports that the `in_port` of a packet-out may have. Choice: CONTROLLER, and
/// like Open vSwitch also 0 and ANY (NONE in 1.0); entries can match the number.
const NO_INGRESS: [PortNo; 3] = [PortNo(0), PortNo::ANY, PortNo::CONTROLLER];

/// Checks the bytes of a packet-out. Errors: BAD_MATCH/BAD_VALUE for a packet type that the switch
/// does not support, BAD_REQUEST/BAD_PACKET if there are no bytes, or they are not of the stated
/// type.
pub(crate) fn check_bytes(bytes: &[u8], fields: &Match) -> Result<(), ErrorCode> {
    let named = fields.get(PACKET_TYPE).map_or(0, FieldMatch::number) as u32;
    if packet_type::supported().all(|one| one != named) {
        return Err(BadMatch::BAD_VALUE);
    }
    // The front names the type that the bytes have; its last four bytes are that packet type.
    let is_of_type = match packet_type::front(bytes) {
        Some(front) => front.ends_with(&named.to_be_bytes()),
        None => false,
    };
    let is_right = fields.is_of_ethernet() || is_of_type;
    if bytes.is_empty() || !is_right {
        return Err(BadRequest::BAD_PACKET);
    }
    Ok(())
}

/// Makes a packet of bytes that a controller sent, as if they had arrived on `in_port`, which need
/// not exist; `None` if the pool is exhausted.
///
/// Errors: BAD_REQUEST/BAD_PACKET if there are no bytes, or if a packet without Ethernet is not IP.
pub(crate) fn packet_of(
    datapath: &Datapath<impl FrameEngine>,
    bytes: &[u8],
    in_port: PortNo,
    is_of_ethernet: bool,
) -> Result<Option<Packet>, ErrorCode> {
    if bytes.is_empty() {
        return Err(BadRequest::BAD_PACKET);
    }
    let additions = datapath.catalogue().additions();
    let pool = datapath.pool();
    if is_of_ethernet {
        let frame = pool.frame(bytes);
        return Ok(frame.map(|frame| Packet::with_additions(frame, in_port, additions)));
    }
    let front = packet_type::front(bytes).ok_or(BadRequest::BAD_PACKET)?;
    let frame = pool.frame(&[&front[..], bytes].concat());
    Ok(frame.map(|frame| Packet::without_ethernet(frame, in_port, additions)))
}

/// Executes a packet-out at once; it is never a change in slices. A held packet leaves its buffer,
/// also if the actions then drop it.
///
/// Errors: as for [`check_packet_out`]; then nothing is sent, and the packet stays held.
pub(crate) fn packet_out<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    conn: ConnId,
    out: &PacketOut,
) -> HandlerResult {
    check_packet_out(datapath, sink.connections, sink.now, conn, out)?;
    let mut packet = if out.buffer_id == BufferId::NO_BUFFER {
        let is_of_ethernet = out.fields.is_of_ethernet();
        let made = packet_of(datapath, &out.data.0, out.in_port, is_of_ethernet)?;
        let Some(packet) = made else {
            datapath.control(sink.now, sink).drop(DropReason::NoBuffer);
            return Ok(Outcome::Done);
        };
        packet
    } else {
        let channel = sink.connections.channel(conn);
        channel.buffers.take(sink.now, out.buffer_id)?
    };
    // The packet type is no field of the key, but says how the bytes were read.
    let given = out.fields.fields().iter();
    for one in given.filter(|one| one.field != PACKET_TYPE) {
        packet.key_mut().set(one.field, one.number());
    }
    datapath
        .control(sink.now, sink)
        .packet_out(packet, &out.actions);
    Ok(Outcome::Done)
}

/// Checks a packet-out without sending anything; a bundle does so long before it sends the packet,
/// and then a held packet may have expired.
///
/// Errors: BAD_REQUEST with BAD_PORT, BAD_PACKET, BUFFER_EMPTY or BUFFER_UNKNOWN; BAD_MATCH with
/// BAD_FIELD or BAD_VALUE; those of the actions.
pub(crate) fn check_packet_out(
    datapath: &Datapath<impl FrameEngine>,
    connections: &mut Connections,
    now: Time,
    conn: ConnId,
    out: &PacketOut,
) -> Result<(), ErrorCode> {
    let has_no_ingress = NO_INGRESS.contains(&out.in_port);
    if !has_no_ingress && !out.in_port.is_port() {
        return Err(BadRequest::BAD_PORT);
    }
    let mut fields = out.fields.fields().iter();
    if !fields.all(|one| may_be_given(one.field)) {
        return Err(BadMatch::BAD_FIELD);
    }
    // No match promises headers, so actions on headers that the packet lacks are accepted, and do
    // nothing.
    datapath.checker().actions(TableId(0), None, &out.actions)?;
    if out.buffer_id != BufferId::NO_BUFFER {
        connections.channel(conn).buffers.check(now, out.buffer_id)
    } else {
        check_bytes(&out.data.0, &out.fields)
    }
}

/// Has a buffered packet pass the tables again, from the first on, because a flow-mod names it and
/// is done: the same as a packet-out with an output to TABLE. Spec: OpenFlow 1.3.5 section 7.3.4.1.
///
/// The flow-mod was carried out, so it is no error if the packet has expired meanwhile or its
/// connection has closed: the packet is lost.
pub(crate) fn resubmit<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
    conn: ConnId,
    flow_mod: &FlowMod,
) {
    let buffer = buffer_of(flow_mod).filter(|_| sink.connections.has(conn));
    let taken = buffer.map(|id| {
        let channel = sink.connections.channel(conn);
        channel.buffers.take(sink.now, id)
    });
    if let Some(Ok(packet)) = taken {
        datapath
            .control(sink.now, sink)
            .packet_out(packet, &[Action::output(PortNo::TABLE)]);
    }
}

/// Returns true if the match of a packet-out may set this field, which is in no header. Choice: the
/// fields that entries may write, and IN_PHY_PORT; an extension's own state is excluded.
fn may_be_given(field: &Field) -> bool {
    field.is_copied_to() || [IN_PHY_PORT, PACKET_TYPE].contains(&field)
}
