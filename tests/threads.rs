//! A switch whose packets are forwarded by several threads, its hosts, and what tests ask it.
#![allow(dead_code, reason = "each test program uses some of it")]

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use bofuss_frame::Pool;
use bofuss_ports::{AfPacket, AfPacketOptions, BATCH_FRAMES, PortDriver};
use bofuss_tests::{Lab, PATIENCE, have, printed, program, run};
use serde_json::Value;

/// Sends a command to a switch. Returns whether it succeeded, and what it prints.
pub fn ctl(lab: &Lab, words: &[&str]) -> (bool, String) {
    let mut bofuss = Command::new(program("bofuss"));
    let output = run(bofuss.args(["ctl", &lab.name]).args(words));
    (output.status.success(), printed(&output))
}

/// What the switch says of its workers.
pub fn standing(lab: &Lab) -> Value {
    let (done, said) = ctl(lab, &["workers", "--json"]);
    assert!(done, "{said}");
    serde_json::from_str(&said).unwrap()
}

/// The frames that each worker has received.
pub fn packets(lab: &Lab) -> Vec<u64> {
    let standing = standing(lab);
    let packets = standing["packets"].as_array().unwrap();
    packets
        .iter()
        .map(|count| count.as_u64().unwrap())
        .collect()
}

/// The `n_packets` of the first entry that `dump-flows` shows for a match.
pub fn counted(lab: &Lab, matching: &str) -> u64 {
    let text = lab.asks(&["dump-flows", matching]);
    let word = text
        .split([' ', ','])
        .find_map(|word| word.strip_prefix("n_packets="));
    word.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
}

/// A switch with hosts and this number of workers; none without the tools that it needs.
pub fn lab(hosts: u8, workers: &str, more: &[&str]) -> Option<Lab> {
    if !have(&["ip", "ping"]) {
        return None;
    }
    let mut arguments = vec!["--fail-mode", "secure", "--workers", workers];
    arguments.extend(more);
    Some(Lab::new(hosts, &arguments))
}

/// A host's interface, and what is read of the frames that matter.
pub struct Tap<T> {
    port: AfPacket,
    read: fn(&[u8]) -> Option<T>,
}

impl<T> Tap<T> {
    pub fn of(lab: &Lab, host: u8, read: fn(&[u8]) -> Option<T>) -> Self {
        let options = AfPacketOptions {
            take_over: true,
            keep_host_out: false,
            ring_slots: 0,
            ..Default::default()
        };
        Self {
            port: lab.host(host, || AfPacket::open("eth0", options).unwrap()),
            read,
        }
    }

    pub fn send(&mut self, frames: impl IntoIterator<Item = Vec<u8>>) {
        let pool = Pool::new(64 << 20);
        let frames: Vec<Vec<u8>> = frames.into_iter().collect();
        for some in frames.chunks(BATCH_FRAMES) {
            let buffers = some.iter().map(|bytes| pool.frame(bytes).unwrap());
            let mut buffers: Vec<_> = buffers.collect();
            while !buffers.is_empty() {
                self.port.send(&mut buffers).unwrap();
            }
        }
    }

    /// Receives what is there.
    pub fn receive(&mut self) -> Vec<T> {
        let pool = Pool::new(64 << 20);
        let mut all = Vec::new();
        loop {
            let mut frames = Vec::new();
            let count = self.port.recv(&pool, &mut frames, BATCH_FRAMES).unwrap();
            if count == 0 {
                return all;
            }
            all.extend(frames.iter().filter_map(|frame| (self.read)(frame.bytes())));
        }
    }

    /// Waits until so many have arrived.
    pub fn waits_for(&mut self, count: usize) -> Vec<T> {
        let end = Instant::now() + PATIENCE;
        let mut all = self.receive();
        while all.len() < count {
            assert!(Instant::now() < end, "{} of {count}", all.len());
            thread::sleep(Duration::from_millis(1));
            all.extend(self.receive());
        }
        all
    }
}
