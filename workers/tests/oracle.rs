//! Several workers do what one switch does: random operations have the same frames per flow, the
//! same replies and the same counters, with all engines.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use bofuss_agent::FailMode;
use bofuss_datapath::{Config, Engine, Time};
use bofuss_frame::Offload;
use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags};
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::multipart::{
    FlowStatsRequest, GroupRequest, MeterRequest, PortRequest, RequestBody,
};
use bofuss_oflib::message::table_mod::TableConfig;
use bofuss_oflib::message::{BundleAdd, BundleControl, Empty, FlowModCommand, PacketOut, TableMod};
use bofuss_oflib::text::{parse_group, parse_meter};
use bofuss_oflib::types::{BufferId, GroupId, MeterId, TableId};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, Message, PortNo, Version};
use bofuss_workers::Dispatch;

use crate::common::{
    MS, PORTS, Several, Single, Subject, flow, flow_mod, frame, set_up, super_frame,
};

const OPERATIONS: usize = 800;
const FLOWS: u64 = 40;

/// Random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1);
        (self.0 >> 33) % n
    }
    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }
}

/// Which kind of entries and changes there are besides the plain ones.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// All flows may be in any worker.
    Spread,
    /// NORMAL comes and goes, which needs one worker.
    Mixed,
}

fn random_flow(random: &mut Random, kind: Kind, version: Version) -> Message {
    let table = random.below(2);
    let priority = random.below(4);
    let fields = random.of(&[
        "",
        ",ip",
        ",udp,tp_src=1001",
        ",udp,tp_dst=54",
        ",ip,nw_dst=10.9.0.1",
        ",ip,nw_src=10.0.0.3",
        ",in_port=2",
    ]);
    let number = 1000 + random.below(100);
    let numbered = format!(",udp,tp_src={number}");
    let fields = match kind {
        Kind::Spread if random.below(2) == 0 => &numbered,
        _ => fields,
    };
    let actions = random.of(match kind {
        Kind::Spread => &[
            "output:1",
            "output:2,output:3",
            "mod_nw_tos:4,output:4",
            "drop",
            "group:1",
            "group:2",
            "goto_table:1",
            "CONTROLLER:128,output:2",
            "output:5",
            "meter:1,output:2",
        ],
        Kind::Mixed => &["output:2", "NORMAL", "goto_table:1", "group:1", "output:3"],
    });
    let actions = if table == 1 && actions == "goto_table:1" {
        "output:2"
    } else {
        actions
    };
    let idle = random.of(&["", ",idle_timeout=1", ",idle_timeout=2"]);
    let hard = random.of(&["", "", ",hard_timeout=3"]);
    let trigger = random.of(match version {
        Version::V1_5 if actions != "drop" => &[
            "",
            ",stat_trigger(packet_count=5,periodic)",
            ",stat_trigger(duration=0.7,periodic)",
            ",stat_trigger(idle_time=0.3,packet_count=9,only_first)",
        ],
        _ => &[""],
    });
    let flags = random.of(&["", ",send_flow_rem", ",reset_counts", ",check_overlap"]);
    let command = match random.below(8) {
        0 => FlowModCommand::MODIFY,
        1 => FlowModCommand::DELETE,
        2 => FlowModCommand::DELETE_STRICT,
        _ => FlowModCommand::ADD,
    };
    let text = if command == FlowModCommand::DELETE {
        format!("table={table}{fields}")
    } else if command == FlowModCommand::DELETE_STRICT {
        format!("table={table},priority={priority}{fields}")
    } else {
        format!(
            "table={table},priority={priority}{fields}{idle}{hard}{flags},\
             actions={actions}{trigger}"
        )
    };
    flow_mod(command, &text)
}

fn random_group(random: &mut Random) -> Message {
    let id = 1 + random.below(2);
    let command = match random.below(4) {
        0 => GroupModCommand::DELETE,
        1 => GroupModCommand::MODIFY,
        _ => GroupModCommand::ADD,
    };
    let buckets = random.of(&[
        "type=all,bucket=output:1,bucket=output:2",
        "type=select,bucket=output:3,bucket=output:4",
        "type=indirect,bucket=output:4",
    ]);
    let text = if command == GroupModCommand::DELETE {
        format!("group_id={id}")
    } else {
        format!("group_id={id},{buckets}")
    };
    let group = parse_group(&text, command, &bofuss_ext::catalogue());
    Message::GroupMod(group.expect(&text))
}

