//! Fair shares without a queue for each microflow: BETA and CETA of OpenQFlow, and CETA repaired.
//!
//! A frame that comes before its microflow may send again is dropped at once: the *expected time of
//! arrival* (ETA) moves on, with each frame that is accepted, by the time that the frame takes at
//! the microflow's share. Frames that are accepted leave by a calendar. The share follows from what
//! the port has to spare, ten times a second. Source: OpenQFlow (Ko and others, 2013), equations 1
//! to 6 and algorithm 1.

use alloc::vec::Vec;
use core::marker::PhantomData;

use bofuss_frame::Frame;
use bofuss_packet::offload;
use hashbrown::HashMap;

use crate::Time;
use crate::egress::calendar::Calendar;
use crate::egress::microflow::{Aggregate, Microflow};
use crate::egress::single_queue::{FrameOrder, SingleQueue};
use crate::slab::Slab;

/// How often shares are computed.
const INTERVAL_NS: u64 = Time::SEC / 10;
/// How much earlier than its ETA a frame may come, and how much credit a late one leaves.
const EARLY_NS: u64 = Time::SEC / 50;
const CREDIT_NS: u64 = Time::SEC / 50;
/// How early a segment of TCP may come in CETA2, which else loses what a window sends at once.
const EARLY_TCP_NS: u64 = Time::SEC / 10;
/// The longest frame of Ethernet's usual size, in bits.
const FRAME_BITS: f64 = 8.0 * 1_514.0;
/// How long a microflow without frames is known.
const IDLE_NS: u64 = 10 * Time::SEC;
/// Microflows that are known at most; the one that is looked at next makes room.
const MAX_FLOWS: usize = 1 << 16;
/// The least part of the port's rate that is shared, however much waits.
const MIN_CAPACITY: f64 = 0.1;
/// Why a number that is kept somewhere has something behind it.
const KNOWN: &str = "a number that is kept is that of something known";

/// What a scheme does.
pub(crate) trait Scheme: core::fmt::Debug {
    /// Aggregates share the port, and microflows their aggregate; else microflows the port.
    const HAS_AGGREGATES: bool;
    /// The paper's algorithm is mended: an aggregate's microflows share what it has as aggregates
    /// do the port, those that send nothing do not count, shares grow by what those are short of
    /// that lose frames, an aggregate's new microflows are not free, a share that was small for a
    /// moment does no harm later, what waits is drained, and no frame waits while the port is idle.
    const IS_MENDED: bool;
}

/// One tier: each microflow has the same.
#[derive(Debug)]
pub(crate) struct OneTier;

impl Scheme for OneTier {
    const HAS_AGGREGATES: bool = false;
    const IS_MENDED: bool = false;
}

/// Two tiers, to the letter of the paper but for microflows that are forgotten when idle.
#[derive(Debug)]
pub(crate) struct TwoTiers;

impl Scheme for TwoTiers {
    const HAS_AGGREGATES: bool = true;
    const IS_MENDED: bool = false;
}

/// Two tiers, mended.
#[derive(Debug)]
pub(crate) struct TwoTiersMended;

impl Scheme for TwoTiersMended {
    const HAS_AGGREGATES: bool = true;
    const IS_MENDED: bool = true;
}

/// The disciplines.
pub(crate) type Beta = SingleQueue<EtaOrder<OneTier>>;
pub(crate) type Ceta = SingleQueue<EtaOrder<TwoTiers>>;
pub(crate) type Ceta2 = SingleQueue<EtaOrder<TwoTiersMended>>;

/// What happened in the interval that goes on, and how many take part.
#[derive(Debug, Default)]
struct Tally {
    /// The interval, counted from time 0.
    interval: u64,
    accepted_bits: f64,
    /// Members that sent something, and those that lost frames for being early.
    n_active: u32,
    n_limited: u32,
}

#[derive(Debug)]
struct EtaFlow {
    microflow: Microflow,
    aggregate: u32,
    eta_ns: u64,
    /// When its last frame leaves: no later one does before.
    leaves_ns: u64,
    last_ns: u64,
    /// The last intervals in which it sent, and in which it lost a frame for being early.
    active_in: u64,
    limited_in: u64,
}

#[derive(Debug)]
struct EtaAggregate {
    key: Option<Aggregate>,
    n_flows: u32,
    eta_ns: u64,
    active_in: u64,
    limited_in: u64,
    tally: Tally,
    /// What each of its microflows may have, in bit/s.
    share: f64,
}

/// The frames that were accepted, and what decides that.
#[derive(Debug)]
pub(crate) struct EtaOrder<S> {
    calendar: Calendar,
    flows: Slab<EtaFlow>,
    flow_of: HashMap<Microflow, u32>,
    /// The slot of the microflow that is looked at next, whether it is idle.
    looked_at: u32,
    aggregates: Slab<EtaAggregate>,
    /// `None` is the one aggregate of all microflows.
    aggregate_of: HashMap<Option<Aggregate>, u32>,
    tally: Tally,
    /// What each aggregate may have, in bit/s; if there is one tier, each microflow.
    share: f64,
    waiting_bytes: u64,
    scheme: PhantomData<S>,
}

