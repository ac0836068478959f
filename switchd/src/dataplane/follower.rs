//! The thread of a worker other than the first: its flows pass through a switch of its own, which
//! plays what the switch of the first was given.

mod io;

use std::mem::take;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::time::Instant;

use bofuss_datapath::{EntryUse, MeterShare, Metric, ReplicaCounts, TakenStates, Time};
use bofuss_embed::record::{FrameDetail, Player, RecordError, RecordedConfig, RecordedInput};
use bofuss_ext::Switch;
use bofuss_frame::{Frame, Offload, Pool};
use bofuss_oflib::PortNo;
use bofuss_ports::{BATCH_FRAMES, Counters, Link, PortError};
use rustix::event::epoll;
use tracing::{debug, warn};

use super::dispatch::GivenStates;
use super::noted_input::{DeniedQuestion, NotedInput};
use super::poller::{Ready, WakeSet};
use super::port_set::PortSet;
use super::state_counts::StateCounts;
use super::thread_clock::ThreadClock;
use crate::config::PortSpec;
use crate::export::{Bell, Export};
use crate::port::PortMember;

use io::FollowerIo;

pub(super) use io::PacketIn;

/// Descriptors that one wait reports at most.
const READY_AT_ONCE: usize = 64;
/// Frames that another worker has received which are processed between two looks at the own ports
/// at most.
const HANDED_AT_ONCE: usize = BATCH_FRAMES;

/// Makes the switch of a configuration, without its ports. Errors: what is wrong with it.
pub(super) type Remake = fn(&RecordedConfig) -> Result<Switch, RecordError>;

/// What the first worker asks for. A follower begins stopped.
pub(super) enum Order {
    /// Stop, and report what was counted.
    Stop,
    /// Do what the first worker has done since then, and report how far it has come.
    Play(Arc<Vec<Step>>),
    /// Begin with that, while the first worker goes on.
    PlayAhead(Arc<Vec<Step>>),
    /// Give away all states of flows.
    GiveStates,
    /// Share the rates of these meters, keep those of these states that belong to it, and receive
    /// frames again.
    GoOn(Arc<Vec<MeterShare>>, Option<Arc<GivenStates>>),
    /// Send all that waits for ports, and drop what gets no room until then.
    EmptyPorts(Instant),
    /// Process a frame that the first worker has received in its place.
    Take(Box<HandedFrame>),
}

/// A frame that another worker has received; pools are of one thread each.
pub(super) struct HandedFrame {
    pub(super) port: PortNo,
    pub(super) bytes: Vec<u8>,
    pub(super) offload: Offload,
    /// Counts those that wait.
    pub(super) waiting: Arc<AtomicUsize>,
}

/// What the first worker has done while the others were stopped.
pub(super) enum Step {
    /// It has found out when entries were last used by any worker.
    Uses(Time, Vec<EntryUse>),
    /// Its switch got an input, and these of its questions were answered with no.
    Input(Time, NotedInput, Vec<DeniedQuestion>),
    /// It opened a port. Each other worker takes its own of these, in their order: the kernel gives
    /// each the frames whose states it has.
    Open(Mutex<Vec<Option<PortMember>>>),
    /// It closed a port.
    Close(PortNo),
    /// An interface has changed.
    Link(Box<Link>),
    /// The options of a port have changed.
    Adjust(Box<PortSpec>),
    /// These exports see what ports receive.
    Exports(Vec<Arc<Export>>),
}

/// What a follower answers.
pub(super) enum Report {
    /// It has begun. Errors: why its switch cannot be made.
    Began(Result<(), String>),
    /// It has stopped.
    Stopped(Box<Stopped>),
    /// It has played, and when its next timer is due. Errors: an input that was impossible.
    Played(Result<Progress, String>, Option<Time>),
    /// Its states of flows.
    States(Vec<TakenStates>),
    /// Nothing waits for its ports.
    Emptied,
}

