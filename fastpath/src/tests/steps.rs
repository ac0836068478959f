//! Flows that edit, meter, copy or go to groups: the direct path does what the tables do.

use alloc::{collections::BTreeSet, format, string::String, vec::Vec};

use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::text::{parse_group, parse_meter};
use bofuss_oflib::types::{GroupId, MeterId, QueueId};
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::craft;

use super::stage::{Seen, counters, flow, super_frame, switch_of, with_engine};
use crate::Datapath;
use crate::cache::End;
use bofuss_datapath::{Engine, Time};
use bofuss_datapath::{QueueSpec, Rate};

/// The match fields of flows besides a destination, and their actions.
const FLOWS: [(&str, &str); 46] = [
    ("", "set_field:2:0:0:0:0:9->eth_dst,output:2"),
    (
        "ip,",
        "set_field:10.7.7.7->ip_dst,set_field:10.7.7.8->ip_src,output:2",
    ),
    ("tcp,", "set_field:7->tcp_dst,output:3"),
    ("udp,", "set_field:8->udp_src,set_field:9->udp_dst,output:2"),
    (
        "ipv6,",
        "set_field:fe80::7->ipv6_src,set_field:fe80::8->ipv6_dst,output:2",
    ),
    (
        "tcp6,",
        "set_field:fe80::8->ipv6_dst,set_field:9->tcp_dst,output:2",
    ),
    ("sctp,", "set_field:9->sctp_dst,output:2"),
    ("ip,", "set_field:5->ip_dscp,set_field:1->ip_ecn,output:2"),
    (
        "vlan_vid=0x1000/0x1000,",
        "set_field:4105->vlan_vid,set_field:3->vlan_pcp,output:2",
    ),
    ("", "push_vlan:0x8100,set_field:4105->vlan_vid,output:2"),
    (
        "",
        "push_vlan:0x88a8,push_vlan:0x8100,set_field:3->vlan_pcp,output:2",
    ),
    ("vlan_vid=0x1000/0x1000,", "pop_vlan,output:2"),
    (
        "vlan_vid=0x1000/0x1000,",
        "pop_vlan,push_vlan:0x8100,set_field:4101->vlan_vid,output:2",
    ),
    ("tcp,", "set_field:17->ip_proto,push_vlan:0x8100,output:2"),
    ("ip,", "set_field:0x86dd->eth_type,push_vlan:0x8100,group:1"),
    (
        "ip,",
        "set_field:2:0:0:0:0:8->eth_src,set_field:2:0:0:0:0:9->eth_dst,dec_ttl,output:2",
    ),
    ("ip,", "dec_ttl,dec_ttl,output:2"),
    ("ip,", "dec_ttl,group:1"),
    ("", "output:2,output:3"),
    (
        "",
        "output:2,set_field:2:0:0:0:0:9->eth_dst,output:3,push_vlan:0x8100,output:6",
    ),
    ("", "output:4,set_field:2:0:0:0:0:9->eth_dst,output:5"),
    ("", "output:1,set_field:2:0:0:0:0:9->eth_dst,output:1"),
    ("", "set_field:2:0:0:0:0:9->eth_dst,output:77"),
    ("", "set_field:2:0:0:0:0:9->eth_dst,in_port"),
    ("", "set_field:2:0:0:0:0:9->eth_dst"),
    ("", "group:1"),
    ("", "group:2"),
    ("", "push_vlan:0x8100,group:3"),
    ("", "group:4,output:2"),
    ("", "group:5"),
    ("", "group:9,output:2"),
    (
        "",
        "write_actions(set_field:2:0:0:0:0:9->eth_dst,output:2),goto_table:1",
    ),
    (
        "ip,",
        "set_field:10.7.7.7->ip_dst,write_actions(group:1,output:2),goto_table:2",
    ),
    ("", "meter:1,output:2"),
    (
        "",
        "meter:2,set_field:2:0:0:0:0:9->eth_dst,output:2,output:3",
    ),
    ("ip,", "set_field:10.7.0.0/16->ip_dst,output:2"),
    (
        "",
        "push_vlan:0x8100,set_field:5/0xf->vlan_vid,set_field:0:0:0:0:9:0/0:0:0:0:ff:0->eth_dst,\
         output:2",
    ),
    ("tcp6,", "set_field:fe80::/16->ipv6_src,output:2"),
    ("", "apply_actions(meter:1,output:2)"),
    ("ip,", "move:ip_src[]->ip_dst[],output:2"),
    (
        "",
        "push_vlan:0x8100,move:eth_src[0..2]->vlan_pcp[],move:eth_dst[0..11]->vlan_vid[0..11],\
         output:2",
    ),
    (
        "vlan_vid=0x1000/0x1000,",
        "pop_vlan,move:eth_src[0..15]->eth_dst[8..23],output:2",
    ),
    (
        "udp,",
        "move:udp_src[0..7]->udp_dst[8..15],move:ip_dscp[0..1]->ip_ecn[],output:2",
    ),
    ("tcp6,", "move:ipv6_src[0..31]->ipv6_dst[96..127],output:2"),
    ("ip,", "move:ip_src[0..15]->eth_type[],output:2"),
    ("", "move:in_port[0..15]->eth_dst[0..15],output:2"),
];

