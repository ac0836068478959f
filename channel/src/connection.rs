//! A connection's task: reads messages into events, probes a silent peer, writes what is queued.

use std::io;
use std::pin::pin;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use bofuss_oflib::message::error::ERROR_DATA_BYTES;
use bofuss_oflib::wire::Bytes;
use bofuss_oflib::{Codec, Message};
use tokio::io::{AsyncWriteExt, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::assemble::{Assembler, Bad, MAX_MULTIPART_REQUEST_BYTES, Received};
use crate::frame::Frames;
use crate::handshake::{Established, LINGER};
use crate::outbox::{Backlog, Outbox, PAUSE_BYTES, Queued, Sender};
use crate::stream::Stream;
use crate::{ConnId, Event, Hub, Origin, Reason};

/// Encoded bytes that go into one write, about.
const WRITE_BYTES: usize = 64 * 1024;
/// The transaction id of our own ECHO_REQUESTs.
const PROBE_XID: u32 = 0x7072_6f62;

/// Runs an established connection of `hub` to its end: the events from `Up` to `Down`.
pub(crate) async fn run(hub: &Hub, conn: ConnId, origin: Origin, established: Established) {
    let events = &hub.events;
    let Established {
        mut frames,
        writer,
        codec,
    } = established;
    let (outbox, queue) = Outbox::new(hub.pending_bytes.clone());
    let backlog = outbox.backlog.clone();
    let up = Event::Up {
        conn,
        origin,
        version: codec.version,
        sender: Sender::new(outbox.clone()),
    };
    if events.send(up).await.is_err() {
        return;
    }
    let writing = Writing {
        conn,
        events,
        backlog: &backlog,
        codec: codec.clone(),
        queue,
        writer,
    };
    let reading = Reading {
        conn,
        events,
        frames: &mut frames,
        assembler: Assembler::new(codec, MAX_MULTIPART_REQUEST_BYTES),
        outbox,
        probe_interval: hub.settings.probe_interval,
    };
    let mut writing = pin!(writing.run());
    let mut written = false;
    let reason = tokio::select! {
        reason = reading.run() => reason,
        reason = &mut writing => {
            written = true;
            reason
        }
        () = backlog.hang_up.notified() => match backlog.overflowed.load(SeqCst) {
            true => Reason::Overflow,
            false => Reason::ClosedHere,
        },
    };
    let _ = events.send(Event::Down { conn, reason }).await;
    let farewell = async {
        if !written {
            writing.await;
            frames.drain().await;
        }
    };
    let _ = timeout(LINGER, farewell).await;
}

/// The reading half.
struct Reading<'a> {
    conn: ConnId,
    events: &'a mpsc::Sender<Event>,
    frames: &'a mut Frames,
    assembler: Assembler,
    outbox: Outbox,
    probe_interval: Duration,
}

impl Reading<'_> {
    /// Reads until the connection ends.
    async fn run(mut self) -> Reason {
        loop {
            if let Err(reason) = self.step().await {
                return reason;
            }
        }
    }

    /// Reads one frame.
    async fn step(&mut self) -> Result<(), Reason> {
        self.wait_for_writer().await?;
        let conn = self.conn;
        let (head, received) = self.next_frame().await?;
        let (event, fatal) = match received {
            Received::Whole(PROBE_XID, Message::EchoReply(_)) | Received::Part => return Ok(()),
            Received::Whole(xid, message) => {
                let event = Event::Message {
                    conn,
                    xid,
                    head,
                    message,
                };
                (event, None)
            }
            Received::Bad(bad) => {
                let fatal = bad.fatal.then_some(bad.cause);
                let event = Event::BadMessage {
                    conn,
                    xid: bad.xid,
                    reply: bad.reply,
                    cause: bad.cause,
                };
                (event, fatal)
            }
        };
        let taken = self.events.send(event).await;
        taken.map_err(|_| Reason::ClosedHere)?;
        fatal.map_or(Ok(()), |cause| Err(Reason::Malformed(cause)))
    }

    /// Waits while too much waits for the peer. Errors: Inactive if it takes nothing.
    async fn wait_for_writer(&mut self) -> Result<(), Reason> {
        let backlog = &self.outbox.backlog;
        while backlog.pending_bytes() > PAUSE_BYTES {
            let progress = backlog.progress.notified();
            let taken = within(2 * self.probe_interval, progress).await;
            taken.ok_or(Reason::Inactive)?;
        }
        Ok(())
    }

    /// Waits for the next frame, and gives its first bytes with it; asks a silent peer whether it is
    /// there. Errors: Inactive.
    async fn next_frame(&mut self) -> Result<(Bytes, Received), Reason> {
        let mut ready = within(self.probe_interval, self.frames.ready()).await;
        if ready.is_none() {
            let probe = Message::EchoRequest(Bytes::default());
            self.outbox.push(PROBE_XID, probe);
            ready = within(self.probe_interval, self.frames.ready()).await;
        }
        match ready {
            Some(Ok(length)) => {
                let frame = self.frames.take(length);
                let head = Bytes(frame[..length.min(ERROR_DATA_BYTES)].into());
                Ok((head, self.assembler.receive(frame)))
            }
            Some(Err(Reason::Malformed(cause))) => {
                let header = self.frames.header().await?;
                let bad = Received::Bad(Bad::new(&header, cause, true));
                Ok((Bytes(header.into()), bad))
            }
            Some(Err(reason)) => Err(reason),
            None => Err(Reason::Inactive),
        }
    }
}

/// What `future` gives within `limit`; a limit of zero is none.
async fn within<T>(limit: Duration, future: impl Future<Output = T>) -> Option<T> {
    match limit.is_zero() {
        true => Some(future.await),
        false => timeout(limit, future).await.ok(),
    }
}

/// The writing half.
struct Writing<'a> {
    conn: ConnId,
    events: &'a mpsc::Sender<Event>,
    backlog: &'a Backlog,
    codec: Codec,
    queue: mpsc::UnboundedReceiver<Queued>,
    writer: WriteHalf<Stream>,
}

impl Writing<'_> {
    /// Writes until nobody can queue more, then closes this direction; or until the socket fails.
    async fn run(mut self) -> Reason {
        match self.write_all().await {
            Ok(()) => Reason::ClosedHere,
            Err(error) => Reason::Io(error),
        }
    }

    async fn write_all(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        while let Some(first) = self.queue.recv().await {
            let mut next = Some(first);
            let mut weight_bytes = 0;
            while let Some(queued) = next {
                weight_bytes += queued.weight_bytes;
                self.encode(queued, &mut bytes).await;
                let more = bytes.len() < WRITE_BYTES;
                next = if more {
                    self.queue.try_recv().ok()
                } else {
                    None
                };
            }
            let mut written = 0;
            while written < bytes.len() {
                match self.writer.write(&bytes[written..]).await? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    count => written += count,
                }
                self.backlog.progress.notify_one();
            }
            self.writer.flush().await?;
            bytes.clear();
            bytes.shrink_to(WRITE_BYTES);
            if self.backlog.written(weight_bytes) {
                let conn = self.conn;
                let _ = self.events.send(Event::Room { conn }).await;
            }
        }
        self.writer.shutdown().await
    }

    async fn encode(&mut self, queued: Queued, bytes: &mut Vec<u8>) {
        let Queued { xid, message, .. } = queued;
        if self.codec.encode(xid, &message, bytes).is_err() {
            let (conn, name) = (self.conn, message.name());
            let _ = self.events.send(Event::TooLong { conn, xid, name }).await;
        }
    }
}
