//! Runs cases in rounds, so that changes of the machine's load affect all alike, and keeps each
//! result at once: an interrupted run continues where it was.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::cases::MeterCase;
use crate::cases::baseline::{Baseline, Baselines, NO_CONTROL, judge_end, without_control};
use crate::cases::calibration::{self, Calibration};
use crate::cases::point::{CaseVerdict, Point, PointOutcome};
use crate::cases::workbench::{Limits, Workbench};
use crate::cases::{rfc2544, statistics_delay, tcp};
use crate::data_centre::{fct, live_fct};
use crate::error::{ControlError, Error, Result};
use crate::reports::papers::PublishedPaper;
use crate::runs::raw;
use crate::runs::results::{FORCED, ResultRecord, Store};
use crate::runs::run_info::RunInfo;
use crate::statistics::{Summary, distribution};
use crate::subject::time_stamps::TimeStamps;
use crate::subject::{SetupName, TestSubject, isolated, own_folder};
use crate::tell::tell;

/// The cases and set-ups to run.
pub struct RunPlan<'a> {
    /// The cases.
    pub cases: &'a [&'static MeterCase],
    /// Repeats of each point.
    pub repeats: u32,
    /// True if points beyond the instrument's limits are drawn as results, with their mark.
    pub forced: bool,
    /// The paper of which only the points that it shows are measured.
    pub paper: Option<&'a PublishedPaper>,
}

/// Measures the instrument on a wire and through the yardstick; if a card is to stamp frames, with
/// stamps of the kernel, as these interfaces have no card.
///
/// Errors: set-ups that do not start.
pub fn calibrate(
    limits: &Limits,
    stamps: TimeStamps,
    over: &(dyn Fn() -> bool + Sync),
) -> Result<Calibration> {
    let stamps = stamps.on_virtual_interfaces();
    let mut calibration = Calibration {
        stamps,
        ..Calibration::default()
    };
    for name in ["wire", "yardstick"] {
        tell!("calibration: {name}");
        let measured = isolated(true, || {
            let mut part = calibration.clone();
            let mut subject = TestSubject::start(name, &own_folder(), Path::new(""))?;
            subject.choose_stamps(Some(stamps))?;
            let bench = Workbench::new(&subject, &[], limits, over)?;
            calibration::measure(&bench, name, &mut part)?;
            Ok(part)
        });
        if over() {
            return Err("interrupted".into());
        }
        calibration = measured?;
    }
    Ok(calibration)
}

/// The time that is left, by how long the steps so far took; before the first has ended, by a
/// guess in seconds.
pub fn left(start: Instant, done: usize, all: usize, guess: f64) -> String {
    let (about, seconds) = match done {
        0 => ("about ", guess),
        _ => {
            let each = start.elapsed().as_secs_f64() / done as f64;
            ("", each * (all - done) as f64)
        }
    };
    let seconds = Duration::from_secs_f64(seconds).as_secs();
    match seconds {
        0..100 => format!("{about}{seconds} s left"),
        _ => format!("{about}{} min left", seconds.div_ceil(60)),
    }
}

/// A repeat of a case at a point.
type RunStep<'a> = (u32, &'a MeterCase, Point);

/// The points of a case, or those of them that a paper shows, with loads that are permitted: what
/// two of them differ in may be above.
pub fn points_of(case: &MeterCase, limits: &Limits, paper: Option<&PublishedPaper>) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::new();
    for point in (case.points)(limits) {
        if paper.is_some_and(|paper| !paper.shows(case.name, &point)) {
            continue;
        }
        let point = point.at_most(limits.max_rate);
        if !points.contains(&point) {
            points.push(point);
        }
    }
    points
}

/// The steps of a plan that have no result yet.
fn steps_left<'a>(limits: &Limits, plan: &RunPlan<'a>, there: &[ResultRecord]) -> Vec<RunStep<'a>> {
    let mut steps: Vec<RunStep<'_>> = Vec::new();
    for round in 1..=plan.repeats {
        for case in plan.cases {
            for point in points_of(case, limits, plan.paper) {
                let is_there = there.iter().any(|record| {
                    record.round == round && record.case == case.name && record.point == point
                });
                if !is_there {
                    steps.push((round, case, point));
                }
            }
        }
    }
    steps
}

