//! A super-frame acts once for each of its segments, and stays whole where it meets no state.

use bofuss_datapath::{Cursor, Engine};
use bofuss_frame::{Frame, OffloadCapabilities};
use bofuss_oflib::PortNo;
use bofuss_oflib::types::TableId;
use bofuss_packet::offload;

use crate::behaviour::super_frame;
use crate::bench::{Bench, udp};
use crate::conformance::{Dialect, enable};
use crate::random::{Random, entry};

/// Runs, each with a machine of its own.
const RUNS: u64 = 12;
/// Operations of each run.
const OPERATIONS: usize = 250;
/// OXM header of eth_src.
const ETH_SRC: u32 = 0x8000_0806;
/// A request for all states, in the short form.
const ALL_STATES: [u8; 16] = [0xff, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 4, 0, 0, 0, 0];

/// A super-frame of a host.
fn large(bench: &Bench, host: u8, segments: usize) -> Frame {
    let (mut bytes, offload) = super_frame(segments);
    bytes[11] = host;
    let mut frame = bench.pool.frame(&bytes).expect("there are buffers");
    frame.offload = offload;
    frame
}

/// Receives a frame, whole or cut into segments before. Returns what leaves, sorted by port.
fn arrive(bench: &mut Bench, frame: Frame, cut: bool) -> Vec<(u32, Vec<u8>)> {
    let mut frames = vec![];
    if cut {
        assert!(offload::segment(&frame, |segment| frames.push(segment)));
    } else {
        frames.push(frame);
    }
    bench.io.out.clear();
    let now = bench.now;
    bench
        .switch
        .receive(now, PortNo(1), &mut frames, &mut bench.io);
    while bench.switch.has_work(&bench.io) {
        bench.switch.work(now, &mut bench.io);
    }
    let mut left = std::mem::take(&mut bench.io.out);
    left.sort();
    left
}

/// All states, and the counters of tables, entries and ports, as text.
fn counted(bench: &mut Bench) -> String {
    let mut states = bench.multipart(3, &ALL_STATES);
    states.sort();
    let settled = bench.switch.settled();
    let mut entries = vec![];
    let mut cursor = Cursor::new(TableId::ALL);
    while !settled.slice(&mut cursor, |table, entry| {
        entries.push((table.0, entry.cookie, entry.packets, entry.bytes));
    }) {}
    entries.sort_unstable();
    let tables: Vec<_> = (0..3).map(|n| settled.table_counts(TableId(n))).collect();
    let tables: Vec<_> = tables.iter().map(|t| (t.lookups, t.matches)).collect();
    let ports: Vec<_> = settled
        .datapath()
        .ports()
        .values()
        .map(|port| port.stats.clone())
        .collect();
    format!("{states:?} {entries:?} {tables:?} {ports:?}")
}

// I7
#[test]
fn a_super_frame_does_to_random_machines_what_its_segments_do() {
    for (name, engine) in Engine::ALL {
        for seed in 1..=RUNS {
            let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let capabilities = OffloadCapabilities {
                checksum: true,
                udp: true,
                ..OffloadCapabilities::default()
            };
            let mut benches = [0, 1].map(|_| Bench::with_ports(engine, capabilities));
            // By the seed, one table is stateful, or both, or none.
            for table in 0..2 {
                if seed & 1 << table != 0 {
                    let benches = benches.iter_mut();
                    benches.for_each(|b| enable(b, Dialect::Beba, table, &[ETH_SRC]));
                }
            }
            for number in 0..14 {
                let flow = format!("cookie={number},{}", entry(&mut random, Dialect::Beba));
                benches.iter_mut().for_each(|bench| bench.flow(&flow));
            }
            for step in 0..OPERATIONS {
                let host = 1 + random.below(3) as u8;
                let segments = 1 + random.below(6) as usize;
                let nanos = [0, 999, 3000, 5001][random.below(4) as usize];
                let [whole, cut] = &mut benches;
                whole.advance(nanos);
                cut.advance(nanos);
                let frame = large(whole, host, segments);
                let left = arrive(whole, frame, false);
                let frame = large(cut, host, segments);
                assert_eq!(left, arrive(cut, frame, true), "{name} {seed} {step}");
            }
            let [whole, cut] = benches.each_mut().map(counted);
            assert_eq!(whole, cut, "{name} {seed}");
        }
    }
}

#[test]
fn a_super_frame_that_meets_no_state_stays_whole() {
    for (name, engine) in Engine::ALL {
        let capabilities = OffloadCapabilities {
            checksum: true,
            udp: true,
            ..OffloadCapabilities::default()
        };
        let mut bench = Bench::with_ports(engine, capabilities);
        enable(&mut bench, Dialect::Beba, 1, &[ETH_SRC]);
        bench.flow("priority=2,eth_src=02:00:00:00:00:01,actions=output:2");
        bench.flow("priority=2,eth_src=02:00:00:00:00:02,actions=goto_table:1");
        bench.flow("priority=2,eth_src=02:00:00:00:00:03,actions=inc_state(table=1),output:2");
        bench.flow("priority=2,eth_src=02:00:00:00:00:04,actions=output:2,goto_table:2");
        bench.flow("table=1,actions=output:3");
        bench.flow("table=2,actions=output:3");
        for (host, wanted) in [(1, 1), (2, 5), (3, 5), (4, 2)] {
            // The second takes a remembered path.
            for _ in 0..2 {
                let frame = large(&bench, host, 5);
                let before = bench.io.n_frames;
                arrive(&mut bench, frame, false);
                assert_eq!(bench.io.n_frames - before, wanted, "{name}: host {host}");
            }
        }
    }
}

// I7
#[test]
fn each_segment_of_a_super_frame_makes_a_packet_from_a_template() {
    for (name, engine) in Engine::ALL {
        let mut bench = Bench::new(engine);
        let template = udp(7, 8, 7);
        bench.experimenter(
            1,
            &[&[0, 0, 0, 0, 0, 7, 0, 0, 0, 0], &template[..]].concat(),
        );
        bench.flow("actions=packet_gen(template=7,actions=(output:3)),output:2");
        for _ in 0..2 {
            let frame = large(&bench, 1, 4);
            let left = arrive(&mut bench, frame, false);
            let made = left.iter().filter(|(port, _)| *port == 3);
            assert_eq!((left.len(), made.count()), (8, 4), "{name}");
        }
    }
}

#[test]
fn each_segment_of_a_super_frame_gives_its_fields_to_a_packet_from_a_template() {
    for (name, engine) in Engine::ALL {
        let mut bench = Bench::new(engine);
        let template = udp(7, 8, 7);
        bench.experimenter(
            1,
            &[&[0, 0, 0, 0, 0, 7, 0, 0, 0, 0], &template[..]].concat(),
        );
        bench.flow(
            "actions=packet_gen_copy(template=7,copies=(eth_src->eth_dst,udp_dst->udp_src),\
             actions=(output:3)),output:2",
        );
        for host in [1, 2, 1] {
            let frame = large(&bench, host, 4);
            let left = arrive(&mut bench, frame, false);
            let made = left.iter().filter(|(port, _)| *port == 3);
            let is_filled = |bytes: &[u8]| bytes[5] == host && bytes[34..36] == [0, 80];
            let filled = made.filter(|(_, bytes)| is_filled(bytes));
            assert_eq!((left.len(), filled.count()), (8, 4), "{name}");
        }
    }
}
