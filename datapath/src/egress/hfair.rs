//! Two-level fair queueing: aggregates share the port, and their microflows each aggregate.
//!
//! What goes to one address is an aggregate. Each level is start-time fair queueing (Goyal, Vin and
//! Cheng, 1996): whoever has had the fewest bytes goes next, and whoever comes new begins where the
//! others are. What a microflow leaves unused goes to its siblings, and what an aggregate leaves to
//! the other aggregates. A microflow of which nothing is known sends its first frame before those
//! that wait, so that who sends little waits little; but only every second frame, and only while
//! its aggregate is not ahead of others.

use alloc::{collections::VecDeque, vec::Vec};

use bofuss_frame::Frame;
use bofuss_packet::offload;
use hashbrown::HashMap;

use crate::Time;
use crate::egress::buckets::{Buckets, Links};
use crate::egress::microflow::{Aggregate, Microflow};
use crate::egress::queue::{MAX_QUEUE_BYTES, MAX_QUEUE_PACKETS};
use crate::egress::single_queue::{FrameOrder, SingleQueue};
use crate::slab::Slab;

/// What a frame that is shorter counts as, so that not too many wait.
const MIN_SIZE: u64 = MAX_QUEUE_BYTES / MAX_QUEUE_PACKETS;

/// Bytes by which an aggregate may be ahead of others while a newcomer of it goes first: two frames
/// of Ethernet's usual size.
const MAX_AHEAD: u64 = 2 * 1_514;
/// Why a number that is kept somewhere has something behind it.
const KNOWN: &str = "a number that is kept is that of something known";

/// 64 buckets of 256 bytes: none is farther from the last that sent than a frame is long.
fn buckets() -> Buckets {
    Buckets::new(1, 256)
}

/// One microflow. It is known while a frame of it waits, and then until its turn comes in vain.
#[derive(Debug)]
struct FlowQueue {
    microflow: Microflow,
    aggregate: u32,
    /// Each with its size.
    frames: VecDeque<(Frame, u64)>,
    size: u64,
    /// Bytes that it has had, as if it had begun with the first of its aggregate.
    start: u64,
}

/// One aggregate with the microflows that are known of it.
#[derive(Debug)]
struct AggregateQueue {
    key: Aggregate,
    /// Its microflows by what they have had; newcomers are not among them yet.
    order: Buckets,
    /// Whether it waits for its turn, as any does that has others than newcomers.
    is_in_order: bool,
    size: u64,
    /// Bytes that it has had, as if it had begun with the first aggregate.
    start: u64,
    /// How far its microflows have come: the start of the last that sent.
    reached: u64,
}

/// The discipline.
pub(crate) type HierarchicalFair = SingleQueue<FairOrder>;

/// The frames that wait, by aggregate and microflow, in the order in which they leave.
#[derive(Debug)]
pub(crate) struct FairOrder {
    flows: Slab<FlowQueue>,
    flow_of: HashMap<Microflow, u32>,
    flow_links: Links,
    aggregates: Slab<AggregateQueue>,
    aggregate_of: HashMap<Aggregate, u32>,
    aggregate_links: Links,
    /// The aggregates that wait for their turn, by what they have had.
    order: Buckets,
    /// How far the aggregates have come: the start of the last that sent in its turn.
    reached: u64,
    /// New microflows whose first frame waits.
    newcomers: VecDeque<u32>,
    /// The last frame was a newcomer's: it is the turn of the others, if there are any.
    newcomer_was_last: bool,
    size: u64,
}

impl Default for FairOrder {
    fn default() -> Self {
        Self {
            flows: Slab::default(),
            flow_of: HashMap::new(),
            flow_links: Links::new(),
            aggregates: Slab::default(),
            aggregate_of: HashMap::new(),
            aggregate_links: Links::new(),
            order: buckets(),
            reached: 0,
            newcomers: VecDeque::new(),
            newcomer_was_last: false,
            size: 0,
        }
    }
}

impl FrameOrder for FairOrder {
    /// A microflow may have what is left of its aggregate's part: twice what is free. So some room
    /// is always free for others. Dynamic thresholds: Choudhury and Hahne, 1998.
    fn push(&mut self, _: Time, frame: Frame, _: u32, limit: u64) -> bool {
        let size = offload::wire_count(&frame).1.max(MIN_SIZE);
        let microflow = Microflow::of(frame.bytes());
        let free = limit.saturating_sub(self.size);
        let left = (2 * free).saturating_sub(self.size_of_all(&microflow.aggregate()));
        let waiting = self.size_of(&microflow);
        let has_room = waiting < left && (waiting == 0 || waiting + size <= left);
        if size > free || !has_room {
            return false;
        }
        let number = self.flow(microflow);
        let flow = self.flows.get_mut(number).expect(KNOWN);
        let aggregate = self.aggregates.get_mut(flow.aggregate).expect(KNOWN);
        flow.frames.push_back((frame, size));
        flow.size += size;
        aggregate.size += size;
        self.size += size;
        true
    }

    fn pop(&mut self, _: Time) -> Option<Frame> {
        let number = self.next()?;
        let flow = self.flows.get_mut(number).expect(KNOWN);
        let aggregate = self.aggregates.get_mut(flow.aggregate).expect(KNOWN);
        let first = flow.frames.pop_front();
        let (frame, size) = first.expect("one whose turn it is has a frame");
        let (_, bytes) = offload::wire_count(&frame);
        flow.size -= size;
        aggregate.size -= size;
        self.size -= size;
        flow.start += bytes;
        aggregate.start += bytes;
        self.put_in_order(number);
        Some(frame)
    }

