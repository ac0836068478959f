//! Networks from outside: scenarios, what passes in them, and what theory says of it.
#![allow(clippy::unwrap_used)]

mod common;

mod checks;
mod corpus;
mod dctcp;
mod equality;
mod fairness;
mod moves;
mod network;
mod p4;
mod paths;
mod scenario;
mod scenario_files;
mod traffic;
