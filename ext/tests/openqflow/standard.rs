//! Reports to connections of OpenFlow 1.5: as triggered statistics, and as removed flows.

use std::collections::HashMap;
use std::sync::Arc;

use bofuss_agent::{ConnId, Request};
use bofuss_datapath::{Engine, Time};
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::matching::Match;
use bofuss_oflib::message::FlowRemovedReason;
use bofuss_oflib::message::multipart::ReplyBody;
use bofuss_oflib::message::multipart::flow::FlowStatsReason;
use bofuss_oflib::wire::Text;
use bofuss_oflib::{Codec, Message, Version};
use bofuss_packet::craft;

use crate::{Bench, MS, ethernet, ipv4, udp};

/// A controller of OpenFlow 1.5.
const NEWER: ConnId = ConnId(2);

/// The reports that a controller got.
#[derive(Default)]
struct Reported {
    /// Packets and bytes in the latest report of each flow, by its match.
    counts: HashMap<String, (u64, u64)>,
    /// The number of triggered statistics that came.
    triggered: usize,
    /// The reason of each removed flow.
    ended: Vec<FlowRemovedReason>,
}

impl Reported {
    fn note(&mut self, fields: &Match, packets: u64, bytes: u64) {
        let text = Text(fields).to_string();
        self.counts.insert(text, (packets, bytes));
    }

    /// Takes the messages to the controller. Each is encoded and decoded again.
    fn take(&mut self, switch: &mut Bench) {
        let codec = Codec::new(Version::V1_5, Arc::clone(&switch.codec.catalogue));
        for message in switch.io.others.drain(..) {
            let mut bytes = Vec::new();
            codec.encode(0, &message, &mut bytes).expect("it is short");
            let decoded = codec.decode(&bytes).map(|(_, message)| message);
            assert_eq!(decoded.as_ref(), Ok(&message));
            match message {
                Message::MultipartReply(reply) => {
                    let ReplyBody::FlowCounters(list) = reply.body else {
                        panic!("{:?}", reply.body);
                    };
                    for one in list {
                        assert_eq!(one.reason, FlowStatsReason::STAT_TRIGGER);
                        let counts = [one.stats.packet_count, one.stats.byte_count];
                        let [packets, bytes] = counts.map(|count| count.expect("it is counted"));
                        self.note(&one.fields, packets, bytes);
                        self.triggered += 1;
                    }
                }
                Message::FlowRemoved(removed) => {
                    self.note(&removed.fields, removed.packet_count, removed.byte_count);
                    self.ended.push(removed.reason);
                }
                Message::PortStatus(_) => {}
                other => panic!("{other}"),
            }
        }
    }
}

/// Connects the controller of 1.5, and subscribes it to reports.
fn connect(switch: &mut Bench) {
    switch
        .switch
        .connected(switch.now, NEWER, Version::V1_5, true);
    let value = switch.value(ExtKind::Message, "qflow_notify", "wanted=1");
    let message = Message::Experimenter(value);
    let request = Request {
        xid: 1,
        head: &[],
        message: Ok(message),
    };
    switch
        .switch
        .message(switch.now, NEWER, request, &mut switch.io);
    assert_eq!(switch.io.others, []);
}

#[test]
fn t16_a_connection_of_1_5_gets_reports_as_triggered_statistics_and_removed_flows() {
    for (name, engine) in Engine::ALL {
        let options = [
            ("idle-ms", "2000"),
            ("tcp-idle-ms", "2000"),
            ("flows", "64"),
        ];
        let mut switch = Bench::with_options(engine, &options);
        switch.flow("table=1,priority=1,actions=qflow_forward(port=2)");
        switch.ask("qflow_notify", "wanted=1").expect("it may ask");
        let limits = "push_ms=500,report_bytes=3000";
        switch.ask("qflow_limits", limits).expect("it may");
        connect(&mut switch);
        let mut reported = Reported::default();
        let mut left = 0;
        for n in 0..1000_u16 {
            let frame = match n % 4 {
                0 => udp(1, 0),
                1 => ipv4(2, craft::tcp(n % 50, 7, 16, &[0; 200])),
                2 => ipv4(3, craft::ping(n, b"")),
                _ => ethernet(craft::vlan(
                    0x8100,
                    9,
                    craft::ipv6(
                        [0xfd00, 0, 0, 0, 0, 0, 0, 1].into(),
                        [0xfd00, 0, 0, 0, 0, 0, 0, 2].into(),
                        64,
                        craft::udp(n % 7, 9, b""),
                    ),
                )),
            };
            left += frame.len() as u64;
            assert_eq!(switch.send(1, &frame), [2], "{name}");
            switch.pass(MS);
            reported.take(&mut switch);
        }
        switch.pass(4 * Time::SEC);
        reported.take(&mut switch);
        let counts = reported.counts.values();
        let packets: u64 = counts.clone().map(|(packets, _)| packets).sum();
        let bytes: u64 = counts.map(|(_, bytes)| bytes).sum();
        assert_eq!((packets, bytes), (1000, left), "{name}");
        assert!(reported.triggered > 20, "{name}: {}", reported.triggered);
        // The table had room for all flows: none was evicted.
        assert_eq!(reported.ended.len(), reported.counts.len(), "{name}");
        assert!(
            reported
                .ended
                .iter()
                .all(|one| *one == FlowRemovedReason::IDLE_TIMEOUT)
        );
        let one =
            "{in_port=1,udp6,dl_vlan=9,udp_src=3,udp_dst=9,ipv6_src=fd00::1,ipv6_dst=fd00::2}";
        assert!(
            reported.counts.contains_key(one),
            "{name}: {:?}",
            reported.counts
        );
        // The controller of 1.3 gets the messages of the extension.
        assert!(switch.reports().len() >= reported.ended.len(), "{name}");
    }
}

#[test]
fn t23_an_evicted_flow_is_reported_to_1_5_as_evicted() {
    let mut switch = Bench::with_options(Engine::default(), &[("flows", "16")]);
    switch.flow("table=1,priority=1,actions=qflow_forward(port=2)");
    connect(&mut switch);
    for n in 0..40 {
        assert_eq!(switch.send(1, &udp(1, n)), [2]);
        switch.pass(MS);
    }
    switch.pass(Time::SEC);
    let mut reported = Reported::default();
    reported.take(&mut switch);
    assert_eq!(reported.ended, [FlowRemovedReason::EVICTION; 24]);
}
