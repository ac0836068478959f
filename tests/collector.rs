//! A collector of nfdump, and what an analyzer reads of what it gets.

use std::collections::BTreeMap;
use std::fs;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use bofuss_tests::{Process, ok, printed, run, until};

/// A UDP port of loopback that nobody has.
pub fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}

/// A collector of nfdump, and a capture of what it gets.
pub struct Collector {
    process: Process,
    capture: Process,
    /// Where it keeps flows.
    pub folder: PathBuf,
    /// Its UDP port.
    pub port: u16,
}

impl Collector {
    /// Starts `sfcapd` or `nfcapd`.
    pub fn start(tool: &str) -> Self {
        let port = free_port();
        let name = format!("bofuss-{tool}-{}-{port}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        let mut capture = Command::new("dumpcap");
        capture.args(["-q", "-i", "lo", "-f", &format!("udp port {port}"), "-w"]);
        capture.arg(folder.with_extension("pcapng"));
        let capture = Process::start(capture.stderr(Stdio::null()));
        let mut command = Command::new(tool);
        command.args(["-b", "127.0.0.1", "-p", &port.to_string(), "-t", "3600"]);
        command.arg("-l").arg(&folder);
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        let process = Process::start(command);
        let this = Self {
            process,
            capture,
            folder,
            port,
        };
        until("the capture begins", || {
            let file = this.folder.with_extension("pcapng").metadata();
            file.is_ok_and(|file| file.len() > 0)
        });
        until("the collector listens", || {
            UdpSocket::bind(("127.0.0.1", port)).is_err()
        });
        this
    }

    /// Ends both. Returns what nfdump has counted, by name.
    pub fn end(&mut self) -> BTreeMap<String, u64> {
        // dumpcap gets packets in blocks, once a second.
        std::thread::sleep(Duration::from_millis(1500));
        self.process.terminate();
        self.capture.terminate();
        let text = ok(Command::new("nfdump").arg("-I").arg("-R").arg(&self.folder));
        let lines = text.lines().filter_map(|line| line.split_once(": "));
        lines
            .filter_map(|(name, count)| Some((name.into(), count.trim().parse().ok()?)))
            .collect()
    }

    /// Fields of all packets that pass a filter, a line each, as tshark prints them.
    pub fn tshark(&self, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
        let mut command = Command::new("tshark");
        command.arg("-r").arg(self.folder.with_extension("pcapng"));
        let port = self.port;
        for decode in ["sflow", "cflow"] {
            if filter.contains(decode) {
                command.args(["-d", &format!("udp.port=={port},{decode}")]);
            }
        }
        command.args(["-Y", filter, "-T", "fields"]);
        command.args(fields.iter().flat_map(|field| ["-e", field]));
        let output = run(&mut command);
        assert!(output.status.success(), "{}", printed(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines();
        lines
            .map(|line| line.split('\t').map(String::from).collect())
            .collect()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
        let _ = fs::remove_file(self.folder.with_extension("pcapng"));
    }
}

/// The numbers in lists with commas.
pub fn numbers(texts: &[String]) -> Vec<u64> {
    let all = texts.iter().flat_map(|text| text.split(','));
    all.filter(|text| !text.is_empty())
        .map(|text| {
            let hex = text
                .strip_prefix("0x")
                .map(|hex| u64::from_str_radix(hex, 16));
            hex.unwrap_or_else(|| text.parse()).unwrap()
        })
        .collect()
}
