//! Flow-mods: add, modify, delete. Spec: OpenFlow 1.3.5 section 6.4.

use alloc::rc::Rc;

use bofuss_oflib::error::FlowModFailed;
use bofuss_oflib::instruction::Instructions;
use bofuss_oflib::message::multipart::FlowStatsRequest;
use bofuss_oflib::message::{FlowMod, FlowModCommand, FlowModFlags, FlowRemovedReason};
use bofuss_oflib::types::{GroupId, TableId};
use bofuss_oflib::{ErrorCode, PortNo};
use bofuss_packet::{KeyMask, KeyMatch};

use crate::control::Control;
use crate::control::bulk_change::{BulkChange, EntryChange};
use crate::control::entries::EntryEdit;
use crate::frame_engine::FrameEngine;
use crate::references::outputs_to;
#[cfg(feature = "spare")]
use crate::tables::spare_rows;
use crate::{Entry, EntryKey, Label, Sink, Table};

/// The entries that a request selects: all that its match covers, filtered by cookie and outputs.
#[derive(Clone)]
pub struct Filter {
    rule: KeyMatch,
    /// The same for entries with the flag ONE_TAG, if there may be any.
    behind_one_tag: Option<KeyMatch>,
    cookie: u64,
    cookie_mask: u64,
    out_port: PortNo,
    out_group: GroupId,
}

impl From<&FlowStatsRequest> for Filter {
    fn from(request: &FlowStatsRequest) -> Self {
        Self {
            rule: KeyMatch::from(&request.fields),
            behind_one_tag: Some(KeyMatch::behind_one_tag(&request.fields, None)),
            cookie: request.cookie,
            cookie_mask: request.cookie_mask,
            out_port: request.out_port,
            out_group: request.out_group,
        }
    }
}

impl Filter {
    /// The filter of a flow-mod for all of these tables.
    fn of(flow_mod: &FlowMod, tables: &[Table]) -> Self {
        let (out_port, out_group) = if flow_mod.deletes() {
            (flow_mod.out_port, flow_mod.out_group)
        } else {
            (PortNo::ANY, GroupId::ANY)
        };
        let known = tables.first().and_then(|table| table.last_mask.as_ref());
        let skips_one_tag = tables.iter().any(|table| table.has_entries_behind(true));
        Self {
            rule: KeyMatch::new(&flow_mod.fields, known),
            behind_one_tag: skips_one_tag
                .then(|| KeyMatch::behind_one_tag(&flow_mod.fields, known)),
            cookie: flow_mod.cookie,
            cookie_mask: flow_mod.cookie_mask,
            out_port,
            out_group,
        }
    }

    /// Returns true if an entry's cookie and outputs are those requested.
    fn passes(&self, entry: &Entry) -> bool {
        entry.cookie & self.cookie_mask == self.cookie & self.cookie_mask
            && entry.outputs_to(self.out_port, self.out_group)
    }

    /// A label that all selected entries have, if there is one.
    pub fn label(&self) -> Option<Label> {
        if self.cookie_mask == u64::MAX && self.cookie != 0 {
            Some(Label::Cookie(self.cookie))
        } else if self.out_group != GroupId::ANY {
            Some(Label::Group(self.out_group))
        } else {
            (self.out_port != PortNo::ANY).then_some(Label::Port(self.out_port))
        }
    }

    /// Returns true if an entry is selected.
    pub fn selects(&self, entry: &Entry) -> bool {
        self.covers(entry) && self.passes(entry)
    }

    /// Returns true if an entry's match is within the requested one.
    fn covers(&self, entry: &Entry) -> bool {
        let rule = if entry.flags().has(FlowModFlags::ONE_TAG) {
            self.behind_one_tag.as_ref()
        } else {
            Some(&self.rule)
        };
        rule.is_some_and(|rule| rule.covers(&entry.rule))
    }

