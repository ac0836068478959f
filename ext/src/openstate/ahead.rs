//! Lookahead: looks up the flows of all packets of a burst together, with prefetches, so that their
//! waits for memory overlap.

use alloc::vec::Vec;

use bofuss_datapath::{Time, Upcoming};

use super::SetState;
use super::extractor::{Extractor, FieldSource, FlowKey};
use super::machine::Machine;
use super::stateful::Stateful;
use super::table::SoughtFlow;

/// The flow of an upcoming packet, and the state that the packet would read at the time of the
/// lookahead.
#[derive(Clone, Copy, Debug, Default)]
struct FlowAhead {
    /// Whether the flow was looked up. If not, the other fields mean nothing.
    is_known: bool,
    /// Whether no timer runs: then the packet will read `state`, unless the table is edited before.
    is_lasting: bool,
    sought: SoughtFlow,
    state: u32,
}

/// The flows of a table's upcoming packets, as the last lookahead has found them.
#[derive(Debug, Default)]
pub(super) struct FlowsAhead {
    table: u8,
    /// The flows in the lookup scope, by the packets' numbers.
    flows: Vec<FlowAhead>,
    /// The table's [moves](super::table::StateTable::moves) at that time: while it has no further
    /// one, flows stay in their slots.
    moves: u64,
    /// The table's [edits](super::table::StateTable::edits) at that time: while it has no further
    /// one, flows stay as they were found.
    edits: u64,
    /// The global state at that time.
    global: u32,
}

impl FlowsAhead {
    /// The flow of a packet in the lookup scope of a table, if it was looked up ahead.
    #[inline]
    pub(super) fn get(&self, table: u8, packet: &impl FieldSource) -> Option<&SoughtFlow> {
        let flow = self.flows.get(packet.upcoming()?)?;
        (flow.is_known && self.table == table).then_some(&flow.sought)
    }
}

impl Machine {
    /// Looks up the flows of a table's upcoming packets in its lookup scope. Each step is done for
    /// all packets before the next one: prefetch the buckets of the index, prefetch the flows, read
    /// the states.
    pub fn look_ahead(&mut self, number: u8, packets: &Upcoming<'_>) {
        let table = self
            .tables
            .get(usize::from(number))
            .and_then(Option::as_deref);
        let ahead = &mut self.ahead;
        let Some((table, lookup)) = table
            .filter(|table| table.is_enabled())
            .and_then(|table| Some((table, table.lookup.as_ref()?)))
        else {
            ahead.flows.clear();
            return;
        };
        ahead.table = number;
        ahead.global = self.global;
        ahead.moves = table.states.moves();
        ahead.edits = table.states.edits();
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
            let (state, lasts) = table.states.predict(packets.now, &mut flow.sought);
            flow.state = state;
            flow.is_lasting = lasts && flow.is_known;
        }
    }

    /// The states that the upcoming packets would read, in their order.
    pub fn predicted(&self) -> impl Iterator<Item = Option<u64>> {
        let flows = self.ahead.flows.iter();
        flows.map(|flow| Some(flow.state.into()))
    }

    /// The table of the lookahead, the slot that a packet's flow has now, and the state that was
    /// predicted; `None` if the flow was not looked up ahead.
    #[inline(always)]
    fn flow_ahead(&mut self, number: usize) -> Option<(&mut Stateful, Option<u32>, u32)> {
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

    /// The table of the lookahead and the key that the lookup of a packet there notes, if it notes
    /// one.
    pub(super) fn noted_ahead(&self, number: usize) -> Option<(u8, &FlowKey)> {
        let table = self.ahead.table;
        let flow = self.ahead.flows.get(number).filter(|flow| flow.is_known)?;
        let notes = self.enabled(table)?.may_be_opp();
        notes.then_some((table, &flow.sought.key))
    }

    /// Does the lookup of a packet's state, if that is still as predicted. Returns false if it is
    /// not; then nothing is done.
    #[inline]
    pub fn apply_prediction(&mut self, now: Time, number: usize) -> bool {
        let ahead = &self.ahead;
        let flow = ahead.flows.get(number);
        if flow.is_some_and(|flow| flow.is_lasting)
            && let Some(table) = &self.tables[usize::from(ahead.table)]
            && table.states.edits() == ahead.edits
            && self.global == ahead.global
        {
            return true;
        }
        self.apply_changed(now, number)
    }

    /// As [`Machine::apply_prediction`], for the case that a timer runs or something has changed.
    #[inline(never)]
    fn apply_changed(&mut self, now: Time, number: usize) -> bool {
        let is_same = self.ahead.global == self.global;
        match self.flow_ahead(number) {
            Some((table, slot, state)) => {
                is_same && table.states.apply_prediction(now, slot, state)
            }
            None => false,
        }
    }

    /// Carries out a SET_STATE, if the flow that it changes was looked up ahead and keeps its
    /// entry. Returns false if not; then nothing is done.
    #[inline]
    pub fn apply_transition(&mut self, now: Time, number: usize, action: &SetState) -> bool {
        let is_here = action.table == self.ahead.table && !action.bit && action.scope.is_none();
        match self.flow_ahead(number) {
            Some((table, slot, _)) if is_here && table.updates_what_is_read => {
                table.states.transit(now, slot, &action.transition)
            }
            Some(_) | None => false,
        }
    }

    /// The flow that an action of a packet changes in an enabled table, as `Stateful::updated_flow`
    /// finds it.
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
