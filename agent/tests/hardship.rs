//! Slow readers, limits at their value and one above, frames of random bytes.
#![allow(clippy::unwrap_used)]

use std::ops::Range;

use bofuss_agent::{ConnId, FailMode};
use bofuss_datapath::{Config, DropReason};
use bofuss_frame::{HEADROOM_BYTES, MAX_FRAME_BYTES};
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::{
    AsyncConfig, ControllerRole, FlowModCommand, PacketOut, PortStatusReason, Role,
};
use bofuss_oflib::text::{parse_flow, parse_group};
use bofuss_oflib::types::BufferId;
use bofuss_oflib::wire::{Bytes, Text};
use bofuss_oflib::{Action, Mac, Message, PortNo, Version};
use bofuss_packet::craft;

use crate::common::{CONN, Lab, MS, Random};

fn raw(from: u16, to: u16) -> Vec<u8> {
    let mac = |n: u16| Mac([2, 0, 0, 0, (n >> 8) as u8, n as u8]);
    craft::ethernet(mac(to), mac(from), craft::Layer::new(0x88b5, &[0x5a; 60]))
}

#[test]
fn a_slow_reader_loses_packet_ins_and_gets_one_port_status_each() {
    let mut lab = Lab::new(10, FailMode::Secure);
    lab.flow(FlowModCommand::ADD, "actions=controller");
    lab.io.stuck = true;
    assert!(!lab.switch.is_ready(CONN, &lab.io));
    (0..5).for_each(|_| lab.send(1, &raw(1, 2)));
    assert_eq!(lab.io.messages, []);
    assert_eq!(lab.switch.lost(CONN).packet_ins, 5);
    lab.port(9);
    lab.switch
        .ports(lab.now, &mut lab.io, |ports| ports.removed(PortNo(4)));
    lab.port(4);
    lab.switch
        .ports(lab.now, &mut lab.io, |ports| ports.removed(PortNo(3)));
    assert_eq!(lab.io.messages, []);
    assert!(!lab.switch.has_work(&lab.io), "nothing can be done now");
    lab.io.stuck = false;
    lab.work();
    let told = lab.io.messages.drain(..).map(|message| match message {
        Message::PortStatus(status) => (status.desc.port_no.0, status.reason),
        other => panic!("{other:?}"),
    });
    let (add, delete) = (PortStatusReason::ADD, PortStatusReason::DELETE);
    assert_eq!(told.collect::<Vec<_>>(), [(3, delete), (4, add), (9, add)]);
}

#[test]
fn a_port_that_is_gone_is_not_announced_to_a_slow_reader_without_deletions() {
    let mut lab = Lab::new(10, FailMode::Secure);
    let additions = AsyncConfig {
        port_status: 1 << PortStatusReason::ADD.0,
        ..AsyncConfig::default()
    };
    assert_eq!(lab.ask(CONN, 7, Message::SetAsync(additions)), []);
    lab.io.stuck = true;
    lab.port(8);
    lab.port(9);
    lab.switch
        .ports(lab.now, &mut lab.io, |ports| ports.removed(PortNo(9)));
    lab.io.stuck = false;
    lab.work();
    let told = lab.io.messages.drain(..).map(|message| match message {
        Message::PortStatus(status) => status.desc.port_no.0,
        other => panic!("{other:?}"),
    });
    assert_eq!(told.collect::<Vec<_>>(), [8]);
}

// I11
#[test]
fn a_slow_reader_gets_only_the_newest_status_of_each_remaining_controller() {
    let mut lab = Lab::new(10, FailMode::Secure);
    let [reader, busy, leaves] = [11, 12, 13].map(ConnId);
    for conn in [reader, busy, leaves] {
        lab.switch.connected(lab.now, conn, Version::V1_5, true);
    }
    lab.switch.set_peer(busy, "tcp:192.0.2.1:6653");
    lab.work();
    lab.io.messages.clear();
    lab.io.stuck = true;
    for number in 1..=1000 {
        let role = [ControllerRole::EQUAL, ControllerRole::SLAVE][number as usize % 2];
        let asked = Role {
            role,
            generation_id: 1,
            short_id: number,
        };
        lab.ask(busy, 7, Message::RoleRequest(asked));
        let passes_by = ConnId(100 + u64::from(number));
        lab.switch
            .connected(lab.now, passes_by, Version::V1_5, true);
        lab.switch.disconnected(lab.now, passes_by);
    }
    lab.switch.disconnected(lab.now, leaves);
    lab.switch.disconnected(lab.now, CONN);
    lab.io.messages.clear();
    assert!(!lab.switch.has_work(&lab.io), "nothing can be done now");
    lab.io.stuck = false;
    lab.work();
    let mut told: Vec<String> = Vec::new();
    for message in lab.io.messages.drain(..) {
        let Message::ControllerStatus(status) = message else {
            panic!("{message:?}");
        };
        told.push(Text(&status).to_string());
    }
    told.sort();
    let ended = "short_id=0,role=equal,reason=channel_status,channel_status=down";
    let newest =
        "uri=[\"tcp:192.0.2.1:6653\"],short_id=1000,role=equal,reason=role,channel_status=up";
    // The reader gets both controllers that closed and the busy one, in its newest state only.
    assert_eq!(told, [ended, ended, ended, ended, newest]);
}

