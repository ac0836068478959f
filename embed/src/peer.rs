//! A controller's end of a connection: what came of it, and what it has not read.

use alloc::vec::Vec;

use bofuss_agent::ConnId;
use bofuss_oflib::assemble::Refused;
use bofuss_oflib::framing::xid_of;
use bofuss_oflib::handshake::{Handshake, HandshakeError, first_message};
use bofuss_oflib::message::ErrorMsg;
use bofuss_oflib::message::error::ERROR_DATA_BYTES;
use bofuss_oflib::{Assembler, Codec, DecodeError, Framer, HEADER_BYTES, Message};

/// Bytes of messages that wait to be served, at most, of one connection.
pub const MAX_BUFFERED_BYTES: usize = 2 * 65_535;
/// The most bytes of unfinished multipart requests that a connection holds.
pub const MAX_MULTIPART_REQUEST_BYTES: usize = 1 << 20;

/// A connection as this side knows it.
pub(crate) struct Peer {
    pub(crate) phase: Phase,
    pub(crate) framer: Framer,
    pub(crate) kind: Kind,
    /// Bytes of effects that were not drained.
    pub(crate) waiting_bytes: usize,
    /// Bytes that the embedding holds for the peer.
    pub(crate) held_bytes: usize,
}

/// What a connection is to the switch.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// To a controller (and not, say, from a tool).
    Controller,
    /// From a tool: it does not end what the switch does without a controller.
    Tool,
    /// Beside a main connection, with a number from 1; `datagrams` may be lost.
    Auxiliary {
        main: ConnId,
        id: u8,
        datagrams: bool,
    },
}

/// How far a connection is.
pub(crate) enum Phase {
    /// The peer's HELLO is awaited.
    Hello(Handshake),
    /// A version is agreed.
    Up(Assembler),
    /// Messages come and go as they are, and no bytes.
    Typed,
}

/// What came of a peer next.
pub(crate) enum Arrived {
    /// The HELLOs agree.
    Agreed(Codec),
    /// They do not: why, and the bytes to be sent before the end.
    NotAgreed(HandshakeError, Option<Vec<u8>>),
    /// A message, or the ERROR that it deserves.
    Message {
        xid: u32,
        /// What an ERROR quotes.
        head: Vec<u8>,
        message: Result<Message, ErrorMsg>,
    },
    /// What the connection cannot go on after, and the ERROR for it.
    Fatal {
        xid: u32,
        answer: Option<ErrorMsg>,
        cause: DecodeError,
    },
}

impl Arrived {
    fn fatal(refused: Refused, head: &[u8]) -> Self {
        Self::Fatal {
            xid: xid_of(head),
            answer: refused.answer(head),
            cause: refused.cause,
        }
    }
}

impl Peer {
    pub(crate) fn new(kind: Kind, phase: Phase) -> Self {
        Self {
            phase,
            framer: Framer::new(),
            kind,
            waiting_bytes: 0,
            held_bytes: 0,
        }
    }

    /// Bytes that the peer has not read.
    pub(crate) fn unread_bytes(&self) -> usize {
        self.waiting_bytes + self.held_bytes
    }

    /// How messages are written; `None` if they are not.
    pub(crate) fn codec(&self) -> Option<&Codec> {
        match &self.phase {
            Phase::Up(assembler) => Some(&assembler.codec),
            Phase::Hello(_) | Phase::Typed => None,
        }
    }

    /// Whether a whole message is here that was not taken, or what is none.
    pub(crate) fn has_message(&self) -> bool {
        !matches!(self.framer.ready(), Ok(None))
    }

    /// Takes what came next, if it is here as a whole.
    pub(crate) fn next(&mut self) -> Option<Arrived> {
        let assembler = match &mut self.phase {
            Phase::Typed => return None,
            Phase::Hello(handshake) => {
                let first = first_message(&mut self.framer)?;
                let datagrams = matches!(
                    self.kind,
                    Kind::Auxiliary {
                        datagrams: true,
                        ..
                    }
                );
                return Some(match handshake.judge(&first) {
                    Ok(codec) => Arrived::Agreed(codec),
                    Err(error) => {
                        let farewell = handshake.farewell(&error, &first, datagrams);
                        Arrived::NotAgreed(error, farewell)
                    }
                });
            }
            Phase::Up(assembler) => assembler,
        };
        loop {
            let frame = match self.framer.next_message() {
                Ok(frame) => frame?,
                Err(cause) => {
                    let head = self.framer.take(HEADER_BYTES);
                    return Some(Arrived::fatal(Refused::fatal(cause), head));
                }
            };
            let received = assembler.receive(frame);
            let start = received
                .as_ref()
                .map_or_else(|refused| refused.start, |_| 0);
            let bytes = &frame[start..];
            let head = &bytes[..bytes.len().min(ERROR_DATA_BYTES)];
            let (xid, message) = match received {
                Ok(None) => continue,
                Ok(Some((xid, message))) => (xid, Ok(message)),
                Err(refused) => {
                    if refused.fatal {
                        return Some(Arrived::fatal(refused, head));
                    }
                    match refused.answer(head) {
                        Some(answer) => (xid_of(head), Err(answer)),
                        None => continue,
                    }
                }
            };
            return Some(Arrived::Message {
                xid,
                head: head.into(),
                message,
            });
        }
    }
}
