//! Two-level fair queueing: aggregates share the port, and their microflows each aggregate.
//!
//! What goes to one address is an aggregate, unless a QoS record says otherwise. Each level is
//! start-time fair queueing (Goyal, Vin and Cheng, 1996): whoever has had the fewest bytes for its
//! weight goes next, and whoever comes new begins where the others are. What a microflow leaves
//! unused goes to its siblings, and what an aggregate leaves to the other aggregates. A microflow
//! of which nothing is known sends its first frame before those that wait, so that who sends little
//! waits little; but only every second frame, and only while its aggregate is not ahead of others.
//!
//! Guaranteed rates go before all that, the highest priority first, and on top of the share. A
//! microflow's guarantee is taken from its aggregate's share. Among microflows of one aggregate
//! priority is strict; a maximum keeps frames until its clock lets them go.

use alloc::{collections::BTreeSet, collections::VecDeque, vec::Vec};

use bofuss_frame::Frame;
use bofuss_packet::offload;
use hashbrown::HashMap;

use crate::egress::buckets::{Buckets, Links};
use crate::egress::ecn;
use crate::egress::hfair::account::{Account, WaitingSiblings, Right};
use crate::egress::hfair::timed::Contender;
use crate::egress::microflow::{Aggregate, Microflow};
use crate::egress::queue::{MAX_QUEUE_BYTES, MAX_QUEUE_PACKETS, duration_ns};
use crate::egress::single_queue::{Bounds, FrameOrder, GUARANTEED_BYTES, Promised, SingleQueue};
use crate::qos::{QueueClass, PRIORITIES};
use crate::slab::Slab;
use crate::{DropReason, Standing, Time};

mod account;
mod members;
mod timed;

/// What a frame that is shorter counts as, so that not too many wait.
const MIN_SIZE: u64 = MAX_QUEUE_BYTES / MAX_QUEUE_PACKETS;
/// Bytes by which an aggregate may be ahead of others while a newcomer of it goes first: two frames
/// of Ethernet's usual size.
const MAX_AHEAD: u64 = 2 * 1_514;
/// Bytes by which a microflow's guarantee may put its aggregate ahead of others, so that it does
/// not pay for it long afterwards.
const MAX_DEBT: u64 = 16 << 10;
/// Microflows that are known at most, before those that have nothing to send are forgotten early.
const MAX_FLOWS: usize = 1 << 16;
/// What waits longer is marked, if its sender understands that: about a round trip.
const MARK_NS: u64 = Time::SEC / 50;
/// Why a number that is kept somewhere has something behind it.
const KNOWN: &str = "a number that is kept is that of something known";

/// 64 buckets of 256 bytes: none is farther from the last that sent than a frame is long.
fn buckets() -> Buckets {
    Buckets::new(1, 256)
}

/// Where a microflow waits for a turn by its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnPlace {
    /// Among the newcomers.
    New,
    /// In its aggregate.
    InOrder,
    /// Nowhere: it has nothing to send, or its maximum forbids that.
    Out,
}

/// A frame that waits, with its size, and since when.
#[derive(Debug)]
struct WaitingFrame {
    frame: Frame,
    size: u64,
    since: Time,
}

/// One microflow. It is known while a frame of it waits, and then until its turn comes in vain and
/// what it has had does not matter any more.
#[derive(Debug)]
struct FlowQueue {
    microflow: Microflow,
    aggregate: u32,
    priority: usize,
    frames: VecDeque<WaitingFrame>,
    account: Account,
    place: TurnPlace,
}

/// The microflows of an aggregate that have one priority, by what they have had; newcomers are not
/// among them yet.
#[derive(Debug)]
struct Level {
    order: Buckets,
    /// How far they have come: the start of the last that sent.
    reached: u64,
}