#[test]
fn controllers_that_come_at_once_are_told_of_each_other_in_slices() {
    let mut lab = Lab::new(10, FailMode::Secure);
    let others = (100..400).map(ConnId);
    for conn in others.clone() {
        lab.switch.connected(lab.now, conn, Version::V1_5, true);
    }
    let count = others.count();
    let mut told = 0;
    while lab.switch.has_work(&lab.io) {
        lab.io.messages.clear();
        lab.switch.work(lab.now, &mut lab.io);
        told += lab.io.messages.len();
        assert!(lab.io.messages.len() <= count, "{}", lab.io.messages.len());
    }
    assert_eq!(
        told,
        count * (count - 1) / 2,
        "each of those that came later"
    );
}

#[test]
fn a_packet_in_beyond_the_buffers_is_sent_whole() {
    const BUFFERS: u32 = 256;
    let mut lab = Lab::new(10, FailMode::Secure);
    lab.flow(FlowModCommand::ADD, "actions=controller:16");
    for n in 0..=BUFFERS {
        lab.send(1, &raw(1, 2));
        let Some(Message::PacketIn(packet_in)) = lab.io.messages.pop() else {
            panic!()
        };
        let whole = n == BUFFERS;
        assert_eq!(packet_in.buffer_id == BufferId::NO_BUFFER, whole, "{n}");
        assert_eq!(packet_in.data.0.len(), if whole { 74 } else { 16 });
    }
}

// I8
#[test]
fn packets_that_are_held_leave_three_quarters_of_the_pool_to_others() {
    const POOL_BYTES: usize = 1 << 24;
    const LARGE: usize = 20_000;
    let mut lab = Lab::new(10, FailMode::Secure);
    lab.switch
        .connected(lab.now, ConnId(2), Version::V1_3, false);
    lab.flow(FlowModCommand::ADD, "actions=controller:16");
    let mut held = 0;
    for _ in 0..100 {
        let before = lab.pool.stats().bytes_in_use;
        lab.send(1, &[&raw(1, 2)[..], &[0; LARGE]].concat());
        let used = lab.pool.stats().bytes_in_use;
        let buffer = MAX_FRAME_BYTES + HEADROOM_BYTES;
        // The frame itself occupies a buffer while it is copied for two connections.
        for at in [before + buffer, before + 2 * buffer] {
            held += usize::from(at <= POOL_BYTES / 4) * buffer;
        }
        assert_eq!(used, held);
    }
    assert!((POOL_BYTES / 4 - MAX_FRAME_BYTES..POOL_BYTES / 4 + MAX_FRAME_BYTES).contains(&held));
    let whole = |message: &Message| match message {
        Message::PacketIn(packet_in) => packet_in.data.0.len() > LARGE,
        _ => false,
    };
    let tell = lab.io.messages.len();
    assert_eq!(tell, 200, "none is lost");
    assert!(lab.io.messages[tell - 2..].iter().all(whole));
}

#[test]
fn normal_knows_as_many_stations_as_its_table_holds() {
    const STATIONS: u16 = 8192;
    let mut lab = Lab::new(10, FailMode::Secure);
    lab.flow(FlowModCommand::ADD, "actions=normal");
    let floods_to = |lab: &mut Lab, station: u16| {
        lab.io.out.clear();
        lab.send(2, &raw(0xffff, station));
        lab.io.out.len() > 1
    };
    for n in 0..STATIONS - 1 {
        lab.send(1, &raw(n, 0xfffe));
        lab.advance(1);
    }
    assert!(!floods_to(&mut lab, 0), "at the limit all are known");
    assert!(!floods_to(&mut lab, STATIONS - 2));
    lab.send(1, &raw(0, 0xfffe));
    lab.send(1, &raw(STATIONS, 0xfffe));
    assert!(floods_to(&mut lab, 1), "one past, the oldest is forgotten");
    assert!(!floods_to(&mut lab, 0) && !floods_to(&mut lab, 2));
    assert!(!floods_to(&mut lab, STATIONS));
}

