//! Tests of sums of MACs: through each engine, with super-frames, at the limit, in a trace.

use alloc::{format, string::ToString, sync::Arc, vec, vec::Vec};

use bofuss_agent::{FailMode, Identity};
use bofuss_datapath::{Asker, Config, Engine, HitEntry};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Gso, GsoKind, Pool};
use bofuss_oflib::message::{ControllerRole, FlowModCommand, PortDesc};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::{Mac, Version};
use bofuss_packet::checksum::{fold, sum};
use bofuss_packet::craft::{ethernet, ipv4, tcp, udp};

use super::*;
use crate::trace::Trace;

const KEY: Key = Key([7; 16]);
const ENTRY: &str = "cookie=9,priority=1,actions=rev_output(port=2,flow=5)";
const ENFORCEMENT: Enforcement = Enforcement {
    entry: HitEntry {
        cookie: 9,
        priority: 1,
    },
    table: TableId(0),
    in_port: PortNo(1),
    out_port: PortNo(2),
};

/// A switch with this extension, to which frames and messages are given.
struct Switch {
    datapath: Datapath,
    pool: Pool,
    sent: Vec<Frame>,
}

impl Switch {
    /// A switch with two ports and these entries, whose hook is in a certain state.
    fn with_hook(engine: Engine, hook: Rev, entries: &[&str]) -> Self {
        let (catalogue, pool) = (Arc::new(crate::catalogue()), Pool::new(1 << 22));
        let config = Config {
            engine,
            n_tables: 2,
            ..Config::default()
        };
        let mut datapath = Datapath::new(config, catalogue.clone(), pool.clone());
        datapath.add_hook(Box::new(hook));
        let mut sent = Vec::new();
        for number in [1, 2] {
            let port = PortDesc {
                port_no: PortNo(number),
                ..PortDesc::default()
            };
            let mut ports = datapath.port_control(Time(0), &mut sent);
            ports.changed(port, Default::default());
        }
        for text in entries {
            let flow = parse_flow(text, FlowModCommand::ADD, &catalogue).unwrap();
            let mut control = datapath.control(Time(0), &mut sent);
            control.flow_mod(&flow).unwrap();
        }
        Self {
            datapath,
            pool,
            sent,
        }
    }

    /// A switch with the key and these entries.
    fn new(engine: Engine, entries: &[&str]) -> Self {
        let hook = Rev {
            key: Some(KEY),
            ..Rev::default()
        };
        Self::with_hook(engine, hook, entries)
    }

    fn receive(&mut self, frame: Frame) {
        let mut frames = vec![frame];
        let (now, port) = (Time(0), PortNo(1));
        self.datapath
            .receive(now, port, &mut frames, &mut self.sent);
    }

    fn receive_bytes(&mut self, bytes: &[u8]) {
        let frame = self.pool.frame(bytes).unwrap();
        self.receive(frame);
    }

    fn say(&mut self, row: usize, args: Vec<u64>) -> Result<Vec<ExtValue>, ErrorCode> {
        let value = ExtValue::new(&VALUES[row], args, Bytes::default());
        let mut calls = self.datapath.hook_calls(Time(0), &mut self.sent);
        calls.message(ASKER, &value).map(|answer| answer.replies)
    }

    /// The flows that it lists.
    fn flows(&mut self) -> Vec<FlowMac> {
        let request = ExtValue::typed(&VALUES[3], ValueList::<FlowMac>(Vec::new()));
        let (mut flows, mut from) = (Vec::new(), Some(0));
        while let Some(at) = from {
            let mut calls = self.datapath.hook_calls(Time(0), &mut self.sent);
            let (part, _) = calls.multipart(ASKER, &request, at).unwrap();
            let value = part.value.unwrap();
            flows.extend(value.body::<ValueList<FlowMac>>().unwrap().0.clone());
            from = part.next;
        }
        flows
    }

    fn status(&mut self) -> Vec<u64> {
        self.say(REV_STATUS, vec![]).unwrap()[0].args.clone()
    }
}

const ASKER: Asker = Asker {
    connection: 1,
    role: ControllerRole::EQUAL,
    version: Version::V1_3,
    form: 0,
};

/// A UDP packet with this datum.
fn packet(datum: u8) -> Vec<u8> {
    let data = [datum; 40];
    let ip = ipv4(
        [10, 0, 0, 1].into(),
        [10, 0, 0, 2].into(),
        64,
        udp(4000, 80, &data),
    );
    ethernet(Mac([2; 6]), Mac([4; 6]), ip)
}

/// What a flow should have of these packets.
fn expected(flow: u64, enforcement: &Enforcement, packets: &[Vec<u8>]) -> FlowMac {
    let macs = packets.iter().map(|bytes| KEY.mac(enforcement, bytes));
    FlowMac {
        flow,
        packets: packets.len() as u64,
        mac: macs.fold(0, u64::wrapping_add),
    }
}

