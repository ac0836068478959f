//! The hooks of a switch: which act in which table, and which one each experimenter value belongs
//! to.

use alloc::{boxed::Box, collections::BTreeMap, string::String, vec::Vec};

use bofuss_oflib::ext::ExtRow;
use bofuss_oflib::message::PortMod;
use bofuss_oflib::types::TableId;
use bofuss_oflib::{ErrorCode, ExtValue, Message};

#[cfg(feature = "lookahead")]
use crate::Upcoming;
use crate::hook::HookPoint;
use crate::hook_list::HookList;
use crate::{Hook, HookEffect};

/// The most plans whose numbers are remembered.
const MAX_PLANS: usize = 1024;

/// The hooks of all extensions, in the order of registration.
#[derive(Default)]
pub struct Hooks {
    /// The hooks, by number.
    pub all: HookList,
    /// The experimenter rows of each hook's extension.
    rows: Vec<&'static [ExtRow]>,
    /// The hooks that are called at the egress.
    pub at_egress: Vec<usize>,
    /// Each hook's generation when it was last asked.
    generations: Vec<u64>,
    /// The number of tables for which they were asked.
    n_tables: usize,
    /// For each table, the hooks that act before the lookup, with their effects; no tables if no
    /// hook acts in any, so that a packet touches no memory for that,
    tables: Vec<Vec<(usize, HookEffect)>>,
    /// those that act after a hit,
    after_hit: Vec<Vec<(usize, HookEffect)>>,
    /// and those that act on a miss.
    on_miss: Vec<Vec<(usize, HookEffect)>>,
    /// The number of the current plan, and the numbers of plans by the generations of all hooks. A
    /// plan is what all hooks do in all tables.
    plan: u32,
    numbers: BTreeMap<Vec<u64>, u32>,
    next_number: u32,
    /// The number of packets that hooks dropped, by the hook's number and its reason.
    drops: BTreeMap<(usize, &'static str), u64>,
}

impl Hooks {
    /// Adds the hook of the extension with these rows.
    pub(crate) fn add(&mut self, hook: Box<dyn Hook>, rows: &'static [ExtRow], n_tables: usize) {
        if hook.acts_on_egress() {
            self.at_egress.push(self.all.len());
        }
        self.all.push(hook);
        self.rows.push(rows);
        self.plan_anew(n_tables);
    }

    /// Counts a packet that a hook dropped for this reason.
    pub(crate) fn count_drop(&mut self, hook: usize, reason: &'static str) {
        *self.drops.entry((hook, reason)).or_default() += 1;
    }

    /// Counters of packets that extensions dropped: the extension, its reason, and the number.
    pub fn drops(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        let drops = self.drops.iter();
        drops.map(|((hook, reason), count)| (self.all[*hook].name(), *reason, *count))
    }

    /// The hooks that act at a point of a table.
    #[inline]
    pub fn at(&self, table: TableId, point: HookPoint) -> &[(usize, HookEffect)] {
        let tables = match point {
            HookPoint::BeforeLookup => &self.tables,
            HookPoint::AfterHit => &self.after_hit,
        };
        tables.get(usize::from(table.0)).map_or(&[], Vec::as_slice)
    }

    /// The hooks that act on a miss in a table.
    pub fn at_miss(&self, table: TableId) -> &[(usize, HookEffect)] {
        let hooks = self.on_miss.get(usize::from(table.0));
        hooks.map_or(&[], Vec::as_slice)
    }

    /// Has the hooks prefetch for packets: those that act before the lookup in a table, and those
    /// that act only on misses.
    #[cfg(feature = "lookahead")]
    pub fn prefetch(&mut self, table: TableId, packets: &mut Upcoming<'_>) {
        let mut next = 0;
        while let Some(&(hook, _)) = self.at(table, HookPoint::BeforeLookup).get(next) {
            next += 1;
            self.all[hook].prefetch(table, packets);
        }
        next = 0;
        while let Some(&(hook, _)) = self.at_miss(table).get(next) {
            next += 1;
            if self.all[hook].only_misses() {
                self.all[hook].prefetch(table, packets);
            }
        }
    }

