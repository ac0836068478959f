//! States of flows are where their packets are: several workers do what one switch does, with state
//! machines of OpenState, while controllers read and change states and packets are divided anew.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use bofuss_agent::FailMode;
use bofuss_datapath::{Config, DispatchBy, DispatchFields, Engine, OneWorker, Time};
use bofuss_ext::openstate::{StateRecord, StateStats};
use bofuss_frame::Offload;
use bofuss_oflib::ext::ExtKind;
use bofuss_oflib::message::multipart::{ExtBody, ReplyBody, RequestBody};
use bofuss_oflib::message::{FlowModCommand, PacketOut};
use bofuss_oflib::types::BufferId;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Action, ExtValue, Mac, Message, PortNo, Version};
use bofuss_packet::craft;
use bofuss_workers::Dispatch;

use crate::common::{MS, Several, Single, Subject, flow_mod, set_up};

const HOSTS: u64 = 24;
const OPERATIONS: usize = 500;
const PORTS: [u16; 4] = [5001, 5002, 5003, 22];

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1);
        (self.0 >> 33) % n
    }
}

/// A datagram between two hosts.
fn datagram(from: u64, to: u64, port: u16, number: u32) -> Vec<u8> {
    let address = |host: u64| [10, 0, 0, host as u8].into();
    let udp = craft::udp(9000, port, &number.to_be_bytes());
    let ip = craft::ipv4(address(from), address(to), 64, udp);
    let mac = |host: u64| Mac([2, 0, 0, 0, 0, host as u8]);
    craft::ethernet(mac(from), mac(to), ip)
}

/// The extension's value of a name.
fn value(kind: ExtKind, name: &str, text: &str) -> ExtValue {
    let catalogue = bofuss_ext::catalogue();
    let row = catalogue.values(kind).find(|row| row.name == name).unwrap();
    ExtValue::parse(row, text, &catalogue).unwrap()
}

fn state_mod(text: &str) -> Message {
    Message::Experimenter(value(ExtKind::Message, "state_mod", text))
}

fn state_stats() -> Message {
    let request = value(ExtKind::Multipart, "state_stats", "");
    Message::MultipartRequest(RequestBody::Experimenter(ExtBody(request)).into())
}

/// Port knocking: a sender that has sent to 5001, 5002 and 5003 in order may send to 22.
const KNOCKING: [&str; 6] = [
    "priority=10,udp,udp_dst=5001,state=0,actions=set_state(table=0,state=1)",
    "priority=10,udp,udp_dst=5002,state=1,actions=set_state(table=0,state=2)",
    "priority=10,udp,udp_dst=5003,state=2,\
     actions=set_state(table=0,state=3,idle_timeout=40000,idle_rollback=1,hard_timeout=90000)",
    "priority=10,udp,udp_dst=22,state=3,actions=output:2",
    "priority=2,udp,udp_dst=22,actions=output:3",
    "priority=1,actions=set_state(table=0,state=0),output:4",
];

fn begin(lookup: &str, update: &str) -> Vec<Message> {
    let mut messages = vec![
        state_mod("table_config,table=0,stateful=1"),
        state_mod(&format!("set_lookup_extractor,table=0,fields={lookup}")),
        state_mod(&format!("set_update_extractor,table=0,fields={update}")),
    ];
    let entries = KNOCKING.iter();
    messages.extend(entries.map(|text| flow_mod(FlowModCommand::ADD, text)));
    messages
}

/// The frames of each pair of hosts in order, the states that were listed, and other messages.
type Seen = (
    BTreeMap<Vec<u8>, Vec<(u32, Vec<u8>)>>,
    Vec<String>,
    Vec<String>,
);

