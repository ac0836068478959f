//! The hook: how packets, messages and requests use the state tables.

use alloc::{boxed::Box, format, string::String, vec::Vec};

use bofuss_datapath::{
    ControlContext, Hook, HookContext, HookEffect, LookupNote, Metric, OptionError, ReplyPart,
    Time, Trial, Upcoming, Verdict,
};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::message::FlowMod;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Catalogue, ErrorCode, ExtValue, Field, Message};

use super::action::{Infer, evidence, evidence_in, own_actions};
use super::commands;
use super::dialect::{dialect_of, form_of};
use super::explain;
use super::machine::{Changed, Machine};
use super::metrics;
use super::options::StateOptions;
use super::report::{self, Report};
use super::stateful::Stateful;
use super::trace_text;
use super::{
    Dialects, EXPERIMENTER, FLOW_NOTIFICATION, FlowNotification, GlobalStats, IncState,
    NOTIFY_STATES, RecordForm, STATE_CHANGED, SetGlobalState, SetState, ShortStats, StateChanged,
    StateDialect, StateMod, StateRequest, StateStats, error,
};
use crate::common::list::ValueList;

/// Nanoseconds from the end of one search for expired flows to the next one: the interval at which
/// the reference switches flush their tables.
const EXPIRY_NS: u64 = 60 * Time::SEC;
/// Nanoseconds between two slices of such a search; packets are handled between them.
const SLICE_NS: u64 = 1_000_000;
/// Slots that a slice looks at. No packet is handled meanwhile, so these are few.
const SLICE_SLOTS: u32 = 1024;
/// The type of the multipart that deletes the states that it reports. OpenState has the same
/// number, without a body, for the global state.
const DELETE_STATES: u32 = 2;
/// The type of BEBA's multipart that does so in the short form.
const DELETE_SHORT_STATES: u32 = 4;

/// The hook of this extension, without stateful tables. Panics: if `catalogue` lacks its fields.
pub fn hook(catalogue: &Catalogue) -> Box<dyn Hook> {
    Box::new(OpenState::new(catalogue))
}

/// The state tables, and the fields by which packets see them.
pub(crate) struct OpenState {
    global_state: &'static Field,
    state: &'static Field,
    pub(crate) machine: Machine,
    /// True if a packet has changed the global state: then later ones may, too.
    has_set_global: bool,
    /// The number of times that the effects of this hook on packets may have changed.
    generation: u64,
    /// The trial of the last packet; [`Trial::LIVE`] if it was a real one.
    trial: Trial,
    /// The time when the next slice of the search for expired flows is due.
    expire_at: Time,
    /// True if a connection has ever subscribed to notifications of changed states.
    notifies: bool,
    /// Why packets of one flow may change what those of others read, if an entry has ever had such
    /// an action.
    pub(crate) crossing: Option<&'static str>,
    options: StateOptions,
}

impl OpenState {
    /// Panics: if `catalogue` lacks the fields.
    pub(crate) fn new(catalogue: &Catalogue) -> Self {
        let [global_state, state] = [0, 1].map(|number| {
            let field = catalogue.field(EXPERIMENTER, number);
            field.expect("the catalogue has this extension")
        });
        Self {
            global_state,
            state,
            machine: Machine::default(),
            has_set_global: false,
            generation: 0,
            trial: Trial::LIVE,
            expire_at: Time(0),
            notifies: false,
            crossing: None,
            options: StateOptions::default(),
        }
    }

    /// Begins or ends a trial of the machine, if this packet is of another one than the last.
    pub(crate) fn enter(&mut self, cx: &HookContext<'_>) {
        if !cx.is_dry() {
            self.machine.end_trial();
        } else if self.trial != cx.trial() {
            self.machine.begin_trial();
        }
        self.trial = cx.trial();
    }

    /// The part of a reply about states that begins at `from`. Errors: BAD_REQUEST/BAD_TABLE_ID.
    fn report(
        &mut self,
        now: Time,
        value: &ExtValue,
        request: &StateRequest,
        form: Option<RecordForm>,
        from: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        let deletes = [DELETE_STATES, DELETE_SHORT_STATES].contains(&value.row.ty);
        let mut report = Report::new(request, form, deletes, from)?;
        let (form, records) = report.next_part(now, &mut self.machine);
        let stats = StateStats::Reply(form, records);
        let part = match form {
            RecordForm::Short => ExtValue::typed(value.row, ShortStats(stats)),
            RecordForm::OpenState | RecordForm::Beba | RecordForm::Opp => {
                ExtValue::typed(value.row, stats)
            }
        };
        Ok(ReplyPart {
            value: Some(part),
            next: report.place(&self.machine),
        })
    }

