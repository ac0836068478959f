//! How many packets a second one worker and several forward, in memory, and how many flow-mods a
//! second they make: also beside another switch that makes as many, because two processors that
//! share caches or a core do less than twice what one does.
//!
//! `cargo bench -p bofuss-workers --bench rate [-- --plot FOLDER]` measures each number of workers
//! up to that of the processors that it may use, at most eight, and draws `workers-rate.svg` in the
//! folder, which is relative to `workers`. Each worker has a generator on its own thread, which
//! fills the frames that have left with its flows in random order. A worker's rate is in its
//! processor time, while all work at once; so the sum is what they forward with a core each, and
//! what they cost one another in caches and memory is in it. Each case checks that every packet was
//! counted, and that those passed that should have. Replicas of all numbers of workers are there
//! at once: with eight processors, 36 that have a million entries each.
#![allow(clippy::unwrap_used)]

#[path = "rate/figures.rs"]
mod figures;
#[path = "rate/generator.rs"]
mod generator;
#[path = "rate/plot.rs"]
mod plot;
#[path = "rate/traffic.rs"]
mod traffic;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use bofuss_agent::ConnId;
use bofuss_datapath::Time;
use bofuss_frame::OffloadCapabilities;
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::message::multipart::{FlowStatsRequest, ReplyBody, RequestBody};
use bofuss_oflib::{Catalogue, Message, PortNo, Version};
use bofuss_ports::HugePageAllocator;
use bofuss_workers::Workers;

use figures::{MOST_WORKERS, Point, Spread, model};
use generator::{Generator, PACKETS, Rounds};
use traffic::{Case, PASSED, PORTS, Traffic, Tuple};

#[global_allocator]
static GLOBAL: HugePageAllocator<std::alloc::System> = HugePageAllocator(std::alloc::System);

/// How many rounds there are; the median is reported.
const ROUNDS: usize = 9;
const CONN: ConnId = ConnId(1);
/// Messages of one call.
const BATCH: usize = 10_000;
const CASES: [Case; 3] = [
    Case {
        name: "1,000 flows",
        traffic: Traffic::Flows,
        flows: 1_000,
    },
    Case {
        name: "1,000,000 flows",
        traffic: Traffic::Flows,
        flows: 1_000_000,
    },
    Case {
        name: "port knocking, 1,000 senders",
        traffic: Traffic::Knocks,
        flows: 1_000,
    },
];
/// The entries that a switch gets in a round of flow-mods.
const FLOW_MODS: Case = Case {
    name: "100,000 flow-mods",
    traffic: Traffic::Flows,
    flows: 100_000,
};

/// Workers with generators of a case.
struct Bench {
    workers: Workers,
    count: usize,
    case: Case,
    rounds: Arc<Rounds>,
    catalogue: Arc<Catalogue>,
    clock: Instant,
}

