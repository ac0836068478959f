//! `ofmeter paper`: a paper's experiments on this machine, and a report that puts each of its
//! tables and figures beside ours. Only what a paper prints in its text or its tables is used.

use std::path::Path;

use serde::Deserialize;

use super::html::{escaped, page};
use super::point::CaseVerdict;
use super::results::{DELAY, ResultRecord, Results};
use super::statistics::{greatest, least, median};
use crate::plot::{Axes, Line, lines};
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
    /// What its text says about figures.
    anchors: Vec<Anchor>,
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

/// What the text says about a figure.
#[derive(Deserialize)]
struct Anchor {
    figure: String,
    section: String,
    case: String,
    text: String,
    /// The axis of ours over which it is a line at `us` microseconds.
    x: Option<String>,
    us: Option<f64>,
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

/// The report: the paper's tables and figures beside those of some runs.
pub fn report(paper: &PublishedPaper, runs: &[Results]) -> String {
    let mut body = String::new();
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
    for case in &paper.cases {
        body += &figures(paper, case, runs);
    }
    page(&paper.title, &body)
}

/// Ours in the unit of a table: the median of the repeats.
fn ours(results: &Results, table: &PaperTable, column: &Column) -> Option<f64> {
    let values: Vec<f64> = results
        .of(&table.case, &column.point)
        .filter_map(|record| value(record, &column.metric, &table.unit))
        .collect();
    (!values.is_empty()).then(|| median(&values))
}

fn value(record: &ResultRecord, metric: &str, unit: &str) -> Option<f64> {
    if metric != "mean" {
        return record.value(metric);
    }
    let delay = record.delay.as_ref()?;
    let per_unit = if unit == "ms" { 1e6 } else { 1e3 };
    Some(delay.mean / per_unit)
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
        text += &format!("<tr><td><b>{}</b>, here</td>", escaped(&run.info.subject));
        for column in &table.columns {
            text += &format!("<td>{}</td>", own_cell(run, table, column));
        }
        text += "</tr>\n";
    }
    text += "</table>\n";
    for sentence in differences(table, runs) {
        text += &format!("<p>{}</p>\n", escaped(&sentence));
    }
    text
}

/// Ours, or why there is nothing.
fn own_cell(run: &Results, table: &PaperTable, column: &Column) -> String {
    let records: Vec<&ResultRecord> = run.of(&table.case, &column.point).collect();
    let marked = records.iter().any(|record| !record.counts());
    let verdict = records
        .iter()
        .map(|r| r.verdict)
        .find(|v| *v != CaseVerdict::Ok);
    match (ours(run, table, column), verdict) {
        (_, Some(verdict)) => verdict.word().into(),
        (Some(value), None) if marked => format!("({value:.3})"),
        (Some(value), None) => format!("{value:.3}"),
        (None, None) => "-".into(),
    }
}

/// The sentences on the differences: computed from the numbers of both.
fn differences(table: &PaperTable, runs: &[Results]) -> Vec<String> {
    let mut said = Vec::new();
    for run in runs {
        let mut ratios = Vec::new();
        let mut nearest: Option<(f64, &str)> = None;
        for (at, column) in table.columns.iter().enumerate() {
            let Some(own) = ours(run, table, column).filter(|own| *own > 0.0) else {
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
        if ratios.is_empty() {
            continue;
        }
        let ratio = median(&ratios);
        let near = nearest.map_or("none", |(_, name)| name);
        said.push(format!(
            "{} here is at {} times the numbers of the paper's Open vSwitch (median over the \
             columns); of the paper's switches, {near} has the number nearest to one of its own.",
            run.info.subject,
            number(ratio)
        ));
    }
    if runs
        .iter()
        .any(|run| run.records.iter().any(|record| !record.counts()))
    {
        said.push(
            "Numbers in parentheses are beyond what the instrument tells apart on this machine."
                .into(),
        );
    }
    said
}

/// Our plots of a case over size and load, with what the paper's text says as labelled lines.
fn figures(paper: &PublishedPaper, case: &str, runs: &[Results]) -> String {
    let anchors: Vec<&Anchor> = paper
        .anchors
        .iter()
        .filter(|anchor| anchor.case == case)
        .collect();
    if anchors.is_empty() {
        return String::new();
    }
    let mut text = format!("<h2>Figures of {}</h2>\n", escaped(case));
    text += "<p>The paper prints no numbers of these figures; its text says:</p>\n<ul>\n";
    for anchor in &anchors {
        let at = anchor
            .us
            .map_or_else(String::new, |us| format!(": {} us", number(us)));
        text += &format!(
            "<li>{} (section {}): {}{at}</li>\n",
            escaped(&anchor.figure),
            escaped(&anchor.section),
            escaped(&anchor.text)
        );
    }
    text += "</ul>\n";
    for x in ["bytes", "Mb/s"] {
        let mut drawn: Vec<Line> = runs.iter().map(|run| own_line(run, case, x)).collect();
        drawn.retain(|line| line.points.len() > 1);
        if drawn.is_empty() {
            continue;
        }
        let ends: Vec<f64> = drawn
            .iter()
            .flat_map(|line| line.points.iter().map(|point| point.0))
            .collect();
        let left = least(&ends);
        let right = greatest(&ends);
        for anchor in anchors
            .iter()
            .filter(|anchor| anchor.x.as_deref() == Some(x))
        {
            let us = anchor.us.unwrap_or(0.0);
            drawn.push(Line {
                name: format!("{}: {}", anchor.figure, anchor.text),
                points: vec![(left, us), (right, us)],
                is_reference: true,
            });
        }
        let axes = Axes {
            title: case,
            x,
            y: "median delay, us",
            log_x: x != "bytes",
        };
        text += &lines(axes, &drawn);
    }
    text
}

/// The delays of a run's plain outputs over size at 10 Mb/s, or over load.
fn own_line(run: &Results, case: &str, x: &str) -> Line {
    let mut points = Vec::new();
    for point in run.points(case) {
        let by_size = point.mbps == super::workbench::USUAL_MBPS;
        let by_load = point.bytes == super::forwarding::LOAD_BYTES && point.mbps > 0.0;
        let wanted = if x == "bytes" { by_size } else { by_load };
        let values = run.values(case, &point.name, DELAY);
        if wanted && point.kind == "output" && !values.is_empty() {
            let at = if x == "bytes" {
                point.bytes as f64
            } else {
                point.mbps
            };
            points.push((at, median(&values)));
        }
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|a, b| a.0 == b.0);
    Line {
        name: run.info.subject.clone(),
        points,
        is_reference: false,
    }
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
