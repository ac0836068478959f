//! Members and groups of action profiles, and those that are made for action sets.

use std::collections::HashSet;

use bofuss_p4::{Bound, Int};
use tonic::Code;

use super::{Target, View, check_there, entity};
use crate::error::{Refusal, Result};
use crate::info::{ProfileInfo, TableInfo};
use crate::side::{FIRST_OWN, OneShot};
use crate::value::{canonical, parse};
use crate::wire::entities::{
    ActionProfileActionSet, ActionProfileActionWatchKind as ActionWatch, ActionProfileGroup,
    ActionProfileGroupMember, ActionProfileGroupMemberWatchKind as GroupWatch, ActionProfileMember,
    Entity, EntityKind,
};
use crate::wire::messages::UpdateType;

/// A member of an action set: its action, its weight, and the port that it watches.
type Wanted = (Bound, u32, Option<u32>);

impl Target<'_> {
    pub fn write_member(&mut self, kind: UpdateType, member: &ActionProfileMember) -> Result<()> {
        let profile = self.info.profile(member.action_profile_id)?;
        let index = profile.index;
        let there = self.switch.members(index).contains_key(&member.member_id);
        check(kind, member.member_id, there)?;
        if kind == UpdateType::Delete {
            return Ok(self.switch.delete_member(index, member.member_id)?);
        }
        let action = member.action.as_ref();
        let action = action.ok_or_else(|| Refusal::invalid("the member has no action"))?;
        let absent = || Refusal::invalid("the action profile has no such action");
        let found = profile.actions.get(&action.action_id);
        let bound = (*found.ok_or_else(absent)?, self.action_data(action)?);
        Ok(self.switch.set_member(index, member.member_id, bound)?)
    }

    pub fn write_group(&mut self, kind: UpdateType, group: &ActionProfileGroup) -> Result<()> {
        let profile = self.info.profile(group.action_profile_id)?;
        let index = profile.index;
        let there = self.switch.groups(index).contains_key(&group.group_id);
        check(kind, group.group_id, there)?;
        if kind == UpdateType::Delete {
            self.switch.delete_group(index, group.group_id)?;
            self.side.max_sizes.remove(&(index, group.group_id));
            return Ok(());
        }
        let key = (index, group.group_id);
        let old_size = self.side.max_sizes.get(&key);
        if kind == UpdateType::Modify && old_size.is_some_and(|old| *old != group.max_size) {
            return Err(Refusal::invalid("the max_size of a group cannot change"));
        }
        let allowed = profile.max_group_size;
        if group.max_size < 0 || allowed > 0 && group.max_size > allowed {
            let what = format!("{} is no max_size that the P4Info allows", group.max_size);
            return Err(Refusal::invalid(what));
        }
        let mut seen = HashSet::new();
        if !group.members.iter().all(|m| seen.insert(m.member_id)) {
            return Err(Refusal::invalid("a member is there twice: it has a weight"));
        }
        let mut members = Vec::new();
        let mut watched = Vec::new();
        for member in &group.members {
            let weight = weight(profile, member.weight)?;
            let id = not_own(member.member_id)?;
            members.push((id, weight));
            let port = match &member.watch_kind {
                Some(GroupWatch::Watch(_)) => return Err(no_watch()),
                Some(GroupWatch::WatchPort(port)) => watched_port(port)?,
                None => None,
            };
            watched.extend(port.map(|port| (id, port)));
        }
        let size = profile.group_size(members.iter().map(|(_, weight)| *weight));
        let most = [group.max_size, profile.max_group_size];
        let most = most.into_iter().filter(|most| *most > 0).min();
        if most.is_some_and(|most| size > most as u64) {
            let what = "the members are more than the group may have";
            return Err(Refusal::new(Code::ResourceExhausted, what));
        }
        self.switch
            .set_watched_group(index, group.group_id, &members, &watched)?;
        self.side.max_sizes.insert(key, group.max_size);
        Ok(())
    }

    /// Makes the members and the group of an action set. `going` members of the profile need no
    /// room, as they will be removed next. Errors: what does not fit; nothing is made then.
    pub fn make(
        &mut self,
        table: &TableInfo,
        set: &ActionProfileActionSet,
        going: usize,
    ) -> Result<OneShot> {
        let absent = || Refusal::invalid(format!("{} has no action profile", table.name));
        let profile = self.info.profile(table.profile.ok_or_else(absent)?)?;
        let index = profile.index;
        if set.group_action.is_some() || set.action_selection_mode != 0 || set.size_semantics != 0 {
            let what = "group actions, modes and size semantics of action sets are not there";
            return Err(Refusal::missing(what));
        }
        let mut bound = Vec::new();
        for row in &set.action_profile_actions {
            let port = match &row.watch_kind {
                Some(ActionWatch::Watch(_)) => return Err(no_watch()),
                Some(ActionWatch::WatchPort(port)) => watched_port(port)?,
                None => None,
            };
            let action = row.action.as_ref();
            let action = action.ok_or_else(|| Refusal::invalid("the set has no action"))?;
            let found = profile.actions.get(&action.action_id);
            let absent = || Refusal::invalid("the action profile has no such action");
            let data = self.action_data(action)?;
            let weight = weight(profile, row.weight)?;
            bound.push(((*found.ok_or_else(absent)?, data), weight, port));
        }
        let size = profile.group_size(bound.iter().map(|(_, weight, _)| *weight));
        if profile.max_group_size > 0 && size > profile.max_group_size as u64 {
            let what = "the set is larger than the P4Info allows a group";
            return Err(Refusal::invalid(what));
        }
        let mut made = OneShot {
            profile: index,
            group: 0,
            members: Vec::new(),
        };
        let result = self.make_all(&mut made, bound, going);
        match result {
            Ok(()) => Ok(made),
            Err(refusal) => {
                self.unmake(Some(made));
                Err(refusal)
            }
        }
    }

    fn make_all(&mut self, made: &mut OneShot, wanted: Vec<Wanted>, going: usize) -> Result<()> {
        let profile = made.profile;
        let mut watched = Vec::new();
        for (bound, weight, port) in wanted {
            let id = self.own(|this, id| !this.switch.members(profile).contains_key(&id));
            self.switch.replace_members(profile, id, bound, going)?;
            made.members.push((id, weight));
            watched.extend(port.map(|port| (id, port)));
        }
        let group = self.own(|this, id| !this.switch.groups(made.profile).contains_key(&id));
        let members = &made.members;
        self.switch
            .set_watched_group(profile, group, members, &watched)?;
        made.group = group;
        Ok(())
    }

    /// A number of our own that is free.
    fn own(&mut self, is_free: impl Fn(&Self, u32) -> bool) -> u32 {
        loop {
            let id = self.side.next_own.max(FIRST_OWN);
            self.side.next_own = id.wrapping_add(1);
            if is_free(self, id) {
                return id;
            }
        }
    }

    /// Removes what was made for an action set.
    pub fn unmake(&mut self, made: Option<OneShot>) {
        let Some(made) = made else {
            return;
        };
        if made.group != 0 {
            // Only the entry, which is gone, had it.
            let _ = self.switch.delete_group(made.profile, made.group);
        }
        for (member, _) in made.members {
            let _ = self.switch.delete_member(made.profile, member);
        }
    }
}

