//! Commands of operators to the data-plane thread: ports, controllers, captures, counters.

use std::fmt::Write;
use std::fs::File;

use bofuss_agent::FailMode;
use bofuss_channel::ActiveAddress;
use bofuss_datapath::Egress;
use bofuss_ext::queues;
use bofuss_oflib::PortNo;
use bofuss_oflib::message::port::PortState;
use bofuss_ports::{CaptureSource, LinkType};
use tokio::sync::oneshot;

use super::DataPlane;
use crate::capture::{self, CaptureWriter, CopyTarget, FrameCopier, MAX_COPIERS};
use crate::config::{self, Config, ConfiguredCopier, PortSpec};
use crate::error::{Result, context};

/// The answer to a command: text for the operator, or a sentence that says why it failed.
pub type Answer = Result<String>;

/// A command in the data-plane thread's queue.
pub struct OperatorCommand {
    /// What to do.
    pub operation: Operation,
    /// Where the answer goes.
    pub reply: oneshot::Sender<Answer>,
}

/// What kind of target the word after the port names.
enum NewTarget {
    /// A file, which an operator may have opened.
    File(Option<File>),
    /// A port.
    Port,
}

/// What an operator can ask for.
pub enum Operation {
    /// List the ports.
    Ports,
    /// List the connections.
    Connections,
    /// List the drop counters, by reason.
    Counters,
    /// List the queues.
    Queues,
    /// Report the memory in use.
    Memory,
    /// Report what the kernel forwards.
    Accelerator,
    /// Trace a packet, as text or JSON: `[--json] [--names] PACKET`.
    Trace(String),
    /// Copy frames into a file: `PORT FILE [FLOW]`.
    Capture(String, File),
    /// Copy frames to another port: `PORT TO [FLOW]`.
    Mirror(String),
    /// List captures and mirrors.
    Captures,
    /// End the capture or mirror with this file or port.
    EndCapture(String),
    /// Trace the next packet that matches: `[--json] [--names] MATCH`.
    TraceNext(String),
    /// Open one more port, written as in `--port`.
    AddPort(String),
    /// Close the port of this number or interface.
    DelPort(String),
    /// Take over this configuration: report on the first channel when it can be done, and do it
    /// when the second says so. If that is closed instead, nothing has changed.
    Reconfigure(Box<Config>, oneshot::Sender<()>, oneshot::Receiver<()>),
    /// Replace the list of controllers, and the fail mode, which was configured or is a default.
    SetControllers(Vec<ActiveAddress>, FailMode, bool),
}

impl DataPlane {
    /// Carries out one command and sends the answer.
    pub(super) fn command(&mut self, command: OperatorCommand) {
        let answer = match command.operation {
            Operation::Ports => Ok(self.list_ports()),
            Operation::Connections => Ok(self.io.connections.list(&self.switch)),
            Operation::Counters => Ok(self.list_counters()),
            Operation::Queues => Ok(self.list_queues()),
            Operation::Accelerator => {
                // So that all packets are counted.
                self.switch.settled();
                Ok(self.acceleration.to_string())
            }
            Operation::Memory => Ok(self.describe_memory()),
            Operation::Trace(packet) => self.trace_packet(&packet),
            Operation::Capture(words, file) => {
                self.copy_frames(&words, NewTarget::File(Some(file)))
            }
            Operation::Mirror(words) => self.copy_frames(&words, NewTarget::Port),
            Operation::Captures => Ok(self.list_captures()),
            Operation::EndCapture(name) => self.end_copier(&name),
            Operation::TraceNext(flow) => return self.trace_next_packet(&flow, command.reply),
            Operation::AddPort(spec) => self.add_one_port(&spec),
            Operation::DelPort(word) => self.del_one_port(&word),
            Operation::Reconfigure(config, ready, go) => self.reconfigure(*config, ready, go),
            Operation::SetControllers(controllers, fail_mode, is_configured) => {
                self.set_controllers(controllers, fail_mode, is_configured);
                Ok(String::new())
            }
        };
        self.follow_copiers();
        // The requester may be gone.
        let _ = command.reply.send(answer);
    }

