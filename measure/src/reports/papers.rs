//! The report that compares each table and figure of a paper with ours. It uses only what the paper
//! prints in its text or tables.

use std::path::Path;

use serde::Deserialize;

use crate::cases::point::{CaseVerdict, Point};
use crate::error::Result;
use crate::reports::flow_figures;
use crate::reports::html::{form, form_note, page};
use crate::reports::html_table::{HtmlRow, HtmlTable, escaped, list, paragraph};
use crate::reports::methods;
use crate::reports::paper_figures::{PaperFigure, figures, way_words};
use crate::reports::paper_text::Anchor;
use crate::reports::skew;
use crate::runs::results::{DELAY, ResultRecord, Results};
use crate::runs::signed::{NumberSign, Signed};
use crate::statistics::numbers::number;
use crate::statistics::repeats::DelayStatistic;
use crate::statistics::{Summary, deviation, mean, median};

/// The numbers of all papers.
const DATA: &str = include_str!("../../data/papers.json");

/// The figures that a paper prints.
#[derive(Deserialize)]
pub struct PublishedPaper {
    /// Its number among the papers.
    pub number: String,
    /// Authors and title.
    pub title: String,
    /// The cases that follow it.
    pub cases: Vec<String>,
    /// True if its delays of frames are round trips, which we measure, too.
    #[serde(default)]
    pub echo: bool,
    /// The set-ups that they run on, unless the user names others.
    #[serde(default)]
    pub setups: Vec<String>,
    /// Its tables.
    tables: Vec<PaperTable>,
    /// Its figures, if they show something of ours.
    #[serde(default)]
    pub figures: Vec<PaperFigure>,
    /// The statements of its text about figures.
    pub anchors: Vec<Anchor>,
}

/// A table of a paper.
#[derive(Deserialize)]
struct PaperTable {
    id: String,
    section: String,
    title: String,
    /// Whether delays are one way or round trips, in the paper and here.
    #[serde(default)]
    way: Option<String>,
    unit: String,
    case: String,
    columns: Vec<Column>,
    rows: Vec<PaperRow>,
}

/// A column, and the point and metric of ours that belong to it.
#[derive(Deserialize)]
struct Column {
    name: String,
    point: String,
    metric: String,
    /// The part of the repeats that is shown.
    #[serde(default)]
    over: OverRepeats,
    /// Its unit, if it is not that of the table.
    unit: Option<String>,
}

/// The part of our repeats that is shown.
#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum OverRepeats {
    #[default]
    Median,
    Mean,
    /// Their standard deviation.
    Deviation,
    /// The median ratio to the bridge in the same repeat.
    TimesBridge,
}

/// The confidence of the intervals of delays. Source: paper 002.
const CONFIDENCE: f64 = 0.99;

/// The set-up that others are compared with.
const BRIDGE: &str = "bridge";

/// A row of a table: an interval for each column, both bounds equal for a single number.
#[derive(Deserialize)]
struct PaperRow {
    name: String,
    cells: Vec<Option<(f64, f64)>>,
}

/// All papers.
pub fn all() -> Vec<PublishedPaper> {
    serde_json::from_str(DATA).expect("a test reads it")
}

/// The paper of a number.
///
/// Errors: there is none.
pub fn of(wanted: &str) -> Result<PublishedPaper> {
    let papers = all();
    let numbers: Vec<String> = papers.iter().map(|paper| paper.number.clone()).collect();
    let found = papers.into_iter().find(|paper| paper.number == wanted);
    found.ok_or_else(|| format!("no paper {wanted}; there are {}", numbers.join(", ")).into())
}

impl PublishedPaper {
    /// Returns true if a table or figure of the paper shows a point of ours, or if none is of its
    /// case: then all are for the figures that are made of flows.
    pub fn shows(&self, case: &str, point: &Point) -> bool {
        let tables = self.tables.iter().filter(|table| table.case == case);
        let figures = self.figures.iter().filter(|figure| figure.is_of(case));
        let by_tables = tables.map(|table| table.shows(point));
        let mut shown = by_tables
            .chain(figures.map(|figure| figure.shows(point)))
            .peekable();
        shown.peek().is_none() || shown.any(|is_shown| is_shown)
    }

