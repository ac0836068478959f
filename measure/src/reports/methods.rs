//! The methods of a run in a paragraph: what was done, as its results show, and not what was asked
//! for.

use crate::cases::CASES;
use crate::cases::point::CaseVerdict;
use crate::runs::results::{DELAY, ResultRecord, Results};
use crate::runs::signed::NumberSign;
use crate::statistics::numbers::number;
use crate::subject::probe::WARM_UP;

/// The paragraph of a run.
pub fn paragraph(results: &Results) -> String {
    let mut said = vec![subject(results)];
    said.extend(machine(results));
    said.extend(cases(results));
    said.extend(frames(results));
    said.push(statistics(results));
    said.extend(steadiness(results));
    said.push(controls(results));
    said.push(marks(results));
    said.join(" ")
}

fn subject(results: &Results) -> String {
    let info = &results.info;
    let version = info.version.as_ref();
    let spoken = version.map_or_else(String::new, |version| format!(" by OpenFlow {version}"));
    let form = if info.short {
        ", all cases in their shortest form, whose numbers are rough"
    } else {
        ""
    };
    let reduced = if info.reduced {
        ", in the reduced form, with few flows and frames, whose numbers are rough"
    } else {
        ""
    };
    format!(
        "{} was measured{spoken} with {}{form}{reduced}.",
        info.subject, info.program
    )
}

/// The facts about the machine and the switch, as `run.json` has them, and in which sessions of the
/// run they were others.
fn machine(results: &Results) -> Vec<String> {
    let facts = &results.info.machine;
    let mut said = Vec::new();
    if !facts.is_empty() {
        said.push(format!("The conditions: {}.", facts.join("; ")));
    }
    said.extend(results.info.changes());
    said
}

/// What was measured, and how often.
fn cases(results: &Results) -> Option<String> {
    let mut named = Vec::new();
    let mut repeats: Vec<usize> = Vec::new();
    for case in CASES {
        let points = results.points(case.name);
        if points.is_empty() {
            continue;
        }
        let count = points.len();
        let noun = if count == 1 { "point" } else { "points" };
        named.push(format!("{} ({count} {noun})", case.name));
        for point in points {
            repeats.push(results.of(case.name, &point.name).count());
        }
    }
    let (least, most) = (*repeats.iter().min()?, *repeats.iter().max()?);
    let times = |count: usize| {
        if count == 1 {
            "once".into()
        } else {
            format!("{count} times")
        }
    };
    let measured = if least == most {
        times(most)
    } else {
        format!("{} to {}", least, times(most))
    };
    let wanted = results.info.repeats as usize;
    let cut_off = if least < wanted {
        format!(", of {wanted} repeats that were asked for")
    } else {
        String::new()
    };
    let rounds = if most > 1 {
        ", in rounds: all points once, then all again"
    } else {
        ""
    };
    Some(format!(
        "The cases: {}. Each point was measured {measured}{rounds}{cut_off}.",
        named.join(", ")
    ))
}

/// The series of frames of which there are delays.
fn frames(results: &Results) -> Option<String> {
    let series = loads(results);
    let sent = series.iter().filter_map(|record| record.value("sent"));
    let sent: Vec<f64> = sent.map(|sent| sent.with_sign().0).collect();
    let least = sent.iter().copied().min_by(f64::total_cmp)?;
    let most = sent.iter().copied().max_by(f64::total_cmp)?;
    let count = if least == most {
        number(most)
    } else {
        format!("{} to {}", number(least), number(most))
    };
    let way = if results.info.echo {
        "there and back"
    } else {
        "one way"
    };
    Some(format!(
        "A series of delays had {count} frames after at most {WARM_UP} of warm-up, sent {way} \
         at the constant rate of its point; each frame that arrived was compared with what \
         it should be, byte for byte. They were stamped {}.",
        results.info.stamps.words()
    ))
}

/// The results that are delays of frames at a load.
fn loads(results: &Results) -> Vec<&ResultRecord> {
    let records = results.records.iter();
    let series = records.filter(|one| one.delay.is_some() && one.value("sent").is_some());
    series.collect()
}

fn statistics(results: &Results) -> String {
    let delays = results.records.iter().filter_map(|one| one.delay.as_ref());
    let (all, correlated) = delays.fold((0, 0), |(all, correlated), delay| {
        (all + 1, correlated + usize::from(delay.correlated))
    });
    let over = "The tables have medians over the repeats; the intervals of means, percentiles and \
                other numbers are over the repeats (Student's t), those of shares of frames exact \
                (Clopper and Pearson, 99 %). Where Student's lower bound of a delay is less than \
                what the least repeat shows by Markov's inequality, it is the latter.";
    if results.info.repeats > 1 || all == 0 {
        return over.into();
    }
    format!(
        "There is one repeat: a delay has an interval, of its own series, only if this is not \
         correlated, and {correlated} of {all} series were correlated; shares of frames have exact \
         ones (Clopper and Pearson, 99 %)."
    )
}

/// How many series were in a steady state, of those that are long enough for the test.
fn steadiness(results: &Results) -> Option<String> {
    let delays = results.records.iter().filter_map(|one| one.delay.as_ref());
    let tested: Vec<_> = delays.filter(|delay| delay.trend.is_some()).collect();
    let unsteady = tested.iter().filter(|delay| delay.unsteady().is_some());
    let count = unsteady.count();
    (!tested.is_empty()).then(|| {
        format!(
            "Of {} series of at least 1,000 delays, {count} rose or fell with time (Mann and \
             Kendall's test of the means of 100 batches, 1 %): they were not in a steady state.",
            tested.len()
        )
    })
}

