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
/// The most updates or requests for whose codes there is this room.
const MAX_CODES: usize = 96;

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

/// The answer to a batch: one result for each of its updates or requests, as `what` calls them, in
/// their order. All went well, or the status names the first that failed and has one `p4.v1.Error`
/// for each, or only the codes where messages have no room; of more than [`MAX_CODES`], none.
pub(crate) fn batch(what: &str, results: &[Result<()>]) -> std::result::Result<(), tonic::Status> {
    let mut failures = results.iter().zip(1..);
    let first = failures.find_map(|(result, number)| Some((result.as_ref().err()?, number)));
    let Some((refusal, number)) = first else {
        return Ok(());
    };
    let failed = 1 + failures.filter(|(result, _)| result.is_err()).count();
    let all = results.len();
    let mut message = format!("{failed} of {all} {what} failed, the first is {number}: {refusal}");
    message.truncate(message.floor_char_boundary(MAX_MESSAGE));
    if all > MAX_CODES {
        return Err(tonic::Status::new(Code::Unknown, message));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_a_batch_fits_the_headers_of_http() {
        let refusal = Refusal::not_found("an entry is not there, ".repeat(9));
        for all in [2, MAX_CODES, MAX_CODES + 1, 100_000] {
            let mut results = vec![Err(refusal.clone()); all];
            results[0] = Ok(());
            let status = batch("updates", &results).expect_err("all but one failed");
            let begin = format!("{} of {all} updates failed, the first is 2: an ", all - 1);
            assert!(status.message().starts_with(&begin), "{status}");
            assert!(status.message().len() <= MAX_MESSAGE);
            assert!(status.details().len() <= MAX_DETAILS, "{all}");
            let details = Status::decode(status.details())
                .expect("it is a status")
                .details;
            assert_eq!(details.len(), if all > MAX_CODES { 0 } else { all });
        }
        assert!(batch("requests", &[Ok(()), Ok(())]).is_ok());
    }
}
