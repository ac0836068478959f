//! A token bucket that the replicas of a meter share, or the meter and what judges packets outside
//! of the switch.
//!
//! It counts time instead of tokens, as the generic cell rate algorithm does (ITU-T I.371): it is
//! the time up to which the rate has been handed out. So one number is all of it, and replicas need
//! no lock.

use alloc::sync::Arc;
use core::fmt::Debug;
use core::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Where the number of a shared bucket lies.
pub trait BucketPlace: Debug + Send + Sync {
    /// The time up to which the rate of the bucket has been handed out, in nanoseconds.
    fn until(&self) -> &AtomicI64;
}

impl BucketPlace for AtomicI64 {
    fn until(&self) -> &AtomicI64 {
        self
    }
}

/// A bucket of which this is all.
#[derive(Clone, Debug)]
pub(crate) struct SharedBucket(Arc<dyn BucketPlace>);

impl SharedBucket {
    /// A bucket whose rate has been handed out up to this time.
    pub(super) fn new(until: i64) -> Self {
        Self(Arc::new(AtomicI64::new(until)))
    }

    /// The same at a place.
    pub(super) fn at(place: Arc<dyn BucketPlace>, until: i64) -> Self {
        place.until().store(until, Relaxed);
        Self(place)
    }

    /// Returns true if it is at this place.
    pub(super) fn is_at(&self, place: &Arc<dyn BucketPlace>) -> bool {
        Arc::ptr_eq(&self.0, place)
    }

    /// The time up to which its rate has been handed out.
    pub(super) fn until(&self) -> i64 {
        self.0.until().load(Relaxed)
    }

    /// Hands out so many nanoseconds more of its rate, of the past or the future.
    pub(super) fn add(&self, nanos: i64) {
        self.0.until().fetch_add(nanos, Relaxed);
    }

    /// Takes up to `most` nanoseconds of the rate. Returns how many; 0 if there are less than
    /// `least`. Of the past, `depth` nanoseconds at most can be taken.
    pub(super) fn take(&self, now: i64, depth: i64, (least, most): (i64, i64)) -> i64 {
        let mut taken = 0;
        // No other memory depends on this number, so its changes need no order.
        let changed = self.0.until().fetch_update(Relaxed, Relaxed, |until| {
            let from = until.max(now.saturating_sub(depth));
            taken = most.min(now.saturating_sub(from));
            (taken >= least).then(|| from.saturating_add(taken))
        });
        changed.map_or(0, |_| taken)
    }
}

/// A bucket that is used outside of the switch, too.
#[derive(Clone, Debug)]
pub(super) struct OutsideBucket {
    pub(super) shared: SharedBucket,
    /// The time up to which its rate had been handed out when that was read last.
    pub(super) seen: i64,
    /// Tokens for less than a nanosecond, which it has besides.
    pub(super) rest: i64,
}
