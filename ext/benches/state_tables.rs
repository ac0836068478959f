//! Measures what a packet costs in a stateful table, in memory and without any I/O: a table without
//! states, a state that is read, one that is written, port knocking, and state tables on several
//! threads.
//!
//! `cargo bench -p bofuss-ext --bench state_tables [-- WORD]` runs the cases with that word in
//! their names, or with `=NAME` the one of that name. All cases take turns. Each checks what left
//! and what was counted. Reported is the median of its rounds: nanoseconds of this thread's
//! processor time for each packet, without those of making the frames.
#![allow(clippy::unwrap_used)]

mod common;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use bofuss_datapath::{Asker, Config, Time};
use bofuss_ext::openstate::extractor::FlowKey;
use bofuss_ext::openstate::table::{Behaviour, StateTable, Transition};
use bofuss_ext::openstate::{ExtractorLayout, Scope, StateMod, VALUES};
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::message::{ControllerRole, FlowModCommand, PortDesc};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{ExtValue, Mac, PortNo, Version};
use bofuss_packet::craft;

use bofuss_ports::thread_time;
use common::Seen;

/// Frames that are given to the switch at a time.
const BATCH: usize = 32;
/// Rounds of each case; the median counts.
const ROUNDS: usize = 15;
/// Packets of a round.
const PACKETS: usize = 1 << 19;
/// The index of STATE_MOD in [`VALUES`].
const STATE_MOD: usize = 3;
/// OXM header of ipv4_src.
const IPV4_SRC: u32 = 0x8000_1604;
/// The offsets of source address and destination port in a frame.
const SOURCE_AT: usize = 26;
const PORT_AT: usize = 36;
/// The knocks, in their order, and the port that they open.
const KNOCKS: [u16; 4] = [5123, 6234, 7345, 8456];
const SSH: u16 = 22;

/// The packets of a case.
enum Traffic {
    /// All go to the open port, and pass.
    Open,
    /// Hosts knock, with one wrong knock in 64, and then send to the open port. Has the progress of
    /// each host, by a plain model.
    Knocks(Vec<u8>),
}

/// A switch, and the hosts that send to it.
struct Case {
    name: String,
    datapath: Datapath,
    frames: Vec<Frame>,
    seen: Seen,
    now: Time,
    hosts: u32,
    traffic: Traffic,
    random: u64,
    /// Packets that should have passed so far.
    wanted: u64,
    costs: Vec<f64>,
}

impl Case {
    fn new(
        name: String,
        hosts: u32,
        traffic: Traffic,
        stateful: Option<u8>,
        flows: &[&str],
    ) -> Self {
        let pool = Pool::new(1 << 24);
        let catalogue = Arc::new(bofuss_ext::catalogue());
        let config = Config {
            secret: 0x1234_5678,
            ..Config::default()
        };
        let mut datapath = Datapath::new(config, Arc::clone(&catalogue), pool.clone());
        let hooks = bofuss_ext::hooks(&catalogue);
        hooks.into_iter().for_each(|hook| datapath.add_hook(hook));
        let seen = &mut Seen::default();
        for port_no in (1..=3).map(PortNo) {
            let desc = PortDesc {
                port_no,
                ..PortDesc::default()
            };
            datapath
                .port_control(Time(0), seen)
                .changed(desc, OffloadCapabilities::default());
        }
        let datagram = craft::udp(1000, SSH, b"0123456789abcdefgh");
        let ip = craft::ipv4([10, 0, 0, 1].into(), [11, 0, 0, 1].into(), 64, datagram);
        let bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
        let mut this = Self {
            name,
            datapath,
            frames: Vec::new(),
            seen: Seen::default(),
            now: Time(1),
            hosts,
            traffic,
            random: 1,
            wanted: 0,
            costs: Vec::new(),
        };
        this.seen
            .frames
            .resize_with(BATCH, || pool.frame(&bytes).unwrap());
        if let Some(table) = stateful {
            this.enable(table);
        }
        flows.iter().for_each(|text| this.flow(text));
        this
    }

