//! BUNDLE_FEATURES: what bundles can do, and how exactly they are carried out at a time. Spec: ONF
//! extension 340, OpenFlow 1.5.1 section 7.3.5.22.

use alloc::vec::Vec;

use crate::message::bundle::{BundleFlags, Timestamp};
use crate::message::property::ExperimenterProperty;
use crate::model::{flags, model};

flags! {
    /// The features that a request asks for (`OFPBF_*`).
    pub struct BundleFeatureFlags(u32) {
        /// The switch's time.
        TIMESTAMP = 0x1 "timestamp",
        /// Other tolerances: those of the request.
        TIME_SET_SCHED = 0x2 "time_set_sched",
    }
}

model! {
    /// The accuracy and range of commit times.
    pub struct TimeCapability {
        /// The largest distance of a commit's time from the one asked for.
        pub sched_accuracy: Timestamp,
        /// The furthest time in the future for which a commit may be scheduled.
        pub sched_max_future: Timestamp,
        /// The furthest time in the past.
        pub sched_max_past: Timestamp,
        /// The time of who says this.
        pub timestamp: Timestamp,
    }
}

model! {
    /// A request for what bundles can do.
    pub struct BundleFeaturesRequest {
        /// The features that it asks for.
        pub flags: BundleFeatureFlags,
    } in_some_versions {
        /// The requester's time, and the tolerances that it asks for.
        pub time_capability: Option<TimeCapability>,
        /// Properties of experimenters.
        pub experimenters: Vec<ExperimenterProperty>,
    }
}

model! {
    /// The features of bundles.
    pub struct BundleFeatures {
        /// The flags that they may have.
        pub capabilities: BundleFlags,
    } in_some_versions {
        /// The features of bundles about time.
        pub time_capability: Option<TimeCapability>,
        /// Properties of experimenters.
        pub experimenters: Vec<ExperimenterProperty>,
    }
}
