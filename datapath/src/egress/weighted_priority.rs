//! The default discipline: guaranteed rates, then strict priority, then weighted fair queueing.
//!
//! Queues whose guaranteed rate is due come first; then strict priority decides, then weights by
//! virtual finish times. Rates count the frame's bytes as the counters do: without preamble, gap
//! and FCS.
//!
//! Spec: OpenFlow 1.3.5 section 7.2.2 has a minimum and a maximum rate for each queue. Choice: it
//! leaves open how queues share what is beyond the minimum, so each also has a priority and a
//! weight.

use alloc::{boxed::Box, collections::VecDeque, vec, vec::Vec};
use core::cmp::Reverse;

use bofuss_frame::Frame;
use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;

use crate::egress::discipline::{Discipline, DisciplineRow};
use crate::egress::queue::{AHEAD_NS, DEFAULT_QUEUE, Pace, Queue, QueueSpec};
use crate::qos::QueueClass;
use crate::{DropReason, Time};

/// The discipline of OpenFlow's queues, and the default.
pub const WEIGHTED_PRIORITY: DisciplineRow = DisciplineRow {
    name: "weighted-priority",
    new: |now, port, kbps| Box::new(WeightedPriority::new(now, port, kbps)),
};

/// The virtual times of a queue: the start and the finish of its last frame; the next one starts at
/// that finish.
#[derive(Debug, Default)]
struct VirtualTime {
    start: u128,
    finish: u128,
}

/// The queues of one port: guaranteed rates first, then strict priority, then weighted fair
/// queueing among equals.
#[derive(Debug)]
pub(crate) struct WeightedPriority {
    /// The queues by number; the first is the default queue.
    queues: Vec<Queue>,
    /// The virtual times of each queue, at the same place.
    virtual_times: Vec<VirtualTime>,
    port_no: PortNo,
    pace: Pace,
}

impl WeightedPriority {
    /// Makes it with only the default queue, for a port with a rate of `kbps`; 0 if that is not
    /// known.
    pub(crate) fn new(now: Time, port_no: PortNo, kbps: u32) -> Self {
        let mut this = Self {
            queues: vec![Queue::new(now, port_no, DEFAULT_QUEUE)],
            virtual_times: vec![VirtualTime::default()],
            port_no,
            pace: Pace::default(),
        };
        this.set_rate(now, kbps);
        this
    }

    /// The place of the queue in which frames for `id` wait.
    ///
    /// The first queue is the default queue, which takes frames for queues that do not exist.
    fn place(&self, id: QueueId) -> usize {
        let own = self.queues.iter().position(|queue| queue.id == id);
        own.unwrap_or(0)
    }

    /// The time when the first queue may send, whatever the port's rate; `None` if nothing waits.
    fn first_due(&self) -> Option<Time> {
        let waiting = self.queues.iter().filter(|queue| !queue.frames.is_empty());
        waiting.map(|queue| queue.max.due).min()
    }

    /// The places of the queues that have a frame and may send by `latest`.
    fn ready(&self, latest: Time) -> impl Iterator<Item = usize> {
        (0..self.queues.len()).filter(move |at| {
            let queue = &self.queues[*at];
            !queue.frames.is_empty() && queue.max.due <= latest
        })
    }

    /// The place of the ready queue that has waited longest for its guaranteed rate.
    fn owed(&self, now: Time, latest: Time) -> Option<usize> {
        let mut first = None;
        for at in self.ready(latest) {
            let guarantee = &self.queues[at].min;
            if guarantee.kbps > 0
                && guarantee.due <= now
                && first.is_none_or(|(due, _)| guarantee.due < due)
            {
                first = Some((guarantee.due, at));
            }
        }
        first.map(|(_, at)| at)
    }

    /// The rank of a queue: priority, then the virtual finish time.
    ///
    /// A queue's next frame starts at that time, so this is start-time fair queueing (Goyal, Vin
    /// and Cheng, 1996) among the queues of a priority.
    fn rank(&self, at: usize) -> (Reverse<u16>, u128) {
        let priority = self.queues[at].spec.priority;
        (Reverse(priority), self.virtual_times[at].finish)
    }

