//! The points at which a case measures, and the outcome at a point.

use serde::{Deserialize, Serialize};

use crate::statistics::Summary;
use crate::statistics::special::share_interval;
use crate::subject::probe::Observation;

/// The ends of the names of a number's bounds; the true number is between them.
pub const LEAST: &str = ", least";
/// See [`LEAST`].
pub const MOST: &str = ", most";

/// The usual size of a frame, without its check sequence. Loads in Mb/s count these bytes, and not
/// the check sequence, the preamble and the gap that a wire adds.
pub const DEFAULT_BYTES: usize = 64;

/// One point of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Its name, for people and files: `port 64 B`.
    pub name: String,
    /// The variant; points of a variant are one line of a plot.
    pub kind: String,
    /// Bytes of a frame without its check sequence.
    pub bytes: usize,
    /// The load; 0 is the case's own.
    pub mbps: f64,
    /// Rules in the table; 0 is the case's own.
    pub rules: u32,
}

impl Point {
    /// A point of a variant, at the usual size.
    pub fn of(kind: &str) -> Self {
        Self {
            name: kind.into(),
            kind: kind.into(),
            bytes: DEFAULT_BYTES,
            ..Self::default()
        }
    }

    /// The same with frames of another size.
    #[must_use]
    pub fn bytes(mut self, bytes: usize) -> Self {
        self.name += &format!(" {bytes} B");
        self.bytes = bytes;
        self
    }

    /// The same at a load.
    #[must_use]
    pub fn mbps(mut self, mbps: f64) -> Self {
        self.name += &format!(" {mbps} Mb/s");
        self.mbps = mbps;
        self
    }

    /// The same with rules.
    #[must_use]
    pub fn rules(mut self, rules: u32) -> Self {
        self.name += &format!(" {rules} rules");
        self.rules = rules;
        self
    }

    /// Frames per second of the load.
    pub fn frames_per_second(&self) -> f64 {
        self.mbps * 1e6 / 8.0 / self.bytes as f64
    }

    /// The load in Mb/s of this many of its frames per second.
    pub fn mbps_at(&self, frames_per_second: f64) -> f64 {
        frames_per_second * 8.0 * self.bytes as f64 / 1e6
    }

    /// The same, with at most this many frames per second; a load in its name is the one that is
    /// sent.
    #[must_use]
    pub fn at_most(mut self, frames_per_second: f64) -> Self {
        let said = format!(" {} Mb/s", self.mbps);
        if self.frames_per_second() > frames_per_second && self.name.ends_with(&said) {
            self.name.truncate(self.name.len() - said.len());
            let permitted = self.mbps_at(frames_per_second);
            return self.mbps(permitted);
        }
        self
    }
}

/// A number with a unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultMetric {
    /// The name of the quantity.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Its value.
    pub value: f64,
}

/// The verdict on a switch at a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaseVerdict {
    /// As it should.
    #[default]
    Ok,
    /// It refuses what the case needs.
    Unsupported,
    /// It acknowledges what it does not do.
    Lies,
    /// It does not answer.
    Hangs,
    /// Its connection was closed.
    Crashes,
    /// It is there, and what was measured did not come about: no frame arrived, or it answered
    /// something else.
    Fails,
    /// Frames arrive with wrong bytes.
    Wrong,
}

impl CaseVerdict {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unsupported => "unsupported",
            Self::Lies => "lies",
            Self::Hangs => "hangs",
            Self::Crashes => "crashes",
            Self::Fails => "fails",
            Self::Wrong => "wrong",
        }
    }
}

/// A load of frames from one side to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameLoad {
    /// Bytes of each frame.
    pub bytes: usize,
    /// How many frames count.
    pub frames: u32,
    /// Frames per second.
    pub rate: f64,
    /// True if they go there and back.
    pub echo: bool,
}

/// A load of frames that are only counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountedLoad {
    /// The frames.
    pub load: FrameLoad,
    /// How many are sent before them.
    pub warm_up: u32,
}

/// A flow of a data centre that counts.
#[derive(Clone, Copy, Debug)]
pub struct EndedFlow {
    /// Its size.
    pub bytes: u64,
    /// From its beginning until its last byte was acknowledged; none if it did not end in time.
    pub seconds: Option<f64>,
}