    fn stats(
        &mut self,
        cx: &ControlContext<'_>,
        value: &ExtValue,
        stats: &StateStats,
        from: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        let deletes = value.row.ty == DELETE_STATES;
        match stats {
            StateStats::Request(request) => {
                let dialect = cx.asker.and_then(|asker| dialect_of(asker.form));
                let form = match dialect {
                    // OpenState knows no such request.
                    Some(StateDialect::OpenState) if deletes => Some(RecordForm::Beba),
                    dialect => dialect.map(report::form_of),
                };
                self.report(cx.now, value, request, form, from)
            }
            StateStats::Reply(_, records) if deletes && records.is_empty() => {
                let global = StateStats::GlobalState(self.machine.global());
                Ok(ReplyPart::last(ExtValue::typed(value.row, global)))
            }
            StateStats::Reply(..)
            | StateStats::GlobalState(_)
            | StateStats::VariablesRequest(_)
            | StateStats::Variables(_) => Err(BadRequest::BAD_LEN),
        }
    }

    fn global_stats(
        &mut self,
        value: &ExtValue,
        stats: &GlobalStats,
    ) -> Result<ReplyPart, ErrorCode> {
        let reply = match stats {
            GlobalStats::Request => GlobalStats::Numbers(0, self.machine.global()),
            GlobalStats::Numbers(first, _) => {
                let [table, ..] = first.to_be_bytes();
                let table = self.machine.enabled(table).ok_or(error::BAD_TABLE_ID)?;
                GlobalStats::Numbers(table.states.len() as u32, 0)
            }
        };
        Ok(ReplyPart::last(ExtValue::typed(value.row, reply)))
    }

    /// Infers the dialect of a connection from something that it sent and only these dialects know.
    /// A connection keeps the dialect that it has shown before, if that is one of them. A SET_STATE
    /// of 48 bytes alone does not show one.
    pub(crate) fn note_dialect(&mut self, cx: &mut ControlContext<'_>, known: Dialects) {
        let shown = cx.asker.and_then(|asker| dialect_of(asker.form));
        match shown {
            Some(shown) if known.and(Dialects::only(shown)).is_some() => return,
            None if known == Dialects::SHORT_SET_STATE => return,
            Some(_) | None => cx.set_form(form_of(known.dialect())),
        }
        if self.options.notifies_states {
            let wanted = known.dialect() != StateDialect::OpenState;
            self.notifies |= wanted;
            cx.subscribe(STATE_CHANGED, wanted);
        }
    }

    /// Infers the dialects of tables and of the sender from the actions of an entry that was added.
    /// Returns false if nothing follows from them.
    pub(crate) fn note_entry(
        &mut self,
        cx: &mut ControlContext<'_>,
        flow_mod: &FlowMod,
        infer: Infer,
    ) -> bool {
        self.note_crossing(flow_mod);
        let mut is_any = false;
        for evidence in evidence_in(flow_mod, infer) {
            self.machine.narrow(evidence.table, evidence.known);
            self.note_dialect(cx, evidence.known);
            is_any = true;
        }
        is_any
    }

    /// Carries out a controller's message. Errors: those of [`Machine::modify`], and BAD_COMMAND
    /// for a message that the operator has switched off; then nothing is changed.
    pub(crate) fn modify(
        &mut self,
        cx: &mut ControlContext<'_>,
        message: &StateMod,
    ) -> Result<(), ErrorCode> {
        if self.options.refuses_reset && *message == StateMod::ResetGlobalState {
            return Err(error::BAD_COMMAND);
        }
        self.machine.end_trial();
        self.machine.modify(cx.now, message, cx.catalogue())?;
        self.generation += 1;
        if let Some((_, known)) = message.evidence() {
            self.note_dialect(cx, known);
        }
        Ok(())
    }

