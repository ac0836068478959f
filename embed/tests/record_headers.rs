//! A record without payload has the headers of each kind of frame, and can be replayed.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bofuss_agent::{ConnId, FailMode, Identity};
use bofuss_datapath::{Config, Time};
use bofuss_embed::port;
use bofuss_embed::record::{
    FrameDetail, Player, RecordError, RecordedConfig, RecordedConnections, RecordedFrame,
    RecordedInput,
};
use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Gso, GsoKind, OffloadCapabilities, Pool};
use bofuss_oflib::catalogue::Additions;
use bofuss_oflib::message::{FlowModCommand, PacketOut};
use bofuss_oflib::text::{parse_actions, parse_flow, parse_mapping};
use bofuss_oflib::types::BufferId;
use bofuss_oflib::{Catalogue, Codec, Mac, Match, Message, PortNo, Version};
use bofuss_packet::craft::{self, Layer, arp, ethernet, icmp, ipv4, ipv6, mpls, pbb, ping, vlan};
use bofuss_packet::parse_deep;

const SECRET: &[u8] = b"what the hosts say, and nobody else shall read";
/// Bytes of Ethernet's header.
const ETHERNET: usize = 14;

fn frame(payload: Layer) -> Vec<u8> {
    ethernet(Mac([2, 0, 0, 0, 0, 2]), Mac([2, 0, 0, 0, 0, 1]), payload)
}

fn in_ipv4(payload: Layer) -> Layer {
    ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, payload)
}

fn in_ipv6(payload: Layer) -> Layer {
    let host = |last| [0xfe80, 0, 0, 0, 0, 0, 0, last].into();
    ipv6(host(1), host(2), 64, payload)
}

fn tcp() -> Layer {
    craft::tcp(1000, 80, 0x10, SECRET)
}

fn udp() -> Layer {
    craft::udp(1000, 53, SECRET)
}

/// A segment with twelve bytes of options.
fn tcp_with_options() -> Layer {
    let mut segment = craft::tcp(1000, 80, 0x10, &[&[1; 12], SECRET].concat());
    segment.bytes[12] = 0x80;
    segment
}

/// A later fragment of a datagram.
fn fragment() -> Vec<u8> {
    let mut bytes = frame(in_ipv4(Layer::new(17, SECRET)));
    bytes[ETHERNET + 7] = 9;
    bytes
}

/// Frames, and how many bytes their headers have; the rest is secret.
fn frames() -> Vec<(&'static str, Vec<u8>, usize)> {
    let solicited = [&[0; 4][..], &[7; 16], &[1, 1, 2, 0, 0, 0, 0, 1]].concat();
    let solicitation = frame(in_ipv6(icmp(58, 135, 0, &solicited)));
    let all = solicitation.len();
    let at = ETHERNET;
    vec![
        ("tcp", frame(in_ipv4(tcp())), at + 20 + 20),
        (
            "tcp with options",
            frame(in_ipv4(tcp_with_options())),
            at + 20 + 32,
        ),
        ("tcp over ipv6", frame(in_ipv6(tcp())), at + 40 + 20),
        ("udp", frame(in_ipv4(udp())), at + 20 + 8),
        (
            "sctp",
            frame(in_ipv4(craft::sctp(7, 8, SECRET))),
            at + 20 + 12,
        ),
        ("ping", frame(in_ipv4(ping(1, SECRET))), at + 20 + 8),
        (
            "another protocol",
            frame(in_ipv4(Layer::new(47, SECRET))),
            at + 20,
        ),
        ("a fragment", fragment(), at + 20),
        ("neighbour solicitation", solicitation, all),
        (
            "a tag",
            frame(vlan(0x8100, 5, in_ipv4(udp()))),
            at + 4 + 20 + 8,
        ),
        (
            "a label",
            frame(mpls(5, 0, 9, in_ipv4(udp()))),
            at + 4 + 20 + 8,
        ),
        (
            "a frame in a frame",
            frame(pbb(9, &frame(in_ipv4(udp())))),
            at + 4 + at + 20 + 8,
        ),
        (
            "arp",
            frame(arp(
                1,
                Mac([2; 6]),
                [1; 4].into(),
                Mac([0; 6]),
                [2; 4].into(),
            )),
            at + 28,
        ),
        ("another type", frame(Layer::new(0x88cc, &[7; 200])), 128),
    ]
}

