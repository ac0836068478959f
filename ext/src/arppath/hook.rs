//! The hook of ARP-Path: its action, misses, ports, timers and messages.

use alloc::{boxed::Box, format, vec, vec::Vec};

use bofuss_datapath::{
    Config, ControlContext, Hook, HookContext, HookEffect, Metric, OptionError, ReplyPart, Time,
    Verdict,
};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::field::{ETH_TYPE, VLAN_VID};
use bofuss_oflib::message::FlowMod;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, Catalogue, ErrorCode, ExtValue, Mac, PortNo};

use super::duplicates::digest;
use super::frame::{HostPair, NEAREST, PathFrame};
use super::machine::{Forwarding, HostFrame, KnownSource, PathMachine};
use super::options::PathOptions;
use super::sessions::Nonces;
use super::{report, rules};

/// Destinations 01:80:c2:00:00:00 to :0f belong to the link and are not forwarded. Spec: IEEE
/// 802.1Q section 8.6.3.
const LINK_LOCAL: [u8; 5] = [0x01, 0x80, 0xc2, 0x00, 0x00];
/// The last byte of the first address after this range.
const LINK_LOCAL_END: u8 = 0x10;
/// Bytes of an Ethernet header.
const ETHERNET_BYTES: usize = 14;

/// Makes the hook, with no host known.
pub fn hook(_: &Catalogue) -> Box<dyn Hook> {
    Box::new(ArpPath {
        machine: PathMachine::new(PathOptions::default(), 0, Nonces::new(0, 0, 0)),
        used: Time(0),
    })
}

/// This extension's behaviour.
struct ArpPath {
    machine: PathMachine,
    /// The time when a packet last took ARP-Path.
    used: Time,
}

impl ArpPath {
    /// Forwards a packet: by its action, or because no entry matched.
    fn take(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        // A packet that is not Ethernet has no addresses.
        if !cx.is_of_ethernet() {
            return Verdict::Continue;
        }
        let now = cx.now;
        if !cx.is_dry() {
            self.used = now;
            self.machine.hellos.activate(now);
        }
        let in_port = cx.in_port();
        let mut frame = HostFrame {
            pair: pair_of(cx),
            ingress: Some(in_port).filter(|port| self.machine.neighbours.is_up(*port)),
            digest: None,
        };
        if !cx.is_dry() {
            if let Some(port) = self.machine.known_port(now, &frame) {
                cx.forward(port);
                return Verdict::Continue;
            }
        }
        let pair = frame.pair;
        let ethertype = cx.get(ETH_TYPE).unwrap_or(0) as u16;
        if ethertype == self.machine.options.ethertype {
            return self.receive(cx, in_port, pair.destination);
        }
        let [.., last] = pair.destination.0;
        if pair.destination.0[..5] == LINK_LOCAL && last < LINK_LOCAL_END {
            return cx.drop("link_local");
        }
        if pair.source.is_multicast() {
            return cx.drop("bad_source");
        }
        if self.machine.needs_digest(now, &frame) {
            frame.digest = Some(digest(cx.frame().bytes()));
        }
        self.say(cx, &frame);
        let forwarding = if cx.is_dry() {
            self.machine.decide(now, &frame)
        } else {
            self.machine.forward(now, &frame)
        };
        let verdict = self.carry_out(cx, &frame, forwarding);
        self.send(cx);
        verdict
    }

    fn carry_out(
        &mut self,
        cx: &mut HookContext<'_>,
        frame: &HostFrame,
        forwarding: Forwarding,
    ) -> Verdict {
        match forwarding {
            Forwarding::Port(port) => cx.forward(port),
            Forwarding::Flood => {
                let rate = self.machine.options.floods;
                let now = cx.now;
                let dry = cx.is_dry();
                let neighbours = &mut self.machine.neighbours;
                let ingress = frame.ingress;
                let may = ingress.is_none_or(|port| neighbours.may_flood(now, port, rate, dry));
                if !may {
                    return cx.drop("storm");
                }
                cx.apply(vec![Action::output(PortNo::FLOOD)]);
            }
            Forwarding::Wait if cx.is_dry() => {
                cx.say(|| "the packet waits, and a path is asked for".into());
            }
            Forwarding::Wait => {
                let packet = cx.copy();
                if let Some(reason) = self.machine.wait(cx.now, frame, packet) {
                    return cx.drop(reason);
                }
            }
            Forwarding::Drop(reason) => return cx.drop(reason),
        }
        cx.take();
        Verdict::Continue
    }

    /// Adds to a trace what is known of the two hosts.
    fn say(&self, cx: &mut HookContext<'_>, frame: &HostFrame) {
        let now = cx.now;
        let machine = &self.machine;
        cx.say(|| {
            let known = frame
                .ingress
                .map(|port| machine.source(now, &frame.source(), port));
            let source = match known {
                None => "came from no port",
                Some(KnownSource::New) => "is new",
                Some(KnownSource::Same) => "is where it was",
                Some(KnownSource::Moved) => "has moved",
                Some(KnownSource::Elsewhere) => "was heard elsewhere just now",
                Some(KnownSource::Pinned) => "is pinned elsewhere",
            };
            let destination = if frame.pair.destination.is_multicast() {
                "all ports".into()
            } else {
                match machine.paths.get(now, &frame.destination()) {
                    Some(entry) => format!("port {} ({})", entry.port, entry.state.name()),
                    None if machine.is_offered(now, frame) => "unknown to all".into(),
                    None => "unknown".into(),
                }
            };
            format!("the source {source}; the destination: {destination}")
        });
    }

