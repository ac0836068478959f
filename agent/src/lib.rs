//! Joins a datapath and its controller connections: handles messages, and sends replies and events
//! in order.
//!
//! It knows no sockets: `channel` has the bytes. Start at [`Switch`], then `handle.rs`.
//!
//! Two files have an arm for each message, `handle.rs` and `multipart.rs`. Every other file has one
//! topic: a part with its state (`connections.rs`, `bundles.rs`, `change.rs`, `fail_mode.rs`), or
//! functions that take the datapath and the [`SwitchSink`]. Only the first two, and what goes on
//! with commits (`bundles/requests.rs`), see all parts of a switch.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

extern crate alloc;

mod buffers;
#[cfg(feature = "bundles")]
mod bundles;
#[cfg(not(feature = "bundles"))]
#[path = "no_bundles.rs"]
mod bundles;
mod change;
mod connection;
mod connections;
#[cfg(feature = "peers")]
mod controllers;
#[cfg(not(feature = "peers"))]
#[path = "no_controllers.rs"]
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
#[cfg(feature = "monitors")]
mod monitors;
#[cfg(not(feature = "monitors"))]
#[path = "no_monitors.rs"]
mod monitors;
mod multipart;
mod parts;
#[cfg(feature = "queues")]
pub mod queues;
#[cfg(not(feature = "queues"))]
#[path = "no_queues.rs"]
mod queues;
mod replies;
mod request;
#[cfg(feature = "reshape")]
mod reshape;
#[cfg(not(feature = "reshape"))]
#[path = "no_reshape.rs"]
mod reshape;
mod roles;
mod switch;
#[cfg(feature = "text")]
pub mod trace;
mod turns;

#[cfg(feature = "bundles")]
pub use bundles::{CommitClock, CommitErrors, ERROR_COUNTS, FIRST_ERROR_BOUND_NS};
pub use connection::Lost;
pub use deliver::SwitchSink;
pub use fail_mode::{FailMode, STANDALONE_COOKIE};
pub use features::Identity;
pub use io::SwitchIo;
pub use request::{ConnId, Refusal, Request};
pub use switch::Switch;
