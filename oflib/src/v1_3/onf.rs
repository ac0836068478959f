//! What the ONF added to 1.3 as an experimenter, in the words of 1.4: bundles and flow monitors.
//! Spec: ONF extensions 230 and 187.

use super::session::{read_code, write_code};
use super::{V1_3, monitor};
use crate::error::{
    BadProperty, BadRequest, BundleFailed, DecodeError, EXPERIMENTER_ERROR_TYPE, ErrorCode,
    FlowMonitorFailed,
};
use crate::forms::Form;
use crate::message::{Message, TYPE_OFFSET};
use crate::v1_4;
use crate::version::Version;
use crate::wire::{Reader, Writer};

/// The ONF's number as an experimenter.
const ONF: u32 = 0x4f4e_4600;
/// The type of experimenters' messages.
const EXPERIMENTER: u8 = 4;
/// Bytes of experimenter and type.
pub(crate) const HEAD_BYTES: usize = 8;

/// The ONF's types of messages, and the types of the same messages since 1.4.
const MESSAGES: [(u32, u8); 2] = [(2300, 33), (2301, 34)];

/// The type of experimenters' multiparts.
const EXPERIMENTER_MULTIPART: u16 = 0xffff;
/// The ONF's types of multiparts, and the types of the same multiparts since 1.4.
const MULTIPARTS: [(u32, u16); 1] = [(1870, 16)];

/// Errors that since 1.4 have a type of their own: the first of some that follow each other, how
/// many, and the ONF's type of the first. Choice: extension 187 names no errors, so those of flow
/// monitors count from its number as other extensions' do.
const ERRORS: [(ErrorCode, u16, u16); 3] = [
    (FlowMonitorFailed::UNKNOWN, 8, 1870),
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
    if let Some(newer) = newer_type(ty, r) {
        r.take(HEAD_BYTES)?;
        return Message::decode_body(newer, r);
    }
    let mut body = r.clone();
    if ty == EXPERIMENTER
        && body.get::<u32>() == Ok(ONF)
        && let Ok(exp_type) = body.get()
        && let Some(message) = monitor::read_message(exp_type, &mut body)?
    {
        *r = body;
        return Ok(message);
    }
    Message::decode_body(ty, r)
}

/// The type since 1.4 of a multipart of type `ty` whose body `r` is at; skips the ONF's head.
///
/// Errors: BAD_REQUEST/BAD_MULTIPART at `at_type` for a type that 1.3 has from the ONF alone.
pub(super) fn multipart_type(
    ty: u16,
    at_type: &Reader<'_>,
    r: &mut Reader<'_>,
) -> Result<u16, DecodeError> {
    if r.version() != Version::V1_3 {
        return Ok(ty);
    }
    if MULTIPARTS.iter().any(|row| row.1 == ty) {
        return Err(at_type.err(BadRequest::BAD_MULTIPART));
    }
    let mut body = r.clone();
    if ty != EXPERIMENTER_MULTIPART || body.get::<u32>() != Ok(ONF) {
        return Ok(ty);
    }
    let Ok(exp_type) = body.get::<u32>() else {
        return Ok(ty);
    };
    let Some(row) = MULTIPARTS.iter().find(|row| row.0 == exp_type) else {
        return Ok(ty);
    };
    r.take(HEAD_BYTES)?;
    Ok(row.1)
}

/// Makes the head of a multipart, which begins at `start`, the ONF's if 1.3 has it from there.
pub(super) fn write_multipart_head(number: u16, start: usize, w: &mut Writer<'_>) {
    let row = MULTIPARTS.iter().find(|row| row.1 == number);
    if let Some((exp_type, _)) = row.filter(|_| w.version() == Version::V1_3) {
        let ty = EXPERIMENTER_MULTIPART.to_be_bytes();
        w.bytes[start..start + ty.len()].copy_from_slice(&ty);
        w.put(&ONF).put(exp_type);
    }
}

/// Appends the body of a message; gives the message's type.
pub(crate) fn encode_body(message: &Message, w: &mut Writer<'_>) -> u8 {
    if let Some((exp_type, monitor_id)) = monitor::message_of(message) {
        w.put(&ONF).put(&exp_type);
        if let Some(id) = monitor_id {
            w.put(&id);
        }
        return EXPERIMENTER;
    }
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
