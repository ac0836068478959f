//! Tests: frames that cause much work are processed in pieces, in turn with others.

use alloc::{format, string::String, sync::Arc, vec, vec::Vec};

use bofuss_frame::{Gso, GsoKind, Offload, OffloadCapabilities};
use bofuss_oflib::Mac;
use bofuss_oflib::message::group_mod::GroupModCommand;
use bofuss_oflib::message::{FlowModCommand, PortDesc};
use bofuss_oflib::text::{parse_flow, parse_group};
use bofuss_packet::craft;

use super::*;
use crate::control::queues::tests::{Out, super_frame, switch};
use crate::pipeline::work::WORK_PER_FRAME;
use crate::{Config, Datapath, Engine, Time};

/// The frames sent, with their ports.
#[derive(Default)]
struct Left(Vec<(PortNo, Vec<u8>)>);

impl Sink for Left {
    fn transmit(&mut self, port: PortNo, _: QueueId, frame: Frame) {
        self.0.push((port, frame.bytes().to_vec()));
    }
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// A switch whose ports have no offloads, with these groups and entries.
fn plain_switch(engine: Engine, ports: u32, groups: &[String], flows: &[&str]) -> Datapath {
    let mut datapath = switch(0, 0);
    let config = Config {
        engine,
        ..Config::default()
    };
    datapath = Datapath::new(
        config,
        Arc::clone(datapath.catalogue()),
        datapath.pool().clone(),
    );
    let (now, out) = (Time(0), &mut Out::default());
    for port_no in (1..=ports).map(PortNo) {
        let desc = PortDesc {
            port_no,
            ..PortDesc::default()
        };
        datapath
            .port_control(now, out)
            .changed(desc, OffloadCapabilities::default());
    }
    let catalogue = Arc::clone(datapath.catalogue());
    for text in groups {
        let group = parse_group(text, GroupModCommand::ADD, &catalogue).expect("is right");
        datapath
            .control(now, out)
            .group_mod(&group)
            .expect("is right");
    }
    for text in flows {
        let flow = parse_flow(text, FlowModCommand::ADD, &catalogue).expect("is right");
        datapath
            .control(now, out)
            .flow_mod(&flow)
            .expect("is right");
    }
    datapath
}

fn group(id: u32, buckets: impl Iterator<Item = String>) -> String {
    let buckets: String = buckets.map(|bucket| format!(",bucket={bucket}")).collect();
    format!("group_id={id},type=all{buckets}")
}

/// 60 kB of TCP in 42 segments.
fn large(datapath: &Datapath) -> Frame {
    let segment = craft::tcp(1, 2, 0x10, &vec![7; 60_000]);
    let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, segment);
    let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
    let mut frame = datapath.pool().frame(&bytes).expect("within the limit");
    let whole = super_frame(datapath.pool());
    frame.offload = whole.offload;
    frame.offload.gso.as_mut().expect("one").segment_bytes = 1448;
    frame
}

fn small(datapath: &Datapath, last: u8) -> Frame {
    let segment = craft::udp(1, 2, &[last; 20]);
    let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, segment);
    let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
    datapath.pool().frame(&bytes).expect("within the limit")
}

/// Has frames arrive at port 1 and continues until none waits. Returns the most work of a turn, and
/// the frames sent.
fn turns(datapath: &mut Datapath, mut frames: Vec<Frame>) -> (u64, Left) {
    let (mut left, mut before, mut most) = (Left::default(), datapath.lane().work.done(), 0);
    datapath.receive(Time(0), PortNo(1), &mut frames, &mut left);
    loop {
        most = most.max(datapath.lane().work.done() - before);
        before = datapath.lane().work.done();
        if datapath.lane().backlog.is_empty() {
            return (most, left);
        }
        assert!(datapath.lane().backlog.has(PortNo(1)) && !datapath.lane().backlog.has(PortNo(2)));
        datapath.catch_up(Time(0), &mut left);
    }
}

#[test]
fn a_super_frame_with_many_copies_goes_in_turns_and_the_ports_order_stays() {
    let cases = [
        ("actions=group:1", 700, 2),
        ("ip,actions=set_field:9->ip_dscp,group:1", 700, 2),
        ("actions=write_actions(group:1)", 700, 2),
        ("actions=all", 99, 100),
        ("actions=normal", 99, 100),
    ];
    for (name, engine) in Engine::ALL {
        for (flow, copies, ports) in cases {
            let buckets = group(1, (0..700).map(|_| "output:2".into()));
            let udp = "priority=40000,udp,actions=output:2";
            let mut datapath = plain_switch(engine, ports, &[buckets], &[flow, udp]);
            let frames = vec![
                small(&datapath, 1),
                large(&datapath),
                small(&datapath, 2),
                small(&datapath, 3),
            ];
            let (most, left) = turns(&mut datapath, frames);
            assert!(most <= 3 * WORK_PER_TURN, "{name} {flow}: {most}");
            assert_eq!(left.0.len(), 42 * copies + 3, "{name} {flow}");
            let of_port_2 = left.0.iter().filter(|(port, _)| *port == PortNo(2));
            let mut sequence = Vec::new();
            for (_, bytes) in of_port_2 {
                sequence.push(match bytes[23] {
                    17 => (u32::from(bytes[42]), 0),
                    _ => (
                        1,
                        u32::from_be_bytes([bytes[38], bytes[39], bytes[40], bytes[41]]),
                    ),
                });
            }
            assert!(sequence.is_sorted(), "{name} {flow}");
            assert_eq!(datapath.lane().drops().count(), 0, "{name} {flow}");
        }
    }
}

