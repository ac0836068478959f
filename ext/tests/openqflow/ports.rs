//! Flows at ports: what a port drops is not counted as sent, what it knows of flows is reported,
//! and records outlast a change of discipline.

use std::collections::HashMap;

use bofuss_datapath::{Egress, Time};
use bofuss_ext::openqflow::{DropCause, FlowRecord};
use bofuss_ext::trace::Trace;
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::{Message, PortNo};
use bofuss_packet::craft;

use crate::shares::switch;
use crate::{Bench, MS, ipv4};

/// A frame of 1,000 bytes of a flow.
fn frame(flow: u16) -> Vec<u8> {
    let mut frame = ipv4(flow as u8, craft::udp(flow, 9, &[]));
    frame.resize(1000, 0);
    frame
}

/// Sends packets of three flows, and removes and restores the port in the middle. Returns how many
/// of each flow have left when nothing waits any more.
fn send_all(switch: &mut Bench, n_rounds: u16) -> HashMap<u16, u64> {
    let mut left: HashMap<u16, u64> = HashMap::new();
    for round in 0..n_rounds {
        for flow in 1..=3 {
            if round % flow == 0 {
                let mut frames = vec![switch.pool.frame(&frame(flow)).expect("there is room")];
                let now = switch.now;
                switch
                    .switch
                    .receive(now, PortNo(1), &mut frames, &mut switch.io);
            }
        }
        if round == n_rounds / 2 {
            switch.port(2, false);
            switch.port(2, true);
        }
        switch.pass(MS / 4);
    }
    switch.pass(Time::SEC);
    for (_, bytes) in switch.io.frames.drain(..) {
        *left.entry(u16::from(bytes[33])).or_default() += 1;
    }
    left
}

fn by_flow(flows: &[FlowRecord]) -> HashMap<u16, &FlowRecord> {
    flows
        .iter()
        .map(|flow| (flow.tuple.ports[0], flow))
        .collect()
}

#[test]
fn t16_flows_count_as_sent_what_has_left_whatever_their_port_drops() {
    for discipline in ["fifo", "fred", "drr", "hfair", "beta", "ceta", "ceta2"] {
        let mut switch = switch(discipline);
        let left = send_all(&mut switch, 600);
        let flows = switch.flows("");
        for (number, flow) in by_flow(&flows) {
            let sent = 600_u16.div_ceil(number);
            let counted = (flow.packets, flow.bytes);
            assert_eq!(
                counted,
                (left[&number], 1000 * left[&number]),
                "{discipline}"
            );
            let both = flow.packets + flow.dropped_packets;
            assert_eq!(both, u64::from(sent), "{discipline}: {number}");
            assert_eq!(
                flow.dropped_bytes,
                1000 * flow.dropped_packets,
                "{discipline}"
            );
            assert!(flow.dropped_packets > 0, "{discipline}: {number}");
        }
        // What waited at the loss of the port may be counted a second later.
        switch.pass(Time::SEC);
        let aggregates = switch.aggregates();
        let sums = aggregates.iter().fold((0, 0), |sum, one| {
            (sum.0 + one.packets, sum.1 + one.dropped_packets)
        });
        let of_flows = flows.iter().fold((0, 0), |sum, one| {
            (sum.0 + one.packets, sum.1 + one.dropped_packets)
        });
        assert_eq!(sums, of_flows, "{discipline}");
    }
}

