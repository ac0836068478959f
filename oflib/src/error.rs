//! Every OpenFlow error type and code, one row each, and the decoder's error.

#[cfg(feature = "names")]
mod rows;

#[cfg(feature = "names")]
use crate::version::{Span, span};
#[cfg(feature = "names")]
pub use rows::ErrorRow;

/// An OpenFlow error: its type and code as in an ERROR message, and for type `0xffff` the
/// experimenter.
///
/// Shape: 16 bits of type and 16 of code, big-endian; of an experimenter, its number in 32 bits
/// follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct ErrorCode {
    /// The high-level type (`OFPET_*`).
    pub ty: u16,
    /// The code within the type; the experimenter's type of error if it is one's own.
    pub code: u16,
    /// The experimenter whose error it is, 0 for the specification's.
    pub experimenter: u32,
}

/// One struct for each type, with a constant for each code, and one table of all rows.
///
/// A code without a span of its own has that of its type. Numbers are those of the last version
/// that has the code; `v1_0` to `v1_5` have what other versions number differently.
macro_rules! errors {
    (@span $Type:ident [$($span:tt)*]) => {
        span!($($span)*)
    };
    (@span $Type:ident) => { $Type::VERSIONS };
    ($(
        $ty:literal $Type:ident $name:literal [$($all:tt)*] {
            $($code:literal $CODE:ident $meaning:literal $([$($span:tt)*])?)*
        }
    )*) => {
        $(
            #[doc = concat!("The codes of `OFPET_", $name, "` (", stringify!($ty), ").")]
            pub struct $Type;
            impl $Type {
                #[cfg(feature = "names")]
                const VERSIONS: Span = span!($($all)*);
                $(
                    #[doc = concat!("Code ", stringify!($code), ": ", $meaning, ".")]
                    pub const $CODE: ErrorCode = ErrorCode::new($ty, $code);
                )*
            }
        )*
        /// All rows, in the order of type and code. Spec: OpenFlow 1.3.5 section 7.4.4.
        #[cfg(feature = "names")]
        pub const ERRORS: &[ErrorRow] = &[$($(ErrorRow {
            error: $Type::$CODE,
            type_name: $name,
            code_name: stringify!($CODE),
            meaning: $meaning,
            versions: errors!(@span $Type $([$($span)*])?),
        },)*)*];
    };
}

