//! The ONF's additions to 1.3 as an experimenter, in the words of 1.4, and the features of bundles
//! that it added to 1.4, too. Spec: ONF extensions 230, 187 and 340.
//!
//! Bundles and flow monitors are features. Without them, the ONF's messages about them are those of
//! an experimenter that is not known.

use super::V1_3;
use super::error::older;
#[cfg(feature = "monitors")]
use super::monitor;
use super::session::{read_code, write_code};
use crate::error::{
    BadAction, BadProperty, BadRequest, BundleFailed, DecodeError, EXPERIMENTER_ERROR_TYPE,
    ErrorCode, FlowMonitorFailed,
};
use crate::forms::Form;
use crate::message::multipart::table_features::TypeId;
use crate::message::{Message, TYPE_OFFSET};
use crate::version::Version;
use crate::wire::{Reader, Writer};

/// The ONF's number as an experimenter.
const ONF: u32 = 0x4f4e_4600;
/// The type of experimenters' messages.
const EXPERIMENTER: u8 = 4;
/// Bytes of experimenter and type.
///
/// An action's head has these, too, but its type takes 16 bits, with 16 of padding.
pub(crate) const HEAD_BYTES: usize = 8;

/// The ONF's types of messages, and the types of the same messages since 1.4.
///
/// They are BUNDLE_CONTROL and BUNDLE_ADD_MESSAGE.
const MESSAGES: [(u32, u8); 2] = [(2300, 33), (2301, BUNDLE_ADD)];
/// The type of BUNDLE_ADD_MESSAGE.
pub(crate) const BUNDLE_ADD: u8 = 34;

/// The type of experimenters' multiparts.
const EXPERIMENTER_MULTIPART: u16 = 0xffff;
/// The ONF's types of multiparts, the types of the same multiparts in later versions, the last
/// version that has them from the ONF, and whether they are compiled. Choice: the number of the
/// extension's features of bundles is formed as those of its other extensions are.
///
/// They are FLOW_MONITOR and BUNDLE_FEATURES.
const MULTIPARTS: [(u32, u16, Version, bool); 2] = [
    (1870, 16, Version::V1_3, cfg!(feature = "monitors")),
    (3400, 19, Version::V1_4, cfg!(feature = "bundles")),
];

/// The type of experimenters' actions.
const EXPERIMENTER_ACTION: u16 = 0xffff;
/// The ONF's types of actions, and the types of the same actions since 1.5.
///
/// It is COPY_FIELD.
const ACTIONS: [(u16, u16); 1] = [(3200, 28)];

/// Errors that since 1.4 have a type of their own: the first of some that follow each other, how
/// many, and the ONF's type of the first. Choice: extension 187 names no errors, so those of flow
/// monitors count from its number as other extensions' do.
const ERRORS: [(ErrorCode, u16, u16); 4] = [
    (FlowMonitorFailed::UNKNOWN, 8, 1870),
    (BundleFailed::UNKNOWN, 19, 2300),
    (BadAction::BAD_SET_MASK, 1, 4250),
    (BadProperty::TOO_MANY, 6, 4443),
];

/// The type since 1.4 of the message whose body `r` is at, if it is one of the ONF's.
///
/// `r` stays where it is: a message of another experimenter is read from its beginning.
pub(crate) fn newer_type(ty: u8, r: &Reader<'_>) -> Option<u8> {
    let mut body = r.clone();
    let is_onf = ty == EXPERIMENTER && body.get::<u32>() == Ok(ONF);
    if !is_onf || !cfg!(feature = "bundles") {
        return None;
    }
    let exp_type: u32 = body.get().ok()?;
    let row = MESSAGES.iter().find(|row| row.0 == exp_type);
    row.map(|row| row.1)
}

/// Reads the body of a message of type `ty`. Errors: as [`Message::decode_body`].
///
/// Only 1.3 comes here. An experimenter message of the ONF that no row has is left to the
/// catalogue, in which an extension may have it.
pub(crate) fn decode_body(ty: u8, r: &mut Reader<'_>) -> Result<Message, DecodeError> {
    // The model has these types in 1.3, but only as the ONF's: bare, they are unknown to it.
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
    #[cfg(feature = "monitors")]
    if let Some(message) = monitor_message(ty, r)? {
        return Ok(message);
    }
    Message::decode_body(ty, r)
}

/// Reads a message of the ONF's about monitors, if it is one. Errors: BAD_REQUEST/BAD_LEN.
///
/// `r` stays where it is if it is none.
#[cfg(feature = "monitors")]
fn monitor_message(ty: u8, r: &mut Reader<'_>) -> Result<Option<Message>, DecodeError> {
    let mut body = r.clone();
    if ty != EXPERIMENTER || body.get::<u32>() != Ok(ONF) {
        return Ok(None);
    }
    let Ok(exp_type) = body.get() else {
        return Ok(None);
    };
    let message = monitor::read_message(exp_type, &mut body)?;
    if message.is_some() {
        *r = body;
    }
    Ok(message)
}

/// The type since 1.4 of a multipart of type `ty` whose body `r` is at; skips the ONF's head.
///
/// Errors: BAD_REQUEST/BAD_MULTIPART at `at_type` for a type that it has from the ONF alone.
pub(super) fn multipart_type(
    ty: u16,
    at_type: &Reader<'_>,
    r: &mut Reader<'_>,
) -> Result<u16, DecodeError> {
    let version = r.version();
    let mut rows = MULTIPARTS.iter().filter(|row| has_from_onf(version, row.2));
    if rows.clone().any(|row| row.1 == ty) {
        return Err(at_type.err(BadRequest::BAD_MULTIPART));
    }
    let mut body = r.clone();
    if ty != EXPERIMENTER_MULTIPART || body.get::<u32>() != Ok(ONF) {
        return Ok(ty);
    }
    let Ok(exp_type) = body.get::<u32>() else {
        return Ok(ty);
    };
    let Some(row) = rows.find(|row| row.0 == exp_type && row.3) else {
        return Ok(ty);
    };
    r.take(HEAD_BYTES)?;
    Ok(row.1)
}

