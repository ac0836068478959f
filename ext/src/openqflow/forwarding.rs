//! Forwards packets by their flows, and keeps what that needs.

use alloc::{format, string::ToString, vec, vec::Vec};

use bofuss_datapath::{HookContext, Time, UpcomingPacket};
use bofuss_oflib::field::TCP_FLAGS;
use bofuss_oflib::message::FlowMod;
use bofuss_oflib::types::TableId;
use bofuss_oflib::wire::{Bytes, Text};
use bofuss_oflib::{Action, ExtValue, Instruction, PortNo};
use bofuss_packet::offload;

use super::admission::Promises;
use super::dpi::Signatures;
use super::egress::qos_of;
use super::engine::Expiry;
use super::flow::{
    CountedPacket, DropCause, FlowLookup, FlowPhase, ROUND_NS, ReportReason, SoughtTuple,
};
use super::message::FlowCopy;
use super::options::{QflowOptions, Unknown};
use super::pending::PendingPackets;
use super::records::{ForwardRecord, QosRecord};
use super::table::FlowTable;
use super::tuple::FlowTuple;
use super::{COPY, FORWARD, QOS, REPORT, VALUES};
use crate::common::list::ValueList;

/// The bits of TCP_FLAGS that end a connection: FIN and RST.
const CLOSING_FLAGS: u128 = 0x005;

/// A packet that is going through the rule tables.
struct LookedUp {
    tuple: FlowTuple,
    /// The slot of its flow; none in a trace.
    slot: Option<u32>,
    packet: CountedPacket,
    forward: Option<ForwardRecord>,
}

/// The state of OpenQFlow in a switch.
pub(super) struct OpenQflow {
    pub(super) options: QflowOptions,
    pub(super) table: FlowTable,
    pub(super) signatures: Signatures,
    pub(super) pending: PendingPackets,
    pub(super) promises: Promises,
    /// The prefetched flows of the packets of a burst.
    ahead: Vec<SoughtTuple>,
    looked_up: Option<LookedUp>,
    /// True if rules depend on more than the tuple; then no path is remembered in flows.
    pub(super) looks_up_each: bool,
    pub(super) expiry: Expiry,
}

impl OpenQflow {
    /// The state with no table chosen.
    pub(super) fn new() -> Self {
        Self {
            options: QflowOptions::default(),
            table: FlowTable::default(),
            signatures: Signatures::default(),
            pending: PendingPackets::default(),
            promises: Promises::default(),
            ahead: Vec::new(),
            looked_up: None,
            looks_up_each: false,
            expiry: Expiry::default(),
        }
    }

