//! `ofmeter paper`: a paper's experiments on this machine, and a report that puts each of its
//! tables and figures beside ours. Only what a paper prints in its text or its tables is used.

use std::path::Path;

use serde::Deserialize;

use super::flow_classes;
use super::html::{escaped, form_note, page, titled};
use super::paper_figures::{PaperFigure, figures};
use super::paper_text::Anchor;
use super::point::CaseVerdict;
use super::results::{ResultRecord, Results};
use super::skew;
use super::statistics::median;
use super::table_size::AT_LEAST;
use crate::report::number;

/// The numbers of all papers.
const DATA: &str = include_str!("../../data/papers.json");

/// What a paper prints.
#[derive(Deserialize)]
pub struct PublishedPaper {
    /// Its number among the papers.
    pub number: String,
    /// Authors and title.
    pub title: String,
    /// The cases that follow it.
    pub cases: Vec<String>,
    /// Its tables.
    tables: Vec<PaperTable>,
    /// Its figures, if they show something of ours.
    #[serde(default)]
    pub figures: Vec<PaperFigure>,
    /// What its text says about figures.
    pub anchors: Vec<Anchor>,
}

/// A table of a paper.
#[derive(Deserialize)]
struct PaperTable {
    id: String,
    section: String,
    title: String,
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
}

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
pub fn of(wanted: &str) -> Result<PublishedPaper, String> {
    let papers = all();
    let numbers: Vec<String> = papers.iter().map(|paper| paper.number.clone()).collect();
    let found = papers.into_iter().find(|paper| paper.number == wanted);
    found.ok_or_else(|| format!("no paper {wanted}; there are {}", numbers.join(", ")))
}

impl PublishedPaper {
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

    /// What the text says about a case: figure, section, words and number.
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

/// The report: the paper's tables and figures beside those of some runs.
pub fn report(paper: &PublishedPaper, runs: &[Results]) -> String {
    let mut body = String::new();
    let short = runs.iter().any(|run| run.info.short);
    body += &form_note(short);
    if let Some(first) = runs.first() {
        body += "<ul>\n";
        for line in &first.info.machine {
            body += &format!("<li>{}</li>\n", escaped(line));
        }
        body += "</ul>\n";
    }
    for table in &paper.tables {
        body += &beside(table, runs);
    }
    let all: Vec<&Results> = runs.iter().collect();
    for case in &paper.cases {
        body += &figures(&paper.figures, &paper.anchors, case, runs);
        body += &flow_classes::figures(&all, case);
    }
    page(&titled(&paper.title, short), &body)
}

/// What of a series of delays is put beside a paper's numbers, which are means.
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
    /// Whether it is a table of delays.
    fn has_delays(&self) -> bool {
        let mut columns = self.columns.iter();
        columns.any(|column| column.metric == DELAYS && !column.point.is_empty())
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

    /// Ours in the unit of the table: the median of the repeats.
    fn ours(&self, run: &Results, column: &Column, statistic: Statistic) -> Option<f64> {
        let mut values = Vec::new();
        for record in self.records(run, column) {
            values.extend(self.value(record, &column.metric, statistic));
        }
        (!values.is_empty()).then(|| median(&values))
    }

    /// Whether ours is only a bound: the meter stopped before the switch did.
    fn is_bound(&self, run: &Results, column: &Column) -> bool {
        let records = self.records(run, column);
        let mut notes = records.iter().flat_map(|record| &record.notes);
        notes.any(|note| note.starts_with(AT_LEAST))
    }

    /// A number of ours: delays and rates with the paper's three digits, counts whole.
    fn shown(&self, value: f64) -> String {
        if self.unit == "rules" {
            return number(value);
        }
        format!("{value:.3}")
    }

    fn value(&self, record: &ResultRecord, metric: &str, statistic: Statistic) -> Option<f64> {
        if metric != DELAYS {
            return record.value(metric);
        }
        let delay = record.delay.as_ref()?;
        let ns = match statistic {
            Statistic::Mean => delay.mean,
            Statistic::Median => delay.p50,
        };
        let per_unit = if self.unit == "ms" { 1e6 } else { 1e3 };
        Some(ns / per_unit)
    }
}

fn interval((low, high): (f64, f64)) -> String {
    if low == high {
        return low.to_string();
    }
    format!("{low:.3} to {high:.3}")
}

/// A table of a paper with rows of ours, and what follows from both.
fn beside(table: &PaperTable, runs: &[Results]) -> String {
    let mut text = format!(
        "<h2>{} (section {}): {}, {}</h2>\n<table><tr><th>switch</th>",
        escaped(&table.id),
        escaped(&table.section),
        escaped(&table.title),
        escaped(&table.unit)
    );
    for column in &table.columns {
        text += &format!("<th>{}</th>", escaped(&column.name));
    }
    text += "</tr>\n";
    for row in &table.rows {
        text += &format!("<tr><td>{}</td>", escaped(&row.name));
        for cell in &row.cells {
            let shown = cell.map_or_else(|| "-".into(), interval);
            text += &format!("<td>{shown}</td>");
        }
        text += "</tr>\n";
    }
    for run in runs {
        for statistic in table.statistics() {
            text += &own_row(run, table, *statistic);
        }
    }
    text += "</table>\n";
    for sentence in differences(table, runs) {
        text += &format!("<p>{}</p>\n", escaped(&sentence));
    }
    text
}

/// A row of ours.
fn own_row(run: &Results, table: &PaperTable, statistic: Statistic) -> String {
    let words = if table.has_delays() {
        format!("here, {}", statistic.word())
    } else {
        "here".into()
    };
    let mut text = format!(
        "<tr><td><b>{}</b>, {words}</td>",
        escaped(&run.info.subject)
    );
    for column in &table.columns {
        let cell = own_cell(run, table, column, statistic);
        text += &format!("<td>{cell}</td>");
    }
    text + "</tr>\n"
}

/// Ours, or why there is nothing.
fn own_cell(run: &Results, table: &PaperTable, column: &Column, statistic: Statistic) -> String {
    let records = table.records(run, column);
    let marked = records.iter().any(|record| !record.counts());
    let verdict = records
        .iter()
        .map(|r| r.verdict)
        .find(|v| *v != CaseVerdict::Ok);
    match (table.ours(run, column, statistic), verdict) {
        (_, Some(verdict)) => verdict.word().into(),
        (Some(value), None) if table.is_bound(run, column) => {
            format!("{AT_LEAST} {}", table.shown(value))
        }
        (Some(value), None) if marked => format!("({})", table.shown(value)),
        (Some(value), None) => table.shown(value),
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
    if records.any(|record| !record.counts()) {
        said.push(
            "Numbers in parentheses are beyond what the instrument tells apart on this machine."
                .into(),
        );
    }
    said
}

/// How a statistic of a run differs from the paper's numbers.
fn difference(table: &PaperTable, run: &Results, statistic: Statistic) -> Option<String> {
    let mut ratios = Vec::new();
    let mut nearest: Option<(f64, &str)> = None;
    for (at, column) in table.columns.iter().enumerate() {
        let own = table.ours(run, column, statistic);
        let Some(own) = own.filter(|own| *own > 0.0 && !table.is_bound(run, column)) else {
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

/// A ratio with two digits that count, also if it is small.
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
    use super::super::case::CASES;
    use super::super::workbench::Limits;
    use super::*;

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
