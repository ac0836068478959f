//! The test bed: hosts in network namespaces, set-ups between them, and the traffic.

pub mod echo;
pub mod foreign;
pub mod forwarder;
pub mod held;
pub mod huge_pages;
pub mod iperf;
pub mod net;
pub mod openflow;
pub mod processors;
pub mod real_time;
pub mod router;
pub mod setup;
pub mod start;
pub mod traffic;
