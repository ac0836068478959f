//! The state machine that flow entries make of a table: its states and the transitions between
//! them.

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    string::{String, ToString},
    vec::Vec,
};

use bofuss_oflib::message::multipart::flow::FlowEntry;
use bofuss_oflib::{Action, Match};

use super::table::{Timers, Transition};
use super::{FIELDS, IncState, SetState, StateRecord};

/// The most states of a graph; flows in further ones are counted together. A drawing of this many
/// states is 4,000 pixels wide.
const MAX_NODES: usize = 40;
/// The most transitions of a graph; further ones are only counted.
const MAX_EDGES: usize = 200;

/// A state, or a set of states that an entry matches or an action leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateNode {
    /// Every state: an entry that does not match the state.
    Any,
    /// This state.
    Exact(u32),
    /// The states that have this value under a mask.
    Masked(u32, u32),
}

impl StateNode {
    fn new(value: u32, mask: u32) -> Self {
        match mask {
            0 => Self::Any,
            u32::MAX => Self::Exact(value),
            mask => Self::Masked(value, mask),
        }
    }

    /// The state after a transition.
    fn after(self, transition: &Transition) -> Self {
        let Transition { state, mask, .. } = *transition;
        match self {
            Self::Exact(old) => Self::Exact(old & !mask | state & mask),
            Self::Any => Self::new(state & mask, mask),
            Self::Masked(value, known) => {
                let value = value & !mask | state & mask;
                Self::new(value, known | mask)
            }
        }
    }
}

/// A transition of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateEdge {
    /// The state before.
    pub from: StateNode,
    /// The state after.
    pub to: StateNode,
    /// The match of the packets that cause it, or the time after which it happens.
    pub label: String,
    /// True if a timer causes it.
    pub is_timer: bool,
}

/// The machine of a table.
#[derive(Clone, Debug, Default)]
pub struct StateGraph {
    /// The states that entries name or flows have, and how many flows have each.
    pub nodes: BTreeMap<StateNode, u64>,
    /// The transitions that packets cause, ordered by the state before and the priority of the
    /// entry, then those of timers.
    pub edges: Vec<StateEdge>,
    /// Transitions that are left out.
    pub edges_left_out: usize,
    /// Flows in states that are left out.
    pub flows_left_out: u64,
}

