//! The connections of a record: how their messages, and frames, are recorded and read.

use alloc::{collections::BTreeMap, format, string::String, sync::Arc, vec::Vec};

use bofuss_agent::ConnId;
use bofuss_frame::Frame;
use bofuss_oflib::catalogue::Additions;
use bofuss_oflib::message::ErrorMsg;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{Assembler, Catalogue, Codec, Framer, Message, PortNo, Version};

use super::{FrameDetail, RecordError, RecordedInput, RecordedOutput};
use crate::peer::MAX_MULTIPART_REQUEST_BYTES;

/// The connections that are up after the inputs so far, and how much of each frame is recorded.
#[derive(Debug)]
pub struct RecordedConnections {
    catalogue: Arc<Catalogue>,
    detail: FrameDetail,
    /// The fields and headers by which frames are read.
    additions: &'static Additions,
    up: BTreeMap<ConnId, Known>,
}

/// A connection that is up.
#[derive(Debug)]
struct Known {
    /// The main connection of its channel.
    main: ConnId,
    assembler: Assembler,
}

impl RecordedConnections {
    /// Begins without connections. Messages have the fields and extensions of `catalogue`.
    pub fn new(catalogue: Arc<Catalogue>, detail: FrameDetail) -> Self {
        Self {
            additions: catalogue.additions(),
            catalogue,
            detail,
            up: BTreeMap::new(),
        }
    }

    /// Reads frames by these fields and headers from now on: those of a controller's mappings, too.
    pub fn look_for(&mut self, additions: &'static Additions) {
        self.additions = additions;
    }

    /// Notes the connections that an input opens or closes.
    pub fn follow(&mut self, input: &RecordedInput) {
        match input {
            RecordedInput::Connect(conn, version, _) => self.add(*conn, *conn, *version),
            RecordedInput::ConnectBeside { conn, main, .. } => {
                if let Some(known) = self.up.get(main) {
                    self.add(*conn, *main, known.assembler.codec.version);
                }
            }
            RecordedInput::Disconnect(gone) => {
                self.up
                    .retain(|conn, known| conn != gone && known.main != *gone);
            }
            RecordedInput::Port(..)
            | RecordedInput::PortGone(_)
            | RecordedInput::PortRoom(_)
            | RecordedInput::PortLost(..)
            | RecordedInput::Frames(..)
            | RecordedInput::Peer(..)
            | RecordedInput::Message { .. }
            | RecordedInput::Wrong(..)
            | RecordedInput::Clock(_)
            | RecordedInput::Work
            | RecordedInput::Tick
            | RecordedInput::FailMode(_)
            | RecordedInput::ForgetAddresses
            | RecordedInput::Queue(..)
            | RecordedInput::QueueGone(..)
            | RecordedInput::Reconfigure(_)
            | RecordedInput::P4(_) => {}
        }
    }

    fn add(&mut self, conn: ConnId, main: ConnId, version: Version) {
        let codec = Codec::new(version, self.catalogue.clone());
        let assembler = Assembler::new(codec, MAX_MULTIPART_REQUEST_BYTES);
        self.up.insert(conn, Known { main, assembler });
    }

    /// Records a batch of frames that arrives.
    pub fn frames(&self, port: PortNo, frames: &[Frame]) -> RecordedInput {
        let of_input = |frame| self.detail.of_input(frame, self.additions);
        let noted = frames.iter().map(of_input);
        RecordedInput::Frames(port, noted.collect())
    }

    /// Records a frame that leaves.
    pub fn transmitted(&self, port: PortNo, queue: QueueId, frame: &Frame) -> RecordedOutput {
        let noted = self.detail.of_output(frame, self.additions);
        RecordedOutput::Frame(port, queue, noted)
    }

    /// Records a message that arrives; `None` if its connection is not up, or it cannot be encoded.
    pub fn message(
        &self,
        conn: ConnId,
        xid: u32,
        head: &[u8],
        message: &Message,
    ) -> Option<RecordedInput> {
        let bytes = self.bytes_of(conn, xid, message)?;
        let head = self.detail.of_head(head).into();
        Some(RecordedInput::Message { conn, bytes, head })
    }

    /// Records that what arrived is no message, and is answered with `error`; `None` likewise.
    pub fn wrong(&self, conn: ConnId, xid: u32, error: &ErrorMsg) -> Option<RecordedInput> {
        let message = Message::Error(error.clone());
        let bytes = self.bytes_of(conn, xid, &message)?;
        Some(RecordedInput::Wrong(conn, bytes))
    }

    /// Records a message that leaves.
    pub fn sent(&self, conn: ConnId, xid: u32, message: &Message) -> RecordedOutput {
        match self.bytes_of(conn, xid, message) {
            Some(bytes) => RecordedOutput::Message(conn, bytes),
            None => RecordedOutput::Unsupported(conn, message.name()),
        }
    }

    fn bytes_of(&self, conn: ConnId, xid: u32, message: &Message) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let codec = &self.up.get(&conn)?.assembler.codec;
        let noted = self.detail.of_message(message, self.additions);
        codec.encode(xid, &noted, &mut bytes).ok()?;
        Some(bytes)
    }

    /// Reads a message, which may have several parts. Errors: the connection is not up, or the
    /// bytes are not one whole message of its version; then they are forgotten.
    pub(super) fn read(
        &mut self,
        conn: ConnId,
        bytes: &[u8],
    ) -> Result<(u32, Message), RecordError> {
        let known = self.up.get_mut(&conn).ok_or_else(|| not_up(conn))?;
        let read = read_whole(&mut known.assembler, bytes);
        if read.is_err() {
            // Otherwise a later message with this transaction id would be joined to these parts.
            let codec = known.assembler.codec.clone();
            known.assembler = Assembler::new(codec, MAX_MULTIPART_REQUEST_BYTES);
        }
        read
    }
}

/// Reads the parts of one message. Errors: the bytes are not one whole message.
fn read_whole(assembler: &mut Assembler, bytes: &[u8]) -> Result<(u32, Message), RecordError> {
    let mut framer = Framer::new();
    framer.push(bytes);
    let mut read = None;
    loop {
        let frame = framer
            .next_message()
            .map_err(|error| format!("the message: {error}"))?;
        let Some(frame) = frame else {
            break;
        };
        if read.is_some() {
            return Err(String::from("there is more than one message").into());
        }
        let received = assembler.receive(frame);
        read = received.map_err(|refused| format!("the message: {}", refused.cause))?;
    }
    if !framer.buffered().is_empty() {
        return Err(String::from("the message is cut off").into());
    }
    read.ok_or_else(|| String::from("the message is not whole").into())
}

/// The error of an input on a connection that does not exist.
pub(super) fn not_up(conn: ConnId) -> RecordError {
    RecordError(format!("there is no connection {}", conn.0))
}
