//! Why a request is refused, and how gRPC says so.

use std::fmt;

use bofuss_p4::ControlError;
use prost::Message;
use tonic::Code;

use crate::wire::messages::{Any, Error, Status};

/// The longest message of a refusal, in bytes. Longer ones would not fit the headers of HTTP.
const MAX_MESSAGE: usize = 1024;
/// The details that one response has room for, in bytes.
const MAX_DETAILS: usize = 4096;

/// Why something is refused: a code of gRPC and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub(crate) code: Code,
    pub(crate) message: String,
}

pub(crate) type Result<T, E = Refusal> = std::result::Result<T, E>;

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { code, message }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, message)
    }

    pub(crate) fn denied(message: impl Into<String>) -> Self {
        Self::new(Code::PermissionDenied, message)
    }

    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self::new(Code::Unimplemented, message)
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Code::Unavailable, message)
    }

    pub(crate) fn precondition(message: impl Into<String>) -> Self {
        Self::new(Code::FailedPrecondition, message)
    }

    /// The refusal of one update, as batches report it.
    fn detail(&self) -> Error {
        Error {
            canonical_code: self.code as i32,
            message: self.message.clone(),
            ..Error::default()
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

impl From<ControlError> for Refusal {
    fn from(error: ControlError) -> Self {
        let code = match &error {
            ControlError::Unknown(_) | ControlError::NotFound => Code::NotFound,
            ControlError::Invalid(_) => Code::InvalidArgument,
            ControlError::Exists => Code::AlreadyExists,
            ControlError::Full => Code::ResourceExhausted,
            ControlError::Constant => Code::PermissionDenied,
            ControlError::InUse => Code::FailedPrecondition,
        };
        Self::new(code, error.to_string())
    }
}

impl From<Refusal> for tonic::Status {
    fn from(refusal: Refusal) -> Self {
        let mut message = refusal.message;
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        Self::new(refusal.code, message)
    }
}

/// The answer to a batch: one result for each update, in their order. All went well, or the status
/// has one `p4.v1.Error` for each update; of large batches only the code of each has room.
pub(crate) fn batch(results: &[Result<()>]) -> std::result::Result<(), tonic::Status> {
    let failed = results.iter().filter(|result| result.is_err()).count();
    if failed == 0 {
        return Ok(());
    }
    let message = format!("{failed} of {} updates failed", results.len());
    let encode = |with_messages: bool| {
        let errors = results.iter().map(|result| {
            let mut error = match result {
                Ok(()) => Error::default(),
                Err(refusal) => refusal.detail(),
            };
            if !with_messages {
                error.message.clear();
            }
            Any {
                type_url: "type.googleapis.com/p4.v1.Error".into(),
                value: error.encode_to_vec(),
            }
        });
        let status = Status {
            code: Code::Unknown as i32,
            message: message.clone(),
            details: errors.collect(),
        };
        status.encode_to_vec()
    };
    let mut details = encode(true);
    if details.len() > MAX_DETAILS {
        details = encode(false);
    }
    let status = tonic::Status::with_details(Code::Unknown, message, details.into());
    Err(status)
}