impl Bench {
    fn new(count: usize, case: Case) -> Self {
        let rounds = Arc::new(Rounds::default());
        let catalogue = Arc::new(case.catalogue());
        let clock = Instant::now();
        let tuples: Arc<[Tuple]> = (0..case.flows).map(|n| case.tuple(n)).collect();
        let make = {
            let (rounds, catalogue) = (rounds.clone(), catalogue.clone());
            move |_| {
                let generator = Generator::new(case, rounds.clone(), tuples.clone(), clock);
                (case.switch(&catalogue), generator)
            }
        };
        let workers = Workers::start(count, make).unwrap();
        let mut this = Self {
            workers,
            count,
            case,
            rounds,
            catalogue,
            clock,
        };
        let now = this.now();
        this.workers.connected(now, CONN, Version::V1_3).unwrap();
        for port_no in PORTS {
            let desc = PortDesc {
                port_no,
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

    /// Gives the switch the messages of its case, once all who do so have met. Returns how many it
    /// carried out in a second.
    fn set_up(&mut self, all: &Barrier) -> f64 {
        let messages = self.case.messages(&self.catalogue);
        let mut waiting: VecDeque<(u32, Message)> = (0..).zip(messages).collect();
        let count = waiting.len() as f64;
        drop(self.workers.sent());
        all.wait();
        let began = Instant::now();
        while !waiting.is_empty() {
            let batch = waiting.drain(..waiting.len().min(BATCH));
            let now = Time(self.clock.elapsed().as_nanos() as u64);
            self.workers.messages(now, CONN, batch).unwrap();
        }
        let took = began.elapsed();
        let mut refusals = self.workers.sent();
        // An extension also tells controllers what it has done.
        refusals.retain(|sent| matches!(sent.message, Message::Error(_)));
        assert!(refusals.is_empty(), "{refusals:?}");
        let dispatch = self.workers.dispatch().to_string();
        assert_eq!(dispatch, self.case.dispatch());
        count / took.as_secs_f64()
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

    /// The packets that entries have counted which output to this port.
    fn counted(&mut self, out_port: PortNo) -> u64 {
        let now = self.now();
        let request = FlowStatsRequest {
            out_port,
            ..FlowStatsRequest::all()
        };
        let message = Message::MultipartRequest(RequestBody::Aggregate(request).into());
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

    /// Checks the result of so many rounds.
    fn check(&mut self, rounds: usize) {
        let packets = (rounds * PACKETS * self.count) as u64;
        let counted = self.counted(PortNo::ANY);
        assert_eq!(counted, packets, "every packet was counted");
        let passing = self.rounds.passing.load(Relaxed);
        let passed = self.counted(PASSED);
        assert_eq!(passed, passing, "those passed that should have");
    }
}

/// Compares one worker with others up to this number, in turns, so that what else the machine does
/// slows all of them down.
fn compare_rates(case: Case, most: usize) -> Vec<Point> {
    let numbers = 1..=most;
    let mut benches: Vec<Bench> = numbers.map(|count| Bench::new(count, case)).collect();
    for bench in &mut benches {
        bench.set_up(&Barrier::new(1));
    }
    let mut rates = vec![Vec::new(); most];
    let mut times = vec![Vec::new(); most];
    for round in 0..=ROUNDS {
        let now: Vec<f64> = benches.iter_mut().map(Bench::round).collect();
        // In the first, flows are not known yet.
        if round == 0 {
            continue;
        }
        for (place, rate) in now.iter().enumerate() {
            rates[place].push(rate / 1e6);
            times[place].push(rate / now[0]);
        }
    }
    for bench in &mut benches {
        bench.check(ROUNDS + 1);
    }
    let mut points = Vec::new();
    for ((bench, rates), times) in benches.iter().zip(rates).zip(times) {
        points.push(Point {
            workers: bench.count,
            mpps: Spread::of(rates),
            times: Spread::of(times),
        });
    }
    points
}

/// Prints what was measured in a case, as rows of a table.
fn print(case: Case, points: &[Point]) {
    for point in points {
        println!(
            "| {} | {} | {} | {} | {:.2} |",
            case.name,
            point.workers,
            point.mpps,
            point.times,
            model(point.workers, case.flows)
        );
    }
}

/// The flow-mods a second of the slowest of some switches that make them at once, each with so many
/// workers.
fn flow_mods(switches: usize, workers: usize) -> f64 {
    let all = Barrier::new(switches);
    let add = || Bench::new(workers, FLOW_MODS).set_up(&all);
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
    let [one, beside, two] = rates.map(|rates| Spread::of(rates).median);
    let [of_one, of_beside] = times.map(|times| Spread::of(times).median);
    println!(
        "{}: {one:.0}/s, beside another switch {beside:.0}/s, with two workers {two:.0}/s, \
         {of_one:.2} and {of_beside:.2} times",
        FLOW_MODS.name
    );
}

/// The folder after `--plot`; `None` if no plot is wanted.
fn plot_folder() -> Option<PathBuf> {
    let mut words = std::env::args().skip_while(|word| word != "--plot");
    words.next()?;
    Some(words.next().expect("--plot has a folder").into())
}

fn main() {
    let folder = plot_folder();
    let processors = std::thread::available_parallelism().unwrap().get();
    println!("| case | workers | Mpps: median (least to most) | times one worker | the model |");
    println!("|---|---|---|---|---|");
    let mut measured = Vec::new();
    for case in CASES {
        let points = compare_rates(case, processors.min(MOST_WORKERS));
        print(case, &points);
        measured.push((case, points));
    }
    if let Some(folder) = folder {
        let path = folder.join("workers-rate.svg");
        std::fs::write(&path, plot::picture(&measured)).unwrap();
        println!("drawn in {}", path.display());
    }
    compare_flow_mods();
}
