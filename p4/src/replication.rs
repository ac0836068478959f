//! Replication: which copies multicast groups and clone sessions make of a packet.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use crate::error::ControlError;
use crate::links::Links;
use crate::program::Program;

type Result<T, E = ControlError> = core::result::Result<T, E>;

/// The replicas of the largest multicast group or clone session.
pub const MAX_REPLICAS: usize = 1024;
/// Multicast groups and clone sessions.
const MAX_GROUPS: usize = 1 << 16;

/// Where a copy of a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Replica {
    /// The port that it leaves at.
    pub port: u32,
    /// `egress_rid`, by which the program knows the copy.
    pub instance: u16,
}

/// Where the clones of a session go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// One for each clone.
    pub replicas: Vec<Replica>,
    /// The bytes that a clone keeps, if not all.
    pub truncate: Option<u32>,
}

/// By replica: those that take its place while its port has no link, the first that has one.
pub type Backups = BTreeMap<Replica, Vec<Replica>>;

/// What has replicas, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Group(u32),
    Session(u32),
}

/// The multicast groups and clone sessions of a switch.
#[derive(Clone, Debug)]
pub struct Replication {
    pub(crate) groups: BTreeMap<u32, Vec<Replica>>,
    pub(crate) sessions: BTreeMap<u32, Session>,
    /// The sessions that go to a multicast group. None of them is in `sessions`.
    pub(crate) session_groups: BTreeMap<u32, u32>,
    /// The backups of what has some.
    backups: BTreeMap<Owner, Backups>,
    /// The links of the ports that copies go to.
    pub(crate) links: Links,
    /// The bits of the program's ports, and of its groups.
    port_bits: u32,
    group_bits: u32,
}

impl Replication {
    /// None of them. The program says how wide their numbers are.
    pub(crate) fn new(program: &Program) -> Self {
        let width = |field: Option<usize>| {
            field.map_or(u32::BITS, |field| {
                program.fields[field].width.min(u32::BITS)
            })
        };
        Self {
            groups: BTreeMap::new(),
            sessions: BTreeMap::new(),
            session_groups: BTreeMap::new(),
            backups: BTreeMap::new(),
            links: Links::default(),
            port_bits: width(program.standard.ingress_port),
            group_bits: width(program.standard.mcast_grp),
        }
    }

    /// The multicast groups.
    pub fn groups(&self) -> &BTreeMap<u32, Vec<Replica>> {
        &self.groups
    }

    /// The clone sessions that have replicas of their own.
    pub fn sessions(&self) -> &BTreeMap<u32, Session> {
        &self.sessions
    }

    /// The clone sessions that go to a multicast group, with its number.
    pub fn session_groups(&self) -> &BTreeMap<u32, u32> {
        &self.session_groups
    }

    /// The backups of a multicast group, if it has some.
    pub fn group_backups(&self, id: u32) -> Option<&Backups> {
        self.backups.get(&Owner::Group(id))
    }

    /// The backups of a clone session, if it has some.
    pub fn session_backups(&self, id: u32) -> Option<&Backups> {
        self.backups.get(&Owner::Session(id))
    }

    /// Where the clones of a session go now: nowhere while its multicast group is not there. `None`
    /// if there is no such session.
    pub(crate) fn session(&self, id: u32) -> Option<Session> {
        let Some(group) = self.session_groups.get(&id) else {
            let session = self.sessions.get(&id)?;
            return Some(Session {
                replicas: self.reached(Owner::Session(id), &session.replicas),
                truncate: session.truncate,
            });
        };
        Some(Session {
            replicas: self.copies(*group),
            truncate: None,
        })
    }

    /// Where the copies of a multicast group go now: nowhere if it is not there.
    pub(crate) fn copies(&self, group: u32) -> Vec<Replica> {
        let replicas = self.groups.get(&group).map_or(&[][..], Vec::as_slice);
        self.reached(Owner::Group(group), replicas)
    }

    /// The replicas, each with backups as the first of them whose port has a link, if one has.
    fn reached(&self, owner: Owner, replicas: &[Replica]) -> Vec<Replica> {
        let Some(backups) = self.backups.get(&owner) else {
            return replicas.to_vec();
        };
        let reached = replicas.iter().filter_map(|replica| {
            let Some(others) = backups.get(replica) else {
                return Some(*replica);
            };
            let mut all = core::iter::once(replica).chain(others);
            all.find(|one| self.links.is_up(one.port)).copied()
        });
        reached.collect()
    }

    /// Checks the number of a port, which has as many bits as the program's `ingress_port`. Errors:
    /// it has more.
    pub fn check_port(&self, port: u32) -> Result<()> {
        check_width("port", port, self.port_bits)
    }

