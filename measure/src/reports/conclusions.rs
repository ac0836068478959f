//! Computes what follows from the results of a run: what the papers conclude about switches.

use crate::cases::CASES;
use crate::cases::point::{CaseVerdict, Point};
use crate::cases::workbench::USUAL_MBPS;
use crate::reports::skew;
use crate::runs::results::{DELAY, Results};
use crate::statistics::numbers::number;
use crate::statistics::{mean, mean_interval, median, paired_ratio};

/// The confidence of all intervals of a sentence together.
const CONFIDENCE: f64 = 0.95;
/// The least number of frame sizes that have a slope.
const MIN_SIZES: usize = 3;

/// Delays of two points, each pair in the same round.
type Pairs = Vec<(f64, f64)>;

/// The median delay of a point in a round, microseconds, if it has no sign.
fn delay(results: &Results, round: u32, case: &str, point: &str) -> Option<f64> {
    let mut records = results.of(case, point);
    let record = records.find(|record| record.round == round)?;
    record.value(DELAY)?.plain()
}

/// The rounds of a run, in their order.
fn rounds(results: &Results) -> Vec<u32> {
    let mut rounds: Vec<u32> = results.records.iter().map(|record| record.round).collect();
    rounds.sort_unstable();
    rounds.dedup();
    rounds
}

/// The delays of two points of a case in the rounds in which both have no sign.
fn pairs(results: &Results, case: &str, one: &str, other: &str) -> Pairs {
    let mut pairs = Pairs::new();
    for round in rounds(results) {
        let own = delay(results, round, case, one);
        pairs.extend(own.zip(delay(results, round, case, other)));
    }
    pairs
}

/// Says of each pair of points how many times as long the second takes, with the interval of this
/// ratio over the rounds; "not distinguished" if that contains 1, or if one round alone has none.
/// All intervals hold together (Bonferroni). None if no round has a pair.
fn compared(what: &str, mut found: Vec<(String, Pairs)>) -> Option<String> {
    found.retain(|(_, pairs)| !pairs.is_empty());
    if found.is_empty() {
        return None;
    }
    let confidence = 1.0 - (1.0 - CONFIDENCE) / found.len() as f64;
    let mut said = Vec::new();
    let mut alike = Vec::new();
    for (name, pairs) in &found {
        match difference(pairs, confidence) {
            Some(times) => said.push(format!("{name} {times}")),
            None => alike.push(name.as_str()),
        }
    }
    if !alike.is_empty() {
        said.push(format!("not distinguished: {}", alike.join(", ")));
    }
    let all = said.join("; ");
    Some(format!("{what}: {all} (95 % intervals over the repeats)."))
}

/// How many times as long the second of each pair takes, with its interval; none if the interval
/// contains 1, or if there are too few pairs for one.
fn difference(pairs: &[(f64, f64)], confidence: f64) -> Option<String> {
    let (ratio, interval) = paired_ratio(pairs, confidence)?;
    let (low, high) = interval?;
    let is_told = low > 1.0 || high < 1.0;
    is_told.then(|| format!("{ratio:.3} times ({low:.3} to {high:.3})"))
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
    let case = "match-type";
    let points = results.points(case);
    let bytes = points.first()?.bytes;
    let is_measured = |point: &&&Point| {
        let name = &point.name[..];
        point.bytes == bytes && !pairs(results, case, name, name).is_empty()
    };
    let mut measured = points.iter().filter(is_measured);
    let first = measured.next()?;
    let others = measured.map(|point| {
        let found = pairs(results, case, &first.name, &point.name);
        (point.kind.clone(), found)
    });
    let kind = &first.kind;
    let what = format!("What is matched, the median delay of {bytes}-byte frames over {kind}'s");
    compared(&what, others.collect())
}

fn by_mode(results: &Results) -> Option<String> {
    let case = "mode-speedup";
    let points = results.points(case).into_iter();
    let own = points.filter(|point| point.kind == "openflow");
    let found = own.map(|point| {
        let legacy = point.name.replace("openflow", "legacy");
        let found = pairs(results, case, &point.name, &legacy);
        (format!("{} bytes", point.bytes), found)
    });
    let what = "The speed-up of OpenFlow mode, legacy delay over OpenFlow delay";
    compared(what, found.collect())
}

fn by_table_size(results: &Results) -> Option<String> {
    let case = "table-size";
    let [one, last] = ["delay, one", "delay, last"];
    let counts = results.values(case, last, "rules").plain()?;
    let name = format!("the last of {}", number(median(&counts)));
    let found = pairs(results, case, one, last);
    let what = "The delay of a rule over that of a single one";
    compared(what, vec![(name, found)])
}