/// One aggregate with the microflows that are known of it.
#[derive(Debug)]
struct AggregateQueue {
    key: Aggregate,
    n_flows: u32,
    /// By priority.
    levels: Vec<Level>,
    account: Account,
    /// Its microflows of which something waits.
    backlog: WaitingSiblings,
    /// Whether it waits for its turn, as any does that has others than newcomers.
    is_in_order: bool,
    /// Frames of microflows that no maximum keeps.
    n_ready: i64,
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
    /// The aggregates of which something waits.
    backlog: WaitingSiblings,
    /// Frames that no maximum keeps.
    n_ready: i64,
    /// The sum of all guarantees, and how many did not fit.
    promised: Promised,
    /// Those that wait for a guaranteed rate, by priority, and from when on that is due.
    owed: [BTreeSet<(Time, Contender)>; PRIORITIES],
    /// Those that their maximum keeps from sending, and until when.
    paused: BTreeSet<(Time, Contender)>,
    /// Those that have nothing to send, and until when it matters what they have had.
    idle: BTreeSet<(Time, Contender)>,
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
        let microflow = Microflow::of(frame.bytes());
        if !self.has_room(now, &microflow, class, size, bounds.limit_bytes) {
            return Err(DropReason::QueueFull);
        }
        self.forget_idle(now, self.flows.len() >= MAX_FLOWS);
        let number = self.flow(now, microflow, class, bounds.kbps);
        let flow = self.flows.get_mut(number).expect(KNOWN);
        let aggregate = self.aggregates.get_mut(flow.aggregate).expect(KNOWN);
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
        let (aggregate, is_ready) = (flow.aggregate, !flow.account.is_paused);
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
        Some(self.serve(now, number, right))
    }

    fn due(&self) -> Option<Time> {
        if self.n_ready > 0 {
            return Some(Time(0));
        }
        self.first_resumption()
    }

    /// Each microflow's frames are in their order.
    fn take_frames(&mut self) -> Vec<Frame> {
        let mut flows = core::mem::take(self).flows;
        let mut frames = Vec::new();
        let mut next = 0;
        while let Some(number) = flows.used(next) {
            let flow = flows.remove(number).expect(KNOWN);
            frames.extend(flow.frames.into_iter().map(|waiting| waiting.frame));
            next = number + 1;
        }
        frames
    }

    /// Its share is what it may have if all that wait now go on, and none of the others has a
    /// maximum. Its expected time of arrival is when what waits of it has left at that rate.
    fn standing(&self, _: Time, microflow: &Microflow, kbps: u32) -> Option<Standing> {
        let flow = self.flows.get(*self.flow_of.get(microflow)?)?;
        let aggregate = self.aggregates.get(flow.aggregate)?;
        let of_aggregate = self.backlog.share_kbps(kbps.into(), &aggregate.account);
        let share = aggregate.backlog.share_kbps(of_aggregate, &flow.account);
        let own = flow.account.guaranteed_kbps();
        let frames = flow.frames.iter();
        let bytes = frames.map(|waiting| offload::wire_count(&waiting.frame).1).sum();
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
    /// Whether a frame may wait. A microflow may have what is left of its aggregate's part: twice
    /// what is free. So some room is always free for others. Dynamic thresholds: Choudhury and
    /// Hahne, 1998. What is within a guarantee is not bound by them.
    fn has_room(
        &self,
        now: Time,
        microflow: &Microflow,
        class: &QueueClass,
        size: u64,
        limit: u64,
    ) -> bool {
        let flow = self.flow_of.get(microflow);
        let flow = flow.and_then(|number| self.flows.get(*number));
        let is_guaranteed = match flow {
            Some(flow) => flow.account.is_within_guarantee(now),
            None => class.qos().flow.guaranteed_kbps > 0,
        };
        if is_guaranteed {
            return self.size + size <= limit + GUARANTEED_BYTES;
        }
        let aggregate = self.aggregate_of.get(&microflow.aggregate(class));
        let aggregate = aggregate.and_then(|number| self.aggregates.get(*number));
        let of_all = aggregate.map_or(0, |aggregate| aggregate.account.size);
        let free = limit.saturating_sub(self.size);
        let left = (2 * free).saturating_sub(of_all);
        let waiting = flow.map_or(0, |flow| flow.account.size);
        size <= free && waiting < left && (waiting == 0 || waiting + size <= left)
    }

    /// Lets a microflow wait for its turn in its aggregate, and that for its own.
    fn put_in_order(&mut self, number: u32) {
        let flow = self.flows.get_mut(number).expect(KNOWN);
        let aggregate = flow.aggregate;
        let level = self.aggregates.get_mut(aggregate).expect(KNOWN).level(flow.priority);
        if flow.place == TurnPlace::Out {
            flow.account.start = flow.account.start.max(level.reached);
        }
        flow.place = TurnPlace::InOrder;
        level.order.push(&mut self.flow_links, flow.account.start, number);
        self.put_aggregate_in_order(aggregate);
    }

    /// Lets an aggregate wait for its turn, if it does not and has a microflow that does.
    fn put_aggregate_in_order(&mut self, number: u32) {
        let aggregate = self.aggregates.get_mut(number).expect(KNOWN);
        let is_empty = aggregate.levels.iter().all(|level| level.order.is_empty());
        if aggregate.is_in_order || aggregate.account.is_paused || is_empty {
            return;
        }
        aggregate.is_in_order = true;
        aggregate.account.start = aggregate.account.start.max(self.reached);
        self.order.push(&mut self.aggregate_links, aggregate.account.start, number);
    }

    /// The newcomer whose turn it is. Those whose aggregate is ahead wait like others.
    fn next_newcomer(&mut self) -> Option<u32> {
        while let Some(number) = self.newcomers.pop_front() {
            let flow = self.flows.get_mut(number).expect(KNOWN);
            if flow.account.is_paused {
                flow.place = TurnPlace::Out;
                continue;
            }
            let aggregate = &self.aggregates.get(flow.aggregate).expect(KNOWN).account;
            let is_ahead = aggregate.start > self.reached + MAX_AHEAD;
            if !flow.frames.is_empty() && !is_ahead && !aggregate.is_paused {
                return Some(number);
            }
            self.put_in_order(number);
        }
        None
    }

    /// The microflow whose turn it is of those that are no newcomers.
    fn next_in_order(&mut self, now: Time) -> Option<u32> {
        while let Some(number) = self.order.pop(&self.aggregate_links) {
            let aggregate = self.aggregates.get_mut(number).expect(KNOWN);
            let start = aggregate.account.start;
            if self.order.is_later(start) {
                // It got something since it was put there.
                self.order.push(&mut self.aggregate_links, start, number);
                continue;
            }
            if aggregate.account.is_paused {
                aggregate.is_in_order = false;
                continue;
            }
            self.reached = self.reached.max(start);
            if let Some(flow) = self.next_of(now, number) {
                self.order.push(&mut self.aggregate_links, start, number);
                return Some(flow);
            }
            self.aggregates.get_mut(number).expect(KNOWN).is_in_order = false;
            self.retire_aggregate(now, number);
        }
        None
    }

    /// The microflow of an aggregate whose turn it is. What comes to its turn without a frame is
    /// forgotten.
    fn next_of(&mut self, now: Time, number: u32) -> Option<u32> {
        let aggregate = self.aggregates.get_mut(number).expect(KNOWN);
        for priority in (0..aggregate.levels.len()).rev() {
            while let Some(next) = self.pop_level(number, priority) {
                let flow = self.flows.get_mut(next).expect(KNOWN);
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

    /// Takes the first microflow of a level of an aggregate.
    fn pop_level(&mut self, number: u32, priority: usize) -> Option<u32> {
        let aggregate = self.aggregates.get_mut(number).expect(KNOWN);
        let level = aggregate.level(priority);
        let flow = level.order.pop(&self.flow_links)?;
        let start = self.flows.get(flow).expect(KNOWN).account.start;
        level.reached = level.reached.max(start);
        Some(flow)
    }

    /// The microflow that sends next by its share. Newcomers take turns with the others.
    fn next(&mut self, now: Time) -> Option<u32> {
        if self.newcomer_was_last
            && let Some(number) = self.next_in_order(now)
        {
            self.newcomer_was_last = false;
            return Some(number);
        }
        let newcomer = self.next_newcomer();
        self.newcomer_was_last = newcomer.is_some();
        newcomer.or_else(|| self.next_in_order(now))
    }

    /// Takes the first frame of a microflow, whose turn it is by some right.
    fn serve(&mut self, now: Time, number: u32, right: Right) -> Frame {
        let flow = self.flows.get_mut(number).expect(KNOWN);
        let aggregate = self.aggregates.get_mut(flow.aggregate).expect(KNOWN);
        let first = flow.frames.pop_front();
        let mut waiting = first.expect("one whose turn it is has a frame");
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
        if now.0.saturating_sub(waiting.since.0) > MARK_NS {
            ecn::mark(&mut waiting.frame);
        }
        waiting.frame
    }
}

#[cfg(test)]
mod tests;