    /// Checks a port whose link is to be watched. Errors: its number has too many bits; it is not
    /// among the ports of which the owner of the switch said something, if it did.
    pub fn check_watched(&self, port: u32) -> Result<()> {
        self.check_port(port)?;
        if !self.links.has(port) {
            let why = format!("port {port} is not there, so its link cannot be watched");
            return Err(ControlError::Invalid(why));
        }
        Ok(())
    }

    /// Sets the copies of a multicast group, which may have none; `None` removes it. Errors: number
    /// 0, too many, what the program's fields have no room for.
    pub fn set_group(&mut self, id: u32, replicas: Option<Vec<Replica>>) -> Result<()> {
        self.check_group(id)?;
        let Some(replicas) = replicas else {
            self.groups.remove(&id);
            self.backups.remove(&Owner::Group(id));
            return Ok(());
        };
        self.check_replicas(&replicas)?;
        if replicas.len() > MAX_REPLICAS || !has_room(&self.groups, id) {
            return Err(ControlError::Full);
        }
        self.groups.insert(id, replicas);
        self.backups.remove(&Owner::Group(id));
        Ok(())
    }

    /// Sets where the clones of a session go; `None` removes it. Errors: too many, no such port.
    pub fn set_session(&mut self, id: u32, session: Option<Session>) -> Result<()> {
        let Some(session) = session else {
            self.sessions.remove(&id);
            self.session_groups.remove(&id);
            self.backups.remove(&Owner::Session(id));
            return Ok(());
        };
        self.check_replicas(&session.replicas)?;
        if session.replicas.len() > MAX_REPLICAS || !self.has_session_room(id) {
            return Err(ControlError::Full);
        }
        self.session_groups.remove(&id);
        self.sessions.insert(id, session);
        self.backups.remove(&Owner::Session(id));
        Ok(())
    }

    /// Lets the clones of a session go where a multicast group goes when a packet is cloned. The
    /// group need not be there yet. Errors: group 0, one that the program's field has no room for,
    /// too many sessions.
    pub fn set_session_group(&mut self, id: u32, group: u32) -> Result<()> {
        self.check_group(group)?;
        if !self.has_session_room(id) {
            return Err(ControlError::Full);
        }
        self.sessions.remove(&id);
        self.backups.remove(&Owner::Session(id));
        self.session_groups.insert(id, group);
        Ok(())
    }

    /// The same as [`Self::set_group`] with replicas that have backups. Errors: also the port of a
    /// backup that is not there.
    pub fn set_backed_group(
        &mut self,
        id: u32,
        replicas: Vec<Replica>,
        backups: Backups,
    ) -> Result<()> {
        self.check_backups(&backups)?;
        self.set_group(id, Some(replicas))?;
        self.keep_backups(Owner::Group(id), backups);
        Ok(())
    }

    /// The same as [`Self::set_session`] with replicas that have backups. Errors: also the port of
    /// a backup that is not there.
    pub fn set_backed_session(
        &mut self,
        id: u32,
        session: Session,
        backups: Backups,
    ) -> Result<()> {
        self.check_backups(&backups)?;
        self.set_session(id, Some(session))?;
        self.keep_backups(Owner::Session(id), backups);
        Ok(())
    }

    fn keep_backups(&mut self, owner: Owner, backups: Backups) {
        if !backups.is_empty() {
            self.backups.insert(owner, backups);
        }
    }

    fn check_backups(&self, backups: &Backups) -> Result<()> {
        if backups.values().map(Vec::len).sum::<usize>() > MAX_REPLICAS {
            return Err(ControlError::Full);
        }
        let mut all = backups.values().flatten();
        all.try_for_each(|backup| self.check_watched(backup.port))
    }

    /// Returns true if the session is there, or can be one more.
    fn has_session_room(&self, id: u32) -> bool {
        let there = self.sessions.contains_key(&id) || self.session_groups.contains_key(&id);
        there || self.sessions.len() + self.session_groups.len() < MAX_GROUPS
    }

    fn check_group(&self, id: u32) -> Result<()> {
        if id == 0 {
            return Err(ControlError::Invalid("group 0 means no multicast".into()));
        }
        check_width("group", id, self.group_bits)
    }

    fn check_replicas(&self, replicas: &[Replica]) -> Result<()> {
        let mut ports = replicas.iter();
        ports.try_for_each(|replica| self.check_port(replica.port))
    }
}

/// Returns true if there is room for what has this number: it is there, or can be one more.
fn has_room<T>(rows: &BTreeMap<u32, T>, id: u32) -> bool {
    rows.len() < MAX_GROUPS || rows.contains_key(&id)
}

/// Checks that a number has at most `bits` bits.
fn check_width(what: &str, number: u32, bits: u32) -> Result<()> {
    match u64::from(number) >> bits {
        0 => Ok(()),
        _ => {
            let why = format!("{what} {number}: its number has {bits} bits");
            Err(ControlError::Invalid(why))
        }
    }
}
