//! The throughput, the latency at it, and the longest burst without loss.
//!
//! Spec: RFC 2544 section 26.

use crate::cases::forwarding::counted_load;
use crate::cases::point::{Point, PointOutcome};
use crate::cases::table_size::AT_LEAST;
use crate::cases::workbench::{Limits, TRIAL_SECONDS, Workbench};
use crate::error::Result;
use crate::statistics::{deviation, greatest, mean};
use crate::subject::probe::{Observation, ProbeLoad, WARM_UP};
use crate::subject::template::Template;

/// The names of the cases.
pub const THROUGHPUT: &str = "rfc2544-throughput";
/// See [`THROUGHPUT`].
pub const BACK_TO_BACK: &str = "rfc2544-back-to-back";
/// The metric of the first.
pub const RATE: &str = "throughput";
/// The metric of the second.
pub const BURST: &str = "longest burst";
/// Frame sizes without the check sequence of 4 bytes. Spec: RFC 2544 section 9.1.
const SIZES: [usize; 7] = [60, 124, 252, 508, 1_020, 1_276, 1_514];
/// Where the search begins, in frames per second, and how long a trial is that only finds the
/// bounds of it.
const FIRST_RATE: f64 = 1_000.0;
const BRIEF_SECONDS: f64 = 1.0;
/// Times that a trial is made that the instrument ended, as on a busy machine.
const ATTEMPTS: u32 = 3;
/// Trials of the binary search at most, and how near its bounds are in the end.
const TRIALS: u32 = 10;
const NEAR: f64 = 1.02;
/// The longest burst, in frames and in seconds, and searches of which the mean is given. Spec: RFC
/// 2544 section 26.4.
const MOST_BURST: u32 = 1 << 17;
const BURST_SECONDS: f64 = 2.0;
const BURST_SEARCHES: u32 = 50;

/// The points of both cases.
pub fn points(limits: &Limits) -> Vec<Point> {
    let sizes = if limits.short { &SIZES[..1] } else { &SIZES };
    let points = sizes.iter();
    points
        .map(|bytes| Point::of("frames").bytes(*bytes))
        .collect()
}

/// About how many seconds a point takes.
pub fn seconds(limits: &Limits, case: &str) -> f64 {
    if case == THROUGHPUT {
        return 10.0 * limits.trial_seconds.min(BRIEF_SECONDS)
            + f64::from(TRIALS) * limits.trial_seconds;
    }
    f64::from(searches(limits)) * 5.0
}

/// The highest rate at which a trial loses nothing, and the latency at this rate.
pub fn throughput(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    bench.reset()?;
    bench.served(|bench| search_throughput(bench, point))
}

/// What a trial showed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TrialEnd {
    NothingLost,
    Lost,
    /// The instrument did not send at the rate, or lost frames itself.
    ByInstrument,
}

impl TrialEnd {
    fn of(seen: &Observation) -> Self {
        if seen.own_loss().is_some() {
            Self::ByInstrument
        } else if seen.lost() > 0 {
            Self::Lost
        } else if seen.is_faithful() {
            Self::NothingLost
        } else {
            Self::ByInstrument
        }
    }
}

/// The bounds of a search.
struct Search {
    passed: f64,
    failed: f64,
    /// How the trial at `failed` ended, if there was one.
    end: Option<TrialEnd>,
}

impl Search {
    /// Doubles a rate until a brief trial fails or the rate is `most`; then halves the bounds with
    /// whole ones. The lower bound of the first part must pass a whole trial, too.
    fn run(most: f64, mut trial: impl FnMut(f64, bool) -> Result<TrialEnd>) -> Result<Self> {
        let mut found = Self {
            passed: 0.0,
            failed: most,
            end: None,
        };
        let mut next = FIRST_RATE.min(most);
        while found.end.is_none() && next < most {
            match trial(next, false)? {
                TrialEnd::NothingLost => next = (2.0 * next).min(most),
                end @ (TrialEnd::Lost | TrialEnd::ByInstrument) => {
                    (found.failed, found.end) = (next, Some(end));
                }
            }
        }
        if found.end.is_some() {
            next /= 2.0;
        }
        for _ in 0..TRIALS {
            match trial(next, true)? {
                TrialEnd::NothingLost => found.passed = next,
                end @ (TrialEnd::Lost | TrialEnd::ByInstrument) => {
                    (found.failed, found.end) = (next, Some(end));
                }
            }
            if found.failed <= found.passed * NEAR {
                break;
            }
            next = (found.passed + found.failed) / 2.0;
        }
        Ok(found)
    }
}