/// Returns what a record has of a frame.
fn noted(detail: FrameDetail, bytes: &[u8]) -> RecordedFrame {
    let catalogue = Arc::new(Catalogue::default());
    let connections = RecordedConnections::new(catalogue, detail);
    let frame = Pool::new(1 << 20).frame(bytes).unwrap();
    let RecordedInput::Frames(_, mut frames) = connections.frames(PortNo(1), &[frame]) else {
        panic!("these are frames");
    };
    frames.remove(0)
}

#[test]
fn the_headers_of_each_kind_of_frame_are_kept() {
    for (name, bytes, kept) in frames() {
        let headers = noted(FrameDetail::Headers, &bytes);
        assert_eq!(headers.bytes, bytes[..kept], "{name}");
        assert_eq!(
            headers.bytes.len() + headers.omitted_bytes,
            bytes.len(),
            "{name}"
        );
        assert_eq!(headers.to_string().parse(), Ok(headers), "{name}");
        assert_eq!(noted(FrameDetail::Whole, &bytes).bytes, bytes, "{name}");
    }
}

#[test]
fn whatever_the_bytes_the_same_headers_are_found_where_the_rest_is_zero() {
    let mut checked = 0;
    for (name, bytes, _) in frames() {
        for at in 0..bytes.len() {
            let mut flipped = Vec::new();
            for bit in 0..8 {
                let mut other = bytes.clone();
                other[at] ^= 1 << bit;
                flipped.push(other);
            }
            flipped.push(bytes[..at].into());
            for bytes in flipped {
                let filled = noted(FrameDetail::Headers, &bytes).filled().into_owned();
                let found = parse_deep(&filled, Additions::NONE);
                let expected = parse_deep(&bytes, Additions::NONE);
                assert_eq!(found, expected, "{name}: {bytes:02x?}");
                checked += 1;
            }
        }
    }
    assert!(checked > 8_000, "{checked}");
}

fn make(config: &RecordedConfig) -> Result<Switch, RecordError> {
    let tables = Config {
        n_tables: 2,
        secret: config.secret,
        cache_flows: 64,
        ..Config::default()
    };
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let datapath = Datapath::new(tables, catalogue, Pool::new(1 << 22));
    let identity = Identity::default();
    Ok(Switch::new(Time(0), datapath, identity, FailMode::Secure))
}

fn player() -> Player {
    let config = RecordedConfig {
        datapath_id: 1,
        secret: 7,
        epoch_ns: 0,
        profile: Vec::new(),
        options: "{}".into(),
    };
    Player::new(&config, FrameDetail::Headers, Box::new(make)).unwrap()
}

/// A super-frame of TCP with three segments, whose sender left the checksum to others.
fn super_frame(pool: &Pool) -> Frame {
    let bytes = frame(in_ipv4(craft::tcp(1000, 80, 0x10, &SECRET.repeat(3))));
    let mut frame = pool.frame(&bytes).unwrap();
    frame.offload.checksum = Some((34, 16));
    frame.offload.gso = Some(Gso {
        kind: GsoKind::Tcp4,
        segment_bytes: SECRET.len() as u16 + 10,
        ecn: false,
    });
    frame
}

/// Plays inputs on two switches, of which one gets frames without payload. Returns the outputs, and
/// what was recorded, as text.
fn played_twice(inputs: &[(RecordedInput, RecordedInput)]) -> (Vec<String>, String) {
    let mut whole = player();
    let mut headers = player();
    let mut outputs = Vec::new();
    let mut recorded = String::new();
    for (at, (input, noted)) in inputs.iter().enumerate() {
        let at = Time(at as u64);
        let text = |outputs: Vec<_>| -> Vec<String> {
            let lines = outputs.iter().map(ToString::to_string);
            lines.collect()
        };
        let expected = text(whole.play(at, input, &[]).unwrap());
        assert_eq!(text(headers.play(at, noted, &[]).unwrap()), expected);
        recorded += &format!("{noted:?}\n");
        outputs.extend(expected);
    }
    (outputs, recorded)
}