errors! {
    // Its data is a text, where that of other errors is the beginning of the message at fault.
    0 HelloFailed "HELLO_FAILED" [] {
        0 INCOMPATIBLE "no common version"
        1 EPERM "permission denied"
    }
    1 BadRequest "BAD_REQUEST" [] {
        0 BAD_VERSION "version not negotiated on this connection"
        1 BAD_TYPE "unknown message type"
        2 BAD_MULTIPART "unknown multipart type"
        3 BAD_EXPERIMENTER "unknown experimenter"
        4 BAD_EXP_TYPE "unknown experimenter type"
        5 EPERM "permission denied"
        6 BAD_LEN "wrong length for the type"
        // A buffer is used at most once. Choice: an expired buffer counts as used.
        7 BUFFER_EMPTY "the buffer has been used already"
        8 BUFFER_UNKNOWN "no such buffer"
        9 BAD_TABLE_ID "no such table" [since V1_1]
        10 IS_SLAVE "the controller is a slave" [since V1_2]
        11 BAD_PORT "no such port" [since V1_2]
        12 BAD_PACKET "the packet is invalid" [since V1_2]
        // Too long for the memory that the switch has for parts that wait for others.
        13 MULTIPART_BUFFER_OVERFLOW "the multipart request is too long" [since V1_3]
        14 MULTIPART_REQUEST_TIMEOUT "the multipart request was not finished" [since V1_4]
        15 MULTIPART_REPLY_TIMEOUT "the multipart reply takes too long" [since V1_4]
        16 MULTIPART_BAD_SCHED "the time of the bundle's commit is not supported" [since V1_5]
        17 PIPELINE_FIELDS_ONLY "the match has fields of headers" [since V1_5]
        18 UNKNOWN "unspecified error" [since V1_5]
    }
    2 BadAction "BAD_ACTION" [] {
        0 BAD_TYPE "unknown action type"
        1 BAD_LEN "wrong length in the actions"
        2 BAD_EXPERIMENTER "unknown experimenter"
        3 BAD_EXP_TYPE "unknown action of this experimenter"
        4 BAD_OUT_PORT "no such output port"
        5 BAD_ARGUMENT "bad action argument"
        6 EPERM "permission denied"
        7 TOO_MANY "too many actions"
        8 BAD_QUEUE "no such output queue"
        9 BAD_OUT_GROUP "no such group" [since V1_1]
        // The match does not imply the prerequisite of a field that an action sets.
        10 MATCH_INCONSISTENT "the action does not fit the match" [since V1_1]
        11 UNSUPPORTED_ORDER "unsupported order of actions" [since V1_1]
        12 BAD_TAG "the action uses an unsupported tag" [since V1_1]
        13 BAD_SET_TYPE "unsupported field in set-field" [since V1_2]
        14 BAD_SET_LEN "wrong length in set-field" [since V1_2]
        15 BAD_SET_ARGUMENT "bad value in set-field" [since V1_2]
        16 BAD_SET_MASK "bad mask in set-field" [since V1_5]
        17 BAD_METER "no such meter" [since V1_5]
    }
    3 BadInstruction "BAD_INSTRUCTION" [since V1_1] {
        0 UNKNOWN_INST "unknown instruction"
        // The version has the instruction, unlike one that is UNKNOWN_INST.
        1 UNSUP_INST "the table does not support the instruction"
        2 BAD_TABLE_ID "invalid table"
        3 UNSUP_METADATA "metadata value not supported"
        4 UNSUP_METADATA_MASK "metadata mask not supported"
        5 BAD_EXPERIMENTER "unknown experimenter"
        6 BAD_EXP_TYPE "unknown instruction of this experimenter" [since V1_2]
        7 BAD_LEN "wrong length in the instructions" [since V1_2]
        8 EPERM "permission denied" [since V1_2]
        9 DUP_INST "an instruction stands twice" [since V1_4]
    }
    4 BadMatch "BAD_MATCH" [since V1_1] {
        0 BAD_TYPE "unsupported match type"
        1 BAD_LEN "wrong length in the match"
        2 BAD_TAG "unsupported tag or encapsulation"
        3 BAD_DL_ADDR_MASK "unsupported datalink address mask"
        4 BAD_NW_ADDR_MASK "unsupported network address mask"
        5 BAD_WILDCARDS "the value has bits outside its mask"
        6 BAD_FIELD "unsupported match field"
        7 BAD_VALUE "unsupported value in a match field"
        8 BAD_MASK "the field takes no mask" [since V1_2]
        9 BAD_PREREQ "a prerequisite is missing" [since V1_2]
        10 DUP_FIELD "a field stands twice" [since V1_2]
        11 EPERM "permission denied" [since V1_2]
    }
    5 FlowModFailed "FLOW_MOD_FAILED" [] {
        0 UNKNOWN "unspecified error"
        1 TABLE_FULL "the table is full"
        2 BAD_TABLE_ID "no such table"
        // Only with the flag CHECK_OVERLAP, and for entries of the same priority.
        3 OVERLAP "the entry overlaps another"
        4 EPERM "permission denied"
        5 BAD_TIMEOUT "unsupported timeout"
        6 BAD_COMMAND "unknown command"
        7 BAD_FLAGS "unknown flags" [since V1_2]
        8 CANT_SYNC "the tables cannot be synchronised" [since V1_4]
        9 BAD_PRIORITY "unsupported priority" [since V1_4]
        10 IS_SYNC "the entry is synchronised, and only read" [since V1_5]
    }
    6 GroupModFailed "GROUP_MOD_FAILED" [since V1_1] {
        0 GROUP_EXISTS "the group exists already"
        1 INVALID_GROUP "the group is invalid"
        2 WEIGHT_UNSUPPORTED "unequal load sharing is not supported"
        3 OUT_OF_GROUPS "the group table is full"
        4 OUT_OF_BUCKETS "too many buckets"
        5 CHAINING_UNSUPPORTED "groups that forward to groups are not supported"
        6 WATCH_UNSUPPORTED "this group cannot watch"
        7 LOOP "the group would cause a loop"
        8 UNKNOWN_GROUP "no such group"
        // A group to be deleted, while another forwards to it.
        9 CHAINED_GROUP "another group forwards to this one" [since V1_2]
        10 BAD_TYPE "unknown group type" [since V1_2]
        11 BAD_COMMAND "unknown command" [since V1_2]
        12 BAD_BUCKET "error in a bucket" [since V1_2]
        13 BAD_WATCH "error in a watch port or group" [since V1_2]
        14 EPERM "permission denied" [since V1_2]
        15 UNKNOWN_BUCKET "no such bucket" [since V1_5]
        16 BUCKET_EXISTS "the bucket exists already" [since V1_5]
    }
    7 PortModFailed "PORT_MOD_FAILED" [] {
        0 BAD_PORT "no such port"
        1 BAD_HW_ADDR "the hardware address is not the port's"
        2 BAD_CONFIG "unsupported port configuration"
        3 BAD_ADVERTISE "unsupported advertise"
        4 EPERM "permission denied" [since V1_2]
    }
    8 TableModFailed "TABLE_MOD_FAILED" [since V1_1] {
        0 BAD_TABLE "no such table"
        1 BAD_CONFIG "unsupported table configuration"
        2 EPERM "permission denied" [since V1_2]
    }
    9 QueueOpFailed "QUEUE_OP_FAILED" [] {
        0 BAD_PORT "no such port"
        1 BAD_QUEUE "no such queue"
        2 EPERM "permission denied"
    }
    10 SwitchConfigFailed "SWITCH_CONFIG_FAILED" [since V1_1] {
        0 BAD_FLAGS "unknown flags"
        1 BAD_LEN "unsupported length"
        2 EPERM "permission denied" [since V1_2]
    }
    11 RoleRequestFailed "ROLE_REQUEST_FAILED" [since V1_2] {
        0 STALE "the generation id is stale"
        1 UNSUP "role change not supported"
        2 BAD_ROLE "no such role"
        3 ID_UNSUP "the short id cannot be changed" [since V1_5]
        4 ID_IN_USE "the short id is another controller's" [since V1_5]
    }
    12 MeterModFailed "METER_MOD_FAILED" [since V1_3] {
        0 UNKNOWN "unspecified error"
        1 METER_EXISTS "the meter exists already"
        2 INVALID_METER "the meter is invalid"
        3 UNKNOWN_METER "no such meter"
        4 BAD_COMMAND "unknown command"
        5 BAD_FLAGS "unsupported flags"
        6 BAD_RATE "unsupported rate"
        7 BAD_BURST "unsupported burst size"
        8 BAD_BAND "unsupported band"
        9 BAD_BAND_VALUE "unsupported band value"
        10 OUT_OF_METERS "the meter table is full"
        11 OUT_OF_BANDS "too many bands"
    }
    // What properties had of their own in 1.3 is BAD_PROPERTY since 1.4.
    13 TableFeaturesFailed "TABLE_FEATURES_FAILED" [since V1_3] {
        0 BAD_TABLE "no such table"
        1 BAD_METADATA "bad metadata mask"
        2 BAD_TYPE "unknown property type" [since V1_3 until V1_3]
        3 BAD_LEN "wrong length in the properties" [since V1_3 until V1_3]
        4 BAD_ARGUMENT "unsupported property value" [since V1_3 until V1_3]
        5 EPERM "permission denied"
        6 BAD_CAP "unsupported capabilities" [since V1_5]
        7 BAD_MAX_ENT "unsupported number of entries" [since V1_5]
        8 BAD_FEATURES "unsupported features" [since V1_5]
        9 BAD_COMMAND "unknown command" [since V1_5]
        10 TOO_MANY "too many tables" [since V1_5]
    }
    // These are errors of each structure that ends with properties.
    14 BadProperty "BAD_PROPERTY" [since V1_4] {
        0 BAD_TYPE "unknown property type"
        1 BAD_LEN "wrong length of a property"
        2 BAD_VALUE "unsupported property value"
        3 TOO_MANY "too many properties"
        4 DUP_TYPE "a property type stands twice"
        5 BAD_EXPERIMENTER "unknown experimenter"
        6 BAD_EXP_TYPE "unknown property of this experimenter"
        7 BAD_EXP_VALUE "unsupported value of this experimenter's property"
        8 EPERM "permission denied"
    }
    15 AsyncConfigFailed "ASYNC_CONFIG_FAILED" [since V1_4] {
        0 INVALID "a mask is invalid"
        1 UNSUPPORTED "unsupported configuration"
        2 EPERM "permission denied"
    }
    // These and those of bundles are the ONF's experimenter errors in 1.3.
    16 FlowMonitorFailed "FLOW_MONITOR_FAILED" [since V1_3] {
        0 UNKNOWN "unspecified error"
        1 MONITOR_EXISTS "the monitor exists already"
        2 INVALID_MONITOR "the monitor is invalid"
        3 UNKNOWN_MONITOR "no such monitor"
        4 BAD_COMMAND "unknown command"
        5 BAD_FLAGS "unsupported flags"
        6 BAD_TABLE_ID "no such table"
        7 BAD_OUT "error in the output port or group"
    }
    17 BundleFailed "BUNDLE_FAILED" [since V1_3] {
        0 UNKNOWN "unspecified error"
        1 EPERM "permission denied"
        2 BAD_ID "no such bundle"
        3 BUNDLE_EXIST "the bundle exists already"
        4 BUNDLE_CLOSED "the bundle is closed"
        5 OUT_OF_BUNDLES "too many bundles"
        6 BAD_TYPE "unknown control type"
        7 BAD_FLAGS "unsupported or other flags"
        8 MSG_BAD_LEN "wrong length of the message"
        9 MSG_BAD_XID "the message has another transaction id"
        10 MSG_UNSUP "the message cannot be in a bundle"
        11 MSG_CONFLICT "the message does not go together with others"
        12 MSG_TOO_MANY "too many messages"
        13 MSG_FAILED "a message of the bundle failed"
        14 TIMEOUT "the bundle takes too long"
        15 BUNDLE_IN_PROGRESS "another bundle locks the resource"
        16 SCHED_NOT_SUPPORTED "the switch has no clock"
        17 SCHED_FUTURE "too far in the future"
        18 SCHED_PAST "too far in the past"
    }
}

/// The type of an ERROR message that an experimenter defines.
pub const EXPERIMENTER_ERROR_TYPE: u16 = 0xffff;

impl ErrorCode {
    /// The error of this type and code, which is no experimenter's.
    pub const fn new(ty: u16, code: u16) -> Self {
        Self {
            ty,
            code,
            experimenter: 0,
        }
    }

    /// An error of an experimenter's own. Spec: OpenFlow 1.3.5 section 7.4.4.
    pub const fn of_experimenter(experimenter: u32, exp_type: u16) -> Self {
        Self {
            ty: EXPERIMENTER_ERROR_TYPE,
            code: exp_type,
            experimenter,
        }
    }
}

/// The reason for which some bytes are not a message: the OpenFlow error, where, and in which
/// field.
///
/// It is the first fault in reading order: a message may have others after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The error to send back.
    pub error: ErrorCode,
    /// Bytes from the start of the message.
    ///
    /// It points at the beginning of the field at fault, or at the place where bytes are missing.
    pub offset: usize,
    /// The field that was being read.
    pub field: &'static str,
}
