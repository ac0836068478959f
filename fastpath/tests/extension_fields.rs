//! Fields that extensions bring: all engines match them, set them and tell them apart.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bofuss_datapath::{Config, Engine, Time};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::message::config::ConfigFlags;
use bofuss_oflib::message::{FlowModCommand, PortDesc};
use bofuss_oflib::text::{parse_actions, parse_flow, parse_match};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Catalogue, Field, Mac, Match, PortNo};
use bofuss_packet::reassemble::fragment;
use bofuss_packet::{KeyMatch, Packet, craft};

/// Fields of the catalogue that has many: more than OpenFlow's have presence bits left, and more
/// than a cache's key has words without a tail.
const MANY: u8 = 120;
/// The experimenter of all fields here.
const EXPERIMENTER: u32 = 0x0062_6f99;
const IN_PORT: PortNo = PortNo(1);
const PORTS: u32 = 4;

fn switch(engine: Engine, catalogue: &Arc<Catalogue>, flows: &[&str]) -> Datapath {
    let config = Config {
        engine,
        ..Config::default()
    };
    let mut datapath = Datapath::new(config, Arc::clone(catalogue), Pool::new(1 << 22));
    let mut out: Vec<Frame> = vec![];
    for port_no in (1..=PORTS).map(PortNo) {
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
        let flow = parse_flow(text, FlowModCommand::ADD, catalogue).unwrap();
        datapath.control(Time(0), &mut out).flow_mod(&flow).unwrap();
    }
    datapath
}

/// Packets that have left by each port so far, from port 1 on.
fn sent(datapath: &Datapath) -> Vec<u64> {
    let ports = datapath.ports().values();
    ports.map(|port| port.stats.tx_packets).collect()
}

fn receive(datapath: &mut Datapath, frame: &[u8]) -> Vec<Vec<u8>> {
    let mut frames = vec![datapath.pool().frame(frame).unwrap()];
    let mut out: Vec<Frame> = vec![];
    datapath.receive(Time(0), IN_PORT, &mut frames, &mut out);
    out.iter().map(|frame| frame.bytes().to_vec()).collect()
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let layer = craft::udp(9, port, payload);
    let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, layer);
    craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip)
}

fn with_registers() -> Arc<Catalogue> {
    let rows = [
        Field {
            settable: true,
            ..Field::register(EXPERIMENTER, 1, "class", 8, 5)
        },
        Field::register(EXPERIMENTER, 2, "phase", 16, 0),
    ];
    let mut catalogue = Catalogue::default();
    catalogue.add("registers", &rows, &[]).unwrap();
    Arc::new(catalogue)
}

/// Classes are told apart in table 1, and what has lost a register is dropped.
const CLASSES: [&str; 5] = [
    "priority=2,udp,udp_dst=7,actions=set_field:9->class,push_vlan:0x8100,goto_table:1",
    "priority=1,class=5,phase=0,actions=goto_table:1",
    "table=1,phase=0,class=5,actions=output:2",
    "table=1,phase=0/0xff,class=8/0xfe,actions=output:3",
    "table=1,priority=0,actions=output:4",
];

#[test]
fn a_register_has_its_initial_value_without_a_hook() {
    let catalogue = with_registers();
    for (name, engine) in Engine::ALL {
        let mut datapath = switch(engine, &catalogue, &CLASSES);
        // The second and third time as known flows.
        for round in 1..=3 {
            receive(&mut datapath, &udp(7, b"set"));
            receive(&mut datapath, &udp(8, b"not set"));
            assert_eq!(sent(&datapath), [0, round, round, 0], "{name}");
        }
    }
}

#[test]
fn a_packet_that_a_controller_sends_has_registers() {
    let catalogue = with_registers();
    let mut datapath = switch(Engine::Cache, &catalogue, &CLASSES);
    let actions = parse_actions("table", &Match::default(), &catalogue).unwrap();
    let frame = datapath.pool().frame(&udp(8, b"out")).unwrap();
    let packet = Packet::with_additions(frame, IN_PORT, catalogue.additions());
    let mut out: Vec<Frame> = vec![];
    datapath
        .control(Time(0), &mut out)
        .packet_out(packet, &actions);
    assert_eq!(sent(&datapath), [0, 1, 0, 0]);
}

