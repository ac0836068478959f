//! The hook of OpenQFlow: passes packets, timers and messages to the flow table.

use alloc::{boxed::Box, vec, vec::Vec};

use bofuss_datapath::{OptionError, 
    Config, ControlContext, EgressDrop, Hook, HookContext, HookEffect, Metric, ReplyPart, Time,
    Upcoming, Verdict,
};
use bofuss_oflib::ext::ValueList;
use bofuss_oflib::field::TCP_FLAGS;
use bofuss_oflib::message::{FlowMod, FlowRemoved};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Action, Catalogue, ErrorCode, ExtValue, Instruction, PortNo};
use bofuss_packet::offload;

use super::admission::Promises;
use super::dpi::Signatures;
use super::egress::qos_of;
use super::error::BAD_TABLE;
use super::flow::{CountedPacket, DropCause, FlowLookup, ReportReason, SoughtTuple};
use super::options::{QflowOptions, Unknown};
use super::pending::PendingPackets;
use super::records::{ForwardRecord, QosRecord};
use super::report;
use super::table::FlowTable;
use super::tuple::FlowTuple;
use super::{FORWARD, QOS, REPORT, VALUES};

/// The extension's name.
pub(super) const NAME: &str = "openqflow";
/// Nanoseconds from one expiry round to the next.
pub(super) const ROUND_NS: u64 = Time::SEC;
/// The bits of TCP_FLAGS that end a connection: FIN and RST.
const CLOSING_FLAGS: u128 = 0x005;

/// Makes the hook, with no table chosen.
pub fn hook(_: &Catalogue) -> Box<dyn Hook> {
    Box::new(OpenQflow {
        options: QflowOptions::default(),
        table: FlowTable::default(),
        signatures: Signatures::default(),
        pending: PendingPackets::default(),
        promises: Promises::default(),
        ahead: Vec::new(),
        looked_up: None,
        looks_up_each: false,
        expire_at: Time(0),
        pushed_at: Time(0),
        pushes: false,
    })
}

/// A packet that is going through the rule tables.
struct LookedUp {
    tuple: FlowTuple,
    /// The slot of its flow; none in a trace.
    slot: Option<u32>,
    packet: CountedPacket,
    forward: Option<ForwardRecord>,
}

/// The hook: the flow table, and the options.
pub(super) struct OpenQflow {
    pub(super) options: QflowOptions,
    pub(super) table: FlowTable,
    pub(super) signatures: Signatures,
    pub(super) pending: PendingPackets,
    pub(super) promises: Promises,
    /// The prefetched flows of the packets of a burst.
    ahead: Vec<SoughtTuple>,
    looked_up: Option<LookedUp>,
    /// Whether rules depend on more than the tuple; then no path is remembered in flows.
    pub(super) looks_up_each: bool,
    /// When the next slice of an expiry round is due.
    pub(super) expire_at: Time,
    /// When flows were last reported, and whether this expiry round reports them.
    pub(super) pushed_at: Time,
    pub(super) pushes: bool,
}

impl OpenQflow {
    /// Looks up the flow of a packet in the chosen table, and does what the flow says.
    fn arrive(&mut self, cx: &mut HookContext<'_>) {
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
            self.expire_at = cx.now.after(ROUND_NS);
        }
        if self.table.has_engines() {
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
        if self.table.takes_copy(touched.slot, packet.bytes) {
            let frame = cx.frame().bytes();
            cx.notify(report::copy(&tuple, frame));
        }
        if !self.signatures.is_empty() {
            self.inspect(cx, touched.slot, &tuple);
        }
        if self.pending.has(touched.slot, &tuple) && touched.lookup != FlowLookup::Wait {
            // Earlier packets of the flow that wait go first.
            self.table.take_back(touched.slot, packet, None);
            return self.keep(cx, touched.slot, &tuple, packet);
        }
        match touched.lookup {
            FlowLookup::Known if !self.looks_up_each => self.send(cx, touched.slot, &tuple, packet),
            FlowLookup::Wait => self.keep(cx, touched.slot, &tuple, packet),
            FlowLookup::Known | FlowLookup::LookUp => {
                self.look_up(cx, tuple, Some(touched.slot), packet)
            }
        }
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
        let port = self.table.next_port(&known, |port| cx.waits(port, id));
        forward(cx, known.forward, port);
    }

