//! A state table: flows by key, each with a state and its timers.
//!
//! A table shares nothing with others, so that it can be split by key. Spec: the state tables of
//! OpenState (Bianchi et al., "OpenState: programming platform-independent stateful OpenFlow
//! applications inside the switch", CCR 44(2), 2014) and of the BEBA project.

mod taken_flows;

use bofuss_datapath::{StepMap, Time};
use bofuss_oflib::PortNo;
use bofuss_packet::Shares;

use super::extractor::FlowKey;
pub use super::timers::Timers;
use super::timers::deadline;
use crate::common::beba::FlowVariables;

/// The fate of a flow whose state is 0 and that has no timer and no variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Behaviour {
    /// OpenState's: it is removed at once.
    OpenState,
    /// BEBA's: it is listed until the next search for expired flows.
    #[default]
    Beba,
}

impl Behaviour {
    /// The flow, unless it is to be removed.
    fn present(self, flow: StateEntry) -> Option<StateEntry> {
        let is_gone = self == Self::OpenState && flow.is_default();
        (!is_gone).then_some(flow)
    }

    /// The entry of a flow after a transition; `None` if the flow has no state then.
    #[inline]
    pub fn after_transition(
        self,
        now: Time,
        before: Option<StateEntry>,
        transition: &Transition,
    ) -> Option<StateEntry> {
        let mut after = before.unwrap_or_else(|| StateEntry::new(now));
        after.transit(now, transition);
        match before {
            None if after.is_default() => None,
            None | Some(_) => self.present(after),
        }
    }
}

/// The entry of a flow after 1 was added to its state.
pub fn after_increment(now: Time, before: Option<StateEntry>) -> StateEntry {
    let before = before.unwrap_or_else(|| StateEntry::new(now));
    StateEntry {
        state: before.state.wrapping_add(1),
        ..before
    }
}

/// A change of a flow's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Transition {
    /// The new state, where the mask has ones.
    pub state: u32,
    /// The bits of the state that change.
    pub mask: u32,
    /// The timers of the new state.
    pub timers: Timers,
}

/// The state of one flow. What packets read comes first, so that it shares a cache line with the
/// key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct StateEntry {
    /// The state.
    pub state: u32,
    /// True if a timer runs.
    pub(super) has_timers: bool,
    /// The time at which the idle timer starts: at the last read by a packet, or the last
    /// transition.
    pub(super) used: Time,
    /// The time when the last transition was.
    pub since: Time,
    /// The port in whose share it counts: that of the packet that made it, or CONTROLLER.
    pub(super) port: PortNo,
    /// The timers that run.
    pub timers: Timers,
    /// The variables of Open Packet Processor.
    pub variables: FlowVariables,
}

/// Has the alignment of a cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct CacheLine;

impl StateEntry {
    /// The entry of a flow without a state.
    fn new(now: Time) -> Self {
        Self {
            state: 0,
            has_timers: false,
            timers: Timers::default(),
            variables: FlowVariables::default(),
            since: now,
            port: PortNo::CONTROLLER,
            used: now,
        }
    }

    /// Takes over all of another entry but the share in which it counts.
    #[inline]
    fn replace_by(&mut self, other: Self) {
        *self = Self {
            port: self.port,
            ..other
        };
    }

    /// Changes the state.
    #[inline]
    fn transit(&mut self, now: Time, transition: &Transition) {
        self.state = self.state & !transition.mask | transition.state & transition.mask;
        self.timers = transition.timers.armed_in(self.state);
        self.has_timers = self.timers != Timers::default();
        (self.since, self.used) = (now, now);
    }

    /// The entry of a flow after a variable of it was written; `None` if the flow had no entry and
    /// the value is 0, so that it needs none.
    pub(crate) fn with_variable(
        now: Time,
        before: Option<Self>,
        id: u8,
        value: u32,
    ) -> Option<Self> {
        if before.is_none() && value == 0 {
            return None;
        }
        let mut after = before.unwrap_or_else(|| Self::new(now));
        after.variables[usize::from(id)] = value;
        Some(after)
    }

    /// Returns true if the entry equals that of a flow without a state: state 0, no timer, no
    /// variable.
    fn is_default(&self) -> bool {
        let is_at_rest = self.state == 0 && !self.has_timers;
        is_at_rest && self.variables == FlowVariables::default()
    }

