//! Reads entries, multicast groups and clone sessions from a file in the form of the P4 tutorials.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use hashbrown::{HashMap, HashSet};

use super::Switch;
use crate::int::Int;
use crate::json::{self, Node, Result};
use crate::program::{KeyPart, Match, MatchKind, Named};
use crate::replication::{Replica, Session};
use crate::table::{Does, Entry, Handle};

/// The keys of a runtime file. The first three name what is given by other means here.
const FILE_KEYS: &[&str] = &[
    "target",
    "p4info",
    "bmv2_json",
    "table_entries",
    "multicast_group_entries",
    "clone_session_entries",
];
/// The keys of its parts.
const ENTRY_KEYS: &[&str] = &[
    "table",
    "match",
    "priority",
    "default_action",
    "action_name",
    "action_params",
];
const GROUP_KEYS: &[&str] = &["multicast_group_id", "replicas"];
const SESSION_KEYS: &[&str] = &["clone_session_id", "packet_length_bytes", "replicas"];
const REPLICA_KEYS: &[&str] = &["egress_port", "instance"];

/// What was there before a change, for a file that turns out to be wrong.
enum Before {
    NoEntry(usize, Handle),
    Default(usize, Option<Does>),
    Group(u32, Option<Vec<Replica>>),
    /// What the session was, or the multicast group to which it went.
    Session(u32, Option<Session>, Option<u32>),
}

/// Lets a number have what it had before.
fn put_back<T>(rows: &mut BTreeMap<u32, T>, id: u32, was: Option<T>) {
    match was {
        Some(was) => drop(rows.insert(id, was)),
        None => drop(rows.remove(&id)),
    }
}

impl Switch {
    /// Adds what a runtime file of the P4 tutorials has: `table_entries`,
    /// `multicast_group_entries` and `clone_session_entries`. Names are those of P4Info, which the
    /// compiled program has, too.
    ///
    /// Errors: the first thing that is wrong, with its place; then nothing changes.
    pub fn load_entries(&mut self, bytes: &[u8]) -> Result<()> {
        let document = json::parse(bytes)?;
        let before = Vec::new();
        let mut loading = Loading {
            switch: self,
            before,
        };
        let loaded = loading.load(&Node::root(&document));
        if loaded.is_err() {
            loading.undo();
        }
        loaded
    }
}

/// A switch with entries of a part of a file, and what was before each.
struct Loading<'a> {
    switch: &'a mut Switch,
    before: Vec<Before>,
}

impl Loading<'_> {
    /// Adds what a file has, up to the first thing that is wrong.
    fn load(&mut self, root: &Node<'_>) -> Result<()> {
        root.only(FILE_KEYS)?;
        let [mut groups, mut sessions] = [HashSet::new(), HashSet::new()];
        for node in root.list("table_entries")? {
            let was = self.entry(&node)?;
            self.before.push(was);
        }
        for node in root.list("multicast_group_entries")? {
            node.only(GROUP_KEYS)?;
            let id = new_id(&node, "multicast_group_id", &mut groups)?;
            let replication = &mut self.switch.state.replication;
            let was = Before::Group(id, replication.groups.get(&id).cloned());
            let set = replication.set_group(id, Some(replicas(&node)?));
            set.map_err(|error| node.error(error.to_string()))?;
            self.before.push(was);
        }
        for node in root.list("clone_session_entries")? {
            node.only(SESSION_KEYS)?;
            let id = new_id(&node, "clone_session_id", &mut sessions)?;
            let truncate = match node.find("packet_length_bytes")? {
                Some(bytes) => Some(small(&bytes)?).filter(|bytes| *bytes > 0),
                None => None,
            };
            let session = Session {
                replicas: replicas(&node)?,
                truncate,
            };
            let replication = &mut self.switch.state.replication;
            let group = replication.session_groups.get(&id).copied();
            let was = Before::Session(id, replication.sessions.get(&id).cloned(), group);
            let set = replication.set_session(id, Some(session));
            set.map_err(|error| node.error(error.to_string()))?;
            self.before.push(was);
        }
        Ok(())
    }

    /// Takes all back, the last first.
    fn undo(self) {
        let switch = self.switch;
        for was in self.before.into_iter().rev() {
            match was {
                Before::NoEntry(table, handle) => {
                    let removed = switch.delete(table, handle);
                    removed.expect("it was added, so that it is there and no constant");
                }
                // A file sets actions, which no action profile counts.
                Before::Default(table, does) => switch.state.tables[table].default = does,
                Before::Group(id, replicas) => {
                    put_back(&mut switch.state.replication.groups, id, replicas);
                }
                Before::Session(id, session, group) => {
                    let replication = &mut switch.state.replication;
                    put_back(&mut replication.sessions, id, session);
                    put_back(&mut replication.session_groups, id, group);
                }
            }
        }
    }

    fn entry(&mut self, node: &Node<'_>) -> Result<Before> {
        node.only(ENTRY_KEYS)?;
        let name = node.get("table")?;
        let Some(table) = self.switch.program().index(Named::Table, name.text()?) else {
            return name.refuse("the program has no such table");
        };
        let does = self.action(table, node)?;
        let default = match node.find("default_action")? {
            Some(default) => default.boolean()?,
            None => false,
        };
        let done = if default {
            let was = Before::Default(table, self.switch.default_of(table).cloned());
            self.switch.set_default(table, Some(does)).map(|()| was)
        } else {
            let has_priorities = self.switch.has_priorities(table);
            let priority = match node.find("priority")? {
                Some(priority) => match priority.number(i32::MAX as u64)? as i32 {
                    1.. if !has_priorities => {
                        return priority.refuse("entries of this table have no priority");
                    }
                    number => number,
                },
                None if has_priorities => {
                    return node.refuse("has no priority, which entries of this table need");
                }
                None => 0,
            };
            let parts = &self.switch.program().tables[table].key;
            let entry = Entry::new(load_key(parts, node)?, priority, does);
            let added = self.switch.insert(table, entry);
            added.map(|handle| Before::NoEntry(table, handle))
        };
        done.map_err(|error| node.error(error.to_string()))
    }

    fn action(&self, table: usize, node: &Node<'_>) -> Result<Does> {
        let name = node.get("action_name")?;
        let action = self.switch.action_of(table, name.text()?);
        let action = action.map_err(|error| name.error(error.to_string()))?;
        let parameters = &self.switch.program().actions[action].parameters;
        let mut said = members(node, "action_params")?;
        let mut data = Vec::new();
        for (parameter, _) in parameters {
            match said.remove(&**parameter) {
                Some(value) => data.push(value.value()?),
                None => return node.refuse(format!("has no action parameter {parameter}")),
            }
        }
        match said.values().next() {
            Some(other) => other.refuse("is no parameter of the action"),
            None => Ok(Does::Action(action, data)),
        }
    }
}

