//! The other workers, as the first sees them: it stops them before it gives its switch an input,
//! notes the inputs, lets all play them, and at the end of its turn go on.

use std::cell::Cell;
use std::io;
use std::mem::take;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bofuss_datapath::{DispatchBy, MeterShare, Metric, Time};
use bofuss_embed::record::{FrameDetail, Question, RecordedConfig, RecordedConnections};
use bofuss_ext::Switch;
use bofuss_frame::Frame;
use bofuss_oflib::{Message, PortNo};
use bofuss_ports::Counters;

use super::dispatch::{DispatchNow, GivenStates};
use super::follower::{
    FollowerParts, HandedFrame, Order, PacketIn, Progress, Remake, Report, Step,
};
use super::noted_input::{NotedAnswers, NotedInput};
use super::poller::WakeSet;
use super::state_counts;
use super::thread_clock::ThreadClock;
use crate::export::Bell;
use crate::port::PortMember;

/// How long the first worker waits for another, whose batch takes microseconds.
pub(super) const PATIENCE: Duration = if cfg!(test) {
    Duration::from_millis(500)
} else {
    Duration::from_secs(10)
};
/// The most packet-ins that wait for the first worker, which takes no more in a turn.
pub(super) const MAX_PACKET_INS: usize = 1024;
/// The most frames that wait for another worker after the first has received them.
const MAX_HANDED: usize = 256;
/// The steps with which others begin before the end of the turn, so that they need not be woken for
/// each.
const STEPS_AHEAD: usize = 16;
/// How long they run without being stopped, so that one that has ended or stalls is noticed also
/// if the switch gets no input.
const LONGEST_RUN_NS: u64 = 5 * Time::SEC;
/// How long states may be with others before their timers are looked after.
const STATES_TICK_NS: u64 = Time::SEC;

/// The other workers.
pub struct Followers {
    count: usize,
    threads: Vec<FollowerThread>,
    connections: RecordedConnections,
    /// The answers to the switch's questions in this input.
    answers: NotedAnswers,
    /// The input that is being carried out.
    input: Option<(Time, NotedInput)>,
    /// True if it is a message of an extension that was refused.
    is_refused: bool,
    /// What they have to do before they go on.
    steps: Vec<Step>,
    are_stopped: bool,
    /// When they last went on.
    runs_since: Time,
    packet_ins: Option<Receiver<PacketIn>>,
    /// Wakes the first worker, once they run.
    leader: Option<Waker>,
    /// When the next of their timers is due.
    next_tick: Option<Time>,
    /// The frames that found no room on their way to them.
    lost_frames: u64,
    /// How frames are divided.
    pub(super) dispatch: DispatchNow,
    /// Why they cannot go on; the switch ends then.
    fault: Option<io::Error>,
}

/// One of them.
struct FollowerThread {
    number: usize,
    /// `None` once it is to end.
    orders: Option<Sender<Order>>,
    reports: Receiver<Report>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
    /// True if it is not known whether it will end.
    is_lost: Cell<bool>,
    frames: u64,
    /// The frames that wait for it after the first worker has received them.
    handed: Arc<AtomicUsize>,
    lost_packet_ins: u64,
    lost_frames: u64,
    ports: Vec<(PortNo, Counters, u64)>,
    /// What packets have counted in its state tables, and how many states it had.
    states: Vec<Metric>,
}

impl FollowerThread {
    fn order(&self, order: Order) -> io::Result<()> {
        // One that is stopped waits for orders, others for frames.
        let waits_for_frames = matches!(order, Order::Stop | Order::Take(_));
        let sent = self.orders.as_ref().map(|orders| orders.send(order));
        if waits_for_frames {
            self.waker.wake_by_ref();
        }
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(self.fault("has ended")),
        }
    }

    fn report(&self) -> io::Result<Report> {
        self.reports.recv_timeout(PATIENCE).map_err(|e| match e {
            RecvTimeoutError::Timeout => self.fault("does not answer"),
            RecvTimeoutError::Disconnected => self.fault("has ended"),
        })
    }

    fn fault(&self, what: &str) -> io::Error {
        self.is_lost.set(true);
        io::Error::other(format!("worker {} {what}", self.number))
    }
}

impl Drop for FollowerThread {
    fn drop(&mut self) {
        self.orders = None;
        self.waker.wake_by_ref();
        // One that is lost is left behind: the process ends.
        if let Some(thread) = self.thread.take().filter(|_| !self.is_lost.get()) {
            let _ = thread.join();
        }
    }
}

