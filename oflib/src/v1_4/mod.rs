//! OpenFlow 1.4 on the wire, where it differs from 1.3: properties, importance, bundles, monitors
//! and events. Spec: OpenFlow 1.4.1.

mod bundle;
mod error;
mod event;
mod flow;
mod port;
mod properties;
mod table;

pub(crate) use bundle::inner_message;
pub(crate) use error::older;
pub(crate) use properties::{
    EXPERIMENTER, Properties, properties, read_properties, with_properties,
};

/// The forms that came with 1.4.
pub(crate) enum V1_4 {}
