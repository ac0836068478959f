//! Hostile and split bytes, and peers that do not read.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bofuss_embed::{
    CloseReason, ConnId, Effect, EmbedError, EmbeddedConfig, EmbeddedSwitch, MAX_BUFFERED_BYTES,
    MAX_UNREAD_BYTES, ROOM_BYTES, Time, port,
};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::handshake::HandshakeError;
use bofuss_oflib::message::multipart::{FlowStatsRequest, RequestBody};
use bofuss_oflib::message::{Empty, FlowModCommand, Hello, PortDesc};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::{GroupId, QueueId, TableId};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Codec, Framer, Message, PortNo, Version};

fn codec() -> Codec {
    Codec::new(Version::V1_3, Arc::new(bofuss_ext::catalogue()))
}

fn bytes(xid: u32, message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec().encode(xid, message, &mut bytes).unwrap();
    bytes
}

fn hello() -> Vec<u8> {
    bytes(0, &Message::Hello(Hello::offering(&[Version::V1_3])))
}

fn flow_mod(text: &str) -> Message {
    let catalogue = bofuss_ext::catalogue();
    Message::FlowMod(parse_flow(text, FlowModCommand::ADD, &catalogue).unwrap())
}

/// A switch with three ports and a connection that is up.
fn up() -> (EmbeddedSwitch, ConnId) {
    let mut switch = EmbeddedSwitch::new(Time(0), EmbeddedConfig::default()).unwrap();
    for number in 1..=3 {
        switch
            .add_port(Time(0), port(number), Default::default())
            .unwrap();
    }
    let conn = switch.connect(true);
    assert_eq!(switch.feed(Time(0), conn, &hello()), Ok(hello().len()));
    assert_eq!(sent(&mut switch).len(), 1, "our HELLO");
    (switch, conn)
}

