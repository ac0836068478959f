//! Runs cases in rounds, so that changes of the machine's load affect all alike, and keeps each
//! result at once: a run that was interrupted goes on where it was.

use std::path::Path;
use std::time::{Duration, Instant};

use super::calibration::{self, Calibration};
use super::case::MeterCase;
use super::live_fct;
use super::point::{CaseVerdict, Point, PointOutcome};
use super::results::{FORCED, ResultRecord, RunInfo, Store};
use super::statistics::Summary;
use super::subject::{TestSubject, isolated, own_folder};
use super::time_stamps::TimeStamps;
use super::workbench::{Limits, Workbench};
use crate::net::run as run_command;

/// What to run.
pub struct RunPlan<'a> {
    /// The cases.
    pub cases: &'a [&'static MeterCase],
    /// Repeats of each point.
    pub repeats: u32,
    /// Whether to draw points beyond the instrument's limits as results, with their mark.
    pub forced: bool,
}

/// The facts about this machine that all results depend on.
pub fn host() -> Vec<String> {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = cpu.lines().find(|line| line.starts_with("model name"));
    let model = named
        .and_then(|line| line.split(": ").nth(1))
        .unwrap_or("unknown");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    vec![
        format!("processor: {model}, {cores} cores; nothing is pinned"),
        format!("kernel: {}", kernel.trim()),
        format!("date: {}", date()),
    ]
}

/// The same, and how frames are sent and received.
pub fn machine() -> Vec<String> {
    let mut facts = host();
    facts.extend([
        "input and output: AF_PACKET rings".into(),
        "offloads: off, but in cases that say otherwise".into(),
        "frame sizes: without the frame check sequence".into(),
    ]);
    facts
}

/// Today, as `date` writes it.
fn date() -> String {
    run_command("date -u +%Y-%m-%d")
        .unwrap_or_default()
        .trim()
        .into()
}

/// Measures the instrument on a wire and through the yardstick; if a card is to stamp frames, with
/// stamps of the kernel, as these interfaces have no card.
///
/// Errors: set-ups that do not start.
pub fn calibrate(
    limits: &Limits,
    stamps: TimeStamps,
    over: &(dyn Fn() -> bool + Sync),
) -> Result<Calibration, String> {
    let stamps = stamps.on_virtual_interfaces();
    let mut calibration = Calibration {
        stamps,
        ..Calibration::default()
    };
    for name in ["wire", "yardstick"] {
        eprintln!("calibration: {name}");
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

/// The time that is left, from how long some of the steps took.
fn left(start: Instant, done: usize, all: usize) -> String {
    if done == 0 {
        return "time left unknown".into();
    }
    let each = start.elapsed().as_secs_f64() / done as f64;
    let seconds = Duration::from_secs_f64(each * (all - done) as f64).as_secs();
    match seconds {
        0..100 => format!("{seconds} s left"),
        _ => format!("{} min left", seconds.div_ceil(60)),
    }
}

/// A repeat of a case at a point.
type RunStep<'a> = (u32, &'a MeterCase, Point);

/// Runs the plan and keeps the results. Returns whether it came to its end.
///
/// Errors: the folder's.
pub fn run(
    bench: &mut Workbench<'_>,
    plan: &RunPlan<'_>,
    store: &Store,
    info: &RunInfo,
) -> Result<bool, String> {
    let calibration = store.calibration()?;
    let there = store.records()?;
    let mut steps: Vec<RunStep<'_>> = Vec::new();
    for round in 1..=plan.repeats {
        for case in plan.cases {
            for point in (case.points)(bench.limits) {
                let is_there = there.iter().any(|record| {
                    record.round == round && record.case == case.name && record.point == point
                });
                if !is_there {
                    steps.push((round, case, point));
                }
            }
        }
    }
    announce(bench, &steps);
    let start = Instant::now();
    let all = steps.len();
    for (done, (round, case, point)) in steps.into_iter().enumerate() {
        if (bench.over)() {
            return Ok(false);
        }
        let progress = left(start, done, all);
        bench.round = round;
        let mut outcome = measure(bench, case, &point);
        if (bench.over)() {
            return Ok(false); // the point was cut short
        }
        let delay = Summary::of(&outcome.delays_ns);
        let mut beyond = std::mem::take(&mut outcome.beyond);
        if let Some(calibration) = &calibration {
            beyond.extend(calibration.marks(&outcome, delay.as_ref()));
            outcome.notes.extend(calibration.background_note(&outcome));
        }
        if plan.forced {
            let forced = beyond.into_iter().map(|mark| format!("{FORCED}{mark}"));
            outcome.notes.extend(forced);
        } else {
            outcome.marks.extend(beyond);
        }
        let mut record = ResultRecord {
            case: case.name.into(),
            point,
            subject: info.subject.clone(),
            version: info.version.clone(),
            round,
            verdict: outcome.verdict,
            marks: outcome.marks,
            notes: outcome.notes,
            metrics: outcome.metrics,
            delay,
            raw: None,
        };
        store.add(&mut record, &outcome.delays_ns)?;
        eprintln!("[{}/{all}, {progress}] {}", done + 1, line(&record, case));
    }
    store.write_csv()?;
    Ok(true)
}

/// Says how long the case takes that is by far the longest, before it begins.
fn announce(bench: &Workbench<'_>, steps: &[RunStep<'_>]) {
    let Some(own) = &bench.subject.own else {
        return;
    };
    let mut seconds = 0.0;
    for (_, case, point) in steps {
        if case.name == live_fct::NAME {
            seconds += live_fct::seconds(bench.limits, &own.setup, point);
        }
    }
    if seconds > 0.0 {
        eprintln!(
            "{} takes about {:.0} min",
            live_fct::NAME,
            (seconds / 60.0).ceil()
        );
    }
}

/// Measures at a point. A failure is an outcome, too.
fn measure(bench: &mut Workbench<'_>, case: &MeterCase, point: &Point) -> PointOutcome {
    if case.needs_openflow && bench.controller.is_none() {
        let note = "this set-up speaks no OpenFlow";
        return PointOutcome::of(CaseVerdict::Unsupported, note);
    }
    let ready = bench.reconnect_if_closed();
    match ready.and_then(|()| (case.run)(bench, point)) {
        Ok(outcome) => outcome,
        Err(why) => {
            let mut outcome = PointOutcome::of(bench.verdict(), &why);
            outcome.marks.push(why);
            outcome
        }
    }
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
    for more in record.marks.iter().chain(&record.notes) {
        text += &format!("; {more}");
    }
    text
}
