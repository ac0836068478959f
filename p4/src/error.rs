//! The reasons why the control plane is refused.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

/// Why a change is refused. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlError {
    /// The program has nothing of this name or number.
    Unknown(String),
    /// A value does not fit what the program has.
    Invalid(String),
    /// It is there already.
    Exists,
    /// It is not there.
    NotFound,
    /// There is no room.
    Full,
    /// The program fixes it.
    Constant,
    /// Something else needs it.
    InUse,
}

impl ControlError {
    /// The reason as a sentence about `what`, which was to be changed.
    pub(crate) fn about(&self, what: &str) -> String {
        match self {
            Self::Unknown(_) | Self::Invalid(_) => self.to_string(),
            Self::Exists => format!("{what} is there already"),
            Self::NotFound => format!("{what} is not there"),
            Self::Full => format!("there is no room for {what}"),
            Self::Constant => format!("the program fixes {what}"),
            Self::InUse => format!("something else needs {what}"),
        }
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(what) => write!(f, "the program has no {what}"),
            Self::Invalid(what) => f.write_str(what),
            Self::Exists => f.write_str("it is there already"),
            Self::NotFound => f.write_str("it is not there"),
            Self::Full => f.write_str("there is no room for it"),
            Self::Constant => f.write_str("the program fixes it"),
            Self::InUse => f.write_str("something else needs it"),
        }
    }
}

impl core::error::Error for ControlError {}
