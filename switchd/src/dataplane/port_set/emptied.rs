//! Sends all that waits for ports, before another worker sends later frames of the same flows; and
//! what is dropped instead.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use bofuss_oflib::PortNo;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::PortSet;

/// The time after which a port is asked again whether it has room, also if nothing says so.
const LONGEST_WAIT: Duration = Duration::from_millis(1);

impl PortSet {
    /// Counts a frame that a port drops because it has no link.
    pub fn drop_unlinked(&mut self, number: PortNo) {
        if let Some(slot) = self.slots.get_mut(&number) {
            slot.overflowed += 1;
        }
    }

    /// Sends all that waits for ports, and waits for room until `end`. What waits then is dropped
    /// as from a full queue: what another worker sends later must not overtake it.
    pub fn empty_until(&mut self, end: Instant) {
        while !self.send_all() && self.waits_for_room(end) {}
        for slot in self.slots.values_mut() {
            slot.overflowed += slot.queued.drain(..).count() as u64;
        }
    }

    /// Waits until a port whose frames wait may have room. Returns false if it is the end.
    fn waits_for_room(&self, end: Instant) -> bool {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        let full = self.slots.values().filter(|slot| !slot.queued.is_empty());
        let fds: Vec<BorrowedFd<'_>> = full.filter_map(|slot| slot.port.driver.fd()).collect();
        let polled = fds.iter().map(|fd| PollFd::new(fd, PollFlags::OUT));
        let mut polled: Vec<PollFd<'_>> = polled.collect();
        let wait = Timespec {
            tv_sec: 0,
            tv_nsec: left.min(LONGEST_WAIT).subsec_nanos().into(),
        };
        // If it fails, there is no harm in asking too early.
        let _ = poll(&mut polled, Some(&wait));
        true
    }
}
