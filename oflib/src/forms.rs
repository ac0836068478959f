//! The form of each structure in each version: one row each.
//!
//! The columns are the versions; `-` stands where a version has no such structure. A version that
//! writes a structure as its neighbour does has the neighbour's form in its column. A version whose
//! feature is off has no structures.

#[cfg(feature = "bundles")]
mod bundles;
#[cfg(not(feature = "bundles"))]
#[path = "forms/no_bundles.rs"]
mod bundles;
#[cfg(feature = "monitors")]
mod monitors;
#[cfg(not(feature = "monitors"))]
#[path = "forms/no_monitors.rs"]
mod monitors;

use crate::action::{Action, Output};
use crate::error::{DecodeError, ErrorCode};
use crate::instruction::Instruction;
use crate::matching::Match;
use crate::message::async_config::AsyncConfig;
use crate::message::config::{ConfigFlags, SwitchConfig};
use crate::message::controller_status::{
    ChannelStatus, ControllerStatus, ControllerStatusReason, Uri,
};
use crate::message::features::{Capabilities, Features};
use crate::message::flow_mod::{FlowMod, FlowModCommand, FlowModFlags};
use crate::message::flow_removed::{FlowRemoved, FlowRemovedReason};
use crate::message::group_mod::{Bucket, GroupMod, GroupModCommand, GroupType};
use crate::message::meter_mod::{Band, MeterFlags, MeterMod, MeterModCommand};
use crate::message::multipart::flow::{
    AggregateStats, FlowCounters, FlowEntry, FlowStats, FlowStatsReason, FlowStatsRequest,
};
use crate::message::multipart::group::{
    BucketCounter, GroupCapabilities, GroupCounters, GroupDesc, GroupDescRequest, GroupFeatures,
    GroupRequest, GroupStats,
};
use crate::message::multipart::meter::{
    MeterConfig, MeterFeatureFlags, MeterFeatures, MeterRequest, MeterStats,
};
use crate::message::multipart::port::{
    OpticalStats, OpticalStatsFlags, PortDescRequest, PortRequest, PortStats, QueueDesc,
    QueueStats, QueueStatsRequest,
};
use crate::message::multipart::switch::{Desc, TableStats};
use crate::message::multipart::table_desc::{TableDesc, TableStatus, TableStatusReason};
use crate::message::multipart::table_features::{
    TableFeatureFlags, TableFeatureSet, TableFeatures, TableFeaturesCommand,
};
use crate::message::multipart::{MultipartReply, MultipartRequest};
use crate::message::packet_in::{PacketIn, PacketInReason};
use crate::message::port::{
    OpticalPort, OpticalPortFeatures, OpticalPortMod, PortConfig, PortDesc, PortFeatures, PortMod,
    PortState, PortStatus, PortStatusReason,
};
use crate::message::queue::{PacketQueue, QueueConfig, QueueConfigRequest, QueueProperty};
use crate::message::request_forward::RequestForward;
use crate::message::role::{ControllerRole, Role, RoleStatus, RoleStatusReason};
use crate::message::stats::{StatTime, Stats};
use crate::message::table_mod::{EvictionFlags, TableConfig, Vacancy};
use crate::message::{ErrorMsg, Hello, Message, PacketOut, TableMod};
use crate::stat_trigger::{StatTrigger, StatTriggerFlags};
use crate::types::{BucketId, BufferId, GroupId, MaxLen, MeterId, PortNo, QueueId, TableId};
#[cfg(feature = "v1_0")]
use crate::v1_0::{self, V1_0};
#[cfg(feature = "v1_1")]
use crate::v1_1::V1_1;
#[cfg(feature = "v1_2")]
use crate::v1_2::V1_2;
use crate::v1_3::{V1_3, onf};
#[cfg(feature = "v1_4")]
use crate::v1_4::V1_4;
#[cfg(feature = "v1_5")]
use crate::v1_5::V1_5;
use crate::version::Version;
use crate::wire::{Reader, Writer};

