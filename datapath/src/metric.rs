//! What operators read of an extension: counters and measurements.

use alloc::{string::String, vec::Vec};

/// The kind of a metric: its value may decrease or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only increases.
    Counter,
    /// It increases and decreases.
    Gauge,
}

/// One value of a metric of an extension.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The metric's name, which begins with the extension's where it is exported.
    pub name: &'static str,
    /// The meaning. Invariant: the same for all values of the name, as is the kind.
    pub help: &'static str,
    /// The kind, by which it may decrease or not.
    pub kind: MetricKind,
    /// The labels that tell its values apart.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: u64,
}

impl Metric {
    /// The only value of its name: it has no labels.
    pub fn only(name: &'static str, help: &'static str, kind: MetricKind, value: u64) -> Self {
        Self {
            name,
            help,
            kind,
            labels: Vec::new(),
            value,
        }
    }
}