/// The outcome of a case at a point.
#[derive(Clone, Debug, Default)]
pub struct PointOutcome {
    /// Numbers.
    pub metrics: Vec<ResultMetric>,
    /// Delays in nanoseconds, in the order in which they were measured.
    pub delays_ns: Vec<u64>,
    /// The median time of a delay that is the far end's, nanoseconds; see [`Summary`].
    pub far_end_ns: f64,
    /// The load whose frames had the delays, if they are those of frames.
    pub load: Option<FrameLoad>,
    /// The same of a latency, which is not what the case measures.
    pub latency_load: Option<FrameLoad>,
    /// The load that ended a search for the highest one, if the switch lost frames of it.
    pub ended_by: Option<CountedLoad>,
    /// The flows that were sent, in the order in which they began.
    pub flows: Vec<EndedFlow>,
    /// The distances of the departures of frames from their times, in nanoseconds.
    pub departure_errors_ns: Vec<u64>,
    /// The verdict on the switch.
    pub verdict: CaseVerdict,
    /// Reasons why this is not a result.
    pub marks: Vec<String>,
    /// The reasons for which the machine could not measure it: reasons, too, unless the user forces
    /// results.
    pub beyond: Vec<String>,
    /// Sentences for people.
    pub notes: Vec<String>,
    /// Frames per second that the instrument had to send and receive.
    pub frames_per_second: f64,
    /// Frames per second that were sent while something else was measured.
    pub background_rate: f64,
}

impl PointOutcome {
    /// An outcome without numbers.
    pub fn of(verdict: CaseVerdict, note: impl Into<String>) -> Self {
        Self {
            verdict,
            notes: vec![note.into()],
            ..Self::default()
        }
    }

    /// The statistics of its delays.
    pub fn summary(&self) -> Option<Summary> {
        Some(Summary {
            far_end: self.far_end_ns,
            ..Summary::of(&self.delays_ns)?
        })
    }

    /// The delays of a load, with what was lost, reordered, repeated and changed, and how true the
    /// generator was.
    pub fn observed(seen: &Observation) -> Self {
        let mut this = Self {
            delays_ns: seen.delays_ns.clone(),
            far_end_ns: seen.far_end_ns,
            frames_per_second: seen.rate.0,
            ..Self::default()
        };
        for (name, count) in [
            ("sent", seen.sent),
            ("lost", seen.lost()),
            ("reordered", seen.reordered),
            ("duplicated", seen.duplicated),
            ("changed", seen.changed),
        ] {
            this.add(name, "frames", f64::from(count));
        }
        for (share, count) in [
            ("loss", seen.lost()),
            ("reordering", seen.reordered),
            ("duplication", seen.duplicated),
        ] {
            let sent = u64::from(seen.sent.max(1));
            let (low, high) = share_interval(u64::from(count).min(sent), sent, 0.99);
            this.add(&format!("{share}{LEAST}"), "%", low * 100.0);
            this.add(&format!("{share}{MOST}"), "%", high * 100.0);
        }
        this.add("rate wanted", "frames/s", seen.rate.0);
        this.add("rate achieved", "frames/s", seen.rate.1);
        let late = seen.lateness_ns();
        this.add(
            "departure error, p50",
            "us",
            crate::statistics::median(&late) / 1e3,
        );
        this.departure_errors_ns = late.iter().map(|late| late.abs() as u64).collect();
        if !seen.is_faithful() {
            this.beyond
                .push("the generator was not within 1 % of the rate".into());
        }
        this.beyond.extend(seen.own_loss());
        if seen.unstamped > 0 {
            let without = format!("{} frames arrived without a time stamp", seen.unstamped);
            this.beyond.push(without);
        }
        if seen.changed > 0 {
            this.verdict = CaseVerdict::Wrong;
            this.notes
                .push(format!("{} frames arrived changed", seen.changed));
        }
        this
    }

    /// Adds a number.
    pub fn add(&mut self, name: &str, unit: &str, value: f64) {
        self.metrics.push(ResultMetric {
            name: name.into(),
            unit: unit.into(),
            value,
        });
    }

    /// Adds a number, and the bounds between which the true one is.
    pub fn add_within(&mut self, name: &str, unit: &str, value: f64, (low, high): (f64, f64)) {
        self.add(name, unit, value);
        self.add(&format!("{name}{LEAST}"), unit, low);
        self.add(&format!("{name}{MOST}"), unit, high);
    }

    /// Adds the packet-ins of a run where only rules forward: with any it is no result.
    pub fn count_packet_ins(&mut self, packet_ins: u64) {
        self.add("packet-ins", "", packet_ins as f64);
        if packet_ins > 0 {
            let mark = format!("{packet_ins} packet-ins during the run");
            self.marks.push(mark);
        }
    }

    /// Adds a value, and returns itself for further calls.
    #[must_use]
    pub fn with(mut self, name: &str, unit: &str, value: f64) -> Self {
        self.add(name, unit, value);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_that_may_be_the_instruments_is_beyond_it_and_not_the_switchs() {
        let beyond = |dropped_here| {
            let seen = Observation {
                sent: 10,
                received: 8,
                rate: (1_000.0, 1_000.0),
                dropped_here,
                ..Observation::default()
            };
            PointOutcome::observed(&seen).beyond
        };
        assert_eq!(beyond(0), [""; 0]);
        let said = "the instrument itself dropped 2 frames: those lost may be these";
        assert_eq!(beyond(2), [said]);
    }
}
