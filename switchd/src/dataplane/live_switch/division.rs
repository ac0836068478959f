//! Divides frames, and the states of their flows, among workers: anew when there is a reason.

use std::io;
use std::time::{Duration, Instant};

use bofuss_agent::ConnId;
use bofuss_datapath::{DispatchBy, Division};
use bofuss_frame::Frame;
use bofuss_oflib::{Message, PortNo};
use bofuss_ports::{BATCH_FRAMES, FanoutRule};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tracing::info;

use super::workers::{MOST_BATCHES, Workers};
use crate::dataplane::dispatch::{GivenStates, needs_states};
use crate::dataplane::followers::{Followers, PATIENCE};
use crate::dataplane::io::DataPlaneIo;

/// The rule by which this worker has all frames of a port.
const ALL_HERE: FanoutRule = FanoutRule::Only(0);
/// How long workers wait for room at their ports when flows move to other workers, which would send
/// later frames of these before those that wait: a full queue takes 12 ms at 1 Gb/s.
const ROOM_PATIENCE: Duration = Duration::from_millis(100);
// A worker that waits for so long is not taken for one that stalls.
const _: () = assert!(2 * ROOM_PATIENCE.as_millis() < PATIENCE.as_millis());

/// Whose socket of a port is to be emptied.
#[derive(Clone, Copy)]
enum SocketOf {
    /// That of the first worker.
    First,
    /// That of another, from 0.
    Other(usize),
}

