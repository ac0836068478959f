//! Commands of operators to the data-plane thread: ports, controllers, captures, counters.

use std::fmt::{Display, Write};
use std::fs::File;

use bofuss_agent::FailMode;
use bofuss_channel::ActiveAddress;
use bofuss_datapath::{Egress, Port, Time};
use bofuss_embed::record::RecordedInput;
use bofuss_ext::{Switch, queues};
use bofuss_frame::Pool;
use bofuss_oflib::field::VID_PRESENT;
use bofuss_oflib::message::port::PortState;
use tokio::sync::oneshot;

use super::DataPlane;
use super::copiers::{self, NewTarget};
use super::lists;
use super::live_switch::LiveSwitch;
use super::paths;
use crate::config::{Config, PortSpec};
use crate::error::Result;

/// The answer to a command: text for the operator, or a sentence that says why it failed.
pub type Answer = Result<String>;

/// Why the state of a switch does not change while a successor prepares.
const TAKEN_OVER: &str = "another process takes the switch over: try again";

/// A command in the data-plane thread's queue.
pub struct OperatorCommand {
    /// The operation.
    pub operation: Operation,
    /// The channel of the answer.
    pub reply: oneshot::Sender<Answer>,
}

/// An operation that an operator can ask for.
pub enum Operation {
    /// List the ports: `[--json]`.
    Ports(String),
    /// List the tables: `[--json]`.
    Tables(String),
    /// List the connections.
    Connections,
    /// List the drop counters, by reason.
    Counters,
    /// List the queues: `[--json]`.
    Queues(String),
    /// List the addresses that NORMAL knows: `[--json]`.
    Addresses(String),
    /// Forget those that it has learned.
    ForgetAddresses,
    /// Change what ARP-Path knows: `flush-paths`, `add-path` or `del-path`, and its argument.
    ChangePaths(String, String),
    /// Report the memory in use.
    Memory,
    /// Tell the datapath id, as the configuration would have it, if a start now would give another
    /// one; else nothing.
    KeptDatapathId,
    /// Report what the kernel forwards.
    Accelerator(String),
    /// List the exports: `[--json]`.
    Exports(String),
    /// Report how flows are divided among workers.
    Workers(String),
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
    /// Trace it no more for requesters that are gone.
    ForgetTraces,
    /// Take over this configuration: report on the first channel when it can be done, and do it
    /// when the second says so. If that is closed instead, nothing has changed.
    Reconfigure(Box<Config>, oneshot::Sender<()>, oneshot::Receiver<()>),
    /// Replace the list of controllers, and the fail mode, which was configured or is a default.
    SetControllers(Vec<ActiveAddress>, FailMode, bool),
}

impl Operation {
    /// Returns true if it has to wait, while packets are processed: it would change the switch amid
    /// a state that is being saved, or be given to an extension amid a long change.
    pub(super) fn waits(&self, holds_changes: bool, live: &LiveSwitch) -> bool {
        let is_of_extension = matches!(self, Self::ChangePaths(..));
        let is_early = is_of_extension && live.switch().is_changing();
        is_early || holds_changes && self.is_change()
    }

    /// Returns true if it changes what a state has.
    fn is_change(&self) -> bool {
        match self {
            Self::ChangePaths(..)
            | Self::ForgetAddresses
            | Self::Reconfigure(..)
            | Self::SetControllers(..) => true,
            Self::Ports(_)
            | Self::Tables(_)
            | Self::Connections
            | Self::Counters
            | Self::Queues(_)
            | Self::Addresses(_)
            | Self::Memory
            | Self::KeptDatapathId
            | Self::Accelerator(_)
            | Self::Exports(_)
            | Self::Workers(_)
            | Self::Trace(_)
            | Self::Capture(..)
            | Self::Mirror(_)
            | Self::Captures
            | Self::EndCapture(_)
            | Self::TraceNext(_)
            | Self::ForgetTraces => false,
        }
    }
}

/// Forgets the stations of NORMAL; there is nothing to say of it.
fn forget_addresses(live: &mut LiveSwitch) -> String {
    let now = live.now();
    live.give(
        now,
        |_| Some(RecordedInput::ForgetAddresses),
        |switch, io| switch.ports(now, io, |ports| ports.forget_addresses()),
    );
    String::new()
}

