//! Faults of a forwarder, made on purpose: a port that delays, drops, repeats and reorders what it
//! receives, to see whether the meter finds each.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::str::FromStr;
use std::time::{Duration, Instant};

use bofuss_frame::{Frame, Pool};
use bofuss_ports::{BATCH_FRAMES, Counters, OffloadCapabilities, PortDriver, PortError};

use crate::error::{Error, Result};
use crate::testbed::traffic::random;

/// Frames that wait in a delay line at most; further ones are dropped.
const MAX_WAITING: usize = 100_000;
/// Seed of the random choices, where the faults name none.
const SEED: u64 = 11;
/// The form of a list of faults.
const EXAMPLE: &str = "delay=500us,spread=50us,loss=1%,duplicate=0.1%,reorder=0.1%,seed=7";

/// The faults of a port, for the frames that it receives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// The delay of each frame.
    pub delay: Duration,
    /// The most by which it is longer, at random; frames stay in order.
    pub spread: Duration,
    /// The share that is dropped, at random.
    pub loss: f64,
    /// Of frames that pass, one in this many is repeated: in turn, or at random if there is a seed;
    /// 0 is none.
    pub duplicate_every: u64,
    /// Of frames that pass, one in this many is overtaken by the next one, likewise.
    pub reorder_every: u64,
    /// Seed of what is at random, or none for always the same.
    pub seed: Option<u64>,
}

impl FromStr for Faults {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut faults = Self::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            let wrong = format!("{word:?} is no fault; example: {EXAMPLE}");
            let (name, value) = word.split_once('=').ok_or_else(|| wrong.clone())?;
            let percent = value.strip_suffix('%').and_then(|v| v.parse().ok());
            let share = percent
                .filter(|percent| (0.0..=100.0).contains(percent))
                .map(|percent: f64| percent / 100.0);
            let micros = value.strip_suffix("us").and_then(|v| v.parse().ok());
            let every = share
                .filter(|share| *share > 0.0)
                .map(|s| (1.0 / s).round() as u64);
            match name {
                "delay" => faults.delay = Duration::from_micros(micros.ok_or(wrong)?),
                "spread" => faults.spread = Duration::from_micros(micros.ok_or(wrong)?),
                "loss" => faults.loss = share.ok_or(wrong)?,
                "duplicate" => faults.duplicate_every = every.ok_or(wrong)?,
                "reorder" => faults.reorder_every = every.ok_or(wrong)?,
                "seed" => faults.seed = Some(value.parse().map_err(|_| wrong)?),
                _ => return Err(wrong.into()),
            }
        }
        Ok(faults)
    }
}

/// A port with [`Faults`] on what it receives.
pub struct FaultyPort<P> {
    inner: P,
    faults: Faults,
    /// Random numbers.
    next: Box<dyn FnMut() -> u64>,
    /// Frames, each with the time at which it continues.
    waiting: VecDeque<(Instant, Frame)>,
    /// A frame that the next one overtakes, and its double if it has one.
    held: Vec<Frame>,
    /// Frames that passed, and those that were dropped.
    passed: u64,
    dropped: u64,
    fresh: Vec<Frame>,
}

impl<P: PortDriver> FaultyPort<P> {
    /// A port with these faults.
    pub fn new(inner: P, faults: Faults) -> Self {
        Self {
            inner,
            faults,
            next: random_of(faults.seed.unwrap_or(SEED)),
            waiting: VecDeque::new(),
            held: Vec::new(),
            passed: 0,
            dropped: 0,
            fresh: Vec::with_capacity(BATCH_FRAMES),
        }
    }

    /// Returns when the first waiting frame continues, if there is one.
    pub fn next_due(&self) -> Option<Instant> {
        self.waiting.front().map(|(due, _)| *due)
    }

