//! Rules in their tables, epochs, misses, keys and failover.

use bofuss_datapath::{Engine, Time};
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::craft::{self, Layer};

use crate::{Bench, MS, ethernet, ipv4, udp};

#[test]
fn a_later_packet_of_a_flow_is_not_looked_up() {
    for (name, engine) in Engine::ALL {
        let mut switch = Bench::new(engine);
        switch.flow("table=2,priority=9,udp,actions=qflow_forward(port=2)");
        switch.flow("table=4,priority=9,ip,nw_dst=10.0.1.0/24,actions=qflow_qos(weight=3)");
        for _ in 0..5 {
            assert_eq!(switch.send(1, &udp(1, 1)), [2], "{name}");
        }
        assert_eq!(switch.metric("looked_up"), 1, "{name}");
        assert_eq!(switch.send(1, &udp(2, 1)), [2], "{name}");
        let [flow, _] = &switch.flows("")[..] else {
            panic!("{name}: there are two flows");
        };
        assert_eq!(
            (flow.packets, flow.bytes),
            (5, 5 * udp(1, 1).len() as u64),
            "{name}"
        );
        assert_eq!((flow.qos.weight, flow.out_port), (3, PortNo(2)), "{name}");
    }
}

#[test]
fn t21_no_packet_follows_a_rule_that_has_changed() {
    for (name, engine) in Engine::ALL {
        let mut switch = Bench::new(engine);
        switch.flow("table=1,priority=9,udp,actions=qflow_forward(port=2)");
        assert_eq!(switch.send(1, &udp(1, 1)), [2], "{name}");
        switch.flow("table=1,priority=9,udp,actions=qflow_forward(port=3)");
        assert_eq!(switch.send(1, &udp(1, 1)), [3], "{name}");
        switch.flow("table=1,priority=9,udp,actions=qflow_forward(drop)");
        assert_eq!(switch.send(1, &udp(1, 1)), [0; 0], "{name}");
        assert_eq!(switch.send(1, &udp(1, 1)), [0; 0], "{name}");
        let flow = &switch.flows("")[0];
        assert_eq!((flow.packets, flow.dropped_packets), (2, 2), "{name}");
        let all = "table=1";
        switch
            .flow_mod(all, FlowModCommand::DELETE)
            .expect("they are there");
        assert_eq!(switch.send(1, &udp(1, 1)), [0; 0], "{name}");
        assert_eq!(switch.io.packet_ins, 1, "{name}");
        switch.flow("table=1,priority=9,hard_timeout=1,udp,actions=qflow_forward(port=4)");
        assert_eq!(switch.send(1, &udp(1, 1)), [4], "{name}");
        switch.pass(2 * Time::SEC);
        assert_eq!(switch.send(1, &udp(1, 1)), [0; 0], "{name}");
    }
}

#[test]
fn t21_a_rule_with_an_idle_timeout_lives_as_long_as_its_flows_have_packets() {
    for (name, engine) in Engine::ALL {
        for table in [1, 3] {
            let mut switch = Bench::new(engine);
            let records = ["qflow_forward(port=2)", "qflow_qos(weight=3)"];
            for (record, own) in records.iter().zip([1, 3]) {
                let timeout = if own == table { "idle_timeout=2," } else { "" };
                switch.flow(&format!(
                    "table={own},priority=9,{timeout}udp,actions={record}"
                ));
            }
            for _ in 0..50 {
                assert_eq!(switch.send(1, &udp(1, 1)), [2], "{name}");
                assert_eq!(switch.flows("")[0].qos.weight, 3, "{name}");
                switch.pass(200 * MS);
            }
            switch.pass(3 * Time::SEC);
            let left = switch.send(1, &udp(1, 1));
            let expected = if table == 1 { vec![] } else { vec![2] };
            assert_eq!(left, expected, "{name}: after a pause it has gone");
            let weight = switch.flows("")[0].qos.weight;
            assert_eq!(weight, if table == 3 { 1 } else { 3 }, "{name}");
        }
    }
}