#[test]
fn a_packet_put_together_from_fragments_has_registers() {
    let catalogue = with_registers();
    let mut datapath = switch(Engine::Cache, &catalogue, &CLASSES);
    datapath.set_fragments(ConfigFlags::FRAG_REASM);
    let mut whole = datapath.pool().frame(&udp(8, &[7; 600])).unwrap();
    whole.offload.fragment_bytes = 200;
    let mut fragments = vec![];
    assert!(fragment(&whole, |one| fragments.push(one)));
    let mut out: Vec<Frame> = vec![];
    datapath.receive(Time(0), IN_PORT, &mut fragments, &mut out);
    // One packet is looked up, and leaves in fragments again.
    assert_eq!(datapath.settled().table_counts(TableId(1)).lookups, 1);
    assert_eq!(sent(&datapath), [0, 4, 0, 0]);
}

/// Widths that the fields of many have in turn.
const WIDTHS: [u16; 5] = [1, 128, 20, 64, 9];

fn name(number: u8) -> String {
    format!("many{number}")
}

/// Registers of all widths, each with its own number as far as it holds it.
fn with_many() -> Arc<Catalogue> {
    let rows: Vec<Field> = (0..MANY)
        .map(|number| {
            let bits = WIDTHS[usize::from(number) % WIDTHS.len()];
            let initial = initial(number);
            Field {
                settable: true,
                ..Field::register(EXPERIMENTER, number, name(number).leak(), bits, initial)
            }
        })
        .collect();
    let mut catalogue = Catalogue::default();
    catalogue.add("many", &rows, &[]).unwrap();
    Arc::new(catalogue)
}

fn initial(number: u8) -> u64 {
    match WIDTHS[usize::from(number) % WIDTHS.len()] {
        1 => u64::from(number % 2),
        _ => u64::from(number),
    }
}

fn another(number: u8) -> u64 {
    initial(number) ^ 1
}

/// For each field, one entry that sets it, and a later entry that tells whether it was set; the
/// packet's UDP port says which. Then one that reads them all.
fn flows_of_many() -> Vec<String> {
    let mut flows = vec![String::from("table=1,priority=0,actions=output:4")];
    for number in 0..MANY {
        let (name, port, other) = (name(number), 100 + u16::from(number), another(number));
        flows.push(format!(
            "udp,udp_dst={port},{name}={},actions=set_field:{other}->{name},goto_table:1",
            initial(number)
        ));
        flows.push(format!(
            "table=1,priority=2,udp,udp_dst={port},{name}={other:#x},actions=output:2"
        ));
    }
    let all: Vec<String> = (0..MANY)
        .map(|number| format!("{}={}", name(number), initial(number)))
        .collect();
    flows.push(format!("udp,udp_dst=99,{},actions=output:3", all.join(",")));
    flows
}

#[test]
fn as_many_fields_as_a_catalogue_has_are_matched_and_set() {
    let (catalogue, flows) = (with_many(), flows_of_many());
    let flows: Vec<&str> = flows.iter().map(String::as_str).collect();
    for (name, engine) in Engine::ALL {
        let mut datapath = switch(engine, &catalogue, &flows);
        // The second and third time as known flows.
        for round in 1..=3 {
            for number in 0..MANY {
                receive(&mut datapath, &udp(100 + u16::from(number), b""));
            }
            receive(&mut datapath, &udp(99, b""));
            let wanted = [0, round * u64::from(MANY), round, 0];
            assert_eq!(sent(&datapath), wanted, "{name}");
        }
        let stats = datapath.lane().engine.stats();
        let cached = engine == Engine::Cache;
        assert_eq!(stats.hits > 0, cached, "{name} {stats:?}");
    }
}

#[test]
fn values_set_in_many_fields_are_reported_again() {
    let (catalogue, flows) = (with_many(), flows_of_many());
    for text in &flows {
        let flow = parse_flow(text, FlowModCommand::ADD, &catalogue).unwrap();
        let rule = KeyMatch::from(&flow.fields);
        assert_eq!(rule.to_match(&catalogue), flow.fields, "{text}");
        let shown = flow.fields.to_string();
        assert_eq!(
            parse_match(&shown, &catalogue).unwrap(),
            flow.fields,
            "{shown}"
        );
    }
}
