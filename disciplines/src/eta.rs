//! Fair shares without a queue for each microflow: BETA and CETA of OpenQFlow, and CETA repaired.
//!
//! A frame that arrives before its microflow may send again is dropped at once. Each accepted frame
//! advances the microflow's *expected time of arrival* (ETA) by the time that the frame takes at
//! the microflow's share. Accepted frames leave through a calendar queue. Ten times a second,
//! shares are adapted to the port's spare rate. Source: OpenQFlow (Ko and others, 2013), equations
//! 1 to 6 and algorithm 1.

use alloc::{collections::BTreeSet, vec::Vec};
use core::marker::PhantomData;

use bofuss_datapath::egress::QueueClass;
use bofuss_datapath::{Aggregate, DropReason, Microflow, Standing, Time};
use bofuss_frame::Frame;
use bofuss_packet::offload;
use hashbrown::HashMap;

use crate::calendar::Calendar;
use crate::ecn;
use crate::eta::schemes::{OneTier, Scheme, TwoTiers, TwoTiersMended};
use crate::eta::shares::{INTERVAL_NS, Rights, Tally, Waterline};
use crate::numbers::{AggregateKind, AggregateNumber, FlowKind, FlowNumber, Members};
use crate::single_queue::{Bounds, FrameOrder, GUARANTEED_BYTES, Promised, SingleQueue};

mod members;
mod schemes;
mod shares;

/// The time by which a frame may arrive before its ETA, and the credit that a late frame leaves.
const EARLY_NS: u64 = Time::SEC / 50;
const CREDIT_NS: u64 = Time::SEC / 50;
/// The time by which a TCP segment may be early in CETA2; otherwise much of a window that is sent
/// at once would be lost.
const EARLY_TCP_NS: u64 = Time::SEC / 10;
/// A full-size Ethernet frame, in bits.
const FRAME_BITS: f64 = 8.0 * 1_514.0;
/// After how long without frames a microflow is forgotten.
const IDLE_NS: u64 = 10 * Time::SEC;

/// The disciplines.
pub(crate) type Beta = SingleQueue<EtaOrder<OneTier>>;
pub(crate) type Ceta = SingleQueue<EtaOrder<TwoTiers>>;
pub(crate) type Ceta2 = SingleQueue<EtaOrder<TwoTiersMended>>;

#[derive(Debug)]
struct EtaFlow {
    microflow: Microflow,
    aggregate: AggregateNumber,
    rights: Rights,
    /// The strict priority of its new frames, and how many frames wait.
    priority: usize,
    n_waiting: u32,
    waiting_bytes: u64,
    eta_ns: u64,
    /// The time at which its last frame leaves; later frames must not leave before that.
    leaves_ns: u64,
    last_ns: u64,
    /// The last interval in which it sent, and the last in which it lost a frame for being early.
    active_in: u64,
    limited_in: u64,
}

#[derive(Debug)]
struct EtaAggregate {
    key: Option<Aggregate>,
    n_flows: u32,
    rights: Rights,
    eta_ns: u64,
    active_in: u64,
    limited_in: u64,
    tally: Tally,
    /// The share of its microflows.
    waterline: Waterline,
}

/// A frame that was accepted, and the number of its microflow.
type Accepted = (FlowNumber, Frame);

/// The accepted frames, and the state that decides about acceptance.
#[derive(Debug)]
pub(crate) struct EtaOrder<S> {
    /// A calendar for each priority.
    calendars: Vec<Calendar<Accepted>>,
    flows: Members<FlowKind, EtaFlow>,
    flow_of: HashMap<Microflow, FlowNumber>,
    /// The time at which each microflow is forgotten if it has sent nothing since.
    deadlines: BTreeSet<(u64, FlowNumber)>,
    aggregates: Members<AggregateKind, EtaAggregate>,
    /// Numbers of aggregates; `None` is the single aggregate of schemes without aggregates.
    aggregate_of: HashMap<Option<Aggregate>, AggregateNumber>,
    tally: Tally,
    /// The share of aggregates, or of microflows if there is only one tier.
    waterline: Waterline,
    /// The sum of all guarantees, in bit/s.
    guaranteed: f64,
    /// The number of guarantees refused.
    n_refused: u64,
    waiting_bytes: u64,
    scheme: PhantomData<S>,
}

