//! Measures the limits of the instrument itself: the same loads on a wire and through a forwarder
//! that looks nothing up.

use serde::{Deserialize, Serialize};

use crate::cases::forwarding::{LOAD_BYTES, LOADS, SIZES};
use crate::cases::point::{CountedLoad, FrameLoad, Point, PointOutcome};
use crate::cases::workbench::{Limits, USUAL_MBPS, Workbench};
use crate::error::{Error, Result};
use crate::runs::signed::{NumberSign, SMALL_LOSS};
use crate::statistics::{Interval, Summary, greatest};
use crate::subject::probe::{Observation, ProbeLoad, is_faithful};
use crate::subject::template::Template;
use crate::subject::time_stamps::TimeStamps;

/// A load is within the instrument's limit if its mean delay is below this many times that when
/// idle.
const LIMIT_FACTOR: f64 = 2.0;
/// The load of the noise test in frames per second, and its bounds in nanoseconds.
const NOISE_RATE: f64 = 10_000.0;
const IDLE_P50_NS: f64 = 5_000.0;
const IDLE_P99_NS: f64 = 20_000.0;
/// The number of times that the search for the limit doubles the load after that of the last point.
const DOUBLINGS: usize = 4;
/// The number of times that a point is tried if no frame comes back: the machine may be busy with
/// something else.
const ATTEMPTS: usize = 3;
/// Frames of a point.
const FRAMES: u32 = 10_000;
const SHORT_FRAMES: u32 = 500;

/// One point of a calibration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CalibrationPoint {
    /// Bytes of the frames.
    pub bytes: usize,
    /// The load in Mb/s.
    pub mbps: f64,
    /// Frames per second: those that were to be sent, and those that were.
    pub rate: (f64, f64),
    /// The share of frames that was lost.
    pub loss: f64,
    /// Mean and standard deviation of the delay, nanoseconds.
    pub mean: f64,
    /// See `mean`.
    pub deviation: f64,
    /// Median and 99th percentile, nanoseconds.
    pub p50: f64,
    /// The median time of a round trip that is the far end's, nanoseconds; 0 one way.
    #[serde(default)]
    pub far_end: f64,
    /// See `p50`.
    pub p99: f64,
    /// The 95 % interval of the median.
    #[serde(default)]
    pub p50_95: Option<Interval>,
}

impl CalibrationPoint {
    /// The delays of frames of a size at a load, of which none was lost.
    pub fn of(bytes: usize, mbps: f64, delay: &Summary) -> Self {
        Self {
            bytes,
            mbps,
            rate: (0.0, 0.0),
            loss: 0.0,
            mean: delay.mean,
            deviation: delay.deviation,
            p50: delay.p50,
            far_end: delay.far_end,
            p99: delay.p99,
            p50_95: delay.p50_95,
        }
    }

    /// The sign of its delays: there are none of a load that was not sent, and those of the frames
    /// that arrived are not those of all.
    pub fn sign(&self) -> NumberSign {
        if !is_faithful(self.rate) {
            NumberSign::Marked
        } else if self.loss > SMALL_LOSS {
            NumberSign::Lossy
        } else {
            NumberSign::Plain
        }
    }

    /// Bounds of the median, nanoseconds.
    pub fn median_bounds(&self) -> Interval {
        self.p50_95.unwrap_or((self.p50, self.p50))
    }
}

/// The instrument on one path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CalibrationPath {
    /// `wire` or `yardstick`.
    pub name: String,
    /// All points: sizes at 10 Mb/s, then loads.
    pub points: Vec<CalibrationPoint>,
}

/// The limits of the instrument.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The paths: the wire first.
    pub paths: Vec<CalibrationPath>,
    /// Frames per second of the highest load without loss and with a mean below twice the idle one.
    pub limit: f64,
    /// The same where this program stamps frames: of rates, and of other loads without delays.
    #[serde(default)]
    pub rate_limit: Option<f64>,
    /// Median and 99th percentile on the wire at 10,000 frames per second, nanoseconds.
    pub floor_p50: f64,
    /// See `floor_p50`.
    pub floor_p99: f64,
    /// The clock that stamped the frames.
    #[serde(default)]
    pub stamps: TimeStamps,
}

impl Calibration {
    /// The limit of loads without delays.
    fn rate_limit(&self) -> f64 {
        self.rate_limit.unwrap_or(self.limit)
    }

    /// Returns true if the machine is too noisy for small delays.
    pub fn is_noisy(&self) -> bool {
        self.floor_p50 >= IDLE_P50_NS || self.floor_p99 >= IDLE_P99_NS
    }

    /// Says why an outcome is beyond what the instrument can do.
    pub fn marks(&self, outcome: &PointOutcome) -> Vec<String> {
        let mut marks = Vec::new();
        let limit = match outcome.load {
            Some(_) => self.limit,
            None => self.rate_limit(),
        };
        if outcome.frames_per_second > limit {
            marks.push(format!(
                "above the instrument's limit of {limit:.0} frames/s"
            ));
        }
        marks
    }

