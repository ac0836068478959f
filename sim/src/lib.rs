//! Networks of switches, hosts and controllers on one virtual clock.
//!
//! Nothing here opens a file or a socket, starts a thread or asks what time it is: equal networks
//! with equal seeds do the same, event by event.
#![forbid(unsafe_code)]

pub mod host;
