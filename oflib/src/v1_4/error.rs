//! The errors of 1.4, which has errors of its own for properties.
//! Spec: OpenFlow 1.4.1 section 7.5.4.

use super::V1_4;
use crate::error::{DecodeError, ErrorCode};
use crate::forms::Form;
use crate::v1_3::error::{PROPERTY_ERRORS, before_1_5};
use crate::v1_3::session::{read_code, write_code};
use crate::wire::{Reader, Writer};

/// An error as 1.4 says it.
pub(crate) fn newer(error: ErrorCode) -> ErrorCode {
    let row = PROPERTY_ERRORS.iter().find(|row| row.0 == error);
    row.map_or(error, |row| row.1)
}

impl Form<V1_4> for ErrorCode {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        read_code(r).map(newer)
    }
    fn write(&self, w: &mut Writer<'_>) {
        write_code(newer(before_1_5(*self)), w);
    }
}