    /// Returns true if a hook acts in this table only on misses, so that it may prefetch for them.
    #[cfg(feature = "lookahead")]
    pub fn has_only_misses(&self, table: TableId) -> bool {
        let mut hooks = self.at_miss(table).iter();
        hooks.any(|(hook, _)| self.all[*hook].only_misses())
    }

    /// The combined effect of all hooks on packets in a table.
    #[inline]
    pub fn effect(&self, table: TableId) -> HookEffect {
        let hooks = self.at(table, HookPoint::BeforeLookup).iter();
        let effects = hooks.map(|(_, effect)| *effect);
        effects.max().unwrap_or(HookEffect::None)
    }

    /// The effect of an action or instruction of an extension on packets.
    pub fn effect_of(&self, value: &ExtValue) -> HookEffect {
        match self.of(value.row) {
            Some((hook, place)) => self.all[hook].action_effect(place, value),
            None => HookEffect::None,
        }
    }

    /// The number of the current plan.
    #[inline]
    pub fn plan(&self) -> u32 {
        self.plan
    }

    /// Asks all hooks for their effects again, if a generation has changed.
    #[inline]
    pub(crate) fn refresh(&mut self, n_tables: usize) {
        if self.all.take_changed() || self.n_tables != n_tables {
            self.ask_again(n_tables);
        }
    }

    fn ask_again(&mut self, n_tables: usize) {
        let mut asked = self.all.iter().zip(&self.generations);
        let has_changed = asked.any(|(hook, generation)| hook.generation() != *generation);
        if has_changed || self.n_tables != n_tables {
            self.plan_anew(n_tables);
        }
    }

    /// As [`Self::refresh`], if only the effects of one hook may have changed.
    #[inline]
    pub(crate) fn refresh_after(&mut self, hook: usize, n_tables: usize) {
        if self.all[hook].generation() != self.generations[hook] {
            self.plan_anew(n_tables);
        }
    }

    fn plan_anew(&mut self, n_tables: usize) {
        self.generations = self.all.iter().map(|hook| hook.generation()).collect();
        self.n_tables = n_tables;
        self.list_acting(n_tables);
        if self.numbers.len() >= MAX_PLANS {
            // Numbers are not used again, so the cached paths of forgotten plans are never taken.
            self.numbers.clear();
        }
        let next = &mut self.next_number;
        self.plan = *self
            .numbers
            .entry(self.generations.clone())
            .or_insert_with(|| {
                *next += 1;
                *next
            });
    }

    /// Lists the hooks that act, by table.
    fn list_acting(&mut self, n_tables: usize) {
        self.tables.clear();
        self.after_hit.clear();
        self.on_miss.clear();
        for table in (0..n_tables).map(|number| TableId(number as u8)) {
            let mut before_lookup = Vec::new();
            let mut after_hit = Vec::new();
            let mut on_miss = Vec::new();
            for (number, hook) in self.all.iter().enumerate() {
                let effect = hook.effect(table);
                if effect == HookEffect::None {
                    continue;
                }
                if !hook.only_misses() {
                    before_lookup.push((number, effect));
                }
                if !hook.only_prepares() && !hook.only_misses() {
                    after_hit.push((number, effect));
                }
                if !hook.only_prepares() {
                    on_miss.push((number, effect));
                }
            }
            self.tables.push(before_lookup);
            self.after_hit.push(after_hit);
            self.on_miss.push(on_miss);
        }
        let lists = [&mut self.tables, &mut self.after_hit, &mut self.on_miss];
        if lists.iter().all(|list| list.iter().all(Vec::is_empty)) {
            lists.into_iter().for_each(|list| *list = Vec::new());
        }
    }

    /// The number of the hook whose extension has this row, and the row's place in the extension's
    /// list.
    pub fn of(&self, row: &'static ExtRow) -> Option<(usize, usize)> {
        let mut lists = self.rows.iter().enumerate();
        lists.find_map(|(hook, rows)| Some((hook, row.place_in(rows)?)))
    }

    /// The experimenter id of a hook's extension; 0 if that has no rows.
    pub(crate) fn experimenter(&self, hook: usize) -> u32 {
        self.rows[hook].first().map_or(0, |row| row.experimenter)
    }

