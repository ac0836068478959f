//! A switch from outside: what controllers ask for, in what time, and what packets see of it.
#![allow(clippy::unwrap_used)]

mod common;

mod bundles;
mod dumps;
mod extension;
mod hardship;
mod long_changes;
mod monitors;
mod oracle;
mod packet_types;
mod schedule;
mod silence;
mod triggers;
mod vlans;