fn seen(subject: &mut impl Subject) -> Seen {
    let (left, messages) = subject.effects();
    let mut pairs: BTreeMap<Vec<u8>, Vec<_>> = BTreeMap::new();
    for (port, bytes) in left {
        pairs
            .entry(bytes[26..34].to_vec())
            .or_default()
            .push((port, bytes));
    }
    let mut states = Vec::new();
    let mut others = Vec::new();
    for message in messages {
        if let Message::MultipartReply(reply) = &message
            && let ReplyBody::Experimenter(ExtBody(value)) = &reply.body
            && let Some(StateStats::Reply(_, records)) = value.body()
        {
            // Flows in state 0 are listed until the next search.
            let with_state = |record: &&StateRecord| record.state > 0;
            let records = records.iter().filter(with_state);
            states.extend(records.map(|record| format!("{record:?}")));
        } else {
            others.push(format!("{message:?}"));
        }
    }
    states.sort();
    (pairs, states, others)
}

fn both(several: &mut Several, single: &mut Single, now: Time, message: &Message) {
    several.message(now, message.clone());
    single.message(now, message.clone());
}

/// A message about a state: it is set or deleted, or a packet of a controller changes it.
fn random_message(random: &mut Random, two_fields: bool) -> Message {
    let host = |random: &mut Random| random.below(HOSTS);
    let (from, to) = (host(random), host(random));
    let key = if two_fields {
        format!("(ipv4_src=10.0.0.{from},ipv4_dst=10.0.0.{to})")
    } else {
        format!("(ipv4_src=10.0.0.{from})")
    };
    match random.below(4) {
        0 => state_mod(&format!("del_flow_state,table=0,key={key}")),
        1 => Message::PacketOut(PacketOut {
            buffer_id: BufferId::NO_BUFFER,
            in_port: PortNo::CONTROLLER,
            actions: vec![Action::output(PortNo::TABLE)],
            data: Bytes(datagram(from, to, PORTS[random.below(3) as usize], 0)),
            ..PacketOut::default()
        }),
        _ => {
            let state = random.below(4);
            state_mod(&format!("set_flow_state,table=0,key={key},state={state}"))
        }
    }
}

/// Up to 40 frames of some hosts, as they arrive at once on one port.
fn random_burst(random: &mut Random, number: u32, give: impl FnOnce(u32, &[(Vec<u8>, Offload)])) {
    // A flow comes by one port.
    let side = random.below(2);
    let count = 1 + random.below(40) / (1 + random.below(40));
    let frames = (0..count).map(|_| {
        let from = random.below(HOSTS / 2) * 2 + side;
        let to = random.below(HOSTS);
        let port = PORTS[random.below(4) as usize];
        (datagram(from, to, port, number), Offload::NONE)
    });
    let frames: Vec<_> = frames.collect();
    give(1 + side as u32, &frames);
}

/// Random operations on several workers and on one switch. Returns the dispatches that there were.
fn compare(
    (workers, engine, seed): (usize, Engine, u64),
    (lookup, update): (&str, &str),
) -> Vec<Dispatch> {
    let config = Config {
        engine,
        ..Config::default()
    };
    let mut several = Several::new(workers, &config, FailMode::Secure);
    let mut single = Single::new(&config, FailMode::Secure);
    set_up(&mut several, &mut single, Version::V1_3);
    for message in begin(lookup, update) {
        both(&mut several, &mut single, Time(1), &message);
    }
    let normal = "priority=20,arp,actions=NORMAL";
    let mut random = Random(seed);
    let mut now = Time(MS);
    let mut dispatches = Vec::new();
    for number in 0..OPERATIONS as u32 {
        now = now.after(random.below(3) * MS / 2);
        match random.below(16) {
            0 | 1 => {
                let message = random_message(&mut random, lookup.contains('+'));
                both(&mut several, &mut single, now, &message);
            }
            2 => {
                let command = [FlowModCommand::ADD, FlowModCommand::DELETE_STRICT];
                let message = flow_mod(command[random.below(2) as usize], normal);
                both(&mut several, &mut single, now, &message);
            }
            3 => both(&mut several, &mut single, now, &state_stats()),
            4 => {
                now = now.after(random.below(60) * MS);
                several.tick(now);
                single.tick(now);
            }
            _ => {
                for _ in 0..random.below(8) {
                    now = now.after(random.below(2) * 1000);
                    random_burst(&mut random, number, |at, frames| {
                        several.burst(now, at, frames);
                        single.burst(now, at, frames);
                    });
                }
            }
        }
        if !dispatches.contains(&several.dispatch()) {
            dispatches.push(several.dispatch());
        }
        if number % 25 == 24 {
            both(&mut several, &mut single, now, &state_stats());
            let (pairs, states, others) = seen(&mut several);
            let (pairs_of_one, states_of_one, others_of_one) = seen(&mut single);
            assert_eq!(others, others_of_one, "operation {number}");
            assert_eq!(states, states_of_one, "operation {number}");
            for (pair, left) in &pairs_of_one {
                assert_eq!(pairs.get(pair), Some(left), "operation {number}");
            }
            assert_eq!(pairs.len(), pairs_of_one.len(), "operation {number}");
        }
    }
    dispatches
}