    fn queue(&mut self, frame: Frame, now: Instant) {
        let spread = self.faults.spread.as_nanos() as u64;
        let more = (self.next)().checked_rem(spread).unwrap_or(0);
        let due = now + self.faults.delay + Duration::from_nanos(more);
        let last = self.waiting.back().map_or(due, |(last, _)| *last);
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back((due.max(last), frame));
        } else {
            self.dropped += 1;
        }
    }

    /// Returns true if this frame is one in so many.
    fn is_chosen(&mut self, every: u64) -> bool {
        let number = match self.faults.seed {
            Some(_) => (self.next)(),
            None => self.passed,
        };
        every > 0 && number.is_multiple_of(every)
    }

    fn take(&mut self, frame: Frame, pool: &Pool, now: Instant) {
        let share = (self.next)() as f64 / u64::MAX as f64;
        if share < self.faults.loss {
            self.dropped += 1;
            return;
        }
        self.passed += 1;
        let twin = self
            .is_chosen(self.faults.duplicate_every)
            .then(|| pool.frame(frame.bytes()))
            .flatten();
        let frames = [frame].into_iter().chain(twin);
        if self.is_chosen(self.faults.reorder_every) && self.held.is_empty() {
            self.held.extend(frames);
            return;
        }
        for frame in frames.chain(std::mem::take(&mut self.held)) {
            self.queue(frame, now);
        }
    }
}

/// Returns random numbers, others for each seed; it may be 0.
fn random_of(seed: u64) -> Box<dyn FnMut() -> u64> {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    Box::new(random(seed.wrapping_mul(GOLDEN) | 1))
}

impl<P: PortDriver> PortDriver for FaultyPort<P> {
    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.inner.fd()
    }

    fn recv(&mut self, pool: &Pool, out: &mut Vec<Frame>, max: usize) -> Result<usize, PortError> {
        let mut fresh = std::mem::take(&mut self.fresh);
        self.inner.recv(pool, &mut fresh, max)?;
        let now = Instant::now();
        for frame in fresh.drain(..) {
            self.take(frame, pool, now);
        }
        self.fresh = fresh;
        let mut count = 0;
        while count < max && self.waiting.front().is_some_and(|(due, _)| *due <= now) {
            out.extend(self.waiting.pop_front().map(|(_, frame)| frame));
            count += 1;
        }
        Ok(count)
    }

    fn send(&mut self, frames: &mut Vec<Frame>) -> Result<usize, PortError> {
        self.inner.send(frames)
    }

    fn counters(&mut self) -> Counters {
        self.inner.counters()
    }

    fn capabilities(&self) -> OffloadCapabilities {
        self.inner.capabilities()
    }

    fn set_mtu(&mut self, mtu_bytes: u32) {
        self.inner.set_mtu(mtu_bytes);
    }
}

#[cfg(test)]
mod tests {
    use bofuss_ports::Memory;

    use super::*;
    use crate::statistics::special::share_interval;
    use crate::statistics::{Summary, mean};
    use crate::subject::probe::{FrameProbe, Observation, ProbeLoad};
    use crate::subject::template::Template;

    const FRAMES: u32 = 2_000;

    /// Measures a cable with these faults, without a warm-up.
    fn measured(faults: &str, rate: f64) -> Observation {
        measured_some(faults, FRAMES, rate)
    }

    fn measured_some(faults: &str, frames: u32, rate: f64) -> Observation {
        let (near, far) = Memory::pair();
        let far = FaultyPort::new(far, faults.parse().unwrap());
        let mut probe = FrameProbe::new(Box::new(near), Some(Box::new(far)));
        let load = ProbeLoad {
            warm_up: 0,
            ..ProbeLoad::new(frames, rate)
        };
        probe.run(&Template::plain(60), &load, &|| false).unwrap()
    }

    #[test]
    fn a_cable_without_faults_loses_changes_and_reorders_nothing() {
        let seen = measured("", 20_000.0);
        assert_eq!((seen.sent, seen.received), (FRAMES, FRAMES));
        assert_eq!((seen.reordered, seen.duplicated, seen.changed), (0, 0, 0));
    }

    #[test]
    fn the_mean_of_a_constant_delay_is_found_within_one_percent() {
        // A round takes 2 ms, so that some are not disturbed on a busy machine.
        const ROUNDS: usize = 100;
        let is_found = (0..ROUNDS).any(|_| {
            let seen = measured_some("delay=1000us", 10, 10_000.0);
            let delay = Summary::of(&seen.delays_ns).unwrap();
            assert!(delay.min >= 1e6, "{}", delay.min);
            delay.mean < 1.01e6
        });
        assert!(is_found);
    }

