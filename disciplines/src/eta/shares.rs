//! The shares of microflows and aggregates: an integrator of the spare rate of each interval.

use bofuss_datapath::{Entitlement, Time};

/// The interval at which shares are computed.
pub(super) const INTERVAL_NS: u64 = Time::SEC / 10;
/// The standing wait that is not drained. Without it, a frame that is a little late would find the
/// queue empty, and the rate would not be fully used.
const STANDING_NS: u64 = Time::SEC / 100;
/// The least part of a rate that is shared, however many frames wait.
const MIN_CAPACITY: f64 = 0.1;
/// The least share in bit/s, so that no frame takes forever.
const MIN_SHARE: f64 = 1_000.0;

/// Counts of the current interval, and its participants.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The interval, counted from time 0.
    pub(super) interval: u64,
    pub(super) accepted_bits: f64,
    /// The sum of weights of members that sent something, and of those that lost frames for being
    /// early without having reached their maximum.
    pub(super) active: f64,
    pub(super) limited: f64,
    /// The sum of guarantees of members that sent something, in bit/s.
    pub(super) guaranteed: f64,
}

impl Tally {
    /// Ends the interval if it is over. Returns the accepted rate in bit/s, and the tally.
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

/// A rate in bit/s that is shared by weight, and the share of a weight of 1.
#[derive(Debug)]
pub(super) struct Waterline {
    pub(super) share: f64,
}

impl Waterline {
    /// Changes the share by the spare rate per weight of 1 of the participants, within bounds.
    pub(super) fn add(&mut self, spare: f64, weights: f64, least: f64, most: f64) {
        let moved = self.share + spare / weights.max(1.0);
        self.share = moved.clamp(least.min(most), most);
    }

    /// Distributes what is left of `capacity` after `used` and after `waiting`, which drains
    /// waiting frames, among the members that were limited.
    pub(super) fn follow(&mut self, capacity: f64, used: f64, waiting: f64, tally: &Tally) {
        let shared = (capacity - tally.guaranteed).max(MIN_CAPACITY * capacity);
        let standing = capacity * STANDING_NS as f64 / INTERVAL_NS as f64;
        let kept = (waiting - standing).clamp(0.0, (1.0 - MIN_CAPACITY) * shared);
        let least = (shared / tally.active.max(1.0)).max(MIN_SHARE);
        self.add(
            capacity - used - kept,
            tally.limited,
            least,
            capacity.max(MIN_SHARE),
        );
    }
}

/// The rights of a microflow or an aggregate, in bit/s.
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

    /// The rights of a record. A guarantee above `free` bit/s is refused.
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

    /// Returns true if they differ from those of a record.
    pub(super) fn is_other_than(&self, entitlement: &Entitlement) -> bool {
        self.entitlement != *entitlement
    }

    /// Returns true if they are those of this record, including the guarantee.
    pub(super) fn are(&self, entitlement: &Entitlement) -> bool {
        let guaranteed = f64::from(entitlement.guaranteed_kbps) * 1e3;
        self.entitlement == *entitlement && self.guaranteed == guaranteed
    }

    /// The rate that they give if a weight of 1 has this share.
    pub(super) fn rate(&self, share: f64) -> f64 {
        (self.guaranteed + self.weight * share).min(self.max)
    }

    /// Returns true if their maximum limits the rate.
    pub(super) fn are_capped(&self, share: f64) -> bool {
        self.rate(share) == self.max
    }
}
