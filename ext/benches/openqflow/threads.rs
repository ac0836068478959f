//! Measures how throughput scales when flows are split by tuple over switches on several threads.

use std::hash::{DefaultHasher, Hash, Hasher};

use bofuss_datapath::{DEFAULT_QUEUE, QueueSpec, Rate};
use bofuss_oflib::PortNo;

use super::{Case, Order, PACKETS, ROUNDS, Sequence, bar, tuple};

/// Flows of all threads together.
const FLOWS: u32 = 20_000;
/// The rate of the calendar's port, more than its packets need.
const PORT_KBPS: u32 = 40_000_000;
/// The least throughput, as a part of what one thread does, times the number of threads.
const LEAST_PART: f64 = 0.9;

/// The thread of a flow, by its 5-tuple.
fn thread_of(flow: u32, threads: usize) -> usize {
    let tuple = tuple(flow);
    let mut hasher = DefaultHasher::new();
    (tuple.source, tuple.destination, tuple.ports, tuple.ip_proto).hash(&mut hasher);
    (hasher.finish() % threads as u64) as usize
}

/// Sends the packets of one thread's flows through a switch of its own with a calendar queue.
/// Returns the nanoseconds of processor time.
fn work(thread: usize, threads: usize) -> f64 {
    let is_ours = |flow: &u32| thread_of(*flow, threads) == thread;
    let mut case = Case::new("threads", FLOWS, true, true);
    let spec = QueueSpec {
        max: Some(Rate::Kbps(PORT_KBPS)),
        ..QueueSpec::default()
    };
    let port = PortNo(2);
    let now = case.now;
    let Case { datapath, seen, .. } = &mut case;
    datapath
        .port_control(now, seen)
        .set_discipline(port, "ceta2")
        .unwrap();
    datapath
        .modify_queue(now, port, DEFAULT_QUEUE, spec)
        .unwrap();
    let flows: Vec<u32> = (0..FLOWS).filter(is_ours).collect();
    case.send_all(&flows);
    let mut sequence = Sequence {
        order: Order::Random,
        flows: FLOWS,
        state: 1,
    };
    let all = (0..PACKETS).map(|_| sequence.next());
    let packets: Vec<u32> = all.filter(is_ours).collect();
    case.send_all(&packets) * packets.len() as f64
}

/// The shortest of several rounds. A round takes as long as its slowest thread.
fn shortest(threads: usize) -> f64 {
    let mut shortest = f64::INFINITY;
    for _ in 0..ROUNDS {
        let running: Vec<_> = (0..threads)
            .map(|thread| std::thread::spawn(move || work(thread, threads)))
            .collect();
        let times = running.into_iter().map(|one| one.join().unwrap());
        shortest = times.fold(0.0, f64::max).min(shortest);
    }
    shortest
}

/// Compares all processors with one, by the processor time of threads.
pub(crate) fn threads() -> bool {
    let cores = std::thread::available_parallelism().unwrap().get();
    let scale = shortest(1) / shortest(cores);
    println!("threads, {FLOWS} flows and calendars split over {cores}: {scale:.2} times as much");
    let least = LEAST_PART * cores as f64;
    bar(&format!("threads, at least {least} times"), scale >= least)
}
