//! Aggregate keys: many at once, of every part of a tuple, with fair shares for the aggregates of
//! each.

use std::collections::BTreeMap;

use bofuss_datapath::Engine;
use bofuss_packet::craft::{self, Layer};

use crate::{Bench, ethernet, shares};

/// An IPv4 packet from host 1 of subnet `from` to a host of subnet `subnet`.
fn v4(subnet: u8, from: u8, to: u8, payload: Layer) -> Layer {
    craft::ipv4(
        [10, 9, from, 1].into(),
        [10, 0, subnet, to].into(),
        64,
        payload,
    )
}

/// An IPv6 packet, likewise.
fn v6(subnet: u16, from: u16, to: u16, payload: Layer) -> Layer {
    let source = [0xfd09, 0, 0, from, 0, 0, 0, 1].into();
    craft::ipv6(
        source,
        [0xfd00, 0, 0, subnet, 0, 0, 0, to].into(),
        64,
        payload,
    )
}

/// The first and the last fragments of two UDP datagrams, to two addresses.
fn fragments(subnet: u8) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for (to, offset) in [(1, 0x2000_u16), (1, 9), (2, 0x2000), (2, 9)] {
        let mut frame = ethernet(v4(subnet, 1, to, craft::udp(7, 7, &[0; 64])));
        frame[20..22].copy_from_slice(&offset.to_be_bytes());
        frames.push(frame);
    }
    frames
}

/// A key and its packets.
struct KeyCase {
    key: &'static str,
    /// The match of the rule that gives packets this key.
    rule: &'static str,
    frames: Vec<Vec<u8>>,
    /// The number of flows that the packets make.
    flows: usize,
    /// The number of aggregates that the flows make.
    aggregates: usize,
}

fn cases() -> Vec<KeyCase> {
    let mut cases = Vec::new();
    let mut add = |key, rule, frames: Vec<Vec<u8>>, flows, aggregates| {
        cases.push(KeyCase {
            key,
            rule,
            frames,
            flows,
            aggregates,
        });
    };
    let udp = |port| craft::udp(port, 7, b"");
    let each = |frame: &dyn Fn(u8) -> Layer| (1..=6).map(|n| ethernet(frame(n))).collect();
    add(
        "ipv4_dst=/32",
        "ip,nw_dst=10.0.1.0/24",
        each(&|n| v4(1, n, n % 3, udp(1))),
        6,
        3,
    );
    add(
        "ipv4_src=/24",
        "ip,nw_dst=10.0.2.0/24",
        each(&|n| v4(2, n % 2, n, udp(1))),
        6,
        2,
    );
    add(
        "sport=0xffff",
        "ip,nw_dst=10.0.3.0/24",
        each(&|n| v4(3, n, n, udp(n.into()))),
        6,
        6,
    );
    add(
        "dport=0xfffe",
        "ip,nw_dst=10.0.4.0/24",
        each(&|n| v4(4, 1, 1, craft::udp(1, n.into(), b""))),
        6,
        4,
    );
    add(
        "ip_proto=0xff",
        "ip,nw_dst=10.0.5.0/24",
        each(&|n| {
            v4(
                5,
                n,
                n,
                if n < 3 {
                    udp(1)
                } else {
                    craft::tcp(1, 1, 2, b"")
                },
            )
        }),
        6,
        2,
    );
    add(
        "vlan=0xfff",
        "ip,nw_dst=10.0.6.0/24",
        each(&|n| craft::vlan(0x8100, u16::from(n % 4), v4(6, n, n, udp(1)))),
        6,
        4,
    );
    add(
        "ipv6_dst=/128",
        "ipv6,ipv6_dst=fd00:0:0:7::/64",
        each(&|n| v6(7, n.into(), u16::from(n % 3), udp(1))),
        6,
        3,
    );
    add(
        "ipv6_src=/64",
        "ipv6,ipv6_dst=fd00:0:0:8::/64",
        each(&|n| v6(8, u16::from(n % 2), n.into(), udp(1))),
        6,
        2,
    );
    // No fragment has ports, not even the first one.
    add(
        "ipv4_dst=/32,sport=0xffff",
        "ip,nw_dst=10.0.9.0/24",
        fragments(9),
        2,
        2,
    );
    cases
}

