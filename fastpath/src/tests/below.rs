//! A switch whose known flows an accelerator forwards, which knows frames by their bytes, does what
//! the plain engine does: frames, counters of entries, tables and ports, timeouts.

use alloc::{boxed::Box, format, string::String, vec, vec::Vec};

use bofuss_datapath::engine::ReviewScope;
use bofuss_datapath::{Config, Engine, Station, Time};
use bofuss_frame::{Frame, OffloadCapabilities};
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::text::parse_meter;
use bofuss_oflib::types::MeterId;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::craft;

use super::in_memory::InMemory;
use super::stage::*;
use crate::{Accelerator, Datapath};

const PORTS: u32 = 5;
const OPERATIONS: usize = 40_000;

/// A frame of one of few flows between two stations.
fn frame(n: usize, source: usize, destination: usize) -> Vec<u8> {
    let from = [10, 0, 0, (n % 3) as u8].into();
    let packet = craft::ipv4(
        from,
        [10, 9, 9, 9].into(),
        64,
        craft::udp(n as u16 / 3, 2, b"x"),
    );
    let [source, destination] = [source, destination].map(|n| Mac([2, 0, 0, 0, 0, n as u8]));
    let mut bytes = craft::ethernet(destination, source, packet);
    if n % 4 == 3 {
        bytes.splice(12..12, [0x81, 0, 0x60, 7]);
    }
    bytes
}

/// What NORMAL has learned, and when.
fn stations(datapath: &Datapath, now: Time) -> Vec<(Station, PortNo, Time)> {
    let mut all: Vec<_> = datapath.bridge().stations(now).collect();
    all.sort();
    all
}

/// One of the groups 1 to 3.
fn group_text(n: usize) -> String {
    let to = [1, 2, 3].map(|turn| 1 + (n / 3 + turn) % PORTS as usize);
    let id = 1 + n % 3;
    let buckets = match n / 9 % 5 {
        0 => format!(
            "type=select,bucket=dec_ttl,output:{},bucket=weight:3,set_field:2:0:0:0:0:8->eth_dst,\
             output:{}",
            to[0], to[1]
        ),
        1 => format!(
            "type=all,bucket=push_vlan:0x8100,output:{},bucket=output:{},bucket=dec_ttl,output:{}",
            to[0], to[1], to[2]
        ),
        2 => format!(
            "type=ff,bucket=watch_port:{},output:{},bucket=watch_port:{},output:{}",
            to[0], to[0], to[1], to[1]
        ),
        3 => format!("type=indirect,bucket=dec_ttl,output:{}", to[0]),
        _ => "type=all,bucket=output:4,bucket=output:5".into(),
    };
    format!("group_id={id},{buckets}")
}

/// Adds or changes one of the meters 1 and 2, or deletes it before. Their rates fit the times of
/// frames, so that it does not matter who takes tokens in advance.
fn change_meter(datapath: &mut Datapath, now: Time, n: usize) {
    let band = [
        "pktps,burst,bands=type=drop,rate=1,burst_size=2",
        "pktps,burst,bands=type=drop,rate=5,burst_size=4",
        "pktps,bands=type=drop,rate=10",
        "pktps,burst,bands=type=drop,rate=1,burst_size=0",
        "pktps,bands=type=dscp_remark,prec_level=1,rate=5",
        "pktps,burst,bands=type=drop,rate=5,burst_size=1,type=drop,rate=10,burst_size=1",
    ][n / 2 % 6];
    let id = MeterId(1 + n as u32 % 2);
    let mut command = MeterModCommand::ADD;
    if datapath.meters().has(id) {
        command = [MeterModCommand::MODIFY, MeterModCommand::DELETE][usize::from(n % 5 == 0)];
    }
    let text = match command {
        MeterModCommand::DELETE => format!("meter={id}"),
        _ => format!("meter={id},{band}"),
    };
    let meter_mod = parse_meter(&text, command).expect(&text);
    let sink = &mut Vec::<Frame>::new();
    let done = datapath.control(now, sink).meter_mod(&meter_mod);
    done.expect(&text);
    while datapath.changes().in_progress() {
        datapath.control(now, sink).work();
    }
}

