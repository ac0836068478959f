//! How long packets wait for a super-frame of another port, and for each kind of message, on a
//! switch with many entries, groups and meters: the longest step between two moments at which
//! packets are taken, in processor time.
//!
//! `cargo bench -p bofuss-agent`. Each round checks what the message did before its time counts.
//! Interrupts count as time of the thread and hit different steps in each round, so each step is
//! given by its median over the rounds. The longest step of any round is printed next to it; the
//! first line shows steps that only compute, for comparison.
#![allow(clippy::unwrap_used)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::net::Ipv4Addr;
use std::time::Duration;

use bofuss_agent::FailMode;
use bofuss_datapath::Engine;
use bofuss_frame::{Gso, GsoKind, Offload, OffloadCapabilities};
use bofuss_oflib::message::group_mod::GroupModCommand as G;
use bofuss_oflib::message::meter_mod::MeterModCommand as M;
use bofuss_oflib::message::multipart::{
    FlowStatsRequest, GroupDescRequest, GroupRequest, MeterRequest, PortDescRequest, PortRequest,
    RequestBody,
};
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::message::{Empty, FlowModCommand as C, PacketOut, PortDesc, PortMod};
use bofuss_oflib::text::{parse_flow, parse_group, parse_meter};
use bofuss_oflib::types::{BufferId, GroupId, MeterId, TableId};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, Mac, Match, Message, PortNo};
use bofuss_packet::craft;
use bofuss_ports::thread_time;
use common::Lab;

const ENTRIES: u32 = 200_000;
const GROUPS: u32 = 1_000;
const ROUNDS: usize = 5;
/// The number of entries that have a mask of their own.
const MASKS: u32 = 10_000;

/// The number of entries that have a list of 300 actions of their own.
const LONG_LISTS: u32 = 2_000;

/// The switch's own allocator, because freeing memory is part of what is measured.
#[global_allocator]
static ALLOCATOR: bofuss_ports::Allocator = bofuss_ports::allocator();

/// The times of steps, in order.
#[derive(Clone, Default)]
struct Steps(Vec<Duration>);

impl Steps {
    fn add(&mut self, step: Duration) {
        self.0.push(step);
    }

    fn longest(&self) -> Duration {
        self.0.iter().copied().max().unwrap_or_default()
    }
}

/// The longest step by the median of rounds, which have the same steps.
fn longest(rounds: &[Steps]) -> Duration {
    let count = rounds[0].0.len();
    let median = |step: usize| {
        let mut times: Vec<Duration> = rounds.iter().map(|round| round.0[step]).collect();
        times.sort_unstable();
        times[times.len() / 2]
    };
    (0..count).map(median).max().unwrap_or_default()
}

/// Prints what rounds of the same steps took.
fn print(name: &str, rounds: &[Steps]) {
    let count = rounds[0].0.len();
    assert!(rounds.iter().all(|round| round.0.len() == count), "{name}");
    let work = longest(rounds).as_nanos() as f64 / 1000.0;
    let seen = rounds.iter().map(Steps::longest).max();
    let seen = seen.unwrap_or_default().as_nanos() as f64 / 1000.0;
    println!("{name:<36} {work:>8.1} us, seen {seen:>8.1}, in {count} steps");
}

/// Steps of some microseconds that only compute, to show what the machine adds.
fn computing() -> Steps {
    let mut steps = Steps::default();
    let mut number = 1u64;
    for _ in 0..10_000 {
        let start = thread_time();
        for _ in 0..10_000 {
            number = black_box(number.wrapping_mul(0x5851_f42d_4c95_7f2d) + 1);
        }
        steps.add(thread_time() - start);
    }
    steps
}

/// Handles a message step by step.
fn carry_out(lab: &mut Lab, message: Message, steps: &mut Steps) {
    let start = thread_time();
    lab.message(message);
    steps.add(thread_time() - start);
    while lab.switch.has_work(&lab.io) {
        lab.io.messages.clear();
        let start = thread_time();
        lab.switch.work(lab.now, &mut lab.io);
        steps.add(thread_time() - start);
    }
}

fn flow(lab: &Lab, command: C, text: &str) -> Message {
    Message::FlowMod(parse_flow(text, command, &lab.catalogue).unwrap())
}

fn group(lab: &Lab, command: G, text: &str) -> Message {
    Message::GroupMod(parse_group(text, command, &lab.catalogue).unwrap())
}

fn meter(command: M, id: u32) -> Message {
    let text = format!("meter={id},pktps,bands=type=drop,rate=1000");
    Message::MeterMod(parse_meter(&text, command).unwrap())
}