    fn flow(&mut self, text: &str) {
        let catalogue = Arc::clone(self.datapath.catalogue());
        let flow = parse_flow(text, FlowModCommand::ADD, &catalogue).expect(text);
        self.datapath
            .control(self.now, &mut self.seen)
            .flow_mod(&flow)
            .unwrap();
    }

    fn modify(&mut self, message: StateMod) {
        let asker = Asker {
            connection: 1,
            role: ControllerRole::EQUAL,
            version: Version::V1_3,
            form: 0,
        };
        let value = ExtValue::typed(&VALUES[STATE_MOD], message);
        let done = self
            .datapath
            .hook_calls(self.now, &mut self.seen)
            .message(asker, &value);
        done.unwrap();
    }

    /// Makes a table stateful, with the source address as key.
    fn enable(&mut self, table: u8) {
        let stateful = true;
        self.modify(StateMod::TableConfig { table, stateful });
        for scope in [Scope::Lookup, Scope::Update] {
            self.modify(StateMod::SetExtractor {
                table,
                scope,
                layout: ExtractorLayout::Beba,
                biflow: false,
                fields: vec![IPV4_SRC],
            });
        }
    }

    /// Gives every host a state in table 0.
    fn set_states(&mut self, state: u32) {
        for host in 0..self.hosts {
            self.modify(StateMod::SetFlowState {
                table: 0,
                key: address(host).to_vec(),
                transition: Transition {
                    state,
                    mask: u32::MAX,
                    ..Transition::default()
                },
            });
        }
    }