/// Sends 20,000 frames a second from new source addresses for five seconds.
fn flood_and_speak(lab: &mut Lab) -> Vec<u32> {
    const FLOOD_MS: u64 = 5000;
    const PER_MS: u64 = 20;
    let mut random = Random(7);
    let mut out = Vec::new();
    lab.send(3, &raw(3, 2));
    for _ in 0..FLOOD_MS {
        for _ in 0..PER_MS {
            let mut frame = raw(0, 0xfffe);
            frame[8..12].copy_from_slice(&(random.below(1 << 32) as u32).to_be_bytes());
            lab.send(1, &frame);
        }
        lab.io.out.clear();
        lab.send(2, &raw(2, 3));
        out.append(&mut lab.io.out);
        lab.advance(1);
    }
    assert_eq!(out.len(), FLOOD_MS as usize, "each frame leaves once");
    out
}

#[test]
fn a_flood_of_sources_on_one_port_costs_no_other_port_its_addresses() {
    let mut lab = Lab::new(10, FailMode::Secure);
    lab.flow(FlowModCommand::ADD, "actions=normal");
    let out = flood_and_speak(&mut lab);
    assert!(out.iter().all(|port| *port == 3), "no bystander sees one");
}

#[test]
fn the_port_with_most_addresses_loses_its_own_first_and_a_bounded_one_has_fewer() {
    let bounded = Config {
        port_addresses: [(PortNo(1), 2)].into(),
        ..Config::default()
    };
    let mut lab = Lab::new(10, FailMode::Secure);
    lab.flow(FlowModCommand::ADD, "actions=normal");
    let is_known = |lab: &mut Lab, station: u16| {
        lab.io.out.clear();
        lab.send(4, &raw(0xffff, station));
        lab.io.out.len() == 1
    };
    lab.send(4, &raw(0xffff, 0xfffe));
    (0..5000).for_each(|n| lab.send(1, &raw(n, 0xfffe)));
    // Port 2 takes the free places and then places of port 1, until both have equally many.
    (5000..10_000).for_each(|n| lab.send(2, &raw(n, 0xfffe)));
    let known = |lab: &mut Lab, all: Range<u16>| all.filter(|n| is_known(lab, *n)).count();
    let counts = (known(&mut lab, 0..5000), known(&mut lab, 5000..10_000));
    assert_eq!(counts, (4095, 4096));
    lab.reconfigure(bounded);
    assert_eq!(known(&mut lab, 0..5000), 2, "at once, by a reload");
    assert!(is_known(&mut lab, 4999) && is_known(&mut lab, 5905));
    lab.send(1, &raw(4998, 0xfffe));
    lab.send(1, &raw(1, 0xfffe));
    assert!(is_known(&mut lab, 1) && is_known(&mut lab, 4998));
    assert!(!is_known(&mut lab, 4999));
    lab.send(2, &raw(1, 0xfffe));
    lab.send(1, &raw(0, 0xfffe));
    assert!(is_known(&mut lab, 1), "it moved to the other port");
    assert!(is_known(&mut lab, 4998), "which left a place");
    lab.switch
        .ports(lab.now, &mut lab.io, |ports| ports.removed(PortNo(2)));
    assert!(!is_known(&mut lab, 1) && is_known(&mut lab, 4998));
}

#[test]
fn a_static_address_does_not_move_and_the_others_are_forgotten_when_asked() {
    let station = |n: u16| (0, Mac(raw(0, n)[..6].try_into().unwrap()));
    let mut lab = Lab::new(10, FailMode::Secure);
    lab.flow(FlowModCommand::ADD, "actions=normal");
    lab.reconfigure(Config {
        static_addresses: [(station(7), PortNo(3))].into(),
        ..Config::default()
    });
    let to = |lab: &mut Lab, destination: u16| {
        lab.io.out.clear();
        lab.send(4, &raw(0xffff, destination));
        core::mem::take(&mut lab.io.out)
    };
    assert_eq!(to(&mut lab, 7), [3], "it was never seen");
    lab.send(1, &raw(7, 0xfffe));
    lab.send(1, &raw(8, 0xfffe));
    assert_eq!((to(&mut lab, 7), to(&mut lab, 8)), (vec![3], vec![1]));
    let learned = |lab: &Lab| {
        let bridge = lab.switch.datapath().bridge();
        let mut all: Vec<_> = bridge
            .stations(lab.now)
            .map(|(one, port, _)| (one, port))
            .collect();
        all.sort_unstable();
        all
    };
    assert_eq!(
        learned(&lab),
        [(station(8), PortNo(1)), (station(0xffff), PortNo(4))]
    );
    lab.switch
        .ports(lab.now, &mut lab.io, |ports| ports.forget_addresses());
    assert_eq!(learned(&lab), []);
    assert_eq!((to(&mut lab, 7), to(&mut lab, 8).len()), (vec![3], 3));
    lab.reconfigure(Config::default());
    assert_eq!(to(&mut lab, 7).len(), 3);
}

