//! OpenFlow 1.5 on the wire, where it differs from 1.4: statistics as lists, buckets with
//! properties, packet-outs with a match, the status of controllers. Spec: OpenFlow 1.5.1.

mod controller;
mod error;
mod flow;
mod group;
mod packet;
mod stats;
mod table;

/// The forms that came with 1.5.
pub(crate) enum V1_5 {}
