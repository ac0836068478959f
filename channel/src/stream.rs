//! Byte streams of any kind, with the addresses of their ends.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// The two addresses of a connection over IP: ours and the peer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressPair {
    /// Ours.
    pub local: SocketAddr,
    /// The peer's.
    pub peer: SocketAddr,
}

/// A stream of bytes of any kind.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {
    /// Its addresses, if it has some.
    fn ends(&self) -> Option<AddressPair> {
        None
    }
}

impl Duplex for TcpStream {
    fn ends(&self) -> Option<AddressPair> {
        Some(AddressPair {
            local: self.local_addr().ok()?,
            peer: self.peer_addr().ok()?,
        })
    }
}

impl Duplex for UnixStream {}

impl Duplex for tokio::io::DuplexStream {}

/// A stream of any kind.
pub(crate) type Stream = Box<dyn Duplex>;