/// One wire form of a structure, named by the version that brought it.
///
/// `V` is a type without values, which only selects the implementation. A structure has as many
/// forms as there are different ways to write it, and its row in `forms!` says which of them each
/// version uses.
pub(crate) trait Form<V>: Sized {
    /// Reads the value. Errors: as [`crate::wire::Wire::decode`].
    ///
    /// A form with a list at its end reads up to the end of the window: the caller has opened a
    /// window that ends with the structure.
    #[cfg(feature = "connections")]
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError>;
    /// Reads the value. Errors: as [`crate::wire::Wire::decode`]; BAD_REQUEST/BAD_TYPE for what
    /// only switches send, which only the ends of connections read.
    #[cfg(not(feature = "connections"))]
    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Err(r.err(crate::error::BadRequest::BAD_TYPE))
    }
    /// Appends it, or notes what cannot be said.
    ///
    /// A form that notes something unsupported goes on and appends its bytes. The codec, or the
    /// list around it, drops these, so that a form needs no way out in the middle.
    fn write(&self, w: &mut Writer<'_>);
}

/// Reads the body of a message of type `ty`. Errors: BAD_REQUEST/BAD_TYPE, or the body's.
///
/// 1.0 numbers its messages differently from 15 on, and 1.3 has those of bundles and flow monitors
/// as experimenter messages of the ONF. In all other versions the types are those of the rows in
/// [`crate::message`].
pub(crate) fn read_body(ty: u8, r: &mut Reader<'_>) -> Result<Message, DecodeError> {
    #[cfg(feature = "v1_0")]
    if r.version() == Version::V1_0 {
        return v1_0::decode_body(ty, r);
    }
    if r.version() == Version::V1_3 {
        onf::decode_body(ty, r)
    } else {
        Message::decode_body(ty, r)
    }
}

/// Appends the body of a message; gives the message's type.
///
/// The codec writes the header last, with this type: it may differ from
/// [`Message::type_number`], which is that of the model.
pub(crate) fn write_body(message: &Message, w: &mut Writer<'_>) -> u8 {
    // What describes a port goes without a flag that the version lacks. A request must not; but a
    // mask of all flags means all that the version has.
    if let Message::PortMod(port) = message {
        let asked = if port.mask == PortConfig::ALL {
            port.config
        } else {
            port.mask
        };
        if asked.has(PortConfig::NO_FLOOD) && w.version() > Version::V1_0 {
            w.unsupported("NO_FLOOD");
        }
    }
    if let Message::SetConfig(config) = message {
        let asks = config.flags.has(ConfigFlags::INVALID_TTL_TO_CONTROLLER);
        if asks && !w.version().config_asks_for_invalid_ttl() {
            w.unsupported("INVALID_TTL_TO_CONTROLLER");
        }
    }
    #[cfg(feature = "v1_0")]
    if w.version() == Version::V1_0 {
        return v1_0::encode_body(message, w);
    }
    if w.version() == Version::V1_3 {
        onf::encode_body(message, w)
    } else {
        message.encode_body(w)
    }
}

/// The form of a number whose values mean the same in every version.
///
/// The macros `named!` and `flags!` give each number this form, so that only a number whose values
/// differ between versions needs code of its own.
pub(crate) enum Plain {}

