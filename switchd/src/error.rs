//! The errors of commands: a sentence for the user, and the kind of error.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;
use std::str::Utf8Error;

use bofuss_channel::{ClientError, NotPermitted, ReadingError, TlsError};
use bofuss_embed::record::RecordError;
use bofuss_oflib::DecodeError;
use bofuss_oflib::catalogue::CatalogueError;
use bofuss_oflib::text::ParseError;
use bofuss_ports::{OpenError, PortError};
use bofuss_sim::scenario::ScenarioError;
use rustix::io::Errno;

use crate::tell::tell;

/// The result of a command, or the reason why it failed.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason for which a command fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    /// The kind of error.
    pub kind: ErrorKind,
    /// A sentence for the user, often after the option that it is about.
    pub text: String,
}

/// The kinds of errors that are treated differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The command line is wrong, or a configuration before anything runs.
    Usage,
    /// The system denies it to this process (EPERM or EACCES).
    NoPermission,
    /// Anything else.
    Failed,
}

impl Error {
    /// The same error, as one of the command line.
    pub fn into_usage(self) -> Self {
        let kind = ErrorKind::Usage;
        Self { kind, ..self }
    }

    /// The same error with another text.
    pub fn map(self, text: impl FnOnce(String) -> String) -> Self {
        let kind = self.kind;
        let text = text(self.text);
        Self { kind, text }
    }

    /// Prints the error of a program. Returns the exit code: 2 for a wrong command line, as clap
    /// has it, else 1.
    pub fn report(&self, program: &str) -> ExitCode {
        tell!("{program}: {self}");
        match self.kind {
            ErrorKind::Usage => ExitCode::from(2),
            ErrorKind::NoPermission | ErrorKind::Failed => ExitCode::FAILURE,
        }
    }
}

/// Adds to an error what it is about, as `WHAT: ERROR`.
pub fn context<E: Into<Error>>(what: impl Display) -> impl Fn(E) -> Error {
    move |error| error.into().map(|text| format!("{what}: {text}"))
}

impl From<String> for Error {
    fn from(text: String) -> Self {
        let kind = ErrorKind::Failed;
        Self { kind, text }
    }
}

impl From<&str> for Error {
    fn from(text: &str) -> Self {
        text.to_string().into()
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        let kind = if error.kind() == io::ErrorKind::PermissionDenied {
            ErrorKind::NoPermission
        } else {
            ErrorKind::Failed
        };
        let text = error.to_string();
        Self { kind, text }
    }
}

impl From<Errno> for Error {
    fn from(error: Errno) -> Self {
        io::Error::from(error).into()
    }
}

impl From<OpenError> for Error {
    fn from(error: OpenError) -> Self {
        let text = error.to_string();
        if let OpenError::Io { source, .. } = error {
            Self::from(source).map(|_| text)
        } else {
            text.into()
        }
    }
}

impl From<TlsError> for Error {
    fn from(error: TlsError) -> Self {
        let text = error.to_string();
        if let TlsError::Unread { error, .. } = error {
            Self::from(error).map(|_| text)
        } else {
            text.into()
        }
    }
}

impl From<Error> for RecordError {
    fn from(error: Error) -> Self {
        Self(error.text)
    }
}

impl From<Error> for ScenarioError {
    fn from(error: Error) -> Self {
        error.text.into()
    }
}

/// Errors of which only the sentence matters here.
macro_rules! from_sentence {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                error.to_string().into()
            }
        })*
    };
}

from_sentence!(
    CatalogueError,
    ClientError,
    DecodeError,
    NotPermitted,
    ParseError,
    PortError,
    ReadingError,
    RecordError,
    ScenarioError,
    Utf8Error,
    serde_json::Error,
    toml::de::Error,
    tracing_subscriber::filter::ParseError,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_kind_when_it_says_what_it_is_about() {
        let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
        let file = TlsError::Unread {
            path: "/key".into(),
            error: denied(),
        };
        for error in [Error::from(denied()), file.into()] {
            let error = context::<Error>("--private-key")(error);
            assert_eq!(error.kind, ErrorKind::NoPermission);
            assert!(error.text.starts_with("--private-key: "), "{error}");
        }
        let other = context::<&str>("--port")("there is none").into_usage();
        assert_eq!(other.kind, ErrorKind::Usage);
        assert_eq!(other.to_string(), "--port: there is none");
    }
}