/// The entry with this number: a TCP connection to group 1 through meter 1.
fn entry(n: u32) -> String {
    let (a, b) = (n >> 8, n & 0xff);
    let address = format!("nw_src=10.{}.{}.{b}", a >> 8, a & 0xff);
    format!("priority=10,tcp,{address},tp_dst=80,actions=meter:1,group:1")
}

fn filled(steps: &mut [(&'static str, Steps)]) -> Lab {
    let mut lab = Lab::with_engine(1_000_000, FailMode::Secure, Engine::Cache);
    let [adds, groups, meters] = steps else {
        panic!("three kinds of adds")
    };
    for id in 1..=GROUPS {
        let text = format!("group_id={id},type=select,bucket=output:2,bucket=output:3");
        let message = group(&lab, G::ADD, &text);
        carry_out(&mut lab, message, &mut groups.1);
        carry_out(&mut lab, meter(M::ADD, id), &mut meters.1);
    }
    for n in 0..ENTRIES {
        let message = flow(&lab, C::ADD, &entry(n));
        carry_out(&mut lab, message, &mut adds.1);
    }
    assert_eq!(lab.io.messages, []);
    assert_eq!(lab.switch.datapath().tables()[0].len(), ENTRIES as usize);
    lab
}

/// Adds many entries and deletes them all with one message, which frees the memory of each.
fn filled_and_emptied(
    names: [&'static str; 2],
    count: u32,
    text: impl Fn(u32) -> String,
) -> [(&'static str, Steps); 2] {
    let mut lab = Lab::with_engine(1_000_000, FailMode::Secure, Engine::Cache);
    let (mut adds, mut delete) = (Steps::default(), Steps::default());
    for n in 0..count {
        let message = flow(&lab, C::ADD, &text(n));
        carry_out(&mut lab, message, &mut adds);
    }
    let message = flow(&lab, C::DELETE, "");
    carry_out(&mut lab, message, &mut delete);
    assert_eq!(lab.io.messages, []);
    assert!(lab.switch.datapath().tables()[0].is_empty());
    [(names[0], adds), (names[1], delete)]
}

/// Adds entries with masks and lists of their own, and deletes all but one in 100; ticks then move
/// the remaining ones closer together.
fn moved_together() -> [(&'static str, Steps); 1] {
    let mut lab = Lab::with_engine(1_000_000, FailMode::Secure, Engine::Cache);
    for n in 0..MASKS {
        let cookie = if n % 100 == 0 { 2 } else { 1 };
        let text = format!("cookie={cookie},{}{n}", own_mask(n));
        lab.flow(C::ADD, &text);
    }
    lab.advance(1);
    lab.flow(C::DELETE, "cookie=1/-1");
    while lab.switch.has_work(&lab.io) {
        lab.switch.work(lab.now, &mut lab.io);
    }
    let mut ticks = Steps::default();
    while lab.switch.next_tick().is_some_and(|at| at <= lab.now) {
        let start = thread_time();
        lab.switch.tick(lab.now, &mut lab.io);
        ticks.add(thread_time() - start);
    }
    let left = MASKS.div_ceil(100) as usize;
    assert_eq!(lab.switch.datapath().tables()[0].len(), left);
    assert!(ticks.0.len() > left / 100, "they moved");
    [("moves of scattered entries", ticks)]
}

/// An entry with a list of actions that no other has.
fn own_list(n: u32) -> String {
    let address = Ipv4Addr::from(n);
    format!("priority=10,ip,nw_src={address},actions=output:{}", 1 + n)
}

/// An entry with a long list of actions that no other has.
fn own_long_list(n: u32) -> String {
    let address = Ipv4Addr::from(n);
    let outputs = ",output:2".repeat(299);
    format!(
        "priority=10,ip,nw_src={address},actions=output:{}{outputs}",
        1 + n
    )
}

/// An entry with a mask that no other has.
fn own_mask(n: u32) -> String {
    let mask = Ipv4Addr::from(!n);
    format!("priority=10,ip,nw_src=0.0.0.0/{mask},actions=output:2")
}

/// Requests that change nothing.
fn requests() -> Vec<(&'static str, RequestBody)> {
    let flows = || FlowStatsRequest {
        table_id: TableId::ALL,
        out_port: PortNo::ANY,
        out_group: GroupId::ANY,
        fields: Match::ANY,
        ..FlowStatsRequest::default()
    };
    let (group_id, meter_id, port_no) = (GroupId::ALL, MeterId::ALL, PortNo::ANY);
    vec![
        ("desc", RequestBody::Desc(Empty)),
        ("flow statistics", RequestBody::Flow(flows())),
        ("aggregate", RequestBody::Aggregate(flows())),
        ("table statistics", RequestBody::Table(Empty)),
        (
            "port statistics",
            RequestBody::PortStats(PortRequest { port_no }),
        ),
        (
            "group statistics",
            RequestBody::Group(GroupRequest { group_id }),
        ),
        ("groups", RequestBody::GroupDesc(GroupDescRequest::ALL)),
        ("group features", RequestBody::GroupFeatures(Empty)),
        (
            "meter statistics",
            RequestBody::Meter(MeterRequest { meter_id }),
        ),
        (
            "meters",
            RequestBody::MeterConfig(MeterRequest { meter_id }),
        ),
        ("meter features", RequestBody::MeterFeatures(Empty)),
        ("table features", RequestBody::TableFeatures(Vec::new())),
        ("ports", RequestBody::PortDesc(PortDescRequest::ALL)),
    ]
}

/// Messages that change the switch, small changes first, and how many entries are left after each.
fn changes(lab: &Lab) -> Vec<(&'static str, Message, u32)> {
    let port = PortMod {
        port_no: PortNo(3),
        config: PortConfig::NO_FWD,
        mask: PortConfig::NO_FWD,
        ..PortMod::default()
    };
    let out = PacketOut {
        buffer_id: BufferId::NO_BUFFER,
        in_port: PortNo(1),
        actions: vec![Action::output(PortNo::ALL)],
        data: Bytes(vec![0; 60]),
        ..PacketOut::default()
    };
    let all = ENTRIES;
    let overlap = "priority=10,check_overlap,udp,actions=drop";
    vec![
        ("echo", Message::EchoRequest(Bytes(vec![0; 64])), all),
        ("barrier", Message::BarrierRequest(Empty), all),
        ("packet-out", Message::PacketOut(out), all),
        ("port-mod", Message::PortMod(port), all),
        ("strict modify", flow(lab, C::MODIFY_STRICT, &entry(7)), all),
        ("add, overlap checked", flow(lab, C::ADD, overlap), all + 1),
        (
            "strict delete",
            flow(lab, C::DELETE_STRICT, "priority=10,udp"),
            all,
        ),
        (
            "modify of all",
            flow(lab, C::MODIFY, "actions=meter:1,group:1"),
            all,
        ),
        (
            "group modify",
            group(lab, G::MODIFY, "group_id=1,type=all,bucket=output:2"),
            all,
        ),
        ("meter modify", meter(M::MODIFY, 1), all),
        (
            "delete of half",
            flow(lab, C::DELETE, "ip,nw_src=10.0.0.0/16"),
            all - (1 << 16),
        ),
        (
            "delete of a group and its entries",
            group(lab, G::DELETE, "group_id=1"),
            0,
        ),
    ]
}

/// A super-frame of 60 kB of TCP, to be cut into segments of `segment_bytes`.
fn super_frame(flags: u8, segment_bytes: u16) -> (Vec<u8>, Offload) {
    let tcp = craft::tcp(1, 2, flags, &vec![7; 60_000]);
    let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, tcp);
    let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
    let gso = Gso {
        kind: GsoKind::Tcp4,
        segment_bytes,
        ecn: false,
    };
    let whole = Offload {
        checksum: Some((34, 16)),
        gso: Some(gso),
        ..Offload::NONE
    };
    (bytes, whole)
}

/// Super-frames of one measurement of time.
const FRAMES: usize = 2_000;

/// The time of super-frames with PSH to a port that carries them, each copied in as a port does.
fn time_with(flows: &[&str]) -> Duration {
    let mut lab = Lab::new(10, FailMode::Secure);
    let port_no = PortNo(2);
    let capabilities = OffloadCapabilities {
        checksum: true,
        tcp: true,
        ..OffloadCapabilities::default()
    };
    let desc = PortDesc {
        port_no,
        ..PortDesc::default()
    };
    lab.switch.ports(lab.now, &mut lab.io, |ports| {
        ports.changed(desc, capabilities)
    });
    flows.iter().for_each(|flow| lab.flow(C::ADD, flow));
    let (bytes, whole) = super_frame(0x18, 1448);
    lab.send_with(1, &bytes, whole);
    lab.io.out.clear();
    let start = thread_time();
    (0..FRAMES).for_each(|_| lab.send_with(1, &bytes, whole));
    let time = thread_time() - start;
    assert!(lab.io.out.len() >= FRAMES && lab.io.out.len() <= 2 * FRAMES);
    time
}

/// Sends 60 kB of TCP as one super-frame, and another frame after it, to a switch whose ports have
/// no offloads. Records the time of each turn and returns how many frames leave.
fn turns(flow: &str, ports: u32, segment_bytes: u16, steps: &mut Steps) -> usize {
    let mut lab = Lab::new(10, FailMode::Secure);
    (5..=ports).for_each(|port| lab.port(port));
    let buckets = ",bucket=push_vlan:0x8100,output:2".repeat(700);
    let message = group(&lab, G::ADD, &format!("group_id=1,type=all{buckets}"));
    lab.message(message);
    lab.flow(C::ADD, flow);
    let (bytes, whole) = super_frame(0x10, segment_bytes);
    // The first warms up buffers and the cache.
    for measured in [false, true] {
        lab.io.out.clear();
        let start = thread_time();
        lab.send_with(1, &bytes, whole);
        let first = thread_time() - start;
        if measured {
            steps.add(first);
        }
        while lab.switch.has_work(&lab.io) {
            let start = thread_time();
            lab.switch.work(lab.now, &mut lab.io);
            let turn = thread_time() - start;
            if measured {
                steps.add(turn);
            }
        }
    }
    lab.io.out.len()
}

/// Super-frames that cause much work: a name, the entry, the number of ports, the bytes of a
/// segment, and how many frames leave.
const SUPER_FRAMES: [(&str, &str, u32, u16, usize); 4] = [
    ("TSO frame to one port", "actions=output:2", 4, 1448, 42),
    (
        "the same, flooded to 99 ports",
        "actions=all",
        100,
        1448,
        42 * 99,
    ),
    (
        "the same, to a group of 700",
        "actions=group:1",
        4,
        1448,
        42 * 700,
    ),
    (
        "1,250 segments, to that group",
        "actions=group:1",
        4,
        48,
        1250 * 700,
    ),
];

fn main() {
    bofuss_ports::return_memory_at_once();
    bofuss_ports::return_memory_in_background();
    print("computing", &[(); ROUNDS].map(|()| computing()));
    println!("super-frames of 60 kB: the longest wait of other ports");
    for (name, flow, ports, segment_bytes, frames) in SUPER_FRAMES {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let mut steps = Steps::default();
            let left = turns(flow, ports, segment_bytes, &mut steps);
            assert_eq!(left, frames, "{name}");
            rounds.push(steps);
        }
        print(name, &rounds);
    }
    let rest = "priority=1,actions=output:2";
    let flags = ["tcp,tcp_flags=+psh,actions=output:2", rest];
    let plain = (0..ROUNDS).map(|_| time_with(&[rest])).min();
    let by_flags = (0..ROUNDS).map(|_| time_with(&flags)).min();
    let ratio = plain.unwrap().as_secs_f64() / by_flags.unwrap().as_secs_f64();
    println!("super-frames through entries for tcp_flags: {ratio:.2} of the rate without");
    let mut kinds: Vec<(&'static str, Vec<Steps>)> = Vec::new();
    for _ in 0..ROUNDS {
        let mut steps = vec![
            ("add", Steps::default()),
            ("group add", Steps::default()),
            ("meter add", Steps::default()),
        ];
        let mut lab = filled(&mut steps);
        for (name, body) in requests() {
            let mut one = Steps::default();
            carry_out(&mut lab, Message::MultipartRequest(body.into()), &mut one);
            let error = lab
                .io
                .messages
                .iter()
                .any(|m| matches!(m, Message::Error(_)));
            assert!(!error && !lab.io.messages.is_empty(), "{name}");
            lab.io.messages.clear();
            steps.push((name, one));
        }
        for (name, message, left) in changes(&lab) {
            let mut one = Steps::default();
            carry_out(&mut lab, message, &mut one);
            let error = lab
                .io
                .messages
                .drain(..)
                .find(|m| matches!(m, Message::Error(_)));
            assert_eq!(error, None, "{name}");
            let is = lab.switch.datapath().tables()[0].len();
            assert_eq!(is, left as usize, "{name}");
            steps.push((name, one));
        }
        let names = ["add, own list", "delete of these"];
        steps.extend(filled_and_emptied(names, ENTRIES, own_list));
        let names = ["add, own list of 300", "delete of these"];
        steps.extend(filled_and_emptied(names, LONG_LISTS, own_long_list));
        let names = ["add, own mask", "delete of these"];
        steps.extend(filled_and_emptied(names, MASKS, own_mask));
        steps.extend(moved_together());
        if kinds.is_empty() {
            kinds = steps.iter().map(|(name, _)| (*name, Vec::new())).collect();
        }
        for ((_, rounds), (_, round)) in kinds.iter_mut().zip(steps) {
            rounds.push(round);
        }
    }
    println!("{ENTRIES} entries, {GROUPS} groups and meters: the longest wait of packets");
    for (name, rounds) in kinds {
        print(name, &rounds);
    }
}