fn search_throughput(bench: &Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    let template = Template::plain(point.bytes);
    let whole = bench.limits.trial_seconds;
    let most = bench.limits.max_rate;
    let found = Search::run(most, |rate, is_whole| {
        let seconds = if is_whole {
            whole
        } else {
            whole.min(BRIEF_SECONDS)
        };
        let load = trial_load(rate, seconds);
        let mut end = TrialEnd::ByInstrument;
        for _ in 0..ATTEMPTS {
            end = TrialEnd::of(&bench.observe_rate(&template, &load)?);
            if end != TrialEnd::ByInstrument || (bench.over)() {
                break;
            }
        }
        Ok(end)
    })?;
    let passed = found.passed;
    let mut outcome = PointOutcome {
        frames_per_second: passed,
        ..PointOutcome::default()
    }
    .with(RATE, "frames/s", passed)
    .with(
        "throughput in bits",
        "Mb/s",
        passed * point.bytes as f64 * 8.0 / 1e6,
    )
    .with("seconds of a trial", "s", whole);
    outcome.notes.extend(form_note(whole));
    match found.end {
        None => outcome
            .notes
            .push(format!("{AT_LEAST}: --max-rate ended the search")),
        Some(TrialEnd::ByInstrument) => outcome.notes.push(format!(
            "{AT_LEAST}: the instrument, not the switch, ends the search"
        )),
        Some(TrialEnd::Lost) => {
            let load = trial_load(found.failed, whole);
            outcome.ended_by = Some(counted_load(bench, &template, &load));
        }
        Some(TrialEnd::NothingLost) => {}
    }
    if passed == 0.0 {
        outcome.beyond.push("no trial was without loss".into());
        return Ok(outcome);
    }
    let load = ProbeLoad::new(bench.frames(), passed);
    let seen = bench.observe(&template, &load)?;
    match no_latency(&seen) {
        Some(note) => outcome.notes.push(note),
        None => {
            outcome.delays_ns = seen.delays_ns;
            outcome.latency_load = Some(bench.frame_load(&template, &load));
        }
    }
    Ok(outcome)
}

/// The frames of a trial.
fn trial_load(rate: f64, seconds: f64) -> ProbeLoad<'static> {
    let frames = (rate * seconds).max(1.0) as u32;
    ProbeLoad::counting(frames, WARM_UP.min(frames), rate)
}

/// Says why a series at the throughput has no latency, if so.
fn no_latency(seen: &Observation) -> Option<String> {
    if seen.lost() > 0 {
        let lost = seen.lost();
        return Some(format!("no latency: {lost} frames of its series were lost"));
    }
    let is_stamped = seen.is_faithful() && seen.unstamped == 0;
    let unstamped = "no latency: the instrument cannot stamp frames at the throughput";
    (!is_stamped).then(|| unstamped.into())
}

/// Labels trials that are shorter than those of the RFC.
fn form_note(seconds: f64) -> Option<String> {
    (seconds < TRIAL_SECONDS)
        .then(|| format!("trials of {seconds} s, and not the {TRIAL_SECONDS} s of RFC 2544"))
}

fn searches(limits: &Limits) -> u32 {
    if limits.short { 1 } else { BURST_SEARCHES }
}

/// The longest burst, at the generator's highest rate, of which nothing is lost.
pub fn back_to_back(bench: &mut Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    bench.reset()?;
    bench.served(|bench| search_bursts(bench, point))
}

fn search_bursts(bench: &Workbench<'_>, point: &Point) -> Result<PointOutcome> {
    let template = Template::plain(point.bytes);
    let limits = bench.limits;
    let in_time = limits.max_rate * limits.trial_seconds.min(BURST_SECONDS);
    let most = (in_time as u32).clamp(1, MOST_BURST);
    let mut rate = 0.0_f64;
    let mut by_instrument = false;
    let mut longest = Vec::new();
    for _ in 0..searches(limits) {
        if (bench.over)() {
            break;
        }
        let found = longest_burst(most, |frames| {
            let load = ProbeLoad::counting(frames, 0, limits.max_rate);
            let seen = bench.observe_rate(&template, &load)?;
            if frames > 1 {
                rate = rate.max(seen.rate.1);
            }
            by_instrument |= seen.own_loss().is_some();
            Ok(seen.lost() == 0)
        })?;
        longest.push(f64::from(found));
    }
    let frames = mean(&longest);
    let mut outcome = PointOutcome::default()
        .with(BURST, "frames", frames)
        .with("bursts: greatest rate", "frames/s", rate)
        .with("bursts: searches", "", longest.len() as f64);
    if longest.len() > 1 {
        outcome.add(
            "longest burst, standard deviation",
            "frames",
            deviation(&longest),
        );
    }
    if longest.contains(&f64::from(most)) {
        outcome
            .notes
            .push(format!("{AT_LEAST}: no longer burst is tried"));
    } else {
        // About as long as the one that ended the search of the longest.
        let lost = (greatest(&longest) * NEAR) as u32 + 1;
        let load = ProbeLoad::counting(lost, 0, limits.max_rate);
        outcome.ended_by = Some(counted_load(bench, &template, &load));
    }
    if by_instrument {
        outcome.notes.push(format!(
            "{AT_LEAST}: of longer bursts, the instrument itself lost frames"
        ));
    }
    Ok(outcome)
}

