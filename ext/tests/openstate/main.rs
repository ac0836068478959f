//! The extension openstate: wire format, state tables, behaviour.

mod behaviour;
mod bench;
mod conformance;
mod connections;
mod random;
mod tables;
mod vectors;
