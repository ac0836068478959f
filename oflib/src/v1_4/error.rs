//! The errors of 1.4 and 1.5, which have errors of their own for properties. Spec: OpenFlow 1.4.1
//! section 7.5.4, OpenFlow 1.5.1 section 7.5.4.14.

use super::V1_4;
use crate::error::{BadProperty, DecodeError, ErrorCode, TableFeaturesFailed};
use crate::forms::Form;
use crate::v1_3::session::{read_code, write_code};
use crate::v1_5::V1_5;
use crate::wire::{Reader, Writer};

/// The error of a version before, and what 1.4 says in its place.
const ROWS: [(ErrorCode, ErrorCode); 3] = [
    (TableFeaturesFailed::BAD_TYPE, BadProperty::BAD_TYPE),
    (TableFeaturesFailed::BAD_LEN, BadProperty::BAD_LEN),
    (TableFeaturesFailed::BAD_ARGUMENT, BadProperty::BAD_VALUE),
];

/// An error as 1.4 says it.
fn newer(error: ErrorCode) -> ErrorCode {
    let row = ROWS.iter().find(|row| row.0 == error);
    row.map_or(error, |row| row.1)
}

/// An error as versions before 1.5 say it: to them, what a table may be configured to is a value
/// like others.
fn before_1_5(error: ErrorCode) -> ErrorCode {
    if error == TableFeaturesFailed::BAD_CAP {
        BadProperty::BAD_VALUE
    } else {
        error
    }
}

/// An error as 1.3 says it.
pub(crate) fn older(error: ErrorCode) -> ErrorCode {
    let error = before_1_5(error);
    let row = ROWS.iter().find(|row| row.1 == error);
    row.map_or(error, |row| row.0)
}

impl Form<V1_4> for ErrorCode {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        read_code(r).map(newer)
    }
    fn write(&self, w: &mut Writer<'_>) {
        write_code(newer(before_1_5(*self)), w);
    }
}

impl Form<V1_5> for ErrorCode {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        <Self as Form<V1_4>>::read(r)
    }
    fn write(&self, w: &mut Writer<'_>) {
        write_code(newer(*self), w);
    }
}
