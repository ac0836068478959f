//! The behaviour: where packets and messages meet the state tables.

use alloc::{boxed::Box, format, string::ToString, vec, vec::Vec};

use bofuss_datapath::{
    Asker, ControlContext, Hook, HookContext, HookEffect, Metric, MetricKind, ReplyPart, Time,
    Trial, Verdict,
};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::ext::ValueList;
use bofuss_oflib::message::FlowMod;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Catalogue, ErrorCode, ExtValue, Field};

use super::commands;
use super::machine::{Changed, Machine};
use super::report::Report;
use super::trace_text;
use super::{
    EXPERIMENTER, FLOW_NOTIFICATION, FlowNotification, GlobalStats, IncState, ExtractorLayout,
    NOTIFY_STATES, RecordForm, STATE_CHANGED, SetGlobalState, SetState, ShortStats, StateChanged,
    StateMod, StateRequest, StateStats, error,
};

/// Nanoseconds from one sweep of all tables to the next: the reference switches' flush.
const EXPIRY_NS: u64 = 60 * Time::SEC;
/// Nanoseconds between two slices of a sweep, so that packets need not wait.
const SLICE_NS: u64 = 1_000_000;
/// The form of values for OpenState's controllers.
const FORM_OPENSTATE: u8 = 1;
/// The form of values for BEBA's controllers.
const FORM_BEBA: u8 = 2;
/// Connections whose dialect is known at most, for those notifications that depend on it.
const MAX_CONNECTIONS: usize = 64;
/// Slots that a slice looks at.
const SLICE_SLOTS: u32 = 1024;
/// The multipart that deletes what it reports; without a body, OpenState's for the global state.
const DELETE_STATES: u32 = 2;
/// BEBA's multipart that does so in the short form.
const DELETE_SHORT_STATES: u32 = 4;

/// This extension's behaviour, no table stateful. Panics: if `catalogue` lacks its fields.
pub fn hook(catalogue: &Catalogue) -> Box<dyn Hook> {
    let field = |number| {
        let field = catalogue.field(EXPERIMENTER, number);
        field.expect("the catalogue has this extension")
    };
    Box::new(OpenState {
        global_state: field(0),
        state: field(1),
        machine: Machine::default(),
        has_set_global: false,
        generation: 0,
        trial: Trial::LIVE,
        expire_at: Time(0),
        notifies: false,
        beba: Vec::new(),
    })
}

/// The state tables, and their place in the key of a packet.
struct OpenState {
    global_state: &'static Field,
    state: &'static Field,
    machine: Machine,
    /// Whether a packet has changed the global state: then the next may, too.
    has_set_global: bool,
    /// Counts what changes the effects on packets.
    generation: u64,
    /// The run of packets that came last.
    trial: Trial,
    /// When the next slice of a sweep is due.
    expire_at: Time,
    /// Whether a connection has ever asked to be notification of changed states.
    notifies: bool,
    /// The connections that were last seen to speak BEBA's dialect.
    beba: Vec<u64>,
}

impl OpenState {
    /// Has the machine know whether what actions change lasts.
    fn enter(&mut self, cx: &HookContext<'_>) {
        if !cx.is_dry() {
            self.machine.end_trial();
        } else if self.trial != cx.trial() {
            self.machine.begin_trial();
        }
        self.trial = cx.trial();
    }

    /// The next part of a reply about states. Errors: BAD_REQUEST/BAD_TABLE_ID.
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
            RecordForm::OpenState | RecordForm::Beba => ExtValue::typed(value.row, stats),
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
                let form = match cx.asker.map(|asker| asker.form) {
                    _ if deletes => Some(RecordForm::Beba),
                    Some(FORM_OPENSTATE) => Some(RecordForm::OpenState),
                    Some(FORM_BEBA) => Some(RecordForm::Beba),
                    Some(_) | None => None,
                };
                self.report(cx.now, value, request, form, from)
            }
            StateStats::Reply(_, records) if deletes && records.is_empty() => {
                let global = StateStats::GlobalState(self.machine.global());
                Ok(ReplyPart::last(ExtValue::typed(value.row, global)))
            }
            StateStats::Reply(..) | StateStats::GlobalState(_) => Err(BadRequest::BAD_LEN),
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

    /// Notes that a connection speaks a dialect, which it shows by the layout of its extractors.
    fn note_dialect(&mut self, cx: &mut ControlContext<'_>, layout: ExtractorLayout) {
        let form = match layout {
            ExtractorLayout::OpenState => FORM_OPENSTATE,
            ExtractorLayout::Beba => FORM_BEBA,
        };
        cx.set_form(form);
        let Some(asker) = cx.asker else { return };
        self.beba.retain(|connection| *connection != asker.connection);
        if form == FORM_BEBA {
            if self.beba.len() >= MAX_CONNECTIONS {
                self.beba.remove(0);
            }
            self.beba.push(asker.connection);
        }
    }
}

