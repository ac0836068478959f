//! Asynchronous messages: packet-ins, flow-removed, port status and the like, sent to each
//! connection that wants them.
//!
//! A message is made for each connection anew, because masks, reasons and forms depend on its
//! version and role. Without room for it, packet-ins, notifications and triggered statistics are
//! dropped and counted; of a port's changes the newest waits. All else is queued nevertheless: a
//! controller cannot find out later what it has missed, and the one that does not read is closed in
//! the end.

use bofuss_datapath::engine::FrameEngine;
use bofuss_datapath::{Datapath, PacketInEvent, Sink, Step, Time};
use bofuss_frame::Frame;
use bofuss_oflib::field::{ACTSET_OUTPUT, IN_PORT, METADATA, PACKET_TYPE, TUNNEL_ID};
#[cfg(feature = "triggers")]
use bofuss_oflib::message::multipart::{FlowCounters, MultipartReply, ReplyBody};
use bofuss_oflib::message::port::PortFeatures;
use bofuss_oflib::message::{
    FlowRemoved, PacketIn, PacketInReason, PortDesc, PortStatus, PortStatusReason,
};
use bofuss_oflib::registers::REGISTERS;
use bofuss_oflib::types::{BufferId, MaxLen, QueueId};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{ExtValue, FieldMatch, Match, Message, PortNo, Version};
use bofuss_packet::Packet;

use crate::connection::Connection;
use crate::connections::Connections;
use crate::io::SwitchIo;
use crate::request::ConnId;

/// The most bytes of a packet that a packet-in carries: a message has at most 65,535 including its
/// headers.
const MAX_DATA_BYTES: usize = 65_000;
/// The transaction id of asynchronous messages.
pub(crate) const UNASKED: u32 = 0;

/// The datapath's sink: passes frames to the ports, and events to the connections that want them.
/// It lives for one call of the switch.
pub struct SwitchSink<'a, I> {
    /// The time of the call, which all that it causes has.
    pub(crate) now: Time,
    /// The receivers of events; `io` knows which of them have room.
    pub(crate) connections: &'a mut Connections,
    /// The program that runs the switch.
    pub(crate) io: &'a mut I,
}