impl Followers {
    /// `count` workers besides the first, whose threads do not run yet; frames are divided by this.
    pub(super) fn new(count: usize, switch: &Switch, by: DispatchBy) -> Self {
        let catalogue = switch.datapath().catalogue().clone();
        Self {
            count,
            threads: Vec::new(),
            connections: RecordedConnections::new(catalogue, FrameDetail::default()),
            answers: NotedAnswers::default(),
            input: None,
            is_refused: false,
            steps: Vec::new(),
            are_stopped: true,
            runs_since: Time(0),
            packet_ins: None,
            leader: None,
            next_tick: None,
            lost_frames: 0,
            dispatch: DispatchNow::new(by),
            fault: None,
        }
    }

    /// Starts their threads, with switches of this configuration, which `remake` makes. `leader`
    /// wakes the first worker.
    ///
    /// Errors: the system's, or why a switch cannot be made.
    pub(super) fn begin(
        &mut self,
        (config, remake): (&RecordedConfig, Remake),
        clock: ThreadClock,
        leader: &Waker,
    ) -> io::Result<()> {
        let (packet_ins, taken) = sync_channel(MAX_PACKET_INS);
        for number in 1..=self.count {
            let wakes = WakeSet::new()?;
            let waker = wakes.waker();
            let (orders, ordered) = channel();
            let (reporting, reports) = channel();
            let parts = FollowerParts {
                place: (number, 1 + self.count),
                config: config.clone(),
                remake,
                clock,
                wakes,
                orders: ordered,
                reports: reporting,
                bell: Bell::new(waker.clone()),
                packet_ins: packet_ins.clone(),
                leader: leader.clone(),
            };
            let thread = thread::Builder::new().name(format!("worker-{number}"));
            self.threads.push(FollowerThread {
                number,
                orders: Some(orders),
                reports,
                waker,
                thread: Some(thread.spawn(|| parts.run())?),
                is_lost: Cell::new(false),
                frames: 0,
                handed: Arc::default(),
                lost_packet_ins: 0,
                lost_frames: 0,
                ports: Vec::new(),
                states: Vec::new(),
            });
        }
        (self.packet_ins, self.leader) = (Some(taken), Some(leader.clone()));
        for thread in &self.threads {
            match thread.report()? {
                Report::Began(began) => began.map_err(io::Error::other)?,
                Report::Stopped(_) | Report::Played(..) | Report::States(_) | Report::Emptied => {
                    return Err(thread.fault("is confused"));
                }
            }
        }
        Ok(())
    }

    /// How many they are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns true if they wait for [`Self::go_on`].
    pub(super) fn are_stopped(&self) -> bool {
        self.are_stopped
    }

    /// Returns true if they are to be stopped only to see that they answer.
    pub(super) fn have_run_long(&self, now: Time) -> bool {
        !self.are_stopped && now.since(self.runs_since) >= LONGEST_RUN_NS
    }

    /// Stops them, and adds what they have counted to the first worker's switch.
    pub(super) fn stop(&mut self, switch: &mut Switch) {
        self.are_stopped = true;
        self.fault = self.try_stop(switch).err();
    }

    fn try_stop(&mut self, switch: &mut Switch) -> io::Result<()> {
        self.order_all(|| Order::Stop)?;
        for thread in &mut self.threads {
            let Report::Stopped(stopped) = thread.report()? else {
                return Err(thread.fault("is confused"));
            };
            let added = switch.replica().add_counts(stopped.counts);
            added.map_err(|_| thread.fault("differs from worker 0"))?;
            thread.frames = stopped.frames;
            thread.lost_packet_ins = stopped.lost_packet_ins;
            thread.lost_frames = stopped.lost_frames;
            thread.ports = stopped.ports;
            thread.states = stopped.states;
        }
        Ok(())
    }

    fn order_all(&self, order: impl Fn() -> Order) -> io::Result<()> {
        let mut threads = self.threads.iter();
        threads.try_for_each(|thread| thread.order(order()))
    }

