//! The ports of a worker: a generator on its thread, which fills the frames that have left with its
//! flows in random order.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bofuss_datapath::Time;
use bofuss_frame::{Frame, Pool};
use bofuss_oflib::PortNo;
use bofuss_oflib::types::QueueId;
use bofuss_ports::thread_time;
use bofuss_workers::{Share, Source};

use crate::traffic::{Case, DESTINATION_AT, KNOCKS, OPEN, TUPLE_AT, Traffic, Tuple};

/// Frames that a worker receives at a time.
const BURST: usize = 32;
/// Packets of each worker in a round.
pub const PACKETS: usize = 1 << 20;
/// One in so many packets of senders that knock is a stray one, and its destination port.
const STRAY_IN: usize = 64;
const STRAY: u16 = 9;

/// What the generators of all workers share.
#[derive(Default)]
pub struct Rounds {
    /// The number of the round; none is 0.
    pub number: AtomicUsize,
    /// The processor time that each worker took for its packets of the round.
    pub results: Mutex<Vec<Duration>>,
    /// The packets of all rounds that should have passed.
    pub passing: AtomicU64,
}

/// Fills the frames that have left with flows of its share: in each round, [`PACKETS`] of them.
pub struct Generator {
    case: Case,
    rounds: Arc<Rounds>,
    flows: Arc<[Tuple]>,
    /// The flows of its share.
    own: Vec<u32>,
    /// How many knocks of each of these were right.
    progress: Vec<u8>,
    /// The frames that have left.
    spare: Vec<Frame>,
    /// The state of the random numbers.
    state: u64,
    /// The last round, and what is left of it.
    round: usize,
    packets: usize,
    /// The packets of the round that should pass.
    passing: u64,
    began: Duration,
    clock: Instant,
}

impl Generator {
    pub fn new(case: Case, rounds: Arc<Rounds>, flows: Arc<[Tuple]>, clock: Instant) -> Self {
        Self {
            case,
            rounds,
            flows,
            own: Vec::new(),
            progress: Vec::new(),
            spare: Vec::new(),
            state: 1,
            round: 0,
            packets: 0,
            passing: 0,
            began: Duration::ZERO,
            clock,
        }
    }

    /// Chooses its flows, and makes frames for a burst.
    fn prepare(&mut self, share: &Share, pool: &Pool) {
        let mut bytes = self.case.frame();
        let frames = (0..BURST).map(|_| pool.frame(&bytes).unwrap());
        self.spare = frames.collect();
        for (number, flow) in (0..).zip(&*self.flows) {
            bytes[TUPLE_AT..][..flow.len()].copy_from_slice(flow);
            if share.has(PortNo(1), &bytes) {
                self.own.push(number);
            }
        }
        self.progress = vec![0; self.own.len()];
    }

    /// A random number below `end`.
    fn below(&mut self, end: usize) -> usize {
        let next = self.state.wrapping_mul(6_364_136_223_846_793_005);
        self.state = next.wrapping_add(1442695040888963407);
        (((self.state >> 32) * end as u64) >> 32) as usize
    }

    /// The tuple of the next packet.
    fn pick(&mut self) -> Tuple {
        let place = self.below(self.own.len());
        let mut tuple = self.flows[self.own[place] as usize];
        match self.case.traffic {
            Traffic::Flows => self.passing += 1,
            Traffic::Knocks => {
                let port = self.knock(place);
                tuple[DESTINATION_AT..].copy_from_slice(&port.to_be_bytes());
            }
        }
        tuple
    }

    /// The destination port of the next packet of a sender.
    fn knock(&mut self, place: usize) -> u16 {
        let is_stray = self.below(STRAY_IN) == 0;
        let progress = &mut self.progress[place];
        if is_stray {
            *progress = 0;
            return STRAY;
        }
        let Some(port) = KNOCKS.get(usize::from(*progress)).copied() else {
            self.passing += 1;
            return OPEN;
        };
        *progress += 1;
        port
    }
}

impl Source for Generator {
    fn receive(
        &mut self,
        share: &Share,
        pool: &Pool,
        frames: &mut Vec<Frame>,
    ) -> Option<(Time, PortNo)> {
        if self.packets == 0 {
            let round = self.rounds.number.load(Relaxed);
            if self.round == round {
                return None;
            }
            if self.own.is_empty() {
                self.prepare(share, pool);
            }
            self.round = round;
            self.packets = PACKETS;
            self.began = thread_time();
        }
        core::mem::swap(frames, &mut self.spare);
        assert_eq!(frames.len(), BURST, "every frame has left");
        for frame in frames {
            let tuple = self.pick();
            frame.bytes_mut()[TUPLE_AT..][..tuple.len()].copy_from_slice(&tuple);
        }
        self.packets -= BURST;
        if self.packets == 0 {
            let took = thread_time() - self.began;
            let passing = core::mem::take(&mut self.passing);
            self.rounds.passing.fetch_add(passing, Relaxed);
            self.rounds.results.lock().unwrap().push(took);
        }
        let now = self.clock.elapsed().as_nanos() as u64;
        Some((Time(now), PortNo(1)))
    }
    fn transmit(&mut self, _: PortNo, _: QueueId, frame: Frame) {
        self.spare.push(frame);
    }
}
