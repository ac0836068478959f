//! Measures the limits of the instrument itself: the same loads on a wire and through a forwarder
//! that looks nothing up.

use serde::{Deserialize, Serialize};

use crate::cases::forwarding::{LOAD_BYTES, LOADS, SIZES};
use crate::cases::point::{DelayClock, Point, PointOutcome};
use crate::cases::workbench::{USUAL_MBPS, Workbench};
use crate::error::{Error, Result};
use crate::statistics::{Interval, Summary, greatest};
use crate::subject::probe::{Observation, ProbeLoad};
use crate::subject::template::Template;
use crate::subject::time_stamps::TimeStamps;

/// A load is within the instrument's limit if its mean delay is below this many times that when
/// idle.
const LIMIT_FACTOR: f64 = 2.0;
/// A delay below this many times the floor's spread cannot be distinguished from the floor.
const FLOOR_FACTOR: f64 = 3.0;
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
    /// See `p50`.
    pub p99: f64,
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
    /// Median and 99th percentile on the wire at 10,000 frames per second, nanoseconds.
    pub floor_p50: f64,
    /// See `floor_p50`.
    pub floor_p99: f64,
    /// The least delay on the wire at that load, nanoseconds.
    #[serde(default)]
    pub floor_min: f64,
    /// The clock that stamped the frames.
    #[serde(default)]
    pub stamps: TimeStamps,
}

impl Calibration {
    /// The spread of the floor, nanoseconds.
    pub fn spread(&self) -> f64 {
        self.floor_p99 - self.floor_p50
    }

    /// The most that sending, copying and receiving a frame takes, nanoseconds: the greatest 99th
    /// percentile of the yardstick, or of the wire, within the limit.
    pub fn most_of_path(&self) -> f64 {
        let mut most = self.floor_p99;
        for point in self.paths.iter().flat_map(|path| &path.points) {
            if point.rate.0 <= self.limit {
                most = most.max(point.p99);
            }
        }
        most
    }

    /// The bounds of what a switch adds to the median delay: from the interval of the median, what
    /// frames take without the switch is subtracted, at most and at least.
    pub fn switch_alone(&self, delay: &Summary) -> Interval {
        let (low, high) = delay.p50_95.unwrap_or((delay.min, delay.max));
        (
            (low - self.most_of_path()).max(0.0),
            (high - self.floor_min).max(0.0),
        )
    }

    /// Returns true if the machine is too noisy for small delays.
    pub fn is_noisy(&self) -> bool {
        self.floor_p50 >= IDLE_P50_NS || self.floor_p99 >= IDLE_P99_NS
    }

    /// Why an outcome is beyond what the instrument can do.
    pub fn marks(&self, outcome: &PointOutcome, delay: Option<&Summary>) -> Vec<String> {
        let mut marks = Vec::new();
        if outcome.frames_per_second > self.limit {
            marks.push(format!(
                "above the instrument's limit of {:.0} frames/s",
                self.limit
            ));
        }
        let least = match outcome.clock {
            DelayClock::Instrument => FLOOR_FACTOR * self.spread(),
            DelayClock::Scaled(scale) => FLOOR_FACTOR * self.spread() / scale,
            DelayClock::Simulated => 0.0,
        };
        if delay.is_some_and(|delay| delay.p50 < least) {
            marks.push(format!(
                "below three times the floor's spread ({:.1} us)",
                least / 1e3
            ));
        }
        marks
    }

