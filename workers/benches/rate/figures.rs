//! What was measured, and what the model of `docs/workers.md` says.

use std::fmt;

/// The most workers that are measured, and that the model is drawn for.
pub const MOST_WORKERS: usize = 8;

/// What a number was in all rounds.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    pub least: f64,
    pub median: f64,
    pub most: f64,
}

impl Spread {
    /// Of these values, which are at least one.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self {
            least: values[0],
            median: values[values.len() / 2],
            most: values[values.len() - 1],
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (self.least, self.most);
        write!(f, "{:.2} ({least:.2} to {most:.2})", self.median)
    }
}

/// The rate of a number of workers in a case.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub workers: usize,
    /// Millions of packets a second.
    pub mpps: Spread,
    /// The same as a multiple of one worker's rate in the same round.
    pub times: Spread,
}

/// The rate of workers as a multiple of one worker's, at which the busiest of them is at its limit,
/// if flows of equal rates are spread by a hash: "Uneven shares" in `docs/workers.md`.
pub fn model(workers: usize, flows: u32) -> f64 {
    let workers = workers as f64;
    // The standard deviation of a worker's flows, relative to their mean.
    let deviation = ((workers - 1.0) / f64::from(flows)).sqrt();
    let busiest = 1.0 + (2.0 * workers.ln()).sqrt() * deviation;
    workers / busiest
}
