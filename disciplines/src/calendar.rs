//! A calendar queue (Brown, 1988): items by the time at which they may leave.

use alloc::{collections::BTreeMap, vec::Vec};

use bofuss_datapath::Time;
use bofuss_datapath::engine::Slab;

use crate::buckets::{Buckets, Links};

/// The length of a slot in nanoseconds.
const SLOT_NS: u64 = 8_000;
/// Words of slots: 16,384 slots, 131 ms.
const SLOT_WORDS: usize = 256;

/// Items in slots of time. Those of one slot leave in the order of arrival, and none leaves before
/// its time.
#[derive(Debug)]
pub(super) struct Calendar<T> {
    slots: Buckets,
    links: Links,
    things: Slab<T>,
    /// Items that leave after the last slot, by slot and order of arrival.
    later: BTreeMap<(u64, u64), T>,
    n_later: u64,
}

impl<T> Default for Calendar<T> {
    fn default() -> Self {
        Self {
            slots: Buckets::new(SLOT_WORDS, SLOT_NS),
            links: Links::new(),
            things: Slab::default(),
            later: BTreeMap::new(),
            n_later: 0,
        }
    }
}

impl<T> Calendar<T> {
    /// Adds an item that may leave at `at`.
    pub(super) fn push(&mut self, now: Time, at: Time, thing: T) {
        if self.slots.first_rank().is_none() {
            self.slots.begin_at(now.0);
            self.refill();
        }
        let start = at.0.next_multiple_of(SLOT_NS);
        if self.slots.reaches(start) {
            self.put_in_slot(start, thing);
        } else {
            self.later.insert((start, self.n_later), thing);
            self.n_later += 1;
        }
    }

    fn put_in_slot(&mut self, start: u64, thing: T) {
        let number = self.things.insert(|_| thing);
        self.slots.push(&mut self.links, start, number);
    }

    /// Returns when the first non-empty slot begins.
    pub(super) fn due(&self) -> Option<Time> {
        let later = self.later.first_key_value().map(|((start, _), _)| *start);
        self.slots.first_rank().or(later).map(Time)
    }

    /// Moves items from `later` into slots once these are near enough, before newer items are added
    /// there.
    fn refill(&mut self) {
        while let Some(entry) = self.later.first_entry() {
            if !self.slots.reaches(entry.key().0) {
                return;
            }
            let ((start, _), thing) = entry.remove_entry();
            self.put_in_slot(start, thing);
        }
    }

    /// Removes and returns the first item.
    pub(super) fn pop(&mut self) -> Option<T> {
        let Some(number) = self.slots.pop(&self.links) else {
            return self.later.pop_first().map(|(_, thing)| thing);
        };
        self.refill();
        self.things.remove(number)
    }

    /// Removes and returns all items, in order.
    pub(super) fn take_all(&mut self) -> Vec<T> {
        core::iter::from_fn(|| self.pop()).collect()
    }
}

#[cfg(test)]
mod tests {
    use bofuss_frame::Pool;

    use super::*;

    #[test]
    fn t15_a_burst_leaves_at_its_rate_within_a_slot() {
        // Frames of 1,000 bytes at 1 Mb/s that arrive at once; the last frames leave after the last
        // slot.
        const FRAMES: u64 = 20;
        const GAP_NS: u64 = 8_000_000;
        for begin in [1, 7_999, 8_000, 123_456_789] {
            let mut calendar = Calendar::default();
            for n in 0..FRAMES {
                calendar.push(Time(begin), Time(begin + n * GAP_NS), n);
            }
            assert!(!calendar.later.is_empty());
            let mut last = None;
            for n in 0..FRAMES {
                let due = calendar.due().expect("it waits").0;
                let wanted = begin + n * GAP_NS;
                assert!(
                    (wanted..wanted + SLOT_NS).contains(&due),
                    "{due}, not {wanted}"
                );
                assert_eq!(calendar.pop(), Some(n));
                let gap = last.map_or(GAP_NS, |last| due - last);
                assert!(gap.abs_diff(GAP_NS) <= SLOT_NS, "{gap} ns");
                last = Some(due);
            }
        }
    }

    #[test]
    fn t15_frames_leave_by_slot_never_early_and_in_order_within_one() {
        let (pool, mut calendar) = (Pool::new(1 << 20), Calendar::default());
        let mut expected = Vec::new();
        for n in 0..200_u64 {
            // Within 400 ms, each time twice.
            let at = n / 2 * 7_919 % 100 * 4_000_000 + n / 2;
            let frame = pool.frame(&n.to_be_bytes()).expect("within the limit");
            calendar.push(Time(0), Time(at), frame);
            expected.push((at.next_multiple_of(SLOT_NS), n));
        }
        expected.sort_unstable();
        for (start, n) in expected {
            assert_eq!(calendar.due(), Some(Time(start)));
            let frame = calendar.pop().expect("it is due");
            assert_eq!(frame.bytes(), n.to_be_bytes());
        }
        assert_eq!(calendar.due(), None);
        // After a long pause the slots begin at the current time.
        let now = Time(9_000_000_000);
        for n in [3, 1, 2] {
            let frame = pool.frame(&[n]).expect("within the limit");
            calendar.push(now, now.after(u64::from(n) * SLOT_NS), frame);
        }
        assert!(calendar.later.is_empty());
        let left = calendar.take_all();
        let left: Vec<u8> = left.iter().map(|frame| frame.bytes()[0]).collect();
        assert_eq!(left, [1, 2, 3]);
    }
}
