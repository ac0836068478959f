//! Tests of predicates: through each engine, as they change, with super-frames, at the limit.

use alloc::{format, string::ToString, sync::Arc, vec, vec::Vec};

use bofuss_agent::{FailMode, Identity};
use bofuss_datapath::{Asker, Config, Engine, PacketInEvent, Sink};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Gso, GsoKind, OffloadCapabilities, Pool};
use bofuss_oflib::message::{
    ControllerRole, FlowModCommand, FlowRemoved, PortDesc, PortStatusReason,
};
use bofuss_oflib::text::{add_field, parse_flow};
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Mac, PortNo, Version};
use bofuss_packet::checksum::{fold, sum};
use bofuss_packet::craft::{ethernet, ipv6, tcp, udp};

use super::*;
use crate::trace::Trace;

const PORTS: u32 = 4;
/// The ports of no packet.
const NONE: [u32; 0] = [];
const ASKER: Asker = Asker {
    connection: 1,
    role: ControllerRole::EQUAL,
    version: Version::V1_3,
    form: 0,
};
/// Nonce and tag in an Ethernet payload, which a configuration describes.
const IN_PAYLOAD: [&str; 3] = [
    "blind_nonce=eth_type:16:128,number=1,ip6,shared,eth_type=0x88b5",
    "network_tag=eth_type:144:128,number=2,ip6,shared,eth_type=0x88b5",
    "host_tag=eth_type:272:128,number=3,ip6,shared,eth_type=0x88b5",
];

/// The frames that left, with their ports.
#[derive(Default)]
struct Sent(Vec<(u32, Vec<u8>)>);

impl Sink for Sent {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.0.push((port.0, frame.bytes().to_vec()));
    }
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// A switch with this extension, to which frames and messages are given.
struct Switch {
    datapath: Datapath,
    catalogue: Arc<Catalogue>,
    pool: Pool,
    sent: Sent,
}

impl Switch {
    fn new(engine: Engine, fields: &[&str], entries: &[&str]) -> Self {
        let mut catalogue = crate::catalogue();
        for text in fields {
            add_field(text, &mut catalogue).unwrap();
        }
        let (catalogue, pool) = (Arc::new(catalogue), Pool::new(1 << 22));
        let config = Config {
            engine,
            n_tables: 3,
            ..Config::default()
        };
        let mut datapath = Datapath::new(config, catalogue.clone(), pool.clone());
        datapath.add_hook(hook(&catalogue));
        let mut this = Self {
            datapath,
            catalogue,
            pool,
            sent: Sent::default(),
        };
        let capabilities = OffloadCapabilities {
            checksum: true,
            tcp: true,
            ..OffloadCapabilities::default()
        };
        for port_no in (1..=PORTS).map(PortNo) {
            let port = PortDesc {
                port_no,
                ..PortDesc::default()
            };
            let mut ports = this.datapath.port_control(Time(0), &mut this.sent);
            ports.changed(port, capabilities);
        }
        entries.iter().for_each(|text| this.add(text));
        this
    }

    fn add(&mut self, text: &str) {
        let flow = parse_flow(text, FlowModCommand::ADD, &self.catalogue).unwrap();
        let mut control = self.datapath.control(Time(0), &mut self.sent);
        control.flow_mod(&flow).unwrap();
    }

    fn receive(&mut self, frame: Frame) {
        let port = PortNo(1);
        self.datapath
            .receive(Time(0), port, &mut vec![frame], &mut self.sent);
    }

    fn receive_bytes(&mut self, bytes: &[u8]) {
        let frame = self.pool.frame(bytes).unwrap();
        self.receive(frame);
    }

    fn say(&mut self, value: &ExtValue) -> Result<Vec<ExtValue>, ErrorCode> {
        let mut calls = self.datapath.hook_calls(Time(0), &mut self.sent);
        calls.message(ASKER, value).map(|answer| answer.replies)
    }

    /// Gives a table a predicate of fields by their names.
    fn predicate(&mut self, table: u8, nonce: &str, tag: &str) -> Result<(), ErrorCode> {
        let field = |name| self.catalogue.field_named(name).unwrap();
        let fields = PredicateFields::new(field(nonce), field(tag))?;
        let change = PredicateMod { table, fields };
        self.say(&ExtValue::typed(&VALUES[0], change)).map(|_| ())
    }