    /// The time when the hard timer runs out.
    pub fn hard_deadline(&self) -> Time {
        deadline(self.since, self.timers.hard_timeout)
    }

    /// The time when the idle timer runs out, if no packet comes.
    pub fn idle_deadline(&self) -> Time {
        deadline(self.used, self.timers.idle_timeout)
    }

    /// The entry at `now`, rolled back if a timer ran out before. If both did, the earlier one
    /// counts, since it stops the other; at the same time, the hard one.
    fn at(mut self, now: Time) -> Self {
        self.roll_back(now);
        self
    }

    /// Brings the state up to date with `now`. Returns true if a timer ran out before.
    #[inline]
    fn roll_back(&mut self, now: Time) -> bool {
        let rolled_back = self.rolled_back(now);
        if let Some(state) = rolled_back {
            self.state = state;
            self.has_timers = false;
            self.timers = Timers::default();
        }
        rolled_back.is_some()
    }

    /// The state that a timer which ran out before `now` has led to, if one did.
    #[inline]
    fn rolled_back(&self, now: Time) -> Option<u32> {
        if !self.has_timers {
            return None;
        }
        let hard = self.hard_deadline();
        let idle = self.idle_deadline();
        if now <= hard.min(idle) {
            return None;
        }
        Some(if hard <= idle {
            self.timers.hard_rollback
        } else {
            self.timers.idle_rollback
        })
    }
}

/// A lookup under way: a key, its hash, and the slot in which its flow most likely is.
#[derive(Clone, Copy, Debug, Default)]
pub struct SoughtFlow {
    /// The key.
    pub key: FlowKey,
    hash: u64,
    pub(super) slot: u32,
}

/// The error that a port has no room in the tables: a flow that has no state yet gets none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFull;

/// Counters of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateCounts {
    /// Transitions by actions.
    pub transitions: u64,
    /// Timers that ran out. Each is counted when its flow is next read, changed or visited by the
    /// search for expired flows.
    pub timeouts: u64,
}

/// The states of one table.
#[derive(Debug, Default)]
pub struct StateTable {
    /// The meaning of state 0 here.
    pub behaviour: Behaviour,
    /// Counters.
    pub counts: StateCounts,
    flows: StepMap<FlowKey, StateEntry, CacheLine>,
    /// The number of flows of each port.
    shares: Shares,
    /// The number of times that the state of a flow may have changed.
    edits: u64,
    /// The slot that is next to be searched for expired flows.
    swept: u32,
}

impl StateTable {
    /// Returns how many flows take memory.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Returns how many of them count in the share of a port.
    pub fn len_of(&self, port: PortNo) -> usize {
        self.shares.of(port)
    }

    /// Returns true if no flow does.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most bytes of memory that the flows take.
    pub fn held_bytes(&self) -> usize {
        self.flows.held_bytes()
    }

    /// The entry of a flow at `now`; `None` if it has no state.
    pub fn get(&self, now: Time, key: &FlowKey) -> Option<StateEntry> {
        let (_, flow) = self.flows.get(key)?;
        self.present(flow.at(now))
    }

    fn present(&self, flow: StateEntry) -> Option<StateEntry> {
        self.behaviour.present(flow)
    }

    /// Replaces the entry of a flow by what `change` makes of it, or removes it. Returns the entry
    /// before and after; `None` if the flow has no entry, and then nothing is done.
    #[inline]
    pub fn update(
        &mut self,
        now: Time,
        sought: &SoughtFlow,
        change: impl FnOnce(Behaviour, Option<StateEntry>) -> Option<StateEntry>,
    ) -> Option<(Option<StateEntry>, Option<StateEntry>)> {
        let slot = self.slot(sought)?;
        self.edits += 1;
        let (_, flow) = self.flows.at_mut(slot)?;
        self.counts.timeouts += u64::from(flow.roll_back(now));
        let before = self.behaviour.present(*flow);
        let after = change(self.behaviour, before);
        match after {
            Some(after) => flow.replace_by(after),
            None => self.forget(&sought.key),
        }
        Some((before, after))
    }