    /// Returns true if an entry is selected now or was with its former instructions.
    pub fn selects_either(&self, entry: &Entry, before: &Instructions) -> bool {
        let has_cookie = entry.cookie & self.cookie_mask == self.cookie & self.cookie_mask;
        let outputs = outputs_to(before, self.out_port, self.out_group);
        self.selects(entry) || self.covers(entry) && has_cookie && outputs
    }

    /// The entry with exactly this match and priority, whether or not it has the flag ONE_TAG.
    fn find(&self, table: &Table, priority: u16) -> Option<EntryKey> {
        let found = table.find(priority, &self.rule);
        found.or_else(|| table.find(priority, self.behind_one_tag.as_ref()?))
    }
}

/// The match of the entry that a flow-mod adds.
pub(super) fn rule_of(flow_mod: &FlowMod, known: Option<&Rc<KeyMask>>) -> KeyMatch {
    if flow_mod.flags.has(FlowModFlags::ONE_TAG) {
        KeyMatch::behind_one_tag(&flow_mod.fields, known)
    } else {
        KeyMatch::new(&flow_mod.fields, known)
    }
}

impl<S: Sink, E: FrameEngine> Control<'_, S, E> {
    /// Executes a flow-mod, or changes nothing.
    ///
    /// Errors: FLOW_MOD_FAILED with BAD_TABLE_ID, BAD_COMMAND, BAD_FLAGS, OVERLAP or TABLE_FULL, or
    /// an error of its instructions.
    pub fn flow_mod(&mut self, flow_mod: &FlowMod) -> Result<(), ErrorCode> {
        let all = flow_mod.table_id == TableId::ALL;
        let delete = flow_mod.deletes();
        let there = self.cx.pipeline.shape.has_table(flow_mod.table_id) || all && delete;
        if !there {
            return Err(FlowModFailed::BAD_TABLE_ID);
        }
        if flow_mod.flags.0 & !FlowModFlags::ALL.0 != 0 {
            return Err(FlowModFailed::BAD_FLAGS);
        }
        self.cx.pipeline.shape.check(flow_mod)?;
        #[cfg(feature = "spare")]
        spare_rows::check_match(&flow_mod.fields, &self.cx.pipeline.catalogue)?;
        if !delete {
            let strict = !flow_mod.flags.has(FlowModFlags::ANY_HEADER);
            let known = strict.then_some(&flow_mod.fields);
            let checker = self.checker();
            checker.instructions(flow_mod.table_id, known, &flow_mod.instructions)?;
            self.hook_calls().admit(flow_mod)?;
        }
        let flags = flow_mod.flags;
        let change = match flow_mod.command {
            FlowModCommand::ADD if flags.has(FlowModFlags::CHECK_OVERLAP) => {
                EntryChange::Add(flow_mod.clone().into())
            }
            FlowModCommand::ADD => return self.add_entry(flow_mod),
            FlowModCommand::MODIFY | FlowModCommand::MODIFY_STRICT
                if !self.have_room(0, &flow_mod.instructions) =>
            {
                return Err(FlowModFailed::TABLE_FULL);
            }
            FlowModCommand::MODIFY | FlowModCommand::MODIFY_STRICT => EntryChange::Modify {
                instructions: flow_mod.instructions.clone(),
                reset: flags.has(FlowModFlags::RESET_COUNTS),
                or_add: flags
                    .has(FlowModFlags::OR_ADD)
                    .then(|| flow_mod.clone().into()),
            },
            FlowModCommand::DELETE | FlowModCommand::DELETE_STRICT => {
                EntryChange::Delete(FlowRemovedReason::DELETE, true)
            }
            _ => return Err(FlowModFailed::BAD_COMMAND),
        };
        let table = flow_mod.table_id;
        let filter = Filter::of(flow_mod, self.cx.pipeline.tables_named(table));
        let priority = flow_mod.priority;
        let bulk = match flow_mod.command {
            FlowModCommand::ADD => {
                let rule = rule_of(flow_mod, None);
                BulkChange::new(
                    table,
                    move |e| e.key.priority.0 == priority && e.rule.overlaps(&rule),
                    change,
                )
            }
            FlowModCommand::MODIFY | FlowModCommand::DELETE => {
                let label = filter.label();
                BulkChange::new(table, move |e| filter.selects(e), change).of(label)
            }
            _ => return self.change_same(table, priority, &filter, change),
        };
        self.begin_bulk_change(bulk)
    }

    /// Changes the entries of exactly this priority and match, in one table or in all.
    fn change_same(
        &mut self,
        wanted: TableId,
        priority: u16,
        filter: &Filter,
        change: EntryChange,
    ) -> Result<(), ErrorCode> {
        let mut found = false;
        let numbers = match wanted {
            TableId::ALL => 0..self.cx.pipeline.config.n_tables,
            TableId(one) => one..one + 1,
        };
        for number in numbers.map(TableId) {
            let table = &self.cx.pipeline.tables[usize::from(number.0)];
            let passes = |key: &EntryKey| table.get(*key).is_some_and(|one| filter.passes(one));
            if let Some(key) = filter.find(table, priority).filter(passes) {
                self.change_entry(number, key, &change)?;
                found = true;
            }
        }
        self.end_change(change, found)
    }

    /// Returns true if there is room for so many more entries, and for these instructions.
    fn have_room(&self, more: usize, body: &Instructions) -> bool {
        let places = self.cx.pipeline.entry_places
            + self.cx.pipeline.instructions.places
            + self.cx.pipeline.instructions.more_places(body);
        let bundle = self.changes.bundle.as_ref();
        let goes = bundle.map_or(0, |bundle| bundle.n_doomed);
        places + more <= self.cx.pipeline.config.max_total_entries as usize + goes
    }

    /// Adds an entry. It replaces an identical entry, if there is any, or that which a full table
    /// evicts; finding that may take several slices.
    ///
    /// Errors: FLOW_MOD_FAILED/TABLE_FULL.
    pub(crate) fn add_entry(&mut self, flow_mod: &FlowMod) -> Result<(), ErrorCode> {
        let number = flow_mod.table_id;
        let table = &self.cx.pipeline.tables[usize::from(number.0)];
        let rule = rule_of(flow_mod, table.last_mask.as_ref());
        let old = table.find(flow_mod.priority, &rule).or_else(|| {
            if !table.has_entries_behind(!flow_mod.flags.has(FlowModFlags::ONE_TAG)) {
                return None;
            }
            let filter = Filter::of(flow_mod, core::slice::from_ref(table));
            filter.find(table, flow_mod.priority)
        });
        let full = old.is_none() && table.len_after() >= self.cx.pipeline.shape.max_entries(number);
        let sent = flow_mod.fields.sent().is_some();
        let more = match old {
            Some(key) => table.sent_places(sent && !table.sent.contains_key(&key.slot)),
            None => table.places(&rule, sent),
        };
        if !self.have_room(more, &flow_mod.instructions) {
            return Err(FlowModFailed::TABLE_FULL);
        }
        if full && !self.evict(number, flow_mod.importance)? {
            let again = EntryChange::Add(flow_mod.clone().into());
            self.changes.bulk.push_front(BulkChange::ending(again));
            return Ok(());
        }
        let later = !flow_mod.flags.has(FlowModFlags::FIRST);
        let serial = u64::from(later) << 63 | self.cx.pipeline.next_serial;
        let instructions = self.cx.pipeline.instructions.share(&flow_mod.instructions);
        let entry = Entry::new(self.cx.now, flow_mod, rule, instructions, serial);
        let keeps_counts = !flow_mod.flags.has(FlowModFlags::RESET_COUNTS);
        let sent = flow_mod.fields.sent();
        if let Some((bundle, mut editor)) = self.staging() {
            bundle.add(&mut editor, number, entry, sent, (old, keeps_counts));
            return Ok(());
        }
        let old = old.map(|key| (key, keeps_counts));
        self.editor().edit(number, EntryEdit::Add(entry, sent, old));
        Ok(())
    }
}