fn random_meter(random: &mut Random) -> Message {
    let command = if random.below(2) == 0 {
        MeterModCommand::ADD
    } else {
        MeterModCommand::DELETE
    };
    let text = if command == MeterModCommand::ADD {
        // No demand exceeds it: `meters.rs` has others.
        "meter=1,kbps,band=type=drop,rate=4000000"
    } else {
        "meter=1"
    };
    Message::MeterMod(parse_meter(text, command).unwrap())
}

fn control(ty: BundleControlType) -> Message {
    Message::BundleControl(BundleControl {
        bundle_id: 1,
        ty,
        flags: BundleFlags::ATOMIC,
        ..BundleControl::default()
    })
}

/// A packet through the tables, or out of a port.
fn random_packet_out(random: &mut Random) -> Message {
    let port = [PortNo::TABLE, PortNo(2)][random.below(2) as usize];
    Message::PacketOut(PacketOut {
        buffer_id: BufferId::NO_BUFFER,
        in_port: PortNo::CONTROLLER,
        actions: vec![Action::output(port)],
        data: Bytes(frame(FLOWS as u16 + 1, 0)),
        ..PacketOut::default()
    })
}

/// A bundle of some messages, which is committed or discarded.
fn random_bundle(random: &mut Random, kind: Kind, version: Version) -> Vec<Message> {
    let mut messages = vec![control(BundleControlType::OPEN_REQUEST)];
    for _ in 0..random.below(4) {
        messages.push(Message::BundleAdd(BundleAdd {
            bundle_id: 1,
            flags: BundleFlags::ATOMIC,
            xid: 7,
            message: Box::new(match random.below(4) {
                0 => random_packet_out(random),
                _ => random_flow(random, kind, version),
            }),
            experimenters: Vec::new(),
        }));
    }
    messages.push(control(if random.below(4) == 0 {
        BundleControlType::DISCARD_REQUEST
    } else {
        BundleControlType::COMMIT_REQUEST
    }));
    messages
}

/// Table 1 evicts entries from now on, or no longer does.
fn eviction(is_on: bool) -> Message {
    let config = if is_on { TableConfig::EVICTION.0 } else { 0 };
    Message::TableMod(TableMod {
        table_id: TableId(1),
        config,
        ..TableMod::default()
    })
}

/// Reads of all counters.
fn reads() -> [Message; 5] {
    let of = |body: RequestBody| Message::MultipartRequest(body.into());
    let flows = FlowStatsRequest::all();
    [
        of(RequestBody::Flow(flows)),
        of(RequestBody::Table(Empty)),
        of(RequestBody::PortStats(PortRequest {
            port_no: PortNo::ANY,
        })),
        of(RequestBody::Group(GroupRequest {
            group_id: GroupId::ALL,
        })),
        of(RequestBody::Meter(MeterRequest {
            meter_id: MeterId::ALL,
        })),
    ]
}

/// The frames of each flow in order, packet-ins, and other messages.
type Seen = (
    BTreeMap<(u16, u8), Vec<(u32, Vec<u8>)>>,
    Vec<String>,
    Vec<String>,
);

/// The frames of each flow in order, and the messages; packet-ins of different flows have no order.
fn seen(subject: &mut impl Subject) -> Seen {
    let (left, messages) = subject.effects();
    let mut flows: BTreeMap<(u16, u8), Vec<_>> = BTreeMap::new();
    for (port, bytes) in left {
        let left = flows.entry(flow(&bytes)).or_default();
        left.push((port, bytes));
    }
    let text = |message: &Message| format!("{message:?}");
    let is_packet_in = |message: &&Message| matches!(message, Message::PacketIn(_));
    let mut packet_ins: Vec<_> = messages.iter().filter(is_packet_in).map(text).collect();
    packet_ins.sort();
    let others = messages.iter().filter(|m| !is_packet_in(m)).map(text);
    (flows, packet_ins, others.collect())
}

/// Gives both the same message at the same time.
fn both(several: &mut Several, single: &mut Single, now: Time, message: &Message) {
    several.message(now, message.clone());
    single.message(now, message.clone());
}

