//! The cases that need only two hosts: frames, TCP, echoes.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::bench::case::{CaseContext, Figures, MACHINE, PROCESSOR, RATE, TCP_RATE};
use crate::error::Result;
use crate::testbed::echo;
use crate::testbed::iperf;
use crate::testbed::net::{B_ADDRESS, Bed, HOST_PORT};
use crate::testbed::processors::busy_nanos;
use crate::testbed::traffic::{FIRST_PORT, Load, send};

/// Frames of a run at saturation.
pub const FRAMES: u64 = 300_000;
/// Duration of a run below saturation, in seconds.
const SHARE_SECONDS: f64 = 0.8;
/// Echoes of a run.
const ECHOES: usize = 10_000;
/// The share of frames that must arrive for a figure to count; otherwise something is broken.
const MIN_DELIVERED: f64 = 0.001;
/// The time without a frame after which the run counts as complete.
const SETTLE: Duration = Duration::from_millis(50);
/// The port on which host B echoes.
const ECHO_PORT: u16 = FIRST_PORT;

/// Frames at saturation, of many flows in random order.
pub fn spread(flows: u32) -> Load {
    Load {
        flows,
        ..Load::of(FRAMES)
    }
}

/// Sends a load. Returns processor nanoseconds per delivered frame, of the forwarder and of the
/// machine, and delivered frames per second.
pub fn frames(c: &CaseContext<'_>, load: Load) -> Figures {
    let before = c.bed.received(!load.back)?;
    let cpu = c.forwarder.cpu_nanos();
    let busy = busy_nanos();
    let start = Instant::now();
    c.bed.host(load.back, || send(HOST_PORT, load))?;
    let (received, last) = drained(|| c.bed.received(!load.back))?;
    let took = last - start;
    let cpu = c.forwarder.cpu_nanos() - cpu;
    let busy = busy_nanos() - busy;
    let delivered = (received - before) as f64;
    if delivered < load.frames as f64 * MIN_DELIVERED {
        return Err(format!("{delivered} of {} frames arrived", load.frames).into());
    }
    Ok(vec![
        (PROCESSOR, cpu / delivered),
        (MACHINE, busy / delivered),
        (RATE, delivered / took.as_secs_f64()),
    ])
}

/// Waits until no more frames arrive. Returns how many arrived, and when the last one was seen.
fn drained(count: impl Fn() -> Result<u64>) -> Result<(u64, Instant)> {
    let mut seen = count()?;
    let mut at = Instant::now();
    while at.elapsed() < SETTLE {
        std::thread::sleep(Duration::from_millis(2));
        let now = count()?;
        if now != seen {
            (seen, at) = (now, Instant::now());
        }
    }
    Ok((seen, at))
}

/// The number of frames that both hosts have received.
fn received_by_both(bed: &Bed) -> Result<u64> {
    Ok(bed.received(false)? + bed.received(true)?)
}

/// Sends one half of [`FRAMES`], from host B if `back`.
fn send_half(bed: &Bed, back: bool) -> Result<()> {
    let load = Load {
        back,
        ..Load::of(FRAMES / 2)
    };
    bed.host(back, || send(HOST_PORT, load))?;
    Ok(())
}

/// Frames in both directions at once.
pub fn both_ways(c: &CaseContext<'_>) -> Figures {
    let before = received_by_both(c.bed)?;
    let cpu = c.forwarder.cpu_nanos();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| send_half(c.bed, true));
        send_half(c.bed, false)?;
        other.join().map_err(|_| "the other sender died")?
    })?;
    let (received, last) = drained(|| received_by_both(c.bed))?;
    let delivered = (received - before) as f64;
    let took = last - start;
    let cpu = c.forwarder.cpu_nanos() - cpu;
    if delivered < FRAMES as f64 * MIN_DELIVERED {
        return Err(format!("{delivered} of {FRAMES} frames arrived").into());
    }
    Ok(vec![
        (PROCESSOR, cpu / delivered),
        (RATE, delivered / took.as_secs_f64()),
    ])
}

/// The same load for all set-ups, below saturation.
pub fn share(c: &CaseContext<'_>) -> Figures {
    let rate = c.capacity * f64::from(c.parameter) / 100.0;
    let load = Load {
        rate: rate as u64,
        ..Load::of((rate * SHARE_SECONDS) as u64)
    };
    frames(c, load)
}

/// Streams of TCP.
pub fn tcp(c: &CaseContext<'_>) -> Figures {
    let figures = iperf::tcp(c.bed, c.forwarder, c.parameter)?;
    Ok(vec![
        (("processor", "ns/KB"), figures.processor_ns_per_kb),
        ((MACHINE.0, "ns/KB"), figures.machine_ns_per_kb),
        (TCP_RATE, figures.gbps),
    ])
}

/// Echoes of one flow.
pub fn round_trips(c: &CaseContext<'_>) -> Figures {
    echoes(c, ECHOES, c.parameter as usize, false)
}

/// Echoes of one flow, once the switch knows where both hosts are.
pub fn echoes_of_mode(c: &CaseContext<'_>) -> Figures {
    for back in [false, true] {
        let one = Load {
            back,
            ..Load::of(1)
        };
        c.bed.host(back, || send(HOST_PORT, one))?;
    }
    round_trips(c)
}

/// Echoes with host B, each of a new flow if `fresh`. Returns median and 99th percentile in
/// microseconds.
pub fn echoes(c: &CaseContext<'_>, count: usize, size: usize, fresh: bool) -> Figures {
    let over = AtomicBool::new(false);
    let times = std::thread::scope(|scope| {
        let serving = scope.spawn(|| {
            c.bed.host(true, || {
                echo::serve(B_ADDRESS, ECHO_PORT, || over.load(Relaxed))
            })
        });
        std::thread::sleep(SETTLE); // until it listens
        let asked = c.bed.host(false, || {
            echo::ask((B_ADDRESS, ECHO_PORT), count, size, fresh)
        });
        over.store(true, Relaxed);
        serving.join().map_err(|_| "the echo server died")??;
        asked
    })?;
    Ok(vec![
        (("p50", "us"), echo::us(&times, 0.5)),
        (("p99", "us"), echo::us(&times, 0.99)),
    ])
}
