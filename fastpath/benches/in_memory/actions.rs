//! The cost of packets of cached flows that are edited, metered, copied or sent to a group.

use std::sync::Arc;

use bofuss_datapath::{Engine, Time};
use bofuss_frame::{Frame, OffloadCapabilities};
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::meter_mod::MeterModCommand;
use bofuss_oflib::message::{FlowModCommand, PortDesc};
use bofuss_oflib::text::{parse_flow, parse_group, parse_meter};
use bofuss_oflib::types::{GroupId, MeterId};
use bofuss_oflib::{Catalogue, PortNo};

use crate::{BATCH, Bench, PACKETS, PacketShape, entry, flow, random};

/// The actions of a router at one hop.
const HOP: &str = "set_field:2:0:0:0:0:8->eth_src,set_field:2:0:0:0:0:9->eth_dst,dec_ttl,output:2";
/// The buckets of the groups; each outputs to a different port.
const BUCKETS: &str = "bucket=output:2,bucket=output:3";
/// A meter that nothing exceeds.
const METER: &str = "meter=1,pktps,stats,bands=type=drop,rate=4000000000";

/// The actions of all flows, how many frames are sent for each that arrives, and a name.
pub const ROWS: [(&str, usize, &str); 10] = [
    ("output:2", 1, "output"),
    ("set_field:2:0:0:0:0:9->eth_dst,output:2", 1, "set eth_dst"),
    ("set_field:10.9.9.9->ip_dst,output:2", 1, "set ip_dst"),
    ("set_field:99->tcp_dst,output:2", 1, "set tcp_dst"),
    (HOP, 1, "a router's hop"),
    (
        "push_vlan:0x8100,set_field:4105->vlan_vid,output:2",
        1,
        "push a tag",
    ),
    ("group:1", 1, "group, select"),
    ("group:2", 2, "group, all of 2"),
    ("meter:1,output:2", 1, "meter"),
    ("output:2,output:3", 2, "two ports"),
];

/// A switch whose flows all have the same actions, one of [`ROWS`].
fn switch(engine: Engine, actions: &str) -> Bench {
    let mut bench = Bench::new(engine, PacketShape::Tuple);
    let (catalogue, sink) = (Arc::new(Catalogue::default()), &mut Vec::<Frame>::new());
    let desc = PortDesc {
        port_no: PortNo(3),
        ..PortDesc::default()
    };
    let capabilities = OffloadCapabilities::default();
    let datapath = &mut bench.datapath;
    datapath
        .port_control(Time(0), sink)
        .changed(desc, capabilities);
    for (id, ty) in [(1, "select"), (2, "all")] {
        let text = format!("group_id={id},type={ty},{BUCKETS}");
        let group = parse_group(&text, GroupModCommand::ADD, &catalogue).unwrap();
        datapath.control(Time(0), sink).group_mod(&group).unwrap();
    }
    let meter = parse_meter(METER, MeterModCommand::ADD).unwrap();
    datapath.control(Time(0), sink).meter_mod(&meter).unwrap();
    let text = format!("actions={actions}");
    let parsed = parse_flow(&text, FlowModCommand::ADD, &catalogue).unwrap();
    for n in 0..1000 {
        bench.add(&entry(
            PacketShape::Tuple,
            flow(n),
            parsed.instructions.clone(),
        ));
    }
    bench
}

/// The frames that are sent for two frames of each flow, and the counters of groups and meters.
fn result(bench: &mut Bench) -> (Vec<Vec<u8>>, String) {
    let mut left = Vec::new();
    for batch in 0..2000 / BATCH as u32 {
        bench.renew();
        bench.fill((0..BATCH as u32).map(|n| flow((batch * BATCH as u32 + n) % 1000)));
        bench.receive();
        left.extend(bench.sent.iter().map(|frame| frame.bytes().to_vec()));
    }
    bench.renew();
    let groups = bench
        .datapath
        .groups()
        .stats(Time(0), GroupId(0)..=GroupId::ALL)
        .map(|group| {
            (
                group.0.packet_count,
                group.0.byte_count,
                group.0.bucket_stats,
            )
        });
    let groups: Vec<_> = groups.collect();
    let meters = bench
        .datapath
        .meters()
        .stats(Time(0), MeterId(0)..=MeterId::ALL)
        .map(|meter| (meter.input, meter.bands));
    let meters: Vec<_> = meters.collect();
    (left, format!("{groups:?} {meters:?}"))
}

/// Measures a thousand flows with the same actions, after checking that the frames sent equal those
/// of the plain engine.
pub fn actions(name: &str, engine: Engine, actions: &str, copies: usize) {
    let mut bench = switch(engine, actions);
    bench.fresh = Some(PacketShape::Tuple.bytes());
    bench.copies = copies;
    let mut plain = switch(Engine::Reference, actions);
    plain.fresh = bench.fresh.clone();
    assert_eq!(result(&mut bench), result(&mut plain), "{name}");
    let mut pick = random(1000);
    bench.measure(name, PACKETS, || flow(pick()));
}
