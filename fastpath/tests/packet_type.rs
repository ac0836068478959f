//! Packets without an Ethernet header: all engines treat them like the same packets in Ethernet
//! frames, and no entry matches both.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bofuss_datapath::{Config, DropReason, Engine, PacketInEvent, Sink, Time};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Gso, GsoKind, OffloadCapabilities, Pool};
use bofuss_oflib::error::{BadAction, BadMatch};
use bofuss_oflib::field::PACKET_TYPE;
use bofuss_oflib::message::multipart::table_features::FieldId;
use bofuss_oflib::message::{FlowModCommand, FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, ErrorCode, Mac, PortNo};
use bofuss_packet::craft::{Layer, ethernet, ipv4, ipv6, tcp, udp};
use bofuss_packet::packet_type::FRONT_BYTES;

const ENGINES: [Engine; 3] = [Engine::Reference, Engine::Tables, Engine::Cache];
/// The ports without Ethernet; those above have it.
const TUNS: u32 = 3;
const PORTS: u32 = 5;

/// Returns what leaves, by port, without what stands in front of packets without Ethernet.
#[derive(Default)]
struct Seen {
    sent: Vec<(PortNo, Vec<u8>)>,
    offered: Vec<Vec<u8>>,
}

impl Sink for Seen {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.sent
            .push((port, frame.bytes()[FRONT_BYTES..].to_vec()));
    }
    fn packet_in(&mut self, event: &PacketInEvent<'_>) {
        self.offered.push(event.packet.wire_bytes().to_vec());
    }
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// A switch with `tuns` ports without Ethernet, and others with it.
fn switch(engine: Engine, tuns: u32) -> Datapath {
    let config = Config {
        engine,
        ..Config::default()
    };
    let catalogue = Arc::new(Catalogue::default());
    let mut datapath = Datapath::new(config, catalogue, Pool::new(1 << 22));
    for port_no in (1..=PORTS).map(PortNo) {
        let given = vec![FieldId::Known(PACKET_TYPE, false)];
        let desc = PortDesc {
            port_no,
            pipeline_input: (port_no.0 <= tuns).then_some(given),
            ..PortDesc::default()
        };
        let capabilities = OffloadCapabilities {
            checksum: true,
            tcp: true,
            ..OffloadCapabilities::default()
        };
        datapath
            .port_control(Time(0), &mut Seen::default())
            .changed(desc, capabilities);
    }
    datapath
}

fn add(datapath: &mut Datapath, text: &str) -> Result<(), ErrorCode> {
    let flow = parse_flow(text, FlowModCommand::ADD, datapath.catalogue()).unwrap();
    datapath
        .control(Time(0), &mut Seen::default())
        .flow_mod(&flow)
}

/// Sends bytes in through a port; before them stands what no port need know.
fn send(datapath: &mut Datapath, port: u32, front: &[u8], packets: &[&[u8]], seen: &mut Seen) {
    let mut frames = Vec::new();
    for packet in packets {
        frames.push(datapath.pool().frame(&[front, packet].concat()).unwrap());
    }
    datapath.receive(Time(1), PortNo(port), &mut frames, seen);
}

fn dropped(datapath: &Datapath, reason: DropReason) -> u64 {
    let mut drops = datapath.lane().drops();
    let found = drops.find(|(one, _)| *one == reason);
    found.map_or(0, |(_, count)| count)
}

fn four(last: u8, payload: Layer) -> Layer {
    ipv4([10, 0, 0, 1].into(), [10, 0, 1, last].into(), 64, payload)
}

#[test]
fn an_entry_is_of_packets_of_one_type() {
    let packet = four(2, udp(5, 6, b"data"));
    let frame = ethernet(Mac([2; 6]), Mac([4; 6]), packet.clone());
    for engine in ENGINES {
        let mut datapath = switch(engine, TUNS);
        let mut seen = Seen::default();
        add(&mut datapath, "priority=9,actions=controller").unwrap();
        add(
            &mut datapath,
            "priority=9,in_port=1,packet_type=(0,0),actions=controller",
        )
        .unwrap();
        add(
            &mut datapath,
            "priority=1,packet_type=(1,0x800),actions=output:2",
        )
        .unwrap();
        let other = ipv6([1; 8].into(), [2; 8].into(), 64, udp(5, 6, b"data"));
        for _ in 0..3 {
            send(
                &mut datapath,
                1,
                &[0xff; FRONT_BYTES],
                &[&packet.bytes, &other.bytes],
                &mut seen,
            );
            send(&mut datapath, 4, &[], &[&frame], &mut seen);
        }
        assert_eq!(
            seen.sent,
            vec![(PortNo(2), packet.bytes.clone()); 3],
            "{engine:?}"
        );
        assert_eq!(seen.offered, vec![frame.clone(); 3], "{engine:?}");
        assert_eq!(dropped(&datapath, DropReason::TableMiss), 3, "{engine:?}");
    }
}