    /// Says what a reader must know about the loss of a load during which something else was
    /// measured.
    pub fn background_note(&self, outcome: &PointOutcome) -> Option<String> {
        let limit = self.rate_limit();
        let is_above = outcome.background_rate > limit;
        is_above.then(|| {
            format!(
                "the load of {:.0} frames/s is above the instrument's limit of {:.0}: some of \
                 what was lost, the instrument lost",
                outcome.background_rate, limit
            )
        })
    }

    /// The sentences about it.
    pub fn sentences(&self) -> Vec<String> {
        let mut said = vec![
            format!("The instrument's time stamps: {}.", self.stamps.words()),
            format!(
                "The floor on a wire: p50 {:.1} us, p99 {:.1} us at {NOISE_RATE} frames/s.",
                self.floor_p50 / 1e3,
                self.floor_p99 / 1e3
            ),
            format!(
                "The instrument's limit: {:.0} frames/s, {:.0} Mb/s of {LOAD_BYTES}-byte frames; \
                 without these stamps, for rates, {:.0} frames/s.",
                self.limit,
                self.limit * LOAD_BYTES as f64 * 8.0 / 1e6,
                self.rate_limit()
            ),
        ];
        said.push(
            "The stated error of a delay: what a switch adds to the median is the 95 % interval of \
             the differences from a wire, and from the yardstick, in the same rounds and at the \
             same load; a time is resolved to 1 ns."
                .into(),
        );
        if self.is_noisy() {
            said.push("This machine is noisy: small delays are not told apart.".into());
        }
        said
    }
}

fn measured(load: &FrameLoad, seen: &Observation) -> Result<CalibrationPoint> {
    let delay = Summary::of(&seen.delays_ns).ok_or("no frame came back from the instrument")?;
    Ok(CalibrationPoint {
        far_end: seen.far_end_ns,
        rate: seen.rate,
        loss: seen.loss(),
        ..CalibrationPoint::of(load.bytes, mbps_of(load), &delay)
    })
}

fn mbps_of(load: &FrameLoad) -> f64 {
    load.rate * load.bytes as f64 * 8.0 / 1e6
}

/// The share of frames that the instrument loses at a load without delays.
///
/// Errors: the interfaces'.
pub fn counted_at(bench: &Workbench<'_>, counted: &CountedLoad) -> Result<CalibrationPoint> {
    let load = &counted.load;
    let frames = ProbeLoad::counting(load.frames, counted.warm_up, load.rate);
    let seen = bench.observe_rate(&Template::plain(load.bytes), &frames)?;
    Ok(CalibrationPoint {
        rate: seen.rate,
        loss: seen.loss(),
        ..CalibrationPoint::of(load.bytes, mbps_of(load), &Summary::default())
    })
}

/// The load of a point.
fn load_at(bench: &Workbench<'_>, point: &Point) -> FrameLoad {
    FrameLoad {
        bytes: point.bytes,
        frames: bench.count(FRAMES, SHORT_FRAMES),
        rate: point.frames_per_second(),
        echo: false,
    }
}

fn at(bench: &Workbench<'_>, point: &Point) -> Result<CalibrationPoint> {
    let found = at_load(bench, &load_at(bench, point))?;
    Ok(CalibrationPoint {
        // Plots look for exactly this load.
        mbps: point.mbps,
        ..found
    })
}

/// The instrument at a load. It is tried again if no frame comes.
///
/// Errors: none comes, or the interfaces'.
pub fn at_load(bench: &Workbench<'_>, load: &FrameLoad) -> Result<CalibrationPoint> {
    let template = Template::plain(load.bytes);
    tried(load, |frames| bench.observe(&template, frames))
}

