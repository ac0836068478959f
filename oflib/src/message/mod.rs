//! Every message: one row each names its type, its wire type number and its body.

pub mod async_config;
pub mod bundle;
pub mod config;
pub mod controller_status;
pub mod error;
pub mod features;
pub mod flow_mod;
pub mod flow_removed;
pub mod group_mod;
pub mod hello;
pub mod meter_mod;
pub mod multipart;
pub mod packet_in;
pub mod packet_out;
pub mod port;
pub mod property;
pub mod queue;
pub mod request_forward;
pub mod role;
pub mod stats;
pub mod table_mod;

pub use async_config::AsyncConfig;
pub use bundle::{BundleAdd, BundleControl};
pub use config::SwitchConfig;
pub use controller_status::ControllerStatus;
pub use error::ErrorMsg;
pub use features::Features;
pub use flow_mod::{FlowMod, FlowModCommand, FlowModFlags};
pub use flow_removed::{FlowRemoved, FlowRemovedReason};
pub use group_mod::{Bucket, GroupMod};
pub use hello::Hello;
pub use meter_mod::{Band, MeterMod};
pub use multipart::{MultipartReply, MultipartRequest, TableStatus};
pub use packet_in::{PacketIn, PacketInReason};
pub use packet_out::PacketOut;
pub use port::{PortDesc, PortMod, PortStatus, PortStatusReason};
pub use queue::{QueueConfig, QueueConfigRequest};
pub use request_forward::RequestForward;
pub use role::{ControllerRole, Role, RoleStatus};
pub use stats::Stats;
pub use table_mod::TableMod;

use crate::error::{BadRequest, DecodeError};
use crate::ext::{ExtKind, ExtValue};
use crate::version::{Span, span};
use crate::wire::{Bytes, Reader, Wire, Writer};

/// The body of a message that has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Empty;

impl Wire for Empty {
    fn decode(_: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self)
    }
    fn encode(&self, _: &mut Writer<'_>) {}
}

impl Wire for ExtValue {
    /// An experimenter message. Errors: BAD_REQUEST with BAD_EXPERIMENTER, BAD_EXP_TYPE or BAD_LEN.
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::decode(ExtKind::Message, r)
    }
    fn encode(&self, w: &mut Writer<'_>) {
        self.encode(w);
    }
}

/// The offset of the message's type in the header.
pub(crate) const TYPE_OFFSET: usize = 1;

macro_rules! messages {
    ($($number:literal $V:ident($T:ty) $name:literal [$($span:tt)*];)*) => {
        /// An OpenFlow message without its header. Spec: OpenFlow 1.3.5 section 7.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Message {
            $(#[doc = concat!("`OFPT_", $name, "`.")] $V($T),)*
        }
        /// Type number since 1.1 and OpenFlow name (without `OFPT_`) of every message, and its
        /// versions.
        pub const MESSAGES: &[(u8, &str, Span)] = &[$(($number, $name, span!($($span)*))),*];
        impl Message {
            /// The type number on the wire.
            pub fn type_number(&self) -> u8 {
                match self { $(Self::$V(_) => $number,)* }
            }
            /// The OpenFlow name, without `OFPT_`.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$V(_) => $name,)* }
            }
            /// Reads the body of a message of type `ty`. Errors: BAD_REQUEST/BAD_TYPE, or the
            /// body's.
            pub(crate) fn decode_body(ty: u8, r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                match ty {
                    $($number if span!($($span)*).has(r.version()) => r.get().map(Self::$V),)*
                    _ => Err(DecodeError {
                        error: BadRequest::BAD_TYPE,
                        offset: TYPE_OFFSET,
                        field: "type",
                    }),
                }
            }
            /// Appends the body; gives the message's type.
            pub(crate) fn encode_body(&self, w: &mut Writer<'_>) -> u8 {
                match self {
                    $(Self::$V(body) if span!($($span)*).has(w.version()) => { w.put(body); })*
                    newer => w.unsupported(newer.name()),
                }
                self.type_number()
            }
        }
        #[cfg(feature = "text")]
        $crate::text::messages_text! { $($V)* }
    };
}

messages! {
    0 Hello(Hello) "HELLO" [];
    1 Error(ErrorMsg) "ERROR" [];
    2 EchoRequest(Bytes) "ECHO_REQUEST" [];
    3 EchoReply(Bytes) "ECHO_REPLY" [];
    4 Experimenter(ExtValue) "EXPERIMENTER" [];
    5 FeaturesRequest(Empty) "FEATURES_REQUEST" [];
    6 FeaturesReply(Features) "FEATURES_REPLY" [];
    7 GetConfigRequest(Empty) "GET_CONFIG_REQUEST" [];
    8 GetConfigReply(SwitchConfig) "GET_CONFIG_REPLY" [];
    9 SetConfig(SwitchConfig) "SET_CONFIG" [];
    10 PacketIn(PacketIn) "PACKET_IN" [];
    11 FlowRemoved(FlowRemoved) "FLOW_REMOVED" [];
    12 PortStatus(PortStatus) "PORT_STATUS" [];
    13 PacketOut(PacketOut) "PACKET_OUT" [];
    14 FlowMod(FlowMod) "FLOW_MOD" [];
    15 GroupMod(GroupMod) "GROUP_MOD" [since V1_1];
    16 PortMod(PortMod) "PORT_MOD" [];
    17 TableMod(TableMod) "TABLE_MOD" [since V1_1];
    18 MultipartRequest(MultipartRequest) "MULTIPART_REQUEST" [];
    19 MultipartReply(MultipartReply) "MULTIPART_REPLY" [];
    20 BarrierRequest(Empty) "BARRIER_REQUEST" [];
    21 BarrierReply(Empty) "BARRIER_REPLY" [];
    22 QueueGetConfigRequest(QueueConfigRequest) "QUEUE_GET_CONFIG_REQUEST" [until V1_3];
    23 QueueGetConfigReply(QueueConfig) "QUEUE_GET_CONFIG_REPLY" [until V1_3];
    24 RoleRequest(Role) "ROLE_REQUEST" [since V1_2];
    25 RoleReply(Role) "ROLE_REPLY" [since V1_2];
    26 GetAsyncRequest(Empty) "GET_ASYNC_REQUEST" [since V1_3];
    27 GetAsyncReply(AsyncConfig) "GET_ASYNC_REPLY" [since V1_3];
    28 SetAsync(AsyncConfig) "SET_ASYNC" [since V1_3];
    29 MeterMod(MeterMod) "METER_MOD" [since V1_3];
    30 RoleStatus(RoleStatus) "ROLE_STATUS" [since V1_4];
    31 TableStatus(TableStatus) "TABLE_STATUS" [since V1_4];
    32 RequestForward(RequestForward) "REQUESTFORWARD" [since V1_4];
    33 BundleControl(BundleControl) "BUNDLE_CONTROL" [since V1_3];
    34 BundleAdd(BundleAdd) "BUNDLE_ADD_MESSAGE" [since V1_3];
    35 ControllerStatus(ControllerStatus) "CONTROLLER_STATUS" [since V1_5];
}

/// The types of messages that only switches send: replies and asynchronous messages.
#[cfg(feature = "connections")]
pub(crate) const FROM_SWITCH: [u8; 14] = [6, 8, 10, 11, 12, 19, 21, 23, 25, 27, 30, 31, 32, 35];

impl Message {
    /// Returns true if a message of this type is read whatever version its header names: HELLO and
    /// ERROR, which pass before a version is agreed.
    pub fn is_version_free(ty: u8) -> bool {
        ty <= 1
    }
}
