//! The tables of a case in a report: each number with its stated error.

use crate::cases::MeterCase;
use crate::cases::baseline::{self, Baseline};
use crate::cases::calibration::CalibrationPoint;
use crate::cases::point::{CaseVerdict, LEAST, MOST, Point};
use crate::reports::html_table::{HtmlRow, HtmlTable};
use crate::runs::results::{DELAY, ResultRecord, Results};
use crate::runs::signed::{NumberSign, Signed};
use crate::statistics::numbers::number;
use crate::statistics::repeats::{DelayStatistic, interval_from_zero};
use crate::statistics::{Interval, Summary, greatest, least, median};

/// The counts of frames, and the names of their shares.
const SHARES: [(&str, &str); 3] = [
    ("lost", "loss"),
    ("reordered", "reordering"),
    ("duplicated", "duplication"),
];
/// The confidence of the interval over repeats.
const CONFIDENCE: f64 = 0.95;

/// The median of the repeats of a statistic of delays, in microseconds.
fn middle(records: &[&ResultRecord], pick: impl Fn(&Summary) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = records
        .iter()
        .filter_map(|r| pick(r.delay.as_ref()?))
        .collect();
    (!values.is_empty()).then(|| median(&values) / 1e3)
}

/// The median of the repeats of a metric.
fn median_of(records: &[&ResultRecord], name: &str) -> Option<f64> {
    let values = values(records, name);
    (!values.is_empty()).then(|| median(&values))
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), number)
}

/// The tables of a case: what matters first, then all statistics and numbers of each point.
pub fn tables(results: &Results, case: &MeterCase, points: &[&Point]) -> String {
    let mut all: Vec<PointRecords<'_>> = Vec::new();
    for point in points {
        all.push(PointRecords::new(
            point,
            results.of(case.name, &point.name).collect(),
        ));
    }
    let mut text = overview(case, &all);
    if all.iter().any(PointRecords::has_delays) {
        text += &delays(&all);
        text += &order(&all);
    }
    text + &numbers(&all)
}

/// The repeats of a point.
struct PointRecords<'a> {
    point: &'a Point,
    /// All of them.
    repeats: Vec<&'a ResultRecord>,
    /// Those that its numbers are of: the ones that count, or all if none does.
    records: Vec<&'a ResultRecord>,
}

impl<'a> PointRecords<'a> {
    fn new(point: &'a Point, repeats: Vec<&'a ResultRecord>) -> Self {
        let counting = repeats.iter().filter(|record| record.counts());
        let mut records: Vec<&ResultRecord> = counting.copied().collect();
        if records.is_empty() {
            records.clone_from(&repeats);
        }
        Self {
            point,
            repeats,
            records,
        }
    }

    /// Returns its name in a row of some metrics: with the greatest of their signs, and how many
    /// repeats are left out.
    fn signed_name(&self, metrics: &[&str]) -> String {
        let records = self.records.iter();
        let signs = records.flat_map(|record| metrics.iter().map(|metric| record.sign(metric)));
        let sign = signs.max().unwrap_or_default().ending();
        let all = self.repeats.len();
        let left_out = match all - self.records.len() {
            0 => String::new(),
            count => format!(" ({count} of {all} repeats no result)"),
        };
        format!("{}{sign}{left_out}", self.point.name)
    }

    fn has_delays(&self) -> bool {
        self.records.iter().any(|record| record.delay.is_some())
    }

