//! The errors of commands, and their exit codes.

use std::process::ExitCode;

use bofuss_channel::TlsError;
use bofuss_oflib::ParseError;

use crate::output::complain;

/// The reason why a command fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The verb does not take these arguments.
    #[error("dpctl help VERB describes the arguments")]
    Misused,
    /// The command line is wrong, or a file that it names.
    #[error("{0}")]
    Usage(String),
    /// The switch or the connection failed.
    #[error("{0}")]
    Failed(String),
    /// The compared entries differ, and the difference is printed.
    #[error("the entries differ")]
    Differs,
}

impl Failure {
    /// The exit code: 1 if the switch or the connection failed, else 2. A difference has that of
    /// ovs-ofctl.
    fn exit_code(&self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::Misused | Self::Usage(_) | Self::Differs => 2,
        }
    }

    /// The error of a text that is not understood, after the text.
    pub(crate) fn in_text(text: &str) -> impl Fn(ParseError) -> Self + '_ {
        move |error| Self::Usage(format!("{text}: {error}{}", hint(&error)))
    }

    /// Prints what is not printed yet. Returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        if *self != Self::Differs {
            complain(&self.to_string());
        }
        ExitCode::from(self.exit_code())
    }
}

/// What to do about the error, after a blank.
fn hint(error: &ParseError) -> &'static str {
    if error.needs_port_names {
        " (dpctl dump-ports-desc lists the numbers)"
    } else {
        ""
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::Usage(text)
    }
}

impl From<ParseError> for Failure {
    fn from(error: ParseError) -> Self {
        Self::Usage(format!("{error}{}", hint(&error)))
    }
}

impl From<TlsError> for Failure {
    fn from(error: TlsError) -> Self {
        Self::Usage(error.to_string())
    }
}