    /// Lets them do what the first worker has done. Errors: one differs, has ended or does not
    /// answer.
    pub(super) fn play(&mut self, progress: Progress) -> io::Result<()> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let steps = Arc::new(take(&mut self.steps));
        self.order_all(|| Order::Play(Arc::clone(&steps)))?;
        self.next_tick = None;
        for thread in &self.threads {
            match thread.report()? {
                Report::Played(Ok(reached), next_tick) if reached == progress => {
                    let ticks = [self.next_tick, next_tick];
                    self.next_tick = ticks.into_iter().flatten().min();
                }
                Report::Played(Err(why), _) => return Err(thread.fault(&format!("fails: {why}"))),
                Report::Played(Ok(reached), _) => {
                    let what = format!("differs from worker 0: {reached:?}, not {progress:?}");
                    return Err(thread.fault(&what));
                }
                Report::Stopped(_) | Report::Began(_) | Report::States(_) | Report::Emptied => {
                    return Err(thread.fault("is confused"));
                }
            }
        }
        Ok(())
    }

    /// Moves the states of flows that they have to the first worker's switch; they are stopped.
    pub(super) fn gather(&mut self, switch: &mut Switch) {
        if take(&mut self.dispatch.are_apart) && self.fault.is_none() {
            self.fault = self.try_gather(switch).err();
        }
    }

    fn try_gather(&self, switch: &mut Switch) -> io::Result<()> {
        self.order_all(|| Order::GiveStates)?;
        for thread in &self.threads {
            let Report::States(states) = thread.report()? else {
                return Err(thread.fault("is confused"));
            };
            switch.replica().add_states(&states);
        }
        Ok(())
    }

    /// Lets them send what waits for ports, because flows move to other workers; what gets no room
    /// until `end` is dropped. They are stopped.
    pub(super) fn empty_ports(&mut self, end: Instant) {
        if self.fault.is_none() {
            self.fault = self.try_empty_ports(end).err();
        }
    }

    fn try_empty_ports(&self, end: Instant) -> io::Result<()> {
        self.order_all(|| Order::EmptyPorts(end))?;
        for thread in &self.threads {
            let Report::Emptied = thread.report()? else {
                return Err(thread.fault("is confused"));
            };
        }
        Ok(())
    }

    /// Lets them receive frames again, with the rates of these new meters, and with the states that
    /// belong to each if these are divided; until `check`, if not longer.
    ///
    /// Errors: one has ended, or did not answer since it has played.
    pub(super) fn go_on(
        &mut self,
        (now, check): (Time, Option<Time>),
        meters: Vec<MeterShare>,
        states: Option<GivenStates>,
    ) -> io::Result<()> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        self.are_stopped = false;
        self.runs_since = now;
        self.dispatch.are_apart |= states.is_some();
        let has_states = self.dispatch.are_apart && self.dispatch.has_states;
        let states_tick = has_states.then(|| now.after(STATES_TICK_NS));
        let ticks = [self.next_tick, states_tick, check];
        self.next_tick = ticks.into_iter().flatten().min();
        let (meters, states) = (Arc::new(meters), states.map(Arc::new));
        self.order_all(|| Order::GoOn(Arc::clone(&meters), states.clone()))
    }

    /// When the next of their timers is due, as they said last, or they may get states again.
    pub(super) fn next_tick(&self) -> Option<Time> {
        let kept_until = self.dispatch.kept_until();
        [self.next_tick, kept_until].into_iter().flatten().min()
    }

    /// Gives another worker, which goes on, a frame that the first has received. One that finds no
    /// room is lost.
    pub(super) fn hand_over(&mut self, worker: usize, port: PortNo, frame: &Frame) {
        let thread = worker.checked_sub(1).and_then(|at| self.threads.get(at));
        let Some(thread) = thread else { return };
        if thread.handed.load(Relaxed) >= MAX_HANDED {
            self.lost_frames += 1;
            return;
        }
        thread.handed.fetch_add(1, Relaxed);
        let handed = HandedFrame {
            port,
            bytes: frame.bytes().to_vec(),
            offload: frame.offload,
            waiting: Arc::clone(&thread.handed),
        };
        // One that has ended is noticed when it is to stop.
        let _ = thread.order(Order::Take(Box::new(handed)));
    }

    /// The frames that found no room on their way to them, or no buffer there.
    pub(super) fn lost_frames(&self) -> u64 {
        let without_buffer = self.threads.iter().map(|thread| thread.lost_frames);
        self.lost_frames + without_buffer.sum::<u64>()
    }

    /// Begins an input of the first worker's switch; they are stopped. Before it, all learn when
    /// entries were last used by any worker, so that the same expire.
    pub(super) fn begin_input(
        &mut self,
        (clock, at): (ThreadClock, Time),
        switch: &mut Switch,
        input: impl FnOnce(&RecordedConnections) -> Option<NotedInput>,
    ) {
        let uses = switch.replica().uses();
        // No packet was processed later than now, and no entry will be added by an input with a
        // later time: so the next packet of each is noted.
        let now = clock.now();
        let noted = switch.replica().note_uses(now, &uses);
        let differs = |_| io::Error::other("worker 0 differs from itself");
        self.fault = noted.map_err(differs).err().or(self.fault.take());
        if !uses.is_empty() {
            self.steps.push(Step::Uses(now, uses));
        }
        self.is_refused = false;
        self.input = input(&self.connections).map(|input| (at, input));
    }

    /// Ends the input, which has been carried out.
    pub(super) fn end_input(&mut self) {
        let denied = self.answers.end();
        let input = self.input.take();
        // It has changed nothing, but might where there are no states.
        if let Some((at, input)) = input.filter(|_| !self.is_refused) {
            if let NotedInput::Recorded(input) = &input {
                self.connections.follow(input);
            }
            self.steps.push(Step::Input(at, input, denied));
        }
        // Before they run, all is for their first turn.
        if self.steps.len() >= STEPS_AHEAD && !self.threads.is_empty() && self.fault.is_none() {
            let steps = Arc::new(take(&mut self.steps));
            let ordered = self.order_all(|| Order::PlayAhead(Arc::clone(&steps)));
            self.fault = ordered.err();
        }
    }

    /// Notes that the input was refused. That may depend on the states, which they lack.
    pub(super) fn refused(&mut self, message: &Message) {
        self.is_refused |= matches!(message, Message::Experimenter(_));
    }

    /// Notes the answer to a question of the switch.
    pub(super) fn answered(&self, question: Question, is_granted: bool) {
        if self.input.is_some() {
            self.answers.note(question, is_granted);
        }
    }

    /// Notes what else the first worker has done; they are stopped.
    pub(super) fn note(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Gives them their shares of a port.
    pub(super) fn open(&mut self, members: Vec<PortMember>) {
        let members = members.into_iter().map(Some).collect();
        self.steps.push(Step::Open(Mutex::new(members)));
    }

    /// Lets them close a port. What they have counted there is not that of another with its number.
    pub(super) fn close(&mut self, number: PortNo) {
        for thread in &mut self.threads {
            thread.ports.retain(|(port, ..)| *port != number);
        }
        self.steps.push(Step::Close(number));
    }

    /// The next packet-in of theirs.
    pub(super) fn next_packet_in(&self) -> Option<PacketIn> {
        self.packet_ins.as_ref()?.try_recv().ok()
    }

    /// Wakes the first worker for a turn more.
    pub(super) fn wake_leader(&self) {
        if let Some(leader) = &self.leader {
            leader.wake_by_ref();
        }
    }

    /// The frames that each has received, when they stopped last.
    pub(super) fn frames(&self) -> impl Iterator<Item = u64> {
        self.threads.iter().map(|thread| thread.frames)
    }

    /// The packet-ins that found no room.
    pub(super) fn lost_packet_ins(&self) -> u64 {
        self.threads
            .iter()
            .map(|thread| thread.lost_packet_ins)
            .sum()
    }

    /// Adds what they have counted to the metrics of an extension of the first worker.
    pub(super) fn add_metrics(&self, extension: &str, list: &mut [Metric]) {
        if state_counts::are_of(extension) {
            for thread in &self.threads {
                state_counts::add(list, &thread.states, self.dispatch.are_apart);
            }
        }
    }

    /// What their shares of a port have counted, and how many frames full queues dropped.
    pub(super) fn port_counters(&self, number: PortNo) -> impl Iterator<Item = (Counters, u64)> {
        let all = self.threads.iter().flat_map(|thread| &thread.ports);
        all.filter(move |(port, ..)| *port == number)
            .map(|(_, counters, overflowed)| (*counters, *overflowed))
    }
}

