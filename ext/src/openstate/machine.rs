//! The state tables of a switch and its global state, and what messages and actions do to them.

use alloc::{boxed::Box, vec::Vec};

use bofuss_datapath::Time;
use bofuss_oflib::{Catalogue, ErrorCode};
use bofuss_packet::{Key, ReadLog};

use super::extractor::{Extractor, FlowKey};
use super::state_mod::{ExtractorLayout, Scope, StateMod};
use super::table::{Behaviour, StateEntry, StateTable, TableFull, Timers, Transition};
use super::{N_TABLES, error};

/// The most flows of all tables that have a state, at about 130 bytes each.
pub const MAX_STATES: usize = 1 << 20;
/// The state of a packet from which the lookup key cannot be built.
const STATE_NULL: u32 = u32::MAX;

/// What is configured of a stateful table, and its states.
#[derive(Debug, Default)]
pub struct Stateful {
    /// Whether it is on; off, it keeps everything.
    on: bool,
    lookup: Option<Extractor>,
    update: Option<Extractor>,
    bit_update: Option<Extractor>,
    /// The layout in which its extractors came.
    layout: Option<ExtractorLayout>,
    /// Whether it was off since its extractors were set: then others may replace them all.
    may_change: bool,
    /// The states.
    pub states: StateTable,
}

impl Stateful {
    /// Returns true if packets have states here: both scopes are set.
    pub fn is_enabled(&self) -> bool {
        self.on && self.lookup.is_some() && self.update.is_some()
    }

    /// Whether it is on, even if a scope is not set.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// The scopes that are set.
    pub fn scopes(&self) -> impl Iterator<Item = (Scope, &Extractor)> {
        let all = [
            (Scope::Lookup, &self.lookup),
            (Scope::Update, &self.update),
            (Scope::BitUpdate, &self.bit_update),
        ];
        all.into_iter().filter_map(|(scope, extractor)| Some((scope, extractor.as_ref()?)))
    }

    /// The layout in which they came.
    pub fn layout(&self) -> Option<ExtractorLayout> {
        self.layout
    }

    /// The lookup scope.
    pub fn lookup(&self) -> Option<&Extractor> {
        self.lookup.as_ref()
    }

    /// Bytes of its keys.
    fn key_bytes(&self) -> Option<usize> {
        self.scopes().map(|(_, extractor)| extractor.bytes()).next()
    }

    /// Errors: the table is not stateful; a key of another length than the other scopes', or a
    /// message of another dialect than theirs.
    fn set_extractor(
        &mut self,
        scope: Scope,
        layout: ExtractorLayout,
        extractor: Extractor,
    ) -> Result<(), ErrorCode> {
        if !self.on {
            return Err(error::SET_EXTRACTOR);
        }
        let same_length = self.key_bytes().is_none_or(|bytes| bytes == extractor.bytes());
        let same_layout = self.layout.is_none_or(|known| known == layout);
        if !same_length || !same_layout {
            if !self.may_change {
                return Err(error::BAD_EXP_LEN);
            }
            *self = Self {
                on: true,
                ..Self::default()
            };
        }
        self.may_change = false;
        self.layout = Some(layout);
        self.states.behaviour = match layout {
            ExtractorLayout::OpenState => Behaviour::OpenState,
            ExtractorLayout::Beba => Behaviour::Beba,
        };
        let place = match scope {
            Scope::Lookup => &mut self.lookup,
            Scope::Update => &mut self.update,
            Scope::BitUpdate => &mut self.bit_update,
        };
        *place = Some(extractor);
        Ok(())
    }
}

/// What an action did to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The flow's key.
    pub key: FlowKey,
    /// Its state before.
    pub old: u32,
    /// Its state after.
    pub new: u32,
    /// The timers that run from now on.
    pub timers: Timers,
}

/// How often what has happened, in all tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Transitions by actions.
    pub transitions: u64,
    /// States that there was no room for.
    pub refused: u64,
}

/// What one trace has changed so far, for itself.
#[derive(Debug, Default)]
struct TrialChanges {
    flows: Vec<(u8, FlowKey, Option<StateEntry>)>,
    global: Option<u32>,
}