#[test]
fn t22_a_flow_without_a_rule_asks_the_controller_once_a_second() {
    for (name, engine) in Engine::ALL {
        let mut switch = Bench::new(engine);
        for _ in 0..25 {
            assert_eq!(switch.send(1, &udp(1, 1)), [0; 0], "{name}");
            switch.pass(100 * MS);
        }
        assert_eq!(switch.io.packet_ins, 3, "{name}");
        // Of nine packets each second, eight wait and one has no room; after a second, the eight
        // are dropped, too. Four still wait.
        let counts = ["suppressed", "waiting"].map(|name| switch.metric(name));
        assert_eq!(counts, [18, 4], "{name}");
        assert_eq!(switch.flows("")[0].dropped_packets, 18, "{name}");
        switch.flow("table=1,priority=9,udp,actions=qflow_forward(port=2)");
        // A new packet waits behind those that already do.
        assert_eq!(switch.send(1, &udp(1, 1)), [0; 0], "{name}");
        switch.pass(2 * MS);
        assert_eq!(switch.left(), [2; 5], "{name}");
        assert_eq!(switch.send(1, &udp(1, 1)), [2], "{name}");
        let flow = &switch.flows("")[0];
        assert_eq!((flow.packets, flow.dropped_packets), (6, 18), "{name}");
    }
    for (unknown, left) in [("drop", vec![]), ("flood", vec![2, 3, 4])] {
        let mut switch = Bench::with_options(Engine::default(), &[("unknown", unknown)]);
        assert_eq!(switch.send(1, &udp(1, 1)), left);
        assert_eq!(switch.send(1, &udp(1, 1)), left);
        assert_eq!(switch.io.packet_ins, 0);
    }
}

#[test]
fn t22_packets_that_wait_for_a_rule_go_in_their_order_after_the_first() {
    let mut switch = Bench::new(Engine::default());
    for n in 0..20u8 {
        switch.send(1, &ipv4(1, craft::udp(1, 7, &[n; 20])));
        switch.send(1, &ipv4(2, craft::udp(1, 7, &[n; 20])));
    }
    // Of each flow, the controller has one packet, eight wait, and eleven are dropped.
    let counts = ["waiting", "suppressed"].map(|name| switch.metric(name));
    assert_eq!((switch.io.packet_ins, counts), (2, [16, 22]));
    // After a rule for other flows, the controller is not asked again within the second.
    switch.flow("table=1,priority=9,tcp,actions=qflow_forward(port=3)");
    switch.pass(5 * MS);
    assert_eq!((switch.left(), switch.metric("waiting")), (vec![], 16));
    assert_eq!(switch.io.packet_ins, 2);
    // The controller adds a rule for one flow, and sends the first packet itself.
    switch.flow("table=1,priority=9,ip,nw_dst=10.0.1.1,actions=qflow_forward(port=2)");
    switch.send(1, &ipv4(1, craft::udp(1, 7, &[99; 20])));
    switch.pass(5 * MS);
    let sent: Vec<u8> = switch
        .io
        .frames
        .drain(..)
        .map(|(_, frame)| frame[60])
        .collect();
    assert_eq!(sent, [1, 2, 3, 4, 5, 6, 7, 8]);
    // An engine writes where the other flow goes.
    let other = "in_port=1,eth_type=0x800,ip_proto=17,sport=1,dport=7,src=10.0.0.1,dst=10.0.1.2";
    let write = format!("{other},port=4");
    switch
        .ask("qflow_write", &write)
        .expect("the flow is there");
    switch.pass(5 * MS);
    assert_eq!((switch.left(), switch.metric("waiting")), (vec![4; 8], 0));
    let flows = switch.flows("");
    let counted: Vec<_> = flows
        .iter()
        .map(|one| (one.packets, one.dropped_packets))
        .collect();
    assert_eq!(counted, [(8, 12), (8, 11)]);
}

