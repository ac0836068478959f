//! The cases: what is done between two hosts, and which figures come of it.

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bofuss_oflib::message::FlowModCommand;

use crate::net::{B_ADDRESS, Bed, HOST_PORT};
use crate::openflow::{adds, codec, encode, mods};
use crate::setup::{Forwarder, Setup};
use crate::traffic::{FIRST_PORT, Load, send};
use crate::{echo, switch_case};

/// Frames of a run at saturation.
pub const FRAMES: u64 = 300_000;
/// Frames of a run below saturation: a share of a second's.
const FRAMES_BELOW: u64 = 100_000;
/// Echoes of a run.
const ECHOES: usize = 10_000;
/// Seconds of TCP.
const TCP_SECONDS: u64 = 2;
/// The share of frames that must arrive for a figure to count: else something is broken.
const MIN_DELIVERED: f64 = 0.01;
/// How long nothing must arrive until all has.
const QUIET: Duration = Duration::from_millis(50);
/// The port on which host B echoes.
const ECHO_PORT: u16 = FIRST_PORT;

/// Where a case runs.
pub struct Context<'a> {
    /// The hosts.
    pub bed: &'a Bed,
    /// What joins them.
    pub forwarder: &'a Forwarder,
    /// The case's parameter.
    pub parameter: u32,
}

/// Figures of a case, in the order of its metrics.
pub type Figures = Result<Vec<f64>, String>;

/// One case.
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// What it is, for a title.
    pub title: &'static str,
    /// What its parameter counts, and the values that it takes; one row without name for none.
    pub parameters: (&'static str, &'static [u32]),
    /// Its figures: name and unit.
    pub metrics: &'static [(&'static str, &'static str)],
    /// Whether the hosts use their offloads.
    pub offloads: bool,
    /// Whether only switches can do it.
    pub switches_only: bool,
    run: fn(&Context<'_>) -> Figures,
}

const NONE: (&str, &[u32]) = ("", &[0]);
const FRAME_METRICS: &[(&str, &str)] = &[("processor", "ns/frame"), ("rate", "frames/s")];

/// All cases.
pub const CASES: &[Case] = &[
    Case {
        name: "frames",
        title: "64-byte frames one way, at saturation",
        parameters: NONE,
        metrics: FRAME_METRICS,
        offloads: false,
        switches_only: false,
        run: |c| frames(c, Load::of(FRAMES)),
    },
    Case {
        name: "both-ways",
        title: "64-byte frames both ways, at saturation",
        parameters: NONE,
        metrics: FRAME_METRICS,
        offloads: false,
        switches_only: false,
        run: both_ways,
    },
    Case {
        name: "share",
        title: "64-byte frames at a share of what the set-up carries",
        parameters: ("percent", &[10, 50]),
        metrics: FRAME_METRICS,
        offloads: false,
        switches_only: false,
        run: share,
    },
    Case {
        name: "tcp",
        title: "TCP with offloads",
        parameters: ("streams", &[1, 4]),
        metrics: TCP_METRICS,
        offloads: true,
        switches_only: false,
        run: tcp,
    },
    Case {
        name: "tcp-plain",
        title: "TCP without offloads",
        parameters: ("streams", &[1, 4]),
        metrics: TCP_METRICS,
        offloads: false,
        switches_only: false,
        run: tcp,
    },
    Case {
        name: "rtt",
        title: "UDP echoes, one at a time",
        parameters: ("bytes", &[64, 128, 256]),
        metrics: &[("p50", "us"), ("p99", "us")],
        offloads: false,
        switches_only: false,
        run: |c| echoes(c, ECHOES, false),
    },
    Case {
        name: "flows",
        title: "64-byte frames of many flows in random order, one rule",
        parameters: ("flows", &[1, 10, 1_000, 10_000, 100_000, 1_000_000]),
        metrics: FRAME_METRICS,
        offloads: false,
        switches_only: true,
        run: |c| frames(c, spread(c.parameter)),
    },
    Case {
        name: "rules",
        title: "64-byte frames of many flows in random order, a rule for each",
        parameters: ("rules", &[10, 1_000, 100_000, 1_000_000]),
        metrics: FRAME_METRICS,
        offloads: false,
        switches_only: true,
        run: switch_case::rules,
    },
    Case {
        name: "tables",
        title: "64-byte frames through many tables",
        parameters: ("tables", &[1, 5, 20]),
        metrics: FRAME_METRICS,
        offloads: false,
        switches_only: true,
        run: switch_case::tables,
    },
    Case {
        name: "masks",
        title: "64-byte frames that rules of so many masks do not match",
        parameters: ("masks", &[1, 16, 128, 512]),
        metrics: FRAME_METRICS,
        offloads: false,
        switches_only: true,
        run: switch_case::masks,
    },
    Case {
        name: "flow-mods",
        title: "flow-mods over one TCP connection",
        parameters: ("rules", &[100_000, 1_000_000]),
        metrics: &[
            ("rate", "flow-mods/s"),
            ("memory", "bytes/rule"),
            ("statistics", "ms for all"),
        ],
        offloads: false,
        switches_only: true,
        run: switch_case::flow_mods,
    },
    Case {
        name: "churn",
        title: "64-byte frames while 10,000 flow-mods a second are made",
        parameters: NONE,
        metrics: FRAME_METRICS,
        offloads: false,
        switches_only: true,
        run: switch_case::churn,
    },
    Case {
        name: "first-packet",
        title: "first packets: packet-in, flow-mod, packet-out",
        parameters: NONE,
        metrics: &[("p50", "us"), ("p99", "us")],
        offloads: false,
        switches_only: true,
        run: switch_case::first_packets,
    },
    Case {
        name: "packet-ins",
        title: "packet-ins that a controller gets when every frame misses",
        parameters: NONE,
        metrics: &[("rate", "packet-ins/s")],
        offloads: false,
        switches_only: true,
        run: switch_case::packet_ins,
    },
];