/// Tells who asked for it that a packet has changed the state of a flow.
fn notify(cx: &mut HookContext<'_>, action: &SetState, changed: &Changed) {
    if changed.old == changed.new {
        return;
    }
    let notification = StateChanged {
        table: action.table.into(),
        old: changed.old,
        new: changed.new,
        mask: action.transition.mask,
        key: changed.key.bytes().to_vec(),
    };
    cx.notify(ExtValue::typed(STATE_CHANGED, notification));
}

impl Hook for OpenState {
    fn name(&self) -> &'static str {
        "openstate"
    }

    /// A table with states gives a packet its own. Any other takes that away; the first one gives
    /// it the global state, which controllers change, or packets.
    fn effect(&self, table: TableId) -> HookEffect {
        let is_first = table == TableId(0);
        if self.machine.enabled(table.0).is_some() || is_first && self.has_set_global {
            HookEffect::Branch
        } else if self.machine.has_enabled() || is_first {
            HookEffect::Pure
        } else {
            HookEffect::None
        }
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    /// A flow's state is no field of this packet, unlike the global state.
    fn action_effect(&self, _: usize, value: &ExtValue) -> HookEffect {
        match value.body::<SetGlobalState>() {
            Some(_) => HookEffect::Branch,
            None => HookEffect::Live,
        }
    }

    fn acts_on_segments(&self) -> bool {
        true
    }

    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        self.enter(cx);
        if cx.table == TableId(0) {
            cx.set(self.global_state, self.machine.global().into());
        }
        if self.machine.has_enabled() {
            let (now, table) = (cx.now, cx.table.0);
            if cx.is_dry() {
                let (key, log) = cx.key();
                let text = trace_text::read(&self.machine, now, table, key, log);
                text.into_iter().for_each(|text| cx.say(|| text));
            }
            let (key, log) = cx.key();
            match self.machine.look_up(now, table, key, log) {
                Some(state) => cx.set(self.state, state.into()),
                None => cx.clear(self.state),
            }
        }
        Verdict::Continue
    }

    fn on_action(&mut self, cx: &mut HookContext<'_>, _: usize, value: &ExtValue) -> Verdict {
        self.enter(cx);
        let now = cx.now;
        let (key, log) = cx.key();
        if let Some(action) = value.body::<SetState>() {
            let changed = self.machine.set_state(now, action, key, log);
            cx.say(|| trace_text::changed(&self.machine, action.table, changed.as_ref()));
            if let Some(changed) = changed.filter(|_| self.notifies) {
                notify(cx, action, &changed);
            }
        } else if let Some(action) = value.body::<IncState>() {
            let changed = self.machine.inc_state(now, action.table, key, log);
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
        // A notification is for switches to send.
        let message = value.body::<StateMod>().ok_or(error::BAD_EXP_MESSAGE)?;
        self.machine.end_trial();
        self.machine.modify(cx.now, message, cx.catalogue())?;
        self.generation += 1;
        if let StateMod::SetExtractor { layout, .. } = message {
            self.note_dialect(cx, *layout);
        }
        Ok(())
    }

    fn on_multipart(
        &mut self,
        cx: &mut ControlContext<'_>,
        _: usize,
        request: &ExtValue,
        from: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        if let Some(stats) = request.body::<StateStats>() {
            return self.stats(cx, request, stats, from);
        }
        if let Some(stats) = request.body::<GlobalStats>() {
            return self.global_stats(request, stats);
        }
        if request.body::<ValueList<StateMod>>().is_some() {
            let (list, next) = commands::part(cx.now, &self.machine, from);
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

    /// Tells a BEBA controller that its flow-mod is done.
    fn on_flow_mod(&mut self, cx: &mut ControlContext<'_>, flow_mod: &FlowMod) {
        let is_beba = |asker: Asker| self.beba.contains(&asker.connection);
        if !cx.asker.is_some_and(is_beba) {
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

    fn metrics(&self, _: Time, _: u64, list: &mut Vec<Metric>) -> Option<u64> {
        let metric = |name, help, kind, value| Metric {
            name,
            help,
            kind,
            labels: Vec::new(),
            value,
        };
        let counts = self.machine.counts;
        let (counter, gauge) = (MetricKind::Counter, MetricKind::Gauge);
        list.push(metric("transitions", "Transitions by actions", counter, counts.transitions));
        list.push(metric("refused", "States without room", counter, counts.refused));
        for (table, states) in self.machine.populations() {
            list.push(Metric {
                labels: vec![("table", table.to_string())],
                ..metric("states", "Flows with a state", gauge, states as u64)
            });
        }
        None
    }
}
