//! The errors of 1.4 and 1.5 that have other numbers in 1.3.

use crate::error::{BadProperty, ErrorCode, TableFeaturesFailed};

/// The error of 1.3, and what 1.4 says in its place.
///
/// Choice: in 1.3 the ONF's properties of bundles have these errors, too, as in Open vSwitch: its
/// codes for properties (4443 and on) begin with TOO_MANY.
pub(crate) const PROPERTY_ERRORS: [(ErrorCode, ErrorCode); 3] = [
    (TableFeaturesFailed::BAD_TYPE, BadProperty::BAD_TYPE),
    (TableFeaturesFailed::BAD_LEN, BadProperty::BAD_LEN),
    (TableFeaturesFailed::BAD_ARGUMENT, BadProperty::BAD_VALUE),
];

/// An error as versions before 1.5 say it: to them, what a table may be configured to is a value
/// like others.
pub(crate) fn before_1_5(error: ErrorCode) -> ErrorCode {
    if error == TableFeaturesFailed::BAD_CAP {
        BadProperty::BAD_VALUE
    } else {
        error
    }
}

/// An error as 1.3 says it.
pub(crate) fn older(error: ErrorCode) -> ErrorCode {
    let error = before_1_5(error);
    let row = PROPERTY_ERRORS.iter().find(|row| row.1 == error);
    row.map_or(error, |row| row.0)
}
