//! A controller's or tool's side: sends requests and waits for their replies.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bofuss_oflib::error::BadRequest;
use bofuss_oflib::framing::xid_of;
use bofuss_oflib::message::bundle::{BundleControlType, BundleFlags, Timestamp};
use bofuss_oflib::message::multipart::bundle_features::{BundleFeatureFlags, TimeCapability};
use bofuss_oflib::message::multipart::{BundleFeaturesRequest, RequestBody};
use bofuss_oflib::message::{BundleAdd, BundleControl, Empty, ErrorMsg};
use bofuss_oflib::{Assembler, Catalogue, DecodeError, EncodeError, Message, Version};
use tokio::io::{AsyncWriteExt, WriteHalf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::frame::Frames;
use crate::handshake::Established;
use crate::socket;
use crate::stream::Stream;
use crate::{ActiveAddress, Reason, Tls};

/// The most bytes of unfinished multipart replies that a client holds, and the most of messages
/// that it keeps: a million usual entries. Decoded, they take about four times as much memory.
const MAX_REPLY_BYTES: usize = 1 << 28;
/// The most messages that a client keeps while it waits for another, and the most errors; further
/// ones are dropped.
const MAX_KEPT_MESSAGES: usize = 1024;
/// The number of messages that are sent between two barriers, so that their errors never fill the
/// receive direction.
const MESSAGES_PER_BARRIER: usize = 256;
/// The way in which a client's bundle is carried out.
const TOGETHER: BundleFlags = BundleFlags::ALL.without(BundleFlags::TIME);
/// The largest distance of the switch's clock from the client's.
const TOLERANCE: Duration = Duration::from_secs(1);
/// The number of a client's bundle; it has one at a time.
const BUNDLE: u32 = 1;

/// A connection to a switch. ECHO_REQUESTs are answered while it waits for something.
pub struct Client {
    frames: Frames,
    writer: WriteHalf<Stream>,
    assembler: Assembler,
    kept: VecDeque<(u32, Message)>,
    /// Bytes of the frames of `kept`; counted down only when there are none left.
    kept_bytes: usize,
    /// Bytes of the frames that were read for the last message.
    received_bytes: usize,
    /// The transaction id of the frame that was read last.
    received_xid: u32,
    last_xid: u32,
    /// When a message was sent last, or a part of an awaited answer came.
    since: Instant,
    timeout: Duration,
}

/// The time at which a client's bundle is carried out, and what the client's clock says: both since
/// 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitTime {
    /// The time at which it is carried out.
    pub at: Duration,
    /// The time now.
    pub now: Duration,
}

