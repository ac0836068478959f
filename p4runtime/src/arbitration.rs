//! Which controller may write: election ids and roles.

use std::collections::BTreeMap;

use tonic::Code;

use crate::error::{Refusal, Result};

/// The number of a stream.
pub type StreamId = u64;

/// A controller of a role.
#[derive(Clone, Copy, Debug)]
struct Member {
    stream: StreamId,
    election: Option<u128>,
}

/// The controllers of a role.
#[derive(Debug, Default)]
struct Role {
    members: Vec<Member>,
    /// The highest election id that any controller ever had.
    highest: Option<u128>,
    /// When its last controller left; the later, the higher.
    left: u64,
}

impl Role {
    fn primary(&self) -> Option<Member> {
        let mut members = self.members.iter();
        let has_highest = |member: &&Member| member.election.is_some();
        members
            .find(|member| has_highest(member) && member.election == self.highest)
            .copied()
    }
}

/// What a controller is told of its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Ok for the primary, `AlreadyExists` for a backup of one, `NotFound` without a primary.
    pub code: Code,
    /// The highest election id that was seen.
    pub highest: Option<u128>,
}

/// All roles of a device.
#[derive(Debug, Default)]
pub struct Arbitration {
    roles: BTreeMap<String, Role>,
    of_stream: BTreeMap<StreamId, String>,
    leavings: u64,
}

/// The most roles. For one more, that without controllers is forgotten which lost its last one
/// first.
const MAX_ROLES: usize = 256;

impl Arbitration {
    /// A controller joins a role, or changes its election id. Returns the streams to notify: all of
    /// the role if the primary changed, otherwise only this one. Errors: another controller of the
    /// role has the election id, the stream has another role, too many roles.
    pub fn update(
        &mut self,
        stream: StreamId,
        role: &str,
        election: Option<u128>,
    ) -> Result<Vec<StreamId>> {
        if self.of_stream.get(&stream).is_some_and(|old| old != role) {
            return Err(Refusal::precondition("a stream cannot change its role"));
        }
        if !self.roles.contains_key(role) && self.roles.len() >= MAX_ROLES {
            let empty = self.roles.iter().filter(|(_, row)| row.members.is_empty());
            let Some((name, _)) = empty.min_by_key(|(_, row)| row.left) else {
                let what = "there are too many roles";
                return Err(Refusal::new(Code::ResourceExhausted, what));
            };
            let name = name.clone();
            self.roles.remove(&name);
        }
        let row = self.roles.entry(role.into()).or_default();
        let taken = |member: &Member| member.stream != stream && member.election == election;
        if election.is_some() && row.members.iter().any(taken) {
            // Controllers look for these words, and try again with another one.
            let what = "this election id is used by another controller of the role";
            return Err(Refusal::invalid(what));
        }
        let before = row.primary();
        row.members.retain(|member| member.stream != stream);
        row.members.push(Member { stream, election });
        row.highest = row.highest.max(election);
        self.of_stream.insert(stream, role.into());
        let after = row.primary();
        let key = |member: Option<Member>| member.map(|m| (m.stream, m.election));
        if key(before) == key(after) {
            return Ok(vec![stream]);
        }
        Ok(row.members.iter().map(|member| member.stream).collect())
    }

    /// A controller is gone. Returns the streams to notify.
    pub fn leave(&mut self, stream: StreamId) -> Vec<StreamId> {
        let role = self.of_stream.remove(&stream);
        let Some(row) = role.and_then(|role| self.roles.get_mut(&role)) else {
            return Vec::new();
        };
        let was_primary = row.primary().is_some_and(|member| member.stream == stream);
        row.members.retain(|member| member.stream != stream);
        self.leavings += 1;
        row.left = self.leavings;
        if !was_primary {
            return Vec::new();
        }
        row.members.iter().map(|member| member.stream).collect()
    }

    /// The role of a stream.
    pub fn role(&self, stream: StreamId) -> Option<&str> {
        self.of_stream.get(&stream).map(|role| &**role)
    }

    /// How a stream stands in its role.
    pub fn standing(&self, stream: StreamId) -> Option<Standing> {
        let role = self.roles.get(self.of_stream.get(&stream)?)?;
        let code = match role.primary() {
            Some(primary) if primary.stream == stream => Code::Ok,
            Some(_) => Code::AlreadyExists,
            None => Code::NotFound,
        };
        let highest = role.highest;
        Some(Standing { code, highest })
    }

