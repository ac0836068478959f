//! `ofmeter forward`: moves frames between two interfaces and looks nothing up. Without faults it
//! is the yardstick, with faults a forwarder of which the delay and the losses are known.

use std::path::Path;
use std::time::{Duration, Instant};

use bofuss_frame::Pool;
use bofuss_ports::{BATCH_FRAMES, PortDriver};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::Result;
use crate::subject::faults::{Faults, FaultyPort};
use crate::subject::truth::{self, TruthKeeper};
use crate::testbed::net::context;
use crate::testbed::traffic::open;

/// Bytes of frames that are here at most.
const POOL_BYTES: usize = 64 << 20;
/// Attempts to send to a port without room, and the pause between them.
const ATTEMPTS: usize = 100;
const PAUSE: Duration = Duration::from_micros(50);
/// The MTU of ports here: the system refuses what does not fit.
const MTU_BYTES: u32 = u16::MAX as u32;
/// The end of a delay.
const AWAKE: Duration = Duration::from_micros(200);
/// The line that is printed when frames are moved.
pub const READY: &str = "ready";

/// Moves frames until killed, and keeps the delays of those from the first interface to the second
/// in the file `truth`, and of those back in the file beside it.
///
/// Errors: the interfaces', or the file's.
pub fn run(interfaces: [&str; 2], faults: Faults, truth: Option<&Path>) -> Result<()> {
    let [one, two] = interfaces;
    let mut ports = [
        FaultyPort::new(open(one)?, faults),
        FaultyPort::new(open(two)?, faults),
    ];
    for port in &mut ports {
        port.set_mtu(MTU_BYTES);
    }
    let mut keepers = Vec::new();
    if let Some(path) = truth {
        keepers.push(TruthKeeper::open(interfaces, path)?);
        keepers.push(TruthKeeper::open([two, one], &truth::back(path))?);
    }
    let pool = Pool::new(POOL_BYTES);
    let mut frames = Vec::with_capacity(BATCH_FRAMES);
    println!("{READY}");
    loop {
        let next = ports.iter().filter_map(FaultyPort::next_due).min();
        let wait = next.map(|due| due.saturating_duration_since(Instant::now()));
        // Waking up takes time, so that the end of a delay is waited for awake.
        if wait.is_none_or(|wait| wait > AWAKE) {
            let sleep = wait.map(|wait| wait - AWAKE);
            let limit = sleep.map(Timespec::try_from).transpose();
            let timeout = limit.map_err(context("a delay"))?;
            let fds = ports.each_ref().map(|port| port.fd().expect("a socket"));
            let mut watched = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
            poll(&mut watched, timeout.as_ref()).map_err(context("poll"))?;
        }
        for from in [0, 1] {
            let failed = context(interfaces[from]);
            ports[from]
                .recv(&pool, &mut frames, BATCH_FRAMES)
                .map_err(failed)?;
            let to = &mut ports[1 - from];
            for _ in 0..ATTEMPTS {
                if frames.is_empty() {
                    break;
                }
                match keepers.get_mut(from) {
                    Some(keeper) => keeper.send(&mut frames)?,
                    None => {
                        let failed = context(interfaces[1 - from]);
                        to.send(&mut frames).map_err(failed)?;
                    }
                }
                if !frames.is_empty() {
                    std::thread::sleep(PAUSE);
                }
            }
            frames.clear();
        }
    }
}
