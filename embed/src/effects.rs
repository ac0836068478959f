//! The effects of a switch, in order, and how much of them each peer has not read.

use alloc::{collections::BTreeMap, collections::VecDeque, vec::Vec};
use core::fmt;

use bofuss_agent::{ConnId, Refusal, SwitchIo};
use bofuss_frame::Frame;
use bofuss_oflib::handshake::HandshakeError;
use bofuss_oflib::message::port::PortFeatures;
use bofuss_oflib::types::QueueId;
use bofuss_oflib::{DecodeError, EncodeError, ErrorCode, Message, PortNo};

use crate::config::EmbedError;
use crate::peer::Peer;

/// If a peer has not read more than this many bytes, packet-ins for it are dropped; long replies to
/// it and its next messages wait.
pub const ROOM_BYTES: usize = 256 * 1024;
/// If a peer has not read more than this many bytes, its connection is closed.
pub const MAX_UNREAD_BYTES: usize = 4 * 1024 * 1024;
/// An [`Effect::Send`] of this many bytes or more gets no further messages.
const SEND_BYTES: usize = 64 * 1024;

/// One effect of the switch.
#[derive(Debug)]
#[non_exhaustive]
pub enum Effect {
    /// A frame leaves by a port.
    Transmit {
        /// The port.
        port: PortNo,
        /// The queue that it waited in; 0 if none.
        queue: QueueId,
        /// The frame, whose buffer returns to its pool.
        frame: Frame,
    },
    /// Bytes are sent on a connection: whole messages.
    Send {
        /// The connection.
        conn: ConnId,
        /// The messages.
        bytes: Vec<u8>,
    },
    /// A message is sent on a connection that takes messages as values.
    Message {
        /// The connection.
        conn: ConnId,
        /// Its transaction id.
        xid: u32,
        /// The message.
        message: Message,
    },
    /// The switch has ended a connection; nothing more is sent on it.
    Close {
        /// The connection.
        conn: ConnId,
        /// The reason.
        why: CloseReason,
    },
    /// A controller sets a port's link administratively up or down. The caller does this, and
    /// reports the change with [`set_link`](crate::EmbeddedSwitch::set_link).
    SetLink {
        /// The port.
        port: PortNo,
        /// True if the link has to be up.
        up: bool,
    },
    /// A controller changes what a port's interface advertises.
    Advertise {
        /// The port.
        port: PortNo,
        /// The features.
        features: PortFeatures,
    },
    /// A message was not sent: the version of its connection cannot express it, or it is too long.
    Unsent {
        /// The connection.
        conn: ConnId,
        /// Its transaction id.
        xid: u32,
        /// The message's name.
        name: &'static str,
        /// The reason.
        cause: EncodeError,
    },
    /// A message is refused; the ERROR follows. For bytes that are no message there is only the
    /// ERROR.
    Refused {
        /// Its connection.
        conn: ConnId,
        /// Its transaction id.
        xid: u32,
        /// The reason.
        error: ErrorCode,
    },
}

/// The reason for which the switch ends a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// The two sides do not agree on a version.
    Handshake(HandshakeError),
    /// The peer sent a length after which the next message cannot be found, or began too many
    /// multipart requests.
    Malformed(DecodeError),
    /// The peer has not read more than [`MAX_UNREAD_BYTES`].
    Overflow,
    /// Its main connection was closed.
    MainGone,
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handshake(error) => write!(f, "{error}"),
            Self::Malformed(cause) => write!(f, "malformed message: {cause}"),
            Self::Overflow => f.write_str("the peer does not read what it is sent"),
            Self::MainGone => f.write_str("its main connection is gone"),
        }
    }
}

/// The effects that were not taken yet, and the connections.
#[derive(Default)]
pub(crate) struct Effects {
    pub(crate) waiting: VecDeque<Effect>,
    pub(crate) peers: BTreeMap<ConnId, Peer>,
    /// The number of further frames that each port accepts, for those whose caller said so.
    pub(crate) room: BTreeMap<PortNo, u32>,
    pub(crate) links_fixed: bool,
}

impl Effects {
    /// The peer of a connection. Errors: [`EmbedError::NoConnection`].
    pub(crate) fn peer(&self, conn: ConnId) -> Result<&Peer, EmbedError> {
        let peer = self.peers.get(&conn);
        peer.ok_or(EmbedError::NoConnection(conn))
    }