    /// The class of its rows.
    fn class(&self) -> &'static str {
        let verdict = self.verdict();
        match (verdict, self.repeats.iter().all(|record| record.is_plain())) {
            (_, false) => "marked",
            (CaseVerdict::Ok | CaseVerdict::Unsupported, true) => "",
            (
                CaseVerdict::Lies
                | CaseVerdict::Hangs
                | CaseVerdict::Crashes
                | CaseVerdict::Fails
                | CaseVerdict::Wrong,
                true,
            ) => "bad",
        }
    }

    /// The first verdict of the repeats that is not `ok`, if there is one.
    fn verdict(&self) -> CaseVerdict {
        let mut verdicts = self.repeats.iter().map(|record| record.verdict);
        let found = verdicts.find(|verdict| *verdict != CaseVerdict::Ok);
        found.unwrap_or(CaseVerdict::Ok)
    }

    /// The beginning of a row of some metrics; one with a sign says so.
    fn row(&self, metrics: &[&str]) -> HtmlRow {
        let mut row = HtmlRow::of_class(self.class());
        row.cell(&self.signed_name(metrics));
        row
    }

    /// Adds the cells of some statistics of delays.
    fn add_delays(&self, row: &mut HtmlRow, picks: &[fn(&Summary) -> Option<f64>]) {
        for pick in picks {
            row.cell(&shown(middle(&self.records, pick)));
        }
    }

    /// An interval of a statistic of delays over the repeats.
    fn interval(&self, statistic: DelayStatistic, confidence: f64) -> String {
        let delays: Vec<&Summary> = self.delays().collect();
        let found = statistic.interval(&delays, confidence);
        shown_interval(found.map(|(low, high)| (low / 1e3, high / 1e3)))
    }

    fn delays(&self) -> impl Iterator<Item = &Summary> {
        self.records
            .iter()
            .filter_map(|record| record.delay.as_ref())
    }

    /// Returns what is added to the median delay of a baseline, microseconds. One that lost frames,
    /// or was not sent at its rate, is compared with nothing.
    fn added(&self, to: impl Fn(&Baseline) -> &CalibrationPoint) -> Option<Interval> {
        let records = self.records.iter();
        let pairs = records.filter_map(|r| {
            let delay = r.delay.as_ref()?;
            let of = to(r.baseline.as_ref()?);
            (of.sign() == NumberSign::Plain).then_some((delay, of))
        });
        let (low, high) = baseline::added(&pairs.collect::<Vec<_>>())?;
        Some((low / 1e3, high / 1e3))
    }
}

fn shown_interval(bounds: Option<Interval>) -> String {
    match bounds {
        Some((low, high)) => format!("{} to {}", number(low), number(high)),
        None => "-".into(),
    }
}

