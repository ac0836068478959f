//! UDP echoes, one at a time, with the time of each.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::error::Result;
use crate::testbed::net::context;

/// Echoes of the warm-up, which do not count.
const WARM_UPS: usize = 200;
/// The time to wait for an echo before it counts as lost.
const PATIENCE: Duration = Duration::from_secs(1);
/// Bytes of Ethernet, IPv4 and UDP headers.
const HEADERS: usize = 42;
/// The largest value of the histogram, in nanoseconds.
const LONGEST_NS: u64 = 1_000_000_000;

/// Answers datagrams until `over` returns true.
///
/// Errors: the socket's.
pub fn serve(address: Ipv4Addr, port: u16, over: impl Fn() -> bool) -> Result<()> {
    let socket = UdpSocket::bind((address, port)).map_err(|e| format!("echo: {e}"))?;
    let timeout = Some(Duration::from_millis(50));
    socket
        .set_read_timeout(timeout)
        .map_err(|e| format!("echo: {e}"))?;
    let mut data = [0; 2048];
    while !over() {
        if let Ok((length, from)) = socket.recv_from(&mut data) {
            let _ = socket.send_to(&data[..length], from);
        }
    }
    Ok(())
}

/// Sends `count` requests with frames of `size` bytes and checks the echoes; with `fresh`, each
/// from another port. Returns the times in nanoseconds.
///
/// Errors: an echo that is lost or changed.
pub fn ask(to: (Ipv4Addr, u16), count: usize, size: usize, fresh: bool) -> Result<Histogram<u64>> {
    let failed = context("echo");
    let mut socket = open().map_err(failed)?;
    let mut times = Histogram::new_with_max(LONGEST_NS, 3).expect("a valid range");
    let mut data = vec![0; size.saturating_sub(HEADERS).max(8)];
    let mut back = vec![0; data.len() + 1];
    let warm_ups = if fresh { 0 } else { WARM_UPS };
    for number in 0..count + warm_ups {
        if fresh {
            socket = open().map_err(failed)?;
        }
        data[..8].copy_from_slice(&(number as u64).to_be_bytes());
        let start = Instant::now();
        socket.send_to(&data, to).map_err(failed)?;
        let length = socket
            .recv(&mut back)
            .map_err(|e| format!("echo {number}: {e}"))?;
        let took = start.elapsed();
        if back[..length] != data[..] {
            return Err(format!("echo {number} came back changed").into());
        }
        if number >= warm_ups {
            times.saturating_record(took.as_nanos() as u64);
        }
    }
    Ok(times)
}

/// A quantile of times in nanoseconds, in microseconds.
pub fn us(times: &Histogram<u64>, quantile: f64) -> f64 {
    times.value_at_quantile(quantile) as f64 / 1000.0
}

fn open() -> std::io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}
