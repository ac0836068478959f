//! Adds the entries that hooks want.

use bofuss_oflib::message::FlowMod;

use crate::control::Control;
use crate::control::flow_mod::rule_of;
use crate::frame_engine::FrameEngine;
use crate::wanted_entries::WantedResult;
use crate::{Entry, EntryKey, Sink, Table};

/// The most that are added at once, which takes some 100 us, so that packets need not wait.
const ADDED_AT_ONCE: usize = 64;

impl<S: Sink, E: FrameEngine> Control<'_, S, E> {
    /// Adds the first of the entries that hooks want, unless a change is in progress. Tells the
    /// hooks what became of them.
    pub(crate) fn add_wanted(&mut self) {
        for _ in 0..ADDED_AT_ONCE {
            if !self.changes.lets_add() {
                return;
            }
            let Some((hook, flow_mod)) = self.cx.lane.wanted.pop() else {
                return;
            };
            let result = self.add_one(&flow_mod);
            let now = self.cx.now;
            self.cx.hooks.all[hook].on_wanted_entry(now, result);
        }
    }

    fn add_one(&mut self, flow_mod: &FlowMod) -> WantedResult {
        let number = usize::from(flow_mod.table_id.0);
        let table = self.cx.pipeline.tables.get_mut(number);
        let there = table.and_then(|table| Some((find(table, flow_mod)?, table)));
        let replaces = there.is_some();
        let entry = there.and_then(|(key, table)| table.get_mut(key));
        if let Some(entry) = entry.filter(|entry| is_same(entry, flow_mod)) {
            if entry.hard_timeout > 0 {
                // The list of deadlines has that of before, and gets this when that comes.
                entry.created = self.cx.now;
            }
            return WantedResult::Kept;
        }
        if let Err(error) = self.flow_mod(flow_mod) {
            return WantedResult::Refused(error);
        }
        // There is nobody to send the extensions' replies to.
        self.hook_calls().flow_mod_done(|_| None, flow_mod);
        if replaces {
            WantedResult::Replaced
        } else {
            WantedResult::Added
        }
    }
}

/// The entry with its match and priority.
fn find(table: &Table, flow_mod: &FlowMod) -> Option<EntryKey> {
    let rule = rule_of(flow_mod, table.last_mask.as_ref());
    table.find(flow_mod.priority, &rule)
}

/// Returns true if an entry with a flow-mod's match and priority is otherwise as it adds it.
fn is_same(entry: &Entry, flow_mod: &FlowMod) -> bool {
    let timeouts = (entry.idle_timeout, entry.hard_timeout);
    (timeouts, entry.cookie)
        == (
            (flow_mod.idle_timeout, flow_mod.hard_timeout),
            flow_mod.cookie,
        )
        && (entry.flags(), entry.importance) == (flow_mod.flags, flow_mod.importance)
        && entry.instructions == flow_mod.instructions
}
