//! What is around a switch, and other switches. Each module is a program of its own: see `e2e.rs`.

mod arp_path;
mod completion;
mod emulators;
mod examples;
mod fairness;
mod faucet;
mod guide;
mod machines;
mod make;
mod mininet;
mod p4;
mod p4_queues;
mod packages;
mod past;
mod readme;
mod sim;
mod simulated;
