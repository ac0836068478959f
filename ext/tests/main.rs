//! Extensions from outside: in a switch, on their own page, and with the corpus of fuzz targets.
#![allow(clippy::unwrap_used)]

mod announced;
mod arp_path;
mod corpus;
mod driver_lines;
mod ebpf;
mod state_machines;
