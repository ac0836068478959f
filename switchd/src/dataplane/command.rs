//! What an operator asks of the data-plane thread: ports to have, controllers to keep, figures.

use std::fmt::Write;

use bofuss_agent::FailMode;
use bofuss_channel::ActiveAddress;
use bofuss_datapath::Egress;
use bofuss_ext::queues;
use bofuss_oflib::PortNo;
use bofuss_oflib::message::port::PortState;
use bofuss_ports::{CaptureSource, LinkType};
use tokio::sync::oneshot;

use super::Plane;
use crate::capture::{self, MAX_TAPS, Recorder, Tap, To};
use crate::config::{self, Config, PortSpec};

/// What comes of a command: text for the operator, or a sentence that says why not.
pub type Answer = Result<String, String>;

/// A command that waits in the one queue.
pub struct Command {
    /// What is asked.
    pub what: What,
    /// Where the answer goes.
    pub reply: oneshot::Sender<Answer>,
}

/// What can be asked.
pub enum What {
    /// List the ports.
    Ports,
    /// List the connections.
    Connections,
    /// List what was dropped, and why.
    Counters,
    /// List the queues.
    Queues,
    /// Tell the memory in use.
    Memory,
    /// Tell a packet's way, perhaps as JSON: `[--json] PACKET`.
    Trace(String),
    /// Copy frames into a file: `PORT FILE [FLOW]`.
    Capture(String),
    /// Copy frames to another port: `PORT TO [FLOW]`.
    Mirror(String),
    /// List captures and mirrors.
    Captures,
    /// End the capture or mirror with this file or port.
    EndCapture(String),
    /// Tell the way of the next packet that matches: `[--json] MATCH`.
    TraceNext(String),
    /// Open one more port, written as `--port` has it.
    AddPort(String),
    /// Close the port of this number or interface.
    DelPort(String),
    /// Take over this configuration: report on the first channel when it can be done, and do it
    /// when the second says so. If that is closed instead, nothing has changed.
    Reconfigure(Box<Config>, oneshot::Sender<()>, oneshot::Receiver<()>),
    /// Replace the list of controllers, and the fail mode.
    Follow(Vec<ActiveAddress>, FailMode),
}

impl Plane {
    /// Does one command and answers it.
    pub(super) fn command(&mut self, command: Command) {
        let answer = match command.what {
            What::Ports => Ok(self.list_ports()),
            What::Connections => Ok(self.io.list_connections(&self.switch)),
            What::Counters => Ok(self.list_counters()),
            What::Queues => Ok(self.list_queues()),
            What::Memory => Ok(self.tell_memory()),
            What::Trace(packet) => self.tell_way(&packet),
            What::Capture(words) => self.tap(&words, false),
            What::Mirror(words) => self.tap(&words, true),
            What::Captures => Ok(self.io.taps.iter().map(Tap::to_string).collect()),
            What::EndCapture(name) => self.end_tap(&name),
            What::TraceNext(flow) => return self.wait_for(&flow, command.reply),
            What::AddPort(spec) => self.add_one_port(&spec),
            What::DelPort(word) => self.del_one_port(&word),
            What::Reconfigure(config, ready, go) => self.reconfigure(*config, ready, go),
            What::Follow(controllers, fail_mode) => {
                self.follow(controllers, fail_mode);
                Ok(String::new())
            }
        };
        // Whoever asked may be gone.
        let _ = command.reply.send(answer);
    }

    fn add_one_port(&mut self, text: &str) -> Answer {
        let mut place = 1;
        while self.config.ports.iter().any(|spec| spec.number.0 == place) {
            place += 1;
        }
        let mut wanted = self.config.ports.clone();
        let options = self.config.port_options;
        wanted.push(config::add_port(&wanted, place, text, options)?);
        let number = wanted[wanted.len() - 1].number;
        let opened = self.open_ports(&wanted)?;
        self.have_ports(wanted, opened)?;
        Ok(format!("port {number}\n"))
    }

    fn del_one_port(&mut self, word: &str) -> Answer {
        let ports = self.config.ports.iter().cloned();
        let (gone, wanted): (Vec<_>, Vec<_>) = ports.partition(|spec| spec.is_named(word));
        if gone.is_empty() {
            return no_port(word);
        }
        self.have_ports(wanted, Vec::new())?;
        Ok(String::new())
    }

    /// Begins to copy frames: `PORT FILE-OR-PORT [FLOW]`.
    fn tap(&mut self, words: &str, mirrors: bool) -> Answer {
        let tap = self.new_tap(words, mirrors, &self.config.ports)?;
        self.io.taps.push(tap);
        Ok(String::new())
    }