#[test]
fn what_waits_for_rules_is_bounded_and_a_port_leaves_room_for_others() {
    let mut switch = Bench::new(Engine::default());
    for n in 0..3000 {
        for _ in 0..3 {
            switch.send(1, &udp(1, n));
        }
    }
    let flooded = switch.metric("waiting");
    assert!((100..1000).contains(&flooded), "{flooded}");
    for _ in 0..9 {
        switch.send(2, &udp(2, 1));
    }
    assert_eq!(switch.metric("waiting"), flooded + 8);
    let mut switch = Bench::new(Engine::default());
    (0..3).for_each(|_| assert!(switch.send(1, &udp(1, 1)).is_empty()));
    assert_eq!(switch.metric("waiting"), 2);
    // After the loss of their port, or after their time, packets do not wait any more.
    switch.port(1, false);
    switch.pass(3 * Time::SEC);
    assert_eq!(switch.metric("waiting"), 0);
    assert_eq!(switch.metric("suppressed"), 2);
}

#[test]
fn t22_packets_that_wait_are_changed_once_by_the_tables_before_that_of_flows() {
    for (name, engine) in Engine::ALL {
        let later = [("forwarding", "2"), ("table", "1")];
        let mut switch = Bench::with_options(engine, &later);
        let before = "table=0,priority=1,ip,actions=dec_ttl,write_actions(output:3),goto_table:1";
        switch.flow(before);
        let left = [0, 1, 2].map(|n| switch.send(1, &ipv4(1, craft::udp(1, 7, &[n; 20]))));
        // The packet that asks runs its action set; those that wait have not got that far.
        assert_eq!(left, [vec![3], vec![], vec![]], "{name}");
        let counts = ["waiting", "suppressed"].map(|metric| switch.metric(metric));
        assert_eq!((switch.io.packet_ins, counts), (1, [2, 0]), "{name}");
        switch.flow("table=2,priority=9,udp,actions=qflow_forward(port=2)");
        switch.pass(5 * MS);
        let sent: Vec<_> = switch.io.frames.drain(..).collect();
        let seen: Vec<_> = sent
            .iter()
            .map(|(port, frame)| (*port, frame[22], frame[60]))
            .collect();
        let expected = [(2, 63, 1), (3, 63, 1), (2, 63, 2), (3, 63, 2)];
        assert_eq!(seen, expected, "{name}");
    }
}

#[test]
fn t23_a_packet_is_forwarded_although_the_table_is_full() {
    let mut switch = Bench::with_options(Engine::default(), &[("flows", "100")]);
    switch.flow("table=1,priority=9,udp,actions=qflow_forward(port=2)");
    for n in 0..1000 {
        assert_eq!(switch.send(1, &udp(1, n)), [2]);
    }
    assert_eq!(
        (switch.metric("flows"), switch.metric("evicted")),
        (100, 900)
    );
}