    /// Handles a frame of the protocol.
    fn receive(&mut self, cx: &mut HookContext<'_>, port: PortNo, destination: Mac) -> Verdict {
        let key = self.machine.options.key;
        let body = cx
            .frame()
            .bytes()
            .get(ETHERNET_BYTES..)
            .unwrap_or(&[])
            .to_vec();
        if cx.is_dry() {
            cx.say(|| match PathFrame::decode(&body, key) {
                Ok(frame) => format!("a {} of switch {:#x}", frame.ty.name(), frame.sender),
                Err(error) => format!("no frame of ARP-Path: {error:?}"),
            });
        } else {
            let near = destination == NEAREST;
            self.machine.receive(cx.now, port, near, &body);
            self.send(cx);
        }
        cx.take();
        Verdict::Continue
    }

    /// Sends what the machine has collected.
    fn send(&mut self, cx: &mut HookContext<'_>) {
        if cx.is_dry() {
            return;
        }
        // An offer precedes the frames that are offered.
        for (port, bytes) in self.machine.sender.drain() {
            if let Some(packet) = cx.packet(&bytes, PortNo::CONTROLLER) {
                cx.emit(packet, vec![Action::output(port)]);
            }
        }
        for (packet, actions) in self.machine.released.drain(..) {
            cx.emit(packet, actions);
        }
    }

    /// As [`Self::send`], outside of packet handling.
    fn send_later(&mut self, cx: &mut ControlContext<'_>) {
        for (port, bytes) in self.machine.sender.drain() {
            if let Some(packet) = cx.packet(&bytes, PortNo::CONTROLLER) {
                cx.emit(packet, vec![Action::output(port)]);
            }
        }
        for (packet, actions) in self.machine.released.drain(..) {
            cx.emit(packet, actions);
        }
    }

    /// Stops sending HELLOs when no table-miss entry has the action, no table is chosen, and no
    /// packet has arrived during the lifetime of a path.
    fn rest(&mut self, cx: &ControlContext<'_>) {
        let options = &self.machine.options;
        let is_idle = cx.now.since(self.used) >= options.learnt && options.tables.is_empty();
        if is_idle && !cx.tables().iter().any(rules::table_miss_takes_it) {
            self.machine.hellos.stop();
        }
    }
}

/// The source, destination and VLAN of a packet. An address that is cut off is 0.
fn pair_of(cx: &mut HookContext<'_>) -> HostPair {
    let vlan = cx.get(VLAN_VID).unwrap_or(0) as u16;
    let bytes = cx.frame().bytes();
    HostPair {
        vlan,
        destination: mac_at(bytes, 0),
        source: mac_at(bytes, 6),
    }
}

/// The address at this place of a frame; 0 if it is cut off.
fn mac_at(bytes: &[u8], at: usize) -> Mac {
    let address = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    address.copied().map(Mac).unwrap_or_default()
}

impl Hook for ArpPath {
    fn name(&self) -> &'static str {
        "arppath"
    }

    fn set_option(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        self.machine.options.set(name, value)
    }

    fn start(&mut self, config: &Config) {
        let options = self.machine.options.clone();
        let id = config.datapath_id;
        let nonces = Nonces::new(config.secret, config.epoch_ns, id);
        self.machine = PathMachine::new(options, id, nonces);
        if !self.machine.options.tables.is_empty() {
            self.machine.hellos.activate(Time(0));
        }
    }

    /// A hook on misses in the chosen tables.
    fn effect(&self, table: TableId) -> HookEffect {
        if self.machine.options.tables.contains(&table) {
            HookEffect::Live
        } else {
            HookEffect::None
        }
    }

    fn only_misses(&self) -> bool {
        true
    }

    fn action_effect(&self, _: usize, _: &ExtValue) -> HookEffect {
        HookEffect::Live
    }

    fn on_miss(&mut self, cx: &mut HookContext<'_>) -> bool {
        self.take(cx);
        false
    }

    fn on_action(&mut self, cx: &mut HookContext<'_>, _: usize, _: &ExtValue) -> Verdict {
        self.take(cx)
    }

    fn next_tick(&self) -> Option<Time> {
        self.machine.next_tick()
    }

    fn on_tick(&mut self, cx: &mut ControlContext<'_>) {
        self.machine.tick(cx.now);
        self.rest(cx);
        self.send_later(cx);
    }

    fn on_flow_mod(&mut self, cx: &mut ControlContext<'_>, flow_mod: &FlowMod) {
        if !flow_mod.deletes() && rules::has_action(flow_mod.instructions.list()) {
            self.used = cx.now;
            self.machine.hellos.activate(cx.now);
        }
    }

    fn on_message(
        &mut self,
        cx: &mut ControlContext<'_>,
        _: usize,
        value: &ExtValue,
    ) -> Result<(), ErrorCode> {
        let change = value.body().ok_or(BadRequest::BAD_EXP_TYPE)?;
        report::change(&mut self.machine, cx, change)?;
        self.send_later(cx);
        Ok(())
    }

    fn on_multipart(
        &mut self,
        cx: &mut ControlContext<'_>,
        row: usize,
        request: &ExtValue,
        from: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        report::part(&self.machine, cx, row, request.row, from)
    }

    fn metrics(&self, _: Time, _: u64, list: &mut Vec<Metric>) -> Option<u64> {
        report::metrics(&self.machine, list);
        None
    }

    fn on_port_change(&mut self, cx: &mut ControlContext<'_>, port: PortNo, up: bool) {
        self.machine.link_changed(cx.now, port, up);
        self.send_later(cx);
    }
}