#[test]
fn states_are_where_their_packets_are() {
    let scopes = [
        ("ipv4_src", "ipv4_src", "each ipv4_src in one"),
        ("eth_src", "eth_src", "each eth_src in one"),
        (
            "ipv4_src+ipv4_dst",
            "ipv4_src+ipv4_dst",
            "each ipv4_src,ipv4_dst in one",
        ),
        (
            "ipv4_src+ipv4_dst",
            "ipv4_dst+ipv4_src",
            "each ipv4_src,ipv4_dst either way in one",
        ),
        ("ipv4_src+udp_dst", "ipv4_src+udp_src", "each ipv4_src in"),
        (
            "ipv4_src+ipv4_dst",
            "ipv4_src+ipv4_dst,biflow",
            "each ipv4_src,ipv4_dst either way in one",
        ),
        ("in_port", "in_port", "each port in one"),
    ];
    for (_, engine) in Engine::ALL {
        for (seed, (lookup, update, dispatch)) in (1..).zip(scopes) {
            let dispatches = compare((3, engine, seed), (lookup, update));
            let text: Vec<_> = dispatches.iter().map(Dispatch::to_string).collect();
            assert!(text.iter().any(|one| one.contains(dispatch)), "{text:?}");
            assert!(text.iter().any(|one| one.contains("NORMAL")), "{text:?}");
            assert_eq!(text.len(), 2, "{text:?}");
        }
    }
}

/// The ports where the senders are: those with even and those with odd numbers.
const SIDES: [u32; 2] = [1, 3];

/// A burst of frames to 22 for each side, two of each sender.
fn of_all_senders(number: u32) -> [Vec<(Vec<u8>, Offload)>; 2] {
    [0, 1].map(|side| {
        let senders = (0..HOSTS).filter(|host| host % 2 == side);
        let twice = senders.flat_map(|host| [host, host]);
        let frames = twice.map(|from| (datagram(from, 99, 22, number), Offload::NONE));
        frames.collect()
    })
}

#[test]
fn no_frame_of_a_known_sender_misses_when_frames_are_divided_anew() {
    for ((_, engine), workers) in Engine::ALL.into_iter().zip([2, 3, 4].into_iter().cycle()) {
        let config = Config {
            engine,
            ..Config::default()
        };
        let mut several = Several::new(workers, &config, FailMode::Secure);
        let mut single = Single::new(&config, FailMode::Secure);
        set_up(&mut several, &mut single, Version::V1_3);
        for message in begin("ipv4_src", "ipv4_src") {
            both(&mut several, &mut single, Time(1), &message);
        }
        for port in [5001, 5002, 5003] {
            for from in 0..HOSTS {
                let bytes = datagram(from, 99, port, 0);
                let at = SIDES[from as usize % 2];
                several.receive(Time(2), at, &bytes, Offload::NONE);
            }
        }
        let by = |name| DispatchBy::Fields(DispatchFields::named(name).unwrap());
        let normal = |command| flow_mod(command, "priority=20,arp,actions=NORMAL");
        for number in 1..=40 {
            let now = Time(2 + u64::from(number));
            match number % 8 {
                1 => several.message(now, normal(FlowModCommand::ADD)),
                2 => several.message(now, normal(FlowModCommand::DELETE_STRICT)),
                3 => several.port(now, 4, false),
                4 => several.port(now, 4, true),
                5 => several.message(
                    now,
                    state_mod("set_flow_state,table=0,key=(ipv4_src=10.0.0.200),state=1"),
                ),
                6 => several.workers.dispatch_by(now, by("ipv4_dst")).unwrap(),
                7 => several.workers.dispatch_by(now, DispatchBy::Auto).unwrap(),
                _ => several.message(now, state_stats()),
            }
            // Other scopes are refused because flows have states, whichever worker has them.
            if number % 8 == 5 {
                several.message(now, state_mod("table_config,table=0,stateful=1"));
                let other = "set_lookup_extractor,table=0,fields=eth_src";
                several.message(now, state_mod(other));
            }
            let one = matches!(several.dispatch(), Dispatch::One(_));
            assert_eq!(one, matches!(number % 8, 1 | 6), "{}", several.dispatch());
            for (at, frames) in SIDES.into_iter().zip(of_all_senders(number)) {
                several.burst(now, at, &frames);
            }
        }
        several.tick(Time(100));
        let (left, _) = several.effects();
        let is_to_22 = |bytes: &[u8]| bytes[36..38] == 22_u16.to_be_bytes();
        let passed = left.iter().filter(|(_, bytes)| is_to_22(bytes));
        assert_eq!(passed.clone().count(), 40 * 2 * HOSTS as usize);
        assert!(passed.clone().all(|(port, _)| *port == 2), "one misses");
    }
}

