//! The reasons for which a connection ends, or does not come about.

use std::io;

use bofuss_oflib::DecodeError;
use bofuss_oflib::handshake::HandshakeError;

use crate::timeouts::HELLO_TIMEOUT;

/// The reason for which a connection ended, or did not come about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The socket's error, connection refused and the like.
    #[error("{0}")]
    Io(io::Error),
    /// The host name has no address.
    #[error("no address is known for the host {host:?}: {error}")]
    UnknownHost {
        /// The name.
        host: String,
        /// The resolver's error.
        error: io::Error,
    },
    /// Nobody answered.
    #[error("no connection within {} s", HELLO_TIMEOUT.as_secs())]
    ConnectTimeout,
    /// The two sides do not agree on TLS: what is wrong with the peer's certificate, or with ours.
    #[error("TLS: {0}")]
    Tls(String),
    /// The handshake of TLS was not done in time.
    #[error("no TLS within {} s", HELLO_TIMEOUT.as_secs())]
    TlsTimeout,
    /// The peer began TLS, here where none is spoken.
    #[error("the peer speaks TLS, and this side plain OpenFlow")]
    PeerSpeaksTls,
    /// No HELLO came in time.
    #[error("no HELLO within {} s", HELLO_TIMEOUT.as_secs())]
    HelloTimeout,
    /// The peer's first message is not the HELLO that is needed.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    /// Newer peers came before it had said who it is.
    #[error("it gave way to newer peers before it said who it is")]
    Displaced,
    /// The listener's places, or those for the peer's source, were taken while it said who it is.
    #[error("as many as there may be are connected here already, or from this source")]
    NoPlace,
    /// Bytes that cannot be skipped.
    #[error("malformed message: {0}")]
    Malformed(DecodeError),
    /// The peer's regular end.
    #[error("the peer closed the connection")]
    PeerClosed,
    /// The peer's end inside a message.
    #[error("the peer closed the connection in the middle of a message")]
    Truncated,
    /// The peer neither answered our ECHO_REQUEST nor read what waits for it.
    #[error("the peer is inactive")]
    Inactive,
    /// More than [`MAX_PENDING_BYTES`](crate::MAX_PENDING_BYTES) wait for the peer.
    #[error("the peer does not read what it is sent")]
    Overflow,
    /// The owner closed it.
    #[error("closed by this side")]
    ClosedHere,
}

impl From<io::Error> for Reason {
    fn from(error: io::Error) -> Self {
        #[cfg(feature = "tls")]
        if let Some(text) = crate::tls_faults::describe(&error) {
            return Self::Tls(text);
        }
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return Self::PeerClosed;
        }
        Self::Io(error)
    }
}
