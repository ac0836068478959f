//! Traces of packets for operators: of a packet that they describe, or of the next that matches.

use bofuss_ext::trace::{PortNames, Trace, parse_packet};
use bofuss_frame::Frame;
use bofuss_oflib::text::parse_match;
use bofuss_oflib::{Catalogue, PortNo};
use bofuss_packet::{KeyMatch, Packet};
use tokio::sync::oneshot;

use super::DataPlane;
use super::command::Answer;

/// Most requests that wait for a packet.
const MAX_PENDING_TRACES: usize = 8;

/// A request to trace the next matching packet.
pub(super) struct PendingTrace {
    rule: KeyMatch,
    format: TraceFormat,
    reply: oneshot::Sender<Answer>,
}

/// How a trace is printed: `--json` and `--names`, in front of the packet or the match.
#[derive(Clone, Copy, Default)]
struct TraceFormat {
    json: bool,
    /// Whether ports have their names in place of numbers.
    names: bool,
}

impl TraceFormat {
    /// Reads the options at the beginning of an argument. Returns also what follows them.
    fn read(argument: &str) -> (Self, &str) {
        let mut format = Self::default();
        let mut rest = argument;
        while let Some((word, after)) = rest.split_once(' ') {
            match word {
                "--json" => format.json = true,
                "--names" => format.names = true,
                _ => break,
            }
            rest = after.trim_start();
        }
        (format, rest)
    }
}

impl DataPlane {
    /// The switch's catalogue, with the names of its ports added.
    fn named(&self) -> Catalogue {
        let datapath = self.switch.datapath();
        let ports = datapath.ports().values().map(|port| &port.desc);
        let names = ports.map(|desc| (desc.name.0.to_string(), desc.port_no));
        let catalogue = Catalogue::clone(datapath.catalogue());
        catalogue.with_ports(names.collect())
    }

    /// Reports what the switch would do with a packet.
    pub(super) fn trace_packet(&mut self, argument: &str) -> Answer {
        let (format, packet) = TraceFormat::read(argument);
        let (in_port, frame) = parse_packet(packet, &self.named())?;
        let now = self.now();
        let trace = Trace::of(&mut self.switch, now, in_port, &frame)?;
        self.trace_answer(trace, format)
    }

    fn trace_answer(&self, mut trace: Trace, format: TraceFormat) -> Answer {
        if format.names {
            let ports = self.switch.datapath().ports().values();
            trace = trace.with_names(&PortNames::of(ports.map(|port| &port.desc)));
        }
        if format.json {
            Ok(serde_json::to_string(&trace)?)
        } else {
            Ok(trace.to_string())
        }
    }

    /// Registers a request to trace the next packet that matches.
    pub(super) fn trace_next_packet(&mut self, argument: &str, reply: oneshot::Sender<Answer>) {
        let (format, flow) = TraceFormat::read(argument);
        self.lane
            .pending_traces
            .retain(|pending| !pending.reply.is_closed());
        let refused = match parse_match(flow, &self.named()) {
            Err(error) => error.to_string(),
            Ok(_) if self.lane.pending_traces.len() >= MAX_PENDING_TRACES => {
                format!("{MAX_PENDING_TRACES} requests wait for packets already")
            }
            Ok(rule) => {
                let rule = KeyMatch::from(&rule);
                return self.lane.pending_traces.push(PendingTrace {
                    rule,
                    format,
                    reply,
                });
            }
        };
        // The requester may be gone.
        let _ = reply.send(Err(refused.into()));
    }

    /// Traces the frames that requests wait for, before they go through the switch.
    pub(super) fn answer_pending_traces(&mut self, port: PortNo, frames: &[Frame]) {
        for frame in frames {
            if self.lane.pending_traces.is_empty() {
                return;
            }
            let Some(copy) = self.lane.pool.frame(frame.bytes()) else {
                return;
            };
            let additions = self.switch.datapath().catalogue().additions();
            let packet = Packet::with_additions(copy, port, additions);
            let served: Vec<PendingTrace> = self
                .lane
                .pending_traces
                .extract_if(.., |pending| packet.key().matches(&pending.rule, &mut ()))
                .collect();
            if served.is_empty() {
                continue;
            }
            let now = self.now();
            let trace = Trace::of(&mut self.switch, now, port, packet.frame.bytes());
            for pending in served {
                let text = match trace.clone() {
                    Ok(trace) => self.trace_answer(trace, pending.format),
                    Err(error) => Err(error.into()),
                };
                let _ = pending.reply.send(text);
            }
        }
    }
}