    /// Prefetches the flows of a burst together, so that it waits for memory once. What was
    /// prefetched before is forgotten.
    pub(super) fn look_ahead<'a>(&mut self, packets: impl Iterator<Item = UpcomingPacket<'a>>) {
        self.ahead.clear();
        for mut packet in packets {
            let tuple = FlowTuple::of(&mut packet);
            self.ahead.push(self.table.seek(tuple));
        }
        for sought in &mut self.ahead {
            self.table.guess(sought);
        }
    }

    /// Remembers the forwarding record that a rule has for a packet, and looks up a QoS rule.
    pub(super) fn go_by(&mut self, cx: &mut HookContext<'_>, rule: &ForwardRecord) {
        let tuple = FlowTuple::of(cx);
        let known = self.looked_up.take().filter(|known| known.tuple == tuple);
        let packet = counted(cx, &tuple);
        let known = known.unwrap_or(LookedUp {
            tuple,
            slot: None,
            packet,
            forward: None,
        });
        self.looked_up = Some(LookedUp {
            forward: Some(rule.clone()),
            ..known
        });
        self.look_up_qos(cx);
    }

    /// Holds a packet until there is a rule for its flow.
    fn keep(
        &mut self,
        cx: &mut HookContext<'_>,
        slot: u32,
        tuple: &FlowTuple,
        packet: CountedPacket,
    ) {
        let table = self.options.table;
        self.pending
            .keep(&mut self.table, table, cx, slot, tuple, packet);
    }

    /// Handles a packet in a trace, without changing any state.
    fn try_out(&mut self, cx: &mut HookContext<'_>, tuple: FlowTuple, packet: CountedPacket) {
        let slot = self.table.find(&tuple);
        let now = cx.now;
        let record = slot.and_then(|slot| self.table.record(now, slot, ReportReason::Periodic));
        cx.say(|| match &record {
            Some(record) => format!("the flow {}", Text(record)),
            None => format!("a new flow {}", Text(&tuple)),
        });
        let is_fresh = slot.is_some_and(|slot| self.table.is_fresh(now, slot));
        match (slot, record.map(|record| record.state)) {
            (Some(slot), Some(FlowPhase::Resolved)) if is_fresh && !self.looks_up_each => {
                self.send(cx, slot, &tuple, packet);
            }
            (Some(slot), Some(FlowPhase::Pending)) if is_fresh => {
                let bytes = cx.frame().buffer_bytes();
                if self.pending.has_room(slot, &tuple, bytes) {
                    cx.say(|| "it waits until there is a rule".to_string());
                    // Its path ends here, because a packet held in a trace never continues.
                    drop(cx.hold(cx.table));
                    return;
                }
                cx.drop("pending");
            }
            (..) => self.look_up(cx, tuple, None, packet),
        }
    }

    /// Looks up the flow of a packet in the chosen table, and does what the flow says.
    pub(super) fn arrive(&mut self, cx: &mut HookContext<'_>) {
        let ahead = cx
            .upcoming()
            .and_then(|number| self.ahead.get(number).copied());
        let sought = ahead.unwrap_or_else(|| self.table.seek(FlowTuple::of(cx)));
        let tuple = sought.tuple;
        let packet = counted(cx, &tuple);
        if cx.is_dry() {
            return self.try_out(cx, tuple, packet);
        }
        if self.table.is_empty() {
            self.expiry.due = cx.now.after(ROUND_NS);
        }
        if !self.table.engines.is_empty() {
            let waits = |port, id| cx.waits(port, id);
            self.table.reroute_after_gap(cx.now, &sought, waits);
        }
        let touched = self.table.touch(cx.now, &sought, packet);
        if touched.passes && self.table.reports_ends {
            let record = self
                .table
                .record(cx.now, touched.slot, ReportReason::Threshold);
            let list = ValueList(record.into_iter().collect::<Vec<_>>());
            cx.notify(ExtValue::typed(REPORT, list));
        }
        if !self.signatures.is_empty() {
            self.signatures
                .inspect(&mut self.table, cx, touched.slot, &tuple);
        }
        if self.pending.has(touched.slot, &tuple) && touched.lookup != FlowLookup::Wait {
            // Earlier packets of the flow that wait go first.
            self.table.take_back(touched.slot, packet, None);
            return self.keep(cx, touched.slot, &tuple, packet);
        }
        if touched.lookup == FlowLookup::Wait {
            return self.keep(cx, touched.slot, &tuple, packet);
        }
        // A packet that waits comes here again, and is copied then.
        if self.table.takes_copy(touched.slot, packet.bytes) {
            let frame = cx.frame().bytes();
            cx.notify(copy(&tuple, frame));
        }
        if touched.lookup == FlowLookup::Known && !self.looks_up_each {
            return self.send(cx, touched.slot, &tuple, packet);
        }
        self.look_up(cx, tuple, Some(touched.slot), packet)
    }

    pub(super) fn look_up(
        &mut self,
        cx: &mut HookContext<'_>,
        tuple: FlowTuple,
        slot: Option<u32>,
        packet: CountedPacket,
    ) {
        self.looked_up = Some(LookedUp {
            tuple,
            slot,
            packet,
            forward: None,
        });
        match self.options.forwarding.first() {
            Some(table) => cx.goto(*table),
            None => self.find_none(cx),
        }
    }

    /// Forwards a packet of a resolved flow.
    pub(super) fn send(
        &mut self,
        cx: &mut HookContext<'_>,
        slot: u32,
        tuple: &FlowTuple,
        packet: CountedPacket,
    ) {
        let known = self.table.resolved(slot).expect("its flow is resolved");
        if known.port == PortNo::ANY {
            if !cx.is_dry() {
                self.table.take_back(slot, packet, Some(DropCause::Rule));
            }
            cx.drop("rule");
            return;
        }
        let id = self.table.flow_id(tuple);
        cx.set_qos(qos_of(
            known.qos,
            Some(known.aggregate),
            id,
            Some(self.table.number(slot)),
        ));
        let port = self
            .table
            .paths
            .next_port(&known, |port| cx.waits(port, id));
        forward(cx, known.forward, port);
    }

    /// Takes what is known of a packet, which has this tuple. An earlier packet that another entry
    /// forwarded may have left its own, whose flow may be over; and a trace changes no flow.
    fn take_known(&mut self, cx: &HookContext<'_>, tuple: &FlowTuple) -> Option<LookedUp> {
        let known = self.looked_up.take();
        let mut known = known.filter(|known| known.tuple == *tuple)?;
        let is_there = !cx.is_dry() && self.table.find(tuple) == known.slot;
        known.slot = known.slot.filter(|_| is_there);
        Some(known)
    }

    /// Forwards a packet as the rules say, with this quality of service, and resolves its flow.
    pub(super) fn finish(&mut self, cx: &mut HookContext<'_>, qos: Option<&QosRecord>) {
        let tuple = FlowTuple::of(cx);
        let Some(mut known) = self.take_known(cx, &tuple) else {
            return;
        };
        let Some(rule) = known.forward.take() else {
            return;
        };
        let default = QosRecord::default();
        if let Some(slot) = known.slot {
            if self.table.resolve(slot, &rule, qos.unwrap_or(&default)) {
                return self.send(cx, slot, &tuple, known.packet);
            }
        }
        let port = self.table.paths.port_of(&rule);
        if port == PortNo::ANY {
            cx.drop("rule");
            return;
        }
        cx.set_qos(qos_of(
            qos.unwrap_or(&default),
            None,
            self.table.flow_id(&tuple),
            known.slot.map(|slot| self.table.number(slot)),
        ));
        forward(cx, &rule, port);
    }

    /// Continues with the QoS rules, after a forwarding rule was found.
    pub(super) fn look_up_qos(&mut self, cx: &mut HookContext<'_>) {
        match self.options.qos.first() {
            Some(table) if *table > cx.table => cx.goto(*table),
            Some(_) | None => self.finish(cx, None),
        }
    }

    /// Handles a packet that no rule forwards, as the option `unknown` says.
    pub(super) fn find_none(&mut self, cx: &mut HookContext<'_>) {
        let tuple = FlowTuple::of(cx);
        let known = self.take_known(cx, &tuple);
        let slot = known.as_ref().and_then(|known| known.slot);
        let rule = slot.and_then(|slot| self.table.own_forward(slot));
        if let Some((known, rule)) = known.as_ref().zip(rule) {
            self.looked_up = Some(LookedUp {
                forward: Some(rule.clone()),
                ..*known
            });
            return self.look_up_qos(cx);
        }
        let port = match self.options.unknown {
            Unknown::Controller => PortNo::CONTROLLER,
            Unknown::Flood => PortNo::FLOOD,
            Unknown::Normal => PortNo::NORMAL,
            Unknown::Drop => {
                if let Some((known, slot)) = known.zip(slot) {
                    self.table
                        .take_back(slot, known.packet, Some(DropCause::NoRule));
                }
                cx.drop("no_rule");
                return;
            }
        };
        let asks = self.options.unknown == Unknown::Controller;
        if let Some((known, slot)) = known.zip(slot).filter(|_| asks) {
            self.table.take_back(slot, known.packet, None);
            if !self.table.wait(cx.now, slot) {
                return self.keep(cx, slot, &known.tuple, known.packet);
            }
        }
        cx.apply(vec![Action::output(port)]);
        cx.take();
    }

    /// Returns true if flows may remember a rule's result: it depends only on the tuples of
    /// packets, and no idle timeout counts their packets.
    pub(super) fn is_remembered(flow_mod: &FlowMod) -> bool {
        let list = flow_mod.instructions.list();
        let forwards = list
            .iter()
            .any(|one| is_row(one, FORWARD) || is_row(one, QOS));
        let fields = flow_mod.fields.fields().iter();
        let mut others = fields.filter(|one| !FlowTuple::holds(one.field));
        let is_of_tuple = others.next().is_none() && (!forwards || list.len() == 1);
        is_of_tuple && flow_mod.idle_timeout == 0
    }

    pub(super) fn rules_changed(&mut self, now: Time, table: TableId) {
        if table == TableId::ALL || self.options.has_rules(table) {
            self.begin_epoch(now);
        }
    }

    /// Begins a new epoch: the next packet of each flow is looked up again, and waiting packets
    /// continue soon.
    pub(super) fn begin_epoch(&mut self, now: Time) {
        self.table.begin_epoch();
        self.pending.paths_changed(now);
    }
}

