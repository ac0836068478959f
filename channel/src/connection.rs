//! A connection's task: reads messages into events, probes a silent peer, writes what is queued.

use std::convert::Infallible;
use std::io;
use std::mem::replace;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use bofuss_oflib::assemble::Refused;
use bofuss_oflib::error::BadRequest;
use bofuss_oflib::framing::xid_of;
use bofuss_oflib::handshake::HandshakeError;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Assembler, Codec, DecodeError, HEADER_BYTES, Message};
use tokio::io::{AsyncWriteExt, WriteHalf};
use tokio::select;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::frame::Frames;
use crate::handshake::Established;
use crate::outbox::{
    Backlog, Backlogs, Outbox, OutboxQueue, PAUSE_BYTES, PacketInLimiter, QueuedMessage, Sender,
};
use crate::pace::RateLimiter;
use crate::queue_place::QueuePlaces;
use crate::stream::{AddressPair, Stream};
use crate::timeouts::LINGER;
use crate::{ConnId, Event, Head, Origin, QueuePlace, Reason, Settings, Watch};

/// Encoded bytes that go into one write, about.
const WRITE_BYTES: usize = 64 * 1024;
/// Messages that are handed over at a time, at most.
const HANDED_OVER: usize = 64;
/// The transaction id of our own ECHO_REQUESTs.
const PROBE_XID: u32 = 0x7072_6f62;

/// The time that a connection that may lose messages may be silent before its peer is asked, at
/// most; twice that is below the 30 s of OpenFlow 1.3.5 section 6.3.6.
const MAX_DATAGRAM_PROBE: Duration = Duration::from_secs(10);

/// The most bytes of unfinished multipart requests that a connection holds.
pub const MAX_MULTIPART_REQUEST_BYTES: usize = 1 << 20;

/// The state that all connections of a hub share.
#[derive(Clone, Debug)]
pub(crate) struct HubShared {
    pub(crate) settings: watch::Sender<Arc<Settings>>,
    pub(crate) events: mpsc::Sender<Event>,
    /// What waits for all peers.
    pub(crate) backlogs: Arc<Backlogs>,
}

impl HubShared {
    /// The settings of now.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.settings.borrow().clone()
    }
}

/// Runs an established connection to its end: the events from `Up` to `Down`. Meanwhile `beside`
/// keeps its auxiliary connections.
pub(crate) async fn run(
    hub: &HubShared,
    conn: ConnId,
    origin: Origin,
    established: Established,
    beside: impl Future<Output = Infallible>,
) {
    let Established {
        mut frames,
        writer,
        codec,
        ends,
    } = established;
    let version = codec.version;
    let packet_ins = hub.settings().packet_in_rate.map(PacketInLimiter::new);
    let (outbox, queue) = Outbox::new(codec.clone(), &hub.backlogs, packet_ins);
    let backlog = outbox.backlog.clone();
    let datagrams = origin.is_datagrams();
    let link = ConnectionShared {
        conn,
        origin: origin.clone(),
        ends,
        hub,
        watch: hub.settings().watch.clone(),
        datagrams,
        is_switch: hub.settings().is_switch,
        backlog: &backlog,
        places: QueuePlaces::new(),
        codec,
    };
    let up = Event::Up {
        conn,
        origin,
        version,
        sender: Sender::new(outbox.clone()),
    };
    if link.tell(up).await.is_err() {
        return;
    }
    let mut writing = pin!(link.write(queue, writer));
    let mut written = false;
    let reason = tokio::select! {
        Err(reason) = link.read(&mut frames, outbox) => reason,
        end = &mut writing => {
            written = true;
            end.map_or_else(Reason::from, |()| Reason::ClosedHere)
        }
        () = backlog.hang_up.notified() => {
            if backlog.overflowed.load(SeqCst) {
                Reason::Overflow
            } else {
                Reason::ClosedHere
            }
        }
        never = beside => match never {},
    };
    let _ = link.tell(Event::Down { conn, reason }).await;
    let farewell = async {
        if !written {
            let _ = writing.await;
            frames.drain().await;
        }
    };
    let _ = timeout(LINGER, farewell).await;
}

/// The time that the peer may be silent before it is asked; zero: for ever.
fn probe_interval(configured: Duration, datagrams: bool) -> Duration {
    match datagrams {
        true if configured.is_zero() => MAX_DATAGRAM_PROBE,
        true => configured.min(MAX_DATAGRAM_PROBE),
        false => configured,
    }
}

