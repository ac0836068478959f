//! Properties of experimenters, which many structures may have since OpenFlow 1.4. Spec: OpenFlow
//! 1.4.1 section 7.2.

use crate::model::model;
use crate::wire::Bytes;

model! {
    /// A property that an experimenter defines.
    pub struct ExperimenterProperty {
        /// The experimenter.
        pub experimenter: u32 as hex,
        /// Its type of property.
        pub exp_type: u32,
        /// The content.
        pub data: Bytes,
    }
}