/// Runs the plan and keeps the results, with the baselines of its rounds. Returns true if it came
/// to its end.
///
/// Errors: the folder's.
pub fn run(
    bench: &mut Workbench<'_>,
    plan: &RunPlan<'_>,
    store: &Store,
    info: &RunInfo,
    baselines: &mut Baselines,
) -> Result<bool> {
    let calibration = store.calibration()?;
    let steps = steps_left(bench.limits, plan, &store.records()?);
    announce(bench, &steps);
    let guess: f64 = steps.iter().map(|step| expected_seconds(bench, step)).sum();
    let start = Instant::now();
    let all = steps.len();
    if all > 0 {
        tell!("{all} points, {}", left(start, 0, all, guess));
    }
    for (done, (round, case, point)) in steps.into_iter().enumerate() {
        if (bench.over)() {
            return Ok(false);
        }
        // A failure only because the switch is gone would be no result.
        if !bench.subject.is_own {
            let ready = bench.await_switch();
            ready.map_err(|why| format!("{why}; the same command goes on once it is back"))?;
        }
        let progress = left(start, done, all, guess);
        bench.round = round;
        let mut outcome = measure(bench, case, &point);
        if (bench.over)() {
            return Ok(false); // the point was cut short
        }
        if outcome.verdict == CaseVerdict::Hangs {
            // It may hang on this connection only; if not, the next step says so.
            let _ = bench.connect_anew();
        }
        let baseline = controls(bench, &mut outcome, info.stamps, baselines);
        if (bench.over)() {
            return Ok(false);
        }
        let flows = std::mem::take(&mut outcome.flows);
        let delay = outcome.summary();
        let delays_ns = std::mem::take(&mut outcome.delays_ns);
        let unsteady = delay.as_ref().and_then(Summary::unsteady);
        outcome.notes.extend(unsteady);
        let mut beyond = std::mem::take(&mut outcome.beyond);
        if let Some(calibration) = &calibration {
            beyond.extend(calibration.marks(&outcome));
            outcome.notes.extend(calibration.background_note(&outcome));
        }
        let marks = baseline
            .iter()
            .flat_map(|found| found.marks(delay.as_ref()));
        match outcome.load {
            Some(_) => beyond.extend(marks),
            // The case measures something else.
            None => outcome
                .notes
                .extend(marks.map(|mark| format!("latency: {mark}"))),
        }
        if plan.forced {
            let forced = beyond.into_iter().map(|mark| format!("{FORCED}{mark}"));
            outcome.notes.extend(forced);
        } else {
            outcome.marks.extend(beyond);
        }
        let mut record = record_of(info, (round, case, point), outcome);
        record.delay = delay;
        record.baseline = baseline;
        if !flows.is_empty() {
            let file = raw::file(&record.case, &record.point, round, "csv");
            store.write(&file, &raw::flow_table(&flows))?;
            record.flows = Some(file);
        }
        store.add(&mut record, &delays_ns)?;
        tell!("[{}/{all}, {progress}] {}", done + 1, line(&record, case));
    }
    Ok(true)
}

/// Measures the controls of an outcome in its round: the wire at the load that ended a search, and
/// both set-ups of a baseline at the load of delays. Says so if it has none.
fn controls(
    bench: &mut Workbench<'_>,
    outcome: &mut PointOutcome,
    stamps: TimeStamps,
    baselines: &mut Baselines,
) -> Option<Baseline> {
    let none = without_control(outcome);
    outcome.notes.extend(none);
    if let Some(load) = outcome.ended_by {
        match bench.served(|bench| baselines.wire_at(&load, stamps, bench.limits)) {
            Ok(wire) => judge_end(&wire, outcome),
            Err(why) => outcome.notes.push(format!("{NO_CONTROL}: {why}")),
        }
    }
    let load = outcome.load.or(outcome.latency_load)?;
    let round = bench.round;
    match bench.served(|bench| baselines.at(round, &load, stamps, bench.limits)) {
        Ok(baseline) => return Some(baseline),
        Err(why) => {
            let said = format!("no baseline: {why}");
            match outcome.load {
                Some(_) => outcome.beyond.push(said),
                None => outcome.notes.push(said),
            }
        }
    }
    None
}

/// The record of a step, without its delays and their file.
fn record_of(
    info: &RunInfo,
    (round, case, point): RunStep<'_>,
    outcome: PointOutcome,
) -> ResultRecord {
    ResultRecord {
        case: case.name.into(),
        point,
        subject: info.subject.clone(),
        version: info.version.clone(),
        round,
        verdict: outcome.verdict,
        marks: outcome.marks,
        notes: outcome.notes,
        metrics: outcome.metrics,
        delay: None,
        raw: None,
        flows: None,
        baseline: None,
        departures: distribution(&outcome.departure_errors_ns),
    }
}

/// Keeps that a switch hangs in each step of the plan: it did not answer before anything could be
/// measured, so that nothing of it was changed.
///
/// Errors: the folder's.
pub fn keep_silence(
    limits: &Limits,
    plan: &RunPlan<'_>,
    store: &Store,
    info: &RunInfo,
) -> Result<bool> {
    for (round, case, point) in steps_left(limits, plan, &store.records()?) {
        let outcome = failed(CaseVerdict::Hangs, ControlError::Hangs.to_string());
        let mut record = record_of(info, (round, case, point), outcome);
        store.add(&mut record, &[])?;
        tell!("{}", line(&record, case));
    }
    Ok(true)
}

