//! `spine-leaf-live`: throughput and completion time of flows of the kernel's TCP between servers
//! in network namespaces, through eight switches of a set-up.
//!
//! The links are slower than the paper's by a factor, so that two processors suffice, and fewer
//! flows begin in a second by the same factor. Times are divided by it, and rates multiplied.

use std::cell::RefCell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};

use bofuss_ports::NetNs;
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Builder;
use tokio::task::LocalSet;
use tokio::time::{sleep, sleep_until, timeout};

use crate::cases::point::{CaseVerdict, EndedFlow, Point, PointOutcome};
use crate::cases::workbench::{Limits, Workbench};
use crate::data_centre::fabric::{Fabric, FabricPlan, burst_bytes, unsupported};
use crate::data_centre::fct::{
    self, FLOWS, LINK_MBPS, MostBytes, REDUCED_FLOWS, REDUCED_WARM_UP, WARM_UP, form_note,
    paths_of, plan_at,
};
use crate::data_centre::flow_classes::{
    IMBALANCE, PROCESSOR_TIME, PROCESSOR_TIME_OF, add_load, by_class,
};
use crate::data_centre::flow_sizes::{ArrivalPlan, FlowArrival};
use crate::data_centre::leaf_spine::LeafSpine;
use crate::error::Result;
use crate::statistics::numbers::lasting;
use crate::statistics::{greatest, least, mean};
use crate::subject::SetupName;
use crate::testbed::net::context;
use crate::testbed::processors::processor_ticks;

/// The name of the case.
pub const NAME: &str = "spine-leaf-live";
/// Bytes at which flows are cut off, unless the user says otherwise: the most of web search, so
/// that there are elephants. A run takes hours, which are printed before it begins.
const MOST_BYTES: MostBytes = MostBytes {
    long: 30e6,
    short: 30e3,
};
/// Links from server to server.
const LINKS: f64 = 4.0;
/// The metric of what full token buckets on its way take off a flow's time.
const BUCKETS: &str = "time that full buckets take off a flow after a pause, at most";
/// Flows in the shortest form.
const SHORT_WARM_UP: usize = 10;
const SHORT_FLOWS: usize = 60;
/// Seconds after the last arrival in which flows may end, at the paper's rate of links.
const PATIENCE: f64 = 4.0;
const REDUCED_PATIENCE: f64 = 2.0;
/// Seconds that starting and stopping a network take, for the time that is announced.
const START_SECONDS: f64 = 10.0;
/// Connections by which the round-trip time of an idle network is measured, and how long the first
/// may take.
const CONNECTIONS: usize = 5;
const FIRST_CONNECTION: Duration = Duration::from_secs(20);
/// The port of the servers.
const PORT: u16 = 5_001;
/// Bytes that are written and read at once.
const CHUNK: usize = 16 << 10;
/// The interval at which it is checked whether the user wants an end.
const PAUSE: Duration = Duration::from_millis(100);
/// The share of the processors' time above which the machine, and not the links, is measured.
const MOST_BUSY: f64 = 0.8;
/// Files that may be open: two for each flow at the same time.
const FILES: u64 = 16_384;

/// The points: those of the simulation; in the shortest form one for each way to choose paths.
pub fn points(limits: &Limits) -> Vec<Point> {
    let mut points = fct::points(limits);
    if limits.short {
        points.truncate(2);
    }
    points
}

/// The run that a point asks for.
struct LiveRun {
    network: LeafSpine,
    arrivals: Vec<FlowArrival>,
    warm_up: usize,
    scale: f64,
    /// Seconds after the last arrival in which flows may end.
    patience: f64,
}

/// The arrivals of a point, on links that are slower by the scale.
fn plan(limits: &Limits, point: &Point) -> ArrivalPlan<'static> {
    let link_bps = LINK_MBPS * 1e6 / f64::from(limits.scale);
    plan_at(link_bps, MOST_BYTES, limits, point)
}

/// The most time that a point takes on a set-up, in seconds, roughly.
pub fn seconds(limits: &Limits, setup: &SetupName, point: &Point) -> f64 {
    if unsupported(setup, is_arp_path(point)).is_some() {
        return 0.0;
    }
    let arrivals = plan(limits, point).arrivals(1, flow_count(limits));
    let last = arrivals.last().map_or(0.0, |last| last.start);
    START_SECONDS + last + patience(limits)
}

