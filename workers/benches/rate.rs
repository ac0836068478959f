//! How many packets a second one worker and two forward, in memory, and how many flow-mods a
//! second they make: also beside another switch that makes as many, because two processors that
//! share caches or a core do less than twice what one does.
//!
//! `cargo bench -p bofuss-workers`. Each worker has a generator on its own thread, which fills the
//! frames that have left with its flows in random order. A worker's rate is in its processor time,
//! while all work at once; so the sum is what they forward with a core each, and what they cost one
//! another in caches and memory is in it. Each case checks that every packet was counted.
#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

use bofuss_agent::{ConnId, FailMode, Identity};
use bofuss_datapath::{Config, Time};
use bofuss_ext::Switch;
use bofuss_fastpath::Datapath;
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::message::multipart::{FlowStatsRequest, ReplyBody, RequestBody};
use bofuss_oflib::message::{FlowModCommand, PortDesc};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Catalogue, Mac, Message, PortNo, Version};
use bofuss_packet::craft;
use bofuss_ports::{HugePageAllocator, thread_time};
use bofuss_workers::{Share, Source, Workers};

#[global_allocator]
static GLOBAL: HugePageAllocator<std::alloc::System> = HugePageAllocator(std::alloc::System);

/// Frames that a worker receives at a time.
const BURST: usize = 32;
/// Packets of each worker in a round, and how many rounds there are; the median is reported.
const PACKETS: usize = 1 << 20;
const ROUNDS: usize = 9;
const CONN: ConnId = ConnId(1);
/// Flow-mods of one call.
const BATCH: usize = 10_000;
/// Entries that a switch gets in a round of flow-mods.
const ENTRIES: u32 = 100_000;

/// The addresses and ports of flow number `n`, as they are in a frame.
fn tuple(n: u32) -> [u8; 12] {
    let n = n.wrapping_mul(0x9e37_79b1);
    let (source, destination) = (0x0a00_0000 | n >> 12, 0x0b00_0000 | n & 0xffff);
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&source.to_be_bytes());
    bytes[4..8].copy_from_slice(&destination.to_be_bytes());
    bytes[8..10].copy_from_slice(&((n >> 8) as u16 | 1).to_be_bytes());
    bytes[10..].copy_from_slice(&80u16.to_be_bytes());
    bytes
}

/// The place of these in a frame.
const TUPLE_AT: usize = 26;

/// The entry of a flow.
fn entry(n: u32, catalogue: &Catalogue) -> Message {
    let [a, b, c, d, e, f, g, h, from @ .., _, _] = tuple(n);
    let text = format!(
        "priority=10,tcp,nw_src={a}.{b}.{c}.{d},nw_dst={e}.{f}.{g}.{h},tp_src={},tp_dst=80,\
         actions=output:2",
        u16::from_be_bytes(from)
    );
    Message::FlowMod(parse_flow(&text, FlowModCommand::ADD, catalogue).unwrap())
}

/// What the generators of all workers share.
#[derive(Default)]
struct Rounds {
    /// The number of the round; none is 0.
    number: AtomicUsize,
    /// The processor time that each worker took for its packets of the round.
    results: Mutex<Vec<Duration>>,
}

/// Fills the frames that have left with flows of its share: in each round, [`PACKETS`] of them.
struct Generator {
    rounds: Arc<Rounds>,
    flows: Arc<[[u8; 12]]>,
    /// The flows of its share.
    own: Vec<u32>,
    /// The frames that have left.
    spare: Vec<Frame>,
    /// The state of the random numbers.
    state: u64,
    /// The last round, and what is left of it.
    round: usize,
    packets: usize,
    began: Duration,
    clock: Instant,
}

impl Generator {
    fn new(rounds: Arc<Rounds>, flows: Arc<[[u8; 12]]>, clock: Instant) -> Self {
        Self {
            rounds,
            flows,
            own: Vec::new(),
            spare: Vec::new(),
            state: 1,
            round: 0,
            packets: 0,
            began: Duration::ZERO,
            clock,
        }
    }

