//! The errors of OpenFlow 1.1: those of 1.2 that it has, and what stands for the others.
//! Spec: OpenFlow 1.1.0 section A.4.4.

use super::V1_1;
use crate::error::{
    BadAction, BadInstruction, BadMatch, BadRequest, DecodeError, ErrorCode, FlowModFailed,
    GroupModFailed,
};
use crate::forms::Form;
use crate::v1_3::V1_3;
use crate::version::Version;
use crate::wire::{Reader, Writer};

/// The error of the model, and the nearest that 1.1 has.
const ROWS: &[(ErrorCode, ErrorCode)] = &[
    (BadRequest::BAD_PACKET, BadRequest::BAD_LEN),
    (BadRequest::MULTIPART_BUFFER_OVERFLOW, BadRequest::BAD_LEN),
    (BadAction::BAD_SET_TYPE, BadAction::BAD_ARGUMENT),
    (BadAction::BAD_SET_LEN, BadAction::BAD_ARGUMENT),
    (BadAction::BAD_SET_ARGUMENT, BadAction::BAD_ARGUMENT),
    (
        BadInstruction::BAD_EXP_TYPE,
        BadInstruction::BAD_EXPERIMENTER,
    ),
    (BadInstruction::BAD_LEN, BadRequest::BAD_LEN),
    (BadMatch::BAD_MASK, BadMatch::BAD_WILDCARDS),
    (BadMatch::BAD_PREREQ, BadMatch::BAD_FIELD),
    (BadMatch::DUP_FIELD, BadMatch::BAD_FIELD),
    (FlowModFailed::BAD_FLAGS, FlowModFailed::UNKNOWN),
    (GroupModFailed::CHAINED_GROUP, GroupModFailed::INVALID_GROUP),
    (GroupModFailed::BAD_TYPE, GroupModFailed::INVALID_GROUP),
    (GroupModFailed::BAD_COMMAND, GroupModFailed::INVALID_GROUP),
    (GroupModFailed::BAD_BUCKET, GroupModFailed::INVALID_GROUP),
    (GroupModFailed::BAD_WATCH, GroupModFailed::WATCH_UNSUPPORTED),
];

/// The error that 1.1 says for one of the model: if none is near, BAD_REQUEST/EPERM.
fn known(error: ErrorCode) -> ErrorCode {
    if let Some(row) = ROWS.iter().find(|row| row.0 == error) {
        return row.1;
    }
    let row = error.row();
    if row.is_some_and(|row| row.versions.has(Version::V1_1)) {
        error
    } else {
        BadRequest::EPERM
    }
}

impl Form<V1_1> for ErrorCode {
    /// An error that 1.1 does not define is read as BAD_REQUEST/EPERM.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let ty = r.at("type").get()?;
        Ok(known(Self::new(ty, r.at("code").get()?)))
    }
    fn write(&self, w: &mut Writer<'_>) {
        <Self as Form<V1_3>>::write(&known(*self), w);
    }
}