#[cfg(test)]
mod tests {
    use bofuss_embed::record::RecordedInput;
    use bofuss_frame::Pool;

    use super::*;
    use crate::config::Options;
    use crate::run::make_switch;

    /// A switch, and a worker besides its first, whose thread does this with its orders.
    fn with_thread(work: impl FnOnce(&Receiver<Order>) + Send + 'static) -> (Switch, Followers) {
        let config = Options::default().check().unwrap();
        let switch = make_switch(&config, &Pool::new(1 << 20), 1).unwrap();
        let mut followers = Followers::new(1, &switch, DispatchBy::Auto);
        let (orders, ordered) = channel();
        let (reporting, reports) = channel();
        let thread = thread::spawn(move || {
            work(&ordered);
            drop(reporting);
        });
        followers.threads.push(FollowerThread {
            number: 1,
            orders: Some(orders),
            reports,
            waker: WakeSet::new().unwrap().waker(),
            thread: Some(thread),
            is_lost: Cell::new(false),
            frames: 0,
            handed: Arc::default(),
            lost_packet_ins: 0,
            lost_frames: 0,
            ports: Vec::new(),
            states: Vec::new(),
        });
        (switch, followers)
    }

    /// Why the switch ends whose other worker has such a thread.
    fn fault_with(work: impl FnOnce(&Receiver<Order>) + Send + 'static) -> String {
        let (mut switch, mut followers) = with_thread(work);
        followers.go_on((Time(0), None), Vec::new(), None).unwrap();
        followers.stop(&mut switch);
        let error = followers.play(Progress::of(&switch)).unwrap_err();
        // The switch ends, and does not wait for it.
        drop(followers);
        error.to_string()
    }

