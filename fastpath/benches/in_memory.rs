//! The cost of the switch itself, without any I/O: parsing, lookup, counting and output, in
//! nanoseconds of this thread's time for each packet; and how much memory entries and flows take.
//!
//! `cargo bench -p bofuss-fastpath -- [WORD...]` runs the cases whose names have one of the words.
//! Each case checks the frames and counters of its rounds before it reports the median.
#![allow(clippy::unwrap_used)]

#[path = "in_memory/actions.rs"]
mod actions;
#[path = "in_memory/hooks.rs"]
mod hooks;

use std::alloc::System;
use std::hint::black_box;
use std::net::Ipv6Addr;
use std::sync::Arc;

use bofuss_datapath::{Config, Engine, Hook, Time};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::field::*;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::{FlowMod, FlowModCommand, PortDesc};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, Catalogue, FieldMatch, Instruction, Mac, Match, PortNo};
use bofuss_packet::{Layout, craft, survey};
use bofuss_ports::{HugePageAllocator, thread_time};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static GLOBAL: HugePageAllocator<&StatsAlloc<System>> = HugePageAllocator(&INSTRUMENTED_SYSTEM);

/// Frames that the switch receives at a time.
const BATCH: usize = 32;
/// The number of times that each case is measured; the median is reported.
const ROUNDS: usize = 5;
/// Packets of a round.
const PACKETS: usize = 1 << 20;

/// The fields that distinguish flows: source and destination address, TCP source and destination
/// port.
type Tuple = (u32, u32, u16, u16);

/// The tuple of flow number `n`.
fn flow(n: u32) -> Tuple {
    let n = n.wrapping_mul(0x9e37_79b1);
    let (src, dst) = (0x0a00_0000 | n >> 12, 0x0b00_0000 | n & 0xffff);
    (src, dst, (n >> 8) as u16 | 1, 80)
}

/// The tuple of flow number `n`, made to be hard for a hash: the parts of these tuples cancel each
/// other, and they differ only in high bits.
fn crafted(n: u32) -> Tuple {
    let word = n.reverse_bits();
    (word, word, (n << 8) as u16, (n << 8) as u16)
}

/// The kind of packets, and which of their fields entries match.
#[derive(Clone, Copy, PartialEq)]
enum PacketShape {
    /// IPv4, and its 5-tuple.
    Tuple,
    /// IPv6, and its 5-tuple, in port and Ethernet addresses.
    Ipv6,
    /// As `Ipv6` with a VLAN tag, and all other fields that such packets have.
    Full,
}

impl PacketShape {
    fn bytes(self) -> Vec<u8> {
        let (dst, src) = (Mac([2; 6]), Mac([4; 6]));
        let layer = craft::tcp(1, 80, 2, b"abcdef");
        let ip6 = |layer| craft::ipv6(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, 64, layer);
        match self {
            Self::Tuple => {
                let ip = craft::ipv4([10, 0, 0, 1].into(), [11, 0, 0, 1].into(), 64, layer);
                craft::ethernet(dst, src, ip)
            }
            Self::Ipv6 => craft::ethernet(dst, src, ip6(layer)),
            Self::Full => craft::ethernet(dst, src, craft::vlan(0x8100, 5, ip6(layer))),
        }
    }

    /// The places of a tuple's parts in the frame; of addresses, the last four bytes.
    fn places(self) -> [usize; 3] {
        match self {
            Self::Tuple => [26, 30, 34],
            Self::Ipv6 => [34, 50, 54],
            Self::Full => [38, 54, 58],
        }
    }

    fn stamp(self, bytes: &mut [u8], (src, dst, from, to): Tuple) {
        let [src_at, dst_at, ports_at] = self.places();
        bytes[src_at..src_at + 4].copy_from_slice(&src.to_be_bytes());
        bytes[dst_at..dst_at + 4].copy_from_slice(&dst.to_be_bytes());
        bytes[ports_at..ports_at + 2].copy_from_slice(&from.to_be_bytes());
        bytes[ports_at + 2..ports_at + 4].copy_from_slice(&to.to_be_bytes());
    }