    /// What a reader must know about the loss of a load during which something else was measured.
    pub fn background_note(&self, outcome: &PointOutcome) -> Option<String> {
        let is_above = outcome.background_rate > self.limit;
        is_above.then(|| {
            format!(
                "the load of {:.0} frames/s is above the instrument's limit of {:.0}: some of \
                 what was lost, the instrument lost",
                outcome.background_rate, self.limit
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
                "The instrument's limit: {:.0} frames/s, {:.0} Mb/s of {LOAD_BYTES}-byte frames.",
                self.limit,
                self.limit * LOAD_BYTES as f64 * 8.0 / 1e6
            ),
        ];
        said.push(format!(
            "The stated error of a delay: what a switch adds to the median is its 95 % interval, \
             less {:.1} to {:.1} us that frames take without a switch; a time is resolved to 1 ns.",
            self.floor_min / 1e3,
            self.most_of_path() / 1e3
        ));
        if self.is_noisy() {
            said.push("This machine is noisy: small delays are not told apart.".into());
        }
        said
    }
}

fn measured(point: &Point, seen: &Observation) -> Result<CalibrationPoint> {
    let delay = Summary::of(&seen.delays_ns).ok_or("no frame came back from the instrument")?;
    Ok(CalibrationPoint {
        bytes: point.bytes,
        mbps: point.mbps,
        rate: seen.rate,
        loss: seen.loss(),
        mean: delay.mean,
        deviation: delay.deviation,
        p50: delay.p50,
        p99: delay.p99,
    })
}

fn at(bench: &Workbench<'_>, point: &Point) -> Result<CalibrationPoint> {
    let frames = bench.count(FRAMES, SHORT_FRAMES);
    let load = ProbeLoad::new(frames, point.frames_per_second());
    let mut outcome = Err(Error::from(""));
    for _ in 0..ATTEMPTS {
        let seen = bench.observe(&Template::plain(point.bytes), &load)?;
        outcome = measured(point, &seen);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

/// The sizes and loads of a path.
fn all_points(bench: &Workbench<'_>) -> Result<Vec<CalibrationPoint>> {
    let step = if bench.limits.short { 6 } else { 1 };
    let mut points = Vec::new();
    for bytes in SIZES.iter().step_by(step) {
        points.push(at(bench, &Point::of("").bytes(*bytes).mbps(USUAL_MBPS))?);
    }
    for mbps in LOADS.iter().step_by(step) {
        points.push(at(bench, &Point::of("").bytes(LOAD_BYTES).mbps(*mbps))?);
    }
    Ok(points)
}

/// Returns true if a point is within what the instrument can do.
fn is_within(point: &CalibrationPoint, idle_mean: f64) -> bool {
    let faithful = point.rate.1 >= point.rate.0 * 0.99;
    point.loss == 0.0 && faithful && point.mean < LIMIT_FACTOR * idle_mean
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
        calibration.floor_min = floor.min;
        let idle = points.iter().find(|point| point.bytes == LOAD_BYTES);
        let idle_mean = idle.map_or(floor.mean, |idle| idle.mean);
        let mut mbps = LOADS[LOADS.len() - 1];
        for _ in 0..DOUBLINGS {
            mbps *= 2.0;
            points.push(at(bench, &Point::of("").bytes(LOAD_BYTES).mbps(mbps))?);
        }
        let within = points.iter().filter(|point| is_within(point, idle_mean));
        let rates: Vec<f64> = within.map(|point| point.rate.0).collect();
        calibration.limit = greatest(&rates).max(0.0);
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

    fn outcome(rate: f64, delay_ns: u64) -> Vec<String> {
        let outcome = PointOutcome {
            frames_per_second: rate,
            ..PointOutcome::default()
        };
        let delay = Summary::of(&[delay_ns; 10]);
        calibration().marks(&outcome, delay.as_ref())
    }

    #[test]
    fn a_point_above_the_limit_is_marked() {
        assert_eq!(outcome(90_000.0, 50_000).len(), 0);
        let marks = outcome(110_000.0, 50_000);
        assert_eq!(marks, ["above the instrument's limit of 100000 frames/s"]);
    }

    #[test]
    fn a_delay_below_three_times_the_floors_spread_is_marked() {
        assert_eq!(outcome(1.0, 30_000).len(), 0);
        let marks = outcome(1.0, 29_999);
        assert_eq!(marks, ["below three times the floor's spread (30.0 us)"]);
    }

    #[test]
    fn a_scaled_delay_may_be_shorter_and_a_simulated_one_is_never_marked() {
        let mut outcome = PointOutcome::default();
        let mut marks = |clock, delay_ns| {
            outcome.clock = clock;
            let delay = Summary::of(&[delay_ns; 10]);
            calibration().marks(&outcome, delay.as_ref()).len()
        };
        assert_eq!(marks(DelayClock::Scaled(8.0), 3_750), 0);
        assert_eq!(marks(DelayClock::Scaled(8.0), 3_749), 1);
        assert_eq!(marks(DelayClock::Simulated, 1), 0);
    }

    #[test]
    fn a_switch_alone_is_the_median_without_the_path() {
        let mut calibration = calibration();
        calibration.floor_min = 1_000.0;
        calibration.paths.push(CalibrationPath {
            name: "yardstick".into(),
            points: [(90_000.0, 20_000.0), (110_000.0, 900_000.0)]
                .map(|(rate, p99)| CalibrationPoint {
                    bytes: 150,
                    mbps: 10.0,
                    rate: (rate, rate),
                    loss: 0.0,
                    mean: 0.0,
                    deviation: 0.0,
                    p50: 0.0,
                    p99,
                })
                .to_vec(),
        });
        let delay = Summary::of(&[520_000; 100]).unwrap();
        // What the yardstick does beyond the limit is left out.
        assert_eq!(calibration.switch_alone(&delay), (500_000.0, 519_000.0));
        let quick = Summary::of(&[500; 100]).unwrap();
        assert_eq!(calibration.switch_alone(&quick), (0.0, 0.0));
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