    /// Notifies a controller of BEBA or Open Packet Processor that its flow-mod was carried out.
    pub(crate) fn notify_flow_mod(&self, cx: &mut ControlContext<'_>, flow_mod: &FlowMod) {
        let shown = cx.asker.and_then(|asker| dialect_of(asker.form));
        let is_wanted = shown.is_some_and(|shown| shown != StateDialect::OpenState);
        if !is_wanted || !self.options.notifies_flows {
            return;
        }
        let instructions = flow_mod.instructions.list().iter();
        let done = FlowNotification {
            table: flow_mod.table_id.0.into(),
            fields: flow_mod.fields.clone(),
            instructions: instructions.map(|one| one.number().into()).collect(),
        };
        cx.reply(ExtValue::typed(FLOW_NOTIFICATION, done));
    }

    /// Sets a packet's field for its state in the current table.
    fn set_state(&mut self, cx: &mut HookContext<'_>) {
        let now = cx.now;
        let table = cx.table.0;
        if cx.is_dry() {
            let text = trace_text::read(&self.machine, now, table, cx);
            text.into_iter().for_each(|text| cx.say(|| text));
        }
        match self.machine.look_up(now, table, cx) {
            Some(state) => cx.set(self.state, state.into()),
            None => cx.clear(self.state),
        }
    }

    /// Notifies the subscribed connections that a packet has changed the state of a flow.
    fn notify(&self, cx: &mut HookContext<'_>, action: &SetState, changed: &Changed) {
        if changed.old == changed.new {
            return;
        }
        let dialect = self.machine.table(action.table).map(Stateful::dialect);
        let has_variables = dialect == Some(StateDialect::Opp);
        let notification = StateChanged {
            table: action.table.into(),
            old: changed.old,
            new: changed.new,
            mask: action.transition.mask,
            key: changed.key.bytes().to_vec(),
            variables: has_variables.then_some(changed.variables),
        };
        cx.notify(ExtValue::typed(STATE_CHANGED, notification));
    }

    /// Notes actions of an entry that was added by which a packet changes what packets of other
    /// flows read.
    fn note_crossing(&mut self, flow_mod: &FlowMod) {
        for value in own_actions(flow_mod) {
            let has_scope = |action: &SetState| action.scope.is_some();
            if value.body::<SetGlobalState>().is_some() {
                self.crossing = Some("an action changes the global state");
            } else if value.body::<SetState>().is_some_and(has_scope) {
                self.crossing = Some("an action changes states in a scope of its own");
            }
        }
    }
}