    /// The reason why a message was refused with this error, in the words of the extension that
    /// refused it, if it has some.
    pub fn explain(&self, message: &Message, error: ErrorCode) -> Option<String> {
        let mut hooks = self.all.iter();
        hooks.find_map(|hook| hook.explain(message, error))
    }

    /// Counters of extension number `hook`, from a place that the extension defines. Returns the
    /// extension's name, and the place to continue with if there are more; `None` if there is no
    /// such extension.
    #[cfg(feature = "metrics")]
    pub fn metrics(
        &self,
        now: crate::Time,
        hook: usize,
        from: u64,
        list: &mut Vec<crate::Metric>,
    ) -> Option<(&'static str, Option<u64>)> {
        let hook = self.all.get(hook)?;
        Some((hook.name(), hook.metrics(now, from, list)))
    }

    /// Returns true if an extension does what a port-mod sets beyond OpenFlow's bits.
    ///
    /// Errors: an OpenFlow error.
    pub fn take_port_mod(&self, port_mod: &PortMod) -> Result<bool, ErrorCode> {
        let mut taken = self.all.iter().map(|hook| hook.takes_port_mod(port_mod));
        taken.try_fold(false, |any, takes| Ok(any | takes?))
    }

    /// Checks that an extension allows an action or instruction in an entry of this table.
    ///
    /// Errors: an OpenFlow error.
    pub(crate) fn check(&self, value: &ExtValue, table: TableId) -> Result<(), ErrorCode> {
        match self.of(value.row) {
            Some((hook, place)) => self.all[hook].check(place, value, table),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::rc::Rc;
    use core::cell::Cell;

    use super::*;
    use crate::Time;

    /// Counts how often it is asked, and sets its timer when a connection ends.
    struct Asked {
        times: Rc<Cell<u32>>,
        next_tick: Option<Time>,
        acts: bool,
    }

    impl Asked {
        fn count(&self) {
            self.times.set(self.times.get() + 1);
        }
    }

    impl Hook for Asked {
        fn name(&self) -> &'static str {
            "asked"
        }
        fn effect(&self, _: TableId) -> HookEffect {
            if self.acts {
                HookEffect::Live
            } else {
                HookEffect::None
            }
        }
        fn generation(&self) -> u64 {
            self.count();
            self.acts.into()
        }
        fn next_tick(&self) -> Option<Time> {
            self.count();
            self.next_tick
        }
        fn on_disconnect(&mut self, connection: u64) {
            self.next_tick = Some(Time(connection));
            self.acts = connection == 8;
        }
    }

    fn hooks(times: &Rc<Cell<u32>>) -> Hooks {
        let hook = Asked {
            times: Rc::clone(times),
            next_tick: None,
            acts: false,
        };
        let mut hooks = Hooks::default();
        hooks.add(Box::new(hook), &[], 1);
        hooks.refresh(1);
        hooks
    }

    #[test]
    fn a_hook_is_asked_again_only_after_it_was_called() {
        let times = Rc::new(Cell::new(0));
        let mut hooks = hooks(&times);
        assert_eq!(hooks.all.next_tick(), None);
        let before = times.get();
        hooks.refresh(1);
        assert_eq!((hooks.all.next_tick(), times.get()), (None, before));
        hooks.all[0].on_disconnect(7);
        hooks.refresh(1);
        assert_eq!(hooks.all.next_tick(), Some(Time(7)));
        assert_eq!(times.get(), before + 2);
    }

    #[test]
    fn tables_in_which_no_hook_acts_have_no_memory() {
        let mut hooks = hooks(&Rc::default());
        let memory = |hooks: &Hooks| hooks.tables.capacity() + hooks.on_miss.capacity();
        assert_eq!(memory(&hooks), 0);
        hooks.all[0].on_disconnect(8);
        hooks.refresh(3);
        for table in [0, 2] {
            let acting = hooks.at(TableId(table), HookPoint::BeforeLookup);
            assert_eq!(acting, [(0, HookEffect::Live)]);
            assert_eq!(hooks.at_miss(TableId(table)), [(0, HookEffect::Live)]);
        }
        assert!(hooks.at_miss(TableId(3)).is_empty());
        hooks.all[0].on_disconnect(9);
        hooks.refresh(3);
        assert_eq!((hooks.at_miss(TableId(0)).len(), memory(&hooks)), (0, 0));
    }
}
