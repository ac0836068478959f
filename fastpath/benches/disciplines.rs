//! The cost of each discipline, compared with the simplest one: nanoseconds of this thread's time
//! for each packet of 1,000 bytes that is sent to a port of 1 Gb/s at 1.1 times its rate, and
//! leaves or is dropped. With several threads, each has a switch of its own for its microflows.
//!
//! `cargo bench -p bofuss-fastpath --bench disciplines`. Each round checks that its packets were
//! handled correctly before its time counts; the median is reported.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bofuss_datapath::{PacketInEvent, QueueSpec, Rate, Sink, Time, flow_hash};
use bofuss_disciplines::DISCIPLINES;
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::message::{FlowModCommand, FlowRemoved, PortDesc, PortStatusReason};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, Mac, PortNo};
use bofuss_packet::{Layout, craft, survey};
use bofuss_ports::thread_time;

/// The number of times that each case is measured.
const ROUNDS: usize = 5;
/// Packets of a round, and how many at its beginning do not count.
const PACKETS: u32 = 200_000;
const WARM_UP: u32 = 50_000;
/// Packets that the switch receives at a time.
const BATCH: usize = 32;
const FRAME_BYTES: usize = 1_000;
/// The time between two packets: a frame takes 8 us, and 11 come in the time of 10.
const GAP_NS: u64 = 8_000 * 10 / 11;

/// Counts the frames that are sent.
#[derive(Default)]
struct Left(u64);

impl Sink for Left {
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {
        self.0 += 1;
    }
    fn packet_in(&mut self, _: &PacketInEvent<'_>) {}
    fn flow_removed(&mut self, _: FlowRemoved) {}
    fn port_status(&mut self, _: PortStatusReason, _: &PortDesc) {}
    fn set_link(&mut self, _: PortNo, _: bool) {}
}

/// A frame of microflow number `n`: to one of 64 subscribers.
fn frame(n: u32) -> Vec<u8> {
    let n = n.wrapping_mul(0x9e37_79b1);
    let source = 0x0a00_0000 | n >> 8;
    let udp = craft::udp(n as u16 | 1, 9, &[0; FRAME_BYTES - 42]);
    let ip = craft::ipv4(source.into(), [10, 0, 0, n as u8 & 63].into(), 64, udp);
    craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip)
}

/// A switch whose port 2 has this discipline and 1 Gb/s.
fn switch(discipline: &str) -> Datapath {
    let catalogue = Arc::new(Catalogue::default());
    let flow = parse_flow("actions=output:2", FlowModCommand::ADD, &catalogue).unwrap();
    let mut datapath = Datapath::new(bofuss_disciplines::config(), catalogue, Pool::new(1 << 26));
    let sink = &mut Left::default();
    for port_no in (1..=2).map(PortNo) {
        let desc = PortDesc {
            port_no,
            ..PortDesc::default()
        };
        datapath
            .port_control(Time(0), sink)
            .changed(desc, OffloadCapabilities::default());
    }
    datapath.control(Time(0), sink).flow_mod(&flow).unwrap();
    let slow = QueueSpec {
        max: Some(Rate::Kbps(1_000_000)),
        ..QueueSpec::default()
    };
    datapath
        .port_control(Time(0), sink)
        .set_discipline(PortNo(2), discipline)
        .unwrap();
    datapath
        .modify_queue(Time(0), PortNo(2), QueueId(0), slow)
        .unwrap();
    datapath
}

/// Nanoseconds for each packet of a round, of these frames in random order.
fn round(discipline: &str, frames: &[Vec<u8>]) -> f64 {
    let (mut datapath, mut left) = (switch(discipline), Left::default());
    let (mut now, mut random, mut batch) = (Time(0), 1_u32, Vec::new());
    let mut start = None;
    let mut sent = 0;
    while sent < PACKETS {
        if start.is_none() && sent >= WARM_UP {
            start = Some(thread_time());
        }
        for _ in 0..BATCH {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = (u64::from(random) * frames.len() as u64) >> 32;
            batch.push(datapath.pool().frame(&frames[number as usize]).unwrap());
        }
        sent += BATCH as u32;
        now = now.after(GAP_NS * BATCH as u64);
        datapath.receive(now, PortNo(1), &mut batch, &mut left);
        while datapath.next_tick().is_some_and(|due| due <= now) {
            datapath.tick(now, &mut left);
        }
    }
    let start = start.expect("a round is longer than its warm-up");
    let took = thread_time() - start;
    while let Some(due) = datapath.next_tick().filter(|due| due.0 < now.0 + Time::SEC) {
        datapath.tick(due.max(now), &mut left);
        now = now.max(due);
    }
    let dropped = datapath.ports()[&PortNo(2)].stats.tx_dropped;
    assert_eq!(
        left.0 + dropped,
        u64::from(sent),
        "{discipline}: nothing is lost"
    );
    took.as_nanos() as f64 / f64::from(sent - WARM_UP)
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_unstable_by(f64::total_cmp);
    all[all.len() / 2]
}

/// Packets per second of processor time of all threads together; the threads share these frames by
/// the hash of their 5-tuples.
fn rate_of(threads: usize, frames: &[Vec<u8>]) -> f64 {
    let mut parts: Vec<Vec<Vec<u8>>> = vec![Vec::new(); threads];
    for frame in frames {
        let mut layout = Layout::EMPTY;
        survey(frame, &mut layout);
        let number = flow_hash(&layout, frame, 1) as usize % threads;
        parts[number].push(frame.clone());
    }
    let parts = &parts;
    std::thread::scope(|scope| {
        let running: Vec<_> = parts
            .iter()
            .map(|part| scope.spawn(move || 1e9 / round("hfair", part)))
            .collect();
        running
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    })
}

fn main() {
    for n_flows in [32, 10_000, 100_000] {
        let frames: Vec<Vec<u8>> = (0..n_flows).map(frame).collect();
        let mut all: Vec<Vec<f64>> = vec![Vec::new(); DISCIPLINES.len()];
        for _ in 0..ROUNDS {
            for (row, times) in DISCIPLINES.iter().zip(&mut all) {
                times.push(round(row.name, &frames));
            }
        }
        let plain = DISCIPLINES
            .iter()
            .position(|row| row.name == "fifo")
            .unwrap();
        let base = median(all[plain].clone());
        for (row, times) in DISCIPLINES.iter().zip(all) {
            let ns = median(times);
            println!(
                "{n_flows:7} flows, {:18} {ns:6.0} ns, {:5.2} of fifo",
                row.name,
                ns / base
            );
        }
    }
    let threads = std::thread::available_parallelism().unwrap().get();
    let frames: Vec<Vec<u8>> = (0..10_000).map(frame).collect();
    let ratios = (0..ROUNDS).map(|_| rate_of(threads, &frames) / rate_of(1, &frames));
    let ratio = median(ratios.collect());
    println!("{threads} threads: {ratio:.2} of one");
}