/// What a follower has done so far.
pub(super) struct Stopped {
    /// What its switch has counted since it had stopped before.
    pub(super) counts: ReplicaCounts,
    /// What packets have counted in its state tables so far, and how many states it has.
    pub(super) states: Vec<Metric>,
    /// The frames that it has received.
    pub(super) frames: u64,
    /// The packet-ins that found no room.
    pub(super) lost_packet_ins: u64,
    /// The frames that it was handed and had no buffer for.
    pub(super) lost_frames: u64,
    /// The counters of its ports, and how many frames each full queue dropped.
    pub(super) ports: Vec<(PortNo, Counters, u64)>,
}

/// What is equal in the switches of all workers after the same inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    n_entries: usize,
    next_entry: u64,
    is_changing: bool,
}

impl Progress {
    /// That of a switch.
    pub(super) fn of(switch: &Switch) -> Self {
        let datapath = switch.datapath();
        Self {
            n_entries: datapath.tables().iter().map(|table| table.len()).sum(),
            next_entry: datapath.next_entry_number(),
            is_changing: switch.is_changing(),
        }
    }
}

/// What a follower's thread begins with.
pub(super) struct FollowerParts {
    /// Its number, and how many workers there are.
    pub(super) place: (usize, usize),
    /// What its switch is made of, and by.
    pub(super) config: RecordedConfig,
    pub(super) remake: Remake,
    /// The clock of all workers.
    pub(super) clock: ThreadClock,
    pub(super) wakes: WakeSet,
    pub(super) orders: Receiver<Order>,
    pub(super) reports: Sender<Report>,
    /// Wakes it for its exports.
    pub(super) bell: Arc<Bell>,
    /// Where packet-ins go, and who is to be woken for them.
    pub(super) packet_ins: SyncSender<PacketIn>,
    pub(super) leader: Waker,
}

/// A worker other than the first.
struct Follower {
    /// Its number, and how many workers there are.
    place: (usize, usize),
    player: Player,
    pool: Pool,
    io: FollowerIo,
    clock: ThreadClock,
    wakes: WakeSet,
    bell: Arc<Bell>,
    frames: u64,
    lost_frames: u64,
    state_counts: StateCounts,
    /// Why it could not do what the first worker has done, until it is asked.
    failed: Option<String>,
}

impl FollowerParts {
    /// Runs until the first worker lets go of its ends of the queues.
    pub(super) fn run(self) {
        let Self {
            place,
            config,
            remake,
            clock,
            wakes,
            orders,
            reports,
            bell,
            packet_ins,
            leader,
        } = self;
        let epoll = wakes.epoll().map_err(|error| error.to_string());
        let made = epoll.and_then(|epoll| {
            let detail = FrameDetail::default();
            let player = Player::new(&config, detail, Box::new(remake));
            let mut player = player
                .map_err(|error| error.to_string())?
                .without_held_packets();
            player.switch().replica().begin(true);
            let pool = player.switch().datapath().pool().clone();
            let io = FollowerIo::new(PortSet::new(epoll), packet_ins, leader);
            Ok(Follower {
                place,
                player,
                pool,
                io,
                clock,
                wakes,
                bell,
                frames: 0,
                lost_frames: 0,
                state_counts: StateCounts::default(),
                failed: None,
            })
        });
        match made {
            // A leader that is gone needs no report, here and below.
            Err(why) => drop(reports.send(Report::Began(Err(why)))),
            Ok(mut follower) => {
                let _ = reports.send(Report::Began(Ok(())));
                follower.follow(&orders, &reports);
            }
        }
    }
}

