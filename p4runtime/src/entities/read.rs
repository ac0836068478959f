//! Reads entities in steps, so that none takes the switch for long.

use bofuss_p4::Does;

use super::amounts::{no_colors, shown_count, shown_rates};
use super::cells::{Cell, arrays};
use super::keys::{parse_key, write_key};
use super::tables::{needs_priority, priority};
use super::{View, entity, no_externs};
use crate::error::{Refusal, Result};
use crate::info::{Info, TableInfo};
use crate::wire::entities::{
    DirectCounterEntry, DirectMeterEntry, Entity, EntityKind, Index, P4DataData,
    PacketReplicationEngineEntryType as Replication, TableActionType, TableEntry,
};

/// The most entities of a step.
const AT_ONCE: usize = 256;
/// The most places of a table that a step looks at: those of deleted entries are empty.
const PLACES_AT_ONCE: usize = 4096;

/// Which form the entries of a table are read in.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    Entry,
    Counter,
    Meter,
}

/// Something to read, and from where on.
#[derive(Clone, Debug)]
pub enum Step {
    /// The entries of a table that an entry asks for.
    Entries(u32, Form, Box<TableEntry>, usize),
    Members(u32, u32, u32),
    Groups(u32, u32, u32),
    /// Cells of an array, from the first to before the second.
    Cells(Cell, u32, usize, usize),
    Multicast(u32, u32),
    Sessions(u32, u32),
    ValueSets(u32),
    Digests(u32),
}

/// The steps in which an entity of a request is read. Errors: what it asks for is not there.
pub fn steps(info: &Info, asked: &Entity) -> Result<Vec<Step>> {
    let kind = asked.entity.as_ref();
    let kind = kind.ok_or_else(|| Refusal::invalid("the request has an entity without a type"))?;
    Ok(match kind {
        // All of them are none.
        EntityKind::ExternEntry(entry) if entry.extern_type_id == 0 => Vec::new(),
        EntityKind::ExternEntry(_) => return Err(no_externs()),
        EntityKind::TableEntry(entry) => entries(info, Form::Entry, entry)?,
        EntityKind::DirectCounterEntry(counter) => entries(
            info,
            Form::Counter,
            &counter.table_entry.clone().unwrap_or_default(),
        )?,
        EntityKind::DirectMeterEntry(meter) => {
            no_colors(meter.counter_data.is_some())?;
            let entry = meter.table_entry.clone().unwrap_or_default();
            entries(info, Form::Meter, &entry)?
        }
        EntityKind::ActionProfileMember(member) => {
            let ids = ids(info.profiles.keys(), member.action_profile_id)?;
            let steps = ids.into_iter();
            steps
                .map(|id| Step::Members(id, member.member_id, 0))
                .collect()
        }
        EntityKind::ActionProfileGroup(group) => {
            let ids = ids(info.profiles.keys(), group.action_profile_id)?;
            let steps = ids.into_iter();
            steps
                .map(|id| Step::Groups(id, group.group_id, 0))
                .collect()
        }
        EntityKind::CounterEntry(entry) => {
            let ids = ids(info.counters.keys(), entry.counter_id)?;
            cells(info, Cell::Counter, ids, entry.index)?
        }
        EntityKind::MeterEntry(entry) => {
            no_colors(entry.counter_data.is_some())?;
            let ids = ids(info.meters.keys(), entry.meter_id)?;
            cells(info, Cell::Meter, ids, entry.index)?
        }
        EntityKind::RegisterEntry(entry) => {
            let ids = ids(info.registers.keys(), entry.register_id)?;
            cells(info, Cell::Register, ids, entry.index)?
        }
        EntityKind::PacketReplicationEngineEntry(entry) => match &entry.r#type {
            Some(Replication::MulticastGroupEntry(group)) => {
                vec![Step::Multicast(group.multicast_group_id, 0)]
            }
            Some(Replication::CloneSessionEntry(session)) => {
                vec![Step::Sessions(session.session_id, 0)]
            }
            None => vec![Step::Multicast(0, 0), Step::Sessions(0, 0)],
        },
        EntityKind::ValueSetEntry(set) => vec![Step::ValueSets(set.value_set_id)],
        EntityKind::DigestEntry(digest) => vec![Step::Digests(digest.digest_id)],
    })
}