impl Workers<'_> {
    /// Stops the others until the end of the turn, and moves the states of their flows to this
    /// worker, so that it has those of the whole.
    pub(in crate::dataplane) fn gather_states(&mut self) {
        self.stop();
        if let Some(followers) = &mut self.io.followers {
            followers.gather(self.switch);
        }
    }

    /// The same before a message that may need states.
    pub(super) fn gather_states_for(&mut self, message: &Message) {
        let followers = self.io.followers.as_ref();
        let has_egress = self.switch.datapath().shape().first_egress.is_some();
        let Some(followers) = followers.filter(|_| needs_states(message, has_egress)) else {
            return;
        };
        let (were_apart, begin) = (followers.dispatch.are_apart, self.clock.now());
        self.gather_states();
        let end = self.clock.now();
        if let Some(followers) = &mut self.io.followers {
            followers.dispatch.note_need(were_apart, (begin, end));
        }
    }

    /// Lets frames be divided by this from the end of the turn on, as far as the pipeline allows.
    pub(in crate::dataplane) fn divide_by(&mut self, by: DispatchBy) {
        if let Some(followers) = &mut self.io.followers {
            followers.dispatch.by = by;
        }
    }

    /// Notes that a message of a connection was answered. If it reads states and the answer is not
    /// complete, they stay in one worker until it is.
    pub(super) fn note_reader(&mut self, conn: ConnId, reads_states: bool) {
        if let Some(followers) = &mut self.io.followers
            && reads_states
            && !followers.dispatch.readers.contains(&conn)
        {
            followers.dispatch.readers.push(conn);
        }
    }

    /// Takes the states of all flows, if each worker is to have those of its packets from now on.
    /// The others are stopped.
    pub(super) fn states_to_give(&mut self) -> Option<GivenStates> {
        let followers = self.io.followers.as_ref()?;
        if !followers.are_stopped() || followers.dispatch.are_apart {
            return None;
        }
        let division = followers.dispatch.of_states()?;
        let workers = 1 + followers.count();
        let mut replica = self.switch.replica();
        let states = replica.take_states();
        replica.keep_states(&states, division, (0, workers));
        Some(GivenStates { division, states })
    }

    /// Gives frames that the kernel could not read to the workers that have their states.
    pub(super) fn hand_over(&mut self, number: PortNo, frames: &mut Vec<Frame>) {
        let workers = self.io.workers();
        let Some(followers) = &mut self.io.followers else {
            return;
        };
        let belongs_here = |followers: &Followers, frame: &Frame| {
            let owner = followers.dispatch.owner(frame.bytes(), workers);
            owner.is_none_or(|owner| owner == 0)
        };
        if frames.iter().all(|frame| belongs_here(followers, frame)) {
            return;
        }
        if followers.are_stopped() {
            return self.gather_states();
        }
        frames.retain(|frame| {
            match followers.dispatch.owner(frame.bytes(), workers) {
                None | Some(0) => return true,
                Some(owner) => followers.hand_over(owner, number, frame),
            }
            false
        });
    }

    /// By what frames are to be divided, and whether packets have states. Errors: why all frames
    /// are to be with the first worker.
    fn division(&mut self) -> (Result<Division, String>, bool) {
        let by = match &self.io.followers {
            Some(followers) => followers.dispatch.by,
            None => DispatchBy::Auto,
        };
        let division = self.switch.replica().division(by);
        let mut by_flow = || self.switch.replica().division(DispatchBy::FiveTuple);
        let has_states = division.is_ok() && by_flow().is_err();
        let division = division.map_err(|why| why.to_string());
        (self.unless_one(division, has_states), has_states)
    }

    /// This division, unless all frames are to be with the first worker for another reason.
    fn unless_one(
        &self,
        division: Result<Division, String>,
        has_states: bool,
    ) -> Result<Division, String> {
        let mut ports = self.io.ports.all();
        if let Some(port) = ports.find(|port| port.group.is_none()) {
            return Err(format!(
                "port {} is no interface with packet sockets",
                port.number
            ));
        }
        if !self.io.ports.copiers.is_empty() {
            return Err("captures or mirrors copy frames".into());
        }
        if !self.traces.is_empty() {
            return Err("a trace waits for its packet".into());
        }
        let followers = self.io.followers.as_ref();
        if has_states && self.switch.follows_clock() {
            return Err(
                "a bundle may need any state, and is committed or waits for its time".into(),
            );
        }
        if has_states && followers.is_some_and(|others| !others.dispatch.readers.is_empty()) {
            return Err("a controller reads states".into());
        }
        if has_states && followers.is_some_and(|others| others.dispatch.kept_until().is_some()) {
            return Err("controllers change or read states often".into());
        }
        division
    }

    /// Divides frames anew if there is a reason. The others are stopped.
    ///
    /// Frames that followed the rule before are processed here, where all states are then, and
    /// before any that follows the new one: so none misses its state, and none is overtaken.
    pub(super) fn dispatch(&mut self) -> io::Result<()> {
        let time = self.clock.now();
        let Some(followers) = &mut self.io.followers else {
            return Ok(());
        };
        followers.dispatch.end_pause(time);
        let mut readers = std::mem::take(&mut followers.dispatch.readers);
        readers.retain(|conn| {
            self.io.connections.contains(*conn) && !self.switch.takes(*conn, None, self.io)
        });
        if let Some(followers) = &mut self.io.followers {
            followers.dispatch.readers = readers;
        }
        let (standing, has_states) = self.division();
        let secret = self.switch.datapath().config().secret;
        let Some(followers) = &mut self.io.followers else {
            return Ok(());
        };
        let now = &mut followers.dispatch;
        let before = (&now.standing, now.secret, now.has_states);
        if before != (&standing, secret, has_states) {
            let is_said = now.standing == standing && now.has_states == has_states;
            (now.standing, now.secret, now.has_states) = (standing, secret, has_states);
            if !is_said {
                info!("workers: {}", now.sentence());
            }
            followers.gather(self.switch);
        }
        self.follow_rules()
    }

    /// Lets the sockets of all ports follow the rules that are right now. The others are stopped.
    fn follow_rules(&mut self) -> io::Result<()> {
        let workers = self.io.workers();
        let numbers: Vec<PortNo> = self.io.ports.all().map(|port| port.number).collect();
        let mut changes = Vec::new();
        for number in numbers {
            let Some(followers) = &self.io.followers else {
                return Ok(());
            };
            let rule = followers.dispatch.rule(number, workers);
            let group = self.io.ports.group_mut(number);
            if let Some(before) = group.map(|group| group.rule.clone())
                && before != rule
            {
                changes.push((number, before, rule));
            }
        }
        if !changes.is_empty() {
            self.change_rules(changes)?;
        }
        self.io.ports.flush();
        Ok(())
    }

    /// Exchanges the rules of ports, each of which has one before and one after. What a worker has
    /// received by the rule before leaves before another worker sends frames of the same flows.
    fn change_rules(&mut self, changes: Vec<(PortNo, FanoutRule, FanoutRule)>) -> io::Result<()> {
        self.gather_states();
        // This worker may have received frames since it has stopped the others.
        self.finish_backlog();
        self.wait_for_room(|io, end| {
            if let Some(followers) = &mut io.followers {
                followers.empty_ports(end);
            }
        });
        let stays = changes.iter().all(|(_, _, rule)| *rule == ALL_HERE);
        for (number, before, rule) in changes {
            self.change_rule(number, &before, rule)?;
        }
        if !stays {
            self.wait_for_room(|io, end| io.ports.empty_until(end));
        }
        Ok(())
    }

    /// Has ports emptied, which gives up at a time, and notes how long workers waited for that.
    fn wait_for_room(&mut self, empty: impl FnOnce(&mut DataPlaneIo, Instant)) {
        let begin = self.clock.now();
        empty(self.io, Instant::now() + ROOM_PATIENCE);
        let end = self.clock.now();
        if let Some(followers) = &mut self.io.followers {
            followers.dispatch.note_wait((begin, end));
        }
    }

    /// Exchanges the rule of a port. First, this worker gets all frames, and so what arrived before
    /// is in the sockets of the others, then its own alone.
    fn change_rule(
        &mut self,
        number: PortNo,
        before: &FanoutRule,
        rule: FanoutRule,
    ) -> io::Result<()> {
        if *before != ALL_HERE {
            self.set_rule(number, ALL_HERE)?;
            let others = self.io.workers() - 1;
            (0..others).for_each(|other| self.drain(number, SocketOf::Other(other)));
        }
        if rule != ALL_HERE {
            self.set_rule(number, rule)?;
            self.drain(number, SocketOf::First);
        }
        Ok(())
    }

    fn set_rule(&mut self, number: PortNo, rule: FanoutRule) -> io::Result<()> {
        match self.io.ports.group_mut(number) {
            Some(group) => {
                group.fanout.set_rule(&rule)?;
                group.rule = rule;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Processes all frames that wait in a socket of a port.
    fn drain(&mut self, number: PortNo, socket: SocketOf) {
        let mut frames = Vec::with_capacity(BATCH_FRAMES);
        for _ in 0..MOST_BATCHES {
            let ports = &mut self.io.ports;
            let received = match socket {
                SocketOf::First => ports.receive(number, self.pool, &mut frames),
                SocketOf::Other(other) => {
                    ports.receive_from_other((number, other), self.pool, &mut frames)
                }
            };
            // What is wrong with the port is found out when it is served.
            let Ok(count) = received else { break };
            // Frames without a buffer are dropped, and others may come after them.
            if count == 0 && !self.has_frames(number, socket) {
                break;
            }
            let asked = (number, &frames[..]);
            self.traces
                .answer(self.clock, self.switch, self.pool, asked);
            let now = self.clock.now();
            self.switch.receive(now, number, &mut frames, self.io);
            for _ in 0..MOST_BATCHES {
                if !self.switch.datapath().lane().backlog.has(number) {
                    break;
                }
                self.switch.catch_up(now, self.io);
            }
            self.counters.batch(count, self.clock.now().since(now));
        }
    }

    /// Returns true if frames wait in a socket of a port.
    fn has_frames(&self, number: PortNo, socket: SocketOf) -> bool {
        let ports = &self.io.ports;
        let fd = match socket {
            SocketOf::First => ports.get(number).and_then(|port| port.driver.fd()),
            SocketOf::Other(other) => ports.other_fd(number, other),
        };
        let Some(fd) = fd else { return false };
        let mut polled = [PollFd::new(&fd, PollFlags::IN)];
        let found = poll(&mut polled, Some(&Timespec::default()));
        found.is_ok() && polled[0].revents().contains(PollFlags::IN)
    }
}
