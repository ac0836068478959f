//! The ways of packets, for operators: of one that is written, and of the next that comes.

use bofuss_ext::trace::{Trace, parse_packet};
use bofuss_frame::Frame;
use bofuss_oflib::text::parse_match;
use bofuss_oflib::{Catalogue, PortNo};
use bofuss_packet::{KeyMatch, Packet};
use tokio::sync::oneshot;

use super::Plane;
use super::command::Answer;

/// How many may wait for a packet at a time.
const MAX_WAITERS: usize = 8;

/// Somebody who waits for a packet's way.
pub(super) struct Waiter {
    rule: KeyMatch,
    json: bool,
    reply: oneshot::Sender<Answer>,
}

/// Takes `--json` off the front.
fn wants_json(argument: &str) -> (bool, &str) {
    match argument.strip_prefix("--json ") {
        Some(rest) => (true, rest.trim()),
        None => (false, argument),
    }
}

fn answer(trace: &Trace, json: bool) -> Answer {
    match json {
        true => serde_json::to_string(trace).map_err(|error| error.to_string()),
        false => Ok(trace.to_string()),
    }
}

impl Plane {
    /// What is known, with the names of the ports.
    fn named(&self) -> Catalogue {
        let datapath = self.switch.datapath();
        let ports = datapath.ports().values().map(|port| &port.desc);
        let names = ports.map(|desc| (desc.name.0.to_string(), desc.port_no));
        let catalogue = Catalogue::clone(datapath.catalogue());
        catalogue.with_ports(names.collect())
    }

    /// Tells what the switch would do with a packet.
    pub(super) fn tell_way(&mut self, argument: &str) -> Answer {
        let (json, packet) = wants_json(argument);
        let (in_port, frame) = parse_packet(packet, &self.named())?;
        let now = self.now();
        answer(&Trace::of(&mut self.switch, now, in_port, &frame)?, json)
    }

    /// Has somebody wait for the next packet that matches.
    pub(super) fn wait_for(&mut self, argument: &str, reply: oneshot::Sender<Answer>) {
        let (json, flow) = wants_json(argument);
        self.waiters.retain(|waiter| !waiter.reply.is_closed());
        let refused = match parse_match(flow, &self.named()) {
            Err(error) => error.to_string(),
            Ok(_) if self.waiters.len() >= MAX_WAITERS => {
                format!("{MAX_WAITERS} wait for packets already")
            }
            Ok(rule) => {
                let rule = KeyMatch::from(&rule);
                return self.waiters.push(Waiter { rule, json, reply });
            }
        };
        // Whoever asked may be gone.
        let _ = reply.send(Err(refused));
    }

    /// Tells the ways of frames that somebody waits for, before they go them.
    pub(super) fn trace_waited(&mut self, port: PortNo, frames: &[Frame]) {
        for frame in frames {
            if self.waiters.is_empty() {
                return;
            }
            let Some(copy) = self.pool.frame(frame.bytes()) else {
                return;
            };
            let additions = self.switch.datapath().catalogue().additions();
            let packet = Packet::with_additions(copy, port, additions);
            let hit = |waiter: &mut Waiter| packet.key().matches(&waiter.rule, &mut ());
            let served: Vec<Waiter> = self.waiters.extract_if(.., hit).collect();
            if served.is_empty() {
                continue;
            }
            let now = self.now();
            let trace = Trace::of(&mut self.switch, now, port, packet.frame.bytes());
            for waiter in served {
                let told = trace.clone().and_then(|trace| answer(&trace, waiter.json));
                let _ = waiter.reply.send(told);
            }
        }
    }
}
