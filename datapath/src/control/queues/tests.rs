//! Tests of creating, changing and deleting queues, and of what they send and drop.

extern crate std;

use alloc::{string::String, vec, vec::Vec};

use bofuss_frame::{Frame, Gso, GsoKind, Offload, OffloadCapabilities, Pool};
use bofuss_oflib::message::multipart::PortStats;
use bofuss_oflib::message::port::PortConfig;
use bofuss_oflib::message::{FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::{Action, Catalogue, Mac};
use bofuss_packet::{Packet, craft, offload};

use super::*;
use crate::{Config, Datapath, MAX_WAITING_BYTES, PacketInEvent, Step};

/// Records frames and trace steps; ports without room accept nothing.
#[derive(Default)]
pub(crate) struct Out {
    pub(crate) frames: Vec<Frame>,
    pub(crate) steps: Vec<String>,
    pub(crate) packet_ins: usize,
    pub(crate) full: bool,
}

impl Sink for Out {
    const TRACES: bool = true;
    fn transmit(&mut self, _: PortNo, _: QueueId, frame: Frame) {
        self.frames.push(frame);
    }
    fn has_room(&self, _: PortNo) -> bool {
        !self.full
    }
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {
        self.packet_ins += 1;
    }
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
    fn step(&mut self, step: Step<'_>) {
        self.steps.push(alloc::format!("{step}"));
    }
}

const P1: PortNo = PortNo(1);
const Q1: QueueId = QueueId(1);
const Q2: QueueId = QueueId(2);

pub(crate) fn switch(kbps: u32, ports: u32) -> Datapath {
    let pool = Pool::new(1 << 26);
    let mut datapath = Datapath::new(Config::default(), Catalogue::default().into(), pool);
    let capabilities = OffloadCapabilities {
        checksum: true,
        tcp: true,
        ..OffloadCapabilities::default()
    };
    for port_no in (1..=ports).map(PortNo) {
        let desc = PortDesc {
            port_no,
            curr_speed: kbps,
            ..PortDesc::default()
        };
        datapath
            .port_control(Time(0), &mut Out::default())
            .changed(desc, capabilities);
    }
    datapath
}

fn max(kbps: u32) -> QueueSpec {
    QueueSpec {
        max: Some(Rate::Kbps(kbps)),
        ..QueueSpec::default()
    }
}

fn priority(priority: u16) -> QueueSpec {
    QueueSpec {
        priority,
        ..QueueSpec::default()
    }
}

fn send(datapath: &mut Datapath, out: &mut Out, queue: QueueId, frame: Frame) {
    let actions = [Action::SetQueue(queue), Action::output(P1)];
    datapath
        .control(Time(0), out)
        .packet_out(Packet::new(frame, PortNo(9)), &actions);
}

/// Advances time until nothing waits. Returns when each frame left, and its bytes.
fn drain(datapath: &mut Datapath, out: &mut Out) -> Vec<(Time, Vec<u8>)> {
    let (mut now, mut left) = (Time(0), Vec::new());
    loop {
        left.extend(
            out.frames
                .drain(..)
                .map(|frame| (now, frame.bytes().to_vec())),
        );
        let Some(next) = datapath.next_tick() else {
            return left;
        };
        now = next.max(now);
        datapath.tick(now, out);
    }
}

/// A TCP super-frame of 10 segments with an unfinished checksum.
pub(crate) fn super_frame(pool: &Pool) -> Frame {
    let segment = craft::tcp(1, 2, 0x10, &vec![7; 10_000]);
    let ip = craft::ipv4([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64, segment);
    let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
    let mut frame = pool.frame(&bytes).expect("within the limit");
    frame.offload = Offload {
        checksum: Some((34, 16)),
        gso: Some(Gso {
            kind: GsoKind::Tcp4,
            segment_bytes: 1000,
            ecn: false,
        }),
        ..Offload::NONE
    };
    frame
}

// I7
#[test]
fn a_super_frame_leaves_a_slow_queue_as_its_segments_do() {
    let run = |whole: bool| {
        let (mut datapath, mut out) = (switch(100_000, 1), Out::default());
        datapath
            .modify_queue(Time(0), P1, Q1, max(10_000))
            .expect("is right");
        let frame = super_frame(datapath.pool());
        let mut frames = vec![];
        if whole {
            frames.push(frame)
        } else {
            assert!(offload::segment(&frame, |segment| frames.push(segment)))
        }
        for frame in frames {
            send(&mut datapath, &mut out, Q1, frame);
        }
        let left = drain(&mut datapath, &mut out);
        let queue = &datapath.queues().of(P1).expect("has queues").queues()[1].stats;
        let port = &datapath.ports()[&P1].stats;
        (left, queue.tx_packets, port.tx_packets)
    };
    let (left, queue, port) = run(true);
    assert_eq!(run(false), (left.clone(), queue, port));
    assert_eq!((left.len(), queue, port), (10, 10, 10));
    assert_eq!(
        left[9].0.since(left[0].0),
        9 * 1054 * 800,
        "each in its time"
    );
}

#[test]
fn a_fast_queue_keeps_a_super_frame_whole() {
    let (mut datapath, mut out) = (switch(10_000_000, 1), Out::default());
    datapath
        .modify_queue(Time(0), P1, Q1, priority(1))
        .expect("is right");
    let frame = super_frame(datapath.pool());
    send(&mut datapath, &mut out, Q1, frame);
    assert_eq!(out.frames.len(), 1);
    let queue = &datapath.queues().of(P1).expect("has queues").queues()[1].stats;
    assert_eq!((queue.tx_packets, queue.tx_bytes), (10, 10_000 + 540));
}

fn numbered(datapath: &Datapath, number: u8) -> Frame {
    let frame = datapath.pool().frame(&[number; 60]);
    frame.expect("within the limit")
}

#[test]
fn a_port_without_room_gets_the_highest_priority_first_when_it_has_some() {
    let (mut datapath, mut out) = (switch(0, 1), Out::default());
    datapath
        .modify_queue(Time(0), P1, Q1, priority(1))
        .expect("is right");
    datapath
        .modify_queue(Time(0), P1, Q2, priority(2))
        .expect("is right");
    out.full = true;
    for (number, queue) in [(1, Q1), (2, Q2), (3, Q1), (4, Q2)] {
        let frame = numbered(&datapath, number);
        send(&mut datapath, &mut out, queue, frame);
    }
    assert!(out.frames.is_empty());
    assert_eq!(
        datapath.next_tick(),
        None,
        "no tick helps a port without room"
    );
    datapath.tick(Time(1), &mut out);
    assert!(out.frames.is_empty());
    out.full = false;
    datapath.port_control(Time(2), &mut out).has_room(P1);
    let order: Vec<u8> = out.frames.iter().map(|frame| frame.bytes()[0]).collect();
    assert_eq!(order, [2, 4, 1, 3]);
}

#[test]
fn a_full_queue_drops_and_counts() {
    let (mut datapath, mut out) = (switch(0, 1), Out::default());
    datapath
        .modify_queue(Time(0), P1, Q1, max(1))
        .expect("is right");
    let most = crate::MAX_QUEUE_PACKETS;
    for _ in 0..most + 3 {
        let frame = numbered(&datapath, 1);
        send(&mut datapath, &mut out, Q1, frame);
    }
    // The first frame left at once, and two did not fit.
    let queue = &datapath.queues().of(P1).expect("has queues").queues()[1].stats;
    let port = &datapath.ports()[&P1].stats;
    assert_eq!(
        (queue.tx_packets, queue.tx_errors, port.tx_dropped),
        (1, 2, 2)
    );
    // What the driver drops is counted in the same counter, and replaces nothing there.
    for (driver, all) in [(3, 5), (4, 6)] {
        let lost = PortStats {
            tx_dropped: driver,
            ..PortStats::default()
        };
        datapath
            .port_control(Time(0), &mut out)
            .set_driver_counters(P1, &lost);
        assert_eq!(datapath.ports()[&P1].stats.tx_dropped, all);
    }
    // A follower passes on only what it has dropped itself, since the leader knows its drivers.
    #[cfg(feature = "replicas")]
    {
        let counts = datapath.replica().take_counts();
        assert_eq!(datapath.ports()[&P1].stats.tx_dropped, 4);
        assert!(datapath.replica().add_counts(counts).is_ok());
        assert_eq!(datapath.ports()[&P1].stats.tx_dropped, 6);
    }
    let drops: Vec<_> = datapath.lane().drops().collect();
    assert_eq!(drops, [(DropReason::QueueFull, 2)]);
    let waits = datapath.queues().waiting_bytes;
    assert_eq!(waits, datapath.pool().stats().bytes_in_use - 2048);
    out.frames.clear();
    datapath
        .port_control(Time(0), &mut out)
        .delete_queue(P1, Q1)
        .expect("is there");
    assert_eq!(
        (
            datapath.queues().waiting_bytes,
            datapath.pool().stats().bytes_in_use
        ),
        (0, 0)
    );
    assert!(
        datapath
            .lane()
            .drops()
            .any(|drop| drop == (DropReason::QueueGone, most))
    );
    assert!(
        datapath.queues().of(P1).is_none(),
        "the default queue went, too"
    );
}

#[test]
fn the_bytes_in_all_queues_of_a_switch_are_limited() {
    let (mut datapath, mut out) = (switch(0, 1), Out::default());
    out.full = true;
    for id in 1..20 {
        datapath
            .modify_queue(Time(0), P1, QueueId(id), max(1))
            .expect("is right");
    }
    let most = MAX_WAITING_BYTES / 2048;
    for number in 0..=most {
        assert_eq!(datapath.lane().drops().count(), 0, "{number} frames fit");
        let (frame, queue) = (numbered(&datapath, 1), QueueId(number as u32 % 19 + 1));
        send(&mut datapath, &mut out, queue, frame);
    }
    let drops: Vec<_> = datapath.lane().drops().collect();
    assert_eq!(drops, [(DropReason::QueuesFull, 1)]);
    assert_eq!(datapath.queues().waiting_bytes, MAX_WAITING_BYTES);
    datapath.port_control(Time(1), &mut out).removed(P1);
    assert_eq!(datapath.queues().waiting_bytes, 0);
}

#[test]
fn the_queues_of_a_port_and_of_a_switch_are_limited() {
    let mut datapath = switch(0, 17);
    for port in 1..=16 {
        // The default queue is among them.
        for id in 1..MAX_QUEUES_PER_PORT as u32 {
            let made = datapath.modify_queue(Time(0), PortNo(port), QueueId(id), max(1));
            assert_eq!(made, Ok(()));
        }
        let one_more = datapath.modify_queue(Time(0), PortNo(port), QueueId(99), max(1));
        assert_eq!(one_more, Err(TOO_MANY));
    }
    let total: usize = datapath
        .queues()
        .ports
        .values()
        .map(|e| e.queues().len())
        .sum();
    assert_eq!(total, MAX_QUEUES);
    let on_another = datapath.modify_queue(Time(0), PortNo(17), Q1, max(1));
    assert_eq!(on_another, Err(TOO_MANY));
    assert!(
        datapath.queues().of(PortNo(17)).is_none(),
        "nothing is changed"
    );
    let changed = datapath.modify_queue(Time(0), PortNo(16), Q1, max(2));
    assert_eq!(changed, Ok(()), "one that is there may change");
}

#[test]
fn a_trace_names_the_queue() {
    let (mut datapath, mut out) = (switch(0, 1), Out::default());
    datapath
        .modify_queue(Time(0), P1, Q2, priority(1))
        .expect("is right");
    for (asked, has) in [(Q2, "2"), (QueueId(77), "0")] {
        out.steps.clear();
        let frame = numbered(&datapath, 1);
        send(&mut datapath, &mut out, asked, frame);
        let step = alloc::format!("queue\t1\t{has}");
        assert!(out.steps.contains(&step), "{:?}", out.steps);
    }
}

#[test]
fn frames_that_wait_at_a_port_that_is_down_are_dropped_when_its_queues_or_the_switch_go() {
    for queues_go in [true, false] {
        let (mut datapath, mut out) = (switch(0, 1), Out::default());
        datapath
            .modify_queue(Time(0), P1, Q1, priority(1))
            .expect("is right");
        out.full = true;
        let frame = numbered(&datapath, 1);
        send(&mut datapath, &mut out, DEFAULT_QUEUE, frame);
        let mut ports = datapath.port_control(Time(0), &mut out);
        ports.configure(P1, PortConfig::PORT_DOWN, PortConfig::PORT_DOWN);
        if queues_go {
            ports.delete_queue(P1, Q1).expect("is there");
        } else {
            ports.send_waiting();
        }
        assert!(out.frames.is_empty());
        let drops: Vec<_> = datapath.lane().drops().collect();
        assert_eq!(drops, [(DropReason::PortDown, 1)]);
        assert_eq!(datapath.queues().waiting_bytes, 0);
    }
}

#[test]
fn a_guarantee_of_nothing_needs_no_rate() {
    let mut datapath = switch(0, 1);
    for nothing in [Rate::Kbps(0), Rate::PerMille(0)] {
        let spec = QueueSpec {
            min: Some(nothing),
            ..QueueSpec::default()
        };
        assert_eq!(datapath.modify_queue(Time(0), P1, Q1, spec), Ok(()));
    }
}
