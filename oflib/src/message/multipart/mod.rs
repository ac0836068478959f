//! MULTIPART: long requests and replies. One row each gives number, request body and reply body.

pub mod bundle_features;
pub mod flow;
pub mod flow_monitor;
pub mod group;
pub mod meter;
#[cfg(feature = "connections")]
mod parts;
pub mod port;
pub mod switch;
pub mod table_desc;
pub mod table_features;

use alloc::vec::Vec;

pub use bundle_features::{BundleFeatures, BundleFeaturesRequest};
pub use flow::{AggregateStats, FlowCounters, FlowStats, FlowStatsRequest};
pub use flow_monitor::{FlowMonitorRequest, FlowUpdate};
pub use group::{GroupDesc, GroupDescRequest, GroupFeatures, GroupRequest, GroupStats};
pub use meter::{MeterConfig, MeterFeatures, MeterRequest, MeterStats};
#[cfg(feature = "connections")]
use parts::Parts;
pub use port::{PortDescRequest, PortRequest, PortStats, QueueDesc, QueueStats, QueueStatsRequest};
pub use switch::{Desc, TableStats};
pub use table_desc::{TableDesc, TableStatus};
pub use table_features::{TableFeatures, TableProperty};

use crate::error::{BadRequest, DecodeError};
use crate::ext::{ExtKind, ExtValue};
use crate::message::{ControllerStatus, Empty, PortDesc};
use crate::version::{Span, span};
use crate::wire::{Reader, Wire, Writer};

/// The flag that says that more parts follow.
///
/// `OFPMPF_REQ_MORE` and `OFPMPF_REPLY_MORE`, the only flags there are.
pub(crate) const MORE: u16 = 1;

/// The body of an experimenter multipart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ExtBody(pub ExtValue);

impl Wire for ExtBody {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        ExtValue::decode(ExtKind::Multipart, r).map(Self)
    }
    fn encode(&self, w: &mut Writer<'_>) {
        self.0.encode(w);
    }
}

/// The enum of the bodies of one direction, and the message with it. Requests and replies differ in
/// their types alone, so that one row of `multiparts!` serves both.
macro_rules! body_enum {
    (
        $(#[$m:meta])* $N:ident
        $(#[$bm:meta])* $Body:ident leaves_out $leaves_out:literal:
        $($number:literal $V:ident($T:ty) $name:literal [$($span:tt)*];)*
    ) => {
        $(#[$bm])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $Body {
            $(#[doc = concat!("`OFPMP_", $name, "`.")] $V($T),)*
        }
        $(#[$m])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $N {
            /// True if more parts follow.
            pub more: bool,
            /// The content of this part.
            pub body: $Body,
        }
        impl $Body {
            /// The multipart type on the wire.
            pub fn number(&self) -> u16 {
                match self { $(Self::$V(_) => $number,)* }
            }
            /// The OpenFlow name, without `OFPMP_`.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$V(_) => $name,)* }
            }
            /// Appends a further part. Errors: `false` if the types differ or one part is all.
            #[cfg(feature = "connections")]
            pub fn join(&mut self, other: Self) -> bool {
                match (self, other) {
                    $((Self::$V(a), Self::$V(b)) => a.join(b),)*
                    _ => false,
                }
            }
        }
        impl $Body {
            /// Reads a body of type `ty`. Errors: BAD_REQUEST/BAD_MULTIPART at `at_type` for one
            /// that the version does not have, or the body's.
            pub(crate) fn decode_body(
                ty: u16,
                at_type: &Reader<'_>,
                r: &mut Reader<'_>,
            ) -> Result<Self, DecodeError> {
                match ty {
                    $($number if span!($($span)*).has(r.version()) => r.get().map(Self::$V),)*
                    _ => Err(at_type.err(BadRequest::BAD_MULTIPART)),
                }
            }
            /// Appends the body. The list of a reply goes on without what the version cannot say.
            pub(crate) fn encode_body(&self, w: &mut Writer<'_>) {
                w.leaves_out = $leaves_out;
                match self {
                    $(Self::$V(body) if span!($($span)*).has(w.version()) => { w.put(body); })*
                    newer => w.unsupported(newer.name()),
                }
            }
        }
        #[cfg(feature = "text")]
        $crate::text::multipart_text! { $N $Body $($V)* }
        impl From<$Body> for $N {
            fn from(body: $Body) -> Self {
                Self { more: false, body }
            }
        }
    };
}
/// Number, variant, name and versions of each multipart, and the types of its two bodies.
macro_rules! multiparts {
    ($($number:literal $V:ident $name:literal [$($span:tt)*] $Request:ty => $Reply:ty;)*) => {
        /// Type number and OpenFlow name (without `OFPMP_`) of every multipart, and its versions.
        pub const MULTIPARTS: &[(u16, &str, Span)] = &[
            $(($number, $name, span!($($span)*))),*
        ];
        body_enum! {
            /// A multipart request, or a part of one. Spec: OpenFlow 1.3.5 section 7.3.5.
            MultipartRequest
            /// The request.
            RequestBody leaves_out false: $($number $V($Request) $name [$($span)*];)*
        }
        body_enum! {
            /// A multipart reply, or a part of one. Spec: OpenFlow 1.3.5 section 7.3.5.
            MultipartReply
            /// The reply.
            ReplyBody leaves_out true: $($number $V($Reply) $name [$($span)*];)*
        }
    };
}

multiparts! {
    0 Desc "DESC" [] Empty => Desc;
    1 Flow "FLOW" [] FlowStatsRequest => Vec<FlowStats>;
    2 Aggregate "AGGREGATE" [] FlowStatsRequest => AggregateStats;
    3 Table "TABLE" [] Empty => Vec<TableStats>;
    4 PortStats "PORT_STATS" [] PortRequest => Vec<PortStats>;
    5 Queue "QUEUE" [] QueueStatsRequest => Vec<QueueStats>;
    6 Group "GROUP" [since V1_1] GroupRequest => Vec<GroupStats>;
    7 GroupDesc "GROUP_DESC" [since V1_1] GroupDescRequest => Vec<GroupDesc>;
    8 GroupFeatures "GROUP_FEATURES" [since V1_2] Empty => GroupFeatures;
    9 Meter "METER" [since V1_3] MeterRequest => Vec<MeterStats>;
    10 MeterConfig "METER_CONFIG" [since V1_3] MeterRequest => Vec<MeterConfig>;
    11 MeterFeatures "METER_FEATURES" [since V1_3] Empty => MeterFeatures;
    12 TableFeatures "TABLE_FEATURES" [since V1_3] Vec<TableFeatures> => Vec<TableFeatures>;
    13 PortDesc "PORT_DESC" [since V1_3] PortDescRequest => Vec<PortDesc>;
    14 TableDesc "TABLE_DESC" [since V1_4] Empty => Vec<TableDesc>;
    15 QueueDesc "QUEUE_DESC" [since V1_4] QueueStatsRequest => Vec<QueueDesc>;
    16 FlowMonitor "FLOW_MONITOR" [since V1_3] Vec<FlowMonitorRequest> => Vec<FlowUpdate>;
    17 FlowCounters "FLOW_STATS" [since V1_5] FlowStatsRequest => Vec<FlowCounters>;
    18 ControllerStatus "CONTROLLER_STATUS" [since V1_5] Empty => Vec<ControllerStatus>;
    19 BundleFeatures "BUNDLE_FEATURES" [since V1_3] BundleFeaturesRequest => BundleFeatures;
    0xffff Experimenter "EXPERIMENTER" [] ExtBody => ExtBody;
}