    fn new_tap(&self, words: &str, mirrors: bool, ports: &[PortSpec]) -> Result<Tap, String> {
        let mut words = words.splitn(3, ' ');
        let (Some(watched), Some(name)) = (words.next(), words.next()) else {
            return Err("it wants PORT and FILE, or PORT and TO".into());
        };
        let flow = words.next().unwrap_or_default();
        let known_port = |word: &str| {
            let found = ports.iter().find(|spec| spec.is_named(word));
            found.map_or_else(|| no_port(word), |spec| Ok(spec.number))
        };
        let port = known_port(watched)?;
        if self.io.taps.len() >= MAX_TAPS {
            return Err(format!("there are {MAX_TAPS} captures and mirrors already"));
        }
        let catalogue = self.switch.datapath().catalogue();
        // What is wrong with the flow is said before a file is made.
        let mut tap = Tap::new(port, flow, catalogue, name, To::Port(port))?;
        tap.to = match mirrors {
            true if known_port(name)? == port => {
                return Err("a port cannot mirror itself".into());
            }
            true => To::Port(known_port(name)?),
            false => To::File(Recorder::create(name, self.source_of(port, ports, flow))?),
        };
        Ok(tap)
    }

    /// How a capture file describes a port.
    fn source_of(&self, port: PortNo, ports: &[PortSpec], flow: &str) -> CaptureSource {
        let spec = ports.iter().find(|spec| spec.number == port);
        let name = match spec.map(|spec| &spec.kind) {
            Some(kind) => kind
                .interface()
                .map_or_else(|| kind.to_string(), String::from),
            None => port.to_string(),
        };
        let frames = if flow.is_empty() { "all frames" } else { flow };
        let switch = &self.config.name;
        CaptureSource {
            name,
            link_type: LinkType::Ethernet,
            comment: format!("port {port} of switch {switch}, {frames}"),
        }
    }

    /// The captures and mirrors of `new` that are not among `old`. Errors: what is wrong with one.
    pub(super) fn new_taps(
        &self,
        new: &Config,
        old: &[(bool, String)],
    ) -> Result<Vec<Tap>, String> {
        let make = |(mirrors, words): &(bool, String)| {
            let tap = self.new_tap(words, *mirrors, &new.ports);
            let key = ["--capture", "--mirror"][usize::from(*mirrors)];
            tap.map_err(|error| format!("{key} {words}: {error}"))
        };
        let fresh = new.taps.iter().filter(|tap| !old.contains(tap));
        fresh.map(make).collect()
    }

    fn end_tap(&mut self, name: &str) -> Answer {
        let taps = &mut self.io.taps;
        let before = taps.len();
        taps.retain(|tap| !capture::is_named(&tap.name, name));
        match taps.len() < before {
            true => Ok(String::new()),
            false => Err(format!("nothing goes to {name} ('captures' lists them)")),
        }
    }

    fn list_ports(&self) -> String {
        let mut text = String::new();
        for spec in &self.config.ports {
            let _ = match self.switch.datapath().ports().get(&spec.number) {
                None => writeln!(text, "{} {} gone", spec.number, spec.kind),
                Some(port) => {
                    let down = port.desc.state.has(PortState::LINK_DOWN);
                    let state = if down { "down" } else { "up" };
                    let s = &port.stats;
                    let (rx, tx) = (s.rx_packets, s.tx_packets);
                    let (rx_dropped, tx_dropped) = (s.rx_dropped, s.tx_dropped);
                    writeln!(
                        text,
                        "{} {} {state} rx_packets={rx} tx_packets={tx} \
                         rx_dropped={rx_dropped} tx_dropped={tx_dropped}",
                        spec.number, spec.kind,
                    )
                }
            };
        }
        text
    }

    fn list_queues(&self) -> String {
        let mut text = String::new();
        for port in self.switch.datapath().ports().keys() {
            let queues = self.switch.datapath().egress(*port).map(Egress::queues);
            for queue in queues.unwrap_or_default() {
                let _ = writeln!(
                    text,
                    "{port}:{}:{} tx_packets={} tx_bytes={} tx_errors={}",
                    queue.id.0,
                    queues::text(&queue.spec),
                    queue.stats.tx_packets,
                    queue.stats.tx_bytes,
                    queue.stats.tx_errors,
                );
            }
        }
        text
    }

    /// Lists what the switch dropped, by reason, and then what each port's driver did.
    fn list_counters(&mut self) -> String {
        let drops = self.switch.datapath().drops();
        let mut text = drops.fold(String::new(), |text, (reason, count)| {
            text + &format!("{} {count}\n", reason.name())
        });
        for (number, counters, overflowed) in self.io.driver_counters() {
            for (name, count) in counters.drops().chain([("tx_overflow", overflowed)]) {
                let _ = writeln!(text, "port {number} {name} {count}");
            }
        }
        text
    }

    fn tell_memory(&self) -> String {
        let resident = resident_kib().map_or("unknown".into(), |kib| format!("{kib} kB"));
        let buffers = self.pool.stats();
        format!(
            "resident {resident}\nbuffers_in_use {} bytes\nbuffer_allocations {}\n\
             buffers_refused {}\n",
            buffers.bytes_in_use, buffers.allocations, buffers.refused
        )
    }
}

fn no_port<T>(word: &str) -> Result<T, String> {
    Err(format!("there is no port {word} ('ports' lists them)"))
}

/// Memory of the process that is in use, in KiB, if the system tells.
pub(super) fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mut lines = status.lines();
    let resident = lines.find_map(|line| line.strip_prefix("VmRSS:"))?;
    resident.trim().trim_end_matches("kB").trim().parse().ok()
}