const TCP_METRICS: &[(&str, &str)] = &[("processor", "ns/KB"), ("rate", "Gb/s")];

impl Case {
    /// Whether it says something of this set-up.
    pub fn suits(&self, setup: Setup) -> bool {
        let by_kind = setup.is_switch() || !self.switches_only;
        // Open vSwitch loses what comes with an unfinished checksum, unless userspace-tso is on.
        let by_offloads = match setup {
            Setup::Ovs | Setup::OvsXdp => !self.offloads,
            Setup::OvsTso => self.offloads,
            Setup::Direct | Setup::Bridge | Setup::Yardstick | Setup::Bofuss => true,
        };
        by_kind && by_offloads
    }

    /// Runs it, and leaves a switch with its two rules.
    ///
    /// Errors: a wrong result, or what failed.
    pub fn run(&self, context: &Context<'_>, setup: Setup) -> Figures {
        let figures = (self.run)(context);
        if setup.is_switch() && self.switches_only {
            let mut session = context.forwarder.session()?;
            let codec = codec();
            let mut reset = encode(
                &codec,
                mods(&codec.catalogue, FlowModCommand::DELETE, [""])?,
            );
            reset.extend(adds(&codec, BASE)?);
            session.change(&reset)?;
        }
        figures
    }
}

/// The rules of a switch between two hosts.
pub const BASE: [&str; 2] = [
    "priority=10,in_port=1,actions=output:2",
    "priority=10,in_port=2,actions=output:1",
];

pub fn spread(flows: u32) -> Load {
    Load {
        flows,
        ..Load::of(FRAMES)
    }
}

/// Sends a load; processor nanoseconds per delivered frame, and delivered frames per second.
pub fn frames(c: &Context<'_>, load: Load) -> Figures {
    let before = c.bed.received(!load.back)?;
    let cpu = c.forwarder.cpu_nanos();
    let start = Instant::now();
    c.bed.host(load.back, || send(HOST_PORT, load))?;
    let (received, last) = drained(|| c.bed.received(!load.back))?;
    let took = last - start;
    let cpu = c.forwarder.cpu_nanos() - cpu;
    let delivered = (received - before) as f64;
    if delivered < load.frames as f64 * MIN_DELIVERED {
        return Err(format!("{delivered} of {} frames arrived", load.frames));
    }
    Ok(vec![cpu / delivered, delivered / took.as_secs_f64()])
}

