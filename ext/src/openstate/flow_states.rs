//! States of flows, as replicas of a switch divide them: by what the scopes of all tables agree in.

use alloc::sync::Arc;
use alloc::vec::Vec;

use bofuss_datapath::{Agreement, DispatchFields, FlowStates, StateKey, TakenStates};
use bofuss_oflib::Field;
use bofuss_oflib::field::IN_PORT;

use super::extractor::{Extractor, FlowKey};
use super::hook::OpenState;
use super::machine::TakenFlow;
use super::stateful::Stateful;

/// The key of a flow, and the fields of which it is made.
struct Key<'a>(&'a Extractor, &'a FlowKey);

impl StateKey for Key<'_> {
    fn value(&self, field: &'static Field) -> Option<u128> {
        self.0.value_in(self.1, field)
    }
}

/// In what all packets agree that read or change one state of a table.
fn agreement(table: &Stateful) -> Agreement {
    let all = table.lookup().into_iter().flat_map(|lookup| {
        let scopes = table.scopes();
        scopes.map(|(_, other)| agreement_of(lookup, other))
    });
    all.fold(Agreement::ALL, Agreement::and)
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
        let others = tables.map(agreement);
        Ok(Some(others.fold(agreement(first), Agreement::and)))
    }

    fn take(&mut self) -> TakenStates {
        Arc::new(self.machine.take_flows())
    }

    fn add(&mut self, states: &TakenStates, is_own: &dyn Fn(&dyn StateKey) -> bool) {
        let Some(flows) = states.downcast_ref::<Vec<TakenFlow>>() else {
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