    /// Returns how many flows were added or removed so far. While this is the same, so are the
    /// slots.
    #[inline]
    pub fn moves(&self) -> u64 {
        self.flows.changes()
    }

    /// Returns how often the state of a flow may have changed. While this number is the same, so
    /// are the states that packets read, unless a timer runs out.
    #[inline]
    pub fn edits(&self) -> u64 {
        self.edits
    }

    /// Begins a lookup: hashes a key and prefetches its bucket of the index.
    #[inline]
    pub fn seek(&self, key: FlowKey) -> SoughtFlow {
        let mut sought = SoughtFlow {
            key,
            ..SoughtFlow::default()
        };
        self.aim(&mut sought);
        sought
    }

    /// Begins the lookup of the key in `sought`, as [`StateTable::seek`] does.
    #[inline]
    pub(super) fn aim(&self, sought: &mut SoughtFlow) {
        sought.hash = self.flows.hash(&sought.key);
        sought.slot = u32::MAX;
        self.flows.prefetch(sought.hash);
    }

    /// Notes the slot in which the flow most likely is, and prefetches that slot.
    #[inline]
    pub fn guess(&self, sought: &mut SoughtFlow) {
        sought.slot = self.flows.guess(sought.hash);
    }

    /// The slot of a flow, if it has an entry.
    #[inline]
    pub(super) fn slot(&self, sought: &SoughtFlow) -> Option<u32> {
        self.flows.find(sought.hash, sought.slot, &sought.key)
    }

    /// Notes the slot of a flow. Returns the state that a packet of it would read at `now`, and
    /// whether no timer runs, so that only an edit can change that.
    #[inline]
    pub(super) fn predict(&self, now: Time, sought: &mut SoughtFlow) -> (u32, bool) {
        let flow = match self.flows.at(sought.slot) {
            Some((key, flow)) if *key == sought.key => Some(flow),
            Some(_) | None => {
                sought.slot = self.slot(sought).unwrap_or(u32::MAX);
                self.flows.at(sought.slot).map(|(_, flow)| flow)
            }
        };
        match flow {
            Some(flow) => {
                let state = flow.rolled_back(now).unwrap_or(flow.state);
                (state, !flow.has_timers)
            }
            None => (0, true),
        }
    }

    /// Does the lookup of the flow in a slot, or of a flow without an entry (`None`), if its state
    /// is `state`. Returns false if it is another; then nothing is done.
    #[inline]
    pub(super) fn apply_prediction(&mut self, now: Time, slot: Option<u32>, state: u32) -> bool {
        let Some((_, flow)) = slot.and_then(|slot| self.flows.at_mut(slot)) else {
            return state == 0;
        };
        if flow.state != state || flow.rolled_back(now).is_some() {
            return false;
        }
        flow.used = now;
        true
    }

    /// Changes the state of the flow in a slot, which a packet has read at `now`, if the flow keeps
    /// its entry. Returns false if not; then nothing is changed.
    #[inline]
    pub(super) fn transit(
        &mut self,
        now: Time,
        slot: Option<u32>,
        transition: &Transition,
    ) -> bool {
        let Some((_, flow)) = slot.and_then(|slot| self.flows.at_mut(slot)) else {
            return false;
        };
        self.edits += 1;
        debug_assert_eq!(flow.rolled_back(now), None);
        if self.behaviour == Behaviour::OpenState {
            let mut after = *flow;
            after.transit(now, transition);
            if self.behaviour.present(after).is_none() {
                return false;
            }
        }
        flow.transit(now, transition);
        self.counts.transitions += 1;
        true
    }

    /// Looks up the state of a packet's flow, 0 if it has none, and restarts its idle timer.
    #[inline]
    pub fn look_up(&mut self, now: Time, sought: &SoughtFlow) -> u32 {
        let slot = self.slot(sought);
        let Some((_, flow)) = slot.and_then(|slot| self.flows.at_mut(slot)) else {
            return 0;
        };
        self.edits += 1;
        self.counts.timeouts += u64::from(flow.roll_back(now));
        flow.used = now;
        flow.state
    }

