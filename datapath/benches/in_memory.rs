//! What the switch itself costs, without any I/O: parse, look up, count, output, in nanoseconds of
//! this thread's time for each packet; and what entries and flows take of memory.
//!
//! `cargo bench -p bofuss-datapath -- [WORD...]` runs the cases whose names have one of the words.
//! Each case checks the frames and counters of its rounds before it reports the median.
#![allow(clippy::unwrap_used)]

use std::alloc::System;
use std::hint::black_box;
use std::sync::Arc;

use bofuss_datapath::{Config, Datapath, Engine, Time};
use bofuss_frame::{Capabilities, Frame, Pool};
use bofuss_oflib::field::{ETH_TYPE, IP_PROTO, IPV4_DST, IPV4_SRC, METADATA, TCP_DST, TCP_SRC};
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::{FlowMod, FlowModCommand, PortDesc};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, Catalogue, FieldMatch, Instruction, Mac, Match, PortNo};
use bofuss_packet::craft;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Nanoseconds that this thread has run on a processor.
fn cpu_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Frames that are given to the switch at a time.
const BATCH: usize = 32;
/// How often each case is measured; the median counts.
const ROUNDS: usize = 5;
/// Packets of a round.
const PACKETS: usize = 1 << 20;

/// Source, destination, TCP source and destination port of flow number `n`.
fn flow(n: u32) -> (u32, u32, u16, u16) {
    let n = n.wrapping_mul(0x9e37_79b1);
    (
        0x0a00_0000 | n >> 12,
        0x0b00_0000 | n & 0xffff,
        (n >> 8) as u16 | 1,
        80,
    )
}

fn tcp(fields: &mut Vec<FieldMatch>) {
    fields.push(FieldMatch::exact(ETH_TYPE, 0x0800));
    fields.push(FieldMatch::exact(IP_PROTO, 6));
}

/// The entry of one flow.
fn entry(n: u32, instructions: Instructions) -> FlowMod {
    let (src, dst, from, to) = flow(n);
    let mut fields = Vec::new();
    tcp(&mut fields);
    fields.push(FieldMatch::exact(IPV4_SRC, src.into()));
    fields.push(FieldMatch::exact(IPV4_DST, dst.into()));
    fields.push(FieldMatch::exact(TCP_SRC, from.into()));
    fields.push(FieldMatch::exact(TCP_DST, to.into()));
    let mut flow_mod = FlowMod::add(Match::new(&fields).unwrap());
    (flow_mod.priority, flow_mod.instructions) = (10, instructions);
    flow_mod
}

fn output() -> Instructions {
    Instructions::apply([Action::output(PortNo(2))].into())
}

struct Bench {
    datapath: Datapath,
    frames: Vec<Frame>,
    sent: Vec<Frame>,
    now: Time,
}

impl Bench {
    fn new(engine: Engine) -> Self {
        let pool = Pool::new(1 << 24);
        let config = Config {
            engine,
            secret: 0x1234_5678,
            ..Config::default()
        };
        let mut datapath = Datapath::new(config, Arc::new(Catalogue::default()), pool.clone());
        for port_no in [PortNo(1), PortNo(2)] {
            let desc = PortDesc {
                port_no,
                ..PortDesc::default()
            };
            datapath.port_changed(Time(0), desc, Capabilities::default(), &mut Vec::new());
        }
        let layer = craft::tcp(1, 80, 2, b"abcdef");
        let ip = craft::ipv4([10, 0, 0, 1].into(), [11, 0, 0, 1].into(), 64, layer);
        let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
        Self {
            datapath,
            frames: Vec::new(),
            sent: (0..BATCH).map(|_| pool.frame(&bytes).unwrap()).collect(),
            now: Time(1),
        }
    }

    fn add(&mut self, flow_mod: &FlowMod) {
        self.datapath
            .flow_mod(self.now, flow_mod, &mut Vec::new())
            .unwrap();
    }

    /// Makes a batch of frames of these flows out of the frames that left before.
    fn fill(&mut self, flows: impl Iterator<Item = (u32, u32, u16, u16)>) {
        core::mem::swap(&mut self.frames, &mut self.sent);
        for (frame, (src, dst, from, to)) in self.frames.iter_mut().zip(flows) {
            let bytes = frame.bytes_mut();
            bytes[26..30].copy_from_slice(&src.to_be_bytes());
            bytes[30..34].copy_from_slice(&dst.to_be_bytes());
            bytes[34..36].copy_from_slice(&from.to_be_bytes());
            bytes[36..38].copy_from_slice(&to.to_be_bytes());
        }
    }

    /// Nanoseconds of each packet of a round, without what it costs to make the frames.
    fn round(&mut self, packets: usize, mut next: impl FnMut() -> (u32, u32, u16, u16)) -> f64 {
        let started = cpu_ns();
        for _ in 0..packets / BATCH {
            self.fill((0..BATCH).map(|_| next()));
            core::mem::swap(&mut self.frames, &mut self.sent);
            black_box(&self.sent);
        }
        let empty = cpu_ns() - started;
        let started = cpu_ns();
        for _ in 0..packets / BATCH {
            self.fill((0..BATCH).map(|_| next()));
            self.now = self.now.after(1000);
            let Self {
                datapath,
                frames,
                sent,
                now,
            } = self;
            datapath.receive(*now, PortNo(1), frames, sent);
            assert_eq!(sent.len(), BATCH, "every frame left");
        }
        (cpu_ns() - started).saturating_sub(empty) as f64 / packets as f64
    }

