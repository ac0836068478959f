//! The comparison of two runs: for each point that both have, the ratio of their medians.

use super::case::CASES;
use super::results::{DELAY, Results};
use super::statistics::{greatest, least, median};
use crate::report::number;

/// A table: what, first, second, second over first, and whether their repeats overlap.
pub fn table(first: &Results, second: &Results) -> String {
    let [one, other] = [first, second].map(|results| results.info.subject.clone());
    let mut text = format!("| case | point | metric | {one} | {other} | ratio | repeats |\n");
    text += "|---|---|---|---|---|---|---|\n";
    for case in CASES {
        let metric = case.main.unwrap_or(DELAY);
        for point in first.points(case.name) {
            let own = first.values(case.name, &point.name, metric);
            let others = second.values(case.name, &point.name, metric);
            if own.is_empty() || others.is_empty() {
                continue;
            }
            let [a, b] = [median(&own), median(&others)];
            text += &format!(
                "| {} | {} | {metric} | {} | {} | {:.2} | {} |\n",
                case.name,
                point.name,
                number(a),
                number(b),
                b / a,
                distinct(&own, &others)
            );
        }
    }
    text
}

/// Whether all repeats of one are below all of the other.
fn distinct(one: &[f64], other: &[f64]) -> &'static str {
    if greatest(one) < least(other) || greatest(other) < least(one) {
        "apart"
    } else {
        "overlap"
    }
}
