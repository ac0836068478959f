//! Frames of a flow keep their order, and none sees an old entry after another has seen a new one,
//! while workers receive without pause, entries change and flows move to other workers. A worker
//! that fails is noticed, and one that is busy holds no other up.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use bofuss_agent::FailMode;
use bofuss_datapath::{Config, Time};
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;
use bofuss_workers::{Fault, Share, Source, Workers};

use crate::common::endless::{Numbered, change_entries};
use crate::common::{frame, switch};

const ROUNDS: u32 = 300;

#[test]
fn no_frame_overtakes_another_while_entries_and_dispatch_change() {
    let numbered = Numbered::new(16, 200_000);
    drop(change_entries(&numbered, 3, ROUNDS));
    let last_change = numbered.assert_in_order();
    assert!(last_change > ROUNDS / 2, "frames came during the changes");
}

/// Receives nothing; then it fails, or stops answering until it is released.
struct Failing {
    panics: bool,
    is_on: Arc<AtomicBool>,
    released: Arc<AtomicBool>,
}

impl Source for Failing {
    fn receive(&mut self, share: &Share, _: &Pool, _: &mut Vec<Frame>) -> Option<(Time, PortNo)> {
        if share.worker == 1 && self.is_on.load(Relaxed) {
            assert!(!self.panics, "the source fails, as the test wants");
            while !self.released.load(Relaxed) {
                std::thread::yield_now();
            }
        }
        None
    }
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
}

/// The fault of the first call after worker 1 has failed, and that of the second.
fn faults(panics: bool) -> [Result<(), Fault>; 2] {
    let is_on = Arc::new(AtomicBool::new(false));
    let released = Arc::new(AtomicBool::new(false));
    let make = {
        let (is_on, released) = (is_on.clone(), released.clone());
        let catalogue = Arc::new(bofuss_ext::catalogue());
        move |_| {
            let source = Failing {
                panics,
                is_on: is_on.clone(),
                released: released.clone(),
            };
            let config = Config::default();
            (switch(&config, &catalogue, FailMode::Secure), source)
        }
    };
    let mut workers = Workers::start(2, make).unwrap();
    assert_eq!(workers.tick(Time(1)), Ok(()));
    is_on.store(true, Relaxed);
    workers.wake(1);
    std::thread::sleep(std::time::Duration::from_millis(100));
    let results = [workers.tick(Time(2)), workers.tick(Time(3))];
    released.store(true, Relaxed);
    results
}

#[test]
fn a_worker_that_ends_is_noticed() {
    let gone = Err(Fault::Gone(1));
    assert_eq!(faults(true), [gone, Err(Fault::Gone(0))]);
}

#[test]
fn a_worker_that_stalls_is_noticed() {
    let stalled = Err(Fault::Stalled(1));
    assert_eq!(faults(false), [stalled, Err(Fault::Gone(0))]);
}

/// Worker 1 is in a burst until it is released; the others have frames without end.
struct Busy {
    released: Arc<AtomicBool>,
    /// The frames of worker 0.
    received: Arc<AtomicU32>,
}

impl Source for Busy {
    fn receive(
        &mut self,
        share: &Share,
        pool: &Pool,
        frames: &mut Vec<Frame>,
    ) -> Option<(Time, PortNo)> {
        if share.worker == 1 {
            while !self.released.load(Relaxed) {
                std::thread::yield_now();
            }
            return None;
        }
        frames.push(pool.frame(&frame(0, 0)).unwrap());
        self.received.fetch_add(1, Relaxed);
        Some((Time(1), PortNo(1)))
    }
    fn transmit(&mut self, _: PortNo, _: QueueId, _: Frame) {}
}

#[test]
fn a_busy_worker_holds_no_other_up() {
    let released = Arc::new(AtomicBool::new(true));
    let received = Arc::new(AtomicU32::new(0));
    let make = {
        let (released, received) = (released.clone(), received.clone());
        let catalogue = Arc::new(bofuss_ext::catalogue());
        move |_| {
            let source = Busy {
                released: released.clone(),
                received: received.clone(),
            };
            let config = Config::default();
            (switch(&config, &catalogue, FailMode::Secure), source)
        }
    };
    let mut workers = Workers::start(2, make).unwrap();
    released.store(false, Relaxed);
    workers.wake(1);
    let before = received.load(Relaxed);
    while received.load(Relaxed) < before + 10_000 {
        std::thread::yield_now();
    }
    released.store(true, Relaxed);
    assert_eq!(workers.tick(Time(2)), Ok(()));
}
