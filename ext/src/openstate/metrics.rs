//! What is counted: of the switch, and of each stateful table.

use alloc::{string::ToString, vec::Vec};

use bofuss_datapath::{Metric, MetricKind};

use super::machine::Machine;

/// Adds what a machine counts to a list.
pub(super) fn add(machine: &Machine, list: &mut Vec<Metric>) {
    let mut add = |name, help, kind, table: Option<usize>, value| {
        let labels = table.map(|table| ("table", table.to_string()));
        list.push(Metric {
            name,
            help,
            kind,
            labels: labels.into_iter().collect(),
            value,
        });
    };
    let (counter, gauge) = (MetricKind::Counter, MetricKind::Gauge);
    let (updates, refused) = (machine.counts.updates, machine.counts.refused);
    add(
        "updates",
        "Variables computed by actions",
        counter,
        None,
        updates,
    );
    add("refused", "States without room", counter, None, refused);
    for (table, states) in machine.state_tables() {
        let (counts, table) = (states.counts, Some(table));
        let flows = states.len() as u64;
        add(
            "transitions",
            "Transitions by actions",
            counter,
            table,
            counts.transitions,
        );
        add(
            "timeouts",
            "Timers of states that ran out",
            counter,
            table,
            counts.timeouts,
        );
        add("states", "Flows with a state", gauge, table, flows);
        let bytes = states.held_bytes() as u64;
        add("state_bytes", "Memory of states", gauge, table, bytes);
    }
}
