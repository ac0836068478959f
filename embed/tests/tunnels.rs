//! Tunnel ids: what frames of logical ports come in with, match, and leave by.
#![allow(clippy::unwrap_used)]

use bofuss_datapath::{Config, Engine};
use bofuss_embed::{ConnId, Effect, EmbeddedConfig, EmbeddedSwitch, Time, port};
use bofuss_frame::{Frame, Gso, GsoKind, Offload};
use bofuss_oflib::field::TUNNEL_ID;
use bofuss_oflib::message::{FlowMod, FlowModCommand};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::BufferId;
use bofuss_oflib::{Mac, Message, PortNo, Version};
use bofuss_packet::craft;

const ENGINES: [Engine; 3] = [Engine::Reference, Engine::Tables, Engine::Cache];
/// Each packet comes so often that the flow cache knows it.
const TIMES: usize = 5;

/// A switch with three ports and these entries, and its controller.
fn switch(engine: Engine, flows: &[&str]) -> (EmbeddedSwitch, ConnId) {
    let config = EmbeddedConfig {
        tables: Config {
            engine,
            ..Config::default()
        },
        ..EmbeddedConfig::default()
    };
    let mut switch = EmbeddedSwitch::new(Time(0), config).unwrap();
    for number in 1..=3 {
        let desc = port(number);
        switch.add_port(Time(0), desc, Default::default()).unwrap();
    }
    let conn = switch.connect_typed(Time(0), Version::V1_3);
    let catalogue = bofuss_ext::catalogue();
    for text in flows {
        let flow = parse_flow(text, FlowModCommand::ADD, &catalogue).unwrap();
        let taken = switch.message(Time(0), conn, 1, Message::FlowMod(flow));
        assert_eq!(taken, Ok(true), "{text}");
    }
    assert_eq!(switch.drain().count(), 0, "no entry is refused");
    (switch, conn)
}

/// TCP over IPv4, with so many bytes of data.
fn packet(switch: &EmbeddedSwitch, tunnel_id: u64, data: usize) -> Frame {
    let tcp = craft::tcp(1, 2, 0x10, &vec![7; data]);
    let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, tcp);
    let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
    let mut frame = switch.frame(&bytes).unwrap();
    frame.tunnel_id = tunnel_id;
    frame
}

/// What leaves when a frame comes in by port 1: ports and tunnel ids.
fn sent(switch: &mut EmbeddedSwitch, frame: Frame) -> Vec<(u32, u64)> {
    let received = switch.receive(Time(0), PortNo(1), &mut vec![frame]);
    received.unwrap();
    left(switch)
}

fn left(switch: &mut EmbeddedSwitch) -> Vec<(u32, u64)> {
    let effects = switch.drain().filter_map(|effect| match effect {
        Effect::Transmit { port, frame, .. } => Some((port.0, frame.tunnel_id)),
        _ => None,
    });
    effects.collect()
}

#[test]
fn a_packet_matches_the_tunnel_that_it_came_by_and_leaves_by_it() {
    for engine in ENGINES {
        let flows = [
            "tun_id=5,actions=output:2",
            "tun_id=0xffffffff00000005,actions=output:3",
        ];
        let (mut switch, _) = switch(engine, &flows);
        for _ in 0..TIMES {
            for (tunnel, leaves) in [
                (5, vec![(2, 5)]),
                (0xffff_ffff_0000_0005, vec![(3, 0xffff_ffff_0000_0005)]),
                (6, vec![]),
                (0, vec![]),
            ] {
                let frame = packet(&switch, tunnel, 10);
                assert_eq!(sent(&mut switch, frame), leaves, "{engine:?}: {tunnel}");
            }
        }
    }
}

#[test]
fn set_field_says_the_tunnel_by_which_each_copy_leaves() {
    for engine in ENGINES {
        let flow = "actions=output:3,set_field:7->tun_id,output:2,output:in_port";
        let (mut switch, _) = switch(engine, &[flow]);
        for tunnel in [0, 9].repeat(TIMES) {
            let frame = packet(&switch, tunnel, 10);
            let leaves = [(3, tunnel), (2, 7), (1, 7)];
            assert_eq!(sent(&mut switch, frame), leaves, "{engine:?}");
        }
    }
}

#[test]
fn a_trace_says_the_tunnel_that_a_packet_came_by_and_those_that_it_leaves_by() {
    let flow = "tun_id=5,actions=output:3,set_field:7->tun_id,output:2";
    let (mut switch, _) = switch(Engine::Cache, &[flow]);
    let frame = packet(&switch, 5, 10);
    let mut explain = |tunnel| {
        let trace = switch.explain(Time(0), PortNo(1), tunnel, frame.bytes());
        trace.unwrap().to_string()
    };
    let text = explain(5);
    assert!(text.contains(",tun_id=0x5,"), "{text}");
    assert!(text.contains("leave by port 3, tunnel 0x5\n"), "{text}");
    assert!(text.contains("leave by port 2, tunnel 0x7\n"), "{text}");
    let text = explain(6);
    assert!(
        text.contains("it wants tun_id=0x5, but tun_id=0x6"),
        "{text}"
    );
    assert!(!explain(0).contains("leave by"));
}

#[test]
fn segments_leave_by_the_tunnel_of_their_super_frame() {
    for engine in ENGINES {
        let flows = ["tun_id=5,actions=output:2"];
        let (mut switch, _) = switch(engine, &flows);
        let mut frame = packet(&switch, 5, 3000);
        frame.offload = Offload {
            checksum: Some((34, 16)),
            gso: Some(Gso {
                kind: GsoKind::Tcp4,
                segment_bytes: 1000,
                ecn: false,
            }),
            ..Offload::NONE
        };
        assert_eq!(sent(&mut switch, frame), [(2, 5); 3], "{engine:?}");
    }
}

#[test]
fn a_packet_that_is_held_keeps_its_tunnel() {
    let (mut switch, conn) = switch(Engine::Cache, &["priority=0,actions=controller:80"]);
    let frame = packet(&switch, 5, 200);
    switch
        .receive(Time(0), PortNo(1), &mut vec![frame])
        .unwrap();
    let Some(Effect::Message {
        message: Message::PacketIn(packet_in),
        ..
    }) = switch.drain().next()
    else {
        panic!("no packet-in");
    };
    assert_ne!(packet_in.buffer_id, BufferId::NO_BUFFER);
    let said = packet_in.fields.get(TUNNEL_ID).unwrap();
    assert_eq!(said.number(), 5);
    let text = "tun_id=5,actions=output:2";
    let flow = parse_flow(text, FlowModCommand::ADD, &bofuss_ext::catalogue());
    let flow = FlowMod {
        buffer_id: packet_in.buffer_id,
        ..flow.unwrap()
    };
    switch
        .message(Time(0), conn, 2, Message::FlowMod(flow))
        .unwrap();
    assert_eq!(left(&mut switch), [(2, 5)]);
}