    /// The number that the paper's text prints of something.
    pub fn value(&self, case: &str, what: &str) -> Option<f64> {
        let found = self
            .values(case)
            .into_iter()
            .find(|(text, _)| *text == what);
        found.map(|(_, value)| value)
    }

    /// All numbers that the text prints of a case, with their words.
    pub fn values(&self, case: &str) -> Vec<(&str, f64)> {
        let of_case = self.anchors.iter().filter(|anchor| anchor.case == case);
        of_case
            .filter_map(|anchor| Some((anchor.text.as_str(), anchor.value?)))
            .collect()
    }

    /// Returns what the text says about a case: figure, section, words and number.
    pub fn sayings(&self, case: &str) -> Vec<String> {
        let mut said = Vec::new();
        for anchor in self.anchors.iter().filter(|anchor| anchor.case == case) {
            let value = anchor
                .value
                .map_or_else(String::new, |value| format!(": {value}"));
            said.push(format!(
                "{} (section {}): {}{value}",
                anchor.figure, anchor.section, anchor.text
            ));
        }
        said
    }
}

/// The report: the paper's tables and figures compared with those of some runs.
pub fn report(paper: &PublishedPaper, runs: &[Results]) -> String {
    let mut body = String::new();
    let short = runs.iter().any(|run| run.info.short);
    body += &form_note(short);
    if let Some(first) = runs.first() {
        let mut sentences = first.info.machine.clone();
        sentences.extend(first.calibration.iter().flat_map(|found| found.sentences()));
        body += &list(&sentences);
        body += "<h2>Methods</h2>\n";
    }
    for run in runs {
        body += &paragraph(&methods::paragraph(run));
    }
    for table in &paper.tables {
        body += &compared(table, runs);
    }
    let all: Vec<&Results> = runs.iter().collect();
    for case in &paper.cases {
        let figures = figures(&paper.figures, &paper.anchors, case, runs);
        let by_class = flow_figures::figures(&all, case);
        if figures.is_empty() && !by_class.is_empty() {
            body += &format!("<h2>Figures of {}</h2>\n", escaped(case));
        }
        body += &figures;
        body += &by_class;
    }
    let reduced = runs.iter().any(|run| run.info.reduced);
    let form = form(short, reduced);
    page(&format!("{}{form}", paper.title), &body)
}

/// The statistic of a series of delays that is compared with a paper's numbers, which are means.
#[derive(Clone, Copy, PartialEq)]
enum Statistic {
    Mean,
    Median,
}

impl Statistic {
    fn word(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median",
        }
    }
}

/// The metric of columns that are delays.
const DELAYS: &str = "mean";

impl PaperTable {
    /// Returns true if it is a table of delays.
    fn has_delays(&self) -> bool {
        let mut columns = self.columns.iter();
        columns.any(|column| column.metric == DELAYS && !column.point.is_empty())
    }

    /// Returns true if a column is of this point.
    fn shows(&self, point: &Point) -> bool {
        self.columns.iter().any(|column| column.point == point.name)
    }

