//! Tables and plots of throughput and completion time of flows by their class, of each set-up.

use crate::cases::point::Point;
use crate::data_centre::fct::{self, LINK_MBPS, paths_of, sizes_of};
use crate::data_centre::flow_classes::{
    FRAME_COST, IMBALANCE, LARGEST_FLOW, PROCESSOR_TIME, PROCESSOR_TIME_OF,
};
use crate::data_centre::flow_sizes::{DATA_MINING, FlowClass, WEB_SEARCH};
use crate::reports::html_table::{HtmlTable, paragraph};
use crate::reports::plot::{Bar, mean_bars};
use crate::runs::results::Results;
use crate::runs::signed::NumberSign;
use crate::statistics::numbers::number;
use crate::statistics::repeats::interval_of_positive;
use crate::statistics::{Interval, greatest, least, mean, median, paired_ratio};

/// The measures of a class: name, unit, and the paper's figure.
const MEASURES: [(&str, &str, &str); 2] = [
    ("throughput, mean", "Mb/s", "Fig. 6"),
    ("completion, mean", "ms", "Fig. 7"),
];
/// The confidence of the intervals over runs. Source: the paper, section 5.2.
const CONFIDENCE: f64 = 0.95;

/// One bar of a figure: the mean of the runs and its interval.
struct ClassFigure<'a> {
    point: &'a Point,
    class: FlowClass,
    /// The set-up and how paths are chosen.
    series: String,
    mean: f64,
    interval: Option<Interval>,
}

/// The origin of the numbers of a case.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FlowOrigin {
    /// Our core on a virtual clock, with the measured cost of a set-up's frames.
    Simulated,
    /// The set-up's switches.
    Live,
}

impl FlowOrigin {
    fn of(case: &str) -> Self {
        if case == fct::NAME {
            return Self::Simulated;
        }
        Self::Live
    }

    fn word(self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::Live => "live",
        }
    }

    /// Names what the numbers of a run belong to.
    fn subject(self, run: &Results) -> String {
        match self {
            Self::Simulated => format!("cost of {}", run.info.subject),
            Self::Live => run.info.subject.clone(),
        }
    }

    /// Says what a reader must know of the numbers.
    fn explained(self, runs: &[&Results], case: &str) -> String {
        if self == Self::Live {
            return "Live: the switches of each set-up, and the kernel's TCP. A link lets the first \
                    frame after a pause through at once, and counts its time to the next: flows of \
                    few frames are faster than on a cable, after each pause by at most the time \
                    that is among the numbers."
                .into();
        }
        let mut costs = Vec::new();
        for run in runs {
            let mut values = Vec::new();
            let mut sign = NumberSign::Plain;
            for point in run.points(case) {
                let (of_point, own_sign) = run.values(case, &point.name, FRAME_COST).with_sign();
                values.extend(of_point);
                sign = sign.max(own_sign);
            }
            if !values.is_empty() {
                let cost = sign.written(&number(median(&values)));
                costs.push(format!("{} {cost} ns", run.info.subject));
            }
        }
        format!(
            "Simulated: every switch of the network is the core of bofuss on a virtual clock. Of a \
             set-up it has only the processor time that a frame was measured to cost: {}. \
             \"cost of X, arp-path\" is this core with ARP-Path, each frame of which takes as long \
             as one of X; X itself need not have ARP-Path.",
            costs.join(", ")
        )
    }
}

/// Tables and plots of throughput and completion time by class, of each set-up: means and 95 %
/// intervals over the repeats that count.
pub fn figures(runs: &[&Results], case: &str) -> String {
    let origin = FlowOrigin::of(case);
    let mut text = String::new();
    let is_reduced = runs.iter().any(|run| run.info.reduced);
    let form = if is_reduced { ", reduced form" } else { "" };
    for (metric, unit, figure) in MEASURES {
        let found = figures_of(runs, case, metric);
        if found.is_empty() {
            continue;
        }
        text += &format!(
            "<h3>{figure}, {}{}: {metric} by class of flows, {unit}, with 95 % intervals over \
             runs</h3>\n",
            origin.word(),
            form
        );
        text += &paragraph(&origin.explained(runs, case));
        text += &table(&found);
        text += &plots(&found, &format!("{metric}, {}", origin.word()), unit);
        for sentence in differences(runs, case, metric) {
            text += &paragraph(&sentence);
        }
    }
    if !text.is_empty() {
        text += &costs(runs, case);
    }
    for sentence in empty_classes(runs, case) {
        text += &paragraph(&sentence);
    }
    for sentence in runs.iter().filter_map(|run| left_out(run, case)) {
        text += &paragraph(&sentence);
    }
    text
}

