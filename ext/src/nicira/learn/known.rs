//! Which entries were learned last, so that packets that teach nothing new cost little.

use alloc::{boxed::Box, vec::Vec};

use bofuss_datapath::Time;
use hashbrown::HashMap;

use super::Learn;

/// The most entries that are known; then all are forgotten.
const MAX_KNOWN: usize = 16384;
/// A hard timeout begins anew with packets at least this long after one another, or an eighth of
/// it.
const RENEWAL_NS: u64 = Time::SEC;

/// The values of packets that have made entries which are still there, and when.
///
/// Invariant: nothing has changed these entries since then, but for what counts.
#[derive(Default)]
pub(in crate::nicira) struct KnownEntries {
    by_action: HashMap<Learn, HashMap<Box<[u128]>, Time>>,
    count: usize,
}

impl KnownEntries {
    /// Returns true if a packet with these values would change nothing.
    pub(in crate::nicira) fn has(&self, learn: &Learn, values: &[u128], now: Time) -> bool {
        let learned = self
            .by_action
            .get(learn)
            .and_then(|known| known.get(values));
        learned.is_some_and(|at| {
            let hard_ns = u64::from(learn.hard_timeout) * Time::SEC;
            hard_ns == 0 || now.since(*at) < RENEWAL_NS.min(hard_ns / 8)
        })
    }

    /// Notes that a packet with these values has made its entry.
    pub(in crate::nicira) fn note(&mut self, learn: Learn, values: Vec<u128>, now: Time) {
        if self.count >= MAX_KNOWN {
            self.forget();
        }
        let known = self.by_action.entry(learn).or_default();
        let is_new = known.insert(values.into(), now).is_none();
        self.count += usize::from(is_new);
    }

    /// Forgets all.
    pub(in crate::nicira) fn forget(&mut self) {
        if self.count > 0 {
            *self = Self::default();
        }
    }
}