    /// The statistics of ours that it shows.
    fn statistics(&self) -> &'static [Statistic] {
        if self.has_delays() {
            return &[Statistic::Mean, Statistic::Median];
        }
        &[Statistic::Mean]
    }

    /// The results of a run that belong to a column.
    fn records<'a>(&'a self, run: &'a Results, column: &'a Column) -> Vec<&'a ResultRecord> {
        run.of(&self.case, &column.point).collect()
    }

    /// The results of a run that belong to any column.
    fn all_records<'a>(&'a self, run: &'a Results) -> Vec<&'a ResultRecord> {
        let columns = self.columns.iter();
        columns
            .flat_map(|column| self.records(run, column))
            .collect()
    }

    /// Ours in the unit of the table or the column, with the greatest sign of the repeats.
    fn ours(&self, run: &Results, column: &Column, statistic: Statistic) -> Option<Signed<f64>> {
        let mut values = Vec::new();
        for record in self.records(run, column) {
            values.extend(self.value(record, &column.metric, statistic));
        }
        let value = Self::over_repeats(column, &values)?;
        Some(Signed::new(value, self.sign(run, column)))
    }

    fn over_repeats(column: &Column, values: &[f64]) -> Option<f64> {
        if values.is_empty() {
            return None;
        }
        match column.over {
            OverRepeats::Median => Some(median(values)),
            OverRepeats::Mean => Some(mean(values)),
            OverRepeats::Deviation => (values.len() > 1).then(|| deviation(values)),
            OverRepeats::TimesBridge => None,
        }
    }

    /// Ours over the bridge's value: the median over the repeats that both have.
    fn times_bridge(&self, run: &Results, runs: &[Results], column: &Column) -> Option<f64> {
        let bridge = runs.iter().find(|run| run.info.subject == BRIDGE)?;
        let pairs = bridge
            .pairs(run, &self.case, &column.point, &column.metric)
            .plain()?;
        let ratios: Vec<f64> = pairs.iter().map(|(bridge, own)| own / bridge).collect();
        (!ratios.is_empty()).then(|| median(&ratios))
    }

    /// The greatest sign of the repeats.
    fn sign(&self, run: &Results, column: &Column) -> NumberSign {
        let metric = match &column.metric[..] {
            DELAYS => DELAY,
            own => own,
        };
        let records = self.records(run, column);
        let signs = records.iter().map(|record| record.sign(metric));
        signs.max().unwrap_or_default()
    }

    /// A number of ours: delays and rates with the paper's three digits, counts whole.
    fn shown(&self, column: &Column, value: f64) -> String {
        if self.unit == "rules" || column.unit.is_some() {
            return number(value);
        }
        format!("{value:.3}")
    }

    /// The number of a repeat, of which `ours` has the sign.
    fn value(&self, record: &ResultRecord, metric: &str, statistic: Statistic) -> Option<f64> {
        if metric != DELAYS {
            return record.value(metric).map(|value| value.with_sign().0);
        }
        let delay = record.delay.as_ref()?;
        let ns = match statistic {
            Statistic::Mean => delay.mean,
            Statistic::Median => delay.p50,
        };
        Some(ns / self.ns_per_unit())
    }

    fn ns_per_unit(&self) -> f64 {
        if self.unit == "ms" { 1e6 } else { 1e3 }
    }
}

fn interval((low, high): (f64, f64)) -> String {
    if low == high {
        return low.to_string();
    }
    format!("{low:.3} to {high:.3}")
}

/// A table of a paper with our rows added, and the conclusions.
fn compared(table: &PaperTable, runs: &[Results]) -> String {
    let mut text = format!(
        "<h2>{} (section {}): {}, {}{}</h2>\n",
        escaped(&table.id),
        escaped(&table.section),
        escaped(&table.title),
        escaped(&table.unit),
        way_words(table.way.as_deref())
    );
    let mut heads = vec!["switch".to_string()];
    for column in &table.columns {
        heads.push(match &column.unit {
            Some(unit) => format!("{}, {unit}", column.name),
            None => column.name.clone(),
        });
    }
    let mut rows = HtmlTable::new(&heads);
    for published in &table.rows {
        let mut row = HtmlRow::plain();
        row.cell(&published.name);
        for cell in &published.cells {
            row.cell(&cell.map_or_else(|| "-".into(), interval));
        }
        rows.push(&row);
    }
    for run in runs {
        if table.has_delays() {
            rows.push(&interval_row(run, table));
        }
        for statistic in table.statistics() {
            rows.push(&own_row(run, runs, table, *statistic));
        }
    }
    text += &rows.html();
    for sentence in differences(table, runs) {
        text += &paragraph(&sentence);
    }
    text
}

/// The intervals of the means of ours, over the repeats, beside the paper's.
fn interval_row(run: &Results, table: &PaperTable) -> HtmlRow {
    let mut row = HtmlRow::plain();
    row.named(&run.info.subject, ", here, 99 % interval of the mean");
    for column in &table.columns {
        let records = table.records(run, column);
        let delays = records.iter().filter_map(|record| record.delay.as_ref());
        let delays: Vec<&Summary> = delays.collect();
        let Some((low, high)) = DelayStatistic::Mean.interval(&delays, CONFIDENCE) else {
            row.cell("-");
            continue;
        };
        let [low, high] = [low, high].map(|bound| bound / table.ns_per_unit());
        let interval = format!("{low:.3} to {high:.3}");
        row.cell(&table.sign(run, column).written(&interval));
    }
    row
}