    /// The primaries of all roles.
    pub fn primaries(&self) -> Vec<StreamId> {
        let primaries = self.roles.values().filter_map(Role::primary);
        primaries.map(|member| member.stream).collect()
    }

    /// Errors: there is no such role; who has this election id, or none, is not its primary.
    pub fn check(&self, role: &str, election: Option<u128>) -> Result<()> {
        let row = self.roles.get(role);
        // The role without a name is always there.
        if row.is_none() && !role.is_empty() {
            return Err(Refusal::not_found("there is no such role"));
        }
        match row.and_then(Role::primary) {
            Some(member) if member.election == election => Ok(()),
            _ => Err(Refusal::denied("only the primary controller may write")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_election_id_is_primary_and_nobody_takes_its_place() {
        let mut roles = Arbitration::default();
        assert_eq!(roles.update(1, "", Some(5)).expect("first"), [1]);
        assert_eq!(roles.update(2, "", Some(4)).expect("backup"), [2]);
        let code = |roles: &Arbitration, stream| roles.standing(stream).map(|s| s.code);
        assert_eq!(code(&roles, 1), Some(Code::Ok));
        assert_eq!(code(&roles, 2), Some(Code::AlreadyExists));
        let refused = roles.update(3, "", Some(4)).expect_err("taken");
        assert!(refused.message.contains("election id is used"));
        roles.check("", Some(5)).expect("the primary");
        roles.check("", Some(4)).expect_err("a backup");
        let refused = roles.check("other", Some(5));
        let refused = refused.expect_err("of another role");
        assert_eq!(refused.code, Code::NotFound);
        assert_eq!(roles.leave(1), [2]);
        assert_eq!(code(&roles, 2), Some(Code::NotFound));
        roles.check("", Some(4)).expect_err("not the highest ever");
        assert_eq!(roles.update(2, "", Some(5)).expect("as high"), [2]);
        assert_eq!(code(&roles, 2), Some(Code::Ok));
        assert_eq!(roles.update(2, "", Some(1)).expect("steps down"), [2]);
        assert_eq!(code(&roles, 2), Some(Code::NotFound));
    }

    #[test]
    fn without_an_election_id_a_controller_is_a_backup() {
        let mut roles = Arbitration::default();
        roles.update(1, "", None).expect("backup");
        assert_eq!(roles.standing(1).map(|s| s.code), Some(Code::NotFound));
        assert!(roles.primaries().is_empty());
        roles.check("", None).expect_err("a backup");
    }

    #[test]
    fn election_id_0_is_the_lowest_and_not_the_same_as_none() {
        let mut roles = Arbitration::default();
        roles.update(1, "", None).expect("a backup");
        assert_eq!(roles.update(2, "", Some(0)).expect("primary"), [1, 2]);
        assert_eq!(roles.primaries(), [2]);
        roles.check("", Some(0)).expect("the primary");
        roles.check("", None).expect_err("a backup");
        roles.update(3, "", Some(0)).expect_err("taken");
        roles.update(3, "", Some(1)).expect("higher");
        roles.check("", Some(0)).expect_err("a backup now");
    }

    #[test]
    fn the_role_that_nobody_has_for_longest_gives_way_to_a_new_one() {
        let mut roles = Arbitration::default();
        for stream in 0..MAX_ROLES as StreamId {
            let joined = roles.update(stream, &format!("role {stream}"), Some(9));
            joined.expect("there is room");
        }
        let refused = roles
            .update(1000, "new", Some(1))
            .expect_err("all are in use");
        assert_eq!(refused.code, Code::ResourceExhausted);
        roles.leave(7);
        roles.leave(3);
        roles
            .update(1000, "new", Some(1))
            .expect("in place of role 7");
        roles.update(1001, "role 3", Some(8)).expect("it is there");
        roles
            .check("role 3", Some(8))
            .expect_err("its highest id is known");
        roles.leave(1001);
        roles
            .update(1002, "role 7", Some(1))
            .expect("in place of role 3");
        roles.check("role 7", Some(1)).expect("it is new");
    }
}
