//! The errors of measurements.

use bofuss_channel::ClientError;
use bofuss_oflib::ParseError;
use bofuss_oflib::error::{ErrorCode, FlowModFailed};

/// The result of a measurement, or the reason why it failed.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason for which a measurement fails. The exit code is 1.
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

impl From<ParseError> for Error {
    fn from(error: ParseError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// A failure of an exchange with the switch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// It answered with an error.
    #[error("the switch answered {0}")]
    Refused(ErrorCode),
    /// The version that is spoken cannot express it.
    #[error("{0}")]
    Unsupported(String),
    /// It did not answer.
    #[error("the switch hangs: it does not answer in time")]
    Hangs,
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl ControlError {
    /// The error if the reply is to another request.
    pub fn another_reply() -> Self {
        Self::Other("a reply to another question".into())
    }

    /// Returns true if a table had no room.
    pub fn is_table_full(&self) -> bool {
        matches!(self, Self::Refused(code) if *code == FlowModFailed::TABLE_FULL)
    }
}

impl From<ClientError> for ControlError {
    fn from(error: ClientError) -> Self {
        if let ClientError::Refused(error) = error {
            Self::Refused(error.error)
        } else if let ClientError::Timeout(_) = error {
            Self::Hangs
        } else if let ClientError::Unsent(error) = error {
            Self::Unsupported(error.to_string())
        } else {
            Self::Other(format!("OpenFlow connection: {error}"))
        }
    }
}
