//! ERROR: what was wrong with a request. Spec: OpenFlow 1.3.5 section 7.4.4.

use crate::error::ErrorCode;
use crate::wire::Bytes;

/// The most bytes of a request that an ERROR quotes.
pub const ERROR_DATA_BYTES: usize = 64;

/// An error, with the beginning of the request that caused it (or a text, for HELLO_FAILED).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ErrorMsg {
    /// The type and code.
    pub error: ErrorCode,
    /// The request's first bytes, or a text.
    pub data: Bytes,
}

impl ErrorMsg {
    /// An error that quotes the first [`ERROR_DATA_BYTES`] of `request`.
    pub fn quoting(error: ErrorCode, request: &[u8]) -> Self {
        let quoted = &request[..request.len().min(ERROR_DATA_BYTES)];
        Self {
            error,
            data: Bytes(quoted.into()),
        }
    }
}
