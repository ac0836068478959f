//! The values of a set-up in a figure, and their table.

use crate::reports::html_table::{HtmlRow, HtmlTable};
use crate::runs::signed::NumberSign;
use crate::statistics::numbers::number;

/// One value of ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its column.
    pub name: String,
    /// Its place on the horizontal axis.
    pub x: f64,
    /// None if there is only a word.
    pub value: Option<f64>,
    /// The sign of the value.
    pub sign: NumberSign,
    /// The word that stands for a missing value.
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
    /// Returns the points that are drawn: those without a sign; of a distribution the curve, in per
    /// cent.
    pub fn points(&self) -> Vec<(f64, f64)> {
        let mut points = Vec::new();
        if !self.curve.is_empty() {
            if !self.cells.iter().all(Cell::is_plain) {
                return points;
            }
            let shares = self.curve.iter();
            return shares.map(|(us, share)| (*us, share * 100.0)).collect();
        }
        for cell in self.cells.iter().filter(|cell| cell.is_plain()) {
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
    let names = columns.iter().map(|column| column.name.as_str());
    let mut table = HtmlTable::new(["set-up"].into_iter().chain(names));
    for series in all {
        let mut row = HtmlRow::plain();
        row.cell(&series.name);
        for column in &columns {
            let cell = series.cells.iter().find(|cell| cell.x == column.x);
            row.cell(&cell.map_or("-".into(), Cell::shown));
        }
        table.push(&row);
    }
    table.html()
}

impl Cell {
    /// Returns true if its value has no sign.
    pub fn is_plain(&self) -> bool {
        self.sign == NumberSign::Plain
    }

    /// Its value with its sign, or what replaces it.
    fn shown(&self) -> String {
        match self.value {
            Some(value) => self.sign.written(&number(value)),
            None => self.word.into(),
        }
    }
}
