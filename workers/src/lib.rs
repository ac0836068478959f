//! One switch on several threads, each of which has flows of its own.
//!
//! Nothing is shared: [`Workers`] are whole [`Switch`]es, their *replicas*, which the core knows
//! nothing of. Frames of a flow are always given to the same worker ([`Share`]), so their order
//! holds. Everything that changes a switch is given to all replicas in the same order, while all
//! are between two bursts of frames (`exchange.rs`): so all have the same entries, groups and
//! ports, and expire and evict the same entries. Worker 0 is the *leader*. It has the connections;
//! before it answers or changes anything it adds what the others have counted to its own counters.
//!
//! States of flows, such as those of OpenState, are where their packets are: frames are divided by
//! fields in which all packets of a state agree. For a message that reads or changes states, all of
//! them are moved to the leader, and divided again after it.
//!
//! What replicas cannot do each for itself, such as NORMAL, makes all frames go to the
//! leader, as long as the switch has it: [`Workers::dispatch`] says so, and why.
//!
//! A worker's ports are a [`Source`]. `docs/workers.md` has a drawing.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

mod change;
mod dispatch;
mod exchange;
mod fault;
mod leader;
mod outbox;
#[cfg(test)]
mod schedules;
mod source;
mod threads;
mod worker;

// The tests' helpers know this crate by its name.
#[cfg(test)]
extern crate self as bofuss_workers;

use std::collections::VecDeque;
use std::sync::Arc;

use bofuss_agent::ConnId;
use bofuss_datapath::{DispatchBy, Time};
use bofuss_ext::Switch;
use bofuss_frame::OffloadCapabilities;
use bofuss_oflib::message::PortDesc;
use bofuss_oflib::{Message, PortNo, Version};

use change::Change;
use exchange::{Follower, Leash, Next, PLACES};
use leader::{Call, Leader, Standing};
use outbox::Outbox;
use threads::mpsc::{Receiver, Sender, channel, sync_channel};
use threads::thread::{self, JoinHandle};
use worker::Worker;

pub use dispatch::{Dispatch, Share};
pub use fault::Fault;
pub use outbox::Sent;
pub use source::Source;

/// One switch on several threads. Dropping it ends the threads.
///
/// When a call returns, all workers have done what it asks for, and all replies are in
/// [`Workers::sent`]. A call is made at the time `now`, or at that of the last burst if this is
/// later. Packets are not held for controllers: a packet-in has the whole packet.
pub struct Workers {
    /// `None` once they are to end, and after a fault.
    calls: Option<Sender<Call>>,
    answers: Receiver<Result<Standing, Fault>>,
    threads: Vec<JoinHandle<()>>,
    outbox: Outbox,
    share: Share,
    next_tick: Option<Time>,
}

impl Workers {
    /// Starts `workers` threads, at least one. On each, `make` is called with its number, and makes
    /// its ports and its replica. The replicas have to be equal and without ports, entries and
    /// connections, except for the entry of a fail mode.
    ///
    /// Errors: the first call fails, because a thread has ended.
    pub fn start<S, F>(workers: usize, make: F) -> Result<Self, Fault>
    where
        S: Source,
        F: Fn(usize) -> (Switch, S) + Send + Sync + 'static,
    {
        let make = Arc::new(make);
        let outbox = Outbox::default();
        let (shares, share) = channel();
        let mut followers = Vec::new();
        let mut threads = Vec::new();
        for number in 1..workers {
            let (orders, from_leader) = sync_channel(PLACES);
            let (to_leader, reports) = sync_channel(PLACES);
            let make = make.clone();
            let outbox = outbox.clone();
            let thread = thread::spawn(move || {
                let (switch, source) = make(number);
                let leash = Leash {
                    orders: from_leader,
                    reports: to_leader,
                };
                leash.follow(Worker::new(switch, source, outbox, (number, workers)));
            });
            followers.push(Follower {
                worker: number,
                thread: thread.thread().clone(),
                orders,
                reports,
            });
            threads.push(thread);
        }
        let (calls, called) = channel();
        let (answering, answers) = channel();
        let leading = outbox.clone();
        threads.insert(
            0,
            thread::spawn(move || {
                let (switch, source) = make(0);
                let worker = Worker::new(switch, source, leading, (0, workers));
                if shares.send(worker.share).is_ok() {
                    let leader = Leader {
                        worker,
                        followers,
                        next: Next::Bursts,
                        made: Arc::default(),
                        by: DispatchBy::Auto,
                        followers_tick: None,
                        calls: called,
                        answers: answering,
                    };
                    leader.lead();
                }
            }),
        );
        let mut this = Self {
            calls: Some(calls),
            answers,
            threads,
            outbox,
            share: share.recv().map_err(|_| Fault::Gone(0))?,
            next_tick: None,
        };
        // This also waits until all have started.
        this.call(Time(0), [Change::Tick])?;
        Ok(this)
    }