    fn due(&self) -> Option<Time> {
        (self.size > 0).then_some(Time(0))
    }

    /// Each microflow's frames are in their order.
    fn take_frames(&mut self) -> Vec<Frame> {
        let mut flows = core::mem::take(self).flows;
        let mut frames = Vec::new();
        let mut next = 0;
        while let Some(number) = flows.used(next) {
            let flow = flows.remove(number).expect(KNOWN);
            frames.extend(flow.frames.into_iter().map(|(frame, _)| frame));
            next = number + 1;
        }
        frames
    }
}

impl FairOrder {
    /// The size of what waits of a microflow.
    fn size_of(&self, microflow: &Microflow) -> u64 {
        let flow = self.flow_of.get(microflow);
        let flow = flow.and_then(|number| self.flows.get(*number));
        flow.map_or(0, |flow| flow.size)
    }

    /// The size of what waits of a whole aggregate.
    fn size_of_all(&self, key: &Aggregate) -> u64 {
        let aggregate = self.aggregate_of.get(key);
        let aggregate = aggregate.and_then(|number| self.aggregates.get(*number));
        aggregate.map_or(0, |aggregate| aggregate.size)
    }

    /// The number of a microflow; one that was not known is a newcomer now.
    fn flow(&mut self, microflow: Microflow) -> u32 {
        if let Some(number) = self.flow_of.get(&microflow) {
            return *number;
        }
        let aggregate = self.aggregate(microflow.aggregate());
        let start = self.aggregates.get(aggregate).expect(KNOWN).reached;
        let number = self.flows.insert(|_| FlowQueue {
            microflow,
            aggregate,
            frames: VecDeque::new(),
            size: 0,
            start,
        });
        self.flow_of.insert(microflow, number);
        self.newcomers.push_back(number);
        number
    }

    /// The number of an aggregate, which is known from now on.
    fn aggregate(&mut self, key: Aggregate) -> u32 {
        if let Some(number) = self.aggregate_of.get(&key) {
            return *number;
        }
        let number = self.aggregates.insert(|_| AggregateQueue {
            key,
            order: buckets(),
            is_in_order: false,
            size: 0,
            start: self.reached,
            reached: 0,
        });
        self.aggregate_of.insert(key, number);
        number
    }

    /// Lets a microflow wait for its turn in its aggregate, and that for its own.
    fn put_in_order(&mut self, number: u32) {
        let flow = self.flows.get(number).expect(KNOWN);
        let aggregate = self.aggregates.get_mut(flow.aggregate).expect(KNOWN);
        aggregate
            .order
            .push(&mut self.flow_links, flow.start, number);
        if !aggregate.is_in_order {
            aggregate.is_in_order = true;
            aggregate.start = aggregate.start.max(self.reached);
            self.order
                .push(&mut self.aggregate_links, aggregate.start, flow.aggregate);
        }
    }

    /// The newcomer whose turn it is. Those whose aggregate is ahead wait like others.
    fn next_newcomer(&mut self) -> Option<u32> {
        while let Some(number) = self.newcomers.pop_front() {
            let flow = self.flows.get(number).expect(KNOWN);
            let aggregate = self.aggregates.get(flow.aggregate).expect(KNOWN);
            if aggregate.start <= self.reached + MAX_AHEAD {
                return Some(number);
            }
            self.put_in_order(number);
        }
        None
    }

    /// The microflow whose turn it is of those that are no newcomers.
    fn next_in_order(&mut self) -> Option<u32> {
        while let Some(number) = self.order.pop(&self.aggregate_links) {
            let aggregate = self.aggregates.get_mut(number).expect(KNOWN);
            if self.order.is_later(aggregate.start) {
                // It got something since it was put there.
                self.order
                    .push(&mut self.aggregate_links, aggregate.start, number);
                continue;
            }
            self.reached = self.reached.max(aggregate.start);
            if let Some(flow) = self.next_of(number) {
                let start = self.aggregates.get(number).expect(KNOWN).start;
                self.order.push(&mut self.aggregate_links, start, number);
                return Some(flow);
            }
        }
        None
    }

    /// The microflow of an aggregate whose turn it is. What comes to its turn without a frame is
    /// forgotten, and so is an aggregate of which nothing waits; `None` then.
    fn next_of(&mut self, number: u32) -> Option<u32> {
        let aggregate = self.aggregates.get_mut(number).expect(KNOWN);
        while let Some(number) = aggregate.order.pop(&self.flow_links) {
            let flow = self.flows.get(number).expect(KNOWN);
            if !flow.frames.is_empty() {
                aggregate.reached = aggregate.reached.max(flow.start);
                return Some(number);
            }
            self.flow_of.remove(&flow.microflow);
            self.flows.remove(number);
        }
        aggregate.is_in_order = false;
        if aggregate.size == 0 {
            self.aggregate_of.remove(&aggregate.key);
            self.aggregates.remove(number);
        }
        None
    }

    /// The microflow that sends next. Newcomers take turns with the others.
    fn next(&mut self) -> Option<u32> {
        if self.newcomer_was_last
            && let Some(number) = self.next_in_order()
        {
            self.newcomer_was_last = false;
            return Some(number);
        }
        let newcomer = self.next_newcomer();
        self.newcomer_was_last = newcomer.is_some();
        newcomer.or_else(|| self.next_in_order())
    }
}

#[cfg(test)]
mod tests;