    fn trapdoor(&mut self, table: u8, number: u32, trapdoor: Trapdoor) -> Result<(), ErrorCode> {
        let keyword = Keyword { table, number };
        let change = TrapdoorMod { keyword, trapdoor };
        self.say(&ExtValue::typed(&VALUES[1], change)).map(|_| ())
    }

    fn forget(&mut self, table: u8, number: u32) -> Result<(), ErrorCode> {
        let keyword = Keyword { table, number };
        let value = ExtValue::typed(&VALUES[BLIND_FORGET], keyword);
        self.say(&value).map(|_| ())
    }

    fn clear(&mut self, table: u8) -> Result<(), ErrorCode> {
        let row = &VALUES[BLIND_CLEAR];
        let value = ExtValue::new(row, vec![table.into()], Bytes::default());
        self.say(&value).map(|_| ())
    }

    /// Predicates, trapdoors, evaluations, tries.
    fn status(&mut self) -> Vec<u64> {
        let value = ExtValue::new(&VALUES[BLIND_STATUS], vec![], Bytes::default());
        self.say(&value).unwrap()[0].args.clone()
    }

    /// The keywords that it lists.
    fn keywords(&mut self) -> Vec<Keyword> {
        let row = &VALUES[BLIND_KEYWORDS];
        let request = ExtValue::typed(row, ValueList::<Keyword>(Vec::new()));
        let (mut keywords, mut from) = (Vec::new(), Some(0));
        while let Some(at) = from {
            let mut calls = self.datapath.hook_calls(Time(0), &mut self.sent);
            let (part, _) = calls.multipart(ASKER, &request, at).unwrap();
            let value = part.value.unwrap();
            keywords.extend(value.body::<ValueList<Keyword>>().unwrap().0.clone());
            from = part.next;
        }
        keywords
    }

    /// The ports by which frames have left since this was last asked.
    fn ports(&mut self) -> Vec<u32> {
        let sent = core::mem::take(&mut self.sent.0);
        sent.into_iter().map(|(port, _)| port).collect()
    }
}

/// The trapdoor of a keyword in these tests.
fn trapdoor(keyword: u32) -> Trapdoor {
    Trapdoor((u128::from(keyword) * 0x9e37_79b9_7f4a_7c15 + 7).to_be_bytes())
}

/// A packet of IPv6 whose source is a nonce, and whose destination the tag of a keyword under it.
fn packet(keyword: u32, nonce: u128) -> Vec<u8> {
    let tag = trapdoor(keyword).tag(nonce);
    let ip = ipv6(nonce.into(), tag.into(), 64, udp(4000, 80, &[1; 20]));
    ethernet(Mac([2; 6]), Mac([4; 6]), ip)
}

/// A packet whose tag has another bit at the end.
fn forged(keyword: u32, nonce: u128) -> Vec<u8> {
    let mut bytes = packet(keyword, nonce);
    bytes[14 + 8 + 31] ^= 1;
    bytes
}

/// Entries that divide keywords among three ports by their last bits.
const BY_KEYWORD: [&str; 4] = [
    "priority=2,blind_keyword=0/3,actions=output:2",
    "priority=2,blind_keyword=1/3,actions=output:3",
    "priority=2,blind_keyword=2/3,actions=output:4",
    "priority=1,actions=drop",
];

/// The port of a keyword by these entries, if it has one.
fn port_of(keyword: u32) -> Option<u32> {
    [Some(2), Some(3), Some(4), None][keyword as usize % 4]
}

#[test]
fn a_tag_is_siphash_of_the_nonce_in_the_order_of_the_wire() {
    let key = core::array::from_fn(|at| at as u8);
    let nonce = u128::from_be_bytes(key);
    // By an implementation in Python that gives the first vector of the reference's.
    let tag = 0x6ee2_a4ca_67b0_54bb_fd33_15bf_8523_0577;
    assert_eq!(Trapdoor(key).tag(nonce), tag);
}

