//! Fields that a configuration, or an extension with headers of its own, places in packets: all
//! engines match and set them, also in super-frames and fragments.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bofuss_datapath::{Config, Engine, PacketInEvent, Sink, Time};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Gso, GsoKind, OffloadCapabilities, Pool};
use bofuss_oflib::added_header::{AddedHeader, Sum};
use bofuss_oflib::message::{FlowModCommand, FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::text::{add_field, parse_flow};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, Field, Mac, PortNo, extension_fields};
use bofuss_packet::checksum::{fold, sum};
use bofuss_packet::{Packet, craft, offload};

/// The headers of an extension, and its fields.
static TAG: AddedHeader = AddedHeader::after_eth_type(0x88b6, "tag", 6);
static SIGNAL: AddedHeader =
    AddedHeader::after_ip_protocol(253, "signal", 8).with_checksum(2, Sum::Ones);
static NAME: AddedHeader = AddedHeader::after_udp_port(7000, "name", 5);
static OF_EXTENSION: [Field; 4] = extension_fields! { 0x0062_6f99;
    0 "tag_colour" 12 masked set Hex in TAG 4;
    1 "signal_code" 16 exact set Dec in SIGNAL 32;
    2 "name_type" 8 exact set Dec in NAME 0;
    3 "name_hash" 32 masked set Hex in NAME 8;
};

const FIELDS: [&str; 6] = [
    "icn_type=udp:64:8,number=1,mask,set,hex,udp_dst=6363",
    "icn_hash=udp:72:32,number=2,mask,set,hex,udp_dst=6363",
    "colour=eth_type:20:12,number=3,set,hex,eth_type=0x88b5",
    "sequence=tcp:32:32,number=4,mask,ip_proto=6",
    "record=tcp:160:8,number=5,set,tcp_dst=443",
    "mark=eth_type:32:8,number=6,hex,vlan_vid=100",
];
const FLOWS: [&str; 5] = [
    "priority=5,udp,udp_dst=6363,icn_type=5,actions=set_field:0x1020304->icn_hash,output:2",
    "priority=4,udp,udp_dst=6363,icn_type=0x10/0xf0,actions=goto_table:1",
    "table=1,udp,udp_dst=6363,icn_hash=0xaabb0000/0xffff0000,actions=output:3",
    "priority=3,dl_type=0x88b5,colour=0xabc,actions=set_field:0x123->colour,output:2",
    "priority=1,actions=output:4",
];
const IN_PORT: PortNo = PortNo(1);

fn segment(port: u16, payload: &[u8]) -> Vec<u8> {
    let layer = craft::udp(9, port, payload);
    let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, layer);
    craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip)
}

fn coloured(bytes: [u8; 2]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([0x88, 0xb5, bytes[0], bytes[1]]);
    frame.resize(60, 0);
    frame
}

fn switch(engine: Engine, flows: &[&str]) -> Datapath {
    let mut catalogue = Catalogue::default();
    catalogue.add("sample", &OF_EXTENSION, &[]).unwrap();
    for text in FIELDS {
        add_field(text, &mut catalogue).unwrap();
    }
    let catalogue = Arc::new(catalogue);
    let config = Config {
        engine,
        ..Config::default()
    };
    let mut datapath = Datapath::new(config, Arc::clone(&catalogue), Pool::new(1 << 22));
    let mut out: Vec<Frame> = vec![];
    for port_no in (1..=4).map(PortNo) {
        let desc = PortDesc {
            port_no,
            hw_addr: Mac([2, 0, 0, 0, 0, port_no.0 as u8]),
            ..PortDesc::default()
        };
        datapath
            .port_control(Time(0), &mut out)
            .changed(desc, OffloadCapabilities::default());
    }
    for text in flows {
        let flow = parse_flow(text, FlowModCommand::ADD, &catalogue).unwrap();
        datapath.control(Time(0), &mut out).flow_mod(&flow).unwrap();
    }
    datapath
}

