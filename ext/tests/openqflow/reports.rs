//! Reports and replies are exact and complete; reports come only when something has changed.

use std::collections::HashMap;

use bofuss_datapath::{Engine, Time};
use bofuss_ext::openqflow::{FlowRecord, ReportReason};
use bofuss_oflib::wire::Text;
use bofuss_packet::craft;

use crate::{Bench, MS, ipv4, shares, udp};

/// The content of the reports: the reasons, and the bytes of each flow in its latest report.
#[derive(Default)]
struct Reported {
    reasons: Vec<ReportReason>,
    bytes: HashMap<bofuss_ext::openqflow::FlowTuple, u64>,
}

impl Reported {
    fn note(&mut self, reports: Vec<FlowRecord>) {
        for one in reports {
            self.reasons.push(one.reason);
            self.bytes.insert(one.tuple, one.bytes);
        }
    }
}

#[test]
fn t16_reports_and_replies_have_every_byte_that_left() {
    for (name, engine) in Engine::ALL {
        let mut switch = Bench::with_options(engine, &[("idle-ms", "60000")]);
        switch.flow("table=1,priority=9,udp,actions=qflow_forward(port=2)");
        switch.flow("table=1,priority=9,tcp,actions=qflow_forward(port=3)");
        switch.ask("qflow_notify", "wanted=1").expect("it may ask");
        let limits = "push_ms=1000,report_bytes=2000";
        switch.ask("qflow_limits", limits).expect("it may");
        let mut left = 0;
        let mut reported = Reported::default();
        for n in 0..2000u16 {
            let frame = match n % 4 {
                0 => udp(1, 0),
                1 => ipv4(2, craft::tcp(n % 50, 7, 16, &[0; 200])),
                _ => udp((n % 200) as u8, n / 20),
            };
            left += frame.len() as u64;
            assert_eq!(switch.send(1, &frame).len(), 1, "{name}");
            switch.pass(MS);
            reported.note(switch.reports());
        }
        let pulled: u64 = switch.flows("").iter().map(|flow| flow.bytes).sum();
        assert_eq!(pulled, left, "{name}: all flows live");
        let own = switch.flows("src=10.0.0.1,dst=10.0.1.2,ip_proto=6");
        assert_eq!(own.len(), 25, "{name}");
        let subnet = switch.flows("dst=10.0.1.0/24").len();
        assert_eq!(subnet, switch.flows("").len(), "{name}");
        let exact = Text(&own[0].tuple).to_string();
        assert_eq!(switch.flows(&exact).len(), 1, "{name}: {exact}");
        switch.pass(62 * Time::SEC);
        reported.note(switch.reports());
        assert_eq!(reported.bytes.values().sum::<u64>(), left, "{name}");
        for reason in [
            ReportReason::Periodic,
            ReportReason::Threshold,
            ReportReason::Idle,
        ] {
            assert!(reported.reasons.contains(&reason), "{name}: {reason:?}");
        }
        let counted = ["flows", "aggregates", "unreported"].map(|one| switch.metric(one));
        assert_eq!(counted, [0; 3], "{name}");
        switch.pass(10 * Time::SEC);
        assert_eq!(switch.reports(), [], "{name}: nothing has changed");
    }
}

#[test]
fn connections_without_a_subscription_get_no_reports() {
    let mut switch = Bench::new(Engine::default());
    switch.flow("table=1,priority=9,udp,actions=qflow_forward(port=2)");
    (0..100).for_each(|n| _ = switch.send(1, &udp(1, n)));
    switch.pass(30 * Time::SEC);
    assert_eq!((switch.reports().len(), switch.metric("flows")), (0, 0));
}

/// The source ports of the flows that were reported because they passed a limit.
fn passed(switch: &mut Bench) -> Vec<u16> {
    let mut reports = switch.reports();
    reports.retain(|one| one.reason == ReportReason::Threshold);
    reports.iter().map(|one| one.tuple.ports[0]).collect()
}

#[test]
fn t19_a_flow_with_more_than_a_tenth_of_its_port_is_reported_at_once() {
    let mut switch = shares::switch("hfair");
    switch.ask("qflow_notify", "wanted=1").expect("it may");
    // For four seconds, as rates are smoothed, the first flow has a sixteenth of the 10 Mb/s, the
    // second an eighth.
    let send = |switch: &mut Bench| {
        for round in 0..1000 {
            for flow in 1 + round % 2..=2 {
                let mut frame = udp(1, flow);
                frame.resize(625, 0);
                switch.send(1, &frame);
            }
            switch.pass(4 * MS);
        }
    };
    send(&mut switch);
    assert_eq!(passed(&mut switch), [2]);
    switch
        .ask("qflow_limits", "report_share=50,report_bytes=2000000")
        .expect("it may");
    send(&mut switch);
    assert_eq!(passed(&mut switch), [1]);
}

/// Sends 1,500 bytes of a flow each `gap_ns` for a time.
fn pour(switch: &mut Bench, gap_ns: u64, ns: u64) {
    let end = switch.now.after(ns);
    let mut frame = udp(1, 1);
    frame.resize(1500, 0);
    while switch.now < end {
        switch.send(1, &frame);
        switch.pass(gap_ns);
    }
}

#[test]
fn t16_a_flow_that_reaches_two_limits_is_reported_once_for_each_in_any_order() {
    // At 3 Mb/s it has 1 MB only after its rate was reported; at first at 600 kb/s, before.
    for early_ns in [0, 15 * Time::SEC] {
        let mut switch = Bench::new(Engine::default());
        switch.flow("table=1,priority=9,udp,actions=qflow_forward(port=2)");
        switch.ask("qflow_notify", "wanted=1").expect("it may");
        switch
            .ask("qflow_limits", "push_ms=60000,report_kbps=1000")
            .expect("it may");
        pour(&mut switch, 20 * MS, early_ns);
        pour(&mut switch, 4 * MS, 6 * Time::SEC);
        let mut reports = switch.reports();
        reports.retain(|one| one.reason == ReportReason::Threshold);
        let of_bytes = |one: &&FlowRecord| (1_000_000..1_001_500).contains(&one.bytes);
        let n_of_bytes = reports.iter().filter(of_bytes).count();
        assert_eq!((reports.len(), n_of_bytes), (2, 1), "{reports:?}");
        assert_eq!(of_bytes(&&reports[0]), early_ns > 0);
    }
}