#[test]
fn t14_nine_keys_hold_at_once_with_vlan_ipv6_and_fragments() {
    for (name, engine) in Engine::ALL {
        let mut switch = Bench::new(engine);
        for protocol in ["ip", "ipv6"] {
            switch.flow(&format!(
                "table=1,priority=1,{protocol},actions=qflow_forward(port=2)"
            ));
        }
        let cases = cases();
        for (n, case) in cases.iter().enumerate() {
            let key = n + 1;
            switch
                .ask("qflow_key_mod", &format!("set,key={key},{}", case.key))
                .expect(case.key);
            switch.flow(&format!(
                "table=3,priority=1,{},actions=qflow_qos(key={key},weight=2)",
                case.rule
            ));
        }
        // Packets of all keys come in turn.
        for n in 0..12 {
            for case in &cases {
                let frame = &case.frames[n % case.frames.len()];
                assert_eq!(switch.send(1, frame), [2], "{name}: {}", case.rule);
            }
        }
        let mut found: BTreeMap<u8, (usize, usize, u64)> = BTreeMap::new();
        for aggregate in switch.aggregates() {
            let sums = found.entry(aggregate.key).or_default();
            sums.0 += aggregate.flows as usize;
            sums.1 += 1;
        }
        for flow in switch.flows("") {
            found.get_mut(&flow.key).expect("its aggregate is listed").2 += flow.packets;
        }
        let expected = cases.iter().enumerate();
        let expected = expected.map(|(n, case)| (n as u8 + 1, (case.flows, case.aggregates, 12)));
        assert_eq!(found, expected.collect(), "{name}");
        assert_eq!(switch.parts("qflow_keys", "").len(), 1, "{name}");
    }
}

#[test]
fn t14_subscribers_share_alike_whatever_part_of_the_tuple_distinguishes_them() {
    type Of = fn(u8, u16) -> Vec<u8>;
    let variants: [(&str, Of); 4] = [
        ("ipv4_dst=/32", |one, flow| {
            ethernet(v4(1, 1, one, craft::udp(flow, 9, &[])))
        }),
        ("ipv4_src=/24", |one, flow| {
            ethernet(v4(1, one, 1, craft::udp(flow, 9, &[])))
        }),
        ("vlan=0xfff", |one, flow| {
            let packet = v4(1, 1, 1, craft::udp(flow, 9, &[]));
            ethernet(craft::vlan(0x8100, u16::from(one), packet))
        }),
        ("ipv6_dst=/64", |one, flow| {
            ethernet(v6(one.into(), 1, flow, craft::udp(flow, 9, &[])))
        }),
    ];
    for (key, frame) in variants {
        let mut switch = shares::switch("ceta");
        for ask in [format!("set,key=1,{key}"), "port=2,key=1".into()] {
            switch.ask("qflow_key_mod", &ask).expect("it is a key");
        }
        let rates = shares::run(&mut switch, frame).subscribers;
        let index = shares::index(&rates);
        // As in T1: even, except for what the small flows of one subscriber leave.
        assert!((0.990..=0.998).contains(&index), "{key}: {rates:?}");
        assert_eq!(switch.metric("aggregates"), 4, "{key}");
    }
}

#[test]
fn t14_tenants_whose_tuples_differ_by_vlan_alone_share_alike() {
    // Also if they have no VLAN any more when they wait at the port.
    for (discipline, actions) in [("hfair", ""), ("ceta2", ",actions=(pop_vlan)")] {
        let mut switch = shares::switch(discipline);
        switch.flow(&format!(
            "table=1,priority=5,udp,actions=qflow_forward(port=2{actions})"
        ));
        for ask in ["set,key=1,vlan=0xfff", "port=2,key=1"] {
            switch.ask("qflow_key_mod", ask).expect("it is a key");
        }
        let rates = shares::run(&mut switch, |tenant, flow| {
            let own = flow - [1, 5, 11, 21][usize::from(tenant) - 1];
            let packet = v4(1, 1, 1, craft::udp(own, 9, &[]));
            ethernet(craft::vlan(0x8100, u16::from(tenant), packet))
        });
        let index = shares::index(&rates.subscribers);
        assert!(
            index >= 0.999,
            "{discipline}{actions}: {index}, {:?}",
            rates.subscribers
        );
    }
}

#[test]
fn a_list_of_more_keys_than_a_message_holds_comes_in_parts() {
    let mut switch = Bench::new(Engine::default());
    for port in 1..=1_500 {
        let change = format!("port={port},key=0");
        switch.ask("qflow_key_mod", &change).expect("there is room");
    }
    for id in 1..=2 {
        let change = format!("add,id={id},pattern=50,port=3");
        switch
            .ask("qflow_signature_mod", &change)
            .expect("there is room");
    }
    let parts = switch.parts("qflow_keys", "");
    let counts = parts
        .iter()
        .map(|part| part.to_string().matches("key=").count());
    let counts: Vec<usize> = counts.collect();
    assert_eq!(
        (counts.len(), counts.iter().sum()),
        (8, 1_501),
        "{counts:?}"
    );
    assert!(counts.iter().all(|count| *count <= 200), "{counts:?}");
    let parts = switch.parts("qflow_signatures", "");
    let ids: Vec<bool> = parts
        .iter()
        .map(|part| part.to_string().contains("id=1"))
        .collect();
    assert_eq!(ids, [true, false]);
}