impl<S> Default for EtaOrder<S> {
    fn default() -> Self {
        Self {
            calendar: Calendar::default(),
            flows: Slab::default(),
            flow_of: HashMap::new(),
            looked_at: 0,
            aggregates: Slab::default(),
            aggregate_of: HashMap::new(),
            tally: Tally::default(),
            share: 0.0,
            waiting_bytes: 0,
            scheme: PhantomData,
        }
    }
}

/// A share that moves by `spare` bit/s for each of `count`, within its bounds.
fn moved(share: f64, spare: f64, count: u32, least: f64, most: f64) -> f64 {
    (share + spare / f64::from(count.max(1))).clamp(least.min(most), most)
}

/// The time of so many bits at a rate of bit/s, in nanoseconds.
fn time_ns(bits: f64, rate: f64) -> u64 {
    (bits * 1e9 / rate) as u64
}

impl<S: Scheme> EtaOrder<S> {
    /// How many share the port.
    fn n_members(&self) -> usize {
        if S::HAS_AGGREGATES {
            self.aggregates.len()
        } else {
            self.flows.len()
        }
    }

    /// Computes shares anew where an interval has passed. `capacity` is the port's rate in bit/s.
    fn update(&mut self, interval: u64, capacity: f64) {
        let mut members = self.n_members() as u32;
        if S::IS_MENDED {
            members = self.tally.n_active;
        }
        let least = capacity / f64::from(members.max(1));
        let passed = interval - self.tally.interval;
        if passed == 0 {
            return;
        }
        let seconds = (passed * INTERVAL_NS) as f64 / 1e9;
        let mut spare = capacity - self.tally.accepted_bits / seconds;
        let mut count = members;
        if S::IS_MENDED {
            let drained = self.waiting_bytes as f64 * 8.0 * 1e9 / INTERVAL_NS as f64;
            spare -= drained.min((1.0 - MIN_CAPACITY) * capacity);
            count = self.tally.n_limited;
        }
        self.share = moved(self.share, spare, count, least, capacity);
        self.tally = Tally {
            interval,
            ..Tally::default()
        };
    }

    /// Computes the shares of an aggregate's microflows anew where an interval has passed.
    fn update_within(&mut self, number: u32, interval: u64) {
        let aggregate = self.aggregates.get_mut(number).expect(KNOWN);
        let tally = &aggregate.tally;
        let passed = interval - tally.interval;
        if passed == 0 {
            return;
        }
        let seconds = (passed * INTERVAL_NS) as f64 / 1e9;
        let spare = self.share - tally.accepted_bits / seconds;
        let least = self.share / f64::from(tally.n_active.max(1));
        aggregate.share = moved(aggregate.share, spare, tally.n_limited, least, self.share);
        aggregate.tally = Tally {
            interval,
            ..Tally::default()
        };
    }

    /// What a microflow of an aggregate may have, in bit/s.
    fn share_of(&self, aggregate: u32) -> f64 {
        let aggregate = self.aggregates.get(aggregate).expect(KNOWN);
        match (S::IS_MENDED, S::HAS_AGGREGATES) {
            (true, _) => aggregate.share.min(self.share),
            (false, true) => self.share / f64::from(aggregate.n_flows.max(1)),
            (false, false) => self.share,
        }
    }

    /// The number of a microflow, and whether it was known.
    fn flow(&mut self, now: u64, microflow: Microflow, capacity: f64) -> (u32, bool) {
        if let Some(number) = self.flow_of.get(&microflow) {
            return (*number, true);
        }
        for _ in 0..2 {
            self.look_at_next(now);
        }
        let members = self.n_members();
        let key = S::HAS_AGGREGATES.then(|| microflow.aggregate());
        let aggregate = match self.aggregate_of.get(&key) {
            Some(number) => *number,
            None => self.add_aggregate(key),
        };
        self.aggregates.get_mut(aggregate).expect(KNOWN).n_flows += 1;
        let number = self.flows.insert(|_| EtaFlow {
            microflow,
            aggregate,
            eta_ns: now,
            leaves_ns: now,
            last_ns: now,
            active_in: u64::MAX,
            limited_in: u64::MAX,
        });
        self.flow_of.insert(microflow, number);
        if self.n_members() > members {
            // What a new member gets, the others have less.
            let before = if members == 0 { capacity } else { self.share * members as f64 };
            self.share = before / (members + 1) as f64;
        }
        (number, false)
    }

    fn add_aggregate(&mut self, key: Option<Aggregate>) -> u32 {
        let number = self.aggregates.insert(|_| EtaAggregate {
            key,
            n_flows: 0,
            eta_ns: 0,
            active_in: u64::MAX,
            limited_in: u64::MAX,
            tally: Tally::default(),
            share: f64::INFINITY,
        });
        self.aggregate_of.insert(key, number);
        number
    }

