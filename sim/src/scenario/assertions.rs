//! The assertions of a scenario: what has to hold for the statistics at the end.

use std::fmt;

use serde_json::Value;

use super::file::AssertionRow;
use super::numbers;

/// An assertion that does not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedAssertion {
    /// Its number among the assertions, from 1; it may fail for several statistics.
    pub number: usize,
    /// Its line in the scenario.
    pub line: usize,
    /// The statistic.
    pub statistic: String,
    /// The value; `None` if there is no statistic with this name.
    pub is: Option<f64>,
    /// The wanted value, in words.
    pub wanted: String,
}

impl fmt::Display for FailedAssertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            number: _,
            line,
            statistic,
            is,
            wanted,
        } = self;
        match is {
            Some(is) => write!(
                f,
                "line {line}: {statistic} is {is}, and should be {wanted}"
            ),
            None => write!(f, "line {line}: there is no statistic {statistic}"),
        }
    }
}

/// Checks one assertion. Returns a failure for each statistic for which it does not hold.
pub(super) fn check(
    number: usize,
    line: usize,
    row: &AssertionRow,
    statistics: &Value,
) -> Vec<FailedAssertion> {
    let path = row.statistic.get_ref();
    let found = numbers(statistics, path);
    let mut failures = Vec::new();
    if found.is_empty() {
        failures.push(FailedAssertion {
            number,
            line,
            statistic: path.clone(),
            is: None,
            wanted: wanted(row),
        });
    }
    for (statistic, is) in found {
        let holds = row.is.is_none_or(|wanted| is == wanted)
            && row.min.is_none_or(|least| is >= least)
            && row.max.is_none_or(|most| is <= most);
        if !holds {
            failures.push(FailedAssertion {
                number,
                line,
                statistic,
                is: Some(is),
                wanted: wanted(row),
            });
        }
    }
    failures
}

fn wanted(row: &AssertionRow) -> String {
    let bounds = [("", row.is), ("at least ", row.min), ("at most ", row.max)];
    let said = bounds
        .iter()
        .filter_map(|(word, bound)| Some(format!("{word}{}", (*bound)?)));
    said.collect::<Vec<_>>().join(" and ")
}
