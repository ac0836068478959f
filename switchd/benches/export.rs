//! Measures what exports cost: processor time for a frame without, with sFlow of one in 512, and
//! with IPFIX of all, in turns of the same run.
//!
//! `cargo bench -p bofuss-switchd --bench export`. A running switch reads a capture of short frames
//! as fast as it can and forwards them by one entry. There are no system calls for frames, so that
//! the shares are higher than with packet sockets.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Frames in the capture, and the flows that they belong to.
const FRAMES: u32 = 1_000_000;
const FLOWS: u32 = 1000;
/// Measurements of each set-up.
const ROUNDS: usize = 16;
/// The time that the switch may take for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// A switch; it ends with this.
struct Daemon {
    process: Child,
    name: String,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Daemon {
    fn start(options: &[&str], listen: &str) -> Self {
        let name = format!("bench-{}", std::process::id());
        let mut command = Command::new(env!("CARGO_BIN_EXE_bofuss"));
        command.args(["run", "--fail-mode", "standalone", "--name", &name]);
        command.args(["--accelerate", "off", "--listen", listen]);
        let process = command.args(options).stderr(Stdio::null()).spawn().unwrap();
        let this = Self { process, name };
        let start = Instant::now();
        while this.ctl(&["ports"]).is_none() {
            assert!(start.elapsed() < PATIENCE, "the switch starts");
            std::thread::sleep(Duration::from_millis(20));
        }
        this
    }

    /// What a command prints; `None` if it fails.
    fn ctl(&self, words: &[&str]) -> Option<String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bofuss"));
        let output = command
            .args(["ctl", &self.name])
            .args(words)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        output.status.success().then_some(text)
    }

    /// Processor time of all threads in nanoseconds.
    fn cpu_ns(&self) -> u64 {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap();
        let times = tasks.map(|task| {
            let text = fs::read_to_string(task.unwrap().path().join("schedstat"));
            let text = text.unwrap_or_default();
            text.split(' ').next().unwrap().parse().unwrap_or(0)
        });
        times.sum()
    }

    /// Nanoseconds of the processor for each frame of a capture.
    fn forwards(&self, capture: &Path) -> f64 {
        let before = self.cpu_ns();
        let port = format!("1=pcap:{}", capture.display());
        self.ctl(&["add-port", &port]).unwrap();
        let start = Instant::now();
        while !self
            .ctl(&["ports"])
            .unwrap()
            .contains(&format!("rx_packets={FRAMES} "))
        {
            assert!(start.elapsed() < PATIENCE, "all frames are read");
            std::thread::sleep(Duration::from_millis(50));
        }
        (self.cpu_ns() - before) as f64 / f64::from(FRAMES)
    }
}

/// Writes a capture of frames of 60 bytes: of an address that the other port has, so that they are
/// not flooded.
fn write_capture(path: &Path, frames: u32, [to, from]: [u8; 2]) {
    let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend([0, 0, 4, 0, 1, 0, 0, 0]);
    for number in 0..frames {
        bytes.extend([0; 8]);
        bytes.extend([60, 0, 0, 0, 60, 0, 0, 0]);
        let at = bytes.len();
        bytes.extend([2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 8, 0]);
        bytes.extend([
            0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ]);
        let port = (number.wrapping_mul(2_654_435_761) >> 8) % FLOWS;
        bytes.extend((port as u16).to_be_bytes());
        bytes.extend([0, 53, 0, 26, 0, 0]);
        bytes.resize(at + 60, 7);
    }
    fs::write(path, bytes).unwrap();
}

fn main() {
    let folder = std::env::temp_dir().join(format!("bofuss-export-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let capture = folder.join("many.pcap");
    let other = folder.join("other.pcap");
    write_capture(&capture, FRAMES, [2, 1]);
    write_capture(&other, 1, [1, 2]);
    let collector = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = collector.local_addr().unwrap();
    let sflow = format!("{address} rate=512");
    let ipfix_some = format!("{address} rate=512");
    let ipfix = address.to_string();
    let set_ups: [(&str, Vec<&str>); 4] = [
        ("without", vec![]),
        ("sFlow, 1 in 512", vec!["--sflow", &sflow]),
        ("IPFIX, 1 in 512", vec!["--ipfix", &ipfix_some]),
        ("IPFIX, all", vec!["--ipfix", &ipfix]),
    ];
    let listen = format!("punix:{}", folder.join("socket").display());
    let mut times = [(); 4].map(|()| Vec::new());
    for _ in 0..ROUNDS {
        for ((_, options), times) in set_ups.iter().zip(&mut times) {
            let daemon = Daemon::start(options, &listen);
            // NORMAL learns the address to which the frames go.
            let port = format!("2=pcap:{}", other.display());
            daemon.ctl(&["add-port", &port]).unwrap();
            times.push(daemon.forwards(&capture));
        }
    }
    times
        .iter_mut()
        .for_each(|times| times.sort_by(f64::total_cmp));
    // Other programs that use the machine only add to a time, so the least ones are compared; the
    // quartiles tell how much.
    let quarter = ROUNDS / 4;
    let without = (times[0][0], times[0][quarter]);
    println!("| set-up | ns a frame, least | with/without, least | quartiles |\n|---|---|---|---|");
    for ((name, _), times) in set_ups.iter().zip(&times) {
        let (least, quartile) = (times[0], times[quarter]);
        let ratios = (least / without.0, quartile / without.1);
        println!(
            "| {name} | {least:.0} | {:.3} | {:.3} |",
            ratios.0, ratios.1
        );
    }
    fs::remove_dir_all(folder).unwrap();
}
