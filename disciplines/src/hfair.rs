//! Two-level fair queueing: aggregates share the port, and their microflows each aggregate.
//!
//! All traffic to one address is an aggregate, unless a QoS record says otherwise. Each level is
//! start-time fair queueing (Goyal, Vin and Cheng, 1996): the member with the fewest bytes for its
//! weight goes next, and a new member begins where the others are. What a microflow does not use
//! goes to its siblings, and what an aggregate does not use to other aggregates. The first frame of
//! an unknown microflow goes before all that wait, so senders of little traffic wait little; but
//! only as every second frame, and only while its aggregate is not ahead of others.
//!
//! Guaranteed rates come before all that, highest priority first, and in addition to the share. A
//! microflow's guarantee reduces its aggregate's share. Among microflows of one aggregate, priority
//! is strict. A maximum holds frames back until its clock allows them.

use alloc::{collections::BTreeSet, collections::VecDeque, vec::Vec};

use bofuss_datapath::egress::{MAX_QUEUE_BYTES, MAX_QUEUE_PACKETS, QueueClass, duration_ns};
use bofuss_datapath::{
    Aggregate, DropReason, MAX_MICROFLOWS, Microflow, PRIORITIES, Standing, Time,
};
use bofuss_frame::Frame;
use bofuss_packet::offload;
use hashbrown::HashMap;

use crate::buckets::{Buckets, Links};
use crate::ecn;
use crate::hfair::account::{Account, Contender, Right, WaitingSiblings};
use crate::numbers::{AggregateKind, AggregateNumber, FlowKind, FlowNumber, Members};
use crate::single_queue::{Bounds, FrameOrder, GUARANTEED_BYTES, Promised, SingleQueue};

mod account;
mod members;
mod timed;

/// Shorter frames count as so many bytes, which limits the number of waiting frames.
const MIN_SIZE: u64 = MAX_QUEUE_BYTES / MAX_QUEUE_PACKETS;
/// A newcomer goes first only while its aggregate is ahead of others by at most so many bytes: two
/// full-size Ethernet frames.
const MAX_AHEAD: u64 = 2 * 1_514;
/// The most bytes by which a microflow's guarantee puts its aggregate ahead of others, so that the
/// aggregate does not pay for it long afterwards.
const MAX_DEBT: u64 = 16 << 10;
/// A frame that waits longer than this part of the time that a full buffer takes to send, or longer
/// than [`MAX_MARK_NS`], gets an ECN mark. One microflow alone may fill half of the buffer, so
/// marks come before drops, also in slow start, which doubles the window in each round trip.
const MARK_PART: u64 = 4;
/// The longest wait without a mark. A sender that is marked halves its window, and the frames that
/// wait then have to last for a round trip: with marks after 20 ms, connections with a round trip
/// of 80 ms lost 2 % of the link; with marks after 50 ms, nothing.
const MAX_MARK_NS: u64 = Time::SEC / 20;

/// The time that a frame may wait before it is marked.
fn mark_after_ns(bounds: Bounds) -> u64 {
    if bounds.kbps == 0 {
        return MAX_MARK_NS;
    }
    let all_ns = duration_ns(bounds.limit_bytes, bounds.kbps.into());
    MAX_MARK_NS.min(all_ns / MARK_PART)
}

/// 64 buckets of 256 bytes. No member is farther from the last sender than the length of a frame.
fn buckets() -> Buckets {
    Buckets::new(1, 256)
}

/// The place where a microflow waits for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnPlace {
    /// Among the newcomers.
    New,
    /// In its aggregate.
    InOrder,
    /// Nowhere: it has nothing to send, or its maximum forbids it.
    Out,
}

/// A waiting frame, with its size and time of arrival.
#[derive(Debug)]
struct WaitingFrame {
    frame: Frame,
    size: u64,
    since: Time,
}

/// One microflow. It is known while it is backlogged, and then until it has missed its turn and its
/// past service no longer matters.
#[derive(Debug)]
struct FlowQueue {
    microflow: Microflow,
    aggregate: AggregateNumber,
    priority: usize,
    frames: VecDeque<WaitingFrame>,
    account: Account,
    place: TurnPlace,
}

/// The microflows of one priority in an aggregate, by the service they have had; without newcomers.
#[derive(Debug)]
struct Level {
    order: Buckets,
    /// The virtual time: the start of the last sender.
    reached: u64,
}

