//! OpenFlow 1.1 on the wire, where it differs from 1.2: the match of fixed length, an action for
//! each field that is set, and smaller things. Spec: OpenFlow 1.1.0.

mod action;
mod error;
mod flow;
mod matching;
mod message;
mod table;

/// The forms of 1.1 that no other version has.
pub(crate) enum V1_1 {}