impl<S> Default for EtaOrder<S> {
    fn default() -> Self {
        Self {
            calendars: Vec::new(),
            flows: Members::default(),
            flow_of: HashMap::new(),
            deadlines: BTreeSet::new(),
            aggregates: Members::default(),
            aggregate_of: HashMap::new(),
            tally: Tally::default(),
            waterline: Waterline { share: 0.0 },
            guaranteed: 0.0,
            n_refused: 0,
            waiting_bytes: 0,
            scheme: PhantomData,
        }
    }
}

/// The decision about an arriving frame.
enum Test {
    /// It is too early for its microflow, and dropped.
    Early,
    /// Its microflow may send, but it is too early for its aggregate: it is dropped.
    AggregateEarly,
    /// It leaves at this time; the flag says that it was nearly too early, so its sender should be
    /// notified by a mark.
    Accepted(Time, bool),
}

/// Returns how many nanoseconds `bits` take at `rate` bit/s.
fn time_ns(bits: f64, rate: f64) -> u64 {
    (bits * 1e9 / rate) as u64
}

impl<S: Scheme> EtaOrder<S> {
    /// Returns how many share the port.
    fn n_members(&self) -> usize {
        if S::HAS_AGGREGATES {
            self.aggregates.len()
        } else {
            self.flows.len()
        }
    }

    /// Recomputes shares if an interval has passed. `capacity` is the port's rate in bit/s.
    fn update(&mut self, interval: u64, capacity: f64) {
        let Some((used, tally)) = self.tally.end(interval) else {
            return;
        };
        if S::IS_MENDED {
            let waiting = self.waiting_bytes as f64 * 8.0 * 1e9 / INTERVAL_NS as f64;
            return self.waterline.follow(capacity, used, waiting, &tally);
        }
        let members = self.n_members().max(1) as f64;
        self.waterline
            .add(capacity - used, members, capacity / members, capacity);
    }

    /// Recomputes the shares of an aggregate's microflows if an interval has passed.
    fn update_within(&mut self, number: AggregateNumber, interval: u64) {
        let aggregate = &mut self.aggregates[number];
        if let Some((used, tally)) = aggregate.tally.end(interval) {
            let rate = aggregate.rights.rate(self.waterline.share);
            let begin = interval * INTERVAL_NS;
            let ahead = aggregate.eta_ns.saturating_sub(begin) as f64 / INTERVAL_NS as f64;
            aggregate.waterline.follow(rate, used, rate * ahead, &tally);
        }
    }

    /// The rate of a microflow, in bit/s.
    fn rate_of(&self, flow: &EtaFlow) -> f64 {
        let aggregate = &self.aggregates[flow.aggregate];
        let share = self.waterline.share;
        if S::IS_MENDED {
            let most = aggregate.rights.rate(share).max(flow.rights.guaranteed);
            return flow.rights.rate(aggregate.waterline.share).min(most);
        }
        let n_flows = if S::HAS_AGGREGATES {
            aggregate.n_flows.max(1)
        } else {
            1
        };
        share / f64::from(n_flows)
    }

    /// Returns how much earlier than its ETA a microflow's frame may arrive.
    fn tolerance(microflow: &Microflow, rate: f64) -> u64 {
        if !S::HAS_AGGREGATES {
            return 0;
        }
        if !S::IS_MENDED {
            return EARLY_NS;
        }
        let early = if microflow.is_tcp() {
            EARLY_TCP_NS
        } else {
            EARLY_NS
        };
        early.max(time_ns(2.0 * FRAME_BITS, rate))
    }

