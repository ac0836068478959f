//! Computes what follows from the results of a run: what the papers conclude about switches.

use crate::cases::CASES;
use crate::cases::point::CaseVerdict;
use crate::reports::skew;
use crate::runs::results::{DELAY, Results};
use crate::statistics::numbers::number;
use crate::statistics::{greatest, least, median};

/// A match type or a table size does not matter if it changes the median delay by less than this.
const SMALL_PERCENT: f64 = 5.0;

/// The median delay of a point, microseconds, if it has no sign.
fn delay(results: &Results, case: &str, point: &str) -> Option<f64> {
    let values = results.values(case, point, DELAY).plain()?;
    (!values.is_empty()).then(|| median(&values))
}

/// All conclusions that the results allow.
pub fn of(results: &Results) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(by_match(results));
    found.extend(by_mode(results));
    found.extend(by_table_size(results));
    found.extend(by_size(results));
    found.extend(features(results));
    found.extend(stability(results));
    for case in CASES {
        let records = results.records.iter();
        let of_case = records.filter(|record| record.case == case.name);
        found.extend(skew::sentence(case.name, of_case));
    }
    found
}

fn by_match(results: &Results) -> Option<String> {
    let points = results.points("match-type");
    let first = points.first()?.bytes;
    let same_size = points.iter().filter(|point| point.bytes == first);
    let delays: Vec<f64> = same_size
        .filter_map(|point| delay(results, "match-type", &point.name))
        .collect();
    if delays.len() < 2 {
        return None;
    }
    let percent = (greatest(&delays) / least(&delays) - 1.0) * 100.0;
    let judged = if percent < SMALL_PERCENT {
        "does not matter"
    } else {
        "matters"
    };
    Some(format!(
        "What is matched {judged}: median delays of {first}-byte frames differ by {percent:.1} %."
    ))
}

fn by_mode(results: &Results) -> Option<String> {
    let mut ratios = Vec::new();
    for point in results.points("mode-speedup") {
        let legacy = point.name.replace("openflow", "legacy");
        if point.kind == "openflow"
            && let Some(own) = delay(results, "mode-speedup", &point.name)
            && let Some(other) = delay(results, "mode-speedup", &legacy)
        {
            ratios.push(other / own);
        }
    }
    let speed_up = (!ratios.is_empty()).then(|| median(&ratios))?;
    Some(format!(
        "The speed-up of OpenFlow mode is {speed_up:.2}: legacy delay over OpenFlow delay."
    ))
}

fn by_table_size(results: &Results) -> Option<String> {
    let one = delay(results, "table-size", "delay, one")?;
    let last = delay(results, "table-size", "delay, last")?;
    let counts = results
        .values("table-size", "delay, last", "rules")
        .plain()?;
    Some(format!(
        "The last of {} rules takes {:.2} times as long as a single rule.",
        number(median(&counts)),
        last / one
    ))
}

/// The slope of delay over size, by least squares.
fn by_size(results: &Results) -> Option<String> {
    let mut points = Vec::new();
    for point in results.points("action-delay") {
        if point.kind == "output" && point.mbps == crate::cases::workbench::USUAL_MBPS {
            let found = delay(results, "action-delay", &point.name);
            points.extend(found.map(|us| (point.bytes as f64, us)));
        }
    }
    if points.len() < 3 {
        return None;
    }
    let count = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let above: f64 = points
        .iter()
        .map(|(x, y)| (x - mean_x) * (y - mean_y))
        .sum();
    let below: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let slope = above / below * 100.0;
    Some(format!("Each 100 bytes of a frame add {slope:.2} us."))
}

fn features(results: &Results) -> Option<String> {
    let mut words = Vec::new();
    for point in results.points("rewrite") {
        let mut verdicts = results.of("rewrite", &point.name).map(|one| one.verdict);
        let found = verdicts.find(|verdict| *verdict != CaseVerdict::Ok);
        let word = found.unwrap_or_default().word();
        words.push(format!("{} {word}", point.kind));
    }
    (!words.is_empty()).then(|| format!("Rewrites: {}.", words.join(", ")))
}