    /// Chooses its flows, and makes frames for a burst.
    fn prepare(&mut self, share: &Share, pool: &Pool) {
        let tcp = craft::tcp(1, 80, 2, b"abcdef");
        let ip = craft::ipv4([10, 0, 0, 1].into(), [11, 0, 0, 1].into(), 64, tcp);
        let mut bytes = craft::ethernet(Mac([2; 6]), Mac([4; 6]), ip);
        let frames = (0..BURST).map(|_| pool.frame(&bytes).unwrap());
        self.spare = frames.collect();
        for (number, flow) in (0..).zip(&*self.flows) {
            bytes[TUPLE_AT..][..12].copy_from_slice(flow);
            if share.has(PortNo(1), &bytes) {
                self.own.push(number);
            }
        }
    }

    fn pick(&mut self) -> [u8; 12] {
        let next = self.state.wrapping_mul(6_364_136_223_846_793_005);
        self.state = next.wrapping_add(1442695040888963407);
        let place = ((self.state >> 32) * self.own.len() as u64) >> 32;
        self.flows[self.own[place as usize] as usize]
    }
}

impl Source for Generator {
    fn receive(
        &mut self,
        share: &Share,
        pool: &Pool,
        frames: &mut Vec<Frame>,
    ) -> Option<(Time, PortNo)> {
        if self.packets == 0 {
            let round = self.rounds.number.load(Relaxed);
            if self.round == round {
                return None;
            }
            if self.own.is_empty() {
                self.prepare(share, pool);
            }
            self.round = round;
            self.packets = PACKETS;
            self.began = thread_time();
        }
        core::mem::swap(frames, &mut self.spare);
        assert_eq!(frames.len(), BURST, "every frame has left");
        for frame in frames {
            frame.bytes_mut()[TUPLE_AT..][..12].copy_from_slice(&self.pick());
        }
        self.packets -= BURST;
        if self.packets == 0 {
            let took = thread_time() - self.began;
            self.rounds.results.lock().unwrap().push(took);
        }
        let now = self.clock.elapsed().as_nanos() as u64;
        Some((Time(now), PortNo(1)))
    }
    fn transmit(&mut self, _: PortNo, _: QueueId, frame: Frame) {
        self.spare.push(frame);
    }
}

/// A switch without entries.
fn switch(catalogue: &Arc<Catalogue>) -> Switch {
    let config = Config {
        secret: 0x1234_5678,
        ..Config::default()
    };
    let datapath = Datapath::new(config, catalogue.clone(), Pool::new(1 << 24));
    Switch::new(Time(0), datapath, Identity::default(), FailMode::Secure)
}

/// Workers with generators of so many flows.
struct Bench {
    workers: Workers,
    count: usize,
    rounds: Arc<Rounds>,
    catalogue: Arc<Catalogue>,
    clock: Instant,
}

impl Bench {
    fn new(count: usize, flows: u32) -> Self {
        let rounds = Arc::new(Rounds::default());
        let catalogue = Arc::new(Catalogue::default());
        let clock = Instant::now();
        let tuples: Arc<[[u8; 12]]> = (0..flows).map(tuple).collect();
        let make = {
            let (rounds, catalogue) = (rounds.clone(), catalogue.clone());
            move |_| {
                let generator = Generator::new(rounds.clone(), tuples.clone(), clock);
                (switch(&catalogue), generator)
            }
        };
        let workers = Workers::start(count, make).unwrap();
        let mut this = Self {
            workers,
            count,
            rounds,
            catalogue,
            clock,
        };
        let now = this.now();
        this.workers.connected(now, CONN, Version::V1_3).unwrap();
        for number in [1, 2] {
            let desc = PortDesc {
                port_no: PortNo(number),
                ..PortDesc::default()
            };
            let capabilities = OffloadCapabilities::default();
            this.workers.port_changed(now, desc, capabilities).unwrap();
        }
        this
    }

    fn now(&self) -> Time {
        Time(self.clock.elapsed().as_nanos() as u64)
    }

