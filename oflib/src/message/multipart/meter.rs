//! Multiparts about meters. Spec: OpenFlow 1.3.5 sections 7.3.5.12 to 7.3.5.14.

use alloc::vec::Vec;

use super::group::BucketCounter;
use crate::message::meter_mod::{Band, MeterFlags};
use crate::model::{flags, model};
use crate::types::MeterId;

model! {
    /// The meter that is asked for; ALL is all.
    pub struct MeterRequest {
        /// The meter.
        pub meter_id: MeterId,
    }
}

/// The statistics of a meter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MeterStats {
    /// The meter.
    pub meter_id: MeterId,
    /// Flows that use it.
    pub flow_count: u32,
    /// Packets and bytes that entered it.
    pub input: BucketCounter,
    /// The whole seconds for which it has existed.
    pub duration_sec: u32,
    /// The nanoseconds beyond these seconds.
    pub duration_nsec: u32,
    /// Packets and bytes in each band.
    pub bands: Vec<BucketCounter>,
}

/// A meter as it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MeterConfig {
    /// Units and options.
    pub flags: MeterFlags,
    /// The meter.
    pub meter_id: MeterId,
    /// Its bands.
    pub bands: Vec<Band>,
}

flags! {
    /// The features of meters: where they may be used (`OFPMFF_*`).
    pub struct MeterFeatureFlags(u32) {
        /// In the action set.
        ACTION_SET = 0x1 "action_set",
        /// Anywhere in a list of actions, and not only at its beginning.
        ANY_POSITION = 0x2 "any_position",
        /// Several in a list of actions.
        MULTI_LIST = 0x4 "multi_list",
    }
}

model! {
    /// The features of meters.
    #[derive(Copy)]
    pub struct MeterFeatures {
        /// The most meters.
        pub max_meter: u32,
        /// A bit for each band type.
        pub band_types: u32 as hex,
        /// Units and options.
        pub capabilities: u32 as hex,
        /// The most bands of a meter.
        pub max_bands: u8,
        /// The most colours.
        pub max_color: u8,
    } in_some_versions {
        /// The places where they may be used (since OpenFlow 1.5).
        pub features: MeterFeatureFlags,
    }
}
