//! Fields that a configuration alone brings: all engines match, set and tell them apart.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bofuss_datapath::{Config, Datapath, Engine, Time};
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::message::{FlowModCommand, PortDesc};
use bofuss_oflib::text::{add_field, parse_flow};
use bofuss_oflib::{Catalogue, Mac, PortNo};
use bofuss_packet::craft;

const FIELDS: [&str; 3] = [
    "icn_type=udp:64:8,number=1,mask,set,hex,udp_dst=6363",
    "icn_hash=udp:72:32,number=2,mask,set,hex,udp_dst=6363",
    "colour=eth_type:20:12,number=3,set,hex,eth_type=0x88b5",
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

fn switch(engine: Engine) -> Datapath {
    let mut catalogue = Catalogue::default();
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
        datapath.port_changed(Time(0), desc, OffloadCapabilities::default(), &mut out);
    }
    for text in FLOWS {
        let flow = parse_flow(text, FlowModCommand::ADD, &catalogue).unwrap();
        datapath.flow_mod(Time(0), &flow, &mut out).unwrap();
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
        let mut datapath = switch(engine);
        // The second and third time as known flows.
        for round in 0..3 {
            for (sent, port, wanted) in &cases {
                let before = datapath.ports()[&PortNo(*port)].stats.tx_packets;
                let mut frames = vec![datapath.pool().frame(sent).unwrap()];
                let mut out: Vec<Frame> = vec![];
                datapath.receive(Time(0), IN_PORT, &mut frames, &mut out);
                let left: Vec<&[u8]> = out.iter().map(Frame::bytes).collect();
                assert_eq!(left, [&wanted[..]], "{name} {round} {sent:02x?}");
                let after = datapath.ports()[&PortNo(*port)].stats.tx_packets;
                assert_eq!(after, before + 1, "{name} {round} {sent:02x?}");
            }
        }
    }
}
