//! Takes flows from a switch, for its other replicas, and gives it those of a replica or a saved
//! state.

use alloc::vec::Vec;

use bofuss_datapath::Time;
use bofuss_oflib::ErrorCode;

use super::Machine;
use crate::openstate::error;
use crate::openstate::extractor::FlowKey;
use crate::openstate::saved_flow::SavedFlow;
use crate::openstate::table::{StateEntry, TableFull};

/// The number of a table, and the key and the entry of a flow there.
pub type TakenFlow = (u8, FlowKey, StateEntry);

impl Machine {
    /// Takes the entries of all flows.
    pub(in crate::openstate) fn take_flows(&mut self) -> Vec<TakenFlow> {
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
    pub(in crate::openstate) fn put_flow(&mut self, number: u8, key: FlowKey, flow: StateEntry) {
        if let Some(table) = &mut self.tables[usize::from(number)] {
            let before = table.states.len();
            table.states.put(key, flow);
            self.n_states += table.states.len() - before;
        }
    }

    /// Gives a flow of an enabled table its entry again; its timers go on.
    ///
    /// Errors: SET_FLOW_STATE if packets have no states in the table, BAD_EXP_LEN for a key of
    /// another length than the table's, STATE_MOD_FAILED if its port has no room for it.
    pub(crate) fn restore_flow(&mut self, now: Time, flow: &SavedFlow) -> Result<(), ErrorCode> {
        self.end_trial();
        let enabled = self.enabled(flow.table).ok_or(error::SET_FLOW_STATE)?;
        enabled.check_key(&flow.key)?;
        let key = FlowKey::new(&flow.key);
        let entry = Some(flow.entry(now));
        self.set_flow(now, flow.table, &key, entry, flow.port)
            .map_err(|TableFull| error::STATE_MOD_FAILED)
    }
}
