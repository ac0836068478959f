//! In the place of `bundles.rs` without the feature `bundles`: no version has them.

use crate::forms::forms;
use crate::message::multipart::{BundleFeatures, BundleFeaturesRequest};
use crate::message::{BundleAdd, BundleControl};

forms! {
    //                    1.0    1.1    1.2    1.3    1.4    1.5
    BundleControl:        -      -      -      -      -      -;
    BundleAdd:            -      -      -      -      -      -;
    BundleFeaturesRequest: -     -      -      -      -      -;
    BundleFeatures:       -      -      -      -      -      -;
}
