//! Packets without an Ethernet header, as controllers see them.
//! Spec: OpenFlow 1.5.1 sections 7.2.3.11, 7.3.6.
#![allow(clippy::unwrap_used)]

use bofuss_agent::{ConnId, FailMode};
use bofuss_frame::OffloadCapabilities;
use bofuss_oflib::error::{BadMatch, BadRequest};
use bofuss_oflib::field::PACKET_TYPE;
use bofuss_oflib::message::multipart::table_features::{FieldId, PropertyList};
use bofuss_oflib::message::multipart::{ReplyBody, RequestBody};
use bofuss_oflib::message::{
    FlowModCommand, MultipartRequest, PacketIn, PacketInReason, PacketOut, PortDesc,
};
use bofuss_oflib::types::BufferId;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, FieldMatch, Match, Message, PortNo, Version};
use bofuss_packet::craft::{ipv4, udp};

use crate::common::Lab;

/// A connection that speaks 1.5.
const NEWER: ConnId = ConnId(5);
/// The port without Ethernet.
const TUN: u32 = 5;

fn lab() -> Lab {
    let mut lab = Lab::new(100, FailMode::Secure);
    let packet_type = FieldId::Known(PACKET_TYPE, false);
    let desc = PortDesc {
        port_no: PortNo(TUN),
        pipeline_input: Some(vec![packet_type]),
        ..PortDesc::default()
    };
    let capabilities = OffloadCapabilities::default();
    lab.switch.ports(lab.now, &mut lab.io, |ports| {
        ports.changed(desc, capabilities)
    });
    lab.io.messages.clear();
    lab
}

/// The packet-ins that a packet on the port without Ethernet causes.
fn packet_ins(lab: &mut Lab, packet: &[u8]) -> Vec<PacketIn> {
    let frame = [&[0; 14], packet].concat();
    lab.send(TUN, &frame);
    let messages = std::mem::take(&mut lab.io.messages);
    let mut found = Vec::new();
    for message in messages {
        if let Message::PacketIn(packet_in) = message {
            found.push(packet_in);
        }
    }
    found
}

#[test]
fn a_packet_in_has_the_packet_type_in_versions_that_know_types() {
    let mut lab = lab();
    let packet = ipv4(
        [10, 0, 0, 1].into(),
        [10, 0, 0, 2].into(),
        64,
        udp(5, 6, b"data"),
    )
    .bytes;
    lab.flow(FlowModCommand::ADD, "priority=0,actions=controller");
    assert!(packet_ins(&mut lab, &packet).is_empty());
    let text = "priority=0,packet_type=(1,0x800),actions=controller";
    lab.flow(FlowModCommand::ADD, text);
    assert!(packet_ins(&mut lab, &packet).is_empty(), "1.3 has no types");
    lab.switch.connected(lab.now, NEWER, Version::V1_5, true);
    let heard = packet_ins(&mut lab, &packet);
    let [packet_in] = &heard[..] else {
        panic!("{heard:?}");
    };
    assert_eq!(packet_in.reason, PacketInReason::NO_MATCH);
    assert_eq!(packet_in.data.0, packet);
    assert_eq!(usize::from(packet_in.total_len), packet.len());
    let [packet_type, in_port] = packet_in.fields.fields() else {
        panic!("{packet_in:?}");
    };
    assert_eq!(*packet_type, FieldMatch::exact(PACKET_TYPE, 0x0001_0800));
    assert_eq!(in_port.number(), TUN.into());
}

#[test]
fn a_held_packet_leaves_by_a_port_of_its_type() {
    let mut lab = lab();
    lab.switch.connected(lab.now, NEWER, Version::V1_5, true);
    let packet = ipv4(
        [10, 0, 0, 1].into(),
        [10, 0, 0, 2].into(),
        64,
        udp(5, 6, &[7; 99]),
    )
    .bytes;
    let text = "priority=0,packet_type=(1,0x800),actions=controller:20";
    lab.flow(FlowModCommand::ADD, text);
    let heard = packet_ins(&mut lab, &packet);
    assert_eq!(heard[0].data.0, packet[..20]);
    let out = PacketOut {
        buffer_id: heard[0].buffer_id,
        in_port: PortNo(TUN),
        actions: vec![Action::output(PortNo(1)), Action::output(PortNo::IN_PORT)],
        ..Default::default()
    };
    assert!(lab.ask(NEWER, 1, Message::PacketOut(out)).is_empty());
    assert_eq!(lab.io.out, [TUN]);
}

#[test]
fn a_packet_out_is_of_the_type_in_its_match() {
    let mut lab = lab();
    lab.switch.connected(lab.now, NEWER, Version::V1_5, true);
    let four = ipv4(
        [10, 0, 0, 1].into(),
        [10, 0, 0, 2].into(),
        64,
        udp(5, 6, b"data"),
    )
    .bytes;
    let bad_packet = Some(BadRequest::BAD_PACKET);
    for (named, bytes, port, error) in [
        (0x0001_0800, &four[..], Some(TUN), None),
        (0, &four, Some(1), None),
        (0x0001_86dd, &four, None, bad_packet),
        (0x0001_0800, &[0x60], None, bad_packet),
        (0x0001_0800, &[], None, bad_packet),
        (0x0001_8847, &four, None, Some(BadMatch::BAD_VALUE)),
    ] {
        let packet_type = FieldMatch::exact(PACKET_TYPE, named);
        let output = Action::output;
        let out = PacketOut {
            buffer_id: BufferId::NO_BUFFER,
            in_port: PortNo::CONTROLLER,
            fields: Match::new(&[packet_type]).unwrap(),
            data: Bytes(bytes.into()),
            actions: vec![output(PortNo(1)), output(PortNo(TUN))],
        };
        let replies = lab.ask(NEWER, 1, Message::PacketOut(out));
        let errors = replies.iter().map(|reply| match reply {
            Message::Error(refused) => refused.error,
            other => panic!("{other:?}"),
        });
        assert!(errors.eq(error), "{named:#x} {bytes:?}");
        assert!(lab.io.out.drain(..).eq(port), "{named:#x} {bytes:?}");
    }
}

#[test]
fn a_table_lists_the_packet_types_that_it_may_match() {
    let mut lab = lab();
    lab.switch.connected(lab.now, NEWER, Version::V1_5, true);
    let body = RequestBody::TableFeatures(vec![]);
    let request = Message::MultipartRequest(MultipartRequest { more: false, body });
    let replies = lab.ask(NEWER, 1, request);
    let Message::MultipartReply(reply) = &replies[0] else {
        panic!("{replies:?}");
    };
    let ReplyBody::TableFeatures(tables) = &reply.body else {
        panic!("{reply:?}");
    };
    let mut lists = tables[0].0.properties.iter();
    let types = lists.find(|one| one.ty == 22).unwrap();
    let numbers = [0, 0x0001_0800, 0x0001_86dd];
    let listed = numbers.map(|number| FieldMatch::exact(PACKET_TYPE, number));
    assert_eq!(types.list, PropertyList::Values(listed.to_vec()));
}
