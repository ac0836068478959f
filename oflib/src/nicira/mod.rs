//! What Open vSwitch has as Nicira's extensions of OpenFlow, and no version of it has as its own.

pub(crate) mod actions;
pub(crate) mod registers;
pub(crate) mod subfield;
