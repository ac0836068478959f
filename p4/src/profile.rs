//! Action profiles and selectors: members with actions, and groups of members.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::error::ControlError;
use crate::int::Int;
use crate::links::Links;
use crate::program::Profile;
use crate::table::Does;

/// A member's action and its data.
pub type Bound = (usize, Vec<Int>);

/// The members of the largest group, each as often as it weighs.
const MAX_GROUP: u64 = 1 << 16;
/// The members of all groups of a profile, each as often as it weighs.
const MAX_PLACES: u64 = 1 << 24;
/// The most groups of a profile.
const MAX_GROUPS: usize = 1 << 20;

/// The members and groups of an action profile.
#[derive(Clone, Debug, Default)]
pub struct ProfileState {
    members: BTreeMap<u32, Bound>,
    /// Each member as often as it weighs, in the order of members.
    groups: BTreeMap<u32, Vec<u32>>,
    /// How many members all groups have, each as often as it weighs.
    places: u64,
    /// By member: how many groups, entries and default entries have it, if any does.
    member_users: BTreeMap<u32, usize>,
    /// By group: how many entries and default entries have it, if any does.
    group_users: BTreeMap<u32, usize>,
    /// By group: its members that are chosen only while a port has a link, each with its port, in
    /// the order of members.
    watched: BTreeMap<u32, Vec<(u32, u32)>>,
    /// The members that are left of groups of which one is not chosen now.
    left: BTreeMap<u32, Vec<u32>>,
    size: usize,
}

/// Counts one user more.
fn add_user(users: &mut BTreeMap<u32, usize>, id: u32) {
    *users.entry(id).or_default() += 1;
}

/// Counts one user less.
fn drop_user(users: &mut BTreeMap<u32, usize>, id: u32) {
    if let Some(count) = users.get_mut(&id) {
        *count -= 1;
        if *count == 0 {
            users.remove(&id);
        }
    }
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

    /// Counts an entry or a default entry that has a member or a group.
    pub fn begin_use(&mut self, does: &Does) {
        match does {
            Does::Action(..) => {}
            Does::Member(id) => add_user(&mut self.member_users, *id),
            Does::Group(id) => add_user(&mut self.group_users, *id),
        }
    }

    /// Counts one less.
    pub fn end_use(&mut self, does: &Does) {
        match does {
            Does::Action(..) => {}
            Does::Member(id) => drop_user(&mut self.member_users, *id),
            Does::Group(id) => drop_user(&mut self.group_users, *id),
        }
    }

    /// Adds a member. `going` of the members need no room, as they will be removed next. Errors: it
    /// is there, no room.
    pub fn insert_member(
        &mut self,
        id: u32,
        bound: Bound,
        going: usize,
    ) -> Result<(), ControlError> {
        if self.members.contains_key(&id) {
            return Err(ControlError::Exists);
        }
        if self.members.len().saturating_sub(going) >= self.size {
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

    /// Removes a member. Errors: it is not there, a group or an entry has it.
    pub fn delete_member(&mut self, id: u32) -> Result<(), ControlError> {
        if self.member_users.contains_key(&id) {
            return Err(ControlError::InUse);
        }
        self.members
            .remove(&id)
            .map(drop)
            .ok_or(ControlError::NotFound)
    }

    /// Adds or changes a group, of members and their weights. Errors: one is not there, more than
    /// the profile has room for. It has no watched ports then.
    pub fn set_group(&mut self, id: u32, members: &[(u32, u32)]) -> Result<(), ControlError> {
        let mut sorted = members.to_vec();
        sorted.sort_unstable();
        let total: u64 = sorted.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let replaced = self.groups.get(&id).map(Vec::len);
        let others = self.places - replaced.unwrap_or(0) as u64;
        let is_one_more = replaced.is_none() && self.groups.len() >= MAX_GROUPS;
        if total > (self.size.max(1) as u64).min(MAX_GROUP)
            || others + total > MAX_PLACES
            || is_one_more
        {
            return Err(ControlError::Full);
        }
        let mut all = Vec::new();
        for (member, weight) in sorted {
            if !self.members.contains_key(&member) {
                return Err(ControlError::NotFound);
            }
            all.extend((0..weight).map(|_| member));
        }
        for same in all.chunk_by(|a, b| a == b) {
            add_user(&mut self.member_users, same[0]);
        }
        let old = self.groups.insert(id, all);
        self.places = others + total;
        self.release_members(old.as_deref().unwrap_or_default());
        self.forget_watched(id);
        Ok(())
    }

    /// Removes a group. Errors: it is not there, an entry has it.
    pub fn delete_group(&mut self, id: u32) -> Result<(), ControlError> {
        if self.group_users.contains_key(&id) {
            return Err(ControlError::InUse);
        }
        let old = self.groups.remove(&id).ok_or(ControlError::NotFound)?;
        self.places -= old.len() as u64;
        self.release_members(&old);
        self.forget_watched(id);
        Ok(())
    }

    fn forget_watched(&mut self, group: u32) {
        self.watched.remove(&group);
        self.left.remove(&group);
    }

    /// Lets members of a group be chosen only while a port has a link; each is given with its port.
    pub fn watch(&mut self, group: u32, watched: &[(u32, u32)], links: &Links) {
        if watched.is_empty() {
            return self.forget_watched(group);
        }
        let mut watched = watched.to_vec();
        watched.sort_unstable();
        self.watched.insert(group, watched);
        self.prune(group, links);
    }

    /// The port that a member of a group needs, if it needs one.
    pub fn watched_port(&self, group: u32, member: u32) -> Option<u32> {
        let watched = self.watched.get(&group)?;
        let at = watched.binary_search_by_key(&member, |(id, _)| *id);
        at.ok().map(|at| watched[at].1)
    }

    /// Follows the link of a port.
    pub fn follow(&mut self, port: u32, links: &Links) {
        let watching = self.watched.iter();
        let watching = watching.filter(|(_, row)| row.iter().any(|(_, other)| *other == port));
        let groups: Vec<u32> = watching.map(|(group, _)| *group).collect();
        groups.iter().for_each(|group| self.prune(*group, links));
    }

    /// Finds the members of a group that may be chosen now.
    fn prune(&mut self, group: u32, links: &Links) {
        let Some(members) = self.groups.get(&group) else {
            return;
        };
        let may = |member: &u32| {
            let port = self.watched_port(group, *member);
            port.is_none_or(|port| links.is_up(port))
        };
        let left: Vec<u32> = members.iter().copied().filter(may).collect();
        if left.len() < members.len() {
            self.left.insert(group, left);
        } else {
            self.left.remove(&group);
        }
    }

    /// Counts a group less as a user of its members.
    fn release_members(&mut self, members: &[u32]) {
        for same in members.chunk_by(|a, b| a == b) {
            drop_user(&mut self.member_users, same[0]);
        }
    }

    /// The member of a group that a hash chooses; `None` if it has none, or none that may be chosen
    /// now. What a member without its port had goes to the others, which keep what they have.
    pub fn choose(&self, group: u32, hash: u64) -> Option<u32> {
        let members = self.groups.get(&group)?;
        let chosen = pick(members, hash)?;
        match self.left.get(&group) {
            Some(left) if left.binary_search(&chosen).is_err() => {
                pick(left, hash / members.len() as u64)
            }
            _ => Some(chosen),
        }
    }
}

/// The member that a hash chooses; `None` without any.
fn pick(members: &[u32], hash: u64) -> Option<u32> {
    let count = members.len() as u64;
    let at = hash.checked_rem(count)?;
    members.get(at as usize).copied()
}