    /// The median of some rounds; checks that table 0 counted every packet.
    fn measure(&mut self, name: &str, mut next: impl FnMut() -> (u32, u32, u16, u16)) {
        let warm = self.round(PACKETS, &mut next);
        let looked_up = |datapath: &mut Datapath| {
            datapath.settle();
            datapath.tables()[0].lookup_count
        };
        let before = looked_up(&mut self.datapath);
        let mut rounds: Vec<f64> = (0..ROUNDS)
            .map(|_| self.round(PACKETS, &mut next))
            .collect();
        let counted = looked_up(&mut self.datapath) - before;
        assert_eq!(
            counted,
            (ROUNDS * PACKETS) as u64,
            "every packet was counted"
        );
        rounds.sort_by(f64::total_cmp);
        let (median, best) = (rounds[ROUNDS / 2], rounds[0]);
        println!("{name:<44} {median:>8.1} ns  (best {best:.1}, first round {warm:.1})");
    }
}

/// Numbers below `n` in random order.
fn random(n: u32) -> impl FnMut() -> u32 {
    let mut state = 1u64;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1442695040888963407);
        (((state >> 32) * u64::from(n)) >> 32) as u32
    }
}

/// Exact entries, and as many flows.
fn flows(name: &str, engine: Engine, count: u32) {
    let mut bench = Bench::new(engine);
    let region = Region::new(GLOBAL);
    let started = cpu_ns();
    (0..count).for_each(|n| bench.add(&entry(n, output())));
    let each = (cpu_ns() - started) as f64 / f64::from(count);
    let live = |region: &Region<'_, System>| {
        let change = region.change();
        change.bytes_allocated as i64 - change.bytes_deallocated as i64
    };
    let of_entry = live(&region) / i64::from(count);
    assert_eq!(bench.datapath.tables()[0].len(), count as usize);
    let mut pick = random(count);
    bench.measure(name, || flow(pick()));
    if count >= 100_000 {
        let of_flow = live(&region) / i64::from(count) - of_entry;
        println!("    {of_entry} bytes an entry, {of_flow} a flow; {each:.0} ns a flow-mod to add");
        let started = cpu_ns();
        for n in 0..count {
            let mut flow_mod = entry(n, Instructions::default());
            flow_mod.command = FlowModCommand::DELETE_STRICT;
            bench.add(&flow_mod);
        }
        let each = (cpu_ns() - started) as f64 / f64::from(count);
        println!("    {each:.0} ns a flow-mod to delete");
        assert!(bench.datapath.tables()[0].is_empty());
    }
}

/// A thousand flows through several tables.
fn tables(name: &str, engine: Engine, count: u8) {
    let mut bench = Bench::new(engine);
    let goto = |n: u8| {
        let list = [
            Instruction::WriteMetadata {
                value: n.into(),
                mask: 0xff,
            },
            Instruction::GotoTable(TableId(n)),
        ];
        Instructions::new(list.into()).unwrap()
    };
    for n in 0..1000 {
        bench.add(&entry(n, if count > 1 { goto(1) } else { output() }));
    }
    for table in 1..count {
        let metadata = FieldMatch::exact(METADATA, table.into());
        let mut flow_mod = FlowMod::add(Match::new(&[metadata]).unwrap());
        flow_mod.table_id = TableId(table);
        flow_mod.instructions = if table + 1 < count {
            goto(table + 1)
        } else {
            output()
        };
        bench.add(&flow_mod);
    }
    let mut pick = random(1000);
    bench.measure(name, || flow(pick()));
}

/// Access lists of many masks that no packet is for, and a last entry that takes them all.
fn masks(name: &str, engine: Engine, count: u32, known: bool) {
    let mut bench = Bench::new(engine);
    let mut pick = random(u32::MAX);
    for n in 0..count {
        for _ in 0..64 {
            let mut fields = Vec::new();
            tcp(&mut fields);
            let (src, dst) = (8 + n % 25, 8 + n / 25);
            let prefix = |bits: u32| u128::from(u32::MAX << (32 - bits));
            fields.push(FieldMatch::masked(
                IPV4_SRC,
                (pick() >> 1).into(),
                prefix(src),
            ));
            fields.push(FieldMatch::masked(
                IPV4_DST,
                (pick() >> 1).into(),
                prefix(dst),
            ));
            let mut flow_mod = FlowMod::add(Match::new(&fields).unwrap());
            (flow_mod.priority, flow_mod.instructions) = ((n % 7) as u16 + 1, output());
            bench.add(&flow_mod);
        }
    }
    let mut last = FlowMod::add(Match::ANY);
    (last.priority, last.instructions) = (0, output());
    bench.add(&last);
    let high = |n: u32| n | 1 << 31;
    match known {
        true => bench.measure(name, || flow(pick() % 1000)),
        false => bench.measure(name, || {
            (high(pick()), high(pick()), pick() as u16, pick() as u16)
        }),
    }
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|w| !w.starts_with('-'))
        .collect();
    let case = |name: String, run: &mut dyn FnMut(&str)| {
        if words.is_empty() || words.iter().any(|word| name.contains(word.as_str())) {
            run(&name);
        }
    };
    for (engine, kind) in Engine::ALL.into_iter().skip(1) {
        for count in [1, 10, 1000, 10_000, 100_000, 1_000_000] {
            case(format!("{engine}: {count} flows"), &mut |name| {
                flows(name, kind, count)
            });
        }
        for count in [1, 5, 20] {
            let name = format!("{engine}: 1000 flows, {count} tables");
            case(name, &mut |name| tables(name, kind, count));
        }
        for count in [1, 16, 128, 512] {
            for (what, known) in [("1000 flows", true), ("random headers", false)] {
                let name = format!("{engine}: {count} masks, {what}");
                case(name, &mut |name| masks(name, kind, count, known));
            }
        }
    }
}
