//! Addresses as users type them: `tcp:`, `ssl:`, `unix:` to connect to, with a `p` to listen on.

use std::{fmt, net::Ipv6Addr, path::PathBuf, str::FromStr};

/// The port of OpenFlow, where an address names none.
pub const DEFAULT_PORT: u16 = 6653;
/// The port at which `ptcp:` and `pssl:` listen unless told otherwise.
const DEFAULT_LISTEN_HOST: &str = "127.0.0.1";

/// One end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A TCP port of a host.
    Tcp {
        /// A host name, an IPv4 address, or an IPv6 address without brackets.
        host: String,
        /// The port; 0 lets the kernel choose (to listen on only).
        port: u16,
    },
    /// TLS over a TCP port of a host.
    Tls {
        /// As of `Tcp`; to connect to, the peer's certificate must be for it.
        host: String,
        /// As of `Tcp`.
        port: u16,
    },
    /// A unix stream socket.
    Unix(PathBuf),
}

/// An address to connect to: `tcp:HOST[:PORT]`, `ssl:HOST[:PORT]` or `unix:FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveAddress(pub Endpoint);

/// An address to listen at: `ptcp:[PORT][:HOST]` or `pssl:[PORT][:HOST]`, on loopback unless HOST
/// says otherwise, or `punix:FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassiveAddress(pub Endpoint);

/// A sentence that says what is wrong with an address, with an example of a right one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?}: {wrong}; example: {example}")]
pub struct AddressError {
    text: String,
    wrong: String,
    example: &'static str,
}

impl AddressError {
    pub(crate) fn new(text: &str, wrong: String, example: &'static str) -> Self {
        let text = text.into();
        Self {
            text,
            wrong,
            example,
        }
    }
}

impl FromStr for ActiveAddress {
    type Err = AddressError;
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let example = "tcp:127.0.0.1:6653 or unix:/run/switch.sock";
        read(text, ["tcp", "ssl", "unix"], tcp, example).map(Self)
    }
}

impl FromStr for PassiveAddress {
    type Err = AddressError;
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let example = "ptcp:6654:127.0.0.1 or punix:/run/switch.sock";
        read(text, ["ptcp", "pssl", "punix"], ptcp, example).map(Self)
    }
}

impl fmt::Display for ActiveAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Endpoint::Tcp { host, port } => write!(f, "tcp:{}:{port}", bracketed(host)),
            Endpoint::Tls { host, port } => write!(f, "ssl:{}:{port}", bracketed(host)),
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl fmt::Display for PassiveAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Endpoint::Tcp { host, port } => write!(f, "ptcp:{port}:{}", bracketed(host)),
            Endpoint::Tls { host, port } => write!(f, "pssl:{port}:{}", bracketed(host)),
            Endpoint::Unix(path) => write!(f, "punix:{}", path.display()),
        }
    }
}

fn bracketed(host: &str) -> String {
    if host.contains(':') {
        format!("[{host}]")
    } else {
        host.into()
    }
}

/// An address of one of three kinds, the first two of which `tcp` reads.
fn read(
    text: &str,
    kinds: [&str; 3],
    tcp: fn(&str) -> Result<(String, u16), String>,
    example: &'static str,
) -> Result<Endpoint, AddressError> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let endpoint = match kind {
        _ if kind == kinds[0] => tcp(rest).map(|(host, port)| Endpoint::Tcp { host, port }),
        _ if kind == kinds[1] => tcp(rest).map(|(host, port)| Endpoint::Tls { host, port }),
        _ if kind == kinds[2] => unix(rest),
        "tcp" | "ssl" | "unix" => {
            Err("it is to be connected to, but this waits for connections".into())
        }
        "ptcp" | "pssl" | "punix" => {
            Err("it waits for connections, but this is to be connected to".into())
        }
        _ => Err("it begins with no kind of address".into()),
    };
    endpoint.map_err(|wrong| AddressError::new(text, wrong, example))
}

fn unix(path: &str) -> Result<Endpoint, String> {
    if path.is_empty() {
        return Err("the file is missing".into());
    }
    Ok(Endpoint::Unix(path.into()))
}

/// `HOST[:PORT]`
fn tcp(text: &str) -> Result<(String, u16), String> {
    let colon = match text.find(']') {
        Some(end) => Some(end + 1).filter(|at| *at < text.len()),
        None => text.find(':'),
    };
    let (host, port) = text.split_at(colon.unwrap_or(text.len()));
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => DEFAULT_PORT,
        None => return Err(format!("{port:?} behind the bracket is no :PORT")),
        Some(port) => self::port(port, 1)?,
    };
    Ok((self::host(host)?, port))
}

