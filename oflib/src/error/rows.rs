//! The rows of errors, by which people read them: names and meanings.

use core::fmt;

use super::{DecodeError, ERRORS, EXPERIMENTER_ERROR_TYPE, ErrorCode};
use crate::version::{Span, span};

/// One row of the error table.
///
/// Rows are for people: decoding and encoding use the numbers alone, so that an error without a row
/// is passed on as it came.
#[derive(Clone, Copy, Debug)]
pub struct ErrorRow {
    /// Type and code.
    pub error: ErrorCode,
    /// The specification's type, without `OFPET_`; of an experimenter's error, its extension.
    pub type_name: &'static str,
    /// The specification's code, without its prefix.
    pub code_name: &'static str,
    /// The meaning, in the words of a log line.
    pub meaning: &'static str,
    /// The versions that have it.
    pub versions: Span,
}

impl ErrorRow {
    /// The row of an experimenter's error, for [`crate::experimenter_errors`].
    pub const fn of_experimenter(
        error: ErrorCode,
        extension: &'static str,
        code_name: &'static str,
        meaning: &'static str,
    ) -> Self {
        Self {
            error,
            type_name: extension,
            code_name,
            meaning,
            // An experimenter's numbers mean the same in each version.
            versions: span!(),
        }
    }
}

impl fmt::Display for ErrorRow {
    /// `BAD_REQUEST/BAD_LEN (wrong length for the type)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{} ({})",
            self.type_name, self.code_name, self.meaning
        )
    }
}

impl ErrorCode {
    /// The row of this error, if the specification has one. [`crate::Catalogue::error`] has those
    /// of extensions, too.
    ///
    /// Not all versions need have it: see [`ErrorRow::versions`].
    pub fn row(self) -> Option<&'static ErrorRow> {
        ERRORS.iter().find(|row| row.error == self)
    }
}

impl fmt::Display for ErrorCode {
    /// `BAD_REQUEST/BAD_LEN (wrong length for the type)`, or numbers where no row stands, as
    /// `error type 65535 code 7 of experimenter 0xbebabeba`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row() {
            Some(row) => row.fmt(f),
            None => {
                write!(f, "error type {} code {}", self.ty, self.code)?;
                if self.ty == EXPERIMENTER_ERROR_TYPE {
                    write!(f, " of experimenter {:#x}", self.experimenter)?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at byte {}, in {}",
            self.error, self.offset, self.field
        )
    }
}

impl core::error::Error for DecodeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_ascend_without_gaps_within_a_type() {
        for pair in ERRORS.windows(2) {
            let (a, b) = (pair[0].error, pair[1].error);
            let next = b.ty == a.ty && b.code == a.code + 1;
            assert!(next || (b.ty == a.ty + 1 && b.code == 0), "{a} then {b}");
        }
    }
}