/// Returns true if a version has from the ONF what `last` is the last one to have so.
///
/// The ONF published its extensions for 1.3; versions before it have none of them.
fn has_from_onf(version: Version, last: Version) -> bool {
    (Version::V1_3..=last).contains(&version)
}

/// Makes the head of a multipart, which begins at `start`, the ONF's if the version has it so.
///
/// The flags and the padding of the head stay as they are.
pub(super) fn write_multipart_head(number: u16, start: usize, w: &mut Writer<'_>) {
    let row = MULTIPARTS.iter().find(|row| row.1 == number);
    if let Some((exp_type, ..)) = row.filter(|row| has_from_onf(w.version(), row.2)) {
        let ty = EXPERIMENTER_MULTIPART.to_be_bytes();
        w.bytes[start..start + ty.len()].copy_from_slice(&ty);
        w.put(&ONF).put(exp_type);
    }
}

/// Returns true if a version has actions of 1.5 from the ONF.
pub(super) fn has_actions(version: Version) -> bool {
    has_from_onf(version, Version::V1_4)
}

/// The way in which table features list actions of the ONF's: not by their types.
///
/// An experimenter has one entry in a list, however many actions it has.
pub(super) const LISTED: TypeId = TypeId {
    ty: EXPERIMENTER_ACTION,
    experimenter: ONF,
};

/// The type since 1.5 of the action that a version lists so, if it has one.
pub(super) fn listed_action(version: Version) -> Option<u16> {
    // A second action of the ONF's would not compile here: the entry could not say which is meant.
    let [(_, newer)] = ACTIONS;
    has_actions(version).then_some(newer)
}

/// The ONF's type of the action that is of type `ty` since 1.5, where a version has it from there.
pub(super) fn action_type(ty: u16, version: Version) -> Option<u16> {
    let row = ACTIONS.iter().find(|row| row.1 == ty);
    row.filter(|_| has_actions(version)).map(|row| row.0)
}

/// The type since 1.5 of an experimenter's action whose body `r` is at, if it is one of the ONF's;
/// skips its head then.
pub(super) fn newer_action(r: &mut Reader<'_>) -> Option<u16> {
    let mut body = r.clone();
    if body.get::<u32>() != Ok(ONF) {
        return None;
    }
    let ty: u16 = body.get().ok()?;
    let row = ACTIONS.iter().find(|row| row.0 == ty)?;
    body.take(2).ok()?;
    *r = body;
    Some(row.1)
}

/// Appends the head of an experimenter's action, and its type.
pub(super) fn write_action_head(ty: u16, w: &mut Writer<'_>) {
    w.put(&ONF).put(&ty).pad(2);
}

/// Appends the body of a message; gives the message's type.
///
/// Returns the type of experimenters for what 1.3 has from the ONF.
pub(crate) fn encode_body(message: &Message, w: &mut Writer<'_>) -> u8 {
    #[cfg(feature = "monitors")]
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

/// An error of the ONF's is the one that later versions have in its place. All others keep type and
/// code, so that an unknown error of a peer is shown as it came.
impl Form<V1_3> for ErrorCode {
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let error = read_code(r)?;
        if error.experimenter != ONF {
            return Ok(error);
        }
        for (first, count, onf) in &ERRORS {
            if (*onf..onf + count).contains(&error.code) {
                return Ok(Self::new(first.ty, first.code + (error.code - onf)));
            }
        }
        Ok(error)
    }
    fn write(&self, w: &mut Writer<'_>) {
        // First what 1.3 calls differently, then what it has from the ONF: the rows name errors of
        // 1.4.
        let older = older(*self);
        for (first, count, onf) in &ERRORS {
            let codes = first.code..first.code + count;
            if first.ty == older.ty && codes.contains(&older.code) {
                let on_wire = Self {
                    ty: EXPERIMENTER_ERROR_TYPE,
                    code: onf + (older.code - first.code),
                    experimenter: ONF,
                };
                return write_code(on_wire, w);
            }
        }
        write_code(older, w);
    }
}

#[cfg(test)]
mod tests {
    use crate::error::BadRequest;
    use crate::{Codec, Version};

    /// BUNDLE_CONTROL that begins bundle 1.
    const CONTROL: [u8; 24] = [
        4, 4, 0, 24, 0, 0, 0, 1, 0x4f, 0x4e, 0x46, 0, 0, 0, 8, 0xfc, 0, 0, 0, 1, 0, 0, 0, 2,
    ];
    /// FLOW_MONITOR without a match.
    const MONITOR: [u8; 40] = [
        4, 18, 0, 40, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0x4f, 0x4e, 0x46, 0, 0, 0, 7, 0x4e,
        0, 0, 0, 9, 0, 0x3f, 0, 0, 0, 0, 0, 3, 1, 0, 0, 0,
    ];

    #[test]
    fn what_is_a_feature_is_of_an_unknown_experimenter_without_it() {
        let codec = Codec::new(Version::V1_3, Default::default());
        for (bytes, is_on) in [
            (&CONTROL[..], cfg!(feature = "bundles")),
            (&MONITOR[..], cfg!(feature = "monitors")),
        ] {
            let error = codec.decode(bytes).err().map(|error| error.error);
            let wanted = (!is_on).then_some(BadRequest::BAD_EXPERIMENTER);
            assert_eq!(error, wanted);
        }
    }
}