impl<I: SwitchIo> Sink for SwitchSink<'_, I> {
    const TRACES: bool = I::TRACES;
    fn transmit(&mut self, port: PortNo, queue: QueueId, frame: Frame) {
        self.io.transmit(port, queue, frame);
    }
    fn has_room(&self, port: PortNo) -> bool {
        self.io.port_takes_frames(port)
    }
    fn wants_misses(&self) -> bool {
        // Since 1.3 such a packet is dropped, so the packet-in is made only for older versions.
        let mut versions = self.connections.by_id.values().map(|conn| conn.version);
        versions.any(Version::miss_goes_to_controller)
    }

    /// Sends a packet-in to each connection that wants it. A packet without an Ethernet header is
    /// sent only in versions that have packet types: in others its first bytes would be taken for
    /// addresses.
    fn packet_in(&mut self, event: &PacketInEvent<'_>) {
        let is_of_ethernet = event.packet.key().is_of_ethernet();
        for conn in self.connections.by_id.values_mut() {
            let reason = reason(event, conn.version);
            // The mask has a bit for each reason as the version knows it.
            let wants = conn.wants(|a| (a.packet_in, a.packet_in_slave), reason.0);
            let is_own_miss = !event.unmatched || conn.version.miss_goes_to_controller();
            let is_silenced = event.silenced && reason == PacketInReason::NO_MATCH;
            let is_said = is_of_ethernet || PACKET_TYPE.versions.has(conn.version);
            if !wants || !is_own_miss || is_silenced || !is_said {
                continue;
            }
            // Room is that of the auxiliary connection; the loss is counted at the main one.
            let to = conn.connection_for(event.packet);
            if !self.io.takes_packet_in(to, event.packet.in_port()) {
                conn.lost.packet_ins += 1;
                continue;
            }
            let bytes = event.packet.wire_bytes();
            // NO_BUFFER asks for the whole packet, which then is not held. Spec: OpenFlow 1.3.5
            // section 7.3.2.
            let limit = event.max_len.unwrap_or(conn.miss_send_len);
            let cut = limit != MaxLen::NO_BUFFER && usize::from(limit.0) < bytes.len();
            let every = event.unmatched && conn.version.holds_every_miss();
            let mut held = None;
            if self.io.holds_packets() && (cut || every) {
                held = conn.buffers.hold(self.now, event.packet);
            }
            // A packet that is not held is sent whole, because the controller could not ask for the
            // rest.
            let mut shown = bytes.len().min(MAX_DATA_BYTES);
            if held.is_some() {
                shown = shown.min(limit.0.into());
            }
            let packet_in = PacketIn {
                buffer_id: held.unwrap_or(BufferId::NO_BUFFER),
                total_len: u16::try_from(bytes.len()).unwrap_or(u16::MAX),
                reason,
                table_id: event.table_id,
                cookie: event.cookie,
                fields: context(event.packet, conn.version),
                data: Bytes(bytes[..shown].into()),
            };
            self.io.send(to, UNASKED, Message::PacketIn(packet_in));
        }
    }

    /// Sends FLOW_REMOVED, with the reason that is nearest in the connection's version. It is not
    /// dropped for lack of room: nothing of the entry is left that a controller could ask for.
    fn flow_removed(&mut self, removed: FlowRemoved) {
        for (id, conn) in self.connections.by_id.iter() {
            let reason = removed.reason.in_version(conn.version);
            if conn.wants(|a| (a.flow_removed, a.flow_removed_slave), reason.0) {
                self.io
                    .send(*id, UNASKED, Message::FlowRemoved(removed.clone()));
            }
        }
    }

    /// Sends the statistics of an entry that reached a threshold. Spec: OpenFlow 1.5.1 section
    /// 7.3.5.3.
    #[cfg(feature = "triggers")]
    fn flow_stats(&mut self, stats: FlowCounters) {
        let reason = stats.reason.0;
        for (id, conn) in self.connections.by_id.iter_mut() {
            let wants = conn.wants(|a| (a.flow_stats, a.flow_stats_slave), reason);
            if !conn.version.has_stat_lists() || !wants {
                continue;
            }
            if !self.io.has_room(*id) {
                conn.lost.flow_stats += 1;
                continue;
            }
            let body = ReplyBody::FlowCounters(alloc::vec![stats.clone()]);
            let reply = MultipartReply::from(body);
            self.io.send(*id, UNASKED, Message::MultipartReply(reply));
        }
    }

    /// Notes the newest description of a port for each connection that wants the change, and sends
    /// what is noted as far as there is room. So a link that flaps costs a connection that does not
    /// read no more memory than one description.
    fn port_status(&mut self, reason: PortStatusReason, desc: &PortDesc) {
        for (id, conn) in self.connections.by_id.iter_mut() {
            // A description that waits stays as it is if its connection does not want this change,
            // unless the port is gone.
            if !conn.wants(|a| (a.port_status, a.port_status_slave), reason.0) {
                if reason == PortStatusReason::DELETE {
                    conn.late_ports.remove(&desc.port_no);
                }
                continue;
            }
            let news = match (conn.late_ports.get(&desc.port_no), reason) {
                // The connection has not been informed of this new port yet.
                (Some((PortStatusReason::ADD, _)), PortStatusReason::MODIFY) => {
                    PortStatusReason::ADD
                }
                _ => reason,
            };
            // A port that came and went unreported is reported as deleted, because its ADD may have
            // taken the place of an older deletion.
            conn.late_ports.insert(desc.port_no, (news, desc.clone()));
            conn.report_late_ports(*id, self.io);
        }
    }

    /// Sends an extension's message to the connections that want it: as standard messages, if it
    /// has such in the connection's version, otherwise in the form that the connection has chosen.
    fn notify(&mut self, value: &ExtValue) {
        for (id, conn) in self.connections.by_id.iter_mut() {
            if !conn.wants_notification(value.row) {
                continue;
            }
            if !self.io.has_room(*id) {
                conn.lost.notifications += 1;
                continue;
            }
            if let Some(messages) = value.in_messages(conn.version) {
                for message in messages {
                    self.io.send(*id, UNASKED, message);
                }
                continue;
            }
            let form = conn.forms.get(&value.row.experimenter);
            let value = value.in_form(form.copied().unwrap_or(0));
            self.io.send(*id, UNASKED, Message::Experimenter(value));
        }
    }

    fn set_link(&mut self, port: PortNo, up: bool) {
        self.io.set_link(port, up);
    }
    fn advertise(&mut self, port: PortNo, features: PortFeatures) {
        self.io.advertise(port, features);
    }
    fn step(&mut self, step: Step<'_>) {
        self.io.step(step);
    }
}

