//! The yardstick: moves frames between two interfaces with the switch's own drivers, and does
//! nothing else.
//!
//! `yardstick IN OUT [RING_SLOTS]`: what a frame costs before any of the switch's work, in both
//! directions; with 0 slots by system calls alone.

use std::time::Duration;

use bofuss_frame::Pool;
use bofuss_ports::{AfPacket, AfPacketOptions, BATCH_FRAMES, PortDriver};
use rustix::event::{PollFd, PollFlags, poll};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let mut options = AfPacketOptions::default();
    let (one, two) = match &names[..] {
        [one, two] => (one, two),
        [one, two, slots] => {
            options.ring_slots = slots.parse()?;
            (one, two)
        }
        _ => return Err("usage: yardstick INTERFACE INTERFACE [RING_SLOTS]".into()),
    };
    let mut ports = [AfPacket::open(one, options)?, AfPacket::open(two, options)?];
    let pool = Pool::new(64 << 20);
    let mut frames = Vec::with_capacity(BATCH_FRAMES);
    println!("ready");
    loop {
        let ready = {
            let fds = ports.each_ref().map(|port| port.fd().expect("a socket"));
            let mut watched = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
            poll(&mut watched, None)?;
            watched.map(|fd| !fd.revents().is_empty())
        };
        for from in [0, 1] {
            if !ready[from] || ports[from].recv(&pool, &mut frames, BATCH_FRAMES)? == 0 {
                continue;
            }
            let mut tries = 0;
            while !frames.is_empty() && tries < 100 {
                ports[1 - from].send(&mut frames)?;
                tries += 1;
                if !frames.is_empty() {
                    std::thread::sleep(Duration::from_micros(50));
                }
            }
            frames.clear();
        }
    }
}