#[test]
fn a_thousand_tags_are_forwarded_by_their_keywords_and_evaluated_once_a_flow() {
    for (name, engine) in Engine::ALL {
        let mut switch = Switch::new(engine, &[], &BY_KEYWORD);
        switch.predicate(0, "ipv6_src", "ipv6_dst").unwrap();
        for keyword in 0..100 {
            switch.trapdoor(0, keyword, trapdoor(keyword)).unwrap();
        }
        let flows: Vec<(u32, u128)> = (0..1_000).map(|flow| (flow % 104, flow.into())).collect();
        for _ in 0..3 {
            let mut expected = Vec::new();
            for (keyword, nonce) in &flows {
                switch.receive_bytes(&packet(*keyword, *nonce));
                let known = (*keyword < 100).then_some(*keyword);
                expected.extend(known.and_then(port_of));
            }
            assert_eq!(switch.ports(), expected, "{name}");
        }
        for nonce in 0..100 {
            switch.receive_bytes(&forged(nonce as u32, nonce));
        }
        assert_eq!(switch.ports(), NONE, "{name}: a wrong tag is of no keyword");
        let status = switch.status();
        assert_eq!(status[..2], [1, 100], "{name}");
        let evaluations = if engine == Engine::Cache { 1 } else { 3 } * 1_000 + 100;
        // A few flows of the cache may have had to make room for others.
        let most = evaluations + if engine == Engine::Cache { 20 } else { 0 };
        assert!(
            (evaluations..=most).contains(&status[2]),
            "{name}: {status:?}"
        );
    }
}

#[test]
fn a_change_of_trapdoors_takes_effect_for_flows_that_are_known() {
    for (name, engine) in Engine::ALL {
        let mut switch = Switch::new(engine, &[], &BY_KEYWORD);
        let known = packet(5, 1);
        let ports = |switch: &mut Switch| {
            switch.receive_bytes(&known);
            switch.receive_bytes(&known);
            switch.ports()
        };
        assert_eq!(ports(&mut switch), NONE, "{name}: no predicate");
        switch.predicate(0, "ipv6_src", "ipv6_dst").unwrap();
        assert_eq!(ports(&mut switch), NONE, "{name}: no trapdoor");
        switch.trapdoor(0, 5, trapdoor(5)).unwrap();
        assert_eq!(ports(&mut switch), [3, 3], "{name}");
        switch.trapdoor(0, 4, trapdoor(5)).unwrap();
        assert_eq!(ports(&mut switch), [2, 2], "{name}: the lowest number");
        switch.trapdoor(0, 4, trapdoor(6)).unwrap();
        assert_eq!(ports(&mut switch), [3, 3], "{name}: another trapdoor");
        switch.predicate(0, "ipv6_dst", "ipv6_src").unwrap();
        assert_eq!(ports(&mut switch), NONE, "{name}: other fields");
        switch.predicate(0, "ipv6_src", "ipv6_dst").unwrap();
        assert_eq!(ports(&mut switch), [3, 3], "{name}: trapdoors are kept");
        switch.forget(0, 5).unwrap();
        assert_eq!(ports(&mut switch), NONE, "{name}: forgotten");
        switch.trapdoor(0, 5, trapdoor(5)).unwrap();
        assert_eq!(ports(&mut switch), [3, 3], "{name}");
        switch.clear(0).unwrap();
        assert_eq!(ports(&mut switch), NONE, "{name}: cleared");
    }
}

#[test]
fn engines_agree_while_predicates_trapdoors_and_entries_change() {
    let mut switches = Engine::ALL.map(|(_, engine)| Switch::new(engine, &[], &BY_KEYWORD));
    let mut state = 1u64;
    let mut next = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut left = 0;
    for step in 0..12_000 {
        let (what, table) = (next(200), next(2) as u8);
        let (number, other) = (next(8) as u32, next(8) as u32);
        let swapped = next(4) == 0;
        let nonce = u128::from(next(4));
        let bytes = if next(8) == 0 {
            forged(number, nonce)
        } else {
            packet(number, nonce)
        };
        let entry = [
            format!("priority=3,blind_keyword={number},actions=goto_table:1"),
            format!(
                "table=1,priority=3,blind_keyword={number},actions=output:{}",
                2 + other % 3
            ),
            format!("priority=3,blind_keyword={number},actions=output:2"),
        ];
        let ports = switches.each_mut().map(|switch| {
            let result = match what {
                0 if swapped => switch.predicate(table, "ipv6_dst", "ipv6_src"),
                0 | 1 => switch.predicate(table, "ipv6_src", "ipv6_dst"),
                2..=5 => switch.trapdoor(table, number, trapdoor(number)),
                6 => switch.trapdoor(table, number, trapdoor(other)),
                7 => switch.forget(table, number),
                8 => switch.clear(table),
                9..=11 => {
                    switch.add(&entry[what as usize - 9]);
                    Ok(())
                }
                _ => {
                    switch.receive_bytes(&bytes);
                    Ok(())
                }
            };
            (result, switch.ports())
        });
        assert_eq!(ports[0], ports[1], "step {step}");
        assert_eq!(ports[0], ports[2], "step {step}");
        left += ports[0].1.len();
    }
    assert!(left > 1_000, "{left} packets left");
    let hits = switches[2].datapath.lane().engine.stats().hits;
    assert!(hits > 2_000, "{hits} packets took a cached path");
}

