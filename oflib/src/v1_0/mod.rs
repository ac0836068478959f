//! OpenFlow 1.0 on the wire, as messages of the one model: one row for each message.
//!
//! Nothing outside of this folder knows how 1.0 looks. What the model can say and 1.0 cannot is an
//! error with a name when it is written, or, in a list, left out. Spec: OpenFlow 1.0.2.

pub(crate) mod action;
mod error;
mod flow;
mod matching;
mod message;
mod nxm;
mod stats;
pub(crate) mod values;

use crate::error::{BadRequest, DecodeError};
use crate::ext::{ExtKind, ExtValue};
use crate::message::{Message, Role};
use crate::v1_3::monitor;
use crate::wire::{Reader, Writer};

/// The forms of 1.0 that no other version has.
pub(crate) enum V1_0 {}

/// The message type of vendors.
const VENDOR: u8 = 4;
/// The vendor whose messages of roles and flow monitors controllers of 1.0 use, and their subtypes.
const NICIRA: u32 = 0x2320;
const ROLE_REQUEST: u32 = 10;
const ROLE_REPLY: u32 = 11;
/// Nicira's messages about flow monitors: they are the ONF's of 1.3, with numbers that begin here.
const MONITOR_CANCEL: u32 = 21;

macro_rules! messages {
    ($($number:literal $V:ident;)*) => {
        /// Reads the body of a message of type `ty`.
        ///
        /// Errors: BAD_REQUEST/BAD_TYPE, or the body's.
        pub(crate) fn decode_body(ty: u8, r: &mut Reader<'_>) -> Result<Message, DecodeError> {
            Ok(match ty {
                $($number => Message::$V(r.get()?),)*
                VENDOR => vendor(r)?,
                _ => return Err(DecodeError {
                    error: BadRequest::BAD_TYPE,
                    offset: crate::message::TYPE_OFFSET,
                    field: "type",
                }),
            })
        }

        /// Appends the body; gives the message's type.
        pub(crate) fn encode_body(message: &Message, w: &mut Writer<'_>) -> u8 {
            if let Some((exp_type, monitor_id)) = monitor::message_of(message) {
                let subtype = exp_type - monitor::CANCEL + MONITOR_CANCEL;
                w.put(&NICIRA).put(&subtype);
                if let Some(id) = monitor_id {
                    w.put(&id);
                }
                return VENDOR;
            }
            match message {
                $(Message::$V(body) => {
                    w.put(body);
                    $number
                })*
                Message::Experimenter(value) => {
                    value.encode(w);
                    VENDOR
                }
                Message::RoleRequest(role) => role_message(ROLE_REQUEST, role, w),
                Message::RoleReply(role) => role_message(ROLE_REPLY, role, w),
                // Whatever came after 1.0 needs no arm here.
                newer => {
                    w.unsupported(newer.name());
                    newer.type_number()
                }
            }
        }
    };
}

messages! {
    0 Hello;
    1 Error;
    2 EchoRequest;
    3 EchoReply;
    5 FeaturesRequest;
    6 FeaturesReply;
    7 GetConfigRequest;
    8 GetConfigReply;
    9 SetConfig;
    10 PacketIn;
    11 FlowRemoved;
    12 PortStatus;
    13 PacketOut;
    14 FlowMod;
    15 PortMod;
    16 MultipartRequest;
    17 MultipartReply;
    18 BarrierRequest;
    19 BarrierReply;
    20 QueueGetConfigRequest;
    21 QueueGetConfigReply;
}

/// The type that a message of this type has in the model: 1.1 put GROUP_MOD and TABLE_MOD in
/// between.
#[cfg(feature = "connections")]
pub(crate) fn model_type(ty: u8) -> Option<u8> {
    match ty {
        0..=14 => Some(ty),
        15 => Some(16),
        16..=21 => Some(ty + 2),
        _ => None,
    }
}

/// Reads a vendor's message: a role of Nicira's, or an extension's.
fn vendor(r: &mut Reader<'_>) -> Result<Message, DecodeError> {
    let mut body = r.clone();
    if body.at("vendor").get::<u32>()? != NICIRA {
        return ExtValue::decode(ExtKind::Message, r).map(Message::Experimenter);
    }
    let at_subtype = body.at("subtype").clone();
    let subtype: u32 = body.get()?;
    let message = match subtype {
        ROLE_REQUEST => Some(Message::RoleRequest(body.get()?)),
        ROLE_REPLY => Some(Message::RoleReply(body.get()?)),
        MONITOR_CANCEL.. => monitor_message(subtype, &mut body)?,
        _ => None,
    };
    let Some(message) = message else {
        let value = ExtValue::decode(ExtKind::Message, r).map(Message::Experimenter);
        return value.map_err(|_| at_subtype.err(BadRequest::BAD_EXP_TYPE));
    };
    *r = body;
    Ok(message)
}

/// Reads a message about flow monitors, if the subtype is one's.
fn monitor_message(subtype: u32, r: &mut Reader<'_>) -> Result<Option<Message>, DecodeError> {
    match (subtype - MONITOR_CANCEL).checked_add(monitor::CANCEL) {
        Some(exp_type) => monitor::read_message(exp_type, r),
        None => Ok(None),
    }
}

fn role_message(subtype: u32, role: &Role, w: &mut Writer<'_>) -> u8 {
    w.put(&NICIRA).put(&subtype).put(role);
    VENDOR
}
