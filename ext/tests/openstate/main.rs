//! The extension openstate: wire format, state tables, behaviour.

mod behaviour;
mod bench;
mod conformance;
mod random;
mod tables;
mod vectors;
