//! The case of a third host that sends super-frames of very many segments: how long others wait.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bofuss_frame::{Gso, GsoKind, Offload, Pool};
use bofuss_oflib::Mac;
use bofuss_packet::craft;
use bofuss_ports::{NetNs, PortDriver};
use hdrhistogram::Histogram;

use crate::bench::case::{CaseContext, Figures};
use crate::error::Result;
use crate::testbed::echo;
use crate::testbed::forwarder::SwitchPlan;
use crate::testbed::net::{
    A_ADDRESS, A_MAC, B_ADDRESS, B_MAC, HOST_PORT, context, namespace_path, run,
};
use crate::testbed::openflow::{adds, codec};
use crate::testbed::real_time::RealTime;
use crate::testbed::traffic::{self, FIRST_PORT};

/// The switch's end of the third host's cable.
const PORT: &str = "sc";
/// Bytes of TCP in a super-frame, and of each segment: the least that the switch takes, which makes
/// 1,250 segments.
const PAYLOAD_BYTES: usize = 60_000;
const SEGMENT_BYTES: u16 = 48;
/// The place where the IPv4 payload begins, and that of TCP's checksum in it.
const TCP_CHECKSUM: (u16, u16) = (34, 16);
const POOL_BYTES: usize = 4 << 20;
/// The pause between two super-frames: 200 per second.
const PAUSE: Duration = Duration::from_millis(5);
/// The actions for each super-frame, and how often they are repeated: two copies, one with a tag.
const COPY: &str = "push_vlan:0x8100,IN_PORT,pop_vlan,IN_PORT";
const COPIES: usize = 16;
/// Segments that the switch must send for the run to count.
const MIN_COPIES: u64 = 100_000;
/// Echoes of a run, and how long to wait for one.
const ECHOES: u64 = 500;
const PATIENCE: Duration = Duration::from_secs(5);
/// The largest value of the histogram, in nanoseconds.
const LONGEST_NS: u64 = 10_000_000_000;

/// The third host and its port, which are removed when dropped.
struct Attacker<'a> {
    context: &'a CaseContext<'a>,
    namespace: NetNs,
}

impl<'a> Attacker<'a> {
    fn new(context: &'a CaseContext<'a>) -> Result<Self> {
        let namespace = NetNs::new().map_err(|e| format!("a network namespace: {e}"))?;
        let there = namespace_path(&namespace);
        run(&format!(
            "ip link add {PORT} type veth peer name {HOST_PORT} netns {there}"
        ))?;
        let this = Self { context, namespace };
        run(&format!("ip link set {PORT} up"))?;
        this.ctl(&format!("add-port 3={PORT}"))?;
        this.namespace
            .run(|| run(&format!("ip link set {HOST_PORT} up")))
            .map_err(|e| format!("a host: {e}"))??;
        Ok(this)
    }

    fn ctl(&self, command: &str) -> Result<String> {
        let bofuss = self.context.programs.join("bofuss");
        let name = SwitchPlan::usual().name;
        run(&format!("{} ctl {name} {command}", bofuss.display()))
    }

    /// Sends super-frames until it is over.
    fn flood(&self, over: &AtomicBool) -> Result<()> {
        self.namespace
            .run(|| send_super_frames(over))
            .map_err(|e| format!("a host: {e}"))?
    }
}

/// Sends super-frames from this network namespace until it is over.
fn send_super_frames(over: &AtomicBool) -> Result<()> {
    let mut port = traffic::open(HOST_PORT)?;
    let pool = Pool::new(POOL_BYTES);
    let segments = craft::tcp(1, 2, 0x10, &[0; PAYLOAD_BYTES]);
    let packet = craft::ipv4(A_ADDRESS, B_ADDRESS, 64, segments);
    let bytes = craft::ethernet(Mac(B_MAC), Mac(A_MAC), packet);
    while !over.load(Relaxed) {
        let mut frame = pool.frame(&bytes).ok_or("the pool of frames is empty")?;
        frame.offload = Offload {
            checksum: Some(TCP_CHECKSUM),
            gso: Some(Gso {
                kind: GsoKind::Tcp4,
                segment_bytes: SEGMENT_BYTES,
                ecn: false,
            }),
            ..Offload::NONE
        };
        let sent = port.send(&mut vec![frame]);
        sent.map_err(|e| format!("{HOST_PORT}: {e}"))?;
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

impl Drop for Attacker<'_> {
    fn drop(&mut self) {
        let _ = self.ctl(&format!("del-port {PORT}"));
        let _ = run(&format!("ip link del {PORT}"));
    }
}

/// Sends echoes from this network namespace to host B, one after another. Returns their times in
/// nanoseconds.
fn time_echoes() -> Result<Histogram<u64>> {
    let failed = context("echo");
    let socket = UdpSocket::bind((A_ADDRESS, 0)).map_err(failed)?;
    socket.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    let mut times = Histogram::new_with_max(LONGEST_NS, 3).expect("a valid range");
    for number in 0..ECHOES {
        let start = Instant::now();
        let data = number.to_be_bytes();
        socket
            .send_to(&data, (B_ADDRESS, FIRST_PORT))
            .map_err(failed)?;
        let mut back = [0; 16];
        let length = socket.recv(&mut back).map_err(failed)?;
        let elapsed = start.elapsed();
        if back[..length] != data {
            return Err(format!("echo {number} came back changed").into());
        }
        times.saturating_record(elapsed.as_nanos() as u64);
    }
    Ok(times)
}

/// The times of echoes between the two hosts.
fn waits(c: &CaseContext<'_>) -> Result<Histogram<u64>> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| {
            c.bed.host(true, || {
                echo::serve(B_ADDRESS, FIRST_PORT, || over.load(Relaxed))
            })
        });
        std::thread::sleep(Duration::from_millis(50)); // until it listens
        let times = c.bed.host(false, time_echoes);
        over.store(true, Relaxed);
        serving.join().map_err(|_| "the echo server died")??;
        times
    })
}

/// Echoes while super-frames of another port keep the switch busy, compared with echoes without
/// them.
pub fn super_frames(c: &CaseContext<'_>) -> Figures {
    let _real_time = RealTime::begin(c.forwarder)?;
    let alone = waits(c)?;
    let attacker = Attacker::new(c)?;
    let copies = [COPY; COPIES].join(",");
    let flow = format!("priority=20,in_port=3,actions={copies}");
    c.forwarder.session()?.change(&adds(&codec(), [flow])?)?;
    let over = AtomicBool::new(false);
    let times = std::thread::scope(|scope| {
        let flooding = scope.spawn(|| attacker.flood(&over));
        std::thread::sleep(10 * PAUSE);
        let times = waits(c);
        over.store(true, Relaxed);
        flooding.join().map_err(|_| "the sender died")??;
        times
    })?;
    let ports = attacker.ctl("ports")?;
    let from_third = ports.split("tx_packets=").nth(3);
    let sent = from_third.and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
    if sent.is_none_or(|sent| sent < MIN_COPIES) {
        return Err(format!("the super-frames made too little work: {ports}").into());
    }
    Ok(vec![
        (("alone, p99", "us"), echo::us(&alone, 0.99)),
        (("p50", "us"), echo::us(&times, 0.5)),
        (("p99", "us"), echo::us(&times, 0.99)),
        (("longest", "us"), echo::us(&times, 1.0)),
    ])
}