const GROUPS: [&str; 6] = [
    "group_id=1,type=select,bucket=set_field:2:0:0:0:0:8->eth_dst,output:2,bucket=dec_ttl,output:3",
    "group_id=2,type=all,bucket=push_vlan:0x8100,output:2,bucket=output:3,bucket=dec_ttl,output:6",
    "group_id=3,type=ff,bucket=watch_port:4,output:4,\
     bucket=watch_port:2,set_field:4->vlan_pcp,output:2",
    "group_id=4,type=indirect,bucket=output:3",
    "group_id=5,type=all,bucket=group:4,bucket=output:2",
    "group_id=9,type=select",
];

/// Meters that a few packets exceed; they drop packets or change the DSCP.
const METERS: [&str; 2] = [
    "meter=1,pktps,burst,stats,bands=type=drop,rate=1,burst_size=9",
    "meter=2,pktps,burst,stats,bands=type=dscp_remark,prec_level=1,rate=1,burst_size=9",
];

/// A switch with these flows. Port 3 has no checksum offload, port 4 is down, port 5 has a queue.
fn switch_of_steps(engine: Engine) -> Datapath {
    let (mut datapath, sink) = (
        switch_of(with_engine(engine), 1000, 6),
        &mut Vec::<Frame>::new(),
    );
    let plain = datapath.ports()[&PortNo(3)].desc.clone();
    datapath
        .port_control(Time(0), sink)
        .changed(plain, OffloadCapabilities::default());
    let mut down = datapath.ports()[&PortNo(4)].desc.clone();
    down.state = bofuss_oflib::message::port::PortState::LINK_DOWN;
    datapath
        .port_control(Time(0), sink)
        .changed(down, OffloadCapabilities::default());
    let spec = QueueSpec {
        max: Some(Rate::Kbps(10)),
        ..QueueSpec::default()
    };
    let queue = datapath.modify_queue(Time(0), PortNo(5), QueueId(0), spec);
    queue.expect("the port's rate is known");
    let catalogue = datapath.catalogue().clone();
    for text in GROUPS {
        let group = parse_group(text, GroupModCommand::ADD, &catalogue).expect(text);
        datapath
            .control(Time(0), sink)
            .group_mod(&group)
            .expect(text);
    }
    for text in METERS {
        let meter = parse_meter(text, MeterModCommand::ADD).expect(text);
        datapath
            .control(Time(0), sink)
            .meter_mod(&meter)
            .expect(text);
    }
    for (n, (fields, actions)) in FLOWS.iter().enumerate() {
        let text =
            format!("cookie={n},priority=2,{fields}eth_dst=4:0:0:0:0:{n:x},actions={actions}");
        flow(&mut datapath, &text);
    }
    let others = "priority=1,actions=set_field:2:0:0:0:0:7->eth_src,output:6";
    flow(&mut datapath, others);
    flow(&mut datapath, "table=1,actions=write_actions(output:3)");
    flow(
        &mut datapath,
        "table=2,ip,actions=set_field:6->ip_dscp,write_metadata:7",
    );
    flow(&mut datapath, "table=3,vlan_vid=4105,actions=output:3");
    datapath
}

/// A frame of flow `n`; by `kind` it has another TTL, a tag, is a fragment, has an unfinished
/// checksum, or is IPv6 with extension headers.
fn frame(pool: &Pool, n: u8, kind: u8) -> Frame {
    let port = 1000 + u16::from(kind / 32);
    let ttl = [64, 1, 2, 3][usize::from(kind % 4)];
    let layer = match kind / 4 % 3 {
        0 => craft::tcp(port, 80, 0x18, b"abcdefg"),
        1 => craft::udp(port, 80, b"abcdefgh"),
        _ => craft::Layer::new(0x84, &[0, 7, 0, 8, 1, 2, 3, 4, 0, 0, 0, 0, 1, 2, 3]),
    };
    let (four, six) = ([10, 0, 0, n].into(), [0xfe80, 0, 0, 0, 0, 0, 0, 1].into());
    let ip = if kind % 5 == 4 {
        craft::ipv6(six, six, ttl, layer)
    } else {
        craft::ipv4(four, [10, 9, 9, 9].into(), ttl, layer)
    };
    let ip = match kind % 7 {
        5 => craft::vlan(0x8100, 0x2005, ip),
        6 => craft::vlan(0x88a8, 7, craft::vlan(0x8100, 0xe009, ip)),
        _ => ip,
    };
    let mut bytes = craft::ethernet(Mac([4, 0, 0, 0, 0, n]), Mac([2; 6]), ip);
    if kind % 11 == 7 && kind % 7 < 5 && kind % 5 < 4 {
        // An assured forwarding class; the checksum is updated.
        bytes[15] = 10 << 2;
        let sum = u16::from_be_bytes([bytes[24], bytes[25]]);
        let (less, borrows) = sum.overflowing_sub(10 << 2);
        let less = less - u16::from(borrows);
        bytes[24..26].copy_from_slice(&less.to_be_bytes());
    }
    if kind % 13 == 12 && kind % 7 < 5 && kind % 5 < 4 {
        bytes[21] = 1;
    }
    let mut frame = pool.frame(&bytes).expect("within the limit");
    let is_plain = kind % 7 < 5 && kind % 5 < 4;
    let pending = is_plain && kind % 3 == 2 && kind / 4 % 3 < 2;
    let checksum_at = [16, 6][usize::from(kind / 4 % 3).min(1)];
    frame.offload.checksum = pending.then_some((34, checksum_at));
    frame
}

