//! The configuration of auxiliary connections.

use std::{fmt, str::FromStr};

use crate::AddressError;
use crate::address::port;

/// The most auxiliary connections of a main one: auxiliary ids have 8 bits, and 0 is the main
/// connection.
pub const MAX_AUXILIARIES: usize = 255;

/// The transport of an auxiliary connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// TLS over TCP.
    Tls,
    /// UDP, which may lose messages.
    Udp,
}

/// An auxiliary connection for each main one to a host: `tcp[:PORT]`, `ssl[:PORT]` or `udp[:PORT]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Auxiliary {
    /// The transport.
    pub transport: Transport,
    /// The peer's port; that of the main connection if `None`.
    pub port: Option<u16>,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Tls => "ssl",
            Self::Udp => "udp",
        })
    }
}

impl FromStr for Auxiliary {
    type Err = AddressError;
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (kind, port) = match text.split_once(':') {
            Some((kind, port)) => (kind, Some(port)),
            None => (text, None),
        };
        let kinds = [Transport::Tcp, Transport::Tls, Transport::Udp];
        let found = kinds.into_iter().find(|known| known.to_string() == kind);
        let transport = found.ok_or_else(|| "it is tcp, ssl or udp, and perhaps :PORT".into());
        let read = transport.and_then(|transport| {
            let port = port.map(|text| self::port(text, 1)).transpose()?;
            Ok(Self { transport, port })
        });
        read.map_err(|wrong| AddressError::new(text, wrong, "tcp or udp:6653"))
    }
}
