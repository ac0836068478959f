//! A frame in memory: its bytes in a pooled buffer with headroom, and its offload record.
//!
//! Does not know headers (see `packet`) nor where frames come from (see `ports`).
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]

extern crate alloc;

mod offload;
mod pool;

pub use offload::{Gso, GsoKind, Offload, OffloadCapabilities};
pub use pool::{
    Frame, HEADROOM_BYTES, KEPT_SHARE, MAX_FRAME_BYTES, Pool, PoolStats, SMALL_FRAME_BYTES,
};