fn tried(
    load: &FrameLoad,
    observe: impl Fn(&ProbeLoad<'_>) -> Result<Observation>,
) -> Result<CalibrationPoint> {
    let mut outcome = Err(Error::from(""));
    for _ in 0..ATTEMPTS {
        outcome = measured(load, &observe(&ProbeLoad::new(load.frames, load.rate))?);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

/// Each size and load, or one in six.
fn step(bench: &Workbench<'_>) -> usize {
    if bench.limits.short { 6 } else { 1 }
}

/// The sizes and loads of a path.
fn all_points(bench: &Workbench<'_>) -> Result<Vec<CalibrationPoint>> {
    let step = step(bench);
    let mut points = Vec::new();
    for bytes in SIZES.iter().step_by(step) {
        points.push(at(bench, &Point::of("").bytes(*bytes).mbps(USUAL_MBPS))?);
    }
    for mbps in LOADS.iter().step_by(step) {
        points.push(at(bench, &Point::of("").bytes(LOAD_BYTES).mbps(*mbps))?);
    }
    Ok(points)
}

/// The loads with which the search for the limit goes on.
fn higher_loads() -> impl Iterator<Item = f64> {
    let last = LOADS[LOADS.len() - 1];
    (1..=DOUBLINGS).map(move |doublings| last * f64::from(1 << doublings))
}

/// The loads where this program stamps.
fn points_by_program(bench: &Workbench<'_>) -> Result<Vec<CalibrationPoint>> {
    let usual = LOADS.iter().step_by(step(bench)).copied();
    let mut points = Vec::new();
    for mbps in usual.chain(higher_loads()) {
        let load = load_at(bench, &Point::of("").bytes(LOAD_BYTES).mbps(mbps));
        points.push(tried(&load, |frames| {
            bench.observe_rate(&Template::plain(LOAD_BYTES), frames)
        })?);
    }
    Ok(points)
}

/// Frames per second of the highest load within what the instrument can do.
fn limit_of(points: &[CalibrationPoint]) -> f64 {
    let idle = points.iter().find(|point| point.bytes == LOAD_BYTES);
    let idle_mean = idle.map_or(0.0, |idle| idle.mean);
    let within = points.iter().filter(|point| is_within(point, idle_mean));
    let rates: Vec<f64> = within.map(|point| point.rate.0).collect();
    greatest(&rates).max(0.0)
}

/// Returns true if a point is within what the instrument can do.
fn is_within(point: &CalibrationPoint, idle_mean: f64) -> bool {
    let faithful = point.rate.1 >= point.rate.0 * 0.99;
    point.loss == 0.0 && faithful && point.mean < LIMIT_FACTOR * idle_mean
}

/// About how many seconds it takes to calibrate: the wire with and without stamps, the yardstick.
pub fn seconds(limits: &Limits) -> f64 {
    let (step, frames) = if limits.short {
        (6, SHORT_FRAMES)
    } else {
        (1, FRAMES)
    };
    let few = Limits {
        frames,
        ..limits.clone()
    };
    let sizes = SIZES.iter().step_by(step);
    let sizes = sizes.map(|bytes| Point::of("").bytes(*bytes).mbps(USUAL_MBPS));
    let loads = LOADS.iter().step_by(step);
    let loads = loads.map(|mbps| Point::of("").bytes(LOAD_BYTES).mbps(*mbps));
    let each: f64 = sizes
        .chain(loads)
        .map(|point| few.seconds(&point, false))
        .sum();
    3.0 * each
}

/// Measures a path: the wire also gives floor and limit.
///
/// Errors: nothing comes back, or the interfaces'.
pub fn measure(bench: &Workbench<'_>, name: &str, calibration: &mut Calibration) -> Result<()> {
    let mut points = all_points(bench)?;
    if calibration.paths.is_empty() {
        let frames = bench.count(FRAMES, SHORT_FRAMES);
        let load = ProbeLoad::new(frames, NOISE_RATE);
        let seen = bench.observe(&Template::plain(0), &load)?;
        let floor = Summary::of(&seen.delays_ns).ok_or("no frame came over the wire")?;
        calibration.floor_p50 = floor.p50;
        calibration.floor_p99 = floor.p99;
        for mbps in higher_loads() {
            points.push(at(bench, &Point::of("").bytes(LOAD_BYTES).mbps(mbps))?);
        }
        calibration.limit = limit_of(&points);
        if bench.subject.stamps != TimeStamps::Program {
            calibration.rate_limit = Some(limit_of(&points_by_program(bench)?));
        }
    }
    calibration.paths.push(CalibrationPath {
        name: name.into(),
        points,
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration() -> Calibration {
        Calibration {
            limit: 100_000.0,
            floor_p50: 4_000.0,
            floor_p99: 14_000.0,
            ..Calibration::default()
        }
    }

    #[test]
    fn a_point_above_the_limit_is_marked() {
        let marks = |frames_per_second| {
            calibration().marks(&PointOutcome {
                frames_per_second,
                ..PointOutcome::default()
            })
        };
        assert_eq!(marks(90_000.0), [""; 0]);
        let said = "above the instrument's limit of 100000 frames/s";
        assert_eq!(marks(110_000.0), [said]);
    }

    #[test]
    fn a_machine_is_noisy_by_its_floor() {
        assert!(!calibration().is_noisy());
        let slow = Calibration {
            floor_p99: 20_000.0,
            ..calibration()
        };
        assert!(slow.is_noisy());
    }

    #[test]
    fn a_load_above_the_limit_is_said_beside_what_was_measured_meanwhile() {
        let calibration = calibration();
        let during = |background_rate| {
            calibration.background_note(&PointOutcome {
                background_rate,
                ..PointOutcome::default()
            })
        };
        assert_eq!(during(calibration.limit), None);
        assert!(during(calibration.limit * 2.0).unwrap().contains("limit"));
    }
}