    /// The match of the packets of one flow.
    fn fields(self, (src, dst, from, to): Tuple) -> Vec<FieldMatch> {
        let mut fields = vec![
            FieldMatch::exact(IP_PROTO, 6),
            FieldMatch::exact(TCP_SRC, from.into()),
            FieldMatch::exact(TCP_DST, to.into()),
        ];
        if self == Self::Tuple {
            fields.push(FieldMatch::exact(ETH_TYPE, 0x0800));
            fields.push(FieldMatch::exact(IPV4_SRC, src.into()));
            fields.push(FieldMatch::exact(IPV4_DST, dst.into()));
            return fields;
        }
        fields.push(FieldMatch::exact(ETH_TYPE, 0x86dd));
        fields.push(FieldMatch::exact(IPV6_SRC, src.into()));
        fields.push(FieldMatch::exact(IPV6_DST, dst.into()));
        fields.push(FieldMatch::exact(IN_PORT, 1));
        let mac = |byte: u8| u128::from_be_bytes([[0; 8], [byte; 8]].concat().try_into().unwrap());
        fields.push(FieldMatch::exact(ETH_DST, mac(2) & 0xffff_ffff_ffff));
        fields.push(FieldMatch::exact(ETH_SRC, mac(4) & 0xffff_ffff_ffff));
        if self == Self::Full {
            fields.push(FieldMatch::exact(VLAN_VID, 0x1005));
            for zero in [VLAN_PCP, IP_DSCP, IP_ECN, IPV6_FLABEL, METADATA] {
                fields.push(FieldMatch::exact(zero, 0));
            }
        }
        fields
    }
}

fn tcp(fields: &mut Vec<FieldMatch>) {
    fields.push(FieldMatch::exact(ETH_TYPE, 0x0800));
    fields.push(FieldMatch::exact(IP_PROTO, 6));
}

/// The entry of one flow.
fn entry(shape: PacketShape, tuple: Tuple, instructions: Instructions) -> FlowMod {
    let mut flow_mod = FlowMod::add(Match::new(&shape.fields(tuple)).unwrap());
    (flow_mod.priority, flow_mod.instructions) = (10, instructions);
    flow_mod
}

fn output() -> Instructions {
    Instructions::apply([Action::output(PortNo(2))].into())
}

struct Bench {
    datapath: Datapath,
    shape: PacketShape,
    frames: Vec<Frame>,
    sent: Vec<Frame>,
    now: Time,
    /// The bytes of the frames that arrive, if frames are changed on their path.
    fresh: Option<Vec<u8>>,
    /// The number of frames sent for each that arrives.
    copies: usize,
    /// True if entries for other packets are added and deleted between batches.
    churns: bool,
    /// The number of batches so far.
    batches: u32,
}

impl Bench {
    fn new(engine: Engine, shape: PacketShape) -> Self {
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
            datapath
                .port_control(Time(0), &mut Vec::new())
                .changed(desc, OffloadCapabilities::default());
        }
        let bytes = shape.bytes();
        Self {
            datapath,
            shape,
            frames: Vec::new(),
            sent: (0..BATCH).map(|_| pool.frame(&bytes).unwrap()).collect(),
            now: Time(1),
            fresh: None,
            copies: 1,
            churns: false,
            batches: 0,
        }
    }

    fn add(&mut self, flow_mod: &FlowMod) {
        self.datapath
            .control(self.now, &mut Vec::new())
            .flow_mod(flow_mod)
            .unwrap();
    }

    /// Makes a batch of frames of these flows from the frames that were sent before.
    fn fill(&mut self, flows: impl Iterator<Item = Tuple>) {
        core::mem::swap(&mut self.frames, &mut self.sent);
        for (frame, tuple) in self.frames.iter_mut().zip(flows) {
            self.shape.stamp(frame.bytes_mut(), tuple);
        }
    }

    /// Adds an entry that no packet hits, or deletes the one added before.
    fn churn(&mut self) {
        let (_, dst, from, to) = flow(0);
        let other = (0x0c00_0000 | (self.batches / 4), dst, from, to);
        let mut flow_mod = entry(self.shape, other, output());
        if self.batches % 4 == 2 {
            flow_mod.command = FlowModCommand::DELETE_STRICT;
        }
        self.add(&flow_mod);
    }

    /// Has the switch receive the batch, a microsecond later. With a flow-mod for every second
    /// batch of 32 packets, 10,000 flow-mods a second mean 640,000 packets a second.
    fn receive(&mut self) {
        self.now = self.now.after(1000);
        self.batches += 1;
        if self.churns && self.batches % 2 == 0 {
            self.churn();
        }
        let (frames, sent) = (&mut self.frames, &mut self.sent);
        self.datapath.receive(self.now, PortNo(1), frames, sent);
    }

    /// Takes the frames that were sent, or new frames, as the next to arrive.
    fn renew(&mut self) {
        let Some(bytes) = &self.fresh else {
            return;
        };
        let pool = self.datapath.pool();
        self.frames.clear();
        self.sent.clear();
        let frame = || pool.frame(bytes).unwrap();
        self.sent.resize_with(BATCH, frame);
    }

    /// Nanoseconds per packet of a round, without the cost of making the frames.
    fn round(&mut self, packets: usize, mut next: impl FnMut() -> Tuple) -> f64 {
        let empty = self.timed(packets, &mut next, |bench| {
            core::mem::swap(&mut bench.frames, &mut bench.sent);
            black_box(&bench.sent);
            bench.renew();
        });
        let full = self.timed(packets, &mut next, |bench| {
            bench.receive();
            assert_eq!(bench.sent.len(), BATCH * bench.copies, "every frame left");
            bench.renew();
        });
        (full - empty).max(0.0)
    }

    /// Nanoseconds per packet of what `work` does with batches.
    fn timed(
        &mut self,
        packets: usize,
        mut next: impl FnMut() -> Tuple,
        work: impl Fn(&mut Self),
    ) -> f64 {
        let started = thread_time();
        for _ in 0..packets / BATCH {
            self.fill((0..BATCH).map(|_| next()));
            work(self);
        }
        (thread_time() - started).as_nanos() as f64 / packets as f64
    }

    /// Prints the median of the rounds; checks that table 0 counted every packet.
    fn measure(&mut self, name: &str, packets: usize, mut next: impl FnMut() -> Tuple) {
        let warm = self.round(packets, &mut next);
        let looked_up =
            |datapath: &mut Datapath| datapath.settled().table_counts(TableId(0)).lookups;
        let before = looked_up(&mut self.datapath);
        let mut rounds: Vec<f64> = (0..ROUNDS)
            .map(|_| self.round(packets, &mut next))
            .collect();
        let counted = looked_up(&mut self.datapath) - before;
        assert_eq!(
            counted,
            (ROUNDS * packets) as u64,
            "every packet was counted"
        );
        tell(name, &mut rounds, &format!(", first round {warm:.1}"));
    }
}

