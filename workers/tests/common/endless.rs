//! Workers that receive numbered frames without pause, while entries change and flows move.

use std::iter;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use bofuss_agent::FailMode;
use bofuss_datapath::{Config, Time};
use bofuss_frame::{Frame, OffloadCapabilities, Pool};
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Message, PortNo, Version};
use bofuss_workers::{Dispatch, Share, Source, Workers};

use super::{CONN, flow_and_number, flow_mod, frame, port, switch};

/// The most frames of a burst.
const BURST: usize = 8;

/// A frame that left: its flow, its number, and the number of the change that it has seen.
type Left = (u16, u32, u32);

/// Numbered frames of some flows, which several workers receive.
#[derive(Clone)]
pub struct Numbered {
    clock: Arc<AtomicU32>,
    /// The number of the next frame of each flow, whichever worker receives it.
    next: Arc<[AtomicU32]>,
    left: Arc<Mutex<Vec<Left>>>,
    /// True once there is an entry for them.
    is_open: Arc<AtomicBool>,
    /// No worker receives more than so many frames.
    max_frames: usize,
}

/// The frames that one worker receives: the next ones of flows of its share, with times of one
/// clock.
struct Endless {
    frames: Numbered,
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
        if !self.frames.is_open.load(Relaxed) || self.received >= self.frames.max_frames {
            return None;
        }
        let next = &self.frames.next;
        for _ in 0..BURST {
            self.flow = (self.flow + 1) % next.len() as u16;
            if share.has(PortNo(1), &frame(self.flow, 0)) {
                let number = next[usize::from(self.flow)].fetch_add(1, Relaxed);
                frames.push(pool.frame(&frame(self.flow, number)).unwrap());
                self.received += 1;
            }
        }
        Some((self.frames.tick(), PortNo(1)))
    }
    fn transmit(&mut self, _: PortNo, _: QueueId, frame: Frame) {
        let bytes = frame.bytes();
        let (flow, number) = flow_and_number(bytes);
        let change = u32::from_be_bytes(bytes[8..12].try_into().unwrap());
        let mut left = self.frames.left.lock().unwrap();
        left.push((flow, number, change));
    }
}

impl Numbered {
    /// Frames of some flows, of which each worker receives at most `max_frames` and one burst.
    pub fn new(flows: u16, max_frames: usize) -> Self {
        Self {
            clock: Arc::new(AtomicU32::new(1)),
            next: (0..flows).map(|_| AtomicU32::new(0)).collect(),
            left: Arc::default(),
            is_open: Arc::default(),
            max_frames,
        }
    }

    /// A time that nobody else has.
    pub fn tick(&self) -> Time {
        Time(self.clock.fetch_add(1, Relaxed).into())
    }

    /// How many frames were received.
    pub fn received(&self) -> u64 {
        let of_flows = self.next.iter();
        of_flows.map(|next| u64::from(next.load(Relaxed))).sum()
    }

    /// Checks that the frames of each flow left in order, each with a change that is not older than
    /// that of the one before, of whatever flow. Returns the number of the last change that one
    /// saw.
    pub fn assert_in_order(&self) -> u32 {
        let left = self.left.lock().unwrap();
        let mut last_numbers = vec![None; self.next.len()];
        let mut last_change = 1;
        for (flow, number, change) in &*left {
            let last = &mut last_numbers[usize::from(*flow)];
            assert!(last.is_none_or(|last| last + 1 == *number), "flow {flow}");
            *last = Some(*number);
            assert!(*change >= last_change, "{change} after {last_change}");
            last_change = *change;
        }
        for (last, next) in last_numbers.iter().zip(&*self.next) {
            assert_eq!(last.map_or(0, |last| last + 1), next.load(Relaxed));
        }
        last_change
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

/// Changes the entry of all frames `rounds` times while workers receive them, and moves all flows
/// to one worker and back. Returns the workers.
pub fn change_entries(frames: &Numbered, count: usize, rounds: u32) -> Workers {
    let make = {
        let frames = frames.clone();
        let catalogue = Arc::new(bofuss_ext::catalogue());
        move |_| {
            let source = Endless {
                frames: frames.clone(),
                flow: 0,
                received: 0,
            };
            let config = Config::default();
            (switch(&config, &catalogue, FailMode::Secure), source)
        }
    };
    let mut workers = Workers::start(count, make).unwrap();
    workers
        .connected(frames.tick(), CONN, Version::V1_3)
        .unwrap();
    for number in [1, 2] {
        let capabilities = OffloadCapabilities::default();
        let changed = workers.port_changed(frames.tick(), port(number), capabilities);
        changed.unwrap();
    }
    assert_eq!(workers.sent().len(), 2, "the ports are reported");
    for change in 1..rounds {
        let now = frames.tick();
        let also = match change % 4 {
            0 => Some((FlowModCommand::ADD, true)),
            2 if change > 2 => Some((FlowModCommand::DELETE_STRICT, false)),
            _ => None,
        };
        let messages = iter::once(entry(change)).chain(also.map(|(command, _)| normal(command)));
        let messages = messages.map(|message| (change, message));
        workers.messages(now, CONN, messages).unwrap();
        if let Some((_, is_one)) = also {
            assert_eq!(matches!(workers.dispatch(), Dispatch::One(_)), is_one);
        }
        if change == 1 {
            frames.is_open.store(true, Relaxed);
            (0..count).for_each(|worker| workers.wake(worker));
        }
    }
    assert!(workers.sent().is_empty(), "no message was refused");
    workers
}
