//! The hook: OpenState's, with the fields, actions and messages that Open Packet Processor adds.

use alloc::{boxed::Box, string::String, vec::Vec};

use bofuss_datapath::{
    Config, ControlContext, FlowStates, Hook, HookContext, HookEffect, LookupNote, Metric,
    MetricKind, OptionError, ReplyPart, Time, Trial, Upcoming, Verdict,
};
use bofuss_oflib::message::FlowMod;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Catalogue, ErrorCode, ExtValue, Message};

use super::action::{crosses, evidence};
use super::fields::PacketFields;
use super::saved::{self, Saved};
use super::tables::RegisterTables;
use super::{OppMod, RegisterMod, SetDataVar, WriteContext};
use crate::common::list::ValueList;
use crate::openstate::action::own_actions;
use crate::openstate::commands::{self, CommandList};
use crate::openstate::extractor::value_of_number;
use crate::openstate::hook::OpenState;
use crate::openstate::metrics::{MetricRow, metric};
use crate::openstate::saved_flow::SavedFlow;
use crate::openstate::stateful::Stateful;
use crate::openstate::table::StateEntry;
use crate::openstate::{
    Dialects, N_ROWS, ShortStats, StateDialect, StateMod, StateStats, error, explain,
};

const UPDATES: MetricRow = (
    MetricKind::Counter,
    "updates",
    "Variables computed by actions",
);

/// The hook of this extension, without stateful tables. Panics: if `catalogue` lacks its fields.
pub fn hook(catalogue: &Catalogue) -> Box<dyn Hook> {
    Box::new(Opp {
        openstate: OpenState::new(catalogue),
        fields: PacketFields::new(catalogue),
        registers: RegisterTables::default(),
        is_used: false,
        generation: 0,
    })
}

/// The state tables, and what this dialect adds to them.
struct Opp {
    openstate: OpenState,
    /// The fields that this dialect adds to packets.
    fields: PacketFields,
    registers: RegisterTables,
    /// True if a table has this dialect, or a new one would.
    is_used: bool,
    /// The number of times that the effects of this hook on packets may have changed, beyond those
    /// of OpenState's.
    generation: u64,
}

impl Opp {
    /// Finds out whether a table has this dialect, after a change.
    fn note_use(&mut self) {
        let is_used = self.openstate.machine.has_dialect(StateDialect::Opp);
        self.generation += u64::from(is_used != self.is_used);
        self.is_used = is_used;
    }

    /// Forgets what the trial of the last packet has changed, if this packet is of another one.
    fn enter(&mut self, cx: &HookContext<'_>) {
        self.openstate.enter(cx);
        self.registers.enter(cx.trial());
    }

    /// Carries out a controller's message about the registers of a table. Errors: those of
    /// [`RegisterMod::disabled`] and [`RegisterTables::change`], and BAD_COMMAND for a table of
    /// another dialect.
    fn change_registers(
        &mut self,
        cx: &mut ControlContext<'_>,
        table: u8,
        change: &RegisterMod,
    ) -> Result<(), ErrorCode> {
        let machine = &mut self.openstate.machine;
        machine.end_trial();
        machine.enabled(table).ok_or(change.disabled())?;
        let known = Dialects::only(StateDialect::Opp);
        if !machine.allows(table, known) {
            return Err(error::BAD_COMMAND);
        }
        self.registers
            .change(machine, cx.now, table, change, cx.catalogue())?;
        machine.narrow(table, known);
        self.generation += 1;
        self.openstate.note_dialect(cx, known);
        Ok(())
    }

    /// Carries out a message that OpenState has, too. A table that begins anew loses its registers.
    /// Errors: those of [`OpenState::modify`].
    fn modify(&mut self, cx: &mut ControlContext<'_>, message: &StateMod) -> Result<(), ErrorCode> {
        let resets = |this: &Self| {
            let table = this.openstate.machine.table(message.table()?)?;
            Some(table.resets())
        };
        let before = resets(self);
        self.openstate.modify(cx, message)?;
        let changes = before != resets(self);
        if let Some(table) = message.table().filter(|_| changes) {
            self.registers.forget(table);
        }
        Ok(())
    }