    /// A pseudo-random number below `end`.
    fn below(&mut self, end: u32) -> u32 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (((self.random >> 32) * u64::from(end)) >> 32) as u32
    }

    /// Makes the next batch from the frames that left. Returns how many of them should pass.
    fn fill(&mut self) -> u64 {
        core::mem::swap(&mut self.frames, &mut self.seen.frames);
        let mut passing = 0;
        for number in 0..BATCH {
            let host = self.below(self.hosts);
            let is_stray = self.below(64) == 0;
            let port = match &mut self.traffic {
                Traffic::Open => SSH,
                Traffic::Knocks(progress) => {
                    let progress = &mut progress[host as usize];
                    let right = *KNOCKS.get(usize::from(*progress)).unwrap_or(&SSH);
                    let port = if is_stray { 9 } else { right };
                    *progress = match port {
                        SSH => *progress,
                        9 => 0,
                        _ => *progress + 1,
                    };
                    port
                }
            };
            passing += u64::from(port == SSH);
            let bytes = self.frames[number].bytes_mut();
            bytes[SOURCE_AT..SOURCE_AT + 4].copy_from_slice(&address(host));
            bytes[PORT_AT..PORT_AT + 2].copy_from_slice(&port.to_be_bytes());
        }
        passing
    }

    /// Sends the packets of one round, or only makes them if `is_empty`. Returns the nanoseconds
    /// for each.
    fn round(&mut self, is_empty: bool) -> f64 {
        let before = match &self.traffic {
            Traffic::Knocks(progress) if is_empty => Some(progress.clone()),
            Traffic::Knocks(_) | Traffic::Open => None,
        };
        let started = thread_time();
        for _ in 0..PACKETS / BATCH {
            let passing = self.fill();
            if is_empty {
                core::mem::swap(&mut self.frames, &mut self.seen.frames);
                black_box(&self.seen.frames);
                continue;
            }
            self.wanted += passing;
            self.now = self.now.after(1000);
            let frames = &mut self.frames;
            self.datapath
                .receive(self.now, PortNo(1), frames, &mut self.seen);
            assert_eq!(self.seen.frames.len(), BATCH, "every frame left");
        }
        let cost = (thread_time() - started).as_nanos() as f64 / PACKETS as f64;
        if let Some(before) = before {
            self.traffic = Traffic::Knocks(before);
        }
        cost
    }

    /// Measures and checks one round.
    fn measure(&mut self) {
        let lookups = self.lookups();
        let random = self.random;
        let empty = self.round(true);
        self.random = random;
        let full = self.round(false);
        assert_eq!(self.lookups() - lookups, PACKETS as u64, "{}", self.name);
        assert_eq!(self.seen.left[2], self.wanted, "{}", self.name);
        self.costs.push((full - empty).max(0.0));
    }

    /// Lookups in table 0.
    fn lookups(&mut self) -> u64 {
        self.datapath.settled().table_counts(TableId(0)).lookups
    }

    /// The sum of the metrics with a name.
    fn metric(&self, name: &str) -> u64 {
        let mut list = Vec::new();
        for hook in 0.. {
            if self
                .datapath
                .hooks()
                .metrics(self.now, hook, 0, &mut list)
                .is_none()
            {
                break;
            }
        }
        list.iter()
            .filter(|one| one.name == name)
            .map(|one| one.value)
            .sum()
    }

    /// Its cost as a multiple of another case's: the median over rounds, in each of which both ran
    /// shortly after each other.
    fn ratio(&self, other: &Self) -> f64 {
        let rounds = self.costs.iter().zip(&other.costs);
        median(rounds.map(|(one, other)| one / other).collect())
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The address of a host.
fn address(host: u32) -> [u8; 4] {
    (0x0a00_0000 | host).to_be_bytes()
}

/// Entries that let packets to the open port pass.
const PLAIN: [&str; 3] = [
    "priority=10,udp,udp_dst=22,actions=output:2",
    "priority=1,actions=output:3",
    "table=1,actions=output:3",
];

fn plain(name: String, hosts: u32) -> Case {
    Case::new(name, hosts, Traffic::Open, None, &PLAIN)
}

/// The same, while another table has states.
fn beside(name: String, hosts: u32) -> Case {
    Case::new(name, hosts, Traffic::Open, Some(1), &PLAIN)
}

/// Packets to the open port pass if the host is in state 4, as all are.
fn reading(name: String, hosts: u32) -> Case {
    let flows = [
        "priority=10,udp,udp_dst=22,state=4,actions=output:2",
        "priority=1,actions=output:3",
    ];
    let mut case = Case::new(name, hosts, Traffic::Open, Some(0), &flows);
    case.set_states(4);
    case
}

/// The same, with a transition by each packet.
fn writing(name: String, hosts: u32) -> Case {
    let flows = [
        "priority=10,udp,udp_dst=22,state=4/4,actions=set_state(table=0,state=5,\
                  idle_timeout=60000000,idle_rollback=4),output:2",
    ];
    let mut case = Case::new(name, hosts, Traffic::Open, Some(0), &flows);
    case.set_states(4);
    case
}

/// Each host has an entry of its own.
fn exact(name: String, hosts: u32) -> Case {
    let mut case = Case::new(name, hosts, Traffic::Open, None, &[]);
    for host in 0..hosts {
        let [a, b, c, d] = address(host);
        case.flow(&format!(
            "priority=10,udp,ip_src={a}.{b}.{c}.{d},udp_dst=22,actions=output:2"
        ));
    }
    case
}

fn knocking(name: String, hosts: u32) -> Case {
    let mut flows = vec![
        "priority=10,udp,udp_dst=22,state=4,actions=output:2".to_string(),
        "priority=1,actions=set_state(table=0,state=0),output:3".to_string(),
    ];
    for (state, port) in KNOCKS.iter().enumerate() {
        let next = state + 1;
        flows.push(format!(
            "priority=10,udp,udp_dst={port},state={state},\
             actions=set_state(table=0,state={next}),output:3"
        ));
    }
    let flows: Vec<&str> = flows.iter().map(String::as_str).collect();
    let traffic = Traffic::Knocks(vec![0; hosts as usize]);
    let mut case = Case::new(name, hosts, traffic, Some(0), &flows);
    // All hosts have an entry from the start.
    case.set_states(1);
    case.set_states(0);
    case
}

/// Measures how much more lookups N state tables do on N threads than one does alone.
fn threads() {
    const FLOWS: u32 = 10_000;
    const LOOKUPS: u32 = 4_000_000;
    let key = |n: u32| FlowKey::new(&address(n));
    let work = move || {
        let mut table = StateTable::default();
        table.behaviour = Behaviour::Beba;
        let transition = Transition {
            state: 7,
            mask: u32::MAX,
            ..Transition::default()
        };
        for n in 0..FLOWS {
            let after = table.behaviour.after_transition(Time(1), None, &transition);
            table
                .set(Time(1), &key(n), after, (PortNo(1), true))
                .unwrap();
        }
        let started = Instant::now();
        let mut sum = 0;
        for n in 0..LOOKUPS {
            let flow = table.seek(key(n.wrapping_mul(0x9e37_79b1) % FLOWS));
            sum += u64::from(table.look_up(Time(2), &flow));
        }
        assert_eq!(sum, 7 * u64::from(LOOKUPS), "each flow has its state");
        started.elapsed().as_secs_f64()
    };
    let cores = std::thread::available_parallelism().unwrap().get();
    let best = |threads: usize| {
        let slowest = (0..ROUNDS).map(|_| {
            let running: Vec<_> = (0..threads).map(|_| std::thread::spawn(work)).collect();
            let times = running.into_iter().map(|one| one.join().unwrap());
            times.fold(0.0, f64::max)
        });
        slowest.fold(f64::INFINITY, f64::min)
    };
    let alone = best(1);
    let together = best(cores);
    let each = alone * 1e9 / f64::from(LOOKUPS);
    let scale = cores as f64 * alone / together;
    println!("state table alone: {each:.1} ns a lookup");
    println!("{cores} state tables on {cores} threads: {scale:.2} times as much");
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|w| !w.starts_with('-'))
        .collect();
    // A word that is a case's whole name means that case alone.
    let is_meant = |word: &String, name: &str| match word.strip_prefix('=') {
        Some(word) => word == name,
        None => name.contains(word),
    };
    let is_wanted = |name: &str| words.is_empty() || words.iter().any(|w| is_meant(w, name));
    let mut cases = Vec::new();
    let mut add = |name: String, make: fn(String, u32) -> Case, hosts: u32| {
        if is_wanted(&name) {
            cases.push(make(name, hosts));
        }
    };
    add("stateless".into(), plain, 1000);
    add("stateless beside a stateful table".into(), beside, 1000);
    add("state read".into(), reading, 1000);
    add("state written".into(), writing, 1000);
    for hosts in [1000, 100_000, 1_000_000] {
        add(format!("stateless, {hosts} flows"), exact, hosts);
        add(format!("port knocking, {hosts} hosts"), knocking, hosts);
    }
    for _ in 0..=ROUNDS {
        cases.iter_mut().for_each(Case::measure);
    }
    for case in &mut cases {
        // In the first round, the processor's caches were cold.
        case.costs.remove(0);
        let stats = case.datapath.lane().engine.stats();
        assert!(
            stats.misses < u64::from(case.hosts) + 100,
            "{}: {stats:?}",
            case.name
        );
        if case.name == "state written" {
            assert_eq!(case.metric("transitions"), case.wanted);
        }
        let best = case.costs.iter().copied().fold(f64::INFINITY, f64::min);
        let median = median(case.costs.clone());
        println!("{:<36} {median:>8.1} ns  (best {best:.1})", case.name);
    }
    let case = |name: &str| cases.iter().find(|case| case.name == name);
    let ratio = |what: &str, one: &str, other: &str| {
        let ratio = case(one)?.ratio(case(other)?);
        println!("{what}: {ratio:.2}");
        Some(ratio)
    };
    ratio("read / stateless", "state read", "stateless");
    ratio("written / stateless", "state written", "stateless");
    ratio(
        "beside a stateful table / stateless",
        "stateless beside a stateful table",
        "stateless",
    );
    for hosts in [1000, 100_000] {
        let name = format!("port knocking, {hosts} hosts");
        let what = format!("knocking by {hosts} hosts / stateless");
        ratio(&what, &name, "stateless");
    }
    let stateful = ratio(
        "knocking, 1M / 1k",
        "port knocking, 1000000 hosts",
        "port knocking, 1000 hosts",
    );
    let stateless = ratio(
        "stateless, 1M / 1k",
        "stateless, 1000000 flows",
        "stateless, 1000 flows",
    );
    if let Some((one, other)) = stateful.zip(stateless) {
        println!("growth of knocking / of stateless: {:.2}", one / other);
    }
    if is_wanted("threads") {
        threads();
    }
}