impl Follower {
    fn follow(&mut self, orders: &Receiver<Order>, reports: &Sender<Report>) {
        let mut ready = Vec::with_capacity(READY_AT_ONCE);
        let mut frames = Vec::with_capacity(BATCH_FRAMES);
        let mut is_stopped = true;
        // Frames that it was handed since it has looked at its ports.
        let mut handed = 0;
        loop {
            let order = if is_stopped {
                orders.recv().map_err(|_| TryRecvError::Disconnected)
            } else if handed < HANDED_AT_ONCE {
                orders.try_recv()
            } else {
                Err(TryRecvError::Empty)
            };
            let report = match order {
                Ok(Order::Stop) => {
                    is_stopped = true;
                    Report::Stopped(Box::new(self.stop()))
                }
                Ok(Order::Play(steps)) => {
                    let played = self.play(&steps);
                    Report::Played(played, self.player.switch().next_tick())
                }
                Ok(Order::PlayAhead(steps)) => {
                    self.play_ahead(&steps);
                    continue;
                }
                Ok(Order::GiveStates) => {
                    Report::States(self.player.switch().replica().take_states())
                }
                Ok(Order::EmptyPorts(end)) => {
                    self.io.ports.empty_until(end);
                    Report::Emptied
                }
                Ok(Order::GoOn(meters, states)) => {
                    is_stopped = false;
                    if !self.go_on(&meters, states.as_deref()) {
                        return warn!("a worker ends: it has other meters");
                    }
                    continue;
                }
                Ok(Order::Take(frame)) => {
                    handed += 1;
                    self.take(&frame, &mut frames);
                    continue;
                }
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => {
                    // Orders may wait behind the last of these frames.
                    let is_busy = take(&mut handed) >= HANDED_AT_ONCE;
                    if let Err(error) = self.turn(is_busy, &mut ready, &mut frames) {
                        return warn!("a worker ends: {error}");
                    }
                    continue;
                }
            };
            if reports.send(report).is_err() {
                return;
            }
        }
    }

    /// Prepares to receive frames again. Returns false if it has other meters than the first
    /// worker.
    fn go_on(&mut self, meters: &[MeterShare], states: Option<&GivenStates>) -> bool {
        let mut replica = self.player.switch().replica();
        if let Some(given) = states {
            replica.keep_states(&given.states, given.division, self.place);
        }
        let joined = replica.join_meters(meters);
        let now = self.clock.now();
        self.state_counts.begin(self.player.switch(), now);
        joined.is_ok()
    }

    /// Processes a frame that the first worker has received.
    fn take(&mut self, handed: &HandedFrame, frames: &mut Vec<Frame>) {
        handed.waiting.fetch_sub(1, Relaxed);
        let Some(mut frame) = self.pool.frame(&handed.bytes) else {
            self.lost_frames += 1;
            return;
        };
        frame.offload = handed.offload;
        frames.push(frame);
        self.frames += 1;
        let switch = self.player.switch();
        while switch.datapath().lane().backlog.has(handed.port) {
            switch.catch_up(self.clock.now(), &mut self.io);
        }
        switch.receive(self.clock.now(), handed.port, frames, &mut self.io);
        self.io.ports.flush();
    }

    /// Waits for frames or an order unless it `is_busy`, and processes a batch of each port that
    /// has frames. Errors: the system's.
    fn turn(
        &mut self,
        is_busy: bool,
        ready: &mut Vec<epoll::Event>,
        frames: &mut Vec<Frame>,
    ) -> std::io::Result<()> {
        let is_behind = !self.player.switch().datapath().lane().backlog.is_empty();
        self.wakes.wait(is_busy || is_behind, ready)?;
        for event in &*ready {
            match Ready::from(event) {
                Ready::Port(number) => self.serve_port(number, frames),
                Ready::Queues | Ready::Links | Ready::Timer | Ready::Clock => {
                    self.wakes.drain_queues();
                }
            }
        }
        if is_behind {
            let now = self.clock.now();
            self.player.switch().catch_up(now, &mut self.io);
        }
        self.io.ports.flush();
        self.io.ports.expire_flows();
        Ok(())
    }

