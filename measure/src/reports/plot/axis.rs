//! A horizontal axis whose labels are round numbers, also if it is logarithmic.

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::Ranged;

/// Labels at most.
pub const MAX_LABELS: usize = 9;

/// An axis with labels at places of its own.
pub struct LabelledAxis {
    linear: RangedCoordf64,
    labels: Vec<f64>,
}

impl LabelledAxis {
    /// An axis with these places and a little room; if it is logarithmic, they are powers of ten.
    pub fn new(left: f64, right: f64, log: bool) -> Self {
        // A single value is in the middle.
        let wide = if right > left { right - left } else { 1.0 };
        let least = left - wide * 0.02;
        let most = right + wide * 0.02;
        let linear = RangedCoordf64::from(least..most);
        let labels = if log {
            round_powers(least, most)
        } else {
            Vec::new()
        };
        Self { linear, labels }
    }
}

impl Ranged for LabelledAxis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.linear.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // An axis on which all numbers are about the same is labelled as a linear one.
        if self.labels.len() < 2 {
            return self.linear.key_points(hint);
        }
        self.labels.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.linear.range()
    }
}

/// The powers of ten within these that give round numbers: decades, or 1, 2 and 5 times these, or
/// all their multiples, so that they are as many as have room.
fn round_powers(least: f64, most: f64) -> Vec<f64> {
    let mut found = Vec::new();
    for multiples in [
        &[1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0][..],
        &[1.0, 2.0, 5.0],
        &[1.0],
    ] {
        found.clear();
        for decade in least.floor() as i32..=most.ceil() as i32 {
            let places = multiples
                .iter()
                .map(|times| f64::from(decade) + times.log10());
            found.extend(places.filter(|at| (least..=most).contains(at)));
        }
        if found.len() <= MAX_LABELS {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_axis_is_labelled_at_round_numbers() {
        let shown = |least: f64, most: f64| -> Vec<f64> {
            let places = round_powers(least.log10(), most.log10());
            let values = places.iter().map(|at| 10f64.powf(*at));
            values.map(|value| (value * 1e3).round() / 1e3).collect()
        };
        assert_eq!(shown(45.0, 950.0), [50.0, 100.0, 200.0, 500.0]);
        assert_eq!(shown(0.9, 20_000.0), [1.0, 10.0, 100.0, 1_000.0, 10_000.0]);
        assert_eq!(
            shown(290.0, 850.0),
            [300.0, 400.0, 500.0, 600.0, 700.0, 800.0]
        );
        assert!(shown(41.0, 44.0).is_empty());
    }
}
