//! What goes between the server and the thread that owns the switch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bofuss_p4::{Digest, Sink, Switch};
use prost::Message;
use tokio::sync::{mpsc, oneshot};

use crate::error::Refusal;
use crate::wire::messages::{ForwardingPipelineConfig, Update, WriteRequest};

/// The number of an update that was refused, from 0 in its job, and the code of gRPC for it.
pub type RefusedUpdate = (usize, i32);

/// What is to be done with a switch and the time, in microseconds since it began. Returns what was
/// refused.
type Control = Box<dyn FnOnce(&mut Switch, u64) -> Vec<RefusedUpdate> + Send>;

/// A change that a controller makes to a switch, for its record. Clones share it.
#[derive(Clone, Debug)]
pub enum Change {
    /// It sets a pipeline, with the time as the seed of random numbers.
    Pipeline {
        /// The P4Info and the program.
        config: Arc<ForwardingPipelineConfig>,
        /// True if what controllers wrote to the old one is written to this one.
        keeps: bool,
    },
    /// It makes updates.
    Write(Arc<[Update]>),
}

impl Change {
    /// The updates as a WriteRequest that has only these.
    pub fn encoded(updates: &[Update]) -> Vec<u8> {
        let updates = updates.to_vec();
        let request = WriteRequest {
            updates,
            ..WriteRequest::default()
        };
        request.encode_to_vec()
    }
}

/// Something to do for the thread that owns the switch.
pub enum Job {
    /// To read or change the switch; with the change, if it is one.
    Control(Control, Option<Change>),
    /// To process a frame, as if it had arrived at `port`.
    Packet {
        /// The port, as the program numbers it.
        port: u32,
        /// The frame, with the header of a packet-out in front.
        frame: Vec<u8>,
    },
}

impl Job {
    /// Does it. `now` is in microseconds since the switch began; what leaves goes to `sink`.
    /// Returns the updates that were refused; a pipeline counts as one.
    pub fn run<S: Sink>(self, switch: &mut Switch, now: u64, sink: &mut S) -> Vec<RefusedUpdate> {
        match self {
            Self::Control(act, _) => act(switch, now),
            Self::Packet { port, frame } => {
                switch.receive(port, &frame, now, sink);
                Vec::new()
            }
        }
    }
}

/// The way to the thread that owns the switch. Clones share it.
#[derive(Clone)]
pub struct Link(pub mpsc::Sender<Job>);

impl Link {
    /// Does `act` with the switch and returns what it returns. Errors: the switch has ended.
    pub async fn ask<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Switch, u64) -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        self.send(None, act, |_| Vec::new()).await
    }

    /// The same for a change, which is recorded with what `refused` finds in the result.
    pub async fn change<T: Send + 'static>(
        &self,
        change: Change,
        act: impl FnOnce(&mut Switch, u64) -> T + Send + 'static,
        refused: fn(&T) -> Vec<RefusedUpdate>,
    ) -> Result<T, Refusal> {
        self.send(Some(change), act, refused).await
    }

    async fn send<T: Send + 'static>(
        &self,
        change: Option<Change>,
        act: impl FnOnce(&mut Switch, u64) -> T + Send + 'static,
        refused: fn(&T) -> Vec<RefusedUpdate>,
    ) -> Result<T, Refusal> {
        let (reply, answer) = oneshot::channel();
        let act = move |switch: &mut Switch, now| {
            let done = act(switch, now);
            let refused = refused(&done);
            // Who asked may be gone.
            let _ = reply.send(done);
            refused
        };
        let job = Job::Control(Box::new(act), change);
        // If the thread has ended, the answer says so.
        let _ = self.0.send(job).await;
        let ended = |_| Refusal::unavailable("the switch is ending");
        answer.await.map_err(ended)
    }

    /// Gives a frame to the switch. Errors: the switch has ended.
    pub async fn inject(&self, port: u32, frame: Vec<u8>) -> Result<(), Refusal> {
        let sent = self.0.send(Job::Packet { port, frame }).await;
        sent.map_err(|_| Refusal::unavailable("the switch is ending"))
    }
}

/// What the switch reports.
pub enum Report {
    /// A frame that the program sent to the CPU port.
    Packet(Vec<u8>),
    /// The values of a digest.
    Digest(Digest),
}

/// Takes what the switch reports to controllers. Nothing here waits: what finds no room is lost and
/// counted. Clones share the room.
#[derive(Clone)]
pub struct Reports {
    queue: mpsc::Sender<Report>,
    lost: Arc<AtomicU64>,
}

impl Reports {
    /// An end that takes reports, and one that gives them. `room` is how many can wait.
    pub(crate) fn new(room: usize) -> (Self, mpsc::Receiver<Report>) {
        let (queue, reports) = mpsc::channel(room);
        let lost = Arc::default();
        (Self { queue, lost }, reports)
    }

    /// Reports a frame that the program sent to the CPU port.
    pub fn packet(&self, frame: Vec<u8>) {
        self.put(Report::Packet(frame));
    }

    /// Reports a digest.
    pub fn digest(&self, digest: Digest) {
        self.put(Report::Digest(digest));
    }

    fn put(&self, report: Report) {
        if self.queue.try_send(report).is_err() {
            self.lose();
        }
    }

    /// Counts a report that is lost.
    pub(crate) fn lose(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// How many packets and digests did not reach a controller that they were for, because the
    /// server or the controller was too slow.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}
