//! The rows of bundles, and of the properties that came with them.

use crate::forms::{Plain, forms};
use crate::message::bundle::{BundleAdd, BundleControl, BundleControlType, BundleFlags, Timestamp};
use crate::message::multipart::bundle_features::{
    BundleFeatureFlags, BundleFeatures, BundleFeaturesRequest, TimeCapability,
};
use crate::message::property::ExperimenterProperty;
use crate::v1_3::V1_3;

forms! {
    //                    1.0    1.1    1.2    1.3    1.4    1.5
    BundleControlType:    -      -      -      Plain  Plain  Plain;

    BundleFlags:          -      -      -      Plain  Plain  Plain;
    BundleFeatureFlags:   -      -      -      Plain  Plain  Plain;

    BundleControl:        -      -      -      V1_3   V1_3   V1_3;
    BundleAdd:            -      -      -      V1_3   V1_3   V1_3;
    Timestamp:            -      -      -      V1_3   V1_3   V1_3;
    ExperimenterProperty: -      -      -      V1_3   V1_3   V1_3;

    BundleFeaturesRequest: -     -      -      V1_3   V1_3   V1_3;
    BundleFeatures:       -      -      -      V1_3   V1_3   V1_3;
    TimeCapability:       -      -      -      V1_3   V1_3   V1_3;
}