/// A frame with a nonce and the tags of a network and of a host in it.
fn masked(network: u32, host: u32, nonce: u128) -> Vec<u8> {
    let mut bytes = [[2; 6], [4; 6]].concat();
    bytes.extend([0x88, 0xb5]);
    bytes.extend(nonce.to_be_bytes());
    bytes.extend(trapdoor(network).tag(nonce).to_be_bytes());
    bytes.extend(trapdoor(host).tag(nonce).to_be_bytes());
    bytes
}

#[test]
fn tables_look_at_tags_of_their_own_and_keep_the_keyword_where_they_have_none() {
    let entries = [
        "priority=2,blind_keyword=1,actions=goto_table:1",
        "priority=2,blind_keyword=2,actions=output:4",
        "table=1,priority=2,blind_keyword=20,actions=goto_table:2",
        "table=2,priority=2,blind_keyword=20,actions=output:2",
        "table=1,priority=2,blind_keyword=1,actions=output:4",
        "table=1,priority=1,actions=output:3",
    ];
    for (name, engine) in Engine::ALL {
        let mut switch = Switch::new(engine, &IN_PAYLOAD, &entries);
        switch.predicate(0, "blind_nonce", "network_tag").unwrap();
        switch.predicate(1, "blind_nonce", "host_tag").unwrap();
        for (table, keyword) in [(0, 1), (0, 2), (1, 20)] {
            switch.trapdoor(table, keyword, trapdoor(keyword)).unwrap();
        }
        for nonce in [7, 8, 7] {
            for (network, host) in [(1, 20), (2, 20), (1, 21), (3, 20)] {
                switch.receive_bytes(&masked(network, host, nonce));
            }
            let mut cut = masked(1, 20, nonce);
            cut.truncate(cut.len() - 1);
            switch.receive_bytes(&cut);
            assert_eq!(switch.ports(), [2, 4, 3, 3], "{name}");
        }
    }
}

/// A TCP super-frame of three segments, with addresses as in [`packet`].
fn super_frame(pool: &Pool, keyword: u32, nonce: u128) -> Frame {
    let tag = trapdoor(keyword).tag(nonce);
    let ip = ipv6(nonce.into(), tag.into(), 64, tcp(7, 80, 0x10, &[3; 1_500]));
    let mut frame = pool.frame(&ethernet(Mac([2; 6]), Mac([4; 6]), ip)).unwrap();
    let bytes = frame.bytes_mut();
    let pseudo = fold(sum(&bytes[22..54]) + 6 + (bytes.len() - 54) as u64);
    bytes[70..72].copy_from_slice(&pseudo.to_be_bytes());
    frame.offload.checksum = Some((54, 16));
    frame.offload.gso = Some(Gso {
        kind: GsoKind::Tcp6,
        segment_bytes: 500,
        ecn: false,
    });
    frame
}

#[test]
fn a_super_frame_stays_whole_because_its_segments_share_nonce_and_tag() {
    for (name, engine) in Engine::ALL {
        let mut switch = Switch::new(engine, &[], &BY_KEYWORD);
        switch.predicate(0, "ipv6_src", "ipv6_dst").unwrap();
        switch.trapdoor(0, 5, trapdoor(5)).unwrap();
        let pool = switch.pool.clone();
        for _ in 0..2 {
            switch.receive(super_frame(&pool, 5, 1));
            switch.receive(super_frame(&pool, 6, 1));
        }
        let lengths = switch
            .sent
            .0
            .iter()
            .map(|(port, frame)| (*port, frame.len()));
        assert!(lengths.eq([(3, 1_574), (3, 1_574)]), "{name}");
    }
}

