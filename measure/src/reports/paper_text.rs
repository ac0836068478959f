//! Says in computed sentences what a paper's text says about its figures, and how ours differs.

use serde::Deserialize;

use crate::reports::figure_values::{Cell, OwnSeries};
use crate::reports::html_table::list;
use crate::reports::plot::Line;
use crate::statistics::numbers::number;
use crate::statistics::{greatest, least};

/// A statement of a paper's text about a figure.
#[derive(Deserialize)]
pub struct Anchor {
    /// The figure.
    pub figure: String,
    /// Its section.
    pub section: String,
    /// The case of ours.
    pub case: String,
    /// The words.
    pub text: String,
    /// A number that the text prints.
    pub value: Option<f64>,
    /// The figure's values according to the text, in its unit: the least and the most.
    pub band: Option<(f64, f64)>,
    /// The part of the horizontal axis where that holds; everywhere without it.
    pub range: Option<(f64, f64)>,
}

/// Returns what the text says, as a list.
pub fn said(anchors: &[&Anchor]) -> String {
    list(anchors.iter().map(|anchor| {
        let Anchor {
            figure,
            section,
            text,
            ..
        } = anchor;
        format!("{figure} (section {section}): {text}")
    }))
}

impl Anchor {
    /// Returns what the text says as dashed lines, within the ends of the plot.
    pub fn lines(&self, left: f64, right: f64) -> Vec<Line> {
        let Some((low, high)) = self.band else {
            return Vec::new();
        };
        let (from, to) = self.range.unwrap_or((left, right));
        let begin = from.max(left);
        let end = to.min(right);
        let mut drawn = Vec::new();
        let mut values = vec![low, high];
        values.dedup();
        // No line along the axis.
        values.retain(|value| *value > 0.0);
        let has_two = values.len() > 1;
        for value in values {
            if begin < end {
                let mut words = format!("the paper: {}", self.text);
                if has_two {
                    words += &format!(" ({})", number(value));
                }
                drawn.push(Line {
                    name: words,
                    points: vec![(begin, value), (end, value)],
                    is_reference: true,
                });
            }
        }
        drawn
    }
}

/// Two numbers as one interval.
fn interval(low: f64, high: f64) -> String {
    let [low, high] = [number(low), number(high)];
    if low == high {
        return low;
    }
    format!("{low} to {high}")
}

/// Says how the values of a set-up differ from what the text says, where that holds.
pub fn difference(anchor: &Anchor, series: &OwnSeries, unit: &str) -> Option<String> {
    let band = anchor.band?;
    let (from, to) = anchor.range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
    let cells = series.cells.iter();
    let within: Vec<&Cell> = cells
        .filter(|cell| cell.value.is_some() && (from..=to).contains(&cell.x))
        .collect();
    let plain: Vec<&&Cell> = within.iter().filter(|cell| cell.is_plain()).collect();
    let left_out = match within.len() - plain.len() {
        0 => String::new(),
        signed => format!(
            "{signed} of {} values have a sign, and are left out.",
            within.len()
        ),
    };
    let (Some(first), Some(last)) = (plain.first(), plain.last()) else {
        return (!left_out.is_empty()).then(|| format!("{}: {left_out}", series.name));
    };
    let values: Vec<f64> = plain.iter().filter_map(|cell| cell.value).collect();
    let low = least(&values);
    let high = greatest(&values);
    let place = if first.name == last.name {
        first.name.clone()
    } else {
        format!("{} to {}", first.name, last.name)
    };
    let sentence = format!(
        "{}: {} {unit} at {place}; the paper says {} {unit} ({}): {}. {left_out}",
        series.name,
        interval(low, high),
        interval(band.0, band.1),
        anchor.text,
        judged((low, high), band)
    );
    Some(sentence.trim_end().into())
}

/// Our range, compared with the paper's.
fn judged((low, high): (f64, f64), (least, most): (f64, f64)) -> String {
    if low >= least && high <= most {
        return "ours is within that".into();
    }
    let beside = if high < least || least == most {
        least
    } else if low > most {
        most
    } else {
        return "ours is partly within that".into();
    };
    if beside == 0.0 {
        return "ours is above that".into();
    }
    format!("{} times that", interval(low / beside, high / beside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_judged_by_the_bound_that_is_near() {
        assert_eq!(judged((40.0, 80.0), (30.0, 90.0)), "ours is within that");
        assert_eq!(
            judged((20.0, 80.0), (30.0, 90.0)),
            "ours is partly within that"
        );
        assert_eq!(judged((180.0, 270.0), (30.0, 90.0)), "2 to 3 times that");
        assert_eq!(judged((0.5, 0.5), (1.0, 1.0)), "0.50 times that");
        assert_eq!(judged((1.0, 1.0), (0.0, 0.0)), "ours is above that");
    }
}
