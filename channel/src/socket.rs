//! Opens sockets to peers, and listens for peers: TCP, TLS, unix, and UDP beside a main connection.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::{fs, io, path::Path};

use socket2::SockRef;
use tokio::net::{
    TcpListener, TcpSocket, TcpStream, UdpSocket, UnixListener, UnixStream, lookup_host,
};
use tokio::time::{Instant, timeout};

use crate::datagrams::Datagrams;
use crate::stream::Stream;
use crate::timeouts::HELLO_TIMEOUT;
use crate::{ActiveAddress, Endpoint, PassiveAddress, PeerSource, Reason, Tls, Transport};

/// The addresses and the transport that a main connection uses.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) host: String,
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
}

impl Route {
    /// The local address with a port of the kernel's choice. A link-local one keeps its interface.
    fn from(&self) -> SocketAddr {
        let mut from = self.local;
        from.set_port(0);
        from
    }

    /// Opens an auxiliary connection: from the same address and to the same host as the main one.
    ///
    /// Errors: ConnectTimeout, those of TLS, or the socket's.
    pub(crate) async fn open(
        &self,
        transport: Transport,
        tls: Option<&Tls>,
    ) -> Result<Stream, Reason> {
        let from = self.from();
        let connect = async {
            let socket = match self.peer {
                SocketAddr::V4(_) => TcpSocket::new_v4(),
                SocketAddr::V6(_) => TcpSocket::new_v6(),
            }?;
            socket.bind(from)?;
            Ok(tcp(socket.connect(self.peer).await?)?)
        };
        match transport {
            Transport::Tcp => Ok(Box::new(in_time(connect).await?)),
            Transport::Tls => {
                let tls = identity(tls)?;
                tls.connect(&self.host, in_time(connect).await?).await
            }
            Transport::Udp => {
                let socket = UdpSocket::bind(from).await?;
                socket.connect(self.peer).await?;
                Ok(Box::new(Datagrams::new(socket)))
            }
        }
    }
}

/// Connects, to the first address of a host that answers; returns the route to it, except for unix.
///
/// Errors: UnknownHost, ConnectTimeout, those of TLS, or the socket's.
pub(crate) async fn open(
    address: &ActiveAddress,
    tls: Option<&Tls>,
) -> Result<(Stream, Option<Route>), Reason> {
    match &address.0 {
        Endpoint::Tcp { host, port } => {
            let (stream, route) = in_time(open_tcp(host, *port)).await?;
            Ok((Box::new(stream), Some(route)))
        }
        Endpoint::Tls { host, port } => {
            let tls = identity(tls)?;
            let (stream, route) = in_time(open_tcp(host, *port)).await?;
            Ok((tls.connect(host, stream).await?, Some(route)))
        }
        Endpoint::Unix(path) => {
            let connecting = async { Ok(UnixStream::connect(path).await?) };
            Ok((Box::new(in_time(connecting).await?), None))
        }
    }
}

/// The keys and certificates for TLS, if they are there.
fn identity(tls: Option<&Tls>) -> Result<&Tls, Reason> {
    tls.ok_or_else(|| Reason::Tls("this side has no certificate".into()))
}

/// Gives up after [`HELLO_TIMEOUT`]. Errors: ConnectTimeout.
async fn in_time<T>(opening: impl Future<Output = Result<T, Reason>>) -> Result<T, Reason> {
    let opened = timeout(HELLO_TIMEOUT, opening).await;
    opened.unwrap_or(Err(Reason::ConnectTimeout))
}

fn unknown_host(host: &str, error: io::Error) -> Reason {
    Reason::UnknownHost {
        host: host.into(),
        error,
    }
}

async fn open_tcp(host: &str, port: u16) -> Result<(TcpStream, Route), Reason> {
    let end = Instant::now() + HELLO_TIMEOUT;
    let found = lookup_host((host, port)).await;
    let addresses = found.map_err(|error| unknown_host(host, error))?;
    open_first(host, &addresses.collect::<Vec<_>>(), end).await
}