/// The controls: the instrument alone, before and in each round.
fn controls(results: &Results) -> String {
    let alone = match &results.calibration {
        Some(calibration) => format!(
            "The instrument alone had a limit of {:.0} frames/s, and on a wire delays of {:.1} us \
             (p50) and {:.1} us (p99).",
            calibration.limit,
            calibration.floor_p50 / 1e3,
            calibration.floor_p99 / 1e3
        ),
        None => "The instrument was not calibrated.".into(),
    };
    let series = loads(results);
    let with = series.iter().filter(|one| one.baseline.is_some()).count();
    if series.is_empty() {
        return alone;
    }
    format!(
        "{alone} A wire and a forwarder that looks nothing up were measured in the same round at \
         the same load for {with} of {} series; what the switch adds is the difference from them.",
        series.len()
    )
}

/// How many results have which sign, and why.
fn marks(results: &Results) -> String {
    let all = results.records.len();
    let mut signs = [
        (NumberSign::Marked, "marked, and no result", 0),
        (NumberSign::NotOk, "of a switch that did something else", 0),
        (NumberSign::AtLeast, "a lower bound only", 0),
        (NumberSign::Lossy, "a delay with lost frames", 0),
        (NumberSign::Forced, "forced by --force beyond the limits", 0),
    ];
    for record in &results.records {
        let main = CASES.iter().find(|case| case.name == record.case);
        let sign = record.sign(main.and_then(|case| case.main).unwrap_or(DELAY));
        for (of, _, count) in &mut signs {
            *count += usize::from(*of == sign);
        }
    }
    let found: Vec<String> = signs
        .iter()
        .filter(|(_, _, count)| *count > 0)
        .map(|(_, words, count)| format!("{count} {} {words}", is_or_are(*count)))
        .collect();
    if found.is_empty() {
        return format!("All {all} results are without a sign.");
    }
    let reasons = reasons(results);
    let why = if reasons.is_empty() {
        String::new()
    } else {
        format!(" Reasons: {}.", reasons.join("; "))
    };
    format!(
        "Of {all} results, {}; no sentence, ratio or line is computed from these.{why}",
        found.join(", ")
    )
}

fn is_or_are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// Each mark and each verdict but `ok` and `unsupported`, with the number of its results.
fn reasons(results: &Results) -> Vec<String> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for record in &results.records {
        let verdict = match record.verdict {
            CaseVerdict::Ok => None,
            CaseVerdict::Unsupported
            | CaseVerdict::Lies
            | CaseVerdict::Hangs
            | CaseVerdict::Crashes
            | CaseVerdict::Fails
            | CaseVerdict::Wrong => Some(record.verdict.word()),
        };
        let marks = record.marks.iter().map(String::as_str);
        for reason in marks.chain(record.forced()).chain(verdict) {
            match counted.iter_mut().find(|(other, _)| *other == reason) {
                Some((_, count)) => *count += 1,
                None => counted.push((reason, 1)),
            }
        }
    }
    let said = counted.iter();
    said.map(|(reason, count)| format!("{reason} ({count})"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::point::{Point, PointOutcome};
    use crate::statistics::Summary;

    fn record(round: u32, marks: &[&str]) -> ResultRecord {
        ResultRecord {
            case: "action-delay".into(),
            point: Point::of("output"),
            round,
            marks: marks.iter().map(ToString::to_string).collect(),
            metrics: PointOutcome::default()
                .with("sent", "frames", 30_000.0)
                .metrics,
            delay: Summary::of(&[1_000, 2_000]),
            ..ResultRecord::default()
        }
    }

    #[test]
    fn the_methods_say_what_was_done_and_not_what_was_asked_for() {
        let mut results = Results::without_records("a switch");
        results.info.repeats = 5;
        results.info.version = Some("1.3".into());
        results.info.machine = vec!["kernel: 6.1".into(), "description (DESC): X; 2".into()];
        results.records = vec![record(1, &[]), record(2, &["above the limit"])];
        let said = paragraph(&results);
        for words in [
            "a switch was measured by OpenFlow 1.3 with ofmeter.",
            "The conditions: kernel: 6.1; description (DESC): X; 2.",
            "action-delay (1 point). Each point was measured 2 times, in rounds: all points once, \
             then all again, of 5 repeats that were asked for.",
            "had 30,000 frames after at most 1000 of warm-up, sent one way",
            "(Student's t)",
            "by Markov's inequality, it is the latter.",
            "The instrument was not calibrated.",
            "for 0 of 2 series",
            "Of 2 results, 1 is marked, and no result; no sentence",
            "Reasons: above the limit (1).",
        ] {
            assert!(said.contains(words), "{words}\n{said}");
        }
    }

    #[test]
    fn series_that_were_not_steady_are_counted() {
        let mut results = Results::without_records("a switch");
        results.records = vec![record(1, &[]), record(2, &[]), record(3, &[])];
        assert!(!paragraph(&results).contains("steady"));
        results.records[0].delay = Summary::of(&(1..=1_000).collect::<Vec<u64>>());
        results.records[1].delay = Summary::of(&[7; 1_000]);
        let said = paragraph(&results);
        assert!(
            said.contains("Of 2 series of at least 1,000 delays, 1 rose or fell"),
            "{said}"
        );
    }

    #[test]
    fn one_repeat_has_no_interval_over_repeats_and_no_sign_is_said() {
        let mut results = Results::without_records("a switch");
        results.info.short = true;
        results.info.echo = true;
        results.records = vec![record(1, &[])];
        let said = paragraph(&results);
        assert!(said.contains("shortest form") && said.contains("sent there and back"));
        assert!(
            said.contains("measured once.") && !said.contains("Student"),
            "{said}"
        );
        assert!(
            said.ends_with("All 1 results are without a sign."),
            "{said}"
        );
    }
}