fn tell(name: &str, rounds: &mut [f64], more: &str) {
    rounds.sort_by(f64::total_cmp);
    let (median, best) = (rounds[rounds.len() / 2], rounds[0]);
    println!("{name:<44} {median:>8.1} ns  (best {best:.1}{more})");
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
    let mut bench = Bench::new(engine, PacketShape::Tuple);
    let region = Region::new(GLOBAL.0);
    let started = thread_time();
    (0..count).for_each(|n| bench.add(&entry(PacketShape::Tuple, flow(n), output())));
    let each = (thread_time() - started).as_nanos() as f64 / f64::from(count);
    let live = |region: &Region<'_, System>| {
        let change = region.change();
        change.bytes_allocated as i64 - change.bytes_deallocated as i64
    };
    let of_entry = live(&region) / i64::from(count);
    assert_eq!(bench.datapath.tables()[0].len(), count as usize);
    let mut pick = random(count);
    // A plain scan is slow, so it gets fewer packets.
    let packets = match engine {
        Engine::Reference => PACKETS / (count as usize).next_power_of_two().clamp(8, 1 << 9),
        Engine::Tables | Engine::Cache => PACKETS,
    };
    bench.measure(name, packets, || flow(pick()));
    if count >= 100_000 {
        let of_flow = live(&region) / i64::from(count) - of_entry;
        println!("    {of_entry} bytes an entry, {of_flow} a flow; {each:.0} ns a flow-mod to add");
        let started = thread_time();
        for n in 0..count {
            let mut flow_mod = entry(PacketShape::Tuple, flow(n), Instructions::default());
            flow_mod.command = FlowModCommand::DELETE_STRICT;
            bench.add(&flow_mod);
        }
        let each = (thread_time() - started).as_nanos() as f64 / f64::from(count);
        println!("    {each:.0} ns a flow-mod to delete");
        assert!(bench.datapath.tables()[0].is_empty());
    }
}

/// As [`flows`], while other entries are added and deleted; their flow-mods are part of the time.
fn churn(name: &str, engine: Engine, count: u32) {
    let mut bench = Bench::new(engine, PacketShape::Tuple);
    (0..count).for_each(|n| bench.add(&entry(PacketShape::Tuple, flow(n), output())));
    bench.churns = true;
    let mut pick = random(count);
    bench.measure(name, PACKETS, || flow(pick()));
}

/// Entries that match more fields, or tuples that are hard for a hash.
fn keys(name: &str, engine: Engine, shape: PacketShape, count: u32, of: fn(u32) -> Tuple) {
    let mut bench = Bench::new(engine, shape);
    (0..count).for_each(|n| bench.add(&entry(shape, of(n), output())));
    let mut pick = random(count);
    bench.measure(name, PACKETS, || of(pick()));
}