/// Says how many results of a run no figure shows, and why.
fn left_out(run: &Results, case: &str) -> Option<String> {
    let records = run.records.iter().filter(|record| record.case == case);
    let (shown, marked): (Vec<_>, Vec<_>) = records.partition(|record| record.counts());
    let mut reasons: Vec<&str> = Vec::new();
    for reason in marked.iter().flat_map(|record| &record.marks) {
        if !reasons.contains(&reason.as_str()) {
            reasons.push(reason);
        }
    }
    (!marked.is_empty()).then(|| {
        format!(
            "Of {}, {} of {} results are not shown: {}.",
            run.info.subject,
            marked.len(),
            shown.len() + marked.len(),
            reasons.join("; ")
        )
    })
}

/// Shows how evenly paths were used, and what the switches cost: the medians of the repeats.
fn costs(runs: &[&Results], case: &str) -> String {
    let origin = FlowOrigin::of(case);
    let busiest = format!("{IMBALANCE}, times");
    let mut heads = vec!["sizes", "load", "set-up, paths", &busiest];
    match origin {
        FlowOrigin::Simulated => heads.push("processor time of a frame, ns"),
        FlowOrigin::Live => heads.extend([
            "processor time of all switches, s",
            "of each spine, s",
            "of each leaf, s",
        ]),
    }
    let mut table = HtmlTable::new(heads);
    for run in runs {
        for point in run.points(case) {
            let middle = |metric: &str| {
                let (values, sign) = run.values(case, &point.name, metric).with_sign();
                let middle = (!values.is_empty()).then(|| sign.written(&number(median(&values))));
                middle.unwrap_or_else(|| "-".into())
            };
            if !has(run, case, point, IMBALANCE) {
                continue;
            }
            let mut cells = vec![
                sizes_of(point).name.to_string(),
                format!("{} %", load_percent(point)),
                format!("{}, {}", origin.subject(run), paths_of(point)),
                middle(IMBALANCE),
            ];
            match origin {
                FlowOrigin::Simulated => cells.push(middle(FRAME_COST)),
                FlowOrigin::Live => {
                    cells.push(middle(PROCESSOR_TIME));
                    cells.extend(["spine", "leaf"].map(|tier| of_each(run, case, point, tier)));
                }
            }
            table.push_cells(&cells);
        }
    }
    format!(
        "<h3>Paths and processors, {}</h3>\n{}",
        origin.word(),
        table.html()
    )
}

/// Returns true if a result that counts has a number.
fn has(run: &Results, case: &str, point: &Point, metric: &str) -> bool {
    let (values, _) = run.values(case, &point.name, metric).with_sign();
    !values.is_empty()
}

/// The processor time of the switches of a tier, from the least to the most of them.
fn of_each(run: &Results, case: &str, point: &Point, tier: &str) -> String {
    let mut times = Vec::new();
    let mut sign = NumberSign::Plain;
    for number in 1.. {
        let metric = format!("{PROCESSOR_TIME_OF}{tier} {number}");
        let (values, own_sign) = run.values(case, &point.name, &metric).with_sign();
        if values.is_empty() {
            break;
        }
        sign = sign.max(own_sign);
        times.push(median(&values));
    }
    if times.is_empty() {
        return "one program is all switches".into();
    }
    sign.written(&format!(
        "{} to {}",
        number(least(&times)),
        number(greatest(&times))
    ))
}