/// Everything observable of a switch after frames of all flows and kinds, and its cache hits.
fn outcome(engine: Engine, fragments: u16, wants_misses: bool) -> (String, Seen, u64) {
    let mut datapath = switch_of_steps(engine);
    datapath.set_fragments(bofuss_oflib::message::config::ConfigFlags(fragments.into()));
    let mut seen = Seen {
        wants_misses,
        ..Seen::default()
    };
    for round in 0..2u64 {
        for kind in 0..128 {
            let pool = datapath.pool().clone();
            let numbers = 0..FLOWS.len() as u8;
            let mut frames: Vec<Frame> = numbers.map(|n| frame(&pool, n, kind)).collect();
            if kind % 32 == 0 {
                let mut large = super_frame(&pool);
                large.bytes_mut()[..6].copy_from_slice(&[4, 0, 0, 0, 0, kind / 32]);
                frames.push(large);
            }
            let now = Time(round * Time::SEC + u64::from(kind) * 1000 + 1);
            datapath.receive(now, PortNo(1), &mut frames, &mut seen);
        }
    }
    let counters = counters(&mut datapath, 4);
    let groups: Vec<_> = datapath
        .groups()
        .stats(Time(0), GroupId(0)..=GroupId::ALL)
        .collect();
    let meters: Vec<_> = datapath
        .meters()
        .stats(Time(0), MeterId(0)..=MeterId::ALL)
        .collect();
    let told = format!("{counters} {groups:?} {meters:?}");
    (told, seen, datapath.lane().engine.stats().hits)
}

#[test]
fn steps_of_the_direct_path_do_what_the_tables_do() {
    for (fragments, wants_misses) in [(0, false), (1, true)] {
        let (told, seen, hits) = outcome(Engine::Cache, fragments, wants_misses);
        assert!(hits > 5000, "{hits}");
        for engine in [Engine::Tables, Engine::Reference] {
            let (other, others_seen, _) = outcome(engine, fragments, wants_misses);
            assert_eq!(told, other);
            assert_eq!(seen.left.len(), others_seen.left.len());
            for (one, other) in seen.left.iter().zip(&others_seen.left) {
                assert_eq!(one, other);
            }
            assert_eq!(seen.offered, others_seen.offered);
        }
    }
}

#[test]
fn plain_edits_groups_and_meters_are_direct_paths() {
    let mut datapath = switch_of_steps(Engine::Cache);
    let pool = datapath.pool().clone();
    for kind in 0..128 {
        let numbers = 0..FLOWS.len() as u8;
        let mut frames = numbers.map(|n| frame(&pool, n, kind)).collect();
        datapath.receive(Time(1), PortNo(1), &mut frames, &mut Vec::<Frame>::new());
    }
    let mut slow: BTreeSet<&str> = FLOWS.iter().map(|(_, actions)| *actions).collect();
    let flows = &datapath.lane().engine.flows;
    for slot in 0..flows.end() {
        let entry = datapath.tables()[0].at(flows[slot].hit(0).slot);
        let entry = entry.expect("all of them hit");
        if flows[slot].end == End::Steps && entry.key.priority.0 == 2 {
            slow.remove(FLOWS[entry.cookie as usize].1);
        }
    }
    let needs_packets = [
        "move:in_port[0..15]->eth_dst[0..15],output:2",
        "move:ip_src[0..15]->eth_type[],output:2",
        "set_field:0x86dd->eth_type,push_vlan:0x8100,group:1",
        "set_field:17->ip_proto,push_vlan:0x8100,output:2",
        "set_field:2:0:0:0:0:9->eth_dst",
        "set_field:2:0:0:0:0:9->eth_dst,in_port",
        "set_field:9->sctp_dst,output:2",
    ];
    assert!(slow.into_iter().eq(needs_packets));
}
