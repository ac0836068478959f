//! A switch that runs a program: packets in, packets out, and what the control plane may do.

mod entries;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use crate::canonical::{canonical, fitting};
use crate::count::Count;
use crate::error::ControlError;
use crate::externs::Externs;
use crate::meter::MeterConfig;
use crate::profile::Bound;
use crate::program::{Match, Program, Table};
use crate::queues::Queues;
use crate::replication::Replication;
use crate::run::sink::Sink;
use crate::run::walk::Walk;
use crate::state::State;
use crate::table::{Does, Entry, Handle};

type Result<T, E = ControlError> = core::result::Result<T, E>;

/// A switch that runs a program. It has no clock: each call that needs the time is given it, in
/// microseconds since the switch began. A copy continues as the original does.
#[derive(Clone, Debug)]
pub struct Switch {
    program: Arc<Program>,
    state: State,
}

impl Switch {
    /// A switch with the entries that the program has, which others may run, too. `seed` is that of
    /// the program's random numbers.
    pub fn new(program: impl Into<Arc<Program>>, seed: u64) -> Self {
        let program = program.into();
        let state = State::new(&program, seed);
        Self { program, state }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The counters, meters, registers, value sets and calculations.
    pub fn externs(&self) -> &Externs {
        &self.state.externs
    }

    /// The same, to change.
    pub fn externs_mut(&mut self) -> &mut Externs {
        &mut self.state.externs
    }

    /// The multicast groups and clone sessions.
    pub fn replication(&self) -> &Replication {
        &self.state.replication
    }

    /// The same, to change.
    pub fn replication_mut(&mut self) -> &mut Replication {
        &mut self.state.replication
    }

    /// Says whether a port has a link. Where nothing was said, a port has one.
    pub fn set_link(&mut self, port: u32, is_up: bool) {
        let State {
            profiles,
            replication,
            ..
        } = &mut self.state;
        replication.links.set(port, is_up);
        let links = &replication.links;
        profiles.iter_mut().for_each(|row| row.follow(port, links));
    }

    /// Returns true unless it was said that the port has no link.
    pub fn has_link(&self, port: u32) -> bool {
        self.state.replication.links.is_up(port)
    }

    /// Takes the place of another switch: what was said of the links of its ports holds here, too.
    pub fn take_links(&mut self, other: &Self) {
        let links = other.state.replication.links.iter();
        links.for_each(|(port, is_up)| self.set_link(port, is_up));
    }

    /// Processes a frame that arrives at `port`, with all copies that are made of it.
    pub fn receive<S: Sink>(&mut self, port: u32, frame: &[u8], now: u64, sink: &mut S) {
        Walk::run(&self.program, &mut self.state, sink, (port, frame), now);
    }

    /// Lets packets for a port wait between ingress and egress, as it has no room for frames: by
    /// `standard_metadata.priority`, at most 1,024 of each, and further ones are dropped. Returns
    /// false if they wait already.
    pub fn hold(&mut self, port: u32) -> bool {
        self.state.queues.hold(port)
    }

    /// Returns true if packets for a port wait.
    pub fn holds(&self, port: u32) -> bool {
        self.state.queues.holds(port)
    }

    /// The number of packets that wait, for all ports.
    pub fn waiting(&self) -> usize {
        self.state.queues.len()
    }

    /// Lets at most `most` of the packets that wait for a port leave: those of the highest priority
    /// first, and of one priority in their order. When none is left, further ones do not wait.
    pub fn leave<S: Sink>(&mut self, port: u32, most: usize, now: u64, sink: &mut S) {
        for _ in 0..most {
            if !Walk::leave(&self.program, &mut self.state, sink, port, now) {
                break;
            }
        }
        self.state.queues.release(port);
    }

    /// Ends what waits for a port, which is gone. Returns how many packets these are.
    pub fn discard(&mut self, port: u32) -> usize {
        self.state.queues.discard(port)
    }

    /// Says what becomes of a frame that arrives at `port` when all ports have room, and changes
    /// nothing: the state is copied first, which takes time where there is much of it.
    pub fn explain<S: Sink>(&self, port: u32, frame: &[u8], now: u64, sink: &mut S) {
        let mut state = self.state.clone();
        state.queues = Queues::default();
        Walk::run(&self.program, &mut state, sink, (port, frame), now);
    }

    /// An action of a table by its name. Errors: none of this name.
    pub fn action_of(&self, table: usize, name: &str) -> Result<usize> {
        let mut actions = self.program.tables[table].actions.iter();
        let found = actions.find(|id| self.program.actions[**id].name == name);
        let unknown = || {
            let table = &self.program.tables[table].name;
            ControlError::Unknown(format!("action {name} of table {table}"))
        };
        found.copied().ok_or_else(unknown)
    }

    /// Adds an entry to a table. Errors: what does not fit the table, what is there, no room.
    pub fn insert(&mut self, table: usize, entry: Entry) -> Result<Handle> {
        let row = &self.program.tables[table];
        if row.const_entries {
            return Err(ControlError::Constant);
        }
        let entry = Entry {
            key: canonical(&row.key, entry.key)?,
            does: self.checked(row, entry.does)?,
            ..entry
        };
        // Of a table with a profile, a number: it costs nothing to copy.
        let used = row.profile.map(|profile| (profile, entry.does.clone()));
        let handle = self.state.tables[table].insert(&row.key, entry, row.size)?;
        if let Some((profile, does)) = used {
            self.state.profiles[profile].begin_use(&does);
        }
        Ok(handle)
    }

    /// Gives an entry another action. Errors: it is not there, what does not fit the table.
    pub fn modify(&mut self, table: usize, handle: Handle, does: Does) -> Result<()> {
        let row = &self.program.tables[table];
        if row.const_entries {
            return Err(ControlError::Constant);
        }
        let does = self.checked(row, does)?;
        let Some(profile) = row.profile else {
            return self.state.tables[table].set_does(handle, does);
        };
        let old = self.state.tables[table].get(handle);
        let old = old.ok_or(ControlError::NotFound)?.does.clone();
        let profile = &mut self.state.profiles[profile];
        profile.begin_use(&does);
        profile.end_use(&old);
        self.state.tables[table].set_does(handle, does)
    }

    /// Removes an entry. Errors: it is not there.
    pub fn delete(&mut self, table: usize, handle: Handle) -> Result<Entry> {
        let row = &self.program.tables[table];
        if row.const_entries {
            return Err(ControlError::Constant);
        }
        let entry = self.state.tables[table].remove(&row.key, handle)?;
        if let Some(profile) = row.profile {
            self.state.profiles[profile].end_use(&entry.does);
        }
        Ok(entry)
    }

    /// The entry of exactly this key and priority. Errors: what does not fit the table.
    pub fn find(&self, table: usize, key: Vec<Match>, priority: i32) -> Result<Option<Handle>> {
        let row = &self.program.tables[table];
        let key = canonical(&row.key, key)?;
        Ok(self.state.tables[table].find(&row.key, &key, priority))
    }

    /// Sets what a table does where no entry matches; `None` is what the program says. Errors: the
    /// program fixes it, what does not fit the table.
    pub fn set_default(&mut self, table: usize, does: Option<Does>) -> Result<()> {
        let row = &self.program.tables[table];
        let original = row.default.clone();
        let original = original.map(|(action, data)| Does::Action(action, data));
        let does = match does {
            Some(does) => Some(self.checked(row, does)?),
            None => original.clone(),
        };
        if row.const_default && does != original {
            return Err(ControlError::Constant);
        }
        let old = core::mem::replace(&mut self.state.tables[table].default, does);
        if let Some(profile) = row.profile {
            let profile = &mut self.state.profiles[profile];
            if let Some(new) = &self.state.tables[table].default {
                profile.begin_use(new);
            }
            if let Some(old) = &old {
                profile.end_use(old);
            }
        }
        Ok(())
    }

    /// Sets after how many microseconds without a packet an entry is idle; 0 is never. Errors: it
    /// is not there, the table has no timeouts.
    pub fn set_idle_timeout(&mut self, table: usize, handle: Handle, after: u64) -> Result<()> {
        if !self.program.tables[table].timeout {
            return Err(ControlError::Invalid("the table has no timeouts".into()));
        }
        let entry = self.state.tables[table].get_mut(handle);
        entry.ok_or(ControlError::NotFound)?.idle_timeout = after;
        Ok(())
    }

    /// An entry of a table.
    pub fn entry(&self, table: usize, handle: Handle) -> Option<&Entry> {
        self.state.tables[table].get(handle)
    }

    /// The entries of a table, with their numbers.
    pub fn entries(&self, table: usize) -> impl Iterator<Item = (Handle, &Entry)> {
        self.state.tables[table].iter()
    }

    /// The entries of a table whose numbers are in a range, with their numbers.
    pub fn entries_within(
        &self,
        table: usize,
        range: Range<Handle>,
    ) -> impl Iterator<Item = (Handle, &Entry)> {
        self.state.tables[table].iter_within(range)
    }

    /// A number above those of all entries of a table, also of some that are no longer there.
    pub fn entries_end(&self, table: usize) -> Handle {
        self.state.tables[table].end()
    }

    /// All tables that have a key, with their entries, as text.
    pub fn show_entries(&self) -> String {
        let rows = self.program.tables.iter().enumerate();
        let with_keys = rows.filter(|(_, row)| !row.key.is_empty());
        with_keys
            .map(|(id, _)| self.show_table(id, 0, usize::MAX))
            .collect()
    }

    /// A table as text, with at most `most` of its entries, from the number `from` on.
    pub fn show_table(&self, table: usize, from: Handle, most: usize) -> String {
        let state = &self.state.tables[table];
        crate::show::table(&self.program, table, state, (from, most))
    }

    /// The packets that were looked up in a table, and those of them that hit an entry.
    pub fn table_counts(&self, table: usize) -> (u64, u64) {
        let state = &self.state.tables[table];
        (state.lookups, state.hits)
    }

    /// How many entries a table has.
    pub fn entry_count(&self, table: usize) -> usize {
        self.state.tables[table].len()
    }

    /// What a table does where no entry matches.
    pub fn default_of(&self, table: usize) -> Option<&Does> {
        self.state.tables[table].default.as_ref()
    }

    /// Whether entries of a table need a priority.
    pub fn has_priorities(&self, table: usize) -> bool {
        self.state.tables[table].has_priorities()
    }

    /// What an entry does, with the values as wide as they are.
    fn checked(&self, table: &Table, does: Does) -> Result<Does> {
        match (does, table.profile) {
            (Does::Action(action, data), None) => {
                if !table.actions.contains(&action) {
                    let what = format!("{} has no such action", table.name);
                    return Err(ControlError::Invalid(what));
                }
                let data = fitting(&self.program.actions[action], data)?;
                Ok(Does::Action(action, data))
            }
            (Does::Member(id), Some(profile)) => {
                let members = self.state.profiles[profile].members();
                members.get(&id).ok_or(ControlError::NotFound)?;
                Ok(Does::Member(id))
            }
            (Does::Group(id), Some(profile)) => {
                let groups = self.state.profiles[profile].groups();
                groups.get(&id).ok_or(ControlError::NotFound)?;
                Ok(Does::Group(id))
            }
            (Does::Action(..), Some(_)) => {
                let what = "the entries of this table have members or groups";
                Err(ControlError::Invalid(what.into()))
            }
            (Does::Member(_) | Does::Group(_), None) => {
                let what = "the table has no action profile";
                Err(ControlError::Invalid(what.into()))
            }
        }
    }

    /// The members of an action profile, with their actions and the data of these.
    pub fn members(&self, profile: usize) -> &BTreeMap<u32, Bound> {
        self.state.profiles[profile].members()
    }

    /// The groups of an action profile: each member as often as it weighs, in order.
    pub fn groups(&self, profile: usize) -> &BTreeMap<u32, Vec<u32>> {
        self.state.profiles[profile].groups()
    }

    /// Adds a member, or changes one. Errors: what does not fit, no room.
    pub fn set_member(&mut self, profile: usize, id: u32, bound: Bound) -> Result<()> {
        self.replace_members(profile, id, bound, 0)
    }

    /// The same for a member in place of others: `going` of the members need no room, as the caller
    /// removes them next. Errors: what does not fit, no room.
    pub fn replace_members(
        &mut self,
        profile: usize,
        id: u32,
        (action, data): Bound,
        going: usize,
    ) -> Result<()> {
        let mut tables = self.program.tables.iter();
        let has = |table: &Table| {
            table.profile == Some(profile)
                && table.actions.iter().any(|other| {
                    *other == action
                        || self.program.actions[*other].name == self.program.actions[action].name
                })
        };
        if !tables.any(has) {
            let what = "no table of the action profile has this action";
            return Err(ControlError::Invalid(what.into()));
        }
        let data = fitting(&self.program.actions[action], data)?;
        let state = &mut self.state.profiles[profile];
        if state.members().contains_key(&id) {
            state.modify_member(id, (action, data))
        } else {
            state.insert_member(id, (action, data), going)
        }
    }

    /// Removes a member. Errors: it is not there, a group or an entry has it.
    pub fn delete_member(&mut self, profile: usize, id: u32) -> Result<()> {
        self.state.profiles[profile].delete_member(id)
    }

    /// Adds or changes a group, of members and their weights, all of which may be chosen always.
    /// Errors: a member that is not there, no selector, no room.
    pub fn set_group(&mut self, profile: usize, id: u32, members: &[(u32, u32)]) -> Result<()> {
        self.set_watched_group(profile, id, members, &[])
    }

    /// The same for a group with members that are chosen only while a port has a link, which are
    /// in `watched` with their ports. While no member may be chosen, the group is as one without
    /// members. Errors: also a port that is not there.
    pub fn set_watched_group(
        &mut self,
        profile: usize,
        id: u32,
        members: &[(u32, u32)],
        watched: &[(u32, u32)],
    ) -> Result<()> {
        if self.program.profiles[profile].selector.is_none() {
            let what = "the action profile has no selector";
            return Err(ControlError::Invalid(what.into()));
        }
        let replication = &self.state.replication;
        let mut ports = watched.iter().map(|(_, port)| *port);
        ports.try_for_each(|port| replication.check_watched(port))?;
        let state = &mut self.state.profiles[profile];
        state.set_group(id, members)?;
        state.watch(id, watched, &replication.links);
        Ok(())
    }

    /// The port without whose link a member of a group is not chosen, if there is one.
    pub fn watched_port(&self, profile: usize, group: u32, member: u32) -> Option<u32> {
        self.state.profiles[profile].watched_port(group, member)
    }

    /// Removes a group. Errors: it is not there, an entry has it.
    pub fn delete_group(&mut self, profile: usize, id: u32) -> Result<()> {
        self.state.profiles[profile].delete_group(id)
    }

    /// Sets the direct counter of an entry. Errors: it is not there, the table has none.
    pub fn set_direct_counter(&mut self, table: usize, handle: Handle, count: Count) -> Result<()> {
        if !self.program.tables[table].counters {
            let what = "the table has no direct counter";
            return Err(ControlError::Invalid(what.into()));
        }
        let state = &mut self.state.tables[table];
        state.get(handle).ok_or(ControlError::NotFound)?;
        *state.count_mut(handle) = count;
        Ok(())
    }

    /// What has hit an entry: its direct counter, if the table has one. `None` if it is not there.
    pub fn direct_counter(&self, table: usize, handle: Handle) -> Option<Count> {
        let state = &self.state.tables[table];
        state.get(handle).map(|_| state.count(handle))
    }

    /// Sets or removes the rates of the direct meter of an entry. Errors: it is not there, the
    /// table has no direct meter.
    pub fn set_direct_meter(
        &mut self,
        table: usize,
        handle: Handle,
        config: Option<MeterConfig>,
        now: u64,
    ) -> Result<()> {
        if self.program.tables[table].meter.is_none() {
            return Err(ControlError::Invalid(
                "the table has no direct meter".into(),
            ));
        }
        let entry = self.state.tables[table].get_mut(handle);
        entry
            .ok_or(ControlError::NotFound)?
            .meter
            .configure(config, now);
        Ok(())
    }
}