    /// Decides about a frame that arrives now, and advances the ETA if it is accepted.
    fn test(&mut self, now: u64, number: FlowNumber, is_known: bool, bits: f64) -> Test {
        let flow = &self.flows[number];
        let rate = self.rate_of(flow);
        let flow = &mut self.flows[number];
        let aggregate = &mut self.aggregates[flow.aggregate];
        let all_have = aggregate.rights.rate(self.waterline.share);
        let all_takes = time_ns(bits, all_have);
        let early = Self::tolerance(&flow.microflow, rate);
        let all_early = 2 * Self::tolerance(&flow.microflow, all_have);
        if S::IS_MENDED {
            flow.eta_ns = flow.eta_ns.min(now + early + time_ns(bits, rate));
            aggregate.eta_ns = aggregate.eta_ns.min(now + all_early + all_takes);
        }
        let eta = flow.eta_ns;
        if is_known && now + early <= eta {
            return Test::Early;
        }
        // All new microflows together are treated like one known microflow.
        let is_bounded = S::IS_MENDED && flow.rights.guaranteed == 0.0;
        if is_bounded && now + all_early <= aggregate.eta_ns {
            return Test::AggregateEarly;
        }
        let has_credit = !S::HAS_AGGREGATES || now <= eta + CREDIT_NS;
        let from = if has_credit { eta } else { now };
        flow.eta_ns = from + time_ns(bits, rate);
        aggregate.eta_ns = aggregate.eta_ns.max(now.saturating_sub(CREDIT_NS)) + all_takes;
        flow.leaves_ns = flow.leaves_ns.max(now).max(eta);
        let is_marked = S::IS_MENDED && now + early / 2 < eta;
        Test::Accepted(Time(flow.leaves_ns), is_marked)
    }

    /// Records the decision about a frame for the next computation of shares.
    fn count(&mut self, now: u64, number: FlowNumber, bits: f64, test: &Test) {
        let interval = now / INTERVAL_NS;
        let flow = &mut self.flows[number];
        let aggregate = &mut self.aggregates[flow.aggregate];
        flow.last_ns = now;
        if flow.active_in != interval {
            flow.active_in = interval;
            aggregate.tally.active += flow.rights.weight;
            aggregate.tally.guaranteed += flow.rights.guaranteed;
        }
        if aggregate.active_in != interval {
            aggregate.active_in = interval;
            self.tally.active += aggregate.rights.weight;
            self.tally.guaranteed += aggregate.rights.guaranteed;
        }
        // Each tier counts what has passed its own test, so microflows' shares fall until their
        // aggregate's test drops nothing.
        if !matches!(test, Test::Early) {
            aggregate.tally.accepted_bits += bits;
        }
        if matches!(test, Test::Accepted(..)) {
            self.tally.accepted_bits += bits;
            return;
        }
        if flow.rights.are_capped(aggregate.waterline.share) {
            return;
        }
        if flow.limited_in != interval {
            flow.limited_in = interval;
            aggregate.tally.limited += flow.rights.weight;
        }
        let is_capped = aggregate.rights.are_capped(self.waterline.share);
        if aggregate.limited_in != interval && !is_capped {
            aggregate.limited_in = interval;
            self.tally.limited += aggregate.rights.weight;
        }
    }

    /// The calendar of a priority.
    fn calendar(&mut self, priority: usize) -> &mut Calendar<Accepted> {
        if self.calendars.len() <= priority {
            self.calendars.resize_with(priority + 1, Calendar::default);
        }
        &mut self.calendars[priority]
    }

    /// The index of the calendar whose first frame leaves next: of those with a due frame, the one
    /// of highest priority; otherwise the one whose frame is due first.
    fn next_calendar(&self, now: Time) -> Option<usize> {
        let mut next = None;
        for (priority, calendar) in self.calendars.iter().enumerate() {
            let Some(due) = calendar.due() else { continue };
            let due = due.max(now);
            if next.is_none_or(|(first, _)| due <= first) {
                next = Some((due, priority));
            }
        }
        next.map(|(_, priority)| priority)
    }
}