#[test]
fn t14_keys_cut_aggregates_out_of_the_same_flows() {
    let mut switch = Bench::new(Engine::default());
    switch.flow("table=1,priority=9,ip,actions=qflow_forward(port=2)");
    switch.flow("table=1,priority=9,ipv6,actions=qflow_forward(port=2)");
    let cases = [
        ("set,key=1,ipv4_dst=/32", 4),
        ("set,key=1,ipv4_dst=/24,ipv6_dst=/64", 2),
        ("set,key=1,ipv4_src=255.255.255.255", 2),
        ("set,key=1,vlan=0xfff", 3),
        ("set,key=1,sport=0xffff", 2),
        ("set,key=1,ip_proto=0xff", 2),
        ("set,key=1", 1),
    ];
    let six = |to: u16, payload| {
        let address = |last| [0xfd00, 0, 0, 0, 0, 0, 0, last].into();
        ethernet(craft::ipv6(address(1), address(to), 64, payload))
    };
    let tagged = |vid| {
        let payload = craft::ipv4(
            [10, 0, 0, 1].into(),
            [10, 0, 1, 1].into(),
            64,
            craft::udp(1, 7, b""),
        );
        ethernet(craft::vlan(0x8100, vid, payload))
    };
    let frames = [
        udp(1, 1),
        udp(2, 2),
        ipv4(3, craft::tcp(1, 7, 2, b"")),
        six(2, craft::udp(1, 7, b"")),
        six(3, craft::udp(1, 7, b"")),
        tagged(7),
        tagged(8),
    ];
    switch
        .ask("qflow_key_mod", "set,key=1")
        .expect("it is a key");
    switch
        .ask("qflow_key_mod", "port=2,key=1")
        .expect("the key is there");
    for (key, expected) in cases {
        switch.ask("qflow_key_mod", key).expect(key);
        for frame in &frames {
            assert_eq!(switch.send(1, frame), [2], "{key}");
        }
        let aggregates = switch.aggregates();
        assert_eq!(aggregates.len(), expected, "{key}: {aggregates:?}");
        let flows: u32 = aggregates.iter().map(|one| one.flows).sum();
        assert_eq!(flows as usize, frames.len(), "{key}");
    }
    assert_eq!(switch.parts("qflow_keys", "").len(), 1);
    switch
        .ask("qflow_key_mod", "delete,key=1")
        .expect("it is there");
    assert!(switch.ask("qflow_key_mod", "delete,key=1").is_err());
}

#[test]
fn packets_without_ports_have_flows_of_their_own() {
    let mut switch = Bench::new(Engine::default());
    switch.flow("table=1,priority=1,actions=qflow_forward(port=2)");
    let fragment = |offset: u16| {
        let mut bytes = ipv4(1, craft::udp(9, 9, &[7; 64]));
        bytes[20..22].copy_from_slice(&offset.to_be_bytes());
        bytes
    };
    // All fragments name destination options as the next header; only the first one has them.
    let fragment_of_ipv6 = |offset_and_more: u8, data: &[u8]| {
        let header = [60, 0, 0, offset_and_more, 0, 0, 0, 7];
        let part = Layer::new(44, &[&header, data].concat());
        let [one, other] = [1, 2].map(|n| [0xfd00, 0, 0, 0, 0, 0, 0, n].into());
        ethernet(craft::ipv6(one, other, 64, part))
    };
    let options = [17, 0, 1, 4, 0, 0, 0, 0];
    let begin = [&options, &craft::udp(9, 9, &[7; 64]).bytes[..24]].concat();
    let arp = |op| {
        let [one, other] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
        ethernet(craft::arp(op, Mac([4; 6]), one, Mac([0; 6]), other))
    };
    let flows = [
        vec![ipv4(1, craft::ping(1, b"a")), ipv4(1, craft::ping(2, b"b"))],
        vec![fragment(0x2000), fragment(0x2004), fragment(5)],
        vec![
            fragment_of_ipv6(1, &begin),
            fragment_of_ipv6(4 << 3 | 1, &[7; 16]),
            fragment_of_ipv6(6 << 3, &[7; 16]),
            fragment_of_ipv6(4 << 3 | 1, &[7; 16]),
        ],
        vec![arp(1), arp(2)],
        vec![ipv4(1, craft::udp(9, 9, &[7; 64]))],
    ];
    for (n, frames) in flows.iter().enumerate() {
        for frame in frames {
            assert_eq!(switch.send(1, frame), [2], "{n}");
        }
        let known = switch.flows("");
        assert_eq!(known.len(), n + 1);
        let packets: Vec<u64> = known.iter().map(|flow| flow.packets).collect();
        assert!(packets.contains(&(frames.len() as u64)), "{n}: {packets:?}");
    }
    let ports: Vec<_> = switch
        .flows("")
        .iter()
        .map(|flow| flow.tuple.ports)
        .collect();
    assert_eq!(ports.iter().filter(|ports| **ports == [0; 2]).count(), 4);
}