impl View<'_> {
    /// The members of a profile from the number `from` on, at most `most`.
    pub fn show_members(&self, id: u32, from: u32, only: u32, most: usize) -> (Vec<Entity>, u32) {
        let Some(profile) = self.info.profiles.get(&id) else {
            return (Vec::new(), 0);
        };
        let members = self.switch.members(profile.index).range(from..FIRST_OWN);
        let members = members.filter(|(member, _)| only == 0 || **member == only);
        let mut last = 0;
        let shown = members.take(most).map(|(member, (action, data))| {
            last = *member;
            entity(EntityKind::ActionProfileMember(ActionProfileMember {
                action_profile_id: id,
                member_id: *member,
                action: Some(self.show_action(*action, data)),
            }))
        });
        (shown.collect(), last)
    }

    /// The groups of a profile from the number `from` on, at most `most`.
    pub fn show_groups(&self, id: u32, from: u32, only: u32, most: usize) -> (Vec<Entity>, u32) {
        let Some(profile) = self.info.profiles.get(&id) else {
            return (Vec::new(), 0);
        };
        let groups = self.switch.groups(profile.index).range(from..FIRST_OWN);
        let groups = groups.filter(|(group, _)| only == 0 || **group == only);
        let mut last = 0;
        let shown = groups.take(most).map(|(group, members)| {
            last = *group;
            let members = members.chunk_by(|a, b| a == b);
            let members = members.map(|same| ActionProfileGroupMember {
                member_id: same[0],
                weight: same.len() as i32,
                watch_kind: self
                    .watched(profile.index, *group, same[0])
                    .map(GroupWatch::WatchPort),
            });
            let max_size = self.side.max_sizes.get(&(profile.index, *group));
            entity(EntityKind::ActionProfileGroup(ActionProfileGroup {
                action_profile_id: id,
                group_id: *group,
                members: members.collect(),
                max_size: max_size.copied().unwrap_or(0),
            }))
        });
        (shown.collect(), last)
    }

    /// The port that a member of a group watches, as controllers see it.
    pub fn watched(&self, profile: usize, group: u32, member: u32) -> Option<Vec<u8>> {
        let port = self.switch.watched_port(profile, group, member)?;
        Some(canonical(&Int::Small(port.into()), u32::BITS))
    }
}

/// The number of a member or group that a controller names. Errors: it is that of one which was
/// made for an action set, and goes with it.
pub fn not_own(id: u32) -> Result<u32> {
    if id >= FIRST_OWN {
        return Err(Refusal::not_found("there is no such member or group"));
    }
    Ok(id)
}

/// The port that a member watches; `None` if it watches none. Errors: no port has this number.
fn watched_port(bytes: &[u8]) -> Result<Option<u32>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let name = "the watched port";
    let wrong = |refusal: Refusal| Refusal::invalid(refusal.message);
    let port = parse(bytes, u32::BITS, name).map_err(wrong)?;
    Ok(Some(port.low() as u32))
}

/// Why `watch`, which the specification has given up, is refused.
fn no_watch() -> Refusal {
    Refusal::missing("`watch` is not there: `watch_port` is")
}

/// Errors: an id that is not a controller's, one that is there or not, as the update needs it.
fn check(kind: UpdateType, id: u32, there: bool) -> Result<()> {
    if id >= FIRST_OWN {
        let what = format!("numbers from {FIRST_OWN} on are the switch's own");
        return Err(Refusal::invalid(what));
    }
    if kind == UpdateType::Insert && id == 0 {
        return Err(Refusal::invalid("number 0 means all members or groups"));
    }
    check_there(kind, there, "it")
}

/// The weight of a member. Errors: it is not above 0, or above what the P4Info allows.
fn weight(profile: &ProfileInfo, weight: i32) -> Result<u32> {
    let most = profile.max_weight.unwrap_or(u32::MAX);
    match u32::try_from(weight) {
        Ok(weight) if weight > 0 && weight <= most => Ok(weight),
        _ => {
            let what = format!("a member has the weight {weight}, which is not 1 to {most}");
            Err(Refusal::invalid(what))
        }
    }
}
