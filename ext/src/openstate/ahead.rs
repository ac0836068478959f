//! What state tables know of packets that come soon, so that these wait for memory together.

use alloc::vec::Vec;

use bofuss_datapath::{Time, Upcoming};

use super::SetState;
use super::extractor::{Extractor, FieldSource};
use super::machine::Machine;
use super::stateful::Stateful;
use super::table::SoughtFlow;

/// A flow of a packet that comes soon, and what the packet would find now.
#[derive(Clone, Copy, Debug, Default)]
struct FlowAhead {
    /// Whether it was looked at. If not, nothing else is known.
    is_known: bool,
    /// Whether the packet finds it as long as the table has no edits.
    is_lasting: bool,
    sought: SoughtFlow,
    state: u32,
}

/// What packets that come to a table soon would find there now.
#[derive(Debug, Default)]
pub(super) struct FlowsAhead {
    table: u8,
    /// Their flows in the lookup scope.
    flows: Vec<FlowAhead>,
    /// The [moves](super::table::StateTable::moves) after which these are in their places.
    moves: u64,
    /// The [edits](super::table::StateTable::edits) after which they are what was found.
    edits: u64,
    global: u32,
}

impl FlowsAhead {
    /// The flow of a packet in the lookup scope of a table, if it was looked at.
    #[inline]
    pub(super) fn get(&self, table: u8, packet: &impl FieldSource) -> Option<&SoughtFlow> {
        let flow = self.flows.get(packet.upcoming()?)?;
        (flow.is_known && self.table == table).then_some(&flow.sought)
    }
}

impl Machine {
    /// Finds the flows of packets that come to a table soon, in its lookup scope, and what these
    /// would find: all together, so that they wait for memory once.
    pub fn look_ahead(&mut self, number: u8, packets: &Upcoming<'_>) {
        let table = self.tables.get(usize::from(number));
        let table = table.and_then(Option::as_deref);
        let ahead = &mut self.ahead;
        let Some((table, lookup)) = table
            .filter(|table| table.is_enabled())
            .and_then(|table| Some((table, table.lookup.as_ref()?)))
        else {
            ahead.flows.clear();
            return;
        };
        (ahead.table, ahead.global) = (number, self.global);
        (ahead.moves, ahead.edits) = (table.states.moves(), table.states.edits());
        let flows = &mut ahead.flows;
        flows.resize_with(packets.len(), FlowAhead::default);
        for (flow, packet) in flows.iter_mut().zip(packets.packets()) {
            flow.is_known = lookup.key_ahead(packet, &mut flow.sought.key);
            table.states.aim(&mut flow.sought);
        }
        for flow in flows.iter_mut() {
            table.states.guess(&mut flow.sought);
        }
        for flow in flows.iter_mut() {
            let (state, lasts) = table.states.foresee(packets.now, &mut flow.sought);
            (flow.state, flow.is_lasting) = (state, lasts && flow.is_known);
        }
    }

    /// The states that packets would find, in their order, where that is known.
    pub fn foreseen(&self) -> impl Iterator<Item = Option<u64>> {
        let flows = self.ahead.flows.iter();
        flows.map(|flow| Some(flow.state.into()))
    }

    /// The table that was looked at, and what was foreseen for a packet, with the place of its
    /// flow; `None` if its flow was not looked at.
    #[inline(always)]
    fn at_last(&mut self, number: usize) -> Option<(&mut Stateful, Option<u32>, u32)> {
        let ahead = &self.ahead;
        let flow = ahead.flows.get(number).filter(|flow| flow.is_known)?;
        let table = self.tables[usize::from(ahead.table)].as_mut()?;
        let slot = if table.states.moves() == ahead.moves {
            Some(flow.sought.slot)
        } else {
            table.states.slot(&flow.sought)
        };
        Some((table, slot, flow.state))
    }

    /// Has a packet find what was foreseen for it; `false` if it would find something else.
    #[inline]
    pub fn fulfil(&mut self, now: Time, number: usize) -> bool {
        let ahead = &self.ahead;
        let flow = ahead.flows.get(number);
        if flow.is_some_and(|flow| flow.is_lasting)
            && let Some(table) = &self.tables[usize::from(ahead.table)]
            && table.states.edits() == ahead.edits
            && self.global == ahead.global
        {
            return true;
        }
        self.fulfil_changed(now, number)
    }

    /// The same where a timer runs or something has changed.
    #[inline(never)]
    fn fulfil_changed(&mut self, now: Time, number: usize) -> bool {
        let is_same = self.ahead.global == self.global;
        match self.at_last(number) {
            Some((table, slot, state)) => is_same && table.states.fulfil(now, slot, state),
            None => false,
        }
    }

    /// Gives the flow of a packet another state, if it was looked at and stays known; `false` if
    /// not, and its state is as it was.
    #[inline]
    pub fn fulfil_transition(&mut self, now: Time, number: usize, action: &SetState) -> bool {
        let is_here = action.table == self.ahead.table && !action.bit && action.scope.is_none();
        match self.at_last(number) {
            Some((table, slot, _)) if is_here && table.updates_what_is_read => {
                table.states.transit(now, slot, &action.transition)
            }
            Some(_) | None => false,
        }
    }

    /// The flow of a packet that an action in an enabled table is about, as
    /// `Stateful::updated_flow` finds it.
    pub(super) fn updated_flow(
        &self,
        number: u8,
        bit: bool,
        own: Option<&Extractor>,
        packet: &mut impl FieldSource,
    ) -> Option<SoughtFlow> {
        let table = self.enabled(number)?;
        if table.updates_what_is_read
            && !bit
            && own.is_none()
            && let Some(flow) = self.ahead.get(number, packet)
        {
            return Some(*flow);
        }
        let key = table.updated_flow(bit, own, packet)?;
        Some(table.states.seek(key))
    }
}
