//! The hook of OpenQFlow: passes packets, timers and messages to the flow table.

use alloc::{boxed::Box, vec::Vec};

use bofuss_datapath::{
    Config, ControlContext, EgressDrop, Hook, HookContext, HookEffect, Metric, OptionError,
    ReplyPart, Time, Upcoming, Verdict,
};
use bofuss_oflib::message::{FlowMod, FlowRemoved};
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Catalogue, ErrorCode, ExtValue, PortNo};

use super::error::BAD_TABLE;
use super::forwarding::OpenQflow;
use super::records::{ForwardRecord, QosRecord};
use super::report;
use super::{FORWARD, NAME, QOS};

/// Makes the hook, with no table chosen.
pub fn hook(_: &Catalogue) -> Box<dyn Hook> {
    Box::new(OpenQflow::new())
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
        self.table.paths.set_stays(self.options.stays);
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

    fn prefetch(&mut self, table: TableId, packets: &mut Upcoming<'_>) {
        if self.options.table == Some(table) {
            self.look_ahead(packets.packets());
        } else {
            self.look_ahead([].into_iter());
        }
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
        self.go_by(cx, rule);
        Verdict::Continue
    }

    fn on_egress_drop(&mut self, drop: &EgressDrop) {
        self.table.drop_at_port(drop);
    }

    fn next_tick(&self) -> Option<Time> {
        let has_work = !self.table.is_empty() || !self.table.ended.is_empty();
        let expiry = has_work.then_some(self.expiry.due);
        expiry.into_iter().chain(self.pending.due()).min()
    }

    fn on_tick(&mut self, cx: &mut ControlContext<'_>) {
        self.pending.release(&mut self.table, cx);
        if cx.now >= self.expiry.due {
            let push_ns = self.options.push_ns;
            self.expiry.expire_some(&mut self.table, push_ns, cx);
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
        let forwarding = &self.options.forwarding;
        let table = &mut self.table;
        self.promises.admit_rule(table, forwarding, cx, flow_mod)
    }

    fn on_flow_mod(&mut self, cx: &mut ControlContext<'_>, flow_mod: &FlowMod) {
        let table = flow_mod.table_id;
        if !flow_mod.deletes() {
            self.promises.rules_changed_by(cx, flow_mod);
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
        self.promises.rule_removed(removed);
        self.rules_changed(cx.now, removed.table_id);
    }

    fn on_port_change(&mut self, _: &mut ControlContext<'_>, port: PortNo, up: bool) {
        self.table.paths.port_changed(port, up);
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
