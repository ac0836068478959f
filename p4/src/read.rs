//! What the control plane reads of a switch, and the few things of entries that it sets alone.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::count::Count;
use crate::error::ControlError;
use crate::meter::MeterConfig;
use crate::profile::Bound;
use crate::state::{Replica, Session};
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

    /// The multicast groups.
    pub fn multicast_groups(&self) -> &BTreeMap<u32, Vec<Replica>> {
        &self.state().groups
    }

    /// The clone sessions.
    pub fn clone_sessions(&self) -> &BTreeMap<u32, Session> {
        &self.state().sessions
    }

    /// The rates of a meter of an array, if it has any; `None` if there is no such meter.
    pub fn meter(&self, meter: usize, index: usize) -> Option<Option<MeterConfig>> {
        let cell = self.state().meters[meter].get(index);
        cell.map(|meter| meter.config())
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
        let entry = self.state_mut().tables[table].get_mut(handle);
        entry.ok_or(ControlError::NotFound)?.count = count;
        Ok(())
    }
}
