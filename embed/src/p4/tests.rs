//! The P4 switch as a library: ports, effects, entries, time and copies.

use alloc::vec;
use alloc::vec::Vec;

use super::*;

const ROUTER: &[u8] = include_bytes!("../../../examples/p4/router/router.json");
const ROUTES: &[u8] = include_bytes!("../../../examples/p4/router/entries.json");
const FIREWALL: &[u8] = include_bytes!("../../../examples/p4/firewall/firewall.json");
const SIDES: &[u8] = include_bytes!("../../../examples/p4/firewall/entries.json");
const QUEUES: &[u8] = include_bytes!("../../../testdata/p4/queues/queues.json");

fn switch(program: &[u8], entries: &[u8], ports: impl IntoIterator<Item = u32>) -> P4Switch {
    let mut switch = P4Switch::new(Program::load(program).expect("it is right"), 1);
    switch.load_entries(entries).expect("they fit");
    for port in ports {
        switch.add_port(port).expect("it is a port");
    }
    switch
}

/// UDP between two addresses, from a port to port 53, or back.
fn udp(src: [u8; 4], dst: [u8; 4], ports: [u16; 2]) -> Vec<u8> {
    let mut ip = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0];
    ip.extend(src.into_iter().chain(dst));
    let words = ip
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum: u32 = words.sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
    frame.extend(ip);
    frame.extend(ports.into_iter().flat_map(u16::to_be_bytes));
    frame.extend([0, 8, 0, 0]);
    frame
}

fn sent(switch: &mut P4Switch) -> Vec<u32> {
    let frames = switch.drain().filter_map(|effect| match effect {
        P4Effect::Transmit(sent) => Some(sent.port),
        P4Effect::Digest(_) | P4Effect::Log(_) => None,
    });
    frames.collect()
}

#[test]
fn a_router_forwards_between_its_ports_and_counts() {
    let mut switch = switch(ROUTER, ROUTES, [1, 2]);
    let frame = udp([10, 0, 1, 1], [10, 0, 2, 2], [7, 53]);
    switch.receive(Time(5), 1, &frame).expect("there is port 1");
    let effects: Vec<P4Effect> = switch.drain().collect();
    let [P4Effect::Transmit(sent)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!((sent.port, sent.frame[22]), (2, 63));
    assert_eq!(switch.ports()[&1].received.packets, 1);
    assert_eq!(switch.ports()[&2].sent.bytes, frame.len() as u64);
    assert_eq!(switch.receive(Time(6), 3, &frame), Err(P4Error::NoPort(3)));
}

#[test]
fn a_port_has_a_link_until_it_goes_or_has_none_also_with_another_program() {
    let mut switch = switch(ROUTER, ROUTES, [1, 2]);
    switch.set_link(2, false).expect("it is there");
    switch.set_program(Program::load(FIREWALL).expect("it is right"), 1);
    assert!(switch.switch().has_link(1) && !switch.switch().has_link(2));
    switch.remove_port(1).expect("it is there");
    assert!(!switch.switch().has_link(1));
    for port in [1, 2] {
        switch.add_port(port).expect("it is a port");
    }
    assert!(switch.switch().has_link(1) && !switch.switch().has_link(2));
    assert_eq!(switch.set_link(3, false), Err(P4Error::NoPort(3)));
}

#[test]
fn what_is_for_a_port_that_is_gone_is_counted() {
    let mut switch = switch(ROUTER, ROUTES, [1, 2]);
    switch.remove_port(2).expect("it is there");
    assert_eq!(switch.remove_port(2), Err(P4Error::NoPort(2)));
    let frame = udp([10, 0, 1, 1], [10, 0, 2, 2], [7, 53]);
    switch.receive(Time(5), 1, &frame).expect("there is port 1");
    assert_eq!(sent(&mut switch), [0_u32; 0]);
    let lost = switch.counts().drops().find(|(_, count)| *count > 0);
    assert_eq!(lost, Some(("no_port", 1)));
}

#[test]
fn wrong_entries_and_ports_change_nothing() {
    let mut switch = switch(ROUTER, ROUTES, [1]);
    let before = switch.switch().show_entries();
    let some = br#"{"multicast_group_entries": [{"multicast_group_id": 1, "replicas": [
        {"egress_port": 1}]}], "clone_session_entries": [{"clone_session_id": 1}, {}]}"#;
    let error = switch.load_entries(some).expect_err("one has no number");
    assert!(
        error.to_string().starts_with("/clone_session_entries/1"),
        "{error}"
    );
    assert_eq!(switch.switch().show_entries(), before);
    assert!(switch.switch().replication().groups().is_empty());
    let refused = switch.add_port(511).expect_err("it means a drop");
    assert_eq!(
        refused.to_string(),
        "port 511: a P4 program has ports 0 to 510"
    );
}