/// All state tables, and the global state.
#[derive(Debug)]
pub struct Machine {
    /// By number; those that were never stateful take no memory.
    tables: [Option<Box<Stateful>>; N_TABLES],
    global: u32,
    /// Tables that are enabled.
    n_enabled: usize,
    /// Flows of all tables that take memory.
    n_states: usize,
    trial: Option<TrialChanges>,
    /// The table that is swept.
    sweeping: usize,
    /// How often what has happened.
    pub counts: Counts,
}

impl Default for Machine {
    fn default() -> Self {
        Self {
            tables: [const { None }; N_TABLES],
            global: 0,
            n_enabled: 0,
            n_states: 0,
            trial: None,
            sweeping: 0,
            counts: Counts::default(),
        }
    }
}

impl Machine {
    /// The table of a number, if it was ever made stateful.
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

    /// The global state, in a trace as that has it.
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

    /// From now on, what actions change lasts until the trial ends; an earlier trial ends now.
    pub fn begin_trial(&mut self) {
        self.trial = Some(TrialChanges::default());
    }

    /// Forgets what actions changed since the trial began.
    pub fn end_trial(&mut self) {
        self.trial = None;
    }

    /// Does what a controller's message says.
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
                let place = &mut self.tables[usize::from(*table)];
                if *stateful || place.is_some() {
                    let table = place.get_or_insert_default();
                    table.on = *stateful;
                    table.may_change |= !stateful;
                }
            }
            StateMod::SetExtractor {
                table,
                scope,
                layout,
                fields,
            } => {
                let extractor = Extractor::new(fields, catalogue).ok_or(error::BAD_EXP_LEN)?;
                let place = &mut self.tables[usize::from(*table)];
                let table = place.as_mut().ok_or(error::SET_EXTRACTOR)?;
                table.set_extractor(*scope, *layout, extractor)?;
            }
            StateMod::SetFlowState {
                table,
                key,
                transition,
            } => {
                self.check_key(*table, key, error::SET_FLOW_STATE)?;
                let key = FlowKey::new(key);
                let set = self.transition(now, *table, &key, transition);
                set.map_err(|TableFull| error::STATE_MOD_FAILED)?;
            }
            StateMod::DelFlowState { table, key } => {
                self.check_key(*table, key, error::DEL_FLOW_STATE)?;
                let states = &mut self.tables[usize::from(*table)];
                let states = &mut states.as_mut().expect("the table is enabled").states;
                if !states.remove(now, &FlowKey::new(key)) {
                    return Err(error::DEL_FLOW_STATE);
                }
            }
            StateMod::SetGlobalState { value, mask } => self.set_global(*value, *mask),
            StateMod::ResetGlobalState => self.global = 0,
        }
        let tables = self.tables.iter().flatten();
        self.n_enabled = tables.clone().filter(|table| table.is_enabled()).count();
        self.n_states = tables.map(|table| table.states.len()).sum();
        Ok(())
    }

    /// Errors: `disabled` if packets have no states in this table; a key of another length than the
    /// update scope's.
    fn check_key(&self, table: u8, key: &[u8], disabled: ErrorCode) -> Result<(), ErrorCode> {
        let table = self.enabled(table).ok_or(disabled)?;
        if table.key_bytes() != Some(key.len()) {
            return Err(error::BAD_EXP_LEN);
        }
        Ok(())
    }

    /// The state that a packet has in a table; `None` if it has none there.
    pub fn look_up(
        &mut self,
        now: Time,
        number: u8,
        packet: &Key,
        log: &mut impl ReadLog,
    ) -> Option<u32> {
        let table = self.tables.get_mut(usize::from(number))?.as_mut()?;
        if !table.is_enabled() {
            return None;
        }
        let Some(key) = table.lookup.as_ref()?.key(packet, log) else {
            return match table.states.behaviour {
                Behaviour::OpenState => None,
                Behaviour::Beba => Some(STATE_NULL),
            };
        };
        if self.trial.is_some() {
            let flow = self.flow(now, number, &key);
            return Some(flow.map_or(0, |flow| flow.state));
        }
        Some(table.states.look_up(now, &key))
    }

    /// What a flow has in a table that is known, in a trace as that has it.
    pub fn flow(&self, now: Time, number: u8, key: &FlowKey) -> Option<StateEntry> {
        if let Some(trial) = &self.trial {
            let mut tried = trial.flows.iter().rev();
            let tried = tried.find(|(table, other, _)| *table == number && other == key);
            if let Some((_, _, flow)) = tried {
                return *flow;
            }
        }
        self.table(number)?.states.get(now, key)
    }

    /// Has a flow be `after`. Errors: there is no room for it.
    fn set_flow(
        &mut self,
        now: Time,
        number: u8,
        key: &FlowKey,
        after: Option<StateEntry>,
    ) -> Result<(), TableFull> {
        if let Some(trial) = &mut self.trial {
            trial.flows.push((number, *key, after));
            return Ok(());
        }
        let room = MAX_STATES.saturating_sub(self.n_states);
        let table = self.tables[usize::from(number)].as_mut();
        let states = &mut table.expect("the table is enabled").states;
        let others = self.n_states - states.len();
        let set = states.set(now, key, after, room);
        self.n_states = others + states.len();
        if set.is_err() {
            self.counts.refused += 1;
        }
        set
    }

    /// Gives a flow of an enabled table another state. Errors: there is no room for it.
    fn transition(
        &mut self,
        now: Time,
        number: u8,
        key: &FlowKey,
        transition: &Transition,
    ) -> Result<Changed, TableFull> {
        let before = self.flow(now, number, key);
        let states = &self.enabled(number).expect("the table is enabled").states;
        let after = states.after_transition(now, before, transition);
        self.set_flow(now, number, key, after)?;
        Ok(Changed {
            key: *key,
            old: before.map_or(0, |flow| flow.state),
            new: after.map_or(0, |flow| flow.state),
            timers: after.map_or(Timers::default(), |flow| flow.timers),
        })
    }

    /// Gives a packet's flow in the update scope of a table another state, or its flow in the
    /// bit-update scope. Does nothing if the table is not stateful, the packet lacks a field or
    /// there is no room.
    pub fn set_state(
        &mut self,
        now: Time,
        action: &super::SetState,
        packet: &Key,
        log: &mut impl ReadLog,
    ) -> Option<Changed> {
        let table = self.enabled(action.table)?;
        let scope = if action.bit {
            &table.bit_update
        } else {
            &table.update
        };
        let key = scope.as_ref()?.key(packet, log)?;
        let changed = self.transition(now, action.table, &key, &action.transition);
        self.counts.transitions += u64::from(changed.is_ok() && self.trial.is_none());
        changed.ok()
    }

    /// Counts up the state of a packet's flow in the update scope of a table, if it has one.
    pub fn inc_state(
        &mut self,
        now: Time,
        number: u8,
        packet: &Key,
        log: &mut impl ReadLog,
    ) -> Option<Changed> {
        let key = self.enabled(number)?.update.as_ref()?.key(packet, log)?;
        let before = self.flow(now, number, &key);
        let states = &self.enabled(number).expect("it was just now").states;
        let after = states.after_increment(now, before);
        self.set_flow(now, number, &key, Some(after)).ok()?;
        self.counts.transitions += u64::from(self.trial.is_none());
        Some(Changed {
            key,
            old: before.map_or(0, |flow| flow.state),
            new: after.state,
            timers: after.timers,
        })
    }

    /// Looks at so many slots of the tables, and frees the memory of flows that have run out.
    /// Returns true when all tables were looked at.
    pub fn expire(&mut self, now: Time, slots: u32) -> bool {
        let rest = &mut self.tables[self.sweeping..];
        let Some(skipped) = rest.iter().position(Option::is_some) else {
            self.sweeping = 0;
            return true;
        };
        self.sweeping += skipped;
        let table = rest[skipped].as_mut().expect("it was found just now");
        let others = self.n_states - table.states.len();
        if table.states.expire(now, slots) {
            self.sweeping += 1;
        }
        self.n_states = others + table.states.len();
        false
    }

    /// The tables in which packets have states, and how many flows take memory there.
    pub fn populations(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let tables = self.tables.iter().enumerate();
        tables.filter_map(|(number, table)| {
            let table = table.as_ref().filter(|table| table.is_enabled())?;
            Some((number, table.states.len()))
        })
    }

    /// Forgets a flow of a table.
    pub fn forget(&mut self, now: Time, number: u8, key: &FlowKey) {
        if let Some(table) = self.tables[usize::from(number)].as_mut() {
            let others = self.n_states - table.states.len();
            table.states.remove(now, key);
            self.n_states = others + table.states.len();
        }
    }

    /// Returns true if a sweep might free memory.
    pub fn has_states(&self) -> bool {
        self.n_states > 0
    }
}