/// The dispatch of two workers after these messages of a controller.
fn dispatch_after(by: DispatchBy, messages: Vec<Message>) -> Dispatch {
    let mut several = Several::new(2, &Config::default(), FailMode::Secure);
    let mut single = Single::new(&Config::default(), FailMode::Secure);
    set_up(&mut several, &mut single, Version::V1_3);
    several.workers.dispatch_by(Time(1), by).unwrap();
    for message in messages {
        several.message(Time(1), message);
    }
    several.dispatch()
}

#[test]
fn what_crosses_flows_is_for_one_worker_and_a_wish_counts() {
    let auto = DispatchBy::Auto;
    let knocking = || begin("ipv4_src", "ipv4_src");
    let is_one = |by, messages, why: &str| {
        let dispatch = dispatch_after(by, messages);
        let said = dispatch.to_string();
        assert!(
            matches!(dispatch, Dispatch::One(OneWorker::States(_))),
            "{said}"
        );
        assert!(said.contains(why), "{said}");
    };
    is_one(auto, begin("eth_dst", "eth_src"), "do not agree");
    is_one(auto, begin("udp_dst", "udp_dst"), "do not agree");
    let with = |by, text: &str, why: &str| {
        let mut messages = knocking();
        messages.push(flow_mod(FlowModCommand::ADD, text));
        is_one(by, messages, why);
    };
    with(
        auto,
        "tcp,actions=set_global_state(global_state=1)",
        "global state",
    );
    with(
        auto,
        "tcp,actions=mod_nw_src:10.0.0.9,goto_table:1",
        "entries change fields",
    );
    let another = [
        state_mod("table_config,table=1,stateful=1"),
        state_mod("set_lookup_extractor,table=1,fields=eth_src"),
        state_mod("set_update_extractor,table=1,fields=eth_src"),
    ];
    is_one(
        auto,
        knocking().into_iter().chain(another).collect(),
        "do not agree",
    );
    is_one(DispatchBy::FiveTuple, knocking(), "do not agree");
    is_one(DispatchBy::Port, knocking(), "do not agree");
    let named = |name| DispatchFields::named(name).unwrap();
    let (source, destination) = (named("ipv4_src"), named("ipv4_dst"));
    is_one(DispatchBy::Fields(destination), knocking(), "do not agree");
    let fields = DispatchBy::Fields(source);
    let two = begin("ipv4_src+ipv4_dst", "ipv4_src+ipv4_dst");
    assert_eq!(dispatch_after(fields, two), Dispatch::Fields(source));
    assert_eq!(dispatch_after(auto, Vec::new()), Dispatch::Flows);
    assert_eq!(dispatch_after(DispatchBy::Port, Vec::new()), Dispatch::Port);
    let by_both = DispatchBy::Fields(source.or(destination));
    let both = Dispatch::Fields(source.or(destination));
    assert_eq!(dispatch_after(by_both, Vec::new()), both);
}