/// About how many seconds a step takes.
fn expected_seconds(bench: &Workbench<'_>, (_, case, point): &RunStep<'_>) -> f64 {
    let own = bench.subject.own.as_ref();
    seconds(bench.limits, own.map(|own| &own.setup), case, point)
}

/// About how many seconds a case takes at a point of a set-up, without the wire and the yardstick.
pub fn seconds(limits: &Limits, setup: Option<&SetupName>, case: &MeterCase, point: &Point) -> f64 {
    match (case.name, setup) {
        (live_fct::NAME, Some(setup)) => live_fct::seconds(limits, setup, point),
        (fct::NAME, _) => fct::seconds(limits, setup, point),
        (tcp::NAME, _) => tcp::seconds(limits, point),
        (statistics_delay::NAME, _) => statistics_delay::seconds(limits),
        (rfc2544::THROUGHPUT | rfc2544::BACK_TO_BACK, _) => rfc2544::seconds(limits, case.name),
        _ => limits.seconds(point, limits.echo),
    }
}

/// Says before a run how long the longest case takes, if it is a part of the run.
fn announce(bench: &Workbench<'_>, steps: &[RunStep<'_>]) {
    let live = steps
        .iter()
        .filter(|(_, case, _)| case.name == live_fct::NAME);
    let seconds: f64 = live.map(|step| expected_seconds(bench, step)).sum();
    if bench.subject.own.is_some() && seconds > 0.0 {
        let reduced = bench.limits.reduced;
        tell!("{}", live_fct::announcement(seconds, reduced));
    }
}

/// Measures at a point. A failure is an outcome, too.
fn measure(bench: &mut Workbench<'_>, case: &MeterCase, point: &Point) -> PointOutcome {
    if case.needs_openflow && bench.controller.is_none() {
        let note = "this set-up speaks no OpenFlow";
        return PointOutcome::of(CaseVerdict::Unsupported, note);
    }
    let ready = bench.reconnect_if_closed();
    let mut outcome = match ready.and_then(|()| (case.run)(bench, point)) {
        Ok(outcome) => outcome,
        Err(why) => {
            let verdict = match why {
                Error::Control(ControlError::Hangs) => CaseVerdict::Hangs,
                Error::Control(_) | Error::Failed(_) => bench.verdict(),
            };
            failed(verdict, why.to_string())
        }
    };
    bench.settling.tell(&mut outcome);
    outcome
}

/// The outcome of a step that failed.
fn failed(verdict: CaseVerdict, why: String) -> PointOutcome {
    let mut outcome = PointOutcome::of(verdict, &why);
    outcome.marks.push(why);
    outcome
}

/// One line about a result.
pub fn line(record: &ResultRecord, case: &MeterCase) -> String {
    let mut text = format!(
        "{} {}: {}",
        record.case,
        record.point.name,
        record.verdict.word()
    );
    if let Some(delay) = &record.delay {
        text += &format!(
            ", p50 {:.1} us, p99 {:.1} us",
            delay.p50 / 1e3,
            delay.p99 / 1e3
        );
    }
    if let Some(name) = case.main {
        let main = record.metrics.iter().find(|metric| metric.name == name);
        text += &main.map_or_else(String::new, |metric| {
            format!(", {name} {:.1} {}", metric.value, metric.unit)
        });
    }
    let notes = record.notes.iter();
    let others = notes.filter(|note| !record.marks.contains(note));
    for more in record.marks.iter().chain(others) {
        text += &format!("; {more}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::chosen;
    use crate::cases::forwarding::LOAD_BYTES;

    #[test]
    fn a_load_that_is_not_permitted_is_not_in_the_name_of_a_point() {
        let case = chosen(&["action-delay".into()]).unwrap()[0];
        let limits = Limits {
            max_rate: 10_000.0,
            ..Limits::unbounded(false)
        };
        let points = points_of(case, &limits, None);
        let loads = points.iter().filter(|point| point.bytes == LOAD_BYTES);
        let names: Vec<&str> = loads.map(|point| &point.name[..]).collect();
        let permitted = ["output 150 B 10 Mb/s", "output 150 B 12 Mb/s"];
        assert_eq!(names[..2], permitted, "{names:?}");
        assert_eq!(names.len(), 5, "the others are as the second: {names:?}");
        for point in &points {
            assert!(point.frames_per_second() <= 10_000.0, "{}", point.name);
        }
    }

    #[test]
    fn the_time_that_is_left_is_said_before_the_first_step_has_ended() {
        let start = Instant::now();
        assert_eq!(left(start, 0, 10, 42.0), "about 42 s left");
        assert_eq!(left(start, 0, 10, 601.0), "about 11 min left");
        assert_eq!(left(start, 10, 10, 42.0), "0 s left");
    }
}
