//! The addresses of collectors.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use crate::error::{Error, Result};

/// The address of a collector: a name or an IP address, and a UDP port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collector {
    host: String,
    port: Option<u16>,
    usual_port: u16,
}

impl Collector {
    /// Reads `HOST[:PORT]`, where HOST is a name, an IPv4 address, or an IPv6 address, in brackets
    /// if a port follows. Errors: what is wrong.
    pub fn read(text: &str, usual_port: u16) -> Result<Self> {
        let wrong = || Error::from(format!("'{text}' is no HOST[:PORT]"));
        let (host, port) = if Ipv6Addr::from_str(text).is_ok() {
            (text, None)
        } else if let Some(rest) = text.strip_prefix('[') {
            let (host, rest) = rest.split_once(']').ok_or_else(wrong)?;
            Ipv6Addr::from_str(host).map_err(|_| wrong())?;
            let port = match rest {
                "" => None,
                rest => Some(rest.strip_prefix(':').ok_or_else(wrong)?),
            };
            (host, port)
        } else {
            match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            }
        };
        let is_name = |host: &str| !host.is_empty() && !host.contains([':', '=', ' ', '[', ']']);
        if !is_name(host) && Ipv6Addr::from_str(host).is_err() {
            return Err(wrong());
        }
        if IpAddr::from_str(host).is_ok_and(|address| address.is_unspecified()) {
            return Err(format!("'{text}' is no address of a collector").into());
        }
        let port = port.map(|port| port.parse().ok().filter(|port| *port != 0));
        Ok(Self {
            host: host.into(),
            port: port.map(|port| port.ok_or_else(wrong)).transpose()?,
            usual_port,
        })
    }

    /// Looks its address up, which may take long.
    pub fn resolve(&self) -> io::Result<SocketAddr> {
        let port = self.port.unwrap_or(self.usual_port);
        let mut found = (self.host.as_str(), port).to_socket_addrs()?;
        found
            .next()
            .ok_or_else(|| io::Error::other("the name has no address"))
    }

    /// Returns true if it is named.
    pub fn is_named(&self) -> bool {
        IpAddr::from_str(&self.host).is_err()
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.port.unwrap_or(self.usual_port);
        if self.host.contains(':') {
            write!(f, "[{}]:{port}", self.host)
        } else {
            write!(f, "{}:{port}", self.host)
        }
    }
}