/// Applies an operation to both switches.
fn change(switches: &mut [Datapath; 2], now: Time, choice: usize, n: usize) {
    let (priority, port) = (n % 4, 1 + n % 5);
    let text = match choice {
        0 => format!("priority={priority},ip,actions=output:{port}"),
        1 => format!(
            "priority={priority},in_port={port},udp,nw_src=10.0.0.{}",
            n % 3
        ),
        2 => format!("idle_timeout=1,udp,udp_src={port},actions=output:{port}"),
        3 => format!("priority={priority},in_port=1,actions=write_metadata:{port},goto_table:1"),
        4 => format!("table=1,metadata={port},actions=output:{port}"),
        5 => format!("priority=9,udp,udp_src={port},actions=set_field:7->udp_src,output:2"),
        9 => format!(
            "priority={priority},udp,udp_src={port},actions=output:{port},dec_ttl,push_vlan:0x8100,\
             set_field:{}->vlan_vid,output:2,pop_vlan,set_field:10.1.1.1->ip_dst,output:3",
            n % 9
        ),
        13 => format!(
            "priority={},udp,udp_src={},actions={}group:{}",
            4 + n % 2,
            n % 4,
            ["", "dec_ttl,", "push_vlan:0x8100,"][n % 3],
            1 + n / 3 % 3
        ),
        14 => format!(
            "priority={priority},udp,udp_src={},actions={}",
            n % 4,
            [
                "flood",
                "all",
                "dec_ttl,flood,output:2",
                "pop_vlan,all,set_field:3->ip_dscp"
            ][n / 4 % 4]
        ),
        17 => format!(
            "priority={priority},ip,actions={}",
            [
                "normal",
                "output:2,normal",
                "normal,dec_ttl,output:1",
                "dec_ttl,normal",
                "normal,normal"
            ][n % 5]
        ),
        12 => format!(
            "priority={},udp,udp_src={},actions={}",
            4 + n % 3,
            n % 4,
            [
                "meter:1,output:2",
                "meter:2,dec_ttl,output:3,output:4",
                "meter:1,group:2",
                "meter:2,normal",
                "dec_ttl,meter:1,output:2",
                "meter:1,meter:2,output:5",
                "meter:1,write_metadata:1,goto_table:1",
                "meter:2,write_metadata:2,goto_table:1",
            ][n / 4 % 8]
        ),
        _ => format!("table=1,metadata={port},actions=write_actions(dec_ttl,output:{port})"),
    };
    let sink = &mut Vec::<Frame>::new();
    for datapath in switches {
        match choice {
            0 | 2 | 4 | 5 | 9 | 10 | 13 | 14 | 17 => flow(datapath, &text),
            // A meter that is not there is an error.
            12 if (1..=2).all(|id| datapath.meters().has(MeterId(id))) => flow(datapath, &text),
            11 => change_meter(datapath, now, n),
            1 => flow(datapath, &format!("{text},actions=drop")),
            3 => flow(datapath, &text),
            15 => group(datapath, GroupModCommand::ADD_OR_MOD, &group_text(n)),
            16 => {
                let id = format!("group_id={}", 1 + n % 3);
                group(datapath, GroupModCommand::DELETE, &id);
                group(datapath, GroupModCommand::ADD, &group_text(n));
            }
            6 => delete(datapath, "table=255,udp"),
            7 => delete(datapath, &format!("udp,udp_src={port}")),
            8 => {
                let bits = [
                    PortConfig::PORT_DOWN.0,
                    PortConfig::NO_FWD.0,
                    PortConfig::NO_RECV.0,
                    PortConfig::NO_FLOOD.0,
                ];
                let all = PortConfig(bits.iter().sum());
                let number = PortNo(port as u32);
                // Most ports are as usual most of the time.
                let config = bits.get(n / 5).copied().unwrap_or(0);
                let mut control = datapath.port_control(Time(0), sink);
                control.configure(number, PortConfig(config), all);
            }
            _ => datapath.tick(now, sink),
        }
        datapath.review(now, ReviewScope::All);
    }
}

