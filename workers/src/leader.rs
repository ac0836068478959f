//! Worker 0: it has the connections, and leads the others through each change.

use std::collections::VecDeque;
use std::sync::Arc;

use bofuss_datapath::{DispatchBy, Time};

use crate::change::{Change, Needs};
use crate::dispatch::Dispatch;
use crate::exchange::{Follower, Next, Order};
use crate::fault::Fault;
use crate::source::Source;
use crate::threads::mpsc::{Receiver, Sender, TryRecvError};
use crate::threads::thread;
use crate::worker::{Progress, Worker};

/// The most changes of one common point, so that packets need not wait for long: as many flow-mods
/// take some 300 us. A common point takes some 20 us more each time.
#[cfg(not(test))]
const CHANGES_AT_ONCE: usize = 256;
/// Two changes have two common points here, one right after the other.
#[cfg(test)]
const CHANGES_AT_ONCE: usize = 1;

/// What is known of the switch after a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) dispatch: Dispatch,
    pub(crate) next_tick: Option<Time>,
}

/// A call: inputs of the switch and their time.
pub(crate) struct Call(pub(crate) Time, pub(crate) VecDeque<Change>);

/// The leader, with its ends of the queues.
pub(crate) struct Leader<S> {
    pub(crate) worker: Worker<S>,
    pub(crate) followers: Vec<Follower>,
    /// What these do since the last common point.
    pub(crate) next: Next,
    /// The changes of the last common point, which the next one frees while followers still make
    /// theirs: the leader would wait for them anyway.
    pub(crate) made: Arc<Vec<Change>>,
    /// By what frames are to be divided.
    pub(crate) by: DispatchBy,
    /// When the next timer of a follower is due.
    pub(crate) followers_tick: Option<Time>,
    pub(crate) calls: Receiver<Call>,
    pub(crate) answers: Sender<Result<Standing, Fault>>,
}

impl<S: Source> Leader<S> {
    /// Runs until there is nobody who could call, or a follower fails.
    pub(crate) fn lead(mut self) {
        loop {
            match self.calls.try_recv() {
                Ok(call) => {
                    let done = self.serve(call);
                    let answer = done.map(|()| self.standing());
                    if self.answers.send(answer).is_err() || done.is_err() {
                        return;
                    }
                }
                Err(TryRecvError::Empty) => {
                    if !self.worker.burst() {
                        thread::park();
                    }
                }
                Err(TryRecvError::Disconnected) => return,
            }
        }
    }

    fn standing(&self) -> Standing {
        Standing {
            dispatch: self.worker.share.dispatch,
            next_tick: [self.worker.switch.next_tick(), self.followers_tick]
                .into_iter()
                .flatten()
                .min(),
        }
    }

    /// Carries out a call to its end. Packets come in between common points.
    fn serve(&mut self, Call(now, mut changes): Call) -> Result<(), Fault> {
        while let Some(first) = changes.front() {
            let shape = self.worker.switch.datapath().shape();
            let has_egress = shape.first_egress.is_some();
            let needs = first.needs(has_egress);
            if let Change::DispatchBy(by) = first {
                self.by = *by;
            }
            if matches!(needs, Needs::All | Needs::States) {
                let next = changes.iter().take(CHANGES_AT_ONCE);
                let count = next
                    .take_while(|change| change.needs(has_egress) == needs)
                    .count();
                let next: Vec<Change> = changes.drain(..count).collect();
                let then = match changes.front() {
                    Some(after) if after.stops_all() => Next::Stop,
                    _ => Next::Bursts,
                };
                for unmade in self.change_all(now, next, needs, then)?.into_iter().rev() {
                    changes.push_front(unmade);
                }
                self.worker.burst();
                continue;
            }
            if needs == Needs::Counters {
                self.common_point(now, Arc::default(), needs, Next::Bursts)?;
            }
            let now = now.max(self.worker.latest);
            if let Some(change) = changes.pop_front() {
                let Worker { switch, io, .. } = &mut self.worker;
                // So its replies are not dropped for the messages of packets that wait.
                io.is_changing = true;
                change.make(now, switch, io);
                io.is_changing = false;
            }
        }
        Ok(())
    }