/// The members of an object within another, none if it is missing.
fn members<'a>(node: &Node<'a>, key: &'static str) -> Result<HashMap<&'a str, Node<'a>>> {
    match node.find(key)? {
        Some(object) => Ok(object.members()?.into_iter().collect()),
        None => Ok(HashMap::new()),
    }
}

fn load_key(parts: &[KeyPart], node: &Node<'_>) -> Result<Vec<Match>> {
    let mut said = members(node, "match")?;
    let mut key = Vec::new();
    for part in parts {
        key.push(match said.remove(&*part.name) {
            Some(value) => load_match(part, &value)?,
            None if matches!(part.kind, MatchKind::Exact | MatchKind::Valid) => {
                return node.refuse(format!("has no match for {}", part.name));
            }
            None => Match::Any,
        });
    }
    match said.values().next() {
        Some(other) => other.refuse("is no key of the table"),
        None => Ok(key),
    }
}

/// A value, which may be in a list; or a list of two, whose meaning depends on the kind of match.
fn load_match(part: &KeyPart, node: &Node<'_>) -> Result<Match> {
    if !node.is_list() {
        return Ok(Match::Exact(node.value()?));
    }
    if let [only] = &node.items()?[..] {
        return Ok(Match::Exact(only.value()?));
    }
    let [first, second] = node.tuple()?;
    let (low, high): (Int, Int) = (first.value()?, second.value()?);
    Ok(match part.kind {
        MatchKind::Lpm => Match::Lpm(low, small(&second)?),
        MatchKind::Ternary | MatchKind::Optional => Match::Ternary(low, high),
        MatchKind::Range => Match::Range(low, high),
        MatchKind::Exact | MatchKind::Valid => {
            let kind: String = part.kind.name().into();
            return node.refuse(format!("has two values, and is matched as {kind}"));
        }
    })
}

/// The number of a group or session, which no other before it has.
fn new_id(node: &Node<'_>, key: &'static str, seen: &mut HashSet<u32>) -> Result<u32> {
    let named = node.get(key)?;
    let id = small(&named)?;
    if seen.insert(id) {
        Ok(id)
    } else {
        named.refuse("is there twice")
    }
}

fn small(node: &Node<'_>) -> Result<u32> {
    node.number(u64::from(u32::MAX)).map(|number| number as u32)
}

fn replicas(node: &Node<'_>) -> Result<Vec<Replica>> {
    let mut replicas = Vec::new();
    for replica in node.list("replicas")? {
        replica.only(REPLICA_KEYS)?;
        let instance = match replica.find("instance")? {
            Some(instance) => instance.number(u64::from(u16::MAX))? as u16,
            None => 0,
        };
        replicas.push(Replica {
            port: small(&replica.get("egress_port")?)?,
            instance,
        });
    }
    Ok(replicas)
}