#[test]
fn a_field_by_configuration_alone_is_matched_and_set_by_all_engines() {
    // Each with what leaves, and the port that it leaves by.
    let cases = [
        (
            segment(6363, &[5, 9, 9, 9, 9, 7]),
            2,
            segment(6363, &[5, 1, 2, 3, 4, 7]),
        ),
        (
            segment(6363, &[0x17, 0xaa, 0xbb, 1, 2]),
            3,
            segment(6363, &[0x17, 0xaa, 0xbb, 1, 2]),
        ),
        (
            segment(6364, &[5, 9, 9, 9, 9]),
            4,
            segment(6364, &[5, 9, 9, 9, 9]),
        ),
        (segment(6363, &[]), 4, segment(6363, &[])),
        (
            segment(6363, &[6, 1, 2, 3, 4]),
            4,
            segment(6363, &[6, 1, 2, 3, 4]),
        ),
        (coloured([0xfa, 0xbc]), 2, coloured([0xf1, 0x23])),
        (coloured([0xfa, 0xbd]), 4, coloured([0xfa, 0xbd])),
    ];
    for (name, engine) in Engine::ALL {
        let mut datapath = switch(engine, &FLOWS);
        // The second and third time as known flows.
        for round in 0..3 {
            for (sent, port, wanted) in &cases {
                let frame = datapath.pool().frame(sent).unwrap();
                let left = receive(&mut datapath, frame);
                assert_eq!(
                    left,
                    [(*port, wanted.clone())],
                    "{name} {round} {sent:02x?}"
                );
            }
        }
    }
}

#[test]
fn a_field_that_needs_a_vlan_is_there_in_frames_of_that_vlan() {
    let flows = [
        "priority=2,dl_vlan=100,mark=0x77,actions=output:2",
        "priority=1,actions=output:4",
    ];
    let marked = |vid: u8, mark: u8| {
        let mut frame = vec![2; 12];
        frame.extend([0x81, 0, 0, vid, 0x88, 0xb7, 0, 0, mark]);
        frame.resize(60, 0);
        frame
    };
    for (name, engine) in Engine::ALL {
        let mut datapath = switch(engine, &flows);
        for (frame, port) in [
            (marked(100, 0x77), 2),
            (marked(100, 0x78), 4),
            (marked(101, 0x77), 4),
        ] {
            let copy = datapath.pool().frame(&frame).unwrap();
            assert_eq!(receive(&mut datapath, copy), [(port, frame)], "{name}");
        }
    }
}

/// Returns what leaves of a frame, with the port that it leaves by.
fn receive(datapath: &mut Datapath, frame: Frame) -> Vec<(u32, Vec<u8>)> {
    let mut out = Left::default();
    datapath.receive(Time(0), IN_PORT, &mut vec![frame], &mut out);
    out.0
}

/// Returns the frames that left, by port.
#[derive(Default)]
struct Left(Vec<(u32, Vec<u8>)>);

impl Sink for Left {
    fn transmit(&mut self, port: PortNo, _: QueueId, mut frame: Frame) {
        offload::finish_checksum(&mut frame);
        self.0.push((port.0, frame.bytes().to_vec()));
    }
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

const FLOWS_OF_EXTENSION: [&str; 6] = [
    "priority=9,dl_type=0x88b6,tag_colour=0xabc,actions=set_field:0x123->tag_colour,output:2",
    "priority=8,dl_type=0x88b6,tag_colour=0xa00/0xf00,actions=push_vlan:0x8100,goto_table:1",
    "table=1,dl_type=0x88b6,tag_colour=0xa01,actions=pop_vlan,output:3",
    "priority=7,ip,nw_proto=253,signal_code=9,actions=set_field:10->signal_code,output:2",
    "priority=6,udp,udp_dst=7000,name_type=1,name_hash=0xaa00/0xff00,actions=output:3",
    "priority=1,actions=output:4",
];

fn tagged(high: u8, low: u8) -> Vec<u8> {
    let tag = craft::Layer::new(0x88b6, &[high, low, 0, 0, 0, 7]);
    craft::ethernet(Mac([2; 6]), Mac([4; 6]), tag)
}

fn signal(code: u16) -> Vec<u8> {
    let [high, low] = code.to_be_bytes();
    let mut bytes = [1, 2, 0, 0, high, low, 3, 4, 5];
    let checksum = !fold(sum(&bytes));
    bytes[2..4].copy_from_slice(&checksum.to_be_bytes());
    let layer = craft::Layer::new(253, &bytes);
    let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, layer);
    craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip)
}