    /// Adds a port, or changes it. Errors: [`Fault`], as with all calls; then all workers end.
    pub fn port_changed(
        &mut self,
        now: Time,
        desc: PortDesc,
        capabilities: OffloadCapabilities,
    ) -> Result<(), Fault> {
        self.call(now, [Change::Port(Box::new(desc), capabilities)])
    }

    /// Removes a port.
    pub fn port_removed(&mut self, now: Time, port: PortNo) -> Result<(), Fault> {
        self.call(now, [Change::PortGone(port)])
    }

    /// Adds the connection of a controller that speaks `version`.
    pub fn connected(&mut self, now: Time, conn: ConnId, version: Version) -> Result<(), Fault> {
        self.call(now, [Change::Connected(conn, version)])
    }

    /// Removes a connection.
    pub fn disconnected(&mut self, now: Time, conn: ConnId) -> Result<(), Fault> {
        self.call(now, [Change::Disconnected(conn)])
    }

    /// Handles a message of a connection.
    pub fn message(
        &mut self,
        now: Time,
        conn: ConnId,
        xid: u32,
        message: Message,
    ) -> Result<(), Fault> {
        self.messages(now, conn, [(xid, message)])
    }

    /// Handles messages of a connection, in order. This takes less time than as many calls, because
    /// several changes are made each time when all workers have stopped.
    pub fn messages(
        &mut self,
        now: Time,
        conn: ConnId,
        messages: impl IntoIterator<Item = (u32, Message)>,
    ) -> Result<(), Fault> {
        let messages = messages.into_iter();
        let changes = messages.map(|(xid, message)| Change::Message(conn, xid, Box::new(message)));
        self.call(now, changes.collect::<VecDeque<_>>())
    }

    /// Divides frames by something else from now on, as far as what the switch does allows. All of
    /// them go to worker 0 if packets of one state would be in several workers.
    pub fn dispatch_by(&mut self, now: Time, by: DispatchBy) -> Result<(), Fault> {
        self.call(now, [Change::DispatchBy(by)])
    }

    /// Handles timers that are due at [`Workers::next_tick`]: entries expire, for example.
    pub fn tick(&mut self, now: Time) -> Result<(), Fault> {
        self.call(now, [Change::Tick])
    }

    /// When [`Workers::tick`] has to be called next, as known after the last call.
    pub fn next_tick(&self) -> Option<Time> {
        self.next_tick
    }

    /// Takes the messages for controllers: replies, and what packets have caused. At most 1,024
    /// messages wait while packet-ins are added.
    pub fn sent(&self) -> Vec<Sent> {
        self.outbox.take()
    }

    /// How many packet-ins were dropped, because too many messages waited.
    pub fn lost_packet_ins(&self) -> u64 {
        self.outbox.lost_packet_ins()
    }

    /// How frames are divided among workers, since the last call.
    pub fn dispatch(&self) -> Dispatch {
        self.share.dispatch
    }

    /// The worker that a frame with these bytes belongs to, which arrives on this port, until the
    /// next call.
    pub fn worker_of(&self, port: PortNo, frame: &[u8]) -> usize {
        self.share.worker_of(port, frame)
    }

    /// Has a worker look for frames, if it sleeps because there were none.
    pub fn wake(&self, worker: usize) {
        if let Some(thread) = self.threads.get(worker) {
            thread.thread().unpark();
        }
    }

    fn call(&mut self, now: Time, changes: impl Into<VecDeque<Change>>) -> Result<(), Fault> {
        let calls = self.calls.take().ok_or(Fault::Gone(0))?;
        calls
            .send(Call(now, changes.into()))
            .map_err(|_| Fault::Gone(0))?;
        self.wake(0);
        let standing = self.answers.recv().map_err(|_| Fault::Gone(0))??;
        self.calls = Some(calls);
        self.share.dispatch = standing.dispatch;
        self.next_tick = standing.next_tick;
        Ok(())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let had_fault = self.calls.take().is_none();
        for thread in self.threads.drain(..) {
            // The leader ends first and lets go of its followers, which may sleep.
            thread.thread().unpark();
            // After a fault, nobody knows whether a thread ends. One that panicked has said so.
            if !had_fault {
                let _ = thread.join();
            }
        }
    }
}