/// One id, or all if it is 0. Errors: it is not there.
fn ids<'a>(all: impl Iterator<Item = &'a u32>, id: u32) -> Result<Vec<u32>> {
    let ids: Vec<u32> = all
        .copied()
        .filter(|other| id == 0 || *other == id)
        .collect();
    if ids.is_empty() && id != 0 {
        return Err(Refusal::not_found(format!("there is no {id}")));
    }
    Ok(ids)
}

fn entries(info: &Info, form: Form, entry: &TableEntry) -> Result<Vec<Step>> {
    if entry.table_id == 0 && !entry.r#match.is_empty() {
        return Err(Refusal::invalid("a match needs its table"));
    }
    no_colors(entry.meter_counter_data.is_some())?;
    let ids = ids(info.tables.keys(), entry.table_id)?;
    let mut entry = entry.clone();
    if !matches!(form, Form::Entry) {
        // A counter or meter is that of a key and priority, whatever else the entry has.
        entry.action = None;
        entry.controller_metadata = 0;
        entry.metadata.clear();
    }
    let steps = ids.into_iter();
    Ok(steps
        .map(|id| Step::Entries(id, form, Box::new(entry.clone()), 0))
        .collect())
}

fn cells(info: &Info, cell: Cell, ids: Vec<u32>, index: Option<Index>) -> Result<Vec<Step>> {
    let arrays = arrays(info, cell);
    let steps = ids.into_iter().map(|id| {
        let array = &arrays[&id];
        let Some(index) = index else {
            return Ok(Step::Cells(cell, id, 0, array.size));
        };
        let index = array.cell(index)?;
        Ok(Step::Cells(cell, id, index, index + 1))
    });
    steps.collect()
}