/// A TCP super-frame as a host leaves it to others: the checksum is that of the pseudo-header.
fn super_frame(pool: &Pool, segments: u16) -> Frame {
    let data: Vec<u8> = (0..500 * segments).map(|at| (at % 251) as u8).collect();
    let ip = ipv4(
        [10, 0, 0, 1].into(),
        [10, 0, 0, 2].into(),
        64,
        tcp(7, 80, 0x10, &data),
    );
    let mut frame = pool.frame(&ethernet(Mac([2; 6]), Mac([4; 6]), ip)).unwrap();
    let bytes = frame.bytes_mut();
    let pseudo = fold(sum(&bytes[26..34]) + 6 + (bytes.len() - 34) as u64);
    bytes[50..52].copy_from_slice(&pseudo.to_be_bytes());
    frame.offload.checksum = Some((34, 16));
    frame.offload.gso = (segments > 1).then_some(Gso {
        kind: GsoKind::Tcp4,
        segment_bytes: 500,
        ecn: false,
    });
    frame
}

/// Its segments as they are on the wire.
fn segments(frame: &Frame) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    assert!(bofuss_packet::offload::segment(frame, |mut segment| {
        finish_checksum(&mut segment);
        found.push(segment.bytes().to_vec());
    }));
    found
}

#[test]
fn each_packet_is_sent_and_is_in_the_sum_of_its_flow_on_every_engine() {
    let packets: Vec<_> = (0..9).map(packet).collect();
    for (name, engine) in Engine::ALL {
        let mut switch = Switch::new(engine, &[ENTRY]);
        packets.iter().for_each(|bytes| switch.receive_bytes(bytes));
        let sent: Vec<_> = switch.sent.iter().map(|one| one.bytes().to_vec()).collect();
        assert_eq!(sent, packets, "{name}");
        assert_eq!(
            switch.flows(),
            [expected(5, &ENFORCEMENT, &packets)],
            "{name}"
        );
        let hits = switch.datapath.lane().engine.stats().hits;
        assert_eq!(hits, if engine == Engine::Cache { 8 } else { 0 }, "{name}");
    }
}

#[test]
fn the_sum_differs_with_cookie_priority_table_and_ports() {
    let packets = [packet(1), packet(2), packet(2)];
    let others = [
        (
            "cookie=8,priority=1,actions=rev_output(port=2,flow=5)",
            0,
            8,
            1,
            2,
        ),
        (
            "cookie=9,priority=2,actions=rev_output(port=2,flow=5)",
            0,
            9,
            2,
            2,
        ),
        (
            "cookie=9,priority=1,actions=rev_output(port=3,flow=5)",
            0,
            9,
            1,
            3,
        ),
        (
            "cookie=9,priority=1,table=1,actions=rev_output(port=2,flow=5)",
            1,
            9,
            1,
            2,
        ),
    ];
    let wanted = expected(5, &ENFORCEMENT, &packets);
    for (name, engine) in Engine::ALL {
        for (entry, table, cookie, priority, out_port) in others {
            let goto = "cookie=3,priority=0,actions=goto_table:1";
            let mut switch = Switch::new(engine, &[entry, goto]);
            packets.iter().for_each(|bytes| switch.receive_bytes(bytes));
            let enforcement = Enforcement {
                entry: HitEntry { cookie, priority },
                table: TableId(table),
                out_port: PortNo(out_port),
                ..ENFORCEMENT
            };
            let found = switch.flows();
            assert_eq!(
                found,
                [expected(5, &enforcement, &packets)],
                "{name}: {entry}"
            );
            assert_ne!(found[0].mac, wanted.mac, "{name}: {entry}");
        }
    }
}

#[test]
fn segments_of_a_super_frame_are_summed_as_they_are_on_the_wire() {
    for (name, engine) in Engine::ALL {
        let mut switch = Switch::new(engine, &[ENTRY]);
        let pool = switch.pool.clone();
        let mut wanted = Vec::new();
        for count in [3, 1, 3, 1] {
            let whole = super_frame(&pool, count);
            wanted.extend(if count > 1 {
                segments(&whole)
            } else {
                let mut finished = super_frame(&pool, count);
                finish_checksum(&mut finished);
                vec![finished.bytes().to_vec()]
            });
            switch.receive(whole);
        }
        assert_eq!(wanted.len(), 8);
        let sent: Vec<_> = switch.sent.iter().map(|one| one.bytes().to_vec()).collect();
        assert_eq!(sent, wanted, "{name}");
        let found = switch.flows();
        assert_eq!(found, [expected(5, &ENFORCEMENT, &wanted)], "{name}");
    }
}

