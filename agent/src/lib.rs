//! Joins a datapath and its controller connections: handles messages, and sends replies and events
//! in order.
//!
//! It knows no sockets: `channel` has the bytes. Start at [`Switch`], then `handle.rs`.
//!
//! Two files have an arm for each message, `handle.rs` and `multipart.rs`, and only they see all
//! parts of a switch. Every other file has one topic: a part with its state (`connections.rs`,
//! `bundles.rs`, `change.rs`, `schedule.rs`, `fail_mode.rs`), or functions that take the datapath
//! and the [`SwitchSink`].
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

extern crate alloc;

mod buffers;
mod bundles;
mod change;
mod commit;
mod connection;
mod connections;
mod controllers;
mod deliver;
mod dump;
mod extensions;
mod fail_mode;
mod features;
mod given_packet;
mod handle;
mod io;
mod mods;
mod monitored;
mod monitors;
mod multipart;
mod parts;
pub mod queues;
mod replies;
mod request;
mod roles;
mod schedule;
mod switch;
#[cfg(feature = "text")]
pub mod trace;
mod turns;

pub use connection::Lost;
pub use deliver::SwitchSink;
pub use fail_mode::{FailMode, STANDALONE_COOKIE};
pub use features::Identity;
pub use io::SwitchIo;
pub use request::{ConnId, Refusal, Request};
pub use schedule::{CommitClock, CommitErrors, ERROR_COUNTS, FIRST_ERROR_BOUND_NS};
pub use switch::Switch;
