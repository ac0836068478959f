//! OpenFlow 1.4 on the wire, where it differs from 1.3: properties of ports, tables and events,
//! importance, monitors. Spec: OpenFlow 1.4.1.

pub(crate) mod error;
mod event;
mod flow;
mod port;
pub(crate) mod table;

/// The forms that came with 1.4.
pub(crate) enum V1_4 {}
