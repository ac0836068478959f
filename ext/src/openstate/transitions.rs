//! What actions of packets do in the state tables: SET_STATE and INC_STATE.

use bofuss_datapath::Time;

use super::SetState;
use super::extractor::FieldSource;
use super::machine::{Changed, Machine};
use super::table::after_increment;

impl Machine {
    /// Carries out a SET_STATE for a packet. Returns `None`, and does nothing, if the table is not
    /// enabled, the action's scope makes no key of the table's length, the packet lacks a field of
    /// the key, or there is no room for the flow.
    pub fn set_state(
        &mut self,
        now: Time,
        action: &SetState,
        packet: &mut impl FieldSource,
    ) -> Option<Changed> {
        let flow = self.updated_flow(action.table, action.bit, action.scope.as_ref(), packet)?;
        let flow = (&flow, || packet.in_port());
        let changed = self.transition(now, action.table, flow, &action.transition);
        if changed.is_ok() {
            self.count_transition(action.table);
        }
        changed.ok()
    }

    /// Counts a transition in a table, except in a trial.
    fn count_transition(&mut self, number: u8) {
        let table = self.tables[usize::from(number)].as_mut();
        if let Some(table) = table.filter(|_| self.trial.is_none()) {
            table.states.counts.transitions += 1;
        }
    }

    /// Adds 1 to the state of a packet's flow in the update scope of a table. Returns `None`, and
    /// does nothing, in the cases of [`Machine::set_state`].
    pub fn inc_state(
        &mut self,
        now: Time,
        number: u8,
        packet: &mut impl FieldSource,
    ) -> Option<Changed> {
        let flow = self.updated_flow(number, false, None, packet)?;
        let flow = (&flow, || packet.in_port());
        let changed = self.change(now, number, flow, |_, before| {
            Some(after_increment(now, before))
        });
        if changed.is_ok() {
            self.count_transition(number);
        }
        changed.ok()
    }
}