#[test]
fn a_port_floods_its_burst_and_no_frame_more() {
    const BURST: usize = 10_000;
    let mut lab = Lab::new(10, FailMode::Secure);
    lab.flow(FlowModCommand::ADD, "actions=normal");
    (0..BURST + 1).for_each(|_| lab.send(1, &raw(1, 2)));
    assert_eq!(lab.io.out.len(), 3 * BURST);
    lab.send(2, &raw(3, 4));
    assert_eq!(
        lab.io.out.len(),
        3 * BURST + 3,
        "another port has its own burst"
    );
    lab.advance(1);
    (0..11).for_each(|_| lab.send(1, &raw(1, 2)));
    assert_eq!(
        lab.io.out.len(),
        3 * BURST + 3 + 30,
        "a millisecond earns ten"
    );
}

#[test]
fn standalone_with_a_full_table_keeps_its_entries() {
    let mut lab = Lab::new(1, FailMode::Standalone);
    lab.flow(FlowModCommand::ADD, "priority=7,actions=output:2");
    lab.switch.disconnected(lab.now, CONN);
    assert_eq!(lab.switch.datapath().tables()[0].len(), 1);
    lab.send(1, &raw(1, 2));
    assert_eq!(lab.io.out, [2]);
    lab.switch.connected(lab.now, CONN, Version::V1_3, true);
    lab.flow(FlowModCommand::DELETE, "");
    lab.switch.disconnected(lab.now, CONN);
    lab.send(1, &raw(1, 2));
    assert_eq!(lab.io.out, [2, 2, 3, 4], "with room, NORMAL stands in");
}

#[test]
fn standalone_gets_its_entry_when_the_next_connection_finds_room() {
    use bofuss_oflib::message::FlowModCommand as C;
    let mut lab = Lab::new(1, FailMode::Standalone);
    // The ports that a packet leaves by after a tool, which is no controller, has come and gone.
    let by_tool = |lab: &mut Lab, command, text: &str| {
        let tool = ConnId(2);
        lab.switch.connected(lab.now, tool, Version::V1_3, false);
        let flow_mod = parse_flow(text, command, &lab.catalogue).unwrap();
        assert_eq!(lab.ask(tool, 7, Message::FlowMod(flow_mod)), []);
        lab.switch.disconnected(lab.now, tool);
        lab.send(1, &raw(1, 2));
        std::mem::take(&mut lab.io.out)
    };
    lab.flow(C::ADD, "priority=7,actions=output:2");
    lab.switch.disconnected(lab.now, CONN);
    assert_eq!(by_tool(&mut lab, C::DELETE, "priority=7"), [2, 3, 4]);
    lab.switch.connected(lab.now, CONN, Version::V1_3, true);
    lab.flow(C::ADD, "priority=0,actions=output:3");
    lab.switch.disconnected(lab.now, CONN);
    assert_eq!(by_tool(&mut lab, C::MODIFY, "actions=output:4"), [4]);
    assert_eq!(by_tool(&mut lab, C::DELETE, ""), [2, 3, 4]);
    assert_eq!(by_tool(&mut lab, C::DELETE, ""), [], "it has its will");
}

#[test]
fn a_flow_mod_with_an_unknown_buffer_changes_nothing() {
    let mut lab = Lab::new(10, FailMode::Secure);
    let text = "priority=7,actions=output:2";
    let mut flow =
        bofuss_oflib::text::parse_flow(text, FlowModCommand::ADD, &lab.catalogue).unwrap();
    flow.buffer_id = BufferId(5);
    lab.message(Message::FlowMod(flow));
    assert!(matches!(lab.io.messages[..], [Message::Error(_)]));
    assert_eq!(lab.switch.datapath().tables()[0].len(), 0);
}

