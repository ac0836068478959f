//! P4 programs for v1model as a pipeline: from the JSON of `p4c-bm2-ss` to packets.
//!
//! A [`Program`] is what the JSON says, checked whole and with indices instead of names. A
//! [`Switch`] runs one: frames and the time in, frames and what else leaves to a [`Sink`]; the
//! control plane writes entries, members, groups, registers and meters, each with an error of its
//! own. Nothing here knows ports, clocks or connections.
//!
//! ```
//! use bofuss_p4::Program;
//!
//! let wrong = Program::load(b"{}").expect_err("it has no version");
//! assert_eq!(wrong.to_string(), "/: has no __meta__");
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

extern crate alloc;

mod bits;
mod canonical;
mod commands;
mod count;
mod error;
mod externs;
mod hash;
mod index;
mod int;
mod json;
mod key;
mod lines;
mod links;
mod load;
mod meter;
mod naming;
mod nodes;
mod number;
mod profile;
mod program;
mod queues;
mod replication;
mod run;
mod show;
mod state;
pub mod stf;
mod switch;
mod table;
mod twice;

pub use commands::Commands;
pub use count::Count;
pub use error::ControlError;
pub use externs::Externs;
pub use hash::Crc;
pub use int::Int;
pub use json::LoadError;
pub use meter::MeterConfig;
pub use profile::Bound;
pub use program::{
    Action, Array, Field, FieldList, KeyPart, Match, MatchKind, Named, Program, Table,
};
pub use replication::{Backups, MAX_REPLICAS, Replica, Replication, Session};
pub use run::sink::{Digest, DropReason, Sent, Sink};
pub use switch::Switch;
pub use table::{Does, Entry, Handle};
