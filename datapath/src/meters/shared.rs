//! A token bucket that the replicas of a meter share.
//!
//! It counts time instead of tokens, as the generic cell rate algorithm does (ITU-T I.371): it is
//! the time up to which the rate has been handed out. So one number is all of it, and replicas need
//! no lock.

use alloc::sync::Arc;
use core::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// The time up to which the rate of a bucket has been handed out, in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct SharedBucket(Arc<AtomicI64>);

impl SharedBucket {
    /// A bucket whose rate has been handed out up to this time.
    pub(super) fn new(until: i64) -> Self {
        Self(Arc::new(AtomicI64::new(until)))
    }

    /// The time up to which its rate has been handed out.
    pub(super) fn until(&self) -> i64 {
        self.0.load(Relaxed)
    }

    /// Takes up to `most` nanoseconds of the rate. Returns how many; 0 if there are less than
    /// `least`. Of the past, `depth` nanoseconds at most can be taken.
    pub(super) fn take(&self, now: i64, depth: i64, (least, most): (i64, i64)) -> i64 {
        let mut taken = 0;
        // No other memory depends on this number, so its changes need no order.
        let changed = self.0.fetch_update(Relaxed, Relaxed, |until| {
            let from = until.max(now.saturating_sub(depth));
            taken = most.min(now.saturating_sub(from));
            (taken >= least).then(|| from.saturating_add(taken))
        });
        changed.map_or(0, |_| taken)
    }
}