/// Seconds after the last arrival in which flows may end.
fn patience(limits: &Limits) -> f64 {
    let usual = if limits.reduced {
        REDUCED_PATIENCE
    } else {
        PATIENCE
    };
    usual * f64::from(limits.scale)
}

/// What is said before a run: its form, and how long it takes.
pub fn announcement(seconds: f64, reduced: bool) -> String {
    let form = if reduced { ", reduced form," } else { "" };
    format!("{NAME}{form} takes about {}", lasting(seconds))
}

/// The flows of a point that do not count.
fn warm_up(limits: &Limits) -> usize {
    match (limits.short, limits.reduced) {
        (true, _) => SHORT_WARM_UP,
        (false, true) => REDUCED_WARM_UP,
        (false, false) => WARM_UP,
    }
}

/// All flows of a point.
fn flow_count(limits: &Limits) -> usize {
    let counting = match (limits.short, limits.reduced) {
        (true, _) => SHORT_FLOWS,
        (false, true) => REDUCED_FLOWS,
        (false, false) => FLOWS,
    };
    warm_up(limits) + counting
}

fn is_arp_path(point: &Point) -> bool {
    paths_of(point) != "hash"
}

/// Starts the network of a point and sends its flows; the seed is the number of the repeat, so that
/// all set-ups have the same flows.
pub fn run(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    let arp_path = is_arp_path(point);
    let Some(own) = &bench.subject.own else {
        let note = "a switch that is there is not started as a network";
        return Ok(PointOutcome::of(CaseVerdict::Unsupported, note));
    };
    if let Some(note) = unsupported(&own.setup, arp_path) {
        return Ok(PointOutcome::of(CaseVerdict::Unsupported, note));
    }
    let network = LeafSpine::of(bench.limits);
    let plan = plan(bench.limits, point);
    let live = LiveRun {
        network,
        arrivals: plan.arrivals(u64::from(bench.round), flow_count(bench.limits)),
        warm_up: warm_up(bench.limits),
        scale: f64::from(bench.limits.scale),
        patience: patience(bench.limits),
    };
    let fabric = Fabric::start(&FabricPlan {
        network,
        link_bps: plan.link_bps,
        arp_path,
        setup: own.setup.clone(),
        programs: own.programs.clone(),
        original: own.original.clone(),
    })?;
    let mut outcome = live.measure(&fabric, bench.over)?;
    add_load(&mut outcome, &plan, &live.arrivals);
    let at_once = LINKS * burst_bytes(plan.link_bps) * 8.0 / (LINK_MBPS * 1e6);
    outcome.add(BUCKETS, "us", at_once * 1e6);
    outcome.notes.extend(form_note(bench.limits));
    outcome.notes.push(format!(
        "live: {} spines, {} leaves, {} servers; links of {} Mb/s, times and rates are scaled to \
         {LINK_MBPS} Mb/s; flows are cut off at {} bytes",
        network.spines,
        network.leaves,
        network.servers(),
        plan.link_bps / 1e6,
        plan.most_bytes
    ));
    Ok(outcome)
}

