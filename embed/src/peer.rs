//! A connection: what has arrived from its peer, and how much the peer has not read.

use alloc::vec::Vec;

use bofuss_agent::ConnId;
use bofuss_oflib::assemble::Refused;
use bofuss_oflib::framing::xid_of;
use bofuss_oflib::handshake::{Handshake, HandshakeError, first_message};
use bofuss_oflib::message::ErrorMsg;
use bofuss_oflib::message::error::ERROR_DATA_BYTES;
use bofuss_oflib::{Assembler, Codec, DecodeError, Framer, HEADER_BYTES, Message};

/// The most bytes of messages that a connection holds until they are served.
pub const MAX_BUFFERED_BYTES: usize = 2 * 65_535;
/// The most bytes of unfinished multipart requests that a connection holds.
pub const MAX_MULTIPART_REQUEST_BYTES: usize = 1 << 20;

/// A connection and its peer.
pub(crate) struct Peer {
    pub(crate) phase: Phase,
    pub(crate) framer: Framer,
    pub(crate) kind: Kind,
    /// Bytes for the peer in effects that were not drained.
    pub(crate) waiting_bytes: usize,
    /// Drained bytes that the caller holds for the peer.
    pub(crate) held_bytes: usize,
}

/// The peer of a connection.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// A controller.
    Controller,
    /// A tool: it does not end the fail mode.
    Tool,
    /// The controller of the connection `main`, which has this connection as an auxiliary, with an
    /// id from 1. `datagrams`: whether its transport may lose messages.
    Auxiliary {
        main: ConnId,
        id: u8,
        datagrams: bool,
    },
}

/// The state of a connection.
pub(crate) enum Phase {
    /// The peer's HELLO has not arrived.
    Hello(Handshake),
    /// A version is agreed.
    Up(Assembler),
    /// Messages are exchanged as values; there is no HELLO.
    Typed,
}

/// The next arrival from a peer.
pub(crate) enum Arrived {
    /// The HELLOs agree.
    Agreed(Codec),
    /// The HELLOs do not agree: why, and the bytes to send before the connection ends.
    NotAgreed(HandshakeError, Option<Vec<u8>>),
    /// A message, or the ERROR that answers it.
    Message {
        xid: u32,
        /// Its first bytes, which an ERROR quotes.
        head: Vec<u8>,
        message: Result<Message, ErrorMsg>,
    },
    /// An error after which the connection must end, and the ERROR message for it.
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

    /// Returns true if it is an auxiliary connection of `conn`.
    pub(crate) fn is_beside(&self, conn: ConnId) -> bool {
        matches!(self.kind, Kind::Auxiliary { main, .. } if main == conn)
    }

    /// Bytes that the peer has not read.
    pub(crate) fn unread_bytes(&self) -> usize {
        self.waiting_bytes.saturating_add(self.held_bytes)
    }

    /// The codec of its messages; `None` while no version is agreed on, and if they are values.
    pub(crate) fn codec(&self) -> Option<&Codec> {
        match &self.phase {
            Phase::Up(assembler) => Some(&assembler.codec),
            Phase::Hello(_) | Phase::Typed => None,
        }
    }

    /// Returns true if a whole message waits to be taken, or bytes that cannot be one.
    pub(crate) fn has_message(&self) -> bool {
        !matches!(self.framer.ready(), Ok(None))
    }

    /// Takes what arrived next, if it is complete.
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
                        let farewell = handshake.error_bytes(&error, &first, datagrams);
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
