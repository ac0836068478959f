//! Traces of packets for operators: of a packet that they describe, or of the next that matches.

use bofuss_ext::Switch;
use bofuss_ext::trace::{PortNames, Trace};
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::text::parse_match;
use bofuss_oflib::{Catalogue, PortNo};
use bofuss_packet::{KeyMatch, Packet};
use tokio::sync::oneshot;

use crate::dataplane::thread_clock::ThreadClock;
use crate::error::Result;

/// Most requests that wait for a packet.
const MAX_PENDING_TRACES: usize = 8;

/// The requests to trace the next matching packet.
#[derive(Default)]
pub(super) struct PendingTraces(Vec<PendingTrace>);

impl PendingTraces {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Registers a request to trace the next packet that matches.
    pub(in crate::dataplane) fn request(
        &mut self,
        switch: &Switch,
        argument: &str,
        reply: oneshot::Sender<Result<String>>,
    ) {
        let (format, flow) = TraceFormat::read(argument);
        self.forget();
        let pending = &mut self.0;
        let refused = match parse_match(flow, &named(switch)) {
            Err(error) => error.to_string(),
            Ok(_) if pending.len() >= MAX_PENDING_TRACES => {
                format!("{MAX_PENDING_TRACES} requests wait for packets already")
            }
            Ok(rule) => {
                let rule = KeyMatch::from(&rule);
                return pending.push(PendingTrace {
                    rule,
                    format,
                    reply,
                });
            }
        };
        // The requester may be gone.
        let _ = reply.send(Err(refused.into()));
    }

    /// Forgets requests whose requesters are gone.
    pub(super) fn forget(&mut self) {
        self.0.retain(|trace| !trace.reply.is_closed());
    }

    /// Traces the frames that requests wait for, before they go through the switch.
    pub(super) fn answer(
        &mut self,
        clock: &ThreadClock,
        switch: &mut Switch,
        pool: &Pool,
        (port, frames): (PortNo, &[Frame]),
    ) {
        for frame in frames {
            if self.is_empty() {
                return;
            }
            let Some(copy) = pool.frame(frame.bytes()) else {
                return;
            };
            let additions = switch.datapath().catalogue().additions();
            let packet = Packet::with_additions(copy, port, additions);
            let pending = &mut self.0;
            let served: Vec<PendingTrace> = pending
                .extract_if(.., |trace| packet.key().matches(&trace.rule, &mut ()))
                .collect();
            if served.is_empty() {
                continue;
            }
            let now = clock.now();
            let trace = Trace::of(switch, now, port, 0, packet.frame.bytes());
            for pending in served {
                let text = match trace.clone() {
                    Ok(trace) => pending.format.print(switch, trace),
                    Err(error) => Err(error.into()),
                };
                let _ = pending.reply.send(text);
            }
        }
    }
}

/// A request to trace the next matching packet.
struct PendingTrace {
    rule: KeyMatch,
    format: TraceFormat,
    reply: oneshot::Sender<Result<String>>,
}

/// The format of a printed trace: `--json` and `--names`, in front of the packet or the match.
#[derive(Clone, Copy, Default)]
pub(super) struct TraceFormat {
    json: bool,
    /// True if ports have their names in place of numbers.
    names: bool,
}

impl TraceFormat {
    /// Reads the options at the beginning of an argument. Returns also what follows them.
    pub(super) fn read(argument: &str) -> (Self, &str) {
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

    /// Prints a trace of a switch.
    pub(super) fn print(self, switch: &Switch, mut trace: Trace) -> Result<String> {
        if self.names {
            let ports = switch.datapath().ports().values();
            trace = trace.with_names(&PortNames::of(ports.map(|port| &port.desc)));
        }
        if self.json {
            Ok(serde_json::to_string(&trace)?)
        } else {
            Ok(trace.to_string())
        }
    }
}

/// The switch's catalogue, with the names of its ports added.
pub fn named(switch: &Switch) -> Catalogue {
    let datapath = switch.datapath();
    let ports = datapath.ports().values().map(|port| &port.desc);
    let names = ports.map(|desc| (desc.name.0.to_string(), desc.port_no));
    let catalogue = Catalogue::clone(datapath.catalogue());
    catalogue.with_ports(names.collect())
}