/// One aggregate with its known microflows.
#[derive(Debug)]
struct AggregateQueue {
    key: Aggregate,
    n_flows: u32,
    /// By priority.
    levels: Vec<Level>,
    account: Account,
    /// Its backlogged microflows.
    backlog: WaitingSiblings,
    /// True if it waits for its turn, as every aggregate with microflows other than newcomers does.
    is_in_order: bool,
    /// The number of frames of microflows that no maximum holds back.
    n_ready: i64,
}

/// The discipline.
pub(crate) type HierarchicalFair = SingleQueue<FairOrder>;

/// The waiting frames, by aggregate and microflow.
#[derive(Debug)]
pub(crate) struct FairOrder {
    flows: Members<FlowKind, FlowQueue>,
    flow_of: HashMap<Microflow, FlowNumber>,
    flow_links: Links,
    aggregates: Members<AggregateKind, AggregateQueue>,
    aggregate_of: HashMap<Aggregate, AggregateNumber>,
    aggregate_links: Links,
    /// The aggregates that wait for their turn, by the service they have had.
    order: Buckets,
    /// The virtual time of aggregates: the start of the last that sent in its turn.
    reached: u64,
    /// New microflows whose first frame waits.
    newcomers: VecDeque<FlowNumber>,
    /// True if the last frame was a newcomer's, so that now it is the turn of the others, if there
    /// are any.
    newcomer_was_last: bool,
    size: u64,
    /// Frames that wait longer are marked.
    mark_after_ns: u64,
    /// The backlogged aggregates.
    backlog: WaitingSiblings,
    /// Returns the number of frames that no maximum holds back.
    n_ready: i64,
    /// The sum of all guarantees, and how many were refused.
    promised: Promised,
    /// Members that wait for their guaranteed rate, by priority and due time.
    owed: [BTreeSet<(Time, Contender)>; PRIORITIES],
    /// Members that their maximum keeps from sending, and until when.
    paused: BTreeSet<(Time, Contender)>,
    /// Members with nothing to send, and until when their past service matters.
    idle: BTreeSet<(Time, Contender)>,
}

impl Default for FairOrder {
    fn default() -> Self {
        Self {
            flows: Members::default(),
            flow_of: HashMap::new(),
            flow_links: Links::new(),
            aggregates: Members::default(),
            aggregate_of: HashMap::new(),
            aggregate_links: Links::new(),
            order: buckets(),
            reached: 0,
            newcomers: VecDeque::new(),
            newcomer_was_last: false,
            size: 0,
            mark_after_ns: MAX_MARK_NS,
            backlog: WaitingSiblings::default(),
            n_ready: 0,
            promised: Promised::default(),
            owed: Default::default(),
            paused: BTreeSet::new(),
            idle: BTreeSet::new(),
        }
    }
}

impl AggregateQueue {
    /// The microflows of a priority.
    fn level(&mut self, priority: usize) -> &mut Level {
        if self.levels.len() <= priority {
            self.levels.resize_with(priority + 1, || Level {
                order: buckets(),
                reached: 0,
            });
        }
        &mut self.levels[priority]
    }
}

impl FrameOrder for FairOrder {
    fn push(
        &mut self,
        now: Time,
        frame: Frame,
        class: &QueueClass,
        bounds: Bounds,
    ) -> Result<(), DropReason> {
        let size = offload::wire_count(&frame).1.max(MIN_SIZE);
        let microflow = Microflow::in_class(frame.bytes(), class);
        if !self.has_room(now, &microflow, class, size, bounds.limit_bytes) {
            return Err(DropReason::QueueFull);
        }
        self.mark_after_ns = mark_after_ns(bounds);
        self.forget_idle(now, self.flows.len() >= MAX_MICROFLOWS);
        let number = self.flow(now, microflow, class, bounds.kbps);
        let flow = &mut self.flows[number];
        let aggregate = &mut self.aggregates[flow.aggregate];
        for account in [&mut flow.account, &mut aggregate.account] {
            if account.size == 0 {
                account.begin(now);
            }
        }
        flow.frames.push_back(WaitingFrame {
            frame,
            size,
            since: now,
        });
        let aggregate = flow.aggregate;
        let is_ready = !flow.account.is_paused;
        self.change_size(number, size as i64);
        if is_ready {
            self.change_ready(aggregate, 1);
        }
        self.settle(now, number);
        Ok(())
    }

    fn pop(&mut self, now: Time) -> Option<Frame> {
        self.resume(now);
        let (number, right) = match self.next_owed(now) {
            Some(turn) => turn,
            None => (self.next(now)?, Right::Share),
        };
        self.serve(now, number, right)
    }

