//! The baseline of a result: a wire and the yardstick, measured in the same round at the same load
//! of frames.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use serde::{Deserialize, Serialize};

use crate::cases::calibration::{self, CalibrationPoint};
use crate::cases::forwarding::{mtu_of, set_mtu};
use crate::cases::point::{CaseVerdict, CountedLoad, FrameLoad, PointOutcome, ResultMetric};
use crate::cases::table_size::AT_LEAST;
use crate::cases::workbench::{Limits, Workbench};
use crate::error::{Error, Result};
use crate::runs::signals;
use crate::statistics::repeats::interval_from_zero;
use crate::statistics::{Interval, Summary};
use crate::subject::time_stamps::TimeStamps;
use crate::subject::{TestSubject, isolated, own_folder};

/// The set-ups of a baseline.
const WIRE: &str = "wire";
/// See [`WIRE`].
const YARDSTICK: &str = "yardstick";
/// The share of frames that a wire may lose: a busy machine does not run a receiver in time.
const MOST_LOSS: f64 = 0.001;
/// The confidence of what a switch adds.
const CONFIDENCE: f64 = 0.95;
/// What is said of a number that has no control.
pub const NO_CONTROL: &str = "no control in the round";

/// A wire and the yardstick at the load of a result, in its round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// The instrument without anything between its ends.
    pub wire: CalibrationPoint,
    /// The instrument through a forwarder that looks nothing up.
    pub yardstick: CalibrationPoint,
}

impl Baseline {
    /// The numbers of both, for tables.
    pub fn metrics(&self) -> Vec<ResultMetric> {
        let mut metrics = Vec::new();
        for (name, path) in [(WIRE, &self.wire), (YARDSTICK, &self.yardstick)] {
            for (statistic, ns) in [("mean", path.mean), ("p50", path.p50), ("p99", path.p99)] {
                metrics.push(ResultMetric {
                    name: format!("{name} in this round, {statistic}"),
                    unit: "us".into(),
                    value: ns / 1e3,
                });
            }
        }
        metrics
    }

    /// Says why delays, or the frames that were lost, cannot be told from those of the wire. Small
    /// delays can, if those of the wire are smaller.
    pub fn marks(&self, delay: Option<&Summary>) -> Vec<String> {
        let mut marks = Vec::new();
        let wire = &self.wire;
        let is_told = |delay: &Summary| {
            let [(low, _), (_, most)] = bounds(delay, wire);
            low > most
        };
        if delay.is_some_and(|delay| !is_told(delay)) {
            let p50 = wire.p50 / 1e3;
            let mark = format!("not told from the wire, whose p50 is {p50:.1} us in this round");
            marks.push(mark);
        }
        if wire.loss > MOST_LOSS {
            let percent = wire.loss * 100.0;
            marks.push(format!("the wire alone loses {percent:.1} % in this round"));
        }
        marks
    }
}

/// What the far ends take of delays and of their baseline, nanoseconds. Of frames that another
/// machine sends back it is not known: then both are compared whole.
fn far_ends(delay: &Summary, baseline: &CalibrationPoint) -> [f64; 2] {
    let both = [delay.far_end, baseline.far_end];
    if both.contains(&0.0) { [0.0; 2] } else { both }
}

/// Bounds of the medians of what is between the ends, of delays and of their baseline, nanoseconds.
fn bounds(delay: &Summary, baseline: &CalibrationPoint) -> [Interval; 2] {
    let [own, others] = far_ends(delay, baseline);
    let (low, high) = delay.p50_95.unwrap_or((delay.p50, delay.p50));
    let (least, most) = baseline.median_bounds();
    [(low - own, high - own), (least - others, most - others)]
}