    /// Forgets the next microflow if it is idle, or if there are too many.
    fn look_at_next(&mut self, now: u64) {
        let next = self.flows.used(self.looked_at).or_else(|| self.flows.used(0));
        let Some(number) = next else { return };
        self.looked_at = number + 1;
        let flow = self.flows.get(number).expect(KNOWN);
        if now.saturating_sub(flow.last_ns) < IDLE_NS && self.flows.len() < MAX_FLOWS {
            return;
        }
        let flow = self.flows.remove(number).expect(KNOWN);
        self.flow_of.remove(&flow.microflow);
        let aggregate = self.aggregates.get_mut(flow.aggregate).expect(KNOWN);
        aggregate.n_flows -= 1;
        if aggregate.n_flows == 0 {
            self.aggregate_of.remove(&aggregate.key);
            self.aggregates.remove(flow.aggregate);
        }
    }

    /// Whether a frame may come now, and if so when it leaves; the ETA moves on.
    fn accepts(&mut self, now: u64, number: u32, is_known: bool, bits: f64) -> Option<Time> {
        let flow = self.flows.get(number).expect(KNOWN);
        let rate = self.share_of(flow.aggregate);
        let flow = self.flows.get_mut(number).expect(KNOWN);
        let aggregate = self.aggregates.get_mut(flow.aggregate).expect(KNOWN);
        let all_takes = time_ns(bits, self.share);
        let mut early = if S::HAS_AGGREGATES { EARLY_NS } else { 0 };
        if S::IS_MENDED {
            if flow.microflow.is_tcp() {
                early = EARLY_TCP_NS;
            }
            early = early.max(time_ns(2.0 * FRAME_BITS, rate));
            flow.eta_ns = flow.eta_ns.min(now + early + time_ns(bits, rate));
            aggregate.eta_ns = aggregate.eta_ns.min(now + 2 * early + all_takes);
        }
        let eta = flow.eta_ns;
        let mut is_early = is_known && now + early <= eta;
        if S::IS_MENDED {
            // Many new microflows are as good as one that is known.
            is_early |= now + 2 * early <= aggregate.eta_ns;
        }
        if is_early {
            return None;
        }
        let has_credit = !S::HAS_AGGREGATES || now <= eta + CREDIT_NS;
        let from = if has_credit { eta } else { now };
        flow.eta_ns = from + time_ns(bits, rate);
        aggregate.eta_ns = aggregate.eta_ns.max(now.saturating_sub(CREDIT_NS)) + all_takes;
        flow.leaves_ns = flow.leaves_ns.max(now).max(eta);
        Some(Time(flow.leaves_ns))
    }

    /// Notes for the next shares what became of a frame.
    fn count(&mut self, now: u64, number: u32, accepted_bits: Option<f64>) {
        let interval = now / INTERVAL_NS;
        let flow = self.flows.get_mut(number).expect(KNOWN);
        let aggregate = self.aggregates.get_mut(flow.aggregate).expect(KNOWN);
        flow.last_ns = now;
        if flow.active_in != interval {
            flow.active_in = interval;
            aggregate.tally.n_active += 1;
        }
        if aggregate.active_in != interval {
            aggregate.active_in = interval;
            self.tally.n_active += 1;
        }
        if let Some(bits) = accepted_bits {
            aggregate.tally.accepted_bits += bits;
            self.tally.accepted_bits += bits;
            return;
        }
        if flow.limited_in != interval {
            flow.limited_in = interval;
            aggregate.tally.n_limited += 1;
        }
        if aggregate.limited_in != interval {
            aggregate.limited_in = interval;
            self.tally.n_limited += 1;
        }
    }
}

impl<S: Scheme> FrameOrder for EtaOrder<S> {
    fn push(&mut self, now: Time, frame: Frame, kbps: u32, limit: u64) -> bool {
        let (_, bytes) = offload::wire_count(&frame);
        let has_room = self.waiting_bytes + bytes <= limit;
        let mut leaves = now;
        if kbps > 0 {
            let (capacity, bits) = (f64::from(kbps) * 1e3, bytes as f64 * 8.0);
            let microflow = Microflow::of(frame.bytes());
            let (number, is_known) = self.flow(now.0, microflow, capacity);
            let aggregate = self.flows.get(number).expect(KNOWN).aggregate;
            self.update(now.0 / INTERVAL_NS, capacity);
            self.update_within(aggregate, now.0 / INTERVAL_NS);
            let accepted = self.accepts(now.0, number, is_known, bits);
            // What finds no room counts: it was not early.
            self.count(now.0, number, accepted.map(|_| bits));
            let Some(at) = accepted else { return false };
            leaves = at;
        }
        if has_room {
            self.waiting_bytes += bytes;
            self.calendar.push(now, leaves, frame);
        }
        has_room
    }

    fn pop(&mut self, _: Time) -> Option<Frame> {
        let frame = self.calendar.pop()?;
        let (_, bytes) = offload::wire_count(&frame);
        self.waiting_bytes -= bytes;
        Some(frame)
    }

    fn due(&self) -> Option<Time> {
        let slot = self.calendar.due()?;
        Some(if S::IS_MENDED { Time(0) } else { slot })
    }

    fn take_frames(&mut self) -> Vec<Frame> {
        self.waiting_bytes = 0;
        self.calendar.take_frames()
    }
}

#[cfg(test)]
mod tests;