impl StateGraph {
    /// The machine that the entries of all tables make of one table. No flow is counted yet.
    pub fn of_entries<'a>(table: u8, entries: impl IntoIterator<Item = &'a FlowEntry>) -> Self {
        let mut this = Self::default();
        let mut found = Vec::new();
        for entry in entries {
            let matched = if entry.table_id.0 == table {
                this.matched(entry)
            } else {
                StateNode::Any
            };
            for action in entry.instructions.actions() {
                let Some((to, timers)) = effect(action, table, matched) else {
                    continue;
                };
                let order = (matched, u16::MAX - entry.priority);
                found.push((order, to, label(entry, table), timers));
            }
        }
        found.sort_by(|a, b| (a.0, &a.2).cmp(&(b.0, &b.2)));
        let mut timed = Vec::new();
        for ((from, _), to, label, timers) in found {
            this.add(from, to, label, false);
            let timers = match to {
                StateNode::Exact(state) => timers.armed_in(state),
                StateNode::Any | StateNode::Masked(..) => timers,
            };
            if timers.hard_timeout != 0 {
                let label = format!("after {}", duration(timers.hard_timeout));
                timed.push((to, timers.hard_rollback, label));
            }
            if timers.idle_timeout != 0 {
                let label = format!("after {} without a packet", duration(timers.idle_timeout));
                timed.push((to, timers.idle_rollback, label));
            }
        }
        timed.sort();
        timed.dedup();
        for (from, to, label) in timed {
            this.add(from, StateNode::Exact(to), label, true);
        }
        this
    }

    /// The tables of whose states an entry matches or sets one.
    pub fn tables<'a>(entries: impl IntoIterator<Item = &'a FlowEntry>) -> BTreeSet<u8> {
        let mut tables = BTreeSet::new();
        for entry in entries {
            let mut fields = entry.fields.fields().iter();
            if fields.any(|one| *one.field == FIELDS[1]) {
                tables.insert(entry.table_id.0);
            }
            tables.extend(entry.instructions.actions().filter_map(table_of));
        }
        tables
    }

    /// Returns true if no entry sets or matches a state.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The state that an entry of the table matches, which is added to the machine's states.
    fn matched(&mut self, entry: &FlowEntry) -> StateNode {
        let field = entry
            .fields
            .fields()
            .iter()
            .find(|one| *one.field == FIELDS[1]);
        let node = field.map_or(StateNode::Any, |one| {
            StateNode::new(one.number() as u32, one.mask_number() as u32)
        });
        if node != StateNode::Any && self.nodes.len() < MAX_NODES {
            self.nodes.entry(node).or_default();
        }
        node
    }

    fn add(&mut self, from: StateNode, to: StateNode, label: String, is_timer: bool) {
        let n_new = [from, to]
            .iter()
            .filter(|node| !self.nodes.contains_key(*node))
            .count();
        if self.edges.len() >= MAX_EDGES || self.nodes.len() + n_new > MAX_NODES {
            self.edges_left_out += 1;
            return;
        }
        self.nodes.entry(from).or_default();
        self.nodes.entry(to).or_default();
        self.edges.push(StateEdge {
            from,
            to,
            label,
            is_timer,
        });
    }

    /// Counts the flows of records by their states.
    pub fn count<'a>(&mut self, records: impl IntoIterator<Item = &'a StateRecord>) {
        for record in records.into_iter().filter(|record| !record.key.is_empty()) {
            let node = StateNode::Exact(record.state);
            if self.nodes.len() < MAX_NODES || self.nodes.contains_key(&node) {
                *self.nodes.entry(node).or_default() += 1;
            } else {
                self.flows_left_out += 1;
            }
        }
    }
}

/// The table whose states an action changes.
fn table_of(action: &Action) -> Option<u8> {
    let Action::Experimenter(value) = action else {
        return None;
    };
    let set = value.body::<SetState>().map(|set| set.table);
    set.or_else(|| value.body::<IncState>().map(|inc| inc.table))
}

/// The state to which an action leads from state `from` of a table, and the timers that run then.
/// `None` if the action does not change states of this table.
fn effect(action: &Action, table: u8, from: StateNode) -> Option<(StateNode, Timers)> {
    let Action::Experimenter(value) = action else {
        return None;
    };
    if let Some(set) = value.body::<SetState>().filter(|set| set.table == table) {
        return Some((from.after(&set.transition), set.transition.timers));
    }
    value.body::<IncState>().filter(|inc| inc.table == table)?;
    let to = match from {
        StateNode::Exact(state) => StateNode::Exact(state.wrapping_add(1)),
        StateNode::Any | StateNode::Masked(..) => from,
    };
    Some((to, Timers::default()))
}

/// The match of an entry without the state, after the entry's table if that is another one.
fn label(entry: &FlowEntry, table: u8) -> String {
    let others = entry
        .fields
        .fields()
        .iter()
        .filter(|one| *one.field != FIELDS[1]);
    let mut text = Match::again(others.cloned().collect()).to_string();
    if text.is_empty() {
        text = "any packet".into();
    }
    match entry.table_id.0 {
        own if own == table => text,
        other => format!("table {other}: {text}"),
    }
}

/// A time as text, in the largest unit of which it is a multiple.
fn duration(micros: u32) -> String {
    if micros % 1_000_000 == 0 {
        format!("{} s", micros / 1_000_000)
    } else if micros % 1000 == 0 {
        format!("{} ms", micros / 1000)
    } else {
        format!("{micros} us")
    }
}

impl core::fmt::Display for StateNode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Exact(u32::MAX) => f.write_str("no key"),
            Self::Exact(state) => write!(f, "{state}"),
            Self::Masked(value, mask) => write!(f, "{value:#x}/{mask:#x}"),
        }
    }
}