/// A row of ours.
fn own_row(run: &Results, runs: &[Results], table: &PaperTable, statistic: Statistic) -> HtmlRow {
    let words = if table.has_delays() {
        format!(", here, {}", statistic.word())
    } else {
        ", here".into()
    };
    let mut row = HtmlRow::plain();
    row.named(&run.info.subject, &words);
    for column in &table.columns {
        let own = match column.over {
            OverRepeats::TimesBridge => {
                let ratio = table.times_bridge(run, runs, column);
                ratio.map(|ratio| Signed::new(ratio, NumberSign::Plain))
            }
            OverRepeats::Median | OverRepeats::Mean | OverRepeats::Deviation => {
                table.ours(run, column, statistic)
            }
        };
        row.cell(&own_cell(run, table, column, own));
    }
    row
}

/// Ours, or why there is nothing.
fn own_cell(
    run: &Results,
    table: &PaperTable,
    column: &Column,
    own: Option<Signed<f64>>,
) -> String {
    let records = table.records(run, column);
    let verdict = records
        .iter()
        .map(|r| r.verdict)
        .find(|v| *v != CaseVerdict::Ok);
    match (own.map(Signed::with_sign), verdict) {
        (_, Some(verdict)) => verdict.word().into(),
        (Some((value, sign)), None) => sign.written(&table.shown(column, value)),
        (None, None) => "-".into(),
    }
}

/// The sentences on the differences: computed from the numbers of both.
fn differences(table: &PaperTable, runs: &[Results]) -> Vec<String> {
    let mut said = Vec::new();
    for run in runs {
        for statistic in table.statistics() {
            said.extend(difference(table, run, *statistic));
        }
        said.extend(skew::sentence(&run.info.subject, table.all_records(run)));
    }
    let mut records = runs.iter().flat_map(|run| table.all_records(run));
    if records.any(|record| !record.is_plain()) {
        said.push(
            "Numbers in parentheses are beyond what the instrument tells apart on this machine."
                .into(),
        );
    }
    said
}

/// Says how a statistic of a run differs from the paper's numbers.
fn difference(table: &PaperTable, run: &Results, statistic: Statistic) -> Option<String> {
    let mut ratios = Vec::new();
    let mut nearest: Option<(f64, &str)> = None;
    for (at, column) in table.columns.iter().enumerate() {
        let own = table.ours(run, column, statistic).and_then(Signed::plain);
        let is_like = column.over != OverRepeats::Deviation;
        let Some(own) = own.filter(|own| *own > 0.0 && is_like) else {
            continue;
        };
        for row in &table.rows {
            let Some((low, high)) = row.cells[at] else {
                continue;
            };
            let ratio = own / ((low + high) / 2.0);
            if row.name.starts_with("Open vSwitch") {
                ratios.push(ratio);
            }
            let distance = ratio.ln().abs();
            if nearest.is_none_or(|(least, _)| distance < least) {
                nearest = Some((distance, &row.name));
            }
        }
    }
    let (_, near) = nearest.filter(|_| !ratios.is_empty())?;
    let whose = if table.has_delays() {
        format!("The {} of {}", statistic.word(), run.info.subject)
    } else {
        run.info.subject.clone()
    };
    Some(format!(
        "{whose} is at {} times the numbers of the paper's Open vSwitch (median over the \
         columns); of the paper's switches, {near} has the number nearest to one of its own.",
        ratio_text(median(&ratios))
    ))
}

/// A ratio with two significant digits, also if it is small.
fn ratio_text(ratio: f64) -> String {
    if ratio < 0.01 {
        return format!("{ratio:.4}");
    }
    number(ratio)
}

