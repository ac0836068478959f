//! Ports with disciplines while flows, ports and disciplines change.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bofuss_datapath::{PacketInEvent, QueueSpec, Rate, Sink, Time};
use bofuss_disciplines::DISCIPLINES;
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, Gso, GsoKind, Offload, OffloadCapabilities, Pool};
use bofuss_oflib::message::port::PortState;
use bofuss_oflib::message::{FlowModCommand, FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, Mac, PortNo};
use bofuss_packet::craft;

/// The ports with a discipline.
const SLOW: [PortNo; 2] = [PortNo(2), PortNo(3)];

/// The frames that left.
#[derive(Default)]
struct Left(Vec<Vec<u8>>);

impl Sink for Left {
    fn transmit(&mut self, _: PortNo, _: QueueId, frame: Frame) {
        self.0.push(frame.bytes().to_vec());
    }
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

fn flow(datapath: &mut Datapath, now: Time, text: &str) {
    let catalogue = Arc::new(Catalogue::default());
    let flow = parse_flow(text, FlowModCommand::ADD, &catalogue).unwrap();
    datapath
        .control(now, &mut Left::default())
        .flow_mod(&flow)
        .unwrap();
}

fn port(datapath: &mut Datapath, now: Time, number: PortNo, is_up: bool, left: &mut Left) {
    let desc = PortDesc {
        port_no: number,
        state: if is_up {
            PortState::LIVE
        } else {
            PortState::LINK_DOWN
        },
        ..PortDesc::default()
    };
    let capabilities = OffloadCapabilities {
        checksum: true,
        tcp: true,
        ..OffloadCapabilities::default()
    };
    datapath.port_control(now, left).changed(desc, capabilities);
}

/// A switch with ports of 4 Mb/s with this discipline, if it has queues with a maximum.
fn switch(discipline: &str) -> Datapath {
    let catalogue = Arc::new(Catalogue::default());
    let mut datapath = Datapath::new(bofuss_disciplines::config(), catalogue, Pool::new(1 << 24));
    let sink = &mut Left::default();
    for number in (1..=3).map(PortNo) {
        port(&mut datapath, Time(0), number, true, sink);
    }
    for number in SLOW {
        datapath
            .port_control(Time(0), sink)
            .set_discipline(number, discipline)
            .unwrap();
        let slow = QueueSpec {
            max: Some(Rate::Kbps(4_000)),
            ..QueueSpec::default()
        };
        // A discipline need not have queues with a maximum.
        let _ = datapath.modify_queue(Time(0), number, QueueId(0), slow);
    }
    datapath
}

fn frame(from: u8, data: &[u8]) -> Vec<u8> {
    let udp = craft::udp(1, 2, data);
    let ip = craft::ipv4(
        [10, 0, 0, from].into(),
        [10, 0, 1, from % 3].into(),
        64,
        udp,
    );
    craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip)
}

#[test]
fn every_lost_frame_is_counted_while_flows_ports_and_disciplines_change() {
    for row in DISCIPLINES {
        let (mut datapath, mut left) = (switch(row.name), Left::default());
        let (mut now, mut random, mut sent) = (Time(0), 12_345_u32, 0);
        let mut below = |end: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) % end
        };
        flow(&mut datapath, now, "actions=output:2");
        for _ in 0..4_000 {
            now = now.after(u64::from(below(2_000)) * 1_000);
            let mut frames = Vec::new();
            for _ in 0..below(5) {
                let bytes = frame(below(9) as u8, &vec![0; below(1_000) as usize]);
                frames.extend(datapath.pool().frame(&bytes));
            }
            sent += frames.len();
            datapath.receive(now, PortNo(1), &mut frames, &mut left);
            datapath.tick(now, &mut left);
            let number = SLOW[below(2) as usize];
            match below(400) {
                0..8 => flow(&mut datapath, now, &format!("actions=output:{}", number.0)),
                8..10 => port(&mut datapath, now, number, false, &mut left),
                10..50 => port(&mut datapath, now, number, true, &mut left),
                50..60 => {
                    let other = DISCIPLINES[below(DISCIPLINES.len() as u32) as usize].name;
                    // The port may be gone.
                    let _ = datapath
                        .port_control(now, &mut left)
                        .set_discipline(number, other);
                }
                60 => datapath.port_control(now, &mut left).removed(number),
                _ => {}
            }
        }
        while let Some(due) = datapath.next_tick().filter(|_| now < Time(60 * Time::SEC)) {
            now = now.max(due).after(1);
            datapath.tick(now, &mut left);
        }
        let dropped: u64 = datapath.lane().drops().map(|(_, count)| count).sum();
        assert_eq!(left.0.len() as u64 + dropped, sent as u64, "{}", row.name);
        let drops: Vec<_> = datapath.lane().drops().collect();
        assert!(
            left.0.len() > 1_000,
            "{}: {} {drops:?}",
            row.name,
            left.0.len()
        );
        assert_eq!(datapath.pool().stats().bytes_in_use, 0, "{}", row.name);
    }
}

#[test]
fn a_super_frame_is_cut_before_it_waits_and_so_is_not_one_packet() {
    // At 4 Mb/s all 60 segments take 126 ms. CETA keeps what comes 20 ms early at most, FRED 25
    // frames, and a FIFO all of them.
    let places = [
        ("hfair", 1..=12),
        ("ceta2", 1..=12),
        ("ceta", 1..=12),
        ("beta", 1..=12),
        ("drr", 1..=12),
        ("fred", 1..=24),
        ("fifo", 60..=60),
    ];
    for (discipline, expected) in places {
        let (mut datapath, mut left) = (switch(discipline), Left::default());
        flow(&mut datapath, Time(0), "actions=output:2");
        let segment = craft::tcp(1, 2, 0x10, &vec![7; 60_000]);
        let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 0, 1, 9].into(), 64, segment);
        let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
        let mut large = datapath.pool().frame(&bytes).unwrap();
        large.offload = Offload {
            checksum: Some((34, 16)),
            gso: Some(Gso {
                kind: GsoKind::Tcp4,
                segment_bytes: 1_000,
                ecn: false,
            }),
            ..Offload::NONE
        };
        let small = frame(2, &[9; 100]);
        let other = datapath.pool().frame(&small).unwrap();
        let mut frames = vec![large, other];
        datapath.receive(Time(0), PortNo(1), &mut frames, &mut left);
        let mut now = Time(0);
        while let Some(due) = datapath.next_tick().filter(|_| now < Time(Time::SEC)) {
            now = now.max(due).after(1);
            datapath.tick(now, &mut left);
        }
        assert!(
            left.0.iter().all(|bytes| bytes.len() <= 1_054),
            "{discipline}: cut"
        );
        let place = left.0.iter().position(|bytes| *bytes == small);
        let place = place.unwrap_or_else(|| panic!("{discipline}: {} left", left.0.len()));
        assert!(
            expected.contains(&place),
            "{discipline}: it is number {place}"
        );
    }
}
