//! Frames of a flow keep their order, and none sees an old entry after another has seen a new one,
//! while workers receive without pause, entries change and flows move to other workers.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use bofuss_agent::FailMode;
use bofuss_datapath::{Config, Time};
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Message, PortNo, Version};
use bofuss_workers::{Dispatch, Fault, Share, Source, Workers};
use common::{CONN, flow_and_number, flow_mod, frame, port, switch};

const FLOWS: u16 = 16;
const ROUNDS: u32 = 300;
const BURST: usize = 8;
/// No worker receives more than so many frames.
const MAX_FRAMES: usize = 200_000;

/// A frame that left: its flow, its number, and the number of the change that it has seen.
type Left = (u16, u32, u32);

/// Receives the next frames of flows of its share without pause, with times of one clock.
struct Endless {
    clock: Arc<AtomicU32>,
    /// The number of the next frame of each flow, whichever worker receives it.
    next: Arc<[AtomicU32]>,
    left: Arc<Mutex<Vec<Left>>>,
    flow: u16,
    received: usize,
}

impl Source for Endless {
    fn receive(
        &mut self,
        share: &Share,
        pool: &Pool,
        frames: &mut Vec<Frame>,
    ) -> Option<(Time, PortNo)> {
        if self.received >= MAX_FRAMES {
            return None;
        }
        for _ in 0..BURST {
            self.flow = (self.flow + 1) % FLOWS;
            if share.has(PortNo(1), &frame(self.flow, 0)) {
                let number = self.next[usize::from(self.flow)].fetch_add(1, Relaxed);
                frames.push(pool.frame(&frame(self.flow, number)).unwrap());
                self.received += 1;
            }
        }
        let now = self.clock.fetch_add(1, Relaxed);
        Some((Time(now.into()), PortNo(1)))
    }
    fn transmit(&mut self, _: PortNo, _: QueueId, frame: Frame) {
        let bytes = frame.bytes();
        let (flow, number) = flow_and_number(bytes);
        let change = u32::from_be_bytes(bytes[8..12].try_into().unwrap());
        self.left.lock().unwrap().push((flow, number, change));
    }
}

/// An entry for other packets, which is for one worker.
fn normal(command: FlowModCommand) -> Message {
    flow_mod(command, "priority=9,arp,actions=NORMAL")
}

/// The entry of all frames, which writes the number of the change into their source address.
fn entry(change: u32) -> Message {
    let [a, b, c, d] = change.to_be_bytes();
    let text = format!("actions=mod_dl_src:02:00:{a:02x}:{b:02x}:{c:02x}:{d:02x},output:2");
    flow_mod(FlowModCommand::ADD, &text)
}

#[test]
fn no_frame_overtakes_another_while_entries_and_dispatch_change() {
    let clock = Arc::new(AtomicU32::new(1));
    let next: Arc<[AtomicU32]> = (0..FLOWS).map(|_| AtomicU32::new(0)).collect();
    let left = Arc::new(Mutex::new(Vec::new()));
    let make = {
        let (clock, next, left) = (clock.clone(), next.clone(), left.clone());
        let catalogue = Arc::new(bofuss_ext::catalogue());
        move |_| {
            let source = Endless {
                clock: clock.clone(),
                next: next.clone(),
                left: left.clone(),
                flow: 0,
                received: 0,
            };
            let config = Config::default();
            (switch(&config, &catalogue, FailMode::Secure), source)
        }
    };
    let mut workers = Workers::start(3, make).unwrap();
    let now = || Time(clock.load(Relaxed).into());
    workers.connected(now(), CONN, Version::V1_3).unwrap();
    for number in [1, 2] {
        let capabilities = OffloadCapabilities::default();
        let changed = workers.port_changed(now(), port(number), capabilities);
        changed.unwrap();
    }
    assert_eq!(workers.sent().len(), 2, "the ports are reported");
    // Frames before the first entry are dropped.
    workers.message(now(), CONN, 1, entry(1)).unwrap();
    for change in 2..ROUNDS {
        workers.message(now(), CONN, change, entry(change)).unwrap();
        let (command, is_one) = match change % 4 {
            0 => (FlowModCommand::ADD, true),
            2 => (FlowModCommand::DELETE_STRICT, false),
            _ => continue,
        };
        let message = normal(command);
        workers.message(now(), CONN, change, message).unwrap();
        assert_eq!(matches!(workers.dispatch(), Dispatch::One(_)), is_one);
    }
    assert!(workers.sent().is_empty(), "no message was refused");
    drop(workers);
    let left = left.lock().unwrap();
    let mut last_numbers = [None; FLOWS as usize];
    let mut last_change = 1;
    for (flow, number, change) in &*left {
        let last = &mut last_numbers[usize::from(*flow)];
        assert!(last.is_none_or(|last| last + 1 == *number), "flow {flow}");
        *last = Some(*number);
        assert!(*change >= last_change, "{change} after {last_change}");
        last_change = *change;
    }
    for (last, next) in last_numbers.iter().zip(&*next) {
        assert_eq!(last.map(|last| last + 1), Some(next.load(Relaxed)));
    }
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