#[test]
fn t18_flows_follow_a_port_that_is_lost_without_a_controller() {
    for (name, engine) in Engine::ALL {
        let mut switch = Bench::new(engine);
        switch.flow("table=1,priority=9,udp,actions=qflow_forward(port=2,failover=3)");
        for n in 0..500 {
            assert_eq!(switch.send(1, &udp(1, n)), [2], "{name}");
        }
        switch.port(2, false);
        for n in 0..500 {
            assert_eq!(switch.send(1, &udp(1, n)), [3], "{name}");
        }
        switch.port(2, true);
        assert_eq!(switch.send(1, &udp(1, 0)), [2], "{name}");
        assert_eq!(switch.metric("looked_up"), 500, "{name}");
        assert_eq!(switch.io.packet_ins, 0, "{name}");
    }
}

#[test]
fn rules_that_depend_on_more_than_the_tuple_are_looked_up_for_each_packet() {
    let mut switch = Bench::new(Engine::default());
    switch.flow("table=1,priority=1,udp,actions=qflow_forward(port=2)");
    switch.flow("table=1,priority=9,udp,ip_dscp=8,actions=qflow_forward(port=3)");
    let mut marked = udp(1, 1);
    marked[15] = 8 << 2;
    for _ in 0..3 {
        assert_eq!(switch.send(1, &udp(1, 1)), [2]);
        assert_eq!(switch.send(1, &marked), [3]);
    }
    assert_eq!(switch.flows("")[0].packets, 6);
    switch
        .flow_mod("table=1", FlowModCommand::DELETE)
        .expect("they are there");
    switch.flow("table=1,priority=1,udp,actions=qflow_forward(port=2)");
    let before = switch.metric("looked_up");
    (0..4).for_each(|_| assert_eq!(switch.send(1, &udp(1, 1)), [2]));
    assert_eq!(switch.metric("looked_up"), before + 1);
}

#[test]
fn rules_are_accepted_only_in_tables_of_their_kind() {
    let mut switch = Bench::new(Engine::default());
    for wrong in [
        "table=0,priority=1,actions=qflow_forward(port=2)",
        "table=3,priority=1,actions=qflow_forward(port=2)",
        "table=1,priority=1,actions=qflow_qos(weight=2)",
    ] {
        assert!(
            switch.flow_mod(wrong, FlowModCommand::ADD).is_err(),
            "{wrong}"
        );
    }
    for wrong in [
        ("table", "9"),
        ("forwarding", "2,1"),
        ("qos", "0"),
        ("flows", "0"),
        ("push-ms", "x"),
    ] {
        let catalogue = bofuss_ext::catalogue();
        let mut hooks = bofuss_ext::hooks(&catalogue).into_iter();
        let mut hook = hooks
            .find(|hook| hook.name() == "openqflow")
            .expect("it is there");
        hook.set_option("table", "0").expect("it is a table");
        hook.set_option("forwarding", "1,2")
            .expect("they are tables");
        assert!(hook.set_option(wrong.0, wrong.1).is_err(), "{wrong:?}");
    }
    let reported = switch.value(ExtKind::Message, "qflow_limits", "push_ms=1");
    assert!(reported.row.changes, "a slave may not send it");
}

#[test]
fn a_packet_that_an_entry_sends_to_a_rule_is_forwarded_after_its_flow_is_over() {
    for (name, engine) in Engine::ALL {
        let mut switch = Bench::new(engine);
        switch.flow("table=1,priority=9,udp,actions=output:2");
        assert_eq!(switch.send(1, &udp(1, 1)), [2], "{name}");
        switch.pass(200 * Time::SEC);
        assert_eq!(switch.metric("flows"), 0, "{name}");
        switch.flow("table=0,priority=9,udp,actions=goto_table:1");
        switch.flow("table=1,priority=9,udp,actions=qflow_forward(port=3)");
        for _ in 0..2 {
            assert_eq!(switch.send(1, &udp(1, 1)), [3], "{name}");
        }
        assert_eq!(
            switch.metric("flows"),
            0,
            "{name}: no packet came to the flows"
        );
    }
}
