//! States of flows, as replicas of a switch divide them: by what the scopes of all tables agree in.

use alloc::sync::Arc;
use alloc::vec::Vec;

use bofuss_datapath::{Agreement, DispatchFields, FlowStates, StateKey, TakenStates};
use bofuss_oflib::Field;
use bofuss_oflib::field::IN_PORT;
use bofuss_oflib::message::FlowMod;

use super::action::{SetGlobalState, SetState, own_actions};
use super::extractor::{Extractor, FlowKey};
use super::hook::OpenState;
use super::machine::Machine;
use super::stateful::Stateful;
use super::table::{StateEntry, StateTable};

/// The entries of flows, each with the number of its table.
type Flows = Vec<(u8, FlowKey, StateEntry)>;

/// The key of a flow, and the fields of which it is made.
struct Key<'a>(&'a Extractor, &'a FlowKey);

impl StateKey for Key<'_> {
    fn value(&self, field: &'static Field) -> Option<u128> {
        self.0.value_in(self.1, field)
    }
}

impl Stateful {
    /// In what all packets agree that read or change one state of this table.
    fn agreement(&self) -> Agreement {
        let lookup = self.lookup.iter();
        let all = lookup.flat_map(|lookup| {
            let scopes = self.scopes();
            scopes.map(|(_, other)| agreement_of(lookup, other))
        });
        all.fold(Agreement::ALL, Agreement::and)
    }
}

/// In what two packets agree that have the same key, one of them in this scope and one in another.
fn agreement_of(scope: &Extractor, other: &Extractor) -> Agreement {
    let places = scope.placed_fields().zip(other.placed_fields());
    let mut same = Vec::new();
    let mut read = Vec::new();
    let mut changed = Vec::new();
    for ((field, place), (other_field, other_place)) in places {
        let (Some(field), Some(other_field)) = (field, other_field) else {
            continue;
        };
        if place != other_place {
            break;
        }
        if field == other_field {
            same.push(field);
        }
        read.push(field);
        changed.push(other_field);
    }
    let at = |list: &[&'static Field], field: &Field| list.iter().position(|one| *one == field);
    let pairs = DispatchFields::PAIRS.iter().filter(|[one, partner]| {
        let before = (at(&read, one), at(&read, partner));
        let after = [at(&changed, one), at(&changed, partner)];
        let is_whole = before.0.is_some() && before.1.is_some();
        is_whole && [[before.0, before.1], [before.1, before.0]].contains(&after)
    });
    let either_way = DispatchFields::of(pairs.flatten().copied()).either_way();
    let same_fields = DispatchFields::of(same.iter().copied());
    let may_swap = scope.is_biflow() || other.is_biflow();
    Agreement {
        same: if may_swap {
            same_fields.without(either_way)
        } else {
            same_fields
        },
        either_way,
        same_port: same.contains(&IN_PORT),
    }
}

impl StateTable {
    /// Takes all entries, also those whose timers have run out.
    fn take_all(&mut self) -> Vec<(FlowKey, StateEntry)> {
        self.edits += 1;
        let mut all = Vec::with_capacity(self.len());
        let mut from = 0;
        while let Some(slot) = self.flows.used(from) {
            let (key, flow) = self.flows.at(slot).expect("the slot is used");
            let (key, flow) = (*key, *flow);
            all.push((key, flow));
            self.forget(&key);
            from = slot + 1;
        }
        all
    }

    /// Adds the entry of a flow that has none, with the share in which it counts.
    fn put(&mut self, key: FlowKey, flow: StateEntry) {
        self.edits += 1;
        self.forget(&key);
        self.shares.take(flow.port, 1);
        self.flows.insert(key, flow);
    }
}

impl Machine {
    /// Takes the entries of all flows, each with the number of its table.
    fn take_flows(&mut self) -> Vec<(u8, FlowKey, StateEntry)> {
        self.trial = None;
        let mut all = Vec::with_capacity(self.n_states);
        for (number, table) in (0..).zip(&mut self.tables) {
            let taken = table.iter_mut().flat_map(|table| table.states.take_all());
            all.extend(taken.map(|(key, flow)| (number, key, flow)));
        }
        self.n_states = 0;
        all
    }

    /// Adds the entry of a flow to a table that exists.
    fn put_flow(&mut self, number: u8, key: FlowKey, flow: StateEntry) {
        if let Some(table) = &mut self.tables[usize::from(number)] {
            let before = table.states.len();
            table.states.put(key, flow);
            self.n_states += table.states.len() - before;
        }
    }
}

impl OpenState {
    /// Notes actions of an entry that was added by which a packet changes what packets of other
    /// flows read.
    pub(crate) fn note_crossing(&mut self, flow_mod: &FlowMod) {
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

impl FlowStates for OpenState {
    fn agreement(&self) -> Result<Option<Agreement>, &'static str> {
        let numbers = 0..super::N_TABLES as u8;
        let mut tables = numbers.filter_map(|number| self.machine.enabled(number));
        let Some(first) = tables.next() else {
            return Ok(None);
        };
        if let Some(why) = self.crossing {
            return Err(why);
        }
        let others = tables.map(Stateful::agreement);
        Ok(Some(others.fold(first.agreement(), Agreement::and)))
    }

    fn take(&mut self) -> TakenStates {
        Arc::new(self.machine.take_flows())
    }

    fn add(&mut self, states: &TakenStates, is_own: &dyn Fn(&dyn StateKey) -> bool) {
        let Some(flows) = states.downcast_ref::<Flows>() else {
            return;
        };
        for (number, key, flow) in flows {
            let scope = self.machine.table(*number).and_then(Stateful::lookup);
            if scope.is_some_and(|scope| is_own(&Key(scope, key))) {
                self.machine.put_flow(*number, *key, *flow);
            }
        }
    }
}