#[test]
fn a_connection_ends_by_the_time_that_the_caller_gives() {
    const SECOND: u64 = 1_000_000_000;
    let mut switch = switch(FIREWALL, SIDES, [1, 2]);
    let out = udp([10, 0, 0, 1], [10, 0, 0, 2], [7, 53]);
    let back = udp([10, 0, 0, 2], [10, 0, 0, 1], [53, 7]);
    let mut received = |at, port, frame: &[u8]| {
        switch.receive(Time(at), port, frame).expect("it is there");
        sent(&mut switch)
    };
    assert_eq!(received(SECOND, 2, &back), [0_u32; 0], "nobody has asked");
    assert_eq!(received(2 * SECOND, 1, &out), [2]);
    assert_eq!(received(12 * SECOND, 2, &back), [1]);
    assert_eq!(received(12 * SECOND + 2_000, 2, &back), [0_u32; 0]);
}

#[test]
fn a_copy_has_what_the_original_had_and_no_more() {
    let mut original = switch(FIREWALL, SIDES, [1, 2]);
    let out = udp([10, 0, 0, 1], [10, 0, 0, 2], [7, 53]);
    let back = udp([10, 0, 0, 2], [10, 0, 0, 1], [53, 7]);
    let mut empty = original.clone();
    original.receive(Time(1), 1, &out).expect("it is there");
    let mut full = original.clone();
    for (copy, ports) in [(&mut empty, &[][..]), (&mut full, &[2, 1])] {
        copy.receive(Time(2), 2, &back).expect("it is there");
        assert_eq!(sent(copy), ports);
    }
    assert_eq!(sent(&mut original), [2]);
}

#[test]
fn an_explanation_names_the_tables_and_changes_nothing() {
    let switch = switch(ROUTER, ROUTES, [1]);
    let frame = udp([10, 0, 1, 1], [10, 0, 2, 2], [7, 53]);
    let text = switch.explain(Time(0), 1, &frame).expect("it is there");
    assert!(text.contains("table RouterIngress.neighbours"), "{text}");
    assert!(text.contains("leave at port 2"), "{text}");
    assert_eq!(switch.ports()[&1], P4Port::default());
    assert_eq!(switch.explain(Time(0), 2, &frame), Err(P4Error::NoPort(2)));
}

#[test]
fn each_priority_of_a_port_without_room_is_full_for_itself() {
    let mut switch = switch(QUEUES, b"{}", [1, 2]);
    let lost = |switch: &P4Switch, reason: &str| {
        let mut drops = switch.counts().drops();
        drops.find(|(name, _)| *name == reason).map(|found| found.1)
    };
    switch.hold(1).expect("there is port 1");
    assert_eq!(switch.hold(3), Err(P4Error::NoPort(3)));
    assert_eq!(switch.leave(Time(0), 3, 1), Err(P4Error::NoPort(3)));
    for priority in [0, 7] {
        let mut frame = [0; 14];
        frame[0] = priority;
        for _ in 0..1025 {
            switch.receive(Time(0), 2, &frame).expect("it is a port");
        }
    }
    assert_eq!(lost(&switch, "queue_full"), Some(2));
    let explained = switch.explain(Time(0), 2, &[0; 14]);
    let explained = explained.expect("there is port 2");
    assert!(explained.contains("14 bytes leave at port 1"));
    switch.leave(Time(1_000), 1, 1024).expect("it is there");
    assert_eq!(sent(&mut switch), vec![1; 1024]);
    let mut copy = switch.clone();
    let program = Program::load(QUEUES).expect("it is right");
    copy.set_program(program, 1);
    assert_eq!(lost(&copy, "old_program"), Some(1024));
    switch.remove_port(1).expect("it is there");
    assert_eq!(lost(&switch, "no_port"), Some(1024));
    assert_eq!(switch.switch().waiting(), 0);
}