#[test]
fn a_packet_is_in_the_sum_as_it_was_before_later_actions_changed_it() {
    for (name, engine) in Engine::ALL {
        let actions = "rev_output(port=2,flow=5),set_field:9->udp_dst,rev_output(port=1,flow=6)";
        let entry = format!("cookie=9,priority=1,udp,actions={actions},output:2");
        let mut switch = Switch::new(engine, &[&entry]);
        (0..3).for_each(|datum| switch.receive_bytes(&packet(datum)));
        let before: Vec<_> = (0..3).map(packet).collect();
        let flows = switch.flows();
        assert_eq!(flows[0], expected(5, &ENFORCEMENT, &before), "{name}");
        assert_eq!(flows[1].packets, 3, "{name}");
        // A packet does not leave by the port through which it came.
        assert_eq!(switch.sent.len(), 6, "{name}");
    }
}

#[test]
fn without_a_key_packets_go_on_and_are_only_counted() {
    for (name, engine) in Engine::ALL {
        let mut switch = Switch::with_hook(engine, Rev::default(), &[ENTRY]);
        (0..3).for_each(|datum| switch.receive_bytes(&packet(datum)));
        assert_eq!(switch.sent.len(), 3, "{name}");
        assert_eq!(switch.status(), [0, 0, 3, 0], "{name}");
        assert!(switch.flows().is_empty(), "{name}");
    }
}

#[test]
fn a_flow_beyond_the_limit_is_refused_and_counted_and_a_forgotten_one_makes_room() {
    let flows = (10..).take(MAX_FLOWS).map(|flow| (flow, Sum::default()));
    let hook = Rev {
        key: Some(KEY),
        flows: flows.collect(),
        ..Rev::default()
    };
    let mut switch = Switch::with_hook(Engine::Cache, hook, &[ENTRY]);
    (0..3).for_each(|datum| switch.receive_bytes(&packet(datum)));
    assert_eq!(switch.sent.len(), 3);
    assert_eq!(switch.status(), [1, MAX_FLOWS as u64, 0, 3]);
    assert_eq!(switch.flows().len(), MAX_FLOWS);
    assert_eq!(switch.say(REV_FORGET, vec![5]), Err(UNKNOWN_FLOW));
    assert_eq!(switch.say(REV_FORGET, vec![10]), Ok(vec![]));
    switch.receive_bytes(&packet(4));
    assert_eq!(switch.flows()[0], expected(5, &ENFORCEMENT, &[packet(4)]));
    assert_eq!(switch.status(), [1, MAX_FLOWS as u64, 0, 3]);
}

#[test]
fn a_new_key_begins_new_sums_and_is_not_shown() {
    let mut switch = Switch::new(Engine::Cache, &[ENTRY]);
    switch.receive_bytes(&packet(1));
    let key = ExtValue::typed(&VALUES[1], Key([0x5a; 16]));
    let mut calls = switch.datapath.hook_calls(Time(0), &mut switch.sent);
    calls.message(ASKER, &key).unwrap();
    assert!(switch.flows().is_empty());
    switch.receive_bytes(&packet(1));
    assert_ne!(
        switch.flows()[0].mac,
        expected(5, &ENFORCEMENT, &[packet(1)]).mac
    );
    assert_eq!(key.to_string(), "rev_key(key=(not shown))");
    assert_eq!(format!("{:?}", key.body::<Key>().unwrap()), "Key(..)");
}

#[test]
fn a_trace_is_in_no_sum_and_tells_no_mac() {
    let packet = packet(1);
    let datapath = Switch::new(Engine::Cache, &[ENTRY]).datapath;
    let mut switch = crate::Switch::new(Time(0), datapath, Identity::default(), FailMode::Secure);
    let trace = Trace::of(&mut switch, Time(0), PortNo(1), 0, &packet).unwrap();
    let text = trace.to_string();
    assert!(text.contains("cookie=0x9,table=0,priority=1"), "{text}");
    let mac = KEY.mac(&ENFORCEMENT, &packet);
    assert!(!text.contains(&format!("{mac:x}")) && !text.contains(&mac.to_string()));
    let mut metrics = Vec::new();
    let hooks = switch.datapath().hooks();
    hooks.metrics(Time(0), 0, 0, &mut metrics).unwrap();
    assert!(
        metrics.iter().all(|metric| metric.value == 0),
        "{metrics:?}"
    );
}

#[test]
fn a_short_packet_has_one_mac_with_and_without_its_padding() {
    let short = [1; 45];
    let mut padded = short.to_vec();
    padded.resize(60, 0);
    let mac = KEY.mac(&ENFORCEMENT, &short);
    assert_eq!(KEY.mac(&ENFORCEMENT, &padded), mac);
    padded.push(0);
    assert_ne!(KEY.mac(&ENFORCEMENT, &padded), mac);
}