    /// Opens a port. If `text` has no number, it gets the lowest that is free.
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
        self.replace_ports(wanted, opened)?;
        Ok(format!("port {number}\n"))
    }

    fn del_one_port(&mut self, word: &str) -> Answer {
        let ports = self.config.ports.iter().cloned();
        let (gone, wanted): (Vec<_>, Vec<_>) = ports.partition(|spec| spec.is_named(word));
        if gone.is_empty() {
            return no_port(word);
        }
        self.replace_ports(wanted, Vec::new())?;
        Ok(String::new())
    }

    /// Starts a capture or mirror: `PORT FILE-OR-PORT [FLOW]`.
    fn copy_frames(&mut self, words: &str, target: NewTarget) -> Answer {
        let copier = self.new_copier(words, target, &self.config.ports)?;
        self.io.ports.copiers.push(copier);
        Ok(String::new())
    }

    fn new_copier(
        &self,
        words: &str,
        target: NewTarget,
        ports: &[PortSpec],
    ) -> Result<FrameCopier> {
        let mut words = words.splitn(3, ' ');
        let (Some(watched), Some(name)) = (words.next(), words.next()) else {
            return Err("PORT and FILE are required, or PORT and TO".into());
        };
        let flow = words.next().unwrap_or_default();
        let port = port_named(ports, watched)?;
        if self.io.ports.copiers.len() >= MAX_COPIERS {
            return Err(format!("there are {MAX_COPIERS} captures and mirrors already").into());
        }
        let catalogue = self.switch.datapath().catalogue();
        // A wrong flow is reported before the file is created.
        let mut copier = FrameCopier::new(port, flow, catalogue, name, CopyTarget::Port(port))?;
        let copied = self.switch.datapath().ports().get(&port);
        if copied.is_some_and(|copied| copied.without_ethernet) {
            copier.leave_ethernet();
        }
        copier.to = match target {
            NewTarget::File(file) => {
                let source = self.source_of(port, ports, flow);
                CopyTarget::File(CaptureWriter::create(name, file, source)?)
            }
            NewTarget::Port => {
                let to = port_named(ports, name)?;
                if to == port {
                    return Err("a port cannot mirror itself".into());
                }
                CopyTarget::Port(to)
            }
        };
        Ok(copier)
    }

    /// The description of a port in a capture file.
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

    /// Starts the captures and mirrors of `new` that are not among `old`. Errors: what is wrong
    /// with one.
    pub(super) fn new_copiers(
        &self,
        new: &Config,
        old: &[ConfiguredCopier],
    ) -> Result<Vec<FrameCopier>> {
        let mut copiers = Vec::new();
        for fresh in new.copiers.iter().filter(|copier| !old.contains(copier)) {
            let (key, target) = match fresh {
                ConfiguredCopier::Capture(_) => ("--capture", NewTarget::File(None)),
                ConfiguredCopier::Mirror(_) => ("--mirror", NewTarget::Port),
            };
            let words = fresh.words();
            let copier = self.new_copier(words, target, &new.ports);
            copiers.push(copier.map_err(context(format_args!("{key} {words}")))?);
        }
        Ok(copiers)
    }

    fn end_copier(&mut self, name: &str) -> Answer {
        let copiers = &mut self.io.ports.copiers;
        let before = copiers.len();
        copiers.retain(|copier| !capture::is_named(&copier.name, name));
        if copiers.len() < before {
            Ok(String::new())
        } else {
            Err(format!("nothing goes to {name} ('captures' lists them)").into())
        }
    }

    fn list_captures(&self) -> String {
        let copiers = self.io.ports.copiers.iter();
        let mut text: String = copiers.map(FrameCopier::to_string).collect();
        if let Some(recorder) = &self.io.recorder {
            text += &recorder.to_string();
        }
        text
    }

    fn list_ports(&mut self) -> String {
        let mut text = String::new();
        let ports = self.switch.settled().datapath().ports();
        for spec in &self.config.ports {
            let _ = match ports.get(&spec.number) {
                None => writeln!(text, "{} {} gone", spec.number, spec.kind),
                Some(port) => {
                    let down = port.desc.state.has(PortState::LINK_DOWN);
                    let state = if down { "down" } else { "up" };
                    let s = &port.stats;
                    let rx = s.rx_packets;
                    let tx = s.tx_packets;
                    let rx_dropped = s.rx_dropped;
                    let tx_dropped = s.tx_dropped;
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

    /// Lists the drop counters of the switch, by reason, then those of each port's driver.
    fn list_counters(&mut self) -> String {
        let mut text = String::new();
        for (reason, count) in self.switch.settled().datapath().drops() {
            let _ = writeln!(text, "{} {count}", reason.name());
        }
        for (number, reason, count) in self.driver_drops() {
            let _ = writeln!(text, "port {number} {reason} {count}");
        }
        text
    }

    fn describe_memory(&self) -> String {
        let resident = resident_kib().map_or("unknown".into(), |kib| format!("{kib} kB"));
        let buffers = self.lane.pool.stats();
        format!(
            "resident {resident}\nbuffers_in_use {} bytes\nbuffer_allocations {}\n\
             buffers_refused {}\n",
            buffers.bytes_in_use, buffers.allocations, buffers.refused
        )
    }
}

/// The number of the port that a word names. Errors: there is none.
fn port_named(ports: &[PortSpec], word: &str) -> Result<PortNo> {
    let found = ports.iter().find(|spec| spec.is_named(word));
    found.map_or_else(|| no_port(word), |spec| Ok(spec.number))
}

fn no_port<T>(word: &str) -> Result<T> {
    Err(format!("there is no port {word} ('ports' lists them)").into())
}

/// The resident memory of the process in KiB, if the system reports it.
pub(super) fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mut lines = status.lines();
    let resident = lines.find_map(|line| line.strip_prefix("VmRSS:"))?;
    resident.trim().trim_end_matches("kB").trim().parse().ok()
}