impl LiveRun {
    /// Sends the flows, and counts what it cost.
    fn measure(&self, fabric: &Fabric, over: &(dyn Fn() -> bool + Sync)) -> Result<PointOutcome> {
        allow_files();
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(context("a runtime"))?;
        let tasks = LocalSet::new();
        let mut servers = Vec::new();
        for server in &fabric.servers {
            servers.push(server.try_clone().map_err(context("a namespace"))?);
        }
        let servers = Rc::new(servers);
        let round_trip = tasks.block_on(&runtime, async {
            for server in servers.iter() {
                let socket = in_namespace(server, listening)?;
                let listener = TcpListener::from_std(socket).map_err(context("a socket"))?;
                tokio::task::spawn_local(answer(listener));
            }
            idle_round_trip(&servers, &self.network).await
        })?;
        let resent = fabric.resent()?;
        let spines = fabric.spine_bytes()?;
        let nanos = fabric.cpu_nanos();
        let of_each = fabric.cpu_of_each();
        let (busy, ticks) = processor_ticks();
        let ended = tasks.block_on(&runtime, self.send_all(&servers, over));
        let (busy_after, ticks_after) = processor_ticks();
        let share = (busy_after - busy) / (ticks_after - ticks).max(1.0);
        let nanos = fabric.cpu_nanos() - nanos;
        let of_each_after = fabric.cpu_of_each();
        let resent = fabric.resent()? - resent;
        let after = fabric.spine_bytes()?;
        let carried: Vec<f64> = after.iter().zip(&spines).map(|(a, b)| a - b).collect();
        let mut flows = Vec::new();
        for (arrival, seconds) in self.arrivals.iter().zip(&ended).skip(self.warm_up) {
            flows.push(EndedFlow {
                bytes: arrival.bytes,
                seconds: seconds.map(|seconds| seconds / self.scale),
            });
        }
        let mut outcome = by_class(&flows, LINK_MBPS * 1e6, round_trip / self.scale);
        outcome.add("segments sent again", "", resent);
        outcome.add(IMBALANCE, "times", greatest(&carried) / mean(&carried));
        outcome.add("round trip, idle and unscaled", "us", round_trip * 1e6);
        outcome.add(PROCESSOR_TIME, "s", nanos / 1e9);
        for ((name, before), (_, after)) in of_each.iter().zip(&of_each_after) {
            let of_one = format!("{PROCESSOR_TIME_OF}{name}");
            outcome.add(&of_one, "s", (after - before) / 1e9);
        }
        outcome.add("processors busy", "%", share * 100.0);
        if share > MOST_BUSY {
            outcome.beyond.push(format!(
                "processors were busy for {:.0} % of the time: try a higher --scale",
                share * 100.0
            ));
        }
        Ok(outcome)
    }

    /// Sends all flows at their times. Returns the seconds that each took, if it ended in time.
    async fn send_all(
        &self,
        servers: &Rc<Vec<NetNs>>,
        over: &(dyn Fn() -> bool + Sync),
    ) -> Vec<Option<f64>> {
        let ended = Rc::new(RefCell::new(vec![None; self.arrivals.len()]));
        let left = Rc::new(RefCell::new(self.arrivals.len()));
        let start = tokio::time::Instant::now() + PAUSE;
        let mut tasks = Vec::new();
        for (number, flow) in self.arrivals.iter().enumerate() {
            let at = start + Duration::from_secs_f64(flow.start);
            let to = address(&self.network, flow.servers.1);
            let flow = *flow;
            let servers = Rc::clone(servers);
            let ended = Rc::clone(&ended);
            let left = Rc::clone(&left);
            tasks.push(tokio::task::spawn_local(async move {
                sleep_until(at).await;
                // A flow that fails is one without an end; one that begins late took longer.
                if send(&servers[flow.servers.0], to, flow.bytes).await.is_ok() {
                    ended.borrow_mut()[number] = Some(at.elapsed().as_secs_f64());
                }
                *left.borrow_mut() -= 1;
            }));
        }
        let last = self.arrivals.last().map_or(0.0, |last| last.start);
        let end = start + Duration::from_secs_f64(last + self.patience);
        while *left.borrow() > 0 && tokio::time::Instant::now() < end && !over() {
            sleep(PAUSE).await;
        }
        for task in tasks {
            task.abort();
        }
        ended.take()
    }
}

/// Raises the number of files that this process may open, as far as it may.
fn allow_files() {
    let mut files = getrlimit(Resource::Nofile);
    let most = files.maximum.unwrap_or(FILES);
    if files
        .current
        .is_some_and(|current| current < FILES.min(most))
    {
        files.current = Some(FILES.min(most));
        // If it is not allowed, flows that get no socket fail.
        let _ = setrlimit(Resource::Nofile, files);
    }
}

fn address(network: &LeafSpine, server: usize) -> SocketAddr {
    let leaf = network.leaf(server) as u8;
    let number = (server % network.servers_per_leaf + 1) as u8;
    SocketAddr::from((Ipv4Addr::new(10, leaf, 0, number), PORT))
}

/// Runs what may fail in a namespace.
fn in_namespace<T: Send>(
    namespace: &NetNs,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> Result<T> {
    let failed = context("a server");
    namespace.run(work).map_err(failed)?.map_err(failed)
}

fn listening() -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Reads what comes over each connection until its end.
async fn answer(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::task::spawn_local(read_all(stream));
    }
}

/// Reads to the end and closes: the peer then knows that all has arrived.
async fn read_all(mut stream: TcpStream) {
    let mut chunk = vec![0; CHUNK];
    while stream.read(&mut chunk).await.is_ok_and(|count| count > 0) {}
}