    /// Adds an entry for each of these flows, once all who add have met. Returns how many were added
    /// in a second.
    fn add(&mut self, flows: Range<u32>, all: &Barrier) -> f64 {
        let entries = flows.clone().map(|n| (n, entry(n, &self.catalogue)));
        let mut entries: VecDeque<_> = entries.collect();
        drop(self.workers.sent());
        all.wait();
        let began = Instant::now();
        while !entries.is_empty() {
            let batch = entries.drain(..entries.len().min(BATCH));
            let now = Time(self.clock.elapsed().as_nanos() as u64);
            self.workers.messages(now, CONN, batch).unwrap();
        }
        let took = began.elapsed();
        assert!(self.workers.sent().is_empty(), "no entry was refused");
        flows.len() as f64 / took.as_secs_f64()
    }

    /// Packets per second of all workers in a round.
    fn round(&mut self) -> f64 {
        self.rounds.number.fetch_add(1, Relaxed);
        (0..self.count).for_each(|worker| self.workers.wake(worker));
        while self.rounds.results.lock().unwrap().len() < self.count {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut results = self.rounds.results.lock().unwrap();
        let rates = results
            .drain(..)
            .map(|took| PACKETS as f64 / took.as_secs_f64());
        rates.sum()
    }

    /// The packets that all entries have counted.
    fn counted(&mut self) -> u64 {
        let now = self.now();
        let request = RequestBody::Aggregate(FlowStatsRequest::all());
        let message = Message::MultipartRequest(request.into());
        self.workers.message(now, CONN, 1, message).unwrap();
        let counts = self.workers.sent().into_iter().map(|sent| sent.message);
        let of = counts.map(|message| match message {
            Message::MultipartReply(reply) => match reply.body {
                ReplyBody::Aggregate(sums) => sums.packet_count,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        });
        of.sum()
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Compares one worker with two, in turns, so that what else the machine does slows both down.
fn compare_rates(flows: u32) {
    let mut benches = [1, 2].map(|count| Bench::new(count, flows));
    for bench in &mut benches {
        bench.add(0..flows, &Barrier::new(1));
    }
    let mut rates = [Vec::new(), Vec::new()];
    let mut times = Vec::new();
    for round in 0..=ROUNDS {
        let now = benches.each_mut().map(Bench::round);
        // In the first, flows are not known yet.
        if round > 0 {
            (0..2).for_each(|bench| rates[bench].push(now[bench]));
            times.push(now[1] / now[0]);
        }
    }
    for bench in &mut benches {
        let packets = (ROUNDS + 1) * PACKETS * bench.count;
        assert_eq!(bench.counted(), packets as u64, "every packet was counted");
    }
    let [one, two] = rates.each_mut().map(|rates| median(rates) / 1e6);
    println!(
        "{flows} flows: {one:.2} Mpps, with two workers {two:.2} Mpps, {:.2} times",
        median(&mut times),
    );
}

/// The flow-mods a second of the slowest of some switches that make them at once, each with so many
/// workers.
fn flow_mods(switches: usize, workers: usize) -> f64 {
    let all = Barrier::new(switches);
    let add = || Bench::new(workers, ENTRIES).add(0..ENTRIES, &all);
    std::thread::scope(|scope| {
        let switches: Vec<_> = (0..switches).map(|_| scope.spawn(add)).collect();
        let rates = switches.into_iter().map(|rate| rate.join().unwrap());
        rates.fold(f64::INFINITY, f64::min)
    })
}

/// Compares the flow-mods of one worker, of one beside another switch, and of two workers.
fn compare_flow_mods() {
    let mut rates = [Vec::new(), Vec::new(), Vec::new()];
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let now = [(1, 1), (2, 1), (1, 2)].map(|(switches, workers)| flow_mods(switches, workers));
        (0..3).for_each(|case| rates[case].push(now[case]));
        (0..2).for_each(|yardstick| times[yardstick].push(now[2] / now[yardstick]));
    }
    let [one, beside, two] = rates.each_mut().map(|rates| median(rates));
    let [of_one, of_beside] = times.each_mut().map(|times| median(times));
    println!(
        "{ENTRIES} flow-mods: {one:.0}/s, beside another switch {beside:.0}/s, with two workers \
         {two:.0}/s, {of_one:.2} and {of_beside:.2} times"
    );
}

fn main() {
    [1_000, 1_000_000].into_iter().for_each(compare_rates);
    compare_flow_mods();
}
