//! The errors of OpenFlow 1.0: rows from the model's to its own types and codes.
//! Spec: OpenFlow 1.0.2 section 5.4.4.

use super::V1_0;
use crate::error::{
    BadAction, BadRequest, DecodeError, ErrorCode, FlowModFailed, HelloFailed, PortModFailed,
    QueueOpFailed,
};
use crate::forms::Form;
use crate::message::ErrorMsg;
use crate::wire::{Reader, Writer};

const fn old(ty: u16, code: u16) -> ErrorCode {
    ErrorCode::new(ty, code)
}

/// Up to this code of its type an error has the same numbers in every version.
const SAME: [ErrorCode; 3] = [
    HelloFailed::EPERM,
    BadRequest::BUFFER_UNKNOWN,
    BadAction::BAD_QUEUE,
];

/// The error of the model, and the type and code in 1.0. Of several with the same, the first is
/// the one read.
pub(super) const ROWS: &[(ErrorCode, ErrorCode)] = &[
    (BadRequest::BAD_PACKET, old(1, 6)),
    (BadRequest::MULTIPART_BUFFER_OVERFLOW, old(1, 6)),
    (FlowModFailed::TABLE_FULL, old(3, 0)),
    (FlowModFailed::OVERLAP, old(3, 1)),
    (FlowModFailed::EPERM, old(3, 2)),
    (FlowModFailed::BAD_TIMEOUT, old(3, 3)),
    (FlowModFailed::BAD_COMMAND, old(3, 4)),
    (FlowModFailed::BAD_FLAGS, old(3, 5)),
    (FlowModFailed::BAD_TABLE_ID, old(3, 5)),
    (FlowModFailed::UNKNOWN, old(3, 5)),
    (BadAction::UNSUPPORTED_ORDER, old(3, 5)),
    (BadAction::MATCH_INCONSISTENT, old(3, 5)),
    (PortModFailed::BAD_PORT, old(4, 0)),
    (PortModFailed::BAD_HW_ADDR, old(4, 1)),
    (QueueOpFailed::BAD_PORT, old(5, 0)),
    (QueueOpFailed::BAD_QUEUE, old(5, 1)),
    (QueueOpFailed::EPERM, old(5, 2)),
    (BadAction::BAD_OUT_GROUP, old(2, 5)),
    (BadAction::BAD_TAG, old(2, 5)),
    (BadAction::BAD_SET_TYPE, old(2, 5)),
    (BadAction::BAD_SET_LEN, old(2, 5)),
    (BadAction::BAD_SET_ARGUMENT, old(2, 5)),
];

fn is_same(error: ErrorCode) -> bool {
    let last = SAME.get(usize::from(error.ty));
    last.is_some_and(|last| error.code <= last.code)
}

impl Form<V1_0> for ErrorCode {
    /// An error that 1.0 does not define is read as BAD_REQUEST/EPERM.
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let error = old(r.at("type").get()?, r.at("code").get()?);
        let row = ROWS.iter().find(|row| row.1 == error);
        Ok(match row {
            _ if is_same(error) => error,
            Some(row) => row.0,
            None => BadRequest::EPERM,
        })
    }
    /// An error that 1.0 has no number for is BAD_REQUEST/EPERM: the switch does not do it.
    fn write(&self, w: &mut Writer<'_>) {
        let row = ROWS.iter().find(|row| row.0 == *self);
        let error = match row {
            _ if is_same(*self) => *self,
            Some(row) => row.1,
            None => BadRequest::EPERM,
        };
        w.put(&error.ty).put(&error.code);
    }
}

impl Form<V1_0> for ErrorMsg {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            error: r.get()?,
            data: r.at("data").get()?,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        w.put(&self.error).put(&self.data);
    }
}
