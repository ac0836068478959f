//! Deficit round robin of microflows: each gets the same share.
//!
//! Shreedhar and Varghese, 1995: microflows take turns, each turn adds a quantum of bytes to a
//! microflow's credit, and its frames leave as long as the credit lasts.

use alloc::{collections::VecDeque, vec::Vec};

use bofuss_datapath::egress::{MAX_QUEUE_BYTES, MAX_QUEUE_PACKETS, QueueClass, duration_ns};
use bofuss_datapath::{DropReason, Microflow, Standing, Time};
use bofuss_frame::Frame;
use bofuss_packet::offload;
use hashbrown::HashMap;

use crate::single_queue::{Bounds, FrameOrder, SingleQueue};

/// The quantum in bytes: a full-size Ethernet frame.
const QUANTUM: u64 = 1_514;
/// Shorter frames count as so many bytes, which limits the number of waiting frames.
const MIN_SIZE: u64 = MAX_QUEUE_BYTES / MAX_QUEUE_PACKETS;
/// The reason for which a microflow that has its turn exists.
const HAS_FRAMES: &str = "a microflow that takes turns has frames";

/// The discipline.
pub(crate) type FlowRoundRobin = SingleQueue<Turns>;

/// The waiting frames of one microflow.
#[derive(Debug, Default)]
struct RoundRobinFlow {
    frames: VecDeque<Frame>,
    size: u64,
    credit: u64,
}

/// The waiting frames, by microflow.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    flows: HashMap<Microflow, RoundRobinFlow>,
    /// The backlogged microflows; the first has its turn.
    order: VecDeque<Microflow>,
    size: u64,
}

impl FrameOrder for Turns {
    /// A microflow may use at most as much of the buffer as then remains free.
    fn push(
        &mut self,
        _: Time,
        frame: Frame,
        class: &QueueClass,
        bounds: Bounds,
    ) -> Result<(), DropReason> {
        let size = offload::wire_count(&frame).1.max(MIN_SIZE);
        let microflow = Microflow::in_class(frame.bytes(), class);
        let waiting = self.flows.get(&microflow).map_or(0, |turn| turn.size);
        if waiting + size > bounds.limit_bytes.saturating_sub(self.size) {
            return Err(DropReason::QueueFull);
        }
        if waiting == 0 {
            self.order.push_back(microflow);
        }
        let turn = self.flows.entry(microflow).or_default();
        turn.frames.push_back(frame);
        turn.size += size;
        self.size += size;
        Ok(())
    }

    fn pop(&mut self, _: Time) -> Option<Frame> {
        loop {
            let microflow = *self.order.front()?;
            let turn = self.flows.get_mut(&microflow).expect(HAS_FRAMES);
            let next = turn.frames.front().expect(HAS_FRAMES);
            let (_, bytes) = offload::wire_count(next);
            if turn.credit < bytes {
                turn.credit += QUANTUM;
                self.order.rotate_left(1);
                continue;
            }
            let size = bytes.max(MIN_SIZE);
            turn.credit -= bytes;
            turn.size -= size;
            self.size -= size;
            let frame = turn.frames.pop_front();
            if turn.frames.is_empty() {
                self.flows.remove(&microflow);
                self.order.pop_front();
            }
            return frame;
        }
    }

    fn due(&self) -> Option<Time> {
        (!self.order.is_empty()).then_some(Time(0))
    }

    fn take_frames(&mut self) -> Vec<Frame> {
        let Self {
            mut flows, order, ..
        } = core::mem::take(self);
        let turns = order.into_iter().filter_map(|one| flows.remove(&one));
        turns.flat_map(|turn| turn.frames).collect()
    }

    /// All backlogged microflows share evenly. The expected time of arrival is when the microflow's
    /// waiting frames will have left at that rate.
    fn standing(&self, _: Time, microflow: &Microflow, kbps: u32) -> Option<Standing> {
        let flow = self.flows.get(microflow)?;
        let share = u64::from(kbps) / self.order.len() as u64;
        let frames = flow.frames.iter();
        let bytes = frames.map(|frame| offload::wire_count(frame).1).sum();
        Some(Standing {
            share_kbps: share,
            aggregate_kbps: share,
            eta_ns: duration_ns(bytes, share),
            waiting_bytes: bytes,
            ..Standing::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use crate::dumbbell::{fairness, paper_senders, run};

    #[test]
    fn t5_microflows_get_the_same_and_subscribers_by_how_many_they_have() {
        let senders = paper_senders();
        let arrivals = run("drr", &senders, 6.0);
        let subscribers = arrivals.kbps(&senders, 4, 2.0, 6.0);
        let index = fairness(&subscribers);
        assert!((0.860..=0.870).contains(&index), "{index}: {subscribers:?}");
        let each: Vec<f64> = arrivals.0.iter().map(|one| one.len() as f64).collect();
        assert!(fairness(&each) >= 0.999, "{each:?}");
    }
}
