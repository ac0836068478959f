//! Flow-mods: add, modify, delete. Spec: OpenFlow 1.3.5 section 6.4.

use alloc::{rc::Rc, vec::Vec};
use core::cmp::Reverse;

use bofuss_oflib::ErrorCode;
use bofuss_oflib::PortNo;
use bofuss_oflib::error::FlowModFailed;
use bofuss_oflib::message::multipart::FlowStatsRequest;
use bofuss_oflib::message::{FlowMod, FlowModCommand, FlowModFlags, FlowRemovedReason};
use bofuss_oflib::types::{GroupId, TableId};
use bofuss_packet::KeyMatch;

use crate::fast::slab::NONE;
use crate::{Datapath, Entry, EntryKey, Sink, Time};

/// Which entries a request is about: all that its match covers, filtered.
pub struct Filter {
    rule: KeyMatch,
    cookie: u64,
    cookie_mask: u64,
    out_port: PortNo,
    out_group: GroupId,
}

impl From<&FlowStatsRequest> for Filter {
    fn from(request: &FlowStatsRequest) -> Self {
        Self {
            rule: KeyMatch::from(&request.fields),
            cookie: request.cookie,
            cookie_mask: request.cookie_mask,
            out_port: request.out_port,
            out_group: request.out_group,
        }
    }
}

impl Filter {
    fn of(flow_mod: &FlowMod) -> Self {
        let delete = flow_mod.command == FlowModCommand::DELETE
            || flow_mod.command == FlowModCommand::DELETE_STRICT;
        Self {
            rule: KeyMatch::from(&flow_mod.fields),
            cookie: flow_mod.cookie,
            cookie_mask: flow_mod.cookie_mask,
            out_port: if delete {
                flow_mod.out_port
            } else {
                PortNo::ANY
            },
            out_group: if delete {
                flow_mod.out_group
            } else {
                GroupId::ANY
            },
        }
    }

    /// Whether the cookie and the outputs are those asked for.
    fn passes(&self, entry: &Entry) -> bool {
        entry.cookie & self.cookie_mask == self.cookie & self.cookie_mask
            && entry.outputs_to(self.out_port, self.out_group)
    }

    /// Whether the entry is asked for.
    pub fn selects(&self, entry: &Entry) -> bool {
        self.rule.covers(&entry.rule) && self.passes(entry)
    }
}

impl Datapath {
    /// Carries out a flow-mod, or changes nothing.
    ///
    /// Errors: FLOW_MOD_FAILED with BAD_TABLE_ID, BAD_COMMAND, BAD_FLAGS, OVERLAP or TABLE_FULL, or
    /// what the instructions deserve.
    pub fn flow_mod<S: Sink>(
        &mut self,
        now: Time,
        flow_mod: &FlowMod,
        sink: &mut S,
    ) -> Result<(), ErrorCode> {
        let all = flow_mod.table_id == TableId::ALL;
        let delete = matches!(
            flow_mod.command,
            FlowModCommand::DELETE | FlowModCommand::DELETE_STRICT
        );
        let there = self.has_table(flow_mod.table_id) || all && delete;
        if !there {
            return Err(FlowModFailed::BAD_TABLE_ID);
        }
        if flow_mod.flags.0 & !FlowModFlags::ALL.0 != 0 {
            return Err(FlowModFailed::BAD_FLAGS);
        }
        self.check_features(flow_mod)?;
        if !delete {
            let strict = !flow_mod.flags.has(FlowModFlags::ANY_HEADER);
            let known = strict.then_some(&flow_mod.fields);
            self.check_instructions(flow_mod.table_id, known, &flow_mod.instructions)?;
        }
        match flow_mod.command {
            FlowModCommand::ADD => return self.add(now, flow_mod),
            FlowModCommand::MODIFY => return self.modify(now, flow_mod, false),
            FlowModCommand::MODIFY_STRICT => return self.modify(now, flow_mod, true),
            FlowModCommand::DELETE => self.delete(now, flow_mod, false, sink),
            FlowModCommand::DELETE_STRICT => self.delete(now, flow_mod, true, sink),
            _ => return Err(FlowModFailed::BAD_COMMAND),
        }
        Ok(())
    }