fn stability(results: &Results) -> Option<String> {
    let mut bad: Vec<String> = Vec::new();
    for record in &results.records {
        if matches!(
            record.verdict,
            CaseVerdict::Hangs
                | CaseVerdict::Crashes
                | CaseVerdict::Fails
                | CaseVerdict::Lies
                | CaseVerdict::Wrong
        ) {
            let is_wrong = record.verdict == CaseVerdict::Wrong;
            let is = if is_wrong { "is " } else { "" };
            let word = record.verdict.word();
            let (case, point) = (&record.case, &record.point.name);
            bad.push(format!("{is}{word} at {case} ({point})"));
        }
    }
    bad.sort();
    bad.dedup();
    if results.records.is_empty() {
        return None;
    }
    if bad.is_empty() {
        let good = "Stability: no case found it hanging, crashing, failing, lying or wrong.";
        return Some(good.into());
    }
    Some(format!("Stability: it {}.", bad.join(", it ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::point::{Point, PointOutcome};
    use crate::reports::{compare, html};
    use crate::runs::results::ResultRecord;
    use crate::statistics::Summary;

    /// Delays of a match, of 1,000 frames some of which are lost.
    fn record(kind: &str, us: u64, lost: u32) -> ResultRecord {
        let metrics = PointOutcome::default().with("sent", "frames", 1_000.0);
        ResultRecord {
            case: "match-type".into(),
            point: Point::of(kind).bytes(64),
            round: 1,
            metrics: metrics.with("lost", "frames", f64::from(lost)).metrics,
            delay: Summary::of(&vec![us * 1_000; 1_000 - lost as usize]),
            ..ResultRecord::default()
        }
    }

    #[test]
    fn what_has_a_sign_is_in_no_sentence_and_no_ratio() {
        let mut results = Results::without_records("a switch");
        results.records = vec![record("port", 200, 0), record("ip", 202, 1)];
        let plain = of(&results);
        assert!(plain[0].contains("differ by 1.0 %"), "{plain:?}");
        let mut marked = record("mac", 4_000, 0);
        marked.marks = vec!["above the limit".into()];
        let mut wrong = record("exact", 5_000, 0);
        wrong.verdict = CaseVerdict::Wrong;
        let mut forced = record("lpm", 6_000, 0);
        forced.notes = vec!["forced: above the limit".into()];
        // The delay of those that were left of 1,000 frames.
        let lossy = record("udp", 10_301, 930);
        results.records.extend([marked, wrong, forced, lossy]);
        // What a switch does wrong is said of the switch, and no number is computed from it.
        let is_computed = |one: &String| !one.starts_with("Stability");
        let computed =
            |all: Vec<String>| -> Vec<String> { all.into_iter().filter(is_computed).collect() };
        assert_eq!(computed(of(&results)), computed(plain));
        let table = compare::table(&results, &results);
        assert!(table.contains("| 10,301 (frames lost) | 10,301 (frames lost) | - |"));
        assert!(table.contains("| 200 | 200 | 1.00 |"), "{table}");
        let forced = "| 6,000 | 6,000 | 1.00 | - | 1 | overlap | forced: above the limit |";
        assert!(table.contains(forced), "{table}");
        assert!(html::report(&results).contains("udp 64 B (frames lost)"));
    }

    #[test]
    fn what_was_wrong_in_one_of_the_repeats_is_said() {
        let mut results = Results::without_records("a switch");
        let rewrite = |round: u32, verdict| ResultRecord {
            case: "rewrite".into(),
            point: Point::of("vlan"),
            round,
            verdict,
            ..ResultRecord::default()
        };
        results.records = vec![rewrite(1, CaseVerdict::Ok), rewrite(2, CaseVerdict::Wrong)];
        let said = of(&results);
        assert!(said.contains(&"Rewrites: vlan wrong.".into()), "{said:?}");
        assert!(
            said.contains(&"Stability: it is wrong at rewrite (vlan).".into()),
            "{said:?}"
        );
    }

    #[test]
    fn a_bound_is_compared_with_nothing() {
        let rate = |rate| ResultRecord {
            case: "fm-add".into(),
            point: Point::of("bulk").rules(10),
            round: 1,
            metrics: PointOutcome::default()
                .with("rate", "flow-mods/s", rate)
                .metrics,
            ..ResultRecord::default()
        };
        let [mut first, mut second] = ["one", "other"].map(Results::without_records);
        first.records.push(rate(1_000.0));
        second.records.push(rate(2_000.0));
        assert!(compare::table(&first, &second).contains("| 2.00 |"));
        second.records[0].notes = vec!["at least: --max-rules ended the fill".into()];
        let table = compare::table(&first, &second);
        assert!(
            table.contains("| 1,000 | at least 2,000 | - | - | 0 | - |"),
            "{table}"
        );
    }
}