/// The folder of one set-up of a paper's run.
pub fn folder(out: &Path, setup: &str) -> std::path::PathBuf {
    out.join(setup.replace(|c: char| !c.is_ascii_alphanumeric(), "-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::CASES;
    use crate::cases::chosen;
    use crate::cases::point::PointOutcome;
    use crate::cases::workbench::Limits;
    use crate::runs::runner::points_of;

    /// Two repeats of one TCP stream.
    fn streams(subject: &str, rates: [f64; 2]) -> Results {
        let mut results = Results::without_records(subject);
        for (round, rate) in (1..).zip(rates) {
            results.records.push(ResultRecord {
                case: "iperf-single".into(),
                point: crate::cases::point::Point::of("offloads on"),
                round,
                metrics: PointOutcome::default().with("rate", "Gb/s", rate).metrics,
                ..ResultRecord::default()
            });
        }
        results
    }

    #[test]
    fn a_paper_has_the_same_authors_and_title_in_data_cases_and_page() {
        let page = include_str!("../../../docs/papers.md");
        let authors = [
            ("000", "Fernandes et al., The Road to BOFUSS"),
            ("002", "Costa et al., Performance Evaluation of OpenFlow"),
            ("003", "Ko et al., OpenQFlow"),
            ("004", "de Oliveira et al., Parâmetros balizadores"),
        ];
        for (paper, (number, named)) in all().iter().zip(authors) {
            let title = &paper.title;
            assert_eq!(paper.number, number);
            assert!(title.starts_with(named), "{title}");
            let row = format!("| `ofmeter paper {number}` | {title} |");
            let heading = format!("\n## {title}");
            assert!(page.contains(&row), "{row}");
            assert!(page.contains(&heading), "{heading}");
            for case in CASES
                .iter()
                .filter(|c| paper.cases.iter().any(|n| n == c.name))
            {
                assert!(title.starts_with(case.source), "{}", case.name);
            }
        }
    }

    /// The names of the points of a case that a paper's long form measures.
    fn measured(number: &str, case: &str) -> Vec<String> {
        let case = chosen(&[case.into()]).unwrap()[0];
        let paper = of(number).unwrap();
        let points = points_of(case, &Limits::unbounded(false), Some(&paper));
        points.into_iter().map(|point| point.name).collect()
    }

    #[test]
    fn a_papers_run_measures_what_it_shows_and_no_other_point() {
        let kinds = ["port", "mac", "ip", "udp", "exact"].map(|kind| format!("{kind} 64 B"));
        let own = [&kinds[..], &["exact 256 B".to_string()]].concat();
        assert_eq!(measured("002", "match-type"), own);
        let own = ["limit, exact", "delay, one", "delay, last"];
        assert_eq!(measured("002", "table-size"), own);
        let modes = measured("002", "mode-speedup");
        assert_eq!(
            modes.iter().filter(|name| name.contains("legacy")).count() * 2,
            modes.len()
        );
        let actions = measured("004", "action-delay");
        assert_eq!(
            actions
                .iter()
                .filter(|name| !name.starts_with("vlan"))
                .count(),
            1,
            "the knee"
        );
        assert_eq!(
            measured("004", "mtu"),
            ["usual MTU 1514 B", "usual MTU 1614 B"]
        );
        for paper in all() {
            for case in &paper.cases {
                assert!(!measured(&paper.number, case).is_empty(), "{case}");
            }
        }
        assert_eq!(measured("000", "iperf-single").len(), 3);
    }

    #[test]
    fn one_stream_has_its_mean_its_deviation_and_its_ratio_to_the_bridge() {
        let runs = [
            streams("bofuss", [10.0, 14.0]),
            streams("bridge", [20.0, 56.0]),
        ];
        let page = report(&of("000").unwrap(), &runs);
        // The ratios of the repeats are 0.5 and 0.25.
        let row = "<td><b>bofuss</b>, here</td><td>12.000</td><td>2.828</td><td>0.38</td>";
        assert!(page.contains(row), "{page}");
        assert!(
            page.contains("<td>51.413</td><td>2.678</td><td>-</td>"),
            "{page}"
        );
    }

    #[test]
    fn each_column_of_a_paper_belongs_to_a_point_of_a_case() {
        let limits = Limits::unbounded(false);
        for table in all().iter().flat_map(|paper| &paper.tables) {
            let case = CASES.iter().find(|case| case.name == table.case).unwrap();
            let points: Vec<String> = (case.points)(&limits).into_iter().map(|p| p.name).collect();
            for column in &table.columns {
                assert!(
                    column.point.is_empty() || points.contains(&column.point),
                    "{} of {}: {points:?}",
                    column.point,
                    table.id
                );
            }
            assert!(
                table
                    .rows
                    .iter()
                    .all(|row| row.cells.len() == table.columns.len())
            );
        }
    }

    #[test]
    fn each_case_of_a_paper_is_there() {
        for paper in all() {
            let known = |name: &String| CASES.iter().any(|case| case.name == name);
            assert!(paper.cases.iter().all(known), "{}", paper.number);
        }
    }
}
