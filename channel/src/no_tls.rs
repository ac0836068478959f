//! Takes the place of `tls.rs` in a program built without the feature `tls`: it refuses the files.

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

    pub(crate) async fn refresh(&self) -> Option<Result<(), TlsError>> {
        match *self {}
    }

    pub(crate) async fn connect(&self, _: &str, _: TcpStream) -> Result<Stream, Reason> {
        match *self {}
    }

    pub(crate) async fn accept(&self, _: TcpStream) -> Result<Stream, Reason> {
        match *self {}
    }
}