/// `[PORT][:HOST]`
fn ptcp(text: &str) -> Result<(String, u16), String> {
    let (port, host) = text.split_once(':').unwrap_or((text, DEFAULT_LISTEN_HOST));
    let port = match port {
        "" => DEFAULT_PORT,
        port => self::port(port, 0)?,
    };
    Ok((self::host(host)?, port))
}

/// A port as it is typed, at least `least`.
pub(crate) fn port(text: &str, least: u16) -> Result<u16, String> {
    let port = text.parse().ok().filter(|port| *port >= least);
    port.ok_or_else(|| {
        let most = u16::MAX;
        format!("{text:?} is no port from {least} to {most} (IPv6 addresses stand in brackets)")
    })
}

/// A host as it is typed; gives it without brackets.
fn host(text: &str) -> Result<String, String> {
    if let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        let (address, _zone) = inner.split_once('%').unwrap_or((inner, ""));
        return match address.parse::<Ipv6Addr>() {
            Ok(_) => Ok(inner.into()),
            Err(_) => Err(format!("{inner:?} is no IPv6 address")),
        };
    }
    if text.is_empty() {
        Err("the host is missing".into())
    } else if text.contains(':') {
        Err("an IPv6 address stands in brackets".into())
    } else if text.contains(|c: char| !c.is_ascii_alphanumeric() && !"-._".contains(c)) {
        Err(format!("{text:?} is no host name or address"))
    } else {
        Ok(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_addresses_read_and_print() {
        for (text, printed) in [
            ("tcp:127.0.0.1", "tcp:127.0.0.1:6653"),
            ("tcp:127.0.0.1:1", "tcp:127.0.0.1:1"),
            ("tcp:c0.example_net:65535", "tcp:c0.example_net:65535"),
            ("tcp:[::1]", "tcp:[::1]:6653"),
            ("tcp:[fe80::1%eth0]:6633", "tcp:[fe80::1%eth0]:6633"),
            ("ssl:c0.example.net", "ssl:c0.example.net:6653"),
            ("ssl:[::1]:6634", "ssl:[::1]:6634"),
            ("unix:a/b:c", "unix:a/b:c"),
        ] {
            let address: ActiveAddress = text.parse().unwrap();
            assert_eq!(address.to_string(), printed);
            assert_eq!(printed.parse(), Ok(address));
        }
    }

    #[test]
    fn passive_addresses_listen_on_loopback_unless_told_otherwise() {
        for (text, printed) in [
            ("ptcp:", "ptcp:6653:127.0.0.1"),
            ("ptcp:6654", "ptcp:6654:127.0.0.1"),
            ("ptcp::0.0.0.0", "ptcp:6653:0.0.0.0"),
            ("ptcp:0:[::]", "ptcp:0:[::]"),
            ("pssl:", "pssl:6653:127.0.0.1"),
            ("pssl:6640:0.0.0.0", "pssl:6640:0.0.0.0"),
            ("punix:/run/s0.sock", "punix:/run/s0.sock"),
        ] {
            let address: PassiveAddress = text.parse().unwrap();
            assert_eq!(address.to_string(), printed);
            assert_eq!(printed.parse(), Ok(address));
        }
    }

    #[test]
    fn wrong_addresses_say_why_and_give_an_example() {
        for (text, wrong) in [
            ("", "begins with no kind of address"),
            ("127.0.0.1:6653", "begins with no kind of address"),
            ("tcp:", "the host is missing"),
            ("tcp::6653", "the host is missing"),
            ("tcp:h:0", "\"0\" is no port from 1 to 65535"),
            ("tcp:h:65536", "is no port"),
            ("tcp:h:", "\"\" is no port"),
            ("tcp:::1", "brackets"),
            ("tcp:fe80::1", "brackets"),
            ("tcp:[::1", "brackets"),
            ("tcp:[::g]", "is no IPv6 address"),
            ("tcp:[::1]6653", "behind the bracket"),
            ("tcp:a b", "is no host name"),
            ("unix:", "the file is missing"),
            ("ptcp:6654", "waits for connections"),
            ("pssl:6654", "waits for connections"),
            ("ssl:", "the host is missing"),
        ] {
            let error = text.parse::<ActiveAddress>().unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
            assert!(error.contains("example: tcp:"), "{error}");
        }
        for (text, wrong) in [
            ("tcp:h", "is to be connected to"),
            ("ptcp:x", "\"x\" is no port from 0 to 65535"),
            ("ptcp:1:::1", "brackets"),
            ("ptcp:1:", "the host is missing"),
            ("ssl:h", "is to be connected to"),
            ("pssl:70000", "is no port"),
        ] {
            let error = text.parse::<PassiveAddress>().unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
            assert!(error.contains("example: ptcp:"), "{error}");
        }
    }
}
