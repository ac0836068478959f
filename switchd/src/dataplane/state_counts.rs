//! What packets have counted in the state tables of a worker other than the first, which has the
//! metrics of the whole.

use bofuss_datapath::{Metric, MetricKind, Time};
use bofuss_ext::Switch;

/// The extension whose states workers divide.
const STATEFUL: &str = "openstate";

/// The counts of one worker.
#[derive(Default)]
pub(super) struct StateCounts {
    /// What its switch had counted when it last went on: also the messages that it has played,
    /// which the first worker counts.
    before: Vec<Metric>,
    /// What packets have counted until it stopped last.
    packets: Vec<Metric>,
}

impl StateCounts {
    /// The worker goes on.
    pub(super) fn begin(&mut self, switch: &Switch, now: Time) {
        self.before = read(switch, now);
    }

    /// The worker has stopped. Returns what packets have counted so far, and how many states it
    /// has.
    pub(super) fn end(&mut self, switch: &Switch, now: Time) -> Vec<Metric> {
        let mut all = read(switch, now);
        for metric in all.iter_mut().filter(|one| one.kind == MetricKind::Counter) {
            let earlier = value_in(&self.before, metric);
            let counted = metric.value.saturating_sub(earlier);
            metric.value = value_in(&self.packets, metric) + counted;
        }
        self.packets.clone_from(&all);
        all
    }
}

/// Adds to the metrics of the first worker those of another; its states only if it has them still.
pub(super) fn add(to: &mut [Metric], others: &[Metric], has_states: bool) {
    let is_added = |metric: &Metric| has_states || metric.kind == MetricKind::Counter;
    for metric in to.iter_mut().filter(|metric| is_added(metric)) {
        metric.value += value_in(others, metric);
    }
}

/// Returns true if workers divide what the extension of this name has counted.
pub(super) fn are_of(extension: &str) -> bool {
    extension == STATEFUL
}

fn value_in(list: &[Metric], metric: &Metric) -> u64 {
    let is_it = |one: &&Metric| one.name == metric.name && one.labels == metric.labels;
    list.iter().find(is_it).map_or(0, |one| one.value)
}

fn read(switch: &Switch, now: Time) -> Vec<Metric> {
    let hooks = switch.datapath().hooks();
    let mut number = 0;
    loop {
        let mut list = Vec::new();
        match hooks.metrics(now, number, 0, &mut list) {
            None => return Vec::new(),
            Some((name, _)) if are_of(name) => return list,
            Some(_) => number += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(kind: MetricKind, table: &str, value: u64) -> Metric {
        let name = if kind == MetricKind::Counter {
            "transitions"
        } else {
            "states"
        };
        Metric {
            labels: vec![("table", table.into())],
            ..Metric::only(name, "", kind, value)
        }
    }

    #[test]
    fn counters_are_summed_and_states_where_they_are() {
        let of = |value| {
            let kinds = [MetricKind::Counter, MetricKind::Gauge];
            kinds.map(|kind| metric(kind, "1", value))
        };
        let others = [
            of(5),
            [MetricKind::Counter, MetricKind::Gauge].map(|k| metric(k, "2", 9)),
        ];
        for (has_states, expected) in [(true, [12, 12]), (false, [12, 7])] {
            let mut all = of(7);
            add(&mut all, &others.concat(), has_states);
            assert_eq!(all.map(|metric| metric.value), expected);
        }
    }
}