/// Connects to the first of these addresses that answers. Each may be silent for its share of the
/// time that is left until `end`.
async fn open_first(
    host: &str,
    addresses: &[SocketAddr],
    end: Instant,
) -> Result<(TcpStream, Route), Reason> {
    let mut last = unknown_host(host, io::ErrorKind::NotFound.into());
    for (address, left) in addresses.iter().zip((1..=addresses.len()).rev()) {
        let share = end.saturating_duration_since(Instant::now()) / left as u32;
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                let route = Route {
                    host: host.into(),
                    local: stream.local_addr()?,
                    peer: *address,
                };
                return Ok((tcp(stream)?, route));
            }
            Ok(Err(error)) => last = error.into(),
            Err(_) => last = Reason::ConnectTimeout,
        }
    }
    Err(last)
}

/// Bytes that the kernel holds unsent, about. Further bytes wait here, where the progress of a
/// write shows that the peer reads.
const UNSENT_BYTES: u32 = 64 * 1024;

/// Small messages leave at once; long backlogs do not hide in the kernel.
fn tcp(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    SockRef::from(&stream).set_tcp_notsent_lowat(UNSENT_BYTES)?;
    Ok(stream)
}

/// A peer's stream before the handshake of TLS, if there is to be one.
pub(crate) enum Raw {
    Plain(Stream),
    Tls(TcpStream),
}

impl Raw {
    /// The stream that OpenFlow is spoken on.
    pub(crate) async fn ready(self, tls: Option<&Tls>) -> Result<Stream, Reason> {
        match self {
            Self::Plain(stream) => Ok(stream),
            Self::Tls(stream) => identity(tls)?.accept(stream).await,
        }
    }
}

/// A listening socket.
pub(crate) enum Acceptor {
    Tcp(TcpListener),
    Tls(TcpListener),
    Unix(UnixListener),
}

impl Acceptor {
    /// Listens; gives the address with the port that the kernel chose where it was 0.
    ///
    /// Errors: the socket's, with the address before it.
    pub(crate) async fn bind(address: &PassiveAddress) -> io::Result<(Self, PassiveAddress)> {
        let bound = match &address.0 {
            Endpoint::Tcp { host, port } => bind_tcp(host, *port).await.map(|(listener, port)| {
                let host = host.clone();
                (Self::Tcp(listener), Endpoint::Tcp { host, port })
            }),
            Endpoint::Tls { host, port } => bind_tcp(host, *port).await.map(|(listener, port)| {
                let host = host.clone();
                (Self::Tls(listener), Endpoint::Tls { host, port })
            }),
            Endpoint::Unix(path) => bind_unix(path)
                .await
                .map(|bound| (bound, address.0.clone())),
        };
        let bound = bound.map(|(acceptor, endpoint)| (acceptor, PassiveAddress(endpoint)));
        bound.map_err(|e| io::Error::new(e.kind(), format!("cannot listen on {address}: {e}")))
    }

