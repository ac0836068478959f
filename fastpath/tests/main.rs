//! The fast path from outside: it does what the plain engine does, whatever else a switch has.
#![allow(clippy::unwrap_used)]

mod configured;
mod disciplines;
mod eviction;
mod extension_fields;
mod hooks;
mod packet_type;
