//! Carries out the actions of packets in the state tables: SET_STATE and INC_STATE.

use bofuss_datapath::Time;

use super::{Changed, Machine};
use crate::openstate::SetState;
use crate::openstate::extractor::{Extractor, FieldSource};
use crate::openstate::table::{SoughtFlow, after_increment};

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

    /// The flow that an action of a packet changes in an enabled table, as
    /// [`Stateful::updated_flow`](super::Stateful::updated_flow) finds it.
    fn updated_flow(
        &self,
        number: u8,
        bit: bool,
        own: Option<&Extractor>,
        packet: &mut impl FieldSource,
    ) -> Option<SoughtFlow> {
        let table = self.enabled(number)?;
        if table.updates_what_is_read && !bit && own.is_none() {
            if let Some(flow) = self.flow_ahead(number, packet) {
                return Some(*flow);
            }
        }
        let key = table.updated_flow(bit, own, packet)?;
        Some(table.states.seek(key))
    }
}
