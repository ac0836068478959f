//! The values of a set-up in a figure, and their table.

use super::html::escaped;
use crate::report::number;

/// One value of ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its column.
    pub name: String,
    /// Its place on the horizontal axis.
    pub x: f64,
    /// None if there is only a word.
    pub value: Option<f64>,
    /// Whether it is no result.
    pub marked: bool,
    /// What there is instead of a value.
    pub word: &'static str,
}

/// The values of a set-up.
pub struct OwnSeries {
    /// Its name.
    pub name: String,
    /// From left to right.
    pub cells: Vec<Cell>,
    /// The distribution, if it is that of one point: values and shares.
    pub curve: Vec<(f64, f64)>,
}

impl OwnSeries {
    /// What is drawn: results only; of a distribution the curve, in per cent.
    pub fn points(&self) -> Vec<(f64, f64)> {
        let mut points = Vec::new();
        if !self.curve.is_empty() {
            if self.cells.iter().any(|cell| cell.marked) {
                return points;
            }
            let shares = self.curve.iter();
            return shares.map(|(us, share)| (*us, share * 100.0)).collect();
        }
        for cell in self.cells.iter().filter(|cell| !cell.marked) {
            points.extend(cell.value.map(|value| (cell.x, value)));
        }
        points
    }
}

/// Cells from left to right, one for each place.
pub fn in_order(mut cells: Vec<Cell>) -> Vec<Cell> {
    cells.sort_by(|a, b| a.x.total_cmp(&b.x));
    cells.dedup_by(|a, b| a.x == b.x);
    cells
}

/// A row for each set-up, a column for each place that any has.
pub fn table(all: &[OwnSeries]) -> String {
    let columns = in_order(all.iter().flat_map(|series| series.cells.clone()).collect());
    let mut text = "<table><tr><th>set-up</th>".to_string();
    for column in &columns {
        text += &format!("<th>{}</th>", escaped(&column.name));
    }
    text += "</tr>\n";
    for series in all {
        text += &format!("<tr><td>{}</td>", escaped(&series.name));
        for column in &columns {
            let cell = series.cells.iter().find(|cell| cell.x == column.x);
            text += &format!("<td>{}</td>", cell.map_or("-".into(), Cell::shown));
        }
        text += "</tr>\n";
    }
    text + "</table>\n"
}

impl Cell {
    /// Its value, in parentheses if it is no result; or what there is instead.
    fn shown(&self) -> String {
        match self.value {
            Some(value) if self.marked => format!("({})", number(value)),
            Some(value) => number(value),
            None => self.word.into(),
        }
    }
}
