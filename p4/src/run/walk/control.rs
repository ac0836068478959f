//! The two controls: tables and conditions.

use alloc::format;
use alloc::vec::Vec;

use super::Walk;
use crate::int::Int;
use crate::key::Key;
use crate::program::{Data, KeyPart, Next, Node, Table};
use crate::run::eval::View;
use crate::run::sink::Sink;
use crate::show::shortened;
use crate::table::{Does, Handle};

/// Returns true if a part of a key is a field of a header that is not valid. As in bmv2, it counts
/// as 0 then, whatever the field had before.
fn is_absent(view: &View<'_>, part: &KeyPart) -> bool {
    matches!(part.value, Data::Field(id) if !view.phv.valid[view.program.fields[id].header])
}

/// What is compared with a part of the keys of entries.
fn key_value(view: &View<'_>, part: &KeyPart) -> Int {
    if is_absent(view, part) {
        return Int::ZERO;
    }
    let value = view.data(&part.value).wrapped(part.width);
    match &part.mask {
        Some(mask) => value.and(mask),
        None => value,
    }
}

/// Fills a key with what a table looks up; with all values if the table compares these.
fn fill_key(view: &View<'_>, table: &Table, compares: bool, key: &mut Key) {
    let mut at = 0;
    key.begin(&table.key);
    for part in &table.key {
        let is_short = !compares && part.mask.is_none() && (1..=64).contains(&part.width);
        let word = if !is_short {
            None
        } else if is_absent(view, part) {
            Some(0)
        } else {
            view.word(&part.value)
        };
        if let Some(word) = word {
            at = key.push_word(word as u64, part.width, at);
            continue;
        }
        let value = key_value(view, part);
        at = key.push(&value, part.width, at);
        if compares {
            key.values.push(value);
        }
    }
}