/// The state that the two halves of a connection share.
struct ConnectionShared<'a> {
    conn: ConnId,
    origin: Origin,
    ends: Option<AddressPair>,
    hub: &'a HubShared,
    /// The observer of the messages.
    watch: Option<Watch>,
    datagrams: bool,
    is_switch: bool,
    backlog: &'a Backlog,
    /// Room for messages that the owner has not served.
    places: QueuePlaces,
    codec: Codec,
}

impl ConnectionShared<'_> {
    /// Queues an event. Errors: ClosedHere if the owner is gone.
    async fn tell(&self, event: Event) -> Result<(), Reason> {
        let taken = self.hub.events.send(event).await;
        taken.map_err(|_| Reason::ClosedHere)
    }

    /// Queues events, as they come; leaves `events` empty. Errors: ClosedHere if the owner is gone.
    async fn tell_all(&self, events: &mut Vec<Event>) -> Result<(), Reason> {
        let queue = &self.hub.events;
        while !events.is_empty() {
            let count = events.len().min(queue.max_capacity());
            let permits = queue
                .reserve_many(count)
                .await
                .map_err(|_| Reason::ClosedHere)?;
            for (permit, event) in permits.zip(events.drain(..count)) {
                permit.send(event);
            }
        }
        Ok(())
    }

    /// Shows bytes to who watches.
    fn show(&self, received: bool, bytes: &[u8]) {
        if let Some(Watch(watch)) = &self.watch {
            watch(&self.origin, self.ends, received, bytes);
        }
    }

    /// Reads until the connection ends; gives why.
    async fn read(&self, frames: &mut Frames, outbox: Outbox) -> Result<Infallible, Reason> {
        let mut assembler = Assembler::new(self.codec.clone(), MAX_MULTIPART_REQUEST_BYTES);
        assembler.is_switch = self.is_switch;
        let mut pace = self.hub.settings().message_rate.map(RateLimiter::new);
        let mut events = Vec::new();
        loop {
            let mut next = match self.next_frame(frames, &outbox).await {
                Ok(length) => Ok(length),
                Err(Reason::Malformed(cause)) => Err(cause),
                Err(reason) => return Err(reason),
            };
            let mut place = self.turn(next.unwrap_or(0)).await?;
            if let Some(pace) = &mut pace {
                pace.wait().await;
            }
            let end = loop {
                let (event, end) = self.take(frames, next, &mut assembler, place);
                events.extend(event);
                // Messages that came in the same read are handed over together.
                if pace.is_some() || end.is_some() || events.len() >= HANDED_OVER {
                    break end;
                }
                let Some(length) = frames.buffered_length() else {
                    break end;
                };
                let Some(own_place) = self.places.try_take(length.unwrap_or(0)) else {
                    break end;
                };
                next = length;
                place = own_place;
            };
            self.tell_all(&mut events).await?;
            if let Some(reason) = end {
                return Err(reason);
            }
        }
    }

    /// Takes the frame that is `ready`. Returns the event for the owner, and the reason if the
    /// connection ends after it.
    fn take(
        &self,
        frames: &mut Frames,
        ready: Result<usize, DecodeError>,
        assembler: &mut Assembler,
        place: QueuePlace,
    ) -> (Option<Event>, Option<Reason>) {
        let (head, received) = match ready {
            Ok(length) => {
                let frame = frames.take(length);
                self.show(true, frame);
                let received = assembler.receive(frame);
                let start = received
                    .as_ref()
                    .map_or_else(|refused| refused.start, |_| 0);
                (Head::from(&frame[start..]), received)
            }
            Err(cause) => {
                let head = frames.take(HEADER_BYTES);
                (head.into(), Err(Refused::fatal(cause)))
            }
        };
        if let Ok(Some((_, Message::Error(error)))) = &received
            && self.datagrams
            && error.error == BadRequest::BAD_VERSION
        {
            let refused = HandshakeError::Refused(error.error.to_string());
            return (None, Some(refused.into()));
        }
        let refused = received.as_ref().err().filter(|refused| refused.fatal);
        let end = refused.map(|refused| Reason::Malformed(refused.cause));
        (self.event(head, received, place), end)
    }

    /// The event for the owner of a frame that begins with `head`.
    fn event(
        &self,
        head: Head,
        received: Result<Option<(u32, Message)>, Refused>,
        place: QueuePlace,
    ) -> Option<Event> {
        let conn = self.conn;
        match received {
            Ok(None | Some((PROBE_XID, Message::EchoReply(_)))) => None,
            Ok(Some((xid, message))) => Some(Event::Message {
                conn,
                xid,
                head,
                message,
                place,
            }),
            Err(refused) => Some(Event::BadMessage {
                conn,
                xid: xid_of(&head),
                name: self.codec.version.message_name(head[1]),
                reply: refused.answer(&head),
                cause: refused.cause,
                place,
            }),
        }
    }

    /// The time that the peer may be silent before it is asked; zero: for ever.
    fn probe_interval(&self) -> Duration {
        probe_interval(self.hub.settings.borrow().probe_interval, self.datagrams)
    }

    /// Waits while too much waits for the peer, or too much of it for the owner, until there is
    /// place for a message of this many bytes. Errors: Inactive if the peer takes nothing
    /// meanwhile.
    async fn turn(&self, bytes: usize) -> Result<QueuePlace, Reason> {
        loop {
            let waits = self.backlog.pending_bytes();
            let turn = async {
                select! {
                    place = self.places.take(bytes), if waits <= PAUSE_BYTES => Some(place),
                    () = self.backlog.progress.notified() => None,
                }
            };
            match within(2 * self.probe_interval(), turn).await {
                Some(Some(place)) => return Ok(place),
                None if waits > 0 => return Err(Reason::Inactive),
                Some(None) | None => {}
            }
        }
    }

    /// Waits for the next frame, as [`Frames::ready`]; sends an echo request to a silent peer. A
    /// peer that is sending a long message is not silent, nor is one that is reading what waits for
    /// it, since the echo request waits after that. Errors: Inactive.
    async fn next_frame(&self, frames: &mut Frames, outbox: &Outbox) -> Result<usize, Reason> {
        let progress = |frames: &Frames| (self.backlog.resumed_writes(), frames.buffered_bytes());
        let mut last = progress(frames);
        let mut is_asked = false;
        loop {
            if let Some(ready) = within(self.probe_interval(), frames.ready()).await {
                return ready;
            }
            let before = replace(&mut last, progress(frames));
            if last != before {
                continue;
            }
            if is_asked {
                return Err(Reason::Inactive);
            }
            outbox.push(PROBE_XID, Message::EchoRequest(Bytes::default()));
            is_asked = true;
        }
    }

    /// Writes until all senders are gone, then closes this direction; or until the socket fails.
    async fn write(&self, mut queue: OutboxQueue, mut writer: WriteHalf<Stream>) -> io::Result<()> {
        let conn = self.conn;
        let mut bytes = Vec::new();
        let mut next = queue.recv().await;
        while next.is_some() {
            let mut waited_bytes = 0;
            while let Some(waiting) = next {
                waited_bytes += self.backlog.leaves(&waiting);
                let start = bytes.len();
                match waiting {
                    QueuedMessage::Bytes(more) => bytes.extend_from_slice(&more),
                    QueuedMessage::Message(xid, message) => {
                        if let Err(cause) = self.codec.encode(xid, &message, &mut bytes) {
                            let name = message.name();
                            let unsent = Event::Unsent {
                                conn,
                                xid,
                                name,
                                cause,
                            };
                            let _ = self.tell(unsent).await;
                        }
                    }
                }
                self.show(false, &bytes[start..]);
                self.backlog.note_encoded(bytes.len() - start);
                let has_room = bytes.len() < WRITE_BYTES;
                next = has_room.then(|| queue.try_recv().ok()).flatten();
            }
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                match self.backlog.watch(writer.write(rest)).await? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    count => rest = &rest[count..],
                }
                self.backlog.progress.notify_one();
            }
            self.backlog.watch(writer.flush()).await?;
            bytes.clear();
            bytes.shrink_to(WRITE_BYTES);
            if self.backlog.written(waited_bytes) {
                let _ = self.tell(Event::Room { conn }).await;
            }
            next = queue.recv().await;
        }
        writer.shutdown().await
    }
}

/// Returns what `future` gives within `limit`; a limit of zero is none.
async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    if limit.is_zero() {
        Some(future.await)
    } else {
        timeout(limit, future).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_may_lose_messages_end_after_less_than_30_s_of_silence() {
        let seconds = Duration::from_secs;
        for (configured, datagrams, wanted) in
            [(0, 0, 10), (5, 0, 5), (60, 0, 10), (0, 1, 0), (60, 1, 60)]
        {
            let interval = probe_interval(seconds(configured), datagrams == 0);
            assert_eq!(interval, seconds(wanted));
        }
        assert!(2 * MAX_DATAGRAM_PROBE < seconds(30));
    }
}