    /// Listens with a socket that another process has bound to `address`, TCP or TLS. Errors: it is
    /// no such socket.
    pub(crate) fn adopt(
        address: &PassiveAddress,
        socket: OwnedFd,
    ) -> io::Result<(Self, PassiveAddress)> {
        let listener = std::net::TcpListener::from(socket);
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let listener = TcpListener::from_std(listener)?;
        let (acceptor, endpoint) = match address.0.clone() {
            Endpoint::Tcp { host, .. } => (Self::Tcp(listener), Endpoint::Tcp { host, port }),
            Endpoint::Tls { host, .. } => (Self::Tls(listener), Endpoint::Tls { host, port }),
            Endpoint::Unix(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok((acceptor, PassiveAddress(endpoint)))
    }

    /// A copy of its socket, if it is TCP or TLS; a unix socket goes with its file.
    pub(crate) fn socket(&self) -> Option<OwnedFd> {
        match self {
            Self::Tcp(listener) | Self::Tls(listener) => listener.as_fd().try_clone_to_owned().ok(),
            Self::Unix(_) => None,
        }
    }

    /// Waits for the next peer; gives its stream, its name for logs, and whose it is.
    pub(crate) async fn accept(&self) -> io::Result<(Raw, String, PeerSource)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                let stream = Raw::Plain(Box::new(tcp(stream)?));
                Ok((stream, peer.to_string(), peer.ip().into()))
            }
            Self::Tls(listener) => {
                let (stream, peer) = listener.accept().await?;
                let stream = Raw::Tls(tcp(stream)?);
                Ok((stream, peer.to_string(), peer.ip().into()))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let cred = stream.peer_cred().ok();
                let pid = cred.and_then(|cred| cred.pid());
                let name = pid.map_or("a process".into(), |pid| format!("process {pid}"));
                let source = PeerSource::User(cred.map(|cred| cred.uid()));
                Ok((Raw::Plain(Box::new(stream)), name, source))
            }
        }
    }
}

/// The socket, and the port that the kernel chose.
async fn bind_tcp(host: &str, port: u16) -> io::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind((host, port)).await?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

async fn bind_unix(path: &Path) -> io::Result<Acceptor> {
    let listener = match UnixListener::bind(path) {
        Err(error) if is_stale(path).await => {
            fs::remove_file(path)?;
            // Otherwise this attempt made the file, and then failed.
            if error.kind() != io::ErrorKind::AddrInUse {
                return Err(error);
            }
            UnixListener::bind(path)?
        }
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            return Err(what_is_there(path).unwrap_or(error));
        }
        bound => bound?,
    };
    Ok(Acceptor::Unix(listener))
}

/// The error of a path at which there is something else than a socket, which nobody leaves soon.
fn what_is_there(path: &Path) -> Option<io::Error> {
    let kind = fs::metadata(path).ok()?.file_type();
    if kind.is_socket() {
        return None;
    }
    let what = if kind.is_dir() {
        "a folder is there"
    } else {
        "a file is there that is no socket"
    };
    Some(io::Error::new(io::ErrorKind::AlreadyExists, what))
}

/// Returns true if `path` is a socket file that a process left behind, without a listener.
async fn is_stale(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    let answer = UnixStream::connect(path).await;
    is_socket && answer.is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddrV6;
    use std::time::Duration;

    use super::*;

    /// The time after which an address is silent: a connection to this machine is up at once.
    const PATIENCE: Duration = Duration::from_millis(500);

    #[test]
    fn auxiliary_connections_leave_by_the_interface_of_a_link_local_address() {
        let local = |port| SocketAddrV6::new("fe80::1".parse().unwrap(), port, 0, 7).into();
        let route = Route {
            host: "fe80::2%7".into(),
            local: local(4711),
            peer: "[fe80::2%7]:6653".parse().unwrap(),
        };
        assert_eq!(route.from(), local(0));
    }

    #[tokio::test]
    async fn a_host_whose_first_address_is_silent_is_reached_by_its_second() {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        let full = socket.listen(1).unwrap();
        let silent = full.local_addr().unwrap();
        // The kernel ignores whoever comes when the queue is full.
        let mut waiting = Vec::new();
        while let Ok(stream) = timeout(PATIENCE, TcpStream::connect(silent)).await {
            waiting.push(stream.unwrap());
        }
        let heard = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let addresses = [silent, heard.local_addr().unwrap()];
        let end = || Instant::now() + 2 * PATIENCE;
        let (_, route) = open_first("two", &addresses, end()).await.unwrap();
        assert_eq!(route.peer, addresses[1]);
        let failed = open_first("one", &addresses[..1], end()).await;
        assert!(matches!(failed, Err(Reason::ConnectTimeout)));
    }
}