#[test]
fn frames_after_one_with_many_copies_wait_for_turns_of_their_own() {
    let buckets = group(1, (0..300).map(|_| "output:2".into()));
    let mut datapath = plain_switch(Engine::Cache, 2, &[buckets], &["actions=group:1"]);
    let frames = (0..40).map(|n| small(&datapath, n)).collect();
    let (most, left) = turns(&mut datapath, frames);
    assert_eq!(left.0.len(), 40 * 300);
    assert!(
        left.0.is_sorted_by_key(|(_, bytes)| bytes[42]),
        "in the order in which they came"
    );
    assert!(most <= WORK_PER_TURN + 600, "{most}");
}

#[test]
fn other_ports_are_served_between_the_turns() {
    let buckets = group(1, (0..700).map(|_| "output:2".into()));
    let mut datapath = plain_switch(Engine::Cache, 3, &[buckets], &["actions=group:1"]);
    let (mut left, now) = (Left::default(), Time(0));
    let mut frames = vec![large(&datapath)];
    datapath.receive(now, PortNo(1), &mut frames, &mut left);
    assert!(datapath.lane().backlog.has(PortNo(1)));
    let before = left.0.len();
    let mut frames = vec![small(&datapath, 9)];
    datapath.receive(now, PortNo(3), &mut frames, &mut left);
    assert_eq!(left.0.len(), before + 700);
    // Frames that arrive nevertheless wait after the earlier ones.
    let mut frames = vec![small(&datapath, 8)];
    datapath.receive(now, PortNo(1), &mut frames, &mut left);
    assert_eq!(left.0.len(), before + 700);
    datapath.port_control(now, &mut left).removed(PortNo(1));
    datapath.catch_up(now, &mut left);
    assert!(datapath.lane().backlog.is_empty());
    let lost: Vec<_> = datapath.lane().drops().collect();
    assert_eq!(lost, [(DropReason::NoSuchIngress, 2)]);
}

#[test]
fn copies_of_one_packet_are_limited_with_a_drop_reason() {
    let flood = |id| group(id, (0..1000).map(|_| "all".into()));
    let chain = group(3, (0..1000).map(|_| "group:2".into()));
    let outputs: String = (0..3000)
        .map(|n| format!(",output:{}", n % 2 + 2))
        .collect();
    let outputs = format!("actions={}", &outputs[1..]);
    let repeated = format!("{outputs},{outputs}").replace(",actions=", ",");
    for flow in ["actions=group:2", "actions=group:3", &repeated] {
        let groups = [flood(2), chain.clone()];
        let mut datapath = plain_switch(Engine::Cache, 40, &groups, &[flow]);
        for frame in [small(&datapath, 1), super_frame(datapath.pool())] {
            let (most, _) = turns(&mut datapath, vec![frame]);
            assert!(most <= WORK_PER_FRAME + 1100, "{flow:.20}: {most}");
        }
        let work = datapath
            .lane()
            .drops()
            .find(|(reason, _)| *reason == DropReason::Work);
        assert!(work.is_some(), "{flow:.20}");
    }
}

#[test]
fn an_impossible_offload_record_is_dropped_on_arrival() {
    let mut datapath = plain_switch(Engine::Cache, 2, &[], &["actions=output:2"]);
    let gso = |kind, segment_bytes| {
        Some(Gso {
            kind,
            segment_bytes,
            ecn: false,
        })
    };
    let tcp = Some((34, 16));
    let records = [
        (tcp, gso(GsoKind::Tcp4, 1)),
        (tcp, gso(GsoKind::Tcp4, 29)),
        (tcp, gso(GsoKind::Tcp6, 1448)),
        (tcp, gso(GsoKind::Udp, 1448)),
        (Some((34, 6)), gso(GsoKind::Tcp4, 1448)),
        (Some((36, 16)), gso(GsoKind::Tcp4, 1448)),
        (tcp, gso(GsoKind::UdpFragment, 1448)),
        (tcp, gso(GsoKind::Sctp, 1448)),
        (Some((0, 16)), None),
        (Some((60_000, 16_000)), None),
    ];
    for (checksum, gso) in records {
        let mut frame = large(&datapath);
        frame.offload = Offload {
            checksum,
            gso,
            ..Offload::NONE
        };
        let (work, left) = turns(&mut datapath, vec![frame]);
        assert_eq!((work, left.0.len()), (0, 0), "{checksum:?} {gso:?}");
    }
    let dropped: Vec<_> = datapath.lane().drops().collect();
    assert_eq!(dropped, [(DropReason::Offload, records.len() as u64)]);
    let stats = &datapath.ports()[&PortNo(1)].stats;
    assert_eq!((stats.rx_packets, stats.rx_dropped), (10, 10));
    // 60,000 bytes in 2,000 segments, and few segments of a byte each.
    for (segment_bytes, payload) in [(30, 60_000), (1, 5)] {
        let mut short = large(&datapath);
        let ip = 20 + 20 + payload as u16;
        short.bytes_mut()[16..18].copy_from_slice(&ip.to_be_bytes());
        short.offload.gso = gso(GsoKind::Tcp4, segment_bytes);
        let (work, left) = turns(&mut datapath, vec![short]);
        assert_eq!(left.0.len(), payload / usize::from(segment_bytes));
        assert!(work <= WORK_PER_TURN, "{work}");
    }
}