#[test]
fn what_an_accelerator_forwards_is_what_the_plain_engine_does() {
    let accelerator = InMemory::default();
    let mut switches =
        [Engine::Cache, Engine::Reference].map(|engine| switch_of(with_engine(engine), 0, PORTS));
    let below = Box::new(accelerator.clone());
    switches[0].engine_mut().accelerate(below);
    let mut state = 5u64;
    let mut random = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % n
    };
    for datapath in &mut switches {
        (0..3).for_each(|n| group(datapath, GroupModCommand::ADD, &group_text(n)));
        (2..4).for_each(|n| change_meter(datapath, Time(0), n));
    }
    for step in 0..OPERATIONS {
        let now = Time(step as u64 * Time::SEC / 50);
        let from = PortNo(1 + random(PORTS as usize) as u32);
        // Most stations stay at one port.
        let source = if random(100) == 0 {
            random(5)
        } else {
            from.0 as usize
        };
        let bytes = frame(random(8), source, 1 + random(5));
        let seen = switches.each_mut().map(|datapath| {
            let frame = datapath.pool().frame(&bytes).expect("within the limit");
            let is_plain = datapath.config().engine == Engine::Reference;
            if !is_plain && let Some(left) = accelerator.forwards(now, from, &bytes) {
                return left;
            }
            let mut seen = Seen::default();
            datapath.receive(now, from, &mut vec![frame], &mut seen);
            datapath.review(now, ReviewScope::Hooks);
            seen.left
        });
        assert_eq!(seen[0], seen[1], "step {step}");
        if random(40) == 0 {
            let (choice, n) = (random(29), random(60));
            // Groups, meters and NORMAL are in few entries otherwise.
            let choice = match choice {
                18..=20 => 17,
                25.. => 12,
                21.. => 13,
                _ => choice,
            };
            change(&mut switches, now, choice, n);
        }
        if random(50) == 0 {
            let [with, without] = switches.each_mut().map(|datapath| {
                // Entries of the two may be in another order.
                let text = counters(datapath, 2);
                let mut parts: Vec<_> = text.split([',', '}']).map(String::from).collect();
                parts.sort();
                datapath.review(now, ReviewScope::All);
                (parts, stations(datapath, now))
            });
            assert_eq!(with, without, "step {step}");
        }
    }
    let memory = accelerator.0.borrow();
    let seen = [
        memory.forwarded,
        memory.changed,
        memory.grouped,
        memory.normal,
        memory.metered,
        memory.policed,
    ];
    let enough = [20, 40, 60, 400, 200, 400].map(|part| OPERATIONS / part);
    let is_enough = seen.iter().zip(enough).all(|(seen, enough)| *seen > enough);
    assert!(is_enough, "{seen:?}");
}