impl DataPlane {
    /// Carries out one command and sends the answer.
    pub(super) fn command(&mut self, command: OperatorCommand) {
        // A command that waited would hold up what the successor says next.
        if self.saver.has_successor() && command.operation.is_change() {
            // The requester may be gone.
            let _ = command.reply.send(Err(TAKEN_OVER.into()));
            return;
        }
        let answer = match command.operation {
            Operation::Ports(options) => {
                let ports = &self.config.current.ports;
                lists::print(
                    &options,
                    &mut self.live,
                    |live| list_ports(live, ports),
                    lists::ports,
                )
            }
            Operation::Tables(options) => {
                lists::print(&options, &mut self.live, lists::table_lines, lists::tables)
            }
            Operation::Connections => Ok(self.live.io().connections.list(self.live.switch())),
            Operation::Counters => Ok(list_counters(&mut self.live)),
            Operation::Queues(options) => {
                let lines = |live: &mut LiveSwitch| list_queues(live.switch());
                lists::print(&options, &mut self.live, lines, lists::queues)
            }
            Operation::Addresses(options) => {
                lists::print(&options, &mut self.live, address_lines, lists::addresses)
            }
            Operation::ForgetAddresses => Ok(forget_addresses(&mut self.live)),
            Operation::ChangePaths(command, argument) => {
                let ports = &self.config.current.ports;
                paths::change(&mut self.live, ports, &command, &argument)
            }
            Operation::Accelerator(options) => {
                // So that all packets are counted.
                self.live.settled();
                self.live.acceleration().describe(&options)
            }
            Operation::Exports(options) => {
                let exports = &self.exports;
                let list = |_: &mut LiveSwitch| lists::exports(exports);
                lists::print(&options, &mut self.live, |_| exports.lines(), list)
            }
            Operation::Workers(options) => self.live.workers().describe(&options),
            Operation::Memory => Ok(describe_memory(self.live.pool())),
            Operation::KeptDatapathId => Ok(self.kept_datapath_id()),
            Operation::Trace(packet) => self.live.trace_packet(&packet),
            Operation::Capture(words, file) => {
                self.copy_frames(&words, NewTarget::File(Some(file)))
            }
            Operation::Mirror(words) => self.copy_frames(&words, NewTarget::Port),
            Operation::Captures => Ok(copiers::list(self.live.io())),
            Operation::EndCapture(name) => copiers::end(&mut self.live.io_mut().ports, &name),
            Operation::TraceNext(flow) => {
                return self.live.trace_next_packet(&flow, command.reply);
            }
            Operation::ForgetTraces => {
                self.live.forget_traces();
                Ok(String::new())
            }
            Operation::Reconfigure(config, ready, go) => self.reconfigure(*config, ready, go),
            Operation::SetControllers(controllers, fail_mode, is_configured) => {
                let Self { live, config, .. } = self;
                config.set_controllers(live, controllers, fail_mode, is_configured);
                Ok(String::new())
            }
        };
        self.live.accelerator().follow_copiers();
        // The requester may be gone.
        let _ = command.reply.send(answer);
    }

    /// Starts a capture or mirror: `PORT FILE-OR-PORT [FLOW]`.
    fn copy_frames(&mut self, words: &str, target: NewTarget) -> Answer {
        let Config { name, ports, .. } = &self.config.current;
        let copier = copiers::new(&self.live, name, ports, words, target)?;
        self.live.io_mut().ports.copiers.push(copier);
        Ok(String::new())
    }
}

/// Lists the ports, the configured ones first.
fn list_ports(live: &mut LiveSwitch, configured: &[PortSpec]) -> String {
    let mut text = String::new();
    let ports = live.settled().datapath().ports();
    for spec in configured {
        let _ = match ports.get(&spec.number) {
            None => writeln!(text, "{} {} gone", spec.number, spec.kind),
            Some(port) => writeln!(text, "{}", port_line(port, &spec.kind)),
        };
    }
    // A switch of the past has ports that nobody configured here.
    let is_other = |port: &&Port| {
        !configured
            .iter()
            .any(|spec| spec.number == port.desc.port_no)
    };
    for port in ports.values().filter(is_other) {
        let _ = writeln!(text, "{}", port_line(port, &port.desc.name.0));
    }
    text
}

fn port_line(port: &Port, kind: &dyn Display) -> String {
    let down = port.desc.state.has(PortState::LINK_DOWN);
    let state = if down { "down" } else { "up" };
    let s = &port.stats;
    format!(
        "{} {kind} {state} rx_packets={} tx_packets={} rx_dropped={} tx_dropped={}",
        port.desc.port_no, s.rx_packets, s.tx_packets, s.rx_dropped, s.tx_dropped,
    )
}

/// Lists the queues of all ports.
fn list_queues(switch: &Switch) -> String {
    let mut text = String::new();
    for port in switch.datapath().ports().keys() {
        let queues = switch.datapath().queues().of(*port).map(Egress::queues);
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

/// Lists the addresses that NORMAL knows, by VLAN and address.
fn address_lines(live: &mut LiveSwitch) -> String {
    let mut text = String::new();
    for ((tag, mac), (port, seen)) in lists::known_addresses(live) {
        let vlan = match tag {
            0 => "untagged".into(),
            tag => format!("vlan={}", tag & !VID_PRESENT),
        };
        let age = match seen {
            Some(seen) => format!("age={}s", live.now().since(seen) / Time::SEC),
            None => "static".into(),
        };
        let _ = writeln!(text, "{mac} {vlan} port={port} {age}");
    }
    text
}

/// Lists the drop counters of the switch, by reason, then those of each port's driver.
fn list_counters(live: &mut LiveSwitch) -> String {
    let mut text = String::new();
    for (reason, count) in live.settled().datapath().lane().drops() {
        let _ = writeln!(text, "{} {count}", reason.name());
    }
    for (number, reason, count) in live.driver_drops() {
        let _ = writeln!(text, "port {number} {reason} {count}");
    }
    text
}

/// Describes the memory in use.
fn describe_memory(pool: &Pool) -> String {
    let resident = resident_kib().map_or("unknown".into(), |kib| format!("{kib} kB"));
    let buffers = pool.stats();
    format!(
        "resident {resident}\nbuffers_in_use {} bytes\nbuffer_allocations {}\n\
         buffers_refused {}\n",
        buffers.bytes_in_use, buffers.allocations, buffers.refused
    )
}

/// The resident memory of the process in KiB, if the system reports it.
pub(super) fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mut lines = status.lines();
    let resident = lines.find_map(|line| line.strip_prefix("VmRSS:"))?;
    resident.trim().trim_end_matches("kB").trim().parse().ok()
}
