//! Streams of TCP between the two hosts, by iperf3.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::error::Result;
use crate::testbed::forwarder::Forwarder;
use crate::testbed::net::{B_ADDRESS, Bed, context};
use crate::testbed::processors::busy_nanos;

/// The time that iperf3 may take to listen.
const IPERF_PATIENCE: Duration = Duration::from_secs(10);
/// The time that its client may take to connect, in milliseconds: else the kernel tries for
/// minutes.
const IPERF_CONNECT_MS: u32 = 3_000;
/// Duration of a TCP run, in seconds.
pub const TCP_SECONDS: u64 = 2;

/// The bytes that arrived, and their cost.
pub struct TcpFigures {
    /// Processor time of the forwarder; 0 if it has no process.
    pub processor_ns_per_kb: f64,
    /// Busy time of all processors: also that of sender and receiver.
    pub machine_ns_per_kb: f64,
    /// The rate of all streams.
    pub gbps: f64,
}

/// A process that is stopped when dropped.
struct RunningChild(Child);

impl Drop for RunningChild {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns true if iperf3 listens in this network namespace: a connection of the run before may
/// still wait at its port.
fn iperf_listens(file: &str) -> bool {
    // As the kernel writes them, in hexadecimal.
    const PORT: &str = ":1451";
    const LISTEN: &str = "0A";
    let sockets = std::fs::read_to_string(format!("/proc/thread-self/net/{file}"));
    sockets.is_ok_and(|sockets| {
        let mut rows = sockets.lines().map(|row| row.split_whitespace());
        rows.any(|mut row| {
            let local = row.nth(1).is_some_and(|local| local.ends_with(PORT));
            local && row.nth(1) == Some(LISTEN)
        })
    })
}

/// Waits until iperf3 listens in this network namespace.
fn until_iperf_listens() -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < IPERF_PATIENCE {
        if iperf_listens("tcp") || iperf_listens("tcp6") {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err("iperf3 does not listen".into())
}

/// A number of iperf3's report; 0 if there is none.
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

/// Streams of TCP from host A to host B.
pub fn tcp(bed: &Bed, forwarder: &Forwarder, streams: u32) -> Result<TcpFigures> {
    let failed = context("iperf3");
    let mut serve = Command::new("iperf3");
    serve.args(["-s", "-1"]);
    serve.stdout(Stdio::null()).stderr(Stdio::null());
    let server = bed.host(true, || serve.spawn().map_err(failed))?;
    let _server = RunningChild(server);
    bed.host(true, until_iperf_listens)?;
    let cpu = forwarder.cpu_nanos();
    let busy = busy_nanos();
    let output = bed.host(false, || {
        let mut client = Command::new("iperf3");
        client.args(["-J", "-C", "cubic", "-c", &B_ADDRESS.to_string()]);
        client.args(["-t", &TCP_SECONDS.to_string()]);
        client.args(["--connect-timeout", &IPERF_CONNECT_MS.to_string()]);
        client.args(["-P", &streams.to_string()]);
        client.output().map_err(failed)
    })?;
    let cpu = forwarder.cpu_nanos() - cpu;
    let busy = busy_nanos() - busy;
    let report: Value =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("iperf3: {e}"))?;
    let received = &report["end"]["sum_received"];
    let bytes = number(&received["bytes"]);
    let sent = number(&report["end"]["sum_sent"]["bytes"]);
    if bytes < 1e6 || bytes > sent {
        return Err(format!("TCP: {bytes} of {sent} bytes arrived: {}", report["error"]).into());
    }
    Ok(TcpFigures {
        processor_ns_per_kb: cpu / (bytes / 1024.0),
        machine_ns_per_kb: busy / (bytes / 1024.0),
        gbps: number(&received["bits_per_second"]) / 1e9,
    })
}
