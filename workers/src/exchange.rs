//! The common point: what a leader and its followers say to each other, and in which order.
//!
//! A follower stops between two bursts and hands its counters over ([`Order::Stop`],
//! [`Report::Stopped`]). When all have stopped, all make the same changes ([`Order::Change`],
//! [`Report::Changed`]). When all have made them, all go on ([`Order::GoOn`]). So no packet is
//! processed after the change while another is still processed before it. Where the next change is
//! known by then, followers stop again at once, after what has arrived meanwhile.

use std::sync::Arc;
use std::time::Duration;

use bofuss_datapath::{EntryUse, MeterShare, OutOfStep, ReplicaCounts, TakenStates, Time};

use crate::change::Change;
use crate::dispatch::Dispatch;
use crate::fault::Fault;
use crate::source::Source;
use crate::threads::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError};
use crate::threads::thread::{self, Thread};
use crate::worker::{GivenStates, Progress, Worker};

/// How long the leader waits for a follower. A burst takes microseconds, and so does a slice of a
/// change; a thread that is not scheduled for so long does not forward packets either.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often one looks for what the other says before it sleeps. It comes after microseconds, and
/// to be woken takes some 40; others get the processor in between.
const LOOKS: usize = 100;
/// The places of the queues: orders and reports alternate, but for the last order of a common point
/// and the first of the next. So the leader never waits for a place, where nothing would end that.
pub(crate) const PLACES: usize = 2;

/// What the leader asks for.
pub(crate) enum Order {
    /// Stop, and report what was counted.
    Stop,
    /// Give away all states of flows.
    GiveStates,
    /// Note when entries were last used, and make these changes at this time.
    Change(Time, Arc<Vec<EntryUse>>, Arc<Vec<Change>>),
    /// Share the rates of these meters, and go on with bursts, which are divided like this.
    GoOn(Dispatch, Arc<Vec<MeterShare>>, GivenStates, Next),
}

/// What a follower does after a common point.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// It processes bursts until the next order.
    Bursts,
    /// It processes what has arrived, and stops again: more changes follow.
    Stop,
}

/// What a follower answers.
pub(crate) enum Report {
    /// It has stopped. The time of its last burst, and what it has counted.
    Stopped(Time, Box<ReplicaCounts>),
    /// Its states of flows.
    States(Vec<TakenStates>),
    /// It has made changes. When its next timer is due.
    Changed(Result<Progress, OutOfStep>, Option<Time>),
}

/// A follower, as the leader sees it.
pub(crate) struct Follower {
    /// Its number.
    pub(crate) worker: usize,
    pub(crate) thread: Thread,
    pub(crate) orders: SyncSender<Order>,
    pub(crate) reports: Receiver<Report>,
}

impl Follower {
    /// Sends an order, and wakes the follower. Errors: its thread has ended.
    pub(crate) fn order(&self, order: Order) -> Result<(), Fault> {
        let sent = self.orders.send(order);
        self.thread.unpark();
        sent.map_err(|_| Fault::Gone(self.worker))
    }

    fn report(&self) -> Result<Report, Fault> {
        if let Some(report) = look_for(&self.reports) {
            return Ok(report);
        }
        self.reports.recv_timeout(PATIENCE).map_err(|e| match e {
            RecvTimeoutError::Timeout => Fault::Stalled(self.worker),
            RecvTimeoutError::Disconnected => Fault::Gone(self.worker),
        })
    }

    /// Waits until it has stopped. Returns the time of its last burst, and what it has counted.
    pub(crate) fn stopped(&self) -> Result<(Time, ReplicaCounts), Fault> {
        match self.report()? {
            Report::Stopped(latest, counts) => Ok((latest, *counts)),
            Report::Changed(..) | Report::States(_) => Err(Fault::OutOfStep(self.worker)),
        }
    }

    /// Waits for its states of flows.
    pub(crate) fn states(&self) -> Result<Vec<TakenStates>, Fault> {
        match self.report()? {
            Report::States(states) => Ok(states),
            Report::Changed(..) | Report::Stopped(..) => Err(Fault::OutOfStep(self.worker)),
        }
    }

    /// Waits until it has made the changes, with the same result as the leader. Returns when its
    /// next timer is due.
    pub(crate) fn has_changed(&self, progress: Progress) -> Result<Option<Time>, Fault> {
        match self.report()? {
            Report::Changed(Ok(reached), next_tick) if reached == progress => Ok(next_tick),
            Report::Changed(..) | Report::Stopped(..) | Report::States(_) => {
                Err(Fault::OutOfStep(self.worker))
            }
        }
    }
}

/// A follower's ends of the queues.
pub(crate) struct Leash {
    pub(crate) orders: Receiver<Order>,
    pub(crate) reports: SyncSender<Report>,
}

/// The leader is gone, or has given up: the follower ends.
struct Released;

impl Leash {
    /// Runs a follower until its leader lets go of it.
    pub(crate) fn follow(self, mut worker: Worker<impl Source>) {
        loop {
            match self.orders.try_recv() {
                Ok(order) => {
                    if self.obey(&mut worker, order).is_err() {
                        return;
                    }
                }
                Err(TryRecvError::Empty) => {
                    if !worker.burst() {
                        thread::park();
                    }
                }
                Err(TryRecvError::Disconnected) => return,
            }
        }
    }

    /// Carries out orders until the last is to go on.
    fn obey(&self, worker: &mut Worker<impl Source>, mut order: Order) -> Result<(), Released> {
        loop {
            let report = match order {
                Order::Stop => {
                    worker.finish_bursts();
                    let counts = Box::new(worker.counts());
                    Report::Stopped(worker.latest, counts)
                }
                Order::Change(now, uses, changes) => {
                    let changed = worker.change(now, &uses, &changes);
                    Report::Changed(changed, worker.switch.next_tick())
                }
                Order::GiveStates => Report::States(worker.switch.replica().take_states()),
                Order::GoOn(dispatch, meters, states, next) => {
                    worker.share.dispatch = dispatch;
                    worker.keep_states(&states);
                    let joined = worker.switch.replica().join_meters(&meters);
                    // A leader whose follower has ended ends, too.
                    joined.map_err(|_| Released)?;
                    if next == Next::Bursts {
                        return Ok(());
                    }
                    order = Order::Stop;
                    continue;
                }
            };
            self.reports.send(report).map_err(|_| Released)?;
            order = match look_for(&self.orders) {
                Some(order) => order,
                None => self.orders.recv().map_err(|_| Released)?,
            };
        }
    }
}

/// Takes what comes soon.
fn look_for<T>(queue: &Receiver<T>) -> Option<T> {
    (0..LOOKS).find_map(|_| {
        let found = queue.try_recv().ok();
        if found.is_none() {
            thread::yield_now();
        }
        found
    })
}