/// Implements `Wire` for each row, with the only match on the version that a structure needs.
///
/// A structure that the version does not have is refused with BAD_REQUEST/BAD_TYPE when it is
/// read, and noted as unsupported when it is written.
macro_rules! forms {
    (@read - $T:ident $r:ident) => { Err($r.err($crate::error::BadRequest::BAD_TYPE)) };
    (@read $V:ident $T:ident $r:ident) => { <$T as $crate::forms::Form<$V>>::read($r) };
    (@write - $this:ident $T:ident $w:ident) => { $w.unsupported(stringify!($T)) };
    (@write $V:ident $this:ident $T:ident $w:ident) => {
        <$T as $crate::forms::Form<$V>>::write($this, $w)
    };
    ($($T:ident: $v1_0:tt $v1_1:tt $v1_2:tt $v1_3:tt $v1_4:tt $v1_5:tt;)*) => { $(
        impl $crate::wire::Wire for $T {
            #[allow(unreachable_patterns, clippy::wildcard_enum_match_arm)]
            fn decode(
                r: &mut $crate::wire::Reader<'_>,
            ) -> Result<Self, $crate::error::DecodeError> {
                use $crate::version::Version;
                match r.version() {
                    #[cfg(feature = "v1_0")]
                    Version::V1_0 => $crate::forms::forms!(@read $v1_0 $T r),
                    #[cfg(feature = "v1_1")]
                    Version::V1_1 => $crate::forms::forms!(@read $v1_1 $T r),
                    #[cfg(feature = "v1_2")]
                    Version::V1_2 => $crate::forms::forms!(@read $v1_2 $T r),
                    Version::V1_3 => $crate::forms::forms!(@read $v1_3 $T r),
                    #[cfg(feature = "v1_4")]
                    Version::V1_4 => $crate::forms::forms!(@read $v1_4 $T r),
                    #[cfg(feature = "v1_5")]
                    Version::V1_5 => $crate::forms::forms!(@read $v1_5 $T r),
                    _ => $crate::forms::forms!(@read - $T r),
                }
            }
            #[allow(unreachable_patterns, clippy::wildcard_enum_match_arm)]
            fn encode(&self, w: &mut $crate::wire::Writer<'_>) {
                use $crate::version::Version;
                match w.version() {
                    #[cfg(feature = "v1_0")]
                    Version::V1_0 => $crate::forms::forms!(@write $v1_0 self $T w),
                    #[cfg(feature = "v1_1")]
                    Version::V1_1 => $crate::forms::forms!(@write $v1_1 self $T w),
                    #[cfg(feature = "v1_2")]
                    Version::V1_2 => $crate::forms::forms!(@write $v1_2 self $T w),
                    Version::V1_3 => $crate::forms::forms!(@write $v1_3 self $T w),
                    #[cfg(feature = "v1_4")]
                    Version::V1_4 => $crate::forms::forms!(@write $v1_4 self $T w),
                    #[cfg(feature = "v1_5")]
                    Version::V1_5 => $crate::forms::forms!(@write $v1_5 self $T w),
                    _ => $crate::forms::forms!(@write - self $T w),
                }
            }
        }
    )* };
}
pub(crate) use forms;