impl View<'_> {
    /// Does a step. Returns what it read, and the step that reads the rest.
    pub fn read(&self, step: &Step) -> Result<(Vec<Entity>, Option<Step>)> {
        let more = |(read, last): (Vec<Entity>, u32), next: &dyn Fn(u32) -> Step| {
            let full = read.len() == AT_ONCE && last < u32::MAX;
            let next = full.then(|| next(last + 1));
            Ok((read, next))
        };
        match *step {
            Step::Entries(id, form, ref asked, from) => self.read_entries(id, form, asked, from),
            Step::Members(id, only, from) => {
                let next = |from| Step::Members(id, only, from);
                more(self.show_members(id, from, only, AT_ONCE), &next)
            }
            Step::Groups(id, only, from) => {
                let next = |from| Step::Groups(id, only, from);
                more(self.show_groups(id, from, only, AT_ONCE), &next)
            }
            Step::Multicast(only, from) => {
                let next = |from| Step::Multicast(only, from);
                more(self.show_multicast(from, only, AT_ONCE), &next)
            }
            Step::Sessions(only, from) => {
                let next = |from| Step::Sessions(only, from);
                more(self.show_sessions(from, only, AT_ONCE), &next)
            }
            Step::Cells(cell, id, from, to) => {
                let end = to.min(from + AT_ONCE);
                let cells = (from..end).filter_map(|index| self.show_cell(cell, id, index));
                let next = (end < to).then_some(Step::Cells(cell, id, end, to));
                Ok((cells.collect(), next))
            }
            Step::ValueSets(only) => Ok((self.show_value_sets(only), None)),
            Step::Digests(only) => Ok((self.show_digests(only), None)),
        }
    }

    fn read_entries(
        &self,
        id: u32,
        form: Form,
        asked: &TableEntry,
        from: usize,
    ) -> Result<(Vec<Entity>, Option<Step>)> {
        let table = self.info.table(id)?;
        let row = &self.switch.program().tables[table.index];
        let has_form = match form {
            Form::Entry => true,
            Form::Counter => row.counters,
            Form::Meter => row.meter.is_some(),
        };
        if !has_form {
            return match asked.table_id {
                0 => Ok((Vec::new(), None)),
                _ => Err(Refusal::invalid("the table has no such resource")),
            };
        }
        if asked.is_default_action {
            return Ok(match form {
                Form::Entry => {
                    let shown = Some(self.show_default(id, table));
                    let shown = shown.filter(|shown| fits(asked, shown));
                    let shown = shown.map(|shown| entity(EntityKind::TableEntry(shown)));
                    (shown.into_iter().collect(), None)
                }
                Form::Counter | Form::Meter => (Vec::new(), None),
            });
        }
        let key = match &asked.r#match[..] {
            [] => None,
            fields => Some(parse_key(table, fields)?),
        };
        // Without a priority, the entries of all that have this key are meant.
        let is_one = asked.priority != 0 || !needs_priority(table) || !matches!(form, Form::Entry);
        if let Some(key) = key.clone().filter(|_| is_one) {
            let handle = self.handle(table, key, priority(table, asked)?)?;
            let found = handle.filter(|handle| self.is_asked(id, table, asked, *handle));
            if found.is_none() && !matches!(form, Form::Entry) {
                return Err(Refusal::not_found("there is no such entry"));
            }
            let shown = found.map(|handle| self.show_as(id, form, asked, handle));
            return Ok((shown.into_iter().collect(), None));
        }
        let all = self.switch.entries_end(table.index);
        let end = all.min(from + PLACES_AT_ONCE);
        let entries = self.switch.entries_within(table.index, from..end);
        let handles: Vec<usize> = entries.take(AT_ONCE).map(|(handle, _)| handle).collect();
        let last = handles.last().filter(|_| handles.len() == AT_ONCE);
        let next = last.map_or(end, |last| last + 1);
        let next = (next < all).then(|| Step::Entries(id, form, Box::new(asked.clone()), next));
        let key = key.map(|key| write_key(table, &key));
        let has_key = |handle| {
            let mut keys = key.iter();
            keys.all(|key| self.show_key(id, table, handle).r#match == *key)
        };
        let shown = handles
            .into_iter()
            .filter(|handle| has_key(*handle) && self.is_asked(id, table, asked, *handle));
        let shown = shown.map(|handle| self.show_as(id, form, asked, handle));
        Ok((shown.collect(), next))
    }

    /// Whether an entry has what is asked for: the priority, the id of the action, and the metadata
    /// of both kinds. What is not set does not count.
    fn is_asked(&self, id: u32, table: &TableInfo, asked: &TableEntry, handle: usize) -> bool {
        let filters = action_id(asked).is_some()
            || asked.priority != 0
            || asked.controller_metadata != 0
            || !asked.metadata.is_empty();
        // Most reads are not filtered, and show the entry only once.
        !filters || fits(asked, &self.show(id, table, handle, &TableEntry::default()))
    }

    fn show_as(&self, id: u32, form: Form, asked: &TableEntry, handle: usize) -> Entity {
        let table = &self.info.tables[&id];
        if matches!(form, Form::Entry) {
            return entity(EntityKind::TableEntry(self.show(id, table, handle, asked)));
        }
        let entry = self.switch.entry(table.index, handle);
        let table_entry = Some(self.show_key(id, table, handle));
        entity(match form {
            Form::Entry | Form::Counter => EntityKind::DirectCounterEntry(DirectCounterEntry {
                table_entry,
                data: self
                    .switch
                    .direct_counter(table.index, handle)
                    .map(shown_count),
            }),
            Form::Meter => EntityKind::DirectMeterEntry(DirectMeterEntry {
                table_entry,
                config: entry
                    .and_then(|entry| entry.meter.config())
                    .map(shown_rates),
                counter_data: None,
            }),
        })
    }

    /// All that controllers have written, in an order in which it can be written again: members,
    /// groups, entries that the program does not have, default entries that it has otherwise, value
    /// sets, multicast groups, clone sessions, digests, counters, meters and registers.
    pub fn written(&self) -> Result<Vec<Entity>> {
        let full = TableEntry {
            counter_data: Some(Default::default()),
            meter_config: Some(Default::default()),
            ..TableEntry::default()
        };
        let full = Box::new(full);
        let mut steps = Vec::new();
        for id in self.info.profiles.keys() {
            steps.extend([Step::Members(*id, 0, 0), Step::Groups(*id, 0, 0)]);
        }
        for (id, table) in &self.info.tables {
            let row = &self.switch.program().tables[table.index];
            if !row.const_entries && row.entries.is_empty() {
                steps.push(Step::Entries(*id, Form::Entry, full.clone(), 0));
            }
        }
        steps.extend([
            Step::ValueSets(0),
            Step::Multicast(0, 0),
            Step::Sessions(0, 0),
        ]);
        steps.push(Step::Digests(0));
        for cell in [Cell::Counter, Cell::Meter, Cell::Register] {
            for (id, array) in arrays(self.info, cell) {
                steps.push(Step::Cells(cell, *id, 0, array.size));
            }
        }
        let mut all = Vec::new();
        for step in steps {
            let mut next = Some(step);
            while let Some(step) = next {
                let (read, rest) = self.read(&step)?;
                all.extend(read.into_iter().filter(is_set));
                next = rest;
            }
        }
        for (id, table) in &self.info.tables {
            let row = &self.switch.program().tables[table.index];
            let program = row.default.clone();
            let program = program.map(|(action, data)| Does::Action(action, data));
            let has_metadata = self.side.defaults.contains_key(&table.index);
            if has_metadata || self.switch.default_of(table.index) != program.as_ref() {
                all.push(entity(EntityKind::TableEntry(
                    self.show_default(*id, table),
                )));
            }
        }
        Ok(all)
    }
}