    /// Forwards a packet as the rules say, with this quality of service, and resolves its flow.
    fn finish(&mut self, cx: &mut HookContext<'_>, qos: Option<&QosRecord>) {
        let tuple = FlowTuple::of(cx);
        let known = self.looked_up.take().filter(|known| known.tuple == tuple);
        let Some(mut known) = known else {
            return;
        };
        let Some(rule) = known.forward.take() else {
            return;
        };
        let default = QosRecord::default();
        if let Some(slot) = known.slot
            && self.table.resolve(slot, &rule, qos.unwrap_or(&default))
        {
            return self.send(cx, slot, &tuple, known.packet);
        }
        let port = self.table.port_of(&rule);
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
    fn look_up_qos(&mut self, cx: &mut HookContext<'_>) {
        match self.options.qos.first() {
            Some(table) if *table > cx.table => cx.goto(*table),
            Some(_) | None => self.finish(cx, None),
        }
    }

    /// Handles a packet that no rule forwards, as the option `unknown` says.
    fn find_none(&mut self, cx: &mut HookContext<'_>) {
        let known = self.looked_up.take();
        let slot = known.as_ref().and_then(|known| known.slot);
        if let Some((known, slot)) = known.as_ref().zip(slot)
            && let Some(rule) = self.table.own_forward(slot)
        {
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
        if let Some((known, slot)) = known.zip(slot)
            && self.options.unknown == Unknown::Controller
        {
            self.table.take_back(slot, known.packet, None);
            if !self.table.wait(cx.now, slot) {
                return self.keep(cx, slot, &known.tuple, known.packet);
            }
        }
        cx.apply(vec![Action::output(port)]);
        cx.take();
    }

    /// Whether flows may remember a rule's result: it depends only on the tuples of packets, and
    /// no idle timeout counts their packets.
    fn is_remembered(flow_mod: &FlowMod) -> bool {
        let list = flow_mod.instructions.list();
        let forwards = list
            .iter()
            .any(|one| is_row(one, FORWARD) || is_row(one, QOS));
        let fields = flow_mod.fields.fields().iter();
        let mut others = fields.filter(|one| !FlowTuple::holds(one.field));
        let is_of_tuple = others.next().is_none() && (!forwards || list.len() == 1);
        is_of_tuple && flow_mod.idle_timeout == 0
    }

    fn rules_changed(&mut self, now: Time, table: TableId) {
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

/// Whether an instruction is the one of this row.
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

impl Hook for OpenQflow {
    fn name(&self) -> &'static str {
        NAME
    }

    fn set_option(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        self.options.set(name, value)
    }

    fn start(&mut self, _: &Config) {
        self.table.limits = self.options.limits;
        self.table.ports.stays = self.options.stays;
    }

    /// A hook on misses: in the chosen table packets are handled by their flow, and in rule tables
    /// they continue to the next rule table.
    fn effect(&self, table: TableId) -> HookEffect {
        let Some(first) = self.options.table else {
            return HookEffect::None;
        };
        if table == first || self.options.has_rules(table) {
            HookEffect::Live
        } else {
            HookEffect::None
        }
    }

    fn only_misses(&self) -> bool {
        true
    }

    /// Prefetches the flows of a burst together, so that it waits for memory once.
    fn prefetch(&mut self, table: TableId, packets: &mut Upcoming<'_>) {
        self.ahead.clear();
        if self.options.table != Some(table) {
            return;
        }
        for mut packet in packets.packets() {
            let tuple = FlowTuple::of(&mut packet);
            self.ahead.push(self.table.seek(tuple));
        }
        self.ahead
            .iter_mut()
            .for_each(|sought| self.table.guess(sought));
    }

    fn on_miss(&mut self, cx: &mut HookContext<'_>) -> bool {
        let table = cx.table;
        if self.options.table == Some(table) {
            self.arrive(cx);
            return false;
        }
        if self.options.forwarding.contains(&table) {
            match next_after(table, &self.options.forwarding) {
                Some(next) => cx.goto(next),
                None => self.find_none(cx),
            }
        } else {
            match next_after(table, &self.options.qos) {
                Some(next) => cx.goto(next),
                None => self.finish(cx, None),
            }
        }
        false
    }

    fn on_action(&mut self, cx: &mut HookContext<'_>, _: usize, value: &ExtValue) -> Verdict {
        if let Some(qos) = value.body::<QosRecord>() {
            self.finish(cx, Some(qos));
            return Verdict::Continue;
        }
        let Some(rule) = value.body::<ForwardRecord>() else {
            return Verdict::Continue;
        };
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
        Verdict::Continue
    }

    fn on_egress_drop(&mut self, drop: &EgressDrop) {
        self.table.drop_at_port(drop);
    }

    fn next_tick(&self) -> Option<Time> {
        let has_work = !self.table.is_empty() || self.table.has_ended();
        let expiry = has_work.then_some(self.expire_at);
        expiry.into_iter().chain(self.pending.due()).min()
    }

    fn on_tick(&mut self, cx: &mut ControlContext<'_>) {
        self.release(cx);
        if cx.now >= self.expire_at {
            self.expire_some(cx);
        }
    }

    fn on_message(
        &mut self,
        cx: &mut ControlContext<'_>,
        row: usize,
        value: &ExtValue,
    ) -> Result<(), ErrorCode> {
        report::message(self, cx, row, value)
    }

    fn on_multipart(
        &mut self,
        cx: &mut ControlContext<'_>,
        _: usize,
        request: &ExtValue,
        from: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        report::part(self, cx, request, from)
    }

    /// Errors: NOT_ADMITTED.
    fn admit(
        &mut self,
        cx: &mut ControlContext<'_>,
        _: usize,
        flow_mod: &FlowMod,
    ) -> Result<(), ErrorCode> {
        self.admit_rule(cx, flow_mod)
    }

    fn on_flow_mod(&mut self, cx: &mut ControlContext<'_>, flow_mod: &FlowMod) {
        let table = flow_mod.table_id;
        if !flow_mod.deletes() {
            self.rules_changed_by(cx, flow_mod);
        }
        if self.options.has_rules(table) && !flow_mod.deletes() {
            self.looks_up_each |= !Self::is_remembered(flow_mod);
        }
        let mut has_rules = false;
        for id in self.options.forwarding.iter().chain(&self.options.qos) {
            let table = cx.tables().get(usize::from(id.0));
            has_rules |= table.is_some_and(|table| !table.is_empty());
        }
        self.looks_up_each &= has_rules;
        self.rules_changed(cx.now, table);
    }

    fn on_flow_removed(&mut self, cx: &mut ControlContext<'_>, removed: &FlowRemoved) {
        self.rule_removed(removed);
        self.rules_changed(cx.now, removed.table_id);
    }

    fn on_port_change(&mut self, _: &mut ControlContext<'_>, port: PortNo, up: bool) {
        self.table.port_changed(port, up);
    }

    /// Errors: BAD_TABLE.
    fn check(&self, row: usize, _: &ExtValue, table: TableId) -> Result<(), ErrorCode> {
        let tables = match row {
            FORWARD => &self.options.forwarding,
            QOS => &self.options.qos,
            _ => return Ok(()),
        };
        if tables.contains(&table) {
            return Ok(());
        }
        Err(BAD_TABLE)
    }

    fn metrics(&self, _: Time, _: u64, list: &mut Vec<Metric>) -> Option<u64> {
        report::metrics(self, list);
        None
    }
}

/// The first of these tables after `table`.
fn next_after(table: TableId, tables: &[TableId]) -> Option<TableId> {
    tables.iter().copied().find(|next| *next > table)
}