#[test]
fn an_entry_that_expires_by_the_thousand_never_holds_up_a_tick() {
    let mut lab = Lab::new(10_000, FailMode::Secure);
    for n in 1..=1000 {
        lab.flow(
            FlowModCommand::ADD,
            &format!("priority={n},hard_timeout=1,actions=drop"),
        );
    }
    lab.now = lab.now.after(2_000 * MS);
    let left = |lab: &Lab| lab.switch.datapath().tables()[0].len();
    let mut ticks = 0;
    while lab.switch.next_tick().is_some() {
        let before = left(&lab);
        lab.switch.tick(lab.now, &mut lab.io);
        assert!(before - left(&lab) <= 64 && before > left(&lab));
        ticks += 1;
    }
    assert_eq!((left(&lab), ticks), (0, 16));
}

#[test]
fn any_bytes_go_through_any_actions() {
    let mut lab = Lab::new(100, FailMode::Secure);
    for flow in [
        "priority=1,actions=normal",
        "priority=2,in_port=1,actions=push_vlan:0x88a8,dec_ttl,push_mpls:0x8847,controller:9,all",
        "priority=3,in_port=2,actions=pop_vlan,pop_mpls:0x0800,copy_ttl_in,write_actions(in_port)",
        "priority=9,udp,actions=set_field:7->udp_dst,output:3,goto_table:1",
        "priority=9,arp,actions=set_field:1->arp_op,flood",
        "table=1,priority=1,actions=write_actions(pop_pbb,copy_ttl_out,output:4)",
    ] {
        lab.flow(FlowModCommand::ADD, flow);
    }
    assert_eq!(lab.io.messages, []);
    let types = [
        0x0800, 0x0806, 0x86dd, 0x8100, 0x88a8, 0x8847, 0x88e7, 0x0600,
    ];
    let mut random = Random(9);
    for _ in 0..20_000 {
        let len = random.below(100) as usize + 1;
        let mut bytes: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
        if let Some(ty) = bytes.get_mut(12..14) {
            ty.copy_from_slice(&u16::to_be_bytes(random.of(&types)));
        }
        if let (true, Some(first)) = (random.below(2) == 0, bytes.get_mut(14)) {
            *first = random.of(&[0x45, 0x60, 0x46]);
        }
        lab.send(random.below(4) as u32 + 1, &bytes);
        let actions = [Action::output(PortNo::TABLE)].into();
        lab.message(Message::PacketOut(PacketOut {
            buffer_id: BufferId::NO_BUFFER,
            in_port: PortNo(random.below(1 << 20) as u32 + 1),
            actions,
            data: Bytes(bytes),
            ..PacketOut::default()
        }));
        lab.io.messages.clear();
        lab.io.out.clear();
    }
    lab.advance(6000);
}

// I8
#[test]
fn a_packet_out_without_a_buffer_is_a_counted_drop() {
    let mut lab = Lab::new(10, FailMode::Secure);
    let all: Vec<_> = std::iter::from_fn(|| lab.pool.frame(&[0; 60])).collect();
    let out = PacketOut {
        buffer_id: BufferId::NO_BUFFER,
        in_port: PortNo::CONTROLLER,
        actions: vec![Action::output(PortNo(2))],
        data: Bytes(raw(1, 2)),
        ..PacketOut::default()
    };
    assert_eq!(lab.ask(CONN, 7, Message::PacketOut(out.clone())), []);
    let drops = lab.switch.datapath().lane().drops();
    assert_eq!(drops.collect::<Vec<_>>(), [(DropReason::NoBuffer, 1)]);
    drop(all);
    assert_eq!(lab.ask(CONN, 7, Message::PacketOut(out)), []);
    assert_eq!(lab.io.out, [2]);
}

#[test]
fn groups_within_groups_give_a_packet_1024_buckets_and_no_more() {
    let mut lab = Lab::new(10, FailMode::Secure);
    for (group, actions) in (1..=3).zip(["output:2", "group:1", "group:2"]) {
        let bucket = format!(",bucket={actions}").repeat(10);
        let text = format!("group_id={group},type=all{bucket}");
        let group_mod = parse_group(&text, GroupModCommand::ADD, &lab.catalogue).unwrap();
        lab.message(Message::GroupMod(group_mod));
    }
    lab.flow(FlowModCommand::ADD, "actions=group:3,output:3");
    lab.send(1, &raw(1, 2));
    // Each of the first nine buckets leads to 110 more, of which 100 output the packet; of the
    // buckets that remain then, 21 do.
    let sent = |lab: &mut Lab| core::mem::take(&mut lab.io.out).len();
    assert_eq!(sent(&mut lab), 9 * 100 + 21 + 1, "one is behind the group");
    lab.flow(FlowModCommand::ADD, "actions=group:2");
    lab.send(1, &raw(1, 2));
    assert_eq!(sent(&mut lab), 100);
    assert_eq!(lab.io.messages, []);
}