/// The interval of what is added to the median delay of a baseline, nanoseconds: over the
/// differences within rounds, without what the far end takes of a round trip. One round has one
/// only if its delays are independent.
pub fn added(pairs: &[(&Summary, &CalibrationPoint)]) -> Option<Interval> {
    if let [(delay, baseline)] = pairs {
        delay.p50_95.filter(|_| !delay.correlated)?;
        let [(low, high), (least, most)] = bounds(delay, baseline);
        return Some(((low - most).max(0.0), (high - least).max(0.0)));
    }
    let differences = pairs.iter().map(|(delay, of)| {
        let [own, others] = far_ends(delay, of);
        (delay.p50 - own) - (of.p50 - others)
    });
    let differences: Vec<f64> = differences.collect();
    // In a round in which the baseline was slower, nothing was added that can be told.
    let (low, high) = interval_from_zero(&differences, CONFIDENCE)?;
    Some((low.max(0.0), high.max(0.0)))
}

/// Adds what a wire loses at the load that ended a search, in its round. If it loses any, the
/// switch may pass more than what was found.
pub fn judge_end(wire: &CalibrationPoint, outcome: &mut PointOutcome) {
    let name = "loss of a wire at the load that ended the search";
    outcome.add(name, "%", wire.loss * 100.0);
    if wire.loss > 0.0 {
        outcome.notes.push(format!(
            "{AT_LEAST}: a wire loses frames, too, at the load that ended the search"
        ));
    }
}

/// Says so if an outcome has a number, and no control in its round.
pub fn without_control(outcome: &PointOutcome) -> Option<String> {
    let loads = outcome.load.or(outcome.latency_load);
    let has_none = loads.is_none() && outcome.ended_by.is_none();
    (has_none && outcome.verdict == CaseVerdict::Ok).then(|| NO_CONTROL.into())
}

/// What a set-up of a baseline is asked for.
#[derive(Clone, Copy)]
enum Asked {
    Delays(FrameLoad),
    Counts(CountedLoad),
}

/// A set-up of a baseline, on a thread and in a network namespace of its own as long as the run
/// lasts.
struct BaselineSetup {
    loads: Option<Sender<Asked>>,
    seen: Receiver<Result<CalibrationPoint>>,
    thread: Option<JoinHandle<()>>,
}

impl BaselineSetup {
    fn start(name: &'static str, stamps: TimeStamps, limits: Limits) -> Self {
        let (loads, asked) = mpsc::channel();
        let (answer, seen) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let served = isolated(true, || serve(name, stamps, limits, asked, &answer));
            if let Err(why) = served {
                let _ = answer.send(Err(why));
            }
        });
        Self {
            loads: Some(loads),
            seen,
            thread: Some(thread),
        }
    }

    fn measure(&self, asked: Asked) -> Result<CalibrationPoint> {
        if let Some(loads) = &self.loads {
            // A set-up that did not start has left its reason.
            let _ = loads.send(asked);
        }
        let gone = |_| Error::from("the set-up of a baseline has ended");
        self.seen.recv().map_err(gone)?
    }
}

