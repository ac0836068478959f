//! Measures how far from their time scheduled bundles take effect: the daemon, and a bare timer in
//! the same run.
//!
//! `cargo bench -p bofuss-switchd --bench schedule`. A client schedules bundles on a running
//! switch, one after another; each has to be carried out. What the switch counts, from the time
//! asked for until the next packet meets the new tables, is compared with a timer that wakes a
//! thread.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bofuss_channel::{ActiveAddress, Client, CommitTime};
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::{Catalogue, Message, Version};
use rustix::time::{ClockId, clock_gettime};

/// The number of bundles of each size.
const BUNDLES: u32 = 200;
/// The sizes: flow-mods in a bundle.
const MODS: [u32; 3] = [1, 100, 1_000];
/// The time by which a bundle is scheduled ahead: more than its messages take.
const AHEAD: Duration = Duration::from_millis(60);
/// The time of a bare timer.
const TIMER: Duration = Duration::from_millis(5);
/// The time that the switch may take to start, and to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The metric of the switch.
const ERRORS: &str = "bofuss_bundle_commit_error_seconds";

/// A switch without ports; it ends with this.
struct Daemon {
    process: Child,
    listen: String,
    metrics: String,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port that nobody listens at.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

impl Daemon {
    fn start() -> Self {
        let listen = free_port();
        let metrics = free_port();
        let name = format!("bench-{}", std::process::id());
        let mut command = Command::new(env!("CARGO_BIN_EXE_bofuss"));
        command.args(["run", "--name", &name, "--fail-mode", "secure"]);
        command.arg(format!("--listen=ptcp:{listen}:127.0.0.1"));
        command.arg(format!("--metrics={metrics}"));
        let this = Self {
            process: command.stderr(Stdio::null()).spawn().unwrap(),
            listen: format!("tcp:127.0.0.1:{listen}"),
            metrics: format!("127.0.0.1:{metrics}"),
        };
        let end = Instant::now() + PATIENCE;
        while TcpStream::connect(&this.metrics).is_err() {
            assert!(Instant::now() < end, "the switch starts");
            std::thread::sleep(Duration::from_millis(20));
        }
        this
    }

    /// The switch's histogram of errors: bounds in seconds, each with how many bundles were at most
    /// so far from their time. The last bound is infinite.
    fn errors(&self) -> Vec<(f64, u64)> {
        let mut stream = TcpStream::connect(&self.metrics).unwrap();
        let request = "GET /metrics HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let mut counts = Vec::new();
        let buckets = text
            .lines()
            .filter(|line| line.starts_with(ERRORS) && line.contains("le="));
        for line in buckets {
            let (labels, count) = line.rsplit_once(' ').unwrap();
            let (_, bound) = labels.rsplit_once("le=\"").unwrap();
            let bound = bound.split('"').next().unwrap().replace("+Inf", "inf");
            counts.push((bound.parse().unwrap(), count.parse().unwrap()));
        }
        counts
    }
}

/// Returns how late a thread wakes up that sleeps for [`TIMER`].
fn timer() -> Duration {
    let start = Instant::now();
    std::thread::sleep(TIMER);
    start.elapsed() - TIMER
}

/// The time since 1970, by the switch's clock.
fn clock() -> Duration {
    let now = clock_gettime(ClockId::Realtime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Schedules bundles of `mods` flow-mods each, all of which take effect. Returns how late the bare
/// timers were.
async fn run(client: &mut Client, mods: u32) -> Vec<Duration> {
    let catalogue = Catalogue::default();
    let mut timers = Vec::new();
    for round in 0..BUNDLES {
        let mut messages = Vec::new();
        for n in 0..mods {
            let [_, a, b, c] = n.to_be_bytes();
            let port = round % 7 + 1;
            let text = format!("ip,nw_src=10.{a}.{b}.{c},actions=output:{port}");
            let flow = parse_flow(&text, FlowModCommand::ADD, &catalogue).unwrap();
            messages.push(Message::FlowMod(flow));
        }
        let now = clock();
        let at = now + AHEAD;
        let errors = client
            .transact_in_bundle(&messages, Some(CommitTime { at, now }))
            .await;
        assert!(errors.unwrap().is_empty(), "it is carried out");
        assert!(clock() >= at, "and not before its time");
        timers.push(timer());
    }
    timers
}

/// The bound in microseconds that this percentage of bundles did not exceed.
fn bound(before: &[(f64, u64)], after: &[(f64, u64)], percentage: u32) -> f64 {
    let wanted = u64::from(BUNDLES * percentage / 100);
    let mut kept = before.iter().zip(after);
    let found = kept.find(|(old, new)| new.1 - old.1 >= wanted);
    found.expect("all are counted").1.0 * 1e6
}

fn main() {
    let daemon = Daemon::start();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let address: ActiveAddress = daemon.listen.parse().unwrap();
    let catalogue = Arc::new(Catalogue::default());
    let mut before = daemon.errors();
    println!("{BUNDLES} bundles each: how far from their time they were at most; a bare timer");
    for mods in MODS {
        let mut timers = runtime.block_on(async {
            let versions = [Version::V1_4];
            let client = Client::connect(&address, &versions, &catalogue, None, PATIENCE).await;
            run(&mut client.unwrap(), mods).await
        });
        let after = daemon.errors();
        timers.sort_unstable();
        let micros = |part: usize| timers[timers.len() * part / 100].as_secs_f64() * 1e6;
        println!(
            "{mods:>6} mods: median {:>6.0} us, p99 {:>6.0} us; \
             timer: median {:>6.0} us, p99 {:>6.0} us",
            bound(&before, &after, 50),
            bound(&before, &after, 99),
            micros(50),
            micros(99),
        );
        before = after;
    }
}