    fn due(&self) -> Option<Time> {
        if self.n_ready > 0 {
            return Some(Time(0));
        }
        self.first_resumption()
    }

    /// The frames of each microflow stay in order.
    fn take_frames(&mut self) -> Vec<Frame> {
        let flows = core::mem::take(self).flows.take_all();
        let frames = flows.flat_map(|flow| flow.frames);
        frames.map(|waiting| waiting.frame).collect()
    }

    /// The share assumes that all members that wait now continue to send, and that no other has a
    /// maximum. The expected time of arrival is when the microflow's waiting frames will have left
    /// at that rate.
    fn standing(&self, _: Time, microflow: &Microflow, kbps: u32) -> Option<Standing> {
        let flow = &self.flows[*self.flow_of.get(microflow)?];
        let aggregate = &self.aggregates[flow.aggregate];
        let of_aggregate = self.backlog.share_kbps(kbps.into(), &aggregate.account);
        let share = aggregate.backlog.share_kbps(of_aggregate, &flow.account);
        let own = flow.account.guaranteed_kbps();
        let frames = flow.frames.iter();
        let bytes = frames
            .map(|waiting| offload::wire_count(&waiting.frame).1)
            .sum();
        Some(Standing {
            share_kbps: share,
            aggregate_kbps: of_aggregate.max(share),
            guaranteed_kbps: own.max(aggregate.account.guaranteed_kbps()),
            eta_ns: duration_ns(bytes, share),
            is_early: false,
            waiting_bytes: bytes,
        })
    }

    fn promised(&self) -> Option<Promised> {
        Some(self.promised)
    }
}

impl FairOrder {
    /// Returns true if a frame may wait. An aggregate may use at most twice what then remains free
    /// of the buffer, and a microflow what is left of its aggregate's part, so some room is always
    /// free for others. Dynamic thresholds: Choudhury and Hahne, 1998. What a maximum holds back
    /// waits no longer than at a port of that rate. Frames within a guarantee are exempt.
    fn has_room(
        &self,
        now: Time,
        microflow: &Microflow,
        class: &QueueClass,
        size: u64,
        limit: u64,
    ) -> bool {
        let flow = self.flow_of.get(microflow);
        let flow = flow.map(|number| &self.flows[*number]);
        let is_guaranteed = match flow {
            Some(flow) => flow.account.is_within_guarantee(now),
            None => class.qos().flow.guaranteed_kbps > 0,
        };
        if is_guaranteed {
            return self.size + size <= limit + GUARANTEED_BYTES;
        }
        let aggregate = self.aggregate_of.get(&microflow.aggregate(class));
        let aggregate = aggregate.map(|number| &self.aggregates[*number]);
        let of_all = aggregate.map_or(0, |aggregate| aggregate.account.size);
        let free = limit.saturating_sub(self.size);
        let capped = aggregate.map_or(u64::MAX, |aggregate| aggregate.account.most_waiting());
        let left = (2 * free).min(capped).saturating_sub(of_all);
        let waiting = flow.map_or(0, |flow| flow.account.size);
        let most = flow.map_or(left, |flow| flow.account.most_waiting().min(left));
        size <= free && waiting < left && (waiting == 0 || waiting + size <= most)
    }

    /// Puts a microflow into the order of its aggregate, and the aggregate into the order of
    /// aggregates.
    fn put_in_order(&mut self, number: FlowNumber) {
        let flow = &mut self.flows[number];
        let aggregate = flow.aggregate;
        let level = self.aggregates[aggregate].level(flow.priority);
        if flow.place == TurnPlace::Out {
            flow.account.start = flow.account.start.max(level.reached);
        }
        flow.place = TurnPlace::InOrder;
        level
            .order
            .push(&mut self.flow_links, flow.account.start, number.slot());
        self.put_aggregate_in_order(aggregate);
    }

    /// Puts an aggregate into the order of aggregates, if it has a microflow in order and is not
    /// there yet.
    fn put_aggregate_in_order(&mut self, number: AggregateNumber) {
        let aggregate = &mut self.aggregates[number];
        let is_empty = aggregate.levels.iter().all(|level| level.order.is_empty());
        if aggregate.is_in_order || aggregate.account.is_paused || is_empty {
            return;
        }
        aggregate.is_in_order = true;
        aggregate.account.start = aggregate.account.start.max(self.reached);
        self.order.push(
            &mut self.aggregate_links,
            aggregate.account.start,
            number.slot(),
        );
    }