// I14
#[test]
fn packets_without_ethernet_do_what_they_do_in_ethernet_frames() {
    const KINDS: [(&str, &str); 6] = [
        ("ip", "packet_type=(1,0x800)"),
        ("ipv6", "packet_type=(1,0x86dd)"),
        ("tcp", "packet_type=(1,0x800),nw_proto=6"),
        ("udp6", "packet_type=(1,0x86dd),nw_proto=17"),
        ("udp", "packet_type=(1,0x800),nw_proto=17"),
        ("in_port=1,ip", "in_port=1,packet_type=(1,0x800)"),
    ];
    const MORE: [&str; 5] = [
        "",
        ",nw_ecn=0",
        ",ip_dscp=0",
        ",nw_proto=17,udp_dst=3",
        ",nw_proto=6,tp_dst=2",
    ];
    const ACTIONS: [&str; 6] = [
        "output:2",
        "output:1,output:3",
        "dec_ttl,output:3",
        "set_field:9->ip_dscp,output:2",
        "drop",
        "controller:65535",
    ];
    let mut state = 7_u64;
    let mut random = |below: usize| {
        // A linear congruential generator (Knuth).
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    for round in 0..40 {
        let mut texts = Vec::new();
        for priority in 1..=8 {
            let (frames, packets) = KINDS[random(KINDS.len())];
            let n_more = if packets.contains("nw_proto") {
                3
            } else {
                MORE.len()
            };
            let (more, actions) = (MORE[random(n_more)], ACTIONS[random(ACTIONS.len())]);
            let text = |kind| format!("priority={priority},{kind}{more},actions={actions}");
            texts.push((text(frames), text(packets)));
        }
        let mut packets = Vec::new();
        for _ in 0..48 {
            let port = random(4) as u16;
            let payload = [tcp(1, port, 0x10, b"data"), udp(1, port, b"data")][random(2)].clone();
            let six = ipv6(
                [1; 8].into(),
                [random(3) as u16; 8].into(),
                64,
                payload.clone(),
            );
            let mut packet = [four(random(3) as u8, payload), six][random(2)].clone();
            let at = random(packet.bytes.len() - 1) + 1;
            packet.bytes[at] ^= [0, 0x20, 0xff][random(3)];
            packet
                .bytes
                .truncate(if random(8) == 0 { at } else { usize::MAX });
            packets.push(packet);
        }
        let mut wanted = None;
        for engine in ENGINES {
            let (mut tun, mut twin) = (switch(engine, TUNS), switch(engine, 0));
            for (frames, packets) in &texts {
                assert_eq!(add(&mut twin, frames), add(&mut tun, packets), "{packets}");
            }
            let (mut by_tun, mut by_twin) = (Seen::default(), Seen::default());
            for ingress in [1, 2, 1] {
                for chunk in packets.chunks(17) {
                    let raw: Vec<&[u8]> = chunk.iter().map(|one| &*one.bytes).collect();
                    send(&mut tun, ingress, &[0; FRONT_BYTES], &raw, &mut by_tun);
                    let framed = chunk
                        .iter()
                        .map(|one| ethernet(Mac([2; 6]), Mac([4; 6]), one.clone()));
                    let framed: Vec<_> = framed.collect();
                    let framed: Vec<&[u8]> = framed.iter().map(|one| &**one).collect();
                    send(&mut twin, ingress, &[], &framed, &mut by_twin);
                }
            }
            let offered = by_twin
                .offered
                .iter()
                .map(|frame| frame[FRONT_BYTES..].to_vec());
            assert_eq!(
                by_tun.offered,
                offered.collect::<Vec<_>>(),
                "{round} {engine:?}"
            );
            assert_eq!(by_tun.sent, by_twin.sent, "{round} {engine:?} {texts:?}");
            assert!(
                tun.lane().drops().eq(twin.lane().drops()),
                "{round} {engine:?}"
            );
            assert_eq!(
                *wanted.get_or_insert_with(|| by_tun.sent.clone()),
                by_tun.sent
            );
        }
    }
}

#[test]
fn bytes_that_are_no_packet_of_a_type_are_dropped_and_counted() {
    for engine in ENGINES {
        let mut datapath = switch(engine, TUNS);
        let mut seen = Seen::default();
        for ty in ["(0,0)", "(1,0x800)", "(1,0x86dd)"] {
            add(&mut datapath, &format!("packet_type={ty},actions=output:2")).unwrap();
        }
        let hostile: [&[u8]; 6] = [
            &[],
            &[0x55],
            &[0],
            &[0x81, 0, 0, 1],
            &[0x75; 40],
            &[0xff; 1400],
        ];
        send(&mut datapath, 1, &[0; FRONT_BYTES], &hostile, &mut seen);
        // Less than a port leaves room for.
        send(
            &mut datapath,
            1,
            &[],
            &[&[], &[0x45], &[0x45; FRONT_BYTES]],
            &mut seen,
        );
        assert_eq!(dropped(&datapath, DropReason::PacketType), 9);
        assert!(seen.sent.is_empty());
        let stats = &datapath.ports()[&PortNo(1)].stats;
        assert_eq!((stats.rx_packets, stats.rx_dropped), (9, 9));
        // A version without a header is a packet without fields of IP.
        send(
            &mut datapath,
            1,
            &[0; FRONT_BYTES],
            &[&[0x45], &[0x6f, 0]],
            &mut seen,
        );
        assert_eq!(
            seen.sent,
            [(PortNo(2), vec![0x45]), (PortNo(2), vec![0x6f, 0])]
        );
    }
}

#[test]
fn a_port_takes_packets_of_its_types_only() {
    let packet = four(2, udp(5, 6, b"data")).bytes;
    let frame = ethernet(Mac([2; 6]), Mac([4; 6]), four(2, udp(5, 6, b"data")));
    for engine in ENGINES {
        for (actions, to) in [
            ("output:4", &[][..]),
            ("NORMAL", &[]),
            ("FLOOD", &[2, 3]),
            ("ALL", &[2, 3]),
            ("output:2,output:4,output:3", &[2, 3]),
            ("IN_PORT", &[1]),
        ] {
            let mut datapath = switch(engine, TUNS);
            let mut seen = Seen::default();
            add(
                &mut datapath,
                &format!("packet_type=(1,0x800),actions={actions}"),
            )
            .unwrap();
            add(&mut datapath, "in_port=4,actions=output:1").unwrap();
            for _ in 0..3 {
                seen.sent.clear();
                send(&mut datapath, 1, &[0; FRONT_BYTES], &[&packet], &mut seen);
                let ports: Vec<u32> = seen.sent.iter().map(|(port, _)| port.0).collect();
                assert_eq!(ports, to, "{engine:?} {actions}");
                assert!(seen.sent.iter().all(|(_, bytes)| *bytes == packet));
            }
            let kept = matches!(actions, "FLOOD" | "ALL" | "IN_PORT");
            assert_eq!(
                dropped(&datapath, DropReason::PacketType),
                if kept { 0 } else { 3 }
            );
            send(&mut datapath, 4, &[], &[&frame, &frame], &mut seen);
            assert_eq!(
                dropped(&datapath, DropReason::PacketType),
                if kept { 2 } else { 5 }
            );
        }
    }
}

#[test]
fn what_packets_of_a_type_do_not_have_is_refused() {
    let mut datapath = switch(Engine::Cache, TUNS);
    for (ty, actions, error) in [
        (
            "(1,0x800)",
            "push_vlan:0x8100,output:2",
            BadAction::MATCH_INCONSISTENT,
        ),
        (
            "(1,0x800)",
            "push_mpls:0x8847,output:2",
            BadAction::MATCH_INCONSISTENT,
        ),
        (
            "(1,0x86dd)",
            "push_pbb:0x88e7,output:2",
            BadAction::MATCH_INCONSISTENT,
        ),
        (
            "(1,0x800)",
            "set_field:2:0:0:0:0:1->eth_src,output:2",
            BadAction::MATCH_INCONSISTENT,
        ),
        (
            "(1,0x800)",
            "set_field:::1->ipv6_dst,output:2",
            BadAction::MATCH_INCONSISTENT,
        ),
        ("(1,0x806)", "output:2", BadMatch::BAD_VALUE),
        ("(0,1)", "output:2", BadMatch::BAD_VALUE),
        ("(2,6)", "output:2", BadMatch::BAD_VALUE),
    ] {
        let flow = format!("packet_type={ty},actions={actions}");
        assert_eq!(add(&mut datapath, &flow), Err(error), "{flow}");
    }
    // An action on a header that is not there does nothing.
    let packet = four(2, udp(5, 6, b"data")).bytes;
    add(
        &mut datapath,
        "packet_type=(1,0x800),actions=pop_vlan,output:2",
    )
    .unwrap();
    let mut seen = Seen::default();
    send(&mut datapath, 1, &[0; FRONT_BYTES], &[&packet], &mut seen);
    assert_eq!(seen.sent, [(PortNo(2), packet)]);
}

// I7
#[test]
fn a_super_frame_without_ethernet_leaves_whole_or_in_segments() {
    let packet = ipv4(
        [10, 0, 0, 1].into(),
        [10, 0, 1, 2].into(),
        64,
        tcp(5, 6, 0x18, &[7; 3000]),
    );
    for engine in ENGINES {
        let mut datapath = switch(engine, TUNS);
        let mut seen = Seen::default();
        let text = "packet_type=(1,0x800),nw_proto=6,actions=dec_ttl,output:2,controller";
        add(&mut datapath, text).unwrap();
        for _ in 0..2 {
            let bytes = [&[0; FRONT_BYTES], &packet.bytes[..]].concat();
            let mut frame = datapath.pool().frame(&bytes).unwrap();
            frame.offload.checksum = Some((FRONT_BYTES as u16 + 20, 16));
            frame.offload.gso = Some(Gso {
                kind: GsoKind::Tcp4,
                segment_bytes: 1000,
                ecn: false,
            });
            datapath.receive(Time(1), PortNo(1), &mut vec![frame], &mut seen);
        }
        assert_eq!(seen.sent.len(), 2, "{engine:?}");
        assert_eq!(seen.sent[0].1.len(), packet.bytes.len());
        assert_eq!(seen.offered.len(), 6);
        assert!(
            seen.offered
                .iter()
                .all(|segment| segment.len() == 1040 && segment[8] == 63)
        );
    }
}