#[test]
fn a_switch_does_the_same_with_headers_alone() {
    let catalogue = Arc::new(bofuss_ext::catalogue());
    let pool = Pool::new(1 << 20);
    let codec = Codec::new(Version::V1_3, catalogue.clone());
    let mut inputs = Vec::new();
    let mut same = |input: RecordedInput| inputs.push((input.clone(), input));
    for number in 1..=2 {
        let plain = OffloadCapabilities::default();
        same(RecordedInput::Port(Box::new(port(number)), plain));
    }
    same(RecordedInput::Connect(ConnId(4), Version::V1_3, true));
    let mut details = [FrameDetail::Whole, FrameDetail::Headers].map(|detail| {
        let mut connections = RecordedConnections::new(catalogue.clone(), detail);
        connections.follow(&inputs[2].0);
        connections
    });
    let [whole, headers] = &mut details;
    let flow = "priority=1,ip,actions=dec_ttl,set_field:10.9.9.9->ip_dst,output:2,CONTROLLER:90";
    let flow = parse_flow(flow, FlowModCommand::ADD, &catalogue).unwrap();
    let packet_out = |actions: &str| {
        Message::PacketOut(PacketOut {
            buffer_id: BufferId::NO_BUFFER,
            in_port: PortNo::CONTROLLER,
            actions: parse_actions(actions, &Match::default(), &catalogue).unwrap(),
            data: bofuss_oflib::wire::Bytes(frame(in_ipv4(udp()))),
            ..PacketOut::default()
        })
    };
    let messages = [
        Message::FlowMod(flow),
        packet_out("output:1"),
        // Refused, and quoted.
        packet_out("group:77"),
    ];
    for message in &messages {
        let mut bytes = Vec::new();
        codec.encode(9, message, &mut bytes).unwrap();
        let head = &bytes[..bytes.len().min(64)];
        let notes = |known: &RecordedConnections| known.message(ConnId(4), 9, head, message);
        inputs.push((notes(whole).unwrap(), notes(headers).unwrap()));
    }
    let mut batch = vec![super_frame(&pool)];
    for (_, bytes, _) in frames() {
        batch.push(pool.frame(&bytes).unwrap());
    }
    inputs.push((
        whole.frames(PortNo(1), &batch),
        headers.frames(PortNo(1), &batch),
    ));
    let (outputs, recorded) = played_twice(&inputs);
    let secret = SECRET.iter().map(|byte| format!("{byte:02x}"));
    let secret: String = secret.take(8).collect();
    let named = |word: &str| outputs.iter().filter(|line| line.starts_with(word)).count();
    assert!(
        named("frame 1 ") == 1 && named("frame 2 ") >= 11,
        "{outputs:#?}"
    );
    assert!(named("message 4 ") >= 11, "{outputs:#?}");
    for line in outputs.iter().chain([&recorded]) {
        assert!(!line.contains(&secret), "{line}");
    }
    let numbers = format!("{:?}", &SECRET[..8]);
    let numbers = numbers.trim_matches(['[', ']']);
    assert!(!recorded.contains(numbers), "{recorded}");
}

#[test]
fn a_frame_is_kept_up_to_the_field_that_a_controller_has_mapped() {
    let mut mapped = bofuss_ext::catalogue();
    let known = Arc::new(mapped.clone());
    let (spare, place) = parse_mapping("spare0=udp:80:16,udp_dst=53", &mapped).unwrap();
    mapped.map(spare, Some(place)).unwrap();
    let pool = Pool::new(1 << 20);
    let frames = [frame(in_ipv4(udp())), frame(in_ipv4(tcp()))];
    let frames = frames.map(|bytes| pool.frame(&bytes).unwrap());
    let mut connections = RecordedConnections::new(known, FrameDetail::Headers);
    let kept = |connections: &RecordedConnections| {
        let RecordedInput::Frames(_, noted) = connections.frames(PortNo(1), &frames) else {
            panic!("another input");
        };
        let bytes = noted.iter().map(|frame| frame.bytes.len());
        bytes.collect::<Vec<_>>()
    };
    assert_eq!(kept(&connections), [42, 54]);
    connections.look_for(mapped.additions());
    assert_eq!(kept(&connections), [46, 54]);
}
