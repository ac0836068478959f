//! The state tables and the global state of a switch, and how messages and actions change them.

mod taken_flows;
mod transitions;

use alloc::{boxed::Box, vec::Vec};

use bofuss_datapath::{Time, Upcoming};
use bofuss_oflib::{Catalogue, ErrorCode, PortNo};
use bofuss_packet::may_use;

use super::action::Evidence;
use super::ahead::FlowsAhead;
use super::dialect::{Dialects, StateDialect};
use super::extractor::{Extractor, FieldSource, FlowKey};
use super::state_mod::StateMod;
use super::stateful::Stateful;
use super::table::{Behaviour, SoughtFlow, StateEntry, StateTable, TableFull, Timers, Transition};
use super::{N_TABLES, SetState, error};
use crate::common::beba::FlowVariables;

pub(super) use taken_flows::TakenFlow;

/// The most flows that have a state, in all tables together; each takes about 160 bytes. Of those,
/// the packets of one port make at most its [share](bofuss_packet::Shares).
pub const MAX_STATES: usize = 1 << 20;
/// Slots that are searched for expired flows when there is no room and a new flow needs a state:
/// the limit of the work that one packet can cause.
const SWEPT_WHEN_FULL: u32 = 64;
/// The state of a packet that lacks a field of the lookup scope, in BEBA's dialect.
const STATE_NULL: u32 = u32::MAX;

/// The change of a flow by an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The flow's key.
    pub key: FlowKey,
    /// Its state before.
    pub old: u32,
    /// Its state after.
    pub new: u32,
    /// The timers that run after it.
    pub timers: Timers,
    /// Its variables.
    pub variables: FlowVariables,
}

impl Changed {
    fn new(key: FlowKey, before: Option<StateEntry>, after: Option<StateEntry>) -> Self {
        Self {
            key,
            old: before.map_or(0, |flow| flow.state),
            new: after.map_or(0, |flow| flow.state),
            timers: after.map_or(Timers::default(), |flow| flow.timers),
            variables: after.map_or_else(FlowVariables::default, |flow| flow.variables),
        }
    }
}

/// The changes that a trial has made so far, which only the trial itself sees.
#[derive(Debug, Default)]
pub(super) struct TrialChanges {
    flows: Vec<(u8, FlowKey, Option<StateEntry>)>,
    global: Option<u32>,
}

/// All state tables, and the global state.
#[derive(Debug)]
pub struct Machine {
    /// By number; a table that no message or action was about takes no memory.
    tables: [Option<Box<Stateful>>; N_TABLES],
    /// The dialects that a table may have about which nothing is known yet.
    dialects: Dialects,
    global: u32,
    /// Tables that are enabled.
    n_enabled: usize,
    /// Entries of flows in all tables.
    n_states: usize,
    trial: Option<TrialChanges>,
    ahead: FlowsAhead,
    /// The table that is next to be searched for expired flows.
    sweeping: usize,
    /// Flows that got no state or variable for lack of room.
    pub refused: u64,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            tables: [const { None }; N_TABLES],
            dialects: Dialects::ALL,
            global: 0,
            n_enabled: 0,
            n_states: 0,
            trial: None,
            ahead: FlowsAhead::default(),
            sweeping: 0,
            refused: 0,
        }
    }
}

impl Machine {
    /// The table of a number, if a message or an action was about it.
    pub fn table(&self, number: u8) -> Option<&Stateful> {
        self.tables.get(usize::from(number))?.as_deref()
    }

    /// The table of a number, if packets have states there.
    pub fn enabled(&self, number: u8) -> Option<&Stateful> {
        self.table(number).filter(|table| table.is_enabled())
    }

    /// Returns true if packets have states in some table.
    pub fn has_enabled(&self) -> bool {
        self.n_enabled > 0
    }

    /// Returns true if a table has a dialect, or a new one would.
    pub(crate) fn has_dialect(&self, dialect: StateDialect) -> bool {
        let tables = self.tables.iter().flatten();
        let mut all = tables.map(|table| table.dialects).chain([self.dialects]);
        all.any(|dialects| dialects == Dialects::only(dialect))
    }

    /// Sets the dialect of all tables about which nothing is known yet.
    pub fn set_dialect(&mut self, dialect: StateDialect) {
        self.dialects = Dialects::only(dialect);
        self.summarize();
    }

