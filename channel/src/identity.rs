//! The files that say who we are, and the refusal where there are none.

use std::path::PathBuf;

use crate::{Reason, Tls};

/// The files that TLS needs, in PEM form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Our private key.
    pub private_key: PathBuf,
    /// Our certificate, then those between it and the peer's CA, if any.
    pub certificate: PathBuf,
    /// The certificates of the CAs that we trust.
    pub ca_cert: PathBuf,
    /// Whether a peer that we connect to may have a certificate of any name.
    pub any_peer_name: bool,
}

/// What TLS needs, if it is there.
pub(crate) fn identity(tls: Option<&Tls>) -> Result<&Tls, Reason> {
    tls.ok_or_else(|| Reason::Tls("this side has no certificate".into()))
}
