//! The extensions openstate, with Open Packet Processor, and insp: wire format, state tables,
//! behaviour.

mod applications;
mod behaviour;
mod bench;
mod commands;
mod conformance;
mod connections;
mod dialects;
mod graphs;
mod insp;
mod metrics;
mod opp;
mod random;
mod rewritten;
mod segments;
mod shares;
mod tables;
mod traces;
mod vectors;
