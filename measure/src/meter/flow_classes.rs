//! Throughput and completion time of flows by their class: mice, rabbits and elephants.

use super::fct::{LINK_MBPS, sizes_of};
use super::flow_sizes::{ArrivalPlan, DATA_MINING, FlowArrival, FlowClass, WEB_SEARCH};
use super::html::escaped;
use super::point::{CaseVerdict, Point, PointOutcome};
use super::results::Results;
use super::statistics::{Interval, greatest, mean, mean_interval, paired_ratio, quantile};
use crate::plot::{Bar, mean_bars};
use crate::report::number;

/// What is measured of a class, its unit, and the paper's figure.
const MEASURES: [(&str, &str, &str); 2] = [
    ("throughput, mean", "Mb/s", "Fig. 6"),
    ("completion, mean", "ms", "Fig. 7"),
];
/// The metric of the largest flow of a run.
const LARGEST_FLOW: &str = "largest flow";
/// The confidence of the intervals over runs. Source: the paper, section 5.2.
const CONFIDENCE: f64 = 0.95;

/// A flow that counts.
pub struct EndedFlow {
    /// Its size.
    pub bytes: u64,
    /// From its beginning until its last byte was acknowledged; none if it did not end in time.
    pub seconds: Option<f64>,
}

/// Throughput and completion times by class, and how much longer flows took than alone on links of
/// this rate with this round-trip time, in seconds.
pub fn by_class(flows: &[EndedFlow], link_bps: f64, round_trip: f64) -> PointOutcome {
    let mut outcome = PointOutcome::default();
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
        outcome.verdict = CaseVerdict::Wrong;
        outcome.notes.push("no flow came to its end".into());
    }
    outcome
}

/// Adds the load that was realised, and the mean size by which the wanted one was computed.
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

/// One bar of a figure: the mean of the runs and its interval.
struct ClassFigure<'a> {
    point: &'a Point,
    class: FlowClass,
    /// The set-up and how paths are chosen.
    series: String,
    mean: f64,
    interval: Option<Interval>,
}

/// Tables and plots of throughput and completion time by class, of each set-up: means and 95 %
/// intervals over the repeats that count.
pub fn figures(runs: &[&Results], case: &str) -> String {
    let mut text = String::new();
    for (metric, unit, figure) in MEASURES {
        let found = figures_of(runs, case, metric);
        if found.is_empty() {
            continue;
        }
        text += &format!(
            "<h3>{figure}: {metric} by class of flows, {unit}, with 95 % intervals over runs</h3>\n"
        );
        text += &table(&found);
        text += &plots(&found, metric, unit);
        for sentence in differences(runs, case, metric) {
            text += &format!("<p>{}</p>\n", escaped(&sentence));
        }
    }
    for sentence in empty_classes(runs, case) {
        text += &format!("<p>{}</p>\n", escaped(&sentence));
    }
    text
}

/// Which classes have no flow for any set-up, with the largest flow that there was.
fn empty_classes(runs: &[&Results], case: &str) -> Vec<String> {
    let mut said = Vec::new();
    for sizes in [&WEB_SEARCH, &DATA_MINING] {
        let mut largest: Vec<f64> = Vec::new();
        let mut seen: Vec<FlowClass> = Vec::new();
        for run in runs {
            for point in run.points(case) {
                if sizes_of(point).name != sizes.name {
                    continue;
                }
                largest.extend(run.values(case, &point.name, LARGEST_FLOW));
                for class in FlowClass::ALL {
                    let flows = format!("{}: flows", class.name());
                    if !run.values(case, &point.name, &flows).is_empty() {
                        seen.push(class);
                    }
                }
            }
        }
        for class in FlowClass::ALL {
            if !largest.is_empty() && !seen.contains(&class) {
                said.push(format!(
                    "No {} with sizes of {}: the largest flow of these runs has {} bytes.",
                    class.name(),
                    sizes.name,
                    number(greatest(&largest))
                ));
            }
        }
    }
    said
}

