//! Takes the place of `tls.rs` in a program built without the feature `tls`: it refuses the files.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::stream::Stream;
use crate::{Reason, TlsError, TlsFiles};

/// The identity of this side and the certificates that it trusts: without TLS there is no such
/// value.
#[derive(Clone, Debug)]
pub enum NoTls {}

impl NoTls {
    /// Refuses. Errors: always.
    pub fn load(_: TlsFiles) -> Result<Self, TlsError> {
        Err(TlsError::NotBuilt)
    }

    /// Reads the files again if one of them changed.
    pub async fn refresh(&self) -> Option<Result<(), TlsError>> {
        match *self {}
    }

    /// Makes TLS of a connection that a peer opened. Errors: those of TLS.
    pub async fn accept_for(
        &self,
        _: &str,
        stream: TcpStream,
    ) -> Result<impl AsyncRead + AsyncWrite + Send + Unpin + use<>, Reason> {
        self.accept(stream).await
    }

    pub(crate) async fn connect(&self, _: &str, _: TcpStream) -> Result<Stream, Reason> {
        match *self {}
    }

    pub(crate) async fn accept(&self, _: TcpStream) -> Result<Stream, Reason> {
        match *self {}
    }
}