    /// The part of the list of commands that begins at `from`.
    fn commands(&self, now: Time, request: &ExtValue, from: u64) -> ReplyPart {
        let mut list = OppCommands {
            list: Vec::new(),
            registers: &self.registers,
        };
        let next = commands::add_part(now, &self.openstate.machine, from, &mut list);
        ReplyPart {
            value: Some(ExtValue::typed(request.row, ValueList(list.list))),
            next,
        }
    }
}

/// A list of commands, in which those about registers follow those about their table or flow.
struct OppCommands<'a> {
    list: Vec<OppMod>,
    registers: &'a RegisterTables,
}

impl CommandList for OppCommands<'_> {
    fn len(&self) -> usize {
        self.list.len()
    }

    fn push(&mut self, command: StateMod) {
        self.list.push(command.into());
    }

    /// Adds the commands that set the registers of an enabled table.
    fn end_table(&mut self, table: u8, stateful: &Stateful) {
        self.list.extend(self.registers.commands(table, stateful));
    }

    /// Adds the commands that set those variables of a flow that are not 0.
    fn end_flow(&mut self, table: u8, key: &[u8], flow: &StateEntry) {
        for (id, value) in (0u8..).zip(flow.variables) {
            if value != 0 {
                let change = RegisterMod::FlowVariable {
                    id,
                    value,
                    mask: u32::MAX,
                    key: key.to_vec(),
                };
                self.list.push(OppMod::Registers { table, change });
            }
        }
    }
}

