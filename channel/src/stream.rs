//! Byte streams: opens one to an address, listens for them; TCP and unix.

use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::{fs, io, path::Path};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream, lookup_host};
use tokio::time::timeout;

use crate::handshake::HELLO_TIMEOUT;
use crate::{ActiveAddress, Endpoint, PassiveAddress, Reason};

/// What every kind of stream can do.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A stream of any kind.
pub(crate) type Stream = Box<dyn Duplex>;

/// Connects, to the first address of a host that answers.
///
/// Errors: UnknownHost, ConnectTimeout, or the socket's.
pub(crate) async fn open(address: &ActiveAddress) -> Result<Stream, Reason> {
    let opening = async {
        match &address.0 {
            Endpoint::Tcp { host, port } => open_tcp(host, *port).await,
            Endpoint::Unix(path) => Ok(Box::new(UnixStream::connect(path).await?) as Stream),
        }
    };
    timeout(HELLO_TIMEOUT, opening)
        .await
        .unwrap_or(Err(Reason::ConnectTimeout))
}

async fn open_tcp(host: &str, port: u16) -> Result<Stream, Reason> {
    let unknown = |error| Reason::UnknownHost {
        host: host.into(),
        error,
    };
    let mut last = unknown(io::ErrorKind::NotFound.into());
    for address in lookup_host((host, port)).await.map_err(unknown)? {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(tcp(stream)?),
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

/// Small messages leave at once.
fn tcp(stream: TcpStream) -> io::Result<Stream> {
    stream.set_nodelay(true)?;
    Ok(Box::new(stream))
}

/// A listening socket.
pub(crate) enum Acceptor {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Acceptor {
    /// Listens; gives the address with the port that the kernel chose where it was 0.
    ///
    /// `unix_mode`: the permission bits of a unix socket's file, else what the umask leaves.
    /// Errors: the socket's, with the address before it.
    pub(crate) async fn bind(
        address: &PassiveAddress,
        unix_mode: Option<u32>,
    ) -> io::Result<(Self, PassiveAddress)> {
        let bound = match &address.0 {
            Endpoint::Tcp { host, port } => bind_tcp(host, *port).await,
            Endpoint::Unix(path) => bind_unix(path, unix_mode)
                .await
                .map(|bound| (bound, address.clone())),
        };
        bound.map_err(|e| io::Error::new(e.kind(), format!("cannot listen on {address}: {e}")))
    }

    /// Waits for the next peer; gives its stream and its name for logs.
    pub(crate) async fn accept(&self) -> io::Result<(Stream, String)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                Ok((tcp(stream)?, peer.to_string()))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept().await?;
                let pid = stream.peer_cred().ok().and_then(|cred| cred.pid());
                let name = pid.map_or("a process".into(), |pid| format!("process {pid}"));
                Ok((Box::new(stream), name))
            }
        }
    }
}

async fn bind_tcp(host: &str, port: u16) -> io::Result<(Acceptor, PassiveAddress)> {
    let listener = TcpListener::bind((host, port)).await?;
    let port = listener.local_addr()?.port();
    let host = host.into();
    let address = PassiveAddress(Endpoint::Tcp { host, port });
    Ok((Acceptor::Tcp(listener), address))
}

async fn bind_unix(path: &Path, mode: Option<u32>) -> io::Result<Acceptor> {
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_stale(path).await => {
            fs::remove_file(path)?;
            UnixListener::bind(path)?
        }
        bound => bound?,
    };
    if let Some(mode) = mode {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    Ok(Acceptor::Unix(listener))
}

/// Whether `path` is a socket that a process left behind: nobody answers.
async fn is_stale(path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    let answer = UnixStream::connect(path).await;
    is_socket && answer.is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused)
}