/// Says which classes have no flow for any set-up, with the largest flow that there was.
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
                // Flows are drawn before they are sent: no sign concerns their sizes.
                let (sizes, _) = run.values(case, &point.name, LARGEST_FLOW).with_sign();
                largest.extend(sizes);
                for class in FlowClass::ALL {
                    let flows = format!("{}: flows", class.name());
                    if has(run, case, point, &flows) {
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

/// Says how the set-ups differ, class by class: the ratio to the first set-up over all pairs of
/// runs with the same flows.
fn differences(runs: &[&Results], case: &str, metric: &str) -> Vec<String> {
    let Some((first, others)) = runs.split_first() else {
        return Vec::new();
    };
    let origin = FlowOrigin::of(case);
    let mut said = Vec::new();
    for other in others {
        for class in FlowClass::ALL {
            let name = format!("{}: {metric}", class.name());
            let mut pairs = Vec::new();
            for point in first.points(case) {
                let of_point = first.pairs(other, case, &point.name, &name);
                pairs.extend(of_point.plain().into_iter().flatten());
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
                origin.subject(other),
                origin.subject(first),
                pairs.len()
            ));
        }
    }
    said
}

fn figures_of<'a>(runs: &[&'a Results], case: &str, metric: &str) -> Vec<ClassFigure<'a>> {
    let origin = FlowOrigin::of(case);
    let mut found = Vec::new();
    for run in runs {
        for point in run.points(case) {
            for class in FlowClass::ALL {
                let name = format!("{}: {metric}", class.name());
                let (values, sign) = run.values(case, &point.name, &name).with_sign();
                if values.is_empty() {
                    continue;
                }
                let sign = sign.ending();
                found.push(ClassFigure {
                    point,
                    class,
                    series: format!("{}, {}{sign}", origin.subject(run), paths_of(point)),
                    mean: mean(&values),
                    interval: interval_of_positive(&values, CONFIDENCE),
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
    let heads = [
        "sizes",
        "load",
        "class",
        "set-up, paths",
        "mean",
        "95 % interval",
    ];
    let mut table = HtmlTable::new(heads);
    for figure in found {
        let interval = figure.interval.map_or_else(
            || "one run".into(),
            |(low, high)| format!("{} to {}", number(low), number(high)),
        );
        table.push_cells([
            sizes_of(figure.point).name.to_string(),
            format!("{} %", load_percent(figure.point)),
            figure.class.name().into(),
            figure.series.clone(),
            number(figure.mean),
            interval,
        ]);
    }
    table.html()
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
    use crate::cases::point::PointOutcome;
    use crate::cases::workbench::Limits;
    use crate::data_centre::live_fct;
    use crate::runs::results::ResultRecord;

    /// A simulated run of a set-up of which a frame costs this much.
    fn simulated(subject: &str, cost_ns: f64) -> Results {
        let mut results = Results::without_records(subject);
        let mut record = ResultRecord {
            case: fct::NAME.into(),
            point: fct::points(&Limits::unbounded(true))[1].clone(),
            round: 1,
            ..Default::default()
        };
        let numbers = PointOutcome::default()
            .with("mice: throughput, mean", "Mb/s", 20.0)
            .with(FRAME_COST, "ns", cost_ns)
            .with(IMBALANCE, "times", 1.25);
        record.metrics = numbers.metrics;
        results.records = vec![record];
        results
    }

    #[test]
    fn what_is_simulated_says_so_and_whose_cost_a_row_has() {
        let [ours, other] = [simulated("bofuss", 800.0), simulated("ovs", 3_200.0)];
        let page = figures(&[&ours, &other], fct::NAME);
        assert!(page.contains("<h3>Fig. 6, simulated: throughput"), "{page}");
        assert!(page.contains("bofuss 800 ns, ovs 3,200 ns"), "{page}");
        assert!(page.contains("<td>cost of ovs, arp-path</td>"), "{page}");
        assert!(page.contains("cost of ovs is at 1.000 times cost of bofuss"));
        assert!(page.contains("<td>1.25</td><td>3,200</td>"), "{page}");
    }

    #[test]
    fn the_reduced_form_is_in_the_heading_of_figures() {
        let mut run = simulated("bofuss", 800.0);
        run.info.reduced = true;
        let page = figures(&[&run], fct::NAME);
        let head = "<h3>Fig. 6, simulated, reduced form: throughput";
        assert!(page.contains(head), "{page}");
        run.records[0].case = live_fct::NAME.into();
        let page = figures(&[&run], live_fct::NAME);
        let head = "<h3>Fig. 6, live, reduced form: throughput";
        assert!(page.contains(head), "{page}");
    }

    #[test]
    fn what_is_not_shown_is_counted_and_its_reason_said() {
        let mut results = simulated("ovs", 800.0);
        results.records[0].marks = vec!["no time".into()];
        let page = figures(&[&results], fct::NAME);
        let said = "Of ovs, 1 of 1 results are not shown: no time.";
        assert_eq!(page, paragraph(said));
    }
}
