//! Why a measurement fails.

use crate::meter::controller::ControlError;

/// What a measurement returns, or why it fails.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a measurement fails. The exit code is 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An exchange with the switch failed.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// Anything else, in a sentence for the user.
    #[error("{0}")]
    Failed(String),
}

impl From<String> for Error {
    fn from(text: String) -> Self {
        Self::Failed(text)
    }
}

impl From<&str> for Error {
    fn from(text: &str) -> Self {
        Self::Failed(text.into())
    }
}