    fn serve_port(&mut self, number: PortNo, frames: &mut Vec<Frame>) {
        let now = self.clock.now();
        let switch = self.player.switch();
        if self.io.ports.send_queued(number) {
            switch.ports(now, &mut self.io, |ports| ports.has_room(number));
        }
        if switch.datapath().lane().backlog.has(number) {
            return;
        }
        match self.io.ports.receive(number, &self.pool, frames) {
            Ok(0) => {}
            Ok(count) => {
                self.frames += count as u64;
                switch.receive(now, number, frames, &mut self.io);
                self.io.ports.flush();
            }
            // The first worker learns of it, too.
            Err(PortError::Gone) => drop(self.io.ports.remove(number)),
            Err(PortError::Io(error)) => debug!("port {number}: receiving: {error}"),
        }
    }

    /// Processes the frames that wait for a turn, and takes all counts.
    fn stop(&mut self) -> Stopped {
        let switch = self.player.switch();
        while !switch.datapath().lane().backlog.is_empty() {
            switch.catch_up(self.clock.now(), &mut self.io);
        }
        self.io.ports.flush();
        Stopped {
            states: self.state_counts.end(switch, self.clock.now()),
            counts: switch.replica().take_counts(),
            frames: self.frames,
            lost_packet_ins: self.io.lost_packet_ins,
            lost_frames: self.lost_frames,
            ports: self.io.ports.driver_counters(),
        }
    }

    /// Takes steps. If one fails, it takes none after it.
    fn play_ahead(&mut self, steps: &[Step]) {
        let mut steps = steps.iter();
        let failed = self.failed.take();
        self.failed = failed.or_else(|| steps.find_map(|step| self.take_step(step).err()));
    }

    fn play(&mut self, steps: &[Step]) -> Result<Progress, String> {
        self.play_ahead(steps);
        if let Some(why) = self.failed.take() {
            return Err(why);
        }
        // What the inputs have sent and counted is sent and counted by the first worker.
        drop(self.player.switch().replica().take_counts());
        self.note_uses(self.clock.now(), &[])?;
        Ok(Progress::of(self.player.switch()))
    }

    fn note_uses(&mut self, now: Time, uses: &[EntryUse]) -> Result<(), String> {
        let noted = self.player.switch().replica().note_uses(now, uses);
        noted.map_err(|_| String::from("it has other entries"))
    }