/// The cost of a packet until its headers are found, until its entry is found and counted, and in
/// total.
fn stages(name: &str, count: u32) {
    let mut pick = random(count);
    let mut next = || flow(pick());
    let pool = Pool::new(1 << 24);
    let bytes = PacketShape::Tuple.bytes();
    let again = |bench: &mut Bench| {
        bench.frames.clear();
        let frame = || pool.frame(&bytes).unwrap();
        bench.sent.resize_with(BATCH, frame);
    };
    let benches = [Instructions::default(), output()].map(|instructions| {
        let mut bench = Bench::new(Engine::Cache, PacketShape::Tuple);
        (0..count)
            .for_each(|n| bench.add(&entry(PacketShape::Tuple, flow(n), instructions.clone())));
        bench
    });
    let [mut drops, mut outputs] = benches;
    let mut costs = [const { Vec::new() }; 3];
    for round in 0..=ROUNDS {
        let empty = drops.timed(PACKETS, &mut next, |bench| {
            core::mem::swap(&mut bench.frames, &mut bench.sent);
            black_box(&bench.sent);
        });
        let parsed = drops.timed(PACKETS, &mut next, |bench| {
            for frame in bench.frames.drain(..) {
                let mut layout = Layout::EMPTY;
                survey(frame.bytes(), &mut layout);
                black_box(&layout);
                bench.sent.push(frame);
            }
        });
        let renewed = drops.timed(PACKETS, &mut next, again);
        let found = drops.timed(PACKETS, &mut next, |bench| {
            bench.receive();
            assert!(bench.sent.is_empty(), "no frame left");
            again(bench);
        });
        let all = outputs.round(PACKETS, &mut next);
        if round > 0 {
            let (parsed, found) = (parsed - empty, found - renewed);
            let parts = [parsed, found - parsed, all - found];
            let of = costs.iter_mut().zip(parts);
            of.for_each(|(list, cost)| list.push(cost));
        }
    }
    let names = ["parse", "lookup and counters", "actions and output"];
    for (part, costs) in names.into_iter().zip(&mut costs) {
        tell(&format!("{name}, {part}"), costs, "");
    }
}

/// A thousand flows through several tables.
fn tables(name: &str, engine: Engine, count: u8, hook: Option<Box<dyn Hook>>) {
    let mut bench = Bench::new(engine, PacketShape::Tuple);
    if let Some(hook) = hook {
        bench.datapath.add_hook(hook);
    }
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
        bench.add(&entry(
            PacketShape::Tuple,
            flow(n),
            if count > 1 { goto(1) } else { output() },
        ));
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
    bench.measure(name, PACKETS, || flow(pick()));
}

/// Access lists with many masks that match no packet, and a last entry that matches all.
fn masks(name: &str, engine: Engine, count: u32, known: bool) {
    let mut bench = Bench::new(engine, PacketShape::Tuple);
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
    if known {
        bench.measure(name, PACKETS, || flow(pick() % 1000))
    } else {
        bench.measure(name, PACKETS, || {
            (high(pick()), high(pick()), pick() as u16, pick() as u16)
        })
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
    for (engine, kind) in Engine::ALL {
        let simple = kind == Engine::Reference;
        for count in [1, 10, 1000, 10_000, 100_000, 1_000_000] {
            if count <= 1000 || !simple {
                case(format!("{engine}: {count} flows"), &mut |name| {
                    flows(name, kind, count)
                });
            }
        }
        if simple {
            continue;
        }
        for count in [5000, 900_000] {
            let name = format!("{engine}: {count} flows, churn");
            case(name, &mut |name| churn(name, kind, count));
        }
        for (what, shape) in [
            ("IPv6 with L2", PacketShape::Ipv6),
            ("full width", PacketShape::Full),
        ] {
            for count in [1000, 100_000] {
                case(format!("{engine}: {count} flows, {what}"), &mut |name| {
                    keys(name, kind, shape, count, flow)
                });
            }
        }
        case(format!("{engine}: 100000 flows, crafted"), &mut |name| {
            keys(name, kind, PacketShape::Tuple, 100_000, crafted)
        });
        for count in [1, 5, 20] {
            let name = format!("{engine}: 1000 flows, {count} tables");
            case(name, &mut |name| tables(name, kind, count, None));
        }
        for (list, copies, what) in actions::ROWS {
            let name = format!("{engine}: 1000 flows, {what}");
            case(name, &mut |name| actions::actions(name, kind, list, copies));
        }
        for (effect, hook) in hooks::all() {
            let mut hook = Some(hook);
            let name = format!("{engine}: 1000 flows, 5 tables, hook {effect:?}");
            case(name, &mut |name| tables(name, kind, 5, hook.take()));
        }
        for count in [1, 16, 128, 512] {
            for (what, known) in [("1000 flows", true), ("random headers", false)] {
                let name = format!("{engine}: {count} masks, {what}");
                case(name, &mut |name| masks(name, kind, count, known));
            }
        }
    }
    for count in [1000, 1_000_000] {
        let name = format!("stages: {count} flows");
        case(name, &mut |name| stages(name, count));
    }
}
