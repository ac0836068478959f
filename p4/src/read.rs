//! What the control plane reads of a switch, and the few things of entries that it sets alone.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::count::Count;
use crate::error::ControlError;
use crate::profile::Bound;
use crate::switch::Switch;
use crate::table::{Entry, Handle};

impl Switch {
    /// An entry of a table.
    pub fn entry(&self, table: usize, handle: Handle) -> Option<&Entry> {
        self.state().tables[table].get(handle)
    }

    /// The members of an action profile, with their actions and the data of these.
    pub fn members(&self, profile: usize) -> &BTreeMap<u32, Bound> {
        self.state().profiles[profile].members()
    }

    /// The groups of an action profile: each member as often as it weighs, in order.
    pub fn groups(&self, profile: usize) -> &BTreeMap<u32, Vec<u32>> {
        self.state().profiles[profile].groups()
    }

    /// Sets the direct counter of an entry. Errors: it is not there, the table
    /// has none.
    pub fn set_direct_counter(
        &mut self,
        table: usize,
        handle: Handle,
        count: Count,
    ) -> Result<(), ControlError> {
        if !self.program().tables[table].counters {
            let what = "the table has no direct counter";
            return Err(ControlError::Invalid(what.into()));
        }
        let state = &mut self.state_mut().tables[table];
        state.get(handle).ok_or(ControlError::NotFound)?;
        *state.count_mut(handle) = count;
        Ok(())
    }

    /// What has hit an entry: its direct counter, if the table has one. `None` if it is not there.
    pub fn direct_counter(&self, table: usize, handle: Handle) -> Option<Count> {
        let state = &self.state().tables[table];
        state.get(handle).map(|_| state.count(handle))
    }
}
