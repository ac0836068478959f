//! The comparison of two runs: for each point that both have, the ratio of their repeats, pair by
//! pair.

use crate::cases::CASES;
use crate::runs::results::{DELAY, ResultRecord, Results};
use crate::runs::signed::NumberSign;
use crate::statistics::numbers::number;
use crate::statistics::{greatest, least, median, paired_ratio};

/// The confidence of the interval of a ratio.
const CONFIDENCE: f64 = 0.95;

/// A table: what is compared; the medians of the first run and of the second; the ratio of the
/// second to the first, over pairs of repeats with the same number and no sign but that of
/// force, and its interval; and whether the repeats overlap.
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
    let both = [first, second].map(|run| run.values(case, point, metric).with_sign());
    let [(own, own_sign), (others, others_sign)] = both;
    if own.is_empty() || others.is_empty() {
        return None;
    }
    // The last cell says which are forced, and for what reason.
    let (pairs, _) = first.pairs(second, case, point, metric).with_sign();
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
        written(&own, own_sign),
        written(&others, others_sign),
        pairs.len(),
        if own_sign.max(others_sign) <= NumberSign::Forced {
            distinct(&own, &others)
        } else {
            "-"
        },
        forced.join("; ")
    ))
}

/// The median of some repeats; forced ones are named in a cell of their own.
fn written(values: &[f64], sign: NumberSign) -> String {
    let middle = number(median(values));
    if sign == NumberSign::Forced {
        return middle;
    }
    sign.written(&middle)
}

/// Returns true if all repeats of one are below all of the other.
fn distinct(one: &[f64], other: &[f64]) -> &'static str {
    if greatest(one) < least(other) || greatest(other) < least(one) {
        "apart"
    } else {
        "overlap"
    }
}
