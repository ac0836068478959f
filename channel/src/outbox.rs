//! The queue of messages towards a peer, counted in bytes, filled from any thread.

use std::future::poll_fn;
use std::mem::size_of;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, Weak};
use std::task::Poll;

use bofuss_oflib::field::IN_PORT;
use bofuss_oflib::{Codec, Message, PortNo};
use tokio::sync::{Notify, mpsc};

use crate::pace::SharedRateLimiter;

/// Above this many waiting bytes [`Sender::has_room`] says no: what may be dropped (packet-ins)
/// is, and what may wait (the rest of a dump) waits.
pub const ROOM_BYTES: usize = 512 * 1024;
/// Above this many waiting bytes the peer is not read: no request adds to the replies.
pub const PAUSE_BYTES: usize = 1024 * 1024;
/// Above this many waiting bytes a further message closes the connection.
pub const MAX_PENDING_BYTES: usize = 16 * 1024 * 1024;
/// Above this many waiting bytes on all connections of a hub a further message closes those where
/// most waits, until the others have no more.
pub const MAX_TOTAL_PENDING_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of a multipart reply, about: what is asked of the memory at first.
const REPLY_BYTES: usize = 16 * 1024;
/// Shares of the room; ports whose numbers are the same modulo this have one together.
const SHARES: usize = 64;

/// Limits packet-ins, by share.
pub(crate) type PacketInLimiter = SharedRateLimiter<SHARES>;

/// Sends on one connection, from any thread, without waiting.
///
/// A message waits in memory until the connection's task encodes it; a waiting byte is counted
/// approximately, from the message's size in memory. Multipart replies are encoded at once: bytes
/// take less memory than entries, and no other thread gives it back piece by piece.
#[derive(Clone, Debug)]
pub struct Sender(Arc<Last>);

/// Closes the connection when dropped.
#[derive(Debug)]
struct Last(Outbox);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.backlog.hang_up.notify_one();
    }
}

impl Sender {
    /// The owner's end of a queue.
    pub(crate) fn new(outbox: Outbox) -> Self {
        Self(Arc::new(Last(outbox)))
    }

    /// Queues a message that must not be lost. `false` if the connection is over, or ends now
    /// because more than [`MAX_PENDING_BYTES`] wait, or more than [`MAX_TOTAL_PENDING_BYTES`] on
    /// all connections and nowhere more than here.
    pub fn send(&self, xid: u32, message: Message) -> bool {
        self.0.0.push(xid, message)
    }

    /// Returns true if at most [`ROOM_BYTES`] wait. If not, an [`Event::Room`](crate::Event::Room)
    /// comes once no more than half of that waits.
    pub fn has_room(&self) -> bool {
        let backlog = &self.0.0.backlog;
        if backlog.pending_bytes() <= ROOM_BYTES {
            return true;
        }
        backlog.wants_room.store(true, SeqCst);
        // A write in between did not see the wish.
        backlog.pending_bytes() <= ROOM_BYTES
    }

    /// Returns true if a packet-in of this ingress port may be sent now, by room and rate; if so it
    /// counts as sent. A port may have as much waiting as it leaves free, and as much of the burst:
    /// one that floods always leaves room for others, and several get the same.
    pub fn takes_packet_in(&self, in_port: PortNo) -> bool {
        let backlog = &self.0.0.backlog;
        let share = in_port.0 as usize % SHARES;
        let waiting = backlog.by_port[share].load(SeqCst);
        if backlog.pending_bytes() + waiting > ROOM_BYTES {
            return false;
        }
        match &backlog.packet_ins {
            Some(pace) => {
                let mut pace = pace.lock().expect("nobody panics who has it");
                pace.admits(share)
            }
            None => true,
        }
    }

    /// The size in bytes of the message that was encoded last; 0 if there was none.
    pub fn last_bytes(&self) -> usize {
        self.0.0.backlog.last_bytes.load(SeqCst)
    }

    /// Bytes that wait, approximately.
    pub fn pending_bytes(&self) -> usize {
        self.0.0.backlog.pending_bytes()
    }

    /// Closes the connection; what waits is still written, for a second at most.
    pub fn close(&self) {
        self.0.0.backlog.hang_up.notify_one();
    }
}