/// The longest burst of at most `most` frames that passes: by doubling, then by halving; 0 if a
/// single frame does not.
fn longest_burst(most: u32, mut passes: impl FnMut(u32) -> Result<bool>) -> Result<u32> {
    let (mut passed, mut failed) = (0, most + 1);
    let mut next = 1;
    while failed - passed > 1 + passed / 50 {
        if passes(next)? {
            passed = next;
        } else {
            failed = next;
        }
        next = if failed > most {
            (2 * next).min(most)
        } else {
            passed + (failed - passed) / 2
        };
        if passed == most {
            break;
        }
    }
    Ok(passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A switch that loses frames above a rate, and a generator that ends at another.
    fn found(limit: f64, generator: f64, most: f64) -> (Search, u32) {
        let mut whole = 0;
        let found = Search::run(most, |rate, is_whole| {
            whole += u32::from(is_whole);
            Ok(if rate > generator {
                TrialEnd::ByInstrument
            } else if rate > limit {
                TrialEnd::Lost
            } else {
                TrialEnd::NothingLost
            })
        });
        (found.unwrap(), whole)
    }

    #[test]
    fn the_throughput_is_found_within_two_percent_in_ten_whole_trials() {
        for limit in [300.0, 1_500.0, 77_777.0, 900_000.0] {
            let (search, whole) = found(limit, 1e9, 1e7);
            let share = search.passed / limit;
            assert!((0.98..=1.0).contains(&share), "{limit}: {}", search.passed);
            assert!(whole <= TRIALS, "{whole}");
        }
    }

    #[test]
    fn a_search_that_the_meter_ends_is_known() {
        let (search, _) = found(f64::INFINITY, f64::INFINITY, 50_000.0);
        assert!(search.passed == 50_000.0 && search.end.is_none());
        let (search, _) = found(f64::INFINITY, 20_000.0, 1e7);
        assert!(search.end == Some(TrialEnd::ByInstrument));
        assert_eq!(found(0.0, 1e9, 1e7).0.passed, 0.0);
    }

    #[test]
    fn a_trial_of_which_the_instrument_lost_frames_is_not_lost_by_the_switch() {
        let end = |received, achieved, dropped_here| {
            TrialEnd::of(&Observation {
                sent: 100,
                received,
                rate: (1_000.0, achieved),
                dropped_here,
                ..Observation::default()
            })
        };
        assert!(end(99, 1_000.0, 0) == TrialEnd::Lost);
        assert!(end(99, 1_000.0, 1) == TrialEnd::ByInstrument);
        assert!(end(100, 900.0, 0) == TrialEnd::ByInstrument);
        // What it dropped was none of these frames.
        assert!(end(100, 1_000.0, 1) == TrialEnd::NothingLost);
    }

    #[test]
    fn a_series_that_lost_frames_has_no_latency() {
        let of = |received, achieved, unstamped| {
            no_latency(&Observation {
                sent: 100,
                received,
                rate: (1_000.0, achieved),
                unstamped,
                ..Observation::default()
            })
        };
        assert_eq!(of(100, 1_000.0, 0), None);
        let lost = "no latency: 3 frames of its series were lost";
        assert_eq!(of(97, 1_000.0, 0).as_deref(), Some(lost));
        let unstamped = "no latency: the instrument cannot stamp frames at the throughput";
        for note in [of(100, 900.0, 0), of(100, 1_000.0, 1)] {
            assert_eq!(note.as_deref(), Some(unstamped));
        }
    }

    #[test]
    fn the_longest_burst_is_found_and_short_trials_are_labelled() {
        for limit in [0, 1, 2, 3, 100, 5_000, MOST_BURST] {
            let burst = longest_burst(MOST_BURST, |frames| Ok(frames <= limit)).unwrap();
            assert!(
                burst <= limit && burst * 100 >= limit * 97,
                "{limit}: {burst}"
            );
        }
        assert_eq!(longest_burst(700, |_| Ok(true)).unwrap(), 700);
        assert_eq!(form_note(60.0), None);
        let note = "trials of 2 s, and not the 60 s of RFC 2544";
        assert_eq!(form_note(2.0).as_deref(), Some(note));
    }
}
