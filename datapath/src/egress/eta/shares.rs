//! What microflows and aggregates may have: an integrator on what was to spare in each interval.

use crate::{Entitlement, Time};

/// How often shares are computed.
pub(super) const INTERVAL_NS: u64 = Time::SEC / 10;
/// The wait that is not drained: without any, what comes a little late finds nothing to send before
/// it, and is lost to the use of the rate.
const STANDING_NS: u64 = Time::SEC / 100;
/// The least part of a rate that is shared, however much waits.
const MIN_CAPACITY: f64 = 0.1;
/// The least share in bit/s, so that no frame takes for ever.
const MIN_SHARE: f64 = 1_000.0;

/// What happened in the interval that goes on, and who takes part.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The interval, counted from time 0.
    pub(super) interval: u64,
    pub(super) accepted_bits: f64,
    /// The weights of members that sent something, and of those that lost frames for being early
    /// though they had not come to their maximum.
    pub(super) active: f64,
    pub(super) limited: f64,
    /// What those that sent something are guaranteed, in bit/s.
    pub(super) guaranteed: f64,
}

impl Tally {
    /// Ends the interval if it is over: what was accepted in bit/s, and the tally.
    pub(super) fn end(&mut self, interval: u64) -> Option<(f64, Self)> {
        let passed = interval - self.interval;
        if passed == 0 {
            return None;
        }
        let seconds = (passed * INTERVAL_NS) as f64 / 1e9;
        let fresh = Self {
            interval,
            ..Self::default()
        };
        let ended = core::mem::replace(self, fresh);
        Some((ended.accepted_bits / seconds, ended))
    }
}

/// A rate in bit/s that is shared by weight, and what a weight of 1 has of it.
#[derive(Debug)]
pub(super) struct Waterline {
    pub(super) share: f64,
}

impl Waterline {
    /// Moves by what was to spare for each weight of 1 that takes part, within its bounds.
    pub(super) fn add(&mut self, spare: f64, weights: f64, least: f64, most: f64) {
        let moved = self.share + spare / weights.max(1.0);
        self.share = moved.clamp(least.min(most), most);
    }

    /// Moves by what was left of a rate of `capacity` after `used`, of which `waiting` is kept for
    /// what waits, to those that were limited.
    pub(super) fn follow(&mut self, capacity: f64, used: f64, waiting: f64, tally: &Tally) {
        let shared = (capacity - tally.guaranteed).max(MIN_CAPACITY * capacity);
        let standing = capacity * STANDING_NS as f64 / INTERVAL_NS as f64;
        let kept = (waiting - standing).clamp(0.0, (1.0 - MIN_CAPACITY) * shared);
        let least = (shared / tally.active.max(1.0)).max(MIN_SHARE);
        self.add(capacity - used - kept, tally.limited, least, capacity.max(MIN_SHARE));
    }
}

/// What a microflow or an aggregate is entitled to, in bit/s.
#[derive(Debug)]
pub(super) struct Rights {
    entitlement: Entitlement,
    pub(super) weight: f64,
    pub(super) guaranteed: f64,
    max: f64,
}

impl Rights {
    pub(super) const DEFAULT: Self = Self {
        entitlement: Entitlement::DEFAULT,
        weight: 1.0,
        guaranteed: 0.0,
        max: f64::INFINITY,
    };

    /// Those of a record. A guarantee that exceeds `free` bit/s is none.
    pub(super) fn of(entitlement: &Entitlement, free: f64) -> Self {
        let guaranteed = f64::from(entitlement.guaranteed_kbps) * 1e3;
        let max = f64::from(entitlement.max_kbps) * 1e3;
        Self {
            entitlement: *entitlement,
            weight: entitlement.weight.max(1).into(),
            guaranteed: if guaranteed <= free { guaranteed } else { 0.0 },
            max: if max > 0.0 { max } else { f64::INFINITY },
        }
    }

    /// Whether they are those of another record.
    pub(super) fn is_other_than(&self, entitlement: &Entitlement) -> bool {
        self.entitlement != *entitlement
    }

    /// Whether they are those of this record, with the guarantee.
    pub(super) fn are(&self, entitlement: &Entitlement) -> bool {
        let guaranteed = f64::from(entitlement.guaranteed_kbps) * 1e3;
        self.entitlement == *entitlement && self.guaranteed == guaranteed
    }

    /// What they come to where a weight of 1 has this share.
    pub(super) fn rate(&self, share: f64) -> f64 {
        (self.guaranteed + self.weight * share).min(self.max)
    }

    /// Whether it is their maximum that bounds them.
    pub(super) fn are_capped(&self, share: f64) -> bool {
        self.rate(share) == self.max
    }
}
