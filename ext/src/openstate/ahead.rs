//! Lookahead: looks up the flows of all packets of a burst together, with prefetches, so that their
//! waits for memory overlap.

use alloc::vec::Vec;

use bofuss_datapath::{Time, Upcoming};

use super::SetState;
use super::extractor::{FieldSource, FlowKey};
use super::stateful::Stateful;
use super::table::SoughtFlow;

/// The flow of an upcoming packet, and the state that the packet would read at the time of the
/// lookahead.
#[derive(Clone, Copy, Debug, Default)]
struct FlowAhead {
    /// True if the flow was looked up. If not, the other fields mean nothing.
    is_known: bool,
    /// True if no timer runs: then the packet will read `state`, unless the table is edited before.
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

    /// The table of the lookahead.
    #[inline]
    pub(super) fn table(&self) -> u8 {
        self.table
    }

    /// Looks up the flows of a table's upcoming packets in its lookup scope, if it is enabled. Each
    /// step is done for all packets before the next one: prefetch the buckets of the index,
    /// prefetch the flows, read the states.
    pub(super) fn look_ahead(
        &mut self,
        (number, table): (u8, Option<&Stateful>),
        global: u32,
        packets: &Upcoming<'_>,
    ) {
        let Some((table, lookup)) = table
            .filter(|table| table.is_enabled())
            .and_then(|table| Some((table, table.lookup.as_ref()?)))
        else {
            self.flows.clear();
            return;
        };
        self.table = number;
        self.global = global;
        self.moves = table.states.moves();
        self.edits = table.states.edits();
        let flows = &mut self.flows;
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
    pub(super) fn predicted(&self) -> impl Iterator<Item = Option<u64>> {
        self.flows.iter().map(|flow| Some(flow.state.into()))
    }

    /// The key of a packet's flow; `None` if it was not looked up ahead.
    pub(super) fn key(&self, number: usize) -> Option<&FlowKey> {
        let flow = self.flows.get(number).filter(|flow| flow.is_known)?;
        Some(&flow.sought.key)
    }

    /// The slot that a packet's flow has now in the table of the lookahead, and the state that was
    /// predicted; `None` if the flow was not looked up ahead.
    #[inline(always)]
    fn flow(&self, table: &Stateful, number: usize) -> Option<(Option<u32>, u32)> {
        let flow = self.flows.get(number).filter(|flow| flow.is_known)?;
        let slot = if table.states.moves() == self.moves {
            Some(flow.sought.slot)
        } else {
            table.states.slot(&flow.sought)
        };
        Some((slot, flow.state))
    }

    /// Does the lookup of a packet's state in the table of the lookahead, if that is still as
    /// predicted. Returns false if it is not; then nothing is done.
    #[inline]
    pub(super) fn apply_prediction(
        &self,
        now: Time,
        table: &mut Stateful,
        global: u32,
        number: usize,
    ) -> bool {
        let flow = self.flows.get(number);
        if flow.is_some_and(|flow| flow.is_lasting)
            && table.states.edits() == self.edits
            && global == self.global
        {
            return true;
        }
        self.apply_changed(now, table, global, number)
    }

    /// As [`FlowsAhead::apply_prediction`], for the case that a timer runs or something has
    /// changed.
    #[inline(never)]
    fn apply_changed(&self, now: Time, table: &mut Stateful, global: u32, number: usize) -> bool {
        match self.flow(table, number) {
            Some((slot, state)) => {
                self.global == global && table.states.apply_prediction(now, slot, state)
            }
            None => false,
        }
    }

    /// Carries out a SET_STATE in the table of the lookahead, if the flow that it changes was
    /// looked up and keeps its entry. Returns false if not; then nothing is done.
    #[inline]
    pub(super) fn apply_transition(
        &self,
        now: Time,
        table: &mut Stateful,
        number: usize,
        action: &SetState,
    ) -> bool {
        let is_here = action.table == self.table && !action.bit && action.scope.is_none();
        match self.flow(table, number) {
            Some((slot, _)) if is_here && table.updates_what_is_read => {
                table.states.transit(now, slot, &action.transition)
            }
            Some(_) | None => false,
        }
    }
}