    /// Returns true if a table may have a message or an action that only the dialects in `known`
    /// know.
    pub fn allows(&self, number: u8, known: Dialects) -> bool {
        let dialects = self
            .table(number)
            .map_or(self.dialects, |table| table.dialects);
        dialects.and(known).is_some()
    }

    /// Checks what was inferred from an action. Errors: its table has no dialect that knows it.
    pub(crate) fn check(&self, evidence: Option<Evidence>) -> Result<(), ErrorCode> {
        match evidence {
            Some(one) if !self.allows(one.table, one.known) => Err(one.error),
            Some(_) | None => Ok(()),
        }
    }

    /// Rules out all dialects but `known` for a table, after a message or an action that only these
    /// know; does nothing if none would be left.
    pub fn narrow(&mut self, number: u8, known: Dialects) {
        if usize::from(number) < N_TABLES && self.allows(number, known) {
            self.place(number).narrow(known);
            self.summarize();
        }
    }

    /// The table of a number, which is created if needed.
    fn place(&mut self, number: u8) -> &mut Stateful {
        let place = &mut self.tables[usize::from(number)];
        place.get_or_insert_with(|| {
            let mut table = Box::new(Stateful::default());
            table.narrow(self.dialects);
            table
        })
    }

    /// Recomputes the totals over all tables.
    fn summarize(&mut self) {
        let tables = self.tables.iter().flatten();
        self.n_enabled = tables.clone().filter(|table| table.is_enabled()).count();
        self.n_states = tables.map(|table| table.states.len()).sum();
    }

    /// The global state; in a trial, with the trial's change.
    pub fn global(&self) -> u32 {
        let tried = self.trial.as_ref().and_then(|trial| trial.global);
        tried.unwrap_or(self.global)
    }

    /// Changes bits of the global state.
    pub fn set_global(&mut self, value: u32, mask: u32) {
        let after = self.global() & !mask | value & mask;
        match &mut self.trial {
            Some(trial) => trial.global = Some(after),
            None => self.global = after,
        }
    }

    /// Begins a trial: what actions change from now on is undone when it ends. An earlier trial
    /// ends.
    pub fn begin_trial(&mut self) {
        self.trial = Some(TrialChanges::default());
    }

    /// Ends a trial, and forgets its changes.
    pub fn end_trial(&mut self) {
        self.trial = None;
    }

    /// Carries out a controller's message.
    ///
    /// Errors: those of the message, with the codes of the reference switches; nothing is changed.
    pub fn modify(
        &mut self,
        now: Time,
        message: &StateMod,
        catalogue: &Catalogue,
    ) -> Result<(), ErrorCode> {
        match message {
            StateMod::TableConfig { table, stateful } => {
                if *stateful || self.table(*table).is_some() {
                    let table = self.place(*table);
                    table.on = *stateful;
                    table.may_change |= !stateful || table.states.is_empty();
                }
            }
            StateMod::SetExtractor {
                table,
                scope,
                biflow,
                fields,
                ..
            } => {
                let (_, known) = message.evidence().expect("it is about one table");
                let made = if *biflow {
                    Extractor::biflow(fields, catalogue)
                } else {
                    Extractor::new(fields, catalogue)
                };
                let extractor = made.ok_or(error::BAD_EXP_LEN)?;
                let place = &mut self.tables[usize::from(*table)];
                let table = place.as_mut().ok_or(error::SET_EXTRACTOR)?;
                table.set_extractor(*scope, known, extractor, self.dialects)?;
            }
            StateMod::SetFlowState {
                table,
                key,
                transition,
            } => {
                let stateful = self.enabled(*table).ok_or(error::SET_FLOW_STATE)?;
                stateful.check_key(key)?;
                let flow = stateful.states.seek(FlowKey::new(key));
                let from_controller = (&flow, || PortNo::CONTROLLER);
                let set = self.transition(now, *table, from_controller, transition);
                set.map_err(|TableFull| error::STATE_MOD_FAILED)?;
            }
            StateMod::DelFlowState { table, key } => {
                let enabled = self.enabled(*table).ok_or(error::DEL_FLOW_STATE)?;
                enabled.check_key(key)?;
                let key = FlowKey::new(key);
                if !self.in_table(*table, |states| states.remove(now, &key)) {
                    return Err(error::DEL_FLOW_STATE);
                }
            }
            StateMod::SetGlobalState { value, mask } => self.set_global(*value, *mask),
            StateMod::ResetGlobalState => self.global = 0,
        }
        self.summarize();
        Ok(())
    }

