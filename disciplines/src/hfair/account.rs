//! The account of a microflow or an aggregate: the service it has had, and its rights.

use bofuss_datapath::egress::Pace;
use bofuss_datapath::{Entitlement, Time};

use crate::numbers::{AggregateNumber, FlowNumber};
use crate::single_queue::BUFFER_MS;

/// The burst of a guaranteed rate in bytes, and what may wait for the smallest maximum: two
/// full-size Ethernet frames, so that jitter does no harm.
const BURST_BYTES: u64 = 2 * 1_514;
/// The least time by which frames of a guaranteed rate may be ahead of its clock.
const MIN_BURST_NS: u64 = Time::SEC / 50;

/// Whoever has an account: a microflow or an aggregate, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Contender {
    Flow(FlowNumber),
    Aggregate(AggregateNumber),
}

/// The right by which a frame is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    /// By shares: the microflow's in its aggregate, and the aggregate's at the port.
    Share,
    /// By the aggregate's guaranteed rate.
    OfAggregate,
    /// By the microflow's guaranteed rate.
    OfFlow,
}

/// The account of a contender.
#[derive(Debug, Default)]
pub(super) struct Account {
    entitlement: Entitlement,
    /// The virtual start time: bytes that it has had by its share, divided by its weight, as if it
    /// had begun together with the first of its siblings.
    pub(super) start: u64,
    /// The remainder of the last division by the weight.
    rest: u64,
    /// The size of its waiting frames.
    pub(super) size: u64,
    min: Pace,
    max: Pace,
    /// From when on its guaranteed rate is due, if it waits for that.
    pub(super) owed_from: Option<Time>,
    /// True if it has reached its maximum and waits for the maximum's clock.
    pub(super) is_paused: bool,
}

impl Account {
    /// The account of a new member, which begins where others are.
    pub(super) fn beginning_at(start: u64) -> Self {
        Self {
            start,
            ..Self::default()
        }
    }

    /// Sets its rights. `free_kbps` is the part of the port's rate that is not guaranteed to
    /// others; a greater guarantee is refused. Returns true if the rights changed.
    pub(super) fn entitle(&mut self, now: Time, rights: &Entitlement, free_kbps: u64) -> bool {
        let before = core::mem::replace(&mut self.entitlement, *rights);
        let mut guaranteed = rights.guaranteed_kbps;
        if u64::from(guaranteed) > free_kbps {
            guaranteed = 0;
        }
        self.min.set(now, guaranteed);
        self.max.set(now, rights.max_kbps);
        before != *rights
    }

    /// Returns true if its rights are these, and it has the guarantee among them.
    pub(super) fn has(&self, rights: &Entitlement) -> bool {
        self.entitlement == *rights && self.min.kbps == rights.guaranteed_kbps
    }

    /// Its weight among its siblings; at least 1.
    fn weight(&self) -> u64 {
        self.entitlement.weight.max(1).into()
    }

    /// The rate that it is guaranteed, in kb/s.
    pub(super) fn guaranteed_kbps(&self) -> u64 {
        self.min.kbps.into()
    }

    /// Notes that it becomes backlogged; unused time of its maximum is not saved.
    pub(super) fn begin(&mut self, now: Time) {
        self.max.begin(now);
    }

    /// Counts a frame that leaves, by its share or by its guarantee.
    pub(super) fn charge(&mut self, now: Time, bytes: u64, is_guaranteed: bool) {
        self.max.charge(now, bytes);
        if is_guaranteed {
            self.min.charge(now, bytes);
            return;
        }
        let weight = self.weight();
        let had = bytes + self.rest;
        self.start += had / weight;
        self.rest = had % weight;
    }

    /// Returns when its maximum next allows it to send.
    pub(super) fn may_send_from(&self) -> Time {
        self.max.due
    }

    /// Returns true if its maximum forbids it to send.
    pub(super) fn is_capped(&self, now: Time) -> bool {
        self.max.kbps > 0 && self.max.due > now
    }

    /// Returns how many of its bytes may wait: those that its maximum lets pass in the time that a
    /// full buffer takes to send.
    pub(super) fn most_waiting(&self) -> u64 {
        if self.max.kbps == 0 {
            return u64::MAX;
        }
        (u64::from(self.max.kbps) * BUFFER_MS / 8).max(BURST_BYTES)
    }

    /// Returns when its next frame may leave by its guarantee.
    pub(super) fn guaranteed_from(&self) -> Time {
        let burst = self.min.duration_ns(BURST_BYTES).max(MIN_BURST_NS);
        Time(self.min.due.0.saturating_sub(burst))
    }

    /// Returns true if one more frame is within its guarantee, even if others of its own wait.
    pub(super) fn is_within_guarantee(&self, now: Time) -> bool {
        let waiting = self.min.duration_ns(self.size);
        self.min.kbps > 0 && self.guaranteed_from().after(waiting) <= now
    }

    /// Until when its past service matters.
    pub(super) fn matters_until(&self) -> Time {
        self.min.due.max(self.max.due)
    }
}

/// Backlogged siblings: the sum of their weights, and of their guarantees.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WaitingSiblings {
    weights: u64,
    guaranteed_kbps: u64,
}

/// A size of waiting frames after a change. Panics: more leaves than was there.
pub(super) fn resized(size: u64, by: i64) -> u64 {
    let resized = size.checked_add_signed(by);
    resized.expect("what leaves was there")
}

impl WaitingSiblings {
    /// Adds a member, if it is backlogged.
    pub(super) fn add(&mut self, member: &Account) {
        if member.size > 0 {
            self.weights += member.weight();
            self.guaranteed_kbps += member.guaranteed_kbps();
        }
    }

    /// Removes a member, if it is backlogged. Its account must be unchanged since it was added.
    pub(super) fn remove(&mut self, member: &Account) {
        if member.size > 0 {
            self.weights -= member.weight();
            self.guaranteed_kbps -= member.guaranteed_kbps();
        }
    }

    /// Changes the size of a member's waiting frames.
    pub(super) fn resize(&mut self, member: &mut Account, by: i64) {
        self.remove(member);
        member.size = resized(member.size, by);
        self.add(member);
    }

    /// The rate of a member in kb/s if it and all of these share `kbps`: its guarantee, and by
    /// weight a part of what is not guaranteed.
    pub(super) fn share_kbps(&self, kbps: u64, member: &Account) -> u64 {
        let mut weights = self.weights;
        let mut guaranteed = self.guaranteed_kbps;
        if member.size == 0 {
            weights += member.weight();
            guaranteed += member.guaranteed_kbps();
        }
        let free = kbps.saturating_sub(guaranteed);
        let share = member.guaranteed_kbps() + free * member.weight() / weights;
        if member.max.kbps > 0 {
            return share.min(member.max.kbps.into());
        }
        share
    }
}
