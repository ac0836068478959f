//! P4Runtime 1.4 for one switch that runs a P4 program: a gRPC server between controllers and the
//! thread that owns the switch.
//!
//! The server does not own the switch. It sends [`Job`]s over a bounded channel; who has the switch
//! takes them between two bursts and calls [`Job::run`]. What the program sends to the CPU port,
//! and its digests, go the other way by [`Reports`], which never waits.
#![forbid(unsafe_code)]

mod arbitration;
mod change;
mod connections;
mod device;
mod digests;
mod entities;
mod error;
mod info;
mod job;
mod packets;
mod pipeline;
mod room;
mod rpc;
mod service;
mod side;
mod streams;
mod text;
mod value;
pub mod wire;

pub use change::ChangePlayer;
pub use connections::{ServeError, Server, ServerTls, Settings};
pub use error::Refusal;
pub use job::{Change, Job, RefusedUpdate, Reports};
pub use pipeline::Pipeline;