    fn add(&mut self, now: Time, flow_mod: &FlowMod) -> Result<(), ErrorCode> {
        let number = flow_mod.table_id;
        let table = &self.tables[usize::from(number.0)];
        let rule = KeyMatch::from(&flow_mod.fields);
        if flow_mod.flags.has(FlowModFlags::CHECK_OVERLAP) {
            let mut same = table.entries(EntryKey::FIRST);
            let overlaps =
                |e: &Entry| e.key.priority.0 == flow_mod.priority && e.rule.overlaps(&rule);
            if same.any(|(_, entry)| overlaps(entry)) {
                return Err(FlowModFailed::OVERLAP);
            }
        }
        let old = table.find(flow_mod.priority, &rule);
        let full = table.len() >= self.max_entries(number)
            || self.n_entries >= self.config.max_total_entries as usize;
        if old.is_none() && full {
            return Err(FlowModFailed::TABLE_FULL);
        }
        let later = !flow_mod.flags.has(FlowModFlags::FIRST);
        let mut entry = Entry {
            key: EntryKey {
                priority: Reverse(flow_mod.priority),
                serial: u64::from(later) << 63 | self.next_serial,
                slot: NONE,
            },
            rule,
            instructions: Rc::new(flow_mod.instructions.clone()),
            cookie: flow_mod.cookie,
            flags: flow_mod.flags,
            idle_timeout: flow_mod.idle_timeout,
            hard_timeout: flow_mod.hard_timeout,
            created: now,
            used: now,
            due: Time::NEVER,
            next: NONE,
            packets: 0,
            bytes: 0,
        };
        if let Some(old) = old.and_then(|key| self.take_entry(number, key))
            && !flow_mod.flags.has(FlowModFlags::RESET_COUNTS)
        {
            (entry.packets, entry.bytes) = (old.packets, old.bytes);
        }
        self.next_serial += 1;
        self.refer(&entry.instructions, true);
        let key = self.tables[usize::from(number.0)].insert(entry);
        self.entry_added(number, key);
        self.n_entries += 1;
        self.set_deadline(number, key);
        Ok(())
    }

    /// The entries of one table, or of all, that a modify or delete is about.
    fn selected(&self, flow_mod: &FlowMod, strict: bool) -> Vec<(TableId, EntryKey)> {
        let filter = Filter::of(flow_mod);
        let mut found = Vec::new();
        for (number, table) in (0..).map(TableId).zip(&self.tables) {
            if flow_mod.table_id != number && flow_mod.table_id != TableId::ALL {
                continue;
            }
            if strict {
                let key = table.find(flow_mod.priority, &filter.rule);
                let key = key.filter(|key| table.get(*key).is_some_and(|e| filter.passes(e)));
                found.extend(key.map(|key| (number, key)));
            } else {
                let entries = table.entries(EntryKey::FIRST);
                let selected = entries.filter(|(_, entry)| filter.selects(entry));
                found.extend(selected.map(|(key, _)| (number, key)));
            }
        }
        found
    }

    fn modify(&mut self, now: Time, flow_mod: &FlowMod, strict: bool) -> Result<(), ErrorCode> {
        let instructions = Rc::new(flow_mod.instructions.clone());
        let selected = self.selected(flow_mod, strict);
        let reset = flow_mod.flags.has(FlowModFlags::RESET_COUNTS);
        if selected.is_empty() && flow_mod.flags.has(FlowModFlags::OR_ADD) {
            return self.add(now, flow_mod);
        }
        for (table, key) in selected {
            self.entry_gone(table, key);
            let table = &mut self.tables[usize::from(table.0)];
            let Some(before) = table.set_instructions(key, &instructions) else {
                continue;
            };
            if let (true, Some(entry)) = (reset, table.get_mut(key)) {
                (entry.packets, entry.bytes) = (0, 0);
            }
            self.refer(&before, false);
            self.refer(&instructions, true);
        }
        Ok(())
    }

    fn delete<S: Sink>(&mut self, now: Time, flow_mod: &FlowMod, strict: bool, sink: &mut S) {
        for (table, key) in self.selected(flow_mod, strict) {
            self.remove_entry(now, table, key, FlowRemovedReason::DELETE, sink);
        }
    }

    /// Removes the entries of all tables that something is true of.
    pub(crate) fn remove_entries<S: Sink>(
        &mut self,
        now: Time,
        reason: FlowRemovedReason,
        goes: impl Fn(&Entry) -> bool,
        sink: &mut S,
    ) {
        let mut found = Vec::new();
        for (number, table) in (0..).map(TableId).zip(&self.tables) {
            let entries = table
                .entries(EntryKey::FIRST)
                .filter(|(_, entry)| goes(entry));
            found.extend(entries.map(|(key, _)| (number, key)));
        }
        for (table, key) in found {
            self.remove_entry(now, table, key, reason, sink);
        }
    }
}