impl<S: Sink> Walk<'_, S> {
    /// Goes through a control from `start` to its end, or to an exit.
    pub(super) fn control(&mut self, start: Node) {
        let program = self.program;
        let mut next = start;
        while !self.packet.exit && self.step() {
            next = match next {
                Node::End => break,
                Node::Condition(id) => {
                    let condition = &program.conditions[id];
                    let holds = self.view(&[], &[]).cond(&condition.cond);
                    self.trace(1, |walk| {
                        let text = crate::show::cond(program, &walk.packet.phv, &condition.cond);
                        format!("condition {} is {holds}: {text}", condition.name)
                    });
                    if holds { condition.yes } else { condition.no }
                }
                Node::Table(id) => self.table(id),
            };
        }
    }

    /// Applies a table. Returns what is next.
    fn table(&mut self, id: usize) -> Node {
        let table = &self.program.tables[id];
        let hit = self.find_entry(id, table);
        let state = &mut self.state.tables[id];
        state.lookups += 1;
        state.hits += u64::from(hit.is_some());
        if let Some(handle) = hit {
            self.count_hit(id, table, handle);
        }
        let mut data = core::mem::take(&mut self.state.scratch.parameters);
        let action = self.bind(id, table, hit, &mut data);
        self.trace_table(id, table, hit, action.map(|action| (action, &*data)));
        if let Some(action) = action {
            self.primitives(&self.program.actions[action].body, &data);
        }
        self.state.scratch.parameters = data;
        match &table.next {
            Next::Hit(hit_next, miss_next) => match hit {
                Some(_) => *hit_next,
                None => *miss_next,
            },
            Next::Action(nodes) => {
                let place = action.and_then(|id| table.actions.iter().position(|a| *a == id));
                place.map_or(table.base_next, |place| nodes[place])
            }
        }
    }

    fn find_entry(&mut self, id: usize, table: &Table) -> Option<Handle> {
        if table.key.is_empty() || self.state.tables[id].is_empty() {
            return None;
        }
        let mut key = core::mem::take(&mut self.state.scratch.key);
        let compares = self.state.tables[id].compares();
        fill_key(&self.view(&[], &[]), table, compares, &mut key);
        let found = self.state.tables[id].lookup(&mut key);
        self.state.scratch.key = key;
        found
    }

    /// Direct counter, direct meter and the time of an entry that a packet hits.
    fn count_hit(&mut self, id: usize, table: &Table, handle: Handle) {
        // As in bmv2, the bytes that arrived count, whichever headers are valid.
        let (now, length) = (self.now, self.packet.frame.len());
        let state = &mut self.state.tables[id];
        state.count_mut(handle).add(length);
        if !table.timeout && table.meter.is_none() {
            return;
        }
        let Some(entry) = state.get_mut(handle) else {
            return;
        };
        entry.used = now;
        if let Some((meter, field)) = table.meter {
            let units = if self.program.meters[meter].bytes {
                length as u64
            } else {
                1
            };
            let color = entry.meter.execute(units, now);
            self.packet
                .phv
                .set(self.program, field, &Int::Small(color as i128));
        }
    }

    /// The action that an entry stands for, or the default without one, whose data overwrite
    /// `parameters`; `None` if its member is not there.
    fn bind(
        &self,
        id: usize,
        table: &Table,
        hit: Option<Handle>,
        parameters: &mut Vec<Int>,
    ) -> Option<usize> {
        let state = &self.state.tables[id];
        if let Some((action, words)) = hit.and_then(|handle| state.action(handle)) {
            parameters.clear();
            parameters.extend(words.iter().map(|word| Int::Small((*word).into())));
            return Some(action);
        }
        let does = match hit {
            Some(handle) => &state.get(handle)?.does,
            None => state.default.as_ref()?,
        };
        let member = match does {
            Does::Action(action, data) => {
                parameters.clone_from(data);
                return Some(*action);
            }
            Does::Member(member) => *member,
            Does::Group(group) => self.choose(table, *group)?.1,
        };
        let profile = &self.state.profiles[table.profile?];
        let (action, data) = profile.members().get(&member)?;
        parameters.clone_from(data);
        Some(*action)
    }

    /// The hash of the packet for a group of a table's profile, and the member that it chooses;
    /// `None` if there is none to choose.
    fn choose(&self, table: &Table, group: u32) -> Option<(u64, u32)> {
        let profile = table.profile?;
        let selector = self.program.profiles[profile].selector.as_ref()?;
        let input = self.packet.input(self.program, &selector.input, Vec::new());
        let hash = selector.algorithm.compute(&input, 0);
        let member = self.state.profiles[profile].choose(group, hash)?;
        Some((hash, member))
    }

    fn trace_table(
        &mut self,
        id: usize,
        table: &Table,
        hit: Option<Handle>,
        bound: Option<(usize, &[Int])>,
    ) {
        if !self.sink.traces() {
            return;
        }
        let program = self.program;
        let state = &self.state.tables[id];
        let action = bound.map_or_else(
            || "no action".into(),
            |(action, data)| shortened(crate::show::action(program, action, data)),
        );
        let view = self.view(&[], &[]);
        let values: Vec<Int> = table
            .key
            .iter()
            .map(|part| key_value(&view, part))
            .collect();
        let key = shortened(crate::show::key(table, &values));
        let text = match hit {
            Some(handle) => format!("table {}: {key} hits entry {handle}: {action}", table.name),
            None if table.key.is_empty() => format!("table {}: {action}", table.name),
            None => format!("table {}: {key} misses: {action}", table.name),
        };
        let near = match hit {
            Some(_) => None,
            None => crate::show::near_miss(table, state, &values).map(shortened),
        };
        let does = match hit {
            Some(handle) => state.get(handle).map(|entry| &entry.does),
            None => state.default.as_ref(),
        };
        let chosen = match does {
            Some(Does::Group(group)) => Some(match self.choose(table, *group) {
                Some((hash, member)) => {
                    format!("group {group}: hash {hash:#x} chooses member {member}")
                }
                None => format!("group {group}: no member can be chosen"),
            }),
            Some(Does::Member(member)) => Some(format!("member {member}")),
            Some(Does::Action(..)) | None => None,
        };
        self.sink.step(1, text);
        for text in [near, chosen].into_iter().flatten() {
            self.sink.step(2, text);
        }
    }
}
