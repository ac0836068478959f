//! Action profiles and selectors: members with actions, and groups of members.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::error::ControlError;
use crate::int::Int;
use crate::program::Profile;

/// A member's action and its data.
pub type Bound = (usize, Vec<Int>);

/// The members and groups of an action profile.
#[derive(Clone, Debug, Default)]
pub struct ProfileState {
    members: BTreeMap<u32, Bound>,
    /// Each member as often as it weighs, in the order of members.
    groups: BTreeMap<u32, Vec<u32>>,
    size: usize,
}

impl ProfileState {
    /// An empty one.
    pub fn new(profile: &Profile) -> Self {
        Self {
            size: profile.size,
            ..Self::default()
        }
    }

    /// All members, in order.
    pub fn members(&self) -> &BTreeMap<u32, Bound> {
        &self.members
    }

    /// All groups, in order.
    pub fn groups(&self) -> &BTreeMap<u32, Vec<u32>> {
        &self.groups
    }

    /// Adds a member. Errors: it is there, no room.
    pub fn insert_member(&mut self, id: u32, bound: Bound) -> Result<(), ControlError> {
        if self.members.contains_key(&id) {
            return Err(ControlError::Exists);
        }
        if self.members.len() >= self.size {
            return Err(ControlError::Full);
        }
        self.members.insert(id, bound);
        Ok(())
    }

    /// Changes a member. Errors: it is not there.
    pub fn modify_member(&mut self, id: u32, bound: Bound) -> Result<(), ControlError> {
        let member = self.members.get_mut(&id).ok_or(ControlError::NotFound)?;
        *member = bound;
        Ok(())
    }

    /// Removes a member that no group has. Errors: it is not there, it is in use.
    pub fn delete_member(&mut self, id: u32) -> Result<(), ControlError> {
        if self.groups.values().any(|members| members.contains(&id)) {
            return Err(ControlError::InUse);
        }
        self.members
            .remove(&id)
            .map(drop)
            .ok_or(ControlError::NotFound)
    }

    /// Adds or changes a group, of members and their weights. Errors: one is not there, a weight of
    /// 0, more than the profile has room for.
    pub fn set_group(&mut self, id: u32, members: &[(u32, u32)]) -> Result<(), ControlError> {
        let mut sorted = members.to_vec();
        sorted.sort_unstable();
        let total: u64 = sorted.iter().map(|(_, weight)| u64::from(*weight)).sum();
        if total > self.size.max(1) as u64 {
            return Err(ControlError::Full);
        }
        let mut all = Vec::new();
        for (member, weight) in sorted {
            if !self.members.contains_key(&member) {
                return Err(ControlError::NotFound);
            }
            all.extend((0..weight).map(|_| member));
        }
        self.groups.insert(id, all);
        Ok(())
    }

    /// Removes a group. Errors: it is not there.
    pub fn delete_group(&mut self, id: u32) -> Result<(), ControlError> {
        self.groups
            .remove(&id)
            .map(drop)
            .ok_or(ControlError::NotFound)
    }

    /// The member of a group that a hash chooses; `None` if it has none.
    pub fn choose(&self, group: u32, hash: u64) -> Option<u32> {
        let members = self.groups.get(&group)?;
        let count = members.len() as u64;
        (count > 0).then(|| members[(hash % count) as usize])
    }
}
