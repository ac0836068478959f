//! Table entries.

use bofuss_p4::{Does, Entry, Handle, Match, MatchKind};

use super::amounts::{count, no_colors, rates, shown_count, shown_rates};
use super::keys::{parse_key, write_key};
use super::profiles::not_own;
use super::{Target, View};
use crate::digests::nanoseconds;
use crate::error::{Refusal, Result};
use crate::info::TableInfo;
use crate::side::{EntrySide, OneShot};
use crate::value::canonical;
use crate::wire::config::ActionRefScope;
use crate::wire::entities::{
    Action, ActionParam, ActionProfileAction, ActionProfileActionSet, ActionProfileActionWatchKind,
    DirectCounterEntry, DirectMeterEntry, TableAction, TableActionType, TableEntry,
    TableEntryIdleTimeout,
};
use crate::wire::messages::UpdateType;

impl Target<'_> {
    /// Makes an update of an entry, or of the default entry.
    pub fn write_entry(&mut self, kind: UpdateType, entry: &TableEntry) -> Result<()> {
        let info = self.info;
        let table = info.table(entry.table_id)?;
        if entry.is_const {
            return Err(Refusal::invalid("is_const is only read"));
        }
        if entry.is_default_action {
            return self.write_default(kind, table, entry);
        }
        let key = parse_key(table, &entry.r#match)?;
        let priority = priority(table, entry)?;
        let handle = self.view().handle(table, key.clone(), priority)?;
        // Only direct counters and meters of constant entries can change.
        let keeps_action = kind == UpdateType::Modify && entry.action.is_none();
        if table.is_const && !keeps_action {
            return Err(Refusal::denied("the program fixes the entries"));
        }
        match (kind, handle) {
            (UpdateType::Insert, Some(_)) => Err(Refusal::new(
                tonic::Code::AlreadyExists,
                "the entry is there",
            )),
            (UpdateType::Insert, None) if table.fields.is_empty() => Err(Refusal::invalid(
                "a table without a key has only its default entry",
            )),
            (UpdateType::Insert, None) => self.insert_entry(table, entry, (key, priority)),
            (_, None) => Err(Refusal::not_found("there is no such entry")),
            (UpdateType::Delete, Some(handle)) => {
                self.switch.delete(table.index, handle)?;
                self.forget(table.index, handle);
                Ok(())
            }
            (_, Some(handle)) => self.modify_entry(table, entry, handle),
        }
    }

    fn write_default(
        &mut self,
        kind: UpdateType,
        table: &TableInfo,
        entry: &TableEntry,
    ) -> Result<()> {
        if kind != UpdateType::Modify {
            let what = "the default entry is always there: it can only be modified";
            return Err(Refusal::invalid(what));
        }
        let has_timeout = entry.idle_timeout_ns != 0 || entry.time_since_last_hit.is_some();
        if !entry.r#match.is_empty() || entry.priority != 0 || has_timeout {
            let what = "a default entry has no match, priority or timeout";
            return Err(Refusal::invalid(what));
        }
        no_colors(entry.meter_counter_data.is_some())?;
        if entry.meter_config.is_some() || entry.counter_data.is_some() {
            let what = "direct counters and meters of default entries are not there";
            return Err(Refusal::missing(what));
        }
        let does = match entry.action.as_ref().and_then(|a| a.r#type.as_ref()) {
            None => None,
            Some(TableActionType::ActionProfileActionSet(_)) => {
                let what = "action sets of default entries are not there";
                return Err(Refusal::missing(what));
            }
            Some(action) => Some(self.does(table, action, true)?),
        };
        let is_reset = does.is_none();
        self.switch.set_default(table.index, does)?;
        self.side.defaults.remove(&table.index);
        let has_metadata = entry.controller_metadata != 0 || !entry.metadata.is_empty();
        if has_metadata && !is_reset {
            let side = EntrySide {
                controller_metadata: entry.controller_metadata,
                metadata: entry.metadata.clone(),
                ..EntrySide::default()
            };
            self.side.defaults.insert(table.index, side);
        }
        Ok(())
    }

    fn insert_entry(
        &mut self,
        table: &TableInfo,
        entry: &TableEntry,
        (key, priority): (Vec<Match>, i32),
    ) -> Result<()> {
        self.check_direct(table, entry)?;
        let (does, one_shot) = self.does_or_makes(table, entry, 0)?;
        let mut new = Entry::new(key, priority, does);
        new.idle_timeout = microseconds(entry.idle_timeout_ns);
        new.used = self.now;
        match self.switch.insert(table.index, new) {
            Ok(handle) => self.settle(table, entry, handle, one_shot),
            Err(error) => {
                self.unmake(one_shot);
                Err(error.into())
            }
        }
    }

    fn modify_entry(
        &mut self,
        table: &TableInfo,
        entry: &TableEntry,
        handle: Handle,
    ) -> Result<()> {
        self.check_direct(table, entry)?;
        let one_shot = if entry.action.is_none() {
            // It keeps its action, with what was made for it.
            let side = self.side.entries.get_mut(&(table.index, handle));
            side.and_then(|side| side.one_shot.take())
        } else {
            // What was made for the old action goes when the new one is set.
            let side = self.side.entries.get(&(table.index, handle));
            let made = side.and_then(|side| side.one_shot.as_ref());
            let going = made.map_or(0, |made| made.members.len());
            let (does, one_shot) = self.does_or_makes(table, entry, going)?;
            if let Err(error) = self.switch.modify(table.index, handle, does) {
                self.unmake(one_shot);
                return Err(error.into());
            }
            one_shot
        };
        self.forget(table.index, handle);
        if table.has_timeout {
            let after = microseconds(entry.idle_timeout_ns);
            self.switch.set_idle_timeout(table.index, handle, after)?;
        }
        self.settle(table, entry, handle, one_shot)
    }

    /// Sets what an entry has besides key and action, all of which was checked before.
    fn settle(
        &mut self,
        table: &TableInfo,
        entry: &TableEntry,
        handle: Handle,
        one_shot: Option<OneShot>,
    ) -> Result<()> {
        let now = self.now;
        if self.switch.program().tables[table.index].meter.is_some() {
            let rates = entry.meter_config.as_ref().map(rates).transpose()?;
            self.switch
                .set_direct_meter(table.index, handle, rates, now)?;
        }
        if let Some(data) = &entry.counter_data {
            let count = count(data)?;
            self.switch.set_direct_counter(table.index, handle, count)?;
        }
        self.side.timeouts |= entry.idle_timeout_ns > 0;
        let side = EntrySide {
            controller_metadata: entry.controller_metadata,
            metadata: entry.metadata.clone(),
            idle_timeout_ns: entry.idle_timeout_ns,
            one_shot,
            idle_told: None,
        };
        self.side.entries.insert((table.index, handle), side);
        Ok(())
    }

    /// Errors: what an entry has besides key and action does not fit the table.
    fn check_direct(&self, table: &TableInfo, entry: &TableEntry) -> Result<()> {
        let row = &self.switch.program().tables[table.index];
        let has_timeout = entry.idle_timeout_ns > 0 || entry.time_since_last_hit.is_some();
        // Entries that the program fixes have none, whatever others of the table could have.
        let may_have = table.has_timeout && !table.is_const;
        if entry.idle_timeout_ns < 0 || has_timeout && !may_have {
            return Err(Refusal::invalid("the entries have no idle timeouts"));
        }
        no_colors(entry.meter_counter_data.is_some())?;
        if entry.meter_config.is_some() && row.meter.is_none() {
            return Err(Refusal::invalid("the table has no direct meter"));
        }
        if entry.counter_data.is_some() && !row.counters {
            return Err(Refusal::invalid("the table has no direct counter"));
        }
        entry.meter_config.as_ref().map(rates).transpose()?;
        entry.counter_data.as_ref().map(count).transpose()?;
        Ok(())
    }

    /// What the action of an entry does; of an action set, with what is made for it, for which
    /// `going` members make room.
    fn does_or_makes(
        &mut self,
        table: &TableInfo,
        entry: &TableEntry,
        going: usize,
    ) -> Result<(Does, Option<OneShot>)> {
        let action = entry.action.as_ref().and_then(|a| a.r#type.as_ref());
        match action.ok_or_else(|| Refusal::invalid("the entry has no action"))? {
            TableActionType::ActionProfileActionSet(set) => {
                let made = self.make(table, set, going)?;
                Ok((Does::Group(made.group), Some(made)))
            }
            action => Ok((self.does(table, action, false)?, None)),
        }
    }

    fn does(&self, table: &TableInfo, action: &TableActionType, default: bool) -> Result<Does> {
        match action {
            TableActionType::Action(action) => {
                let found = table.actions.get(&action.action_id);
                let absent = || {
                    let what = format!("{} has no action {}", table.name, action.action_id);
                    Refusal::invalid(what)
                };
                let found = found.ok_or_else(absent)?;
                let fits = match found.scope {
                    ActionRefScope::TableAndDefault => true,
                    ActionRefScope::TableOnly => !default,
                    ActionRefScope::DefaultOnly => default,
                    ActionRefScope::GroupAction => false,
                };
                if !fits {
                    return Err(Refusal::denied(
                        "the action is not for entries of this kind",
                    ));
                }
                Ok(Does::Action(found.index, self.action_data(action)?))
            }
            TableActionType::ActionProfileMemberId(id) => Ok(Does::Member(not_own(*id)?)),
            TableActionType::ActionProfileGroupId(id) => Ok(Does::Group(not_own(*id)?)),
            TableActionType::ActionProfileActionSet(_) => {
                Err(Refusal::invalid("an action set is not for this"))
            }
        }
    }

    /// Forgets what is kept of an entry, with what was made for it.
    fn forget(&mut self, table: usize, handle: Handle) {
        if let Some(side) = self.side.entries.remove(&(table, handle)) {
            self.unmake(side.one_shot);
        }
    }

    /// The entry that a direct counter or meter belongs to.
    fn direct_entry(&self, entry: Option<&TableEntry>) -> Result<(usize, Handle)> {
        let entry = entry.ok_or_else(|| Refusal::invalid("it has no table entry"))?;
        if entry.is_default_action {
            let what = "direct counters and meters of default entries are not there";
            return Err(Refusal::missing(what));
        }
        let table = self.info.table(entry.table_id)?;
        let key = parse_key(table, &entry.r#match)?;
        let handle = self.view().handle(table, key, priority(table, entry)?)?;
        let handle = handle.ok_or_else(|| Refusal::not_found("there is no such entry"))?;
        Ok((table.index, handle))
    }

    /// Sets a direct counter; without data, it stays. Errors: what does not fit.
    pub fn set_direct_counter(&mut self, counter: &DirectCounterEntry) -> Result<()> {
        let (table, handle) = self.direct_entry(counter.table_entry.as_ref())?;
        let Some(data) = &counter.data else {
            return Ok(());
        };
        Ok(self
            .switch
            .set_direct_counter(table, handle, count(data)?)?)
    }

    pub fn set_direct_meter(&mut self, meter: &DirectMeterEntry) -> Result<()> {
        no_colors(meter.counter_data.is_some())?;
        let (table, handle) = self.direct_entry(meter.table_entry.as_ref())?;
        let rates = meter.config.as_ref().map(rates).transpose()?;
        let now = self.now;
        Ok(self.switch.set_direct_meter(table, handle, rates, now)?)
    }
}

impl View<'_> {
    /// The entry of exactly this key and priority.
    pub fn handle(
        &self,
        table: &TableInfo,
        key: Vec<Match>,
        priority: i32,
    ) -> Result<Option<Handle>> {
        let found = self.switch.find(table.index, key.clone(), priority)?;
        if found.is_some() || priority == 0 {
            return Ok(found);
        }
        Ok(self
            .switch
            .find(table.index, key, priority.wrapping_sub(i32::MAX))?)
    }

    /// An entry as controllers see it. `asked` says which of its optional parts are wanted.
    pub fn show(
        &self,
        id: u32,
        table: &TableInfo,
        handle: Handle,
        asked: &TableEntry,
    ) -> TableEntry {
        let mut shown = self.show_key(id, table, handle);
        let Some(entry) = self.switch.entry(table.index, handle) else {
            return shown;
        };
        let side = self.side.entries.get(&(table.index, handle));
        shown.action = Some(match side.and_then(|side| side.one_shot.as_ref()) {
            Some(made) => self.show_set(made),
            None => self.show_does(&entry.does),
        });
        if let Some(side) = side {
            shown.controller_metadata = side.controller_metadata;
            shown.metadata = side.metadata.clone();
        }
        let row = &self.switch.program().tables[table.index];
        let written = side.map_or(0, |side| side.idle_timeout_ns);
        shown.idle_timeout_ns = if microseconds(written) == entry.idle_timeout {
            written
        } else {
            nanoseconds(entry.idle_timeout)
        };
        shown.is_const = row.const_entries;
        if asked.counter_data.is_some() && row.counters {
            let count = self.switch.direct_counter(table.index, handle);
            shown.counter_data = count.map(shown_count);
        }
        if asked.meter_config.is_some() {
            shown.meter_config = entry.meter.config().map(shown_rates);
        }
        if asked.time_since_last_hit.is_some() && table.has_timeout {
            let elapsed_ns = nanoseconds(self.now.saturating_sub(entry.used));
            shown.time_since_last_hit = Some(TableEntryIdleTimeout { elapsed_ns });
        }
        shown
    }

    /// What names an entry: table, key and priority.
    pub fn show_key(&self, table_id: u32, table: &TableInfo, handle: Handle) -> TableEntry {
        let entry = self.switch.entry(table.index, handle);
        let key = entry.map(|entry| write_key(table, &entry.key));
        // Entries of the program have priorities below 0: the first has the highest.
        let priority = entry.map_or(0, |entry| match entry.priority {
            _ if !self.switch.has_priorities(table.index) => 0,
            below @ ..0 => below + i32::MAX,
            above => above,
        });
        TableEntry {
            table_id,
            r#match: key.unwrap_or_default(),
            priority,
            ..TableEntry::default()
        }
    }

    /// The default entry as controllers see it.
    pub fn show_default(&self, table_id: u32, table: &TableInfo) -> TableEntry {
        let does = self.switch.default_of(table.index);
        let side = self.side.defaults.get(&table.index);
        TableEntry {
            table_id,
            action: does.map(|does| self.show_does(does)),
            controller_metadata: side.map_or(0, |side| side.controller_metadata),
            metadata: side.map_or_else(Vec::new, |side| side.metadata.clone()),
            is_default_action: true,
            ..TableEntry::default()
        }
    }

    fn show_does(&self, does: &Does) -> TableAction {
        let action = match does {
            Does::Action(action, data) => TableActionType::Action(self.show_action(*action, data)),
            Does::Member(id) => TableActionType::ActionProfileMemberId(*id),
            Does::Group(id) => TableActionType::ActionProfileGroupId(*id),
        };
        let r#type = Some(action);
        TableAction { r#type }
    }

    /// An action with its data as controllers see it.
    pub fn show_action(&self, action: usize, data: &[bofuss_p4::Int]) -> Action {
        let action_id = self.info.action_id(self.switch.program(), action);
        let params = self.info.actions.get(&action_id);
        let params = params.map_or(&[][..], |action| &action.params);
        let params = params.iter().zip(data);
        let params = params.map(|((id, _, width), value)| ActionParam {
            param_id: *id,
            value: canonical(value, *width),
        });
        Action {
            action_id,
            params: params.collect(),
        }
    }

    fn show_set(&self, made: &OneShot) -> TableAction {
        let members = self.switch.members(made.profile);
        let actions = made.members.iter().filter_map(|(id, weight)| {
            let (action, data) = members.get(id)?;
            Some(ActionProfileAction {
                action: Some(self.show_action(*action, data)),
                weight: *weight as i32,
                watch_kind: self
                    .watched(made.profile, made.group, *id)
                    .map(ActionProfileActionWatchKind::WatchPort),
            })
        });
        let set = ActionProfileActionSet {
            action_profile_actions: actions.collect(),
            ..ActionProfileActionSet::default()
        };
        let r#type = Some(TableActionType::ActionProfileActionSet(set));
        TableAction { r#type }
    }
}

/// Whether entries of a table need a priority.
pub fn needs_priority(table: &TableInfo) -> bool {
    table.fields.iter().any(|field| {
        matches!(
            field.kind,
            MatchKind::Ternary | MatchKind::Range | MatchKind::Optional
        )
    })
}

/// The priority of an entry. Errors: it needs one, or must not have one.
pub fn priority(table: &TableInfo, entry: &TableEntry) -> Result<i32> {
    let needs = needs_priority(table);
    if needs != (entry.priority > 0) || entry.priority < 0 {
        let what = if needs { "need a" } else { "have no" };
        let what = format!("entries of {} {what} priority", table.name);
        return Err(Refusal::invalid(what));
    }
    Ok(entry.priority)
}

fn microseconds(nanoseconds: i64) -> u64 {
    let nanoseconds = u64::try_from(nanoseconds).unwrap_or(0);
    nanoseconds.div_ceil(1000)
}