    /// The newcomer whose turn it is. Newcomers whose aggregate is ahead wait like others.
    fn next_newcomer(&mut self) -> Option<FlowNumber> {
        while let Some(number) = self.newcomers.pop_front() {
            let flow = &mut self.flows[number];
            if flow.account.is_paused {
                flow.place = TurnPlace::Out;
                continue;
            }
            let aggregate = &self.aggregates[flow.aggregate].account;
            let is_ahead = aggregate.start > self.reached + MAX_AHEAD;
            if !flow.frames.is_empty() && !is_ahead && !aggregate.is_paused {
                return Some(number);
            }
            self.put_in_order(number);
        }
        None
    }

    /// The next microflow in order, without newcomers.
    fn next_in_order(&mut self, now: Time) -> Option<FlowNumber> {
        while let Some(slot) = self.order.pop(&self.aggregate_links) {
            let number = AggregateNumber::of(slot);
            let aggregate = &mut self.aggregates[number];
            let start = aggregate.account.start;
            if self.order.is_later(start) {
                // It was served since it was put there.
                self.order
                    .push(&mut self.aggregate_links, start, number.slot());
                continue;
            }
            if aggregate.account.is_paused {
                aggregate.is_in_order = false;
                continue;
            }
            self.reached = self.reached.max(start);
            if let Some(flow) = self.next_of(now, number) {
                self.order
                    .push(&mut self.aggregate_links, start, number.slot());
                return Some(flow);
            }
            self.aggregates[number].is_in_order = false;
            self.retire_aggregate(now, number);
        }
        None
    }

    /// The next microflow of an aggregate. A microflow whose turn comes without a frame is
    /// forgotten.
    fn next_of(&mut self, now: Time, number: AggregateNumber) -> Option<FlowNumber> {
        let aggregate = &mut self.aggregates[number];
        for priority in (0..aggregate.levels.len()).rev() {
            while let Some(next) = self.pop_level(number, priority) {
                let flow = &mut self.flows[next];
                if flow.account.is_paused {
                    flow.place = TurnPlace::Out;
                } else if flow.frames.is_empty() {
                    self.retire_flow(now, next);
                } else {
                    return Some(next);
                }
            }
        }
        None
    }

    /// Removes the first microflow from a level of an aggregate.
    fn pop_level(&mut self, number: AggregateNumber, priority: usize) -> Option<FlowNumber> {
        let aggregate = &mut self.aggregates[number];
        let level = aggregate.level(priority);
        let flow = FlowNumber::of(level.order.pop(&self.flow_links)?);
        let start = self.flows[flow].account.start;
        level.reached = level.reached.max(start);
        Some(flow)
    }

    /// The microflow that sends next by its share. Newcomers take turns with the others.
    fn next(&mut self, now: Time) -> Option<FlowNumber> {
        if self.newcomer_was_last {
            if let Some(number) = self.next_in_order(now) {
                self.newcomer_was_last = false;
                return Some(number);
            }
        }
        let newcomer = self.next_newcomer();
        self.newcomer_was_last = newcomer.is_some();
        newcomer.or_else(|| self.next_in_order(now))
    }

    /// Removes the first frame of a microflow, which is served by this right.
    fn serve(&mut self, now: Time, number: FlowNumber, right: Right) -> Option<Frame> {
        let flow = &mut self.flows[number];
        let aggregate = &mut self.aggregates[flow.aggregate];
        let mut waiting = flow.frames.pop_front()?;
        let (_, bytes) = offload::wire_count(&waiting.frame);
        flow.account.charge(now, bytes, right == Right::OfFlow);
        // A microflow's guarantee counts against that of its aggregate, if it has one.
        let has_own = aggregate.account.guaranteed_kbps() > 0;
        let is_guaranteed = right == Right::OfAggregate || right == Right::OfFlow && has_own;
        aggregate.account.charge(now, bytes, is_guaranteed);
        if right == Right::OfFlow {
            let most = self.reached + MAX_DEBT;
            aggregate.account.start = aggregate.account.start.min(most);
        }
        let number_of_aggregate = flow.aggregate;
        self.change_size(number, -(waiting.size as i64));
        self.change_ready(number_of_aggregate, -1);
        if right != Right::OfFlow {
            self.put_in_order(number);
        }
        self.settle(now, number);
        if now.0.saturating_sub(waiting.since.0) > self.mark_after_ns {
            ecn::mark(&mut waiting.frame);
        }
        Some(waiting.frame)
    }
}

#[cfg(test)]
mod tests;