    /// The state that a packet has in a table; `None` if it has none there.
    pub fn look_up(&mut self, now: Time, number: u8, packet: &mut impl FieldSource) -> Option<u32> {
        let table = self.tables.get_mut(usize::from(number))?.as_mut()?;
        if !table.is_enabled() {
            return None;
        }
        let notes = table.may_be_opp();
        let is_tried = self.trial.is_some();
        if let Some(sought) = self.ahead.get(number, packet).filter(|_| !is_tried) {
            if notes {
                packet.note_lookup(Some(&sought.key));
            }
            return Some(table.states.look_up(now, sought));
        }
        let key = table.lookup.as_ref()?.key(packet);
        if notes {
            packet.note_lookup(key.as_ref());
        }
        let Some(key) = key else {
            return match table.states.behaviour {
                Behaviour::OpenState => None,
                Behaviour::Beba => Some(STATE_NULL),
            };
        };
        if self.trial.is_some() {
            let flow = self.flow(now, number, &key);
            return Some(flow.map_or(0, |flow| flow.state));
        }
        let sought = table.states.seek(key);
        Some(table.states.look_up(now, &sought))
    }

    /// The entry of a flow, if it has a state; in a trial, with the trial's changes.
    pub fn flow(&self, now: Time, number: u8, key: &FlowKey) -> Option<StateEntry> {
        if let Some(trial) = &self.trial {
            let mut tried = trial.flows.iter().rev();
            if let Some((_, _, flow)) =
                tried.find(|(table, other, _)| *table == number && other == key)
            {
                return *flow;
            }
        }
        self.table(number)?.states.get(now, key)
    }

    /// Sets the entry of a flow to `after`. Errors: there is no room for it.
    pub(crate) fn set_flow(
        &mut self,
        now: Time,
        number: u8,
        key: &FlowKey,
        after: Option<StateEntry>,
        port: PortNo,
    ) -> Result<(), TableFull> {
        if let Some(trial) = &mut self.trial {
            trial.flows.push((number, *key, after));
            return Ok(());
        }
        let place = (port, self.has_room(port));
        let set = self.in_table(number, |states| states.set(now, key, after, place));
        if set.is_ok() {
            return set;
        }
        self.in_table(number, |states| states.expire(now, SWEPT_WHEN_FULL));
        let place = (port, self.has_room(port));
        let set = self.in_table(number, |states| states.set(now, key, after, place));
        self.refused += u64::from(set.is_err());
        set
    }

    /// Returns true if a port may have one more flow.
    fn has_room(&self, port: PortNo) -> bool {
        let used = self.n_states + 1;
        // The port has at most what all have together.
        if may_use(MAX_STATES, used, port, used) {
            return true;
        }
        let tables = self.tables.iter().flatten();
        let own: usize = tables.map(|table| table.states.len_of(port)).sum();
        may_use(MAX_STATES, used, port, own + 1)
    }

    /// Changes the flows of a table that exists, and counts how many all have then.
    fn in_table<T>(&mut self, number: u8, change: impl FnOnce(&mut StateTable) -> T) -> T {
        let table = self.tables[usize::from(number)].as_mut();
        let states = &mut table.expect("the table exists").states;
        let others = self.n_states - states.len();
        let result = change(states);
        self.n_states = others + states.len();
        result
    }

    /// Changes a flow of an enabled table. A new one counts in the share of a port. Errors: it has
    /// no room for one.
    #[inline]
    fn change(
        &mut self,
        now: Time,
        number: u8,
        (sought, port): (&SoughtFlow, impl FnOnce() -> PortNo),
        change: impl Fn(Behaviour, Option<StateEntry>) -> Option<StateEntry>,
    ) -> Result<Changed, TableFull> {
        let key = &sought.key;
        let place = self.tables[usize::from(number)].as_mut();
        let table = place.expect("the table is enabled");
        let behaviour = table.states.behaviour;
        if self.trial.is_none() {
            let n_before = table.states.len();
            if let Some((before, after)) = table.states.update(now, sought, &change) {
                self.n_states -= n_before - table.states.len();
                return Ok(Changed::new(*key, before, after));
            }
        }
        let before = self.flow(now, number, key);
        let after = change(behaviour, before);
        self.set_flow(now, number, key, after, port())?;
        Ok(Changed::new(*key, before, after))
    }