/// The backlogs of all connections of a hub.
#[derive(Debug, Default)]
pub(crate) struct Backlogs {
    total_bytes: AtomicUsize,
    all: Mutex<Vec<Weak<Backlog>>>,
}

impl Backlogs {
    /// Adds the backlog of a new connection.
    fn add(&self, backlog: &Arc<Backlog>) {
        let mut all = self.all.lock().expect("nobody panics who has it");
        all.retain(|backlog| backlog.strong_count() > 0);
        all.push(Arc::downgrade(backlog));
    }

    /// Ends the connections where most waits, until no more than [`MAX_TOTAL_PENDING_BYTES`] wait
    /// on the others. A burst of messages to peers that read ends none of theirs because of peers
    /// that do not.
    fn bound(&self) {
        if self.total_bytes.load(SeqCst) <= MAX_TOTAL_PENDING_BYTES {
            return;
        }
        let all = self.all.lock().expect("nobody panics who has it");
        let mut open: Vec<(usize, Arc<Backlog>)> = all
            .iter()
            .filter_map(Weak::upgrade)
            .filter(|backlog| !backlog.overflowed.load(SeqCst))
            .map(|backlog| (backlog.pending_bytes(), backlog))
            .collect();
        open.sort_by_key(|(bytes, _)| *bytes);
        let mut total: usize = open.iter().map(|(bytes, _)| bytes).sum();
        while total > MAX_TOTAL_PENDING_BYTES
            && let Some((bytes, backlog)) = open.pop()
        {
            total -= bytes;
            backlog.overflow();
        }
    }
}

/// The state that the queue's two ends share.
#[derive(Debug)]
pub(crate) struct Backlog {
    pending_bytes: AtomicUsize,
    hub: Arc<Backlogs>,
    wants_room: AtomicBool,
    /// Bytes of packet-ins that wait, by ingress port.
    by_port: [AtomicUsize; SHARES],
    /// The number of packet-ins that may be sent a second.
    packet_ins: Option<Mutex<PacketInLimiter>>,
    /// True if the connection ends because too much waits.
    pub(crate) overflowed: AtomicBool,
    /// Ends the connection.
    pub(crate) hang_up: Notify,
    /// Told whenever the peer takes bytes.
    pub(crate) progress: Notify,
    /// The number of times that a write that had to wait went on: then the peer has read.
    resumed_writes: AtomicU64,
    /// The size in bytes of the message that was encoded last.
    last_bytes: AtomicUsize,
}

impl Backlog {
    pub(crate) fn pending_bytes(&self) -> usize {
        self.pending_bytes.load(SeqCst)
    }

    /// Ends the connection because too much waits.
    fn overflow(&self) {
        self.overflowed.store(true, SeqCst);
        self.hang_up.notify_one();
    }

    /// Notes the size of a message that was encoded.
    pub(crate) fn note_encoded(&self, bytes: usize) {
        self.last_bytes.store(bytes, SeqCst);
    }

    /// The number of times that the peer made room for a write that waited for it.
    pub(crate) fn resumed_writes(&self) -> u64 {
        self.resumed_writes.load(SeqCst)
    }

    /// Waits for a write, and counts it if it had to wait for the peer.
    pub(crate) async fn watch<T>(&self, write: impl Future<Output = T>) -> T {
        let mut write = pin!(write);
        let at_once = poll_fn(|context| Poll::Ready(write.as_mut().poll(context))).await;
        if let Poll::Ready(done) = at_once {
            return done;
        }
        let done = write.await;
        self.resumed_writes.fetch_add(1, SeqCst);
        done
    }

    /// Counts a message that leaves the queue; gives the bytes that it waited with.
    pub(crate) fn leaves(&self, waiting: &QueuedMessage) -> usize {
        let weight_bytes = waiting.weight_bytes();
        if let Some(share) = self.share(waiting) {
            share.fetch_sub(weight_bytes, SeqCst);
        }
        weight_bytes
    }

