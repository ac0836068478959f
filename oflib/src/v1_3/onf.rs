//! What the ONF added to 1.3 as an experimenter, in the words of 1.4: bundles. Spec: ONF extension
//! 230.

use super::V1_3;
use super::session::{read_code, write_code};
use crate::error::{
    BadProperty, BadRequest, BundleFailed, DecodeError, EXPERIMENTER_ERROR_TYPE, ErrorCode,
};
use crate::forms::Form;
use crate::message::{Message, TYPE_OFFSET};
use crate::v1_4;
use crate::wire::{Reader, Writer};

/// The ONF's number as an experimenter.
const ONF: u32 = 0x4f4e_4600;
/// The type of experimenters' messages.
const EXPERIMENTER: u8 = 4;
/// Bytes of experimenter and type.
pub(crate) const HEAD_BYTES: usize = 8;

/// The ONF's types of messages, and the types of the same messages since 1.4.
const MESSAGES: [(u32, u8); 2] = [(2300, 33), (2301, 34)];

/// Errors that since 1.4 have a type of their own: the first of some that follow each other, how
/// many, and the ONF's type of the first.
const ERRORS: [(ErrorCode, u16, u16); 2] = [
    (BundleFailed::UNKNOWN, 16, 2300),
    (BadProperty::TOO_MANY, 6, 4443),
];

/// The type since 1.4 of the message whose body `r` is at, if it is one of the ONF's.
pub(crate) fn newer_type(ty: u8, r: &Reader<'_>) -> Option<u8> {
    let mut body = r.clone();
    if ty != EXPERIMENTER || body.get::<u32>() != Ok(ONF) {
        return None;
    }
    let exp_type: u32 = body.get().ok()?;
    let row = MESSAGES.iter().find(|row| row.0 == exp_type);
    row.map(|row| row.1)
}

/// Reads the body of a message of type `ty`. Errors: as [`Message::decode_body`].
pub(crate) fn decode_body(ty: u8, r: &mut Reader<'_>) -> Result<Message, DecodeError> {
    if MESSAGES.iter().any(|row| row.1 == ty) {
        return Err(DecodeError {
            error: BadRequest::BAD_TYPE,
            offset: TYPE_OFFSET,
            field: "type",
        });
    }
    let Some(newer) = newer_type(ty, r) else {
        return Message::decode_body(ty, r);
    };
    r.take(HEAD_BYTES)?;
    Message::decode_body(newer, r)
}

/// Appends the body of a message; gives the message's type.
pub(crate) fn encode_body(message: &Message, w: &mut Writer<'_>) -> u8 {
    let ty = message.type_number();
    let Some(row) = MESSAGES.iter().find(|row| row.1 == ty) else {
        return message.encode_body(w);
    };
    w.put(&ONF).put(&row.0);
    message.encode_body(w);
    EXPERIMENTER
}

impl Form<V1_3> for ErrorCode {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let error = read_code(r)?;
        let place = |(_, count, onf): &&(Self, u16, u16)| (*onf..onf + count).contains(&error.code);
        let row = ERRORS.iter().find(place);
        Ok(match row {
            Some((first, _, onf)) if error.experimenter == ONF => {
                Self::new(first.ty, first.code + (error.code - onf))
            }
            Some(_) | None => error,
        })
    }
    fn write(&self, w: &mut Writer<'_>) {
        let older = v1_4::older(*self);
        let has = |(first, count, _): &&(Self, u16, u16)| {
            let codes = first.code..first.code + count;
            first.ty == older.ty && codes.contains(&older.code)
        };
        let row = ERRORS.iter().find(has);
        let said = row.map_or(older, |(first, _, onf)| Self {
            ty: EXPERIMENTER_ERROR_TYPE,
            code: onf + (older.code - first.code),
            experimenter: ONF,
        });
        write_code(said, w);
    }
}