#[test]
fn a_flow_s_share_and_eta_are_reported_and_why_its_packets_were_dropped() {
    let expected = [
        ("hfair", DropCause::QueueFull),
        ("ceta2", DropCause::TooEarly),
    ];
    for (discipline, cause) in expected {
        let mut switch = switch(discipline);
        let guaranteed = "table=3,priority=9,udp,nw_dst=10.0.1.3,\
                          actions=qflow_qos(type=guaranteed,of=flow,rate=3000,priority=2)";
        // For all of IP: no rule says where TCP goes, so that only the port can refuse this one.
        let refused = "table=3,priority=9,ip,nw_dst=10.0.1.2,\
                       actions=qflow_qos(type=guaranteed,of=flow,rate=20000)";
        [guaranteed, refused]
            .iter()
            .for_each(|rule| switch.flow(rule));
        for _ in 0..8000 {
            (1..=3).for_each(|flow| _ = switch.send(1, &frame(flow)));
            switch.pass(MS / 4);
        }
        let flows = switch.flows("");
        let flows = by_flow(&flows);
        assert_eq!((flows[&1].drop_cause, flows[&2].drop_cause), (cause, cause));
        let granted = [1, 2, 3].map(|flow| flows[&flow].guaranteed_kbps);
        assert_eq!(
            granted,
            [0, 0, 3000],
            "{discipline}: 20 Mb/s are more than the port's 10"
        );
        let port = switch.switch.datapath().queues().of(PortNo(2));
        let promised = port.and_then(Egress::guarantees).expect("it heeds records");
        assert_eq!((promised.granted_kbps, promised.free_kbps), (3000, 7000));
        assert_eq!(promised.refused, 1, "{discipline}: it is counted once");
        assert_eq!((flows[&3].qos.priority, flows[&3].qos.rate), (2, 3000));
        assert!(flows[&1].waiting_bytes > 0, "{discipline}");
        let share = flows[&1].share_kbps;
        assert!((2_000..5_000).contains(&share), "{discipline}: {share}");
        assert!(flows[&1].eta_us > 0, "{discipline}");
        let first = frame(1);
        (0..20).for_each(|_| _ = switch.send(1, &first));
        let trace = Trace::of(&mut switch.switch, switch.now, PortNo(1), 0, &first);
        let text = trace.expect("it is a packet").to_string();
        for part in [discipline, "its share is ", "its ETA in "] {
            assert!(text.contains(part), "{part}: {text}");
        }
        if discipline == "ceta2" {
            assert!(text.contains("=> dropped: the packet came"), "{text}");
        }
    }
}

#[test]
fn what_waits_keeps_its_records_when_the_discipline_changes() {
    let mut switch = switch("fifo");
    let record = "type=guaranteed,of=flow,rate=5000,priority=3";
    switch.flow(&format!(
        "table=3,priority=9,udp,nw_dst=10.0.1.2,actions=qflow_qos({record})"
    ));
    for flow in [[1; 20], [2; 20]].concat() {
        let mut frames = vec![switch.pool.frame(&frame(flow)).expect("there is room")];
        let now = switch.now;
        switch
            .switch
            .receive(now, PortNo(1), &mut frames, &mut switch.io);
    }
    switch.io.frames.clear();
    let chosen = bofuss_ext::queues::set_discipline(PortNo(2), "hfair");
    switch.say(&Message::Experimenter(chosen)).expect("it may");
    switch.pass(20 * MS);
    let left: Vec<u8> = switch
        .io
        .frames
        .drain(..)
        .map(|(_, bytes)| bytes[33])
        .collect();
    // With its guarantee, the second flow gets more than half, though its frames came last. With
    // default records, both would get the same.
    let second = left.iter().filter(|flow| **flow == 2).count();
    assert!(left.len() >= 20 && second >= 15, "{left:?}");
    assert_eq!(switch.flows("")[0].dropped_packets, 0);
}

#[test]
fn t11_an_engine_gets_an_error_for_more_than_a_port_can_guarantee() {
    for discipline in ["hfair", "ceta2"] {
        let mut switch = switch(discipline);
        (1..=2).for_each(|flow| _ = switch.send(1, &frame(flow)));
        let tuple = |flow: u16| {
            format!(
                "in_port=1,eth_type=0x800,ip_proto=17,sport={flow},dport=9,src=10.0.0.1,\
                 dst=10.0.1.{flow},type=guaranteed,of=flow"
            )
        };
        let ask = |switch: &mut Bench, flow, rate| {
            let text = format!("{},rate={rate}", tuple(flow));
            let asked = switch.ask("qflow_write", &text);
            // A port knows the records of flows that send.
            (0..20).for_each(|n| _ = switch.send(1, &frame(n % 2 + 1)));
            asked
        };
        assert!(ask(&mut switch, 1, 6_000).is_ok(), "{discipline}");
        let error = ask(&mut switch, 2, 4_001).expect_err("6000 and 4001 are more than 10000");
        assert!(
            error.contains("code 39 of experimenter 0x626f66"),
            "{error}"
        );
        assert!(ask(&mut switch, 2, 4_000).is_ok(), "{discipline}");
        // A flow's old guarantee does not count against its new one.
        assert!(ask(&mut switch, 1, 5_000).is_ok(), "{discipline}");
        assert_eq!(switch.metric("not_admitted"), 1, "{discipline}");
        let flows = switch.flows("");
        let rates: Vec<_> = by_flow(&flows).values().map(|flow| flow.qos.rate).collect();
        assert!(
            rates.contains(&4_000) && rates.contains(&5_000),
            "{rates:?}"
        );
    }
}