// Numbers with named values and sets of flags come first, then structures of messages, then those
// of multiparts. The rows of bundles and of flow monitors are in files of their own, as these are
// features.
forms! {
    //                    1.0    1.1    1.2    1.3    1.4    1.5
    BucketId:             -      -      -      -      -      Plain;
    BufferId:             Plain  Plain  Plain  Plain  Plain  Plain;
    ControllerRole:       -      -      Plain  Plain  Plain  Plain;
    FlowModCommand:       V1_0   Plain  Plain  Plain  Plain  Plain;
    FlowRemovedReason:    V1_0   V1_3   V1_3   V1_3   Plain  Plain;
    GroupId:              -      Plain  Plain  Plain  Plain  Plain;
    GroupModCommand:      -      V1_3   V1_3   V1_3   V1_3   Plain;
    GroupType:            -      Plain  Plain  Plain  Plain  Plain;
    MaxLen:               Plain  Plain  Plain  Plain  Plain  Plain;
    MeterId:              -      -      -      Plain  Plain  Plain;
    MeterModCommand:      -      -      -      Plain  Plain  Plain;
    PacketInReason:       V1_0   V1_0   V1_3   V1_3   Plain  Plain;
    PortNo:               V1_0   Plain  Plain  Plain  Plain  Plain;
    PortStatusReason:     Plain  Plain  Plain  Plain  Plain  Plain;
    QueueId:              Plain  Plain  Plain  Plain  Plain  Plain;
    TableId:              Plain  Plain  Plain  Plain  Plain  Plain;
    RoleStatusReason:     -      -      -      -      Plain  Plain;
    TableStatusReason:    -      -      -      -      Plain  Plain;
    ChannelStatus:        -      -      -      -      -      Plain;
    ControllerStatusReason:-      -      -      -      -      Plain;
    FlowStatsReason:      -      -      -      -      -      Plain;
    TableFeaturesCommand:  -      -      -      -      -      Plain;

    Capabilities:         V1_0   V1_1   V1_3   V1_3   V1_3   V1_5;
    ConfigFlags:          V1_3   V1_2   V1_2   V1_3   V1_3   V1_3;
    FlowModFlags:         -      V1_1   V1_2   V1_3   V1_3   V1_3;
    GroupCapabilities:    -      -      Plain  Plain  Plain  Plain;
    MeterFlags:           -      -      -      Plain  Plain  Plain;
    PortConfig:           V1_0   V1_3   V1_3   V1_3   V1_3   V1_3;
    PortFeatures:         V1_0   Plain  Plain  Plain  Plain  Plain;
    PortState:            V1_0   Plain  Plain  Plain  Plain  Plain;
    EvictionFlags:        -      -      -      -      Plain  Plain;
    OpticalPortFeatures:  -      -      -      -      Plain  Plain;
    OpticalStatsFlags:    -      -      -      -      Plain  Plain;
    TableConfig:          -      -      -      -      Plain  Plain;
    MeterFeatureFlags:    -      -      -      -      -      Plain;
    StatTriggerFlags:     -      -      -      -      -      Plain;
    TableFeatureFlags:    -      -      -      -      -      Plain;

    Hello:                V1_0   V1_0   V1_3   V1_3   V1_3   V1_3;
    ErrorMsg:             V1_0   V1_3   V1_3   V1_3   V1_3   V1_3;
    ErrorCode:            V1_0   V1_1   V1_2   V1_3   V1_4   V1_5;
    Features:             V1_0   V1_2   V1_2   V1_3   V1_3   V1_3;
    SwitchConfig:         V1_3   V1_3   V1_3   V1_3   V1_3   V1_3;
    PacketIn:             V1_0   V1_1   V1_2   V1_3   V1_3   V1_3;
    PacketOut:            V1_0   V1_1   V1_3   V1_3   V1_3   V1_5;
    FlowRemoved:          V1_0   V1_1   V1_3   V1_3   V1_3   V1_5;
    PortDesc:             V1_0   V1_3   V1_3   V1_3   V1_4   V1_4;
    PortStatus:           V1_3   V1_3   V1_3   V1_3   V1_3   V1_3;
    PortMod:              V1_0   V1_3   V1_3   V1_3   V1_4   V1_4;
    TableMod:             -      V1_2   V1_2   V1_3   V1_4   V1_4;
    FlowMod:              V1_0   V1_1   V1_3   V1_3   V1_4   V1_4;
    Match:                V1_0   V1_1   V1_3   V1_3   V1_3   V1_3;
    Action:               -      V1_1   V1_3   V1_3   V1_3   V1_3;
    Output:               -      V1_3   V1_3   V1_3   V1_3   V1_3;
    Instruction:          -      V1_3   V1_3   V1_3   V1_3   V1_3;
    GroupMod:             -      V1_3   V1_3   V1_3   V1_3   V1_5;
    Bucket:               -      V1_1   V1_3   V1_3   V1_3   -;
    MeterMod:             -      -      -      V1_3   V1_3   V1_3;
    Band:                 -      -      -      V1_3   V1_3   V1_3;
    Role:                 V1_0   -      V1_3   V1_3   V1_3   V1_5;
    AsyncConfig:          -      -      -      V1_3   V1_4   V1_4;
    QueueConfigRequest:   V1_0   V1_1   V1_3   V1_3   -      -;
    QueueConfig:          V1_0   V1_1   V1_3   V1_3   -      -;
    PacketQueue:          V1_0   V1_0   V1_3   V1_3   -      -;
    QueueProperty:        V1_0   V1_0   V1_3   V1_3   V1_4   V1_4;
    RoleStatus:           -      -      -      -      V1_4   V1_4;
    TableStatus:          -      -      -      -      V1_4   V1_4;
    RequestForward:       -      -      -      -      V1_4   V1_4;
    OpticalPort:          -      -      -      -      V1_4   V1_4;
    OpticalPortMod:       -      -      -      -      V1_4   V1_4;
    Vacancy:              -      -      -      -      V1_4   V1_4;
    ControllerStatus:     -      -      -      -      -      V1_5;
    Stats:                -      -      -      -      -      V1_5;
    StatTrigger:          -      -      -      -      -      V1_5;
    StatTime:             -      -      -      -      -      V1_5;
    Uri:                  -      -      -      -      -      V1_5;

    MultipartRequest:     V1_0   V1_3   V1_3   V1_3   V1_3   V1_3;
    MultipartReply:       V1_0   V1_3   V1_3   V1_3   V1_3   V1_3;
    Desc:                 V1_3   V1_3   V1_3   V1_3   V1_3   V1_3;
    FlowStatsRequest:     V1_0   V1_3   V1_3   V1_3   V1_3   V1_3;
    FlowEntry:            -      V1_1   V1_2   V1_3   V1_4   V1_5;
    FlowStats:            V1_0   V1_3   V1_3   V1_3   V1_3   V1_5;
    AggregateStats:       V1_3   V1_3   V1_3   V1_3   V1_3   V1_5;
    TableStats:           V1_0   V1_1   V1_2   V1_3   V1_3   V1_3;
    PortRequest:          V1_0   V1_3   V1_3   V1_3   V1_3   V1_3;
    PortDescRequest:      -      -      -      V1_3   V1_3   V1_5;
    PortStats:            V1_0   V1_2   V1_2   V1_3   V1_4   V1_4;
    QueueStatsRequest:    V1_0   V1_3   V1_3   V1_3   V1_3   V1_3;
    QueueStats:           V1_0   V1_2   V1_2   V1_3   V1_4   V1_4;
    GroupRequest:         -      V1_3   V1_3   V1_3   V1_3   V1_3;
    GroupCounters:        -      V1_2   V1_2   V1_3   V1_3   V1_3;
    GroupStats:           -      V1_3   V1_3   V1_3   V1_3   V1_3;
    BucketCounter:        -      V1_3   V1_3   V1_3   V1_3   V1_3;
    GroupDesc:            -      V1_3   V1_3   V1_3   V1_3   V1_5;
    GroupDescRequest:     -      V1_3   V1_3   V1_3   V1_3   V1_5;
    GroupFeatures:        -      -      V1_3   V1_3   V1_3   V1_3;
    MeterRequest:         -      -      -      V1_3   V1_3   V1_3;
    MeterStats:           -      -      -      V1_3   V1_3   V1_3;
    MeterConfig:          -      -      -      V1_3   V1_3   V1_3;
    MeterFeatures:        -      -      -      V1_3   V1_3   V1_5;
    TableFeatureSet:      -      -      -      V1_3   V1_3   V1_5;
    TableFeatures:        -      -      -      V1_3   V1_3   V1_3;
    TableDesc:            -      -      -      -      V1_4   V1_4;
    QueueDesc:            -      -      -      -      V1_4   V1_4;
    OpticalStats:         -      -      -      -      V1_4   V1_4;
    FlowCounters:         -      -      -      -      -      V1_5;
}

