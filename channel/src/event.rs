//! The events of connections for their owner: up, messages, down with the reason.

use std::fmt;
use std::net::SocketAddr;

use bofuss_oflib::message::error::{ERROR_DATA_BYTES, ErrorMsg};
use bofuss_oflib::{DecodeError, EncodeError, Message, Version};

use crate::{
    ActiveAddress, Endpoint, PassiveAddress, QueuePlace, Reason, Sender, TlsError, Transport,
};

/// Names a connection. Never used again in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// The way in which a connection came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// We connected to this address.
    Active(ActiveAddress),
    /// A peer connected to us.
    Passive {
        /// Our address, at which we listen.
        listener: PassiveAddress,
        /// The peer's IP address and port, or its process.
        peer: String,
    },
    /// We opened an auxiliary connection of a main one.
    Auxiliary {
        /// The main connection.
        main: ConnId,
        /// Its number there, from 1.
        id: u8,
        /// The transport.
        transport: Transport,
        /// The same host.
        peer: SocketAddr,
    },
}

impl Origin {
    /// Returns true if what is sent may be lost.
    pub fn is_datagrams(&self) -> bool {
        match self {
            Self::Auxiliary { transport, .. } => *transport == Transport::Udp,
            Self::Active(_) | Self::Passive { .. } => false,
        }
    }
}

impl Origin {
    /// The connection URI of the peer, such as `tcp:192.0.2.1:6653`; of a unix socket its path. It
    /// has no spaces. Spec: OpenFlow 1.5.1 section 6.3.1.
    pub fn uri(&self) -> String {
        let uri = match self {
            Self::Active(address) => address.to_string().replacen("ssl:", "tls:", 1),
            Self::Passive { listener, peer } => match &listener.0 {
                Endpoint::Tcp { .. } => format!("tcp:{peer}"),
                Endpoint::Tls { .. } => format!("tls:{peer}"),
                Endpoint::Unix(path) => format!("unix:{}", path.display()),
            },
            Self::Auxiliary {
                transport, peer, ..
            } => format!("{transport}:{peer}"),
        };
        uri.replace(char::is_whitespace, "%20")
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Active(address) => write!(f, "{address}"),
            Self::Passive { listener, peer } => write!(f, "{peer} on {listener}"),
            Self::Auxiliary {
                id,
                transport,
                peer,
                ..
            } => write!(f, "{transport}:{peer} (auxiliary {id})"),
        }
    }
}

/// The first bytes of a message, as many as an error quotes.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    bytes: [u8; ERROR_DATA_BYTES],
    len: usize,
}

impl From<&[u8]> for Head {
    fn from(message: &[u8]) -> Self {
        let len = message.len().min(ERROR_DATA_BYTES);
        let mut bytes = [0; ERROR_DATA_BYTES];
        bytes[..len].copy_from_slice(&message[..len]);
        Self { bytes, len }
    }
}

impl std::ops::Deref for Head {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The events of connections. Of one connection: `Up`, then the rest in the order of its bytes,
/// then `Down`, and nothing after it.
#[expect(clippy::large_enum_variant, reason = "nearly every event is a message")]
#[derive(Debug)]
pub enum Event {
    /// A connection is up: HELLOs are exchanged and a version is agreed.
    Up {
        /// The new connection.
        conn: ConnId,
        /// The way in which it came about.
        origin: Origin,
        /// The version agreed.
        version: Version,
        /// Sends on it. When all clones of it are dropped, the connection is closed.
        sender: Sender,
    },
    /// A message arrived; a multipart one is whole. ECHO_REQUESTs are here too: the owner answers.
    Message {
        /// The connection.
        conn: ConnId,
        /// Its transaction id.
        xid: u32,
        /// Its first bytes, for an error to quote; of several parts, those of the last.
        head: Head,
        /// Its body.
        message: Message,
        /// Is dropped when it is served.
        place: QueuePlace,
    },
    /// Something arrived that is not a message. If it cannot be skipped, `Down` follows.
    BadMessage {
        /// The connection.
        conn: ConnId,
        /// Its transaction id, as far as it had one.
        xid: u32,
        /// The kind of message, by its header; `None` for a type that is unknown.
        name: Option<&'static str>,
        /// The answer that the owner sends; `None` for a broken ERROR, which is never answered.
        reply: Option<ErrorMsg>,
        /// For the log.
        cause: DecodeError,
        /// Is dropped when it is answered.
        place: QueuePlace,
    },
    /// A message of the owner's was not sent: it does not fit, or the version cannot say it.
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
    /// There is room again, after [`Sender::has_room`] said that there is none.
    Room {
        /// The connection.
        conn: ConnId,
    },
    /// The connection is over. What was sent before the owner drops its [`Sender`] is still
    /// written, for a second at most.
    Down {
        /// The connection.
        conn: ConnId,
        /// The reason.
        reason: Reason,
    },
    /// The files of TLS changed and were read again; or why not, and what was read before counts.
    TlsFiles(Result<(), TlsError>),
    /// No connection came about. For an active address once per reason, not per try.
    Failed {
        /// With whom.
        origin: Origin,
        /// The reason.
        reason: Reason,
    },
}
