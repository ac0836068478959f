//! What a switch reports is true: barriers, and statistics of full tables under traffic.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bofuss_channel::Client;
use bofuss_oflib::message::multipart::{FlowStatsRequest, ReplyBody, RequestBody};
use bofuss_oflib::message::{FlowModCommand, MultipartRequest};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::{GroupId, TableId};
use bofuss_oflib::{Catalogue, Message, PortNo, Version};
use bofuss_tests::{Lab, PATIENCE, address, have, ip};
use tokio::runtime::Runtime;

/// Rules that change.
const RULES: u16 = 10_000;
/// Rules that change before a barrier.
const PER_BARRIER: usize = 250;
/// Time between two bursts of probes, and probes in one: 10 kHz.
const PROBE_PERIOD: Duration = Duration::from_millis(1);
const PROBES: usize = 10;

/// A tool's connection to the switch of a laboratory.
struct Tool {
    runtime: Runtime,
    client: Client,
    catalogue: Arc<Catalogue>,
}

impl Tool {
    fn connect(lab: &Lab) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let catalogue = Arc::new(Catalogue::default());
        let address = lab.address().parse().unwrap();
        let connecting = Client::connect(&address, Version::SPOKEN, &catalogue, None, PATIENCE);
        let client = runtime.block_on(connecting).unwrap();
        Self {
            runtime,
            client,
            catalogue,
        }
    }

    /// A flow-mod from text.
    fn flow(&self, command: FlowModCommand, text: &str) -> Message {
        Message::FlowMod(parse_flow(text, command, &self.catalogue).unwrap())
    }

    /// Sends changes and waits for the barrier. Returns the errors that they caused.
    fn change(&mut self, messages: &[Message]) -> Vec<String> {
        let errors = self
            .runtime
            .block_on(self.client.transact(messages))
            .unwrap();
        let name = |(_, error): (usize, bofuss_oflib::message::ErrorMsg)| error.error.to_string();
        errors.into_iter().map(name).collect()
    }

    /// Returns how many entries the statistics of all flows report.
    fn flow_count(&mut self) -> usize {
        let body = RequestBody::Flow(FlowStatsRequest {
            table_id: TableId::ALL,
            out_port: PortNo::ANY,
            out_group: GroupId::ANY,
            ..FlowStatsRequest::default()
        });
        let request = Message::MultipartRequest(MultipartRequest { more: false, body });
        match self
            .runtime
            .block_on(self.client.request(&request))
            .unwrap()
        {
            Message::MultipartReply(reply) => match reply.body {
                ReplyBody::Flow(entries) => entries.len(),
                other => panic!("{other:?} is no flow statistics"),
            },
            other => panic!("{other:?} is no reply"),
        }
    }
}

/// A probe with this rule goes to a host's port 7, whatever the address and port it was sent to.
fn to_host(rule: u16, host: u8) -> String {
    format!(
        "priority=10,udp,udp_dst={rule},actions=set_field:02:00:00:00:00:0{host}->eth_dst,\
         set_field:7->udp_dst,output:{host}"
    )
}

/// Nanoseconds since the test began.
fn since(start: Instant) -> u64 {
    start.elapsed().as_nanos() as u64
}

#[test]
fn no_packet_sees_the_old_rules_after_the_barrier_reply() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let lab = Lab::new(3, &[]);
    // Both receivers have the address that the probes are sent to.
    for host in [2, 3] {
        lab.host(host, || ip("address add 10.0.0.9/32 dev lo"));
    }
    lab.host(1, || {
        ip("neighbour add 10.0.0.9 lladdr 02:00:00:00:00:09 dev eth0")
    });
    let mut tool = Tool::connect(&lab);
    let old: Vec<_> = (1..=RULES)
        .map(|rule| tool.flow(FlowModCommand::ADD, &to_host(rule, 2)))
        .collect();
    assert!(tool.change(&old).is_empty());
    let new: Vec<_> = (1..=RULES)
        .map(|rule| tool.flow(FlowModCommand::MODIFY_STRICT, &to_host(rule, 3)))
        .collect();
    let receivers = [2, 3].map(|host| lab.host(host, || UdpSocket::bind("10.0.0.9:7").unwrap()));
    let start = Instant::now();
    let (over, sent) = (
        AtomicBool::new(false),
        std::sync::atomic::AtomicUsize::new(0),
    );
    let mut changed_at = BTreeMap::new();
    let seen = std::thread::scope(|scope| {
        scope.spawn(|| lab.host(1, || probe(start, &over, &sent)));
        let readers = receivers.map(|socket| scope.spawn(|| read_all(socket, &over)));
        std::thread::sleep(Duration::from_millis(100));
        for (i, chunk) in new.chunks(PER_BARRIER).enumerate() {
            assert!(tool.change(chunk).is_empty());
            let first = i * PER_BARRIER + 1;
            (first..first + chunk.len()).for_each(|rule| {
                changed_at.insert(rule as u16, since(start));
            });
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(200));
        over.store(true, Relaxed);
        readers.map(|reader| reader.join().unwrap())
    });
    let [at_old, at_new] = seen;
    let late: Vec<_> = at_old
        .iter()
        .filter(|(rule, sent_at)| *sent_at > changed_at[rule])
        .collect();
    assert!(late.is_empty(), "{} packets saw old rules", late.len());
    let (old, new, sent) = (at_old.len(), at_new.len(), sent.load(Relaxed));
    assert!(
        old > 100 && new > 100,
        "both were seen: {old} and {new} of {sent}"
    );
}