/// Sends TABLE_STATUS for vacancy events, after whatever may have added or removed entries. Each
/// event is taken from the datapath, also if no connection wants it. Spec: OpenFlow 1.4.1 section
/// 7.4.5.
pub(crate) fn report_tables<I: SwitchIo>(
    datapath: &mut Datapath<impl FrameEngine>,
    sink: &mut SwitchSink<'_, I>,
) {
    while let Some(status) = datapath.control(sink.now, sink).next_table_status() {
        let reason = status.reason.0;
        for (id, conn) in &sink.connections.by_id {
            let wants = conn.wants(|a| (a.table_status, a.table_status_slave), reason);
            if conn.version.has_bundles() && wants {
                sink.io
                    .send(*id, UNASKED, Message::TableStatus(status.clone()));
            }
        }
    }
}

impl Connection {
    /// Sends waiting port changes while there is room, in the order of port numbers and not of the
    /// changes.
    pub(crate) fn report_late_ports<I: SwitchIo>(&mut self, id: ConnId, io: &mut I) {
        while io.has_room(id) {
            let Some((_, (reason, desc))) = self.late_ports.pop_first() else {
                return;
            };
            let status = Message::PortStatus(PortStatus { reason, desc });
            io.send(id, UNASKED, status);
        }
    }
}

/// The reason of a packet-in in a version; versions with a table-miss entry report what it sends as
/// a miss.
fn reason(event: &PacketInEvent<'_>, version: Version) -> PacketInReason {
    let by_entry = event.reason == PacketInReason::NO_MATCH && !event.unmatched;
    if by_entry && !version.has_table_miss_entries() {
        return PacketInReason::ACTION;
    }
    event.reason.in_version(version)
}

/// The fields of a packet-in: ingress port, and the others of the pipeline that are not as they
/// begin, and the packet type unless it is Ethernet, as far as a version has them. Choice: the
/// output of the action set since 1.5.
fn context(packet: &Packet, version: Version) -> Match {
    let in_port = FieldMatch::exact(IN_PORT, packet.in_port().0.into());
    let mut fields = alloc::vec![in_port];
    let others = [PACKET_TYPE, METADATA, TUNNEL_ID, ACTSET_OUTPUT];
    for field in others.into_iter().chain(&REGISTERS) {
        let begins = u128::from(field.initial.unwrap_or(0));
        let value = packet.key().get(field, &mut ()).unwrap_or(begins);
        let is_late = field == ACTSET_OUTPUT && !version.has_stat_lists();
        if value != begins && !is_late && field.versions.has(version) {
            fields.push(FieldMatch::exact(field, value));
        }
    }
    Match::new(&fields).expect("these fields need no other")
}

/// A sink that discards everything, for calls whose effects concern no connection: the fail mode's
/// entry comes and goes, or a connection has ended.
pub(crate) struct DiscardSink;

impl Sink for DiscardSink {
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}
