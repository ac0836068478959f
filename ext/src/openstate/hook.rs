//! The behaviour: where packets and messages meet the state tables.

use alloc::{boxed::Box, sync::Arc, vec};

use bofuss_datapath::{
    ControlContext, Hook, HookContext, HookEffect, ReplyPart, Time, Trial, Verdict,
};
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{Catalogue, ErrorCode, ExtValue, Field};

use super::machine::Machine;
use super::report::Report;
use super::{
    EXPERIMENTER, GlobalStats, IncState, RecordForm, SetGlobalState, SetState, ShortStats,
    StateMod, StateRequest, StateStats, error,
};

/// Nanoseconds from one sweep of all tables to the next: the reference switches' flush.
const SWEEP_NS: u64 = 60 * Time::SEC;
/// Nanoseconds between two slices of a sweep, so that packets need not wait.
const SLICE_NS: u64 = 1_000_000;
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
        catalogue: Arc::new(catalogue.clone()),
        machine: Machine::default(),
        has_set_global: false,
        generation: 0,
        trial: Trial::LIVE,
        sweep_at: Time(0),
    })
}

/// The state tables, and their place in the key of a packet.
struct OpenState {
    global_state: &'static Field,
    state: &'static Field,
    catalogue: Arc<Catalogue>,
    machine: Machine,
    /// Whether a packet has changed the global state: then the next may, too.
    has_set_global: bool,
    /// Counts what changes the effects on packets.
    generation: u64,
    /// The run of packets that came last.
    trial: Trial,
    /// When the next slice of a sweep is due.
    sweep_at: Time,
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
        let mut report = Report::new(request.clone(), form, deletes)?;
        report.resume(from);
        let make = |form, records| {
            let stats = StateStats::Reply(form, records);
            match form {
                RecordForm::Short => ExtValue::typed(value.row, ShortStats(stats)),
                RecordForm::OpenState | RecordForm::Beba => ExtValue::typed(value.row, stats),
            }
        };
        let part = report.next_part(now, &mut self.machine);
        let (form, records) = part.unwrap_or((form.unwrap_or(RecordForm::Beba), vec![]));
        Ok(ReplyPart {
            value: Some(make(form, records)),
            next: report.place(&mut self.machine),
        })
    }

    fn stats(
        &mut self,
        now: Time,
        value: &ExtValue,
        stats: &StateStats,
        from: u64,
    ) -> Result<ReplyPart, ErrorCode> {
        match stats {
            StateStats::Request(request) => {
                let form = (value.row.ty == DELETE_STATES).then_some(RecordForm::Beba);
                self.report(now, value, request, form, from)
            }
            StateStats::Reply(_, records)
                if value.row.ty == DELETE_STATES && records.is_empty() =>
            {
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

    fn acts_on_segments(&self) -> bool {
        self.machine.has_enabled()
    }

    fn before_lookup(&mut self, cx: &mut HookContext<'_>) -> Verdict {
        self.enter(cx);
        if cx.table == TableId(0) {
            cx.set(self.global_state, self.machine.global().into());
        }
        if self.machine.has_enabled() {
            let (now, table) = (cx.now, cx.table.0);
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
            self.machine.set_state(now, action, key, log);
        } else if let Some(action) = value.body::<IncState>() {
            self.machine.inc_state(now, action.table, key, log);
        } else if let Some(action) = value.body::<SetGlobalState>() {
            self.machine.set_global(action.value, action.mask);
            cx.set(self.global_state, self.machine.global().into());
            if !cx.is_dry() && !self.has_set_global {
                self.has_set_global = true;
                self.generation += 1;
            }
        }
        Verdict::Continue
    }

    fn next_tick(&self) -> Option<Time> {
        self.machine.has_states().then_some(self.sweep_at)
    }

    fn on_tick(&mut self, cx: &mut ControlContext<'_>) {
        let is_over = self.machine.sweep(cx.now, SLICE_SLOTS);
        self.sweep_at = cx.now.after(if is_over { SWEEP_NS } else { SLICE_NS });
    }

    fn on_message(
        &mut self,
        cx: &mut ControlContext<'_>,
        _: usize,
        value: &ExtValue,
    ) -> Result<(), ErrorCode> {
        let message = value.body::<StateMod>().ok_or(error::BAD_EXP_MESSAGE)?;
        self.machine.end_trial();
        self.machine.modify(cx.now, message, &self.catalogue)?;
        self.generation += 1;
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
            return self.stats(cx.now, request, stats, from);
        }
        if let Some(stats) = request.body::<GlobalStats>() {
            return self.global_stats(request, stats);
        }
        match request.body::<ShortStats>() {
            Some(ShortStats(StateStats::Request(wanted))) => {
                self.report(cx.now, request, wanted, Some(RecordForm::Short), from)
            }
            Some(_) | None => Err(BadRequest::BAD_LEN),
        }
    }
}