    #[test]
    fn a_worker_that_stalls_is_noticed() {
        let (hold, held) = channel::<()>();
        let said = fault_with(move |_| {
            let _ = held.recv();
        });
        assert_eq!(said, "worker 1 does not answer");
        drop(hold);
    }

    #[test]
    fn a_worker_that_ends_is_noticed() {
        assert_eq!(
            fault_with(|orders| drop(orders.recv())),
            "worker 1 has ended"
        );
    }

    #[test]
    fn workers_that_run_for_long_are_to_stop_though_no_input_comes() {
        let (mut switch, mut followers) = with_thread(|orders| drop(orders.recv()));
        let begin = Time(Time::SEC);
        let (early, late) = (begin.after(LONGEST_RUN_NS - 1), begin.after(LONGEST_RUN_NS));
        assert!(!followers.have_run_long(late), "they are stopped");
        followers.go_on((begin, None), Vec::new(), None).unwrap();
        assert!(!followers.have_run_long(early));
        assert!(followers.have_run_long(late));
        followers.stop(&mut switch);
        assert!(!followers.have_run_long(late));
    }

    #[test]
    fn a_worker_that_fails_after_it_has_played_is_noticed_before_it_goes_on() {
        let (hold, held) = channel::<()>();
        let (_, mut followers) = with_thread(move |_| {
            let _ = held.recv();
        });
        followers.empty_ports(Instant::now());
        let error = followers.go_on((Time(0), None), Vec::new(), None);
        assert_eq!(error.unwrap_err().to_string(), "worker 1 does not answer");
        drop(hold);
    }

    #[test]
    fn a_new_port_does_not_have_the_counts_that_others_have_of_the_one_before_it() {
        let (_, mut followers) = with_thread(|orders| while orders.recv().is_ok() {});
        let counts = [3, 4].map(|number| (PortNo(number), Counters::default(), 7_u64));
        followers.threads[0].ports = counts.into();
        followers.close(PortNo(3));
        let n_counts = |number| followers.port_counters(PortNo(number)).count();
        assert_eq!([3, 4].map(n_counts), [0, 1]);
    }

    #[test]
    fn frames_are_lost_on_the_way_to_another_worker_and_for_want_of_a_buffer_there() {
        let (_, mut followers) = with_thread(|orders| while orders.recv().is_ok() {});
        (followers.lost_frames, followers.threads[0].lost_frames) = (2, 3);
        assert_eq!(followers.lost_frames(), 5);
    }

    #[test]
    fn others_begin_with_a_long_turn_before_it_ends() {
        let (seen, all_seen) = channel();
        let (mut switch, mut followers) = with_thread(move |orders| {
            while let Ok(order) = orders.recv() {
                if let Order::PlayAhead(steps) = order {
                    seen.send(steps.len()).unwrap();
                }
            }
        });
        let clock = ThreadClock::start(Time(0));
        for number in 1..=STEPS_AHEAD + 1 {
            let input = |_: &RecordedConnections| Some(NotedInput::Recorded(RecordedInput::Tick));
            followers.begin_input((clock, Time(1)), &mut switch, input);
            followers.end_input();
            assert_eq!(followers.steps.len(), number % STEPS_AHEAD);
        }
        let patience = Duration::from_secs(20);
        assert_eq!(all_seen.recv_timeout(patience), Ok(STEPS_AHEAD));
    }
}