/// Sends probes to random rules, each with its rule and its time.
fn probe(start: Instant, over: &AtomicBool, sent: &std::sync::atomic::AtomicUsize) {
    let socket = UdpSocket::bind((address(1), 0)).unwrap();
    let mut random = 1u64;
    while !over.load(Relaxed) {
        for _ in 0..PROBES {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let rule = (random >> 33) as u16 % RULES + 1;
            let mut payload = [0; 10];
            payload[..2].copy_from_slice(&rule.to_be_bytes());
            payload[2..].copy_from_slice(&since(start).to_be_bytes());
            socket.send_to(&payload, ("10.0.0.9", rule)).unwrap();
            sent.fetch_add(1, Relaxed);
        }
        std::thread::sleep(PROBE_PERIOD);
    }
}

/// Every probe that arrives: its rule, and when it was sent.
fn read_all(socket: UdpSocket, over: &AtomicBool) -> Vec<(u16, u64)> {
    socket
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let mut seen = Vec::new();
    let mut data = [0; 64];
    loop {
        match socket.recv(&mut data) {
            Ok(10) => {
                let rule = u16::from_be_bytes([data[0], data[1]]);
                let at = u64::from_be_bytes(data[2..10].try_into().unwrap());
                seen.push((rule, at));
            }
            Ok(_) => {}
            Err(_) if over.load(Relaxed) => return seen,
            Err(_) => {}
        }
    }
}

/// Sets the flag when dropped, so that threads end also when the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn a_hundred_thousand_flows_are_reported_every_second_under_traffic() {
    if !have(&["ip", "ping"]) {
        return;
    }
    const FLOWS: usize = 100_000;
    // One more entry forwards, and one is there from the start.
    let limit = (FLOWS + 2).to_string();
    let lab = Lab::new(2, &["--max-entries", &limit]);
    let mut tool = Tool::connect(&lab);
    let flow = |tool: &Tool, i: usize| {
        let [a, b, c, d] = (i as u32).to_be_bytes();
        let source = format!("0a:00:{a:02x}:{b:02x}:{c:02x}:{d:02x}");
        let text = format!("priority=9,eth_type=0x88b5,eth_src={source},actions=drop");
        tool.flow(FlowModCommand::ADD, &text)
    };
    // The switch gives up a tool that sends nothing while it writes all of them.
    const AT_ONCE: usize = 10_000;
    for first in (0..FLOWS).step_by(AT_ONCE) {
        let flows: Vec<_> = (first..first + AT_ONCE).map(|i| flow(&tool, i)).collect();
        assert!(tool.change(&flows).is_empty(), "there is room for all");
    }
    let forward = tool.flow(FlowModCommand::ADD, "priority=1,actions=output:all");
    assert!(tool.change(&[forward]).is_empty());
    let one_too_many = tool.flow(FlowModCommand::ADD, "priority=8,actions=drop");
    let told = tool.change(&[one_too_many]);
    assert!(
        told.len() == 1 && told[0].contains("TABLE_FULL"),
        "{told:?}"
    );
    lab.all_ping();
    let (over, start) = (AtomicBool::new(false), Instant::now());
    std::thread::scope(|scope| {
        let traffic = scope.spawn(|| {
            let mut rounds = 0;
            while !over.load(Relaxed) {
                lab.tcp(1, 2, 8);
                rounds += 1;
            }
            rounds
        });
        let ends = Ends(&over);
        for second in 1..=3 {
            assert_eq!(tool.flow_count(), FLOWS + 2);
            std::thread::sleep(Duration::from_secs(second).saturating_sub(start.elapsed()));
        }
        drop(ends);
        assert!(traffic.join().unwrap() > 0, "traffic went on");
    });
    assert!(lab.pings(1, 2));
}