/// How the set-ups differ, class by class: the ratio to the first set-up over all pairs of runs
/// with the same flows.
fn differences(runs: &[&Results], case: &str, metric: &str) -> Vec<String> {
    let Some((first, others)) = runs.split_first() else {
        return Vec::new();
    };
    let mut said = Vec::new();
    for other in others {
        for class in FlowClass::ALL {
            let name = format!("{}: {metric}", class.name());
            let mut pairs = Vec::new();
            for point in first.points(case) {
                pairs.extend(first.pairs(other, case, &point.name, &name));
            }
            let Some((ratio, interval)) = paired_ratio(&pairs, CONFIDENCE) else {
                continue;
            };
            let within = interval.map_or_else(String::new, |(low, high)| {
                format!(", 95 % interval {low:.3} to {high:.3}")
            });
            said.push(format!(
                "{}, {metric}: {} is at {ratio:.3} times {}, over {} pairs of runs with the same \
                 flows{within}.",
                class.name(),
                other.info.subject,
                first.info.subject,
                pairs.len()
            ));
        }
    }
    said
}

fn figures_of<'a>(runs: &[&'a Results], case: &str, metric: &str) -> Vec<ClassFigure<'a>> {
    let mut found = Vec::new();
    for run in runs {
        for point in run.points(case) {
            for class in FlowClass::ALL {
                let name = format!("{}: {metric}", class.name());
                let values = run.values(case, &point.name, &name);
                if values.is_empty() {
                    continue;
                }
                let paths = super::fct::paths_of(point);
                found.push(ClassFigure {
                    point,
                    class,
                    series: format!("{}, {paths}", run.info.subject),
                    mean: mean(&values),
                    interval: mean_interval(&values, CONFIDENCE),
                });
            }
        }
    }
    found
}

fn load_percent(point: &Point) -> f64 {
    point.mbps / LINK_MBPS * 100.0
}

fn table(found: &[ClassFigure<'_>]) -> String {
    let mut text = "<table><tr><th>sizes</th><th>load</th><th>class</th><th>set-up, paths</th>\
        <th>mean</th><th>95 % interval</th></tr>\n"
        .to_string();
    for figure in found {
        let interval = figure.interval.map_or_else(
            || "one run".into(),
            |(low, high)| format!("{} to {}", number(low), number(high)),
        );
        text += &format!(
            "<tr><td>{}</td><td>{} %</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{interval}</td></tr>\n",
            sizes_of(figure.point).name,
            load_percent(figure.point),
            figure.class.name(),
            escaped(&figure.series),
            number(figure.mean)
        );
    }
    text + "</table>\n"
}

/// A plot for each distribution of sizes and each class, as the paper's panels.
fn plots(found: &[ClassFigure<'_>], metric: &str, unit: &str) -> String {
    // The bars of a load are next to each other.
    let mut found: Vec<&ClassFigure<'_>> = found.iter().collect();
    found.sort_by(|one, other| one.point.mbps.total_cmp(&other.point.mbps));
    let mut series: Vec<&str> = Vec::new();
    let mut panels: Vec<(&str, FlowClass)> = Vec::new();
    for figure in &found {
        let panel = (sizes_of(figure.point).name, figure.class);
        if !panels.contains(&panel) {
            panels.push(panel);
        }
        if !series.contains(&figure.series.as_str()) {
            series.push(&figure.series);
        }
    }
    let mut text = String::new();
    for (sizes, class) in panels {
        let mut drawn = Vec::new();
        for figure in &found {
            if sizes_of(figure.point).name != sizes || figure.class != class {
                continue;
            }
            let at = series.iter().position(|one| *one == figure.series);
            drawn.push(Bar {
                group: format!("{} %", load_percent(figure.point)),
                series: at.unwrap_or(0),
                name: figure.series.clone(),
                value: figure.mean,
                range: figure.interval.unwrap_or((figure.mean, figure.mean)),
            });
        }
        let title = format!("{}, {sizes}: {metric}", class.name());
        text += &mean_bars(&title, unit, &drawn);
    }
    text
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