/// The messages that were sent, and nothing else.
fn sent(switch: &mut EmbeddedSwitch) -> Vec<(u32, Message)> {
    let mut messages = Vec::new();
    for effect in switch.drain() {
        match effect {
            Effect::Send { bytes, .. } => messages.extend(decoded(&bytes)),
            Effect::Refused { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    messages
}

fn decoded(bytes: &[u8]) -> Vec<(u32, Message)> {
    let mut framer = Framer::new();
    framer.push(bytes);
    let mut messages = Vec::new();
    while let Some(frame) = framer.next_message().unwrap() {
        messages.push(codec().decode(frame).unwrap());
    }
    messages
}

fn closed(switch: &mut EmbeddedSwitch) -> Option<CloseReason> {
    switch.drain().find_map(|effect| match effect {
        Effect::Close { why, .. } => Some(why),
        _ => None,
    })
}

#[test]
fn a_stream_gives_the_same_however_it_is_cut() {
    let mut stream = hello();
    for xid in 1..=3 {
        stream.extend(bytes(xid, &Message::EchoRequest(Bytes(vec![7; 9]))));
        stream.extend(bytes(
            xid + 10,
            &flow_mod("table=0,priority=5,actions=output:2"),
        ));
        stream.extend([4, 99, 0, 9, 0, 0, 0, 77, 1]);
        stream.extend(bytes(xid + 20, &Message::BarrierRequest(Empty)));
    }
    let mut seen = Vec::new();
    for step in [1, 2, 3, 7, 8, 9, 64, stream.len()] {
        let mut switch = EmbeddedSwitch::new(Time(0), EmbeddedConfig::default()).unwrap();
        let conn = switch.connect(true);
        for part in stream.chunks(step) {
            assert_eq!(switch.feed(Time(0), conn, part), Ok(part.len()));
        }
        seen.push(sent(&mut switch));
    }
    assert_eq!(seen[0].len(), 1 + 3 * 3);
    assert!(seen.iter().all(|one| *one == seen[0]), "{seen:?}");
}

#[test]
fn wrong_messages_are_answered_and_the_next_is_served() {
    let (mut switch, conn) = up();
    // An unknown type, a message that only a switch sends, a body that is too short.
    for (ty, error) in [
        (99, BadRequest::BAD_TYPE),
        (10, BadRequest::BAD_TYPE),
        (14, BadRequest::BAD_LEN),
    ] {
        let wrong = [4, ty, 0, 9, 0, 0, 0, 5, 0];
        switch.feed(Time(0), conn, &wrong).unwrap();
        let answers = sent(&mut switch);
        let [(5, Message::Error(answer))] = &answers[..] else {
            panic!("{answers:?}");
        };
        assert_eq!(answer.error, error);
        assert_eq!(answer.data.0, wrong, "it is quoted");
    }
    let echo = bytes(6, &Message::EchoRequest(Bytes(vec![1])));
    switch.feed(Time(0), conn, &echo).unwrap();
    assert_eq!(sent(&mut switch)[0].0, 6);
}

#[test]
fn a_length_below_the_header_ends_the_connection_after_the_error() {
    let (mut switch, conn) = up();
    let taken = switch.feed(Time(0), conn, &[4, 2, 0, 7, 0, 0, 0, 1, 9, 9]);
    assert_eq!(taken, Ok(10));
    let effects: Vec<Effect> = switch.drain().collect();
    let [
        Effect::Send { bytes, .. },
        Effect::Close {
            why: CloseReason::Malformed(cause),
            ..
        },
    ] = &effects[..]
    else {
        panic!("{effects:?}");
    };
    assert_eq!(cause.error, BadRequest::BAD_LEN);
    assert_eq!(decoded(bytes)[0].0, 1);
    let gone = Err(EmbedError::NoConnection(conn));
    assert_eq!(switch.feed(Time(0), conn, &[0]), gone);
    assert_eq!(switch.disconnect(Time(0), conn), gone.map(|_| ()));
}

#[test]
fn a_stranger_is_told_why_the_connection_ends() {
    for first in [
        bytes(1, &Message::BarrierRequest(Empty)),
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![9, 0, 0, 16, 0, 0, 0, 1, 0, 1, 0, 8, 0, 0, 1, 0],
    ] {
        let mut switch = EmbeddedSwitch::new(Time(0), EmbeddedConfig::default()).unwrap();
        let conn = switch.connect(true);
        switch.drain().for_each(drop);
        switch.feed(Time(0), conn, &first).unwrap();
        let effects: Vec<Effect> = switch.drain().collect();
        assert!(matches!(&effects[0], Effect::Send { bytes, .. } if bytes[1] == 1));
        assert!(matches!(
            &effects[1],
            Effect::Close {
                why: CloseReason::Handshake(
                    HandshakeError::NotHello(_) | HandshakeError::NoCommonVersion { .. }
                ),
                ..
            }
        ));
    }
}

#[test]
fn random_bytes_never_leave_more_than_the_bounds() {
    let mut state = 1_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as u8
    };
    let (mut switch, mut conn) = up();
    for round in 0..3_000 {
        let length = usize::from(random()) % 60;
        let mut message: Vec<u8> = (0..8 + length).map(|_| random()).collect();
        message[0] = 4;
        message[1] %= 31;
        let declared = if round % 50 == 0 {
            usize::from(random())
        } else {
            message.len()
        };
        message[2..4].copy_from_slice(&(declared as u16).to_be_bytes());
        switch.feed(Time(round), conn, &message).unwrap();
        if switch.drain().any(|e| matches!(e, Effect::Close { .. })) {
            conn = switch.connect(true);
            switch.feed(Time(round), conn, &hello()).unwrap();
        }
    }
}

#[test]
fn a_long_reply_waits_for_a_peer_that_does_not_read() {
    const FLOWS: u32 = 10_000;
    let (mut switch, conn) = up();
    for n in 0..FLOWS {
        let flow = flow_mod(&format!(
            "table=0,priority=5,udp,tp_dst={n},actions=output:2"
        ));
        let message = bytes(1, &flow);
        assert_eq!(switch.feed(Time(0), conn, &message), Ok(message.len()));
    }
    assert!(sent(&mut switch).is_empty());
    let request = RequestBody::Flow(FlowStatsRequest {
        table_id: TableId::ALL,
        out_port: PortNo::ANY,
        out_group: GroupId::ANY,
        ..FlowStatsRequest::default()
    });
    let request = bytes(2, &Message::MultipartRequest(request.into()));
    switch.feed(Time(0), conn, &request).unwrap();
    // Meanwhile more questions come than may wait.
    let echo = bytes(3, &Message::EchoRequest(Bytes(vec![0; 60_000])));
    let mut taken = 0;
    for _ in 0..4 {
        taken += switch.feed(Time(0), conn, &echo).unwrap();
    }
    assert_eq!(taken, MAX_BUFFERED_BYTES);
    let mut bytes_read = 0;
    let mut parts = 0;
    let mut echoes = 0;
    loop {
        let mut waiting = 0;
        for effect in switch.drain() {
            if let Effect::Send { bytes, .. } = effect {
                waiting += bytes.len();
                for (_, message) in decoded(&bytes) {
                    parts += usize::from(matches!(message, Message::MultipartReply(_)));
                    echoes += usize::from(matches!(message, Message::EchoReply(_)));
                }
            }
        }
        assert!(waiting <= ROOM_BYTES + 70_000, "{waiting}");
        bytes_read += waiting;
        if !switch.has_work() {
            break;
        }
        switch.work(Time(0));
    }
    assert!(
        parts > 10 && bytes_read > ROOM_BYTES,
        "{parts} {bytes_read}"
    );
    assert_eq!(echoes, 2, "whole messages that were taken are served");
}

#[test]
fn packet_ins_are_lost_and_the_connection_ends_if_the_embedding_holds_too_much() {
    let (mut switch, conn) = up();
    let flow = bytes(1, &flow_mod("priority=0,actions=controller"));
    switch.feed(Time(0), conn, &flow).unwrap();
    let frame = |switch: &EmbeddedSwitch| vec![switch.frame(&[2; 60]).unwrap()];
    for (held, count) in [(0, 1), (ROOM_BYTES + 1, 0), (0, 1)] {
        switch.set_held_bytes(conn, held).unwrap();
        let mut frames = frame(&switch);
        switch.receive(Time(0), PortNo(1), &mut frames).unwrap();
        assert_eq!(sent(&mut switch).len(), count, "{held}");
    }
    switch.set_held_bytes(conn, MAX_UNREAD_BYTES + 1).unwrap();
    switch.tick(Time(1));
    assert_eq!(closed(&mut switch), Some(CloseReason::Overflow));
}

#[test]
fn a_controller_of_the_program_speaks_without_bytes() {
    let (mut switch, bytes_conn) = up();
    let conn = switch.connect_typed(Time(0), Version::V1_3);
    let flow = flow_mod("priority=0,actions=controller,output:3");
    assert_eq!(switch.message(Time(0), conn, 4, flow), Ok(true));
    let mut frames = vec![switch.frame(&[2; 60]).unwrap()];
    switch.receive(Time(0), PortNo(1), &mut frames).unwrap();
    let effects: Vec<Effect> = switch.drain().collect();
    assert!(matches!(
        &effects[..],
        [
            Effect::Send { .. },
            Effect::Message {
                message: Message::PacketIn(_),
                ..
            },
            Effect::Transmit {
                port: PortNo(3),
                ..
            }
        ]
    ));
    let wrong = Err(EmbedError::WrongKind(conn));
    assert_eq!(switch.feed(Time(0), conn, &[0]), wrong);
    let barrier = Message::BarrierRequest(Empty);
    let wrong = Err(EmbedError::WrongKind(bytes_conn));
    assert_eq!(switch.message(Time(0), bytes_conn, 1, barrier), wrong);
}

#[test]
fn links_ports_and_frames_that_are_not_there_are_errors() {
    let (mut switch, _) = up();
    let none = EmbedError::NoPort(PortNo(9));
    assert_eq!(switch.set_link(Time(0), PortNo(9), true), Err(none.clone()));
    assert_eq!(switch.remove_port(Time(0), PortNo(9)), Err(none.clone()));
    let mut frames = vec![switch.frame(&[2; 60]).unwrap()];
    assert_eq!(switch.receive(Time(0), PortNo(9), &mut frames), Err(none));
    for number in [0, PortNo::CONTROLLER.0, u32::MAX] {
        let bad = switch.add_port(Time(0), port(number), Default::default());
        assert_eq!(bad, Err(EmbedError::BadPortNumber(PortNo(number))));
    }
    assert!(switch.frame(&[0; 100_000]).is_none());
    assert!(switch.explain(Time(0), PortNo(1), 0, &[]).is_err());
    let mut config = EmbeddedConfig::default();
    config.tables.n_tables = 0;
    assert!(EmbeddedSwitch::new(Time(0), config).is_err());
    let config = EmbeddedConfig {
        versions: Vec::new(),
        ..EmbeddedConfig::default()
    };
    assert!(EmbeddedSwitch::new(Time(0), config).is_err());
}

#[test]
fn a_trace_is_text_and_json_and_changes_nothing() {
    let (mut switch, conn) = up();
    let flow = bytes(1, &flow_mod("priority=0,actions=output:2"));
    switch.feed(Time(0), conn, &flow).unwrap();
    let trace = switch.explain(Time(0), PortNo(1), 0, &[2; 60]).unwrap();
    assert!(trace.to_string().contains("output"), "{trace}");
    let json = serde_json::to_value(&trace).unwrap();
    assert_eq!(json["result"][0]["port"], "2", "{json}");
    assert!(switch.next_effect().is_none());
}

#[test]
fn a_port_without_room_leaves_frames_in_its_queues() {
    let (mut switch, conn) = up();
    let fast = PortDesc {
        curr_speed: 1_000_000,
        ..port(2)
    };
    switch.add_port(Time(0), fast, Default::default()).unwrap();
    switch.drain().for_each(drop);
    let queue = bofuss_ext::queues::parse("min=10").unwrap();
    let queue = bofuss_ext::queues::modify(PortNo(2), QueueId(1), &queue);
    for message in [
        Message::Experimenter(queue),
        flow_mod("priority=0,actions=set_queue:1,output:2"),
    ] {
        switch.feed(Time(0), conn, &bytes(1, &message)).unwrap();
    }
    assert_eq!(sent(&mut switch), []);
    switch.set_port_room(Time(0), PortNo(2), Some(2)).unwrap();
    let frame = |n: u8| switch.frame(&[n; 60]).unwrap();
    let mut frames: Vec<_> = (1..=5).map(|n| frame(2 * n)).collect();
    switch.receive(Time(0), PortNo(1), &mut frames).unwrap();
    let left = |switch: &mut EmbeddedSwitch| -> Vec<u8> {
        let effects = switch.drain();
        effects
            .map(|effect| match effect {
                Effect::Transmit { frame, .. } => frame.bytes()[0],
                other => panic!("{other:?}"),
            })
            .collect()
    };
    assert_eq!(left(&mut switch), [2, 4]);
    switch.set_port_room(Time(1), PortNo(2), Some(1)).unwrap();
    assert_eq!(left(&mut switch), [6]);
    switch.set_port_room(Time(2), PortNo(2), None).unwrap();
    assert_eq!(left(&mut switch), [8, 10]);
}
