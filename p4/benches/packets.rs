//! Measures what a packet costs in memory: through the router of `testdata/p4/ports`, which parses
//! three headers, matches a prefix, counts, writes a register and makes a checksum.
//!
//! `cargo bench -p bofuss-p4 --bench packets`. Further programs with their entries can be given as
//! `PROGRAM.json ENTRIES.json`; all are measured with the same datagram from 10.0.0.1 to 10.0.0.2.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use bofuss_p4::{Program, Sent, Sink, Switch};

/// Packets of one measurement: few, so that some measurements are not interrupted.
const PACKETS: u32 = 10_000;
/// Measurements, of which the quickest counts.
const ROUNDS: u32 = 150;

/// Routes to the two hosts.
const ENTRIES: &str = r#"{"table_entries": [
    {"table": "MyIngress.routes", "match": {"hdr.ipv4.dst": ["10.0.0.2", 32]},
     "action_name": "MyIngress.forward", "action_params": {"port": 2}}]}"#;

/// Counts what leaves.
#[derive(Default)]
struct Counted(u64);

impl Sink for Counted {
    fn transmit(&mut self, sent: Sent) {
        self.0 += u64::from(!sent.frame.is_empty());
    }
}

/// A frame of 64 bytes.
fn datagram() -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    frame.extend([0x45, 0, 0, 50, 0, 0, 0, 0, 64, 17, 0x66, 0xb9]);
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 7, 0, 30, 0, 0]);
    frame.resize(64, 0);
    frame
}

fn measure(name: &str, program: &[u8], entries: &[u8]) {
    let program = Program::load(program).expect("p4c wrote it");
    let mut switch = Switch::new(program, 1);
    switch.load_entries(entries).expect("they fit");
    let frame = datagram();
    let mut best = f64::INFINITY;
    let mut sink = Counted::default();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for now in 0..PACKETS {
            switch.receive(1, &frame, now.into(), &mut sink);
        }
        best = best.min(start.elapsed().as_secs_f64() / f64::from(PACKETS));
    }
    let left = sink.0 / u64::from(ROUNDS);
    println!(
        "{name}: {:.0} ns a packet ({left} of {PACKETS} left)",
        best * 1e9
    );
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/p4/ports");
    let program = fs::read(folder.join("ports.json")).expect("it is there");
    measure("ports", &program, ENTRIES.as_bytes());
    for pair in words.chunks_exact(2) {
        let files = [&pair[0], &pair[1]].map(|file| fs::read(file).expect("it can be read"));
        measure(&pair[0], &files[0], &files[1]);
    }
}
