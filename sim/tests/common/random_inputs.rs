//! Random frames between a few hosts, and random messages that change how they are forwarded.

use bofuss_datapath::Time;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::multipart::{
    FlowStatsRequest, GroupRequest, MeterRequest, MultipartRequest, PortRequest, RequestBody,
};
use bofuss_oflib::message::{Empty, FlowModCommand, PacketOut};
use bofuss_oflib::text::{parse_actions, parse_flow, parse_group, parse_meter};
use bofuss_oflib::types::{BufferId, GroupId, MeterId};
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Catalogue, Mac, Match, Message, PortNo};
use bofuss_packet::craft::{arp, ethernet, ipv4, tcp, udp, vlan};
use bofuss_sim::Random;

/// The switch has ports from 1 to this.
pub const PORTS: u32 = 4;
/// The number of frames and messages before the counters are asked for.
pub const INPUTS: u64 = 10_000;
/// Nanoseconds from one input to the next.
pub const STEP_NANOS: u64 = 1_000_000;

/// An input of a switch.
#[derive(Clone)]
pub enum Input {
    /// A frame on a port.
    Frame(u32, Vec<u8>),
    /// A message of its controller.
    Message(Message),
}

/// The inputs, which are always the same, with the fields and extensions of a catalogue. The last
/// ones request all counters.
pub fn inputs(catalogue: &Catalogue) -> Vec<Input> {
    let mut random = Random::new(42, 0);
    let mut inputs = Vec::new();
    for _ in 0..INPUTS {
        inputs.push(input(&mut random, catalogue));
    }
    for body in [
        RequestBody::Flow(FlowStatsRequest::default()),
        RequestBody::Table(Empty),
        RequestBody::PortStats(PortRequest {
            port_no: PortNo::ANY,
        }),
        RequestBody::Group(GroupRequest {
            group_id: GroupId::ALL,
        }),
        RequestBody::Meter(MeterRequest {
            meter_id: MeterId::ALL,
        }),
    ] {
        let request = MultipartRequest { body, more: false };
        inputs.push(Input::Message(Message::MultipartRequest(request)));
    }
    inputs
}

/// The time of the input with this number, from 1. No two are whole seconds apart, so no timeout
/// expires at the time of an input.
pub fn time(step: u64) -> Time {
    Time(step * STEP_NANOS + step % 997)
}

fn input(random: &mut Random, catalogue: &Catalogue) -> Input {
    if random.below(5) == 0 {
        return Input::Message(message(random, catalogue));
    }
    let bytes = frame(random);
    Input::Frame(1 + random.below(u64::from(PORTS)) as u32, bytes)
}

/// A random frame between two of a few hosts.
fn frame(random: &mut Random) -> Vec<u8> {
    let host = |n: u64| Mac([2, 0, 0, 0, 0, n as u8 + 1]);
    let from = random.below(6);
    let to = random.below(6);
    let ip = |n: u64| [10, 0, 0, n as u8 + 1].into();
    let port = 1000 + random.below(4) as u16;
    let payload = match random.below(4) {
        0 => arp(1, host(from), ip(from), Mac([0; 6]), ip(to)),
        1 => ipv4(
            ip(from),
            ip(to),
            1 + random.below(3) as u8,
            tcp(port, 80, 0, b"data"),
        ),
        2 => ipv4(ip(from), ip(to), 64, udp(port, 53, &[7; 300])),
        _ => vlan(
            0x8100,
            random.below(3) as u16,
            ipv4(ip(from), ip(to), 64, udp(port, 9, b"")),
        ),
    };
    let dst = if random.below(5) == 0 {
        Mac([0xff; 6])
    } else {
        host(to)
    };
    ethernet(dst, host(from), payload)
}

fn message(random: &mut Random, catalogue: &Catalogue) -> Message {
    let priority = random.below(4);
    let port = 1 + random.below(u64::from(PORTS));
    let host = 1 + random.below(6);
    let actions = [
        format!("output:{port}"),
        "NORMAL".into(),
        "CONTROLLER:64".into(),
        format!("dec_ttl,set_field:02:00:00:00:00:0{host}->eth_dst,output:{port}"),
        "group:1".into(),
        format!("meter:1,output:{port}"),
        format!("push_vlan:0x8100,set_field:{}->vlan_vid,FLOOD", 4096 + host),
        String::new(),
    ];
    let actions = &actions[random.below(8) as usize];
    let matches = ["", "arp,", "ip,", "tcp,", "udp,tp_dst=53,", "dl_vlan=1,"];
    let fields = matches[random.below(6) as usize];
    let flow = format!(
        "priority={priority},{fields}in_port={port},idle_timeout={},actions={actions}",
        random.below(3)
    );
    match random.below(10) {
        0 => {
            let flow = format!("{fields}in_port={port}");
            Message::FlowMod(parse_flow(&flow, FlowModCommand::DELETE, catalogue).unwrap())
        }
        1 => Message::BarrierRequest(Empty),
        2 => {
            let group = format!("group_id=1,type=select,bucket=output:{port},bucket=output:1");
            let command = if random.below(2) == 0 {
                GroupModCommand::ADD
            } else {
                GroupModCommand::MODIFY
            };
            Message::GroupMod(parse_group(&group, command, catalogue).unwrap())
        }
        3 => Message::FeaturesRequest(Empty),
        5 => {
            let actions = ["NORMAL".into(), "FLOOD".into(), format!("output:{port}")];
            let actions = &actions[random.below(3) as usize];
            Message::PacketOut(PacketOut {
                buffer_id: BufferId::NO_BUFFER,
                in_port: PortNo(port as u32),
                actions: parse_actions(actions, &Match::ANY, catalogue).unwrap(),
                data: Bytes(frame(random)),
                ..PacketOut::default()
            })
        }
        4 => {
            let meter = format!("meter=1,pktps,bands=type=drop,rate={}", 100 * host);
            let command = if random.below(2) == 0 {
                MeterModCommand::ADD
            } else {
                MeterModCommand::MODIFY
            };
            Message::MeterMod(parse_meter(&meter, command).unwrap())
        }
        _ => Message::FlowMod(parse_flow(&flow, FlowModCommand::ADD, catalogue).unwrap()),
    }
}
