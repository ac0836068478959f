//! MULTIPART: long requests and replies. One row each gives number, request body and reply body.

pub mod flow;
pub mod group;
pub mod meter;
pub mod port;
pub mod switch;
pub mod table_features;

use alloc::{format, vec::Vec};
use core::fmt;

pub use flow::{AggregateStats, FlowStats, FlowStatsRequest};
pub use group::{GroupDesc, GroupFeatures, GroupRequest, GroupStats};
pub use meter::{MeterConfig, MeterFeatures, MeterRequest, MeterStats};
pub use port::{PortRequest, PortStats, QueueStats, QueueStatsRequest};
pub use switch::{Desc, TableStats};
pub use table_features::{TableFeatures, TableProperty};

use crate::error::{BadRequest, DecodeError};
use crate::ext::{ExtKind, ExtValue};
use crate::message::{Empty, PortDesc};
use crate::wire::{Reader, Text, Wire, Writer};

/// The flag that says that more parts follow.
const MORE: u16 = 1;

/// The body of an experimenter multipart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtBody(pub ExtValue);

impl Wire for ExtBody {
    fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        ExtValue::decode(ExtKind::Multipart, r).map(Self)
    }
    fn encode(&self, w: &mut Writer<'_>) {
        self.0.encode(w);
    }
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A body that may come in several parts.
trait Parts: Sized {
    /// Appends a further part. Errors: `false` if this body has one part only.
    fn join(&mut self, _: Self) -> bool {
        false
    }
}
impl<T> Parts for Vec<T> {
    fn join(&mut self, mut other: Self) -> bool {
        self.append(&mut other);
        true
    }
}
impl Parts for Empty {}
impl Parts for ExtBody {}
impl Parts for Desc {}
impl Parts for FlowStatsRequest {}
impl Parts for AggregateStats {}
impl Parts for PortRequest {}
impl Parts for QueueStatsRequest {}
impl Parts for GroupRequest {}
impl Parts for GroupFeatures {}
impl Parts for MeterRequest {}
impl Parts for MeterFeatures {}

macro_rules! bodies {
    (
        $(#[$m:meta])* $N:ident
        $(#[$bm:meta])* $Body:ident: $($number:literal $V:ident($T:ty) $name:literal;)*
    ) => {
        $(#[$bm])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $Body {
            $(#[doc = concat!("`OFPMP_", $name, "`.")] $V($T),)*
        }
        $(#[$m])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $N {
            /// Whether more parts follow.
            pub more: bool,
            /// What this part holds.
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
            pub fn join(&mut self, other: Self) -> bool {
                match (self, other) {
                    $((Self::$V(a), Self::$V(b)) => a.join(b),)*
                    _ => false,
                }
            }
        }
        impl Wire for $N {
            /// Errors: BAD_REQUEST/BAD_MULTIPART for an unknown type, or the body's.
            fn decode(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                let at_type = r.at("multipart type").clone();
                let ty: u16 = r.get()?;
                let more = r.at("multipart flags").get::<u16>()? & MORE != 0;
                r.take(4)?;
                let body = match ty {
                    $($number => $Body::$V(r.get()?),)*
                    _ => return Err(at_type.err(BadRequest::BAD_MULTIPART)),
                };
                Ok(Self { more, body })
            }
            fn encode(&self, w: &mut Writer<'_>) {
                w.put(&self.body.number()).put(&u16::from(self.more)).pad(4);
                match &self.body { $($Body::$V(body) => { w.put(body); })* }
            }
            fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let body = match &self.body { $($Body::$V(body) => format!("{}", Text(body)),)* };
                let more = if self.more { " (more)" } else { "" };
                let blank = if body.is_empty() { "" } else { " " };
                write!(f, "OFPMP_{}{more}{blank}{body}", self.body.name())
            }
        }
        impl From<$Body> for $N {
            fn from(body: $Body) -> Self {
                Self { more: false, body }
            }
        }
    };
}
macro_rules! multiparts {
    ($($number:literal $V:ident $name:literal $Request:ty => $Reply:ty;)*) => {
        /// Type number and OpenFlow name (without `OFPMP_`) of every multipart.
        pub const MULTIPARTS: &[(u16, &str)] = &[$(($number, $name)),*];
        bodies! {
            /// A multipart request, or a part of one. Spec: OpenFlow 1.3.5 section 7.3.5.
            MultipartRequest
            /// What is asked.
            RequestBody: $($number $V($Request) $name;)*
        }
        bodies! {
            /// A multipart reply, or a part of one. Spec: OpenFlow 1.3.5 section 7.3.5.
            MultipartReply
            /// What is answered.
            ReplyBody: $($number $V($Reply) $name;)*
        }
    };
}

multiparts! {
    0 Desc "DESC" Empty => Desc;
    1 Flow "FLOW" FlowStatsRequest => Vec<FlowStats>;
    2 Aggregate "AGGREGATE" FlowStatsRequest => AggregateStats;
    3 Table "TABLE" Empty => Vec<TableStats>;
    4 PortStats "PORT_STATS" PortRequest => Vec<PortStats>;
    5 Queue "QUEUE" QueueStatsRequest => Vec<QueueStats>;
    6 Group "GROUP" GroupRequest => Vec<GroupStats>;
    7 GroupDesc "GROUP_DESC" Empty => Vec<GroupDesc>;
    8 GroupFeatures "GROUP_FEATURES" Empty => GroupFeatures;
    9 Meter "METER" MeterRequest => Vec<MeterStats>;
    10 MeterConfig "METER_CONFIG" MeterRequest => Vec<MeterConfig>;
    11 MeterFeatures "METER_FEATURES" Empty => MeterFeatures;
    12 TableFeatures "TABLE_FEATURES" Vec<TableFeatures> => Vec<TableFeatures>;
    13 PortDesc "PORT_DESC" Empty => Vec<PortDesc>;
    0xffff Experimenter "EXPERIMENTER" ExtBody => ExtBody;
}