/// Waits until nothing arrives any more: how much has, and when that was seen first.
fn drained(count: impl Fn() -> Result<u64, String>) -> Result<(u64, Instant), String> {
    let (mut seen, mut at) = (count()?, Instant::now());
    while at.elapsed() < QUIET {
        std::thread::sleep(Duration::from_millis(2));
        let now = count()?;
        if now != seen {
            (seen, at) = (now, Instant::now());
        }
    }
    Ok((seen, at))
}

fn both_ways(c: &Context<'_>) -> Figures {
    let received = || Ok::<u64, String>(c.bed.received(false)? + c.bed.received(true)?);
    let (before, cpu) = (received()?, c.forwarder.cpu_nanos());
    let sending = |back| {
        let load = Load {
            back,
            ..Load::of(FRAMES / 2)
        };
        c.bed.host(back, || send(HOST_PORT, load))
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| sending(true));
        sending(false)?;
        other.join().map_err(|_| "the other sender died")?
    })?;
    let (received, last) = drained(received)?;
    let (delivered, took) = ((received - before) as f64, last - start);
    let cpu = c.forwarder.cpu_nanos() - cpu;
    Ok(vec![cpu / delivered, delivered / took.as_secs_f64()])
}

fn share(c: &Context<'_>) -> Figures {
    let full = frames(c, Load::of(FRAMES))?[1];
    let rate = (full * f64::from(c.parameter) / 100.0) as u64;
    let load = Load {
        rate,
        ..Load::of(FRAMES_BELOW * u64::from(c.parameter) / 100)
    };
    frames(c, load)
}

/// A process that is stopped when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn tcp(c: &Context<'_>) -> Figures {
    let failed = |e: std::io::Error| format!("iperf3: {e}");
    let server = c.bed.host(true, || {
        let mut server = Command::new("iperf3");
        server.args(["-s", "-1"]).stdout(Stdio::null());
        server.stderr(Stdio::null()).spawn().map_err(failed)
    })?;
    let _server = Running(server);
    std::thread::sleep(Duration::from_millis(200));
    let cpu = c.forwarder.cpu_nanos();
    let output = c.bed.host(false, || {
        let mut client = Command::new("iperf3");
        client.args(["-J", "-C", "cubic", "-c", &B_ADDRESS.to_string()]);
        client.args(["-t", &TCP_SECONDS.to_string()]);
        client.args(["-P", &c.parameter.to_string()]);
        client.output().map_err(failed)
    })?;
    let cpu = c.forwarder.cpu_nanos() - cpu;
    let told: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("iperf3: {e}"))?;
    let figure = |name: &str| told["end"]["sum_received"][name].as_f64().unwrap_or(0.0);
    let (bytes, rate) = (figure("bytes"), figure("bits_per_second"));
    let sent = told["end"]["sum_sent"]["bytes"].as_f64().unwrap_or(0.0);
    if bytes < 1e6 || bytes > sent {
        return Err(format!(
            "TCP: {bytes} of {sent} bytes arrived: {}",
            told["error"]
        ));
    }
    Ok(vec![cpu / (bytes / 1024.0), rate / 1e9])
}

/// Echoes with host B; their median and 99th percentile in microseconds.
pub fn echoes(c: &Context<'_>, count: usize, fresh: bool) -> Figures {
    let over = AtomicBool::new(false);
    let times = std::thread::scope(|scope| {
        let serving = scope.spawn(|| {
            let serve = || echo::serve(B_ADDRESS, ECHO_PORT, || over.load(Relaxed));
            c.bed.host(true, serve)
        });
        std::thread::sleep(QUIET); // until it listens
        let size = c.parameter.max(64) as usize;
        let asked = c.bed.host(false, || {
            echo::ask((B_ADDRESS, ECHO_PORT), count, size, fresh)
        });
        over.store(true, Relaxed);
        serving.join().map_err(|_| "the echo server died")??;
        asked
    })?;
    let at = |quantile| times.value_at_quantile(quantile) as f64 / 1000.0;
    Ok(vec![at(0.5), at(0.99)])
}