/// The id of the action of an entry; `None` if it has none, or a member, a group or a set.
fn action_id(entry: &TableEntry) -> Option<u32> {
    let action = entry.action.as_ref()?.r#type.as_ref()?;
    let TableActionType::Action(action) = action else {
        return None;
    };
    Some(action.action_id).filter(|id| *id != 0)
}

/// Whether an entry has what is asked for. What is not set does not count.
fn fits(asked: &TableEntry, shown: &TableEntry) -> bool {
    let wanted = action_id(asked);
    let cookie = asked.controller_metadata;
    (wanted.is_none() || action_id(shown) == wanted)
        && (asked.priority == 0 || shown.priority == asked.priority)
        && (cookie == 0 || shown.controller_metadata == cookie)
        && (asked.metadata.is_empty() || shown.metadata == asked.metadata)
}

/// Whether a cell is not as it is at first; true for all else.
fn is_set(entity: &Entity) -> bool {
    match &entity.entity {
        Some(EntityKind::CounterEntry(entry)) => entry.data != Some(Default::default()),
        Some(EntityKind::MeterEntry(entry)) => entry.config.is_some(),
        Some(EntityKind::RegisterEntry(entry)) => {
            let data = entry.data.as_ref().and_then(|data| data.data.as_ref());
            !matches!(data, Some(P4DataData::Bitstring(bytes)) if **bytes == [0])
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use bofuss_p4::{Entry, Int, Match, Switch};

    use super::*;
    use crate::pipeline::Pipeline;
    use crate::side::Side;

    #[test]
    fn a_step_looks_at_some_places_of_a_table_also_if_they_are_empty() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/p4/controlled");
        let read = |end: &str| std::fs::read_to_string(format!("{folder}/controlled.{end}"));
        let json = read("json").expect("it is there");
        let json = json.replace("\"max_size\" : 1024", "\"max_size\" : 8192");
        let p4info = read("p4info.txt").expect("it is there");
        let pipeline = Pipeline::new(&p4info, json.into()).expect("they fit");
        let mut switch = Switch::new(pipeline.program().expect("it is right"), 0);
        let mut tables = pipeline.info.tables.iter();
        let longest = tables.find(|(_, table)| table.name == "MyIngress.longest");
        let (id, table) = longest.expect("it has the table");
        let action = switch.action_of(table.index, "MyIngress.drop");
        let does = Does::Action(action.expect("it has the action"), Vec::new());
        let last = PLACES_AT_ONCE as u32 + 1;
        for value in 0..=last {
            let key = vec![Match::Lpm(Int::from(value), 32)];
            let entry = Entry::new(key, 0, does.clone());
            switch.insert(table.index, entry).expect("there is room");
        }
        for handle in 0..last as usize {
            switch.delete(table.index, handle).expect("it is there");
        }
        let view = View {
            switch: &switch,
            side: &Side::default(),
            info: &pipeline.info,
            now: 0,
        };
        let step = Step::Entries(*id, Form::Entry, Box::default(), 0);
        let (none, rest) = view.read(&step).expect("the table is there");
        let (one, end) = view.read(&rest.expect("there is more")).expect("likewise");
        assert_eq!((none.len(), one.len(), end.is_none()), (0, 1, true));
    }
}