    /// Makes changes in all replicas until a long one was made. Returns those after it.
    fn change_all(
        &mut self,
        now: Time,
        changes: Vec<Change>,
        needs: Needs,
        then: Next,
    ) -> Result<Vec<Change>, Fault> {
        let changes = Arc::new(changes);
        let mut progress = self.common_point(now, changes.clone(), needs, then)?;
        let rest = changes[progress.made..].to_vec();
        let slice = Arc::new(vec![Change::Work]);
        while progress.is_changing {
            self.worker.burst();
            progress = self.common_point(now, slice.clone(), needs, then)?;
        }
        Ok(rest)
    }

    /// Makes changes in all replicas between two bursts of each, until one has further slices.
    fn common_point(
        &mut self,
        now: Time,
        changes: Arc<Vec<Change>>,
        needs: Needs,
        then: Next,
    ) -> Result<Progress, Fault> {
        let Self {
            worker, followers, ..
        } = self;
        if self.next == Next::Bursts {
            for follower in &*followers {
                follower.order(Order::Stop)?;
            }
        }
        worker.finish_bursts();
        let mut at = now.max(worker.latest);
        for follower in &*followers {
            let (latest, counts) = follower.stopped()?;
            at = at.max(latest);
            let added = worker.switch.replica().add_counts(counts);
            added.map_err(|_| Fault::OutOfStep(follower.worker))?;
        }
        let before = worker.share.dispatch;
        let mut has_states = before.of_states().is_none();
        if needs == Needs::States && !has_states {
            gather_states(worker, followers)?;
            has_states = true;
        }
        let uses = Arc::new(worker.switch.replica().uses());
        // What is refused where all states are is not for followers, which have none.
        let first = (needs == Needs::States).then(|| worker.change(at, &uses, &changes));
        let theirs = match first {
            Some(_) => worker.for_followers(&changes),
            None => changes.clone(),
        };
        for follower in &*followers {
            follower.order(Order::Change(at, uses.clone(), theirs.clone()))?;
        }
        let made = first.unwrap_or_else(|| worker.change(at, &uses, &changes));
        self.made = changes.clone();
        let progress = made.map_err(|_| Fault::OutOfStep(worker.share.worker))?;
        self.followers_tick = None;
        for follower in &*followers {
            let next_tick = follower.has_changed(progress)?;
            let ticks = [self.followers_tick, next_tick].into_iter().flatten();
            self.followers_tick = ticks.min();
        }
        let dispatch = Dispatch::of(&mut worker.switch, self.by);
        worker.share.dispatch = dispatch;
        if followers.is_empty() {
            return Ok(progress);
        }
        let ticks = [self.followers_tick, worker.switch.replica().next_check(at)];
        self.followers_tick = ticks.into_iter().flatten().min();
        let is_same = dispatch == before;
        if !is_same && !has_states {
            gather_states(worker, followers)?;
            has_states = true;
        }
        let is_divided = dispatch.of_states().is_some() && has_states;
        let states = is_divided.then(|| Arc::new(worker.switch.replica().take_states()));
        let meters = Arc::new(worker.switch.replica().share_meters(at));
        self.next = if progress.is_changing {
            Next::Stop
        } else {
            then
        };
        for follower in &*followers {
            let (meters, states) = (meters.clone(), states.clone());
            follower.order(Order::GoOn(dispatch, meters, states, self.next))?;
        }
        worker.keep_states(&states);
        Ok(progress)
    }
}

/// Moves the states of flows of all followers to the leader.
fn gather_states(leader: &mut Worker<impl Source>, followers: &[Follower]) -> Result<(), Fault> {
    for follower in followers {
        follower.order(Order::GiveStates)?;
    }
    for follower in followers {
        leader.switch.replica().add_states(&follower.states()?);
    }
    Ok(())
}