/// The slope of delay over size.
fn by_size(results: &Results) -> Option<String> {
    let mut points = results.points("action-delay");
    points.retain(|point| point.kind == "output" && point.mbps == USUAL_MBPS);
    let all = rounds(results).into_iter();
    let slopes: Vec<f64> = all
        .filter_map(|round| slope(results, round, &points))
        .collect();
    if slopes.is_empty() {
        return None;
    }
    let interval = mean_interval(&slopes, CONFIDENCE);
    let told = interval.filter(|(low, high)| *low > 0.0 || *high < 0.0);
    Some(match told {
        Some((low, high)) => format!(
            "Each 100 bytes of a frame add {:.3} us (95 % interval over the repeats: {low:.3} to \
             {high:.3}).",
            mean(&slopes)
        ),
        None => "Frame size: a slope of the delay is not distinguished from none.".into(),
    })
}

/// Microseconds for each 100 bytes of a frame in a round, by least squares.
fn slope(results: &Results, round: u32, sizes: &[&Point]) -> Option<f64> {
    let mut points = Vec::new();
    for point in sizes {
        let found = delay(results, round, "action-delay", &point.name);
        points.extend(found.map(|us| (point.bytes as f64, us)));
    }
    if points.len() < MIN_SIZES {
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
    Some(above / below * 100.0)
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
    use crate::cases::point::PointOutcome;
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
        let mut again = results.records.clone();
        again.iter_mut().for_each(|record| record.round = 2);
        results.records.extend(again);
        let plain = of(&results);
        let told = "over port's: ip 1.010 times (1.010 to 1.010) (95 %";
        assert!(plain[0].contains(told), "{plain:?}");
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

    /// A point in some rounds, with these delays.
    fn repeats(case: &str, point: &Point, delays_ns: &[u64]) -> Vec<ResultRecord> {
        let rounds = (1..).zip(delays_ns);
        let records = rounds.map(|(round, ns)| ResultRecord {
            case: case.into(),
            point: point.clone(),
            round,
            delay: Summary::of(&[*ns; 100]),
            ..ResultRecord::default()
        });
        records.collect()
    }

    #[test]
    fn a_difference_is_said_only_if_its_interval_over_the_repeats_excludes_none() {
        let mut results = Results::without_records("a switch");
        let delays = [
            ("port", [200_000, 220_000, 210_000]),
            ("ip", [212_000, 211_000, 214_000]),
            ("mac", [300_000, 330_000, 315_000]),
        ];
        for (kind, delays_ns) in delays {
            let point = Point::of(kind).bytes(64);
            let found = repeats("match-type", &point, &delays_ns);
            results.records.extend(found);
        }
        for (kind, ns) in [("openflow", 100_000), ("legacy", 120_000)] {
            let point = Point::of(kind).bytes(64);
            let found = repeats("mode-speedup", &point, &[ns; 3]);
            results.records.extend(found);
        }
        let said = of(&results);
        // The median of ip is 6 % above that of port in the first round, and below it in the next.
        assert_eq!(
            said[..2],
            [
                "What is matched, the median delay of 64-byte frames over port's: mac 1.500 times \
                 (1.500 to 1.500); not distinguished: ip (95 % intervals over the repeats).",
                "The speed-up of OpenFlow mode, legacy delay over OpenFlow delay: 64 bytes 1.200 \
                 times (1.200 to 1.200) (95 % intervals over the repeats).",
            ]
        );
        // One repeat has no interval.
        results.records.retain(|record| record.round == 1);
        let said = of(&results);
        let alike = "port's: not distinguished: ip, mac (";
        assert!(said[0].contains(alike), "{said:?}");
    }

    #[test]
    fn the_slope_of_delay_over_size_has_an_interval_or_is_not_said() {
        let slope = |ns_per_byte: [i64; 3]| {
            let mut results = Results::without_records("a switch");
            for bytes in [100, 200, 300] {
                let point = Point::of("output").bytes(bytes).mbps(USUAL_MBPS);
                let delays_ns = ns_per_byte.map(|ns| (100_000 + ns * bytes as i64) as u64);
                let found = repeats("action-delay", &point, &delays_ns);
                results.records.extend(found);
            }
            of(&results).remove(0)
        };
        // Student's t of two degrees of freedom is 4.303.
        assert_eq!(
            slope([10, 12, 8]),
            "Each 100 bytes of a frame add 1.000 us (95 % interval over the repeats: 0.503 to \
             1.497)."
        );
        let none = "Frame size: a slope of the delay is not distinguished from none.";
        assert_eq!(slope([10, -10, 1]), none);
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