    /// Changes the state of a flow in an enabled table. Errors: there is no room for it.
    #[inline]
    fn transition(
        &mut self,
        now: Time,
        number: u8,
        flow: (&SoughtFlow, impl FnOnce() -> PortNo),
        transition: &Transition,
    ) -> Result<Changed, TableFull> {
        self.change(now, number, flow, |behaviour, before| {
            behaviour.after_transition(now, before, transition)
        })
    }

    /// Looks up the flows of a table's upcoming packets, and prefetches them.
    pub fn look_ahead(&mut self, number: u8, packets: &Upcoming<'_>) {
        let table = self.tables.get(usize::from(number));
        let table = table.and_then(Option::as_deref);
        self.ahead.look_ahead((number, table), self.global, packets);
    }

    /// The global state that the upcoming packets would read, whatever a trial has changed.
    pub(super) fn predicted_global(&self) -> u32 {
        self.global
    }

    /// The states that the upcoming packets would read, in their order.
    pub fn predicted(&self) -> impl Iterator<Item = Option<u64>> {
        self.ahead.predicted()
    }

    /// The table of the lookahead and the key that the lookup of a packet there notes, if it notes
    /// one.
    pub(super) fn noted_ahead(&self, number: usize) -> Option<(u8, &FlowKey)> {
        let table = self.ahead.table();
        let key = self.ahead.key(number)?;
        let notes = self.enabled(table)?.may_be_opp();
        notes.then_some((table, key))
    }

    /// Does the lookup of a packet's state, if that is still as predicted. Returns false if it is
    /// not; then nothing is done.
    #[inline]
    pub fn apply_prediction(&mut self, now: Time, number: usize) -> bool {
        match &mut self.tables[usize::from(self.ahead.table())] {
            Some(table) => self.ahead.apply_prediction(now, table, self.global, number),
            None => false,
        }
    }

    /// Carries out a SET_STATE, if the flow that it changes was looked up ahead and keeps its
    /// entry. Returns false if not; then nothing is done.
    #[inline]
    pub fn apply_transition(&mut self, now: Time, number: usize, action: &SetState) -> bool {
        match &mut self.tables[usize::from(self.ahead.table())] {
            Some(table) => self.ahead.apply_transition(now, table, number, action),
            None => false,
        }
    }

    /// The flow of a packet in the lookup scope of a table, if it was looked up ahead.
    #[inline]
    fn flow_ahead(&self, number: u8, packet: &impl FieldSource) -> Option<&SoughtFlow> {
        self.ahead.get(number, packet)
    }

    /// Counts a transition in a table, except in a trial.
    fn count_transition(&mut self, number: u8) {
        let table = self.tables[usize::from(number)].as_mut();
        if let Some(table) = table.filter(|_| self.trial.is_none()) {
            table.states.counts.transitions += 1;
        }
    }

    /// Searches the next `slots` slots of a table for expired flows, as [`StateTable::expire`]
    /// does. Returns true at the end of the last table.
    pub fn expire(&mut self, now: Time, slots: u32) -> bool {
        let rest = &mut self.tables[self.sweeping..];
        let Some(skipped) = rest.iter().position(Option::is_some) else {
            self.sweeping = 0;
            return true;
        };
        self.sweeping += skipped;
        let number = self.sweeping as u8;
        let is_last = self.in_table(number, |states| states.expire(now, slots));
        self.sweeping += usize::from(is_last);
        false
    }

    /// The tables that a message or an action was about, with their states.
    pub fn state_tables(&self) -> impl Iterator<Item = (usize, &StateTable)> {
        let tables = self.tables.iter().enumerate();
        tables.filter_map(|(number, table)| Some((number, &table.as_ref()?.states)))
    }

    /// Removes the state of a flow.
    pub fn forget(&mut self, now: Time, number: u8, key: &FlowKey) {
        if self.table(number).is_some() {
            self.in_table(number, |states| states.remove(now, key));
        }
    }

    /// Returns true if searching for expired flows might free memory.
    pub fn has_states(&self) -> bool {
        self.n_states > 0
    }
}