    /// Returns the counter of a packet-in.
    fn share(&self, waiting: &QueuedMessage) -> Option<&AtomicUsize> {
        let QueuedMessage::Message(_, Message::PacketIn(packet_in)) = waiting else {
            return None;
        };
        let in_port = packet_in.fields.get(IN_PORT)?.number() as usize;
        Some(&self.by_port[in_port % SHARES])
    }

    /// Counts what was written. Returns true if the owner has to be notified of the room.
    pub(crate) fn written(&self, weight_bytes: usize) -> bool {
        self.hub.total_bytes.fetch_sub(weight_bytes, SeqCst);
        let before = self.pending_bytes.fetch_sub(weight_bytes, SeqCst);
        self.progress.notify_one();
        before - weight_bytes <= ROOM_BYTES / 2 && self.wants_room.swap(false, SeqCst)
    }
}

impl Drop for Backlog {
    fn drop(&mut self) {
        let pending_bytes = self.pending_bytes();
        self.hub.total_bytes.fetch_sub(pending_bytes, SeqCst);
    }
}

/// An item that waits in the queue.
pub(crate) enum QueuedMessage {
    /// A message with its transaction id.
    Message(u32, Message),
    /// Whole messages.
    Bytes(Vec<u8>),
}

impl QueuedMessage {
    /// Returns its size in memory; exact for bytes, packets and echoes, else a fair guess.
    fn weight_bytes(&self) -> usize {
        let payload = match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Message(_, message) => {
                if let Message::PacketIn(packet_in) = message {
                    packet_in.data.0.len()
                } else if let Message::EchoReply(data) = message {
                    data.0.len()
                } else {
                    0
                }
            }
        };
        size_of::<Message>() + payload
    }
}

/// The end of the queue where messages come out.
pub(crate) type OutboxQueue = mpsc::UnboundedReceiver<QueuedMessage>;

/// The end of the queue where messages go in.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    queue: mpsc::UnboundedSender<QueuedMessage>,
    codec: Codec,
    pub(crate) backlog: Arc<Backlog>,
}

impl Outbox {
    /// A queue among those of `hub`, with this many packet-ins: where messages go in, and where
    /// they come out.
    pub(crate) fn new(
        codec: Codec,
        hub: &Arc<Backlogs>,
        packet_ins: Option<PacketInLimiter>,
    ) -> (Self, OutboxQueue) {
        let (queue, out) = mpsc::unbounded_channel();
        let backlog = Arc::new(Backlog {
            pending_bytes: AtomicUsize::new(0),
            hub: hub.clone(),
            wants_room: AtomicBool::new(false),
            by_port: [const { AtomicUsize::new(0) }; SHARES],
            packet_ins: packet_ins.map(Mutex::new),
            overflowed: AtomicBool::new(false),
            hang_up: Notify::new(),
            progress: Notify::new(),
            resumed_writes: AtomicU64::new(0),
            last_bytes: AtomicUsize::new(0),
        });
        hub.add(&backlog);
        let outbox = Self {
            queue,
            codec,
            backlog,
        };
        (outbox, out)
    }

    /// As [`Sender::send`].
    pub(crate) fn push(&self, xid: u32, message: Message) -> bool {
        let backlog = &self.backlog;
        backlog.hub.bound();
        if backlog.pending_bytes() > MAX_PENDING_BYTES {
            backlog.overflow();
        }
        if backlog.overflowed.load(SeqCst) {
            return false;
        }
        let waiting = self.prepared(xid, message);
        let weight_bytes = waiting.weight_bytes();
        backlog.hub.total_bytes.fetch_add(weight_bytes, SeqCst);
        backlog.pending_bytes.fetch_add(weight_bytes, SeqCst);
        if let Some(share) = backlog.share(&waiting) {
            share.fetch_add(weight_bytes, SeqCst);
        }
        self.queue.send(waiting).is_ok()
    }

    /// A multipart reply as bytes, if it can be said; else the message.
    fn prepared(&self, xid: u32, message: Message) -> QueuedMessage {
        if let Message::MultipartReply(_) = message {
            let mut bytes = Vec::with_capacity(REPLY_BYTES);
            if self.codec.encode(xid, &message, &mut bytes).is_ok() {
                return QueuedMessage::Bytes(bytes);
            }
        }
        QueuedMessage::Message(xid, message)
    }
}
