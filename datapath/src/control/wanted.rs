//! Adds the entries that hooks want.

use bofuss_oflib::ErrorCode;
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
    /// hooks what became of them; if adding one takes several slices, after the last.
    pub(crate) fn add_wanted(&mut self) {
        for _ in 0..ADDED_AT_ONCE {
            if !self.changes.lets_add() {
                return;
            }
            let Some((hook, flow_mod)) = self.cx.lane.wanted.pop() else {
                return;
            };
            let result = self.add_one(&flow_mod);
            self.changes.wanted = Some((hook, flow_mod, result));
            if !self.changes.in_progress() {
                self.conclude_wanted(Ok(()));
            }
        }
    }

    /// Tells a hook what became of the entry that was added last, if it wanted that; `done` is how
    /// the change ended.
    pub(super) fn conclude_wanted(&mut self, done: Result<(), ErrorCode>) {
        let Some((hook, flow_mod, result)) = self.changes.wanted.take() else {
            return;
        };
        let result = done.map_or_else(WantedResult::Refused, |()| result);
        if matches!(result, WantedResult::Added | WantedResult::Replaced) {
            // There is nobody to send the extensions' replies to.
            self.hook_calls().flow_mod_done(|_| None, &flow_mod);
        }
        let now = self.cx.now;
        self.cx.hooks.all[hook].on_wanted_entry(now, result);
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

#[cfg(test)]
mod tests {
    use alloc::{boxed::Box, format, rc::Rc, vec, vec::Vec};
    use core::cell::RefCell;

    use bofuss_frame::{Frame, Pool};
    use bofuss_oflib::Catalogue;
    use bofuss_oflib::error::FlowModFailed;
    use bofuss_oflib::message::FlowModCommand;
    use bofuss_oflib::text::parse_flow;

    use super::*;
    use crate::{Config, Datapath, Hook, Time};

    /// Notes what became of entries.
    #[derive(Default)]
    struct Notes(Rc<RefCell<Vec<WantedResult>>>);

    impl Hook for Notes {
        fn name(&self) -> &'static str {
            "notes"
        }
        fn on_wanted_entry(&mut self, _: Time, result: WantedResult) {
            self.0.borrow_mut().push(result);
        }
    }

    #[test]
    fn a_hook_hears_of_its_entry_when_the_slices_that_add_it_are_done() {
        let catalogue = Catalogue::default().into();
        let mut datapath: Datapath =
            Datapath::new(Config::default(), catalogue, Pool::new(1 << 20));
        let notes = Notes::default();
        let results = Rc::clone(&notes.0);
        datapath.add_hook(Box::new(notes));
        let sink = &mut Vec::<Frame>::new();
        let flow = |text: &str| {
            parse_flow(text, FlowModCommand::ADD, &Catalogue::default()).expect("is right")
        };
        for port in 1..=500 {
            let flow = flow(&format!("priority=5,in_port={port},actions=drop"));
            let added = datapath.control(Time(0), sink).flow_mod(&flow);
            assert_eq!(added, Ok(()));
        }
        for text in [
            "priority=5,check_overlap,tcp,actions=drop",
            "priority=6,check_overlap,tcp,actions=drop",
            "priority=7,tcp,actions=drop",
        ] {
            let control = datapath.control(Time(0), sink);
            assert!(control.cx.lane.wanted.push(0, flow(text)));
        }
        while datapath.lane().has_wanted() || datapath.changes().in_progress() {
            datapath.catch_up(Time(0), sink);
            let _ = datapath.control(Time(0), sink).work();
        }
        let overlap = WantedResult::Refused(FlowModFailed::OVERLAP);
        let expected = vec![overlap, WantedResult::Added, WantedResult::Added];
        assert_eq!(*results.borrow(), expected);
    }
}
