//! Entities: what updates write and requests read.

mod amounts;
mod cells;
mod keys;
mod profiles;
mod read;
mod replication;
mod tables;
mod value_sets;

use std::fmt::Display;

use bofuss_p4::{Int, Switch};
use tonic::Code;

use crate::error::{Refusal, Result};
use crate::info::Info;
use crate::side::Side;
use crate::value::parse;
use crate::wire::entities::{Action, Entity, EntityKind, PacketReplicationEngineEntryType};
use crate::wire::messages::{Update, UpdateType};

pub use read::{Step, steps};

/// A switch with all that is known of it, for as long as one job runs.
pub struct Target<'a> {
    pub switch: &'a mut Switch,
    pub side: &'a mut Side,
    pub info: &'a Info,
    /// In µs since the switch began.
    pub now: u64,
}

/// The same for one who only reads.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub switch: &'a Switch,
    pub side: &'a Side,
    pub info: &'a Info,
    /// In µs since the switch began.
    pub now: u64,
}

impl Target<'_> {
    pub fn view(&self) -> View<'_> {
        View {
            switch: self.switch,
            side: self.side,
            info: self.info,
            now: self.now,
        }
    }

    /// Makes updates, each by itself. Returns what became of each.
    pub fn write_all(&mut self, updates: &[Update]) -> Vec<Result<()>> {
        updates.iter().map(|update| self.write(update)).collect()
    }

    /// Makes one update. Errors: why it is refused; nothing has changed then.
    pub fn write(&mut self, update: &Update) -> Result<()> {
        let kind = update.r#type();
        if kind == UpdateType::Unspecified {
            return Err(Refusal::invalid("the update has no type"));
        }
        let entity = update.entity.as_ref().and_then(|e| e.entity.as_ref());
        use PacketReplicationEngineEntryType as Replication;
        match entity.ok_or_else(|| Refusal::invalid("the update has no entity"))? {
            EntityKind::ExternEntry(_) => Err(no_externs()),
            EntityKind::TableEntry(entry) => self.write_entry(kind, entry),
            EntityKind::ActionProfileMember(member) => self.write_member(kind, member),
            EntityKind::ActionProfileGroup(group) => self.write_group(kind, group),
            EntityKind::MeterEntry(meter) => only_modify(kind).and_then(|()| self.set_meter(meter)),
            EntityKind::DirectMeterEntry(meter) => {
                only_modify(kind).and_then(|()| self.set_direct_meter(meter))
            }
            EntityKind::CounterEntry(counter) => {
                only_modify(kind).and_then(|()| self.set_counter(counter))
            }
            EntityKind::DirectCounterEntry(counter) => {
                only_modify(kind).and_then(|()| self.set_direct_counter(counter))
            }
            EntityKind::RegisterEntry(register) => {
                only_modify(kind).and_then(|()| self.set_register(register))
            }
            EntityKind::ValueSetEntry(set) => {
                only_modify(kind).and_then(|()| self.set_value_set(set))
            }
            EntityKind::DigestEntry(digest) => self.write_digest(kind, digest),
            EntityKind::PacketReplicationEngineEntry(entry) => match &entry.r#type {
                Some(Replication::MulticastGroupEntry(group)) => self.write_multicast(kind, group),
                Some(Replication::CloneSessionEntry(session)) => self.write_session(kind, session),
                None => Err(Refusal::invalid("the replication entry has no type")),
            },
        }
    }

    /// The data of an action, in the order of the program. Errors: a parameter that is missing,
    /// twice, unknown or too wide.
    fn action_data(&self, action: &Action) -> Result<Vec<Int>> {
        let info = self.info.actions.get(&action.action_id);
        let absent = || Refusal::invalid(format!("there is no action {}", action.action_id));
        let info = info.ok_or_else(absent)?;
        if action.params.len() != info.params.len() {
            let what = format!("{} has {} parameters", info.name, info.params.len());
            return Err(Refusal::invalid(what));
        }
        let values = info.params.iter().map(|(id, name, width)| {
            let mut given = action.params.iter();
            let given = given.find(|param| param.param_id == *id);
            let absent = || Refusal::invalid(format!("{} has no value for {name}", info.name));
            parse(&given.ok_or_else(absent)?.value, *width, name)
        });
        values.collect()
    }
}

/// An entity of a kind.
fn entity(kind: EntityKind) -> Entity {
    Entity { entity: Some(kind) }
}

fn no_externs() -> Refusal {
    Refusal::missing("extern entities are not there")
}

fn only_modify(kind: UpdateType) -> Result<()> {
    if kind == UpdateType::Modify {
        return Ok(());
    }
    let what = "it is always there: it can only be modified";
    Err(Refusal::invalid(what))
}

/// Checks that an update fits whether `what` is there.
fn check_there(kind: UpdateType, there: bool, what: impl Display) -> Result<()> {
    match (kind, there) {
        (UpdateType::Insert, true) => {
            let what = format!("{what} is there already");
            Err(Refusal::new(Code::AlreadyExists, what))
        }
        (UpdateType::Modify | UpdateType::Delete, false) => {
            Err(Refusal::not_found(format!("{what} is not there")))
        }
        _ => Ok(()),
    }
}