#[test]
fn t11_a_rule_gets_an_error_for_more_than_its_port_can_guarantee() {
    let code = "code 39 of experimenter 0x626f66";
    let rule = |flow: u16, rate: u32| {
        format!(
            "table=3,priority=9,udp,nw_dst=10.0.1.{flow},\
             actions=qflow_qos(type=guaranteed,rate={rate})"
        )
    };
    for discipline in ["hfair", "ceta2"] {
        let mut switch = switch(discipline);
        let alone = switch.flow_mod(&rule(1, 10_001), FlowModCommand::ADD);
        assert!(
            alone.is_err_and(|error| error.contains(code)),
            "{discipline}"
        );
        switch.flow(&rule(1, 6_000));
        let second = switch.flow_mod(&rule(2, 4_001), FlowModCommand::ADD);
        assert!(
            second.is_err_and(|error| error.contains(code)),
            "{discipline}"
        );
        switch.flow(&rule(2, 4_000));
        // A rule's old guarantee does not count against its new one, whether the rule is sent again
        // or modified.
        switch.flow(&rule(1, 6_000));
        for (rate, is_admitted) in [(5_000, true), (6_001, false), (6_000, true)] {
            for command in [FlowModCommand::MODIFY, FlowModCommand::MODIFY_STRICT] {
                let changed = switch.flow_mod(&rule(1, rate), command);
                assert_eq!(changed.is_ok(), is_admitted, "{discipline}: {rate}");
            }
        }
        let third = rule(3, 4_000);
        assert!(switch.flow_mod(&third, FlowModCommand::ADD).is_err());
        // A rule that is deleted, or guarantees nothing any more, frees its part for others.
        let second = "table=3,udp,nw_dst=10.0.1.2";
        switch
            .flow_mod(second, FlowModCommand::DELETE)
            .expect(second);
        switch.flow(&third);
        switch.flow("table=3,priority=9,udp,nw_dst=10.0.1.3,actions=qflow_qos(weight=2)");
        switch.flow(&rule(4, 4_000));
        assert_eq!(switch.metric("not_admitted"), 5, "{discipline}");
        assert_eq!(switch.switch.datapath().tables()[3].len(), 3);
    }
}

#[test]
fn a_rule_that_is_refused_for_another_reason_leaves_what_its_old_one_guarantees() {
    let rule = |flow: u16, rate: u32, flags: &str| {
        format!(
            "table=3,priority=9,udp,nw_dst=10.0.1.{flow},{flags}\
             actions=qflow_qos(type=guaranteed,rate={rate})"
        )
    };
    let mut switch = switch("hfair");
    switch.flow(&rule(1, 6_000, ""));
    for rate in [9_000, 1_000] {
        let refused = switch.flow_mod(&rule(1, rate, "check_overlap,"), FlowModCommand::ADD);
        assert!(
            refused.is_err_and(|error| error.contains("OVERLAP")),
            "{rate}"
        );
        let more = switch.flow_mod(&rule(2, 4_001, ""), FlowModCommand::ADD);
        assert!(
            more.is_err(),
            "after {rate}: 6000 and 4001 are more than 10000"
        );
        switch.flow(&rule(2, 4_000, ""));
    }
}

#[test]
fn the_first_hundred_aggregates_have_metrics() {
    let mut switch = switch("hfair");
    for flow in 1..=101 {
        switch.send(1, &frame(flow));
        switch.pass(MS);
        let metrics = switch.metrics();
        let named = metrics.iter().filter(|one| one.name == "aggregate_flows");
        assert_eq!(named.count(), usize::from(flow.min(100)));
    }
    switch.pass(2 * Time::SEC);
    let metrics = switch.metrics();
    let one = |name| metrics.iter().find(|one| one.name == name);
    let bytes = one("aggregate_bytes").expect("it has one");
    let labels: Vec<_> = bytes.labels.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        (bytes.value, &labels[..]),
        (1000, &["port", "key", "aggregate"][..])
    );
    assert_eq!(bytes.labels[0].1, "2");
}
