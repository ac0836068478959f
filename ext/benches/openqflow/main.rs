//! Measures what a packet costs with the flow states of OpenQFlow, in memory and without any I/O.
//!
//! `cargo bench -p bofuss-ext --bench openqflow [-- WORD]` runs the parts with that word in their
//! name. `state`: the flow table alone, 32 packets at a time, by the number of flows and their
//! order, and what it costs to make a flow. `switch`: a packet's whole path, compared with a switch
//! that has no flow states. `unused`: a switch that has OpenQFlow but does not use it, compared
//! with one that does not have it. `threads`: flow states and calendar queues on several threads.
//! `failover`: flows whose port is lost. `ofmeter fairness` plots figure 7 of the paper.
//!
//! Each part checks that every packet was counted and left before it reports the median of its
//! rounds, in nanoseconds of this thread's processor time and in cycles. If a part misses its bar,
//! the exit code is 1, after all parts have run.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod failover;
mod threads;

use std::sync::Arc;

use bofuss_datapath::Time;
use bofuss_ext::openqflow::{
    CountedPacket, FlowLookup, FlowTable, FlowTuple, ForwardRecord, QosRecord,
};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::message::{FlowModCommand, PortDesc};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::{Mac, PortNo};
use bofuss_packet::craft;

use bofuss_ports::thread_time;
use common::Seen;

/// Packets that are looked up together.
const BATCH: usize = 32;
/// Packets of a round.
const PACKETS: usize = 1 << 20;
/// Rounds; the median counts.
const ROUNDS: usize = 7;
/// The numbers of flows, one case each.
const FLOWS: [u32; 5] = [10, 1_000, 10_000, 100_000, 1_000_000];
/// The most cycles that state and QoS may cost a packet at 1M flows in random order.
const MAX_CYCLES: f64 = 250.0;
/// The most that this may be, as a multiple of the cost at 1,000 flows.
const MAX_GROWTH: f64 = 5.0;
/// From 1k to 1M flows in random order, a packet's whole path may become slower by at most this
/// many nanoseconds more than it does without flow states.
const MOST_MORE_NS: f64 = 100.0;
/// The destination address of flow 0. Flows differ only in this address.
const FIRST_DESTINATION: u32 = 0x0b00_0000;
/// The source and destination port of all flows.
const PORTS: [u16; 2] = [1000, 7];
/// The IP protocol of all flows.
const UDP: u8 = 17;
/// The offset of the destination address in a frame.
const DESTINATION_AT: usize = 30;

/// The processor's cycles in a nanosecond.
fn cycles_per_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    let line = text.lines().find(|line| line.starts_with("cpu MHz"));
    let mhz = line.and_then(|line| line.split(':').nth(1));
    mhz.and_then(|mhz| mhz.trim().parse::<f64>().ok())
        .unwrap_or(2500.0)
        / 1000.0
}

/// The order in which packets of flows come.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    RoundRobin,
    Random,
}

/// Numbers of flows in some order.
struct Sequence {
    order: Order,
    flows: u32,
    state: u64,
}

impl Sequence {
    fn next(&mut self) -> u32 {
        if self.order == Order::RoundRobin {
            self.state = (self.state + 1) % u64::from(self.flows);
            return self.state as u32;
        }
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (((self.state >> 32) * u64::from(self.flows)) >> 32) as u32
    }
}

fn tuple(number: u32) -> FlowTuple {
    FlowTuple {
        source: 0x0a00_0001,
        destination: u128::from(FIRST_DESTINATION + number),
        in_port: 1,
        eth_type: 0x800,
        ports: PORTS,
        ip_proto: UDP,
        ..FlowTuple::default()
    }
}

const PACKET: CountedPacket = CountedPacket {
    packets: 1,
    bytes: 64,
    closes: false,
};

/// A table with this many flows.
fn table(flows: u32) -> FlowTable {
    let mut table = FlowTable::default();
    table.limits.flows = 1 << 21;
    let rule = ForwardRecord::to(PortNo(2));
    for number in 0..flows {
        let sought = table.seek(tuple(number));
        let touched = table.touch(Time(1), &sought, PACKET);
        assert!(table.resolve(touched.slot, &rule, &QosRecord::default()));
    }
    table
}