impl Drop for BaselineSetup {
    fn drop(&mut self) {
        self.loads = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts a set-up, and measures it at each load that is asked for.
fn serve(
    name: &str,
    stamps: TimeStamps,
    mut limits: Limits,
    loads: Receiver<Asked>,
    answer: &Sender<Result<CalibrationPoint>>,
) -> Result<()> {
    let mut subject = TestSubject::start(name, &own_folder(), "".as_ref())?;
    subject.choose_stamps(Some(stamps))?;
    let mut mtu = mtu_of(0);
    for asked in loads {
        let load = match asked {
            Asked::Delays(load) => load,
            Asked::Counts(counted) => counted.load,
        };
        limits.echo = load.echo;
        let wanted = mtu_of(load.bytes);
        if wanted != mtu {
            set_mtu(&subject, wanted, wanted)?;
            mtu = wanted;
        }
        let bench = Workbench::new(&subject, &[], &limits, &signals::is_over)?;
        let found = match asked {
            Asked::Delays(load) => calibration::at_load(&bench, &load),
            Asked::Counts(counted) => calibration::counted_at(&bench, &counted),
        };
        if answer.send(found).is_err() {
            break;
        }
    }
    Ok(())
}

/// The baselines of a run, or of all runs of a paper, each measured once in a round, when the first
/// result needs it.
#[derive(Default)]
pub struct Baselines {
    /// The wire and the yardstick, from the first load on.
    setups: Option<[BaselineSetup; 2]>,
    round: u32,
    known: Vec<(FrameLoad, Baseline)>,
}

impl Baselines {
    /// The baseline at a load in a round. The first one starts the set-ups, with the stamps and
    /// limits of the run.
    ///
    /// Errors: a set-up that does not start, or through which nothing comes.
    pub fn at(
        &mut self,
        round: u32,
        load: &FrameLoad,
        stamps: TimeStamps,
        limits: &Limits,
    ) -> Result<Baseline> {
        if round != self.round {
            (self.round, self.known) = (round, Vec::new());
        }
        if let Some((_, known)) = self.known.iter().find(|(of, _)| of == load) {
            return Ok(known.clone());
        }
        let [wire, yardstick] = self.setups(stamps, limits);
        let baseline = Baseline {
            wire: wire.measure(Asked::Delays(*load))?,
            yardstick: yardstick.measure(Asked::Delays(*load))?,
        };
        self.known.push((*load, baseline.clone()));
        Ok(baseline)
    }

    /// The wire at a load that is only counted.
    ///
    /// Errors: a set-up that does not start.
    pub fn wire_at(
        &mut self,
        load: &CountedLoad,
        stamps: TimeStamps,
        limits: &Limits,
    ) -> Result<CalibrationPoint> {
        let [wire, _] = self.setups(stamps, limits);
        wire.measure(Asked::Counts(*load))
    }

    fn setups(&mut self, stamps: TimeStamps, limits: &Limits) -> &[BaselineSetup; 2] {
        let stamps = stamps.on_virtual_interfaces();
        self.setups.get_or_insert_with(|| {
            [WIRE, YARDSTICK].map(|name| BaselineSetup::start(name, stamps, limits.clone()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path on which every frame takes as long.
    fn path(delay_ns: u64, loss: f64) -> CalibrationPoint {
        CalibrationPoint {
            loss,
            ..CalibrationPoint::of(64, 10.0, &Summary::of(&[delay_ns; 100]).unwrap())
        }
    }

    fn baseline(wire_ns: u64, loss: f64) -> Baseline {
        Baseline {
            wire: path(wire_ns, loss),
            yardstick: path(2 * wire_ns, 0.0),
        }
    }

    #[test]
    fn what_cannot_be_told_from_the_wire_is_marked_and_small_delays_are_not() {
        let marks = |delay_ns, wire_ns| {
            let delay = Summary::of(&[delay_ns; 100]);
            baseline(wire_ns, 0.0).marks(delay.as_ref())
        };
        assert_eq!(marks(15_800, 10_000), [""; 0]);
        let told = "not told from the wire, whose p50 is 15.8 us in this round";
        assert_eq!(marks(15_800, 15_800), [told]);
        assert_eq!(marks(10_000_000, 20_000_000).len(), 1, "a slow round");
    }

    #[test]
    fn a_wire_that_loses_frames_marks_the_load() {
        let delay = Summary::of(&[10_301_000; 100]);
        let marks = baseline(5_000, 0.93).marks(delay.as_ref());
        assert_eq!(marks, ["the wire alone loses 93.0 % in this round"]);
        assert_eq!(baseline(5_000, 0.001).marks(delay.as_ref()), [""; 0]);
    }

    #[test]
    fn a_search_that_a_wire_would_end_there_too_is_a_bound() {
        let judged = |loss| {
            let mut outcome = PointOutcome::default();
            judge_end(&path(1_000, loss), &mut outcome);
            (outcome.metrics[0].value, outcome.notes)
        };
        assert_eq!(judged(0.0), (0.0, Vec::new()));
        let said = "at least: a wire loses frames, too, at the load that ended the search";
        assert_eq!(judged(0.25), (25.0, vec![said.to_string()]));
    }

    #[test]
    fn a_number_without_a_control_says_so() {
        let load = FrameLoad {
            bytes: 64,
            frames: 10,
            rate: 1_000.0,
            echo: false,
        };
        let mut outcome = PointOutcome::default();
        assert_eq!(without_control(&outcome).as_deref(), Some(NO_CONTROL));
        outcome.ended_by = Some(CountedLoad { load, warm_up: 0 });
        assert_eq!(without_control(&outcome), None);
        outcome.ended_by = None;
        outcome.load = Some(load);
        assert_eq!(without_control(&outcome), None);
        let refused = PointOutcome::of(CaseVerdict::Unsupported, "it does not have it");
        assert_eq!(without_control(&refused), None);
    }

    #[test]
    fn what_a_switch_adds_is_the_difference_within_rounds() {
        // A machine that is slower from round to round, but for the switch and the wire alike.
        let rounds = [10_000, 40_000, 90_000, 20_000, 60_000];
        let delays = rounds.map(|wire_ns| Summary::of(&[wire_ns + 5_000; 100]).unwrap());
        let wires = rounds.map(|wire_ns| path(wire_ns, 0.0));
        let pairs: Vec<_> = delays.iter().zip(&wires).collect();
        assert_eq!(added(&pairs), Some((5_000.0, 5_000.0)));
        assert_eq!(added(&pairs[..1]), Some((5_000.0, 5_000.0)));
        // Nothing is added that is less than nothing.
        let swapped = [(&delays[0], &wires[1]), (&delays[0], &wires[2])];
        let (low, high) = added(&swapped).unwrap();
        assert!(low == 0.0 && high >= 0.0, "{low} to {high}");
        assert_eq!(added(&[]), None);
    }

    #[test]
    fn what_the_far_end_takes_of_a_round_trip_is_not_added_by_a_switch() {
        // Behind a switch it is awake when a frame comes, and on a wire it is not.
        let [awake, asleep] = [12_000.0, 35_000.0];
        let delays = [1_022_000, 1_024_000].map(|ns| Summary {
            far_end: awake,
            ..Summary::of(&[ns; 100]).unwrap()
        });
        let wires = [45_000, 47_000].map(|ns| CalibrationPoint {
            far_end: asleep,
            ..path(ns, 0.0)
        });
        let pairs: Vec<_> = delays.iter().zip(&wires).collect();
        assert_eq!(added(&pairs), Some((1_000_000.0, 1_000_000.0)));
        assert_eq!(added(&pairs[..1]), Some((1_000_000.0, 1_000_000.0)));
        let between = Baseline {
            wire: wires[0].clone(),
            yardstick: path(0, 0.0),
        };
        // 10 us of a wire and 12 us of a switch, though the wire's round trip takes longer.
        let switch = Summary {
            far_end: awake,
            ..Summary::of(&[24_000; 100]).unwrap()
        };
        assert_eq!(between.marks(Some(&switch)), [""; 0]);
    }

    #[test]
    fn round_trips_by_another_machine_are_compared_whole() {
        // Only the far end of the wire, which is the meter's own, says what it takes.
        let delays = [1_022_000, 1_024_000].map(|ns| Summary::of(&[ns; 100]).unwrap());
        let wires = [22_000, 24_000].map(|ns| CalibrationPoint {
            far_end: 12_000.0,
            ..path(ns, 0.0)
        });
        let pairs: Vec<_> = delays.iter().zip(&wires).collect();
        assert_eq!(added(&pairs), Some((1_000_000.0, 1_000_000.0)));
        assert_eq!(added(&pairs[..1]), Some((1_000_000.0, 1_000_000.0)));
        let same = Baseline {
            wire: wires[0].clone(),
            yardstick: path(0, 0.0),
        };
        assert_eq!(same.marks(Summary::of(&[22_000; 100]).as_ref()).len(), 1);
    }
}
