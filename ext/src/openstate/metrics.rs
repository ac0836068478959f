//! The metrics of this extension: some of the whole switch, the others of each stateful table.

use alloc::{string::ToString, vec::Vec};

use bofuss_datapath::{Metric, MetricKind};

use super::machine::Machine;

/// The kind of a metric, its name and its help text.
pub(crate) type MetricRow = (MetricKind, &'static str, &'static str);

const REFUSED: MetricRow = (
    MetricKind::Counter,
    "refused",
    "States not set for lack of room",
);
const TRANSITIONS: MetricRow = (MetricKind::Counter, "transitions", "Transitions by actions");
const TIMEOUTS: MetricRow = (
    MetricKind::Counter,
    "timeouts",
    "Timers of states that ran out",
);
const STATES: MetricRow = (MetricKind::Gauge, "states", "Flows with a state");
const STATE_BYTES: MetricRow = (
    MetricKind::Gauge,
    "state_bytes",
    "Memory of states in bytes",
);

/// Adds the metrics of a machine to a list.
pub(super) fn add(machine: &Machine, list: &mut Vec<Metric>) {
    list.push(metric(REFUSED, None, machine.refused));
    for (table, states) in machine.state_tables() {
        let table = Some(table);
        list.push(metric(TRANSITIONS, table, states.counts.transitions));
        list.push(metric(TIMEOUTS, table, states.counts.timeouts));
        list.push(metric(STATES, table, states.len() as u64));
        list.push(metric(STATE_BYTES, table, states.held_bytes() as u64));
    }
}

/// A metric of a table, or of the whole switch.
pub(crate) fn metric((kind, name, help): MetricRow, table: Option<usize>, value: u64) -> Metric {
    let label = table.map(|table| ("table", table.to_string()));
    Metric {
        name,
        help,
        kind,
        labels: label.into_iter().collect(),
        value,
    }
}