/// A copy of a packet for engines.
fn copy(tuple: &FlowTuple, frame: &[u8]) -> ExtValue {
    let body = FlowCopy {
        tuple: *tuple,
        frame: Bytes(frame.into()),
    };
    ExtValue::typed(COPY, body)
}

/// Returns true if an instruction is the one of this row.
fn is_row(instruction: &Instruction, row: usize) -> bool {
    let Instruction::Experimenter(value) = instruction else {
        return false;
    };
    *value.row == VALUES[row]
}

/// Forwards a packet according to a record.
fn forward(cx: &mut HookContext<'_>, rule: &ForwardRecord, port: PortNo) {
    if rule.actions.is_empty() && port.is_port() {
        return cx.forward(port);
    }
    let mut actions = rule.actions.clone();
    actions.push(Action::output(port));
    cx.apply(actions);
    cx.take();
}

/// The counts of a packet for its flow.
fn counted(cx: &mut HookContext<'_>, tuple: &FlowTuple) -> CountedPacket {
    let (packets, bytes) = offload::wire_count(cx.frame());
    let flags = if tuple.is_tcp() {
        cx.get(TCP_FLAGS)
    } else {
        None
    };
    CountedPacket {
        packets: packets as u32,
        bytes: bytes as u32,
        closes: flags.unwrap_or(0) & CLOSING_FLAGS != 0,
    }
}
