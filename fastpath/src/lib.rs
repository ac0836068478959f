//! The fast path: handles packets of cached flows cheaply, with exactly the effects of the plain
//! engine. `README.md` in this folder follows a flow through its life.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

extern crate alloc;

mod cache;
mod direct;
mod direct_hooks;
mod direct_output;
mod direct_path;
mod direct_steps;
mod end;
mod engine;
mod executed;
mod lazy_packet;
mod mask_groups;
mod masks;
mod obstacles;
mod offer;
mod paths;
mod read_ahead;
mod record;
mod secret;
#[cfg(test)]
mod tests;
mod ways;

pub use bofuss_datapath::engine::{BucketPlace, DropBand};
pub use cache::below::{Accelerator, Forwarded};
pub use cache::{Cache, CacheStats, Departure, GroupPass, MAX_DEPARTURES, Way};
pub use engine::FastPath;

/// A datapath with the fast path.
pub type Datapath = bofuss_datapath::Datapath<FastPath>;

/// A view of a datapath with the fast path in which all counters are complete.
pub type Settled<'a> = bofuss_datapath::Settled<'a, FastPath>;