/// Looks up and counts packets in the flow table. Returns the nanoseconds for each.
fn touch(table: &mut FlowTable, sequence: &mut Sequence, packets: usize) -> f64 {
    let started = thread_time();
    let mut left = 0;
    for _ in 0..packets / BATCH {
        let mut sought = [(); BATCH].map(|()| table.seek(tuple(sequence.next())));
        sought.iter_mut().for_each(|one| table.guess(one));
        for one in &sought {
            let touched = table.touch(Time(2), one, PACKET);
            assert!(touched.lookup == FlowLookup::Known);
            left += table.resolved(touched.slot).unwrap().port.0 as usize / 2;
        }
    }
    assert_eq!(left, packets, "every packet has its port");
    (thread_time() - started).as_nanos() as f64 / packets as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Measures something; returns whether its bars hold.
type Part = fn() -> bool;

/// Prints whether a bar holds, and returns it.
fn bar(what: &str, holds: bool) -> bool {
    println!("{what}: {holds}");
    holds
}

/// The flow table alone.
fn state() -> bool {
    let mut holds = true;
    let cycles = cycles_per_ns();
    for (name, order) in [
        ("round robin", Order::RoundRobin),
        ("random order", Order::Random),
    ] {
        let mut tables: Vec<FlowTable> = FLOWS.iter().map(|flows| table(*flows)).collect();
        let mut costs = FLOWS.map(|_| Vec::new());
        for _ in 0..ROUNDS {
            for ((table, flows), costs) in tables.iter_mut().zip(FLOWS).zip(&mut costs) {
                let mut sequence = Sequence {
                    order,
                    flows,
                    state: 1,
                };
                costs.push(touch(table, &mut sequence, PACKETS));
            }
        }
        let costs = costs.map(median);
        for (flows, cost) in FLOWS.iter().zip(costs) {
            println!(
                "state, {flows} flows, {name}: {cost:.1} ns, {:.0} cycles",
                cost * cycles
            );
        }
        let growth = costs[4] / costs[1];
        println!("state, {name}: 1M flows cost {growth:.2} times as much as 1k");
        if order == Order::Random {
            let is_cheap = costs[4] * cycles <= MAX_CYCLES && growth <= MAX_GROWTH;
            let what = format!("state, at most {MAX_CYCLES} cycles and {MAX_GROWTH} times");
            holds &= bar(&what, is_cheap);
        }
    }
    let started = thread_time();
    let made = table(1_000_000);
    assert_eq!(made.len(), 1_000_000);
    println!(
        "state, to make a flow: {:.0} ns",
        (thread_time() - started).as_nanos() as f64 / 1e6
    );
    holds
}

/// A switch, and what its packets cost.
struct Case {
    name: String,
    datapath: Datapath,
    frames: Vec<Frame>,
    seen: Seen,
    flows: u32,
    now: Time,
    costs: Vec<f64>,
}

impl Case {
    /// A switch that `has` the extension, and `uses` it in table 0.
    fn new(name: &str, flows: u32, uses: bool, has: bool) -> Self {
        let pool = Pool::new(1 << 24);
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let mut datapath = Datapath::new(
            bofuss_disciplines::config(),
            Arc::clone(&catalogue),
            pool.clone(),
        );
        for mut hook in bofuss_ext::hooks(&catalogue) {
            if hook.name() != "openqflow" {
                datapath.add_hook(hook);
                continue;
            }
            if uses {
                let options = [("table", "0"), ("forwarding", "1"), ("flows", "2000000")];
                for (option, value) in options {
                    hook.set_option(option, value).unwrap();
                }
            }
            if has {
                datapath.add_hook(hook);
            }
        }
        let seen = &mut Seen::default();
        let rule = if uses {
            "table=1,priority=9,udp,actions=qflow_forward(port=2,failover=3)"
        } else {
            "priority=9,udp,actions=output:2"
        };
        let rule = parse_flow(rule, FlowModCommand::ADD, &catalogue).unwrap();
        datapath.control(Time(0), seen).flow_mod(&rule).unwrap();
        let ip = craft::ipv4(
            [10, 0, 0, 1].into(),
            [11, 0, 0, 1].into(),
            64,
            craft::udp(PORTS[0], PORTS[1], b"0123456789abcdefgh"),
        );
        let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
        let mut this = Self {
            name: name.into(),
            datapath,
            frames: Vec::new(),
            seen: Seen::default(),
            flows,
            now: Time(1),
            costs: Vec::new(),
        };
        (1..=3).for_each(|port| this.add_port(port));
        this.seen
            .frames
            .resize_with(BATCH, || pool.frame(&bytes).unwrap());
        this
    }

    /// The same, after one packet of each flow.
    fn with_flows(name: &str, flows: u32, uses: bool, has: bool) -> Self {
        let mut this = Self::new(name, flows, uses, has);
        this.run(Order::RoundRobin, flows as usize + BATCH);
        this
    }

    fn add_port(&mut self, number: u32) {
        let desc = PortDesc {
            port_no: PortNo(number),
            ..PortDesc::default()
        };
        let capabilities = OffloadCapabilities::default();
        self.datapath
            .port_control(self.now, &mut self.seen)
            .changed(desc, capabilities);
    }

    /// Sends one packet of a flow.
    fn send_one(&mut self, number: u32) {
        let mut frame = self.seen.frames.pop().unwrap();
        aim(&mut frame, number);
        self.frames.push(frame);
        self.datapath
            .receive(self.now, PortNo(1), &mut self.frames, &mut self.seen);
    }

    /// Sends packets of all flows. Returns the nanoseconds for each, with those of making its
    /// frame.
    fn run(&mut self, order: Order, packets: usize) -> f64 {
        let flows = self.flows;
        let mut sequence = Sequence {
            order,
            flows,
            state: 1,
        };
        self.send(packets, || sequence.next())
    }

    /// Sends packets of these flows, except those after the last whole batch.
    fn send_all(&mut self, numbers: &[u32]) -> f64 {
        let mut numbers_left = numbers.iter();
        self.send(numbers.len(), || *numbers_left.next().unwrap())
    }

    /// Sends packets of flows whose numbers `next` gives.
    fn send(&mut self, packets: usize, mut next: impl FnMut() -> u32) -> f64 {
        let before = self.seen.left[2];
        let started = thread_time();
        for _ in 0..packets / BATCH {
            core::mem::swap(&mut self.frames, &mut self.seen.frames);
            let mut frames = core::mem::take(&mut self.frames);
            frames.iter_mut().for_each(|frame| aim(frame, next()));
            self.now = self.now.after(1000);
            self.datapath
                .receive(self.now, PortNo(1), &mut frames, &mut self.seen);
            self.frames = frames;
        }
        let cost = (thread_time() - started).as_nanos() as f64 / packets as f64;
        assert_eq!(
            self.seen.left[2] - before,
            (packets / BATCH * BATCH) as u64,
            "{}",
            self.name
        );
        cost
    }

    /// Its cost as a multiple of another case's: the median over rounds that ran one after the
    /// other.
    fn ratio(&self, other: &Self) -> f64 {
        let rounds = self.costs.iter().zip(&other.costs);
        median(rounds.map(|(one, other)| one / other).collect())
    }

    /// Returns how many nanoseconds a packet costs more than in another case.
    fn growth(&self, from: &Self) -> f64 {
        median(self.costs.clone()) - median(from.costs.clone())
    }
}

/// Rewrites a frame to be one of a flow.
fn aim(frame: &mut Frame, number: u32) {
    let destination = FIRST_DESTINATION + number;
    frame.bytes_mut()[DESTINATION_AT..DESTINATION_AT + 4]
        .copy_from_slice(&destination.to_be_bytes());
}

/// Measures cases, which take turns in each round.
fn measure(cases: &mut [Case]) {
    for _ in 0..ROUNDS {
        for case in &mut *cases {
            let cost = case.run(Order::Random, PACKETS);
            case.costs.push(cost);
        }
    }
    for case in cases {
        println!("{}: {:.1} ns", case.name, median(case.costs.clone()));
    }
}

/// A packet's whole path.
fn switch() -> bool {
    let mut cases = Vec::new();
    for flows in [1_000, 1_000_000] {
        cases.push(Case::with_flows(
            &format!("switch, stateless, {flows} flows"),
            flows,
            false,
            true,
        ));
        cases.push(Case::with_flows(
            &format!("switch, openqflow, {flows} flows"),
            flows,
            true,
            true,
        ));
    }
    measure(&mut cases);
    let [few, own_few, many, own_many] = &cases[..] else {
        unreachable!("there are four cases");
    };
    let stateless = many.growth(few);
    let own = own_many.growth(own_few);
    println!("switch, from 1k to 1M flows: stateless +{stateless:.1} ns, openqflow +{own:.1} ns");
    let what = format!("switch, at most {MOST_MORE_NS} ns more than stateless");
    bar(&what, own <= stateless + MOST_MORE_NS)
}

/// A switch that does not use OpenQFlow. This part has no bar.
fn unused() -> bool {
    let mut cases = [
        Case::with_flows("unused, without the extension", 1000, false, false),
        Case::with_flows("unused, with it", 1000, false, true),
    ];
    measure(&mut cases);
    println!(
        "unused, with it: {:.3} times as much",
        cases[1].ratio(&cases[0])
    );
    true
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let parts: [(&str, Part); 5] = [
        ("state", state),
        ("switch", switch),
        ("unused", unused),
        ("threads", threads::threads),
        ("failover", failover::failover),
    ];
    let mut all_hold = true;
    for (name, part) in parts {
        if words.is_empty() || words.iter().any(|word| name.contains(word.as_str())) {
            all_hold &= part();
        }
    }
    if !all_hold {
        std::process::exit(1);
    }
}