    /// The connections whose peers satisfy `is_meant`.
    pub(crate) fn conns(&self, is_meant: impl Fn(&Peer) -> bool) -> Vec<ConnId> {
        let meant = self.peers.iter().filter(|(_, peer)| is_meant(peer));
        meant.map(|(conn, _)| *conn).collect()
    }

    /// Adds bytes for a peer.
    pub(crate) fn write(&mut self, conn: ConnId, bytes: Vec<u8>) {
        if let Some(peer) = self.peers.get_mut(&conn) {
            peer.waiting_bytes += bytes.len();
            self.waiting.push_back(Effect::Send { conn, bytes });
        }
    }

    /// Takes the next effect.
    pub(crate) fn pop(&mut self) -> Option<Effect> {
        let effect = self.waiting.pop_front()?;
        if self.waiting.is_empty() {
            // The next effect takes the same place, so that the others stay out of the cache.
            self.waiting.clear();
        }
        let (conn, bytes) = match &effect {
            Effect::Send { conn, bytes } => (conn, bytes.len()),
            Effect::Message { conn, message, .. } => (conn, weight_bytes(message)),
            Effect::Transmit { .. }
            | Effect::Close { .. }
            | Effect::SetLink { .. }
            | Effect::Advertise { .. }
            | Effect::Unsent { .. }
            | Effect::Refused { .. } => return Some(effect),
        };
        if let Some(peer) = self.peers.get_mut(conn) {
            peer.waiting_bytes -= bytes;
        }
        Some(effect)
    }
}

/// Returns how many unread bytes a message counts as that is not encoded: about its size in memory.
fn weight_bytes(message: &Message) -> usize {
    let payload = if let Message::PacketIn(packet_in) = message {
        packet_in.data.0.len()
    } else {
        0
    };
    size_of::<Message>() + payload
}

impl SwitchIo for Effects {
    fn transmit(&mut self, port: PortNo, queue: QueueId, frame: Frame) {
        if let Some(room) = self.room.get_mut(&port) {
            *room = room.saturating_sub(1);
        }
        self.waiting
            .push_back(Effect::Transmit { port, queue, frame });
    }

    fn port_takes_frames(&self, port: PortNo) -> bool {
        self.room.get(&port) != Some(&0)
    }

    fn flush(&mut self) {}

    fn send(&mut self, conn: ConnId, xid: u32, message: Message) {
        let Some(peer) = self.peers.get_mut(&conn) else {
            return;
        };
        if peer.unread_bytes() > MAX_UNREAD_BYTES {
            // The connection is about to be closed.
            return;
        }
        let Some(codec) = peer.codec() else {
            peer.waiting_bytes += weight_bytes(&message);
            let effect = Effect::Message { conn, xid, message };
            self.waiting.push_back(effect);
            return;
        };
        let mut bytes = Vec::new();
        match self.waiting.back_mut() {
            Some(Effect::Send {
                conn: of,
                bytes: last,
            }) if *of == conn && last.len() < SEND_BYTES => {
                bytes = core::mem::take(last);
                self.waiting.pop_back();
            }
            Some(_) | None => {}
        }
        let before = bytes.len();
        let encoded = codec.encode(xid, &message, &mut bytes);
        peer.waiting_bytes += bytes.len() - before;
        if !bytes.is_empty() {
            self.waiting.push_back(Effect::Send { conn, bytes });
        }
        if let Err(cause) = encoded {
            let name = message.name();
            self.waiting.push_back(Effect::Unsent {
                conn,
                xid,
                name,
                cause,
            });
        }
    }

    fn has_room(&self, conn: ConnId) -> bool {
        let peer = self.peers.get(&conn);
        peer.is_none_or(|peer| peer.unread_bytes() <= ROOM_BYTES)
    }

    fn may_change_links(&self) -> bool {
        !self.links_fixed
    }

    fn refused(&mut self, conn: ConnId, xid: u32, _message: &Message, why: &Refusal) {
        let error = why.error;
        self.waiting.push_back(Effect::Refused { conn, xid, error });
    }

    fn set_link(&mut self, port: PortNo, up: bool) {
        self.waiting.push_back(Effect::SetLink { port, up });
    }

    fn advertise(&mut self, port: PortNo, features: PortFeatures) {
        self.waiting.push_back(Effect::Advertise { port, features });
    }
}