/// A short table of delays, with remarks.
fn overview(case: &MeterCase, all: &[PointRecords<'_>]) -> String {
    let mut columns = vec![
        "point",
        "verdict",
        "n",
        "p50, us",
        "p99, us",
        "mean, us",
        "99 % interval of the mean",
        "added to the wire, 95 % interval",
        "added to the yardstick",
        "lost",
    ];
    columns.extend(case.main);
    columns.push("notes");
    let mut table = HtmlTable::new(columns);
    for of_point in all {
        let records = &of_point.records;
        let counts = records.iter().filter_map(|r| r.delay.as_ref().map(|d| d.n));
        let n: usize = counts.sum();
        // Without delays, their columns are empty.
        let metrics = match case.main {
            Some(main) if of_point.has_delays() => &[main, DELAY][..],
            Some(main) => &[main],
            None => &[DELAY],
        };
        let mut row = of_point.row(metrics);
        row.words(of_point.verdict().word());
        row.cell(&shown((n > 0).then_some(n as f64)));
        of_point.add_delays(
            &mut row,
            &[|d| Some(d.p50), |d| Some(d.p99), |d| Some(d.mean)],
        );
        row.cell(&of_point.interval(DelayStatistic::Mean, 0.99));
        row.cell(&shown_interval(of_point.added(|baseline| &baseline.wire)));
        row.cell(&shown_interval(
            of_point.added(|baseline| &baseline.yardstick),
        ));
        row.cell(&shown(median_of(records, "lost")));
        if let Some(main) = case.main {
            row.cell(&shown(median_of(records, main)));
        }
        let mut notes: Vec<&str> = of_point
            .repeats
            .iter()
            .flat_map(|r| r.marks.iter().chain(&r.notes).map(String::as_str))
            .collect();
        notes.sort_unstable();
        notes.dedup();
        row.words(&notes.join("; "));
        table.push(&row);
    }
    table.html()
}

/// All statistics of delays, microseconds.
fn delays(all: &[PointRecords<'_>]) -> String {
    let mut table = HtmlTable::new([
        "point",
        "min",
        "mean",
        "standard deviation",
        "95 % interval of the mean",
        "99 % interval",
        "p50",
        "its 95 % interval",
        "p90",
        "p99",
        "its 95 % interval",
        "p99.9",
        "max",
    ]);
    for of_point in all.iter().filter(|of_point| of_point.has_delays()) {
        let mut row = of_point.row(&[DELAY]);
        of_point.add_delays(
            &mut row,
            &[|d| Some(d.min), |d| Some(d.mean), |d| Some(d.deviation)],
        );
        row.cell(&of_point.interval(DelayStatistic::Mean, 0.95));
        row.cell(&of_point.interval(DelayStatistic::Mean, 0.99));
        of_point.add_delays(&mut row, &[|d| Some(d.p50)]);
        row.cell(&of_point.interval(DelayStatistic::Median, 0.95));
        of_point.add_delays(&mut row, &[|d| Some(d.p90), |d| Some(d.p99)]);
        row.cell(&of_point.interval(DelayStatistic::P99, 0.95));
        of_point.add_delays(&mut row, &[|d| Some(d.p999), |d| Some(d.max)]);
        table.push(&row);
    }
    format!("<h3>Delays, us</h3>\n{}", table.html())
}

/// Jitter in its three forms; and counts of frames, which are exact, with the 99 % intervals of
/// their shares.
fn order(all: &[PointRecords<'_>]) -> String {
    let mut table = HtmlTable::new([
        "point",
        "differences: p50",
        "p90",
        "p99",
        "RFC 3550",
        "p99 - p50",
        "sent",
        "lost",
        "lost, 99 % interval, %",
        "reordered",
        "reordered, 99 % interval, %",
        "duplicated",
        "duplicated, 99 % interval, %",
    ]);
    for of_point in all.iter().filter(|of_point| of_point.has_delays()) {
        let records = &of_point.records;
        let mut row = of_point.row(&[DELAY]);
        of_point.add_delays(
            &mut row,
            &[
                |d| Some(d.jitter[0]),
                |d| Some(d.jitter[1]),
                |d| Some(d.jitter[2]),
                |d| Some(d.jitter_rfc3550),
                |d| Some(d.jitter_spread),
            ],
        );
        row.cell(&shown(median_of(records, "sent")));
        for (count, share) in SHARES {
            row.cell(&shown(median_of(records, count)));
            row.cell(&shown_interval(stated(records, share)));
        }
        table.push(&row);
    }
    format!(
        "<h3>Jitter, us; order and loss of frames</h3>\n{}",
        table.html()
    )
}

/// The bounds of a number, if it has some: the least and the greatest of all repeats.
fn stated(records: &[&ResultRecord], name: &str) -> Option<Interval> {
    let low = values(records, &format!("{name}{LEAST}"));
    let high = values(records, &format!("{name}{MOST}"));
    (!low.is_empty() && !high.is_empty()).then(|| (least(&low), greatest(&high)))
}

/// The values of a number in the records that have it. Their row has the sign.
fn values(records: &[&ResultRecord], name: &str) -> Vec<f64> {
    records
        .iter()
        .filter_map(|record| record.value(name).map(Signed::with_sign))
        .map(|(value, _)| value)
        .collect()
}

/// All other numbers, each with its stated error.
fn numbers(all: &[PointRecords<'_>]) -> String {
    let mut table = HtmlTable::new([
        "point",
        "number",
        "median of repeats",
        "unit",
        "stated error",
    ]);
    for of_point in all {
        let mut names: Vec<(&str, &str)> = Vec::new();
        for metric in of_point.records.iter().flat_map(|record| &record.metrics) {
            let pair = (&metric.name[..], &metric.unit[..]);
            let is_bound = metric.name.ends_with(LEAST) || metric.name.ends_with(MOST);
            let is_shown = SHARES.iter().any(|(count, _)| *count == metric.name);
            if !is_bound && !is_shown && metric.name != "sent" && !names.contains(&pair) {
                names.push(pair);
            }
        }
        for (name, unit) in names {
            let mut row = of_point.row(&[name]);
            row.words(name);
            row.cell(&shown(median_of(&of_point.records, name)));
            row.words(unit);
            row.words(&stated_error(&of_point.records, name));
            table.push(&row);
        }
    }
    if table.is_empty() {
        return String::new();
    }
    format!("<h3>Numbers</h3>\n{}", table.html())
}

/// The stated error of a number: between which bounds the true one is.
fn stated_error(records: &[&ResultRecord], name: &str) -> String {
    if let Some((low, high)) = stated(records, name) {
        return format!("{} to {}", number(low), number(high));
    }
    let values = values(records, name);
    if values.len() > 1 && least(&values) == greatest(&values) {
        return "the same in all repeats".into();
    }
    match interval_from_zero(&values, CONFIDENCE) {
        Some((low, high)) => format!(
            "mean of repeats, 95 % interval: {} to {}",
            number(low),
            number(high)
        ),
        None => "one repeat: unknown".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::chosen;
    use crate::cases::point::PointOutcome;

    #[test]
    fn a_repeat_that_is_no_result_is_in_no_number_and_the_row_says_so() {
        let record = |round: u32, rate: f64, mark: Option<&str>| ResultRecord {
            case: "fm-mod".into(),
            point: Point::of("bulk"),
            round,
            marks: mark.iter().map(ToString::to_string).collect(),
            metrics: PointOutcome::default().with("rate", "1/s", rate).metrics,
            ..ResultRecord::default()
        };
        let mut results = Results::without_records("a switch");
        results.records = vec![record(1, 10.0, None), record(2, 90.0, Some("too fast"))];
        let case = chosen(&["fm-mod".into()]).unwrap()[0];
        let shown = |results: &Results| tables(results, case, &results.points("fm-mod"));
        let text = shown(&results);
        let row = "<tr class=\"marked\"><td>bulk (1 of 2 repeats no result)</td>";
        assert!(text.contains(row) && text.contains("too fast"), "{text}");
        assert!(
            text.contains("<td>10</td>") && !text.contains("<td>50"),
            "{text}"
        );
        results.records.remove(0);
        let text = shown(&results);
        assert!(text.contains("<td>bulk (no result)</td>"), "{text}");
        assert!(text.contains("<td>90</td>"), "{text}");
    }

    #[test]
    fn a_control_that_lost_frames_or_was_not_sent_is_in_no_difference() {
        let path = |us: u64, loss: f64, rate: (f64, f64)| CalibrationPoint {
            loss,
            rate,
            ..CalibrationPoint::of(64, 10.0, &Summary::of(&[us * 1_000; 100]).unwrap())
        };
        let added = |loss, rate| {
            let record = ResultRecord {
                delay: Summary::of(&[30_000; 100]),
                baseline: Some(Baseline {
                    wire: path(10, 0.0, (1_000.0, 1_000.0)),
                    yardstick: path(20, loss, rate),
                }),
                ..ResultRecord::default()
            };
            let point = Point::of("output");
            let of_point = PointRecords::new(&point, vec![&record, &record]);
            (
                of_point.added(|baseline| &baseline.wire),
                of_point.added(|baseline| &baseline.yardstick),
            )
        };
        let to_wire = Some((20.0, 20.0));
        let at_rate = (1_000.0, 1_000.0);
        assert_eq!(added(0.0, at_rate), (to_wire, Some((10.0, 10.0))));
        assert_eq!(added(0.5, at_rate), (to_wire, None));
        assert_eq!(added(0.0, (1_000.0, 900.0)), (to_wire, None));
    }
}