    /// The virtual time of the queues of this priority.
    ///
    /// It is the start of the frame that was served last. A queue that becomes busy begins there,
    /// and so makes no claim for the time in which it had nothing to send.
    fn virtual_time(&self, priority: u16) -> u128 {
        let all = self.queues.iter().zip(&self.virtual_times);
        let peers = all.filter(|(queue, _)| queue.spec.priority == priority);
        peers.map(|(_, time)| time.start).max().unwrap_or(0)
    }

    /// Takes the first frame of a queue, and charges its clocks. With `shared`, it is charged as
    /// part of the queue's weighted share; a guaranteed frame is not, since the guarantee is in
    /// addition to the share.
    fn serve(&mut self, now: Time, at: usize, shared: bool) -> (QueueId, Frame) {
        let reached = self.virtual_time(self.queues[at].spec.priority);
        let queue = &mut self.queues[at];
        let (frame, bytes) = queue.pop().expect("a ready queue has a frame");
        // A surplus over its guarantee does not reduce the guarantee later.
        queue.min.due = queue.min.due.min(now);
        queue.min.charge(now, bytes);
        queue.max.charge(now, bytes);
        self.pace.charge(now, bytes);
        if shared {
            let time = &mut self.virtual_times[at];
            time.start = time.finish.max(reached);
            let weight = u128::from(queue.spec.weight.max(1));
            // Shifted by 16 bits, so that even with the greatest weight, one more byte is a later
            // time.
            time.finish = time.start + (u128::from(bytes) << 16) / weight;
        }
        (queue.id, frame)
    }
}

impl Discipline for WeightedPriority {
    fn enqueue(
        &mut self,
        now: Time,
        class: &QueueClass,
        frame: Frame,
        has_room: bool,
    ) -> Result<(), DropReason> {
        let place = self.place(class.queue);
        self.queues[place].push(now, frame, has_room)
    }

    fn dequeue(&mut self, now: Time) -> Option<(QueueId, Frame)> {
        // A frame may leave slightly early, which lets fast ports send several at once.
        let latest = now.after(AHEAD_NS);
        if self.pace.due > latest {
            return None;
        }
        let owed = self.owed(now, latest);
        let at = match owed {
            Some(at) => at,
            None => self.ready(latest).min_by_key(|at| self.rank(*at))?,
        };
        // The port counts as late only for the time in which a frame could have left.
        self.pace.begin(self.first_due()?);
        Some(self.serve(now, at, owed.is_none()))
    }

    fn next_wakeup(&self) -> Option<Time> {
        Some(self.first_due()?.max(self.pace.due))
    }

    fn takes_whole(&self, id: QueueId, frame: &Frame) -> bool {
        self.queues[self.place(id)].takes_whole(&self.pace, frame)
    }

    fn queues(&self) -> &[Queue] {
        &self.queues
    }

    fn set_rate(&mut self, now: Time, kbps: u32) {
        self.pace.set(now, kbps);
        for queue in &mut self.queues {
            let min = queue.spec.min.map_or(0, |rate| rate.kbps(kbps));
            let max = queue.spec.max.map_or(0, |rate| rate.kbps(kbps));
            queue.min.set(now, min);
            queue.max.set(now, max);
        }
    }

    fn modify(&mut self, now: Time, id: QueueId, spec: QueueSpec) {
        let at = match self.queues.binary_search_by_key(&id.0, |queue| queue.id.0) {
            Ok(at) => at,
            Err(at) => {
                self.queues.insert(at, Queue::new(now, self.port_no, id));
                self.virtual_times.insert(at, VirtualTime::default());
                at
            }
        };
        self.queues[at].spec = spec;
        self.set_rate(now, self.pace.kbps);
    }

    fn remove(&mut self, id: QueueId) -> Option<VecDeque<Frame>> {
        let at = self.queues.iter().position(|queue| queue.id == id)?;
        self.virtual_times.remove(at);
        Some(self.queues.remove(at).take_frames())
    }

    fn take_frames(&mut self) -> Vec<Frame> {
        let queues = self.queues.iter_mut();
        queues.flat_map(Queue::take_frames).collect()
    }
}

#[cfg(test)]
mod tests;
