//! A bounded memory of what was received recently, to detect duplicates.

use alloc::collections::VecDeque;
use core::hash::Hash;

use bofuss_datapath::Time;
use hashbrown::HashMap;

/// The most items that are remembered; the oldest is forgotten first.
const MAX_REMEMBERED: usize = 4096;

/// Received items, each remembered until its own time.
pub(super) struct Duplicates<T> {
    until: HashMap<T, Time>,
    order: VecDeque<T>,
}

impl<T> Default for Duplicates<T> {
    fn default() -> Self {
        Self {
            until: HashMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<T: Copy + Eq + Hash> Duplicates<T> {
    /// Returns true if this was received.
    pub(super) fn has(&self, now: Time, thing: &T) -> bool {
        self.until.get(thing).is_some_and(|until| *until > now)
    }

    /// Returns true if nothing is remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Remembers it for `ns` nanoseconds.
    pub(super) fn insert(&mut self, now: Time, thing: T, ns: u64) {
        if self.until.insert(thing, now.after(ns)).is_some() {
            return;
        }
        self.order.push_back(thing);
        if self.order.len() > MAX_REMEMBERED {
            let oldest = self.order.pop_front();
            oldest.and_then(|oldest| self.until.remove(&oldest));
        }
    }

    /// Forgets expired items, oldest first.
    pub(super) fn expire(&mut self, now: Time) {
        while let Some(oldest) = self.order.front() {
            if self.has(now, oldest) {
                break;
            }
            self.until.remove(oldest);
            self.order.pop_front();
        }
    }
}

/// The hash by which a frame is recognised: FNV-1a with 64 bits. It only has to distinguish the
/// frames that one host sends within a second.
pub(super) fn digest(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_is_remembered_until_its_time_is_over() {
        let mut seen = Duplicates::default();
        seen.insert(Time(0), 7, 10);
        assert!(seen.has(Time(9), &7));
        assert!(!seen.has(Time(10), &7));
        seen.expire(Time(10));
        assert!(seen.order.is_empty() && seen.until.is_empty());
    }

    #[test]
    fn one_more_than_fit_makes_the_oldest_forgotten() {
        let mut seen = Duplicates::default();
        for number in 0..=MAX_REMEMBERED {
            seen.insert(Time(0), number, 10);
        }
        assert!(!seen.has(Time(1), &0));
        assert!(seen.has(Time(1), &1));
        assert_eq!(seen.until.len(), MAX_REMEMBERED);
    }
}