impl<S: Scheme> FrameOrder for EtaOrder<S> {
    fn push(
        &mut self,
        now: Time,
        mut frame: Frame,
        class: &QueueClass,
        bounds: Bounds,
    ) -> Result<(), DropReason> {
        let (_, bytes) = offload::wire_count(&frame);
        let mut capacity = f64::from(bounds.kbps) * 1e3;
        if bounds.kbps == 0 {
            capacity = f64::INFINITY;
        }
        let microflow = Microflow::in_class(frame.bytes(), class);
        let (number, is_known) = self.flow(now.0, microflow, class, capacity);
        let mut leaves = Time(self.flows[number].leaves_ns).max(now);
        if bounds.kbps > 0 {
            let aggregate = self.flows[number].aggregate;
            self.update(now.0 / INTERVAL_NS, capacity);
            self.update_within(aggregate, now.0 / INTERVAL_NS);
            let bits = bytes as f64 * 8.0;
            let test = self.test(now.0, number, is_known, bits);
            // A frame for which there is no room counts as accepted, since it was not early.
            self.count(now.0, number, bits, &test);
            let Test::Accepted(at, is_marked) = test else {
                return Err(DropReason::TooEarly);
            };
            if is_marked {
                ecn::mark(&mut frame);
            }
            leaves = at;
        }
        let flow = &mut self.flows[number];
        let mut limit = bounds.limit_bytes;
        if flow.rights.guaranteed > 0.0 {
            limit += GUARANTEED_BYTES;
        }
        if self.waiting_bytes + bytes > limit {
            return Err(DropReason::QueueFull);
        }
        self.waiting_bytes += bytes;
        flow.n_waiting += 1;
        flow.waiting_bytes += bytes;
        let priority = flow.priority;
        self.calendar(priority).push(now, leaves, (number, frame));
        Ok(())
    }

    fn pop(&mut self, now: Time) -> Option<Frame> {
        let next = self.next_calendar(now)?;
        let (number, frame) = self.calendars[next].pop()?;
        let (_, bytes) = offload::wire_count(&frame);
        self.waiting_bytes -= bytes;
        let flow = &mut self.flows[number];
        flow.n_waiting -= 1;
        flow.waiting_bytes -= bytes;
        Some(frame)
    }

    fn due(&self) -> Option<Time> {
        let first = self.calendars.iter().filter_map(Calendar::due).min()?;
        Some(if S::IS_MENDED { Time(0) } else { first })
    }

    fn take_frames(&mut self) -> Vec<Frame> {
        // Among a microflow's frames, those of higher priority are older.
        let calendars = core::mem::take(self).calendars.into_iter().rev();
        let all = calendars.flat_map(|mut calendar| calendar.take_all());
        all.map(|(_, frame)| frame).collect()
    }

    fn standing(&self, now: Time, microflow: &Microflow, _: u32) -> Option<Standing> {
        let flow = &self.flows[*self.flow_of.get(microflow)?];
        let aggregate = &self.aggregates[flow.aggregate];
        let rate = self.rate_of(flow);
        let of_all = aggregate.rights.rate(self.waterline.share);
        let guaranteed = flow.rights.guaranteed.max(aggregate.rights.guaranteed);
        let early = Self::tolerance(microflow, rate);
        let eta_ns = flow.eta_ns.saturating_sub(now.0);
        Some(Standing {
            share_kbps: (rate / 1e3) as u64,
            aggregate_kbps: (of_all / 1e3) as u64,
            guaranteed_kbps: (guaranteed / 1e3) as u64,
            eta_ns,
            is_early: eta_ns >= early.max(1),
            waiting_bytes: flow.waiting_bytes,
        })
    }

    fn promised(&self) -> Option<Promised> {
        S::IS_MENDED.then_some(Promised {
            kbps: (self.guaranteed / 1e3) as u64,
            refused: self.n_refused,
        })
    }
}

#[cfg(test)]
mod tests;