    #[test]
    fn the_line_delays_from_50_to_150_us_with_a_mean_within_one_percent_of_100() {
        let (_, far) = Memory::pair();
        let mut line = FaultyPort::new(far, "delay=50us,spread=100us".parse().unwrap());
        let pool = Pool::new(1 << 20);
        let start = Instant::now();
        let mut delays_us = Vec::new();
        for number in 0..10_000 {
            let now = start + Duration::from_millis(number);
            line.queue(pool.frame(&[0; 60]).unwrap(), now);
            let (due, _) = line.waiting.pop_front().unwrap();
            delays_us.push((due - now).as_nanos() as f64 / 1e3);
        }
        assert!(delays_us.iter().all(|delay| (50.0..150.0).contains(delay)));
        assert!((mean(&delays_us) / 100.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_delay_is_found_as_the_median_above_that_of_the_cable() {
        // Some of these rounds are not disturbed on a busy machine.
        const ROUNDS: usize = 20;
        let floor = Summary::of(&measured("", 5_000.0).delays_ns).unwrap();
        for micros in [50.0, 500.0] {
            let most = micros * 1e3 + floor.p99 + micros * 1e3 / 100.0;
            let is_found = (0..ROUNDS).any(|_| {
                let seen = measured(&format!("delay={micros}us"), 5_000.0);
                let found = Summary::of(&seen.delays_ns).unwrap();
                assert!(found.min >= micros * 1e3);
                found.p50 <= most
            });
            assert!(is_found, "{micros} us, at most {most} ns");
        }
    }

    #[test]
    fn the_loss_is_within_its_interval() {
        let seen = measured("loss=1%", 50_000.0);
        assert_eq!(seen.delays_ns.len() as u32, FRAMES - seen.lost());
        let (low, high) = share_interval(u64::from(seen.lost()), u64::from(FRAMES), 0.99);
        assert!((low..high).contains(&0.01), "{low} to {high}");
    }

    #[test]
    fn a_seed_chooses_which_frames_are_lost() {
        let lost = |seed| {
            let (_, far) = Memory::pair();
            let faults = format!("loss=20%,seed={seed}");
            let mut line = FaultyPort::new(far, faults.parse().unwrap());
            let pool = Pool::new(1 << 20);
            let mut passed = Vec::new();
            for _ in 0..FRAMES {
                line.take(pool.frame(&[0; 60]).unwrap(), &pool, Instant::now());
                passed.push(line.waiting.pop_front().is_some());
            }
            passed
        };
        assert_eq!(lost(1), lost(1));
        let lines = [0, 1, 2, u64::MAX].map(lost);
        for (seed, line) in lines.iter().enumerate() {
            assert!(lines[..seed].iter().all(|other| other != line));
            let count = line.iter().filter(|passed| !**passed).count() as u64;
            let (low, high) = share_interval(count, u64::from(FRAMES), 0.9999);
            assert!((low..high).contains(&0.2), "{low} to {high}");
        }
    }

    #[test]
    fn reordered_and_repeated_frames_are_counted_exactly() {
        // The last frame to be overtaken has no frame after it.
        let seen = measured("reorder=1%", 50_000.0);
        assert_eq!((seen.reordered, seen.lost()), (FRAMES / 100 - 1, 1));
        let seen = measured("reorder=0.1%", 50_000.0);
        assert_eq!((seen.reordered, seen.lost()), (FRAMES / 1_000 - 1, 1));
        let seen = measured("duplicate=1%", 50_000.0);
        assert_eq!((seen.duplicated, seen.lost()), (FRAMES / 100, 0));
        // A frame may be both.
        let seen = measured("reorder=2%,duplicate=1%", 50_000.0);
        assert_eq!((seen.reordered, seen.lost()), (FRAMES / 50 - 1, 1));
        assert_eq!(seen.duplicated, FRAMES / 100 - 1);
    }

    #[test]
    fn faults_are_read_from_text_and_others_are_refused_with_an_example() {
        let faults: Faults = "delay=500us,loss=1%,reorder=0.1%".parse().unwrap();
        assert_eq!(faults.delay, Duration::from_micros(500));
        assert_eq!((faults.loss, faults.reorder_every), (0.01, 1_000));
        for wrong in ["loss=200%", "delay=5", "reorder=0%", "pain=1%", "loss"] {
            let error = wrong.parse::<Faults>().unwrap_err().to_string();
            assert!(error.contains("example: delay=500us"), "{error}");
        }
    }
}