    /// Sets the entry of a flow to `after`, or removes the flow. A new entry counts in the share of
    /// `port`; `has_room` says whether the port may have one more.
    ///
    /// Errors: there is no room for a flow that had no entry. It stays without one.
    pub fn set(
        &mut self,
        now: Time,
        key: &FlowKey,
        after: Option<StateEntry>,
        (port, has_room): (PortNo, bool),
    ) -> Result<(), TableFull> {
        self.edits += 1;
        if let Some((_, flow)) = self.flows.get_mut(key) {
            self.counts.timeouts += u64::from(flow.roll_back(now));
            if let Some(after) = after {
                flow.replace_by(after);
                return Ok(());
            }
        }
        let Some(after) = after else {
            self.forget(key);
            return Ok(());
        };
        if !has_room {
            return Err(TableFull);
        }
        self.shares.take(port, 1);
        self.flows.insert(*key, StateEntry { port, ..after });
        Ok(())
    }

    /// Removes the entry of a flow, if it has one.
    pub(super) fn forget(&mut self, key: &FlowKey) {
        if let Some((_, flow)) = self.flows.get(key) {
            self.shares.give_back(flow.port, 1);
            self.flows.remove(key);
        }
    }

    /// Removes a flow. Returns false if it had no state.
    pub fn remove(&mut self, now: Time, key: &FlowKey) -> bool {
        self.edits += 1;
        let was_there = self.get(now, key).is_some();
        self.forget(key);
        was_there
    }

    /// Searches `slots` slots from where the last call ended: rolls back the states whose timers
    /// ran out, and removes the entries of flows in state 0 that have neither timers nor variables.
    /// Returns true if the last slot was reached.
    pub fn expire(&mut self, now: Time, slots: u32) -> bool {
        self.edits += 1;
        let end = self.swept.saturating_add(slots);
        while let Some(slot) = self.flows.used(self.swept).filter(|slot| *slot < end) {
            let (key, flow) = self.flows.at(slot).expect("the slot is used");
            let key = *key;
            let mut after = *flow;
            let has_run_out = after.roll_back(now);
            self.counts.timeouts += u64::from(has_run_out);
            if after.is_default() {
                self.forget(&key);
            } else if has_run_out {
                let (_, flow) = self
                    .flows
                    .get_mut(&key)
                    .expect("its key was found just now");
                *flow = after;
            }
            self.swept = slot + 1;
        }
        let is_last = self.flows.used(self.swept).is_none();
        self.swept = if is_last { 0 } else { end };
        is_last
    }

    /// The first flow from a slot on that has a state at `now`, with its slot. Flows stay in their
    /// slots: a walk in several calls finds each flow that exists throughout exactly once.
    pub fn next(&self, now: Time, from: u32) -> Option<(u32, FlowKey, StateEntry)> {
        let mut slot = self.flows.used(from)?;
        loop {
            let (key, flow) = self.flows.at(slot).expect("the slot is used");
            if let Some(flow) = self.present(flow.at(now)) {
                return Some((slot, *key, flow));
            }
            slot = self.flows.used(slot + 1)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use core::mem::offset_of;

    use super::*;

    #[test]
    fn what_packets_read_of_a_flow_is_in_one_line_of_the_processors_caches() {
        let end_of_used = offset_of!(StateEntry, used) + size_of::<Time>();
        assert!(size_of::<FlowKey>() + end_of_used <= align_of::<CacheLine>());
        assert!(size_of::<FlowKey>() + size_of::<StateEntry>() <= 2 * align_of::<CacheLine>());
    }

    #[test]
    fn a_flow_takes_160_bytes_with_its_share_of_the_index() {
        // As many as fill whole blocks of memory.
        const FLOWS: u32 = 1 << 17;
        let mut table = StateTable::default();
        for number in 0..FLOWS {
            let key = FlowKey::new(&number.to_be_bytes());
            let flow = Some(StateEntry::new(Time(1)));
            assert_eq!(table.set(Time(1), &key, flow, (PortNo(1), true)), Ok(()));
        }
        let each = table.held_bytes() as f64 / f64::from(FLOWS);
        assert!((140. ..=160.).contains(&each), "{each}");
        for number in 0..FLOWS {
            table.remove(Time(1), &FlowKey::new(&number.to_be_bytes()));
        }
        // The last steps of the index, whose number is a matter of hashes, may be left.
        assert!(table.held_bytes() < 65_536, "{}", table.held_bytes());
    }
}