#[cfg(test)]
mod tests {
    use alloc::{boxed::Box, sync::Arc, vec::Vec};

    use super::*;
    use crate::Codec;
    use crate::message::SwitchConfig;
    use crate::message::bundle::{BundleAdd, BundleFlags};

    #[test]
    fn a_request_says_all_its_flags_or_is_not_written() {
        let flood = Message::PortMod(PortMod {
            mask: PortConfig::NO_FLOOD,
            ..PortMod::default()
        });
        let all_of = |config| {
            Message::PortMod(PortMod {
                config,
                mask: PortConfig::ALL,
                ..PortMod::default()
            })
        };
        let (all, all_and_flood) = (all_of(PortConfig(0)), all_of(PortConfig::NO_FLOOD));
        let in_bundle = Message::BundleAdd(BundleAdd {
            bundle_id: 1,
            flags: BundleFlags(0),
            xid: 1,
            message: Box::new(flood.clone()),
            experimenters: Vec::new(),
        });
        let invalid_ttl = Message::SetConfig(SwitchConfig {
            flags: ConfigFlags::INVALID_TTL_TO_CONTROLLER,
            ..SwitchConfig::default()
        });
        let mut described = PortStatus::default();
        described.desc.config = PortConfig::NO_FLOOD;
        let described = Message::PortStatus(described);
        for version in Version::SPOKEN {
            let codec = Codec::new(*version, Arc::default());
            let is_said = |message| codec.encode(1, message, &mut Vec::new()).is_ok();
            let has_invalid_ttl = version.config_asks_for_invalid_ttl();
            for flood in [&flood, &all_and_flood] {
                assert_eq!(is_said(flood), *version == Version::V1_0, "{version:?}");
            }
            assert!(is_said(&all), "{version:?}");
            assert_eq!(is_said(&invalid_ttl), has_invalid_ttl, "{version:?}");
            assert!(!is_said(&in_bundle), "{version:?}");
            assert!(is_said(&described), "{version:?}");
        }
    }
}
