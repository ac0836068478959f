//! The comparison of two runs: for each point that both have, the ratio of their repeats, pair by
//! pair.

use crate::cases::CASES;
use crate::runs::results::{DELAY, ResultRecord, Results};
use crate::statistics::numbers::number;
use crate::statistics::{greatest, least, median, paired_ratio};

/// The confidence of the interval of a ratio.
const CONFIDENCE: f64 = 0.95;

/// A table: what is compared; the medians of the first run and of the second; the ratio of the
/// second to the first, over pairs of repeats with the same number, and its interval; and whether
/// the repeats overlap.
pub fn table(first: &Results, second: &Results) -> String {
    let [one, other] = [first, second].map(|results| results.info.subject.clone());
    let mut text = format!(
        "| case | point | metric | {one} | {other} | ratio | 95 % interval | pairs | repeats \
         | notes |\n"
    );
    text += "|---|---|---|---|---|---|---|---|---|---|\n";
    for case in CASES {
        let metric = case.main.unwrap_or(DELAY);
        for point in first.points(case.name) {
            text += &row(first, second, case.name, &point.name, metric).unwrap_or_default();
        }
    }
    text
}

/// The row of a point, if both have it.
fn row(first: &Results, second: &Results, case: &str, point: &str, metric: &str) -> Option<String> {
    let own = first.values(case, point, metric);
    let others = second.values(case, point, metric);
    if own.is_empty() || others.is_empty() {
        return None;
    }
    let pairs = first.pairs(second, case, point, metric);
    let ratio = paired_ratio(&pairs, CONFIDENCE);
    let shown = ratio.map_or_else(|| "-".into(), |(ratio, _)| format!("{ratio:.2}"));
    let interval = ratio.and_then(|(_, interval)| interval);
    let bounds = interval.map_or_else(
        || "-".into(),
        |(low, high)| format!("{low:.2} to {high:.2}"),
    );
    let both = first.of(case, point).chain(second.of(case, point));
    let mut forced: Vec<&str> = both.flat_map(ResultRecord::forced).collect();
    forced.sort_unstable();
    forced.dedup();
    Some(format!(
        "| {case} | {point} | {metric} | {} | {} | {shown} | {bounds} | {} | {} | {} |\n",
        number(median(&own)),
        number(median(&others)),
        pairs.len(),
        distinct(&own, &others),
        forced.join("; ")
    ))
}

/// Returns true if all repeats of one are below all of the other.
fn distinct(one: &[f64], other: &[f64]) -> &'static str {
    if greatest(one) < least(other) || greatest(other) < least(one) {
        "apart"
    } else {
        "overlap"
    }
}