    fn take_step(&mut self, step: &Step) -> Result<(), String> {
        let ports = &mut self.io.ports;
        match step {
            Step::Uses(now, uses) => self.note_uses(*now, uses)?,
            Step::Input(at, input, denied) => {
                let played = input.play(&mut self.player, *at, denied);
                played.map_err(|error| error.to_string())?;
                if let NotedInput::Recorded(RecordedInput::Reconfigure(_)) = input {
                    self.player.switch().replica().begin(true);
                }
            }
            Step::Open(members) => {
                // Nobody panics who has it.
                let mut members = members.lock().unwrap_or_else(PoisonError::into_inner);
                let own = members.get_mut(self.place.0 - 1);
                if let Some(member) = own.and_then(Option::take) {
                    ports
                        .add(member.open())
                        .map_err(|error| error.to_string())?;
                }
            }
            Step::Close(number) => drop(ports.remove(*number)),
            Step::Link(link) => drop(ports.update_link(link)),
            Step::Adjust(spec) => drop(ports.adjust(spec)),
            Step::Exports(exports) => ports.set_exports(exports.clone(), &self.bell),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::rc::Rc;
    use std::sync::mpsc::{channel, sync_channel};

    use bofuss_frame::OffloadCapabilities;
    use bofuss_ports::{Memory, PortDriver};
    use rustix::event::{EventfdFlags, eventfd};

    use super::*;
    use crate::config::Options;
    use crate::port::OpenPort;
    use crate::record;
    use crate::run::{make_switch, remake_switch};

    const NUMBER: PortNo = PortNo(7);

    /// A port that is always ready, and counts how often it is looked at.
    struct Watched {
        descriptor: OwnedFd,
        looks: Rc<Cell<usize>>,
    }

    impl PortDriver for Watched {
        fn fd(&self) -> Option<BorrowedFd<'_>> {
            Some(self.descriptor.as_fd())
        }

        fn recv(&mut self, _: &Pool, _: &mut Vec<Frame>, _: usize) -> Result<usize, PortError> {
            self.looks.set(self.looks.get() + 1);
            Ok(0)
        }

        fn send(&mut self, frames: &mut Vec<Frame>) -> Result<usize, PortError> {
            Ok(frames.drain(..).count())
        }

        fn counters(&mut self) -> Counters {
            Counters::default()
        }

        fn capabilities(&self) -> OffloadCapabilities {
            OffloadCapabilities::default()
        }

        fn set_mtu(&mut self, _: u32) {}
    }

    /// A follower with this pool, and how often its port was looked at.
    fn follower(pool: Pool) -> (Follower, Rc<Cell<usize>>) {
        let config = Options::default().check().unwrap();
        let switch = make_switch(&config, &Pool::new(1 << 20), 1).unwrap();
        let recorded = record::recorded(&config, &switch);
        let player = Player::new(&recorded, FrameDetail::default(), Box::new(remake_switch));
        let mut player = player.unwrap().without_held_packets();
        player.switch().replica().begin(true);
        let looks = Rc::new(Cell::new(0));
        let mut port = OpenPort::in_memory(NUMBER, Memory::pair().0);
        port.driver = Box::new(Watched {
            descriptor: eventfd(1, EventfdFlags::empty()).unwrap(),
            looks: Rc::clone(&looks),
        });
        let wakes = WakeSet::new().unwrap();
        let mut ports = PortSet::new(wakes.epoll().unwrap());
        ports.add(port).unwrap();
        let (packet_ins, _) = sync_channel(1);
        let this = Follower {
            place: (1, 2),
            player,
            pool,
            io: FollowerIo::new(ports, packet_ins, wakes.waker()),
            clock: ThreadClock::start(Time(0)),
            bell: Bell::new(wakes.waker()),
            wakes,
            frames: 0,
            lost_frames: 0,
            state_counts: StateCounts::default(),
            failed: None,
        };
        (this, looks)
    }

    /// A frame of those that wait.
    fn handed(waiting: &Arc<AtomicUsize>) -> HandedFrame {
        HandedFrame {
            port: NUMBER,
            bytes: vec![2; 60],
            offload: Offload::NONE,
            waiting: Arc::clone(waiting),
        }
    }

    #[test]
    fn ports_are_looked_at_between_many_frames_that_another_worker_has_received() {
        const COUNT: usize = 4 * HANDED_AT_ONCE;
        let (mut follower, looks) = follower(Pool::new(1 << 20));
        let (orders, ordered) = channel();
        let (reports, _reported) = channel();
        let waiting = Arc::new(AtomicUsize::new(COUNT));
        orders.send(Order::GoOn(Arc::default(), None)).unwrap();
        for _ in 0..COUNT {
            let frame = Box::new(handed(&waiting));
            orders.send(Order::Take(frame)).unwrap();
        }
        drop(orders);
        follower.follow(&ordered, &reports);
        assert_eq!(looks.get(), 4);
        assert_eq!((follower.frames, waiting.load(Relaxed)), (COUNT as u64, 0));
    }

    #[test]
    fn a_frame_that_another_worker_has_received_counts_as_lost_without_a_buffer() {
        let (mut follower, _) = follower(Pool::new(0));
        let waiting = Arc::new(AtomicUsize::new(1));
        follower.take(&handed(&waiting), &mut Vec::new());
        let stopped = follower.stop();
        assert_eq!((stopped.frames, stopped.lost_frames), (0, 1));
    }
}