impl Hook for OpenState {
    fn name(&self) -> &'static str {
        "openstate"
    }

    fn set_option(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        self.options.set(name, value)?;
        if let Some(dialect) = self.options.dialect {
            self.machine.set_dialect(dialect);
        }
        Ok(())
    }

    /// A table with states sets `state`, by the packet's flow. A table without states clears it, as
    /// an earlier one may have set it. Table 0 also sets `global_state`, which differs from packet
    /// to packet only once a packet has changed it.
    fn effect(&self, table: TableId) -> HookEffect {
        let is_first = table == TableId(0);
        let varies = is_first && self.has_set_global;
        if self.machine.enabled(table.0).is_some() || varies {
            HookEffect::Branch
        } else if self.machine.has_enabled() || is_first {
            HookEffect::Pure
        } else {
            HookEffect::None
        }
    }

    fn only_prepares(&self) -> bool {
        true
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    /// An action that changes the state of a flow leaves the fields of its own packet alone. Only
    /// SET_GLOBAL_STATE writes a field of the packet.
    fn action_effect(&self, _: usize, value: &ExtValue) -> HookEffect {
        if value.body::<SetGlobalState>().is_some() {
            HookEffect::Branch
        } else {
            HookEffect::Live
        }
    }

    fn acts_on_segments(&self) -> bool {
        true
    }

    fn prefetch(&mut self, table: TableId, packets: &mut Upcoming<'_>) {
        self.machine.look_ahead(table.0, packets);
        let global = self.machine.predicted_global();
        packets.predict_same(self.global_state, Some(global.into()));
        packets.predict(self.state, self.machine.predicted());
    }

    fn apply_prediction(&mut self, now: Time, _: TableId, number: usize) -> bool {
        self.trial == Trial::LIVE && self.machine.apply_prediction(now, number)
    }

    fn prediction_note(&self, number: usize) -> Option<LookupNote> {
        let (table, key) = self.machine.noted_ahead(number)?;
        let (table, words) = (TableId(table), Some(key.words()));
        Some(LookupNote { table, words })
    }

    fn apply_predicted_action(
        &mut self,
        now: Time,
        number: usize,
        _: usize,
        value: &ExtValue,
    ) -> bool {
        let may = self.trial == Trial::LIVE && !self.notifies;
        let action = value.body::<SetState>().filter(|_| may);
        action.is_some_and(|action| self.machine.apply_transition(now, number, action))
    }

    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        self.enter(cx);
        if cx.table == TableId(0) {
            cx.set(self.global_state, self.machine.global().into());
        }
        if self.machine.has_enabled() {
            self.set_state(cx);
        }
        Verdict::Continue
    }

    fn on_action(&mut self, cx: &mut HookContext<'_>, _: usize, value: &ExtValue) -> Verdict {
        self.enter(cx);
        let now = cx.now;
        if let Some(action) = value.body::<SetState>() {
            let changed = self.machine.set_state(now, action, cx);
            cx.say(|| trace_text::changed(&self.machine, action.table, changed.as_ref()));
            if let Some(changed) = changed.filter(|_| self.notifies) {
                self.notify(cx, action, &changed);
            }
        } else if let Some(action) = value.body::<IncState>() {
            let changed = self.machine.inc_state(now, action.table, cx);
            cx.say(|| trace_text::changed(&self.machine, action.table, changed.as_ref()));
        } else if let Some(action) = value.body::<SetGlobalState>() {
            let old = self.machine.global();
            self.machine.set_global(action.value, action.mask);
            cx.say(|| format!("changes_global old={old},new={}", self.machine.global()));
            cx.set(self.global_state, self.machine.global().into());
            if !cx.is_dry() && !self.has_set_global {
                self.has_set_global = true;
                self.generation += 1;
            }
        }
        Verdict::Continue
    }

    fn next_tick(&self) -> Option<Time> {
        self.machine.has_states().then_some(self.expire_at)
    }

    fn on_tick(&mut self, cx: &mut ControlContext<'_>) {
        let is_over = self.machine.expire(cx.now, SLICE_SLOTS);
        self.expire_at = cx.now.after(if is_over { EXPIRY_NS } else { SLICE_NS });
    }

    fn on_message(
        &mut self,
        cx: &mut ControlContext<'_>,
        row: usize,
        value: &ExtValue,
    ) -> Result<(), ErrorCode> {
        if row == NOTIFY_STATES {
            let is_wanted = value.args[0] != 0;
            self.notifies |= is_wanted;
            cx.subscribe(STATE_CHANGED, is_wanted);
            return Ok(());
        }
        // Only switches send notifications.
        let message = value.body::<StateMod>().ok_or(error::BAD_EXP_MESSAGE)?;
        self.modify(cx, message)
    }

    fn on_multipart(
        &mut self,
        cx: &mut ControlContext<'_>,
        _: usize,
        request: &ExtValue,
        from: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        self.machine.end_trial();
        if let Some(stats) = request.body::<StateStats>() {
            return self.stats(cx, request, stats, from);
        }
        if let Some(stats) = request.body::<GlobalStats>() {
            return self.global_stats(request, stats);
        }
        if request.body::<ValueList<StateMod>>().is_some() {
            let mut list = Vec::new();
            let next = commands::add_part(cx.now, &self.machine, from, &mut list);
            let value = Some(ExtValue::typed(request.row, ValueList(list)));
            return Ok(ReplyPart { value, next });
        }
        match request.body::<ShortStats>() {
            Some(ShortStats(StateStats::Request(wanted))) => {
                self.report(cx.now, request, wanted, Some(RecordForm::Short), from)
            }
            Some(_) | None => Err(BadRequest::BAD_LEN),
        }
    }

    fn on_flow_mod(&mut self, cx: &mut ControlContext<'_>, flow_mod: &FlowMod) {
        if !flow_mod.deletes() {
            self.note_entry(cx, flow_mod, evidence);
        }
        self.notify_flow_mod(cx, flow_mod);
    }

    /// Errors: none of the dialects that the action's table may have knows the action.
    fn check(&self, _: usize, value: &ExtValue, table: TableId) -> Result<(), ErrorCode> {
        self.machine.check(evidence(value, table.0))
    }

    fn explain(&self, message: &Message, error: ErrorCode) -> Option<String> {
        explain::explain(&self.machine, message, error, evidence)
    }

    fn metrics(&self, _: Time, _: u64, list: &mut Vec<Metric>) -> Option<u64> {
        metrics::add(&self.machine, list);
        None
    }
}
