//! The tables of a case in a report: each number with its stated error.

use crate::cases::MeterCase;
use crate::cases::calibration::Calibration;
use crate::cases::point::{CaseVerdict, LEAST, MOST, Point};
use crate::reports::html_table::{HtmlRow, HtmlTable};
use crate::runs::results::{ResultRecord, Results};
use crate::statistics::numbers::number;
use crate::statistics::{
    Interval, Summary, greatest, least, mean_interval as interval_of_mean, median,
};

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

/// The interval of a mean: by batches, where there are enough delays for them.
pub fn mean_interval(delay: &Summary) -> Option<Interval> {
    delay.batch_99.or(delay.plain_99)
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), number)
}

/// The tables of a case: what matters first, then all statistics and numbers of each point.
pub fn tables(results: &Results, case: &MeterCase, points: &[&Point]) -> String {
    let mut all: Vec<PointRecords<'_>> = Vec::new();
    for point in points {
        all.push(PointRecords {
            point,
            records: results.of(case.name, &point.name).collect(),
            sign: results.sign(case.name, &point.name),
        });
    }
    let mut text = overview(case, &all, results.calibration.as_ref());
    if all.iter().any(PointRecords::has_delays) {
        text += &delays(&all);
        text += &order(&all);
    }
    text + &numbers(&all)
}

/// The repeats of a point.
struct PointRecords<'a> {
    point: &'a Point,
    records: Vec<&'a ResultRecord>,
    /// The end of its name.
    sign: &'static str,
}

impl PointRecords<'_> {
    fn has_delays(&self) -> bool {
        self.records.iter().any(|record| record.delay.is_some())
    }

    /// The class of its rows.
    fn class(&self) -> &'static str {
        let verdict = self.verdict();
        match (verdict, self.records.iter().all(|record| record.is_plain())) {
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
        let mut verdicts = self.records.iter().map(|record| record.verdict);
        let found = verdicts.find(|verdict| *verdict != CaseVerdict::Ok);
        found.unwrap_or(CaseVerdict::Ok)
    }

    /// The beginning of a row; a forced point says so.
    fn row(&self) -> HtmlRow {
        let mut row = HtmlRow::of_class(self.class());
        row.cell(&format!("{}{}", self.point.name, self.sign));
        row
    }

    /// Adds the cells of some statistics of delays.
    fn add_delays(&self, row: &mut HtmlRow, picks: &[fn(&Summary) -> Option<f64>]) {
        for pick in picks {
            row.cell(&shown(middle(&self.records, pick)));
        }
    }

    /// An interval of delays.
    fn interval(&self, pick: fn(&Summary) -> Option<Interval>) -> String {
        let low = middle(&self.records, |delay| pick(delay).map(|bounds| bounds.0));
        let high = middle(&self.records, |delay| pick(delay).map(|bounds| bounds.1));
        shown_interval(low.zip(high))
    }

    /// What a switch adds to the delay, from the least to the most of the repeats, microseconds.
    fn switch_alone(&self, calibration: &Calibration) -> Option<Interval> {
        let delays = self
            .records
            .iter()
            .filter_map(|record| record.delay.as_ref());
        let bounds: Vec<Interval> = delays
            .map(|delay| calibration.switch_alone(delay))
            .collect();
        let (low, high): (Vec<f64>, Vec<f64>) = bounds.into_iter().unzip();
        (!low.is_empty()).then(|| (least(&low) / 1e3, greatest(&high) / 1e3))
    }
}

fn shown_interval(bounds: Option<Interval>) -> String {
    match bounds {
        Some((low, high)) => format!("{} to {}", number(low), number(high)),
        None => "-".into(),
    }
}

/// A short table of delays, with remarks.
fn overview(
    case: &MeterCase,
    all: &[PointRecords<'_>],
    calibration: Option<&Calibration>,
) -> String {
    let mut columns = vec![
        "point",
        "verdict",
        "n",
        "p50, us",
        "p99, us",
        "mean, us",
        "99 % interval of the mean",
        "switch alone, stated error of the median",
        "lost",
    ];
    columns.extend(case.main);
    columns.push("notes");
    let mut table = HtmlTable::new(columns);
    for of_point in all {
        let records = &of_point.records;
        let counts = records.iter().filter_map(|r| r.delay.as_ref().map(|d| d.n));
        let n: usize = counts.sum();
        let alone = calibration.and_then(|found| of_point.switch_alone(found));
        let mut row = of_point.row();
        row.words(of_point.verdict().word());
        row.cell(&shown((n > 0).then_some(n as f64)));
        of_point.add_delays(
            &mut row,
            &[|d| Some(d.p50), |d| Some(d.p99), |d| Some(d.mean)],
        );
        row.cell(&of_point.interval(mean_interval));
        row.cell(&shown_interval(alone));
        row.cell(&shown(median_of(records, "lost")));
        if let Some(main) = case.main {
            row.cell(&shown(median_of(records, main)));
        }
        let mut notes: Vec<&str> = records
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
        "99 %, as if independent",
        "p50",
        "its 95 % interval",
        "p90",
        "p99",
        "its 95 % interval",
        "p99.9",
        "max",
    ]);
    for of_point in all.iter().filter(|of_point| of_point.has_delays()) {
        let mut row = of_point.row();
        of_point.add_delays(
            &mut row,
            &[|d| Some(d.min), |d| Some(d.mean), |d| Some(d.deviation)],
        );
        row.cell(&of_point.interval(|d| d.batch_95.or(d.plain_95)));
        row.cell(&of_point.interval(|d| d.plain_99));
        of_point.add_delays(&mut row, &[|d| Some(d.p50)]);
        row.cell(&of_point.interval(|d| d.p50_95));
        of_point.add_delays(&mut row, &[|d| Some(d.p90), |d| Some(d.p99)]);
        row.cell(&of_point.interval(|d| d.p99_95));
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
        let mut row = of_point.row();
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

/// The values of a number in the records that have it.
fn values(records: &[&ResultRecord], name: &str) -> Vec<f64> {
    records
        .iter()
        .filter_map(|record| record.value(name))
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
            let mut row = of_point.row();
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
    match interval_of_mean(&values, CONFIDENCE) {
        Some((low, high)) => format!(
            "mean of repeats, 95 % interval: {} to {}",
            number(low),
            number(high)
        ),
        None => "one repeat: unknown".into(),
    }
}