/// Random operations on both. Returns how often all flows were in one worker.
fn compare(workers: usize, engine: Engine, kind: Kind, seed: u64) -> usize {
    // Few entries are evicted often; of many, more expire than one tick removes.
    let max_entries = if kind == Kind::Spread { 150 } else { 12 };
    let config = Config {
        engine,
        max_entries,
        ..Config::default()
    };
    let mut several = Several::new(workers, &config, FailMode::Secure);
    let mut single = Single::new(&config, FailMode::Secure);
    // Entries have statistics triggers since 1.5.
    let version = [Version::V1_4, Version::V1_5][workers % 2];
    set_up(&mut several, &mut single, version);
    let mut random = Random(seed);
    let mut now = Time(MS);
    let mut in_one = 0;
    for number in 0..OPERATIONS as u32 {
        now = now.after(random.below(3) * MS / 2);
        match random.below(20) {
            0..=4 => {
                let count = 1 + random.below(40) * random.below(2);
                let flow = |_| random_flow(&mut random, kind, version);
                let messages: Vec<Message> = (0..count).map(flow).collect();
                for message in &messages {
                    single.message(now, message.clone());
                }
                several.messages(now, messages);
            }
            5 => {
                let message = random_group(&mut random);
                both(&mut several, &mut single, now, &message);
            }
            6 => {
                let message = random_meter(&mut random);
                both(&mut several, &mut single, now, &message);
            }
            7 => {
                let messages = random_bundle(&mut random, kind, version);
                for message in &messages {
                    single.message(now, message.clone());
                }
                several.messages(now, messages);
            }
            12 => {
                let message = random_packet_out(&mut random);
                both(&mut several, &mut single, now, &message);
            }
            8 => {
                let message = eviction(random.below(2) == 0);
                both(&mut several, &mut single, now, &message);
            }
            9 => {
                let port = 1 + random.below(u64::from(PORTS)) as u32;
                let is_there = random.below(4) > 0;
                several.port(now, port, is_there);
                single.port(now, port, is_there);
            }
            10 => {
                now = now.after(random.below(1500) * MS);
                several.tick(now);
                single.tick(now);
            }
            11 => {
                for message in reads() {
                    both(&mut several, &mut single, now, &message);
                }
            }
            _ => {
                for _ in 0..random.below(12) {
                    now = now.after(random.below(2) * 1000);
                    let flow = random.below(FLOWS) as u16;
                    let (bytes, offload) = match random.below(4) {
                        0 => super_frame(flow),
                        _ => (frame(flow, number), Offload::NONE),
                    };
                    let port = 1 + random.below(u64::from(PORTS)) as u32;
                    several.receive(now, port, &bytes, offload);
                    single.receive(now, port, &bytes, offload);
                }
            }
        }
        in_one += usize::from(matches!(several.dispatch(), Dispatch::One(_)));
        if number % 50 == 49 {
            for message in reads() {
                both(&mut several, &mut single, now, &message);
            }
            let (flows, packet_ins, others) = seen(&mut several);
            let (flows_of_one, packet_ins_of_one, others_of_one) = seen(&mut single);
            for (other, other_of_one) in others.iter().zip(&others_of_one) {
                assert_eq!(other, other_of_one, "operation {number}");
            }
            assert_eq!(others.len(), others_of_one.len(), "operation {number}");
            assert_eq!(packet_ins, packet_ins_of_one, "operation {number}");
            for (flow, left) in &flows_of_one {
                assert_eq!(flows.get(flow), Some(left), "operation {number}");
            }
            assert_eq!(flows.len(), flows_of_one.len(), "operation {number}");
        }
    }
    in_one
}

#[test]
fn workers_do_what_one_switch_does() {
    for (seed, (_, engine)) in (1..).zip(Engine::ALL) {
        for workers in [1, 2, 3] {
            assert_eq!(compare(workers, engine, Kind::Spread, seed), 0);
        }
    }
}

#[test]
fn what_needs_one_worker_gets_one() {
    for (seed, (_, engine)) in (11..).zip(Engine::ALL) {
        let in_one = compare(2, engine, Kind::Mixed, seed);
        assert!((1..OPERATIONS).contains(&in_one), "{in_one}");
    }
}

#[test]
fn a_threshold_that_packets_of_another_worker_reach_is_noticed_soon() {
    let mut several = Several::new(2, &Config::default(), FailMode::Secure);
    let mut single = Single::new(&Config::default(), FailMode::Secure);
    set_up(&mut several, &mut single, Version::V1_5);
    let text = "actions=stat_trigger(packet_count=1),output:2";
    several.message(Time(MS), flow_mod(FlowModCommand::ADD, text));
    let is_with_another = |flow: &u16| several.workers.worker_of(PortNo(1), &frame(*flow, 0)) == 1;
    let flow = (0..FLOWS as u16).find(is_with_another).unwrap();
    several.receive(Time(MS), 1, &frame(flow, 0), Offload::NONE);
    let due = several.workers.next_tick().unwrap();
    assert!(due <= Time(20 * MS), "{due:?}");
    several.tick(due);
    let (_, messages) = several.effects();
    assert!(
        matches!(messages[..], [Message::MultipartReply(_)]),
        "{messages:?}"
    );
}