#[test]
fn fields_are_refused_that_are_too_narrow_or_may_differ_in_segments() {
    let in_udp = "in_udp=udp:64:128,number=4,ip6,udp_dst=9";
    let mut switch = Switch::new(Engine::Cache, &[in_udp], &[]);
    let mut predicate = |table, nonce, tag| switch.predicate(table, nonce, tag);
    assert_eq!(predicate(0, "ipv6_src", "eth_dst"), Err(error::BAD_FIELD));
    assert_eq!(predicate(0, "eth_dst", "ipv6_dst"), Err(error::BAD_FIELD));
    assert_eq!(predicate(0, "ipv6_src", "in_udp"), Err(error::NOT_SHARED));
    assert_eq!(
        predicate(3, "ipv6_src", "ipv6_dst"),
        Err(BadRequest::BAD_TABLE_ID)
    );
    assert_eq!(switch.status(), [0, 0, 0, 0]);
    assert_eq!(switch.trapdoor(0, 1, trapdoor(1)), Err(NO_PREDICATE));
    assert_eq!(switch.forget(0, 1), Err(NO_PREDICATE));
    assert_eq!(switch.clear(0), Err(NO_PREDICATE));
}

#[test]
fn a_trapdoor_beyond_the_limit_is_refused_and_a_forgotten_one_makes_room() {
    let mut switch = Switch::new(Engine::Cache, &[], &BY_KEYWORD);
    switch.predicate(0, "ipv6_src", "ipv6_dst").unwrap();
    switch.predicate(2, "ipv6_src", "ipv6_dst").unwrap();
    let most = MAX_TRAPDOORS as u32;
    for keyword in 0..most {
        let table = if keyword < 1_000 { 0 } else { 2 };
        switch.trapdoor(table, keyword, trapdoor(keyword)).unwrap();
    }
    assert_eq!(switch.trapdoor(0, most, trapdoor(1)), Err(FULL));
    assert_eq!(switch.trapdoor(0, 7, trapdoor(8)), Ok(()), "it has one");
    assert_eq!(switch.forget(0, most), Err(UNKNOWN_KEYWORD));
    let keywords = switch.keywords();
    assert!(keywords.iter().map(|one| one.number).eq(0..most));
    assert!(
        keywords
            .iter()
            .all(|one| (one.table == 0) == (one.number < 1_000))
    );
    assert_eq!(switch.forget(2, 2_000), Ok(()));
    assert_eq!(switch.trapdoor(0, most, trapdoor(1)), Ok(()));
    assert_eq!(switch.keywords().len(), MAX_TRAPDOORS);
}

#[test]
fn a_trapdoor_is_not_shown_and_a_trace_counts_nothing() {
    let change = TrapdoorMod {
        keyword: Keyword {
            table: 0,
            number: 5,
        },
        trapdoor: Trapdoor([0x5a; 16]),
    };
    assert!(!format!("{change:?}").contains("90"), "{change:?}");
    let value = ExtValue::typed(&VALUES[1], change);
    let text = "blind_trapdoor(table=0,keyword=5,key=(not shown))";
    assert_eq!(value.to_string(), text);
    let mut switch = Switch::new(Engine::Cache, &[], &BY_KEYWORD);
    switch.predicate(0, "ipv6_src", "ipv6_dst").unwrap();
    switch.trapdoor(0, 5, trapdoor(5)).unwrap();
    let right = trapdoor(5).tag(1);
    let mut agent = crate::Switch::new(
        Time(0),
        switch.datapath,
        Identity::default(),
        FailMode::Secure,
    );
    let mut trace = |packet: &[u8]| {
        let trace = Trace::of(&mut agent, Time(0), PortNo(1), 0, packet);
        trace.unwrap().to_string()
    };
    let text = trace(&packet(5, 1));
    assert!(text.contains("the tag is of keyword 5"), "{text}");
    let text = trace(&forged(5, 1));
    assert!(text.contains("the tag is of none of 1 keywords"), "{text}");
    let right = core::net::Ipv6Addr::from(right).to_string();
    assert!(!text.contains(&right), "{text}");
    let mut metrics = Vec::new();
    let hooks = agent.datapath().hooks();
    hooks.metrics(Time(0), 0, 0, &mut metrics).unwrap();
    let values: Vec<u64> = metrics.iter().map(|metric| metric.value).collect();
    assert_eq!(values, [1, 0, 0]);
}