impl Hook for Opp {
    fn name(&self) -> &'static str {
        self.openstate.name()
    }

    fn set_option(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        self.openstate.set_option(name, value)?;
        self.note_use();
        Ok(())
    }

    fn start(&mut self, config: &Config) {
        self.fields.seed = config.seed;
        self.fields.epoch_ns = config.epoch_ns;
    }

    /// Table 0 also sets time, length and a random number, which differ from packet to packet.
    fn effect(&self, table: TableId) -> HookEffect {
        if self.is_used && table == TableId(0) {
            return HookEffect::Branch;
        }
        self.openstate.effect(table)
    }

    fn only_prepares(&self) -> bool {
        self.openstate.only_prepares()
    }

    fn generation(&self) -> u64 {
        self.openstate.generation() + self.generation
    }

    /// WRITE_CONTEXT_TO_FIELD writes a field of the packet, and SET_DATA_VAR none.
    fn action_effect(&self, row: usize, value: &ExtValue) -> HookEffect {
        if value.body::<WriteContext>().is_some() {
            return HookEffect::Branch;
        }
        self.openstate.action_effect(row, value)
    }

    fn acts_on_segments(&self) -> bool {
        self.openstate.acts_on_segments()
    }

    /// Time, length and random number cannot be predicted: then flows are looked up ahead, and
    /// nothing is predicted.
    fn prefetch(&mut self, table: TableId, packets: &mut Upcoming<'_>) {
        if self.is_used {
            self.openstate.machine.look_ahead(table.0, packets);
        } else {
            self.openstate.prefetch(table, packets);
        }
    }

    fn apply_prediction(&mut self, now: Time, table: TableId, number: usize) -> bool {
        !self.is_used && self.openstate.apply_prediction(now, table, number)
    }

    fn prediction_note(&self, number: usize) -> Option<LookupNote> {
        self.openstate.prediction_note(number)
    }

    fn apply_predicted_action(
        &mut self,
        now: Time,
        number: usize,
        row: usize,
        value: &ExtValue,
    ) -> bool {
        self.openstate
            .apply_predicted_action(now, number, row, value)
    }

    /// Time, length and random number come first, since keys may contain them.
    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        if !self.is_used {
            return self.openstate.before_lookup(cx);
        }
        self.enter(cx);
        if cx.table == TableId(0) {
            self.fields.set_facts(cx);
        }
        let verdict = self.openstate.before_lookup(cx);
        let machine = &self.openstate.machine;
        if machine.has_enabled() {
            let (now, table) = (cx.now, cx.table.0);
            let outcomes = self.registers.conditions(machine, now, table, cx);
            self.fields.set_conditions(cx, outcomes);
        }
        verdict
    }

    fn on_action(&mut self, cx: &mut HookContext<'_>, row: usize, value: &ExtValue) -> Verdict {
        if row < N_ROWS {
            return self.openstate.on_action(cx, row, value);
        }
        self.enter(cx);
        let (now, table) = (cx.now, cx.table.0);
        let machine = &mut self.openstate.machine;
        if let Some(action) = value.body::<SetDataVar>() {
            let output = self.registers.set_data_var(machine, now, action, cx);
            cx.say(|| action.trace_text(output));
        } else if let Some(action) = value.body::<WriteContext>() {
            let number = self
                .registers
                .context(machine, now, table, action.source, cx);
            if let Some(number) = number {
                cx.set(action.field, value_of_number(action.field, number));
            }
        }
        Verdict::Continue
    }

    fn flow_states(&mut self) -> Option<&mut dyn FlowStates> {
        Some(&mut self.openstate)
    }

    fn next_tick(&self) -> Option<Time> {
        self.openstate.next_tick()
    }

    fn on_tick(&mut self, cx: &mut ControlContext<'_>) {
        self.openstate.on_tick(cx);
    }

    fn on_message(
        &mut self,
        cx: &mut ControlContext<'_>,
        row: usize,
        value: &ExtValue,
    ) -> Result<(), ErrorCode> {
        self.registers.enter(Trial::LIVE);
        if let Some(flow) = value.body::<SavedFlow>() {
            return self.openstate.machine.restore_flow(cx.now, flow);
        }
        match value.body::<OppMod>() {
            Some(OppMod::State(message)) => self.modify(cx, message)?,
            Some(OppMod::Registers { table, change }) => {
                self.change_registers(cx, *table, change)?;
            }
            None => self.openstate.on_message(cx, row, value)?,
        }
        self.note_use();
        Ok(())
    }

    fn on_multipart(
        &mut self,
        cx: &mut ControlContext<'_>,
        row: usize,
        request: &ExtValue,
        from: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        self.registers.enter(Trial::LIVE);
        if request.body::<ValueList<OppMod>>().is_some() {
            return Ok(self.commands(cx.now, request, from));
        }
        if request.body::<ValueList<Saved>>().is_some() {
            let machine = &self.openstate.machine;
            return Ok(saved::part(cx.now, machine, &self.registers, from));
        }
        if let Some(ShortStats(StateStats::VariablesRequest(table))) = request.body() {
            let globals = self.registers.globals(&self.openstate.machine, *table);
            let reply = ShortStats(StateStats::Variables(globals));
            return Ok(ReplyPart::last(ExtValue::typed(request.row, reply)));
        }
        self.openstate.on_multipart(cx, row, request, from)
    }

    /// As [`OpenState`] does; a table whose entries match fields of this dialect has it.
    fn on_flow_mod(&mut self, cx: &mut ControlContext<'_>, flow_mod: &FlowMod) {
        if !flow_mod.deletes() {
            if own_actions(flow_mod).any(crosses) {
                self.openstate.crossing = Some("an action uses more than its flow's variables");
            }
            let mut fields = flow_mod.fields.fields().iter();
            let has_fields = fields.any(|one| PacketFields::has(one.field));
            if has_fields {
                let known = Dialects::only(StateDialect::Opp);
                self.openstate.machine.narrow(flow_mod.table_id.0, known);
            }
            if self.openstate.note_entry(cx, flow_mod, evidence) || has_fields {
                self.note_use();
            }
        }
        self.openstate.notify_flow_mod(cx, flow_mod);
    }

    /// Errors: none of the dialects that the action's table may have knows the action.
    fn check(&self, _: usize, value: &ExtValue, table: TableId) -> Result<(), ErrorCode> {
        self.openstate.machine.check(evidence(value, table.0))
    }

    fn explain(&self, message: &Message, error: ErrorCode) -> Option<String> {
        let machine = &self.openstate.machine;
        let Message::Experimenter(value) = message else {
            return explain::explain(machine, message, error, evidence);
        };
        let table = match value.body::<OppMod>()? {
            OppMod::State(command) => command.table()?,
            OppMod::Registers { table, .. } => *table,
        };
        explain::of_state_mod(machine, table, error)
    }

    fn metrics(&self, now: Time, from: u64, list: &mut Vec<Metric>) -> Option<u64> {
        list.push(metric(UPDATES, None, self.registers.updates()));
        self.openstate.metrics(now, from, list)
    }
}