#[test]
fn a_header_of_an_extension_is_matched_and_set_by_all_engines() {
    let cases = [
        (tagged(0x5a, 0xbc), 2, tagged(0x51, 0x23)),
        (tagged(0x5a, 0x01), 3, tagged(0x5a, 0x01)),
        (tagged(0x5b, 0x01), 4, tagged(0x5b, 0x01)),
        (
            tagged(0x5a, 0xbc)[..19].to_vec(),
            4,
            tagged(0x5a, 0xbc)[..19].to_vec(),
        ),
        (signal(9), 2, signal(10)),
        (signal(8), 4, signal(8)),
        (
            segment(7000, &[1, 0, 0, 0xaa, 9]),
            3,
            segment(7000, &[1, 0, 0, 0xaa, 9]),
        ),
        (
            segment(7000, &[1, 0, 0, 0xab, 9]),
            4,
            segment(7000, &[1, 0, 0, 0xab, 9]),
        ),
        (
            segment(7000, &[1, 0, 0, 0xaa]),
            4,
            segment(7000, &[1, 0, 0, 0xaa]),
        ),
        (
            segment(7001, &[1, 0, 0, 0xaa, 9]),
            4,
            segment(7001, &[1, 0, 0, 0xaa, 9]),
        ),
    ];
    for (name, engine) in Engine::ALL {
        let mut datapath = switch(engine, &FLOWS_OF_EXTENSION);
        for round in 0..3 {
            for (sent, port, wanted) in &cases {
                let frame = datapath.pool().frame(sent).unwrap();
                let left = receive(&mut datapath, frame);
                assert_eq!(
                    left,
                    [(*port, wanted.clone())],
                    "{name} {round} {sent:02x?}"
                );
            }
        }
        let hits = datapath.lane().engine.stats().hits;
        assert_eq!(hits > 0, engine == Engine::Cache, "{name}");
    }
}

#[test]
fn flows_and_packets_of_added_fields_are_printed_as_they_are_read() {
    let datapath = switch(Engine::ALL[0].1, &FLOWS_OF_EXTENSION);
    let catalogue = datapath.catalogue();
    for text in FLOWS_OF_EXTENSION {
        let flow = parse_flow(text, FlowModCommand::ADD, catalogue).unwrap();
        let again = flow.to_string();
        assert_eq!(
            parse_flow(&again, FlowModCommand::ADD, catalogue).unwrap(),
            flow,
            "{again}"
        );
    }
    let frame = datapath.pool().frame(&tagged(0x5a, 0xbc)).unwrap();
    let packet = Packet::with_additions(frame, IN_PORT, catalogue.additions());
    let shown = packet.key().to_match(catalogue).to_string();
    assert!(shown.contains("tag_colour=0xabc"), "{shown}");
}

/// The segments of a super-frame have payloads of 100 bytes, each of its own number, from 0 on.
fn super_frame(datapath: &Datapath, kind: GsoKind, layer: craft::Layer, start: usize) -> Frame {
    let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, layer);
    let mut bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
    for (index, segment) in bytes[start..].chunks_mut(100).enumerate() {
        segment.fill(index as u8);
    }
    let mut frame = datapath.pool().frame(&bytes).unwrap();
    let offset = if kind == GsoKind::Udp { 6 } else { 16 };
    frame.offload.checksum = Some((34, offset));
    frame.offload.gso = Some(Gso {
        kind,
        segment_bytes: 100,
        ecn: false,
    });
    frame
}

#[test]
fn each_segment_of_a_super_frame_is_matched_and_set_by_its_own_value() {
    let tcp_flows = [
        "priority=3,tcp,sequence=101,actions=output:2",
        "priority=2,tcp,tcp_dst=443,record=2,actions=set_field:9->record,output:3",
        "priority=1,actions=output:4",
    ];
    let udp_flows = [
        "priority=3,udp,udp_dst=7000,name_type=1,actions=output:2",
        "priority=2,udp,udp_dst=7000,name_hash=0x02020202,actions=set_field:9->name_type,output:3",
        "priority=1,actions=output:4",
    ];
    for (name, engine) in Engine::ALL {
        let mut tcp = switch(engine, &tcp_flows);
        let mut udp = switch(engine, &udp_flows);
        // The second time as known flows.
        for round in 0..2 {
            let layer = craft::tcp(9, 443, 16, &[0; 400]);
            let frame = super_frame(&tcp, GsoKind::Tcp4, layer, 54);
            let seen = ports_and_bytes(&receive(&mut tcp, frame), 54);
            // The sender's first sequence number is 1.
            assert_eq!(seen, [(4, 0), (2, 1), (3, 9), (4, 3)], "{name} {round}");
            let layer = craft::udp(9, 7000, &[0; 400]);
            let frame = super_frame(&udp, GsoKind::Udp, layer, 42);
            let seen = ports_and_bytes(&receive(&mut udp, frame), 42);
            assert_eq!(seen, [(4, 0), (2, 1), (3, 9), (4, 3)], "{name} {round}");
        }
    }
}

/// By which port each frame left, and its byte at `at`.
fn ports_and_bytes(left: &[(u32, Vec<u8>)], at: usize) -> Vec<(u32, u8)> {
    left.iter()
        .map(|(port, bytes)| (*port, bytes[at]))
        .collect()
}
