//! The files that say who we are, and why they cannot be used.

use std::io;
use std::path::{Path, PathBuf};

/// The files that TLS needs, in PEM form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Our private key.
    pub private_key: PathBuf,
    /// Our certificate, then those between it and the peer's CA, if any.
    pub certificate: PathBuf,
    /// The certificates of the CAs that we trust.
    pub ca_cert: PathBuf,
    /// True if a peer that we connect to may have a certificate of any name.
    pub any_peer_name: bool,
}

/// The reason for which the files of TLS cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{}: {error}", .path.display())]
    Unread {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A file does not hold what it should, or does not fit the others.
    #[error("{}: {reason}", .path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// The program has no TLS.
    #[error("this program is built without TLS; make build builds one that has it")]
    NotBuilt,
}

impl TlsError {
    /// The file, if one is wrong.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Unread { path, .. } | Self::Wrong { path, .. } => Some(path),
            Self::NotBuilt => None,
        }
    }
}