/// The reason for which a client did not get what it asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The connection failed or ended.
    #[error("{0}")]
    Connection(#[from] Reason),
    /// Nothing came in time.
    #[error("no answer within {} s", .0.as_secs_f32())]
    Timeout(Duration),
    /// The switch answered with an ERROR.
    #[error("the switch answered {}", .0.error)]
    Refused(ErrorMsg),
    /// The switch sent what is not OpenFlow.
    #[error("the switch sent a malformed message: {0}")]
    Malformed(DecodeError),
    /// The reply is longer than a client holds.
    #[error("the reply is longer than {} MiB; ask for a part, as one table or port", .0 >> 20)]
    TooLong(usize),
    /// The request cannot be written.
    #[error(transparent)]
    Unsent(#[from] EncodeError),
}

impl From<std::io::Error> for ClientError {
    fn from(error: std::io::Error) -> Self {
        Self::Connection(error.into())
    }
}

impl Client {
    /// Connects and agrees on one of `versions`. `tls`: what `ssl:` needs. `timeout`: the longest
    /// wait, here and for each reply.
    ///
    /// Panics: if `versions` is empty.
    pub async fn connect(
        address: &ActiveAddress,
        versions: &[Version],
        catalogue: &Arc<Catalogue>,
        tls: Option<&Tls>,
        timeout: Duration,
    ) -> Result<Self, ClientError> {
        let connecting = async {
            let (stream, _) = socket::open(address, tls).await?;
            Established::new(stream, versions, catalogue, false).await
        };
        let established = tokio::time::timeout(timeout, connecting)
            .await
            .map_err(|_| ClientError::Timeout(timeout))??;
        Ok(Self::new(established, timeout))
    }

    /// Agrees on one of `versions` with a switch that has connected. `timeout`: the longest wait,
    /// here and for each reply.
    ///
    /// Panics: if `versions` is empty.
    pub async fn accept(
        stream: TcpStream,
        versions: &[Version],
        catalogue: &Arc<Catalogue>,
        timeout: Duration,
    ) -> Result<Self, ClientError> {
        stream.set_nodelay(true)?;
        let agreeing = Established::new(Box::new(stream), versions, catalogue, false);
        let established = tokio::time::timeout(timeout, agreeing)
            .await
            .map_err(|_| ClientError::Timeout(timeout))??;
        Ok(Self::new(established, timeout))
    }

    pub(crate) fn new(established: Established, timeout: Duration) -> Self {
        Self {
            frames: established.frames,
            writer: established.writer,
            assembler: Assembler::new(established.codec, MAX_REPLY_BYTES),
            kept: VecDeque::new(),
            kept_bytes: 0,
            received_bytes: 0,
            received_xid: 0,
            last_xid: 0,
            since: Instant::now(),
            timeout,
        }
    }

    /// The version agreed.
    pub fn version(&self) -> Version {
        self.assembler.codec.version
    }

    /// Uses the transaction id `xid` for the next message, and the following ids for later
    /// messages.
    pub fn start_at(&mut self, xid: u32) {
        self.last_xid = xid.wrapping_sub(1);
    }

    /// The transaction id of the last message.
    pub fn last_xid(&self) -> u32 {
        self.last_xid
    }

    /// Sends a message; gives the transaction id that it got.
    pub async fn send(&mut self, message: &Message) -> Result<u32, ClientError> {
        self.last_xid = self.last_xid.wrapping_add(1);
        self.answer(self.last_xid, message).await?;
        self.since = Instant::now();
        Ok(self.last_xid)
    }

    /// Sends messages in one piece, so that the switch and not this side limits their rate. Returns
    /// the transaction id of the last message.
    pub async fn send_together(&mut self, messages: &[Message]) -> Result<u32, ClientError> {
        let mut bytes = Vec::new();
        for message in messages {
            self.last_xid = self.last_xid.wrapping_add(1);
            let codec = &self.assembler.codec;
            codec.encode(self.last_xid, message, &mut bytes)?;
        }
        self.write(&bytes).await?;
        Ok(self.last_xid)
    }

    /// Sends a request and waits for its reply; a multipart one is whole.
    ///
    /// Errors: Refused for an ERROR.
    pub async fn request(&mut self, message: &Message) -> Result<Message, ClientError> {
        let asked = self.send(message).await?;
        loop {
            match self.receive_in_time(asked, self.timeout).await? {
                (xid, Message::Error(error)) if xid == asked => {
                    return Err(ClientError::Refused(error));
                }
                (xid, reply) if xid == asked => return Ok(reply),
                other => self.keep(other),
            }
        }
    }

    /// Sends a message that may be answered by any number of messages, followed by a barrier.
    /// Returns the answers.
    ///
    /// Errors: Refused for an ERROR.
    pub async fn exchange(&mut self, message: &Message) -> Result<Vec<Message>, ClientError> {
        let asked = self.send(message).await?;
        let barrier = self.send(&Message::BarrierRequest(Empty)).await?;
        let mut replies = Vec::new();
        let mut bytes = 0;
        loop {
            let (xid, reply) = self.receive_in_time(asked, self.timeout).await?;
            if xid != asked && xid != barrier {
                self.keep((xid, reply));
            } else if let Message::Error(error) = reply {
                return Err(ClientError::Refused(error));
            } else if xid == asked {
                bytes += self.received_bytes;
                if replies.len() < MAX_KEPT_MESSAGES && bytes <= MAX_REPLY_BYTES {
                    replies.push(reply);
                }
            } else if let Message::BarrierReply(_) = reply {
                return Ok(replies);
            } else {
                self.keep((xid, reply));
            }
        }
    }

    /// Sends messages that are not answered, with barriers; gives the errors they caused, each with
    /// its message's place in `messages`.
    pub async fn transact(
        &mut self,
        messages: &[Message],
    ) -> Result<Vec<(usize, ErrorMsg)>, ClientError> {
        self.send_all(messages, None).await
    }

    /// The same for messages that the switch carries out together, as a bundle, at once or at a
    /// time. If one of them fails, none is carried out.
    ///
    /// Errors: also Refused if the switch refuses the bundle, and no message of it.
    pub async fn transact_in_bundle(
        &mut self,
        messages: &[Message],
        time: Option<CommitTime>,
    ) -> Result<Vec<(usize, ErrorMsg)>, ClientError> {
        let mut commit = bundle_control(BundleControlType::COMMIT_REQUEST);
        let mut wait = Duration::ZERO;
        if let Some(time) = time {
            commit.flags = TOGETHER | BundleFlags::TIME;
            commit.scheduled = Some(timestamp(time.at));
            wait = time.at.saturating_sub(time.now);
            self.request(&tolerances(time)).await?;
        }
        let open = bundle_control(BundleControlType::OPEN_REQUEST);
        self.request(&Message::BundleControl(open)).await?;
        let first = self.last_xid.wrapping_add(1);
        let mut errors = self.send_all(messages, Some(BUNDLE)).await?;
        if !errors.is_empty() {
            // The switch may have discarded it already.
            let discard = bundle_control(BundleControlType::DISCARD_REQUEST);
            let _ = self.request(&Message::BundleControl(discard)).await;
            return Ok(errors);
        }
        let asked = self.send(&Message::BundleControl(commit)).await?;
        let limit = self.timeout.saturating_add(wait);
        loop {
            let (xid, reply) = self.receive_in_time(first, limit).await?;
            let sent = xid.wrapping_sub(first) as usize;
            // There is a barrier after each group of messages.
            let place = sent - sent / (MESSAGES_PER_BARRIER + 1);
            let error = if let Message::Error(error) = &reply {
                Some(error)
            } else {
                None
            };
            match error {
                Some(error) if xid == asked && errors.is_empty() => {
                    return Err(ClientError::Refused(error.clone()));
                }
                Some(_) | None if xid == asked => return Ok(errors),
                Some(error) if place < messages.len() => {
                    note_error(&mut errors, place, error.clone());
                }
                Some(_) | None => self.keep((xid, reply)),
            }
        }
    }

    /// Sends messages with barriers, in a bundle or each for itself; gives the errors.
    async fn send_all(
        &mut self,
        messages: &[Message],
        bundle: Option<u32>,
    ) -> Result<Vec<(usize, ErrorMsg)>, ClientError> {
        let mut errors = Vec::new();
        for (i, chunk) in messages.chunks(MESSAGES_PER_BARRIER).enumerate() {
            let first = self.last_xid.wrapping_add(1);
            for message in chunk {
                let Some(bundle_id) = bundle else {
                    self.send(message).await?;
                    continue;
                };
                let add = BundleAdd {
                    bundle_id,
                    flags: TOGETHER,
                    xid: self.last_xid.wrapping_add(1),
                    message: Box::new(message.clone()),
                    experimenters: Vec::new(),
                };
                self.send(&Message::BundleAdd(add)).await?;
            }
            let barrier = self.send(&Message::BarrierRequest(Empty)).await?;
            loop {
                let (xid, message) = self.receive_in_time(first, self.timeout).await?;
                let place = xid.wrapping_sub(first) as usize;
                if xid != barrier && place >= chunk.len() {
                    self.keep((xid, message));
                } else if let Message::Error(error) = message {
                    if xid == barrier {
                        return Err(ClientError::Refused(error));
                    }
                    note_error(&mut errors, i * MESSAGES_PER_BARRIER + place, error);
                } else if xid == barrier && matches!(message, Message::BarrierReply(_)) {
                    break;
                } else {
                    self.keep((xid, message));
                }
            }
        }
        Ok(errors)
    }

    /// Waits for the next message of any kind, however long; those that came in between first.
    pub async fn next(&mut self) -> Result<(u32, Message), ClientError> {
        match self.kept.pop_front() {
            Some(kept) => {
                if self.kept.is_empty() {
                    self.kept_bytes = 0;
                }
                Ok(kept)
            }
            None => self.receive().await,
        }
    }

    /// Waits for the bytes of the next message, of whatever version, however long; nothing is
    /// answered.
    pub async fn next_bytes(&mut self) -> Result<&[u8], ClientError> {
        let length = self.frames.ready().await?;
        Ok(self.frames.take(length))
    }

    fn keep(&mut self, message: (u32, Message)) {
        let bytes = self.kept_bytes + self.received_bytes;
        if self.kept.len() < MAX_KEPT_MESSAGES && bytes <= MAX_REPLY_BYTES {
            self.kept_bytes = bytes;
            self.kept.push_back(message);
        }
    }

    /// Sends a message with the transaction id of another.
    pub async fn answer(&mut self, xid: u32, message: &Message) -> Result<(), ClientError> {
        let mut bytes = Vec::new();
        self.assembler.codec.encode(xid, message, &mut bytes)?;
        self.write(&bytes).await
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), ClientError> {
        let write = async {
            self.writer.write_all(bytes).await?;
            self.writer.flush().await
        };
        let written = timeout(self.timeout, write).await;
        Ok(written.map_err(|_| ClientError::Timeout(self.timeout))??)
    }

    /// Waits for a message. Of the answers to the messages from the transaction id `first` on, it
    /// waits for each part as long as the limit; other messages do not prolong this.
    async fn receive_in_time(
        &mut self,
        first: u32,
        limit: Duration,
    ) -> Result<(u32, Message), ClientError> {
        self.received_bytes = 0;
        loop {
            let left = limit.saturating_sub(self.since.elapsed());
            let part = timeout(left, self.receive_part()).await;
            let sent = self.last_xid.wrapping_sub(first);
            let is_answer = self.received_xid.wrapping_sub(first) <= sent;
            let part = match part {
                Ok(part) if is_answer || !left.is_zero() => part?,
                // Other messages may be there at any time.
                Ok(_) | Err(_) => return Err(ClientError::Timeout(limit)),
            };
            if is_answer {
                self.since = Instant::now();
            }
            if let Some(message) = part {
                return Ok(message);
            }
        }
    }

    /// Waits for a message from the wire.
    async fn receive(&mut self) -> Result<(u32, Message), ClientError> {
        self.received_bytes = 0;
        loop {
            if let Some(message) = self.receive_part().await? {
                return Ok(message);
            }
        }
    }

    /// Waits for a message from the wire; none if it was a part, of which more follow.
    async fn receive_part(&mut self) -> Result<Option<(u32, Message)>, ClientError> {
        loop {
            let length = self.frames.ready().await?;
            match self.take(length)? {
                Some((xid, Message::EchoRequest(data))) => {
                    self.answer(xid, &Message::EchoReply(data)).await?;
                }
                part => return Ok(part),
            }
        }
    }

    /// Waits until a message is there, and gives its length, for [`Client::take`]. Nothing is lost
    /// when the future is dropped.
    pub async fn ready(&mut self) -> Result<usize, ClientError> {
        Ok(self.frames.ready().await?)
    }

    /// Takes a message of so many bytes that is there, also an ECHO_REQUEST; none if it was a part,
    /// of which more follow.
    pub fn take(&mut self, length: usize) -> Result<Option<(u32, Message)>, ClientError> {
        self.received_bytes += length;
        let frame = self.frames.take(length);
        self.received_xid = xid_of(frame);
        match self.assembler.receive(frame) {
            Ok(part) => Ok(part),
            Err(refused) if refused.cause.error == BadRequest::MULTIPART_BUFFER_OVERFLOW => {
                Err(ClientError::TooLong(MAX_REPLY_BYTES))
            }
            Err(refused) => Err(ClientError::Malformed(refused.cause)),
        }
    }
}

/// Adds an error to those of a client's messages, up to the limit.
fn note_error(errors: &mut Vec<(usize, ErrorMsg)>, place: usize, error: ErrorMsg) {
    if errors.len() < MAX_KEPT_MESSAGES {
        errors.push((place, error));
    }
}

fn bundle_control(ty: BundleControlType) -> BundleControl {
    BundleControl {
        bundle_id: BUNDLE,
        ty,
        flags: TOGETHER,
        ..BundleControl::default()
    }
}

fn timestamp(time: Duration) -> Timestamp {
    Timestamp {
        seconds: time.as_secs(),
        nanoseconds: time.subsec_nanos(),
    }
}

/// Asks a switch to take a commit that is scheduled so far in the future.
fn tolerances(time: CommitTime) -> Message {
    let wait = time.at.saturating_sub(time.now);
    let time = TimeCapability {
        sched_max_future: timestamp(wait.saturating_add(TOLERANCE)),
        sched_max_past: timestamp(TOLERANCE),
        timestamp: timestamp(time.now),
        ..TimeCapability::default()
    };
    let request = RequestBody::BundleFeatures(BundleFeaturesRequest {
        flags: BundleFeatureFlags::TIME_SET_SCHED,
        time_capability: Some(time),
        experimenters: Vec::new(),
    });
    Message::MultipartRequest(request.into())
}
