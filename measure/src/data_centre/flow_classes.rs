//! Throughput and completion time of flows by their class: mice, rabbits and elephants.

use crate::cases::point::{CaseVerdict, EndedFlow, PointOutcome};
use crate::data_centre::flow_sizes::{ArrivalPlan, FlowArrival, FlowClass};
use crate::statistics::{mean, quantile};

/// The metric of the largest flow of a run.
pub const LARGEST_FLOW: &str = "largest flow";
/// The metric of the processor time that a frame costs a set-up.
pub const FRAME_COST: &str = "processor time of a frame";
/// The metric of how evenly paths are used.
pub const IMBALANCE: &str = "busiest spine over the mean";
/// The metrics of the processor time of all switches, and, with its name, of one.
pub const PROCESSOR_TIME: &str = "processor time of the switches";
pub const PROCESSOR_TIME_OF: &str = "processor time, ";

/// Throughput and completion times by class, and how much longer flows took than alone on links of
/// this rate with this round-trip time, in seconds.
pub fn by_class(flows: &[EndedFlow], link_bps: f64, round_trip: f64) -> PointOutcome {
    let mut outcome = PointOutcome {
        flows: flows.to_vec(),
        ..PointOutcome::default()
    };
    let mut unfinished = 0;
    let mut slowdowns = Vec::new();
    for class in FlowClass::ALL {
        let mut times = Vec::new();
        let mut rates = Vec::new();
        for flow in flows {
            if FlowClass::of(flow.bytes) != class {
                continue;
            }
            let Some(seconds) = flow.seconds else {
                unfinished += 1;
                continue;
            };
            let bits = flow.bytes as f64 * 8.0;
            times.push(seconds * 1e3);
            rates.push(bits / seconds / 1e6);
            slowdowns.push(seconds / (bits / link_bps + round_trip));
            outcome.delays_ns.push((seconds * 1e9) as u64);
        }
        if times.is_empty() {
            continue;
        }
        let name = class.name();
        outcome.add(&format!("{name}: flows"), "", times.len() as f64);
        outcome.add(&format!("{name}: throughput, mean"), "Mb/s", mean(&rates));
        outcome.add(&format!("{name}: completion, mean"), "ms", mean(&times));
        times.sort_by(f64::total_cmp);
        for (words, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
            let at = quantile(&times, share);
            outcome.add(&format!("{name}: completion, {words}"), "ms", at);
        }
    }
    slowdowns.sort_by(f64::total_cmp);
    outcome.add("slowdown, p50", "times", quantile(&slowdowns, 0.5));
    outcome.add("slowdown, p99", "times", quantile(&slowdowns, 0.99));
    outcome.add("flows without an end", "", f64::from(unfinished));
    if slowdowns.is_empty() {
        outcome.verdict = CaseVerdict::Fails;
        outcome.notes.push("no flow came to its end".into());
    }
    outcome
}

/// Adds the load that was realised, and the mean size by which the offered one was computed.
pub fn add_load(outcome: &mut PointOutcome, plan: &ArrivalPlan<'_>, arrivals: &[FlowArrival]) {
    let bytes: u64 = arrivals.iter().map(|arrival| arrival.bytes).sum();
    let seconds = arrivals.last().map_or(1.0, |last| last.start);
    let servers = (plan.servers_per_leaf * plan.leaves) as f64;
    let realised = bytes as f64 * 8.0 / seconds / (servers * plan.link_bps);
    outcome.add("offered load, realised", "%", realised * 100.0);
    let mean = plan.sizes.mean(plan.most_bytes);
    outcome.add("mean size of the distribution", "bytes", mean);
    let largest = arrivals.iter().map(|arrival| arrival.bytes).max();
    outcome.add(LARGEST_FLOW, "bytes", largest.unwrap_or(0) as f64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_time_and_slowdown_are_those_of_their_class() {
        let flow = |bytes, seconds| EndedFlow { bytes, seconds };
        let flows = [
            flow(1_000, Some(0.002)),
            flow(9_999, None),
            flow(1_000_000, Some(0.16)),
            flow(1_000_000, Some(0.32)),
        ];
        let outcome = by_class(&flows, 100e6, 0.0);
        let value = |name: &str| {
            let found = outcome.metrics.iter().find(|metric| metric.name == name);
            found.map(|metric| metric.value)
        };
        assert_eq!(value("mice: throughput, mean"), Some(4.0));
        assert_eq!(value("rabbits: completion, mean"), Some(240.0));
        assert_eq!(value("rabbits: throughput, mean"), Some(37.5));
        assert_eq!(value("elephants: flows"), None);
        assert_eq!(value("flows without an end"), Some(1.0));
        // Alone, a rabbit of 8 Mb takes 80 ms.
        assert_eq!(value("slowdown, p50"), Some(4.0));
    }
}