#[test]
fn changes_take_back_only_the_flows_that_they_may_concern() {
    const FLOWS: u32 = 3000;
    let accelerator = InMemory::default();
    let mut datapath = switch_of(with_engine(Engine::Cache), 0, PORTS);
    datapath
        .engine_mut()
        .accelerate(Box::new(accelerator.clone()));
    flow(&mut datapath, "priority=1,udp,actions=output:2");
    let read = "in_port=7,udp,nw_src=10.9.0.1,nw_dst=10.9.0.2,udp_src=9,udp_dst=9,ip_dscp=9,\
                dl_src=02:00:00:00:00:09,dl_dst=02:00:00:00:00:09";
    flow(
        &mut datapath,
        &format!("priority=2,{read},actions=output:3"),
    );
    let from = |n: u32| [10, 0, (n >> 8) as u8, n as u8];
    // The first frame of a flow is cached, and the second offers it.
    for n in (0..FLOWS).chain(0..FLOWS) {
        let packet = craft::ipv4(
            from(n).into(),
            [10, 9, 9, 9].into(),
            64,
            craft::udp(1, 2, b"x"),
        );
        let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), packet);
        let frame = datapath.pool().frame(&bytes).expect("within the limit");
        datapath.receive(Time(1), PortNo(1), &mut vec![frame], &mut Seen::default());
    }
    let below = || accelerator.len() as u32;
    assert_eq!(below(), FLOWS);
    for n in 2..100 {
        let text = format!("priority={n},udp,nw_src=10.9.0.{n},actions=output:3");
        flow(&mut datapath, &text);
        delete(&mut datapath, &format!("udp,nw_src=10.9.0.{n}"));
    }
    assert_eq!(below(), FLOWS, "these are of others");
    for shape in 1..1024u32 {
        // Some of ten fields, at least one of which no known flow has so.
        let fields = [
            "nw_src=10.9.0.0/16",
            "nw_dst=10.10.0.0/15",
            "nw_dst=10.9.9.8",
            "udp_src=7",
            "udp_dst=7",
            "dl_src=02:00:00:00:00:09",
            "dl_dst=02:00:00:00:00:00/ff:00:00:00:00:00",
            "ip_dscp=0",
            "in_port=1",
            "nw_src=10.0.0.0/20",
        ];
        let chosen = fields.iter().enumerate();
        let chosen = chosen.filter(|(number, _)| shape >> number & 1 == 1);
        let chosen: Vec<&str> = chosen.map(|(_, field)| *field).collect();
        let is_odd = |name: &str| chosen.iter().filter(|one| one.starts_with(name)).count() > 1;
        if shape & 0x3f == 0 || is_odd("nw_src") || is_odd("nw_dst") {
            continue;
        }
        let text = format!("priority=7,udp,{},actions=output:3", chosen.join(","));
        flow(&mut datapath, &text);
    }
    assert_eq!(below(), FLOWS, "these are of others, in many shapes");
    for prefix in 9..=32 {
        for (field, other) in [("nw_src", "nw_dst"), ("nw_dst", "nw_src")] {
            let text = format!(
                "udp,{field}=10.128.0.0/{prefix},{other}=10.0.0.0/{}",
                prefix - 1
            );
            flow(
                &mut datapath,
                &format!("priority=7,{text},actions=output:3"),
            );
        }
    }
    assert_eq!(
        below(),
        FLOWS,
        "these are of others, with prefixes of all lengths"
    );
    let [_, _, c, d] = from(5);
    let text = format!("priority=9,udp,nw_src=10.0.{c}.{d},actions=output:3");
    flow(&mut datapath, &text);
    assert_eq!(below(), FLOWS - 1, "this is of one");
    flow(
        &mut datapath,
        "priority=9,udp,nw_src=10.0.1.0/24,actions=output:3",
    );
    assert_eq!(below(), FLOWS - 1 - 256, "this is of a network");
    flow(&mut datapath, "priority=9,ip,actions=output:3");
    assert_eq!(below(), 0, "this is of all");
}

/// A switch whose only flow is forwarded by an accelerator, with a frame of it, which arrives on
/// port 1.
pub(super) fn with_flow_below(actions: &str) -> (Datapath, InMemory, Vec<u8>) {
    let accelerator = InMemory::default();
    let mut datapath = switch_of(with_engine(Engine::Cache), 0, PORTS);
    let below = Box::new(accelerator.clone());
    datapath.engine_mut().accelerate(below);
    let buckets = "bucket=output:2,bucket=output:3";
    let text = format!("group_id=1,type=select,{buckets}");
    group(&mut datapath, GroupModCommand::ADD, &text);
    flow(&mut datapath, &format!("udp,actions={actions}"));
    datapath.review(Time(0), ReviewScope::All);
    let bytes = frame(0, 1, 2);
    for _ in 0..2 {
        let frame = datapath.pool().frame(&bytes).expect("within the limit");
        datapath.receive(Time(1), PortNo(1), &mut vec![frame], &mut Seen::default());
    }
    assert_eq!(accelerator.len(), 1);
    (datapath, accelerator, bytes)
}

