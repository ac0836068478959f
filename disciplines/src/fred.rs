//! Flow random early drop (FRED): one queue, of which no microflow may have much more than others.
//!
//! Lin and Morris, 1997. A frame is dropped at random as the mean length of the queue grows, and
//! always if its microflow has too many frames in it. The parameters are those with which the
//! evaluation of OpenQFlow is reproduced: a queue of 25 frames.

use alloc::{collections::VecDeque, vec::Vec};

use bofuss_datapath::egress::QueueClass;
use bofuss_datapath::{DropReason, Microflow, Standing, Time};
use bofuss_frame::Frame;
use hashbrown::HashMap;

use crate::single_queue::{Bounds, FrameOrder, SingleQueue};

/// The most waiting frames.
const MAX_FRAMES: usize = 25;
/// The mean queue length above which frames are dropped at random, and the one above which all are
/// dropped.
const MIN_THRESHOLD: f64 = 5.0;
const MAX_THRESHOLD: f64 = 15.0;
/// The number of frames that each microflow may always have in the queue.
const MIN_FRAMES: f64 = 2.0;
/// The weight of the current length in the mean.
const MEAN_WEIGHT: f64 = 0.002;
/// The probability of a drop at the greater threshold.
const MAX_PROBABILITY: f64 = 0.02;

/// The discipline.
pub(crate) type Fred = SingleQueue<EarlyDrop>;

/// A microflow that has frames in the queue.
#[derive(Debug, Default)]
struct ActiveFlow {
    n_frames: usize,
    /// The number of times that it had more frames than allowed.
    strikes: u32,
}

/// The waiting frames, in the order of arrival.
#[derive(Debug, Default)]
pub(crate) struct EarlyDrop {
    frames: VecDeque<(Microflow, Frame)>,
    active: HashMap<Microflow, ActiveFlow>,
    /// Mean length of the queue.
    mean: f64,
    /// Frames since the last random drop; negative if no drop was due.
    since_drop: f64,
    random: u64,
}

impl EarlyDrop {
    /// A number from 0 to 1 (a linear congruential generator).
    fn fraction(&mut self) -> f64 {
        const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
        self.random = self.random.wrapping_mul(MULTIPLIER).wrapping_add(1);
        (self.random >> 32) as f64 / f64::from(u32::MAX)
    }

    fn update_mean(&mut self) {
        self.mean += MEAN_WEIGHT * (self.frames.len() as f64 - self.mean);
    }

    /// Decides whether a frame of a microflow is dropped.
    fn drops(&mut self, microflow: &Microflow) -> bool {
        let mean_each = (self.mean / self.active.len().max(1) as f64).max(1.0);
        let is_full = self.mean >= MAX_THRESHOLD;
        let most = if is_full { MIN_FRAMES } else { MIN_THRESHOLD };
        let mut own = 0.0;
        if let Some(flow) = self.active.get_mut(microflow) {
            own = flow.n_frames as f64;
            let has_too_many = own >= most
                || is_full && own > 2.0 * mean_each
                || own >= mean_each && flow.strikes > 1;
            if has_too_many {
                flow.strikes += 1;
                return true;
            }
        }
        if self.frames.len() >= MAX_FRAMES {
            return true;
        }
        if self.mean < MIN_THRESHOLD {
            self.since_drop = -1.0;
            return false;
        }
        if own < MIN_FRAMES.max(mean_each) {
            return false;
        }
        self.since_drop += 1.0;
        let share = (self.mean - MIN_THRESHOLD) / (MAX_THRESHOLD - MIN_THRESHOLD);
        let base = MAX_PROBABILITY * share;
        let probability = base / (1.0 - self.since_drop * base).max(base);
        let drops = is_full || self.fraction() < probability;
        if drops {
            self.since_drop = 0.0;
        }
        drops
    }
}

impl FrameOrder for EarlyDrop {
    fn push(
        &mut self,
        _: Time,
        frame: Frame,
        class: &QueueClass,
        _: Bounds,
    ) -> Result<(), DropReason> {
        let microflow = Microflow::in_class(frame.bytes(), class);
        self.update_mean();
        if self.drops(&microflow) {
            return Err(DropReason::QueueFull);
        }
        self.active.entry(microflow).or_default().n_frames += 1;
        self.frames.push_back((microflow, frame));
        Ok(())
    }

    fn pop(&mut self, _: Time) -> Option<Frame> {
        let (microflow, frame) = self.frames.pop_front()?;
        self.update_mean();
        let flow = self
            .active
            .get_mut(&microflow)
            .expect("a microflow with frames is active");
        flow.n_frames -= 1;
        if flow.n_frames == 0 {
            self.active.remove(&microflow);
        }
        Some(frame)
    }

    fn due(&self) -> Option<Time> {
        (!self.frames.is_empty()).then_some(Time(0))
    }

    fn take_frames(&mut self) -> Vec<Frame> {
        self.active.clear();
        self.frames.drain(..).map(|(_, frame)| frame).collect()
    }

    fn standing(&self, _: Time, microflow: &Microflow, _: u32) -> Option<Standing> {
        self.active.get(microflow)?;
        let own = self.frames.iter().filter(|(one, _)| one == microflow);
        Some(Standing {
            waiting_bytes: own.map(|(_, frame)| frame.len() as u64).sum(),
            ..Standing::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::dumbbell::{fairness, paper_senders, run};

    #[test]
    fn t4_subscribers_are_a_little_more_equal_than_in_order_of_arrival() {
        let senders = paper_senders();
        let rates = run("fred", &senders, 10.0).kbps(&senders, 4, 2.0, 10.0);
        let index = fairness(&rates);
        assert!((0.55..=0.68).contains(&index), "{index}: {rates:?}");
    }
}