/// A connection from a server.
async fn connected(from: &NetNs, to: SocketAddr) -> Result<TcpStream> {
    // The socket belongs to the namespace in which it was made.
    let socket = in_namespace(from, TcpSocket::new_v4)?;
    // Nothing stays in the kernel after the end of a flow, or of a run.
    socket.set_zero_linger().map_err(context("a socket"))?;
    socket.connect(to).await.map_err(context("a flow"))
}

/// Sends bytes from a server, and waits until all have arrived.
async fn send(from: &NetNs, to: SocketAddr, bytes: u64) -> Result<()> {
    let failed = context("a flow");
    let mut stream = connected(from, to).await?;
    let chunk = [0; CHUNK];
    let mut left = bytes as usize;
    while left > 0 {
        let part = &chunk[..left.min(CHUNK)];
        left -= stream.write(part).await.map_err(failed)?;
    }
    stream.shutdown().await.map_err(failed)?;
    stream.read(&mut [0]).await.map_err(failed)?;
    Ok(())
}

/// The round-trip time of an idle network in seconds: the least of some connections. Waits until
/// the network carries frames.
async fn idle_round_trip(servers: &[NetNs], network: &LeafSpine) -> Result<f64> {
    let to = address(network, network.servers() - 1);
    let first = timeout(FIRST_CONNECTION, connected(&servers[0], to)).await;
    first.map_err(|_| "the network carries nothing from leaf to leaf")??;
    let mut times = Vec::new();
    for _ in 0..CONNECTIONS {
        let began = Instant::now();
        connected(&servers[0], to).await?;
        times.push(began.elapsed().as_secs_f64());
    }
    Ok(least(&times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_centre::flow_sizes::FlowClass;
    use crate::subject::SetupName;
    use crate::testbed::setup::Setup;

    #[test]
    fn the_reduced_form_takes_at_most_ten_minutes_and_says_what_it_is() {
        let limits = Limits {
            reduced: true,
            ..Limits::unbounded(false)
        };
        for setup in [SetupName::Known(Setup::Bofuss), SetupName::Original] {
            let all = points(&limits);
            let times = all.iter().map(|point| seconds(&limits, &setup, point));
            let sum: f64 = times.sum();
            assert!((60.0..=600.0).contains(&sum), "{sum} s");
            let said = announcement(sum, true);
            let head = "spine-leaf-live, reduced form, takes about ";
            assert!(said.starts_with(head) && said.ends_with(" min"), "{said}");
        }
        let note = form_note(&limits).unwrap();
        assert!(note.starts_with("reduced form: 100 flows"), "{note}");
        assert_eq!(form_note(&Limits::unbounded(false)), None);
    }

    #[test]
    fn elephants_are_among_the_flows_and_the_hours_of_the_long_form_are_said() {
        for reduced in [true, false] {
            let limits = Limits {
                reduced,
                ..Limits::unbounded(false)
            };
            for point in points(&limits) {
                let arrivals = plan(&limits, &point).arrivals(1, flow_count(&limits));
                let counting = arrivals.iter().skip(warm_up(&limits));
                let classes = counting.map(|flow| FlowClass::of(flow.bytes));
                let elephants = classes.filter(|class| *class == FlowClass::Elephant);
                assert!(elephants.count() > 0, "{}", point.name);
            }
        }
        let limits = Limits::unbounded(false);
        let ours = SetupName::Known(Setup::Bofuss);
        let all = points(&limits);
        let sum: f64 = all.iter().map(|point| seconds(&limits, &ours, point)).sum();
        let said = announcement(5.0 * sum, false);
        assert!(said.ends_with(" hours"), "{said}");
    }

    #[test]
    fn only_bofuss_chooses_paths_by_arp_path_and_a_bridge_is_no_network() {
        let limits = Limits::unbounded(false);
        let point = |paths: &str| {
            let all = points(&limits);
            all.into_iter()
                .find(|point| paths_of(point) == paths)
                .unwrap()
        };
        let takes = |setup, paths| seconds(&limits, &SetupName::Known(setup), &point(paths)) > 0.0;
        assert!(takes(Setup::Bofuss, "hash") && takes(Setup::Bofuss, "arp-path"));
        assert!(takes(Setup::Ovs, "hash") && !takes(Setup::Ovs, "arp-path"));
        assert!(!takes(Setup::Bridge, "hash"));
    }
}