#[test]
fn a_new_port_does_not_have_the_counts_of_the_one_before_it() {
    let (mut datapath, accelerator, bytes) = with_flow_below("output:2");
    assert!(accelerator.forwards(Time(1), PortNo(1), &bytes).is_some());
    let sink = &mut Vec::<Frame>::new();
    let capabilities = OffloadCapabilities::default();
    for number in [1, 2].map(PortNo) {
        let desc = datapath.ports()[&number].desc.clone();
        datapath.port_control(Time(2), sink).removed(number);
        datapath.review(Time(2), ReviewScope::All);
        let mut ports = datapath.port_control(Time(3), sink);
        ports.changed(desc, capabilities);
        datapath.review(Time(3), ReviewScope::All);
    }
    let settled = datapath.settled();
    let ports = settled.datapath().ports();
    let counts = [1, 2].map(|n| &ports[&PortNo(n)].stats);
    let packets = counts.map(|stats| stats.rx_packets + stats.tx_packets);
    assert_eq!(packets, [0, 0]);
}

#[test]
fn a_reload_that_lets_groups_choose_otherwise_takes_back_the_flows_that_pass_them() {
    for (actions, kept) in [("group:1", 0), ("output:2", 1)] {
        let (mut datapath, accelerator, _) = with_flow_below(actions);
        let config = Config {
            seed: 7,
            ..with_engine(Engine::Cache)
        };
        let catalogue = datapath.catalogue().clone();
        let mut other = Datapath::new(config, catalogue, datapath.pool().clone());
        assert_eq!(datapath.check_reconfigure(&mut other), Ok(()));
        datapath.reconfigure(Time(2), other, &mut Vec::<Frame>::new());
        assert_eq!(accelerator.len(), kept, "{actions}");
    }
}

#[test]
fn stations_of_flows_below_age_as_normal_hears_of_them() {
    let accelerator = InMemory::default();
    let mut datapath = switch_of(with_engine(Engine::Cache), 0, PORTS);
    let below = Box::new(accelerator.clone());
    datapath.engine_mut().accelerate(below);
    flow(&mut datapath, "actions=normal");
    let send = |datapath: &mut Datapath, now: Time, from: u32, bytes: &[u8]| {
        if let Some(left) = accelerator.forwards(now, PortNo(from), bytes) {
            return left.len();
        }
        let frame = datapath.pool().frame(bytes).expect("within the limit");
        let mut seen = Seen::default();
        datapath.receive(now, PortNo(from), &mut vec![frame], &mut seen);
        datapath.review(now, ReviewScope::Hooks);
        seen.left.len()
    };
    let at = |secs: u64| Time(secs * Time::SEC);
    send(&mut datapath, at(0), 2, &frame(0, 2, 1));
    for secs in 0..330 {
        let now = at(secs);
        datapath.tick(now, &mut Vec::<Frame>::new());
        datapath.review(now, ReviewScope::All);
        let floods = send(&mut datapath, now, 1, &frame(0, 1, 2)) > 1;
        let may_flood = [secs >= 300, secs >= 310];
        assert!(may_flood.contains(&floods), "{secs}: {floods}");
    }
    let known = stations(&datapath, at(330));
    let known: Vec<_> = known.iter().map(|(_, port, _)| port.0).collect();
    assert_eq!(
        known,
        [1],
        "the destination is silent, and the source is not"
    );
    // Whoever moves a station keeps flows up for a second.
    let forwarded = || accelerator.0.borrow().normal;
    for secs in 330..332 {
        send(&mut datapath, at(secs), 2, &frame(0, 2, 1));
        send(&mut datapath, at(secs), 1, &frame(0, 1, 2));
    }
    let before = forwarded();
    send(&mut datapath, at(332), 1, &frame(0, 1, 2));
    assert_eq!(forwarded(), before + 1);
    send(&mut datapath, at(332), 3, &frame(0, 2, 1));
    assert!(accelerator.is_empty());
    for tenth in 0..10 {
        let now = at(332).after(tenth * Time::SEC / 10);
        assert_eq!(send(&mut datapath, now, 1, &frame(0, 1, 2)), 1);
    }
    assert_eq!(forwarded(), before + 1);
    let why = datapath.why_inside(at(332), PortNo(1), &frame(0, 1, 2));
    assert!(why.is_some_and(|why| why.contains("in the last second")));
    send(&mut datapath, at(333), 1, &frame(0, 1, 2));
    send(&mut datapath, at(333), 1, &frame(0, 1, 2));
    assert_eq!(forwarded(), before + 2);
}
